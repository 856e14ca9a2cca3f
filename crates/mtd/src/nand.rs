//! The NAND core of one chip: its one-page cache, ECC, bad block table and costs. Addresses are pages of the chip.

mod bad_blocks;

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use ffslab_flash::{Chip, FlashError};
use ffslab_sim::{Sim, Work};

use crate::correction::{Corrector, Flipped};
pub(crate) use crate::correction::{EccResult, Tail};
use crate::driver::{Driver, DriverError, OpCost};
use crate::error::MtdError;
use crate::health::{Health, Upkeep};
use crate::layout::OobLayout;
use crate::page_memory::PagesInMemory;

/// One chip with its driver; clones share it.
#[derive(Clone)]
pub struct Nand(pub(crate) Rc<RefCell<Core>>);

pub(crate) struct Core {
    pub chip: Chip,
    pub sim: Sim,
    pub driver: Driver,
    pub layout: OobLayout,
    page_bytes: usize,
    /// Whether a read can move less than a page (`NAND_SUBPAGE_READ`).
    subpage_reads: bool,
    /// What the CPU does for the code of each byte.
    ecc_work: Option<Work>,
    /// A read with at least this many flips in one step reports them.
    bitflip_threshold: u32,
    /// The page whose data are in `page_buffer`, and the number of flips that were corrected in it
    /// (`nand_chip.pagecache`).
    cached_page: Option<u32>,
    cached_bitflips: u32,
    page_buffer: Box<[u8]>,
    oob_buffer: Box<[u8]>,
    corrector: Corrector,
    bad: Box<[bool]>,
    known_version: u64,
    health: Health,
    /// Frames that the last read with errors could not correct.
    failed_frames: u64,
    page_memory: Option<PagesInMemory>,
}

impl Nand {
    /// Starts the driver on a chip: checks that they suit each other and makes the bad block table from the marks.
    pub fn new(chip: Chip, driver: Driver) -> Result<Nand, DriverError> {
        let geometry = chip.geometry();
        driver.check(&geometry)?;
        let layout = OobLayout::new(&geometry, &driver.ecc);
        Ok(Nand::with_layout(chip, driver, layout))
    }

    /// A chip whose ECC has a layout of its own. Driver and layout suit the chip.
    pub(crate) fn with_layout(chip: Chip, driver: Driver, layout: OobLayout) -> Nand {
        let geometry = chip.geometry();
        let mut core = Core {
            sim: chip.sim().clone(),
            layout,
            page_bytes: geometry.page_bytes as usize,
            subpage_reads: driver.ecc.reads_single_steps(&geometry),
            ecc_work: driver.ecc.engine.work,
            bitflip_threshold: driver.threshold_bits(),
            cached_page: None,
            cached_bitflips: 0,
            page_buffer: vec![0xFF; geometry.page_bytes as usize].into_boxed_slice(),
            oob_buffer: vec![0xFF; geometry.oob_bytes as usize].into_boxed_slice(),
            corrector: Corrector::new(driver.ecc.code, driver.threshold_bits(), geometry.page_bytes),
            bad: vec![false; geometry.blocks as usize].into_boxed_slice(),
            known_version: chip.contents_version(),
            health: Health::default(),
            failed_frames: 0,
            page_memory: driver.page_memory.map(|memory| PagesInMemory::new(memory, &geometry)),
            chip,
            driver,
        };
        core.chip.set_frames(core.layout.frames(geometry.page_bytes, driver.ecc.code.step_bytes));
        core.restart();
        Nand(Rc::new(RefCell::new(core)))
    }

    /// Gives access to the chip itself: faults, power, images, wear. `f` must not call back into this NAND or its
    /// partitions. If `f` has changed the chip's content, everything that the driver keeps in RAM is read anew.
    pub fn with_chip<R>(&self, f: impl FnOnce(&mut Chip) -> R) -> R {
        let mut core = self.0.borrow_mut();
        let operations_before = core.chip.modifying_operations();
        let result = f(&mut core.chip);
        if core.chip.contents_version() != core.known_version || core.chip.modifying_operations() != operations_before {
            core.restart();
        }
        result
    }

    /// The chip in the hands of somebody who sends it commands past this driver, which then knows nothing of what it holds.
    pub fn past_driver(&self) -> RefMut<'_, Chip> {
        RefMut::map(self.0.borrow_mut(), |core| &mut core.chip)
    }

    /// Drops everything that the driver keeps in RAM and reads the bad block marks anew, as at a restart of the system.
    /// Takes no virtual time.
    pub fn restart(&self) {
        self.0.borrow_mut().restart();
    }

    pub fn driver(&self) -> Driver {
        self.0.borrow().driver
    }
}

