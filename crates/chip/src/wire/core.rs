//! What all parts share: the client's clock, what the chip is busy with, power, and why an operation is done.
//!
//! A program or erase changes the cells when it is over, so that what interrupts it (a reset, a power cut) finds it under way.
//! Times are those since the chip was opened.

use super::causes::Causes;
use crate::{CallOp, Chip, ChipError};
use ffslab_flash::{Faults, FlashError, Laws, NorFlash, NorTiming, Torn};
use ffslab_mtd::Nand;
use ffslab_sim::Reason;

/// The byte-real chip behind the commands.
pub(super) enum Cells {
    Nand(Nand),
    Nor(NorFlash),
}

/// A program or erase.
pub(super) enum Work {
    /// Data and out-of-band bytes of a page; without `has_data` only the latter were loaded.
    Page {
        page: u32,
        bytes: Vec<u8>,
        has_data: bool,
    },
    Block {
        block: u32,
    },
    /// Of NOR.
    Bytes {
        at: u64,
        bytes: Vec<u8>,
    },
    Blocks {
        at: u64,
        blocks: u32,
        erase_ns: u64,
    },
    /// Registers, a reset: no cell is touched.
    Inside,
}

impl Work {
    pub fn is_erase(&self) -> bool {
        matches!(self, Work::Block { .. } | Work::Blocks { .. })
    }
}

/// What the chip is busy with.
struct Busy {
    work: Work,
    /// Of the time at which it began.
    why: &'static Reason,
    began_ns: u64,
    ends_ns: u64,
}

/// An erase or program that waits until it is resumed.
pub(super) struct Suspended {
    pub work: Work,
    why: &'static Reason,
    left_ns: u64,
}

/// When the power goes.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// Programs and erases until then; 1: the next one.
    pub operations: u64,
    pub torn: Torn,
}

pub(super) struct Core {
    pub chip: Chip,
    pub cells: Cells,
    pub causes: Causes,
    /// Time of the chip when it was opened: nothing passes before the first client.
    opened_ns: u64,
    /// The clients' time.
    pub now_ns: u64,
    busy: Option<Busy>,
    pub suspended: Option<Suspended>,
    cut: Option<Cut>,
    pub is_on: bool,
    /// The last program or erase has failed, or was refused when its time had come.
    pub has_failed: bool,
    /// Since the present transaction began.
    pub has_refused: bool,
    pub why: String,
    pub transactions: u64,
    pub refusals: u64,
    /// Programs and erases that were begun.
    pub operations: u64,
}

impl Core {
    /// Errors: the medium is neither NAND nor NOR of this laboratory.
    pub fn new(chip: Chip, causes: Causes) -> Result<Core, ChipError> {
        let cells = match (chip.mtd.nand(), chip.mtd.nor()) {
            (Some(part), _) => {
                let nand = part.nand().clone();
                {
                    let mut chip = nand.past_driver();
                    chip.leaves_the_bus_out();
                    // A chip says nothing of how long it will take, so that each page takes as long as the typical one.
                    let timing = chip.timing();
                    let typical = Laws::constant(timing.read_ns, timing.program_ns, timing.erase_ns);
                    chip.set_laws(typical).map_err(|error| ChipError::Input(error.to_string()))?;
                }
                Cells::Nand(nand)
            }
            (None, Some(part)) => Cells::Nor(part.past_driver().clone()),
            (None, None) => return Err(ChipError::NoFlash),
        };
        Ok(Core {
            opened_ns: chip.now_ns(),
            chip,
            cells,
            causes,
            now_ns: 0,
            busy: None,
            suspended: None,
            cut: None,
            is_on: true,
            has_failed: false,
            has_refused: false,
            why: String::new(),
            transactions: 0,
            refusals: 0,
            operations: 0,
        })
    }

    /// The chip's own times are those of its cells: the client's clock drives the bus.
    pub fn takes_times(&mut self, cells: NorTiming) {
        if let Cells::Nor(chip) = &mut self.cells {
            *chip = chip.clone().with_timing(cells);
        }
    }

