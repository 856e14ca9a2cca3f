//! Images whose tags stand where no usual driver has them, in pieces, or whose numbers are big-endian: laid out anew as this crate
//! reads them.
//!
//! Which bytes of an OOB area are free for tags is the driver's choice: those of SPI NAND leave a piece of each group of bytes free,
//! the rest is ECC (`drivers/mtd/nand/spi/*.c`). The place is the one with which tags suit the headers on their pages.

use super::{is_header, PAGES_BYTES};
use crate::scan::{SEQUENCE_HIGHEST, SEQUENCE_LOWEST};
use crate::tags::{Tags, TAGS_BYTES};
use crate::tags_ecc::{self, Checked, ECC_BYTES};
use std::collections::BTreeSet;

/// Free bytes behind the mark of a bad block, where tags are put.
const FREE_AT: usize = 2;
const NEW_OOB_BYTES_MIN: usize = 64;
const PACKED_BYTES: usize = TAGS_BYTES + ECC_BYTES;
const OOB_BYTES: std::ops::RangeInclusive<usize> = 16..=1024;
/// Groups of OOB bytes of which a piece is free.
const GROUPS_BYTES: [usize; 5] = [8, 15, 16, 32, 64];
/// So many written pages are looked at, for so many headers, with so many sizes.
const SAMPLE_PAGES: usize = 192;
const HEADERS_MAX: usize = 1 << 14;
const STRIDES_MAX: usize = 6;
/// One tag in so many may be damaged.
const WRONG_SHARE: usize = 8;
/// Words of a header (`struct yaffs_obj_hdr`): kind and parent, attributes and sizes, then what is behind the alias.
const HEADER_WORDS: [std::ops::Range<usize>; 3] = [0..8, 268..300, 460..512];

/// How an image is laid out.
pub struct Found {
    arrangement: Arrangement,
    /// Other bytes of the OOB areas hold something, such as an ECC.
    pub holds_more: bool,
    is_sure: bool,
}

/// How tags lie in the OOB area.
struct Arrangement {
    page_bytes: usize,
    oob_bytes: usize,
    is_big_endian: bool,
    /// Of each byte of the tags, from the start of the OOB area; of those in-band from the start of the page.
    places: Vec<usize>,
    is_inband: bool,
}

/// How the tags of an image lie. `None`: it has no headers of YAFFS2, or no place suits them.
pub fn find(image: &[u8]) -> Option<Found> {
    let (arrangement, (headers, ..)) =
        [false, true].into_iter().filter_map(|big| best(image, big)).max_by_key(|(_, score)| *score)?;
    let taken: BTreeSet<usize> = arrangement.places.iter().copied().collect();
    let (mut written, mut others) = (0, 0);
    for page in image.chunks_exact(arrangement.page_bytes + arrangement.oob_bytes) {
        let (data, oob) = page.split_at(arrangement.page_bytes);
        let is_written = data.iter().any(|&byte| byte != 0xFF);
        written += usize::from(is_written);
        others += usize::from(is_written && (FREE_AT..oob.len()).any(|at| oob[at] != 0xFF && !taken.contains(&at)));
    }
    let holds_more = !arrangement.is_inband && 2 * others > written;
    let stride = arrangement.page_bytes + arrangement.oob_bytes;
    let all = headers_in(image, arrangement.is_big_endian).into_iter().filter(|at| at / stride < SAMPLE_PAGES).count();
    Some(Found { arrangement, holds_more, is_sure: 2 * headers >= all })
}

impl Found {
    /// Whether most headers of the pages that were looked at have tags that suit them.
    pub fn is_sure(&self) -> bool {
        self.is_sure
    }

    /// Bytes of pages and of OOB areas.
    pub fn sizes_bytes(&self) -> (u32, u32) {
        (self.arrangement.page_bytes as u32, self.arrangement.oob_bytes as u32)
    }

    /// The image with tags where they are looked for.
    pub fn laid_out_anew(&self, image: &[u8]) -> Vec<u8> {
        let Arrangement { page_bytes, oob_bytes, is_inband, .. } = self.arrangement;
        let new_oob_bytes = if is_inband { 0 } else { (page_bytes / 32).max(NEW_OOB_BYTES_MIN) };
        let mut anew = Vec::with_capacity(image.len());
        for page in image.chunks(page_bytes + oob_bytes) {
            let start = anew.len();
            anew.extend_from_slice(page.get(..page_bytes).unwrap_or(page));
            // What is cut off stays cut off.
            if page.len() == page_bytes + oob_bytes {
                anew.resize(start + page_bytes + new_oob_bytes, 0xFF);
                self.arrangement.rewrite(&page[page_bytes..], &mut anew[start..]);
            }
        }
        anew
    }

