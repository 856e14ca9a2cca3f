//! The array: chips on channels, with dies and planes that work at the same time.
//!
//! **What it models.** Channel > chip (CE) > die (LUN) > plane > block > page, and the commands of ONFI: legacy and cache
//! reads and programs, multi-plane ones, copy-back, erase. A command is issued and the clock stands still: the answer says
//! when its parts will be done ([`Done`]). What overlaps on real chips overlaps here, because each unit has a time from
//! which it is free: a channel's bus, each plane's cell array, its page register and its cache register. Somebody waits
//! with [`Array::wait_until`], and only that moves the clock.
//!
//! **Follows.** ONFI 2.3a and 3.2 for the hierarchy (the plane is in the lowest bits of the block number), the commands and
//! their limits; OpenFlash (`src/FlashLayer/FunctionalModel`, `doc/DefaultPpcModels`) for the times of each command and
//! for its constraint checks, of which two can be switched off there and here.
//!
//! **Order.** A die takes its commands in the order in which they were issued. A channel's bus serves who is ready first:
//! a transfer goes into the first gap that is long enough ([`bus`]). Bytes change when a command is issued; that is the
//! order in which the die works, so nobody can see the difference before `done_ns`, except a power cut ([`power`]).
//!
//! **Leaves out.** Command and address cycles and status polls on the bus (as OpenFlash does), suspending an erase or a
//! program, planes that read independently of each other (ONFI 5), reads of a page whose cache sequence is still open, and
//! programs of the OOB area alone.

mod address;
mod bus;
mod checks;
mod command;
mod copies;
mod power;
mod programs;
mod reads;

use ffslab_sim::{MediumUnits, Sim};
use std::collections::VecDeque;

pub use address::{Address, Hierarchy, HierarchyError};
pub use checks::{ArrayError, Constraints};
pub use command::{Change, Command, Copied, CopyBack, Done, Failures, PageIn, PageOut};

use crate::cells::Cells;
use crate::energy::{ChipEnergy, ChipPowerMilliwatt, Spent};
use crate::faults::{FaultState, Faults};
use crate::geometry::{Geometry, Rules, Timing};
use crate::law::{LawState, Laws};
use crate::pairing::Pairing;
use crate::power::Power;
use crate::reading::Reading;
use crate::snapshot::{ChipImage, GeometryMismatch};
use bus::Bus;

/// Most planes of a die.
pub const PLANES_MAX: usize = 16;

/// What an array is.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayConfig {
    pub hierarchy: Hierarchy,
    /// Times of the cell arrays.
    pub laws: Laws,
    /// Time for one byte on a channel's bus, in picoseconds, in either direction.
    pub bus_ps_per_byte: u64,
    /// tRCBSY and tCBSY: page register to cache register or back.
    pub register_copy_ns: u64,
    /// tPLRBSY, tPLPBSY, tPLEBSY (tDBSY): between the planes of one command.
    pub next_plane_ns: u64,
    /// Each plane of a multi-plane command begins when it has what it needs, and its data can be had when it is done
    /// ("overlapped"). Otherwise all begin and end together ("concurrent").
    pub overlapped_planes: bool,
    pub rules: Rules,
    pub constraints: Constraints,
    pub pairing: Option<Pairing>,
}

impl ArrayConfig {
    /// Constant times, nothing between planes and registers, and the constraints of every ONFI part.
    pub fn new(hierarchy: Hierarchy, timing: Timing, rules: Rules) -> ArrayConfig {
        ArrayConfig {
            hierarchy,
            laws: Laws::constant(timing.read_ns, timing.program_ns, timing.erase_ns),
            bus_ps_per_byte: timing.bus_ps_per_byte,
            register_copy_ns: 0,
            next_plane_ns: 0,
            overlapped_planes: false,
            rules,
            constraints: Constraints::default(),
            pairing: None,
        }
    }
}

/// Which cache sequence a die is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sequence {
    None,
    Reads,
    Programs,
}

struct Die {
    channel: usize,
    /// The next command, if it is not part of a cache sequence, can begin.
    ready_ns: u64,
    sequence: Sequence,
    /// Its last transfer over the bus ends: they keep their order.
    moved_ns: u64,
    /// How long it has worked.
    busy_ns: u64,
}