    /// Errors: blocks or pages that the chip does not have; NOR, which has no faults.
    pub fn takes_faults(&mut self, faults: &Faults) -> Result<(), ChipError> {
        let said = match &self.cells {
            Cells::Nand(nand) => nand.past_driver().set_faults(faults).map_err(|error| error.to_string()),
            Cells::Nor(_) => Err("NOR flash has none".to_string()),
        };
        said.map_err(|why| ChipError::Input(format!("--set faults: {why}")))
    }

    // ---- time ------------------------------------------------------------------------------------------------------

    /// The client's clock says so. What is over by then is done.
    #[inline]
    pub fn arrives(&mut self, at_ns: u64) {
        self.now_ns = self.now_ns.max(at_ns);
        self.transactions += 1;
        self.has_refused = false;
        self.settle();
    }

    #[inline]
    fn settle(&mut self) {
        if self.busy.as_ref().is_some_and(|busy| busy.ends_ns <= self.now_ns) {
            self.finish();
        }
    }

    /// Does what the chip is busy with to its end.
    pub fn finish(&mut self) {
        if let Some(Busy { work, why, began_ns, .. }) = self.busy.take() {
            self.carry_out(work, why, began_ns);
        }
    }

    #[inline]
    pub fn is_busy(&self) -> bool {
        self.busy.is_some()
    }

    /// When the chip is ready for the next command.
    #[inline]
    pub fn ready_at_ns(&self) -> u64 {
        self.busy.as_ref().map_or(self.now_ns, |busy| busy.ends_ns)
    }

    /// The simulated clock follows that of the clients.
    fn follow(&mut self, at_ns: u64) {
        let behind_ns = (self.opened_ns + at_ns).saturating_sub(self.chip.now_ns());
        if behind_ns > 0 {
            self.chip.sleep_ns(behind_ns);
        }
    }

    /// The end of all: what goes on comes to its end, and the clock to that of the clients.
    pub fn ends(&mut self) {
        if let Some(Suspended { work, why, .. }) = self.suspended.take() {
            self.finish();
            self.carry_out(work, why, self.now_ns);
        }
        self.finish();
        self.follow(self.now_ns);
    }

    // ---- operations ------------------------------------------------------------------------------------------------

    /// The chip does not do what was asked.
    #[cold]
    pub fn refuse(&mut self, why: impl Into<String>) {
        self.has_refused = true;
        self.refusals += 1;
        self.why = why.into();
    }

    /// The chip begins a program or erase, or is busy with itself.
    pub fn begin(&mut self, work: Work, busy_ns: u64) {
        debug_assert!(self.busy.is_none(), "a chip that is busy begins nothing");
        let changes_cells = !matches!(work, Work::Inside);
        let why = self.causes.of(&self.chip, self.place_of(&work));
        if changes_cells {
            self.has_failed = false;
            self.operations += 1;
        }
        if let Some(cut) = self.cut.as_mut().filter(|_| changes_cells) {
            cut.operations -= 1;
            if cut.operations == 0 {
                let torn = cut.torn;
                self.tear(work, why, torn);
                self.goes_off();
                return;
            }
        }
        self.busy = Some(Busy { work, why, began_ns: self.now_ns, ends_ns: self.now_ns + busy_ns });
        self.settle();
    }

    /// Reads a page into its register, data first. What the chip found, as [`ffslab_flash::Chip::read_page`] says it; the bits that
    /// are wrong stand in [`Core::flipped`].
    pub fn read_page(&mut self, page: u32, register: &mut [u8], busy_ns: u64) -> u32 {
        self.follow(self.now_ns);
        let Cells::Nand(nand) = &self.cells else { return 0 };
        let mut chip = nand.past_driver();
        let geometry = chip.geometry();
        let at = u64::from(page) * u64::from(geometry.page_bytes);
        let start_ns = self.chip.session.call_begins();
        let _why = self.chip.sim().because(self.causes.of(&self.chip, at));
        let (data, oob) = register.split_at_mut(geometry.page_bytes as usize);
        let found = chip.read_page(page, data, Some(oob)).unwrap_or(ffslab_flash::DAMAGED);
        self.chip.session.call_ends((CallOp::Read, "", at), start_ns, u64::from(geometry.page_bytes));
        drop(chip);
        self.begin(Work::Inside, busy_ns);
        found
    }

