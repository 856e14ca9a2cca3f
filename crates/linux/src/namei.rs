//! What the kernel asks of paths and names before any file system hears of them (`fs/namei.c`, `fs/open.c`), whatever holds the names: a
//! mount with its entry cache, or an overlay of several.

use ffslab_fs::{Errno, FileKind, NewNode, RenameFlags, Result, TimeSpec};
use ffslab_system::OpenFlags;
use std::borrow::Cow;

/// Longest path with its final NUL (`PATH_MAX`).
const PATH_BYTES_MAX: usize = 4096;
/// Symbolic links followed in one walk (`MAXSYMLINKS`).
const LINKS_MAX: u32 = 40;

/// What happens to a symbolic link at the end of the path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LastLink {
    Follow,
    /// A symbolic link at the end is followed only if a slash follows it.
    FollowIfSlash,
    Keep,
}

impl LastLink {
    /// That of open(2).
    pub fn of_open(flags: OpenFlags) -> LastLink {
        match (flags.create && flags.exclusive, flags.no_follow) {
            (true, _) => LastLink::Keep,
            (false, true) => LastLink::FollowIfSlash,
            (false, false) => LastLink::Follow,
        }
    }

    fn follows(self, has_slash: bool) -> bool {
        match self {
            LastLink::Follow => true,
            LastLink::FollowIfSlash => has_slash,
            LastLink::Keep => false,
        }
    }
}

/// Names through which a walk goes.
pub trait Names {
    /// A name that was looked up, whether or not there is an inode behind it.
    type Name: Clone;

    fn root(&self) -> Self::Name;

    /// The directory that has this one; the root is its own.
    fn above(&self, directory: &Self::Name) -> Self::Name;

    fn child(&mut self, directory: &Self::Name, name: &[u8]) -> Result<Child<Self::Name>>;

    /// The target of a symbolic link.
    fn read_link(&mut self, link: &Self::Name) -> Result<Vec<u8>>;
}

/// What a directory answers of a name.
pub struct Child<N> {
    pub name: N,
    /// `None`: it does not exist.
    pub kind: Option<FileKind>,
    /// Nobody had looked it up before.
    pub is_new: bool,
}

/// The last name of a path.
pub struct Found<N> {
    pub child: Child<N>,
    /// The path ended in "/", "." or "..", so it names an existing directory, but no name that could be made or removed.
    pub is_special: bool,
    pub has_slash: bool,
}

/// From a path to its last name. Errors: those of the manual page path_resolution(7).
pub fn walk<T: Names>(names: &mut T, path: &[u8], last_link: LastLink) -> Result<Found<T::Name>> {
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
    let mut at = names.root();
    let mut links = 0;
    loop {
        while text.get(position) == Some(&b'/') {
            position += 1;
        }
        let end = text[position..].iter().position(|&b| b == b'/').map_or(text.len(), |length| position + length);
        let name = &text[position..end];
        match name {
            b"" => {
                let child = Child { name: at, kind: Some(FileKind::Directory), is_new: false };
                return Ok(Found { child, is_special: true, has_slash: true });
            }
            b"." | b".." => {
                if name.len() == 2 {
                    at = names.above(&at);
                }
                position = end;
                continue;
            }
            _ => {}
        }
        let child = names.child(&at, name)?;
        let is_last = text[end..].iter().all(|&b| b == b'/');
        let has_slash = is_last && end < text.len();
        match child.kind {
            Some(FileKind::Symlink) if !is_last || last_link.follows(has_slash) => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(Errno::Loop);
                }
                let mut target = names.read_link(&child.name)?;
                if target.is_empty() {
                    return Err(Errno::NoEnt);
                }
                if target[0] == b'/' {
                    at = names.root();
                }
                target.extend_from_slice(&text[end..]);
                text = Cow::Owned(target);
                position = 0;
            }
            _ if is_last => return Ok(Found { child, is_special: false, has_slash }),
            Some(FileKind::Directory) => {
                at = child.name;
                position = end;
            }
            Some(_) => return Err(Errno::NotDir),
            None => return Err(Errno::NoEnt),
        }
    }
}

