//! From a path to a directory entry (`fs/namei.c`). A name reaches the file system only when the entry cache does not
//! know it; a name that does not exist leaves a negative entry.

use crate::dentries::{DentryId, ROOT};
use crate::namei::{self, Child, LastLink, Names};
use crate::vfs::Vfs;
use ffslab_fs::{Errno, FileKind, Result};

#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The entry of the path's last name; it is negative when the name does not exist.
    pub dentry: DentryId,
    /// The path ended in "/", "." or "..", so it names an existing directory, but no name that could be made or
    /// removed.
    pub special: bool,
    pub trailing_slash: bool,
}

impl Names for Vfs {
    type Name = DentryId;

    fn root(&self) -> DentryId {
        ROOT
    }

    fn above(&self, directory: &DentryId) -> DentryId {
        self.dentries.parent(*directory)
    }

    fn child(&mut self, directory: &DentryId, name: &[u8]) -> Result<Child<DentryId>> {
        let is_new = self.dentries.child(*directory, name).is_none();
        let name = self.look_up(*directory, name)?;
        let kind = self.dentries.inode(name).map(|(_, kind)| kind);
        Ok(Child { name, kind, is_new })
    }

    fn read_link(&mut self, link: &DentryId) -> Result<Vec<u8>> {
        let (ino, _) = self.dentries.inode(*link).ok_or(Errno::NoEnt)?;
        self.parts()?.0.readlink(ino)
    }
}

impl Vfs {
    pub(crate) fn walk(&mut self, path: &[u8], last_link: LastLink) -> Result<Found> {
        if self.fs.is_none() {
            return Err(Errno::NoDev);
        }
        let namei::Found { child, is_special: special, has_slash: trailing_slash } =
            namei::walk(self, path, last_link)?;
        if !special {
            // A walk without references (`LOOKUP_RCU`) takes none to an entry that says that there is no such name.
            self.walked.push((child.name, child.is_new || child.kind.is_some()));
        }
        Ok(Found { dentry: child.name, special, trailing_slash })
    }

    /// Walks a path for calls that need its target: [`Errno::NoEnt`] if it does not exist, [`Errno::NotDir`] if a slash
    /// follows the name of something other than a directory.
    pub(crate) fn walk_existing(&mut self, path: &[u8], last_link: LastLink) -> Result<DentryId> {
        let found = self.walk(path, last_link)?;
        match self.dentries.inode(found.dentry) {
            None => Err(Errno::NoEnt),
            Some((_, kind)) if found.trailing_slash && kind != FileKind::Directory => Err(Errno::NotDir),
            Some(_) => Ok(found.dentry),
        }
    }

    pub(crate) fn look_up(&mut self, directory: DentryId, name: &[u8]) -> Result<DentryId> {
        if let Some(child) = self.dentries.child(directory, name) {
            return Ok(child);
        }
        let (directory_ino, _) = self.dentries.inode(directory).ok_or(Errno::NoEnt)?;
        let (fs, _) = self.parts()?;
        if name.len() > fs.name_bytes_max() {
            return Err(Errno::NameTooLong);
        }
        let inode = match fs.lookup(directory_ino, name) {
            Ok(ino) => Some((ino, fs.getattr(ino)?.kind)),
            Err(Errno::NoEnt) => None,
            Err(error) => return Err(error),
        };
        Ok(self.dentries.add(directory, name, inode))
    }
}
