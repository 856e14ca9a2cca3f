//! Names in directories: `fs/erofs/namei.c`, `dir.c`. Each block begins with entries of one size, whose names stand behind them, in order.

use crate::files::Files;
use crate::superblock::BLOCK_BYTES;
use ffslab_fs::{DirEntry, Errno, FileKind, Ino, Result};
use ffslab_rawblock::little_endian::{u16_at, u64_at};
use ffslab_rawblock::Wrong;
use std::cmp::Ordering;

const ENTRY_BYTES: usize = 12;
const NAME_BYTES_MAX: usize = 255;

/// A name of a directory, with the number of its inode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub name: Vec<u8>,
    pub number: u64,
    pub kind: FileKind,
}

/// The names of a block, "." and ".." among them.
pub fn names(block: &[u8]) -> std::result::Result<Vec<Name>, Wrong> {
    let half = |at: usize| usize::from(u16_at(block, at).unwrap_or_default());
    let wrong = || Wrong::new(0, "a directory whose names cannot be");
    let first = half(8);
    if first == 0 || first >= block.len() || !first.is_multiple_of(ENTRY_BYTES) {
        return Err(wrong());
    }
    let begins = (0..first).step_by(ENTRY_BYTES).map(|at| half(at + 8));
    let ends = begins.clone().skip(1).chain([block.len()]);
    let mut found = Vec::with_capacity(first / ENTRY_BYTES);
    for (number, (begin, end)) in begins.zip(ends).enumerate() {
        let at = number * ENTRY_BYTES;
        let held = block.get(begin..end).filter(|_| begin >= first).ok_or_else(wrong)?;
        // The last one of a block may end before it.
        let name = held.split(|&byte| byte == 0).next().unwrap_or_default();
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(&b'/') {
            return Err(wrong());
        }
        let kind = kind_of(block[at + 10]).ok_or_else(wrong)?;
        found.push(Name { name: name.to_vec(), number: u64_at(block, at).unwrap_or_default(), kind });
    }
    Ok(found)
}

impl Files {
    fn names_of(&mut self, dir: Ino, block: u64, bytes: u64) -> Result<Vec<Name>> {
        let page = self.own_page(dir, block)?;
        let held = (bytes - block * BLOCK_BYTES).min(BLOCK_BYTES) as usize;
        names(&page[..held]).map_err(|wrong| {
            let at = self.superblock().inode_at(dir.into());
            self.errno(Wrong::new(at, format!("block {block} of the directory {dir}: {}", wrong.what)))
        })
    }

    /// How long a directory is.
    fn directory_bytes(&self, dir: Ino) -> Result<u64> {
        let node = self.node(dir)?;
        if node.inode.kind != FileKind::Directory {
            return Err(Errno::NotDir);
        }
        Ok(node.inode.bytes)
    }

    /// The name in a directory, by halves of its blocks, and its inode in memory.
    pub fn look_up(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        let bytes = self.directory_bytes(dir)?;
        let mut blocks = 0..bytes.div_ceil(BLOCK_BYTES);
        let mut candidates = Vec::new();
        while !blocks.is_empty() {
            let middle = blocks.start + (blocks.end - 1 - blocks.start) / 2;
            let found = self.names_of(dir, middle, bytes)?;
            match name.cmp(&found[0].name) {
                Ordering::Less => blocks.end = middle,
                Ordering::Equal => {
                    candidates = found;
                    break;
                }
                Ordering::Greater => {
                    blocks.start = middle + 1;
                    candidates = found;
                }
            }
        }
        let found = candidates.into_iter().find(|found| found.name == name).ok_or(Errno::NoEnt)?;
        self.bring(found.number)
    }

    pub fn list(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        let bytes = self.directory_bytes(dir)?;
        for block in 0..bytes.div_ceil(BLOCK_BYTES) {
            for Name { name, number, kind } in self.names_of(dir, block, bytes)? {
                if name != b"." && name != b".." {
                    emit(DirEntry { ino: self.number_in_memory(number)?, name: &name, kind });
                }
            }
        }
        Ok(())
    }
}

/// As an entry says the kind of its inode (`FT_REG_FILE` and so on).
fn kind_of(number: u8) -> Option<FileKind> {
    Some(match number {
        1 => FileKind::File,
        2 => FileKind::Directory,
        3 => FileKind::CharDevice,
        4 => FileKind::BlockDevice,
        5 => FileKind::Fifo,
        6 => FileKind::Socket,
        7 => FileKind::Symlink,
        _ => return None,
    })
}
