//! Why something about a chip cannot be done; one line.

use ffslab_lab::LabError;
use ffslab_mtd::{MtdError, RestoreError};
use std::io;
use std::path::Path;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ChipError {
    /// Wrong keys, or a value that does not fit.
    #[error("{0}")]
    Input(String),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("the part holds no flash that a program could drive")]
    NoFlash,
    #[error(transparent)]
    Flash(#[from] MtdError),
    #[error(transparent)]
    Restore(#[from] RestoreError),
    #[error("label {0:?}: it must be one line of text, and a process can have a thousand")]
    Label(String),
    /// Of [`crate::Chip::explain_by_callers`].
    #[error("callers, line {line}: {text:?}: FUNCTION = CAUSE is needed, with a name that may end with *, and a cause or nothing")]
    Rule { line: usize, text: String },
    #[error("no label is open")]
    NoLabel,
    #[error("a call is open: end it first")]
    CallIsOpen,
    #[error("{file}: {reason}")]
    File { file: String, reason: String },
}

impl ChipError {
    pub(crate) fn file(file: &Path, error: &io::Error) -> ChipError {
        ChipError::File { file: file.display().to_string(), reason: ffslab_lab::io_reason(error) }
    }
}
