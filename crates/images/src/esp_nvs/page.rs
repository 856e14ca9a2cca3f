//! A page of ESP-IDF's NVS: a header, two bits of state for each entry, and entries of 32 B.

use crate::little_endian::u32_at;
use ffslab_mtd::is_erased;
use std::ops::Range;

pub const PAGE_BYTES: usize = 4096;
pub const ENTRY_BYTES: usize = 32;
pub const ENTRIES: usize = 126;
const STATES_AT: usize = 32;
pub const ENTRIES_AT: usize = 64;
/// Of the header: everything but the state is covered by its check sum.
const SEQUENCE_AT: usize = 4;
const VERSION_AT: usize = 8;
const RESERVED: Range<usize> = 9..28;
const HEADER_CRC_AT: usize = 28;
/// Chunks of a blob count from 0 or from 128 on; no chunk has this number, which says "none".
pub const NO_CHUNK: u8 = 0xFF;

/// What an item is, by its number.
pub const TEXT: u8 = 0x21;
/// A blob as ESP-IDF before 3.2 wrote it, in one page.
pub const OLD_BLOB: u8 = 0x41;
pub const CHUNK: u8 = 0x42;
/// What says how many chunks a blob has.
pub const INDEX: u8 = 0x48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Erased, or its state is that of an erased one.
    Unused,
    Active,
    Full,
    /// Its items are being copied to another page.
    Freeing,
    /// What no NVS writes.
    Impossible,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    Empty,
    Written,
    Erased,
    /// What no NVS writes.
    Impossible,
}

pub struct Page<'i> {
    pub number: u32,
    /// Position in the image.
    pub at_bytes: usize,
    /// Fewer than a page's where the image ends.
    bytes: &'i [u8],
}

/// The head of an item: its first entry.
#[derive(Clone, Debug)]
pub struct Head {
    pub namespace_number: u8,
    pub kind: u8,
    pub span_entries: usize,
    pub chunk: u8,
    pub key: Vec<u8>,
    pub data: [u8; 8],
}

pub fn check_sum(parts: &[&[u8]]) -> u32 {
    // That of zlib, begun with all ones instead of zeros.
    let mut crc = crc32fast::Hasher::new_with_initial(u32::MAX);
    parts.iter().for_each(|part| crc.update(part));
    crc.finalize()
}

