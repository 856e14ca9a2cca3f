//! Removing names: what a lower layer has is hidden by a whiteout (`fs/overlayfs/dir.c`, `ovl_do_remove`).

use crate::inodes::Inode;
use crate::lookup::{found, Found};
use crate::marks::{is_whiteout, Target};
use crate::{joined, Overlay};
use ffslab_fs::{Errno, FileKind, RenameFlags, Result};
use ffslab_linux::namei::{special_rmdir_error, LastLink};
use ffslab_system::Calls;

impl Overlay {
    pub(crate) fn unlink_path(&mut self, path: &[u8]) -> Result<()> {
        let found = self.walk(path, LastLink::Keep)?;
        match found.known.node().map(|node| node.borrow().kind) {
            Some(FileKind::Directory) => Err(Errno::IsDir),
            Some(_) if found.has_slash => Err(Errno::NotDir),
            Some(_) => self.remove(&found),
            None => Err(Errno::NoEnt),
        }
    }

    pub(crate) fn rmdir_path(&mut self, path: &[u8]) -> Result<()> {
        let found = self.walk(path, LastLink::Keep)?;
        if found.is_special {
            return Err(special_rmdir_error(path));
        }
        match found.known.node().map(|node| node.borrow().kind) {
            Some(FileKind::Directory) => self.remove(&found),
            Some(_) => Err(Errno::NotDir),
            None => Err(Errno::NoEnt),
        }
    }

    fn remove(&mut self, found: &Found) -> Result<()> {
        let node = self.node(&found.path)?;
        let is_directory = node.borrow().is_directory();
        let is_lower = self.is_in_lower(&found.path, &node.borrow())?;
        let mut whiteouts = Vec::new();
        if is_directory && (is_lower || !node.borrow().is_pure_upper()) {
            whiteouts = self.check_empty(&found.path)?;
        }
        self.copy_up(found.directory())?;
        if !whiteouts.is_empty() {
            self.clear(&found.path, &whiteouts)?;
        }
        let upper = self.upper_path(&found.path);
        if is_lower {
            self.put_whiteout(&upper)?;
        } else if is_directory {
            self.above(|vfs| vfs.rmdir(&upper))?;
        } else {
            self.above(|vfs| vfs.unlink(&upper))?;
        }
        node.borrow_mut().is_gone = is_directory;
        self.names.drop(&found.path);
        Ok(())
    }

    /// Whether a lower layer has it, so that a whiteout is needed (`ovl_lower_positive`).
    pub(crate) fn is_in_lower(&mut self, path: &[u8], inode: &Inode) -> Result<bool> {
        if !inode.is_upper {
            return Ok(true);
        }
        let directory = self.node(crate::lookup::above(path))?;
        let layers = directory.borrow().lowers.clone();
        for layer in layers {
            let below = &self.lowers[layer];
            if let Some(stat) = below.with(|vfs| found(vfs, &below.path(path)))? {
                return Ok(!is_whiteout(&stat));
            }
        }
        Ok(false)
    }

    /// A whiteout takes the place of what is there (`ovl_cleanup_and_whiteout`).
    fn put_whiteout(&mut self, upper: &[u8]) -> Result<()> {
        let is_directory = self.above(|vfs| found(vfs, upper))?.is_some_and(|stat| stat.kind == FileKind::Directory);
        let whiteout = self.whiteout()?;
        let placed = if is_directory {
            self.above(|vfs| vfs.rename_with(&whiteout, upper, RenameFlags::EXCHANGE))
        } else {
            self.above(|vfs| vfs.rename(&whiteout, upper))
        };
        self.or_clean_up(placed.map_err(Errno::from), &whiteout)?;
        if is_directory {
            self.clean_up(&whiteout)?;
        }
        Ok(())
    }

    /// The whiteouts in the upper one of a directory in which there is nothing else; `NotEmpty` otherwise (`ovl_check_empty_dir`).
    pub(crate) fn check_empty(&mut self, path: &[u8]) -> Result<Vec<Vec<u8>>> {
        let node = self.node(path)?;
        let merged = self.merged(&node.borrow())?;
        if merged.iter().any(|entry| !entry.is_whiteout) {
            return Err(Errno::NotEmpty);
        }
        Ok(merged.into_iter().filter(|entry| entry.is_upper).map(|entry| entry.entry.name).collect())
    }

    /// An empty opaque directory takes the place of one that holds whiteouts only, which can be removed then (`ovl_clear_empty`).
    pub(crate) fn clear(&mut self, path: &[u8], whiteouts: &[Vec<u8>]) -> Result<()> {
        let upper = self.upper_path(path);
        let stat = self.above(|vfs| vfs.lstat(&upper))?;
        let temporary = self.temporary();
        self.above(|vfs| vfs.mkdir(&temporary, stat.permissions))?;
        let layer = self.upper.clone();
        let placed = self
            .copy_xattrs(&layer, &upper, Target::Path(&temporary))
            .and_then(|()| self.set_opaque(&temporary, false).map(drop))
            .and_then(|()| self.set_attributes(&stat, Target::Path(&temporary)))
            .and_then(|()| Ok(self.above(|vfs| vfs.rename_with(&temporary, &upper, RenameFlags::EXCHANGE))?));
        self.or_clean_up(placed, &temporary)?;
        for name in whiteouts {
            self.clean_up(&joined(&[&temporary[1..], name]))?;
        }
        self.clean_up(&temporary)
    }
}
