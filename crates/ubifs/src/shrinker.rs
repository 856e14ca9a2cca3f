//! Giving memory back: index nodes that are clean are forgotten.
//!
//! Follows `fs/ubifs/shrinker.c` (`shrink_tnc`), as `drop_caches` drives it: until nothing clean is left.

use crate::core::Core;
use crate::tnc::NO_ZNODE;

impl Core {
    /// Forgets every clean index node. Below a clean index node there are only clean ones.
    pub fn shrink_index(&mut self) {
        let root = self.tnc.root.child;
        // A running commit still needs the index nodes that it has not written yet, so nothing is forgotten during a
        // commit.
        if root == NO_ZNODE || self.commits.running.is_some() {
            return;
        }
        if self.tnc.z(root).dirty {
            self.shrink_below(root);
        } else {
            self.forget(root);
            self.tnc.root.child = NO_ZNODE;
        }
    }

    fn shrink_below(&mut self, id: u32) {
        if self.tnc.z(id).level == 0 {
            return;
        }
        for n in 0..self.tnc.z(id).branches.len() {
            let child = self.tnc.z(id).branches[n].child;
            if child == NO_ZNODE {
                continue;
            }
            if self.tnc.z(child).dirty {
                self.shrink_below(child);
            } else {
                self.forget(child);
                self.tnc.zm(id).branches[n].child = NO_ZNODE;
            }
        }
    }

    fn forget(&mut self, id: u32) {
        for n in 0..self.tnc.z(id).branches.len() {
            let child = self.tnc.z(id).branches[n].child;
            if child != NO_ZNODE {
                self.forget(child);
            }
        }
        self.tnc.release(id);
    }
}
