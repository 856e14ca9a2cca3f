//! UBI: its headers stand at the start of erase blocks and say where the data begin.

use super::scan;
use super::tree::{NODE_MAGIC, OFFSETS_OF_NOR};
use crate::format::{Given, ImageFs, Layout};
use crate::recognise::{gcd, said, strides, BLOCK_BYTES_USUAL, BLOCK_PAGES, PAGES_BYTES};
use ffslab_text::quoting::quoted;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// With what erase counter headers begin (`drivers/mtd/ubi/ubi-media.h`).
const EC_MAGIC: &[u8; 4] = b"UBI#";
const OOB_BYTES_MIN: u32 = 16;
const UBI_HEADERS_MAX: usize = 256;
const RUN_HEADERS_MAX: usize = 1 << 16;
const RUN_BLOCKS_MIN: usize = 3;
const STEPS_TRIED: usize = 64;
const FEW_HEADERS: usize = 4;
/// What is to be said of volumes whose data nothing checks.
const RAW: &str = "UBI has no check sums over the data of dynamic volumes: in one that holds no UBIFS and becomes a file, a changed bit or a \
                   missing LEB does not show";
/// Of a node of JFFS2.
const NODE_HEAD_BYTES: usize = 12;
/// Of a superblock node.
const SUPERBLOCK_BYTES: u32 = 4096;

