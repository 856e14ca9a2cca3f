//! What can go wrong in the laboratory.

use ffslab_images::ImageError;
use ffslab_machine::MachineError;
use ffslab_profiles::ProfileError;
use ffslab_system::SystemError;
use ffslab_text::toml_text::TomlError;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LabError {
    /// What the user gave cannot be run. One line: what is wrong, where, what would be right.
    #[error("{0}")]
    Input(String),
    /// The machine refused what was asked of it. Whoever runs a machine may look at the cause.
    #[error(transparent)]
    Refused(#[from] SystemError),
    /// The progress function asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The simulation broke one of its own rules.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<TomlError> for LabError {
    fn from(error: TomlError) -> LabError {
        LabError::Input(error.to_string())
    }
}

impl From<ProfileError> for LabError {
    fn from(error: ProfileError) -> LabError {
        LabError::Input(error.to_string())
    }
}

impl From<MachineError> for LabError {
    fn from(error: MachineError) -> LabError {
        LabError::Input(error.to_string())
    }
}

impl From<ImageError> for LabError {
    fn from(error: ImageError) -> LabError {
        LabError::Input(error.to_string())
    }
}

impl LabError {
    pub fn input(text: impl Into<String>) -> Self {
        LabError::Input(text.into())
    }
}
