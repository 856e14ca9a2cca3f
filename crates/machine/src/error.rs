//! Why a description is not one of a machine.

use ffslab_images::ImageError;
use ffslab_profiles::ProfileError;
use thiserror::Error;

/// One line: what is wrong, where, what would be right.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MachineError {
    /// A profile that is not there, or that says something impossible.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The file of an image that cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A key of `[stack]` has a value that it cannot have, or that contradicts another key or the image.
    #[error("{0}")]
    Key(String),
}

impl MachineError {
    pub fn key(text: impl Into<String>) -> Self {
        MachineError::Key(text.into())
    }
}
