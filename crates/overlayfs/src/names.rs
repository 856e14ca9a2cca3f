//! Making names (`fs/overlayfs/dir.c`, `ovl_create_or_link`).

use crate::inodes::{Known, Node};
use crate::lookup::Found;
use crate::Overlay;
use ffslab_fs::{Errno, FileKind, NewNode, RenameFlags, Result};
use ffslab_linux::namei::LastLink;
use ffslab_system::{Calls, OpenFlags};

impl Overlay {
    /// mkdir, mknod, symlink.
    pub(crate) fn make_path(&mut self, path: &[u8], node: &NewNode<'_>) -> Result<()> {
        let found = self.walk(path, LastLink::Keep)?;
        self.check_new(&found, node.kind == FileKind::Directory)?;
        if node.kind == FileKind::CharDevice && node.device == 0 {
            // It would be a whiteout.
            return Err(Errno::Perm);
        }
        self.make(&found, node).map(drop)
    }

    pub(crate) fn check_new(&self, found: &Found, is_directory: bool) -> Result<()> {
        if found.known.node().is_some() {
            Err(Errno::Exist)
        } else if found.has_slash && !is_directory {
            Err(Errno::NoEnt)
        } else {
            Ok(())
        }
    }

    pub(crate) fn make(&mut self, found: &Found, node: &NewNode<'_>) -> Result<Node> {
        let directory = self.node(found.directory())?;
        if directory.borrow().is_gone {
            return Err(Errno::NoEnt);
        }
        self.copy_up(found.directory())?;
        let path = self.upper_path(&found.path);
        let is_directory = node.kind == FileKind::Directory;
        if !found.known.is_whiteout() {
            self.make_real(&path, node)?;
            let is_opaque = is_directory && directory.borrow().is_merged() && self.set_opaque(&path, true)?;
            return Ok(self.made(&found.path, node.kind, is_opaque));
        }
        // In the place of a whiteout (`ovl_create_over_whiteout`).
        let temporary = self.temporary();
        self.make_real(&temporary, node)?;
        let placed = if is_directory {
            self.set_opaque(&temporary, false).and_then(|_| {
                self.above(|vfs| vfs.rename_with(&temporary, &path, RenameFlags::EXCHANGE))?;
                self.clean_up(&temporary)
            })
        } else {
            self.above(|vfs| vfs.rename(&temporary, &path)).map_err(Errno::from)
        };
        self.or_clean_up(placed, &temporary)?;
        Ok(self.made(&found.path, node.kind, is_directory))
    }

    fn make_real(&self, path: &[u8], node: &NewNode<'_>) -> Result<()> {
        self.above(|vfs| {
            match node.kind {
                FileKind::Directory => vfs.mkdir(path, node.permissions)?,
                FileKind::Symlink => vfs.symlink(node.target, path)?,
                FileKind::File => {
                    let flags = OpenFlags { write: true, create: true, exclusive: true, ..OpenFlags::READ };
                    let fd = vfs.open(path, flags, node.permissions)?;
                    vfs.close(fd)?;
                }
                kind => vfs.mknod(path, kind, node.permissions, node.device)?,
            }
            Ok(())
        })
    }

    /// What is not placed leaves the work directory.
    pub(crate) fn or_clean_up(&self, placed: Result<()>, temporary: &[u8]) -> Result<()> {
        match placed {
            Ok(()) | Err(Errno::PowerCut) => placed,
            Err(error) => self.clean_up(temporary).and(Err(error)),
        }
    }

    pub(crate) fn link_paths(&mut self, old: &[u8], new: &[u8]) -> Result<()> {
        let (old, node) = self.existing(old, LastLink::FollowIfSlash)?;
        let found = self.walk(new, LastLink::Keep)?;
        self.check_new(&found, false)?;
        if node.borrow().is_directory() {
            return Err(Errno::Perm);
        }
        self.copy_up(&old)?;
        self.copy_up(found.directory())?;
        if node.borrow().has_origin() {
            let directory = self.node(found.directory())?;
            self.set_impure(&directory)?;
        }
        let (from, to) = (self.upper_path(&old), self.upper_path(&found.path));
        if found.known.is_whiteout() {
            let temporary = self.temporary();
            self.above(|vfs| vfs.link(&from, &temporary))?;
            let placed = self.above(|vfs| vfs.rename(&temporary, &to)).map_err(Errno::from);
            self.or_clean_up(placed, &temporary)?;
        } else {
            self.above(|vfs| vfs.link(&from, &to))?;
        }
        self.names.set(&found.path, Known::Is(node));
        Ok(())
    }
}
