//! The commit: index, LPT and orphans go to flash, and the journal begins anew.
//!
//! Follows `fs/ubifs/commit.c`. The master node at the end makes everything valid at once.

use crate::core::Core;
use crate::error::{Fail, Res};
use crate::format::*;
use ffslab_fs::Errno;
use ffslab_sim::Reason;

/// Whether a commit is wanted, and how urgently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CommitState {
    #[default]
    Resting,
    /// The background thread shall commit.
    Background,
    /// Somebody cannot go on without.
    Required,
    /// One has failed: nothing can be written any more.
    Broken,
}

impl Core {
    pub fn require_commit(&mut self) {
        if self.commit_state != CommitState::Broken {
            self.commit_state = CommitState::Required;
        }
    }

    pub fn request_background_commit(&mut self) {
        if self.commit_state == CommitState::Resting {
            self.commit_state = CommitState::Background;
            self.wake_thread();
        }
    }

    /// Garbage collection is of no use while a commit is wanted (`ubifs_gc_should_commit`).
    pub fn gc_should_commit(&mut self) -> bool {
        if self.commit_state == CommitState::Background {
            self.commit_state = CommitState::Required;
        }
        self.commit_state == CommitState::Required
    }

    /// What the background thread does.
    pub fn run_background_commit(&mut self) -> Res<()> {
        match self.commit_state {
            CommitState::Background | CommitState::Required => self.commit(),
            _ => Ok(()),
        }
    }

    pub fn run_commit(&mut self) -> Res<()> {
        match self.commit_state {
            CommitState::Broken => Err(Fail::Errno(Errno::RoFs)),
            _ => self.commit(),
        }
    }

    fn commit(&mut self) -> Res<()> {
        let _why = (self.sim.reason() != Reason::Sync).then(|| self.sim.because(Reason::Summary));
        self.check_writable()?;
        let result = match !self.mounting && !self.tnc.is_root_dirty() && !self.lpt.is_dirty() {
            true => Ok(()),
            false => self.do_commit(),
        };
        self.commit_state = if result.is_ok() { CommitState::Resting } else { CommitState::Broken };
        if result.is_err() {
            self.read_only = true;
        }
        result
    }

    fn do_commit(&mut self) -> Res<()> {
        self.sync_all_heads()?;
        self.cmt_no += 1;
        self.start_gc_commit()?;
        let new_tail_lnum = self.start_log_commit()?;
        let root = self.start_index_commit()?;
        self.start_lpt_commit()?;
        self.start_orphan_commit();
        let stats = self.lpt.stats;
        self.end_index_commit()?;
        self.end_lpt_commit()?;
        self.end_orphan_commit()?;
        let lpt = &self.lpt;
        let lpt_root = lpt.root();
        let master = &mut self.master;
        master.cmt_no = self.cmt_no;
        master.log_lnum = new_tail_lnum;
        master.root = root;
        (master.ihead_lnum, master.ihead_offs) = (self.tnc.ihead_lnum, self.tnc.ihead_offs);
        master.index_bytes = self.budget.old_idx_bytes;
        (master.lpt.lnum, master.lpt.offs) = (lpt_root.lnum, lpt_root.offs);
        (master.nhead, master.ltab, master.lsave) = (lpt.nhead, lpt.ltab_at, lpt.lsave_at);
        master.lscan_lnum = lpt.lscan_lnum;
        master.stats = stats;
        if self.orphans.none_on_flash() {
            master.flags |= MASTER_NO_ORPHANS;
        } else {
            master.flags &= !MASTER_NO_ORPHANS;
        }
        let old_tail_lnum = self.log.tail_lnum;
        self.end_log_commit(new_tail_lnum)?;
        self.finish_log_commit(old_tail_lnum)?;
        self.end_gc_commit()?;
        self.finish_lpt_commit()
    }
}
