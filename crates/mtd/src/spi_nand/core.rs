//! The driver's operations on one chip. Addresses are pages and blocks of the chip.

use super::bus::Costs;
use super::status::Decoded;
use super::Wiring;
use crate::driver::OpCost;
use crate::error::MtdError;
use crate::nand::{Core, EccResult, Tail};
use ffslab_flash::{Geometry, DAMAGED};

/// What the driver knows of a block (`NAND_BBT_BLOCK_STATUS_UNKNOWN` and so on): nothing until somebody asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Unknown,
    Good,
    Bad,
}

/// Reads two bytes of the first page's out-of-band area; a good block has 0xFF in both (`spinand_isbad`).
const MARK_BYTES: usize = 2;

pub(super) struct Serial {
    wiring: Wiring,
    costs: Costs,
    blocks_per_die: u32,
    /// The die that is chosen, and for each whether its ECC is on (`cfg_cache`).
    die: u32,
    ecc_is_on: Box<[bool]>,
    known: Box<[Known]>,
    known_version: u64,
    page: Box<[u8]>,
    oob: Box<[u8]>,
    /// A controller that cannot send an erase block in one transfer has no continuous reads (`spinand_create_rdesc`).
    reads_continuously: bool,
    /// Transfers in which a page comes, one with its out-of-band area, and that area alone.
    page_pieces: u64,
    page_with_oob_pieces: u64,
    oob_pieces: u64,
}

impl Serial {
    pub fn new(core: &Core, wiring: Wiring) -> Serial {
        let geometry = core.chip.geometry();
        core.chip.has_dies(wiring.dies);
        let mut serial = Serial {
            costs: Costs::new(&wiring, &geometry, &core.chip.timing()),
            blocks_per_die: geometry.blocks / wiring.dies,
            die: 0,
            ecc_is_on: vec![true; wiring.dies as usize].into_boxed_slice(),
            known: vec![Known::Unknown; geometry.blocks as usize].into_boxed_slice(),
            known_version: core.chip.contents_version(),
            page: vec![0xFF; geometry.page_bytes as usize].into_boxed_slice(),
            oob: vec![0xFF; geometry.oob_bytes as usize].into_boxed_slice(),
            reads_continuously: false,
            page_pieces: 1,
            page_with_oob_pieces: 1,
            oob_pieces: 1,
            wiring,
        };
        serial.cut_into_pieces(&geometry);
        serial.restart(core);
        serial
    }

    /// How many transfers a page takes on this bus.
    fn cut_into_pieces(&mut self, geometry: &Geometry) {
        let Wiring { bus, continuous_reads, .. } = &self.wiring;
        self.reads_continuously = *continuous_reads && bus.pieces(geometry.block_bytes()) == 1;
        self.page_pieces = bus.pieces(geometry.page_bytes);
        self.page_with_oob_pieces = bus.pieces(geometry.page_bytes + geometry.oob_bytes);
        self.oob_pieces = bus.pieces(geometry.oob_bytes);
    }

    /// Another program drives the chip from now on. The chip stays the same: what `wiring` says of its layout and ECC is not looked at.
    pub fn rewire(&mut self, core: &mut Core, wiring: &Wiring) {
        let Wiring { bus, read, program_lines, continuous_reads, .. } = wiring.clone();
        self.wiring = Wiring { bus, read, program_lines, continuous_reads, ..self.wiring.clone() };
        let geometry = core.chip.geometry();
        core.chip.set_timing(self.wiring.timing(core.chip.timing()));
        self.costs = Costs::new(&self.wiring, &geometry, &core.chip.timing());
        self.cut_into_pieces(&geometry);
    }

    pub fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Free bytes of the out-of-band area that are bytes of the mark, too (GigaDevice, XTX).
    pub fn free_mark_bytes(&self, core: &Core) -> u32 {
        core.layout.free_bytes_before(MARK_BYTES) as u32
    }

