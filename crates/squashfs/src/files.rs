//! Inodes as they are in memory: `fs/squashfs/inode.c`, `id.c`, `fragment.c`, `xattr_id.c`.

use crate::blocks::Blocks;
use crate::inode::{self, Inode, Is, Metadata, Place, BASE_BYTES};
use crate::little_endian::{u16_at, u32_at, u64_at};
use crate::superblock::FRAGMENT_BYTES;
use crate::{Wrong, METADATA_BYTES};
use ffslab_fs::{Errno, FileKind, Ino, Result, Stat, TimeSpec, STAT_BLOCK_BYTES};
use std::collections::BTreeMap;

const ID_BYTES: usize = 4;
const XATTR_ID_BYTES: usize = 16;
const EXPORT_BYTES: usize = 8;
/// Before the list of the table of extended attributes: where they stand, and how many there are.
const XATTR_HEAD_BYTES: usize = 16;

/// An inode in memory.
#[derive(Clone, Debug)]
pub struct Node {
    pub inode: Inode,
    pub uid: u32,
    pub gid: u32,
    /// Of a file the block that holds its end: where it begins, and its size as it is stored.
    pub fragment_offset: Option<(u64, u32)>,
    /// The metadata block and the place in it behind the inode: the list of a file's blocks, or the index of a directory's names.
    pub behind_offset: (u64, usize),
}

impl Node {
    pub fn size_bytes(&self) -> u64 {
        match &self.inode.is {
            Is::File(file) => file.bytes,
            Is::Directory(directory) => directory.bytes.into(),
            Is::Symlink(target) => target.len() as u64,
            Is::Device(_) | Is::Other => 0,
        }
    }

    pub fn stat(&self) -> Stat {
        let Inode { kind, permissions, links, number, modified_s, .. } = self.inode;
        let time = TimeSpec { seconds: modified_s.into(), nanoseconds: 0 };
        let blocks = match &self.inode.is {
            Is::File(file) => (file.bytes.saturating_sub(file.holes_bytes)).div_ceil(STAT_BLOCK_BYTES),
            _ => 0,
        };
        Stat {
            ino: number,
            kind,
            permissions,
            links,
            uid: self.uid,
            gid: self.gid,
            device: if let Is::Device(number) = self.inode.is { number } else { 0 },
            size_bytes: self.size_bytes(),
            blocks,
            accessed: time,
            modified: time,
            changed: time,
        }
    }
}

/// The lists that a mount reads: where the metadata blocks of each table stand.
#[derive(Default)]
pub struct Lists {
    ids: Vec<u64>,
    fragments: Vec<u64>,
    xattrs: Vec<u64>,
    xattrs_count: u32,
}

/// The image with the inodes that are in memory.
pub struct Files {
    pub blocks: Blocks,
    lists: Lists,
    /// By their numbers.
    pub nodes: BTreeMap<Ino, Node>,
    pub root: Ino,
}

/// The places of so many entries' metadata blocks, which stand in one list.
fn list(blocks: &mut Blocks, at_bytes: u64, entries: u64, entry_bytes: usize) -> Result<Vec<u64>> {
    let per_block = (METADATA_BYTES / entry_bytes) as u64;
    let bytes = entries.div_ceil(per_block) * 8;
    if bytes > blocks.superblock.used_bytes {
        return Err(blocks.wrong(Wrong::new(at_bytes, format!("a table of {entries} entries, which cannot be"))));
    }
    let table = blocks.table(at_bytes, bytes as usize)?;
    Ok((0..table.len()).step_by(8).filter_map(|at| u64_at(&table, at)).collect())
}

impl Files {
    /// What `squashfs_fill_super` reads behind the superblock, in its order.
    ///
    /// Errors: with what is damaged, if that is why.
    pub fn open(mut blocks: Blocks) -> std::result::Result<Files, (Errno, Option<String>)> {
        let lists = match Files::lists(&mut blocks) {
            Ok(lists) => lists,
            Err(errno) => return Err((errno, blocks.damage)),
        };
        let place = blocks.superblock.root_offset;
        let mut files = Files { blocks, lists, nodes: BTreeMap::new(), root: 0 };
        match files.read_inode(place) {
            Ok(node) if node.inode.kind == FileKind::Directory => {
                files.root = node.inode.number;
                files.nodes.insert(files.root, node);
                Ok(files)
            }
            Ok(_) => {
                let errno = files.blocks.wrong(Wrong::new(0, "the root is no directory"));
                Err((errno, files.blocks.damage))
            }
            Err(errno) => Err((errno, files.blocks.damage)),
        }
    }

