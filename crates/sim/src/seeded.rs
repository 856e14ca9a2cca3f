//! Deliberate defects, one at a time: who looks for lost data must find each of them.
//!
//! Each layer lists its own (`faults.rs`). Only tests are built with the feature `seeded-faults`; without it nothing can
//! be seeded, the question is a constant, and the branch is not there.

#[cfg(feature = "seeded-faults")]
use std::sync::atomic::{AtomicBool, Ordering};

/// A deliberate defect.
#[derive(Debug)]
pub struct Fault {
    /// What is wrong, for people.
    pub what: &'static str,
    #[cfg(feature = "seeded-faults")]
    is_seeded: AtomicBool,
}

impl Fault {
    pub const fn new(what: &'static str) -> Fault {
        Fault {
            what,
            #[cfg(feature = "seeded-faults")]
            is_seeded: AtomicBool::new(false),
        }
    }

    /// Whether the layer shall do wrong.
    #[inline(always)]
    pub fn is_seeded(&self) -> bool {
        #[cfg(feature = "seeded-faults")]
        return self.is_seeded.load(Ordering::Relaxed);
        #[cfg(not(feature = "seeded-faults"))]
        false
    }

    /// Seeds the defect in all machines of the process, or takes it out again.
    #[cfg(feature = "seeded-faults")]
    pub fn seed(&self, is_seeded: bool) {
        self.is_seeded.store(is_seeded, Ordering::Relaxed);
    }
}