impl Core {
    pub fn chip(&self) -> &Chip {
        &self.chip
    }

    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    /// `None`: the chip does not age.
    pub fn health(&self) -> Option<Health> {
        self.chip.ageing().map(|_| self.health)
    }

    /// Counts a block that was marked bad.
    pub fn note_grown_bad(&mut self) {
        self.health.grown_bad_blocks += 1;
    }

    pub fn note(&mut self, what: Upkeep) {
        self.health.note(what);
    }

    /// What the last read could not correct does not count, because it is read again.
    pub fn forget_failures(&mut self) {
        self.health.uncorrectable_frames -= self.failed_frames;
        self.health.read_retries += 1;
    }

    pub fn set_retry_mode(&mut self, mode: u32) {
        self.chip.set_read_retry(mode);
    }

    fn restart(&mut self) {
        self.cached_page = None;
        self.known_version = self.chip.contents_version();
        for (block, bad) in self.bad.iter_mut().enumerate() {
            *bad = self.chip.is_marked_bad(block as u32);
        }
    }

    /// Adds the driver's overhead to an operation that began at `began_ns`, and charges its energy.
    #[inline]
    pub fn charge(&self, cost: OpCost, began_ns: u64) {
        if cost.overhead_ns != 0 {
            self.sim.drive(cost.overhead_ns);
        }
        if cost.power.cpu != 0.0 || cost.power.memory != 0.0 {
            self.sim.consume(cost.power, self.sim.now_ns() - began_ns);
        }
    }

    /// Charges the CPU for computing the ECC of so many bytes, if it is the CPU that does it.
    #[inline]
    fn compute_ecc(&self, bytes: usize) {
        if let Some(work) = self.ecc_work {
            self.sim.work(work, bytes);
        }
    }

    #[inline]
    pub fn report(&self, result: EccResult) -> Result<crate::Corrected, MtdError> {
        if result.failed {
            Err(MtdError::Uncorrectable)
        } else if result.bitflips >= self.bitflip_threshold {
            Ok(crate::Corrected::BitFlips(result.bitflips))
        } else {
            Ok(crate::Corrected::Clean)
        }
    }

    // ---- reading -------------------------------------------------------------------------------------------

    /// Reads `data` from byte `column` of a page; no more than the page holds (one turn of `nand_do_read_ops`).
    #[inline]
    pub fn read(&mut self, page: u32, column: usize, data: &mut [u8]) -> Result<EccResult, MtdError> {
        let result = self.read_once(page, column, data)?;
        if result.failed {
            return self.retry(result, |core| core.read_once(page, column, data));
        }
        Ok(result)
    }

    #[inline]
    fn read_once(&mut self, page: u32, column: usize, data: &mut [u8]) -> Result<EccResult, MtdError> {
        if self.cached_page == Some(page) {
            data.copy_from_slice(&self.page_buffer[column..column + data.len()]);
            return Ok(EccResult { bitflips: self.cached_bitflips, failed: false });
        }
        if data.len() == self.page_bytes {
            // A whole page is read directly into the caller's buffer, so the cache does not change.
            return self.read_whole_page(page, data);
        }
        // From here on the core's buffer is used for this page, so the cached page is lost.
        self.cached_page = None;
        if self.subpage_reads {
            return self.read_steps(page, column, data);
        }
        let mut buffer = std::mem::take(&mut self.page_buffer);
        let result = self.read_whole_page(page, &mut buffer);
        data.copy_from_slice(&buffer[column..column + data.len()]);
        self.page_buffer = buffer;
        if let Ok(EccResult { bitflips, failed: false }) = result {
            self.cached_page = Some(page);
            self.cached_bitflips = bitflips;
        }
        result
    }

    #[inline]
    fn read_whole_page(&mut self, page: u32, data: &mut [u8]) -> Result<EccResult, MtdError> {
        let began_ns = self.sim.now_ns();
        let flips = self.chip.read_page(page, data, None)?;
        self.charge(self.driver.read_of(data.len() + self.oob_buffer.len()), began_ns);
        self.draw_flips(page, 1);
        self.compute_ecc(data.len());
        Ok(if flips == 0 { EccResult::CLEAN } else { self.correct(flips, 0, data, Tail::Oob) })
    }

    /// Reads a whole page to see whether it is erased. If it is not, `data` holds its content afterwards.
    #[inline]
    pub fn reads_erased(&mut self, page: u32, data: &mut [u8]) -> Result<(EccResult, bool), MtdError> {
        if self.cached_page == Some(page) {
            return Ok((self.read(page, 0, data)?, is_erased(data)));
        }
        let began_ns = self.sim.now_ns();
        let flips = self.chip.read_page_unless_erased(page, data)?;
        self.charge(self.driver.read_of(data.len() + self.oob_buffer.len()), began_ns);
        self.draw_flips(page, 1);
        self.compute_ecc(data.len());
        Ok(match flips {
            None => (EccResult::CLEAN, true),
            Some(0) => (EccResult::CLEAN, is_erased(data)),
            Some(flips) => (self.correct(flips, 0, data, Tail::Oob), is_erased(data)),
        })
    }

