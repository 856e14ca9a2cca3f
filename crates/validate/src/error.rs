//! Why a measured case cannot be read or run.

use ffslab_machine::MachineError;
use ffslab_profiles::ProfileError;
use ffslab_workload::steps::StepError;
use thiserror::Error;

/// What is wrong with a case, or with a run of RTEMS; one line, without its place in the file.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CaseError {
    // ---- its JSON --------------------------------------------------------------------------------------------------
    #[error("{says}")]
    Malformed { says: String },
    #[error("a case is one JSON object a line, this is none (column {column})")]
    NoObject { column: usize },
    #[error("the key `{key}` is missing: {what}")]
    Missing { key: &'static str, what: &'static str },
    #[error("a phase is an object with counters")]
    PhaseIsNoObject,
    #[error("a phase has no name (`phase`)")]
    PhaseWithoutName,
    #[error("settings: {says}")]
    Settings { says: String },
    // ---- what it asks for ------------------------------------------------------------------------------------------
    /// `list`: setup or measure; `number` from 1.
    #[error("{list} step {number} ({title}): {why}")]
    Step { list: &'static str, number: usize, title: String, why: StepError },
    #[error("the phase from_step {from:?} to at_step {at} is not within the {steps} measured steps")]
    Phase { from: Option<usize>, at: usize, steps: usize },
    #[error("settings: io_size is {io_bytes} and file_bytes {file_bytes}: at least one request of 1 byte must fit")]
    Sizes { io_bytes: u32, file_bytes: u64 },
    #[error("settings: {key} is {bytes}: whole KiB are needed")]
    WholeKib { key: &'static str, bytes: u64 },
    #[error("unknown kind of data '{name}'; known: random, text, zero")]
    Data { name: String },
    #[error("unknown test '{name}'; known: io, small, hold, meta")]
    Test { name: String },
    // ---- its machine -----------------------------------------------------------------------------------------------
    #[error("fs \"{fs}\": cases measured with it cannot be run")]
    NotRun { fs: String },
    /// What was built, and what it ran on, in the words of the case.
    #[error("system.tree = \"{tree}\": no board profile says what that machine's work takes")]
    UnknownMachine { tree: String },
    #[error("the file system '{fs}' of RTEMS is not simulated; there are {}", known.join(", "))]
    NotOnRtems { fs: String, known: Vec<&'static str> },
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    // ---- its run ---------------------------------------------------------------------------------------------------
    /// A step ended before its last request.
    #[error("phase {phase}: {error}")]
    Stopped { phase: String, error: &'static str },
}
