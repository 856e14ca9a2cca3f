//! What can be told about an image before it is mounted: where its tags stand, and which size its erase blocks have.
//!
//! An image says neither, and a mount with wrong sizes succeeds and finds nothing, so tools that read foreign images look
//! here first. The layouts are those of `nanddump` (tags where the NAND driver has its free OOB bytes) and of
//! `mkyaffs2image` (`utils/mkyaffs2image.c`: tags at the start of the OOB area).

mod block_size;
mod claims;
pub mod foreign;
pub mod yaffs1;

pub use block_size::{block_sizes, BlockSizes};
pub use claims::Claims;

use crate::chunks::{SEQUENCE_BAD_BLOCK, SEQUENCE_CHECKPOINT};
use crate::header::{Header, HEADER_BYTES};
use crate::objects::{DELETED_ID, SUMMARY_ID, UNLINKED_ID};
use crate::scan::{SEQUENCE_HIGHEST, SEQUENCE_LOWEST};
use crate::tags::{Kind, Tags, TAGS_BYTES};
use crate::tags_ecc::{self, Checked, ECC_BYTES};

/// Free OOB bytes begin behind the bad block mark.
const FREE_AT: u32 = 2;
const PAGES_BYTES: [u32; 5] = [2048, 4096, 8192, 16384, 1024];
const OOBS_BYTES: [u32; 10] = [64, 32, 128, 224, 218, 256, 436, 448, 512, 0];
/// How much of an image is looked at, from its first header on; more would tell nothing new. The same number of bytes
/// for all page sizes, because otherwise the largest page size would find the most headers.
const LOOKED_AT_BYTES: usize = 8 << 20;
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

    /// Whether the tags of a page have an ECC, by which they are right.
    pub fn tags_are_right(&self, page: &[u8]) -> bool {
        self.tags_ecc && self.ecc_is_right(page)
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
    /// Tags of the other pages of the erase block (block summary).
    Summary,
    Checkpoint,
    /// The block was taken out of use.
    BadBlock,
    /// The page makes no sense; the text says why.
    Damage(&'static str),
}

/// The tags of a written page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTags {
    pub sequence: u32,
    pub object: u32,
    pub chunk: u32,
    /// Bytes of the file in a page of data.
    pub count_bytes: u32,
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
            SEQUENCE_LOWEST..SEQUENCE_HIGHEST if tags.chunk == 0 && is_header(page, &tags) => {
                if !self.tags_ecc && !self.is_inband() && self.contradicts(page, &tags) {
                    PageKind::Damage("tags that contradict their header")
                } else {
                    PageKind::Header
                }
            }
            SEQUENCE_LOWEST..SEQUENCE_HIGHEST if tags.chunk == 0 => PageKind::Damage("tags of a header, and no header"),
            SEQUENCE_LOWEST..SEQUENCE_HIGHEST if tags.object == SUMMARY_ID => PageKind::Summary,
            SEQUENCE_LOWEST..SEQUENCE_HIGHEST if tags.count_bytes > self.page_bytes => {
                PageKind::Damage("tags of more bytes than a page holds")
            }
            SEQUENCE_LOWEST..SEQUENCE_HIGHEST => PageKind::Data,
            _ => PageKind::Damage("a sequence number that cannot be"),
        };
        let Tags { sequence, object, chunk, count_bytes, .. } = tags;
        Some(PageTags { sequence, object, chunk, count_bytes, kind })
    }

    /// Whether the extract of a header in its tags is another than the header. What is deleted has no size in its header.
    fn contradicts(&self, page: &[u8], tags: &Tags) -> bool {
        let Some((extra, header)) = tags.extra.zip(self.header(page)) else { return false };
        let is_gone = matches!(header.parent, DELETED_ID | UNLINKED_ID);
        let is_other = match header.kind {
            Kind::File => !is_gone && header.file_bytes as u32 != extra.file_bytes as u32,
            Kind::HardLink => header.equivalent != extra.equivalent,
            _ => false,
        };
        is_other || header.parent != extra.parent || header.kind != extra.kind
    }

    /// Bytes of a file that a page holds.
    pub fn chunk_bytes(&self) -> u32 {
        self.page_bytes - if self.is_inband() { TAGS_BYTES as u32 } else { 0 }
    }

    /// The object header that a page holds; the caller knows from its tags that it is one. With in-band tags the field for
    /// shrinking is read from a place where no header has it (`yaffs_guts.h`, `inband_is_shrink`), so the tags count.
    pub fn header(&self, page: &[u8]) -> Option<Header> {
        let mut header = (page.len() >= HEADER_BYTES).then(|| Header::load(page, self.is_inband()))?;
        if let Some(extra) = self.tags(page)?.extra {
            header.is_shrink = extra.is_shrink;
        }
        Some(header)
    }
}

