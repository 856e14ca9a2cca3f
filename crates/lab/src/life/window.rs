//! A stretch of a life.

/// Erases of each block in so many repetitions of the workload.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    pub erases: Vec<u32>,
    pub repetitions: u64,
    pub time_ns: u64,
    pub bad_blocks: u32,
}

impl Window {
    pub fn total(&self) -> f64 {
        self.erases.iter().map(|&count| f64::from(count)).sum()
    }

    /// Two windows as one.
    pub fn joined(&self, other: &Window) -> Window {
        Window {
            erases: self.erases.iter().zip(&other.erases).map(|(a, b)| a + b).collect(),
            repetitions: self.repetitions + other.repetitions,
            time_ns: self.time_ns + other.time_ns,
            bad_blocks: self.bad_blocks + other.bad_blocks,
        }
    }
}
