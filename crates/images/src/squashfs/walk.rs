//! The way through all directories of a squashfs. What is damaged is told of the file that it belongs to, and the others are read.

use super::tables::{inode_at, Tables};
use crate::tree::room::{Names, Room};
use crate::tree::{Content, FileError, Tree, TreeEntry, FILE_BYTES_MAX};
use ffslab_fs::{FileKind, Ino};
use ffslab_squashfs::inode::{self, Directory, Inode, Is, Place};
use ffslab_squashfs::Wrong;
use std::collections::{BTreeMap, BTreeSet};

/// Names that an image may have: some, and one for so many of its bytes. Many names may stand in few bytes that are compressed.
const NAMES_ALWAYS: usize = 4096;
const BYTES_A_NAME: usize = 2;
/// So much of expanded fragments is kept, and one in any case: the ends of files that stand next to each other share one.
const FRAGMENTS_KEPT_BYTES: usize = 4 << 20;

/// Reads all files.
pub fn tree(tables: &Tables<'_>, content: Content) -> Tree {
    let mut walk = Walk {
        tables,
        content,
        room: Room::of(tables.image.len() as u64),
        names_left: NAMES_ALWAYS + tables.image.len() / BYTES_A_NAME,
        numbers: BTreeMap::new(),
        fragments: Vec::new(),
    };
    Tree { entries: walk.entries(), ..Tree::default() }
}

struct Walk<'t, 'i> {
    tables: &'t Tables<'i>,
    content: Content,
    room: Room,
    names_left: usize,
    /// Inodes by their places: two names of one are hard links.
    numbers: BTreeMap<Place, Ino>,
    fragments: Vec<(u32, Vec<u8>)>,
}

impl Walk<'_, '_> {
    fn entries(&mut self) -> Vec<TreeEntry> {
        let mut entries = Vec::new();
        let mut pending = vec![(Vec::new(), self.tables.superblock.root_offset)];
        let mut seen = BTreeSet::new();
        while let Some((path, place)) = pending.pop() {
            let (mut entry, directory) = self.entry(path, place);
            if let Some(directory) = directory {
                // In a damaged image a directory may contain itself, and the walk would never end.
                if seen.insert(place) {
                    entry.missing = self.list(&entry, directory, &mut pending);
                } else {
                    entry.error = Some("this directory has another name already".to_string());
                }
            }
            entries.push(entry);
        }
        entries
    }

    /// An entry, and of a directory where its names stand.
    fn entry(&mut self, path: Vec<u8>, place: Place) -> (TreeEntry, Option<Directory>) {
        let next = self.numbers.len() as Ino + 1;
        let ino = *self.numbers.entry(place).or_insert(next);
        let mut entry = TreeEntry::new(path, ino, FileKind::File);
        let tables = self.tables;
        let (inode, mut behind) = match inode_at(tables, place) {
            Ok(found) => found,
            Err(wrong) => {
                entry.error = Some(format!("its inode cannot be read: {wrong}"));
                return (entry, None);
            }
        };
        self.attributes(&inode, &mut entry);
        let mut directory = None;
        match inode.is {
            Is::Directory(names) => directory = Some(names),
            Is::Symlink(target) => {
                entry.size_bytes = target.len() as u64;
                entry.data = target;
            }
            Is::Device(number) => entry.device = number,
            Is::Other => {}
            Is::File(file) => {
                entry.size_bytes = file.bytes;
                match self.content_of(&file, &mut behind) {
                    Ok(data) => entry.data = data,
                    Err(why) => entry.error = Some(why),
                }
            }
        }
        (entry, directory)
    }

    fn attributes(&self, inode: &Inode, entry: &mut TreeEntry) {
        entry.kind = inode.kind;
        (entry.permissions, entry.links) = (inode.permissions, inode.links);
        entry.modified_s = inode.modified_s.into();
        for (number, id) in [(inode.uid_number, &mut entry.uid), (inode.gid_number, &mut entry.gid)] {
            match self.tables.id(number) {
                Ok(known) => *id = known,
                Err(wrong) => entry.missing.push(format!("its owner is not known: {wrong}")),
            }
        }
    }

