//! The chip: operations take time and are counted, and rules, faults and power cuts apply to them.

mod aged;
mod content;
mod laws;
mod lives;
mod serial;

use ffslab_sim::{MediumUnits, Op, Sim, FORMATTING};

use crate::cells::Cells;
use crate::error::FlashError;
use crate::faults::{FaultState, Faults};
use crate::geometry::{Geometry, GeometryError, Rules, Timing};
use crate::modification::Modification;
use crate::pairing::Pairing;
use crate::power::{Power, Torn};
use crate::reading::{Moved, Reading};

type Result<T> = std::result::Result<T, FlashError>;

/// A NAND chip.
///
/// Every operation is counted ([`Sim::count`], with the time at which it began) and then advances the clock by its array
/// time and its bus time. A failed program or erase costs and counts as much as a good one. What the chip refuses
/// (a wrong address, a rule broken, no power) costs nothing.
pub struct Chip {
    sim: Sim,
    pub(crate) cells: Cells,
    rules: Rules,
    timing: Timing,
    read_page_ns: u64,
    program_page_ns: u64,
    read_oob_ns: u64,
    program_oob_ns: u64,
    reading: Reading,
    power: Power,
    pairing: Option<Box<Pairing>>,
    /// `None`: each operation takes the time that `timing` says.
    laws: Option<Box<laws::Drawing>>,
    contents_version: u64,
    formatting_erases: Vec<u32>,
    /// `None`: nobody wants to know what changes the cells.
    pub(crate) kept: Option<Vec<Modification>>,
}

impl Chip {
    /// An erased chip without faults, switched on.
    pub fn new(sim: Sim, geometry: Geometry, timing: Timing, rules: Rules) -> std::result::Result<Chip, GeometryError> {
        geometry.check()?;
        rules.check()?;
        let mut chip = Chip {
            sim,
            cells: Cells::new(geometry),
            rules,
            timing,
            read_page_ns: 0,
            program_page_ns: 0,
            read_oob_ns: 0,
            program_oob_ns: 0,
            reading: Reading::default(),
            power: Power::new(),
            pairing: None,
            laws: None,
            contents_version: 0,
            formatting_erases: vec![0; geometry.blocks as usize],
            kept: None,
        };
        chip.set_timing(timing);
        chip.has_dies(1);
        Ok(chip)
    }

    /// Tells who watches of how many dies the chip consists.
    pub fn has_dies(&self, dies: u32) {
        let Geometry { blocks, pages_per_block, page_bytes, .. } = self.cells.geometry;
        self.sim.medium_has(MediumUnits { dies, planes_per_die: 1, blocks, pages_per_block, page_bytes });
    }

    /// Takes other times, and computes what the operations on a whole page then take.
    pub fn set_timing(&mut self, timing: Timing) {
        let Geometry { page_bytes, oob_bytes, .. } = self.cells.geometry;
        let page_bus_ns = bus_ns(timing, page_bytes + oob_bytes);
        let oob_bus_ns = bus_ns(timing, oob_bytes);
        self.timing = timing;
        self.read_page_ns = timing.read_ns + page_bus_ns;
        self.program_page_ns = timing.program_ns + page_bus_ns;
        self.read_oob_ns = timing.read_ns + oob_bus_ns;
        self.program_oob_ns = timing.program_ns + oob_bus_ns;
    }

    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    pub fn geometry(&self) -> Geometry {
        self.cells.geometry
    }

    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// From now on no byte takes time on the bus: who sends the chip's commands knows himself how fast he is.
    pub fn leaves_the_bus_out(&mut self) {
        self.set_timing(Timing { bus_ps_per_byte: 0, ..self.timing });
    }

    pub fn rules(&self) -> Rules {
        self.rules
    }

    // ---- reading -------------------------------------------------------------------------------------------

    /// Reads a page; page and OOB bytes move over the bus whether the OOB is wanted or not. Returns the number of
    /// flipped bits in what moved ([`Chip::flipped_bits`]), or [`DAMAGED`](crate::DAMAGED).
    #[inline]
    pub fn read_page(&mut self, page: u32, data: &mut [u8], mut oob: Option<&mut [u8]>) -> Result<u32> {
        let Geometry { page_bytes, oob_bytes, .. } = self.cells.geometry;
        let block = self.check_page(page)?;
        check_buffer(data.len(), page_bytes)?;
        if let Some(oob) = &mut oob {
            check_buffer(oob.len(), oob_bytes)?;
            self.cells.read_oob(page, oob);
        }
        self.cells.read_data(page, 0, data);
        self.cells.blocks[block as usize].reads_since_erase += 1;
        self.spend(Op::PageRead, page, page_bytes + oob_bytes, 0, self.read_page_ns);
        if self.reads_are_faithful() {
            return Ok(0);
        }
        Ok(self.reading.disturb(
            &self.cells,
            Moved { page, now_ns: self.sim.now_ns(), column: 0, data, tail_bytes: oob_bytes, tail: oob },
        ))
    }

