//! Flags of inodes as programs see them, and what "synchronous" means for names and attributes.
//!
//! Follows `fs/ubifs/ioctl.c`; for synchronous inodes `fs/ubifs/journal.c` (`ubifs_jnl_update`) and `dir.c`.

use crate::budget::Request;
use crate::format::*;
use crate::inode::Inode;
use crate::Ubifs;
use ffslab_fs::{inode_flags as ioctl, Errno, FileKind, Host, Ino, InodeDirt, Result};

/// The flags that programs may set: the bit on flash, and the bit of ioctl(2).
const SETTABLE: [(u32, u32); 5] = [
    (INODE_COMPR, ioctl::COMPRESS),
    (INODE_SYNC, ioctl::SYNC),
    (INODE_APPEND, ioctl::APPEND),
    (INODE_IMMUTABLE, ioctl::IMMUTABLE),
    (INODE_DIRSYNC, ioctl::DIRECTORY_SYNC),
];

/// Translates the flags on flash to the bits of ioctl(2).
pub(crate) fn to_ioctl(flags: u32) -> u32 {
    let all = SETTABLE.into_iter().chain([(INODE_CRYPT, ioctl::ENCRYPT)]);
    all.filter(|&(flash, _)| flags & flash != 0).fold(0, |bits, (_, bit)| bits | bit)
}

/// Translates bits of ioctl(2) to the flags on flash; bits that programs may not set are left out.
fn from_ioctl(bits: u32) -> u32 {
    SETTABLE.into_iter().filter(|&(_, bit)| bits & bit != 0).fold(0, |flags, (flash, _)| flags | flash)
}

impl Inode {
    /// Whether every change of this inode is written at once (`IS_SYNC`), because of its own flags or of those of the mount.
    pub fn is_sync(&self, mount_flags: u32) -> bool {
        (self.flags | mount_flags) & INODE_SYNC != 0
    }

    /// Whether changes of the names in this directory are written at once (`IS_DIRSYNC`).
    pub fn is_directory_sync(&self, mount_flags: u32) -> bool {
        (self.flags | mount_flags) & (INODE_SYNC | INODE_DIRSYNC) != 0
    }
}

impl Ubifs {
    /// The mount options `sync` and `dirsync`: what inodes can also say for themselves.
    pub(crate) fn set_mount_flags(&mut self, all: bool, directories: bool) {
        self.mount_flags = if all { INODE_SYNC } else { 0 } | if directories { INODE_DIRSYNC } else { 0 };
    }

    /// Sets the settable flags to exactly those in `bits` (`setflags`).
    pub(crate) fn change_flags(&mut self, host: &mut dyn Host, ino: Ino, bits: u32) -> Result<()> {
        let settable = from_ioctl(u32::MAX);
        if bits & !to_ioctl(settable | INODE_CRYPT) != 0 {
            return Err(Errno::NotSup);
        }
        let inode = self.inode(ino)?;
        let mut flags = from_ioctl(bits);
        if inode.kind != FileKind::Directory {
            flags &= !INODE_DIRSYNC;
        }
        let dirtied_ino_bytes = align8(inode.data.len() as u32);
        let growth = self.budget(host, &Request { dirtied_inos: 1, dirtied_ino_bytes, ..Request::default() })?;
        let now = self.now(host);
        let inode = self.inode(ino)?;
        inode.flags = inode.flags & !settable | flags;
        inode.changed = now;
        if self.mark_dirty(host, ino, InodeDirt::Attributes)? {
            self.core.space.release_budget(&self.core.lebs, growth);
        }
        self.write_if_sync(ino)
    }

    /// A synchronous inode is written at once when its attributes change (`write_inode_now`).
    pub(crate) fn write_if_sync(&mut self, ino: Ino) -> Result<()> {
        let mount_flags = self.mount_flags;
        if !self.inode(ino)?.is_sync(mount_flags) {
            return Ok(());
        }
        self.write_back_inode(ino)?;
        self.sync_names(true)
    }

    /// Writes the buffer of the base head, which holds the nodes of a changed name, if `is_sync`.
    pub(crate) fn sync_names(&mut self, is_sync: bool) -> Result<()> {
        if is_sync {
            self.core.journal.sync_head(&mut self.core.lebs, &mut self.core.space, BASE_HEAD).map_err(Errno::from)
        } else {
            Ok(())
        }
    }
}
