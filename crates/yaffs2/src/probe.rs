//! What can be told about an image before it is mounted: where its tags stand, and which size its erase blocks have.
//!
//! An image says neither, and a mount with wrong sizes succeeds and finds nothing, so tools that read foreign images look
//! here first. The layouts are those of `nanddump` (tags where the NAND driver has its free OOB bytes) and of
//! `mkyaffs2image` (`utils/mkyaffs2image.c`: tags at the start of the OOB area).

use crate::header::{Header, HEADER_BYTES};
use crate::objects::SUMMARY_ID;
use crate::scan::{SEQUENCE_HIGHEST, SEQUENCE_LOWEST};
use crate::tags::{Kind, Tags, TAGS_BYTES};
use crate::tags_ecc::{self, Checked, ECC_BYTES};
use crate::{checkpoint::SEQUENCE_CHECKPOINT, device::SEQUENCE_BAD_BLOCK};

/// Free OOB bytes begin behind the bad block mark.
const FREE_AT: u32 = 2;
const PAGES_BYTES: [u32; 5] = [2048, 4096, 8192, 16384, 1024];
const OOBS_BYTES: [u32; 9] = [32, 64, 128, 224, 218, 256, 436, 448, 512];
/// More tells nothing new. The same part of the image for all sizes of pages, or the largest would find most headers.
const LOOKED_AT_BYTES: usize = 8 << 20;
/// In an image that suits at most one of so many blocks holds a page of another.
const DAMAGED_BLOCKS_SHARE: usize = 8;
/// Smallest and largest number of pages per erase block that are tried.
const BLOCK_PAGES: (u32, u32) = (4, 256);

/// How an image is made of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub page_bytes: u32,
    /// Bytes of each page's OOB area in the image; 0: it has none.
    pub oob_bytes: u32,
    /// Where the tags begin, from the start of a page with its OOB area.
    pub tags_offset: u32,
    /// The tags' ECC follows them.
    pub tags_ecc: bool,
}

impl Layout {
    /// Bytes of a page with its OOB area.
    pub fn stride_bytes(&self) -> usize {
        (self.page_bytes + self.oob_bytes) as usize
    }

    pub fn is_inband(&self) -> bool {
        self.tags_offset < self.page_bytes
    }

    fn packed<'a>(&self, page: &'a [u8]) -> Option<&'a [u8; TAGS_BYTES]> {
        page.get(self.tags_offset as usize..)?.first_chunk()
    }

    fn tags(&self, page: &[u8]) -> Option<Tags> {
        self.packed(page).map(Tags::unpack).filter(|tags| tags.is_used)
    }

    fn ecc_is_right(&self, page: &[u8]) -> bool {
        let code = page.get(self.tags_offset as usize + TAGS_BYTES..).and_then(|rest| rest.first_chunk::<ECC_BYTES>());
        let (Some(mut packed), Some(code)) = (self.packed(page).copied(), code) else { return false };
        tags_ecc::correct(&mut packed, code) != Checked::Wrong
    }
}

/// What the tags of a page say that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    Header,
    Data,
    /// The tags of the other pages of its erase block.
    Summary,
    Checkpoint,
    /// The block was taken out of use.
    BadBlock,
    /// Why it cannot be.
    Damage(&'static str),
}

/// The tags of a written page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTags {
    pub sequence: u32,
    pub object: u32,
    pub chunk: u32,
    pub kind: PageKind,
}

impl PageTags {
    /// Sequence numbers of erase blocks, which begin at the first of these, one higher for each block that is taken to be
    /// written.
    pub const SEQUENCES: std::ops::Range<u32> = SEQUENCE_LOWEST..SEQUENCE_HIGHEST;
}

impl Layout {
    /// What the tags of a page say, if it was written. `page` is the page with its OOB area.
    pub fn look(&self, page: &[u8]) -> Option<PageTags> {
        let tags = self.tags(page)?;
        let kind = match tags.sequence {
            SEQUENCE_CHECKPOINT => PageKind::Checkpoint,
            SEQUENCE_BAD_BLOCK => PageKind::BadBlock,
            _ if self.tags_ecc && !self.ecc_is_right(page) => PageKind::Damage("tags that their ECC cannot correct"),
            SEQUENCE_LOWEST..SEQUENCE_HIGHEST if tags.chunk == 0 && is_header(page, &tags) => PageKind::Header,
            SEQUENCE_LOWEST..SEQUENCE_HIGHEST if tags.chunk == 0 => PageKind::Damage("tags of a header, and no header"),
            SEQUENCE_LOWEST..SEQUENCE_HIGHEST if tags.object == SUMMARY_ID => PageKind::Summary,
            SEQUENCE_LOWEST..SEQUENCE_HIGHEST if tags.count_bytes > self.page_bytes => {
                PageKind::Damage("tags of more bytes than a page holds")
            }
            SEQUENCE_LOWEST..SEQUENCE_HIGHEST => PageKind::Data,
            _ => PageKind::Damage("a sequence number that cannot be"),
        };
        Some(PageTags { sequence: tags.sequence, object: tags.object, chunk: tags.chunk, kind })
    }
}