    /// Reads a part of a page's data area, from byte `column`, and moves `further_bytes` (of ECC) after it.
    /// Returns as [`Chip::read_page`] does.
    #[inline]
    pub fn read_part(&mut self, page: u32, column: u32, data: &mut [u8], further_bytes: u32) -> Result<u32> {
        let block = self.check_page(page)?;
        let page_bytes = self.cells.geometry.page_bytes;
        let end = u64::from(column) + data.len() as u64;
        if end > u64::from(page_bytes) {
            return Err(FlashError::Column { column, end, page_bytes });
        }
        self.cells.read_data(page, column, data);
        self.cells.blocks[block as usize].reads_since_erase += 1;
        let moved_bytes = data.len() as u32 + further_bytes;
        let busy_ns = self.timing.read_ns + bus_ns(self.timing, moved_bytes);
        // A request for the whole data area is not a partial read, although the rest of the OOB area is left out.
        let op = if data.len() as u32 == page_bytes { Op::PageRead } else { Op::PartialPageRead };
        self.spend(op, page, moved_bytes, 0, busy_ns);
        if self.reads_are_faithful() {
            return Ok(0);
        }
        Ok(self.reading.disturb(
            &self.cells,
            Moved { page, now_ns: self.sim.now_ns(), column, data, tail_bytes: further_bytes, tail: None },
        ))
    }

    /// Reads a page's OOB area. Returns as [`Chip::read_page`] does.
    #[inline]
    pub fn read_oob(&mut self, page: u32, oob: &mut [u8]) -> Result<u32> {
        let block = self.check_page(page)?;
        let oob_bytes = self.cells.geometry.oob_bytes;
        check_buffer(oob.len(), oob_bytes)?;
        self.cells.read_oob(page, oob);
        self.cells.blocks[block as usize].reads_since_erase += 1;
        self.spend(Op::OobRead, page, oob_bytes, 0, self.read_oob_ns);
        if self.reads_are_faithful() {
            return Ok(0);
        }
        Ok(self.reading.disturb(
            &self.cells,
            Moved { page, now_ns: self.sim.now_ns(), column: 0, data: &mut [], tail_bytes: oob_bytes, tail: Some(oob) },
        ))
    }

    /// Gets the mark of a bad block into the register; the one word that leaves it counts as nothing, as in nandsim.
    pub fn read_mark(&mut self, block: u32) -> Result<()> {
        let page = block * self.cells.geometry.pages_per_block;
        self.check_page(page).map(|block| self.cells.blocks[block as usize].reads_since_erase += 1)?;
        self.spend(Op::OobRead, page, 0, 0, self.timing.read_ns);
        Ok(())
    }

    /// Bits that the last read flipped, each as a bit number in what it moved: data first, then OOB or ECC bytes.
    pub fn flipped_bits(&self) -> &[u32] {
        &self.reading.flipped_bits
    }

    /// Units of 256 bytes of a page's data area (bit n: unit n) that no ECC can correct.
    pub fn damaged_units(&self, page: u32) -> u64 {
        if page < self.cells.geometry.pages() {
            self.cells.damage(page)
        } else {
            0
        }
    }

    #[inline]
    fn reads_are_faithful(&mut self) -> bool {
        self.reading.is_faithful(&self.cells)
    }

    // ---- programming and erasing ---------------------------------------------------------------------------

