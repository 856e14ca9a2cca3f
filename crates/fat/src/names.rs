//! Names of FAT, and the way along a path.

use crate::sectors::Disk;
use fatfs::{Dir, DirEntry, FileSystem};
use ffslab_fs::{Errno, FileKind, PathStat};
use std::io;

/// Longest name.
pub(crate) const NAME_BYTES_MAX: usize = 255;

/// Why a path leads nowhere.
#[derive(Debug)]
pub(crate) enum Lost {
    Known(Errno),
    Medium(io::Error),
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Lost {
        Lost::Medium(error)
    }
}

impl From<Errno> for Lost {
    fn from(errno: Errno) -> Lost {
        Lost::Known(errno)
    }
}

/// Where a path ends: the directory, the name in it, and what has that name.
pub(crate) struct Place<'a, 'p> {
    pub directory: Dir<'a, Disk>,
    pub name: &'p str,
    pub entry: Option<DirEntry<'a, Disk>>,
}

/// As the crate compares: whichever case, the long name or the short one.
fn has_name(entry: &DirEntry<'_, Disk>, name: &str) -> bool {
    let upper = |text: &str| text.chars().flat_map(char::to_uppercase).collect::<String>();
    let wanted = upper(name);
    upper(&entry.file_name()) == wanted || upper(&entry.short_file_name()) == wanted
}

fn find<'a>(directory: &Dir<'a, Disk>, name: &str) -> io::Result<Option<DirEntry<'a, Disk>>> {
    for entry in directory.iter() {
        let entry = entry?;
        if has_name(&entry, name) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Follows a path that is not the root.
pub(crate) fn walk<'a, 'p>(fs: &'a FileSystem<Disk>, path: &'p str) -> Result<Place<'a, 'p>, Lost> {
    let mut directory = fs.root_dir();
    let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
    while let Some(name) = names.next() {
        if name.len() > NAME_BYTES_MAX {
            return Err(Errno::NameTooLong.into());
        }
        let entry = find(&directory, name)?;
        if names.peek().is_none() {
            return Ok(Place { directory, name, entry });
        }
        let entry = entry.ok_or(Errno::NoEnt)?;
        if !entry.is_dir() {
            return Err(Errno::NotDir.into());
        }
        directory = entry.to_dir();
    }
    Err(Errno::IsDir.into())
}

/// Errors: characters that no name may have; the crate says so only when it has removed the former one of a rename.
pub(crate) fn check(path: &str) -> Result<(), Errno> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let fits = |character: char| match character {
        '\u{80}'..='\u{FFFF}' => true,
        _ => character.is_ascii_alphanumeric() || "$%'-_@~`!(){}. +,;=[]^#&".contains(character),
    };
    match (name.len() <= NAME_BYTES_MAX, !name.is_empty() && name.chars().all(fits)) {
        (false, _) => Err(Errno::NameTooLong),
        (true, false) => Err(Errno::Inval),
        (true, true) => Ok(()),
    }
}

/// A path without what has the same meaning otherwise written, to tell which files are open.
pub(crate) fn key(path: &str) -> String {
    path.chars().flat_map(char::to_uppercase).collect()
}

pub(crate) fn told(entry: &DirEntry<'_, Disk>) -> PathStat {
    let is_directory = entry.is_dir();
    PathStat {
        name: entry.file_name().into_bytes(),
        kind: if is_directory { FileKind::Directory } else { FileKind::File },
        size_bytes: if is_directory { 0 } else { entry.len() },
    }
}

/// The error of a call of the crate, which has no numbers but kinds and words.
pub(crate) fn errno(error: &io::Error) -> Errno {
    match error.kind() {
        io::ErrorKind::NotFound => return Errno::NoEnt,
        io::ErrorKind::AlreadyExists => return Errno::Exist,
        // The root directory of FAT12 and FAT16 is full.
        io::ErrorKind::WriteZero => return Errno::NoSpc,
        _ => {}
    }
    match error.to_string().as_str() {
        "Is a directory" => Errno::IsDir,
        "Not a directory" => Errno::NotDir,
        "Directory not empty" => Errno::NotEmpty,
        "No space left on device" => Errno::NoSpc,
        "File name too long" => Errno::NameTooLong,
        "File name is empty" | "File name contains unsupported characters" => Errno::Inval,
        _ => Errno::Io,
    }
}
