//! The commit: index, LPT and orphans go to flash, and the journal begins anew.
//!
//! Follows `fs/ubifs/commit.c`. The master node at the end makes everything valid at once.

use crate::causes;
use crate::commits::{Commit, CommitState};
use crate::core::Core;
use crate::error::{Fail, Res};
use crate::format::*;
use crate::options::KernelRules;
use ffslab_fs::Errno;
use ffslab_sim::ReasonGuard;

impl Core {
    /// Begins the commit that was asked of the background thread. Returns `true` when there is a commit to go on with
    /// (`run_bg_commit`).
    pub fn begin_background_commit(&mut self) -> Res<bool> {
        match self.commits.state {
            CommitState::Background | CommitState::Required => self.begin_commit(),
            CommitState::Running => Ok(true),
            CommitState::Resting | CommitState::Broken => Ok(false),
        }
    }

    /// Runs a commit to its end. If the background thread has begun one, that one is finished instead: in Linux the
    /// caller would wait for it (`ubifs_run_commit`).
    pub fn run_commit(&mut self) -> Res<()> {
        let goes_on = match self.commits.state {
            CommitState::Broken => return Err(Fail::Errno(Errno::RoFs)),
            CommitState::Running => true,
            _ => self.begin_commit()?,
        };
        if goes_on {
            self.lebs.cond_resched();
            while self.go_on_with_commit()? {
                self.lebs.cond_resched();
            }
        }
        Ok(())
    }

    /// The part of a commit during which nobody else may change anything. `false`: there is nothing to commit.
    fn begin_commit(&mut self) -> Res<bool> {
        let _why = self.because_of_commit(self.changes_were_left());
        self.lebs.check_writable()?;
        if self.nothing_to_commit() {
            self.commits.state = CommitState::Resting;
            return Ok(false);
        }
        self.commits.state = CommitState::Running;
        let begun = self.start_commit();
        self.commits.running = Some(self.or_broken(begun)?);
        Ok(true)
    }

    /// Whether a commit would change nothing and is not run (`nothing_to_commit`, since 3.0).
    fn nothing_to_commit(&self) -> bool {
        self.rules != KernelRules::V2_6
            && !self.mount.mounting
            && !self.index.is_root_dirty()
            && !self.space.lpt.is_dirty()
    }

    /// Goes on with the running commit up to the next scheduling point. `false`: it is over.
    pub fn go_on_with_commit(&mut self) -> Res<bool> {
        let _why = self.because_of_commit(self.commits.running.as_ref().is_some_and(|commit| commit.was_left));
        let result = self.step_commit();
        self.or_broken(result)
    }

    fn step_commit(&mut self) -> Res<bool> {
        let Some(commit) = self.commits.running.take() else { return Ok(false) };
        if self.index.write_piece(&mut self.lebs, &mut self.space)? {
            self.commits.running = Some(commit);
            return Ok(true);
        }
        self.end_commit(&commit)?;
        self.commits.state = CommitState::Resting;
        Ok(false)
    }

    fn changes_were_left(&self) -> bool {
        self.commits.changed_in.is_some_and(|phase| self.lebs.sim.was_left(phase))
    }

    fn because_of_commit(&self, was_left: bool) -> Option<ReasonGuard> {
        let sim = &self.lebs.sim;
        let because = || (sim.reason() != &causes::SYNC).then(|| sim.because(&causes::SUMMARY));
        sim.because_left_if(was_left).or_else(because)
    }

    fn or_broken<T>(&mut self, result: Res<T>) -> Res<T> {
        if result.is_err() {
            self.commits.running = None;
            self.commits.state = CommitState::Broken;
            self.lebs.read_only = true;
        }
        result
    }

    fn start_commit(&mut self) -> Res<Commit> {
        self.journal.sync_all_heads(&mut self.lebs, &mut self.space)?;
        self.commits.number += 1;
        self.space.start_gc_commit(&mut self.lebs)?;
        let log_lnum = self.journal.start_log_commit(&mut self.lebs, self.commits.number)?;
        let root = self.index.start_commit(&mut self.lebs, &mut self.space)?;
        self.space.start_lpt_commit(&mut self.lebs)?;
        self.journal.orphans.start_commit();
        let stats = self.space.lpt.stats;
        self.index.begin_writes(&self.lebs, &mut self.space)?;
        let was_left = self.changes_were_left();
        self.commits.changed_in = None;
        Ok(Commit { was_left, root, log_lnum, stats })
    }

    /// Finishes the commit after the index is written.
    fn end_commit(&mut self, commit: &Commit) -> Res<()> {
        if cfg!(debug_assertions) {
            self.space.audit_sums(&self.lebs);
        }
        self.space.end_lpt_commit(&mut self.lebs)?;
        self.journal.orphans.end_commit(&mut self.lebs, self.commits.number)?;
        let lpt = &self.space.lpt;
        let lpt_root = lpt.root();
        let master = &mut self.master;
        master.cmt_no = self.commits.number;
        master.log_lnum = commit.log_lnum;
        master.root = commit.root;
        (master.ihead_lnum, master.ihead_offs) = (self.index.ihead_lnum, self.index.ihead_offs);
        master.index_bytes = self.space.budget.old_idx_bytes;
        (master.lpt.lnum, master.lpt.offs) = (lpt_root.lnum, lpt_root.offs);
        (master.nhead, master.ltab, master.lsave) = (lpt.nhead, lpt.ltab_at, lpt.lsave_at);
        master.lscan_lnum = lpt.lscan_lnum;
        master.stats = commit.stats;
        if self.journal.orphans.none_on_flash() {
            master.flags |= MASTER_NO_ORPHANS;
        } else {
            master.flags &= !MASTER_NO_ORPHANS;
        }
        let old_tail_lnum = self.journal.log.tail_lnum;
        if self.fs_debug {
            self.read_root(commit.root)?;
        }
        self.journal.end_log_commit(&self.lebs, commit.log_lnum);
        self.master.write(&mut self.lebs, self.highest_ino)?;
        self.journal.finish_log_commit(&mut self.lebs, &mut self.space, old_tail_lnum)?;
        self.space.end_gc_commit(&mut self.lebs)?;
        self.space.finish_lpt_commit(&mut self.lebs)
    }
}