    /// Programs a page; page and OOB bytes move over the bus (0xFF where no OOB is given). Bits only go from 1 to 0.
    pub fn program_page(&mut self, page: u32, data: &[u8], oob: Option<&[u8]>) -> Result<()> {
        let Geometry { page_bytes, oob_bytes, pages_per_block, .. } = self.cells.geometry;
        let block = self.check_page(page)?;
        check_buffer(data.len(), page_bytes)?;
        if let Some(oob) = oob {
            check_buffer(oob.len(), oob_bytes)?;
        }
        let programs = self.cells.programs(page);
        if programs >= self.rules.partial_programs_max && self.rules.partial_programs_max < 255 {
            return Err(FlashError::TooManyPrograms { page, programs });
        }
        if self.rules.in_order {
            let floor = self.cells.blocks[block as usize].order_floor_page;
            if (page & (pages_per_block - 1)) + 1 < floor {
                return Err(FlashError::OutOfOrder { page, last: block * pages_per_block + floor - 1 });
            }
        }
        let op = if programs == 0 { Op::PageProgram } else { Op::Reprogram };
        if let Some(kept) = &mut self.kept {
            kept.push(Modification::of_page(page, data, oob));
        }
        let cut = self.power.begin();
        match cut {
            None | Some(Torn::Complete) => {
                self.cells.program_data(page, data);
                if let Some(oob) = oob {
                    self.cells.program_oob(page, oob);
                }
            }
            Some(Torn::Nothing) => return Err(FlashError::PowerCut),
            Some(Torn::Partial { seed }) => {
                self.cells.program_torn(seed, page, data, oob, self.pairing.as_deref());
            }
            Some(Torn::Unstable { seed }) => self.cells.program_unstable(seed, page, data, oob),
        }
        self.spend(op, page, 0, page_bytes + oob_bytes, self.program_page_ns);
        self.program_status(page, cut)
    }

    /// Programs a page's OOB area only.
    pub fn program_oob(&mut self, page: u32, oob: &[u8]) -> Result<()> {
        self.program_oob_moving(page, oob, self.cells.geometry.oob_bytes, self.program_oob_ns)
    }

    /// The same where other bytes move over the bus, too.
    fn program_oob_moving(&mut self, page: u32, oob: &[u8], moved_bytes: u32, busy_ns: u64) -> Result<()> {
        let oob_bytes = self.cells.geometry.oob_bytes;
        self.check_page(page)?;
        check_buffer(oob.len(), oob_bytes)?;
        if let Some(kept) = &mut self.kept {
            kept.push(Modification::Oob { page, oob: oob.into() });
        }
        let cut = self.power.begin();
        match cut {
            None | Some(Torn::Complete) => self.cells.program_oob(page, oob),
            Some(Torn::Nothing) => return Err(FlashError::PowerCut),
            Some(Torn::Partial { seed }) => {
                self.cells.program_oob_torn(seed, page, oob, self.pairing.as_deref());
            }
            Some(Torn::Unstable { seed }) => self.cells.program_oob_unstable(seed, page, oob),
        }
        self.spend(Op::OobProgram, page, 0, moved_bytes, busy_ns);
        self.program_status(page, cut)
    }

    /// Erases a block.
    pub fn erase(&mut self, block: u32) -> Result<()> {
        self.check_power()?;
        self.check_block(block)?;
        if let Some(kept) = &mut self.kept {
            kept.push(Modification::Erase { block });
        }
        let cut = self.power.begin();
        match cut {
            None | Some(Torn::Complete) => self.cells.wipe(block),
            Some(Torn::Nothing) => return Err(FlashError::PowerCut),
            Some(Torn::Partial { seed }) => self.cells.erase_torn(seed, block),
            Some(Torn::Unstable { seed }) => self.cells.erase_unstable(seed, block),
        }
        self.cells.erase_counts[block as usize] += 1;
        self.formatting_erases[block as usize] += u32::from(self.sim.reason() == &FORMATTING);
        self.spend(Op::Erase, block, 0, 0, self.timing.erase_ns);
        if cut.is_some() {
            return Err(FlashError::PowerCut);
        }
        if self.reading.erase_fails(block, self.cells.erase_counts[block as usize]) {
            return Err(FlashError::EraseFailed { block });
        }
        Ok(())
    }

    #[inline]
    fn program_status(&mut self, page: u32, cut: Option<Torn>) -> Result<()> {
        if cut.is_some() {
            return Err(FlashError::PowerCut);
        }
        if self.reading.program_fails(page, &self.cells, &self.sim) {
            return Err(FlashError::ProgramFailed { page });
        }
        Ok(())
    }

    // ---- checks and costs ----------------------------------------------------------------------------------

    /// Checks that the chip is on and has the page. Returns the page's block.
    #[inline]
    fn check_page(&self, page: u32) -> Result<u32> {
        self.check_power()?;
        let geometry = &self.cells.geometry;
        // Pages per block are a power of two, see Geometry::check.
        let block = page >> geometry.pages_per_block.trailing_zeros();
        if block >= geometry.blocks {
            return Err(FlashError::OutOfRange { unit: "page", number: page, count: geometry.pages() });
        }
        Ok(block)
    }