    /// What is unusual about it, in words.
    pub fn text(&self) -> String {
        let Arrangement { page_bytes, oob_bytes, is_big_endian, places, is_inband } = &self.arrangement;
        let order = if *is_big_endian { "in big-endian order" } else { "in little-endian order" };
        let place = if *is_inband {
            "at the end of the page data".to_string()
        } else {
            let mut pieces: Vec<(usize, usize)> = Vec::new();
            for &at in places {
                match pieces.last_mut() {
                    Some((_, end)) if *end == at => *end += 1,
                    _ => pieces.push((at, at + 1)),
                }
            }
            let pieces: Vec<String> = pieces.iter().map(|(from, end)| format!("{from} to {}", end - 1)).collect();
            format!("in bytes {} of the OOB area", pieces.join(", "))
        };
        format!("YAFFS2 {order} with pages of {page_bytes} + {oob_bytes} B and tags {place}, as its headers show")
    }
}

/// Does the page begin as an object header does, whatever its tags say?
pub(super) fn looks_like_header(page: &[u8], is_big_endian: bool) -> bool {
    let Some(&[a, b, c, d, e, f, g, h, 0xFF, 0xFF, first, ..]) = page.first_chunk::<11>() else { return false };
    let number = |bytes: [u8; 4]| if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    (1..=5).contains(&number([a, b, c, d]))
        && (1..0x4_0000).contains(&number([e, f, g, h]))
        // Tags in front of erased bytes are no header.
        && (first == 0 || first.is_ascii_graphic() || (0x80..0xFF).contains(&first))
}

/// Where little-endian object headers may stand, at any place.
pub fn header_places(image: &[u8]) -> impl Iterator<Item = usize> + '_ {
    (0..image.len().saturating_sub(512)).filter(|&at| looks_like_header(&image[at..], false))
}

/// Where object headers may stand.
pub fn headers_in(image: &[u8], is_big_endian: bool) -> Vec<usize> {
    let places = (0..image.len().saturating_sub(512)).step_by(2);
    places.filter(|&at| looks_like_header(&image[at..], is_big_endian)).take(HEADERS_MAX).collect()
}

fn best(image: &[u8], is_big_endian: bool) -> Option<(Arrangement, (usize, usize, usize))> {
    let headers = headers_in(image, is_big_endian);
    let mut best: Option<(Arrangement, (usize, usize, usize))> = None;
    for (page_bytes, oob_bytes) in strides(image, &headers) {
        let pages = image.chunks_exact(page_bytes + oob_bytes);
        let sample: Vec<&[u8]> =
            pages.filter(|page| page.iter().any(|&byte| byte != 0xFF)).take(SAMPLE_PAGES).collect();
        for (places, is_inband) in places(page_bytes, oob_bytes) {
            let arrangement = Arrangement { page_bytes, oob_bytes, is_big_endian, places, is_inband };
            let score = arrangement.score(&sample);
            if score.is_some_and(|score| best.as_ref().is_none_or(|(_, most)| score > *most)) {
                best = score.map(|score| (arrangement, score));
            }
        }
    }
    best
}

/// The sizes of pages and OOB areas at whose pages most headers begin, those first of which the image has whole pages.
fn strides(image: &[u8], headers: &[usize]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, bool, usize, usize)> = Vec::new();
    for page_bytes in PAGES_BYTES.map(|bytes| bytes as usize) {
        for oob_bytes in std::iter::once(0).chain(OOB_BYTES.filter(|&oob| oob % 2 == 0 && oob <= page_bytes / 4)) {
            let stride = page_bytes + oob_bytes;
            let begin = headers.iter().filter(|&&at| at % stride == 0).count();
            if begin > 0 {
                found.push((begin, image.len().is_multiple_of(stride), page_bytes, oob_bytes));
            }
        }
    }
    // Of equals the one with the usual share of OOB bytes, then the smaller page.
    let usual = |page: usize, oob: usize| (oob * 32).abs_diff(page);
    found.sort_by_key(|&(begin, is_whole, page, oob)| (std::cmp::Reverse((begin, is_whole)), usual(page, oob), page));
    found.into_iter().map(|(_, _, page, oob)| (page, oob)).take(STRIDES_MAX).collect()
}

