//! From a path to a directory entry (`fs/namei.c`). A name reaches the file system only when the entry cache does not
//! know it; a name that does not exist leaves a negative entry.

use crate::dentries::{DentryId, ROOT};
use crate::vfs::Vfs;
use ffslab_fs::{Errno, FileKind, Result};
use std::borrow::Cow;

/// Longest path with its final NUL (`PATH_MAX`).
const PATH_BYTES_MAX: usize = 4096;
/// Symbolic links followed in one walk (`MAXSYMLINKS`).
const LINKS_MAX: u32 = 40;

/// What happens to a symbolic link at the end of the path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Follow,
    /// A symbolic link at the end is followed only if a slash follows it.
    FollowIfSlash,
    Keep,
}

#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The entry of the path's last name; it is negative when the name does not exist.
    pub dentry: DentryId,
    /// The path ended in "/", "." or "..", so it names an existing directory, but no name that could be made or
    /// removed.
    pub special: bool,
    pub trailing_slash: bool,
}

impl Vfs {
    pub(crate) fn walk(&mut self, path: &[u8], last_link: LastLink) -> Result<Found> {
        if self.fs.is_none() {
            return Err(Errno::NoDev);
        }
        if path.is_empty() {
            return Err(Errno::NoEnt);
        }
        if path.len() >= PATH_BYTES_MAX {
            return Err(Errno::NameTooLong);
        }
        if path.contains(&0) {
            return Err(Errno::Inval);
        }
        let mut text = Cow::Borrowed(path);
        let mut position = 0;
        let mut at = ROOT;
        let mut links = 0;
        loop {
            while text.get(position) == Some(&b'/') {
                position += 1;
            }
            let end = text[position..].iter().position(|&b| b == b'/').map_or(text.len(), |length| position + length);
            let name = &text[position..end];
            match name {
                b"" => return Ok(Found { dentry: at, special: true, trailing_slash: true }),
                b"." | b".." => {
                    if name.len() == 2 {
                        at = self.dentries.parent(at);
                    }
                    position = end;
                    continue;
                }
                _ => {}
            }
            let known = self.dentries.child(at, name);
            let child = self.look_up(at, name)?;
            let is_last = text[end..].iter().all(|&b| b == b'/');
            let trailing_slash = is_last && end < text.len();
            let found = Found { dentry: child, special: false, trailing_slash };
            match self.dentries.inode(child) {
                Some((ino, FileKind::Symlink)) if !is_last || last_link.follows(trailing_slash) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(Errno::Loop);
                    }
                    let mut target = self.parts()?.0.readlink(ino)?;
                    if target.is_empty() {
                        return Err(Errno::NoEnt);
                    }
                    if target[0] == b'/' {
                        at = ROOT;
                    }
                    target.extend_from_slice(&text[end..]);
                    text = Cow::Owned(target);
                    position = 0;
                }
                inode if is_last => {
                    // A walk without references (`LOOKUP_RCU`) takes none to an entry that says that there is no such name.
                    self.walked.push((child, known.is_none() || inode.is_some()));
                    return Ok(found);
                }
                Some((_, FileKind::Directory)) => {
                    at = child;
                    position = end;
                }
                Some(_) => return Err(Errno::NotDir),
                None => return Err(Errno::NoEnt),
            }
        }
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

impl LastLink {
    fn follows(self, trailing_slash: bool) -> bool {
        match self {
            LastLink::Follow => true,
            LastLink::FollowIfSlash => trailing_slash,
            LastLink::Keep => false,
        }
    }
}
