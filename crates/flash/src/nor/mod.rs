//! NOR flash: bits can be cleared byte by byte, and are set again block by block.
//!
//! Follows what `cpukit/libfs/src/jffs2` of RTEMS cf811a4eb2 expects of a flash driver (`rtems_jffs2_flash_control`:
//! read, write, erase; `cpukit/include/rtems/jffs2.h`), and for chips with times data sheets of serial and parallel NOR: a
//! program stays within its page or buffer, an erase can be suspended. **Leaves out.** Failures but for power cuts. Bits that
//! were only half programmed or erased read always alike.

mod timing;
pub(crate) mod torn;

pub use timing::{NorProgram, NorRead, NorReadPage, NorTiming};

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use ffslab_sim::{MediumUnits, Op, Sim, FORMATTING};

use crate::error::FlashError;
use crate::modification::Modification;
use crate::power::{Power, Torn};
use crate::traffic::Traffic;

/// An erase that goes on while the caller does something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erasing {
    pub block: u32,
    /// When it ends if nobody suspends it.
    pub ends_at_ns: u64,
}

struct Cells {
    bytes: Vec<u8>,
    traffic: Traffic,
    erase_counts: Vec<u32>,
    formatting_erases: Vec<u32>,
    power: Power,
    erasing: Option<Erasing>,
    /// Time that the suspended erase still needs.
    suspended_ns: Option<u64>,
    /// `None`: nobody wants to know what changes the cells.
    kept: Option<Vec<Modification>>,
}

impl Cells {
    fn check(&self, offset: u64, bytes: usize) -> Result<Range<usize>, FlashError> {
        if !self.power.on {
            return Err(FlashError::PowerCut);
        }
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        match start.checked_add(bytes) {
            Some(end) if end <= self.bytes.len() => Ok(start..end),
            _ => {
                let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
                let (number, count) = (narrow(offset), narrow(self.bytes.len() as u64));
                Err(FlashError::OutOfRange { unit: "byte", number, count })
            }
        }
    }

    fn still_on(&self) -> Result<(), FlashError> {
        self.power.on.then_some(()).ok_or(FlashError::PowerCut)
    }
}

/// One chip; clones are the same chip.
#[derive(Clone)]
pub struct NorFlash {
    sim: Sim,
    block_bytes: u32,
    blocks: u32,
    timing: Option<NorTiming>,
    cells: Rc<RefCell<Cells>>,
}

impl NorFlash {
    /// An erased chip whose operations take no time and are counted nowhere: who calls them is charged for copying.
    pub fn new(sim: Sim, block_bytes: u32, blocks: u32) -> NorFlash {
        let cells = Cells {
            bytes: vec![0xFF; block_bytes as usize * blocks as usize],
            traffic: Traffic::default(),
            erase_counts: vec![0; blocks as usize],
            formatting_erases: vec![0; blocks as usize],
            power: Power::new(),
            erasing: None,
            suspended_ns: None,
            kept: None,
        };
        NorFlash { sim, block_bytes, blocks, timing: None, cells: Rc::new(RefCell::new(cells)) }
    }

    /// The same chip, whose operations take time from now on and are counted as those of [`crate::Chip`] are: each read, of
    /// however many bytes, as a page read, each program as one of a page; as a further one of a page only if bits that should
    /// be 1 were 0 before, because else nothing is lost.
    pub fn with_timing(self, timing: NorTiming) -> NorFlash {
        let page_bytes = timing.program.unit_bytes;
        self.sim.medium_has(MediumUnits {
            dies: 1,
            planes_per_die: 1,
            blocks: self.blocks,
            pages_per_block: self.block_bytes / page_bytes.max(1),
            page_bytes,
        });
        NorFlash { timing: Some(timing), ..self }
    }

    pub fn timing(&self) -> Option<&NorTiming> {
        self.timing.as_ref()
    }

    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    fn block_of(&self, offset: u64) -> u32 {
        (offset / u64::from(self.block_bytes)) as u32
    }

    // ---- reading and programming -----------------------------------------------------------------------------------

