//! Where the structures of UBI and UBIFS stand in an image, and how their check sums are made right after damage.
//!
//! From Linux 6.1 `drivers/mtd/ubi/ubi-media.h`, `fs/ubifs/ubifs-media.h` and, for the sizes of LPT nodes, `fs/ubifs/lpt.c`
//! (`ubifs_calc_lpt_geom`, small model); written without the code under test.

use ffslab_flash::Geometry;
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    EcHeader,
    /// Of a block whose data begin at this place.
    VidHeader {
        data: usize,
    },
    VolumeRecord,
    Node,
    LptNode,
}

/// Something with a check sum. Places are those in the image without OOB.
#[derive(Clone, Debug)]
pub struct Structure {
    kind: Kind,
    pub place: Range<usize>,
}

/// Where the header of the volume and the data stand in a block, and the unit of writes of UBIFS. NOR, which has no
/// out-of-band bytes, is written byte by byte.
fn places(geometry: Geometry) -> [usize; 3] {
    match geometry.oob_bytes {
        0 => [UBI_HEADER_BYTES, 2 * UBI_HEADER_BYTES, 8],
        _ => [512, geometry.page_bytes as usize, geometry.page_bytes as usize],
    }
}

const UBI_HEADER_BYTES: usize = 64;
const VOLUME_RECORD_BYTES: usize = 172;
const LAYOUT_VOLUME: u32 = 0x7FFF_EFFF;
const NODE_MAGIC: [u8; 4] = 0x0610_1831_u32.to_le_bytes();
const NODE_HEADER_BYTES: usize = 24;
const LOG_LNUM: u32 = 3;

fn be_word(data: &[u8], at: usize) -> u32 {
    le_word(data, at).swap_bytes()
}

fn le_word(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}

/// All of them, in the order in which they can be sealed: what a header has a check sum of comes before it.
pub fn structures(data: &[u8], geometry: Geometry) -> Vec<Structure> {
    let [vid_header_at, data_at, unit_bytes] = places(geometry);
    let block_bytes = geometry.block_bytes() as usize;
    let mut found = Vec::new();
    let mut headers = Vec::new();
    // Start of the data of each LEB of the user's volume, of the copy written last.
    let mut lebs: BTreeMap<u32, (u64, usize)> = BTreeMap::new();
    for start in (0..data.len()).step_by(block_bytes) {
        let vid = start + vid_header_at;
        let leb = start + data_at..start + block_bytes;
        if data[start..].starts_with(b"UBI#") {
            headers.push(Structure { kind: Kind::EcHeader, place: start..start + UBI_HEADER_BYTES });
        }
        if !data[vid..].starts_with(b"UBI!") {
            continue;
        }
        headers.push(Structure { kind: Kind::VidHeader { data: leb.start }, place: vid..vid + UBI_HEADER_BYTES });
        if be_word(data, vid + 8) == LAYOUT_VOLUME {
            let records = leb.clone().step_by(VOLUME_RECORD_BYTES).take(128);
            let place = |at| at..at + VOLUME_RECORD_BYTES;
            let inside = records.map(place).filter(|place| place.end <= leb.end);
            found.extend(inside.map(|place| Structure { kind: Kind::VolumeRecord, place }));
            continue;
        }
        let number = u64::from(be_word(data, vid + 40)) << 32 | u64::from(be_word(data, vid + 44));
        let newest = lebs.entry(be_word(data, vid + 12)).or_insert((number, leb.start));
        *newest = (*newest).max((number, leb.start));
        find_nodes(data, leb, &mut found);
    }
    let leb_bytes = block_bytes - data_at;
    if let Some(lpt) = lebs.get(&0).and_then(|&(_, start)| LptSizes::of(&data[start..start + leb_bytes], leb_bytes)) {
        for (_, &(_, start)) in lebs.range(lpt.lebs.clone()) {
            lpt.find_nodes(data, start..start + leb_bytes, unit_bytes, &mut found);
        }
    }
    found.append(&mut headers);
    found
}

fn find_nodes(data: &[u8], leb: Range<usize>, found: &mut Vec<Structure>) {
    let mut at = leb.start;
    while at + NODE_HEADER_BYTES <= leb.end {
        let length = le_word(data, at + 16) as usize;
        if !data[at..].starts_with(&NODE_MAGIC) || length < NODE_HEADER_BYTES || length > leb.end - at {
            at += 8;
            continue;
        }
        found.push(Structure { kind: Kind::Node, place: at..at + length });
        at += length.next_multiple_of(8);
    }
}

