//! What an image is, and the sizes of its pages, OOB areas and erase blocks. They are given by the user or guessed from
//! the content.
//!
//! Everything that takes an image asks here (`extract`, `inspect`, `mount`, `lifetime`, the step `load`, the stack's
//! key `image`), so that all of them find the same. The dump of a whole chip is first cut into its partitions by
//! [`parts`].

mod apart;
pub mod arranged;
mod content;
pub mod mtdparts;
mod owners;
pub mod part;
pub mod parts;
mod superblocks;
mod tables;
mod within;

use crate::format::{Evidence, ImageFs};
use crate::tree::data_areas;
use crate::ubifs::fscrypt::MasterKeys;
use crate::unrecognised::Unrecognised;
use ffslab_jffs2::Endian;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;

/// What the user says about an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub fs: Option<ImageFs>,
    pub page_bytes: Option<u32>,
    /// Bytes of the OOB area of each page; 0: the image has no OOB areas.
    pub oob_bytes: Option<u32>,
    pub block_bytes: Option<u32>,
    /// Whether there are OOB areas in the image, whatever their size.
    pub has_oob: Option<bool>,
    /// Byte order of a JFFS2 image.
    pub endian: Option<Endian>,
    /// Where the sizes come from, for messages; `None`: from the user.
    pub said_by: Option<&'static str>,
    /// Position in the file at which the image begins, for messages.
    pub starts_at_bytes: u64,
}

impl Given {
    /// Whether anything is given.
    fn says_anything(&self) -> bool {
        let Given { fs, page_bytes, oob_bytes, block_bytes, has_oob, endian, .. } = *self;
        fs.is_some() || page_bytes.or(oob_bytes).or(block_bytes).is_some() || has_oob.is_some() || endian.is_some()
    }

    /// All that is given, in words, for messages.
    fn text(&self) -> String {
        let mut said: Vec<String> = Vec::new();
        said.extend(self.fs.map(|fs| fs.name().to_string()));
        said.extend(self.endian.map(|endian| format!("{}-endian", endian_word(endian))));
        said.extend(self.page_bytes.map(|bytes| format!("pages of {bytes} B")));
        said.extend(match (self.oob_bytes, self.has_oob) {
            (Some(0), _) | (None, Some(false)) => Some("no OOB areas".to_string()),
            (Some(bytes), _) => Some(format!("OOB areas of {bytes} B")),
            (None, Some(true)) => Some("OOB areas".to_string()),
            (None, None) => None,
        });
        said.extend(self.block_bytes.map(|bytes| format!("erase blocks of {} KiB", bytes >> 10)));
        said.join(", ")
    }
}

/// What the image is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Layout {
    #[serde(serialize_with = "fs_name")]
    #[schemars(with = "String")]
    pub fs: ImageFs,
    #[serde(rename = "page_B")]
    pub page_bytes: u32,
    /// Bytes of the OOB area after each page in the image; 0: none.
    #[serde(rename = "oob_B")]
    pub oob_bytes: u32,
    /// Bytes of page data in an erase block; for FAT and RFS, bytes of an area.
    #[serde(rename = "block_B")]
    pub block_bytes: u32,
    pub blocks: u32,
    #[serde(serialize_with = "endian_name", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub endian: Option<Endian>,
    /// YAFFS2: offset of the tags from the start of a page.
    #[serde(rename = "tags_at_B", skip_serializing_if = "Option::is_none")]
    pub tags_offset: Option<u32>,
    /// What the format has no check sums for, in a sentence: there a changed bit shows nowhere. `None`: for everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<Cow<'static, str>>,
    /// What was done to the bytes of the file before it was read, in a sentence each: layers undone, bits corrected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<String>,
    /// Why what is read may be wrong though nothing shows it, in a sentence each.
    #[serde(skip)]
    pub doubts: Vec<String>,
    /// How each of these facts is known, in a sentence each.
    pub because: Vec<String>,
    #[serde(skip)]
    pub yaffs2: Option<ffslab_yaffs2::probe::Layout>,
    /// UBI: offsets of the volume identifier header and of the data in an erase block.
    #[serde(rename = "vid_hdr_and_data_at_B", skip_serializing_if = "Option::is_none")]
    pub ubi_at_bytes: Option<(u32, u32)>,
    /// The sizes of erase blocks that fit the image, if it does not tell which of them is right; `block_bytes` is one
    /// of them. Empty: the size is known.
    #[serde(rename = "block_sizes_that_fit_B", skip_serializing_if = "Vec::is_empty")]
    pub block_sizes_that_fit_bytes: Vec<u32>,
    /// The image is a volume of UBIFS without UBI, as `mkfs.ubifs` makes it. What is called an erase block here is a
    /// LEB.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks_ubi: bool,
    /// Name or number of the only volume of UBI that is wanted.
    #[serde(skip)]
    pub volume: Option<String>,
    /// What opens encrypted files.
    #[serde(skip)]
    pub keys: MasterKeys,
}