/// The file in whose middle an image ends: images of `mkyaffs2image` hold a header, then its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub name: Vec<u8>,
    pub file_bytes: u64,
    /// As far as there are data.
    pub held_bytes: u64,
}

/// The object of the last page, if it is a file whose newest header says more bytes than there are data for.
pub fn unfinished(image: &[u8], layout: &Layout) -> Option<Unfinished> {
    let pages = || image.chunks_exact(layout.stride_bytes());
    let last = pages().rev().find_map(|page| layout.look(page))?.object;
    let (mut header, mut chunks) = (None, 0);
    for (page, tags) in
        pages().filter_map(|page| Some((page, layout.look(page)?))).filter(|(_, tags)| tags.object == last)
    {
        match tags.kind {
            PageKind::Header if page.len() >= HEADER_BYTES => header = Some(Header::load(page, layout.is_inband())),
            PageKind::Data => chunks = tags.chunk.max(chunks),
            _ => {}
        }
    }
    let chunk_bytes = layout.page_bytes - if layout.is_inband() { TAGS_BYTES as u32 } else { 0 };
    let held_bytes = u64::from(chunks) * u64::from(chunk_bytes);
    let header = header.filter(|header| header.kind == Kind::File && held_bytes < header.file_bytes)?;
    Some(Unfinished { name: header.name, file_bytes: header.file_bytes, held_bytes })
}

/// Finds out how `image` is laid out: as the layout that finds most object headers with tags that suit them. Of equals the
/// first counts, beginning with pages of `page_bytes` and, if `oob` says so, `oob_bytes`. `None`: no usual sizes find any.
pub fn layout(image: &[u8], page_bytes: u32, oob_bytes: u32, oob: bool) -> Option<Layout> {
    let given = if oob { [oob_bytes, 0] } else { [0, oob_bytes] };
    let first = given.into_iter().map(|oob_bytes| (page_bytes, oob_bytes));
    let usual = PAGES_BYTES.into_iter().flat_map(|page| OOBS_BYTES.into_iter().chain([0]).map(move |oob| (page, oob)));
    let layouts = first.chain(usual).flat_map(|(page_bytes, oob_bytes)| {
        let inband = page_bytes.checked_sub(TAGS_BYTES as u32);
        let places = [Some(page_bytes + FREE_AT), Some(page_bytes), inband].into_iter().flatten();
        places.map(move |tags_offset| Layout { page_bytes, oob_bytes, tags_offset, tags_ecc: false })
    });
    let have_room = layouts.filter(|layout| layout.tags_offset as usize + TAGS_BYTES <= layout.stride_bytes());
    let mut best = None;
    for (layout, headers) in have_room.filter_map(|layout| fit(image, layout)) {
        if best.is_none_or(|(_, most)| headers > most) {
            best = Some((layout, headers));
        }
    }
    best.map(|(layout, _)| layout)
}

/// The layout if it suits the image, with the number of headers that it finds.
fn fit(image: &[u8], layout: Layout) -> Option<(Layout, u32)> {
    let (mut headers, mut wrong, mut right_eccs, mut used) = (0u32, 0, 0, 0);
    let looked_at = &image[..image.len().min(LOOKED_AT_BYTES)];
    for page in looked_at.chunks_exact(layout.stride_bytes()) {
        let Some(tags) = layout.tags(page) else { continue };
        used += 1;
        right_eccs += u32::from(layout.ecc_is_right(page));
        let has_sequence = matches!(tags.sequence, SEQUENCE_LOWEST..SEQUENCE_HIGHEST | SEQUENCE_CHECKPOINT);
        if !has_sequence && tags.sequence != SEQUENCE_BAD_BLOCK {
            wrong += 1;
        } else if tags.chunk == 0 {
            if is_header(page, &tags) {
                headers += 1;
            } else {
                wrong += 1;
            }
        } else if tags.count_bytes > layout.page_bytes {
            wrong += 1;
        }
    }
    // A power cut leaves a page or two that make no sense.
    let fits = headers > 0 && wrong * 8 <= used;
    fits.then_some((Layout { tags_ecc: !layout.is_inband() && right_eccs * 2 > used, ..layout }, headers))
}

/// Does the page begin as an object header does, of the kind that its tags say?
fn is_header(page: &[u8], tags: &Tags) -> bool {
    let Some(&[a, b, c, d, _, _, _, _, 0xFF, 0xFF]) = page.first_chunk::<10>() else { return false };
    let kind = Kind::from_number(u32::from_le_bytes([a, b, c, d]));
    kind != Kind::Unknown && tags.extra.is_none_or(|extra| extra.kind == kind)
}