#[derive(Default)]
struct Plane {
    /// The cell array has done what it was told.
    array_end_ns: u64,
    /// The last copy from one register to the other has ended.
    copied_ns: u64,
    /// The cache register has been read out.
    out_end_ns: u64,
    /// Block of the cache sequence that the die is in; [`NO_BLOCK`]: the plane has no part in it.
    sequence_block: u32,
    /// Page of its last step.
    sequence_page: u32,
    /// Programs and erases that have not ended when the last one was issued.
    running: VecDeque<power::Running>,
}

const NO_BLOCK: u32 = u32::MAX;

/// Chips on channels, whose dies and planes work at the same time. The head of this file says what it models.
pub struct Array {
    sim: Sim,
    hierarchy: Hierarchy,
    config: ArrayConfig,
    cells: Cells,
    laws: LawState,
    channels: Vec<Bus>,
    dies: Vec<Die>,
    planes: Vec<Plane>,
    reading: Reading,
    /// Bits that the last read flipped, with the place of their page in the command.
    flips: Vec<(usize, u32)>,
    power: Power,
    spent: Spent,
    made_at_ns: u64,
    /// What a copy-back moves from page to page.
    copied: Vec<u8>,
}

type Result<T> = std::result::Result<T, ArrayError>;

impl Array {
    /// An erased array without faults, switched on.
    pub fn new(sim: Sim, config: ArrayConfig) -> Result<Array> {
        let hierarchy = config.hierarchy;
        hierarchy.check()?;
        config.rules.check().map_err(HierarchyError::from)?;
        config.laws.check()?;
        if let Some(pairing) = &config.pairing {
            pairing.check(hierarchy.pages_per_block)?;
        }
        let die = |number: u32| Die {
            channel: hierarchy.channel_of(number) as usize,
            ready_ns: 0,
            sequence: Sequence::None,
            moved_ns: 0,
            busy_ns: 0,
        };
        let planes = (hierarchy.dies() * hierarchy.planes_per_die) as usize;
        let Geometry { blocks, pages_per_block, page_bytes, .. } = hierarchy.geometry();
        let (dies, planes_per_die) = (hierarchy.dies(), hierarchy.planes_per_die);
        sim.medium_has(MediumUnits { dies, planes_per_die, blocks, pages_per_block, page_bytes });
        Ok(Array {
            made_at_ns: sim.now_ns(),
            sim,
            hierarchy,
            cells: Cells::new(hierarchy.geometry()),
            laws: LawState::new(config.laws.clone()),
            channels: (0..hierarchy.channels).map(|_| Bus::default()).collect(),
            dies: (0..hierarchy.dies()).map(die).collect(),
            planes: (0..planes).map(|_| Plane { sequence_block: NO_BLOCK, ..Plane::default() }).collect(),
            reading: Reading::default(),
            flips: Vec::new(),
            power: Power::new(),
            spent: Spent::default(),
            copied: vec![0; (hierarchy.page_bytes + hierarchy.oob_bytes) as usize],
            config,
        })
    }

    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    pub fn hierarchy(&self) -> Hierarchy {
        self.hierarchy
    }

    /// All blocks as one chip, die after die: what pages and blocks are called in counters, images and faults.
    pub fn geometry(&self) -> Geometry {
        self.cells.geometry
    }

    /// Lets a die do something. The clock does not move: the answer says when what is done. What is refused costs and
    /// changes nothing.
    #[inline]
    pub fn issue(&mut self, command: Command) -> Result<Done> {
        match command {
            Command::Read(pages) => self.read(pages),
            Command::Program(pages) => self.program(pages),
            Command::Erase(blocks) => self.erase(blocks),
            Command::CopyBack(copies) => Ok(self.copy_back(copies, None)?.done),
            Command::CacheRead { pages, more } => self.cache_read(pages, more),
            Command::CacheProgram { pages, more } => self.cache_program(pages, more),
        }
    }

    /// A copy-back of which the controller changes bytes on the way, or which it leaves at the read when it has seen what that gave.
    pub fn copy_back_changing(&mut self, copies: &[CopyBack], change: Change) -> Result<Copied> {
        self.copy_back(copies, Some(change))
    }

