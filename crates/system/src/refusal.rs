//! Why a system did not do what it was asked for.

use ffslab_fs::Errno;
use thiserror::Error;

/// What a call gives back.
pub type Answer<T> = Result<T, Refusal>;

/// Why a call did nothing, or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The call failed, as it does in the real system.
    #[error("{0}")]
    Failed(Errno),
    /// The system does not have what was asked for: a program gets ENOSYS, a person learns what is missing.
    #[error("{system} has no {what}: leave it out")]
    Lacks { system: &'static str, what: &'static str },
}

impl Refusal {
    /// The error that a program sees.
    pub fn errno(self) -> Errno {
        match self {
            Refusal::Failed(errno) => errno,
            Refusal::Lacks { .. } => Errno::NoSys,
        }
    }

    /// Unix name of the error, as strace writes it.
    pub fn name(self) -> &'static str {
        self.errno().name()
    }

    /// Whether the system could never have done it.
    pub fn is_lack(self) -> bool {
        matches!(self, Refusal::Lacks { .. })
    }
}

impl PartialEq<Errno> for Refusal {
    fn eq(&self, other: &Errno) -> bool {
        self.errno() == *other
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Refusal {
        Refusal::Failed(errno)
    }
}

impl From<Refusal> for Errno {
    fn from(refusal: Refusal) -> Errno {
        refusal.errno()
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> String {
        refusal.to_string()
    }
}
