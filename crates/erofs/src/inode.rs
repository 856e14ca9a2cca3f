//! Inodes of EROFS: `fs/erofs/inode.c`.

use crate::metadata::Metadata;
use crate::superblock::BLOCK_BYTES;
use ffslab_fs::FileKind;
use ffslab_rawblock::little_endian::{u16_at, u32_at, u64_at};
use ffslab_rawblock::Wrong;

const COMPACT_BYTES: usize = 32;
const EXTENDED_BYTES: usize = 64;
/// A compressed file has no more bytes than this many times those of its image, however often its clusters are used.
const EXPANDED_PER_IMAGE: u64 = 4096;
/// `loff_t` has no sign to spare.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;
const CHUNK_BITS: u32 = 0x1F;
const CHUNK_INDEXES: u32 = 0x20;

/// How the content of an inode is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Blocks behind one another.
    Plain {
        block: u32,
    },
    /// As `Plain`, but the last one, which stands behind the inode.
    Inline {
        block: u32,
    },
    Compressed {
        compact: bool,
    },
    /// Pieces of one size, each with the place where it stands.
    Chunks {
        bits: u32,
        entry_bytes: u64,
    },
}

#[derive(Clone, Debug)]
pub struct Inode {
    pub number: u64,
    pub kind: FileKind,
    pub permissions: u32,
    pub uid: u32,
    pub gid: u32,
    pub links: u32,
    pub device: u32,
    pub bytes: u64,
    pub modified_s: u64,
    pub modified_ns: u32,
    /// Blocks that its compressed content takes; 0: it takes as many as it is long.
    pub compressed_blocks: u32,
    pub layout: Layout,
    /// Behind the inode and its extended attributes, in bytes of the image.
    pub behind_offset: u64,
}

impl Inode {
    pub fn blocks(&self) -> u64 {
        self.bytes.div_ceil(BLOCK_BYTES)
    }

    pub fn is_compressed(&self) -> bool {
        matches!(self.layout, Layout::Compressed { .. })
    }

    /// Where the last part of a file stands that is no whole block, of those that have it behind the inode.
    pub fn inline(&self) -> bool {
        matches!(self.layout, Layout::Inline { .. })
    }
}

/// The inode with this number.
pub fn read(from: &mut impl Metadata, number: u64) -> Result<Inode, Wrong> {
    let at = from.superblock().inode_at(number);
    let head = from.take(at, 2)?;
    let format = u32::from(u16_at(&head, 0).unwrap_or_default());
    let is_extended = format & 1 != 0;
    let bytes = if is_extended { EXTENDED_BYTES } else { COMPACT_BYTES };
    let held = from.take(at, bytes)?;
    let half = |at: usize| u32::from(u16_at(&held, at).unwrap_or_default());
    let word = |at: usize| u32_at(&held, at).unwrap_or_default();
    let long = |at: usize| u64_at(&held, at).unwrap_or_default();
    let mode = half(4);
    let kind = FileKind::from_mode(mode).ok_or_else(|| Wrong::new(at, format!("an inode of the mode {mode:#o}")))?;
    let xattrs_bytes = match half(2) {
        0 => 0,
        count => 12 + 4 * (u64::from(count) - 1),
    };
    let union = word(16);
    let layout =
        layout_of(format, union).ok_or_else(|| Wrong::new(at, format!("an inode of the format {format:#x}")))?;
    let superblock = from.superblock();
    let file_bytes = if is_extended { long(8) } else { word(8).into() };
    let most = match layout {
        Layout::Compressed { .. } => superblock.bytes().saturating_mul(EXPANDED_PER_IMAGE),
        _ => FILE_BYTES_MAX,
    };
    if file_bytes > most {
        return Err(Wrong::new(at, format!("an inode of {file_bytes} B")));
    }
    let is_content = matches!(kind, FileKind::File | FileKind::Directory | FileKind::Symlink);
    let (uid, gid, links) = if is_extended { (word(24), word(28), word(44)) } else { (half(24), half(26), half(6)) };
    let (modified_s, modified_ns) =
        if is_extended { (long(32), word(40)) } else { (superblock.made_s, superblock.made_ns) };
    Ok(Inode {
        number,
        kind,
        permissions: mode & 0o7777,
        uid,
        gid,
        links,
        device: if is_content { 0 } else { union },
        bytes: file_bytes,
        modified_s,
        modified_ns,
        compressed_blocks: if matches!(layout, Layout::Compressed { .. }) { union } else { 0 },
        layout,
        behind_offset: at.saturating_add(bytes as u64 + xattrs_bytes),
    })
}

fn layout_of(format: u32, union: u32) -> Option<Layout> {
    Some(match format >> 1 {
        0 => Layout::Plain { block: union },
        1 => Layout::Compressed { compact: false },
        2 => Layout::Inline { block: union },
        3 => Layout::Compressed { compact: true },
        4 if union & 0xFFFF & !(CHUNK_BITS | CHUNK_INDEXES) == 0 => {
            let entry_bytes = if union & CHUNK_INDEXES == 0 { 4 } else { 8 };
            Layout::Chunks { bits: BLOCK_BYTES.trailing_zeros() + (union & CHUNK_BITS), entry_bytes }
        }
        _ => return None,
    })
}
