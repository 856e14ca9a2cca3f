//! What is wrong with an image.

use std::fmt;

/// What is wrong, and where in the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub at_bytes: u64,
    pub what: String,
}

impl Wrong {
    pub fn new(at_bytes: u64, what: impl Into<String>) -> Wrong {
        Wrong { at_bytes, what: what.into() }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (offset {:#x})", self.what, self.at_bytes)
    }
}