/// The file in the middle of which an image ends. Images of `mkyaffs2image` hold a header and then the data of the
/// file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub name: Vec<u8>,
    pub file_bytes: u64,
    /// Bytes up to which the image holds data of the file.
    pub held_bytes: u64,
    /// The last page holds data of it, and no header.
    pub ends_with_data: bool,
}

/// Returns the object of the last page if it is a file whose newest header states more bytes than the image holds. Where
/// free pages are last the image is that of a partition, and the file ends in a hole.
pub fn unfinished(image: &[u8], layout: &Layout) -> Option<Unfinished> {
    let pages = || image.chunks_exact(layout.stride_bytes());
    let last_page = layout.look(pages().next_back()?)?;
    let (last, ends_with_data) = (last_page.object, last_page.kind == PageKind::Data);
    let (mut header, mut chunks) = (None, 0);
    for (page, tags) in
        pages().filter_map(|page| Some((page, layout.look(page)?))).filter(|(_, tags)| tags.object == last)
    {
        match tags.kind {
            PageKind::Header => header = layout.header(page).or(header),
            PageKind::Data => chunks = tags.chunk.max(chunks),
            _ => {}
        }
    }
    let held_bytes = u64::from(chunks) * u64::from(layout.chunk_bytes());
    let header = header.filter(|header| header.kind == Kind::File && held_bytes < header.file_bytes)?;
    Some(Unfinished { name: header.name, file_bytes: header.file_bytes, held_bytes, ends_with_data })
}

/// What the caller knows about an image already; fields that are `None` are to be found out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    pub page_bytes: Option<u32>,
    /// 0: there are no OOB areas in the image.
    pub oob_bytes: Option<u32>,
    pub has_oob: Option<bool>,
    /// It is certain that the image holds YAFFS2, so a single header is enough.
    pub is_yaffs2: bool,
}

/// Finds out how `image` is laid out. The layout with the most object headers whose tags agree with them wins; among
/// equals the one with the most other pages with sensible tags, then the first one tried, which is that of pages of
/// 2048 + 64 B. `None`: no layout finds a header.
pub fn layout(image: &[u8], known: &Known) -> Option<Layout> {
    let pages = known.page_bytes.map_or(PAGES_BYTES.to_vec(), |page| vec![page]);
    let oobs = known.oob_bytes.map_or(OOBS_BYTES.to_vec(), |oob| vec![oob]);
    let strides = pages.into_iter().flat_map(|page| oobs.iter().map(move |&oob| (page, oob)));
    let strides = strides.filter(|&(_, oob)| known.has_oob.is_none_or(|has| has == (oob > 0)));
    let strides: Vec<(u32, u32)> = strides.collect();
    let usual = strides.iter().flat_map(|&(page_bytes, oob_bytes)| {
        let inband = page_bytes.checked_sub(TAGS_BYTES as u32);
        let places = [Some(page_bytes + FREE_AT), Some(page_bytes), inband].into_iter().flatten();
        places.map(move |tags_offset| Layout { page_bytes, oob_bytes, tags_offset, tags_ecc: false })
    });
    let have_room = usual.filter(|layout| layout.tags_offset as usize + TAGS_BYTES <= layout.stride_bytes());
    let mut best = None;
    for (layout, found) in have_room.filter_map(|layout| fit(image, layout, known.is_yaffs2)) {
        // Of few headers several sizes find as many: then those of which the image has whole pages.
        let found = (found, image.len().is_multiple_of(layout.stride_bytes()));
        if best.is_none_or(|(_, most)| found > most) {
            best = Some((layout, found));
        }
    }
    best.map(|(layout, _)| layout)
}

