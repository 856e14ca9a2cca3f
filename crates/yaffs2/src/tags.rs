//! Tags: what is written beside each chunk to say what it is.
//!
//! Follows `yaffs_packedtags2.c`. Four little-endian words: sequence number of the block, object, chunk of the file
//! (0: an object header), bytes. In the tags of a header the last two may hold an extract of the header instead, so that
//! a mount needs not read it ([`Extra`]).

/// Size of packed tags without their ECC.
pub const TAGS_BYTES: usize = 16;

const EXTRA_PRESENT: u32 = 1 << 31;
const EXTRA_SHRINK: u32 = 1 << 30;
const EXTRA_SHADOWS: u32 = 1 << 29;
const EXTRA_FLAGS: u32 = 0xF << 28;
const KIND_SHIFT: u32 = 28;

/// Kind of an object (`enum yaffs_obj_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    #[default]
    Unknown = 0,
    File = 1,
    Symlink = 2,
    Directory = 3,
    HardLink = 4,
    Special = 5,
}

impl Kind {
    pub fn from_number(number: u32) -> Kind {
        match number {
            1 => Kind::File,
            2 => Kind::Symlink,
            3 => Kind::Directory,
            4 => Kind::HardLink,
            5 => Kind::Special,
            _ => Kind::Unknown,
        }
    }
}

/// How reliable the bytes of a read are: the worse result of data and tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EccResult {
    #[default]
    NoError,
    Fixed,
    Unfixed,
}

/// The extract of an object header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    pub parent: u32,
    pub is_shrink: bool,
    pub shadows: bool,
    pub kind: Kind,
    /// Size of the file; only meaningful for files.
    pub file_bytes: u64,
    /// Object that a hard link stands for.
    pub equivalent: u32,
}

/// Tags, unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    /// The chunk is written.
    pub is_used: bool,
    pub object: u32,
    /// 0: an object header; else the position in the file, counted from 1.
    pub chunk: u32,
    /// Bytes of the file in a data chunk.
    pub count_bytes: u32,
    pub sequence: u32,
    pub extra: Option<Extra>,
    pub ecc: EccResult,
}

/// The words of packed tags after the sequence number: what a block summary keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words {
    pub object: u32,
    pub chunk: u32,
    pub bytes: u32,
}

impl Tags {
    /// Tags of a data chunk.
    pub fn of_data(object: u32, chunk: u32, count_bytes: u32) -> Tags {
        Tags { object, chunk, count_bytes, ..Tags::default() }
    }

    pub fn words(&self) -> Words {
        match self.extra {
            // Sizes of 2 GiB and more do not fit: then the header itself must be read.
            Some(extra) if self.chunk == 0 && !(extra.kind == Kind::File && extra.file_bytes >> 31 != 0) => Words {
                object: self.object & !EXTRA_FLAGS | (extra.kind as u32) << KIND_SHIFT,
                chunk: EXTRA_PRESENT
                    | extra.parent
                    | if extra.is_shrink { EXTRA_SHRINK } else { 0 }
                    | if extra.shadows { EXTRA_SHADOWS } else { 0 },
                bytes: match extra.kind {
                    Kind::HardLink => extra.equivalent,
                    Kind::File => extra.file_bytes as u32,
                    _ => 0,
                },
            },
            _ => Words { object: self.object, chunk: self.chunk, bytes: self.count_bytes },
        }
    }

    pub fn pack(&self) -> [u8; TAGS_BYTES] {
        let words = self.words();
        let mut packed = [0; TAGS_BYTES];
        packed[..4].copy_from_slice(&self.sequence.to_le_bytes());
        packed[4..8].copy_from_slice(&words.object.to_le_bytes());
        packed[8..12].copy_from_slice(&words.chunk.to_le_bytes());
        packed[12..].copy_from_slice(&words.bytes.to_le_bytes());
        packed
    }

    /// Unpacks tags. A sequence number of all ones is that of an erased page.
    pub fn unpack(packed: &[u8; TAGS_BYTES]) -> Tags {
        let word = |at: usize| u32::from_le_bytes([packed[at], packed[at + 1], packed[at + 2], packed[at + 3]]);
        let sequence = word(0);
        if sequence == u32::MAX {
            return Tags::default();
        }
        Tags::from_words(sequence, Words { object: word(4), chunk: word(8), bytes: word(12) })
    }

    pub fn from_words(sequence: u32, words: Words) -> Tags {
        let tags = Tags { is_used: true, sequence, ..Tags::default() };
        if words.chunk & EXTRA_PRESENT == 0 {
            return Tags { object: words.object, chunk: words.chunk, count_bytes: words.bytes, ..tags };
        }
        let kind = Kind::from_number(words.object >> KIND_SHIFT);
        let is_link = kind == Kind::HardLink;
        let extra = Extra {
            parent: words.chunk & !EXTRA_FLAGS,
            is_shrink: words.chunk & EXTRA_SHRINK != 0,
            shadows: words.chunk & EXTRA_SHADOWS != 0,
            kind,
            file_bytes: if is_link { 0 } else { u64::from(words.bytes) },
            equivalent: if is_link { words.bytes } else { 0 },
        };
        Tags { object: words.object & !EXTRA_FLAGS, extra: Some(extra), ..tags }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(tags: Tags) -> Tags {
        Tags::unpack(&Tags { sequence: 0x1234, ..tags }.pack())
    }

    #[test]
    fn data_tags_survive() {
        let tags = round(Tags::of_data(300, 77, 2048));
        assert_eq!((tags.object, tags.chunk, tags.count_bytes, tags.sequence), (300, 77, 2048, 0x1234));
        assert!(tags.is_used && tags.extra.is_none());
    }

    #[test]
    fn the_extract_of_a_header_survives() {
        let file = Extra { parent: 1, is_shrink: true, kind: Kind::File, file_bytes: 123_456, ..Extra::default() };
        assert_eq!(round(Tags { object: 257, extra: Some(file), ..Tags::default() }).extra, Some(file));
        let link = Extra { parent: 258, shadows: true, kind: Kind::HardLink, equivalent: 300, ..Extra::default() };
        assert_eq!(round(Tags { object: 299, extra: Some(link), ..Tags::default() }).extra, Some(link));
    }

    #[test]
    fn a_size_of_2_gib_has_no_extract() {
        let extra = Extra { parent: 1, kind: Kind::File, file_bytes: 1 << 31, ..Extra::default() };
        assert_eq!(round(Tags { object: 257, extra: Some(extra), ..Tags::default() }).extra, None);
    }

    #[test]
    fn erased_is_unused() {
        assert!(!Tags::unpack(&[0xFF; TAGS_BYTES]).is_used);
    }
}
