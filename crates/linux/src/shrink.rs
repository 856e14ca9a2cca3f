//! What `drop_caches` takes from names, inodes and the caches of file systems, pass by pass (`drop_slab` and `do_shrink_slab` of
//! `mm/vmscan.c`, `super_cache_scan` of `fs/super.c`).
//!
//! A pass spares each name that was used again since it was listed, and takes as many inodes as were unused before it, and one
//! more. So it needs a second pass to take what the first one has only prepared, and whether there is one depends on how much the
//! first one has taken.

use crate::config::ShrinkRules;
use crate::vfs::Vfs;
use ffslab_fs::Ino;

/// `batch` of the shrinker of a super block.
const BATCH: usize = 1024;
/// So few objects of a pass end the loop of kernels before 5.15.
const FEW: usize = 10;

impl Vfs {
    /// Passes until the kernel's rule ends them.
    pub(crate) fn shrink_caches(&mut self) {
        match self.config.kernel.shrink {
            ShrinkRules::V2_6 => self.shrink_all(self.config.kernel.dentries_spared_count),
            _ if self.config.others_unused_count.is_none() => self.shrink_all(0),
            ShrinkRules::V3_12 => while self.shrink_pass() > FEW {},
            ShrinkRules::V5_15 => {
                let mut passes = 0;
                while self.shrink_pass() >> passes > 1 {
                    passes += 1;
                }
            }
        }
        let in_use = self.dentries.inodes();
        let (idle, write_back) = (&self.idle, &mut self.memory.write_back);
        write_back.forget_clean(&|ino| in_use.contains(&ino));
        if let Some(fs) = self.fs.as_deref_mut() {
            fs.drop_inodes(&|ino| in_use.contains(&ino) || idle.contains(&ino) || write_back.is_dirty(ino));
        }
    }

    fn shrink_all(&mut self, spared_count: usize) {
        self.dentries.shrink(spared_count);
        self.idle.clear();
        if let Some(fs) = self.fs.as_deref_mut() {
            fs.shrink();
        }
    }

    /// How many objects one pass has freed, by the kernel's count.
    fn shrink_pass(&mut self) -> usize {
        let of_fs = self.fs.as_deref_mut().map_or(0, |fs| fs.shrink());
        let unused = self.dentries.listed_count() + self.idle.len();
        let (mut freed, mut left) = (0, 2 * unused);
        while unused > 0 && (left >= BATCH || left >= unused) {
            let portion = left.min(BATCH);
            freed += self.shrink_portion(portion);
            left -= portion;
        }
        of_fs + freed + self.config.others_unused_count.as_mut().map_or(0, std::mem::take)
    }

    /// Names and inodes get their shares of `portion`, and one more each.
    fn shrink_portion(&mut self, portion: usize) -> usize {
        let (names, inodes) = (self.dentries.listed_count(), self.idle.len());
        let all = names + inodes + 1;
        let (names_freed, orphans) = self.dentries.prune(portion * names / all + 1);
        let in_use = self.dentries.inodes();
        for ino in orphans {
            if !in_use.contains(&ino) && !self.idle.contains(&ino) {
                self.idle.push(ino);
            }
        }
        let write_back = &self.memory.write_back;
        let mut walked = portion * inodes / all + 1;
        let is_left = |&ino: &Ino| {
            let looked_at = walked > 0;
            walked = walked.saturating_sub(1);
            !looked_at || write_back.is_dirty(ino) && !in_use.contains(&ino)
        };
        let before = self.idle.len();
        self.idle.retain(is_left);
        names_freed + before - self.idle.len()
    }
}