    /// Appends the names of a directory to `pending`, the last one first. Returns which were left out.
    fn list(&mut self, dir: &TreeEntry, directory: Directory, pending: &mut Vec<(Vec<u8>, Place)>) -> Vec<String> {
        let first = pending.len();
        let mut left_out = dir.missing.clone();
        let left = &mut self.names_left;
        let mut names = Names::new(&mut self.room, &dir.path);
        let at = self.tables.superblock.directories_offset;
        let mut from = self.tables.read_from(at, directory.block.into(), directory.offset);
        let read = inode::list(&mut from, directory, |name, place| {
            *left =
                left.checked_sub(1).ok_or_else(|| Wrong::new(0, "more names than an image of this size can have"))?;
            if let Some(path) = names.follow(name) {
                pending.push((path, place));
            }
            Ok(())
        });
        pending[first..].sort_by(|a, b| b.0.cmp(&a.0));
        left_out.extend(names.left_out());
        left_out.extend(read.err().map(|wrong| format!("{wrong}: other names may be missing")));
        left_out
    }

    /// `behind`: the reader behind the inode, where the sizes of blocks stand.
    fn content_of(
        &mut self,
        file: &inode::File,
        behind: &mut super::tables::Cursor<'_, '_>,
    ) -> Result<Vec<u8>, String> {
        if file.bytes > FILE_BYTES_MAX {
            let (mib, most_mib) = (file.bytes >> 20, FILE_BYTES_MAX >> 20);
            return Err(FileError::TooLarge { mib, most_mib }.to_string());
        }
        // Reading takes time, so that it counts whether the content is kept or not.
        self.room.take_content(file.bytes, Content::Keep).map_err(|why| why.to_string())?;
        let is_kept = self.content == Content::Keep;
        let block_bytes = self.tables.superblock.block_bytes;
        let mut data = Vec::new();
        let (mut at_bytes, mut filled) = (file.at_bytes, 0_u64);
        for _ in 0..file.blocks(block_bytes) {
            let told = |wrong: Wrong| format!("at offset {filled}: {wrong}");
            let wanted = (file.bytes - filled).min(block_bytes.into());
            let stored = inode::next_word(behind).map_err(told)?;
            let held = match stored {
                // Nothing stands for a hole.
                0 => vec![0; wanted as usize],
                _ => {
                    let (held, next_at) = self.tables.data(at_bytes, stored).map_err(told)?;
                    at_bytes = next_at;
                    held
                }
            };
            if held.len() as u64 != wanted {
                let (bytes, wrong) = (held.len(), Wrong::new(at_bytes, "a block of data of another size"));
                return Err(format!("at offset {filled}: {wrong}: {bytes} B in place of {wanted}"));
            }
            if is_kept {
                data.extend_from_slice(&held);
            }
            filled += wanted;
        }
        if let Some((number, offset)) = file.fragment_offset {
            let bytes = (file.bytes - filled) as usize;
            let end = self
                .fragment(number, offset as usize, bytes)
                .map_err(|wrong| format!("at offset {filled}: {wrong}"))?;
            if is_kept {
                data.extend_from_slice(end);
            }
        }
        Ok(data)
    }

    fn fragment(&mut self, number: u32, offset: usize, bytes: usize) -> Result<&[u8], Wrong> {
        let place = match self.fragments.iter().position(|(known, _)| *known == number) {
            Some(place) => place,
            None => {
                let data = self.tables.fragment(number)?;
                if self.fragments.len() * self.tables.superblock.block_bytes as usize >= FRAGMENTS_KEPT_BYTES {
                    self.fragments.remove(0);
                }
                self.fragments.push((number, data));
                self.fragments.len() - 1
            }
        };
        let held = &self.fragments[place].1;
        let end = held.get(offset..).and_then(|held| held.get(..bytes));
        end.ok_or_else(|| {
            Wrong::new(0, format!("an end of {bytes} B at {offset} of the fragment {number}, which has fewer"))
        })
    }
}
