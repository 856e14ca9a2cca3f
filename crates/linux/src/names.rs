//! Making, removing and moving names (`fs/namei.c`).

use crate::dentries::DentryId;
use crate::namei::{self, special_rmdir_error, End, LastLink};
use crate::vfs::Vfs;
use crate::walk::Found;
use ffslab_fs::{Errno, FileKind, Ino, NewNode, RenameFlags, Result};
use ffslab_system::Fd;

impl Vfs {
    pub(crate) fn make_path(&mut self, path: &[u8], node: &NewNode) -> Result<()> {
        let dentry = self.walk_new(path, node.kind == FileKind::Directory)?;
        self.make_node(dentry, node).map(|_| ())
    }

    /// Lets the file system make what the negative entry `dentry` names.
    pub(crate) fn make_node(&mut self, dentry: DentryId, node: &NewNode) -> Result<Ino> {
        let (directory_ino, name) = self.place(dentry)?;
        self.may_create(directory_ino)?;
        let (fs, memory) = self.parts()?;
        let ino = fs.create(memory, directory_ino, &name, node)?;
        self.dentries.set_inode(dentry, (ino, node.kind));
        Ok(ino)
    }

    pub(crate) fn link_path(&mut self, old: &[u8], new: &[u8]) -> Result<()> {
        let source = self.walk_existing(old, LastLink::FollowIfSlash)?;
        let target = self.walk_new(new, false)?;
        let inode = self.dentries.inode(source).ok_or(Errno::NoEnt)?;
        self.link_inode(inode, target)
    }

    pub(crate) fn link_open(&mut self, fd: Fd, new: &[u8]) -> Result<()> {
        let file = self.file(fd)?;
        let inode = (file.ino, file.kind);
        let target = self.walk_new(new, false)?;
        self.link_inode(inode, target)
    }

    pub(crate) fn link_inode(&mut self, inode: (Ino, FileKind), target: DentryId) -> Result<()> {
        if inode.1 == FileKind::Directory {
            return Err(Errno::Perm);
        }
        let (directory_ino, name) = self.place(target)?;
        self.may_create(directory_ino)?;
        self.may_link(inode.0)?;
        let linkable = self.linkable.contains(&inode.0);
        let (fs, memory) = self.parts()?;
        if !linkable && fs.getattr(inode.0)?.links == 0 {
            return Err(Errno::NoEnt);
        }
        fs.link(memory, inode.0, directory_ino, &name)?;
        self.linkable.remove(&inode.0);
        self.dentries.set_inode(target, inode);
        Ok(())
    }

    pub(crate) fn unlink_path(&mut self, path: &[u8]) -> Result<()> {
        let found = self.walk(path, LastLink::Keep)?;
        self.unlink_found(found)
    }

    pub(crate) fn unlink_found(&mut self, found: Found) -> Result<()> {
        if !found.special {
            self.want_write()?;
        }
        let (ino, kind) = match self.dentries.inode(found.dentry) {
            Some((_, FileKind::Directory)) => return Err(Errno::IsDir),
            Some(_) if found.trailing_slash => return Err(Errno::NotDir),
            Some(inode) => inode,
            None => return Err(Errno::NoEnt),
        };
        let (directory_ino, name) = self.place(found.dentry)?;
        self.may_delete(directory_ino, ino)?;
        let (fs, memory) = self.parts()?;
        fs.unlink(memory, directory_ino, &name)?;
        self.name_gone(found.dentry, ino, kind)
    }

    pub(crate) fn rmdir_path(&mut self, path: &[u8]) -> Result<()> {
        let found = self.walk(path, LastLink::Keep)?;
        if found.special {
            return Err(special_rmdir_error(path));
        }
        self.rmdir_found(found.dentry)
    }

    pub(crate) fn rmdir_found(&mut self, dentry: DentryId) -> Result<()> {
        self.want_write()?;
        let (ino, kind) = match self.dentries.inode(dentry) {
            Some((ino, FileKind::Directory)) => (ino, FileKind::Directory),
            Some(_) => return Err(Errno::NotDir),
            None => return Err(Errno::NoEnt),
        };
        let (directory_ino, name) = self.place(dentry)?;
        self.may_delete(directory_ino, ino)?;
        let (fs, memory) = self.parts()?;
        fs.check_empty(ino)?;
        fs.rmdir(memory, directory_ino, &name)?;
        self.name_gone(dentry, ino, kind)
    }

