//! The format on flash: sizes, codes and positions of fields.
//!
//! Follows `fs/ubifs/ubifs-media.h`. All numbers are little-endian.

pub const NODE_MAGIC: u32 = 0x0610_1831;
pub const FORMAT_VERSION: u32 = 5;
pub const RO_COMPAT_VERSION: u32 = 0;
/// Bytes of a data block: one page of the page cache.
pub const BLOCK_BYTES: u32 = 4096;
pub const BLOCK_SHIFT: u32 = 12;
pub const PADDING_BYTE: u8 = 0xCE;
pub const ROOT_INO: u32 = 1;
pub const FIRST_INO: u32 = 64;
pub const NAME_BYTES_MAX: usize = 255;
pub const LEVELS_MAX: u16 = 512;
pub const INODE_DATA_MAX: usize = 4096;
pub const LEB_BYTES_MIN: u32 = 15 * 1024;
/// Bytes of a key in index nodes.
pub const KEY_BYTES: u32 = 8;

// ---- journal heads ----------------------------------------------------------------------------------------------

pub const GC_HEAD: usize = 0;
pub const BASE_HEAD: usize = 1;
pub const DATA_HEAD: usize = 2;
pub const HEADS: usize = 3;

// ---- fixed places and least sizes -------------------------------------------------------------------------------

pub const SB_LNUM: u32 = 0;
pub const MASTER_LNUM: u32 = 1;
pub const LOG_LNUM: u32 = 3;
pub const LOG_LEBS_MIN: u32 = 2;
pub const BUD_LEBS_MIN: u32 = 3;
pub const JOURNAL_LEBS_MIN: u32 = LOG_LEBS_MIN + BUD_LEBS_MIN;
pub const LPT_LEBS_MIN: u32 = 2;
pub const ORPHAN_LEBS_MIN: u32 = 1;
pub const MAIN_LEBS_MIN: u32 = BUD_LEBS_MIN + 6;
/// Superblock, master pair, log, LPT, orphans, main area.
pub const LEBS_MIN: u32 = 1 + 2 + LOG_LEBS_MIN + LPT_LEBS_MIN + ORPHAN_LEBS_MIN + MAIN_LEBS_MIN;

// ---- kinds of nodes ---------------------------------------------------------------------------------------------

pub const INO_NODE: u8 = 0;
pub const DATA_NODE: u8 = 1;
pub const DENT_NODE: u8 = 2;
pub const XENT_NODE: u8 = 3;
pub const TRUN_NODE: u8 = 4;
pub const PAD_NODE: u8 = 5;
pub const SB_NODE: u8 = 6;
pub const MASTER_NODE: u8 = 7;
pub const REF_NODE: u8 = 8;
pub const IDX_NODE: u8 = 9;
pub const CS_NODE: u8 = 10;
pub const ORPHAN_NODE: u8 = 11;
pub const AUTH_NODE: u8 = 12;
pub const SIG_NODE: u8 = 13;

pub const NO_GROUP: u8 = 0;
pub const IN_GROUP: u8 = 1;
pub const LAST_OF_GROUP: u8 = 2;

// ---- sizes of nodes, in bytes -----------------------------------------------------------------------------------

pub const HEADER_BYTES: u32 = 24;
pub const INO_BYTES: u32 = 160;
pub const DATA_BYTES: u32 = 48;
pub const DENT_BYTES: u32 = 56;
pub const TRUN_BYTES: u32 = 56;
pub const PAD_BYTES: u32 = 28;
pub const SB_BYTES: u32 = 4096;
pub const MASTER_BYTES: u32 = 512;
pub const REF_BYTES: u32 = 64;
pub const IDX_BYTES: u32 = 28;
pub const BRANCH_BYTES: u32 = 12;
pub const CS_BYTES: u32 = 32;
pub const ORPHAN_BYTES: u32 = 32;
pub const DATA_BYTES_MAX: u32 = DATA_BYTES + BLOCK_BYTES;
pub const INO_BYTES_MAX: u32 = INO_BYTES + INODE_DATA_MAX as u32;
pub const DENT_BYTES_MAX: u32 = DENT_BYTES + NAME_BYTES_MAX as u32 + 1;
/// Largest node that a journal head takes.
pub const NODE_BYTES_MAX: u32 = INO_BYTES_MAX;
/// Least space that is worth a write (`MIN_WRITE_SZ`).
pub const WRITE_BYTES_MIN: u32 = DATA_BYTES + 8;

// ---- positions of fields ----------------------------------------------------------------------------------------

/// Common header.
pub mod header {
    pub const MAGIC: usize = 0;
    pub const CRC: usize = 4;
    pub const SQNUM: usize = 8;
    pub const LEN: usize = 16;
    pub const TYPE: usize = 20;
    pub const GROUP: usize = 21;
}

/// Where inode, data and entry nodes hold their key.
pub const KEY_AT: usize = 24;

