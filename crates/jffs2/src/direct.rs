//! File calls without a page cache, and inodes in memory by their users: how RTEMS (and eCos) drive JFFS2.
//!
//! Follows `cpukit/libfs/src/jffs2/src/fs-rtems.c` of RTEMS cf811a4eb2 (`jffs2_iget`, `jffs2_iput`, `icache_evict`,
//! `rtems_jffs2_file_read`, `rtems_jffs2_file_write`): an inode without users stays in memory until the next one loses its
//! last user.

use ffslab_fs::{Errno, Host, Ino, NoPageCache, Result, PAGE_BYTES};
use rustc_hash::FxHashMap;

use crate::inode::seconds;
use crate::Jffs2;

#[derive(Clone, Copy, Default)]
struct User {
    count: u32,
    /// The directory through which this directory was found. As long as it is noted here the parent counts one more
    /// user.
    parent: Option<Ino>,
}

/// How many users each inode in memory has, and the order in which the inodes came into memory.
#[derive(Default)]
pub struct Users {
    of: FxHashMap<Ino, User>,
    order: Vec<Ino>,
}

impl Users {
    fn entry(&mut self, ino: Ino) -> &mut User {
        let order = &mut self.order;
        self.of.entry(ino).or_insert_with(|| {
            order.push(ino);
            User::default()
        })
    }

    fn remove(&mut self, ino: Ino) -> Option<Ino> {
        self.order.retain(|&other| other != ino);
        self.of.remove(&ino).and_then(|user| user.parent)
    }
}

impl Jffs2 {
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
            if self.store.inode_caches.get(&ino).is_some_and(|cache| cache.links_or_parent != 0) {
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
            let deleted = self.store.inode_caches.get(&ino).is_none_or(|cache| cache.links_or_parent == 0);
            match deleted {
                true => self.delete_inode(ino),
                false => self.drop_inode(ino),
            }
        }
    }

    /// Reads a file from byte `at` on. Returns fewer bytes than asked for at the end of the file.
    pub fn read_at(&mut self, ino: Ino, at: u64, into: &mut [u8]) -> Result<usize> {
        self.load(ino)?;
        let inode = self.inodes.get(&ino).ok_or(Errno::NoEnt)?;
        let left = u64::from(inode.file_bytes).saturating_sub(at);
        let bytes = left.min(into.len() as u64) as usize;
        if bytes > 0 {
            self.store.read_range(inode, at as u32, &mut into[..bytes])?;
        }
        Ok(bytes)
    }

    /// Writes to a file from byte `at` on, page by page. Each page becomes one node unless the erase block ends before
    /// it. A gap between the end of the file and `at` becomes a hole.
    pub fn write_at(&mut self, host: &mut NoPageCache, ino: Ino, at: u64, data: &[u8]) -> Result<usize> {
        let end = at + data.len() as u64;
        if u32::try_from(end).is_err() {
            return Err(Errno::FBig);
        }
        let now_s = seconds(host.now());
        if at > u64::from(self.loaded(ino)?.file_bytes) {
            self.write_hole(host, ino, at as u32, now_s)?;
        }
        let mut page = [0; PAGE_BYTES];
        let mut done = 0;
        while done < data.len() {
            let position = at + done as u64;
            let (index, from) = (position / PAGE_BYTES as u64, (position % PAGE_BYTES as u64) as usize);
            let to = PAGE_BYTES.min(from + data.len() - done);
            page[from..to].copy_from_slice(&data[done..done + to - from]);
            host.set_page(ino, index, &page);
            let written = self.write_page_range(host, ino, index, from, to, now_s)?;
            done += written;
            let inode = self.inodes.get_mut(&ino).ok_or(Errno::NoEnt)?;
            inode.file_bytes = inode.file_bytes.max((at + done as u64) as u32);
            inode.modified_s = now_s;
            inode.changed_s = now_s;
            if written < to - from {
                return Err(Errno::NoSpc);
            }
        }
        Ok(done)
    }
}
