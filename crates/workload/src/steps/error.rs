//! Values of steps that no system could run.

use super::states::{DAYS_MAX, OVERWRITES_MAX};
use thiserror::Error;

/// The largest request of a step. All of its bytes are in memory at once.
pub(crate) const REQUEST_BYTES_MAX: u64 = 256 << 20;

/// What is wrong with a value of a step; one line: the key, what is wrong with it and what would be right.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum StepError {
    #[error("{key} is 0: it must be at least 1")]
    Zero { key: &'static str },
    #[error("{key} is {bytes}: a request has at most {} MiB ({REQUEST_BYTES_MAX})", REQUEST_BYTES_MAX >> 20)]
    LargeRequest { key: &'static str, bytes: u64 },
    #[error("{key} is {percent}: it must be more than 0 and less than 100")]
    Share { key: &'static str, percent: f64 },
    #[error("overwrites is {overwrites}: it must be more than 0 and at most {OVERWRITES_MAX}")]
    Overwrites { overwrites: f64 },
    #[error("zipf_theta is {theta}: it must be more than 0 and not 1")]
    ZipfTheta { theta: f64 },
    #[error("us is {time_us}: a sleep has at most 366 days ({most_us} us)")]
    LongSleep { time_us: u64, most_us: u64 },
    #[error("days is {days}, temperature_C is {celsius}: 0 to {DAYS_MAX} days at -60 to 200 C can be")]
    Shelf { days: f64, celsius: f64 },
    #[error("order is missing: pattern \"listed\" takes the places from it")]
    NoOrder,
    #[error("order belongs to pattern = \"listed\": leave it out")]
    OrderUnused,
    #[error("range_B {range_bytes} is less than request_B {request_bytes}: not one request fits")]
    SmallRange { range_bytes: u64, request_bytes: u64 },
    #[error("offset_B is {bytes}: a map begins at a multiple of 4096")]
    MapOffset { bytes: u64 },
    #[error("bytes {bytes} is less than request_B {request_bytes}: not one access fits into the map")]
    SmallMap { bytes: u64, request_bytes: u64 },
    #[error("msync belongs to access = \"write\": leave it out")]
    NothingStored,
    #[error("flags must hold exactly one of rdonly, wronly, rdwr")]
    Access,
    #[error("the flag tmpfile makes a file to write: neither create nor rdonly goes with it")]
    Tmpfile,
    #[error("speed is {speed}: it must be more than 0")]
    Speed { speed: f64 },
    #[error("speed divides pauses or arrivals: think = \"none\" has neither, leave one out")]
    SpeedUnused,
    #[error("only goes with onto: leave it out, or say on which file the recording is replayed")]
    OnlyWithoutOnto,
    #[error("random_percent is {percent}: it must be 0 to 100")]
    RandomPercent { percent: u8 },
    #[error("random_percent goes with content = \"mix\" alone: leave it out, or say so")]
    RandomPercentWithoutMix,
    #[error("give the attribute either a value, a text, or bytes, the size of any value")]
    AttributeValue,
    #[error("give either sql, the statements, or script, a file of them")]
    Sql,
    #[error("give either content or content_file, the file whose bytes are written")]
    Content,
    #[error("permissions is \"{permissions}\": it must be one to four octal digits, such as \"640\"")]
    Permissions { permissions: String },
    #[error("autoplace is set, but not oob: there are no OOB bytes to place")]
    NothingToPlace,
    #[error("file must be a plain name without folders, such as \"nand.bin\"")]
    PlainName,
    #[error("name is \"{name}\": it must be a plain name with one run of # for the number, such as \"file##.txt\"")]
    NumberedName { name: String },
    #[error("order names key {number}: there are {keys}, the first is 0")]
    NoSuchKey { number: u64, keys: u64 },
    #[error("count is missing: give a number of files, or until = \"ENOSPC\"")]
    NoCount,
    #[error("it has no end: give times = 10, or until = \"free <= 10 %\"")]
    NoEnd,
    #[error("rounds_max goes with until alone: times says how many rounds there are")]
    TwoLimits,
    #[error("it has no steps: write steps = [{{ step = \"...\" }}]")]
    NothingRepeated,
    #[error("its step {number} ({name}) cannot be in a loop: {why}")]
    NotInLoop { number: usize, name: &'static str, why: &'static str },
    #[error("its step {number} ({title}): {why}")]
    InLoop { number: usize, title: String, why: Box<StepError> },
    #[error("\"{name}\" has more than one run of #: a loop has one number")]
    TwoNumbers { name: String },
    #[error("name is \"{name}\": it must be a plain name with one *, such as \"*.jpg\"")]
    Starred { name: String },
    #[error("name is empty: it must say what the stage is called, such as \"SPL\"")]
    NoStageName,
    #[error("fastmap: that of the kernel is a key of [stack]: leave it out here, or say which boot loader runs")]
    FastmapOfKernel,
    #[error("files is empty: it must list the files that are read")]
    NoFiles,
    #[error(transparent)]
    Uflip(#[from] UflipError),
}

/// A pattern that cannot be; one line: the keys, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UflipError {
    #[error("io_ignore {ignore} leaves no call of {count}: it must be less")]
    NothingLeft { ignore: u64, count: u64 },
    #[error("partitions and incr are for sequential patterns (SR, SW)")]
    NotSequential,
    #[error("{one} and {other} exclude each other")]
    Exclusive { one: &'static str, other: &'static str },
    #[error("the target ends behind the end of the file, which has {file_bytes} B")]
    BehindFile { file_bytes: u64 },
    #[error("a target of {target_bytes} B holds less than {calls} calls of {io_bytes} B: enlarge target_size_B")]
    SmallTarget { target_bytes: u64, calls: u64, io_bytes: u64 },
}
