//! Why a profile cannot be used.

use ffslab_text::toml_text::TomlError;
use thiserror::Error;

/// A profile that cannot be used: which one, where, and what would be right. One line.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ProfileError {
    #[error("unknown {what} `{name}`: {told}")]
    Unknown {
        /// "board", or "profile" where any kind is meant.
        what: &'static str,
        name: String,
        /// What it may be instead: the nearest names, which there are, what the path of a file could be.
        told: String,
    },
    #[error("{what} file {path}: cannot be read: {why}")]
    Unreadable { what: &'static str, path: String, why: String },
    #[error(transparent)]
    Toml(#[from] TomlError),
    #[error(
        "{file}: this is no profile: it has a `base`, or a part has the key `page_B` or `kind`, a board `part` or `bdbuf_call_ns` (RTEMS), a kernel `hz`, \
         a block device `command_us`"
    )]
    NoProfile { file: String },
    /// Keys that no file and no base says.
    #[error(
        "{file}: {} missing: {}; give them, or a base that has them: base = \"...\"",
        match missing.len() { 1 => format!("a key of a {kind} is"), count => format!("{count} keys of a {kind} are") },
        missing.join("; ")
    )]
    Missing {
        file: String,
        kind: &'static str,
        /// Each with its unit and meaning.
        missing: Vec<String>,
    },
    /// A total and an overhead of one operation.
    #[error("{file}: {total} and {overhead}: the one includes chip and bus, the other does not: give one of them")]
    TwoTimes { file: String, total: String, overhead: String },
    #[error("{place}: {key} = {value}: {needed} is needed")]
    OutOfRange { place: String, key: &'static str, value: u32, needed: &'static str },
    #[error(
        "{file}: driver.{key} = {total_us} us is less than the chip and the bus need with part `{part}`: {chip_us} us"
    )]
    FasterThanChip { file: String, key: &'static str, total_us: f64, part: String, chip_us: f64 },
    #[error(
        "{file}: driver.{key}: a total can be divided among chip and driver only above raw NAND, and `{part}` is none: give what the \
         driver adds, as in read_overhead_us"
    )]
    TotalOfBus { file: String, key: &'static str, part: String },
    /// Values of a part that no chip has together.
    #[error("{file}: {message}")]
    Part { file: String, message: String },
    #[error(
        "board `{board}` does not say who corrects bit errors (ecc, ecc_step_B, ecc_bytes_per_step, ecc_strength_bits), and part \
         `{part}` is raw NAND, which needs it"
    )]
    NoEcc { board: String, part: String },
    #[error("part `{part}` stands on a serial bus, and board `{board}` has no table [spi] that says how fast its controller is")]
    NoSpi { board: String, part: String },
    #[error("traced = true: board `{board}` has no table [tracers]")]
    NoTracers { board: String },
    #[error(
        "{file}: {level}_KiB = {kib} in {ways} ways of {line_bytes} B lines: sizes must make a power of two of sets"
    )]
    CacheSets { file: String, level: &'static str, kib: u64, ways: u64, line_bytes: u64 },
    #[error("{file}: line_B = {line_bytes} must be a power of two")]
    CacheLine { file: String, line_bytes: u64 },
}

/// Where a message is all that is left of an error.
impl From<ProfileError> for String {
    fn from(error: ProfileError) -> String {
        error.to_string()
    }
}