/// The layout if it suits the image, with two numbers: the headers and all pages with sensible tags that it finds. When
/// there are few headers a wrong layout may find as many of them, but fewer sensible pages in between.
fn fit(image: &[u8], layout: Layout, is_yaffs2: bool) -> Option<(Layout, (u32, u32))> {
    let (mut headers, mut wrong, mut right_eccs, mut used) = (0u32, 0, 0, 0);
    let mut has_sure = false;
    let pages = || image.chunks_exact(layout.stride_bytes());
    // The search starts at the first header, because in the dump of a whole chip other data may precede the file
    // system.
    let begins = |page: &[u8]| layout.tags(page).is_some_and(|tags| tags.chunk == 0 && is_header(page, &tags));
    let first = pages().position(begins)?;
    let looked_at = LOOKED_AT_BYTES / layout.stride_bytes();
    for page in pages().skip(first).take(looked_at) {
        // YAFFS2 never writes tags that are all zeros, so a block of zeros says nothing about where tags are.
        let Some(tags) = layout.tags(page).filter(|_| layout.packed(page) != Some(&[0; TAGS_BYTES])) else { continue };
        used += 1;
        let is_ecc_right = layout.ecc_is_right(page);
        right_eccs += u32::from(is_ecc_right);
        let has_sequence = matches!(tags.sequence, SEQUENCE_LOWEST..SEQUENCE_HIGHEST | SEQUENCE_CHECKPOINT);
        if !has_sequence && tags.sequence != SEQUENCE_BAD_BLOCK {
            wrong += 1;
        } else if tags.chunk == 0 {
            if is_header(page, &tags) {
                headers += 1;
                has_sure |= is_ecc_right;
            } else {
                wrong += 1;
            }
        } else if tags.count_bytes > layout.page_bytes {
            wrong += 1;
        }
    }
    // Each layout finds its first header elsewhere, so only the headers of the whole image can be compared.
    headers += pages().skip(first + looked_at).filter(|page| begins(page)).count() as u32;
    // After a power cut one or two pages make no sense. Where many more do not (other data on the chip, or noise), the
    // layout is accepted only if the tags of some header have a correct ECC, which only YAFFS2 writes.
    let fits = headers > 0 && (is_yaffs2 || has_sure || wrong * 8 <= used);
    fits.then_some((
        Layout { tags_ecc: !layout.is_inband() && right_eccs * 2 > used - wrong, ..layout },
        (headers, used - wrong),
    ))
}

