//! Blocks of the image as they are read of the device: `fs/squashfs/block.c`, `cache.c`.

use crate::cache::{Block, BlockCache};
use crate::inode::Metadata;
use crate::superblock::{Superblock, SUPERBLOCK_BYTES};
use crate::windows::Windows;
use crate::{Compressor, Wrong, IS_PLAIN, IS_PLAIN_DATA, METADATA_BYTES};
use ffslab_fs::Errno;
use ffslab_rawblock::{RawBlock, ReadError};
use ffslab_sim::{Sim, Work};
use std::rc::Rc;

/// `SQUASHFS_DEVBLK_SIZE`: the device is read in blocks of this size.
const DEVICE_BLOCK_BYTES: u64 = 1024;
/// `SQUASHFS_CACHED_BLKS`.
const METADATA_BLOCKS: usize = 8;
/// `CONFIG_SQUASHFS_FRAGMENT_CACHE_SIZE` of most kernels.
const FRAGMENTS: usize = 3;
/// Blocks of files that do not go straight into the page cache: as many as decompressors (`squashfs_max_decompressors`), one for each CPU.
const DATA_BLOCKS: usize = 1;

/// The image on its device, and what of it is in memory.
pub struct Blocks {
    pub sim: Sim,
    pub superblock: Superblock,
    device: RawBlock,
    metadata: BlockCache,
    fragments: BlockCache,
    data: BlockCache,
    pub windows: Windows,
    /// The last contradiction that was met.
    pub damage: Option<String>,
}

impl Blocks {
    /// Reads the superblock. `None`: there is none, or one that cannot be.
    pub fn open(sim: Sim, device: RawBlock, windows: Windows) -> Result<Option<Blocks>, ReadError> {
        if device.size_bytes() < DEVICE_BLOCK_BYTES {
            return Ok(None);
        }
        let mut head = [0; DEVICE_BLOCK_BYTES as usize];
        device.read(0, &mut head)?;
        let superblock = Superblock::of(&head);
        let (metadata, fragments) = (BlockCache::new(METADATA_BLOCKS), BlockCache::new(FRAGMENTS));
        let data = BlockCache::new(DATA_BLOCKS);
        let of = |superblock| Blocks { sim, superblock, device, metadata, fragments, data, windows, damage: None };
        Ok(superblock.map(of))
    }

    /// Notes what is wrong; a program sees an error.
    pub fn wrong(&mut self, wrong: Wrong) -> Errno {
        self.damage = Some(wrong.to_string());
        Errno::Io
    }

    /// `squashfs_bio_read`: the blocks of the device that hold the bytes are read, all of them, each time.
    fn stored(&mut self, at_bytes: u64, bytes: usize) -> Result<Vec<u8>, Errno> {
        let end = at_bytes.checked_add(bytes as u64).filter(|&end| end <= self.superblock.used_bytes);
        let Some(end) = end else {
            return Err(self.wrong(Wrong::new(at_bytes, "a block behind the end of the image")));
        };
        let start = at_bytes - at_bytes % DEVICE_BLOCK_BYTES;
        let whole_end = end.next_multiple_of(DEVICE_BLOCK_BYTES);
        if whole_end > self.device.size_bytes() {
            return Err(self.wrong(Wrong::new(at_bytes, "a block behind the end of the device")));
        }
        let mut held = vec![0; (whole_end - start) as usize];
        match self.device.read(start, &mut held) {
            Ok(()) => {}
            Err(ReadError::PowerCut) => return Err(Errno::PowerCut),
            Err(error) => return Err(self.wrong(Wrong::new(at_bytes, error.to_string()))),
        }
        held.drain(..(at_bytes - start) as usize);
        held.truncate(bytes);
        Ok(held)
    }

    /// What stored bytes are.
    fn expand(&mut self, at_bytes: u64, stored: Vec<u8>, plain: bool, most: usize) -> Result<Vec<u8>, Errno> {
        let wrong = || Wrong::new(at_bytes, "a block that does not expand");
        if plain {
            return if stored.len() <= most { Ok(stored) } else { Err(self.wrong(wrong())) };
        }
        let compressor = self.superblock.compressor;
        let expanded = compressor.expand(&stored, most);
        let work = match compressor {
            Compressor::Gzip => Some(Work::ZlibDecompress),
            Compressor::Lzo => Some(Work::LzoDecompress),
            Compressor::Zstd => Some(Work::ZstdDecompress),
            Compressor::Xz => Some(Work::XzDecompress),
            Compressor::Lz4 => Some(Work::Lz4Decompress),
            Compressor::Lzma | Compressor::Unknown(_) => None,
        };
        if let Some(work) = work {
            self.sim.work(work, expanded.as_ref().map_or(0, Vec::len));
        }
        expanded.ok_or_else(|| self.wrong(wrong()))
    }

