//! The seam between those who read images and the formats of file systems.

use crate::lost::history::History;
use crate::purposes::BlockReader;
use crate::recognise::{Given, Layout};
use crate::rtems_volumes::Mounted;
use crate::scan::Scanned;
use crate::tree::{as_it_is, Content, CutOff, OnChip, Tree, TreeError};
use ffslab_block::DeviceProfile;
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
        as_it_is(image, layout, 1)
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
