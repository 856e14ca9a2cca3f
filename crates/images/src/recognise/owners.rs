//! To which file system each erase block of a dump belongs, and the areas that those of one partition make.

use super::{superblocks, Layout};
use crate::format::{BlockLook, BlockOwner, Evidence, ImageFs};
use ffslab_mtd::is_erased;
use std::collections::BTreeMap;
use std::ops::Range;

/// To which file system an erase block belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Erased,
    /// The block belongs to this file system. The number differs between two of its partitions that are next to each
    /// other; 0: the block has none.
    Of(ImageFs, u32),
    Nobody,
    /// As `Nobody`, and all bytes are 0x00: a hole of a file, or padding.
    Zeros,
}

impl Owner {
    pub(super) fn fs(self) -> Option<ImageFs> {
        match self {
            Owner::Of(fs, _) => Some(fs),
            Owner::Erased | Owner::Nobody | Owner::Zeros => None,
        }
    }

    /// Whether the file system writes something into each of its blocks, so that an [`Owner::Erased`] block cannot be
    /// one of them.
    fn marks_every_block(self) -> bool {
        self.fs().is_some_and(|fs| fs.format().marks_every_block())
    }
}

/// The areas of an image with this layout, each with its owner.
pub(super) fn areas_of(image: &[u8], layout: &Layout, formats: &[ImageFs]) -> Vec<(Owner, Range<u32>)> {
    let lookers = lookers(image, layout, formats);
    let mut owners: Vec<Owner> = (0..layout.blocks).map(|block| owner(image, layout, &lookers, block)).collect();
    volumes_own(&mut owners, image, layout, formats);
    same_numbers(&mut owners);
    areas(&owners)
}

/// Gives the blocks of nobody to the volumes whose superblocks say that they take them. Those of flash come first, because a volume may be a
/// file in one.
fn volumes_own(owners: &mut [Owner], image: &[u8], layout: &Layout, formats: &[ImageFs]) {
    if layout.oob_bytes > 0 {
        return;
    }
    let block_bytes = layout.block_bytes as usize;
    for (fs, place) in superblocks::volumes(image, formats) {
        for owner in &mut owners[place.start / block_bytes..place.end.div_ceil(block_bytes)] {
            if *owner == Owner::Nobody {
                *owner = Owner::Of(fs, 0);
            }
        }
    }
}

/// The functions that recognise the blocks of each format. Formats with tags in each page come first, because a file in
/// such a partition may itself contain headers and nodes of other formats.
fn lookers<'a>(image: &'a [u8], layout: &Layout, formats: &[ImageFs]) -> Vec<(ImageFs, BlockOwner<'a>)> {
    let mut formats = formats.to_vec();
    formats.sort_by_key(|fs| {
        let evidence = fs.format().evidence();
        (!evidence.contains(&Evidence::Tags), evidence.contains(&Evidence::Nodes))
    });
    let looker = |fs: ImageFs| Some((fs, fs.format().block_owner(image, layout.page_bytes, layout.oob_bytes)?));
    formats.into_iter().filter_map(looker).collect()
}