    /// Reads the ECC steps that a small request touches, with their ECC bytes (`nand_read_subpage`).
    fn read_steps(&mut self, page: u32, column: usize, data: &mut [u8]) -> Result<EccResult, MtdError> {
        let step_bytes = self.driver.ecc.code.step_bytes as usize;
        let first = column / step_bytes;
        let steps = (column + data.len() - 1) / step_bytes - first + 1;
        let start = first * step_bytes;
        let ecc_bytes = steps as u32 * self.driver.ecc.code.code_bytes;
        let mut buffer = std::mem::take(&mut self.page_buffer);
        let moved = &mut buffer[start..start + steps * step_bytes];
        let began_ns = self.sim.now_ns();
        let mut cost = self.driver.read_of(moved.len() + ecc_bytes as usize);
        cost.overhead_ns += self.driver.read_part_ns;
        let result = self.chip.read_part(page, start as u32, moved, ecc_bytes).map(|flips| {
            self.sim.drive_by_clock(self.driver.read_part_wait_ns);
            self.charge(cost, began_ns);
            // Data and ECC bytes are read by two operations.
            self.draw_flips(page, 2);
            self.compute_ecc(moved.len());
            if flips == 0 {
                EccResult::CLEAN
            } else {
                self.correct(flips, first as u32, moved, Tail::Ecc)
            }
        });
        data.copy_from_slice(&buffer[column..column + data.len()]);
        self.page_buffer = buffer;
        Ok(result?)
    }

    /// Reads a page and its free OOB bytes in one operation (`nand_do_read_ops` with an OOB buffer): the cache is
    /// neither used nor changed.
    pub fn read_with_oob(&mut self, page: u32, data: &mut [u8], free: &mut [u8]) -> Result<EccResult, MtdError> {
        let result = self.read_with_oob_once(page, data, free)?;
        if result.failed {
            return self.retry(result, |core| core.read_with_oob_once(page, data, free));
        }
        Ok(result)
    }

    fn read_with_oob_once(&mut self, page: u32, data: &mut [u8], free: &mut [u8]) -> Result<EccResult, MtdError> {
        let mut oob = std::mem::take(&mut self.oob_buffer);
        let began_ns = self.sim.now_ns();
        let result = self.chip.read_page(page, data, Some(&mut oob)).map(|flips| {
            self.charge(self.driver.read_of(data.len() + oob.len()), began_ns);
            self.compute_ecc(data.len());
            self.layout.gather(&oob, free);
            if flips == 0 {
                EccResult::CLEAN
            } else {
                self.correct(flips, 0, data, Tail::Oob)
            }
        });
        self.oob_buffer = oob;
        Ok(result?)
    }

    /// Reads the free OOB bytes of a page; no ECC covers them, and the cache stays as it is.
    pub fn read_oob(&mut self, page: u32, free: &mut [u8]) -> Result<(), MtdError> {
        let began_ns = self.sim.now_ns();
        self.chip.read_oob(page, &mut self.oob_buffer)?;
        self.charge(self.driver.read_of(self.oob_buffer.len()), began_ns);
        self.layout.gather(&self.oob_buffer, free);
        Ok(())
    }

    /// Applies ECC to a read with flipped bits ([`Corrector::correct`]).
    #[cold]
    pub fn correct(&mut self, flips: u32, first_step: u32, data: &mut [u8], tail: Tail) -> EccResult {
        let failed_before = self.health.uncorrectable_frames;
        let read = Flipped { flips, bits: self.chip.flipped_bits(), first_step, tail };
        let result = self.corrector.correct(&self.layout, read, data, &mut self.health);
        self.failed_frames = self.health.uncorrectable_frames - failed_before;
        result
    }

    // ---- writing -------------------------------------------------------------------------------------------

    /// Programs one page. The caller must have removed the page from the cache ([`Core::forget`]).
    #[inline]
    pub fn write(&mut self, page: u32, data: &[u8]) -> Result<(), MtdError> {
        self.compute_ecc(data.len());
        self.take_memory(page);
        let began_ns = self.sim.now_ns();
        let result = self.chip.program_page(page, data, None);
        self.finish(self.driver.program_data(), began_ns, result)
    }