pub fn recognise(fs: ImageFs, image: &[u8], given: &Given) -> Option<Layout> {
    let places = headers_in_step(image);
    let &first = places.first()?;
    let offsets @ (vid, data) = ffslab_ubi::probe::offsets(&image[first..])?;
    // No erase block is larger; a header that says so is damaged, whatever its CRC.
    if vid.max(data) > 1 << 20 {
        return None;
    }
    let distance = places.windows(2).map(|pair| pair[1] - pair[0]).fold(0, gcd);
    if offsets == OFFSETS_OF_NOR {
        return of_nor(fs, image, given, (places.len(), first, distance));
    }
    let mut best: Option<(usize, u32, Layout)> = None;
    let apart = if given.oob_bytes.is_none() { strides_apart(distance, given) } else { Vec::new() };
    for (page_bytes, oob_bytes) in strides(given).chain(apart) {
        if data % page_bytes != 0 || (vid + 64).next_multiple_of(page_bytes) != data {
            continue;
        }
        for pages in BLOCK_PAGES {
            let layout = Layout::new(fs, page_bytes, oob_bytes, page_bytes * pages, image);
            let block = layout.stored_block_bytes();
            let fits = match given.block_bytes {
                // Of a few headers bad blocks may lie between each two, of many not.
                Some(bytes) => {
                    let is_distance = distance == block || places.len() <= FEW_HEADERS && distance % block == 0;
                    bytes == layout.block_bytes && first % block == 0 && is_distance
                }
                None if distance > 0 => block == distance,
                None => layout.block_bytes == BLOCK_BYTES_USUAL,
            };
            if !fits {
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
    let (count, first) = (places.len(), given.starts_at_bytes + first as u64);
    Some(layout.because(format!("{count} erase counter headers of UBI were found, the first at {first:#x}")).because(
        format!(
            "erase blocks of {block} KiB, pages of {page} + {oob} B are {}",
            said(given, is_given, "that is how far the headers stand apart, and where they say that data begin")
        ),
    ))
}

/// Bytes that most serial NOR programs at once: what is called a page of such an image.
const NOR_PAGE_BYTES: u32 = 256;
/// Most serial NOR erases so much; headers that do not tell are taken for such.
const NOR_BLOCK_BYTES: u32 = 64 << 10;

/// The layout of an image of NOR, which has neither pages nor out-of-band areas. `found`: number of headers, place of the first
/// one, distance between all.
fn of_nor(fs: ImageFs, image: &[u8], given: &Given, found: (usize, usize, usize)) -> Option<Layout> {
    let (count, first, distance) = found;
    let usual = if distance > 0 { u32::try_from(distance).ok()? } else { NOR_BLOCK_BYTES };
    let block_bytes = given.block_bytes.unwrap_or(usual);
    // Pages of the whole chip are what another file system on it calls so.
    let is_other = given.said_by.is_none() && given.page_bytes.is_some_and(|bytes| bytes != NOR_PAGE_BYTES)
        || given.oob_bytes.is_some_and(|bytes| bytes != 0);
    if is_other || !block_bytes.is_power_of_two() || !(NOR_PAGE_BYTES * 2..=1 << 20).contains(&block_bytes) {
        return None;
    }
    let mut layout = Layout::new(fs, NOR_PAGE_BYTES, 0, block_bytes, image);
    layout.ubi_at_bytes = Some(OFFSETS_OF_NOR);
    let first = given.starts_at_bytes + first as u64;
    Some(layout.because(format!("{count} erase counter headers of UBI were found, the first at {first:#x}")).because(format!(
        "it is of NOR, which has no pages (256 B, what serial NOR programs at once, are called so here): data begin at 128 B; erase \
         blocks of {block_bytes} B are how far the headers stand apart"
    )))
}

/// Where the erase counter headers stand whose CRC is right: the first of them. An image of UBI may be a file of another one, whose headers
/// are out of step.
pub fn headers(image: &[u8]) -> Vec<usize> {
    headers_at_most(image, UBI_HEADERS_MAX)
}

/// As [`headers`], without those of an image that is a file or a volume of this one.
pub fn headers_in_step(image: &[u8]) -> Vec<usize> {
    let mut places = headers(image);
    if let Some(&first) = places.first() {
        let block = step(image, &places);
        places.retain(|at| (at - first).is_multiple_of(block));
    }
    places
}

/// Images of UBI that stand one behind the other, out of step with one another. Within an image its headers are as far apart as erase
/// blocks. An image that is a file of another one stands within a block of that, and is none of them.
pub fn runs(image: &[u8]) -> Vec<Range<usize>> {
    let places = headers_at_most(image, RUN_HEADERS_MAX);
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(&first) = places.get(at) {
        let block = step(image, &places[at..]);
        let (mut last, mut count) = (first, 0);
        while let Some(&here) = places.get(at) {
            if (here - first).is_multiple_of(block) {
                (last, count) = (here, count + 1);
            } else if here - last >= block {
                break;
            }
            at += 1;
        }
        // One header alone may be anything.
        if count < RUN_BLOCKS_MIN {
            return Vec::new();
        }
        runs.push(first..last + block);
    }
    if let Some(run) = runs.last_mut() {
        run.end = image.len();
    }
    runs
}

/// How far the headers stand apart that are in step with the first one: the distance with which most follow it without a gap, unless all
/// are multiples of the least. Where data begin is no erase block's end, but where an image begins that is in a volume of this one.
fn step(image: &[u8], places: &[usize]) -> usize {
    let apart = || places.windows(2).map(|pair| pair[1] - pair[0]);
    let Some(least) = apart().min() else { return 1 };
    let data = ffslab_ubi::probe::offsets(&image[places[0]..]).map_or(0, |(_, data)| data as usize);
    if least > data && apart().all(|distance| distance.is_multiple_of(least)) {
        return least;
    }
    let first = places[0];
    let follow = |distance: &usize| {
        let chain = (1..).map(|number| first + number * distance);
        chain.take_while(|at| places.binary_search(at).is_ok()).count()
    };
    let distances = places.iter().skip(1).take(STEPS_TRIED).map(|at| at - first);
    distances.max_by_key(|distance| (follow(distance), Reverse(*distance))).unwrap_or(least)
}

fn headers_at_most(image: &[u8], most: usize) -> Vec<usize> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(found) = image.get(at..).and_then(|rest| rest.iter().position(|&byte| byte == EC_MAGIC[0])) {
        at += found;
        if image[at..].starts_with(EC_MAGIC) && ffslab_ubi::probe::offsets(&image[at..]).is_some() {
            places.push(at);
            if places.len() == most {
                break;
            }
        }
        at += 1;
    }
    places
}

/// Where UBI begins in an image that begins with something else: at its first header, unless that is where an erase block of the
/// image begins.
pub fn starts_late(image: &[u8], layout: &Layout) -> Option<usize> {
    let &first = headers(image).first()?;
    (!first.is_multiple_of(layout.stored_block_bytes())).then_some(first)
}

/// The first header of an image of which no layout is known.
pub fn first_header(image: &[u8]) -> Option<usize> {
    headers(image).first().copied().filter(|&at| at > 0)
}

/// Sizes of pages and OOB areas that follow from how far erase blocks stand apart.
fn strides_apart(distance: usize, given: &Given) -> Vec<(u32, u32)> {
    let of = |page: u32, pages: u32| {
        let stride = u32::try_from(distance / pages as usize).ok()?;
        let oob = stride.checked_sub(page)?;
        let fits = distance.is_multiple_of(pages as usize) && (OOB_BYTES_MIN..=page / 2).contains(&oob);
        fits.then_some((page, oob))
    };
    let pages_bytes = PAGES_BYTES.into_iter().filter(|page| given.page_bytes.is_none_or(|given| given == *page));
    let has_oob = given.has_oob.unwrap_or(true);
    pages_bytes.flat_map(|page| BLOCK_PAGES.map(|pages| of(page, pages))).flatten().filter(|_| has_oob).collect()
}

/// How many erase blocks begin with a header, and how many are not erased.
pub fn headers_of_used(image: &[u8], layout: &Layout) -> (usize, usize) {
    let blocks = (0..layout.blocks).map(|block| &image[layout.place(block, image)]);
    let used: Vec<&[u8]> = blocks.filter(|block| block.iter().take(64).any(|&byte| byte != 0xFF)).collect();
    (used.iter().filter(|block| ffslab_ubi::probe::offsets(block).is_some()).count(), used.len())
}

/// A volume of UBIFS without UBI around it: the superblock says how large LEBs are, and the master node stands in the
/// next one (`fs/ubifs/ubifs.h`, `UBIFS_MST_LNUM`).
pub fn volume_alone(fs: ImageFs, image: &[u8]) -> Option<Layout> {
    let superblock = ffslab_ubifs::probe::superblock(image)?;
    let (leb, page) = (superblock.leb_bytes, superblock.min_io_bytes);
    let is_master = image.get(leb as usize..)?.starts_with(&image[..4]);
    if !is_master || page == 0 || !leb.is_multiple_of(page) {
        return None;
    }
    let mut layout = Layout::new(fs, page, 0, leb, image);
    layout.lacks_ubi = true;
    layout.unchecked = unsigned(&superblock).map(Cow::Borrowed);
    Some(layout.because(format!("a superblock of UBIFS stands at the start, without UBI; it has LEBs of {leb} B")))
}

/// What is not looked at in a signed volume.
pub fn unsigned(superblock: &ffslab_ubifs::probe::Superblock) -> Option<&'static str> {
    superblock.is_signed.then_some("the volume is signed: its signature is not checked here, but the CRC of each node")
}

/// What a volume begins with that becomes a file.
fn begins(start: &[u8]) -> Option<&'static str> {
    let is_node =
        start.len() >= NODE_HEAD_BYTES && ffslab_jffs2::probe::byte_order(&start[..NODE_HEAD_BYTES]).is_some();
    let others = [
        (start.starts_with(EC_MAGIC), "UBI, which is read when it is a file"),
        (is_node, "JFFS2, which is read when it is a file"),
    ];
    others.into_iter().find(|(is_so, _)| *is_so).map(|(_, what)| what).or_else(|| crate::named::beginning(start))
}