/// Sizes of the LPT's nodes, and the LEBs in which they stand.
struct LptSizes {
    lebs: Range<u32>,
    /// Of pnodes, nnodes, the ltab.
    bytes: [usize; 3],
}

impl LptSizes {
    /// `None`: the superblock cannot be right.
    fn of(superblock: &[u8], leb_bytes: usize) -> Option<LptSizes> {
        let [log, lpt] = [56, 60].map(|at| le_word(superblock, at));
        if log > 1_000 || lpt > 1_000 {
            return None;
        }
        let bits = |value: usize| usize::BITS - value.leading_zeros();
        let lpt_lnum_bits = bits(lpt as usize);
        let space_bits = bits(leb_bytes) - 3;
        let head = 16 + 4;
        let pnode = head + (space_bits * 2 + 1) * 4;
        let nnode = head + (lpt_lnum_bits + bits(leb_bytes - 1)) * 4;
        let ltab = head + lpt * bits(leb_bytes) * 2;
        let first = LOG_LNUM + log;
        Some(LptSizes { lebs: first..first + lpt, bytes: [pnode, nnode, ltab].map(|bits| bits.div_ceil(8) as usize) })
    }

    fn find_nodes(&self, data: &[u8], leb: Range<usize>, unit_bytes: usize, found: &mut Vec<Structure>) {
        let mut at = leb.start;
        while at + 3 <= leb.end {
            match self.bytes.get(usize::from(data[at + 2] & 0xF)) {
                Some(&bytes) if at + bytes <= leb.end => {
                    found.push(Structure { kind: Kind::LptNode, place: at..at + bytes });
                    at += bytes;
                }
                // Nodes that were written together begin a unit.
                _ => at = leb.start + (at + 1 - leb.start).next_multiple_of(unit_bytes),
            }
        }
    }
}

/// Makes the check sum of one of [`structures`] right.
pub fn seal(data: &mut [u8], structure: &Structure) {
    let place = structure.place.clone();
    let crc = |bytes: &[u8]| !crc32fast::hash(bytes);
    match structure.kind {
        Kind::EcHeader | Kind::VolumeRecord => {
            let sum = crc(&data[place.start..place.end - 4]);
            data[place.end - 4..place.end].copy_from_slice(&sum.to_be_bytes());
        }
        Kind::VidHeader { data: leb } => {
            let bytes = be_word(data, place.start + 20) as usize;
            if let (1.., Some(content)) = (bytes, data.get(leb..leb.saturating_add(bytes))) {
                let sum = crc(content);
                data[place.start + 32..place.start + 36].copy_from_slice(&sum.to_be_bytes());
            }
            let sum = crc(&data[place.start..place.end - 4]);
            data[place.end - 4..place.end].copy_from_slice(&sum.to_be_bytes());
        }
        Kind::Node => {
            let sum = crc(&data[place.start + 8..place.end]);
            data[place.start + 4..place.start + 8].copy_from_slice(&sum.to_le_bytes());
        }
        Kind::LptNode => {
            let sum = crc16(&data[place.start + 2..place.end]);
            data[place.start..place.start + 2].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

/// CRC-16 of the LPT, bit by bit: reflected polynomial 0x8005, start value 0xFFFF.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xFFFF, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xA001 } else { crc >> 1 })
    })
}

/// The page data of an image of pages with OOB.
pub fn data_areas(image: &[u8], geometry: Geometry) -> Vec<u8> {
    let page_bytes = geometry.page_bytes as usize;
    let pages = image.chunks_exact(page_bytes + geometry.oob_bytes as usize);
    pages.flat_map(|page| &page[..page_bytes]).copied().collect()
}

/// Puts page data back to where [`data_areas`] took them from.
pub fn put_data_areas(image: &mut [u8], geometry: Geometry, data: &[u8]) {
    let page_bytes = geometry.page_bytes as usize;
    let pages = image.chunks_exact_mut(page_bytes + geometry.oob_bytes as usize);
    for (page, data) in pages.zip(data.chunks_exact(page_bytes)) {
        page[..page_bytes].copy_from_slice(data);
    }
}
