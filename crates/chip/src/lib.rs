//! # chip: a simulated flash chip for programs
//!
//! **Role.** [`Chip`] is a partition of a part on a board, for code that drives flash by itself: a file system, a translation layer, a store of
//! keys and values. It reads, programs, erases; it names why; it lets time pass, cuts the power, copies what the chip holds; and at
//! the end it writes a results folder as `ffslab run` does. [`NorPort`] is the same behind the traits of `embedded-storage`. `ffslab-capi`
//! is this crate for C.
//!
//! **Follows.** The operations are those of Linux's MTD functions, of one partition, with the board's driver.
//!
//! **Leaves out.** Reports: Python draws them from the folder. What a program computes takes only the time that it states.

mod callers;
mod error;
mod journal;
mod labels;
mod nor_port;
mod parquet;
mod results;
pub mod wire;

pub use error::ChipError;
pub use ffslab_flash::Torn;
pub use ffslab_lab::requests::CallOp;
pub use ffslab_mtd::{Capabilities, Corrected, MediumImage, MtdError};
pub use ffslab_sim::OpCounts;
pub use nor_port::{NorPort, PortError};

use callers::Callers;
use ffslab_lab::session::SessionTotals;
use ffslab_lab::Session;
use ffslab_machine::stack_keys::NO_FS;
use ffslab_mtd::Mtd;
use ffslab_sim::{Reason, ReasonGuard, Sim};
use journal::{Asked, Journal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A partition of flash, switched on, in the hands of one program.
pub struct Chip {
    /// The last ones first.
    labels: Vec<ReasonGuard>,
    /// Who explains what has no label.
    callers: Option<Callers>,
    /// Where what is done to it is told.
    journal: Option<Journal>,
    call: Option<OpenCall>,
    keys: toml::Table,
    mtd: Mtd,
    session: Session,
    title: String,
}

/// A call of the program that has begun.
struct OpenCall {
    op: CallOp,
    name: String,
    at: u64,
    start_ns: u64,
}

/// A program without an operating system.
const SYSTEM: &str = "bare";
/// The seed of what tells results apart; a chip uses none.
const SEED: u64 = 1;
const TITLE: &str = "A program on libffslab";
/// Whether the process has opened a chip that is recorded, or cut off.
static IS_OPENED: AtomicBool = AtomicBool::new(false);

impl Chip {
    /// A chip from keys of `[stack]`, one a line: `board`, `part`, `partition_blocks`, `first_block`, `erase_block_KiB` ... Its system is
    /// a program without an operating system and without a file system of the laboratory. Profiles that are files are found from
    /// the working folder.
    ///
    /// `ffslab crashtest` asks by variables of the environment that it is recorded, or begins as a power cut leaves it.
    ///
    /// Errors: unknown keys and profiles, a partition that does not fit.
    pub fn open(stack_toml: &str) -> Result<Chip, ChipError> {
        let asked = Asked::of_environment()?;
        let chip = Chip::opened(asked.stack.as_deref().unwrap_or(stack_toml))?;
        if !asked.is_of_one_chip() {
            return Ok(chip);
        }
        if IS_OPENED.swap(true, Ordering::Relaxed) {
            return Err(asked.second_chip());
        }
        chip.recorded(&asked)
    }

    /// [`Chip::open`] with these keys.
    fn opened(stack_toml: &str) -> Result<Chip, ChipError> {
        let given: toml::Table =
            toml::from_str(stack_toml).map_err(|error| ChipError::Input(error.message().trim().to_string()))?;
        let keys = match given.get("stack") {
            Some(toml::Value::Table(stack)) if given.len() == 1 => stack.clone(),
            _ => given,
        };
        Chip::of_keys(keys, None)
    }

    /// A chip of these keys, erased or as it was when `held` was made.
    fn of_keys(mut keys: toml::Table, held: Option<&[u8]>) -> Result<Chip, ChipError> {
        for (key, only) in [("system", SYSTEM), ("fs", NO_FS)] {
            let value = keys.entry(key).or_insert_with(|| only.into());
            if value.as_str() != Some(only) {
                return Err(ChipError::Input(format!("{key} = {value}: leave it out, the program takes that place")));
            }
        }
        let here = Path::new(".");
        let session = match held {
            None => Session::new(keys.clone(), SEED, here)?,
            Some(held) => Session::restored(keys.clone(), SEED, here, held)?,
        };
        let mtd = session.system().mtd().cloned().ok_or(ChipError::NoFlash)?;
        ffslab_mtd::causes::register(mtd.sim());
        Ok(Chip {
            labels: Vec::new(),
            callers: None,
            journal: None,
            call: None,
            keys,
            mtd,
            session,
            title: TITLE.to_string(),
        })
    }

    /// The chip as it is asked for.
    fn recorded(mut self, asked: &Asked) -> Result<Chip, ChipError> {
        self.journal = asked.begin(&self.keys, &self.mtd)?;
        Ok(self)
    }

    fn sim(&self) -> &Sim {
        self.mtd.sim()
    }

    /// Sizes, and what the flash can do.
    pub fn capabilities(&self) -> &Capabilities {
        self.mtd.capabilities()
    }

    pub fn size_bytes(&self) -> u64 {
        self.mtd.size_bytes()
    }

    // ---- operations ----------------------------------------------------------------------------------------------

    /// Does an operation, and tells it where somebody asks.
    #[inline]
    fn operation<R>(
        &mut self,
        what: (CallOp, u64, usize),
        body: impl FnOnce(&Mtd) -> Result<R, MtdError>,
    ) -> Result<R, MtdError> {
        let done = self.called(what, body);
        if let Some(journal) = &mut self.journal {
            journal.note(&self.mtd, what.1, self.callers.as_mut(), !self.labels.is_empty());
        }
        done
    }

    /// Does an operation, which is a call of its own where the program has not begun one.
    #[inline]
    fn called<R>(
        &mut self,
        (op, at, bytes): (CallOp, u64, usize),
        body: impl FnOnce(&Mtd) -> Result<R, MtdError>,
    ) -> Result<R, MtdError> {
        let _why = self.by_callers();
        if self.call.is_some() {
            return body(&self.mtd);
        }
        let start_ns = self.session.call_begins();
        let done = body(&self.mtd);
        let moved = if done.is_ok() { bytes as u64 } else { 0 };
        self.session.call_ends((op, "", at), start_ns, moved);
        done
    }

    /// Reads any bytes. With [`MtdError::Uncorrectable`] all of `into` has been filled nevertheless.
    pub fn read(&mut self, at: u64, into: &mut [u8]) -> Result<Corrected, MtdError> {
        self.operation((CallOp::Read, at, into.len()), |mtd| mtd.read(at, into))
    }

    /// Programs whole units ([`Capabilities::program_bytes`]), or a part of one that the chip can program alone
    /// ([`Capabilities::partial_program_bytes`]). On an error the units before the failed one have been programmed.
    pub fn program(&mut self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        let unit = u64::from(self.mtd.page_bytes());
        let is_whole = at.is_multiple_of(unit) && (data.len() as u64).is_multiple_of(unit);
        self.operation((CallOp::Program, at, data.len()), |mtd| {
            if is_whole {
                mtd.write(at, data)
            } else {
                mtd.write_partial(at, data)
            }
        })
    }

    /// Erases the block that begins at `at`. A bad block is refused without an operation.
    pub fn erase(&mut self, at: u64) -> Result<(), MtdError> {
        self.operation((CallOp::Erase, at, 0), |mtd| mtd.erase(at))
    }

    /// Reads one unit and its free out-of-band bytes in one operation.
    pub fn read_with_oob(&mut self, at: u64, into: &mut [u8], oob: &mut [u8]) -> Result<Corrected, MtdError> {
        self.operation((CallOp::Read, at, into.len()), |mtd| mtd.read_page_with_oob(at, into, oob))
    }

    /// Programs one unit and its free out-of-band bytes in one operation; those that `oob` does not reach stay 0xFF.
    pub fn program_with_oob(&mut self, at: u64, data: &[u8], oob: &[u8]) -> Result<(), MtdError> {
        self.operation((CallOp::Program, at, data.len()), |mtd| mtd.write_page_with_oob(at, data, oob))
    }

    /// Whether the block that holds `at` is bad, as the driver knows it. Beyond the partition: `true`.
    pub fn is_bad(&self, at: u64) -> bool {
        self.mtd.is_bad(at)
    }

    /// Marks the block that holds `at` bad, on the medium and in the driver's table.
    pub fn mark_bad(&mut self, at: u64) -> Result<(), MtdError> {
        self.operation((CallOp::Other, at, 0), |mtd| mtd.mark_bad(at))
    }

    /// Waits until everything is on flash.
    pub fn sync(&mut self) -> Result<(), MtdError> {
        self.operation((CallOp::Sync, 0, 0), |mtd| {
            mtd.settle();
            if mtd.is_on() {
                Ok(())
            } else {
                Err(MtdError::PowerCut)
            }
        })
    }

    // ---- time ----------------------------------------------------------------------------------------------------

    /// Virtual time since the chip was opened.
    pub fn now_ns(&self) -> u64 {
        self.sim().now_ns() - self.sim().config().uptime_ns
    }

    /// The program computes for so long.
    pub fn compute_ns(&mut self, duration_ns: u64) {
        self.session.compute_ns(duration_ns);
    }

    /// The program waits for so long for something else.
    pub fn sleep_ns(&mut self, duration_ns: u64) {
        self.session.sleep_ns(duration_ns);
    }

    // ---- power and contents --------------------------------------------------------------------------------------

    /// The power goes away at the `operations`-th program or erase from now on (1: the next one; 0: at once). Then every operation
    /// fails with [`MtdError::PowerCut`] until [`Chip::restart`].
    pub fn cut_power_after(&mut self, operations: u64, torn: Torn) {
        self.is_not_told("the program cuts the power itself: leave that to the test");
        self.mtd.cut_power_after(operations, torn);
    }

    pub fn is_powered(&self) -> bool {
        self.mtd.is_on()
    }

    /// Power is there again, and the program begins anew: labels and a call that were open are closed.
    ///
    /// Errors: the machine does not start again.
    pub fn restart(&mut self) -> Result<(), ChipError> {
        self.close_labels();
        self.end_call(0);
        if self.journal.is_some() {
            // What was told of is over.
            self.mtd.settle();
        }
        Ok(self.session.crash()?)
    }

    /// Programs and erases so far: what [`Chip::cut_power_after`] counts.
    pub fn modifying_operations(&self) -> u64 {
        self.mtd.modifying_operations()
    }

    /// A copy of what the whole chip holds, wear included.
    pub fn snapshot(&self) -> MediumImage {
        self.mtd.snapshot()
    }

    /// The chip holds what it held when the copy was made. Time and counters go on.
    ///
    /// Errors: it is the copy of another chip.
    pub fn restore(&mut self, held: &MediumImage) -> Result<(), ChipError> {
        self.is_not_told("the program puts back a copy of the chip, which no flash can: leave that to the test");
        Ok(self.mtd.restore(held)?)
    }

    /// Writes the bytes of the partition to a file, each page followed by its out-of-band area if `oob`.
    ///
    /// Errors: the medium has no such area, the file cannot be written.
    pub fn save_image(&self, file: &Path, oob: bool) -> Result<(), ChipError> {
        let image = self.mtd.image(oob).map_err(|error| ChipError::Input(error.to_string()))?;
        std::fs::write(file, image).map_err(|error| ChipError::file(file, &error))
    }

    /// What the program does is none of the operations at which power can be cut.
    fn is_not_told(&mut self, why: &str) {
        if let Some(journal) = &mut self.journal {
            journal.refuse(why);
        }
    }

    // ---- what was done -------------------------------------------------------------------------------------------

    /// Flash operations, energy and time since the chip was opened.
    pub fn totals(&self) -> SessionTotals {
        self.session.totals()
    }

    /// Flash operations since the chip was opened.
    pub fn counts(&self) -> OpCounts {
        self.sim().total()
    }

    /// Those of a label, or of another reason of this name.
    pub fn counts_of(&self, label: &str) -> OpCounts {
        let reason = labels::reason(label);
        reason.map_or_else(OpCounts::default, |reason| self.sim().causes().of_reason(reason))
    }

    /// Erases of each block of the partition.
    pub fn erase_counts(&self) -> Vec<u32> {
        self.mtd.erase_counts()
    }

    // ---- why -----------------------------------------------------------------------------------------------------

    /// What follows happens for this reason, until [`Chip::end_label`]; a label within a label replaces it for its time.
    ///
    /// Errors: the process has made a thousand labels, or the name is empty or no single line.
    pub fn label(&mut self, name: &str) -> Result<(), ChipError> {
        let reason: &'static Reason = labels::reason(name).ok_or_else(|| ChipError::Label(name.to_string()))?;
        self.sim().register(&[reason]);
        let guard = self.sim().because(reason);
        self.labels.push(guard);
        Ok(())
    }

    /// Ends the innermost label.
    ///
    /// Errors: none is open.
    pub fn end_label(&mut self) -> Result<(), ChipError> {
        self.labels.pop().map(drop).ok_or(ChipError::NoLabel)
    }

    /// From now on an operation outside of labels has a cause by the functions of the program that are under way, as the symbols of its
    /// backtrace name them. `rules`: lines `FUNCTION = CAUSE`, of which the first one counts that fits one of these functions; a name that ends with `*`
    /// fits all that begin so. Where none fits, the name of the innermost function is the cause, but for those of lines without one;
    /// without symbols it is "other".
    ///
    /// Errors: a line that is no rule, a cause that cannot be a label.
    pub fn explain_by_callers(&mut self, rules: &str) -> Result<(), ChipError> {
        self.callers = Some(Callers::new(rules)?);
        Ok(())
    }

    #[inline]
    fn by_callers(&mut self) -> Option<ReasonGuard> {
        let callers = self.callers.as_mut().filter(|_| self.labels.is_empty())?;
        let sim = self.mtd.sim();
        Some(sim.because(callers.reason(sim)))
    }

    fn close_labels(&mut self) {
        while self.labels.pop().is_some() {}
    }

    /// Does something for this reason.
    ///
    /// Errors: as [`Chip::label`].
    pub fn because<R>(&mut self, name: &str, body: impl FnOnce(&mut Chip) -> R) -> Result<R, ChipError> {
        self.label(name)?;
        let result = body(self);
        self.labels.pop();
        Ok(result)
    }

    // ---- results -------------------------------------------------------------------------------------------------

    /// The title of the results.
    pub fn set_title(&mut self, title: &str) {
        self.title = title.to_string();
    }

    /// A measured step begins; the first one begins the measurement, and what was before it was setup.
    ///
    /// Errors: a call is open.
    pub fn begin_step(&mut self, title: &str) -> Result<(), ChipError> {
        if self.call.is_some() {
            return Err(ChipError::CallIsOpen);
        }
        self.session.begin_step(title);
        Ok(())
    }

    /// A call of the program begins: a row of the results until [`Chip::end_call`], with all its flash operations. `name` is the file or
    /// key that it is about.
    ///
    /// Errors: a call is open.
    pub fn begin_call(&mut self, op: CallOp, name: &str, at: u64) -> Result<(), ChipError> {
        if self.call.is_some() {
            return Err(ChipError::CallIsOpen);
        }
        let start_ns = self.session.call_begins();
        self.call = Some(OpenCall { op, name: name.to_string(), at, start_ns });
        Ok(())
    }

    /// The call has moved so many bytes. Nothing happens if none is open.
    pub fn end_call(&mut self, bytes: u64) {
        if let Some(OpenCall { op, name, at, start_ns }) = self.call.take() {
            self.session.call_ends((op, &name, at), start_ns, bytes);
        }
    }

    /// Ends the measurement and writes its results to a new or empty folder, or in the place of earlier results. The chip can be used
    /// further, and its results written again.
    ///
    /// Errors: nothing was measured, a call is open, the folder holds something else or cannot be written.
    pub fn save_results(&mut self, folder: &Path) -> Result<(), ChipError> {
        if self.call.is_some() {
            return Err(ChipError::CallIsOpen);
        }
        results::save(&mut self.session, &self.title, SEED, folder)
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        self.close_labels();
    }
}