impl<'i> Page<'i> {
    /// All pages of an image, the last as far as it is there.
    pub fn all(image: &'i [u8]) -> impl Iterator<Item = Page<'i>> {
        let pages = (0..).zip(image.chunks(PAGE_BYTES));
        pages.map(|(number, bytes)| Page { number, at_bytes: number as usize * PAGE_BYTES, bytes })
    }

    /// What would be a page if one began there.
    pub fn at(image: &'i [u8], at_bytes: usize) -> Page<'i> {
        Page { number: 0, at_bytes, bytes: image.get(at_bytes..).unwrap_or_default() }
    }

    pub fn is_erased(&self) -> bool {
        is_erased(self.bytes)
    }

    /// By the field of its header, to which no check sum belongs.
    pub fn state(&self) -> PageState {
        match u32_at(self.bytes, 0).unwrap_or(0) {
            0xFFFF_FFFF => PageState::Unused,
            0xFFFF_FFFE => PageState::Active,
            0xFFFF_FFFC => PageState::Full,
            0xFFFF_FFF8 => PageState::Freeing,
            _ => PageState::Impossible,
        }
    }

    pub fn sequence(&self) -> u32 {
        u32_at(self.bytes, SEQUENCE_AT).unwrap_or(0)
    }

    /// Of the format: 1, or 2 since blobs may have several chunks. The field counts down from 255.
    pub fn version(&self) -> u32 {
        256 - u32::from(*self.bytes.get(VERSION_AT).unwrap_or(&0))
    }

    /// Whether its header has a right check sum, and says what such a header can say.
    pub fn is_header_right(&self) -> bool {
        let Some(header) = self.bytes.get(..STATES_AT) else { return false };
        u32_at(header, HEADER_CRC_AT) == Some(check_sum(&[&header[SEQUENCE_AT..HEADER_CRC_AT]]))
            && is_erased(&header[RESERVED])
            && (1..=2).contains(&self.version())
    }

    /// Of these entries something is in the image.
    pub fn entries(&self) -> usize {
        self.bytes.len().saturating_sub(ENTRIES_AT).div_ceil(ENTRY_BYTES).min(ENTRIES)
    }

    pub fn entry_state(&self, entry: usize) -> EntryState {
        match self.bytes.get(STATES_AT + entry / 4).unwrap_or(&0xFF) >> (entry % 4 * 2) & 3 {
            3 => EntryState::Empty,
            2 => EntryState::Written,
            0 => EntryState::Erased,
            _ => EntryState::Impossible,
        }
    }

    /// Whether all these entries are in that state.
    pub fn are(&self, mut entries: Range<usize>, state: EntryState) -> bool {
        entries.all(|entry| self.entry_state(entry) == state)
    }

    /// Position of an entry in the page.
    pub fn offset(entry: usize) -> usize {
        ENTRIES_AT + entry * ENTRY_BYTES
    }

    /// The bytes of an entry. `None`: the image ends before it does.
    pub fn entry(&self, entry: usize) -> Option<&'i [u8]> {
        self.bytes.get(Self::offset(entry)..Self::offset(entry + 1))
    }

    pub fn is_entry_erased(&self, entry: usize) -> bool {
        let from = Self::offset(entry).min(self.bytes.len());
        is_erased(&self.bytes[from..Self::offset(entry + 1).min(self.bytes.len())])
    }

    /// What stands in an entry, read as the head of an item, and whether its check sum is right and it says what a head there can say.
    pub fn head(&self, entry: usize) -> Option<(Head, bool)> {
        let bytes = self.entry(entry)?;
        let key = &bytes[8..24];
        let head = Head {
            namespace_number: bytes[0],
            kind: bytes[1],
            span_entries: usize::from(bytes[2]),
            chunk: bytes[3],
            key: key.split(|&byte| byte == 0).next().unwrap_or_default().to_vec(),
            data: *bytes[24..].first_chunk()?,
        };
        let is_right = u32_at(bytes, 4) == Some(check_sum(&[&bytes[..4], key, &bytes[24..]]));
        let is_possible = key[15] == 0 && head.is_possible(entry);
        Some((head, is_right && is_possible))
    }

    /// The position in the image of the data behind a head, and whether their check sum is right. `None`: they are not all there.
    pub fn data(&self, entry: usize, head: &Head) -> Option<(Range<usize>, bool)> {
        let from = Self::offset(entry + 1);
        let data = self.bytes.get(from..from + head.data_bytes())?;
        let at = self.at_bytes + from;
        Some((at..at + data.len(), u32_at(&head.data, 4) == Some(check_sum(&[data]))))
    }
}

impl Head {
    pub fn has_data(&self) -> bool {
        matches!(self.kind, TEXT | OLD_BLOB | CHUNK)
    }

    /// Bytes of the data behind it.
    pub fn data_bytes(&self) -> usize {
        usize::from(u16::from_le_bytes([self.data[0], self.data[1]]))
    }

    /// Bytes of the blob that it is the index of, how many chunks it has, and the number of the first.
    pub fn index(&self) -> (u32, u8, u8) {
        (u32_at(&self.data, 0).unwrap_or(0), self.data[4], self.data[5])
    }

    /// The number that it holds. `None`: it holds something else.
    pub fn number(&self) -> Option<(&'static str, usize, String)> {
        let word = u64::from_le_bytes(self.data);
        Some(match self.kind {
            0x01 => ("u8", 1, (word as u8).to_string()),
            0x11 => ("i8", 1, (word as i8).to_string()),
            0x02 => ("u16", 2, (word as u16).to_string()),
            0x12 => ("i16", 2, (word as i16).to_string()),
            0x04 => ("u32", 4, (word as u32).to_string()),
            0x14 => ("i32", 4, (word as i32).to_string()),
            0x08 => ("u64", 8, word.to_string()),
            0x18 => ("i64", 8, (word as i64).to_string()),
            0x24 => ("float", 4, f32::from_bits(word as u32).to_string()),
            0x28 => ("double", 8, f64::from_bits(word).to_string()),
            _ => return None,
        })
    }

    /// Whether type, span, chunk and size can go together at this entry of a page.
    fn is_possible(&self, entry: usize) -> bool {
        let is_chunk = self.chunk != NO_CHUNK;
        match self.kind {
            TEXT | OLD_BLOB | CHUNK => {
                self.span_entries == 1 + self.data_bytes().div_ceil(ENTRY_BYTES)
                    && entry + self.span_entries <= ENTRIES
                    && is_chunk == (self.kind == CHUNK)
            }
            INDEX => self.span_entries == 1 && !is_chunk,
            _ => self.span_entries == 1 && self.number().is_some(),
        }
    }
}
