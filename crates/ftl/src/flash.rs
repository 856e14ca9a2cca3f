//! What a flash translation layer needs of flash, over a medium with bytes and without any.

use std::cell::Cell;

use ffslab_mtd::{Corrected, Mtd, MtdError};
use ffslab_sim::{Reason, ReasonGuard};

use crate::config::{FtlError, TAG_BYTES};
use crate::tag::{self, Found, Tag};

/// Sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub blocks: u32,
    pub pages_per_block: u32,
    pub page_bytes: u32,
}

/// How many bits a cell is programmed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CellMode {
    /// One bit, at the times of the medium.
    #[default]
    OneBit,
    /// Several bits, which takes longer by what [`Flash::set_further_times`] was told.
    SeveralBits,
}

/// Pages with records, blocks to erase. Pages are numbered over all blocks.
pub trait Flash {
    /// Whether pages hold what was written. Otherwise reads leave the buffer alone, and there is nothing to mount.
    const KEEPS_BYTES: bool;

    fn shape(&self) -> Shape;

    /// Operations happen for this reason as long as what is returned lives.
    fn because(&self, reason: &'static Reason) -> Option<ReasonGuard>;

    /// The run has to end for this reason, which lies outside of what is simulated.
    fn give_up(&self, _why: &dyn std::fmt::Display) {}

    /// How the pages that are read and programmed next are used.
    fn set_mode(&self, _mode: CellMode) {}

    /// How much longer reads and programs of cells with several bits take.
    fn set_further_times(&self, _read_further_ns: u64, _program_further_ns: u64) {}

    /// Programs a page with its record. The CRC in `tag` is that of `data`.
    fn program(&self, page: u32, data: &[u8], tag: &Tag) -> Result<(), MtdError>;

    /// Reads a page with its record. Errors as [`Mtd::read`]; the buffer is filled even if it is uncorrectable. `true`: bits
    /// were corrected, and the block should be written anew soon.
    fn read(&self, page: u32, data: &mut [u8]) -> (Found, Result<bool, MtdError>);

    /// As [`Flash::read`]; nobody may use the bytes before [`Flash::settle_reads`].
    fn begin_read(&self, page: u32, data: &mut [u8]) -> (Found, Result<bool, MtdError>) {
        self.read(page, data)
    }

    /// Waits for all reads that were begun.
    fn settle_reads(&self) {}

    fn read_tag(&self, page: u32) -> Result<Found, MtdError>;

    /// As [`ffslab_mtd::Medium::use_cache_commands`], in pages.
    fn use_cache_commands(&self) -> Option<u32> {
        None
    }

    /// As [`Flash::begin_read`]. `more`: the next page of the row will be read next of its die.
    fn begin_read_in_row(&self, page: u32, data: &mut [u8], _more: bool) -> (Found, Result<bool, MtdError>) {
        self.begin_read(page, data)
    }

    /// Whether the chip can copy a page to another place by itself.
    fn can_copy_back(&self, _from: u32, _to: u32) -> bool {
        false
    }

    /// Copies a page inside the chip with the record that `record` makes of the one it has. `false`: it made none, and nothing is
    /// programmed.
    fn copy_back(&self, _from: u32, _to: u32, _record: &mut dyn FnMut(Found) -> Option<Tag>) -> Result<bool, MtdError> {
        Err(MtdError::NotSupported)
    }

    /// As [`ffslab_mtd::Medium::overlap_programs`].
    fn overlap_programs(&self) -> u32 {
        1
    }

    /// Waits until everything is on flash.
    fn settle(&self) {}

    /// Erases a block, when everything is on flash.
    fn erase(&self, block: u32) -> Result<(), MtdError>;

    fn is_bad(&self, block: u32) -> bool;

    fn mark_bad(&self, block: u32) -> Result<(), MtdError>;

    /// The time for device drivers and studies.
    fn now_ns(&self) -> u64;

    /// When somebody began to look at the medium: a mount takes its time from then on.
    fn found_ns(&self) -> u64 {
        self.now_ns()
    }
}

/// Most bytes of the out-of-band area that belong to the mark of a bad block.
const MARK_BYTES_MAX: usize = 2;

/// The record with the bytes before it, as it stands among the free out-of-band bytes.
type Stored = [u8; MARK_BYTES_MAX + TAG_BYTES];

/// A medium with real bytes.
pub struct OnMedium {
    mtd: Mtd,
    shape: Shape,
    /// Free out-of-band bytes before the record, which stay 0xFF: the driver takes them for a part of the mark of a bad block.
    mark_bytes: usize,
    found_ns: u64,
    mode: Cell<CellMode>,
    read_further_ns: Cell<u64>,
    program_further_ns: Cell<u64>,
    /// What the host writes keeps the host's reason.
    keeps_reasons_of_host: bool,
}

impl OnMedium {
    /// Drivers that look for bad blocks on the flash do so now.
    ///
    /// # Errors
    /// The medium has no out-of-band bytes, or pages that share cells.
    pub fn new(mtd: Mtd) -> Result<OnMedium, FtlError> {
        let mark_bytes = mtd.free_mark_bytes();
        debug_assert!(mark_bytes as usize <= MARK_BYTES_MAX);
        tag::check_room(mtd.oob_free_bytes().saturating_sub(mark_bytes))?;
        if let Some(nand) = mtd.nand() {
            let all_pages = nand.geometry().pages_per_block == mtd.pages_per_block();
            if all_pages && nand.with_chip(|chip| chip.pairing().is_some()) {
                return Err(FtlError::PairedPages);
            }
        }
        crate::causes::register(mtd.sim());
        let found_ns = mtd.sim().now_ns();
        {
            let _reason = mtd.sim().because(&crate::causes::RECOVERY_SCAN);
            for block in 0..mtd.blocks() {
                mtd.ask_bad(u64::from(block) * u64::from(mtd.erase_block_bytes()));
            }
        }
        let shape =
            Shape { blocks: mtd.blocks(), pages_per_block: mtd.pages_per_block(), page_bytes: mtd.page_bytes() };
        Ok(OnMedium {
            mtd,
            shape,
            mark_bytes: mark_bytes as usize,
            found_ns,
            mode: Cell::default(),
            read_further_ns: Cell::default(),
            program_further_ns: Cell::default(),
            keeps_reasons_of_host: false,
        })
    }