    fn lists(blocks: &mut Blocks) -> Result<Lists> {
        blocks.compressor_options()?;
        let superblock = blocks.superblock;
        let mut lists = Lists::default();
        if let Some(at) = superblock.xattrs_offset {
            let head = blocks.table(at, XATTR_HEAD_BYTES)?;
            lists.xattrs_count = u32_at(&head, 8).unwrap_or_default();
            let list_at = at + XATTR_HEAD_BYTES as u64;
            lists.xattrs = list(blocks, list_at, lists.xattrs_count.into(), XATTR_ID_BYTES)?;
        }
        lists.ids = list(blocks, superblock.ids_offset, superblock.ids_count.into(), ID_BYTES)?;
        if let Some(at) = superblock.exports_offset {
            list(blocks, at, superblock.inodes_count.into(), EXPORT_BYTES)?;
        }
        if superblock.fragments_count > 0 {
            let at = superblock
                .fragments_at
                .ok_or_else(|| blocks.wrong(Wrong::new(0, "ends of files, and no table that says where they stand")))?;
            lists.fragments = list(blocks, at, superblock.fragments_count.into(), FRAGMENT_BYTES)?;
        }
        Ok(lists)
    }

    /// An entry of a table.
    fn entry(&mut self, list: fn(&Lists) -> &[u64], number: u64, count: u64, bytes: usize) -> Result<Vec<u8>> {
        let per_block = METADATA_BYTES / bytes;
        let (block, offset) = (number as usize / per_block, number as usize % per_block * bytes);
        let at = list(&self.lists).get(block).copied().filter(|_| number < count);
        let at = at.ok_or_else(|| {
            self.blocks.wrong(Wrong::new(0, format!("the entry {number} of a table, which ends before")))
        })?;
        let mut reader = self.blocks.reader(at, offset);
        reader.take(bytes).map_err(|wrong| reader.errno(wrong))
    }

    fn id(&mut self, number: u16) -> Result<u32> {
        let count = self.blocks.superblock.ids_count.into();
        let entry = self.entry(|lists| &lists.ids, number.into(), count, ID_BYTES)?;
        Ok(u32_at(&entry, 0).unwrap_or_default())
    }

    /// Where a fragment begins, and its size as it is stored.
    fn fragment_place(&mut self, number: u32) -> Result<(u64, u32)> {
        let count = self.blocks.superblock.fragments_count.into();
        let entry = self.entry(|lists| &lists.fragments, number.into(), count, FRAGMENT_BYTES)?;
        Ok((u64_at(&entry, 0).unwrap_or_default(), u32_at(&entry, 8).unwrap_or_default()))
    }

    /// Brings the inode with this number into memory, if it is not there.
    pub fn bring(&mut self, number: Ino, place: Place) -> Result<()> {
        if !self.nodes.contains_key(&number) {
            let node = self.read_inode(place)?;
            self.nodes.insert(number, Node { inode: Inode { number, ..node.inode }, ..node });
        }
        Ok(())
    }

    /// `squashfs_read_inode`: the part that all have, owner and group, all of it, and what it points to.
    fn read_inode(&mut self, (block, offset): Place) -> Result<Node> {
        let at = self.blocks.superblock.inodes_at.saturating_add(block);
        let mut reader = self.blocks.reader(at, offset.into());
        let base = reader.take(BASE_BYTES).map_err(|wrong| reader.errno(wrong))?;
        let number_at = |at: usize| u16_at(&base, at).unwrap_or_default();
        let uid = self.id(number_at(4))?;
        let gid = self.id(number_at(6))?;
        let mut reader = self.blocks.reader(at, offset.into());
        let inode = inode::read(&mut reader).map_err(|wrong| reader.errno(wrong))?;
        let behind_offset = reader.place();
        let mut fragment_offset = None;
        if let Is::File(inode::File { fragment_offset: Some((number, _)), .. }) = &inode.is {
            fragment_offset = Some(self.fragment_place(*number)?);
        }
        if let Some(number) = inode.xattrs_number.filter(|_| !self.lists.xattrs.is_empty()) {
            let count = self.lists.xattrs_count.into();
            self.entry(|lists| &lists.xattrs, number.into(), count, XATTR_ID_BYTES)?;
        }
        Ok(Node { inode, uid, gid, fragment_offset, behind_offset })
    }

    pub fn node(&self, ino: Ino) -> Result<&Node> {
        self.nodes.get(&ino).ok_or(Errno::NoEnt)
    }
}
