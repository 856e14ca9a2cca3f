//! What an image is, and the sizes of its pages, OOB areas and erase blocks: said, or guessed from what is in it.

use crate::tree::{self, cut_off, data_areas, rtems, ImageFs, ImageOptions};
use ffslab_jffs2::probe::nodes::{self, Found};
use ffslab_jffs2::probe::{self, Misfit};
use ffslab_jffs2::Endian;
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;

/// What the user says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub fs: Option<ImageFs>,
    pub page_bytes: Option<u32>,
    /// 0: there are no OOB areas in the image.
    pub oob_bytes: Option<u32>,
    pub block_bytes: Option<u32>,
    /// Of JFFS2.
    pub endian: Option<Endian>,
}

/// What the image is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layout {
    #[serde(serialize_with = "fs_name")]
    pub fs: ImageFs,
    #[serde(rename = "page_B")]
    pub page_bytes: u32,
    /// Bytes behind each page in the image; 0: none.
    #[serde(rename = "oob_B")]
    pub oob_bytes: u32,
    /// Page data of an erase block; of FAT and RFS of an area.
    #[serde(rename = "block_B")]
    pub block_bytes: u32,
    pub blocks: u32,
    #[serde(serialize_with = "endian_name", skip_serializing_if = "Option::is_none")]
    pub endian: Option<Endian>,
    /// YAFFS2: where the tags begin, from the start of a page.
    #[serde(rename = "tags_at_B", skip_serializing_if = "Option::is_none")]
    pub tags_offset: Option<u32>,
    /// How each of these is known, a sentence each.
    pub because: Vec<String>,
    #[serde(skip)]
    pub yaffs2: Option<ffslab_yaffs2::probe::Layout>,
    /// UBI: where the volume identifier header and the data stand in an erase block.
    #[serde(rename = "vid_hdr_and_data_at_B", skip_serializing_if = "Option::is_none")]
    pub ubi_at_bytes: Option<(u32, u32)>,
}

fn fs_name<S: serde::Serializer>(fs: &ImageFs, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(fs.name())
}

fn endian_name<S: serde::Serializer>(endian: &Option<Endian>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *endian == Some(Endian::Big) { "big" } else { "little" })
}

const PAGES_BYTES: [u32; 5] = [2048, 4096, 512, 8192, 16384];
const OOBS_BYTES: [u32; 10] = [0, 16, 64, 128, 224, 256, 448, 512, 640, 32];
const BLOCK_PAGES: [u32; 7] = [64, 32, 128, 16, 256, 512, 8];
const BLOCK_BYTES_USUAL: u32 = 128 << 10;
/// Of JFFS2 that are guessed.
const BLOCK_BYTES_MOST: u32 = 1 << 20;
/// So much is looked at to guess sizes.
const LOOKED_AT_BYTES: usize = 2 << 20;

impl Layout {
    fn new(fs: ImageFs, page_bytes: u32, oob_bytes: u32, block_bytes: u32, image: &[u8]) -> Layout {
        let mut layout = Layout {
            fs,
            page_bytes,
            oob_bytes,
            block_bytes,
            blocks: 0,
            endian: None,
            tags_offset: None,
            because: Vec::new(),
            yaffs2: None,
            ubi_at_bytes: None,
        };
        layout.blocks = image.len().div_ceil(layout.stored_block_bytes()).min(u32::MAX as usize) as u32;
        layout
    }

    fn because(mut self, text: impl Into<String>) -> Layout {
        self.because.push(text.into());
        self
    }

    /// Bytes of a page in the image.
    pub fn stride_bytes(&self) -> usize {
        (self.page_bytes + self.oob_bytes) as usize
    }

    pub fn pages_per_block(&self) -> u32 {
        (self.block_bytes / self.page_bytes).max(1)
    }

    /// Bytes of an erase block in the image.
    pub fn stored_block_bytes(&self) -> usize {
        self.stride_bytes() * self.pages_per_block() as usize
    }

    /// Where an erase block stands in the image; the last one may be short.
    pub fn place(&self, block: u32, image: &[u8]) -> Range<usize> {
        let start = (block as usize * self.stored_block_bytes()).min(image.len());
        start..(start + self.stored_block_bytes()).min(image.len())
    }

