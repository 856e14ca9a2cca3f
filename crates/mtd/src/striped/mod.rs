//! Several dies and planes behind one controller, as one medium: what SD cards, eMMC and SSDs have below their translation layer.
//!
//! **Pages** reach over the planes of a die and are read and programmed by one multi-plane command: they are so many times larger
//! than the part's. **Erase blocks** reach over all dies: consecutive pages stand on different channels first, then on different chips
//! and dies, so that programs one after the other overlap. Sizes of this kind are what flashbench finds in cards (Bergmann, LWN
//! 2011), and Agrawal et al., "Design Tradeoffs for SSD Performance" (USENIX ATC 2008) call them super-pages and gangs.
//!
//! **Overlapping.** Who has asked for it ([`crate::Medium::overlap_programs`]) gets a program back when the die has taken it. It is on flash
//! after [`crate::Medium::settle`], or when its die has done something later. A status that says "failed" is waited for. Reads overlap that are
//! begun together ([`crate::Medium::begin_read`]). An erase
//! begins when all programs have ended, and ends before the medium returns: nothing that was moved is erased before its copy is whole.
//!
//! **ECC** is that of the driver, for each plane's page; its work is the controller's and takes no time. Bad blocks stand in a table of
//! the controller, which takes no operation. Free out-of-band bytes are those of the first plane.
//!
//! **Rows.** Who has asked for cache commands ([`crate::Medium::use_cache_commands`]) gets a program back when the die's cache register is
//! free. Each page of a row is sent by 15h, the last one too: nobody knows that it is the last. The row ends when the die is told something
//! else, or at [`crate::Medium::settle`]; then the controller polls until the array is ready. Reads of a row are told whether more will come.
//!
//! **Leaves out.** Ageing, partitions, blocks of a stripe that are replaced one by one: with one
//! bad block the whole stripe is bad.

mod copies;
mod medium;

use std::cell::{Cell, RefCell};
use std::ops::Range;

use ffslab_flash::{
    Address, Array, ArrayConfig, ArrayError, Command, Done, Faults, FlashError, Geometry, Hierarchy, PageIn, PageOut,
    Rules, Timing, Traffic, PLANES_MAX,
};
use ffslab_sim::Sim;
use thiserror::Error;

use crate::correction::{Corrector, EccResult, Flipped, Tail};
use crate::driver::{Driver, DriverError};
use crate::error::{Corrected, MtdError};
use crate::health::Health;
use crate::layout::OobLayout;

/// How many units of a part there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripes {
    pub channels: u32,
    pub dies_per_channel: u32,
    /// Of each die. The part's blocks are divided among them.
    pub planes: u32,
}

impl Stripes {
    pub const ONE: Stripes = Stripes { channels: 1, dies_per_channel: 1, planes: 1 };

    pub fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    /// The array of so many dies of a part.
    fn hierarchy(&self, die: &Geometry) -> Hierarchy {
        Hierarchy {
            channels: self.channels,
            chips_per_channel: self.dies_per_channel,
            dies_per_chip: 1,
            planes_per_die: self.planes,
            blocks_per_plane: die.blocks / self.planes.max(1),
            pages_per_block: die.pages_per_block,
            page_bytes: die.page_bytes,
            oob_bytes: die.oob_bytes,
        }
    }

    /// Sizes of the medium that so many dies of a part make.
    pub fn striped(&self, die: &Geometry) -> Geometry {
        Geometry {
            page_bytes: die.page_bytes * self.planes,
            oob_bytes: die.oob_bytes * self.planes,
            pages_per_block: die.pages_per_block * self.dies(),
            blocks: die.blocks / self.planes,
        }
    }

    /// All blocks of the dies as one chip, one die after the other: what images and faults number.
    pub fn in_a_row(&self, die: &Geometry) -> Geometry {
        self.hierarchy(die).geometry()
    }
}

/// Commands of a part beside page read, page program and block erase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChipCommands {
    /// 80h, 15h.
    pub cache_program: bool,
    /// 31h, 3Fh.
    pub cache_read: bool,
    /// 00h, 35h, 85h, 10h inside a plane, with random data output and input.
    pub copy_back: bool,
    /// tCBSY and tRCBSY: from one register to the other.
    pub register_copy_ns: u64,
}

