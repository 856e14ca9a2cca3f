//! JFFS2: its nodes are found anywhere, and are whole where the sizes of pages and OOB areas are right.

use crate::areas::{block_data, data_areas};
use crate::format::{Given, ImageFs, Layout};
use crate::recognise::{gcd, said, strides, BLOCK_BYTES_USUAL, BLOCK_PAGES, PAGES_BYTES};
use ffslab_jffs2::probe::nodes::{self, Found, Place};
use ffslab_jffs2::probe::{self, Misfit};
use ffslab_jffs2::Endian;

/// Of erase blocks that are guessed.
const BLOCK_BYTES_MOST: u32 = 1 << 20;
/// So much is looked at to guess sizes.
const LOOKED_AT_BYTES: usize = 2 << 20;

/// OOB areas that are tried where none of the usual sizes suits, and how much is looked at then.
const ODD_OOB_BYTES_MIN: u32 = 8;
const ODD_OOB_BYTES_MOST: u32 = 1280;
const ODD_LOOKED_AT_BYTES: usize = 128 << 10;
const SMALL_PAGE_BYTES: usize = 512;

/// Bytes of whole nodes with pages and OOB areas of such sizes.
type Suits = (u64, u32, u32);

pub fn recognise(fs: ImageFs, image: &[u8], given: &Given) -> Option<Layout> {
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
        let whole = whole_node_bytes(endian, image, first, page_bytes, oob_bytes);
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
    let odd = best.filter(|_| given.oob_bytes.is_none() && given.has_oob != Some(false));
    let odd = odd.and_then(|((whole, ..), page, oob)| odd_sizes(endian, image, first, given, (whole, page, oob)));
    let best = odd.map(|(whole, page, oob)| ((whole, false, 0), page, oob)).or(best);
    let ((whole, ..), page_bytes, oob_bytes) = best.filter(|((whole, ..), ..)| *whole > 0)?;
    // Sizes that are given are wrong if others make more nodes whole.
    let is_said = given.said_by.is_none() && (given.has_oob.is_some() || given.oob_bytes.is_some());
    let of_stride = |(page, oob)| whole_node_bytes(endian, image, first, page, oob);
    if is_said && strides(&Given::default()).map(of_stride).any(|other| other > whole + whole / 8) {
        return None;
    }
    let (block_bytes, why) = match given.block_bytes {
        Some(bytes) => (bytes, said(given, true, "")),
        None => block_bytes_of(endian, looked_at, page_bytes, oob_bytes),
    };
    let mut layout = Layout::new(fs, page_bytes, oob_bytes, block_bytes.max(page_bytes), image);
    layout.endian = Some(endian);
    let order = if endian == Endian::Big { "big-endian" } else { "little-endian" };
    let how = if given.endian.is_some() { "as given" } else { "as the first node is" };
    let pages = match oob_bytes {
        0 if given.page_bytes.is_some() => {
            format!("pages of {page_bytes} B are {}, without OOB areas", said(given, true, ""))
        }
        0 => format!("there are no OOB areas between the pages, whose size nothing tells: {page_bytes} B are assumed"),
        _ => format!(
            "pages of {page_bytes} + {oob_bytes} B are {}",
            said(given, given.page_bytes.is_some() && given.oob_bytes.is_some(), "so most nodes are whole")
        ),
    };
    if is_mostly_broken(endian, image, first, (whole, page_bytes, oob_bytes)) {
        layout.doubts.push(format!(
            "of the first {} B that are not erased only {whole} are in whole nodes: if OOB areas of another layout lie between the pages, \
             --layout says which, such as 2048+64 or 512+16x4",
            used_bytes(image, first)
        ));
    }
    let (kib, first) = (layout.block_bytes >> 10, given.starts_at_bytes + first as u64);
    Some(
        layout
            .because(format!("nodes of JFFS2 were found, {order} {how}, the first at {first:#x}"))
            .because(pages)
            .because(format!("erase blocks of {kib} KiB are {why}")),
    )
}

