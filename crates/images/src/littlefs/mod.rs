//! Images of littlefs 2 and 1, read as they stand (`SPEC.md` of littlefs): logs in pairs of blocks, lists of blocks. What is called an erase block
//! here is a block of littlefs, which may be several erase blocks of the chip.

mod log;
mod pair;
mod version1;
mod walk;

use crate::format::{Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::recognise::PAGES_BYTES;
use crate::scan::Scanned;
use crate::tree::room::{Names, Room};
use crate::tree::{Content, Tree, TreeEntry, TreeError, FILE_BYTES_MAX};
use ffslab_fs::{BlockSpace, FileKind, Ino};
use ffslab_mtd::is_erased;
use log::{Held, NameOf, Superblock, MAGIC};
use pair::log_of;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;
use walk::{Use, Walk};

/// How they are recognised, read and explained.
pub struct InImages;

/// Where the magic word stands in a superblock, with the revision and a tag before it.
const MAGIC_AT: usize = 8;
/// That of littlefs 1, behind the head of its directory, of its entry, and numbers.
const MAGIC_OF_1_AT: usize = 40;
const BLOCK_BYTES_MIN: u32 = 128;
/// Nothing larger is looked for at the second block, whose size the first would say.
const BLOCK_BYTES_MAX: u32 = 4 << 20;

/// The superblock in the block that begins there, if it is whole. A page of it with its OOB area may be shorter than the log, which is
/// short after a format.
fn superblock_at(image: &[u8], at: usize) -> Option<Superblock> {
    let block = image.get(at..)?;
    let has_magic = |at: usize| block.get(at..).is_some_and(|here| here.starts_with(MAGIC));
    if !has_magic(MAGIC_AT) && !has_magic(MAGIC_OF_1_AT) {
        return None;
    }
    let most = block.len().min(BLOCK_BYTES_MAX as usize);
    let superblock = Superblock::of(&log_of(&block[..most])?)?;
    let is_possible = superblock.block_bytes >= BLOCK_BYTES_MIN && superblock.block_bytes.is_multiple_of(4);
    (is_possible && superblock.block_bytes as usize <= image.len()).then_some(superblock)
}

/// Block 0 has it, or block 1, of whatever size the blocks are.
fn superblock_of(image: &[u8]) -> Option<Superblock> {
    let mut sizes = (7..=22).map(|power| 1usize << power);
    // One that stands elsewhere is of an image that begins there.
    let copy = |at: usize| superblock_at(image, at).filter(|found| found.block_bytes as usize == at);
    superblock_at(image, 0).or_else(|| sizes.find_map(copy))
}

/// Where images begin that are not alone, behind something else or each other, and how many bytes each takes.
fn behind(image: &[u8]) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    let first = superblock_of(image);
    if let Some(first) = &first {
        let bytes = first.block_bytes as usize * first.blocks as usize;
        places.push(0..image.len().min(bytes.max(first.block_bytes as usize)));
    }
    let magics = image.windows(MAGIC.len()).enumerate().filter(|(_, here)| *here == MAGIC).map(|(at, _)| at);
    for at in magics.flat_map(|at| [MAGIC_AT, MAGIC_OF_1_AT].map(|before| at.checked_sub(before))).flatten() {
        if places.last().is_some_and(|before| at < before.end) {
            continue;
        }
        if let Some(found) = superblock_at(&image[at..], 0) {
            let bytes = found.block_bytes as usize * found.blocks as usize;
            places.push(at..image.len().min(at.saturating_add(bytes)));
        }
    }
    // One that begins the image is found anyway, on pages with OOB areas, too.
    if first.is_some() && places.len() < 2 {
        places.clear();
    }
    places
}

/// Sizes of pages and OOB areas with which the image is as long as the superblock says. Without OOB areas if nothing says otherwise.
fn pages(superblock: &Superblock, image: &[u8], given: &Given) -> Vec<(u32, u32)> {
    let block = superblock.block_bytes;
    let usual = || {
        let fits = |page: &u32| block.is_multiple_of(*page);
        PAGES_BYTES.into_iter().find(fits).unwrap_or(block)
    };
    let page = given.page_bytes.unwrap_or_else(usual);
    if let Some(oob) = given.oob_bytes {
        return vec![(page, oob)];
    }
    let plain = u64::from(block) * u64::from(superblock.blocks);
    let fits = |(page, oob): &(u32, u32)| {
        block.is_multiple_of(*page) && plain / u64::from(*page) * u64::from(page + oob) == image.len() as u64
    };
    let sizes = PAGES_BYTES.into_iter().filter(|page| given.page_bytes.is_none_or(|given| given == *page));
    let with_oob = sizes.flat_map(|page| [16, 64, 128, 224, 256].map(|oob| (page, oob))).filter(fits);
    let found = if given.has_oob == Some(false) { Vec::new() } else { with_oob.collect() };
    if found.is_empty() {
        vec![(page, 0)]
    } else {
        found
    }
}

