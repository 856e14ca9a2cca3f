//! The partitions of a dump. They are given, or a table in the dump has them, or they are found from the content of the erase blocks of
//! a whole chip.
//!
//! A chip holds a boot loader, a kernel, and several file systems next to each other. The content of an erase block
//! shows which file system it belongs to: UBI's blocks begin with a header, pages of YAFFS2 have its tags, blocks of
//! JFFS2 hold its nodes. Blocks that belong to no file system, between the partitions or before them, are unknown data
//! and not damage. Where an erased area lies between two partitions, nothing shows where the first one ends. The area
//! is taken to belong to the first one, unless that is UBI's, because UBI writes a header into each of its blocks.

use super::mtdparts::{self, Defined};
use super::{recognise, tables, Given, Layout};
use crate::dump::Pieces;
use crate::file::{read_file, ImageError};
use crate::format::{BlockLook, BlockOwner, Evidence, ImageFs};
use crate::unrecognised::Unrecognised;
use ffslab_mtd::is_erased;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Which partition of an image is meant, and what the user says about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub given: Given,
    /// A list of all partitions, in the syntax of the kernel's command line.
    pub mtdparts: Option<String>,
    /// Where the only partition begins, in bytes of page data. `size_bytes` is its length.
    pub offset_bytes: Option<u64>,
    pub size_bytes: Option<u64>,
    /// The name of the partition that is meant, if there are several.
    pub partition: Option<String>,
    /// Name or number of the only volume of UBI that is wanted.
    pub volume: Option<String>,
    /// How each page is laid out, which then is not looked for.
    pub pieces: Option<Pieces>,
}

/// A partition.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Part {
    /// Name of the partition; empty if it is the whole image.
    pub name: String,
    /// Position on the flash, not counting OOB areas.
    #[serde(rename = "offset_B")]
    pub offset_bytes: u64,
    #[serde(rename = "size_B")]
    pub size_bytes: u64,
    /// The part of the file that holds the partition.
    #[serde(skip)]
    pub place_bytes: Range<usize>,
    /// What the partition holds, or why that is not known.
    #[serde(serialize_with = "layout_or_why")]
    #[schemars(with = "Result<Layout, String>")]
    pub layout: Result<Layout, Unrecognised>,
}

fn layout_or_why<S: Serializer>(layout: &Result<Layout, Unrecognised>, serializer: S) -> Result<S::Ok, S::Error> {
    layout.as_ref().map_err(Unrecognised::to_string).serialize(serializer)
}

impl Part {
    /// Puts the name of the partition before a message about it.
    pub fn named(&self, text: &str) -> String {
        if self.name.is_empty() {
            text.to_string()
        } else {
            format!("{}: {text}", self.name)
        }
    }

    /// Describes the partition by name, content and position.
    pub fn text(&self) -> String {
        let holds = match &self.layout {
            Ok(layout) => layout.fs.name(),
            Err(_) => "unknown data",
        };
        format!("{} ({holds}, {} KiB at {:#x})", self.name, self.size_bytes >> 10, self.offset_bytes)
    }
}

/// Sizes of the pages and OOB areas of a chip, and of its blocks if they are known.
#[derive(Clone, Copy)]
struct Chip {
    page_bytes: u32,
    oob_bytes: u32,
    block_bytes: Option<u32>,
    /// A file system that was found on the chip.
    holds: Option<ImageFs>,
}

impl Chip {
    /// Position in the file of an offset in the page data of the flash.
    fn in_file(&self, at_bytes: u64) -> u64 {
        let (page, oob) = (u64::from(self.page_bytes), u64::from(self.oob_bytes));
        at_bytes / page * (page + oob) + at_bytes % page
    }

    /// Bytes of page data in a file.
    fn flash_bytes(&self, image: &[u8]) -> u64 {
        let (page, stride) = (u64::from(self.page_bytes), u64::from(self.page_bytes + self.oob_bytes));
        let bytes = image.len() as u64;
        bytes / stride * page + (bytes % stride).min(page)
    }
}

