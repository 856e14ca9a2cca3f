//! Names are looked for and listed: `fs/squashfs/namei.c`, `dir.c`.

use crate::blocks::Reader;
use crate::files::{Files, Node};
use crate::inode::{
    next_index_entry, next_name, next_run, Directory, Is, Metadata, Name, DOTS_BYTES, NAME_HEAD_BYTES, RUN_HEAD_BYTES,
};
use crate::{Wrong, METADATA_BYTES};
use ffslab_fs::{DirEntry, Errno, FileKind, Ino, Result};

/// What opendir(3) of glibc asks getdents64(2) for at once.
const GETDENTS_BYTES: u64 = 32_768;
/// Of an entry before its name (`struct linux_dirent64`), and what it is rounded to.
const DIRENT_HEAD_BYTES: u64 = 19;
const DIRENT_ALIGNMENT: u64 = 8;

/// Where names of a directory begin to be read: the metadata block, the place in it, and how many bytes of names stand before, the
/// dots counted.
struct Start {
    at_bytes: u64,
    offset: usize,
    length: u64,
}

impl Files {
    fn directory(&self, dir: Ino) -> Result<(Node, Directory)> {
        let node = self.node(dir)?;
        match node.inode.is {
            Is::Directory(directory) => Ok((node.clone(), directory)),
            _ => Err(Errno::NotDir),
        }
    }

    /// By the index of a large directory: the last entry of it for which `is_before` holds.
    fn start(&mut self, node: &Node, directory: Directory, is_before: impl Fn(u32, &[u8]) -> bool) -> Start {
        let directories_at = self.blocks.superblock.directories_offset;
        let mut at_bytes = directories_at.saturating_add(directory.block.into());
        let mut names_bytes = 0;
        let mut reader = self.blocks.reader(node.behind_offset.0, node.behind_offset.1);
        for _ in 0..directory.index_count {
            // The index only saves time: what is wrong with it ends the search.
            let Ok(entry) = next_index_entry(&mut reader) else { break };
            if !is_before(entry.names_bytes, &entry.name) {
                break;
            }
            names_bytes = entry.names_bytes;
            at_bytes = directories_at.saturating_add(entry.block.into());
        }
        let offset = (names_bytes as usize + usize::from(directory.offset)) % METADATA_BYTES;
        Start { at_bytes, offset, length: u64::from(names_bytes) + u64::from(DOTS_BYTES) }
    }

    /// The name in a directory, and its inode in memory.
    pub fn look_up(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        let (node, directory) = self.directory(dir)?;
        let start = self.start(&node, directory, |_, first| first <= name);
        let mut reader = self.blocks.reader(start.at_bytes, start.offset);
        let found = search(&mut reader, start.length, directory.bytes.into(), name);
        let found = found.map_err(|wrong| reader.errno(wrong))?.ok_or(Errno::NoEnt)?;
        self.bring(found.number, found.place)?;
        Ok(found.number)
    }

    /// All names, as a program gets them by one getdents64(2) after the other. Each call begins to read where the index says that its
    /// first name may be, and the last one finds none.
    pub fn list(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        let (node, directory) = self.directory(dir)?;
        let mut position = 0;
        loop {
            let before = position;
            position = self.list_from(&node, directory, position, emit)?;
            if position == before {
                return Ok(());
            }
        }
    }

    /// What one call returns from a position on; returns the position behind.
    fn list_from(
        &mut self,
        node: &Node,
        directory: Directory,
        position: u64,
        emit: &mut dyn FnMut(DirEntry<'_>),
    ) -> Result<u64> {
        let dots = u64::from(DOTS_BYTES);
        // "." and "..", of which the caller takes none.
        let mut room_bytes = if position < dots { GETDENTS_BYTES - 2 * 24 } else { GETDENTS_BYTES };
        let mut position = position.max(dots);
        let start = if position <= dots {
            self.start(node, Directory { index_count: 0, ..directory }, |_, _| false)
        } else {
            self.start(node, directory, |names_bytes, _| u64::from(names_bytes) <= position - dots)
        };
        let mut length = start.length;
        let mut reader = self.blocks.reader(start.at_bytes, start.offset);
        while length < directory.bytes.into() {
            let run = next_run(&mut reader).map_err(|wrong| reader.errno(wrong))?;
            length += u64::from(RUN_HEAD_BYTES);
            for _ in 0..run.names_count {
                let found = next_name(&mut reader, run).map_err(|wrong| reader.errno(wrong))?;
                length += u64::from(NAME_HEAD_BYTES) + found.name.len() as u64;
                if position >= length {
                    continue;
                }
                let bytes = (DIRENT_HEAD_BYTES + found.name.len() as u64 + 1).next_multiple_of(DIRENT_ALIGNMENT);
                let Some(left) = room_bytes.checked_sub(bytes) else { return Ok(position) };
                room_bytes = left;
                let kind = kind_of(found.kind_number).ok_or_else(|| {
                    let what = format!("a name of the kind {}, which there is not", found.kind_number);
                    let wrong = Wrong::new(reader.at_bytes(), what);
                    reader.errno(wrong)
                })?;
                emit(DirEntry { ino: found.number, name: &found.name, kind });
                position = length;
            }
        }
        Ok(position)
    }
}

/// The names stand in their order, and the search ends with the first one whose first byte comes later.
fn search(
    reader: &mut Reader<'_>,
    length: u64,
    directory_bytes: u64,
    name: &[u8],
) -> std::result::Result<Option<Name>, Wrong> {
    let mut length = length;
    while length < directory_bytes {
        let run = next_run(reader)?;
        length += u64::from(RUN_HEAD_BYTES);
        for _ in 0..run.names_count {
            let found = next_name(reader, run)?;
            length += u64::from(NAME_HEAD_BYTES) + found.name.len() as u64;
            if name.first() < found.name.first() {
                return Ok(None);
            }
            if found.name == name {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// As a name says the kind of its inode.
fn kind_of(number: u16) -> Option<FileKind> {
    Some(match number {
        1 => FileKind::Directory,
        2 => FileKind::File,
        3 => FileKind::Symlink,
        4 => FileKind::BlockDevice,
        5 => FileKind::CharDevice,
        6 => FileKind::Fifo,
        7 => FileKind::Socket,
        _ => return None,
    })
}
