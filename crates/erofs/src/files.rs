//! The image on its device, and what of it is in memory: inodes, pages of the device with metadata, pages of directories, and compressed
//! pages of which only a part was wanted.

use crate::extents::{map, Extent, Index};
use crate::inode::{self, Inode, Layout};
use crate::metadata::Metadata;
use crate::superblock::{Superblock, BLOCK_BYTES};
use crate::windows::Windows;
use ffslab_fs::{Errno, FileKind, Ino, Result, Stat, TimeSpec, STAT_BLOCK_BYTES};
use ffslab_rawblock::{RawBlock, ReadError, Wrong, SECTOR_BYTES};
use ffslab_sim::Sim;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// `BIO_MAX_VECS`: so many pages are asked for at once.
const REQUEST_PAGES_MAX: u64 = 256;

pub type Page = Rc<Vec<u8>>;

/// An inode in memory.
pub struct Node {
    pub inode: Inode,
    /// Read when the first page of the file is.
    index: Cell<Option<Index>>,
    /// Where a symbolic link points that stands beside its inode.
    pub target: Option<Vec<u8>>,
}

impl Node {
    pub fn stat(&self, ino: Ino) -> Stat {
        let Inode { kind, permissions, links, uid, gid, device, bytes, .. } = self.inode;
        let time = TimeSpec { seconds: self.inode.modified_s as i64, nanoseconds: self.inode.modified_ns };
        let blocks = match self.inode.compressed_blocks {
            0 => self.inode.blocks(),
            blocks => blocks.into(),
        };
        Stat {
            ino,
            kind,
            permissions,
            links,
            uid,
            gid,
            device,
            size_bytes: bytes,
            blocks: blocks.saturating_mul(BLOCK_BYTES / STAT_BLOCK_BYTES),
            accessed: time,
            modified: time,
            changed: time,
        }
    }
}

pub struct Files {
    pub sim: Sim,
    superblock: Superblock,
    device: RawBlock,
    pub windows: Windows,
    /// The page cache of the device, through which metadata are read.
    metadata: BTreeMap<u64, Page>,
    /// The managed cache, by blocks of the image.
    pub managed: BTreeMap<u64, Page>,
    /// Pages of directories, symbolic links and of the inode of fragments.
    pub own_pages: BTreeMap<(Ino, u64), Page>,
    nodes: BTreeMap<Ino, Rc<Node>>,
    pub root: Ino,
    /// The last contradiction that was met.
    pub damage: Option<String>,
    /// Why metadata could not be read, where the device said so.
    failed: Option<Errno>,
}

impl Metadata for Files {
    fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// `erofs_read_metabuf`: a page of the device, alone, and only once.
    fn block(&mut self, number: u64) -> std::result::Result<Page, Wrong> {
        if let Some(held) = self.metadata.get(&number) {
            return Ok(held.clone());
        }
        let page = read_metadata(&self.device, number).map_err(|errno| {
            self.failed = errno;
            Wrong::new(number.saturating_mul(BLOCK_BYTES), "metadata that cannot be read")
        })?;
        let page = Rc::new(page);
        self.metadata.insert(number, page.clone());
        Ok(page)
    }
}

/// Errors: what the device says, or `None` if it ends before.
fn read_metadata(device: &RawBlock, number: u64) -> std::result::Result<Vec<u8>, Option<Errno>> {
    let at = number.checked_mul(BLOCK_BYTES).filter(|&at| at < device.size_bytes()).ok_or(None)?;
    let mut page = vec![0; BLOCK_BYTES as usize];
    let bytes = (device.size_bytes() - at).min(BLOCK_BYTES) / SECTOR_BYTES * SECTOR_BYTES;
    device.read(at, &mut page[..bytes as usize]).map_err(|error| match error {
        ReadError::PowerCut => Some(Errno::PowerCut),
        _ => None,
    })?;
    Ok(page)
}

impl Files {
    /// What `erofs_fc_fill_super` reads behind the superblock, in its order. `head`: the first page of the device.
    ///
    /// Errors: with what is damaged, if that is why.
    pub fn open(
        sim: Sim,
        device: RawBlock,
        superblock: Superblock,
        head: Vec<u8>,
        windows: Windows,
    ) -> std::result::Result<Files, (Errno, Option<String>)> {
        let metadata = BTreeMap::from([(0, Rc::new(head))]);
        let mut files = Files {
            sim,
            superblock,
            device,
            windows,
            metadata,
            managed: BTreeMap::new(),
            own_pages: BTreeMap::new(),
            nodes: BTreeMap::new(),
            root: 0,
            damage: None,
            failed: None,
        };
        match files.begin() {
            Ok(()) => Ok(files),
            Err(errno) => Err((errno, files.damage)),
        }
    }