/// Pages of 512 + 16 B and of 2,048 + 64 B make equally long images: of such layouts that in which most is whole.
fn most_whole(layouts: Vec<Layout>, image: &[u8]) -> Option<Layout> {
    if layouts.len() < 2 {
        return layouts.into_iter().next();
    }
    let faults = |layout: &Layout| {
        let walk = Walk::of(image, layout);
        let commits: u32 = walk.directories.values().map(|directory| directory.log.commit_count).sum();
        (walk.flaws.len(), Reverse(commits))
    };
    layouts.into_iter().min_by_key(faults)
}

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "superblock of littlefs"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Superblock]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, _evidence: Evidence) -> Option<Layout> {
        let superblock = superblock_of(image)?;
        let block = superblock.block_bytes;
        if given.block_bytes.is_some_and(|bytes| bytes != block) || given.endian.is_some() {
            return None;
        }
        let possible = pages(&superblock, image, given).into_iter();
        let possible = possible.filter(|&(page, _)| page > 0 && block.is_multiple_of(page));
        let layouts = possible.map(|(page, oob)| Layout::new(fs, page, oob, block, image));
        let layout = most_whole(layouts.collect(), image)?;
        let layout = layout.unchecked(if superblock.root_blocks.is_some() {
            "littlefs has no check sums over the blocks of files: a changed bit in them does not show"
        } else {
            "littlefs has no check sums over the blocks of files: a changed bit in them does not show (small files stand in their directory, which has)"
        });
        Some(layout.because(format!("its superblock says blocks of {block} B")))
    }

    fn begins_at(&self, image: &[u8], layout: Option<&Layout>) -> Option<usize> {
        if layout.is_some() {
            return None;
        }
        self.places(image).first().map(|place| place.start)
    }

    fn places(&self, image: &[u8]) -> Vec<Range<usize>> {
        behind(image)
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        let walk = Walk::of(image, layout);
        walk.superblock.ok_or(TreeError::Superblock)?;
        Ok(Tree {
            entries: entries(&walk, image.len(), content),
            notes: Vec::new(),
            space: space(&walk, image, layout),
        })
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        scan(image, layout, scanned);
    }
}

/// A directory or file that is still to be read.
struct Pending<'w> {
    path: Vec<u8>,
    is: NameOf,
    held: Option<&'w Held>,
}

fn entries(walk: &Walk<'_>, image_bytes: usize, content: Content) -> Vec<TreeEntry> {
    let mut room = Room::of(image_bytes as u64);
    let mut pending = vec![Pending { path: Vec::new(), is: NameOf::Directory, held: None }];
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    while let Some(Pending { path, is, held }) = pending.pop() {
        let number = found.len() as Ino + 1;
        if is == NameOf::File {
            found.push(file(walk, path, number, held, content, &mut room));
            continue;
        }
        let mut entry = TreeEntry::new(path, number, FileKind::Directory);
        (entry.permissions, entry.links) = (0o755, 1);
        let pair = match held {
            Some(Held::Directory(pair)) => Some(*pair),
            Some(_) => {
                entry.error = Some("it says of no blocks where it stands".to_string());
                found.push(entry);
                continue;
            }
            None => None,
        };
        // In a damaged image a directory may contain itself, and the walk would never end.
        if !seen.insert(pair.map(|[first, second]| [first.min(second), first.max(second)])) {
            entry.error = Some("this directory has another name already".to_string());
            found.push(entry);
            continue;
        }
        let (parts, missing) = walk.parts(pair);
        let first = pending.len();
        let mut names = Names::new(&mut room, &entry.path);
        for part in parts {
            for below in part.entries() {
                if let Some(path) = names.follow(&below.name) {
                    pending.push(Pending { path, is: below.is, held: Some(&below.held) });
                }
            }
        }
        pending[first..].sort_by(|a, b| b.path.cmp(&a.path));
        let mut left_out = names.left_out();
        left_out.extend(missing);
        entry.missing = left_out;
        found.push(entry);
    }
    found
}