/// Pages per erase block: `wanted` if that is usual and all written pages of each such block have the same sequence
/// number, else the largest power of two for which they do. A damaged page here and there does not count.
pub fn pages_per_block(image: &[u8], layout: &Layout, wanted: u32) -> Option<u32> {
    let sequences: Vec<Option<u32>> = image
        .chunks_exact(layout.stride_bytes())
        .map(|page| layout.tags(page).map(|tags| tags.sequence))
        .map(|sequence| sequence.filter(|sequence| (SEQUENCE_LOWEST..SEQUENCE_HIGHEST).contains(sequence)))
        .collect();
    let suits = |&pages: &u32| {
        let is_mixed = |block: &&[Option<u32>]| {
            let mut written = block.iter().flatten();
            let first = written.next();
            written.any(|sequence| Some(sequence) != first)
        };
        let blocks = sequences.chunks(pages as usize);
        blocks.clone().filter(is_mixed).count() * DAMAGED_BLOCKS_SHARE <= blocks.len()
    };
    let (least, most) = BLOCK_PAGES;
    let powers = std::iter::successors(Some(most), |pages| Some(pages / 2)).take_while(|&pages| pages >= least);
    Some(wanted)
        .filter(|pages| (least..=most).contains(pages) && pages.is_power_of_two())
        .into_iter()
        .chain(powers)
        .find(suits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of 2048 + 64 bytes with the header of a directory, tags at OOB offset `at`.
    fn page(at: usize, sequence: u32) -> Vec<u8> {
        let mut page = vec![0xFF; 2112];
        page[..8].copy_from_slice(&[3, 0, 0, 0, 1, 0, 0, 0]);
        let packed = Tags { sequence, object: 257, count_bytes: 0xFFFF, ..Tags::default() }.pack();
        page[2048 + at..2064 + at].copy_from_slice(&packed);
        page[2064 + at..2076 + at].copy_from_slice(&tags_ecc::compute(&packed));
        page
    }

    #[test]
    fn the_place_of_the_tags_is_found_whatever_is_tried_first() {
        for at in [0, 2] {
            let image = page(at, 0x1000).repeat(8);
            let right = Layout { page_bytes: 2048, oob_bytes: 64, tags_offset: 2048 + at as u32, tags_ecc: true };
            for (page_bytes, oob_bytes, oob) in [(2048, 64, true), (2048, 64, false), (8192, 0, true), (0, 0, false)] {
                assert_eq!(layout(&image, page_bytes, oob_bytes, oob), Some(right));
            }
        }
    }

    #[test]
    fn two_small_pages_are_no_large_one() {
        // In-band tags, few headers: with pages of 4 KiB every other tag is seen, in twice as much of the image.
        let page = |is_header: bool| {
            let mut page = vec![0xA5; 2048];
            page[..10].copy_from_slice(&[1, 0, 0, 0, 1, 0, 0, 0, 0xFF, 0xFF]);
            let tags = Tags { sequence: 0x1000, object: 257, chunk: u32::from(!is_header), ..Tags::default() };
            page[2032..].copy_from_slice(&Tags { count_bytes: 2032, ..tags }.pack());
            page
        };
        let part: Vec<u8> = (0..64).flat_map(|number| page(number < 2)).collect();
        let mut image = part.clone();
        image.extend((0..4096).flat_map(|_| page(false)));
        image.extend(part.repeat(20));
        let found = layout(&image, 2048, 0, false).unwrap();
        assert_eq!((found.page_bytes, found.tags_offset), (2048, 2032));
    }

    #[test]
    fn what_is_no_image_has_no_layout() {
        for image in [vec![], vec![0xFF; 100_000], vec![0; 100_000], vec![3; 7]] {
            for page_bytes in [0, 1, 2048, 1 << 20] {
                assert_eq!(layout(&image, page_bytes, 64, true), None);
            }
        }
    }

    #[test]
    fn blocks_are_as_large_as_their_sequence_numbers_allow() {
        let image: Vec<u8> = (0..256).flat_map(|number| page(2, 0x1000 + number / 32)).collect();
        let found = layout(&image, 2048, 64, true).unwrap();
        assert_eq!(
            [64, 32, 16, 0, 33].map(|wanted| pages_per_block(&image, &found, wanted)),
            [32, 32, 16, 32, 32].map(Some)
        );
        let mut damaged = image.clone();
        damaged.copy_within(200 * 2112..201 * 2112, 40 * 2112);
        assert_eq!(pages_per_block(&damaged, &found, 0), Some(32), "one page of another block");
        let image: Vec<u8> = (0..16).flat_map(|number| page(2, 0x1000 + number)).collect();
        assert_eq!(pages_per_block(&image, &found, 64), None);
    }
}