    /// Bits of what the last read moved, each by its number.
    pub fn flipped(&self) -> Vec<u32> {
        match &self.cells {
            Cells::Nand(nand) => nand.past_driver().flipped_bits().to_vec(),
            Cells::Nor(_) => Vec::new(),
        }
    }

    /// Reads bytes of NOR, which go out at once; behind the last one comes the first.
    pub fn read_bytes(&mut self, at: u64, into: &mut [u8]) {
        let Cells::Nor(chip) = &self.cells else { return };
        let chip = chip.clone();
        let size = u64::from(chip.blocks()) * u64::from(chip.block_bytes());
        self.follow(self.now_ns);
        let start_ns = self.chip.session.call_begins();
        let _why = self.chip.sim().because(self.causes.of(&self.chip, at));
        let (mut place, mut rest) = (at % size, into);
        while !rest.is_empty() {
            let count = rest.len().min((size - place) as usize);
            let (piece, after) = rest.split_at_mut(count);
            if chip.read(place, piece).is_err() {
                piece.fill(0xFF);
            }
            (place, rest) = (0, after);
        }
        self.chip.session.call_ends((CallOp::Read, "", at), start_ns, 0);
    }

    /// Changes the cells.
    fn carry_out(&mut self, work: Work, why: &'static Reason, began_ns: u64) {
        let at = self.place_of(&work);
        let (op, bytes) = match &work {
            Work::Inside => return,
            Work::Page { bytes, .. } | Work::Bytes { bytes, .. } => (CallOp::Program, bytes.len()),
            Work::Block { .. } | Work::Blocks { .. } => (CallOp::Erase, 0),
        };
        self.follow(began_ns);
        let start_ns = self.chip.session.call_begins();
        let because = self.chip.sim().because(why);
        let done = self.change(&work);
        drop(because);
        self.chip.session.call_ends((op, "", at), start_ns, bytes as u64);
        match done {
            Ok(()) => {}
            Err(FlashError::PowerCut) => {}
            Err(FlashError::ProgramFailed { .. } | FlashError::EraseFailed { .. }) => self.has_failed = true,
            Err(error) => {
                self.has_failed = true;
                self.refuse(error.to_string());
            }
        }
    }

    fn change(&self, work: &Work) -> Result<(), FlashError> {
        match (&self.cells, work) {
            (Cells::Nand(nand), Work::Page { page, bytes, has_data }) => {
                let mut chip = nand.past_driver();
                let (data, oob) = bytes.split_at(chip.geometry().page_bytes as usize);
                if *has_data {
                    chip.program_page(*page, data, Some(oob))
                } else {
                    chip.program_oob(*page, oob)
                }
            }
            (Cells::Nand(nand), Work::Block { block }) => nand.past_driver().erase(*block),
            (Cells::Nor(chip), Work::Bytes { at, bytes }) => chip.write(*at, bytes),
            (Cells::Nor(chip), Work::Blocks { at, blocks, erase_ns }) => chip.erase_several(*at, *blocks, *erase_ns),
            _ => Ok(()),
        }
    }

    /// The byte of the chip at which it begins.
    fn place_of(&self, work: &Work) -> u64 {
        let geometry = |nand: &Nand| nand.past_driver().geometry();
        match (work, &self.cells) {
            (Work::Page { page, .. }, Cells::Nand(nand)) => u64::from(*page) * u64::from(geometry(nand).page_bytes),
            (Work::Block { block }, Cells::Nand(nand)) => u64::from(*block) * u64::from(geometry(nand).block_bytes()),
            (Work::Bytes { at, .. } | Work::Blocks { at, .. }, _) => *at,
            _ => 0,
        }
    }