    /// The page data of an erase block.
    pub fn data<'i>(&self, block: u32, image: &'i [u8]) -> Cow<'i, [u8]> {
        data_areas(&image[self.place(block, image)], self.page_bytes as usize, self.oob_bytes as usize)
    }

    /// Where a place in the page data of a block stands in the image.
    pub fn offset_in_image(&self, block: u32, offset: u32) -> u64 {
        let (page, column) = (offset / self.page_bytes, offset % self.page_bytes);
        block as u64 * self.stored_block_bytes() as u64
            + u64::from(page) * self.stride_bytes() as u64
            + u64::from(column)
    }

    /// As [`crate::read_tree`] wants it.
    pub fn options(&self) -> ImageOptions {
        ImageOptions {
            fs: Some(self.fs),
            page_bytes: self.page_bytes,
            oob_bytes: if self.oob_bytes > 0 { self.oob_bytes } else { usual_oob_bytes(self.page_bytes) },
            block_bytes: self.block_bytes,
            oob: self.oob_bytes > 0,
            endian: self.endian,
        }
    }
}

/// The OOB area of a chip with such pages.
pub fn usual_oob_bytes(page_bytes: u32) -> u32 {
    (page_bytes / 32).max(16)
}

/// Finds out what the image is.
///
/// Errors: one line; nothing is known in it, or what was given cannot be.
pub fn recognise(image: &[u8], given: &Given) -> Result<Layout, String> {
    check(given)?;
    let is_asked = |fs| given.fs.is_none_or(|asked| asked == fs);
    let found = (is_asked(ImageFs::Fat) || is_asked(ImageFs::Rfs)).then(|| volume(image, given)).flatten();
    // An update in a file has headers of UBI, too.
    let (ubi, within) = match is_asked(ImageFs::Ubifs).then(|| ubi(image, given)).flatten() {
        Some(layout) if most_blocks_begin_with_ubi(image, &layout) => (Some(layout), None),
        unsure => (None, unsure),
    };
    let found = found.or(ubi);
    let found = found.or_else(|| is_asked(ImageFs::Yaffs2).then(|| yaffs2(image, given)).flatten());
    let found = found.or_else(|| is_asked(ImageFs::Jffs2).then(|| jffs2(image, given)).flatten());
    let found = found.or(within);
    found.ok_or_else(|| match given.fs {
        Some(fs) => format!("this is no {} image, or its pages and OOB areas have other sizes", fs.name()),
        None => cut_off::volume(image).unwrap_or_else(|| {
            "nothing is known in it: no JFFS2 node, no YAFFS2 object header, no UBI header, no FAT or RFS superblock"
                .to_string()
        }),
    })
}

fn check(given: &Given) -> Result<(), String> {
    let power = |what: &str, value: Option<u32>, range: Range<u32>| match value {
        Some(bytes) if !bytes.is_power_of_two() || !range.contains(&bytes) => {
            Err(format!("{what} of {bytes} B: a power of two from {} to {} is needed", range.start, range.end - 1))
        }
        _ => Ok(()),
    };
    power("pages", given.page_bytes, 512..(16 << 10) + 1)?;
    power("erase blocks", given.block_bytes, 4096..(16 << 20) + 1)?;
    if let Some(oob) = given.oob_bytes.filter(|&oob| oob != 0 && !(16..=2048).contains(&oob)) {
        return Err(format!("OOB areas of {oob} B: 16 to 2048, or 0 for none, is needed"));
    }
    Ok(())
}

/// Pages and OOB areas to try, what was given first and alone.
fn strides(given: &Given) -> impl Iterator<Item = (u32, u32)> {
    let pages: Vec<u32> = given.page_bytes.map_or(PAGES_BYTES.to_vec(), |page| vec![page]);
    let oobs: Vec<u32> = given.oob_bytes.map_or(OOBS_BYTES.to_vec(), |oob| vec![oob]);
    let usual = |&(page, oob): &(u32, u32)| oob <= page;
    pages.into_iter().flat_map(move |page| oobs.clone().into_iter().map(move |oob| (page, oob))).filter(usual)
}

/// Where sizes are from; `why` they are guessed so, unless they are given.
fn said(is_given: bool, why: &str) -> String {
    if is_given {
        "as given".to_string()
    } else {
        format!("guessed: {why}")
    }
}

