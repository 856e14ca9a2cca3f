//! The way through all directories of an image that is read as it stands, without a mount. What is damaged is told of the file that it
//! belongs to, and the others are read.

use crate::tree::room::{Names, Room};
use crate::tree::{FileError, Tree, TreeEntry, FILE_BYTES_MAX};
use ffslab_fs::{FileKind, Ino};
use std::collections::{BTreeMap, BTreeSet};

/// Names that an image may have: some, and one for so many of its bytes. Many names may stand in few bytes that are compressed.
const NAMES_ALWAYS: usize = 4096;
const BYTES_A_NAME: usize = 2;
const TOO_MANY_NAMES: &str = "more names than an image of this size can have: others are missing";

/// What a format knows of its inodes and directories.
pub trait Inodes {
    /// Where an inode stands: two names of one are hard links.
    type Place: Copy + Ord;
    /// Where the names of a directory stand.
    type Directory;
    /// What of it is read at once.
    type Held;

    /// Fills in what is known of the inode. Returns the directory, if it is one.
    fn read(&mut self, place: Self::Place, entry: &mut TreeEntry, room: &mut Room) -> Option<Self::Directory>;

    /// Reads a directory before its names are asked for.
    ///
    /// Errors: why no name of it is known.
    fn hold(&mut self, directory: Self::Directory, room: &mut Room) -> Result<Self::Held, String>;

    /// Passes the names on, until `name` says that it wants no more. Returns why some may be missing.
    fn names(&mut self, held: Self::Held, name: &mut dyn FnMut(&[u8], Self::Place) -> bool) -> Vec<String>;
}

/// Reads all files of an image of so many bytes.
pub fn tree<F: Inodes>(inodes: F, root: F::Place, image_bytes: usize) -> Tree {
    let mut walk = Walk {
        inodes,
        room: Room::of(image_bytes as u64),
        names_left: NAMES_ALWAYS + image_bytes / BYTES_A_NAME,
        numbers: BTreeMap::new(),
    };
    Tree { entries: walk.entries(root), ..Tree::default() }
}

/// Takes the room for the content of a file or directory. Reading takes time, so that it counts whether the content is kept or not.
pub fn take_room(room: &mut Room, bytes: u64) -> Result<(), String> {
    if bytes > FILE_BYTES_MAX {
        let (mib, most_mib) = (bytes >> 20, FILE_BYTES_MAX >> 20);
        return Err(FileError::TooLarge { mib, most_mib }.to_string());
    }
    room.take_content(bytes, crate::tree::Content::Keep).map_err(|why| why.to_string())
}

struct Walk<F: Inodes> {
    inodes: F,
    room: Room,
    names_left: usize,
    numbers: BTreeMap<F::Place, Ino>,
}

impl<F: Inodes> Walk<F> {
    fn entries(&mut self, root: F::Place) -> Vec<TreeEntry> {
        let mut entries = Vec::new();
        let mut pending = vec![(Vec::new(), root)];
        let mut seen = BTreeSet::new();
        while let Some((path, place)) = pending.pop() {
            let next = self.numbers.len() as Ino + 1;
            let ino = *self.numbers.entry(place).or_insert(next);
            let mut entry = TreeEntry::new(path, ino, FileKind::File);
            if let Some(directory) = self.inodes.read(place, &mut entry, &mut self.room) {
                // In a damaged image a directory may contain itself, and the walk would never end.
                if seen.insert(place) {
                    self.list(&mut entry, directory, &mut pending);
                } else {
                    entry.error = Some("this directory has another name already".to_string());
                }
            }
            entries.push(entry);
        }
        entries
    }

    /// Appends the names of a directory to `pending`, the last one first, and notes which were left out.
    fn list(&mut self, dir: &mut TreeEntry, directory: F::Directory, pending: &mut Vec<(Vec<u8>, F::Place)>) {
        let held = match self.inodes.hold(directory, &mut self.room) {
            Ok(held) => held,
            Err(why) => return dir.missing.push(format!("{why}: no name of it is known")),
        };
        let first = pending.len();
        let mut names = Names::new(&mut self.room, &dir.path);
        let (left, mut are_too_many) = (&mut self.names_left, false);
        let damaged = self.inodes.names(held, &mut |name, place| {
            are_too_many = *left == 0;
            if !are_too_many {
                *left -= 1;
                pending.extend(names.follow(name).map(|path| (path, place)));
            }
            !are_too_many
        });
        pending[first..].sort_by(|a, b| b.0.cmp(&a.0));
        dir.missing.extend(names.left_out());
        dir.missing.extend(are_too_many.then(|| TOO_MANY_NAMES.to_string()));
        dir.missing.extend(damaged.into_iter().map(|what| format!("{what}: other names may be missing")));
    }
}