    /// As after `spinand_init`, which ends with the last die, its ECC switched off.
    pub fn restart(&mut self, core: &Core) {
        self.die = self.wiring.dies - 1;
        self.ecc_is_on.fill(true);
        self.ecc_is_on[self.die as usize] = false;
        self.known.fill(Known::Unknown);
        self.known_version = core.chip.contents_version();
    }

    // ---- transfers that operations share ---------------------------------------------------------------------------

    /// Chooses the die of a block (`spinand_select_target`).
    #[inline]
    fn select(&mut self, core: &Core, block: u32) -> Result<(), MtdError> {
        if !core.chip.is_on() {
            return Err(MtdError::PowerCut);
        }
        let die = block / self.blocks_per_die;
        if die != self.die {
            self.die = die;
            core.sim.drive(self.costs.select_die);
        }
        Ok(())
    }

    /// Chooses the die of a block and switches its ECC on or off, which costs a transfer if it changes (`spinand_upd_cfg`).
    #[inline]
    fn prepare(&mut self, core: &Core, page: u32, ecc: bool) -> Result<(), MtdError> {
        self.select(core, page / core.chip.geometry().pages_per_block)?;
        let is_on = &mut self.ecc_is_on[self.die as usize];
        if *is_on != ecc {
            *is_on = ecc;
            core.sim.drive(self.costs.feature);
        }
        Ok(())
    }

    /// PAGE READ, the wait, and the heads of the READ FROM CACHE in which `pieces` pieces of data come.
    #[inline]
    fn read_cost(&self, core: &Core, pieces: u64) -> OpCost {
        let read = core.driver.read;
        OpCost { overhead_ns: read.overhead_ns + self.costs.load + pieces * self.costs.read_head, ..read }
    }

    /// The ECC status of a page, as the driver understands what the chip says of it.
    fn told(&self, core: &Core, found: EccResult) -> Result<EccResult, MtdError> {
        let encoding = self.wiring.encoding;
        let registers = encoding.registers((!found.failed).then_some(found.bitflips));
        if encoding.reads_further(registers.status) {
            core.sim.drive(self.costs.feature);
        }
        match encoding.decode(registers, self.wiring.strength_bits) {
            Decoded::Bits(bitflips) => Ok(EccResult { bitflips, failed: false }),
            Decoded::Failed => Ok(EccResult { bitflips: 0, failed: true }),
            Decoded::Reserved => {
                debug_assert!(false, "{encoding:?}: {registers:?} says nothing");
                Err(MtdError::NotSupported)
            }
        }
    }

    // ---- reading -----------------------------------------------------------------------------------------------------

    /// Reads `data` from byte `column` of a page; no more than the page holds (`spinand_read_page`).
    #[inline]
    pub fn read(&mut self, core: &mut Core, page: u32, column: usize, data: &mut [u8]) -> Result<EccResult, MtdError> {
        if data.len() == self.page.len() {
            return self.read_page(core, page, data);
        }
        let mut buffer = std::mem::take(&mut self.page);
        let result = self.read_page(core, page, &mut buffer);
        data.copy_from_slice(&buffer[column..column + data.len()]);
        self.page = buffer;
        result
    }

    #[inline]
    fn read_page(&mut self, core: &mut Core, page: u32, data: &mut [u8]) -> Result<EccResult, MtdError> {
        self.prepare(core, page, true)?;
        let began_ns = core.sim.now_ns();
        let flips = core.chip.read_part(page, 0, data, 0)?;
        core.charge(self.read_cost(core, self.page_pieces), began_ns);
        if flips == 0 {
            return Ok(EccResult::CLEAN);
        }
        let found = core.correct(flips, 0, data, Tail::Oob);
        self.told(core, found)
    }

    /// Whether the kernel reads so many pages of one erase block with one command (`spinand_use_cont_read`).
    pub fn reads_on(&self, pages: u32) -> bool {
        pages > 1 && self.reads_continuously
    }