/// One die of a part.
#[derive(Clone, Copy, Debug)]
pub struct Die {
    pub geometry: Geometry,
    pub timing: Timing,
    pub rules: Rules,
    pub commands: ChipCommands,
}

/// Why dies cannot be striped.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum StripesError {
    #[error("{what} = {count}: a power of two is needed, at most {most}")]
    Count { what: &'static str, count: u32, most: u32 },
    #[error("planes = {planes}: the {blocks} blocks of a die cannot be divided among so many")]
    Planes { planes: u32, blocks: u32 },
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error(transparent)]
    Array(#[from] ArrayError),
    #[error(transparent)]
    Faults(#[from] FlashError),
}

/// Most channels, and most dies of a channel.
pub const UNITS_MAX: u32 = 64;

/// The dies with their controller.
pub struct Striped {
    sim: Sim,
    hierarchy: Hierarchy,
    array: RefCell<Array>,
    /// Numbers of the dies in the order in which pages go to them.
    dies: Box<[u32]>,
    commands: ChipCommands,
    overlaps: Cell<bool>,
    /// Rows go through the cache registers.
    caches: Cell<bool>,
    /// When the reads that were begun are done.
    reads_done_ns: Cell<u64>,
    layout: OobLayout,
    threshold_bits: u32,
    corrector: RefCell<Corrector>,
    health: Cell<Health>,
    bad: RefCell<Box<[bool]>>,
    /// A page over all planes, and the out-of-band area of the first.
    page: RefCell<Box<[u8]>>,
    oob: RefCell<Box<[u8]>>,
    /// Out-of-band bytes that a copy inside a die lets out and in.
    moved_places: RefCell<Vec<Range<usize>>>,
    traffic: Cell<Traffic>,
    formatting_erases: RefCell<Box<[u32]>>,
}

impl Stripes {
    /// # Errors
    /// Counts that are no powers of two, blocks that cannot be divided among planes.
    pub fn check(&self, die: &Geometry) -> Result<(), StripesError> {
        let planes_max = PLANES_MAX as u32;
        let counts = [
            ("channels", self.channels, UNITS_MAX),
            ("dies", self.dies_per_channel, UNITS_MAX),
            ("planes", self.planes, planes_max),
        ];
        if let Some((what, count, most)) =
            counts.into_iter().find(|&(_, count, most)| !count.is_power_of_two() || count > most)
        {
            return Err(StripesError::Count { what, count, most });
        }
        if die.blocks.is_multiple_of(self.planes) {
            Ok(())
        } else {
            Err(StripesError::Planes { planes: self.planes, blocks: die.blocks })
        }
    }

    /// Erased dies of a part.
    ///
    /// # Errors
    /// Counts that cannot be striped, a driver or faults that do not suit the part.
    pub fn medium(&self, sim: &Sim, die: Die, driver: &Driver, faults: &Faults) -> Result<Striped, StripesError> {
        let Die { geometry, timing, rules, commands } = die;
        let die = &geometry;
        self.check(die)?;
        driver.check(die)?;
        let hierarchy = self.hierarchy(die);
        let config =
            ArrayConfig { register_copy_ns: commands.register_copy_ns, ..ArrayConfig::new(hierarchy, timing, rules) };
        let mut array = Array::new(sim.clone(), config)?;
        if *faults != Faults::default() {
            array.set_faults(faults)?;
        }
        let places = (0..self.dies_per_channel).flat_map(|die| (0..self.channels).map(move |channel| (channel, die)));
        let page_bytes = (die.page_bytes * self.planes) as usize;
        let made = Striped {
            sim: sim.clone(),
            dies: places.map(|(channel, die)| hierarchy.die(channel, die, 0)).collect(),
            commands,
            overlaps: Cell::new(false),
            caches: Cell::new(false),
            reads_done_ns: Cell::new(0),
            layout: OobLayout::new(die, &driver.ecc),
            threshold_bits: driver.threshold_bits(),
            corrector: RefCell::new(Corrector::new(driver.ecc.code, driver.threshold_bits(), die.page_bytes)),
            health: Cell::default(),
            bad: RefCell::new(vec![false; hierarchy.blocks_per_plane as usize].into_boxed_slice()),
            page: RefCell::new(vec![0xFF; page_bytes].into_boxed_slice()),
            oob: RefCell::new(vec![0xFF; die.oob_bytes as usize].into_boxed_slice()),
            moved_places: RefCell::default(),
            traffic: Cell::default(),
            formatting_erases: RefCell::new(vec![0; hierarchy.blocks_per_plane as usize].into_boxed_slice()),
            array: RefCell::new(array),
            hierarchy,
        };
        made.read_marks();
        Ok(made)
    }
}

impl Striped {
    fn page_bytes(&self) -> u32 {
        self.hierarchy.page_bytes * self.hierarchy.planes_per_die
    }

    fn pages_per_block(&self) -> u32 {
        self.hierarchy.pages_per_block * self.dies.len() as u32
    }

    fn block_bytes(&self) -> u64 {
        u64::from(self.page_bytes()) * u64::from(self.pages_per_block())
    }

    fn block_of(&self, at: u64) -> Result<u32, MtdError> {
        match (at / self.block_bytes()) as u32 {
            block if block < self.hierarchy.blocks_per_plane => Ok(block),
            _ => Err(MtdError::OutOfRange),
        }
    }

    /// The die and the first plane's page that hold the page at `at`.
    fn place_of(&self, at: u64) -> Result<Address, MtdError> {
        let block = self.block_of(at)?;
        let page = (at / u64::from(self.page_bytes())) as u32 % self.pages_per_block();
        let dies = self.dies.len() as u32;
        Ok(Address {
            die: self.dies[(page % dies) as usize],
            block: block * self.hierarchy.planes_per_die,
            page: page / dies,
        })
    }

    fn whole_page(&self, at: u64, data_bytes: usize, free_bytes: usize) -> Result<Address, MtdError> {
        if !at.is_multiple_of(u64::from(self.page_bytes())) || data_bytes != self.page_bytes() as usize {
            return Err(MtdError::Unaligned);
        }
        if free_bytes > self.layout.free_bytes() {
            return Err(MtdError::OutOfRange);
        }
        self.place_of(at)
    }

    fn in_plane(&self, at: Address, plane: u32) -> Address {
        Address { block: at.block + plane, ..at }
    }

    /// All blocks that are erased together, by their numbers in the array.
    fn numbers_of(&self, block: u32) -> impl Iterator<Item = u32> + '_ {
        let planes = self.hierarchy.planes_per_die;
        let first = move |die| Address { die, block: block * planes, page: 0 };
        self.dies
            .iter()
            .flat_map(move |&die| (0..planes).map(move |plane| self.hierarchy.block_number(first(die)) + plane))
    }

    fn read_marks(&self) {
        let array = self.array.borrow();
        for (bad, block) in self.bad.borrow_mut().iter_mut().zip(0..) {
            *bad = self.numbers_of(block).any(|number| array.is_marked_bad(number));
        }
    }

    fn counts(&self, change: impl FnOnce(&mut Traffic)) {
        let mut traffic = self.traffic.get();
        change(&mut traffic);
        self.traffic.set(traffic);
    }

    /// Reads one page over all planes, and the first plane's out-of-band area.
    fn read_page(&self, at: Address, data: &mut [u8], oob: &mut [u8]) -> Result<EccResult, MtdError> {
        let (result, done_ns) = self.issue_read(at, data, oob, false)?;
        self.sim.wait_for_medium(done_ns);
        Ok(result)
    }

    /// As [`Striped::read_page`], without waiting. Also when it is done. `more`: the die's next page will be read next there.
    fn issue_read(
        &self,
        at: Address,
        data: &mut [u8],
        oob: &mut [u8],
        more: bool,
    ) -> Result<(EccResult, u64), MtdError> {
        let Hierarchy { page_bytes, oob_bytes, planes_per_die, .. } = self.hierarchy;
        let mut oob = Some(oob);
        let mut parts = data.chunks_exact_mut(page_bytes as usize);
        let mut pages: [PageOut; PLANES_MAX] = std::array::from_fn(|plane| {
            let data = parts.next().unwrap_or_default();
            PageOut::whole(self.in_plane(at, plane as u32), data, oob.take(), oob_bytes)
        });
        let mut array = self.array.borrow_mut();
        let more = more && self.caches.get() && self.commands.cache_read;
        let goes_on = array.goes_on_reading(at);
        if !goes_on {
            array.end_sequence(at.die);
        }
        array.wait_until(array.die_ready_ns(at.die));
        let pages_of_die = &mut pages[..planes_per_die as usize];
        let done = array.issue(if more || goes_on {
            Command::CacheRead { pages: pages_of_die, more }
        } else {
            Command::Read(pages_of_die)
        });
        let done = done.map_err(refused)?;
        let planes = u64::from(planes_per_die);
        self.counts(|traffic| {
            traffic.reads += planes;
            traffic.read_bytes += planes * u64::from(page_bytes + oob_bytes);
        });
        let flips = pages.map(|page| page.flipped_bits);
        let result =
            if flips.iter().all(|&flips| flips == 0) { EccResult::CLEAN } else { self.correct(&array, &flips, data) };
        Ok((result, done.done_ns))
    }

    #[cold]
    fn correct(&self, array: &Array, flips: &[u32], data: &mut [u8]) -> EccResult {
        let mut health = self.health.get();
        let mut result = EccResult::CLEAN;
        let pages = data.chunks_exact_mut(self.hierarchy.page_bytes as usize);
        for (index, (data, &flips)) in pages.zip(flips).enumerate().filter(|(_, (_, &flips))| flips != 0) {
            let bits: Vec<u32> = array.flipped_bits_of(index).collect();
            let read = Flipped { flips, bits: &bits, first_step: 0, tail: Tail::Oob };
            result = result.worse(self.corrector.borrow_mut().correct(&self.layout, read, data, &mut health));
        }
        self.health.set(health);
        result
    }

    fn report(&self, result: EccResult) -> Result<Corrected, MtdError> {
        match result {
            EccResult { failed: true, .. } => Err(MtdError::Uncorrectable),
            EccResult { bitflips, .. } if bitflips >= self.threshold_bits => Ok(Corrected::BitFlips(bitflips)),
            _ => Ok(Corrected::Clean),
        }
    }

    fn program(&self, at: Address, data: &[u8], oob: Option<&[u8]>) -> Result<(), MtdError> {
        let Hierarchy { page_bytes, oob_bytes, planes_per_die, .. } = self.hierarchy;
        let mut pages = [PageIn { at, data: &[], oob: None }; PLANES_MAX];
        for ((page, data), plane) in pages.iter_mut().zip(data.chunks_exact(page_bytes as usize)).zip(0..) {
            *page = PageIn { at: self.in_plane(at, plane), data, oob: if plane == 0 { oob } else { None } };
        }
        let mut array = self.array.borrow_mut();
        // The controller has one command for a die at a time.
        if array.goes_on_programming(at) {
            array.wait_until(array.cache_free_ns(at.die));
        } else {
            array.end_sequence(at.die);
            array.wait_until(array.die_ready_ns(at.die));
        }
        let pages = &pages[..planes_per_die as usize];
        let command = if self.caches.get() && self.commands.cache_program {
            Command::CacheProgram { pages, more: true }
        } else {
            Command::Program(pages)
        };
        let Done { done_ns, failed, .. } = array.issue(command).map_err(refused)?;
        let planes = u64::from(planes_per_die);
        self.counts(|traffic| {
            traffic.programs += planes;
            traffic.write_bytes += planes * u64::from(page_bytes + oob_bytes);
        });
        if failed.any() || !self.overlaps.get() {
            array.end_sequence(at.die);
            array.wait_until(done_ns);
        }
        if failed.any() {
            Err(MtdError::ProgramFailed)
        } else {
            Ok(())
        }
    }
}

/// What a command was refused for.
fn refused(error: ArrayError) -> MtdError {
    match error {
        ArrayError::PowerCut => MtdError::PowerCut,
        ArrayError::TooManyPrograms { .. } | ArrayError::OutOfOrder { .. } => MtdError::RuleBroken,
        other => {
            debug_assert!(false, "{other}");
            MtdError::OutOfRange
        }
    }
}