fn volume(image: &[u8], given: &Given) -> Option<Layout> {
    let is_asked = |fs| given.fs.is_none_or(|asked| asked == fs);
    // Areas for the picture of the space: at most this many.
    let area_bytes = (image.len() / 1024).next_power_of_two().max(4096) as u32;
    if let Some(boot) = rtems::fat(image).filter(|_| is_asked(ImageFs::Fat)) {
        let layout = Layout::new(ImageFs::Fat, boot.sector_bytes, 0, area_bytes.max(boot.cluster_bytes()), image);
        return Some(layout.because(format!("the boot sector is one of FAT, with sectors of {} B", boot.sector_bytes)));
    }
    let rfs = rtems::rfs(image).filter(|_| is_asked(ImageFs::Rfs))?;
    let layout = Layout::new(ImageFs::Rfs, 512, 0, area_bytes.max(rfs.block_bytes), image);
    Some(layout.because(format!("the superblock is one of RFS, with blocks of {} B", rfs.block_bytes)))
}

// ---- UBI ----------------------------------------------------------------------------------------------------

/// Erase counter headers are looked for at multiples of this.
const UBI_STEP_BYTES: usize = 512;
const UBI_HEADERS_MAX: usize = 256;

fn ubi(image: &[u8], given: &Given) -> Option<Layout> {
    let has_header = |at: &usize| ffslab_ubi::probe::offsets(&image[*at..]).is_some();
    let places: Vec<usize> =
        (0..image.len()).step_by(UBI_STEP_BYTES).filter(has_header).take(UBI_HEADERS_MAX).collect();
    let &first = places.first()?;
    let offsets @ (vid, data) = ffslab_ubi::probe::offsets(&image[first..])?;
    // No erase block is larger; a header that says so is damaged, whatever its CRC.
    if vid.max(data) > 1 << 20 {
        return None;
    }
    let distance = places.windows(2).map(|pair| pair[1] - pair[0]).fold(0, gcd);
    let mut best: Option<(usize, u32, Layout)> = None;
    for (page_bytes, oob_bytes) in strides(given) {
        if data % page_bytes != 0 || (vid + 64).next_multiple_of(page_bytes) != data {
            continue;
        }
        for pages in BLOCK_PAGES {
            let layout = Layout::new(ImageFs::Ubifs, page_bytes, oob_bytes, page_bytes * pages, image);
            let block = layout.stored_block_bytes();
            let is_given = given.block_bytes.is_none_or(|bytes| bytes == layout.block_bytes);
            let fits = if distance > 0 { block == distance } else { layout.block_bytes == BLOCK_BYTES_USUAL };
            let fits = if given.block_bytes.is_some() { first % block == 0 } else { fits };
            if !is_given || !fits {
                continue;
            }
            let is_leb = |&&at: &&usize| {
                let vid_at = at as u64 + layout.offset_in_image(0, vid);
                (at - first) % block == 0 && image.get(vid_at as usize..).is_some_and(ffslab_ubi::probe::is_vid_header)
            };
            let hits = places.iter().filter(is_leb).count();
            // Of equals: the volume identifier header in the second page, then in the second sub-page.
            let likely = if vid == page_bytes { 2 } else { u32::from(vid == page_bytes / 4) };
            if best.as_ref().is_none_or(|(most, rank, _)| (hits, likely) > (*most, *rank)) {
                best = Some((hits, likely, layout));
            }
        }
    }
    let (_, _, mut layout) = best?;
    layout.ubi_at_bytes = Some(offsets);
    let (block, page, oob) = (layout.block_bytes >> 10, layout.page_bytes, layout.oob_bytes);
    let is_given = given.page_bytes.is_some() && given.oob_bytes.is_some() && given.block_bytes.is_some();
    let count = places.len();
    Some(layout.because(format!("{count} erase counter headers of UBI were found, the first at {first:#x}")).because(
        format!(
            "erase blocks of {block} KiB, pages of {page} + {oob} B are {}",
            said(is_given, "that is how far the headers stand apart, and where they say that data begin")
        ),
    ))
}

