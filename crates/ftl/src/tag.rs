//! The record in the out-of-band area of each page: what the page holds and when it was written.
//!
//! The out-of-band area is not covered by the ECC of all drivers, so the record repairs one wrong bit by itself: its CRC-32
//! tells which one it is.

use crate::config::{FtlError, TAG_BYTES};

/// A logical page.
pub const KIND_DATA: u8 = 1;
/// A page of trim bits.
pub const KIND_TRIM: u8 = 3;
/// A page of the map.
pub const KIND_MAP: u8 = 4;
/// A page of a checkpoint; the number is its place in it.
pub const KIND_CHECKPOINT: u8 = 2;

/// The bytes could not be read any more when they were moved: what stands here is wrong.
pub const FLAG_LOST: u8 = 1;
/// The first page that was written in a block that a mount found begun.
pub const FLAG_RESUMED: u8 = 2;

/// Above the flags stands how often the page was copied inside the chip since ECC has seen its data.
const COPY_BACKS_SHIFT: u32 = 4;
/// What there is room to count.
pub const COPY_BACKS_MAX: u32 = 15;

/// The record of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    pub kind: u8,
    /// [`FLAG_LOST`] and [`FLAG_RESUMED`]; above them a number ([`Tag::copy_backs`]).
    pub flags_bits: u8,
    pub number: u32,
    /// Ascending over all programs of the device; 48 bits are stored.
    pub sequence: u64,
    /// Erases of the block when the page was written.
    pub erases: u32,
    /// CRC-32 of the page's data.
    pub data_crc: u32,
}

/// What an out-of-band area holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Erased,
    Tag(Tag),
    /// Neither: a program or an erase was cut off there, or too many bits are wrong.
    Garbage,
}

impl Found {
    /// Whether the bytes of the page could not be read any more when they were moved there.
    pub fn is_lost(&self) -> bool {
        matches!(self, Found::Tag(tag) if tag.flags_bits & FLAG_LOST != 0)
    }
}

impl Tag {
    pub fn encode(&self) -> [u8; TAG_BYTES] {
        let mut bytes = [0; TAG_BYTES];
        bytes[0] = self.kind;
        bytes[1] = self.flags_bits;
        bytes[2..6].copy_from_slice(&self.number.to_le_bytes());
        bytes[6..12].copy_from_slice(&self.sequence.to_le_bytes()[..6]);
        bytes[12..16].copy_from_slice(&self.erases.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.data_crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..20]);
        bytes[20..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8; TAG_BYTES]) -> Found {
        // One wrong bit in an erased area is still an erased area.
        if bytes.iter().map(|byte| byte.count_zeros()).sum::<u32>() <= 1 {
            return Found::Erased;
        }
        if is_sound(bytes) {
            return Found::Tag(Tag::of(bytes));
        }
        let mut repaired = *bytes;
        for bit in 0..TAG_BYTES * 8 {
            repaired[bit / 8] ^= 1 << (bit % 8);
            if is_sound(&repaired) {
                return Found::Tag(Tag::of(&repaired));
            }
            repaired[bit / 8] ^= 1 << (bit % 8);
        }
        Found::Garbage
    }

    /// How often the page was copied inside the chip since ECC has seen its data.
    pub fn copy_backs(&self) -> u32 {
        u32::from(self.flags_bits >> COPY_BACKS_SHIFT)
    }

    /// The same with these flags, and this count of copies.
    pub fn with_flags(self, flags_bits: u8, copy_backs: u32) -> Tag {
        debug_assert!(copy_backs <= COPY_BACKS_MAX && flags_bits >> COPY_BACKS_SHIFT == 0);
        Tag { flags_bits: flags_bits | (copy_backs as u8) << COPY_BACKS_SHIFT, ..self }
    }

    fn of(bytes: &[u8; TAG_BYTES]) -> Tag {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let mut sequence = [0; 8];
        sequence[..6].copy_from_slice(&bytes[6..12]);
        Tag {
            kind: bytes[0],
            flags_bits: bytes[1],
            number: number(2),
            sequence: u64::from_le_bytes(sequence),
            erases: number(12),
            data_crc: number(16),
        }
    }
}

fn is_sound(bytes: &[u8; TAG_BYTES]) -> bool {
    crc32fast::hash(&bytes[..20]).to_le_bytes() == bytes[20..]
}

/// # Errors
/// There is no room for the record.
pub fn check_room(oob_free_bytes: u32) -> Result<(), FtlError> {
    if oob_free_bytes < TAG_BYTES as u32 {
        return Err(FtlError::NoOob { oob_free_bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: Tag = Tag {
        kind: KIND_DATA,
        flags_bits: 0,
        number: 77,
        sequence: 0x1234_5678_9ABC,
        erases: 9,
        data_crc: 0xDEAD_BEEF,
    };

    #[test]
    fn a_record_survives_any_single_bit_flip() {
        for bit in 0..TAG_BYTES * 8 {
            let mut bytes = TAG.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Tag::decode(&bytes), Found::Tag(TAG), "bit {bit}");
        }
    }

    #[test]
    fn a_torn_record_is_none() {
        for kept in 1..TAG_BYTES - 1 {
            let mut bytes = TAG.encode();
            bytes[kept..].fill(0xFF);
            assert_eq!(Tag::decode(&bytes), Found::Garbage, "{kept} bytes");
        }
        assert_eq!(Tag::decode(&[0xFF; TAG_BYTES]), Found::Erased);
    }
}