    fn begin(&mut self) -> Result<()> {
        self.root = self.bring(self.superblock.root_number)?;
        if self.node(self.root)?.inode.kind != FileKind::Directory {
            return Err(self.errno(Wrong::new(0, "the root is no directory")));
        }
        if let Some(packed) = self.superblock.packed_number {
            self.bring(packed)?;
        }
        Ok(())
    }

    /// Notes what is wrong, or what the device said; a program sees an error.
    pub fn errno(&mut self, wrong: Wrong) -> Errno {
        self.failed.take().unwrap_or_else(|| {
            self.damage = Some(wrong.to_string());
            Errno::Io
        })
    }

    pub fn number_in_memory(&mut self, number: u64) -> Result<Ino> {
        Ino::try_from(number).map_err(|_| self.errno(Wrong::new(0, format!("an inode with the number {number}"))))
    }

    /// Brings an inode into memory, if it is not there.
    pub fn bring(&mut self, number: u64) -> Result<Ino> {
        let ino = self.number_in_memory(number)?;
        if !self.nodes.contains_key(&ino) {
            let node = self.read_node(number).map_err(|wrong| self.errno(wrong))?;
            self.nodes.insert(ino, Rc::new(node));
        }
        Ok(ino)
    }

    fn read_node(&mut self, number: u64) -> std::result::Result<Node, Wrong> {
        let inode = inode::read(self, number)?;
        let is_beside = matches!(inode.layout, Layout::Inline { .. })
            && inode.kind == FileKind::Symlink
            && inode.bytes <= BLOCK_BYTES
            && (inode.behind_offset - 1) / BLOCK_BYTES == (inode.behind_offset - 1 + inode.bytes) / BLOCK_BYTES;
        let target = if is_beside { Some(self.take(inode.behind_offset, inode.bytes as usize)?) } else { None };
        Ok(Node { inode, index: Cell::new(None), target })
    }

    pub fn node(&self, ino: Ino) -> Result<Rc<Node>> {
        self.nodes.get(&ino).cloned().ok_or(Errno::NoEnt)
    }

    /// The inode of fragments.
    pub fn packed(&self) -> Option<Ino> {
        self.superblock.packed_number.and_then(|number| Ino::try_from(number).ok())
    }

    pub fn extent(&mut self, node: &Node, at: u64) -> Result<Extent> {
        let mut index = node.index.get();
        let found = map(self, &node.inode, &mut index, at);
        node.index.set(index);
        found.map_err(|wrong| self.errno(wrong))
    }

    /// Pages of the device that stand behind one another, past its page cache, as bios of at most 1 MiB.
    pub fn read_blocks(&mut self, first: u64, count: u64) -> Result<Vec<u8>> {
        let end = first.checked_add(count).and_then(|end| end.checked_mul(BLOCK_BYTES));
        if end.is_none_or(|end| end > self.device.size_bytes()) {
            let wrong = Wrong::new(first.saturating_mul(BLOCK_BYTES), "content behind the end of the device");
            return Err(self.errno(wrong));
        }
        let mut held = vec![0; (count * BLOCK_BYTES) as usize];
        let mut at = first * BLOCK_BYTES;
        for request in held.chunks_mut((REQUEST_PAGES_MAX * BLOCK_BYTES) as usize) {
            match self.device.read(at, request) {
                Ok(()) => at += request.len() as u64,
                Err(ReadError::PowerCut) => return Err(Errno::PowerCut),
                Err(error) => return Err(self.errno(Wrong::new(at, error.to_string()))),
            }
        }
        Ok(held)
    }

    /// As `drop_caches` does: all pages, and the inodes that nobody uses.
    pub fn forget(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        self.metadata.clear();
        self.managed.clear();
        self.own_pages.clear();
        let always = [Some(self.root), self.packed()];
        self.nodes.retain(|&ino, _| always.contains(&Some(ino)) || in_use(ino));
    }

    pub fn evict(&mut self, ino: Ino) {
        self.nodes.remove(&ino);
        self.own_pages.retain(|(owner, _), _| *owner != ino);
    }

    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }
}