fn fs_name<S: serde::Serializer>(fs: &ImageFs, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(fs.name())
}

fn endian_name<S: serde::Serializer>(endian: &Option<Endian>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(endian_word(endian.unwrap_or_default()))
}

fn endian_word(endian: Endian) -> &'static str {
    if endian == Endian::Big {
        "big"
    } else {
        "little"
    }
}

/// Sizes of pages that may be given.
pub(crate) const PAGES_BYTES_GIVEN: Range<u32> = 512..(16 << 10) + 1;
pub(crate) const PAGES_BYTES: [u32; 5] = [2048, 4096, 512, 8192, 16384];
const OOBS_BYTES: [u32; 10] = [0, 16, 64, 128, 224, 256, 448, 512, 640, 32];
pub(crate) const BLOCK_PAGES: [u32; 7] = [64, 32, 128, 16, 256, 512, 8];
/// OOB areas that somebody may give.
pub(crate) const OOBS_BYTES_GIVEN: std::ops::RangeInclusive<u32> = 16..=2048;
pub const BLOCK_BYTES_USUAL: u32 = 128 << 10;

impl Layout {
    /// A layout with these sizes, of which nothing else is known. `oob_bytes` is 0 if there are no OOB areas.
    pub fn new(fs: ImageFs, page_bytes: u32, oob_bytes: u32, block_bytes: u32, image: &[u8]) -> Layout {
        let mut layout = Layout {
            fs,
            page_bytes,
            oob_bytes,
            block_bytes,
            blocks: 0,
            endian: None,
            tags_offset: None,
            unchecked: None,
            undone: Vec::new(),
            doubts: Vec::new(),
            because: Vec::new(),
            yaffs2: None,
            ubi_at_bytes: None,
            block_sizes_that_fit_bytes: Vec::new(),
            lacks_ubi: false,
            volume: None,
            keys: MasterKeys::default(),
        };
        layout.blocks = image.len().div_ceil(layout.stored_block_bytes()).min(u32::MAX as usize) as u32;
        layout
    }

    /// Adds a sentence that says how one of the facts is known.
    pub fn because(mut self, text: impl Into<String>) -> Layout {
        self.because.push(text.into());
        self
    }

    /// Says what the format has no check sums for.
    pub fn unchecked(mut self, text: &'static str) -> Layout {
        self.unchecked = Some(text.into());
        self
    }

    /// Bytes that a page takes in the image, with its OOB area.
    pub fn stride_bytes(&self) -> usize {
        (self.page_bytes + self.oob_bytes) as usize
    }

    pub fn pages_per_block(&self) -> u32 {
        (self.block_bytes / self.page_bytes).max(1)
    }

    /// Bytes that an erase block takes in the image, with its OOB areas.
    pub fn stored_block_bytes(&self) -> usize {
        self.stride_bytes() * self.pages_per_block() as usize
    }

    /// The part of the image that holds an erase block. The last block may be short.
    pub fn place(&self, block: u32, image: &[u8]) -> Range<usize> {
        let start = (block as usize * self.stored_block_bytes()).min(image.len());
        start..(start + self.stored_block_bytes()).min(image.len())
    }