fn owner(image: &[u8], layout: &Layout, lookers: &[(ImageFs, BlockOwner<'_>)], block: u32) -> Owner {
    let stored = &image[layout.place(block, image)];
    let data = layout.data(block, image);
    let look = BlockLook { stored, data: &data, page_bytes: layout.page_bytes, oob_bytes: layout.oob_bytes };
    if let Some(owner) = lookers.iter().find_map(|(fs, owns)| owns(&look).map(|number| Owner::Of(*fs, number))) {
        return owner;
    }
    if is_erased(&data) || has_bad_mark(stored, layout) {
        return Owner::Erased;
    }
    if data.iter().all(|&byte| byte == 0) {
        return Owner::Zeros;
    }
    Owner::Nobody
}

/// Whether the block is marked as bad. The mark is the first byte of the OOB area of the first page, or the sixth byte
/// if the pages are small.
fn has_bad_mark(stored: &[u8], layout: &Layout) -> bool {
    let at = layout.page_bytes as usize + if layout.page_bytes > 512 { 0 } else { 5 };
    layout.oob_bytes > 0 && stored.get(at).is_some_and(|&mark| mark != 0xFF)
}

/// Corrects the numbers of partitions. A block whose number is missing or occurs only once gets the number of the block
/// of the same file system before it: old versions of UBI write no number, and a number may be damaged.
fn same_numbers(owners: &mut [Owner]) {
    let mut counts: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    for owner in owners.iter() {
        if let Owner::Of(fs, number) = *owner {
            *counts.entry((fs.name(), number)).or_default() += 1;
        }
    }
    let is_real = |name: &'static str, number: u32| number != 0 && counts[&(name, number)] > 1;
    // Blocks before the first valid number of their file system get the smallest of its valid numbers.
    let mut last: BTreeMap<&str, u32> = BTreeMap::new();
    for &(name, number) in counts.keys().filter(|(name, number)| is_real(name, *number)) {
        last.entry(name).or_insert(number);
    }
    for owner in owners {
        if let Owner::Of(fs, number) = owner {
            let last = last.entry(fs.name()).or_insert(0);
            *last = if is_real(fs.name(), *number) { *number } else { *last };
            *number = *last;
        }
    }
}

/// Joins neighbouring blocks of the same owner to areas. Blocks of no file system that lie between two areas of the
/// same partition, or after the last one, are taken for damaged blocks of that partition. Such blocks before the first
/// partition, or between two different ones, are an area of their own, and so are
/// zeros at the end that are more than what stands before them.
fn areas(owners: &[Owner]) -> Vec<(Owner, Range<u32>)> {
    let mut areas: Vec<(Owner, Range<u32>)> = Vec::new();
    for (block, &owner) in (0..).zip(owners) {
        match areas.last_mut() {
            Some((last, blocks)) if *last == owner => blocks.end = block + 1,
            Some((last, blocks)) if owner == Owner::Erased && !last.marks_every_block() => blocks.end = block + 1,
            // An erased area that does not belong to the area before it belongs to the one that follows.
            Some((last, blocks)) if *last == Owner::Erased => {
                *last = owner;
                blocks.end = block + 1;
            }
            _ => areas.push((owner, block..block + 1)),
        }
    }
    let mut joined: Vec<(Owner, Range<u32>)> = Vec::new();
    for at in 0..areas.len() {
        let (owner, blocks) = areas[at].clone();
        let next = areas.get(at + 1).map(|(next, _)| *next);
        let is_nobodys = owner.fs().is_none();
        let is_same = |last: Owner, before: &Range<u32>| {
            let is_end = next.is_none() && (owner != Owner::Zeros || blocks.len() <= before.len());
            last == owner || (is_nobodys && (is_end || next == Some(last)))
        };
        match joined.last_mut() {
            Some((last, before)) if last.fs().is_some() && is_same(*last, before) => before.end = blocks.end,
            _ => joined.push((owner, blocks)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ubi(number: u32) -> Owner {
        Owner::Of(ImageFs::new("ubifs", "UBIFS", Some(&crate::ubifs::InImages)), number)
    }

    fn jffs2() -> Owner {
        Owner::Of(ImageFs::new("jffs2", "JFFS2", Some(&crate::jffs2::InImages)), 0)
    }

    fn yaffs2() -> Owner {
        Owner::Of(ImageFs::new("yaffs2", "YAFFS2", Some(&crate::yaffs2::InImages)), 0)
    }

    fn of(text: &str) -> Vec<(Owner, Range<u32>)> {
        let owners: Vec<Owner> = text
            .chars()
            .map(|letter| match letter {
                'u' => ubi(1),
                'U' => ubi(2),
                'j' => jffs2(),
                'y' => yaffs2(),
                '.' => Owner::Erased,
                '0' => Owner::Zeros,
                _ => Owner::Nobody,
            })
            .collect();
        areas(&owners)
    }

    #[test]
    fn areas_are_what_stands_together() {
        assert_eq!(
            of("??..uuu.uujj.j..yy."),
            [(Owner::Nobody, 0..4), (ubi(1), 4..10), (jffs2(), 10..16), (yaffs2(), 16..19),]
        );
        assert_eq!(of("..jj?jj??"), [(jffs2(), 0..9)], "damage of its own");
        assert_eq!(of("uu?jj"), [(ubi(1), 0..2), (Owner::Nobody, 2..3), (jffs2(), 3..5)]);
        let mut numbers = [0, 7, 0, 7, 3, 7].map(ubi);
        same_numbers(&mut numbers);
        assert_eq!(numbers, [ubi(7); 6]);
        assert_eq!(of("uu..u..jj.yy"), [(ubi(1), 0..5), (jffs2(), 5..10), (yaffs2(), 10..12)]);
        assert_eq!(of("uu?.u.."), [(ubi(1), 0..7)]);
        assert_eq!(of("uuUU"), [(ubi(1), 0..2), (ubi(2), 2..4)]);
        assert_eq!(of("jj00j0"), [(jffs2(), 0..6)]);
        assert_eq!(of("jj000"), [(jffs2(), 0..2), (Owner::Zeros, 2..5)], "more than there is");
        assert_eq!(of(""), []);
    }
}
