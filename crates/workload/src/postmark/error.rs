//! What is wrong with a command file of Postmark.

use thiserror::Error;

/// A command file that cannot be used; one line: file, line and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandFileError {
    #[error("{file}:{line}: {why}")]
    Line { file: String, line: usize, why: CommandError },
    #[error("{file}: holds no command `run`: nothing would be measured")]
    NoRun { file: String },
}

/// What is wrong with a command. `found`: what stands behind its name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    #[error("unknown command `{line}`: a shell cannot be started from here")]
    Shell { line: String },
    #[error("unknown command `{line}`: known: {}", known.join(", "))]
    Unknown { line: String, known: &'static [&'static str] },
    #[error("`{command}` needs a number from {least} to {most}, not \"{found}\"")]
    Number { command: &'static str, least: i64, most: u64, found: String },
    #[error("`{command}` needs {yes} or {no}, not \"{found}\"")]
    Word { command: &'static str, yes: &'static str, no: &'static str, found: String },
    #[error("`set size` needs a low and perhaps a high bound in bytes up to {most_bytes}, not \"{found}\"")]
    Sizes { most_bytes: u64, found: String },
    #[error("`set location` needs a directory and perhaps a weight, not \"{found}\"")]
    Location { found: String },
    #[error("`set location {found}`: there is no such location")]
    NoLocation { found: String },
    #[error("`run {found}`: name a plain file for the report")]
    ReportFile { found: String },
    #[error("`load` needs a file, and files must not load each other without end")]
    Load,
    #[error("load {file}: {why}")]
    Unreadable { file: String, why: String },
    /// In a file that this command loads, which says its place itself.
    #[error(transparent)]
    Loaded(Box<CommandFileError>),
}