    /// Ends a cache sequence without a further step, which takes effect on what the die is told next. Of programs nothing is sent: the
    /// die is asked until it is truly ready (ARDY of ONFI's status, I/O 5), as data sheets want it where the last page was sent by 15h (Samsung
    /// K9K2G08U0A, "Cache Program"). Of reads the array has begun the next page of the block, which nobody takes.
    pub fn end_sequence(&mut self, die: u32) {
        let (index, planes) = (die as usize, self.hierarchy.planes_per_die as usize);
        let sequence = std::mem::replace(&mut self.dies[index].sequence, Sequence::None);
        if sequence != Sequence::Reads {
            return;
        }
        let mut end_ns = 0;
        for plane in &mut self.planes[index * planes..(index + 1) * planes] {
            let next_page = plane.sequence_page + 1;
            if plane.sequence_block != NO_BLOCK && next_page < self.hierarchy.pages_per_block {
                let read_ns = self.laws.read_ns(next_page);
                self.spent.read_ns += read_ns;
                plane.array_end_ns = plane.copied_ns + read_ns;
                end_ns = end_ns.max(plane.array_end_ns);
            }
        }
        let ready_ns = self.dies[index].ready_ns;
        self.die_works(index, ready_ns, end_ns);
    }

    // ---- time ----------------------------------------------------------------------------------------------

    /// Waits until then, if it is not over already. The time is counted for the present cause.
    #[inline]
    pub fn wait_until(&self, at_ns: u64) {
        self.sim.wait_for_medium(at_ns);
    }

    /// When the die can begin with a further command.
    #[inline]
    pub fn die_ready_ns(&self, die: u32) -> u64 {
        self.dies[die as usize].ready_ns
    }

    /// When everything that was issued is done.
    pub fn all_done_ns(&self) -> u64 {
        self.dies.iter().map(|die| die.ready_ns).max().unwrap_or(0)
    }

    /// When the die can take the next step of a cache program: its cache register is free.
    pub fn cache_free_ns(&self, die: u32) -> u64 {
        let planes = self.hierarchy.planes_per_die as usize;
        let first = die as usize * planes;
        self.planes[first..first + planes].iter().map(|plane| plane.copied_ns).max().unwrap_or(0)
    }

    /// Whether the die is in a cache program in the block of this page, so that the page can be its next step.
    pub fn goes_on_programming(&self, at: Address) -> bool {
        self.dies[at.die as usize].sequence == Sequence::Programs
            && self.planes[self.plane_at(at)].sequence_block == at.block
    }

    /// As [`Array::goes_on_programming`] for a cache read whose array has begun with this page.
    pub fn goes_on_reading(&self, at: Address) -> bool {
        let plane = &self.planes[self.plane_at(at)];
        self.dies[at.die as usize].sequence == Sequence::Reads
            && (plane.sequence_block, plane.sequence_page + 1) == (at.block, at.page)
    }

    /// How long a channel's bus has moved data, in what was issued so far.
    pub fn bus_busy_ns(&self, channel: u32) -> u64 {
        self.channels[channel as usize].busy_ns
    }

    /// How long a die has worked: from the beginning of each command to its end.
    pub fn die_busy_ns(&self, die: u32) -> u64 {
        self.dies[die as usize].busy_ns
    }

    /// How long the units worked, by command.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Energy of what was issued so far, and of dies that did nothing until `until_ns`.
    pub fn energy(&self, power: &ChipPowerMilliwatt, until_ns: u64) -> ChipEnergy {
        let lifetime_ns = until_ns.saturating_sub(self.made_at_ns);
        let idle_ns = self.dies.iter().map(|die| lifetime_ns.saturating_sub(die.busy_ns)).sum();
        power.energy(&self.spent, idle_ns)
    }

    /// Moves bytes over the channel of a die, as soon as that is possible from `from_ns` on. Returns when they have
    /// arrived.
    #[inline]
    fn transfer(&mut self, die: usize, from_ns: u64, bus_ns: u64) -> u64 {
        let state = &mut self.dies[die];
        let begin_ns = self.channels[state.channel].book(from_ns.max(state.moved_ns), bus_ns, self.sim.now_ns());
        state.moved_ns = begin_ns + bus_ns;
        state.moved_ns
    }