    pub(crate) fn rename_path(&mut self, old: &[u8], new: &[u8], flags: RenameFlags) -> Result<()> {
        namei::check_rename_flags(flags)?;
        let source = self.walk(old, LastLink::Keep)?;
        let target = self.walk(new, LastLink::Keep)?;
        self.rename_found(source, target, flags)
    }

    pub(crate) fn rename_found(&mut self, source: Found, target: Found, flags: RenameFlags) -> Result<()> {
        let (from, to) = (self.end(source), self.end(target));
        namei::check_rename_paths(from, to, flags)?;
        self.want_write()?;
        let (ino, _) = self.dentries.inode(source.dentry).ok_or(Errno::NoEnt)?;
        let replaced = self.dentries.inode(target.dentry);
        namei::check_rename_kinds(from, to, flags)?;
        if source.dentry != target.dentry {
            if self.dentries.is_ancestor(source.dentry, target.dentry) {
                return Err(Errno::Inval);
            }
            if self.dentries.is_ancestor(target.dentry, source.dentry) {
                return Err(if flags.exchange { Errno::Inval } else { Errno::NotEmpty });
            }
        }
        if replaced.is_some_and(|(other, _)| other == ino) {
            return Ok(());
        }
        namei::check_rename_over(from, to, flags)?;
        let (from_ino, name) = self.place(source.dentry)?;
        let (to_ino, new_name) = self.place(target.dentry)?;
        self.may_delete(from_ino, ino)?;
        match replaced {
            Some((other, _)) => self.may_delete(to_ino, other)?,
            None => self.may_create(to_ino)?,
        }
        let (fs, memory) = self.parts()?;
        match replaced {
            Some((other, FileKind::Directory)) if !flags.exchange => fs.check_empty(other)?,
            _ => {}
        }
        match flags {
            RenameFlags::NONE => fs.rename(memory, from_ino, &name, to_ino, &new_name)?,
            _ => fs.rename_with(memory, (from_ino, &name), (to_ino, &new_name), flags)?,
        }
        if flags.exchange {
            self.dentries.exchange(source.dentry, target.dentry);
            return Ok(());
        }
        let unused = self.dentries.rename(source.dentry, target.dentry);
        // The entry that had the new name goes, whether it was one of a file or not (`dentry_free` of fs/dcache.c).
        self.sim.frees_later();
        match replaced {
            Some((ino, kind)) if unused => self.evict_if_unused(ino, kind),
            _ => Ok(()),
        }
    }

    fn end(&self, found: Found) -> End {
        let kind = self.dentries.inode(found.dentry).map(|(_, kind)| kind);
        End { kind, is_special: found.special, has_slash: found.trailing_slash }
    }

    pub(crate) fn readlink_path(&mut self, path: &[u8]) -> Result<Vec<u8>> {
        let dentry = self.walk_existing(path, LastLink::FollowIfSlash)?;
        match self.dentries.inode(dentry) {
            Some((ino, FileKind::Symlink)) => self.parts()?.0.readlink(ino),
            _ => Err(Errno::Inval),
        }
    }

    /// Finds the negative entry of a name that is to be made.
    fn walk_new(&mut self, path: &[u8], is_directory: bool) -> Result<DentryId> {
        let found = self.walk(path, LastLink::Keep)?;
        self.new_name(found, is_directory)
    }

    /// Checks an entry that a walk has found: its name must not exist, and must be allowed to be made.
    pub(crate) fn new_name(&mut self, found: Found, is_directory: bool) -> Result<DentryId> {
        if self.dentries.inode(found.dentry).is_some() {
            Err(Errno::Exist)
        } else if found.trailing_slash && !is_directory {
            Err(Errno::NoEnt)
        } else {
            self.want_write()?;
            Ok(found.dentry)
        }
    }

    /// Directory inode and name of an entry.
    pub(crate) fn place(&self, dentry: DentryId) -> Result<(Ino, std::rc::Rc<[u8]>)> {
        let (directory_ino, _) = self.dentries.inode(self.dentries.parent(dentry)).ok_or(Errno::NoEnt)?;
        Ok((directory_ino, self.dentries.name(dentry)))
    }

    fn name_gone(&mut self, dentry: DentryId, ino: Ino, kind: FileKind) -> Result<()> {
        if self.dentries.delete(dentry) {
            self.evict_if_unused(ino, kind)
        } else {
            Ok(())
        }
    }
}