/// The wanted partitions of an image, in their order. An image that is no dump of several partitions is one partition
/// without a name.
///
/// Errors: one line; nothing in the image is recognised, the image contradicts what is given, or there is no partition
/// of that name.
pub fn find(image: &[u8], wanted: &Wanted, formats: &[ImageFs]) -> Result<Vec<Part>, Unrecognised> {
    let defined = match (&wanted.mtdparts, wanted.offset_bytes, wanted.size_bytes) {
        (Some(_), None, None) | (None, _, _) => defined(image, wanted, formats)?,
        _ => return Err(Unrecognised::PlacesTwice),
    };
    let (mut parts, doubts) = match defined {
        Some((defined, chip)) => (cut(image, wanted, formats, &chip, &defined)?, Vec::new()),
        None => of_image(image, wanted, formats)?,
    };
    if let Some(name) = &wanted.partition {
        let known = listed(&parts);
        parts.retain(|part| part.name == *name);
        if parts.is_empty() {
            return Err(Unrecognised::NoPartition { name: name.clone(), known });
        }
    }
    // What is wrong with the table is told once.
    if let Some(layout) = parts.iter_mut().find_map(|part| part.layout.as_mut().ok()) {
        layout.doubts.extend(doubts);
    }
    Ok(parts)
}

/// The partitions that the image shows, and what is wrong with the table that has them.
fn of_image(image: &[u8], wanted: &Wanted, formats: &[ImageFs]) -> Result<(Vec<Part>, Vec<String>), Unrecognised> {
    let tables::Found { table, parts, doubts } = tables::find(image);
    if let Some(table) = table {
        return Ok((of_table(image, wanted, formats, (table, &parts)), doubts));
    }
    let parts = match found(image, wanted, formats) {
        Some(parts) => Ok(parts),
        None => whole(image, &wanted.given, formats).map(|part| vec![part]),
    };
    match parts {
        Ok(parts) => Ok((parts, doubts)),
        Err(why) if doubts.is_empty() => Err(why),
        Err(why) => Err(Unrecognised::Table { doubts: doubts.join("; "), why: Box::new(why) }),
    }
}

/// The partitions that a table in the image has.
fn of_table(image: &[u8], wanted: &Wanted, formats: &[ImageFs], (table, all): (&str, &[Defined])) -> Vec<Part> {
    let part = |Defined { name, offset_bytes, size_bytes }: &Defined| {
        let place_bytes = *offset_bytes as usize..(offset_bytes + size_bytes) as usize;
        let given = Given { starts_at_bytes: *offset_bytes, ..wanted.given };
        let layout = match recognise(&image[place_bytes.clone()], &given, formats) {
            Ok(layout) => Ok(layout.because(format!("{table} has it as {name}"))),
            Err(Unrecognised::Nothing { .. } | Unrecognised::Other { .. }) => Err(Unrecognised::NoFileSystem),
            Err(why) => Err(why),
        };
        Part { name: name.clone(), offset_bytes: *offset_bytes, size_bytes: *size_bytes, place_bytes, layout }
    };
    all.iter().map(part).collect()
}

/// The whole image, or what stands in it behind something else.
fn whole(image: &[u8], given: &Given, formats: &[ImageFs]) -> Result<Part, Unrecognised> {
    let found = recognise(image, given, formats);
    let late = formats.iter().find_map(|fs| fs.format().begins_at(image, found.as_ref().ok()));
    let behind = late.and_then(|at| {
        let layout = recognise(&image[at..], &Given { starts_at_bytes: at as u64, ..*given }, formats).ok()?;
        Some((at, layout.because(format!("{at} B of something else stand before it"))))
    });
    let (at, layout) = match behind {
        Some((at, layout)) => (at, layout),
        None => (0, found?),
    };
    let place_bytes = at..image.len();
    let (offset_bytes, size_bytes) = (at as u64, place_bytes.len() as u64);
    Ok(Part { name: String::new(), offset_bytes, size_bytes, place_bytes, layout: Ok(layout) })
}

/// The only partition that holds a file system.
///
/// Errors: as [`find`]; there are several, or the size of its erase blocks cannot be found out.
pub fn only(image: &[u8], wanted: &Wanted, formats: &[ImageFs]) -> Result<(Part, Layout), Unrecognised> {
    let parts = find(image, wanted, formats)?;
    let known: Vec<&Part> = parts.iter().filter(|part| part.layout.is_ok()).collect();
    let part = match (known.as_slice(), parts.as_slice()) {
        ([one], _) => (*one).clone(),
        ([], [one]) => one.clone(),
        _ => return Err(Unrecognised::Several { known: listed(&parts) }),
    };
    let layout = part.layout.clone().and_then(Layout::whole)?;
    Ok((part, layout))
}