/// What is not looked at in the volumes of UBI: signatures, and what UBI has no check sums for. Its headers have a CRC, and so have
/// the nodes of UBIFS and the data of static volumes; a dynamic volume that holds something else has none, and of one without an erase
/// block nothing tells whether it ever had one.
pub fn unchecked(image: &[u8], layout: &Layout) -> Option<Cow<'static, str>> {
    let (_, data_at) = layout.ubi_at_bytes?;
    let mut signed = None;
    let (mut held, mut dynamic, mut ubifs) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut named = BTreeMap::new();
    for (block, leb) in scan::lebs(image, layout).filter(|(_, leb)| !leb.is_internal()) {
        held.insert(leb.volume_id);
        if !leb.is_static {
            dynamic.insert(leb.volume_id);
        }
        let start = layout.bytes(block, data_at, SUPERBLOCK_BYTES, image);
        if leb.leb_number == 0 && start.starts_with(&NODE_MAGIC) {
            ubifs.insert(leb.volume_id);
            signed = signed.or_else(|| ffslab_ubifs::probe::superblock(&start).and_then(|found| unsigned(&found)));
        } else if leb.leb_number == 0 {
            named.extend(begins(&start).map(|what| (leb.volume_id, what)));
        }
    }
    let raw = (!dynamic.is_subset(&ubifs)).then_some(RAW);
    let mut said: Vec<String> = signed.into_iter().chain(raw).map(str::to_string).collect();
    let all = scan::all_volumes(image, layout);
    let holds = |(id, what): (&u32, &&str)| Some(format!("volume {} holds {what}", quoted(all.get(id)?.as_bytes())));
    said.extend(named.iter().filter_map(holds));
    let absent = all.iter().filter(|(id, _)| !held.contains(id));
    let absent: Vec<String> = absent.map(|(_, name)| quoted(name.as_bytes()).to_string()).collect();
    if !absent.is_empty() {
        said.push(format!("no erase block here is of volume {}: empty, or cut off", absent.join(", ")));
    }
    (!said.is_empty()).then(|| said.join("; ").into())
}
