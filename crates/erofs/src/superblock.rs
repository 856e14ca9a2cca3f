//! The superblock of EROFS.

use ffslab_rawblock::little_endian::{u16_at, u32_at, u64_at};

/// Blocks of the image, and pages of memory.
pub const BLOCK_BYTES: u64 = 4096;
pub const MAGIC: u32 = 0xE0F5_E1E2;
/// Before it may stand what a boot loader needs.
pub const SUPERBLOCK_AT: usize = 1024;
const SUPERBLOCK_BYTES: usize = 128;
const BLOCK_BITS: u8 = 12;
const HAS_CHECK_SUM: u32 = 0x1;
const ZERO_PADDING: u32 = 0x1;
const COMPRESSOR_CONFIGS: u32 = 0x2;
/// Another device, or a second compressor: one bit stands for both.
const DEVICE_TABLE: u32 = 0x8;
const TAILS_PACKED: u32 = 0x10;
const FRAGMENTS: u32 = 0x20;
const FEATURES: u32 = 0x3F;
/// `EROFS_ALL_FEATURE_INCOMPAT` of its `erofs_fs.h`.
pub const FEATURES_OF_5_10: u32 = ZERO_PADDING;
const LZ4: u16 = 0x1;
const SLOT_BYTES: u64 = 32;

/// What it says.
#[derive(Clone, Copy, Debug)]
pub struct Superblock {
    pub root_number: u64,
    pub inodes_count: u64,
    pub made_s: u64,
    pub made_ns: u32,
    pub blocks_count: u32,
    pub metadata_block: u32,
    pub flags: u32,
    /// The inode in which fragments of files stand.
    pub packed_number: Option<u64>,
}

impl Superblock {
    /// The superblock of the image, whose first block `head` holds, if Linux 6.1 takes it.
    pub fn of(head: &[u8]) -> Option<Superblock> {
        Superblock::read(head)?.ok()
    }

    /// `None`: EROFS does not begin there.
    ///
    /// Errors: why it is not taken.
    pub fn read(head: &[u8]) -> Option<Result<Superblock, String>> {
        let head = head.get(..BLOCK_BYTES as usize)?;
        let here = &head[SUPERBLOCK_AT..];
        let flags = u32_at(here, 80)?;
        let fragments = flags & FRAGMENTS != 0;
        let found = Superblock {
            root_number: u16_at(here, 14)?.into(),
            inodes_count: u64_at(here, 16)?,
            made_s: u64_at(here, 24)?,
            made_ns: u32_at(here, 32)?,
            blocks_count: u32_at(here, 36)?,
            metadata_block: u32_at(here, 40)?,
            flags,
            packed_number: Some(u64_at(here, 96)?).filter(|&packed| fragments && packed != 0),
        };
        (u32_at(here, 0)? == MAGIC).then(|| found.check(here).map_or(Ok(found), Err))
    }

    /// Whether one that begins there has blocks of the only size that is read.
    pub fn is_usual(head: &[u8]) -> bool {
        head.get(SUPERBLOCK_AT + 12) == Some(&BLOCK_BITS)
    }

    /// Why it is not taken.
    fn check(&self, here: &[u8]) -> Option<String> {
        let block_bits = here[12];
        if block_bits != BLOCK_BITS {
            return Some(match block_bits {
                9..=16 => format!(
                    "its blocks have {} B, and only those of 4096 are read: mkfs.erofs -b 4096",
                    1 << block_bits
                ),
                _ => "its superblock is damaged: it says no size of blocks".to_string(),
            });
        }
        if u32_at(here, 8)? & HAS_CHECK_SUM != 0 && u32_at(here, 4)? != check_sum(here) {
            return Some("its superblock is damaged: the check sum does not fit".to_string());
        }
        if self.flags & !FEATURES != 0 {
            let unknown = self.flags & !FEATURES;
            return Some(format!("it needs features that Linux 6.1 has not (bits {unknown:#x})"));
        }
        let slots_bytes = usize::from(here[13]) * 16;
        if SUPERBLOCK_BYTES + slots_bytes > here.len() || here[90] != 0 {
            return Some("its superblock is damaged".to_string());
        }
        let algorithms = if self.flags & COMPRESSOR_CONFIGS != 0 { u16_at(here, 84)? } else { LZ4 };
        if algorithms & !LZ4 != 0 {
            return Some(
                "it is compressed with something else than lz4, which is not read: mkfs.erofs -z lz4 or lz4hc"
                    .to_string(),
            );
        }
        if self.flags & DEVICE_TABLE != 0 && u16_at(here, 86)? != 0 {
            return Some("a part of it stands on other devices".to_string());
        }
        (self.blocks_count == 0).then(|| "its superblock is damaged: it has no blocks".to_string())
    }

    pub fn bytes(&self) -> u64 {
        u64::from(self.blocks_count) * BLOCK_BYTES
    }

    /// Where an inode stands, by its number.
    pub fn inode_at(&self, number: u64) -> u64 {
        (u64::from(self.metadata_block) * BLOCK_BYTES).saturating_add(number.saturating_mul(SLOT_BYTES))
    }

    /// Compressed bytes end with their block; otherwise they begin with it.
    pub fn is_padded_before(&self) -> bool {
        self.flags & ZERO_PADDING != 0
    }

    pub fn has_big_clusters(&self) -> bool {
        self.flags & COMPRESSOR_CONFIGS != 0
    }

    /// Whether files have a head before their index, whatever kind that is.
    pub fn has_heads(&self) -> bool {
        self.flags & (COMPRESSOR_CONFIGS | TAILS_PACKED | FRAGMENTS) != 0
    }

    /// By their names in `fs/erofs/erofs_fs.h`.
    pub fn feature_names(&self) -> Vec<&'static str> {
        let known = [
            (ZERO_PADDING, "zero padding"),
            (COMPRESSOR_CONFIGS, "big physical clusters"),
            (0x4, "chunked files"),
            (DEVICE_TABLE, "second compressor or device table"),
            (TAILS_PACKED, "packed tails"),
            (FRAGMENTS, "fragments or equal clusters stored once"),
        ];
        known.into_iter().filter(|(bit, _)| self.flags & bit != 0).map(|(_, name)| name).collect()
    }
}

/// CRC-32C over the rest of the block, in which its own place counts as zeros; not inverted at the end.
fn check_sum(here: &[u8]) -> u32 {
    let bytes = here.iter().enumerate().map(|(at, &byte)| if (4..8).contains(&at) { 0 } else { byte });
    bytes.fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 0 { sum >> 1 } else { sum >> 1 ^ 0x82F6_3B78 })
    })
}
