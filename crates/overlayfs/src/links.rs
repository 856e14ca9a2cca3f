//! Moving names (`fs/overlayfs/dir.c`, `ovl_rename`).

use crate::inodes::Node;
use crate::lookup::Found;
use crate::Overlay;
use ffslab_fs::{Errno, RenameFlags, Result};
use ffslab_linux::namei::{self, LastLink};
use ffslab_system::Calls;

impl Overlay {
    pub(crate) fn rename_paths(&mut self, old: &[u8], new: &[u8], flags: RenameFlags) -> Result<()> {
        namei::check_rename_flags(flags)?;
        let source = self.walk(old, LastLink::Keep)?;
        let target = self.walk(new, LastLink::Keep)?;
        let Some(node) = self.check_rename(&source, &target, flags)? else { return Ok(()) };
        if flags.whiteout {
            return Err(Errno::Inval);
        }
        self.rename(&source, &target, &node, flags.exchange)
    }

    /// What every file system's names are asked (`do_renameat2` and `vfs_rename` of `fs/namei.c`). `None`: there is nothing to do.
    fn check_rename(&mut self, source: &Found, target: &Found, flags: RenameFlags) -> Result<Option<Node>> {
        let (from, to) = (source.end(), target.end());
        namei::check_rename_paths(from, to, flags)?;
        namei::check_rename_kinds(from, to, flags)?;
        let node = source.known.node().cloned().ok_or(Errno::NoEnt)?;
        if is_below(&target.path, &source.path) {
            return Err(Errno::Inval);
        }
        if is_below(&source.path, &target.path) {
            return Err(if flags.exchange { Errno::Inval } else { Errno::NotEmpty });
        }
        if source.path == target.path || self.is_one_inode(source, target)? {
            return Ok(None);
        }
        namei::check_rename_over(from, to, flags)?;
        Ok(Some(node))
    }

    /// Whether both are names of one file of the upper layer.
    fn is_one_inode(&mut self, source: &Found, target: &Found) -> Result<bool> {
        let is_file = |found: &Found| {
            found.known.node().is_some_and(|node| node.borrow().is_upper && !node.borrow().is_directory())
        };
        if !is_file(source) || !is_file(target) {
            return Ok(false);
        }
        let ino = |path: &[u8]| self.above(|vfs| vfs.lstat(&self.upper_path(path))).map(|stat| stat.ino);
        Ok(ino(&source.path)? == ino(&target.path)?)
    }

    fn rename(&mut self, source: &Found, target: &Found, node: &Node, exchange: bool) -> Result<()> {
        let is_directory = node.borrow().is_directory();
        let replaced = target.known.node().cloned();
        // Without redirects no directory moves that a lower layer has.
        let stays = |node: &Node| node.borrow().is_merged_or_lower();
        if stays(node) || exchange && replaced.as_ref().is_some_and(stays) {
            return Err(Errno::XDev);
        }
        let mut whiteouts = Vec::new();
        if let Some(other) = replaced.as_ref().filter(|other| !exchange && other.borrow().is_directory()) {
            if !other.borrow().is_pure_upper() {
                whiteouts = self.check_empty(&target.path)?;
            }
        }
        let mut flags = RenameFlags { exchange, ..RenameFlags::NONE };
        let mut leaves_whiteout = false;
        if !exchange {
            let over_whiteout = target.known.is_whiteout();
            if self.is_in_lower(&source.path, &node.borrow())? {
                // What the lower layer has must not show at the old name.
                flags = if over_whiteout { RenameFlags::EXCHANGE } else { RenameFlags::WHITEOUT };
            } else if is_directory && over_whiteout {
                flags = RenameFlags::EXCHANGE;
                leaves_whiteout = true;
            }
        }
        self.copy_up(&source.path)?;
        self.copy_up(target.directory())?;
        if exchange {
            self.copy_up(&target.path)?;
        }
        if !whiteouts.is_empty() {
            self.clear(&target.path, &whiteouts)?;
        }
        let (from, to) = (self.node(source.directory())?, self.node(target.directory())?);
        if source.directory() != target.directory() {
            if node.borrow().has_origin() {
                self.set_impure(&to)?;
            }
            if exchange && replaced.as_ref().is_some_and(|other| other.borrow().has_origin()) {
                self.set_impure(&from)?;
            }
        }
        let (old, new) = (self.upper_path(&source.path), self.upper_path(&target.path));
        self.hide_lower(node, &to, &old)?;
        if let Some(other) = replaced.as_ref().filter(|_| exchange) {
            self.hide_lower(other, &from, &new)?;
        }
        self.above(|vfs| match flags {
            RenameFlags::NONE => vfs.rename(&old, &new),
            flags => vfs.rename_with(&old, &new, flags),
        })?;
        if leaves_whiteout {
            self.clean_up(&old)?;
        }
        if exchange {
            self.names.exchange(&source.path, &target.path);
        } else {
            if let Some(other) = &replaced {
                other.borrow_mut().is_gone |= is_directory;
            }
            self.names.rename(&source.path, &target.path);
        }
        Ok(())
    }

    /// A directory of the upper layer alone is marked as opaque before it gets a name where a lower layer could have one.
    fn hide_lower(&mut self, node: &Node, directory: &Node, upper: &[u8]) -> Result<()> {
        let is_shown_through = node.borrow().is_directory() && !node.borrow().is_opaque;
        if is_shown_through && directory.borrow().is_merged() {
            node.borrow_mut().is_opaque = self.set_opaque(upper, false)?;
        }
        Ok(())
    }
}

/// Whether a path is that of a name below a directory.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with(b"/"))
}