    /// Reads from several pages of one erase block with one command (`spinand_mtd_continuous_page_read`). Whole pages cross the
    /// bus, and one status tells the worst of them.
    pub fn read_continuously(
        &mut self,
        core: &mut Core,
        first_page: u32,
        column: usize,
        data: &mut [u8],
    ) -> Result<EccResult, MtdError> {
        let page_bytes = self.page.len();
        let mut buffer = std::mem::take(&mut self.page);
        let mut found = EccResult::CLEAN;
        let mut done = || -> Result<(), MtdError> {
            // SET FEATURE switches the mode on, in the end off; GET FEATURE reads the status, which is not that of the polls.
            self.select(core, first_page / core.chip.geometry().pages_per_block)?;
            core.sim.drive(self.costs.feature);
            self.prepare(core, first_page, true)?;
            let (mut page, mut column, mut rest) = (first_page, column, &mut *data);
            while !rest.is_empty() {
                let (part, after) = rest.split_at_mut(rest.len().min(page_bytes - column));
                let began_ns = core.sim.now_ns();
                let flips = if page == first_page {
                    let flips = core.chip.read_part(page, 0, &mut buffer, 0)?;
                    core.charge(self.read_cost(core, 1), began_ns);
                    flips
                } else {
                    let flips = core.chip.read_next(page, &mut buffer)?;
                    core.charge(OpCost { overhead_ns: 0, ..core.driver.read }, began_ns);
                    flips
                };
                if flips != 0 {
                    found = found.worse(core.correct(flips, 0, &mut buffer, Tail::Oob));
                }
                part.copy_from_slice(&buffer[column..column + part.len()]);
                (page, column, rest) = (page + 1, 0, after);
            }
            core.sim.drive(self.costs.feature);
            Ok(())
        };
        let result = done();
        self.page = buffer;
        result?;
        let told = if found.failed || found.bitflips > 0 { self.told(core, found) } else { Ok(found) };
        core.sim.drive(self.costs.feature);
        told
    }

    /// Reads a page and its free out-of-band bytes with one READ FROM CACHE.
    pub fn read_with_oob(
        &mut self,
        core: &mut Core,
        page: u32,
        data: &mut [u8],
        free: &mut [u8],
    ) -> Result<EccResult, MtdError> {
        self.prepare(core, page, true)?;
        let began_ns = core.sim.now_ns();
        let flips = core.chip.read_page(page, data, Some(&mut self.oob))?;
        core.charge(self.read_cost(core, self.page_with_oob_pieces), began_ns);
        core.layout.gather(&self.oob, free);
        if flips == 0 {
            return Ok(EccResult::CLEAN);
        }
        let found = core.correct(flips, 0, data, Tail::Oob);
        self.told(core, found)
    }

    /// Reads the free out-of-band bytes of a page. The chip corrects the whole page nevertheless, so the status is that of its
    /// data, too.
    pub fn read_oob(&mut self, core: &mut Core, page: u32, free: &mut [u8]) -> Result<EccResult, MtdError> {
        self.prepare(core, page, true)?;
        let began_ns = core.sim.now_ns();
        core.chip.read_oob(page, &mut self.oob)?;
        core.charge(self.read_cost(core, self.oob_pieces), began_ns);
        core.layout.gather(&self.oob, free);
        if core.chip.damaged_units(page) == 0 {
            return Ok(EccResult::CLEAN);
        }
        let found = core.correct(DAMAGED, 0, &mut [], Tail::Oob);
        self.told(core, found)
    }

    // ---- writing -----------------------------------------------------------------------------------------------------

    /// Programs a page, with free out-of-band bytes if there are any (`spinand_write_page`).
    pub fn write(&mut self, core: &mut Core, page: u32, data: &[u8], free: Option<&[u8]>) -> Result<(), MtdError> {
        self.prepare(core, page, true)?;
        if let Some(free) = free {
            self.oob.fill(0xFF);
            core.layout.scatter(free, &mut self.oob);
        }
        let began_ns = core.sim.now_ns();
        let result = core.chip.program_page(page, data, free.map(|_| &*self.oob));
        core.finish(self.program_cost(core), began_ns, result)
    }