    /// A block of a file, or of ends of files. `size`: what a list says of it.
    pub fn data(&mut self, at_bytes: u64, size: u32) -> Result<Vec<u8>, Errno> {
        let bytes = (size & !IS_PLAIN_DATA) as usize;
        let most = self.superblock.block_bytes as usize;
        if bytes == 0 || bytes > most || size >> 25 != 0 {
            return Err(self.wrong(Wrong::new(at_bytes, format!("a block of {bytes} B, where {most} are the most"))));
        }
        let stored = self.stored(at_bytes, bytes)?;
        self.expand(at_bytes, stored, size & IS_PLAIN_DATA != 0, most)
    }

    /// A block of a file, by the cache (`squashfs_get_datablock`).
    pub fn kept_data(&mut self, at_bytes: u64, size: u32) -> Result<Rc<Vec<u8>>, Errno> {
        if let Some(held) = self.data.find(at_bytes) {
            return held.map(|block| block.bytes);
        }
        let read = self.data(at_bytes, size).map(|bytes| Block { bytes: Rc::new(bytes), next_offset: 0 });
        self.data.put(at_bytes, read.clone());
        read.map(|block| block.bytes)
    }

    /// A block of ends of files, by the cache.
    pub fn fragment(&mut self, at_bytes: u64, size: u32) -> Result<Rc<Vec<u8>>, Errno> {
        if let Some(held) = self.fragments.find(at_bytes) {
            return held.map(|block| block.bytes);
        }
        let read = self.data(at_bytes, size).map(|bytes| Block { bytes: Rc::new(bytes), next_offset: 0 });
        self.fragments.put(at_bytes, read.clone());
        read.map(|block| block.bytes)
    }

    /// `squashfs_read_table`: bytes that stand there as they are, past all caches.
    pub fn table(&mut self, at_bytes: u64, bytes: usize) -> Result<Vec<u8>, Errno> {
        self.stored(at_bytes, bytes)
    }

    /// `get_comp_opts` of `fs/squashfs/decompressor.c`: what follows from the options is not needed to decompress.
    pub fn compressor_options(&mut self) -> Result<(), Errno> {
        if self.superblock.has_compressor_options() {
            self.read_metadata(SUPERBLOCK_BYTES as u64)?;
        }
        Ok(())
    }

    fn metadata(&mut self, at_bytes: u64) -> Result<Block, Errno> {
        if let Some(held) = self.metadata.find(at_bytes) {
            return held;
        }
        let read = self.read_metadata(at_bytes);
        self.metadata.put(at_bytes, read.clone());
        read
    }

    /// Its length is read first, and then all of it.
    fn read_metadata(&mut self, at_bytes: u64) -> Result<Block, Errno> {
        let head = self.stored(at_bytes, 2)?;
        let head = u16::from_le_bytes([head[0], head[1]]);
        let bytes = usize::from(head & !IS_PLAIN);
        if bytes == 0 || bytes > METADATA_BYTES {
            return Err(self.wrong(Wrong::new(at_bytes, format!("a metadata block of {bytes} B"))));
        }
        let stored = self.stored(at_bytes + 2, bytes)?;
        let expanded = self.expand(at_bytes, stored, head & IS_PLAIN != 0, METADATA_BYTES)?;
        Ok(Block { bytes: Rc::new(expanded), next_offset: at_bytes + 2 + bytes as u64 })
    }

    /// A reader of metadata from a block on, which begins at `at_bytes` of the image.
    pub fn reader(&mut self, at_bytes: u64, offset: usize) -> Reader<'_> {
        Reader { blocks: self, at_bytes, offset, failed: None }
    }
}

/// `squashfs_read_metadata`.
pub struct Reader<'b> {
    blocks: &'b mut Blocks,
    at_bytes: u64,
    offset: usize,
    /// The device said so, or a block did not expand.
    failed: Option<Errno>,
}

impl Reader<'_> {
    /// Where it stands: the block, and the place in it once expanded.
    pub fn place(&self) -> (u64, usize) {
        (self.at_bytes, self.offset)
    }

    /// What an error of it is for a program.
    pub fn errno(&mut self, wrong: Wrong) -> Errno {
        self.failed.take().unwrap_or_else(|| self.blocks.wrong(wrong))
    }
}

impl Metadata for Reader<'_> {
    fn at_bytes(&self) -> u64 {
        self.at_bytes
    }

    fn take(&mut self, bytes: usize) -> Result<Vec<u8>, Wrong> {
        let mut taken = Vec::with_capacity(bytes.min(METADATA_BYTES));
        while taken.len() < bytes {
            let block = self.blocks.metadata(self.at_bytes).map_err(|errno| {
                self.failed = Some(errno);
                Wrong::new(self.at_bytes, "a metadata block that cannot be read")
            })?;
            let Some(held) = block.bytes.get(self.offset..).filter(|held| !held.is_empty()) else {
                return Err(Wrong::new(self.at_bytes, "a place behind the end of a metadata block"));
            };
            let count = held.len().min(bytes - taken.len());
            taken.extend_from_slice(&held[..count]);
            self.offset += count;
            if self.offset == block.bytes.len() {
                (self.at_bytes, self.offset) = (block.next_offset, 0);
            }
        }
        Ok(taken)
    }
}