/// Sizes of pages and OOB areas that no list has, if most of the image is no whole nodes with the best of those that it has: the most
/// nodes are whole with the right ones. `best`: bytes of whole nodes, of pages, of OOB areas.
fn odd_sizes(endian: Endian, image: &[u8], first: usize, given: &Given, best: Suits) -> Option<Suits> {
    if !is_mostly_broken(endian, image, first, best) {
        return None;
    }
    let pages =
        PAGES_BYTES.into_iter().chain([1024]).filter(|page| given.page_bytes.is_none_or(|given| given == *page));
    let sizes =
        pages.flat_map(|page| (ODD_OOB_BYTES_MIN..=(page / 4).min(ODD_OOB_BYTES_MOST)).map(move |oob| (page, oob)));
    let short = &image[..image.len().min(first + ODD_LOOKED_AT_BYTES)];
    let likely = sizes.max_by_key(|&(page, oob)| whole_node_bytes(endian, short, first, page, oob));
    let found = likely.map(|(page, oob)| (whole_node_bytes(endian, image, first, page, oob), page, oob));
    found.filter(|(whole, ..)| *whole > best.0 + best.0 / 8)
}

/// Whether less than three quarters of what is looked at, and is not erased, are whole nodes, and some are broken.
fn is_mostly_broken(endian: Endian, image: &[u8], first: usize, (whole, page_bytes, oob_bytes): Suits) -> bool {
    let mut broken = 0;
    walk(endian, image, first, (page_bytes, oob_bytes), &mut |place| {
        broken += u32::from(matches!(place.found, Found::Damage(_)));
    });
    broken > 0 && 4 * whole < 3 * used_bytes(image, first)
}

/// Bytes of small pages that are not erased.
fn used_bytes(image: &[u8], first: usize) -> u64 {
    let window = &image[first..image.len().min(first + LOOKED_AT_BYTES)];
    let used = window.chunks(SMALL_PAGE_BYTES).filter(|page| !ffslab_mtd::is_erased(page));
    used.map(|page| page.len() as u64).sum()
}

fn sound_at(endian: Endian, image: &[u8], at: usize) -> bool {
    probe::byte_order(&image[at..at + 12]) == Some(endian)
}

/// Bytes of nodes whose check sums are right, from the page of the first on, with pages and OOB areas of such sizes.
fn whole_node_bytes(endian: Endian, image: &[u8], first: usize, page_bytes: u32, oob_bytes: u32) -> u64 {
    let mut bytes = 0;
    walk(endian, image, first, (page_bytes, oob_bytes), &mut |place| {
        if !matches!(place.found, Found::Damage(_) | Found::Foreign { .. } | Found::Padding) {
            bytes += u64::from(place.total_bytes);
        }
    });
    bytes
}

/// Every node from the page of the first on, with pages and OOB areas of such sizes.
fn walk(endian: Endian, image: &[u8], first: usize, sizes_bytes: (u32, u32), each: &mut dyn FnMut(Place)) {
    let (page_bytes, oob_bytes) = (sizes_bytes.0 as usize, sizes_bytes.1 as usize);
    let stride = page_bytes + oob_bytes;
    let start = first / stride * stride;
    let window = &image[start..image.len().min(start + LOOKED_AT_BYTES)];
    nodes::walk(endian, &data_areas(window, page_bytes, oob_bytes), each);
}

/// Size of the erase blocks and how it is known. Clean markers stand at the start of blocks; else a size suits if no node
/// crosses the end of a block, and the smallest that does is the likeliest if nodes do cross the ends of half of it.
fn block_bytes_of(endian: Endian, image: &[u8], page_bytes: u32, oob_bytes: u32) -> (u32, String) {
    let blocks_of = |size: u32| block_data(image, page_bytes, oob_bytes, size);
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