/// Does the page begin as an object header does, of the kind that its tags say?
fn is_header(page: &[u8], tags: &Tags) -> bool {
    let Some(&[a, b, c, d, _, _, _, _, 0xFF, 0xFF]) = page.first_chunk::<10>() else { return false };
    let kind = Kind::from_number(u32::from_le_bytes([a, b, c, d]));
    kind != Kind::Unknown && tags.extra.is_none_or(|extra| extra.kind == kind)
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
            let given = Known { page_bytes: Some(2048), oob_bytes: Some(64), ..Known::default() };
            for known in [Known::default(), given, Known { is_yaffs2: true, has_oob: Some(true), ..given }] {
                assert_eq!(layout(&image, &known), Some(right));
            }
            for wrong in [Known { has_oob: Some(false), ..given }, Known { page_bytes: Some(4096), ..given }] {
                assert_eq!(layout(&image, &wrong), None);
            }
        }
    }

    #[test]
    fn a_block_of_zeros_or_noise_does_not_hide_what_is_in_the_others() {
        let erased = vec![0xFF; 60 * 2112];
        for other in [vec![0; 64 * 2112], (0..64 * 2112u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect()] {
            let written: Vec<u8> = (0..200).flat_map(|number| page(2, 0x1001 + number / 64)).collect();
            let image = [&written[..], &erased[..56 * 2112], &other[..]].concat();
            let found = layout(&image, &Known::default()).unwrap();
            assert_eq!((found.page_bytes, found.oob_bytes, found.tags_offset), (2048, 64, 2050));
            assert_eq!(block_sizes(&image, &found).unwrap().pages, [64]);
        }
    }

    #[test]
    fn a_single_header_is_not_found_with_the_wrong_oob_area() {
        let mut image = page(2, 0x1001);
        for chunk in 1..20 {
            let mut data = vec![0xA5; 2048];
            let packed = Tags { sequence: 0x1001, object: 257, chunk, count_bytes: 2048, ..Tags::default() }.pack();
            data.extend([0xFF; 2]);
            data.extend(packed);
            data.extend(tags_ecc::compute(&packed));
            data.resize(2048 + 128, 0xFF);
            if chunk == 1 {
                image.resize(2048 + 128, 0xFF);
            }
            image.extend(data);
        }
        assert_eq!(layout(&image, &Known::default()).map(|found| found.oob_bytes), Some(128));
    }

    /// Pages of 4096 B find pairs of headers late in the image; those of 2048 B find one early, and no more near it.
    #[test]
    fn headers_far_behind_the_first_one_count() {
        let inband = |chunk, object| {
            let mut page = vec![0xA5; 2048];
            page[..10].copy_from_slice(&[3, 0, 0, 0, 1, 0, 0, 0, 0xFF, 0xFF]);
            let tags = Tags { sequence: 0x1001, object, chunk, count_bytes: 2032, ..Tags::default() };
            page[2032..].copy_from_slice(&tags.pack());
            page
        };
        let (header, data) = (inband(0, 257), inband(1, 258));
        let filled = LOOKED_AT_BYTES / 2048 + 100;
        let image = [data.clone(), header.clone(), data.repeat(filled), header.repeat(6)].concat();
        let found = layout(&image, &Known::default()).unwrap();
        assert_eq!((found.page_bytes, found.tags_offset), (2048, 2032));
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
        let found = layout(&image, &Known::default()).unwrap();
        assert_eq!((found.page_bytes, found.tags_offset), (2048, 2032));
    }

    #[test]
    fn what_is_no_image_has_no_layout() {
        for image in [vec![], vec![0xFF; 100_000], vec![0; 100_000], vec![3; 7]] {
            for page_bytes in [None, Some(1), Some(2048), Some(1 << 20)] {
                assert_eq!(layout(&image, &Known { page_bytes, is_yaffs2: true, ..Known::default() }), None);
            }
        }
    }

    /// Pages, erased for 0.
    fn pages(sequences: &[u32]) -> Vec<u8> {
        let of = |&sequence: &u32| if sequence == 0 { vec![0xFF; 2112] } else { page(2, sequence) };
        sequences.iter().flat_map(of).collect()
    }

    fn sizes_of(image: &[u8]) -> Vec<u32> {
        let layout = layout(image, &Known::default()).unwrap();
        block_sizes(image, &layout).map(|sizes| sizes.pages).unwrap_or_default()
    }

    #[test]
    fn a_block_ends_where_the_sequence_number_changes() {
        let full: Vec<u32> = (0..256).map(|number| 0x1001 + number / 32).collect();
        assert_eq!(sizes_of(&pages(&full)), [32]);
        let mut damaged = pages(&full);
        damaged.copy_within(200 * 2112..201 * 2112, 40 * 2112);
        assert_eq!(sizes_of(&damaged), [32], "one page of another block");
        // Lightly used: one block is full, one was begun, all others are erased.
        let mut light = full[..40].to_vec();
        light.resize(4096, 0);
        assert_eq!(sizes_of(&pages(&light)), [32]);
        assert!(sizes_of(&pages(&(0..16).map(|number| 0x1001 + number).collect::<Vec<_>>())).is_empty());
    }

    #[test]
    fn what_cannot_be_told_is_not_guessed() {
        let mut begun = vec![0x1001; 10];
        begun.resize(4096, 0);
        assert_eq!(sizes_of(&pages(&begun)), [16, 32, 64, 128, 256], "one block with 10 pages");
        begun[64] = 0x1002;
        assert_eq!(sizes_of(&pages(&begun)), [16, 32, 64], "another begins at page 64");
        begun.truncate(64 + 48);
        assert_eq!(sizes_of(&pages(&begun)), [16], "a partition has whole blocks");
        assert_eq!(sizes_of(&pages(&[0x1000; 300])), [4, 8, 16, 32, 64, 128, 256], "mkyaffs2image");
        // A mark of a bad block stands in its first or second page.
        let mut begun = vec![0x1001; 10];
        begun.resize(4096, 0);
        let mut image = pages(&begun);
        image[(32 * 3) * 2112 + 2048] = 0;
        assert_eq!(sizes_of(&image), [16, 32]);
    }

    #[test]
    fn a_checkpoint_says_in_which_block_it_stands() {
        let mut sequences = vec![0x1001; 10];
        sequences.resize(4096, 0);
        let mut image = pages(&sequences);
        // In block 3, which Linux calls 4: the next one is 5.
        let packed = Tags { sequence: SEQUENCE_CHECKPOINT, object: 5, chunk: 1, count_bytes: 2048, ..Tags::default() };
        let at = 3 * 64 * 2112 + 2048 + FREE_AT as usize;
        image[at..at + TAGS_BYTES].copy_from_slice(&packed.pack());
        assert_eq!(sizes_of(&image), [64]);
    }
}