/// All places of tags that are tried: in one piece, in pieces, at the end of the page.
fn places(page_bytes: usize, oob_bytes: usize) -> Vec<(Vec<usize>, bool)> {
    let mut all: Vec<(Vec<usize>, bool)> = vec![((page_bytes - TAGS_BYTES..page_bytes).collect(), true)];
    let mut seen = BTreeSet::new();
    let mut add = |places: Vec<usize>| {
        if places.len() >= TAGS_BYTES && seen.insert(places.clone()) {
            all.push((places, false));
        }
    };
    for at in 0..=oob_bytes.saturating_sub(TAGS_BYTES) {
        add((at..oob_bytes).take(PACKED_BYTES).collect());
    }
    for group in GROUPS_BYTES.into_iter().filter(|&group| group < oob_bytes) {
        for (from, count) in (0..group).flat_map(|from| (2..group).map(move |count| (from, count))) {
            if from + count > group {
                continue;
            }
            let piece = |at: &usize| (from..from + count).contains(&(at % group));
            add((0..oob_bytes).filter(piece).take(PACKED_BYTES).collect());
            // Without the mark of a bad block, of one byte or two; the first group has none; only the first half is in groups.
            add((1..oob_bytes).filter(piece).take(PACKED_BYTES).collect());
            add((FREE_AT..oob_bytes).filter(piece).take(PACKED_BYTES).collect());
            let half = oob_bytes / 2;
            let whole = half..oob_bytes;
            add((0..half / group * group).filter(piece).chain(whole).take(PACKED_BYTES).collect());
            add((group..oob_bytes).filter(piece).take(PACKED_BYTES).collect());
        }
    }
    all
}

impl Arrangement {
    /// The packed tags of a page with this crate's order of bytes, with their ECC if that was right.
    fn packed(&self, data: &[u8], oob: &[u8]) -> ([u8; TAGS_BYTES], Option<[u8; ECC_BYTES]>) {
        let from = if self.is_inband { data } else { oob };
        let mut stored = [0xFF; PACKED_BYTES];
        for (byte, &at) in stored.iter_mut().zip(&self.places) {
            *byte = from[at];
        }
        let (tags, ecc) = stored.split_at_mut(TAGS_BYTES);
        let mut tags: [u8; TAGS_BYTES] = std::array::from_fn(|at| tags[at]);
        if self.is_big_endian {
            swap_words(&mut ecc[4..]);
        }
        let ecc: [u8; ECC_BYTES] = std::array::from_fn(|at| ecc[at]);
        let is_right = self.places.len() == PACKED_BYTES && tags_ecc::correct(&mut tags, &ecc) != Checked::Wrong;
        if self.is_big_endian {
            swap_words(&mut tags);
        }
        (tags, is_right.then(|| tags_ecc::compute(&tags)))
    }

    /// Headers with tags that suit them, sensible tags, tags whose ECC is right. `None`: the place is none.
    fn score(&self, sample: &[&[u8]]) -> Option<(usize, usize, usize)> {
        let (mut headers, mut sensible, mut wrong, mut right) = (0, 0, 0, 0);
        for page in sample {
            let (data, oob) = page.split_at(self.page_bytes);
            let (packed, ecc) = self.packed(data, oob);
            let tags = Tags::unpack(&packed);
            if !tags.is_used {
                continue;
            }
            right += usize::from(ecc.is_some());
            let mut start: [u8; 16] = std::array::from_fn(|at| data[at]);
            if self.is_big_endian {
                swap_words(&mut start[..8]);
            }
            let is_sensible = (SEQUENCE_LOWEST..SEQUENCE_HIGHEST).contains(&tags.sequence)
                && (1..0x4_0000).contains(&tags.object)
                && match tags.chunk {
                    0 => is_header(&start, &tags),
                    _ => tags.count_bytes as usize <= self.page_bytes,
                };
            match (is_sensible, tags.chunk) {
                (false, _) => wrong += 1,
                (true, 0) => headers += 1,
                (true, _) => sensible += 1,
            }
        }
        (headers > 0 && wrong * WRONG_SHARE <= headers + sensible).then_some((headers, sensible, right))
    }

    /// Puts the tags of a page where this crate looks for them, and numbers in its order. `anew`: the page data, and an erased OOB
    /// area.
    fn rewrite(&self, oob: &[u8], anew: &mut [u8]) {
        let (data, new_oob) = anew.split_at_mut(self.page_bytes);
        let (packed, ecc) = self.packed(data, oob);
        let tags = Tags::unpack(&packed);
        if self.is_big_endian && tags.is_used && tags.chunk == 0 && looks_like_header(data, true) {
            swap_header(data);
        }
        if self.is_inband {
            data[self.page_bytes - TAGS_BYTES..].copy_from_slice(&packed);
            return;
        }
        if self.places.iter().all(|&place| place >= FREE_AT) {
            new_oob[..FREE_AT].copy_from_slice(&oob[..FREE_AT]);
        }
        if tags.is_used {
            new_oob[FREE_AT..FREE_AT + TAGS_BYTES].copy_from_slice(&packed);
            if let Some(ecc) = ecc {
                new_oob[FREE_AT + TAGS_BYTES..FREE_AT + PACKED_BYTES].copy_from_slice(&ecc);
            }
        }
    }
}

fn swap_words(bytes: &mut [u8]) {
    bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
}

/// Turns the numbers of a header round.
pub(super) fn swap_header(page: &mut [u8]) {
    for words in HEADER_WORDS {
        swap_words(&mut page[words]);
    }
}