    fn check_block(&self, block: u32) -> Result<()> {
        let count = self.cells.geometry.blocks;
        if block >= count {
            return Err(FlashError::OutOfRange { unit: "block", number: block, count });
        }
        Ok(())
    }

    #[inline]
    fn check_power(&self) -> Result<()> {
        if self.power.on {
            Ok(())
        } else {
            Err(FlashError::PowerCut)
        }
    }

    #[inline(always)]
    fn spend(&mut self, op: Op, address: u32, out_bytes: u32, in_bytes: u32, mut busy_ns: u64) {
        if self.laws.is_some() {
            busy_ns = self.draw(op, address, busy_ns);
        }
        self.sim.count(op, address, out_bytes, in_bytes, busy_ns);
        self.sim.advance_by_clock(busy_ns);
    }

    // ---- power ---------------------------------------------------------------------------------------------

    /// Cuts the power during the `operations`-th program or erase from now on (1: the next one). Afterwards every
    /// operation fails with [`FlashError::PowerCut`] until [`Chip::power_on`]. 0 switches the chip off at once.
    pub fn cut_power_after(&mut self, operations: u64, torn: Torn) {
        self.power.cut_after(operations, torn);
    }

    /// Switches the chip on, and cancels a cut that has not happened yet.
    pub fn power_on(&mut self) {
        self.power.switch_on();
        self.contents_version += 1;
    }

    pub fn is_on(&self) -> bool {
        self.power.on
    }

    /// Programs and erases up to and including the one that the planned cut hits; `None`: no cut is planned.
    pub fn operations_until_cut(&self) -> Option<u64> {
        (self.power.cut_at_operations != u64::MAX)
            .then(|| self.power.cut_at_operations - self.power.modifying_operations)
    }

    /// Programs and erases begun since the chip was made.
    pub fn modifying_operations(&self) -> u64 {
        self.power.modifying_operations
    }

    // ---- faults and wear -----------------------------------------------------------------------------------

    /// Replaces all faults. Factory bad blocks get their mark at once and keep it.
    pub fn set_faults(&mut self, faults: &Faults) -> Result<()> {
        faults.check(&self.cells.geometry)?;
        for &block in &faults.badblocks {
            self.cells.mark_bad(block);
        }
        self.reading.faults = FaultState::new(faults);
        self.contents_version += 1;
        Ok(())
    }

    /// Does the block's first page carry a bad block mark? Takes no time.
    pub fn is_marked_bad(&self, block: u32) -> bool {
        block < self.cells.geometry.blocks && self.cells.is_marked_bad(block)
    }

    /// Erases of each block since the chip was made.
    pub fn erase_counts(&self) -> &[u32] {
        &self.cells.erase_counts
    }

    /// The part of [`Chip::erase_counts`] that was needed to make a new partition usable ([`FORMATTING`]).
    pub fn formatting_erases(&self) -> &[u32] {
        &self.formatting_erases
    }

    /// Number of page reads in a block since its last erase, and the highest such number between two erases so far.
    pub fn read_disturb(&self, block: u32) -> (u32, u32) {
        self.cells.blocks.get(block as usize).map_or((0, 0), |state| {
            (state.reads_since_erase, state.reads_between_erases_max.max(state.reads_since_erase))
        })
    }

    /// Pages of a block whose data area is programmed.
    pub fn programmed_pages(&self, block: u32) -> u32 {
        self.cells.blocks.get(block as usize).map_or(0, |state| state.programmed_pages)
    }

    // ---- looking at the content without an operation -------------------------------------------------------

    /// Memory that page contents occupy, in bytes.
    pub fn allocated_bytes(&self) -> u64 {
        self.cells.allocated_bytes()
    }

    /// Grows whenever something other than an operation has changed the content or the power, because then everything
    /// that a driver keeps in RAM about the chip is out of date.
    pub fn contents_version(&self) -> u64 {
        self.contents_version
    }

    pub(crate) fn contents_changed(&mut self) {
        self.contents_version += 1;
    }
}

#[inline]
fn bus_ns(timing: Timing, bytes: u32) -> u64 {
    timing.bus_ps_per_byte * u64::from(bytes) / 1000
}

#[inline]
fn check_buffer(bytes: usize, wanted_bytes: u32) -> Result<()> {
    if bytes != wanted_bytes as usize {
        return Err(FlashError::BufferSize { bytes, wanted_bytes });
    }
    Ok(())
}
