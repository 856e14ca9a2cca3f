//! What a command may not do. Everything is checked before anything changes, so a command that is refused leaves no trace.
//!
//! The rules are those of ONFI and of OpenFlash (`constraintsCheck` and `addressRangeCheck` of its commands). Which of them
//! a part has is in its data sheet, so those that not every part has can be switched.

use thiserror::Error;

use super::address::HierarchyError;
use super::{Address, Array, Command, CopyBack, PageIn, PageOut, Result, Sequence, NO_BLOCK, PLANES_MAX};
use crate::law::LawError;
use crate::pairing::PairingError;

/// Rules that a part has or has not. Programs of a page between two erases and their order are in
/// [`Rules`](crate::Rules).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// Pages of a block are programmed one by one from page 0 on, none is left out (OpenFlash: sequential pages).
    pub no_gaps: bool,
    /// A copy-back goes from even to even or from odd to odd pages (OpenFlash: `copyback_even_odd_constraint`).
    pub copy_back_same_parity: bool,
    /// The blocks of a multi-plane command have the same number in their planes (OpenFlash: `multiplane_same_block`;
    /// ONFI calls it block address restrictions).
    pub same_block: bool,
    /// A multi-plane command has a part in every plane of the die.
    pub all_planes: bool,
}

/// Why an array, or a command, is refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ArrayError {
    #[error(transparent)]
    Hierarchy(#[from] HierarchyError),
    #[error(transparent)]
    Law(#[from] LawError),
    #[error(transparent)]
    Pairing(#[from] PairingError),
    #[error("a command without a page or block")]
    Nothing,
    #[error("{at} is outside the array: it has {dies} dies of {blocks} blocks of {pages} pages")]
    Outside { at: Address, dies: u32, blocks: u32, pages: u32 },
    #[error("a command names {at} and {other}: it is for one die")]
    OtherDie { at: Address, other: Address },
    #[error("a command names {at} and {other}: both are in plane {plane}, and each plane does one thing at a time")]
    SamePlane { at: Address, other: Address, plane: u32 },
    #[error("a multi-plane command names {at} and {other}: the page is the same in all planes")]
    OtherPage { at: Address, other: Address },
    #[error("a multi-plane command names {at} and {other}: this part wants the same block in all planes")]
    OtherBlock { at: Address, other: Address },
    #[error("a multi-plane command of {planes} planes: this part wants all {of} planes")]
    NotAllPlanes { planes: usize, of: u32 },
    #[error("a copy-back from {from} to {to}: it stays in one plane")]
    CopyLeavesPlane { from: Address, to: Address },
    #[error("a copy-back from {from} to {to}: this part copies from even to even or from odd to odd pages")]
    CopyParity { from: Address, to: Address },
    #[error("{at} was already programmed {programs} times since its erase, and the part allows no more")]
    TooManyPrograms { at: Address, programs: u32 },
    #[error("{at} cannot be programmed: the next page of its block is page {next}")]
    OutOfOrder { at: Address, next: u32 },
    #[error("die {die} is in a cache sequence, which ends with the step that says that no more will come")]
    SequenceOpen { die: u32 },
    #[error("{at} is not in a block of the cache sequence that its die is in")]
    LeavesBlock { at: Address },
    #[error("commands that are interleaved name {at} and {other}: they are for different dies of one channel")]
    NotInterleaved { at: Address, other: Address },
    #[error("a buffer of {bytes} bytes was given where {wanted_bytes} bytes move")]
    BufferSize { bytes: usize, wanted_bytes: u32 },
    #[error("bytes {column} to {end} are not inside a page of {page_bytes} bytes")]
    Column { column: u32, end: u64, page_bytes: u32 },
    #[error("the power was cut")]
    PowerCut,
}

impl Array {
    /// Checks addresses of one command: they exist, are in one die and in different planes of it, and agree as
    /// multi-plane commands want it. Returns the die.
    #[inline]
    pub(super) fn check_places(&self, places: impl Iterator<Item = Address>, pages_agree: bool) -> Result<usize> {
        if !self.power.on {
            return Err(ArrayError::PowerCut);
        }
        let hierarchy = &self.hierarchy;
        let (mut first, mut seen, mut count) = (None, 0u32, 0);
        for at in places {
            if at.die as usize >= self.dies.len()
                || at.block >= hierarchy.blocks_per_die()
                || at.page >= hierarchy.pages_per_block
            {
                return Err(self.outside(at));
            }
            let plane = hierarchy.plane_of(at.block);
            let other = *first.get_or_insert(at);
            if count > 0 {
                self.check_plane(other, at, seen, pages_agree)?;
            }
            seen |= 1 << plane;
            count += 1;
        }
        let Some(first) = first else { return Err(ArrayError::Nothing) };
        if count > 1 && self.config.constraints.all_planes && count != hierarchy.planes_per_die as usize {
            return Err(ArrayError::NotAllPlanes { planes: count, of: hierarchy.planes_per_die });
        }
        debug_assert!(count <= PLANES_MAX, "each plane was named once");
        Ok(first.die as usize)
    }

    #[cold]
    fn outside(&self, at: Address) -> ArrayError {
        let Self { hierarchy, dies, .. } = self;
        let (blocks, pages) = (hierarchy.blocks_per_die(), hierarchy.pages_per_block);
        ArrayError::Outside { at, dies: dies.len() as u32, blocks, pages }
    }

    /// A further plane of a command whose first one is `other`; `seen` are the planes so far.
    fn check_plane(&self, other: Address, at: Address, seen: u32, pages_agree: bool) -> Result<()> {
        if at.die != other.die {
            return Err(ArrayError::OtherDie { at, other });
        }
        let plane = self.hierarchy.plane_of(at.block);
        if seen >> plane & 1 == 1 {
            return Err(ArrayError::SamePlane { at, other, plane });
        }
        if pages_agree && at.page != other.page {
            return Err(ArrayError::OtherPage { at, other });
        }
        let planes = self.hierarchy.planes_per_die;
        if self.config.constraints.same_block && at.block / planes != other.block / planes {
            return Err(ArrayError::OtherBlock { at, other });
        }
        Ok(())
    }

    /// The die is in no cache sequence.
    #[inline]
    pub(super) fn check_no_sequence(&self, die: usize) -> Result<()> {
        match self.dies[die].sequence {
            Sequence::None => Ok(()),
            _ => Err(ArrayError::SequenceOpen { die: die as u32 }),
        }
    }

    /// A step of a cache sequence stays in the blocks in which it began. Returns whether it is the first step.
    pub(super) fn check_sequence(
        &self,
        die: usize,
        sequence: Sequence,
        places: impl Iterator<Item = Address>,
    ) -> Result<bool> {
        if self.dies[die].sequence == Sequence::None {
            return Ok(true);
        }
        if self.dies[die].sequence != sequence {
            return Err(ArrayError::SequenceOpen { die: die as u32 });
        }
        for at in places {
            if self.planes[self.plane_at(at)].sequence_block != at.block {
                return Err(ArrayError::LeavesBlock { at });
            }
        }
        Ok(false)
    }

    pub(super) fn begin_sequence(&mut self, die: usize, sequence: Sequence, places: impl Iterator<Item = Address>) {
        let planes = self.hierarchy.planes_per_die as usize;
        for plane in &mut self.planes[die * planes..(die + 1) * planes] {
            plane.sequence_block = NO_BLOCK;
        }
        for at in places {
            let plane = self.plane_at(at);
            self.planes[plane].sequence_block = at.block;
        }
        self.dies[die].sequence = sequence;
    }

    /// Checks what the part says of programs of one page.
    #[inline]
    pub(super) fn check_program(&self, at: Address) -> Result<()> {
        let programs = self.cells.programs(self.hierarchy.page_number(at));
        let rules = self.config.rules;
        if programs >= rules.partial_programs_max && rules.partial_programs_max < 255 {
            return Err(ArrayError::TooManyPrograms { at, programs });
        }
        let next = self.cells.blocks[self.hierarchy.block_number(at) as usize].order_floor_page;
        let too_early = rules.in_order && at.page + 1 < next;
        let too_late = self.config.constraints.no_gaps && at.page > next;
        if too_early || too_late {
            return Err(ArrayError::OutOfOrder { at, next });
        }
        Ok(())
    }

    #[inline]
    pub(super) fn check_out(&self, page: &PageOut) -> Result<()> {
        let (page_bytes, oob_bytes) = (self.hierarchy.page_bytes, self.hierarchy.oob_bytes);
        let end = u64::from(page.column) + page.data.len() as u64;
        if end > u64::from(page_bytes) {
            return Err(ArrayError::Column { column: page.column, end, page_bytes });
        }
        match &page.oob {
            Some(oob) if oob.len() != oob_bytes as usize || page.further_bytes < oob_bytes => {
                Err(ArrayError::BufferSize { bytes: oob.len(), wanted_bytes: oob_bytes })
            }
            _ => Ok(()),
        }
    }

    #[inline]
    pub(super) fn check_in(&self, page: &PageIn) -> Result<()> {
        let (page_bytes, oob_bytes) = (self.hierarchy.page_bytes, self.hierarchy.oob_bytes);
        if page.data.len() != page_bytes as usize {
            return Err(ArrayError::BufferSize { bytes: page.data.len(), wanted_bytes: page_bytes });
        }
        match page.oob {
            Some(oob) if oob.len() != oob_bytes as usize => {
                Err(ArrayError::BufferSize { bytes: oob.len(), wanted_bytes: oob_bytes })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_copy(&self, copy: &CopyBack) -> Result<()> {
        let &CopyBack { from, to } = copy;
        if from.die != to.die || self.hierarchy.plane_of(from.block) != self.hierarchy.plane_of(to.block) {
            return Err(ArrayError::CopyLeavesPlane { from, to });
        }
        if self.config.constraints.copy_back_same_parity && from.page % 2 != to.page % 2 {
            return Err(ArrayError::CopyParity { from, to });
        }
        Ok(())
    }

    /// Checks that commands can be interleaved: each is for another die, all on one channel. Commands of different dies
    /// overlap anyway, in whatever way they are issued; this is for callers who want to be told that theirs do.
    pub fn check_interleaved(&self, commands: &[Command]) -> Result<()> {
        let mut first: Option<Address> = None;
        for (index, command) in commands.iter().enumerate() {
            let at = command.place().ok_or(ArrayError::Nothing)?;
            if at.die as usize >= self.dies.len() {
                return Err(self.outside(at));
            }
            let other = *first.get_or_insert(at);
            if self.dies[at.die as usize].channel != self.dies[other.die as usize].channel {
                return Err(ArrayError::NotInterleaved { at, other });
            }
            let same = commands[..index].iter().filter_map(Command::place).find(|other| other.die == at.die);
            if let Some(other) = same {
                return Err(ArrayError::NotInterleaved { at, other });
            }
        }
        Ok(())
    }
}

impl Command<'_, '_> {
    /// The first page or block that it names.
    fn place(&self) -> Option<Address> {
        match self {
            Command::Read(pages) | Command::CacheRead { pages, .. } => pages.first().map(|page| page.at),
            Command::Program(pages) | Command::CacheProgram { pages, .. } => pages.first().map(|page| page.at),
            Command::Erase(blocks) => blocks.first().copied(),
            Command::CopyBack(copies) => copies.first().map(|copy| copy.from),
        }
    }
}