/// Lists the partitions in a line.
pub fn listed(parts: &[Part]) -> String {
    match parts {
        [one] if one.name.is_empty() => "the image is no dump of several partitions".to_string(),
        _ => parts.iter().map(Part::text).collect::<Vec<_>>().join(", "),
    }
}

/// The only partition of an image that holds a file system.
///
/// Errors: see [`only`].
pub fn only_part_of_file(path: &Path, wanted: &Wanted, formats: &[ImageFs]) -> Result<Part, ImageError> {
    let image = read_file(path)?;
    let found = only(&image, wanted, formats).map(|(part, _)| part);
    found.map_err(|why| ImageError::refused(path, why))
}

// ---- given --------------------------------------------------------------------------------------------------

/// The partitions that the user names, and the chip that they are on.
fn defined(image: &[u8], wanted: &Wanted, formats: &[ImageFs]) -> Result<Option<(Vec<Defined>, Chip)>, Unrecognised> {
    if wanted.mtdparts.is_none() && wanted.offset_bytes.is_none() && wanted.size_bytes.is_none() {
        return Ok(None);
    }
    let chip = chip_of(image, &wanted.given, formats);
    let all_bytes = chip.flash_bytes(image);
    let defined = match &wanted.mtdparts {
        Some(text) => mtdparts::parse(text, all_bytes).map_err(Unrecognised::Mtdparts)?,
        None => {
            let offset_bytes = wanted.offset_bytes.unwrap_or(0);
            let left = all_bytes.saturating_sub(offset_bytes);
            let size_bytes = wanted.size_bytes.unwrap_or(left);
            if size_bytes == 0 || size_bytes > left {
                return Err(Unrecognised::Outside { offset_bytes, size_bytes, all_bytes });
            }
            vec![Defined { name: String::new(), offset_bytes, size_bytes }]
        }
    };
    if let Some(part) = defined.iter().find(|part| part.offset_bytes % u64::from(chip.page_bytes) != 0) {
        let (offset_bytes, page_bytes) = (part.offset_bytes, chip.page_bytes);
        return Err(Unrecognised::WithinPage { offset_bytes, page_bytes });
    }
    Ok(Some((defined, chip)))
}

fn cut(
    image: &[u8],
    wanted: &Wanted,
    formats: &[ImageFs],
    chip: &Chip,
    defined: &[Defined],
) -> Result<Vec<Part>, Unrecognised> {
    let part = |defined: &Defined| {
        let end = chip.in_file(defined.offset_bytes + defined.size_bytes).min(image.len() as u64);
        let place = chip.in_file(defined.offset_bytes) as usize..end as usize;
        let sizes = Chip { block_bytes: None, ..*chip };
        Part {
            name: defined.name.clone(),
            offset_bytes: defined.offset_bytes,
            size_bytes: defined.size_bytes,
            layout: recognise(&image[place.clone()], &of_chip(&wanted.given, &sizes, place.start), formats),
            place_bytes: place,
        }
    };
    let parts: Vec<Part> = defined.iter().map(part).collect();
    if let (None, [Part { layout: Err(why), .. }]) = (&wanted.mtdparts, parts.as_slice()) {
        return Err(why.clone());
    }
    Ok(parts)
}

/// What is known of a partition that is on this chip and begins at `starts_at` in the file.
fn of_chip(given: &Given, chip: &Chip, starts_at: usize) -> Given {
    Given {
        page_bytes: Some(chip.page_bytes),
        oob_bytes: Some(chip.oob_bytes),
        has_oob: None,
        block_bytes: given.block_bytes.or(chip.block_bytes),
        said_by: Some("those of the whole chip").filter(|_| given.page_bytes.is_none()),
        starts_at_bytes: starts_at as u64,
        ..*given
    }
}

