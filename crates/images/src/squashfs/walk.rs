//! The inodes of a squashfs, its directories and the content of its files.

use super::tables::{inode_at, Cursor, Tables};
use crate::tree::room::Room;
use crate::tree::{Content, Tree, TreeEntry};
use crate::walk::{self, Inodes};
use ffslab_squashfs::inode::{self, Directory, Inode, Is, Place};
use ffslab_squashfs::Wrong;

/// So much of expanded fragments is kept, and one in any case: the ends of files that stand next to each other share one.
const FRAGMENTS_KEPT_BYTES: usize = 4 << 20;

/// Reads all files.
pub fn tree(tables: &Tables<'_>, content: Content) -> Tree {
    let inodes = InImage { tables, content, fragments: Vec::new() };
    walk::tree(inodes, tables.superblock.root_offset, tables.image.len())
}

struct InImage<'t, 'i> {
    tables: &'t Tables<'i>,
    content: Content,
    fragments: Vec<(u32, Vec<u8>)>,
}

impl Inodes for InImage<'_, '_> {
    type Place = Place;
    type Directory = Directory;
    type Held = Directory;

    fn read(&mut self, place: Place, entry: &mut TreeEntry, room: &mut Room) -> Option<Directory> {
        let tables = self.tables;
        let (inode, mut behind) = match inode_at(tables, place) {
            Ok(found) => found,
            Err(wrong) => {
                entry.error = Some(format!("its inode cannot be read: {wrong}"));
                return None;
            }
        };
        self.attributes(&inode, entry);
        match inode.is {
            Is::Directory(names) => return Some(names),
            Is::Symlink(target) => {
                entry.size_bytes = target.len() as u64;
                entry.data = target;
            }
            Is::Device(number) => entry.device = number,
            Is::Other => {}
            Is::File(file) => {
                entry.size_bytes = file.bytes;
                let data = walk::take_room(room, file.bytes).and_then(|()| self.content_of(&file, &mut behind));
                match data {
                    Ok(data) => entry.data = data,
                    Err(why) => entry.error = Some(why),
                }
            }
        }
        None
    }

    /// Names are read one by one: they are compressed, so all of them may be far more than the image.
    fn hold(&mut self, directory: Directory, _room: &mut Room) -> Result<Directory, String> {
        Ok(directory)
    }

    fn names(&mut self, directory: Directory, name: &mut dyn FnMut(&[u8], Place) -> bool) -> Vec<String> {
        let at = self.tables.superblock.directories_offset;
        let mut from = self.tables.read_from(at, directory.block.into(), directory.offset);
        let mut are_enough = false;
        let read = inode::list(&mut from, directory, |found, place| {
            are_enough = !name(found, place);
            if are_enough {
                Err(Wrong::new(0, "enough names"))
            } else {
                Ok(())
            }
        });
        read.err().filter(|_| !are_enough).map(|wrong| wrong.to_string()).into_iter().collect()
    }
}

impl InImage<'_, '_> {
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

    /// `behind`: the reader behind the inode, where the sizes of blocks stand.
    fn content_of(&mut self, file: &inode::File, behind: &mut Cursor<'_, '_>) -> Result<Vec<u8>, String> {
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
