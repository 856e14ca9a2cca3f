//! Giving memory back: index nodes that are clean are forgotten.
//!
//! Follows `fs/ubifs/shrinker.c` (`shrink_tnc`), as `drop_caches` drives it: until nothing clean is left.

use crate::commits::Commits;
use crate::options::KernelRules;
use crate::tnc::Index;
use crate::tnc::NO_ZNODE;

/// `SHRINK_BATCH`
const PORTION_2_6: usize = 128;

impl Index {
    /// Forgets every clean index node. Below a clean index node there are only clean ones. 2.6.37 asks a cache twice for
    /// as many objects as it has, but only in portions of 128 (`mm/vmscan.c`, `shrink_slab`, `SHRINK_BATCH`), so a cache
    /// with fewer than half a portion keeps them. Returns how many are forgotten.
    pub fn shrink(&mut self, commits: &Commits, rules: KernelRules) -> usize {
        let before = self.clean_count();
        if rules == KernelRules::V2_6 && 2 * before < PORTION_2_6 {
            return 0;
        }
        let root = self.root.child;
        // A running commit still needs the index nodes that it has not written yet, so nothing is forgotten during a
        // commit.
        if root == NO_ZNODE || commits.running.is_some() {
            return 0;
        }
        if self.z(root).dirty {
            self.shrink_below(root);
        } else {
            self.forget(root);
            self.root.child = NO_ZNODE;
        }
        before - self.clean_count()
    }

    fn shrink_below(&mut self, id: u32) {
        if self.z(id).level == 0 {
            return;
        }
        for n in 0..self.z(id).branches.len() {
            let child = self.z(id).branches[n].child;
            if child == NO_ZNODE {
                continue;
            }
            if self.z(child).dirty {
                self.shrink_below(child);
            } else {
                self.forget(child);
                self.zm(id).branches[n].child = NO_ZNODE;
            }
        }
    }

    fn forget(&mut self, id: u32) {
        for n in 0..self.z(id).branches.len() {
            let child = self.z(id).branches[n].child;
            if child != NO_ZNODE {
                self.forget(child);
            }
        }
        self.release(id);
    }
}
