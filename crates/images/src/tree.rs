//! The tree of files that an image holds.

mod error;
pub(crate) mod room;

pub(crate) use error::FileError;
pub use error::TreeError;
pub use room::Content;

use ffslab_flash::Geometry;
use ffslab_fs::{BlockSpace, Errno, FileKind, FileSystem, Ino, PAGE_BYTES};
use room::{Names, Room};
use std::collections::BTreeSet;
use std::io::Read;

/// Describes an image that ends before its content is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// Position in the image file of the first thing that is incomplete.
    pub offset: u64,
    pub what: String,
}

/// An image in the form in which it is put on a chip.
pub struct OnChip<'i> {
    pub geometry: Geometry,
    /// The pages, each followed by its OOB area if `oob` is set.
    pub pages: Box<dyn Read + 'i>,
    /// Number of bytes that can be read from `pages`.
    pub bytes: u64,
    pub oob: bool,
}

/// A file, directory or other object under one of its names.
#[derive(Clone, Debug)]
pub struct TreeEntry {
    /// Path below the root, with '/' between names. The root itself has an empty path.
    pub path: Vec<u8>,
    pub kind: FileKind,
    pub ino: Ino,
    /// The permission bits, 07777.
    pub permissions: u32,
    pub uid: u32,
    pub gid: u32,
    pub links: u32,
    /// Device number in Linux's 32-bit encoding, as from `makedev`.
    pub device: u32,
    pub size_bytes: u64,
    /// Time of the last modification, in seconds since 1970.
    pub modified_s: i64,
    /// Content of a file, or target of a symbolic link.
    pub data: Vec<u8>,
    /// Why the entry could not be read.
    pub error: Option<String>,
    /// Which names of a directory were left out, in a line each.
    pub missing: Vec<String>,
}

/// The files of an image.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// All entries. A directory comes before its content, and names are in byte order.
    pub entries: Vec<TreeEntry>,
    /// Reasons to doubt that everything was found.
    pub notes: Vec<String>,
    /// What each erase block holds, as the file system accounts for it. Empty if the file system has no erase blocks.
    pub space: Vec<BlockSpace>,
}

/// Reads the files of a mounted file system.
pub fn tree_in(fs: &mut dyn FileSystem, content: Content, notes: Vec<String>) -> Tree {
    Tree { entries: walk(fs, content), notes, space: fs.block_space() }
}

/// Reads the root and everything below it.
fn walk(fs: &mut dyn FileSystem, content: Content) -> Vec<TreeEntry> {
    let mut entries = Vec::new();
    let mut pending = vec![(Vec::new(), fs.root(), FileKind::Directory)];
    let mut seen = BTreeSet::new();
    let flash_bytes = fs
        .block_space()
        .into_iter()
        .map(|block| u64::from(block.valid_bytes) + u64::from(block.invalid_bytes) + u64::from(block.free_bytes));
    let mut room = Room::of(flash_bytes.sum());
    while let Some((path, ino, kind)) = pending.pop() {
        let mut entry = read_entry(fs, path, ino, kind, content, &mut room);
        if entry.kind == FileKind::Directory && entry.error.is_none() {
            // In a damaged image a directory may contain itself, and the walk would never end.
            if seen.insert(ino) {
                entry.missing = list(fs, &entry, &mut pending, &mut room);
            } else {
                entry.error = Some("this directory has another name already".to_string());
            }
        }
        entries.push(entry);
    }
    entries
}

impl TreeEntry {
    pub(crate) fn new(path: Vec<u8>, ino: Ino, kind: FileKind) -> TreeEntry {
        TreeEntry {
            path,
            kind,
            ino,
            permissions: 0,
            uid: 0,
            gid: 0,
            links: 0,
            device: 0,
            size_bytes: 0,
            modified_s: 0,
            data: Vec::new(),
            error: None,
            missing: Vec::new(),
        }
    }
}

fn read_entry(
    fs: &mut dyn FileSystem,
    path: Vec<u8>,
    ino: Ino,
    kind: FileKind,
    content: Content,
    room: &mut Room,
) -> TreeEntry {
    let mut entry = TreeEntry::new(path, ino, kind);
    // Damage that was met before has nothing to do with this file.
    fs.take_damage();
    match fs.getattr(ino) {
        Ok(stat) => {
            entry.kind = stat.kind;
            entry.permissions = stat.permissions;
            (entry.uid, entry.gid) = (stat.uid, stat.gid);
            entry.links = stat.links;
            entry.device = stat.device;
            entry.size_bytes = stat.size_bytes;
            entry.modified_s = stat.modified.seconds;
        }
        Err(error) => {
            entry.error = Some(told(fs, error, None).to_string());
            return entry;
        }
    }
    let data = match entry.kind {
        FileKind::File => {
            let taken = room.take_content(entry.size_bytes, content);
            taken.and_then(|()| read_file_data(fs, ino, entry.size_bytes, content))
        }
        FileKind::Symlink => fs.readlink(ino).map_err(|error| told(fs, error, None)),
        _ => Ok(Vec::new()),
    };
    match data {
        Ok(data) => entry.data = data,
        Err(error) => entry.error = Some(error.to_string()),
    }
    entry
}

/// An error with what the file system has found on the medium, and where, if it knows.
fn told(fs: &mut dyn FileSystem, errno: Errno, offset: Option<u64>) -> FileError {
    FileError::Failed { errno, offset, damage: fs.take_damage() }
}

/// Limit for the size of a file. A damaged size or a large hole could otherwise take all memory.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 30;

fn read_file_data(fs: &mut dyn FileSystem, ino: Ino, size_bytes: u64, content: Content) -> Result<Vec<u8>, FileError> {
    if size_bytes > FILE_BYTES_MAX {
        return Err(FileError::TooLarge { mib: size_bytes >> 20, most_mib: FILE_BYTES_MAX >> 20 });
    }
    let pages = size_bytes.div_ceil(PAGE_BYTES as u64);
    let mut page = vec![0; PAGE_BYTES];
    let mut data = Vec::with_capacity(if content == Content::Keep { pages as usize * PAGE_BYTES } else { 0 });
    for index in 0..pages {
        let at = index * PAGE_BYTES as u64;
        fs.read_page(ino, index, &mut page).map_err(|error| told(fs, error, Some(at)))?;
        if content == Content::Keep {
            data.extend_from_slice(&page);
        }
    }
    data.truncate(size_bytes as usize);
    Ok(data)
}

/// Appends the names of a directory to `pending`, the last name first, because the caller takes from the end. Returns
/// which names were left out.
fn list(
    fs: &mut dyn FileSystem,
    dir: &TreeEntry,
    pending: &mut Vec<(Vec<u8>, Ino, FileKind)>,
    room: &mut Room,
) -> Vec<String> {
    let first = pending.len();
    let mut names = Names::new(room, &dir.path);
    let read = fs.readdir(dir.ino, &mut |found| {
        if let Some(path) = names.follow(found.name) {
            pending.push((path, found.ino, found.kind));
        }
    });
    pending[first..].sort_by(|a, b| b.0.cmp(&a.0));
    let mut missing = names.left_out();
    missing.extend(read.err().map(|error| format!("{error}: other names may be missing")));
    missing
}
