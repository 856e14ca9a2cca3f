//! Phases of a run: what waits in memory knows in which one it came there.

/// A part of a run, such as the setup of an experiment or its measured steps. A later one is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase(u32);

impl Phase {
    pub(crate) fn next(self) -> Phase {
        Phase(self.0 + 1)
    }
}