fn file(
    walk: &Walk<'_>,
    path: Vec<u8>,
    number: Ino,
    held: Option<&Held>,
    content: Content,
    room: &mut Room,
) -> TreeEntry {
    let mut entry = TreeEntry::new(path, number, FileKind::File);
    (entry.permissions, entry.links) = (0o644, 1);
    let held = held.unwrap_or(&Held::Nothing);
    entry.size_bytes = match held {
        Held::Inline(data) => data.len() as u64,
        Held::Blocks { size_bytes, .. } => u64::from(*size_bytes),
        _ => 0,
    };
    let taken = match entry.size_bytes {
        ..=FILE_BYTES_MAX => room.take_content(entry.size_bytes, content).map_err(|error| error.to_string()),
        more => Err(format!("a file of {more} B, more than is read here")),
    };
    match taken.and_then(|()| walk.content(held)) {
        Ok(data) if content == Content::Keep => entry.data = data,
        Ok(_) => {}
        Err(error) => entry.error = Some(error),
    }
    entry
}

/// A free block is erased before it is written, so that what stands in it counts as what can be freed.
fn space(walk: &Walk<'_>, image: &[u8], layout: &Layout) -> Vec<BlockSpace> {
    let block_bytes = layout.block_bytes;
    let of = |valid: u32, invalid: u32, free: u32| BlockSpace {
        valid_bytes: valid,
        invalid_bytes: invalid,
        free_bytes: free,
    };
    (0..layout.blocks)
        .zip(&walk.uses)
        .map(|(block, used)| match *used {
            Use::Log { bytes } => of(bytes, 0, block_bytes.saturating_sub(bytes)),
            Use::Data { bytes } => of(bytes, block_bytes.saturating_sub(bytes), 0),
            Use::OlderLog => of(0, block_bytes, 0),
            Use::Free if is_erased(&layout.data(block, image)) => of(0, 0, block_bytes),
            Use::Free => of(0, block_bytes, 0),
        })
        .collect()
}

fn scan(image: &[u8], layout: &Layout, scanned: &mut Scanned) {
    let walk = Walk::of(image, layout);
    if let Some(superblock) = walk.superblock {
        let version = superblock.version;
        scanned.fact("format", format!("{}.{}", version >> 16, version & 0xFFFF));
        scanned.fact("block size, B", superblock.block_bytes);
        scanned.fact("blocks", superblock.blocks);
        scanned.fact("longest name, B", superblock.name_bytes_max);
        scanned.fact("largest file, B", superblock.file_bytes_max);
        scanned.fact("largest attribute, B", superblock.attribute_bytes_max);
        if superblock.blocks != layout.blocks {
            let (said, there) = (superblock.blocks, layout.blocks);
            scanned.notes.push(format!("the superblock says {said} blocks, the image has {there}"));
        }
    }
    for (block, used) in (0..layout.blocks).zip(&walk.uses) {
        let facts = &mut scanned.blocks[block as usize];
        if facts.is_bad == Some(true) {
            continue;
        }
        facts.holds = match used {
            Use::Log { .. } => "metadata",
            Use::OlderLog => "older metadata",
            Use::Data { .. } => "file data",
            Use::Free if is_erased(&layout.data(block, image)) => "erased",
            Use::Free => "free, not erased",
        }
        .to_string();
    }
    let count = |is_it: fn(&Use) -> bool| walk.uses.iter().filter(|used| is_it(used)).count();
    scanned.fact("metadata pairs", walk.directories.len());
    scanned.fact("metadata blocks", count(|used| matches!(used, Use::Log { .. } | Use::OlderLog)));
    scanned.fact("file data blocks", count(|used| matches!(used, Use::Data { .. })));
    scanned.fact("free blocks", count(|used| matches!(used, Use::Free)));
    let inline = |held: &Held| matches!(held, Held::Inline(_));
    let files =
        walk.directories.values().flat_map(|directory| directory.entries()).filter(|entry| entry.is == NameOf::File);
    scanned.fact("files in their directory", files.filter(|entry| inline(&entry.held)).count());
    wear_hint(&walk, scanned);
    for flaw in &walk.flaws {
        scanned.damaged(flaw.block, layout.offset_in_image(flaw.block, flaw.at_bytes), flaw.what.clone());
    }
}

/// Each time a log is written anew its revision grows by one, and one of its two blocks is erased.
fn wear_hint(walk: &Walk<'_>, scanned: &mut Scanned) {
    let busiest = walk.directories.iter().max_by_key(|(_, directory)| directory.log.revision);
    if let Some((pair, directory)) = busiest {
        scanned.fact("highest revision of a metadata pair", directory.log.revision);
        scanned.notes.push(format!(
            "blocks {} and {} have the highest revision, {}: it counts how often that log was written anew, an erase of one of the two \
             each time, since the pair was taken; erases of file data are not counted by littlefs",
            pair[0], pair[1], directory.log.revision
        ));
    }
}
