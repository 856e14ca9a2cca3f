//! Pages as several controllers lay them out: a piece of the data, its spare bytes, the next piece, and so on. UBI's headers say how
//! large pages are and how far blocks stand apart; which pieces they are made of, the check sums of its volume table and of nodes.

use super::plain::Plain;
use crate::areas::data_areas;
use crate::recognise::{OOBS_BYTES_GIVEN, PAGES_BYTES};
use crate::ubifs::headers_in_step;

const PIECES_BYTES: [usize; 3] = [512, 1024, 2048];
const SPARES_BYTES: std::ops::RangeInclusive<usize> = 8..=256;
/// So many blocks are looked at.
const LOOKED_AT_BLOCKS: usize = 24;
/// Of layouts of which there are many.
const FEW_BLOCKS: usize = 8;

/// How a page is laid out: `count` times a piece of its data and the spare bytes behind it, then what is left of the OOB area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    piece_bytes: usize,
    spare_bytes: usize,
    count: usize,
    rest_bytes: usize,
}

impl Pieces {
    /// As people write it: "512+16x4", "512+14x4+8"; without a count it is one.
    pub fn named(text: &str) -> Option<Pieces> {
        let (piece, behind) = text.split_once('+')?;
        let (spare, times) = behind.split_once('x').unwrap_or((behind, "1"));
        let (count, rest) = times.split_once('+').unwrap_or((times, "0"));
        let number = |word: &str| word.trim().parse::<u16>().ok().map(usize::from);
        let (piece_bytes, spare_bytes, count, rest_bytes) =
            (number(piece)?, number(spare)?, number(count)?, number(rest)?);
        let pieces = Pieces { piece_bytes, spare_bytes, count, rest_bytes };
        let (page, oob) = pieces.sizes_bytes();
        (PAGES_BYTES.contains(&page) && OOBS_BYTES_GIVEN.contains(&oob)).then_some(pieces)
    }

    /// Bytes that a page takes in the file.
    fn stride_bytes(self) -> usize {
        (self.piece_bytes + self.spare_bytes) * self.count + self.rest_bytes
    }

    /// The data of pages alone.
    fn data_of(self, image: &[u8]) -> Vec<u8> {
        let Pieces { piece_bytes, spare_bytes, count, .. } = self;
        let mut data = Vec::with_capacity(image.len());
        for page in image.chunks(self.stride_bytes()) {
            let pieces = &page[..page.len().min((piece_bytes + spare_bytes) * count)];
            pieces
                .chunks(piece_bytes + spare_bytes)
                .for_each(|piece| data.extend_from_slice(&piece[..piece.len().min(piece_bytes)]));
        }
        data
    }

    /// Bytes of the data and of the spare bytes of a page.
    pub fn sizes_bytes(self) -> (u32, u32) {
        ((self.count * self.piece_bytes) as u32, (self.count * self.spare_bytes + self.rest_bytes) as u32)
    }

    /// The image with the data of each page in one piece, all of its spare bytes behind it.
    pub(super) fn put_together(self, image: &[u8], why: &str) -> Plain {
        let Pieces { piece_bytes, spare_bytes, count, rest_bytes } = self;
        let (page, oob) = self.sizes_bytes();
        let rest = if rest_bytes > 0 { format!(" and {rest_bytes} B") } else { String::new() };
        let said = format!(
            "each page is laid out as {count} x ({piece_bytes} + {spare_bytes}) B{rest}, {why}; it is read as {page} + {oob} B"
        );
        let image = if count > 1 { in_one_piece(image, self) } else { image.to_vec() };
        Plain { image, said: vec![said], doubts: Vec::new() }
    }
}

/// As [`Pieces::put_together`], with the pieces that are found.
pub fn undo(image: &[u8]) -> Option<Plain> {
    Some(pieces_of(image)?.put_together(image, "as check sums show"))
}

fn in_one_piece(image: &[u8], pieces: Pieces) -> Vec<u8> {
    let Pieces { piece_bytes, spare_bytes, count, .. } = pieces;
    let stride = piece_bytes + spare_bytes;
    let mut plain = Vec::with_capacity(image.len());
    for page in image.chunks(pieces.stride_bytes()) {
        let (page, rest) = page.split_at(page.len().min(stride * count));
        plain.extend_from_slice(&data_areas(page, piece_bytes, spare_bytes));
        page.chunks(stride).for_each(|piece| plain.extend_from_slice(piece.get(piece_bytes..).unwrap_or_default()));
        plain.extend_from_slice(rest);
    }
    plain
}

