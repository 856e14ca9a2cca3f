//! Keys of the index: an inode number, then kind and block number or name hash.
//!
//! Follows `fs/ubifs/key.h`.

use crate::format::{get_u32, put_u32, KEY_HASH_TEST};

/// Kinds, in the order in which the index sorts the parts of an inode.
pub const INO_KEY: u32 = 0;
pub const DATA_KEY: u32 = 1;
pub const DENT_KEY: u32 = 2;
pub const XENT_KEY: u32 = 3;
/// Key of a truncation node. It occurs only in the list that a replay sorts, never in the index.
pub const TRUN_KEY: u32 = 4;

const KIND_SHIFT: u32 = 29;
pub const BLOCK_MASK: u32 = 0x1FFF_FFFF;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub ino: u32,
    /// Kind, then block number or hash.
    pub tail: u32,
}

impl Key {
    pub const fn inode(ino: u32) -> Key {
        Key { ino, tail: INO_KEY << KIND_SHIFT }
    }

    pub const fn data(ino: u32, block: u32) -> Key {
        Key { ino, tail: (block & BLOCK_MASK) | DATA_KEY << KIND_SHIFT }
    }

    pub const fn dent(ino: u32, hash: u32) -> Key {
        Key { ino, tail: (hash & BLOCK_MASK) | DENT_KEY << KIND_SHIFT }
    }

    pub const fn xent(ino: u32, hash: u32) -> Key {
        Key { ino, tail: (hash & BLOCK_MASK) | XENT_KEY << KIND_SHIFT }
    }

    pub const fn truncation(ino: u32) -> Key {
        Key { ino, tail: TRUN_KEY << KIND_SHIFT }
    }

    /// Lowest key of an inode.
    pub const fn lowest(ino: u32) -> Key {
        Key { ino, tail: 0 }
    }

    /// Above every key of an inode.
    pub const fn highest(ino: u32) -> Key {
        Key { ino, tail: u32::MAX }
    }

    #[inline]
    pub const fn kind(self) -> u32 {
        self.tail >> KIND_SHIFT
    }

    #[inline]
    pub const fn block(self) -> u32 {
        self.tail & BLOCK_MASK
    }

    #[inline]
    pub const fn hash(self) -> u32 {
        self.tail & BLOCK_MASK
    }

    /// Whether the key holds a name hash, which several entries may share.
    #[inline]
    pub const fn is_hashed(self) -> bool {
        matches!(self.kind(), DENT_KEY | XENT_KEY)
    }

    /// A number that orders keys as the index does, so that two keys are compared at once.
    #[inline]
    pub const fn order(self) -> u64 {
        (self.ino as u64) << 32 | self.tail as u64
    }

    #[inline]
    pub fn read(bytes: &[u8], at: usize) -> Key {
        Key { ino: get_u32(bytes, at), tail: get_u32(bytes, at + 4) }
    }

    /// Writes the 8 bytes of an index branch.
    pub fn write(self, bytes: &mut [u8], at: usize) {
        put_u32(bytes, at, self.ino);
        put_u32(bytes, at + 4, self.tail);
    }

    /// Writes the 16 bytes of a node, of which the second half is zero.
    pub fn write_in_node(self, bytes: &mut [u8], at: usize) {
        self.write(bytes, at);
        bytes[at + 8..at + 16].fill(0);
    }
}

/// Hash of a name. Small values stand for `.` and `..` in directory positions and are moved away.
pub fn name_hash(hash_type: u8, name: &[u8]) -> u32 {
    let hash = if hash_type == KEY_HASH_TEST { test_hash(name) } else { r5_hash(name) } & BLOCK_MASK;
    if hash <= 2 {
        hash + 3
    } else {
        hash
    }
}

/// The R5 hash of ReiserFS, over signed bytes.
fn r5_hash(name: &[u8]) -> u32 {
    name.iter().fold(0u32, |hash, &byte| {
        let signed = byte as i8 as i32;
        hash.wrapping_add((signed << 4) as u32).wrapping_add((signed >> 4) as u32).wrapping_mul(11)
    })
}

fn test_hash(name: &[u8]) -> u32 {
    let mut bytes = [0; 4];
    let count = name.len().min(4);
    bytes[..count].copy_from_slice(&name[..count]);
    u32::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_by_inode_then_kind_then_block() {
        let sorted = [Key::inode(5), Key::data(5, 0), Key::data(5, 7), Key::dent(5, 3), Key::xent(5, 1), Key::inode(6)];
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(Key::dent(5, 3).is_hashed() && !Key::data(5, 3).is_hashed());
    }

    #[test]
    fn hashes_avoid_the_positions_of_the_dots() {
        assert_eq!(name_hash(0, b""), 3);
        // One letter: (97 << 4) + (97 >> 4) = 1558, times 11.
        assert_eq!(name_hash(0, b"a"), 17_138);
    }
}