    /// The page data of an erase block.
    pub fn data<'i>(&self, block: u32, image: &'i [u8]) -> Cow<'i, [u8]> {
        data_areas(&image[self.place(block, image)], self.page_bytes as usize, self.oob_bytes as usize)
    }

    /// Bytes of the page data of a block, from `offset` on; fewer where the image or the block ends.
    pub fn bytes(&self, block: u32, offset: u32, count: u32, image: &[u8]) -> Vec<u8> {
        let end = offset.saturating_add(count).min(self.block_bytes);
        let mut bytes = Vec::with_capacity(end.saturating_sub(offset) as usize);
        let mut at = offset;
        while at < end {
            let count = (self.page_bytes - at % self.page_bytes).min(end - at);
            let from = (self.offset_in_image(block, at) as usize).min(image.len());
            bytes.extend_from_slice(&image[from..(from + count as usize).min(image.len())]);
            at += count;
        }
        bytes
    }

    /// Position in the image of an offset in the page data of a block.
    pub fn offset_in_image(&self, block: u32, offset: u32) -> u64 {
        let (page, column) = (offset / self.page_bytes, offset % self.page_bytes);
        block as u64 * self.stored_block_bytes() as u64
            + u64::from(page) * self.stride_bytes() as u64
            + u64::from(column)
    }

    /// Whether the first or second page of a block has a bad block mark.
    pub fn has_bad_mark(&self, block: u32, image: &[u8]) -> bool {
        let mark_at = self.page_bytes as usize + if self.page_bytes > 512 { 0 } else { 5 };
        let mut pages = image[self.place(block, image)].chunks(self.stride_bytes()).take(2);
        pages.any(|page| page.get(mark_at).is_some_and(|&mark| mark != 0xFF))
    }

    /// Whether the byte that marks bad blocks holds something else in this image: most of the blocks that hold something have it.
    /// No chip is sold with so many bad blocks.
    pub fn marks_are_none(&self, image: &[u8]) -> bool {
        let holds = |&block: &u32| !ffslab_mtd::is_erased(&self.data(block, image));
        let marked = |&block: &u32| self.has_bad_mark(block, image) && holds(&block);
        let bad = (0..self.blocks).filter(marked).count();
        self.oob_bytes > 0 && bad > 0 && 2 * bad > (0..self.blocks).filter(holds).count()
    }

    /// Bytes of each OOB area of a chip that can hold the image.
    pub fn chip_oob_bytes(&self) -> u32 {
        match self.oob_bytes {
            // The image has none, so the usual size for such pages is taken.
            0 => (self.page_bytes / 32).max(16),
            bytes => bytes,
        }
    }

    /// Describes the layout in a few words.
    pub fn text(&self) -> String {
        let Layout { page_bytes, oob_bytes, .. } = self;
        let order = self.endian.map_or(String::new(), |endian| format!(" {}-endian", endian_word(endian)));
        let oob = if *oob_bytes > 0 { format!(" + {oob_bytes} B") } else { " B without OOB areas".to_string() };
        let blocks = match self.block_sizes_that_fit_bytes.as_slice() {
            [] => format!("erase blocks of {} KiB", self.block_bytes >> 10),
            fits => format!("erase blocks of {} KiB", either(fits)),
        };
        if self.fs.format().is_volume() {
            return format!("{}, a volume of a block device", self.fs.name());
        }
        if self.lacks_ubi {
            return format!("a volume of UBIFS without UBI, LEBs of {} B", self.block_bytes);
        }
        format!("{}{order}, pages of {page_bytes}{oob}, {blocks}", self.fs.name())
    }

    /// The layout, for callers that need all sizes and an image of a flash.
    ///
    /// Errors: one line; the size of the erase blocks cannot be found out, or the image is a UBIFS volume without UBI.
    pub fn whole(self) -> Result<Layout, Unrecognised> {
        if self.lacks_ubi {
            return Err(Unrecognised::LacksUbi { page_bytes: self.page_bytes, leb_bytes: self.block_bytes });
        }
        self.sized()
    }

    /// As [`Layout::whole`], for callers that read the image and put it on no flash.
    ///
    /// Errors: one line; the size of the erase blocks cannot be found out.
    pub fn sized(self) -> Result<Layout, Unrecognised> {
        let &Layout { page_bytes, oob_bytes, .. } = &self;
        if self.block_sizes_that_fit_bytes.is_empty() {
            return Ok(self);
        }
        let fits = either(&self.block_sizes_that_fit_bytes);
        Err(Unrecognised::BlockSize { fs: self.fs.name(), page_bytes, oob_bytes, fits })
    }
}

/// Lists the sizes, in KiB, as "32, 64 or 128".
pub(crate) fn either(bytes: &[u32]) -> String {
    let kib: Vec<String> = bytes.iter().map(|bytes| (bytes >> 10).to_string()).collect();
    match kib.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => kib.join(""),
    }
}

/// Finds out what the image is, of these formats.
///
/// Errors: one line; nothing in it is recognised, or what is given is impossible or contradicts the content.
pub fn recognise(image: &[u8], given: &Given, formats: &[ImageFs]) -> Result<Layout, Unrecognised> {
    check(given)?;
    if let Some(layout) = find(image, given, formats) {
        return Ok(layout);
    }
    // If the image is recognised when nothing is given, the message says what was found.
    if let Some(layout) = given.says_anything().then(|| find(image, &Given::default(), formats)).flatten() {
        return Err(Unrecognised::Contradiction { given: given.text(), found: layout.text() });
    }
    if let Some(hint) = asked(given, formats).find_map(|fs| fs.format().hint(fs, image, given)) {
        return Err(Unrecognised::Hint(hint));
    }
    if let Some(what) = crate::named::named(image).or_else(|| tables::environment(image)) {
        return Err(Unrecognised::Named(what));
    }
    Err(match given.fs {
        Some(fs) => Unrecognised::Other { fs: fs.name() },
        None => {
            Unrecognised::Nothing { signs: formats.iter().map(|fs| fs.format().sign()).collect(), holds: String::new() }
        }
    })
}

