//! The partitions of a dump. They are given, or a table in the dump has them, or they are found from the content of the erase blocks of
//! a whole chip.
//!
//! A chip holds a boot loader, a kernel, and several file systems next to each other. The content of an erase block
//! shows which file system it belongs to: UBI's blocks begin with a header, pages of YAFFS2 have its tags, blocks of
//! JFFS2 hold its nodes. Blocks that belong to no file system, between the partitions or before them, are unknown data
//! and not damage. Where an erased area lies between two partitions, nothing shows where the first one ends. The area
//! is taken to belong to the first one, unless that is UBI's, because UBI writes a header into each of its blocks.

use super::mtdparts::{self, Defined};
use super::owners::areas_of;
use super::part::{own_name, whole, Part, UNKNOWN};
use super::{apart, content, recognise, superblocks, tables, within, Given, Layout, PAGES_BYTES_GIVEN};
use crate::areas::data_areas;
use crate::dump::Pieces;
use crate::file::{hold_file, ImageError};
use crate::format::{Evidence, ImageFs};
use crate::ubifs::fscrypt::MasterKeys;
use crate::unrecognised::Unrecognised;
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
    /// What opens encrypted files.
    pub keys: MasterKeys,
    /// How each page is laid out, which then is not looked for.
    pub pieces: Option<Pieces>,
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
    /// The file itself: what stands behind an offset is looked at as if nothing stood before it.
    const BYTES: Chip = Chip { page_bytes: 1, oob_bytes: 0, block_bytes: None, holds: None };

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
        Some((defined, chip)) => {
            let text = wanted.mtdparts.as_deref();
            let doubts = text.and_then(|text| mtdparts::beyond(&defined, text, "mtdparts"));
            (cut(image, wanted, formats, &chip, &defined)?, doubts.into_iter().collect())
        }
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
    let parts = apart::several(image, &wanted.given, formats)
        .or_else(|| found(image, wanted, formats))
        .or_else(|| within::several(image, &wanted.given, formats));
    let parts = match parts {
        Some(parts) => Ok(parts),
        None => whole(image, &wanted.given, formats).map(|part| vec![part]),
    };
    let parts = parts.map_err(|why| told(image, why, formats));
    match parts {
        Ok(parts) => Ok((parts, doubts)),
        Err(why) if doubts.is_empty() => Err(why),
        Err(why) => Err(Unrecognised::Table { doubts: doubts.join("; "), why: Box::new(why) }),
    }
}

/// Where nothing is known: what the bytes are, or what they would be in another order.
fn told(image: &[u8], why: Unrecognised, formats: &[ImageFs]) -> Unrecognised {
    let Unrecognised::Nothing { signs, .. } = why else { return why };
    let known = |(turn, turned): (content::Turn, Vec<u8>)| {
        let what = match recognise(&turned, &Given::default(), formats) {
            Ok(layout) => format!("{} that ffslab reads", layout.fs.title()),
            Err(_) => crate::named::beginning(&turned)?.to_string(),
        };
        Some(Unrecognised::Turned { turn: turn.to_string(), what, command: turn.command() })
    };
    let turned = content::turned(image).find_map(known);
    turned.unwrap_or_else(|| Unrecognised::Nothing { signs, holds: content::described(image) })
}

/// The partitions that a table in the image has.
fn of_table(image: &[u8], wanted: &Wanted, formats: &[ImageFs], (table, all): (&str, &[Defined])) -> Vec<Part> {
    let part = |Defined { name, offset_bytes, size_bytes }: &Defined| {
        let place_bytes = *offset_bytes as usize..(offset_bytes + size_bytes) as usize;
        let given = Given { starts_at_bytes: *offset_bytes, ..wanted.given };
        let layout = match recognise(&image[place_bytes.clone()], &given, formats) {
            Ok(layout) => Ok(layout.because(format!("{table} has it as {name}"))),
            Err(Unrecognised::Nothing { .. } | Unrecognised::Other { .. }) => {
                Err(Unrecognised::NoFileSystem { holds: content::described(&image[place_bytes.clone()]) })
            }
            Err(why) => Err(why),
        };
        Part { name: name.clone(), offset_bytes: *offset_bytes, size_bytes: *size_bytes, place_bytes, layout }
    };
    all.iter().map(part).collect()
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
    let image = hold_file(path)?;
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
    let within = defined.iter().find(|part| part.offset_bytes % u64::from(chip.page_bytes) != 0);
    match (within, &wanted.mtdparts) {
        (None, _) => Ok(Some((defined, chip))),
        // A header of a maker before the pages has any length, and is no page.
        (Some(part), None) => {
            let left = image.len() as u64 - part.offset_bytes;
            let size_bytes = wanted.size_bytes.unwrap_or(left);
            Ok(Some((vec![Defined { size_bytes, ..part.clone() }], Chip::BYTES)))
        }
        (Some(part), Some(_)) => {
            Err(Unrecognised::WithinPage { offset_bytes: part.offset_bytes, page_bytes: chip.page_bytes })
        }
    }
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
        let given = match chip.page_bytes {
            1 => Given { starts_at_bytes: place.start as u64, ..wanted.given },
            _ => of_chip(&wanted.given, &sizes, place.start),
        };
        Part {
            name: defined.name.clone(),
            offset_bytes: defined.offset_bytes,
            size_bytes: defined.size_bytes,
            layout: recognise(&image[place.clone()], &given, formats),
            place_bytes: place,
        }
    };
    let parts: Vec<Part> = defined.iter().map(part).collect();
    if let (None, [Part { layout: Err(why), place_bytes, .. }]) = (&wanted.mtdparts, parts.as_slice()) {
        return Err(told(&image[place_bytes.clone()], why.clone(), formats));
    }
    Ok(parts)
}