/// Finds out the chip of which the image is a dump. All partitions have pages of the same size, so that any file system
/// in the image shows it.
fn chip_of(image: &[u8], given: &Given, formats: &[ImageFs]) -> Chip {
    let page_bytes = given.page_bytes.unwrap_or(512);
    let said = Chip { page_bytes, oob_bytes: given.oob_bytes.unwrap_or(0), block_bytes: None, holds: None };
    let sizes = Given { fs: None, endian: None, block_bytes: None, ..*given };
    let Ok(whole) = recognise(image, &sizes, formats) else { return said };
    if whole.lacks_ubi || whole.fs.format().is_volume() {
        return said;
    }
    let (page_bytes, oob_bytes) = (whole.page_bytes, whole.oob_bytes);
    let alike =
        Given { page_bytes: Some(page_bytes), oob_bytes: Some(oob_bytes), said_by: Some(""), ..Given::default() };
    // The distance between headers at the start of each block shows the size of erase blocks more surely than nodes,
    // which may be anywhere.
    let by_headers = || {
        let mut surest = formats.iter().copied().filter(|fs| fs.format().marks_every_block());
        surest
            .find_map(|fs| recognise(image, &Given { fs: Some(fs), ..alike }, formats).ok())
            .map(|found| found.block_bytes)
    };
    let known = Some(whole.block_bytes).filter(|_| whole.block_sizes_that_fit_bytes.is_empty());
    let is_guess = whole.fs.format().evidence().contains(&Evidence::Nodes);
    let block_bytes = given.block_bytes.or(if is_guess { by_headers().or(known) } else { known.or_else(by_headers) });
    Chip { page_bytes, oob_bytes, block_bytes, holds: Some(whole.fs) }
}

// ---- found --------------------------------------------------------------------------------------------------

/// To which file system an erase block belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Erased,
    /// The block belongs to this file system. The number differs between two of its partitions that are next to each
    /// other; 0: the block has none.
    Of(ImageFs, u32),
    Nobody,
}

impl Owner {
    fn fs(self) -> Option<ImageFs> {
        match self {
            Owner::Of(fs, _) => Some(fs),
            Owner::Erased | Owner::Nobody => None,
        }
    }

    /// Whether the file system writes something into each of its blocks, so that an [`Owner::Erased`] block cannot be
    /// one of them.
    fn marks_every_block(self) -> bool {
        self.fs().is_some_and(|fs| fs.format().marks_every_block())
    }
}

/// Finds the partitions of a whole chip. `None`: the image is not the dump of a chip with several.
fn found(image: &[u8], wanted: &Wanted, formats: &[ImageFs]) -> Option<Vec<Part>> {
    let given = Given { fs: None, ..wanted.given };
    let chip = chip_of(image, &given, formats);
    let block_bytes = chip.block_bytes?;
    let layout = Layout::new(chip.holds?, chip.page_bytes, chip.oob_bytes, block_bytes, image);
    let lookers = lookers(image, &layout, formats);
    let mut owners: Vec<Owner> = (0..layout.blocks).map(|block| owner(image, &layout, &lookers, block)).collect();
    same_numbers(&mut owners);
    let areas = areas(&owners);
    if areas.len() < 2 {
        return None;
    }
    let mut parts: Vec<Part> = Vec::new();
    for (owner, blocks) in areas {
        let place = layout.place(blocks.start, image).start..layout.place(blocks.end - 1, image).end;
        let slice = &image[place.clone()];
        let known = of_chip(&given, &Chip { block_bytes: Some(block_bytes), ..chip }, place.start);
        let base = owner.fs().map_or("unknown", ImageFs::name);
        let before = parts.iter().filter(|part| part.name.split('-').next() == Some(base)).count();
        parts.push(Part {
            name: if before == 0 { base.to_string() } else { format!("{base}-{}", before + 1) },
            offset_bytes: u64::from(blocks.start) * u64::from(block_bytes),
            size_bytes: chip.flash_bytes(slice),
            layout: match owner.fs() {
                Some(fs) => recognise(slice, &Given { fs: Some(fs), ..known }, formats),
                None => Err(Unrecognised::NoFileSystem),
            },
            place_bytes: place,
        });
    }
    // If a file system is given, only its partitions are wanted.
    parts.retain(|part| wanted.given.fs.is_none_or(|fs| part.layout.as_ref().is_ok_and(|layout| layout.fs == fs)));
    parts.iter().any(|part| part.layout.is_ok()).then_some(parts)
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
/// partition, or between two different ones, are an area of their own.
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
        let is_nobodys = matches!(owner, Owner::Nobody | Owner::Erased);
        let is_same = |last: Owner| last == owner || (is_nobodys && next.is_none_or(|next| next == last));
        match joined.last_mut() {
            Some((last, before)) if *last != Owner::Nobody && is_same(*last) => before.end = blocks.end,
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
        assert_eq!(of(""), []);
    }
}