fn pieces_of(image: &[u8]) -> Option<Pieces> {
    let places = headers_in_step(image);
    let &first = places.first()?;
    let (vid, data_at) = ffslab_ubi::probe::offsets(&image[first..])?;
    let apart = places.windows(2).map(|pair| pair[1] - pair[0]).min()?;
    let scored = |pieces: Pieces, blocks: usize| {
        let of_block = |&at: &usize| {
            let block = &image[at..(at + apart).min(image.len())];
            sound(&pieces.data_of(block), vid, data_at)
        };
        places
            .iter()
            .take(blocks)
            .map(of_block)
            .fold((0, 0), |(all, wrong), (sound, damaged)| (all + sound, wrong + damaged))
    };
    let suits = |page: &usize| {
        (data_at as usize).is_multiple_of(*page) && (vid as usize + 64).next_multiple_of(*page) == data_at as usize
    };
    // Data that cross no end of a piece look right in any case.
    let mut most = 0;
    let mut is_damaged = false;
    let (mut whole, mut with_rest) = (Vec::new(), Vec::new());
    for (page_bytes, oob_bytes) in sizes(apart).filter(|(page, _)| suits(page)) {
        let plain = Pieces { piece_bytes: page_bytes, spare_bytes: oob_bytes, count: 1, rest_bytes: 0 };
        let (sound, damaged) = scored(plain, LOOKED_AT_BLOCKS);
        most = most.max(sound);
        is_damaged |= damaged > 0 || sound == 0;
        for piece_bytes in PIECES_BYTES.into_iter().filter(|piece| 2 * piece <= page_bytes) {
            let count = page_bytes / piece_bytes;
            for spare_bytes in SPARES_BYTES.filter(|spare| spare * 2 <= piece_bytes && spare * count <= oob_bytes) {
                let pieces = Pieces { piece_bytes, spare_bytes, count, rest_bytes: oob_bytes - spare_bytes * count };
                let list = if pieces.rest_bytes == 0 { &mut whole } else { &mut with_rest };
                list.push(pieces);
            }
        }
    }
    let best = |all: Vec<Pieces>, blocks| {
        all.into_iter()
            .map(|pieces| (scored(pieces, blocks).0, pieces))
            .fold(None, |best: Option<(u32, Pieces)>, found| best.filter(|(most, _)| *most >= found.0).or(Some(found)))
    };
    let better = |found: Option<(u32, Pieces)>| found.filter(|(sound, _)| *sound > most).map(|(_, pieces)| pieces);
    better(best(whole, LOOKED_AT_BLOCKS)).or_else(|| {
        let (_, likely) = best(with_rest, FEW_BLOCKS).filter(|_| is_damaged)?;
        better(Some((scored(likely, LOOKED_AT_BLOCKS).0, likely)))
    })
}

/// Bytes of pages and of their OOB areas of which blocks are made that stand so far apart.
fn sizes(apart: usize) -> impl Iterator<Item = (usize, usize)> {
    let of = move |page: usize, pages: usize| {
        let oob = (apart / pages).checked_sub(page).filter(|_| apart.is_multiple_of(pages))?;
        (oob >= *SPARES_BYTES.start() && 2 * oob <= page).then_some((page, oob))
    };
    let pages_bytes = PAGES_BYTES.into_iter().map(|bytes| bytes as usize);
    pages_bytes.flat_map(move |page| (0..12).filter_map(move |log| of(page, 1 << log)))
}

/// How many records of the volume table and nodes of UBIFS in a block have right check sums, and how many nodes wrong ones.
fn sound(block: &[u8], vid: u32, data_at: u32) -> (u32, u32) {
    let Some(data) = block.get(data_at as usize..) else { return (0, 0) };
    match ffslab_ubi::probe::headers(block, vid, data_at).leb {
        Some(leb) if leb.is_layout() => (ffslab_ubi::probe::sound_records(data), 0),
        Some(_) => {
            let (mut whole, mut damaged) = (0, 0);
            ffslab_ubifs::probe::walk(data, &mut |_, _, damage| match damage {
                None => whole += 1,
                Some(_) => damaged += 1,
            });
            (whole, damaged)
        }
        None => (0, 0),
    }
}