    /// Reads bytes with one command.
    ///
    /// Errors: they are not on the chip, it has no power, or it is erasing, and says only that.
    #[inline]
    pub fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), FlashError> {
        self.check_ready(offset)?;
        let cells = &mut *self.cells.borrow_mut();
        let range = cells.check(offset, data.len())?;
        data.copy_from_slice(&cells.bytes[range]);
        cells.traffic.reads += 1;
        cells.traffic.read_bytes += data.len() as u64;
        if let Some(timing) = &self.timing {
            let busy_ns = timing.read_ns(offset, data.len());
            let page = (offset / u64::from(timing.program.unit_bytes)) as u32;
            self.sim.count(Op::PageRead, page, data.len() as u32, 0, busy_ns);
            self.sim.advance(busy_ns);
        }
        Ok(())
    }

    /// Clears bits with one command. A bit that is 0 already stays 0.
    ///
    /// Errors: as [`NorFlash::read`]; more bytes than one program takes, on a chip with times.
    #[inline]
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), FlashError> {
        self.check_ready(offset)?;
        self.check_unit(offset, data.len())?;
        let cells = &mut *self.cells.borrow_mut();
        let range = cells.check(offset, data.len())?;
        if let Some(kept) = &mut cells.kept {
            kept.push(Modification::Bytes { at: offset, data: data.into() });
        }
        let done_bytes = match cells.power.begin() {
            Some(Torn::Nothing) => 0,
            Some(Torn::Partial { seed } | Torn::Unstable { seed }) => {
                torn::program(seed, &mut cells.bytes[range.clone()], data)
            }
            None | Some(Torn::Complete) => {
                let range = range.clone();
                cells.bytes[range].iter_mut().zip(data).for_each(|(cell, byte)| *cell &= byte);
                data.len()
            }
        };
        cells.traffic.programs += 1;
        cells.traffic.write_bytes += done_bytes as u64;
        self.tear_what_goes_on(cells);
        if let Some(timing) = &self.timing {
            let busy_ns = timing.load_ns(data.len()) + timing.program_ns(data.len());
            let page = (offset / u64::from(timing.program.unit_bytes)) as u32;
            let op = if cells.bytes[range] == *data { Op::PageProgram } else { Op::Reprogram };
            self.sim.count(op, page, 0, data.len() as u32, busy_ns);
            self.sim.advance(busy_ns);
        }
        cells.still_on()
    }

    fn check_unit(&self, offset: u64, bytes: usize) -> Result<(), FlashError> {
        let Some(timing) = &self.timing else { return Ok(()) };
        let page_bytes = timing.program.unit_bytes;
        let column = (offset % u64::from(page_bytes)) as u32;
        let end = u64::from(column) + bytes as u64;
        if end <= u64::from(page_bytes) {
            Ok(())
        } else {
            Err(FlashError::Column { column, end, page_bytes })
        }
    }

    // ---- erasing -----------------------------------------------------------------------------------------------------

    /// Sets all bits of the block that begins at `offset`, and waits for it.
    pub fn erase(&self, offset: u64) -> Result<(), FlashError> {
        self.erase_several(offset, 1, self.timing.as_ref().map_or(0, |timing| timing.erase_ns))
    }

    /// The same of several blocks with one command, which takes so long.
    pub fn erase_several(&self, offset: u64, blocks: u32, erase_ns: u64) -> Result<(), FlashError> {
        self.erase_cells(offset, blocks)?;
        if self.timing.is_some() {
            self.sim.count(Op::Erase, self.block_of(offset), 0, 0, erase_ns);
            self.sim.advance(erase_ns);
        }
        self.cells.borrow().still_on()
    }

    /// [`NorFlash::erase`] without waiting. Until the end the chip takes no other command, unless the erase is suspended.
    pub fn begin_erase(&self, offset: u64) -> Result<Erasing, FlashError> {
        let (block, erase_ns) = (self.block_of(offset), self.timing.as_ref().map_or(0, |timing| timing.erase_ns));
        self.erase_cells(offset, 1)?;
        let began_ns = self.sim.now_ns();
        self.sim.count_queued(Op::Erase, block, 0, 0, began_ns, erase_ns);
        let erasing = Erasing { block, ends_at_ns: began_ns + erase_ns };
        let cells = &mut *self.cells.borrow_mut();
        cells.still_on()?;
        cells.erasing = Some(erasing);
        Ok(erasing)
    }

    fn erase_cells(&self, offset: u64, blocks: u32) -> Result<(), FlashError> {
        self.check_ready(offset)?;
        let cells = &mut *self.cells.borrow_mut();
        let range = cells.check(offset, self.block_bytes as usize * blocks as usize)?;
        let first = self.block_of(offset) as usize;
        let erased = first..first + blocks as usize;
        if let Some(kept) = &mut cells.kept {
            kept.extend(erased.clone().map(|block| Modification::Erase { block: block as u32 }));
        }
        match cells.power.begin() {
            Some(Torn::Nothing) => {}
            Some(Torn::Partial { seed } | Torn::Unstable { seed }) => torn::erase(seed, &mut cells.bytes[range]),
            None | Some(Torn::Complete) => cells.bytes[range].fill(0xFF),
        }
        cells.traffic.erases += 1;
        let is_formatting = u32::from(self.sim.reason() == &FORMATTING);
        for block in erased {
            cells.erase_counts[block] += 1;
            cells.formatting_erases[block] += is_formatting;
        }
        Ok(())
    }

    /// What is being erased now; `None`: the chip is ready, or an erase is suspended.
    pub fn erasing(&self) -> Option<Erasing> {
        let cells = &mut *self.cells.borrow_mut();
        if cells.suspended_ns.is_none() {
            cells.erasing = cells.erasing.filter(|erasing| erasing.ends_at_ns > self.sim.now_ns());
        }
        cells.erasing.filter(|_| cells.suspended_ns.is_none())
    }

    /// Interrupts the erase that goes on, so that other blocks can be used. `false`: nothing goes on, or the chip cannot.
    pub fn suspend_erase(&self) -> bool {
        let Some(suspend_ns) = self.timing.as_ref().and_then(|timing| timing.suspend_ns) else { return false };
        let Some(erasing) = self.erasing() else { return false };
        self.cells.borrow_mut().suspended_ns = Some(erasing.ends_at_ns - self.sim.now_ns());
        self.sim.wait_for_medium(self.sim.now_ns() + suspend_ns);
        true
    }

    /// Lets the suspended erase go on.
    pub fn resume_erase(&self) {
        let cells = &mut *self.cells.borrow_mut();
        if let (Some(left_ns), Some(erasing)) = (cells.suspended_ns.take(), &mut cells.erasing) {
            erasing.ends_at_ns = self.sim.now_ns() + left_ns;
        }
    }

    /// A chip that erases answers with its status alone; of a suspended erase its block does.
    fn check_ready(&self, offset: u64) -> Result<(), FlashError> {
        let cells = self.cells.borrow();
        match cells.erasing {
            Some(Erasing { block, ends_at_ns }) if cells.power.on => {
                let is_suspended = cells.suspended_ns.is_some();
                if is_suspended && block != self.block_of(offset) || !is_suspended && ends_at_ns <= self.sim.now_ns() {
                    Ok(())
                } else {
                    Err(FlashError::Erasing { block })
                }
            }
            _ => Ok(()),
        }
    }

    /// Without power no erase goes on.
    fn tear_what_goes_on(&self, cells: &mut Cells) {
        if cells.power.on {
            return;
        }
        let is_suspended = cells.suspended_ns.take().is_some();
        let Some(erasing) = cells.erasing.take() else { return };
        if is_suspended || erasing.ends_at_ns > self.sim.now_ns() {
            let start = erasing.block as usize * self.block_bytes as usize;
            let seed = cells.power.modifying_operations;
            torn::erase_late(seed, &mut cells.bytes[start..start + self.block_bytes as usize]);
        }
    }

    // ---- power and contents ------------------------------------------------------------------------------------------

    /// Cuts the power during the `operations`-th program or erase from now on, as [`crate::Chip::cut_power_after`] does.
    /// With it ends an erase that goes on.
    pub fn cut_power_after(&self, operations: u64, torn: Torn) {
        let cells = &mut *self.cells.borrow_mut();
        cells.power.cut_after(operations, torn);
        self.tear_what_goes_on(cells);
    }

    /// Switches the chip on, and cancels a cut that has not happened yet.
    pub fn power_on(&self) {
        self.cells.borrow_mut().power.switch_on();
    }

    pub fn is_on(&self) -> bool {
        self.cells.borrow().power.on
    }

    /// Programs and erases since the chip was made.
    pub fn modifying_operations(&self) -> u64 {
        self.cells.borrow().power.modifying_operations
    }

    /// From now on, keeps each program and erase that begins, for [`NorFlash::take_modifications`].
    pub fn keep_modifications(&self) {
        self.cells.borrow_mut().kept.get_or_insert_default();
    }

    /// What was kept since the last time.
    pub fn take_modifications(&self) -> Vec<Modification> {
        self.cells.borrow_mut().kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What the chip holds.
    pub fn image(&self) -> Vec<u8> {
        self.cells.borrow().bytes.clone()
    }

    /// Puts bytes on the chip, as a programmer does: nothing wears.
    ///
    /// Errors: an image of another size.
    pub fn load(&self, image: &[u8]) -> Result<(), FlashError> {
        let cells = &mut *self.cells.borrow_mut();
        if image.len() != cells.bytes.len() {
            let wanted_bytes = u32::try_from(cells.bytes.len()).unwrap_or(u32::MAX);
            return Err(FlashError::BufferSize { bytes: image.len(), wanted_bytes });
        }
        cells.bytes.copy_from_slice(image);
        Ok(())
    }

    /// The same for the bytes from `offset` on, as far as they are on the chip.
    pub fn load_at(&self, offset: u64, image: &[u8]) {
        let cells = &mut *self.cells.borrow_mut();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(cells.bytes.len());
        cells.bytes[start..].iter_mut().zip(image).for_each(|(cell, byte)| *cell = *byte);
    }

    pub fn traffic(&self) -> Traffic {
        self.cells.borrow().traffic
    }

    /// Erases of each block since the chip was made.
    pub fn erase_counts(&self) -> Vec<u32> {
        self.cells.borrow().erase_counts.clone()
    }

    /// Counts erases of a block that nobody does, as [`crate::Chip::wear_on`] does.
    pub fn wear_on(&self, block: u32, erases: u32) {
        self.cells.borrow_mut().erase_counts[block as usize] += erases;
    }

    /// Those of them that only made blocks of a new partition usable.
    pub fn formatting_erases(&self) -> Vec<u32> {
        self.cells.borrow().formatting_erases.clone()
    }

    /// The bytes in the cells, for an observer: no operation.
    pub fn peek(&self, offset: u64, data: &mut [u8]) {
        let cells = self.cells.borrow();
        data.copy_from_slice(&cells.bytes[offset as usize..offset as usize + data.len()]);
    }
}
