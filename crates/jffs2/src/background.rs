//! What the background tasks know between their turns.

use crate::erase::EraseJob;

/// Where the thread continues at its next turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadState {
    /// At the top of its loop.
    #[default]
    Top,
    /// It has slept until a signal came.
    Signalled,
    /// It has slept through the pause before a pass.
    Throttled,
    /// It waits for the allocation semaphore.
    Waiting,
    /// It is in the middle of an erase.
    InPass,
    /// An error has ended it.
    Dead,
}

/// The state of the background tasks between their turns.
#[derive(Default)]
pub struct Background {
    pub(crate) thread: ThreadState,
    pub(crate) thread_job: Option<EraseJob>,
    pub(crate) worker_job: Option<EraseJob>,
    /// Offset of the page that was in the write buffer when the worker began to flush it.
    pub(crate) flushing_at: u32,
    /// How many more times another task sleeps with the allocation semaphore before the waiting thread gets it.
    pub(crate) holds_ahead: u8,
    /// Number of chip operations at the time when the semaphore was last taken or given back.
    pub(crate) chip_uses: u64,
    /// A writer holds the semaphore during an erase while other tasks run.
    pub(crate) allocation_is_held: bool,
    pub(crate) worker_waits: bool,
    /// Somebody waits for the end of the tasks, so that they do not sleep.
    pub(crate) is_ending: bool,
}
