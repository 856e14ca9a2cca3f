//! Images of YAFFS1 (pages of 512 + 16 B), made into images of YAFFS2 that hold the same.
//!
//! The 8 bytes of tags are bit fields (`yaffs_packedtags1.h`, `yaffs_tagscompat.c`), which compilers for big-endian processors fill
//! from the other end. They stand between the ECC of the data, as `mkyaffsimage` writes them, or at the end of the OOB area. A page
//! is deleted by bits of its status byte; of two pages with the same tags the one with the next serial number counts.

use super::foreign::{looks_like_header, swap_header};
use crate::scan::SEQUENCE_LOWEST;
use crate::tags::{Kind, Tags};
use std::collections::BTreeMap;

pub const PAGE_BYTES: usize = 512;
pub const OOB_BYTES: usize = 16;
const STRIDE: usize = PAGE_BYTES + OOB_BYTES;
/// The places of tags, and of the status byte if there is one.
const PLACES: [([usize; 8], Option<usize>); 2] =
    [([0, 1, 2, 3, 6, 7, 11, 12], Some(4)), ([8, 9, 10, 11, 12, 13, 14, 15], None)];
/// Pages of the image that is made.
const NEW_PAGE_BYTES: usize = 2048;
const NEW_OOB_BYTES: usize = 64;
const PIECES: usize = NEW_PAGE_BYTES / PAGE_BYTES;
const SIZE_AT: usize = 292;
/// A status byte with fewer bits set marks a deleted page.
const STATUS_BITS_MIN: u32 = 7;
/// So many pages are looked at, and one in so many may have wrong tags.
const SAMPLE_PAGES: usize = 4096;
const WRONG_SHARE: usize = 8;

#[derive(Clone, Copy)]
struct Fields {
    chunk: u32,
    serial: u32,
    count_bytes: u32,
    object: u32,
    is_right: bool,
}

/// How tags are packed.
#[derive(Clone, Copy)]
struct Packing {
    places: [usize; 8],
    status: Option<usize>,
    is_big_endian: bool,
}

/// The same files as an image of YAFFS2 with pages of 2048 + 64 B, and whether the numbers were big-endian. `None`: it is no image of
/// YAFFS1.
pub fn as_yaffs2(image: &[u8]) -> Option<(Vec<u8>, bool)> {
    let packing = packing_of(image)?;
    Some((packing.rebuilt(image), packing.is_big_endian))
}

/// Whether it is an image of YAFFS1.
pub fn is_one(image: &[u8]) -> bool {
    packing_of(image).is_some()
}

fn packing_of(image: &[u8]) -> Option<Packing> {
    let packings = PLACES
        .into_iter()
        .flat_map(|(places, status)| [false, true].map(|is_big_endian| Packing { places, status, is_big_endian }));
    packings
        .filter_map(|packing| Some((packing, packing.score(image)?)))
        .max_by_key(|(_, score)| *score)
        .map(|(one, _)| one)
}

impl Packing {
    fn fields(&self, oob: &[u8]) -> Option<Fields> {
        let bytes = self.places.map(|at| oob[at]);
        if bytes == [0xFF; 8] {
            return None;
        }
        let (word, chunk, serial, low, object, ecc, high) = if self.is_big_endian {
            let word = u64::from_be_bytes(bytes);
            (word, word >> 44, word >> 42, word >> 32 & 0x3FF, word >> 14, word >> 2 & 0xFFF, word & 3)
        } else {
            let word = u64::from_le_bytes(bytes);
            (word, word, word >> 20, word >> 22 & 0x3FF, word >> 32, word >> 50 & 0xFFF, word >> 62)
        };
        // The ECC is the XOR of the numbers of all bits that are set, byte by byte, without its own.
        let without = if self.is_big_endian { word & !(0xFFF << 2) } else { word & !(0xFFF << 50) };
        let ordered = if self.is_big_endian { without.to_be_bytes() } else { without.to_le_bytes() };
        let set = (0..64_u64).filter(|bit| ordered[*bit as usize / 8] >> (bit % 8) & 1 == 1);
        let count = low | high << 10;
        Some(Fields {
            chunk: (chunk & 0xF_FFFF) as u32,
            serial: (serial & 3) as u32,
            // Tools leave the bits above 512 B as they are erased.
            count_bytes: (if count <= PAGE_BYTES as u64 { count } else { low }) as u32,
            object: (object & 0x3_FFFF) as u32,
            is_right: set.fold(0, |sum, bit| sum ^ (bit + 1)) == ecc,
        })
    }