/// Inode node.
pub mod ino {
    pub const CREAT_SQNUM: usize = 40;
    pub const SIZE: usize = 48;
    pub const ATIME_SEC: usize = 56;
    pub const CTIME_SEC: usize = 64;
    pub const MTIME_SEC: usize = 72;
    pub const ATIME_NSEC: usize = 80;
    pub const CTIME_NSEC: usize = 84;
    pub const MTIME_NSEC: usize = 88;
    pub const NLINK: usize = 92;
    pub const UID: usize = 96;
    pub const GID: usize = 100;
    pub const MODE: usize = 104;
    pub const FLAGS: usize = 108;
    pub const DATA_LEN: usize = 112;
    pub const XATTR_CNT: usize = 116;
    pub const XATTR_SIZE: usize = 120;
    pub const XATTR_NAMES: usize = 128;
    pub const COMPR_TYPE: usize = 132;
    pub const DATA: usize = 160;
}

/// Directory and extended attribute entry node.
pub mod dent {
    pub const INUM: usize = 40;
    pub const TYPE: usize = 49;
    pub const NLEN: usize = 50;
    pub const COOKIE: usize = 52;
    pub const NAME: usize = 56;
}

/// Data node.
pub mod data {
    pub const SIZE: usize = 40;
    pub const COMPR_TYPE: usize = 44;
    /// Of an encrypted node: its bytes before they were filled up.
    pub const COMPR_SIZE: usize = 46;
    pub const DATA: usize = 48;
}

/// Truncation node.
pub mod trun {
    pub const INUM: usize = 24;
    pub const OLD_SIZE: usize = 40;
    pub const NEW_SIZE: usize = 48;
}

/// Reference node of the log.
pub mod reference {
    pub const LNUM: usize = 24;
    pub const OFFS: usize = 28;
    pub const JHEAD: usize = 32;
}

/// Commit start node and orphan node.
pub const CMT_NO_AT: usize = 24;
pub const ORPHAN_INOS_AT: usize = 32;
/// In an orphan node's commit number: it is the last node of that commit.
pub const ORPHAN_LAST: u64 = 1 << 63;

/// Padding node.
pub const PAD_LEN_AT: usize = 24;

/// Index node.
pub mod idx {
    pub const CHILD_CNT: usize = 24;
    pub const LEVEL: usize = 26;
    pub const BRANCHES: usize = 28;
}

// ---- flags ------------------------------------------------------------------------------------------------------

pub const MASTER_DIRTY: u32 = 1;
pub const MASTER_NO_ORPHANS: u32 = 2;
pub const MASTER_RECOVERY: u32 = 4;

pub const SB_BIG_LPT: u32 = 0x02;
pub const SB_SPACE_FIXUP: u32 = 0x04;
pub const SB_DOUBLE_HASH: u32 = 0x08;
pub const SB_ENCRYPTION: u32 = 0x10;
pub const SB_AUTHENTICATION: u32 = 0x20;
pub const SB_FLAGS: u32 = 0x3E;

pub const INODE_COMPR: u32 = 0x01;
pub const INODE_SYNC: u32 = 0x02;
pub const INODE_IMMUTABLE: u32 = 0x04;
pub const INODE_APPEND: u32 = 0x08;
pub const INODE_DIRSYNC: u32 = 0x10;
pub const INODE_XATTR: u32 = 0x20;
pub const INODE_CRYPT: u32 = 0x40;

pub const KEY_HASH_R5: u8 = 0;
pub const KEY_HASH_TEST: u8 = 1;

// ---- reading and writing fields ---------------------------------------------------------------------------------

pub fn get_u16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map_or(0, u16::from_le_bytes)
}

#[inline]
pub fn get_u32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

#[inline]
pub fn get_u64(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

pub fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// `value` rounded up to a multiple of `unit`, a power of two.
#[inline]
pub const fn align(value: u32, unit: u32) -> u32 {
    (value + unit - 1) & !(unit - 1)
}

#[inline]
pub const fn align8(value: u32) -> u32 {
    align(value, 8)
}

/// CRC-32 as UBIFS stores it: begins with all ones and is not inverted at the end.
#[inline]
pub fn crc32(bytes: &[u8]) -> u32 {
    !crc32fast::hash(bytes)
}

/// Bytes of an index node with `children` branches.
#[inline]
pub const fn idx_node_bytes(children: u32) -> u32 {
    IDX_BYTES + (BRANCH_BYTES + KEY_BYTES) * children
}

/// Largest file: 2^29 blocks.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << (29 + BLOCK_SHIFT);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_the_one_of_the_kernel() {
        // crc32(0xFFFFFFFF, "123456789") without the final inversion.
        assert_eq!(crc32(b"123456789"), !0xCBF4_3926);
    }

    #[test]
    fn sizes_are_those_of_the_format() {
        assert_eq!((DATA_BYTES_MAX, INO_BYTES_MAX, DENT_BYTES_MAX), (4144, 4256, 312));
        assert_eq!((idx_node_bytes(1), idx_node_bytes(8), LEBS_MIN), (48, 188, 17));
    }
}
