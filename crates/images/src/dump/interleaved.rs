//! Pages as several controllers lay them out: a piece of the data, its spare bytes, the next piece, and so on. UBI's headers say how
//! large pages are and how far blocks stand apart; which pieces they are made of, the check sums of its volume table and of nodes.

use super::plain::Plain;
use crate::areas::data_areas;
use crate::recognise::{OOBS_BYTES_GIVEN, PAGES_BYTES};
use crate::ubifs::headers;

const PIECES_BYTES: [usize; 3] = [512, 1024, 2048];
const SPARES_BYTES: std::ops::RangeInclusive<usize> = 8..=256;
/// So many blocks are looked at.
const LOOKED_AT_BLOCKS: usize = 24;

/// How a page is laid out: `count` times a piece of its data and the spare bytes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    piece_bytes: usize,
    spare_bytes: usize,
    count: usize,
}

impl Pieces {
    /// As people write it: "512+16x4"; without a count it is one.
    pub fn named(text: &str) -> Option<Pieces> {
        let (piece, rest) = text.split_once('+')?;
        let (spare, count) = rest.split_once('x').unwrap_or((rest, "1"));
        let [piece_bytes, spare_bytes, count] = [piece, spare, count].map(|word| word.trim().parse::<u16>().ok());
        let (piece, spare, count) = (u32::from(piece_bytes?), u32::from(spare_bytes?), u32::from(count?));
        let suits = PAGES_BYTES.contains(&(piece * count)) && OOBS_BYTES_GIVEN.contains(&(spare * count));
        suits.then_some(Pieces { piece_bytes: piece as usize, spare_bytes: spare as usize, count: count as usize })
    }

    /// Bytes of the data and of the spare bytes of a page.
    pub fn sizes_bytes(self) -> (u32, u32) {
        ((self.count * self.piece_bytes) as u32, (self.count * self.spare_bytes) as u32)
    }

    /// The image with the data of each page in one piece, all of its spare bytes behind it.
    pub(super) fn put_together(self, image: &[u8], why: &str) -> Plain {
        let Pieces { piece_bytes, spare_bytes, count } = self;
        let (page, oob) = self.sizes_bytes();
        let said = format!(
            "each page is laid out as {count} x ({piece_bytes} + {spare_bytes}) B, {why}; it is read as {page} + {oob} B"
        );
        let image = if count > 1 { in_one_piece(image, self) } else { image.to_vec() };
        Plain { image, said: vec![said], doubts: Vec::new() }
    }
}

/// As [`Pieces::put_together`], with the pieces that are found.
pub fn undo(image: &[u8]) -> Option<Plain> {
    Some(pieces_of(image)?.put_together(image, "as check sums show"))
}

fn in_one_piece(image: &[u8], Pieces { piece_bytes, spare_bytes, count }: Pieces) -> Vec<u8> {
    let stride = piece_bytes + spare_bytes;
    let mut plain = Vec::with_capacity(image.len());
    for page in image.chunks(stride * count) {
        plain.extend_from_slice(&data_areas(page, piece_bytes, spare_bytes));
        page.chunks(stride).for_each(|piece| plain.extend_from_slice(piece.get(piece_bytes..).unwrap_or_default()));
    }
    plain
}

fn pieces_of(image: &[u8]) -> Option<Pieces> {
    let places = headers(image);
    let &first = places.first()?;
    let (vid, data_at) = ffslab_ubi::probe::offsets(&image[first..])?;
    let apart = places.windows(2).map(|pair| pair[1] - pair[0]).min()?;
    let mut best: Option<(u32, Pieces)> = None;
    let mut plain_most = 0;
    // Data that cross no end of a piece look right in any case.
    for page_bytes in PAGES_BYTES.map(|bytes| bytes as usize) {
        if !(data_at as usize).is_multiple_of(page_bytes)
            || (vid as usize + 64).next_multiple_of(page_bytes) != data_at as usize
        {
            continue;
        }
        for piece_bytes in PIECES_BYTES.into_iter().filter(|piece| 2 * piece <= page_bytes) {
            let count = page_bytes / piece_bytes;
            for spare_bytes in SPARES_BYTES.filter(|spare| spare * 2 <= piece_bytes) {
                let stride = (piece_bytes + spare_bytes) * count;
                if !apart.is_multiple_of(stride) || !(apart / stride).is_power_of_two() {
                    continue;
                }
                let score = |piece: usize, spare: usize| {
                    let of_block = |&at: &usize| {
                        let block = &image[at..(at + apart).min(image.len())];
                        sound(&data_areas(block, piece, spare), vid, data_at)
                    };
                    places.iter().take(LOOKED_AT_BLOCKS).map(of_block).sum::<u32>()
                };
                plain_most = plain_most.max(score(page_bytes, spare_bytes * count));
                let found = score(piece_bytes, spare_bytes);
                if best.as_ref().is_none_or(|(most, _)| found > *most) {
                    best = Some((found, Pieces { piece_bytes, spare_bytes, count }));
                }
            }
        }
    }
    best.filter(|(most, _)| *most > plain_most).map(|(_, pieces)| pieces)
}

/// How many records of the volume table and nodes of UBIFS in a block have right check sums.
fn sound(block: &[u8], vid: u32, data_at: u32) -> u32 {
    let Some(data) = block.get(data_at as usize..) else { return 0 };
    match ffslab_ubi::probe::headers(block, vid, data_at).leb {
        Some(leb) if leb.is_layout() => ffslab_ubi::probe::sound_records(data),
        Some(_) => {
            let mut whole = 0;
            ffslab_ubifs::probe::walk(data, &mut |_, _, damage| whole += u32::from(damage.is_none()));
            whole
        }
        None => 0,
    }
}