    /// Programs free out-of-band bytes of a page; its data go over the bus as 0xFF.
    pub fn write_oob(&mut self, core: &mut Core, page: u32, free: &[u8]) -> Result<(), MtdError> {
        self.oob.fill(0xFF);
        core.layout.scatter(free, &mut self.oob);
        self.program_oob(core, page, true)
    }

    fn program_oob(&mut self, core: &mut Core, page: u32, ecc: bool) -> Result<(), MtdError> {
        self.prepare(core, page, ecc)?;
        let began_ns = core.sim.now_ns();
        let result = core.chip.program_oob_with_page(page, &self.oob);
        core.finish(self.program_cost(core), began_ns, result)
    }

    fn program_cost(&self, core: &Core) -> OpCost {
        let program = core.driver.program;
        OpCost { overhead_ns: program.overhead_ns + self.costs.program, ..program }
    }

    /// Erases a good block (`nanddev_erase`, `spinand_erase`).
    pub fn erase(&mut self, core: &mut Core, block: u32) -> Result<(), MtdError> {
        if self.ask_bad(core, block)? {
            return Err(MtdError::BadBlock);
        }
        self.select(core, block)?;
        let began_ns = core.sim.now_ns();
        let result = core.chip.erase(block);
        let erase = core.driver.erase;
        core.finish(OpCost { overhead_ns: erase.overhead_ns + self.costs.erase, ..erase }, began_ns, result)
    }

    // ---- bad blocks --------------------------------------------------------------------------------------------------

    /// Whether a block is bad, for an observer: what the driver knows, or what it would find.
    pub fn is_bad(&self, core: &Core, block: u32) -> bool {
        let is_known = self.known_version == core.chip.contents_version();
        match self.known[block as usize] {
            Known::Bad if is_known => true,
            Known::Good if is_known => false,
            _ => {
                let page = block * core.chip.geometry().pages_per_block;
                core.chip.peek_oob(page).is_some_and(|oob| !crate::is_erased(&oob[..MARK_BYTES]))
            }
        }
    }

    /// Whether a block is bad, as the driver finds it out: from its table, which is filled when a block is asked for the first
    /// time (`nanddev_isbad`), with ECC switched off.
    ///
    /// Errors: a power cut.
    pub fn ask_bad(&mut self, core: &mut Core, block: u32) -> Result<bool, MtdError> {
        if self.known_version != core.chip.contents_version() {
            self.known.fill(Known::Unknown);
            self.known_version = core.chip.contents_version();
        }
        if self.known[block as usize] == Known::Unknown {
            let page = block * core.chip.geometry().pages_per_block;
            self.prepare(core, page, false)?;
            let began_ns = core.sim.now_ns();
            core.chip.read_oob(page, &mut self.oob)?;
            core.charge(self.read_cost(core, self.oob_pieces), began_ns);
            let is_good = crate::is_erased(&self.oob[..MARK_BYTES]);
            self.known[block as usize] = if is_good { Known::Good } else { Known::Bad };
        }
        Ok(self.known[block as usize] == Known::Bad)
    }

    /// Programs the mark, without an erase before it, and enters the block in the table even if that fails
    /// (`nanddev_markbad`, which then reports no error).
    pub fn mark_bad(&mut self, core: &mut Core, block: u32) -> Result<(), MtdError> {
        if self.ask_bad(core, block)? {
            return Ok(());
        }
        self.oob.fill(0xFF);
        self.oob[..MARK_BYTES].fill(0);
        let page = block * core.chip.geometry().pages_per_block;
        if self.program_oob(core, page, false) == Err(MtdError::PowerCut) {
            return Err(MtdError::PowerCut);
        }
        self.known[block as usize] = Known::Bad;
        core.note_grown_bad();
        Ok(())
    }
}
