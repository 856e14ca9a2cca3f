//! Inodes come into memory and leave it again, and who uses them if the caller counts that himself.
//!
//! Follows `fs/jffs2/fs.c` (`jffs2_iget`), `readinode.c` (`jffs2_do_clear_inode`) and, of RTEMS cf811a4eb2,
//! `cpukit/libfs/src/jffs2/src/fs-rtems.c` (`jffs2_iget`, `jffs2_iput`, `icache_evict`): an inode without users stays in
//! memory until the next one loses its last user.

use ffslab_fs::{Errno, Ino, Result};

use crate::fragments;
use crate::inode::Inode;
use crate::readinode::{forget_inode, load_inode};
use crate::refs::NONE;
use crate::space::InodeState;
use crate::Jffs2;

impl Jffs2 {
    /// Makes sure that an inode is in memory.
    pub(crate) fn load(&mut self, ino: u32) -> Result<()> {
        if self.inodes.contains_key(&ino) {
            return Ok(());
        }
        if ino == 1 {
            // The root directory needs no node of its own.
            self.store.space.inode_cache_mut(1);
        }
        if !self.store.space.inode_caches.contains_key(&ino) {
            return Err(Errno::NoEnt);
        }
        let is_met = self.thread_may_meet_reading(ino);
        let inode = load_inode(&mut self.store.space, &self.store.flash, &mut self.store.reader, ino, false);
        if is_met {
            self.reading_has_ended();
        }
        let inode = inode?;
        if let Some(cache) = self.store.space.inode_caches.get_mut(&ino) {
            cache.state = InodeState::Present;
        }
        self.inodes.insert(ino, inode);
        Ok(())
    }

    pub(crate) fn loaded(&mut self, ino: u32) -> Result<&Inode> {
        self.load(ino)?;
        self.inodes.get(&ino).map(|inode| &**inode).ok_or(Errno::NoEnt)
    }

    /// Counts a further user of an inode, which is loaded into memory if need be. Without
    /// [`crate::Options::direct`] it only loads the inode.
    pub fn take_inode(&mut self, ino: Ino) -> Result<()> {
        self.load(ino)?;
        if let Some(users) = &mut self.users {
            users.entry(ino).count += 1;
        }
        Ok(())
    }

    /// Notes that the directory `ino` was found in `parent`, unless a parent is noted already.
    pub fn set_parent(&mut self, ino: Ino, parent: Ino) {
        let Some(users) = &mut self.users else { return };
        if ino != parent && users.entry(ino).parent.is_none() {
            users.entry(ino).parent = Some(parent);
            users.entry(parent).count += 1;
        }
    }

    /// The directory in which a directory was found; for the root, the root itself.
    pub fn parent_of(&self, ino: Ino) -> Ino {
        self.users.as_ref().and_then(|users| users.of.get(&ino)?.parent).unwrap_or(1)
    }

    /// Counts a user of an inode less. When the last user of a deleted inode leaves, its nodes become obsolete. When
    /// the last user of any other inode leaves, all other inodes without users leave memory.
    pub fn release_inode(&mut self, mut ino: Ino) {
        loop {
            let Some(users) = &mut self.users else { return };
            let user = users.entry(ino);
            user.count = user.count.saturating_sub(1);
            if user.count > 0 {
                return;
            }
            if self.store.space.inode_caches.get(&ino).is_some_and(|cache| cache.links_or_parent != 0) {
                return self.evict_unused(ino);
            }
            let parent = users.remove(ino);
            self.delete_inode(ino);
            match parent {
                Some(parent) => ino = parent,
                None => return,
            }
        }
    }

    fn evict_unused(&mut self, kept: Ino) {
        loop {
            let Some(users) = &mut self.users else { return };
            let unused = |ino: &Ino| *ino != kept && users.of.get(ino).is_none_or(|user| user.count == 0);
            let Some(ino) = users.order.iter().copied().find(unused) else { return };
            if let Some(parent) = users.remove(ino) {
                let user = users.entry(parent);
                user.count = user.count.saturating_sub(1);
            }
            let deleted = self.store.space.inode_caches.get(&ino).is_none_or(|cache| cache.links_or_parent == 0);
            if deleted {
                self.delete_inode(ino)
            } else {
                self.drop_inode(ino)
            }
        }
    }

    /// Deletes an inode that has no users and no names: all its nodes become obsolete (`jffs2_do_clear_inode`).
    pub(crate) fn delete_inode(&mut self, ino: u32) {
        let Some(mut inode) = self.inodes.remove(&ino) else { return };
        self.store.space.xattrs.delete_inode(ino);
        inode.drop_metadata(&mut self.store.space, &self.store.flash);
        for fragment in inode.fragments.drain() {
            fragments::release(&mut self.store.space, &self.store.flash, fragment.node);
        }
        forget_inode(&mut self.store.space, &mut inode);
        self.mark_absent(ino);
    }

    /// Removes an inode that still has names from memory.
    pub(crate) fn drop_inode(&mut self, ino: u32) {
        let Some(mut inode) = self.inodes.remove(&ino) else { return };
        forget_inode(&mut self.store.space, &mut inode);
        self.mark_absent(ino);
    }

    fn mark_absent(&mut self, ino: u32) {
        if let Some(cache) = self.store.space.inode_caches.get_mut(&ino) {
            cache.state = InodeState::CheckedAbsent;
            if cache.first == NONE {
                self.store.space.inode_caches.remove(&ino);
            }
        }
    }
}
