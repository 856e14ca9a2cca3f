//! What is wrong with a job file.

use thiserror::Error;

/// A job file that cannot be used; one line: file, line, option and what is wrong.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum JobFileError {
    #[error("{file}:{line}: {why}")]
    Line { file: String, line: u64, why: LineError },
    /// A job whose options contradict each other; `line`: where it begins.
    #[error("{file}:{line}: job [{job}]: {why}")]
    Job { file: String, line: u64, job: String, why: JobError },
    #[error("{file}: holds no job: write a section such as [job1] with options below it")]
    NoJob { file: String },
    #[error("{file}: the jobs have more than {most} processes in all: lower numjobs")]
    ManyProcesses { file: String, most: u64 },
    #[error("{file}: the jobs have more than {most} files in all: lower nrfiles or numjobs")]
    ManyFiles { file: String, most: u64 },
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LineError {
    #[error("the section has no \"]\"")]
    NoBracket,
    #[error("an included file must not begin a section")]
    IncludedSection,
    #[error("option `{key}` stands outside of a section such as [global]")]
    OutsideSection { key: String },
    #[error("include {file}: files include each other without end")]
    Circle { file: String },
    #[error("include {file}: {why}")]
    Unreadable { file: String, why: String },
    /// In a file that this line includes.
    #[error(transparent)]
    Included(Box<JobFileError>),
    #[error("\"{value}\": ${{ without }}")]
    OpenVariable { value: String },
    #[error("the environment variable {name} is not set")]
    NoVariable { name: String },
    #[error("{option}: {why}")]
    Value { option: String, why: ValueError },
    #[error("{0} (--lenient leaves such options out with a warning)")]
    NotHonoured(NotHonoured),
}

/// An option of fio that a job cannot have here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotHonoured {
    /// One of its values. `option` with the value.
    #[error("{option} is not honoured: {why}")]
    Value { option: String, why: &'static str },
    #[error("option `{key}` of fio is not honoured")]
    Option { key: String },
    /// fio does not have it either.
    #[error("unknown option `{key}`: {}", match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => "docs/fio.md lists the options".to_string(),
    })]
    Unknown { key: String, nearest: Option<&'static str> },
}

/// What is wrong with the value of an option, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValueError {
    /// fio knows it. No job has it here.
    #[error("is not honoured: {0}")]
    NotHere(&'static str),
    /// It is none of a few words.
    #[error("write {0}")]
    Words(&'static str),
    /// The parameter of a distribution.
    #[error("{name} must {be}")]
    Parameter { name: &'static str, be: &'static str },
    // ---- sizes -----------------------------------------------------------------------------------------------------
    #[error("\"{text}\" is no size: write a number such as 4096, 4k or 1m")]
    NoSize { text: String },
    #[error("\"{text}\": percentages are not honoured here, write a size such as 4m")]
    Percentage { text: String },
    #[error("\"{text}\" is more than any file here can hold")]
    LargeSize { text: String },
    #[error("\"{text}\" is too large")]
    LargeSkip { text: String },
    #[error("a block size of 0: it must be at least 1")]
    ZeroBlock,
    #[error("\"{entry}\": a block size must be at least 1")]
    ZeroBlockIn { entry: String },
    #[error("an alignment of 0: it must be at least 1")]
    ZeroAlignment,
    #[error("\"{text}\" is no range: write 1k-4k")]
    NoRange { text: String },
    #[error("\"{text}\" is no range of block sizes: write the smaller one, above 0, first")]
    UpsideDown { text: String },
    #[error("\"{text}\" is no split: write sizes with percentages up to 100, such as 4k/60:64k/40")]
    NoSplit { text: String },
    // ---- times and numbers -----------------------------------------------------------------------------------------
    #[error("\"{text}\" is no time: write a number such as 10, 10s, 500ms or 20us")]
    NoTime { text: String },
    #[error("\"{text}\" is longer than a simulation lasts: a year is the limit")]
    LongTime { text: String },
    #[error("{value} is out of range: {least} to {most}")]
    OutOfRange { value: u64, least: u64, most: u64 },
    #[error("\"{text}\" is no whole number")]
    NoWholeNumber { text: String },
    #[error("\"{text}\" is no number")]
    NoNumber { text: String },
    #[error("\"{text}\" is neither 0 nor 1")]
    NoSwitch { text: String },
}

/// What is wrong with a job as a whole, or with its files.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JobError {
    #[error("time_based needs a runtime, such as runtime=10s")]
    NoRuntime,
    #[error("read_iolog and write_iolog exclude each other")]
    BothLogs,
    #[error("size={size_bytes} is less than the block size {request_bytes}")]
    LessThanBlock { size_bytes: u64, request_bytes: u64 },
    #[error("nrfiles={files}, but filename gives {names} names: separate names by \":\"")]
    Names { files: u64, names: usize },
    #[error("wait_for={wanted}: no job before it has this name")]
    WaitsForNone { wanted: String },
    // ---- when its files are known ----------------------------------------------------------------------------------
    #[error("its size is missing: write size=1m or filesize=1m")]
    NoSize,
    #[error("offset {offset} is not below the size of {file}")]
    Offset { offset: u64, file: String },
    #[error("{size_bytes} B is less than a request of {request_bytes} B")]
    LessThanRequest { size_bytes: u64, request_bytes: u64 },
    #[error("its random map would hold {blocks} blocks: raise bs or set norandommap")]
    LargeMap { blocks: u64 },
}
