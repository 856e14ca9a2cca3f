//! Images of squashfs 4.0, read as they stand: what most boards have as the root that is never written.
//!
//! **Follows.** `fs/squashfs/squashfs_fs.h` of Linux (all fields), `fs/squashfs/{super,cache,inode,dir,fragment,id,file}.c` (what they mean).
//!
//! **Leaves out.** Extended attributes. Versions before 4.0, of both byte orders: they are named.

mod tables;
mod walk;

use crate::format::{Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::scan::Scanned;
use crate::tree::{Content, CutOff, Tree, TreeError};
use ffslab_squashfs::{other_version, Superblock, MAGIC};
use std::ops::Range;
use tables::{has_root, inode_at, Tables};

/// How they are recognised, read and explained.
pub struct InImages;

/// For the picture of the space: areas of so many bytes, at most so many of them.
const AREA_BYTES_MIN: u32 = 128 << 10;
const AREAS_MAX: usize = 1024;
/// What begins there stands on a medium by itself, and is no part of a file of something else.
const SECTOR_BYTES: usize = 512;

/// What is said of flags (`fs/squashfs/squashfs_fs.h`).
const FLAGS: [(u16, &str); 7] = [
    (0x0001, "inodes are not compressed"),
    (0x0002, "data are not compressed"),
    (0x0008, "fragments are not compressed"),
    (0x0010, "no fragments"),
    (0x0020, "always fragments"),
    (0x0040, "equal files are stored once"),
    (0x0200, "no extended attributes"),
];

/// Whether squashfs begins there, with tables that can be.
pub fn begins(image: &[u8]) -> bool {
    Superblock::of(image).is_some()
}

/// Where in an image the first superblock stands.
pub fn first(image: &[u8]) -> Option<usize> {
    let mut magics = image.windows(MAGIC.len()).enumerate().filter(|(_, here)| *here == MAGIC);
    magics.find(|(at, _)| begins(&image[*at..])).map(|(at, _)| at)
}

/// Whether the root of the one that begins there can be read.
pub fn is_readable(image: &[u8]) -> bool {
    Superblock::of(image).is_some_and(|superblock| has_root(&Tables::of(image, superblock)))
}

/// The files of one that begins at the start of `image`. `None`: there is none.
pub fn files(image: &[u8], content: Content) -> Option<Tree> {
    let tables = Tables::of(image, Superblock::of(image)?);
    let mut tree = walk::tree(&tables, content);
    tree.notes.extend(not_known(&tables.superblock));
    Some(tree)
}

/// The bytes of the squashfs that begins there. Where no sector begins its root must be readable, so that no piece of one in a file counts.
fn taken_bytes(image: &[u8], at: usize) -> Option<usize> {
    let here = &image[at..];
    let superblock = here.starts_with(MAGIC).then(|| Superblock::of(here))??;
    let is_there = at.is_multiple_of(SECTOR_BYTES) || has_root(&Tables::of(here, superblock));
    let bytes = usize::try_from(superblock.used_bytes).ok().filter(|_| is_there)?;
    Some(bytes.min(here.len()))
}

fn not_known(superblock: &Superblock) -> Option<String> {
    let compressor = superblock.compressor;
    (!compressor.is_known())
        .then(|| format!("its compressor has the {}: what is compressed is left out", compressor.name()))
}

/// What nothing checks.
fn unchecked(superblock: &Superblock) -> &'static str {
    if superblock.compressor.has_check_sums() {
        "squashfs has check sums over compressed blocks alone: in blocks that are stored as they are a changed bit does not show"
    } else {
        "squashfs has no check sums with this compressor: most changed bits of a file do not show"
    }
}

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "squashfs superblock"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Superblock]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], _given: &Given, _evidence: Evidence) -> Option<Layout> {
        let superblock = Superblock::of(image)?;
        let area_bytes = ((image.len() / AREAS_MAX).next_power_of_two() as u32).max(AREA_BYTES_MIN);
        let layout = Layout::new(fs, SECTOR_BYTES as u32, 0, area_bytes, image).unchecked(unchecked(&superblock));
        let compressor = superblock.compressor.name();
        Some(layout.because(format!("its superblock is one of squashfs 4.0, with the compressor {compressor}")))
    }

    fn hint(&self, fs: ImageFs, image: &[u8], _given: &Given) -> Option<String> {
        if let Some((major, minor)) = other_version(image) {
            return Some(format!(
                "it is squashfs {major}.{minor}: version 4.0 is read here, and unsquashfs of its time reads it"
            ));
        }
        image.starts_with(MAGIC).then(|| format!("it begins as {} does, and its superblock is damaged", fs.title()))
    }

    fn begins_at(&self, image: &[u8], layout: Option<&Layout>) -> Option<usize> {
        let first = self.places(image).first().filter(|_| layout.is_none())?.start;
        (first > 0).then_some(first)
    }

    fn places(&self, image: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = 0;
        // A maker's header before it may have any length.
        while let Some(skipped) = image.get(at..).and_then(|rest| rest.iter().position(|&byte| byte == MAGIC[0])) {
            at += skipped;
            match taken_bytes(image, at) {
                Some(bytes) => {
                    found.push(at..at + bytes);
                    at += bytes;
                }
                None => at += 1,
            }
        }
        found
    }

    fn is_volume(&self) -> bool {
        true
    }

    fn read(&self, image: &[u8], _layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        files(image, content).ok_or(TreeError::Superblock)
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        let Some(superblock) = Superblock::of(image) else { return };
        facts(&superblock, scanned);
        for facts in &mut scanned.blocks {
            let place = layout.place(facts.block, image);
            let used = (superblock.used_bytes as usize).clamp(place.start, place.end) - place.start;
            facts.valid_bytes = Some(used as u32);
            facts.free_bytes = Some((place.len() - used) as u32);
        }
        if let Some(at) = superblock.fragments_at.filter(|_| superblock.fragments_list_end().is_none()) {
            let at = at.min(image.len() as u64 - 1);
            let block = (at / u64::from(layout.block_bytes)) as u32;
            let count = superblock.fragments_count;
            let what = format!("the superblock says {count} fragments, and their table would end behind the image");
            scanned.damaged(block, at, what);
        }
        let tables = Tables::of(image, superblock);
        if let Err(wrong) = inode_at(&tables, superblock.root_offset) {
            let block = (wrong.at_bytes / u64::from(layout.block_bytes)) as u32;
            scanned.damaged(block, wrong.at_bytes, format!("the root directory: {}", wrong.what));
        }
    }

    fn cut_off(&self, image: &[u8], _layout: &Layout) -> Option<CutOff> {
        let used_bytes = Superblock::of(image)?.used_bytes;
        let here = image.len() as u64;
        let what = format!("the image ends after {here} of the {used_bytes} B that its superblock says");
        (here < used_bytes).then_some(CutOff { offset: here, what })
    }
}

fn facts(superblock: &Superblock, scanned: &mut Scanned) {
    scanned.fact("version", "4.0");
    scanned.fact("compressor", superblock.compressor.name());
    scanned.fact("block size, B", superblock.block_bytes);
    scanned.fact("bytes used", superblock.used_bytes);
    scanned.fact("inodes", superblock.inodes_count);
    scanned.fact("fragments", superblock.fragments_count);
    scanned.fact("owners and groups", superblock.ids_count);
    scanned.fact("made, s since 1970", superblock.made_s);
    let flags: Vec<&str> =
        FLAGS.into_iter().filter(|(flag, _)| superblock.flags & flag != 0).map(|(_, said)| said).collect();
    scanned.fact("flags", flags.join(", "));
}