    /// Below a file system of the same program: what it writes keeps the reason that it gives, since both are one machine.
    #[must_use]
    pub fn keeping_reasons_of_host(self) -> OnMedium {
        OnMedium { keeps_reasons_of_host: true, ..self }
    }

    pub fn mtd(&self) -> &Mtd {
        &self.mtd
    }

    /// The rest of an operation on cells with several bits.
    #[inline]
    fn take_longer(&self, further_ns: &Cell<u64>) {
        if self.mode.get() == CellMode::SeveralBits && further_ns.get() > 0 {
            let sim = self.mtd.sim();
            sim.wait_for_medium(sim.now_ns() + further_ns.get());
        }
    }

    /// What a read gave.
    fn answer(&self, read: Result<Corrected, MtdError>, stored: &Stored) -> (Found, Result<bool, MtdError>) {
        self.take_longer(&self.read_further_ns);
        (self.decoded(stored), read.map(|corrected| corrected != Corrected::Clean))
    }

    fn decoded(&self, stored: &Stored) -> Found {
        let mut record = [0xFF; TAG_BYTES];
        record.copy_from_slice(&stored[self.mark_bytes..self.mark_bytes + TAG_BYTES]);
        Tag::decode(&record)
    }

    fn at(&self, page: u32) -> u64 {
        u64::from(page) * u64::from(self.shape.page_bytes)
    }

    fn block_at(&self, block: u32) -> u64 {
        self.at(block * self.shape.pages_per_block)
    }
}

impl Flash for OnMedium {
    const KEEPS_BYTES: bool = true;

    fn shape(&self) -> Shape {
        self.shape
    }

    fn because(&self, reason: &'static Reason) -> Option<ReasonGuard> {
        let is_of_host = std::ptr::eq(reason, &raw const crate::causes::HOST_WRITE);
        (!self.keeps_reasons_of_host || !is_of_host).then(|| self.mtd.sim().because(reason))
    }

    fn give_up(&self, why: &dyn std::fmt::Display) {
        self.mtd.sim().give_up(why);
    }

    fn set_mode(&self, mode: CellMode) {
        self.mode.set(mode);
    }

    fn set_further_times(&self, read_further_ns: u64, program_further_ns: u64) {
        self.read_further_ns.set(read_further_ns);
        self.program_further_ns.set(program_further_ns);
    }

    fn program(&self, page: u32, data: &[u8], tag: &Tag) -> Result<(), MtdError> {
        let end = self.mark_bytes + TAG_BYTES;
        let mut stored: Stored = [0xFF; MARK_BYTES_MAX + TAG_BYTES];
        stored[self.mark_bytes..end].copy_from_slice(&tag.encode());
        let programmed = self.mtd.write_page_with_oob(self.at(page), data, &stored[..end]);
        self.take_longer(&self.program_further_ns);
        programmed
    }

    fn read(&self, page: u32, data: &mut [u8]) -> (Found, Result<bool, MtdError>) {
        let mut stored: Stored = [0xFF; MARK_BYTES_MAX + TAG_BYTES];
        let read = self.mtd.read_page_with_oob(self.at(page), data, &mut stored[..self.mark_bytes + TAG_BYTES]);
        self.answer(read, &stored)
    }