/// What is known of a partition that is on this chip and begins at `starts_at` in the file.
fn of_chip(given: &Given, chip: &Chip, starts_at: usize) -> Given {
    // Of NOR, which has no pages, formats call other things so.
    let of_chip = Some(chip.page_bytes).filter(|bytes| PAGES_BYTES_GIVEN.contains(bytes));
    Given {
        page_bytes: given.page_bytes.or(of_chip),
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
    let Ok(mut whole) = recognise(image, &sizes, formats) else { return said };
    if superblocks::ends_early(image, whole.fs) {
        let others: Vec<ImageFs> = formats.iter().copied().filter(|fs| !fs.format().is_volume()).collect();
        let Ok(behind) = recognise(image, &sizes, &others) else { return said };
        whole = behind;
    }
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

/// Finds the partitions of a whole chip. `None`: the image is not the dump of a chip with several.
fn found(image: &[u8], wanted: &Wanted, formats: &[ImageFs]) -> Option<Vec<Part>> {
    let given = Given { fs: None, ..wanted.given };
    let chip = chip_of(image, &given, formats);
    let block_bytes = chip.block_bytes?;
    let layout = Layout::new(chip.holds?, chip.page_bytes, chip.oob_bytes, block_bytes, image);
    let areas = areas_of(image, &layout, formats);
    if areas.len() < 2 {
        return None;
    }
    let (mut parts, mut left): (Vec<Part>, Vec<String>) = (Vec::new(), Vec::new());
    for (owner, blocks) in areas {
        let place = layout.place(blocks.start, image).start..layout.place(blocks.end - 1, image).end;
        match owner.fs() {
            Some(fs) if !fs.format().is_volume() => {
                let known = of_chip(&given, &Chip { block_bytes: Some(block_bytes), ..chip }, place.start);
                let layout = recognise(&image[place.clone()], &Given { fs: Some(fs), ..known }, formats);
                let size_bytes = chip.flash_bytes(&image[place.clone()]);
                let offset_bytes = u64::from(blocks.start) * u64::from(block_bytes);
                let name = own_name(&parts, fs.name());
                parts.push(Part { name, offset_bytes, size_bytes, place_bytes: place, layout });
            }
            _ if chip.oob_bytes == 0 => within::add_to(&mut parts, image, place, &given, formats),
            _ => {
                let name = own_name(&parts, UNKNOWN);
                let size_bytes = chip.flash_bytes(&image[place.clone()]);
                let offset_bytes = u64::from(blocks.start) * u64::from(block_bytes);
                let data = data_areas(&image[place.clone()], chip.page_bytes as usize, chip.oob_bytes as usize);
                left.extend(superblocks::volumes(&data, formats).first().map(|(fs, _)| beside(&name, *fs)));
                let layout = Err(Unrecognised::NoFileSystem { holds: content::described(&data) });
                parts.push(Part { name, offset_bytes, size_bytes, place_bytes: place, layout });
            }
        }
    }
    if let Some(layout) = parts.iter_mut().find_map(|part| part.layout.as_mut().ok()) {
        layout.doubts.extend(left);
    }
    // If a file system is given, only its partitions are wanted.
    parts.retain(|part| wanted.given.fs.is_none_or(|fs| part.layout.as_ref().is_ok_and(|layout| layout.fs == fs)));
    parts.iter().any(|part| part.layout.is_ok()).then_some(parts)
}

/// What is to be said of a volume that stands on pages with OOB areas, where others need these.
fn beside(name: &str, fs: ImageFs) -> String {
    let (title, fs) = (fs.title(), fs.name());
    format!("{name} holds {title}, which is not read beside what stands on the same pages: --fs {fs} reads it alone")
}
