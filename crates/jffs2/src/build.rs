//! From the scan's findings to a mounted file system: link counts, deleted inodes, rotated lists.
//!
//! Follows `fs/jffs2/build.c`.

use ffslab_fs::FileKind;

use crate::blocks::List;
use crate::refs::NONE;
use crate::scan::scan;
use crate::scan_node::Findings;
use crate::store::Store;
use crate::{Jffs2, MountError};

/// Number of buckets of the kernel's inode table: twice the size of the medium in MiB, within bounds (`fs/jffs2/fs.c`,
/// `calculate_inocache_hashsize`). The inodes are checked in the order of the buckets.
fn inode_buckets(flash_bytes: u32) -> u32 {
    ((flash_bytes / 1024 / 1024 * 2) & !0x3F).clamp(128, 1024)
}

impl Jffs2 {
    /// Scans the medium and prepares everything for use.
    pub(crate) fn build(&mut self) -> Result<(), MountError> {
        let Store { space, flash, reader, .. } = &mut self.store;
        let mut findings = scan(space, flash, &mut reader.node)?;
        self.count_links(&mut findings);
        self.remove_deleted(&findings);
        for found in &findings.dirents {
            if found.ino != 0 && found.dirent_type == FileKind::Directory.dirent_type() {
                if let Some(child) = self.store.space.inode_caches.get_mut(&found.ino) {
                    if child.links_or_parent != 0 {
                        child.links_or_parent = found.parent;
                    }
                }
            }
        }
        findings.xattrs.build(&mut self.store.space, &self.store.flash)?;
        self.rotate_lists(findings.rotation_seed);
        let buckets = inode_buckets(self.store.flash.bytes);
        self.to_check = self.store.space.inode_caches.keys().copied().collect();
        self.to_check.sort_unstable_by_key(|ino| (ino % buckets, *ino));
        Ok(())
    }

    /// Counts the links of all inodes from the directory entries. An entry that leads to an inode without nodes is
    /// dropped.
    fn count_links(&mut self, findings: &mut Findings) {
        let buckets = inode_buckets(self.store.flash.bytes);
        findings.dirents.sort_by_key(|d| (d.parent % buckets, d.parent));
        for found in &mut findings.dirents {
            if found.ino == 0 {
                continue;
            }
            match self.store.space.inode_caches.get_mut(&found.ino) {
                Some(child) => {
                    child.links_or_parent += 1;
                    child.is_directory |= found.dirent_type == FileKind::Directory.dirent_type();
                }
                None => {
                    self.store.space.mark_obsolete(&self.store.flash, found.node);
                    found.ino = 0;
                }
            }
        }
    }

    /// Deletes inodes without links, and then those that only deleted directories had linked.
    fn remove_deleted(&mut self, findings: &Findings) {
        let buckets = inode_buckets(self.store.flash.bytes);
        let caches = &self.store.space.inode_caches;
        let mut dead: Vec<u32> = caches.iter().filter(|(_, c)| c.links_or_parent == 0).map(|(ino, _)| *ino).collect();
        dead.sort_unstable_by_key(|ino| (ino % buckets, *ino));
        let mut next = 0;
        while let Some(&ino) = dead.get(next) {
            next += 1;
            let mut node = self.store.space.inode_caches.get(&ino).map_or(NONE, |c| c.first);
            while node != NONE {
                self.store.space.mark_obsolete(&self.store.flash, node);
                node = self.store.space.refs[node].next_in_inode;
            }
            let first = findings.dirents.partition_point(|d| (d.parent % buckets, d.parent) < (ino % buckets, ino));
            for found in findings.dirents[first..].iter().take_while(|d| d.parent == ino) {
                if found.ino == 0 {
                    continue;
                }
                if let Some(child) = self.store.space.inode_caches.get_mut(&found.ino) {
                    child.links_or_parent = child.links_or_parent.saturating_sub(1);
                    if child.links_or_parent == 0 {
                        dead.push(found.ino);
                    }
                }
            }
        }
    }

    /// Rotates the lists of blocks, so that each mount begins to write to another block and wear spreads
    /// (`jffs2_rotate_lists`).
    fn rotate_lists(&mut self, rotation_seed: u32) {
        let lists = [List::Clean, List::VeryDirty, List::Dirty, List::Erasable, List::ErasePending, List::Free];
        for list in lists {
            let length = self.store.space.blocks.length(list);
            if length > 0 {
                self.store.space.blocks.rotate(list, (rotation_seed % length + 1) % length);
            }
        }
    }
}