/// Of the erase blocks that are not erased.
fn most_blocks_begin_with_ubi(image: &[u8], layout: &Layout) -> bool {
    let blocks = (0..layout.blocks).map(|block| &image[layout.place(block, image)]);
    let used: Vec<&[u8]> = blocks.filter(|block| block.iter().take(64).any(|&byte| byte != 0xFF)).collect();
    let headers = used.iter().filter(|block| ffslab_ubi::probe::offsets(block).is_some()).count();
    2 * headers >= used.len()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

// ---- YAFFS2 -------------------------------------------------------------------------------------------------

fn yaffs2(image: &[u8], given: &Given) -> Option<Layout> {
    let (page, oob) = (given.page_bytes.unwrap_or(2048), given.oob_bytes.unwrap_or(64));
    let found = ffslab_yaffs2::probe::layout(image, page, oob, given.oob_bytes.is_none_or(|oob| oob > 0))?;
    if given.page_bytes.is_some_and(|page| page != found.page_bytes)
        || given.oob_bytes.is_some_and(|oob| oob != found.oob_bytes)
    {
        return None;
    }
    // With one sequence number in the whole image, as mkyaffs2image writes it, every size suits.
    let mut sequences = image
        .chunks_exact(found.stride_bytes())
        .filter_map(|page| found.look(page))
        .map(|tags| tags.sequence)
        .filter(|sequence| ffslab_yaffs2::probe::PageTags::SEQUENCES.contains(sequence));
    let first = sequences.next();
    let is_one = sequences.all(|sequence| Some(sequence) == first);
    let wanted = match given.block_bytes {
        Some(bytes) => bytes / found.page_bytes,
        None if is_one => 64,
        None => 0,
    };
    let pages = ffslab_yaffs2::probe::pages_per_block(image, &found, wanted)?;
    let mut layout = Layout::new(ImageFs::Yaffs2, found.page_bytes, found.oob_bytes, found.page_bytes * pages, image);
    layout.tags_offset = Some(found.tags_offset);
    layout.yaffs2 = Some(found);
    let (place, at) = match found.is_inband() {
        true => ("at the end of the page data", found.tags_offset),
        false => ("in the OOB area, at offset", found.tags_offset - found.page_bytes),
    };
    let ecc = if found.tags_ecc { "with ECC" } else { "without ECC" };
    let (page, oob) = (found.page_bytes, found.oob_bytes);
    let blocks = match (given.block_bytes, is_one) {
        (Some(bytes), _) if bytes == layout.block_bytes => "as given",
        (_, true) => "assumed: all pages have one sequence number, so nothing tells",
        _ => "guessed: the largest in which all pages have the same sequence number",
    };
    let kib = layout.block_bytes >> 10;
    Some(
        layout
            .because(format!("object headers of YAFFS2 were found with tags {place} {at}, {ecc}"))
            .because(format!(
                "pages of {page} + {oob} B are {}",
                said(given.page_bytes.is_some() && given.oob_bytes.is_some(), "no other sizes find more headers")
            ))
            .because(format!("erase blocks of {kib} KiB are {blocks}")),
    )
}

// ---- JFFS2 --------------------------------------------------------------------------------------------------

fn jffs2(image: &[u8], given: &Given) -> Option<Layout> {
    // A header may cross the end of a page, so it is looked for in the raw bytes first: most do not.
    let endian = given.endian.or_else(|| probe::byte_order(image))?;
    let first = (0..image.len().saturating_sub(12)).step_by(4).find(|&at| sound_at(endian, image, at))?;
    let looked_at = &image[..image.len().min(16 * LOOKED_AT_BYTES)];
    // Bytes of whole nodes; of few nodes, which are whole with any sizes, whether the first begins a block, and markers.
    let mut best: Option<((u64, bool, usize), u32, u32)> = None;
    let first_page = given.page_bytes.unwrap_or(PAGES_BYTES[0]);
    // Without OOB areas the size of the pages makes no difference.
    for (page_bytes, oob_bytes) in strides(given).filter(|&(page, oob)| oob > 0 || page == first_page) {
        let stride = (page_bytes + oob_bytes) as usize;
        let start = first / stride * stride;
        let window = &image[start..image.len().min(start + LOOKED_AT_BYTES)];
        let whole = whole_node_bytes(endian, &data_areas(window, page_bytes as usize, oob_bytes as usize));
        if best.is_some_and(|((most, ..), ..)| whole < most) {
            continue;
        }
        let begins = |&pages: &u32| first % (stride * pages as usize) == 0;
        let begins =
            given.block_bytes.map_or(BLOCK_PAGES.iter().any(begins), |bytes| begins(&(bytes / page_bytes).max(1)));
        let markers = probe::oob_markers(endian, looked_at, page_bytes as usize, oob_bytes as usize);
        if best.is_none_or(|(most, ..)| (whole, begins, markers) > most) {
            best = Some(((whole, begins, markers), page_bytes, oob_bytes));
        }
    }
    let (_, page_bytes, oob_bytes) = best.filter(|((whole, ..), ..)| *whole > 0)?;
    let (block_bytes, why) = match given.block_bytes {
        Some(bytes) => (bytes, "as given".to_string()),
        None => jffs2_block_bytes(endian, looked_at, page_bytes, oob_bytes),
    };
    let mut layout = Layout::new(ImageFs::Jffs2, page_bytes, oob_bytes, block_bytes.max(page_bytes), image);
    layout.endian = Some(endian);
    let order = if endian == Endian::Big { "big-endian" } else { "little-endian" };
    let how = if given.endian.is_some() { "as given" } else { "as the first node is" };
    let pages = match oob_bytes {
        0 if given.page_bytes.is_some() => format!("pages of {page_bytes} B as given, without OOB areas"),
        0 => format!("there are no OOB areas between the pages, whose size nothing tells: {page_bytes} B are assumed"),
        _ => format!(
            "pages of {page_bytes} + {oob_bytes} B are {}",
            said(given.page_bytes.is_some() && given.oob_bytes.is_some(), "so most nodes are whole")
        ),
    };
    let kib = layout.block_bytes >> 10;
    Some(
        layout
            .because(format!("nodes of JFFS2 were found, {order} {how}, the first at {first:#x}"))
            .because(pages)
            .because(format!("erase blocks of {kib} KiB are {why}")),
    )
}

fn sound_at(endian: Endian, image: &[u8], at: usize) -> bool {
    probe::byte_order(&image[at..at + 12]) == Some(endian)
}

/// Bytes of nodes whose check sums are right.
fn whole_node_bytes(endian: Endian, data: &[u8]) -> u64 {
    let mut bytes = 0;
    nodes::walk(endian, data, &mut |place| {
        if !matches!(place.found, Found::Damage(_) | Found::Foreign { .. } | Found::Padding) {
            bytes += u64::from(place.total_bytes);
        }
    });
    bytes
}

/// Size of the erase blocks and how it is known. Clean markers stand at the start of blocks; else a size suits if no node
/// crosses the end of a block, and the smallest that does is the likeliest if nodes do cross the ends of half of it.
fn jffs2_block_bytes(endian: Endian, image: &[u8], page_bytes: u32, oob_bytes: u32) -> (u32, String) {
    let blocks_of = |size: u32| tree::block_data(image, page_bytes, oob_bytes, size);
    let mut markers = 0;
    let mut apart = 0;
    for (number, data) in blocks_of(BLOCK_BYTES_MOST).enumerate() {
        nodes::walk(endian, &data, &mut |place| {
            if place.found == Found::CleanMarker {
                markers += 1;
                apart = gcd(apart, number * BLOCK_BYTES_MOST as usize + place.offset as usize);
            }
        });
    }
    let power = 1u32 << apart.trailing_zeros().min(24);
    if markers > 1 && apart > 0 && (4096..=1 << 24).contains(&power) {
        return (power, format!("guessed: so far apart stand its {markers} clean markers"));
    }
    let sizes: Vec<u32> = (13..=20).map(|power| 1u32 << power).filter(|&size| size >= page_bytes).collect();
    let misfit = |size: u32| probe::misfit(endian, blocks_of(size), size);
    let crosses = |size: u32| size >= page_bytes && matches!(misfit(size), Some(Misfit::Crossing { .. }));
    let suits = |size: u32| misfit(size).is_none();
    let smallest = sizes.iter().copied().find(|&size| suits(size));
    match smallest {
        Some(size) if image.len() > size as usize && crosses(size / 2) => {
            (size, "guessed: the smallest whose ends no node crosses".to_string())
        }
        Some(_) if suits(BLOCK_BYTES_USUAL) => {
            (BLOCK_BYTES_USUAL, "assumed: nothing in the image tells, and nothing speaks against it".to_string())
        }
        Some(size) => (size, "guessed: the smallest that nothing speaks against".to_string()),
        None => (BLOCK_BYTES_USUAL, "assumed: nodes speak against every size".to_string()),
    }
}

/// The geometry of the smallest chip that takes an image of this layout without spare blocks.
pub fn geometry(image: &[u8], layout: &Layout, blocks_min: u32) -> Result<ffslab_flash::Geometry, String> {
    tree::geometry_of(image, &layout.options(), blocks_min)
}