    #[inline]
    fn bus_ns(&self, bytes: u32) -> u64 {
        self.config.bus_ps_per_byte * u64::from(bytes) / 1000
    }

    /// When a command to this die begins.
    #[inline]
    fn begins_at(&self, die: usize) -> u64 {
        self.dies[die].ready_ns.max(self.sim.now_ns())
    }

    #[inline]
    fn die_works(&mut self, die: usize, begin_ns: u64, end_ns: u64) {
        let state = &mut self.dies[die];
        // Commands of a cache sequence overlap each other.
        state.busy_ns += end_ns.saturating_sub(begin_ns.max(state.ready_ns));
        state.ready_ns = state.ready_ns.max(end_ns);
    }

    /// When the plane in place `index` of `planes` of one command can begin, counted from the beginning of the command.
    #[inline]
    fn plane_delay_ns(&self, index: usize, planes: usize) -> u64 {
        let before = if self.config.overlapped_planes { index } else { planes - 1 };
        self.config.next_plane_ns * before as u64
    }

    #[inline]
    fn plane_at(&self, at: Address) -> usize {
        (at.die * self.hierarchy.planes_per_die + self.hierarchy.plane_of(at.block)) as usize
    }

    // ---- faults and content --------------------------------------------------------------------------------

    /// Replaces all faults. Blocks and pages are numbered as [`Hierarchy::block_number`] and
    /// [`Hierarchy::page_number`] say. Factory bad blocks get their mark at once and keep it.
    pub fn set_faults(&mut self, faults: &Faults) -> std::result::Result<(), crate::FlashError> {
        faults.check(&self.cells.geometry)?;
        for &block in &faults.badblocks {
            self.cells.mark_bad(block);
        }
        self.reading.faults = FaultState::new(faults);
        Ok(())
    }

    /// Erases of each block since the array was made, die after die.
    pub fn erase_counts(&self) -> &[u32] {
        &self.cells.erase_counts
    }

    /// Bits that the last page read flipped, each as a bit number in what it moved: data first, then OOB.
    pub fn flipped_bits(&self) -> &[u32] {
        &self.reading.flipped_bits
    }

    /// Bits that the last read or step of a cache read flipped in its page of this place, as [`Array::flipped_bits`] numbers them.
    pub fn flipped_bits_of(&self, index: usize) -> impl Iterator<Item = u32> + '_ {
        self.flips.iter().filter(move |&&(of, _)| of == index).map(|&(_, bit)| bit)
    }

    /// Whether a block, by its number in the array, carries a bad block mark.
    pub fn is_marked_bad(&self, block: u32) -> bool {
        self.cells.is_marked_bad(block)
    }

    /// Marks a block bad, as its number in the array says. No operation: who drives an array keeps its bad blocks in a table of its own.
    pub fn mark_bad(&mut self, block: u32) {
        self.cells.mark_bad(block);
    }

    /// Pages of a block that were programmed since its last erase.
    pub fn programmed_pages(&self, block: u32) -> u32 {
        self.cells.blocks.get(block as usize).map_or(0, |state| state.programmed_pages)
    }

    /// The bytes in the cells of a page's data area; `None`: the area is erased (all 0xFF).
    pub fn peek_data(&self, at: Address) -> Option<&[u8]> {
        self.cells.data(self.hierarchy.page_number(at))
    }

    /// The bytes in the cells of a page's OOB area; `None`: the area is erased (all 0xFF).
    pub fn peek_oob(&self, at: Address) -> Option<&[u8]> {
        self.cells.oob(self.hierarchy.page_number(at))
    }

    /// Memory that page contents occupy, in bytes.
    pub fn allocated_bytes(&self) -> u64 {
        self.cells.allocated_bytes()
    }

    /// A copy of the content: data, OOB, program counts, wear. Faults, power and times are not included.
    pub fn snapshot(&self) -> ChipImage {
        ChipImage::of(&self.cells)
    }

    /// Puts the content of a snapshot back; it must come from an array of the same sizes.
    pub fn restore(&mut self, image: &ChipImage) -> std::result::Result<(), GeometryMismatch> {
        image.put_into(&mut self.cells)?;
        for plane in &mut self.planes {
            plane.running.clear();
        }
        Ok(())
    }
}
