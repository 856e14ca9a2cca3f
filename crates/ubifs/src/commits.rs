//! When commits come, and the thread that makes them in the background.
//!
//! Follows `fs/ubifs/commit.c`; [`crate::commit`] is what a commit does.

use crate::causes;
use crate::leb::Lebs;
use crate::lprops::Stats;
use crate::node::NodeAt;
use ffslab_sim::Phase;

/// The state of the background thread that the file system needs in order to wake it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Thread {
    pub exists: bool,
    /// The thread was asked to work.
    pub needed: bool,
    /// When a timer wakes the thread; `u64::MAX`: no timer runs.
    pub wakes_at_ns: u64,
}

/// Whether a commit is wanted, and how urgently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CommitState {
    #[default]
    Resting,
    /// The background thread shall commit.
    Background,
    /// An operation needs the commit before it can go on.
    Required,
    Running,
    /// A commit has failed: nothing can be written any more.
    Broken,
}

/// What the end of a commit needs to know about its beginning.
#[derive(Debug)]
pub(crate) struct Commit {
    /// What it brings to flash had been left by an earlier phase of the run when it began.
    pub was_left: bool,
    pub root: NodeAt,
    pub log_lnum: u32,
    pub stats: Stats,
}

/// When the next commit comes, whose changes it brings to flash, and the thread that makes it in the background.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// Number of the last commit.
    pub number: u64,
    pub state: CommitState,
    /// The latest change that waits for the next commit; `None`: there is none. A commit with changes of two phases of a run is
    /// charged to the later one, which would have needed it anyway.
    pub changed_in: Option<Phase>,
    /// The commit that is going on.
    pub running: Option<Commit>,
    pub thread: Thread,
}

impl Commits {
    pub fn require_commit(&mut self) {
        if !matches!(self.state, CommitState::Broken | CommitState::Running) {
            self.state = CommitState::Required;
        }
    }

    pub fn request_background_commit(&mut self, lebs: &Lebs) {
        if self.state == CommitState::Resting {
            self.state = CommitState::Background;
            self.wake_thread(lebs);
        }
    }

    /// Whether a commit should run instead of garbage collection, because one is wanted already
    /// (`ubifs_gc_should_commit`).
    pub fn gc_should_commit(&mut self) -> bool {
        if self.state == CommitState::Background {
            self.state = CommitState::Required;
        }
        self.state == CommitState::Required
    }

    // ---- the thread ----------------------------------------------------------------------------------------------

    pub fn start_thread(&mut self, lebs: &Lebs) {
        lebs.sim.spawn(&causes::UBIFS_THREAD);
        self.thread = Thread { exists: true, needed: false, wakes_at_ns: u64::MAX };
    }

    pub fn stop_thread(&mut self, lebs: &Lebs) {
        if std::mem::take(&mut self.thread.exists) {
            lebs.sim.kill(&causes::UBIFS_THREAD);
        }
    }

    pub fn wake_thread(&mut self, lebs: &Lebs) {
        if self.thread.exists && !std::mem::replace(&mut self.thread.needed, true) {
            lebs.sim.wake(&causes::UBIFS_THREAD);
        }
    }
}