    // ---- what interrupts an operation ------------------------------------------------------------------------------

    /// The chip stops at once what it is doing, as a reset wants it. Whether a program or an erase was under way.
    pub fn abort(&mut self) -> (bool, bool) {
        let ahead = self.takes_what_goes_on();
        let of = |is_erase: bool| ahead.iter().any(|(work, _)| work.is_erase() == is_erase);
        let aborted = (of(false), of(true));
        for (work, why) in ahead {
            self.tear(work, why, Torn::Partial { seed: self.operations });
            self.switch_on_cells();
        }
        aborted
    }

    /// Programs and erases that have begun and are not over.
    fn takes_what_goes_on(&mut self) -> Vec<(Work, &'static Reason)> {
        let suspended = self.suspended.take().map(|suspended| (suspended.work, suspended.why));
        let busy = self.busy.take().map(|busy| (busy.work, busy.why));
        let ahead = [suspended, busy].into_iter().flatten();
        ahead.filter(|(work, _)| !matches!(work, Work::Inside)).collect()
    }

    /// The present program or erase waits. `false`: there is none.
    pub fn suspend(&mut self) -> bool {
        if self.suspended.is_some() || !self.busy.as_ref().is_some_and(|busy| !matches!(busy.work, Work::Inside)) {
            return false;
        }
        if let Some(Busy { work, why, ends_ns, .. }) = self.busy.take() {
            self.suspended = Some(Suspended { work, why, left_ns: ends_ns - self.now_ns });
        }
        true
    }

    /// What waits goes on. `false`: nothing does.
    pub fn resume(&mut self) -> bool {
        let Some(Suspended { work, why, left_ns }) = self.suspended.take() else { return false };
        self.busy = Some(Busy { work, why, began_ns: self.now_ns, ends_ns: self.now_ns + left_ns });
        true
    }

    /// Leaves of a program or erase what a cut leaves of it; the cells are without power then.
    fn tear(&mut self, work: Work, why: &'static Reason, torn: Torn) {
        match &self.cells {
            Cells::Nand(nand) => nand.past_driver().cut_power_after(1, torn),
            Cells::Nor(chip) => chip.cut_power_after(1, torn),
        }
        self.carry_out(work, why, self.now_ns);
    }

    // ---- power -----------------------------------------------------------------------------------------------------

    /// The power goes at the n-th program or erase from now on; 0: at once, in the middle of what goes on.
    pub fn cut_after(&mut self, cut: Cut) {
        if cut.operations > 0 {
            self.cut = Some(cut);
            return;
        }
        for (work, why) in self.takes_what_goes_on() {
            self.tear(work, why, cut.torn);
            self.switch_on_cells();
        }
        self.goes_off();
    }

    fn goes_off(&mut self) {
        // What was suspended is torn as well.
        for (work, why) in self.takes_what_goes_on() {
            self.switch_on_cells();
            self.tear(work, why, Torn::Partial { seed: self.operations });
        }
        match &self.cells {
            Cells::Nand(nand) => nand.past_driver().cut_power_after(0, Torn::Nothing),
            Cells::Nor(chip) => chip.cut_power_after(0, Torn::Nothing),
        }
        (self.is_on, self.cut, self.busy) = (false, None, None);
    }

    /// What goes on is given up, and leaves nothing.
    pub fn forgets(&mut self) {
        (self.busy, self.suspended, self.cut) = (None, None, None);
    }

    fn switch_on_cells(&self) {
        match &self.cells {
            Cells::Nand(nand) => nand.past_driver().power_on(),
            Cells::Nor(chip) => chip.power_on(),
        }
    }

    /// Power is there again.
    pub fn switch_on(&mut self) {
        self.switch_on_cells();
        (self.is_on, self.has_failed, self.cut) = (true, false, None);
    }
}