    /// Pages with right tags. `None`: there is no header, or too many are wrong.
    fn score(&self, image: &[u8]) -> Option<usize> {
        let (mut right, mut wrong, mut headers) = (0, 0, 0);
        for page in image.chunks_exact(STRIDE).take(SAMPLE_PAGES) {
            let (data, oob) = page.split_at(PAGE_BYTES);
            let Some(fields) = self.fields(oob) else { continue };
            let is_header = fields.chunk == 0 && looks_like_header(data, self.is_big_endian);
            let suits = fields.is_right && fields.object > 0 && (fields.chunk > 0 || is_header);
            headers += usize::from(suits && is_header);
            *(if suits { &mut right } else { &mut wrong }) += 1;
        }
        (headers > 0 && wrong * WRONG_SHARE <= right).then_some(right)
    }

    fn rebuilt(&self, image: &[u8]) -> Vec<u8> {
        let mut newest: BTreeMap<(u32, u32), (Fields, &[u8])> = BTreeMap::new();
        for page in image.chunks_exact(STRIDE) {
            let (data, oob) = page.split_at(PAGE_BYTES);
            let is_deleted = self.status.is_some_and(|at| oob[at].count_ones() < STATUS_BITS_MIN);
            let Some(fields) = self.fields(oob).filter(|fields| fields.is_right && !is_deleted) else { continue };
            let before = newest.get(&(fields.object, fields.chunk));
            if before.is_none_or(|(before, _)| fields.serial != before.serial.wrapping_sub(1) & 3) {
                newest.insert((fields.object, fields.chunk), (fields, data));
            }
        }
        let mut made = Vec::new();
        let objects: Vec<u32> = newest.keys().filter(|(_, chunk)| *chunk == 0).map(|(object, _)| *object).collect();
        for object in objects {
            let mut header = newest[&(object, 0)].1.to_vec();
            if self.is_big_endian {
                swap_header(&mut header);
            }
            push(&mut made, &header, Tags::of_data(object, 0, 0xFFFF));
            let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            if Kind::from_number(word(0)) != Kind::File {
                continue;
            }
            let size = word(SIZE_AT);
            let mut pieces: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            for (&(_, chunk), (fields, data)) in newest.range((object, 1)..=(object, u32::MAX)) {
                let (index, piece) = ((chunk - 1) / PIECES as u32, (chunk - 1) as usize % PIECES);
                let count = fields.count_bytes as usize;
                pieces.entry(index).or_insert_with(|| vec![0; NEW_PAGE_BYTES])[piece * PAGE_BYTES..][..count]
                    .copy_from_slice(&data[..count]);
            }
            for (index, data) in pieces {
                let from = index * NEW_PAGE_BYTES as u32;
                if from < size {
                    let count = (size - from).min(NEW_PAGE_BYTES as u32);
                    push(&mut made, &data, Tags::of_data(object, index + 1, count));
                }
            }
        }
        made
    }
}

fn push(made: &mut Vec<u8>, data: &[u8], tags: Tags) {
    let start = made.len();
    made.extend_from_slice(data);
    made.resize(start + NEW_PAGE_BYTES + 2, 0xFF);
    made.extend_from_slice(&Tags { sequence: SEQUENCE_LOWEST, ..tags }.pack());
    made.resize(start + NEW_PAGE_BYTES + NEW_OOB_BYTES, 0xFF);
}