/// Whether open(2) opens what is there (`do_open`).
pub fn check_open(kind: FileKind, flags: OpenFlags, has_slash: bool) -> Result<()> {
    match kind {
        FileKind::Directory if flags.write || flags.create || flags.truncate => Err(Errno::IsDir),
        FileKind::Directory => Ok(()),
        FileKind::Symlink => Err(Errno::Loop),
        _ if flags.directory || has_slash => Err(Errno::NotDir),
        FileKind::File => Ok(()),
        FileKind::Fifo => Err(Errno::NotSup),
        FileKind::CharDevice | FileKind::BlockDevice | FileKind::Socket => Err(Errno::NxIo),
    }
}

/// What symlink(2) makes.
pub fn symlink_to(target: &[u8]) -> Result<NewNode<'_>> {
    match target.len() {
        0 => Err(Errno::NoEnt),
        PATH_BYTES_MAX.. => Err(Errno::NameTooLong),
        _ => Ok(NewNode { kind: FileKind::Symlink, permissions: 0o777, uid: 0, gid: 0, device: 0, target }),
    }
}

/// What mknod(2) makes.
pub fn node_of(kind: FileKind, permissions: u32, device: u32) -> Result<NewNode<'static>> {
    match kind {
        FileKind::Directory => Err(Errno::Perm),
        FileKind::Symlink => Err(Errno::Inval),
        _ => Ok(NewNode { permissions: permissions & 0o7777, device, ..NewNode::of(kind) }),
    }
}

/// The times of utimensat(2).
pub fn check_times(accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> Result<()> {
    let is_malformed = |time: TimeSpec| time.nanoseconds >= 1_000_000_000;
    if accessed.is_some_and(is_malformed) || modified.is_some_and(is_malformed) {
        Err(Errno::Inval)
    } else {
        Ok(())
    }
}

/// rmdir(2) of a path that ends in no name.
pub fn special_rmdir_error(path: &[u8]) -> Errno {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    match path[..end].rsplit(|&byte| byte == b'/').next() {
        Some(b".") => Errno::Inval,
        Some(b"..") => Errno::NotEmpty,
        _ => Errno::Busy,
    }
}

/// What renameat2(2) asks of its flags.
pub fn check_rename_flags(flags: RenameFlags) -> Result<()> {
    if flags.exchange && (flags.no_replace || flags.whiteout) {
        Err(Errno::Inval)
    } else {
        Ok(())
    }
}

/// One of the two paths of a rename, and what it names.
#[derive(Clone, Copy)]
pub struct End {
    pub kind: Option<FileKind>,
    pub is_special: bool,
    pub has_slash: bool,
}

/// What a rename asks of both paths before it looks at what they name (`do_renameat2`).
pub fn check_rename_paths(source: End, target: End, flags: RenameFlags) -> Result<()> {
    match (source.is_special, target.is_special) {
        (false, true) if flags.no_replace => Err(Errno::Exist),
        (true, _) | (_, true) => Err(Errno::Busy),
        (false, false) => Ok(()),
    }
}

/// What it asks of what they name (`do_renameat2`).
pub fn check_rename_kinds(source: End, target: End, flags: RenameFlags) -> Result<()> {
    let kind = source.kind.ok_or(Errno::NoEnt)?;
    match target.kind {
        Some(_) if flags.no_replace => return Err(Errno::Exist),
        None if flags.exchange => return Err(Errno::NoEnt),
        Some(other) if flags.exchange && other != FileKind::Directory && target.has_slash => {
            return Err(Errno::NotDir);
        }
        _ => {}
    }
    if kind != FileKind::Directory && (source.has_slash || (target.has_slash && !flags.exchange)) {
        return Err(Errno::NotDir);
    }
    Ok(())
}

/// Whether one kind may take the place of the other (`vfs_rename`).
pub fn check_rename_over(source: End, target: End, flags: RenameFlags) -> Result<()> {
    let is_directory = source.kind == Some(FileKind::Directory);
    match target.kind {
        _ if flags.exchange => Ok(()),
        Some(FileKind::Directory) if !is_directory => Err(Errno::IsDir),
        Some(other) if is_directory && other != FileKind::Directory => Err(Errno::NotDir),
        _ => Ok(()),
    }
}