    /// Programs a part of a page (`nand_write_subpage_hwecc`). The other bytes are sent as 0xFF. The page is assembled
    /// in the core's buffer, so the cached page is lost, whichever it was (`nand_get_data_buf`).
    pub fn write_partial(&mut self, page: u32, column: usize, data: &[u8]) -> Result<(), MtdError> {
        self.cached_page = None;
        self.page_buffer.fill(0xFF);
        self.page_buffer[column..column + data.len()].copy_from_slice(data);
        self.compute_ecc(self.page_bytes);
        self.take_memory(page);
        let began_ns = self.sim.now_ns();
        let result = self.chip.program_page(page, &self.page_buffer, None);
        self.finish(self.driver.program_data(), began_ns, result)
    }

    /// Programs a page and its free OOB bytes in one operation.
    pub fn write_with_oob(&mut self, page: u32, data: &[u8], free: &[u8]) -> Result<(), MtdError> {
        self.forget(page, 1);
        self.oob_buffer.fill(0xFF);
        self.layout.scatter(free, &mut self.oob_buffer);
        self.compute_ecc(data.len());
        self.take_memory(page);
        let began_ns = self.sim.now_ns();
        let result = self.chip.program_page(page, data, Some(&self.oob_buffer));
        self.finish(self.driver.program_data(), began_ns, result)
    }

    /// Programs free OOB bytes of a page, the other OOB bytes as 0xFF.
    pub fn write_oob(&mut self, page: u32, free: &[u8]) -> Result<(), MtdError> {
        self.oob_buffer.fill(0xFF);
        self.layout.scatter(free, &mut self.oob_buffer);
        self.program_oob_buffer(page)
    }

    fn program_oob_buffer(&mut self, page: u32) -> Result<(), MtdError> {
        self.forget(page, 1);
        self.take_memory(page);
        let began_ns = self.sim.now_ns();
        let result = self.chip.program_oob(page, &self.oob_buffer);
        self.finish(self.driver.program, began_ns, result)
    }

    /// Erases a good block (`nand_erase_nand`).
    pub fn erase(&mut self, block: u32) -> Result<(), MtdError> {
        let began_ns = self.sim.now_ns();
        if self.find_bad(block)? {
            return Err(MtdError::BadBlock);
        }
        let pages_per_block = self.chip.geometry().pages_per_block;
        self.forget(block * pages_per_block, pages_per_block);
        let result = self.chip.erase(block);
        let freed_ns = self.page_memory.as_mut().map_or(0, |memory| memory.give_back(block));
        let cost = OpCost { overhead_ns: self.driver.erase.overhead_ns + freed_ns, ..self.driver.erase };
        self.finish(cost, began_ns, result)
    }

    /// Removes pages from the cache.
    #[inline]
    pub fn forget(&mut self, first_page: u32, pages: u32) {
        if self.cached_page.is_some_and(|page| page >= first_page && page - first_page < pages) {
            self.cached_page = None;
        }
    }

    /// Charges for drawing whether bits flip in so many read operations, where the chip is memory.
    #[inline]
    fn draw_flips(&mut self, page: u32, operations: u64) {
        if let Some(memory) = &self.page_memory {
            let draw_ns = memory.draw(page) * operations;
            if draw_ns > 0 {
                self.sim.drive(draw_ns);
            }
        }
    }

    /// Where the chip is memory: takes some for a page that is programmed, and charges for it. The allocator may sleep
    /// (`GFP_NOFS` in `ns_prog_page`), so here is a scheduling point within the request.
    #[inline]
    fn take_memory(&mut self, page: u32) {
        if let Some(memory) = &mut self.page_memory {
            if let Some(taken_ns) = memory.take(page) {
                self.sim.may_sleep_in_request();
                if taken_ns > 0 {
                    self.sim.drive(taken_ns);
                }
            }
        }
    }

    /// Charges for an operation and returns its result. A failed operation takes its time as well.
    #[inline]
    pub fn finish(&mut self, cost: OpCost, began_ns: u64, result: Result<(), FlashError>) -> Result<(), MtdError> {
        if let Err(error) = &result {
            self.health.failed_programs += u64::from(matches!(error, FlashError::ProgramFailed { .. }));
            self.health.failed_erases += u64::from(matches!(error, FlashError::EraseFailed { .. }));
        }
        if matches!(result, Ok(()) | Err(FlashError::ProgramFailed { .. } | FlashError::EraseFailed { .. })) {
            self.charge(cost, began_ns);
            if self.driver.polls_with_resched {
                self.sim.gives_way_to_nobody();
            }
        }
        Ok(result?)
    }
}

/// Whether every byte is 0xFF, as after an erase.
pub fn is_erased(data: &[u8]) -> bool {
    static ERASED: [u8; 4096] = [0xFF; 4096];
    data.chunks(ERASED.len()).all(|chunk| chunk == &ERASED[..chunk.len()])
}