    fn begin_read(&self, page: u32, data: &mut [u8]) -> (Found, Result<bool, MtdError>) {
        let mut stored: Stored = [0xFF; MARK_BYTES_MAX + TAG_BYTES];
        let read = self.mtd.begin_read(self.at(page), data, &mut stored[..self.mark_bytes + TAG_BYTES]);
        self.answer(read, &stored)
    }

    fn settle_reads(&self) {
        self.mtd.settle_reads();
    }

    fn use_cache_commands(&self) -> Option<u32> {
        self.mtd.use_cache_commands()
    }

    fn begin_read_in_row(&self, page: u32, data: &mut [u8], more: bool) -> (Found, Result<bool, MtdError>) {
        let mut stored: Stored = [0xFF; MARK_BYTES_MAX + TAG_BYTES];
        let free = &mut stored[..self.mark_bytes + TAG_BYTES];
        let read = self.mtd.begin_read_in_row(self.at(page), data, free, more);
        self.answer(read, &stored)
    }

    fn can_copy_back(&self, from: u32, to: u32) -> bool {
        self.mtd.can_copy_back(self.at(from), self.at(to))
    }

    fn copy_back(&self, from: u32, to: u32, record: &mut dyn FnMut(Found) -> Option<Tag>) -> Result<bool, MtdError> {
        let mut stored: Stored = [0xFF; MARK_BYTES_MAX + TAG_BYTES];
        let places = self.mark_bytes..self.mark_bytes + TAG_BYTES;
        let mut change = |free: &mut [u8]| {
            let mut bytes = [0xFF; TAG_BYTES];
            bytes.copy_from_slice(&free[places.clone()]);
            let new = record(Tag::decode(&bytes));
            if let Some(tag) = &new {
                free[places.clone()].copy_from_slice(&tag.encode());
            }
            new.is_some()
        };
        self.mtd.copy_back(self.at(from), self.at(to), &mut stored[..places.end], &mut change)
    }

    fn read_tag(&self, page: u32) -> Result<Found, MtdError> {
        let mut stored: Stored = [0xFF; MARK_BYTES_MAX + TAG_BYTES];
        match self.mtd.read_oob_free(self.at(page), &mut stored[..self.mark_bytes + TAG_BYTES]) {
            // A chip with ECC of its own corrects whole pages and says so of the data, too. The bytes are there, and the record has a
            // check sum of its own.
            Ok(()) | Err(MtdError::Uncorrectable) => {}
            Err(error) => return Err(error),
        }
        self.take_longer(&self.read_further_ns);
        Ok(self.decoded(&stored))
    }

    fn overlap_programs(&self) -> u32 {
        self.mtd.overlap_programs()
    }

    fn settle(&self) {
        self.mtd.settle();
    }

    fn erase(&self, block: u32) -> Result<(), MtdError> {
        self.mtd.erase(self.block_at(block))
    }

    fn is_bad(&self, block: u32) -> bool {
        self.mtd.is_bad(self.block_at(block))
    }

    fn mark_bad(&self, block: u32) -> Result<(), MtdError> {
        self.mtd.mark_bad(self.block_at(block))
    }

    fn now_ns(&self) -> u64 {
        self.mtd.sim().now_ns()
    }

    fn found_ns(&self) -> u64 {
        self.found_ns
    }
}

/// Flash of which only the operations are counted: contents are not kept, operations take no time and never fail.
pub struct NoBytes {
    shape: Shape,
    programs: Cell<u64>,
    erases: Cell<u64>,
}

impl NoBytes {
    pub fn new(blocks: u32, pages_per_block: u32) -> NoBytes {
        let shape = Shape { blocks, pages_per_block, page_bytes: 0 };
        NoBytes { shape, programs: Cell::new(0), erases: Cell::new(0) }
    }

    /// Programs and erases so far.
    pub fn operations(&self) -> (u64, u64) {
        (self.programs.get(), self.erases.get())
    }
}

impl Flash for NoBytes {
    const KEEPS_BYTES: bool = false;

    fn shape(&self) -> Shape {
        self.shape
    }

    #[inline]
    fn because(&self, _reason: &'static Reason) -> Option<ReasonGuard> {
        None
    }

    #[inline]
    fn program(&self, _page: u32, _data: &[u8], _tag: &Tag) -> Result<(), MtdError> {
        self.programs.set(self.programs.get() + 1);
        Ok(())
    }

    #[inline]
    fn read(&self, _page: u32, _data: &mut [u8]) -> (Found, Result<bool, MtdError>) {
        (Found::Erased, Ok(false))
    }

    fn read_tag(&self, _page: u32) -> Result<Found, MtdError> {
        Ok(Found::Erased)
    }

    #[inline]
    fn erase(&self, _block: u32) -> Result<(), MtdError> {
        self.erases.set(self.erases.get() + 1);
        Ok(())
    }

    fn is_bad(&self, _block: u32) -> bool {
        false
    }

    fn mark_bad(&self, _block: u32) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    fn now_ns(&self) -> u64 {
        0
    }
}