/// The formats to try: the one that is given, or all.
fn asked<'f>(given: &Given, formats: &'f [ImageFs]) -> impl Iterator<Item = ImageFs> + 'f {
    let asked = given.fs;
    formats.iter().copied().filter(move |fs| asked.is_none_or(|asked| asked == *fs))
}

fn find(image: &[u8], given: &Given, formats: &[ImageFs]) -> Option<Layout> {
    Evidence::ALL.into_iter().find_map(|evidence| {
        let mut able = asked(given, formats).filter(|fs| fs.format().evidence().contains(&evidence));
        able.find_map(|fs| fs.format().recognise(fs, image, given, evidence))
    })
}

fn check(given: &Given) -> Result<(), Unrecognised> {
    let power = |what: &'static str, value: Option<u32>, range: Range<u32>| match value {
        Some(bytes) if !bytes.is_power_of_two() || !range.contains(&bytes) => {
            Err(Unrecognised::Size { what, bytes, from_bytes: range.start, to_bytes: range.end - 1 })
        }
        _ => Ok(()),
    };
    power("pages", given.page_bytes, PAGES_BYTES_GIVEN)?;
    power("erase blocks", given.block_bytes, 4096..(16 << 20) + 1)?;
    if let Some(oob) = given.oob_bytes.filter(|&oob| oob != 0 && !OOBS_BYTES_GIVEN.contains(&oob)) {
        return Err(Unrecognised::OobSize { bytes: oob });
    }
    Ok(())
}

/// The sizes of pages and OOB areas to try. A size that is given is the only one.
pub fn strides(given: &Given) -> impl Iterator<Item = (u32, u32)> {
    let pages: Vec<u32> = given.page_bytes.map_or(PAGES_BYTES.to_vec(), |page| vec![page]);
    let oobs: Vec<u32> = given.oob_bytes.map_or(OOBS_BYTES.to_vec(), |oob| vec![oob]);
    let has_oob = given.has_oob;
    let usual = move |&(page, oob): &(u32, u32)| oob <= page && has_oob.is_none_or(|has| has == (oob > 0));
    pages.into_iter().flat_map(move |page| oobs.clone().into_iter().map(move |oob| (page, oob))).filter(usual)
}

/// Says where sizes come from. `why` is the reason for a guess; it is used unless all sizes are given.
pub(crate) fn said(given: &Given, are_given: bool, why: &str) -> String {
    match (are_given, given.said_by) {
        (true, None) => "as given".to_string(),
        (true, Some(who)) => who.to_string(),
        _ => format!("guessed: {why}"),
    }
}

pub(crate) fn gcd(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clean marker, with which JFFS2 begins an erased block (`fs/jffs2/erase.c`).
    const CLEAN_MARKER: [u8; 12] = [0x85, 0x19, 0x03, 0x20, 12, 0, 0, 0, 0xB1, 0xB0, 0x1E, 0xE4];
    const BLOCK_BYTES: usize = 128 << 10;

    fn fresh_jffs2() -> Vec<u8> {
        let mut image = vec![0xFF; 2 * BLOCK_BYTES];
        image.chunks_mut(BLOCK_BYTES).for_each(|block| block[..CLEAN_MARKER.len()].copy_from_slice(&CLEAN_MARKER));
        image
    }

    #[test]
    fn only_the_formats_that_are_handed_over_are_looked_for() {
        let jffs2 = ImageFs::new("a", "A", Some(&crate::jffs2::InImages));
        let ubi = ImageFs::new("b", "B", Some(&crate::ubifs::InImages));
        let image = fresh_jffs2();
        let found = recognise(&image, &Given::default(), &[ubi, jffs2]).unwrap();
        assert_eq!(
            (found.fs, found.block_bytes as usize),
            (jffs2, BLOCK_BYTES),
            "the name is that of the caller's table"
        );
        let refused = recognise(&image, &Given::default(), &[ubi]).unwrap_err();
        assert_eq!(refused, Unrecognised::Nothing { signs: vec!["UBI header"], holds: String::new() });
        assert_eq!(
            refused.to_string(),
            "nothing is known in it: no UBI header; the commands file and binwalk know other formats"
        );
    }

    #[test]
    fn what_is_given_and_cannot_be_is_told_from_what_is_not_so() {
        let jffs2 = ImageFs::new("jffs2", "JFFS2", Some(&crate::jffs2::InImages));
        let of = |given: Given| recognise(&fresh_jffs2(), &given, &[jffs2]).unwrap_err();
        let odd = of(Given { page_bytes: Some(1000), ..Given::default() });
        assert_eq!(odd, Unrecognised::Size { what: "pages", bytes: 1000, from_bytes: 512, to_bytes: 16 << 10 });
        let other = of(Given { endian: Some(Endian::Big), ..Given::default() });
        assert!(matches!(other, Unrecognised::Contradiction { .. }), "{other}");
    }
}
