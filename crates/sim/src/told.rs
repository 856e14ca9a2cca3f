//! What the answer of a run has to say.

use std::collections::BTreeSet;

/// Sentences, each once, in an order of their own.
#[derive(Default)]
pub(crate) struct Told {
    /// What changes what the run is worth.
    pub said: BTreeSet<&'static str>,
    /// Faults of the simulated system that were met.
    pub faults: BTreeSet<&'static str>,
}
