//! The seam between those who read images and the formats of file systems: what is said of an image, what it is found to be, and what
//! a format answers.

use crate::areas::data_areas;
use crate::lost::history::History;
use crate::rtems_volumes::mounted::Mounted;
use crate::scan::Scanned;
use crate::tree::{Content, CutOff, OnChip, Tree, TreeError};
use crate::ubifs::fscrypt::MasterKeys;
use crate::unrecognised::{either, Unrecognised};
use crate::written::Written;
use ffslab_block::DeviceProfile;
use ffslab_flash::Geometry;
use ffslab_jffs2::Endian;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;

/// A file system whose images can be read: its names, and how its images are read. Who has the table of file systems makes these
/// of it, and hands those that may be found in an image to whoever looks: no list of them stands here.
#[derive(Clone, Copy)]
pub struct ImageFs {
    name: &'static str,
    title: &'static str,
    format: &'static dyn ImageFormat,
}

ffslab_sim::known_by_name!(ImageFs);

impl ImageFs {
    /// `format` is `None` for a file system whose images are not read: every question is answered by the defaults.
    pub fn new(name: &'static str, title: &'static str, format: Option<&'static dyn ImageFormat>) -> ImageFs {
        ImageFs { name, title, format: format.unwrap_or(&NoImages) }
    }

    /// As users write it: "jffs2".
    pub fn name(self) -> &'static str {
        self.name
    }

    /// As people write it: "JFFS2".
    pub fn title(self) -> &'static str {
        self.title
    }

    pub fn format(self) -> &'static dyn ImageFormat {
        self.format
    }
}

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
    pub(crate) fn says_anything(&self) -> bool {
        let Given { fs, page_bytes, oob_bytes, block_bytes, has_oob, endian, .. } = *self;
        fs.is_some() || page_bytes.or(oob_bytes).or(block_bytes).is_some() || has_oob.is_some() || endian.is_some()
    }

    /// All that is given, in words, for messages.
    pub(crate) fn text(&self) -> String {
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

/// By what an image is recognised, the surest first: in this order all formats are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// What stands at the start says what the whole image is.
    Superblock,
    /// Most erase blocks that are not erased begin with a header.
    Headers,
    /// Tags of pages make sense with one size of pages and OOB areas.
    Tags,
    /// Nodes with check sums stand anywhere.
    Nodes,
    /// Some erase blocks begin with a header: an update in a file has such, too.
    FewHeaders,
}

impl Evidence {
    pub const ALL: [Evidence; 5] =
        [Evidence::Superblock, Evidence::Headers, Evidence::Tags, Evidence::Nodes, Evidence::FewHeaders];
}

/// An erase block in the dump of a whole chip.
pub struct BlockLook<'a> {
    /// As it stands in the file, with OOB areas if there are any.
    pub stored: &'a [u8],
    /// Its page data.
    pub data: &'a [u8],
    pub page_bytes: u32,
    /// 0: there are no OOB areas.
    pub oob_bytes: u32,
}

/// Answers whether a block is of this file system. If so, with the number by which two partitions of it side by side
/// differ; 0 where it has none.
pub type BlockOwner<'a> = Box<dyn Fn(&BlockLook<'_>) -> Option<u32> + 'a>;

/// Tells what stands in a written block.
pub type BlockReader = Box<dyn Fn(&BlockLook<'_>, &mut Written)>;

/// Images of a file system. What a format does not answer is answered as for one of which nothing special is known.
pub trait ImageFormat: Sync {
    /// What is looked for in an image, for the message that nothing was found: "JFFS2 node".
    fn sign(&self) -> &'static str;

    /// By what evidence it can be recognised; it is asked once for each.
    fn evidence(&self) -> &'static [Evidence];

    /// What the image is, if it is one of this file system, which is `fs`.
    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, evidence: Evidence) -> Option<Layout>;

    /// Why an image that is not recognised may be one for all that, in a line.
    fn hint(&self, _fs: ImageFs, _image: &[u8], _given: &Given) -> Option<String> {
        None
    }

    /// Where in an image that begins with something else, such as a header of its maker, one of this file system begins.
    /// `layout`: what was found, if anything was. `None`: at its start, or nowhere.
    fn begins_at(&self, _image: &[u8], _layout: Option<&Layout>) -> Option<usize> {
        None
    }

    /// Where in an image such begin whose superblock says how many bytes they take, with these bytes, in their order.
    fn places(&self, _image: &[u8]) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// Where images of it stand that are out of step with one another, in their order; fewer than two: there are no such.
    fn runs(&self, _image: &[u8]) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// It is a volume of a block device, not of flash.
    fn is_volume(&self) -> bool {
        false
    }

    /// Every block of it begins with a header, erased ones too: so its blocks are known, and where it ends.
    fn marks_every_block(&self) -> bool {
        false
    }

    /// Who tells its erase blocks from others in the dump of a whole chip, whose pages have such sizes. `None`: nobody can.
    fn block_owner<'a>(&self, _image: &'a [u8], _page_bytes: u32, _oob_bytes: u32) -> Option<BlockOwner<'a>> {
        None
    }

    /// Who tells for which files the pages of blocks were written, if this block shows that they are of this file system and
    /// how they are written. `None`: it does not, or nobody can.
    fn block_reader(&self, _block: &BlockLook<'_>) -> Option<BlockReader> {
        None
    }

    /// The files.
    ///
    /// Errors: why the image cannot be mounted.
    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError>;

    /// Reads the bytes as they stand: what the superblock says, what each block holds, damage. Blocks and bad ones among
    /// them have been entered before.
    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned);

    /// What is still there of the past of its files. `None`: it is not looked for.
    fn history<'i>(&self, _image: &'i [u8], _layout: &'i Layout) -> Option<History<'i>> {
        None
    }

    /// Of an image with several volumes, each of which has its files in a folder of its own, those that have a past: the folder and what is
    /// read of the volume alone. Empty: what is read is one.
    fn volumes(&self, _image: &[u8], _layout: &Layout) -> Vec<(Vec<u8>, Layout)> {
        Vec::new()
    }

    /// Takes back what the mount of a copy has changed in the facts about blocks.
    fn put_right(&self, _layout: &Layout, _scanned: &mut Scanned) {}

    /// Where the image breaks off. One that ends between two things looks whole.
    fn cut_off(&self, _image: &[u8], _layout: &Layout) -> Option<CutOff> {
        None
    }

    /// The chip that takes the image, and its pages as that chip has them.
    ///
    /// Errors: no chip has such a geometry.
    fn on_chip<'i>(&self, image: &'i [u8], layout: &Layout) -> Result<OnChip<'i>, TreeError> {
        layout.as_it_is(image, 1)
    }

    /// A copy of a volume, mounted on a block device.
    ///
    /// Errors: it is no volume, or cannot be mounted.
    fn on_device(&self, _image: &[u8], _layout: &Layout, _profile: DeviceProfile) -> Result<Mounted, TreeError> {
        Err(TreeError::NoVolume)
    }
}

/// The answers for a file system without images.
struct NoImages;

impl ImageFormat for NoImages {
    fn sign(&self) -> &'static str {
        ""
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[]
    }

    fn recognise(&self, _fs: ImageFs, _image: &[u8], _given: &Given, _evidence: Evidence) -> Option<Layout> {
        None
    }

    fn read(&self, _image: &[u8], layout: &Layout, _content: Content) -> Result<Tree, TreeError> {
        Err(TreeError::NoFormat { title: layout.fs.title() })
    }

    fn scan(&self, _image: &[u8], _layout: &Layout, _scanned: &mut Scanned) {}
}

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

    /// The geometry of the smallest chip that can hold the image and has at least `blocks_min` erase blocks.
    pub fn geometry(&self, image: &[u8], blocks_min: u32) -> Result<Geometry, TreeError> {
        let &Layout { page_bytes, block_bytes, .. } = self;
        if page_bytes == 0 || block_bytes == 0 || !block_bytes.is_multiple_of(page_bytes) {
            return Err(TreeError::Blocks { block_bytes, page_bytes });
        }
        let blocks = image.len().div_ceil(self.stored_block_bytes());
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX).max(blocks_min);
        let (oob_bytes, pages_per_block) = (self.chip_oob_bytes(), block_bytes / page_bytes);
        let geometry = Geometry { page_bytes, oob_bytes, pages_per_block, blocks };
        geometry.check()?;
        Ok(geometry)
    }

    /// The image unchanged, on a chip of at least `blocks_min` erase blocks.
    ///
    /// Errors: one line; no chip has such a geometry.
    pub fn as_it_is<'i>(&self, image: &'i [u8], blocks_min: u32) -> Result<OnChip<'i>, TreeError> {
        Ok(self.as_it_is_on(self.geometry(image, blocks_min)?, image))
    }

    /// The image unchanged, on a chip of this geometry.
    pub(crate) fn as_it_is_on<'i>(&self, geometry: Geometry, image: &'i [u8]) -> OnChip<'i> {
        OnChip { geometry, pages: Box::new(image), bytes: image.len() as u64, oob: self.oob_bytes > 0 }
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

    /// Reads the files of an image of this layout.
    pub fn tree(&self, image: &[u8], content: Content) -> Result<Tree, TreeError> {
        self.fs.format().read(image, self, content)
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
