//! YAFFS2 images: laid out anew as the simulated driver expects them, then mounted and walked.

use crate::format;
use crate::on_chip::chip_from;
use crate::tree::{tree_in, Content, Tree, TreeError};
use ffslab_flash::{Geometry, GeometryError};
use ffslab_yaffs2::probe::Layout;
use ffslab_yaffs2::{Options, Yaffs2};
use std::io::{self, Cursor, Read};
use std::slice::Chunks;

/// Where the driver has its first free OOB byte.
const FREE_AT: usize = 2;
/// Packed tags with ECC.
const TAGS_BYTES: usize = 28;
/// YAFFS2 mounts nothing smaller than 9 blocks.
pub const SPARE_BLOCKS: u32 = 9;

/// The chip that takes an image of this layout and so many erased blocks behind it, and the image as that chip's driver
/// has it.
///
/// Errors: no chip has such a geometry.
pub fn laid_out<'i>(
    image: &'i [u8],
    layout: &format::Layout,
    pages: &Layout,
    spare_blocks: u32,
) -> Result<(Geometry, Anew<'i>), GeometryError> {
    let geometry = Geometry {
        page_bytes: layout.page_bytes,
        oob_bytes: (layout.page_bytes / 32).max(64),
        pages_per_block: layout.pages_per_block(),
        blocks: layout.blocks.saturating_add(spare_blocks),
    };
    geometry.check()?;
    Ok((geometry, Anew::new(image, *pages, geometry)))
}

pub fn read(image: &[u8], layout: &format::Layout, content: Content) -> Result<Tree, TreeError> {
    let found = layout.yaffs2.ok_or(TreeError::NoTags)?;
    let (geometry, mut anew) = laid_out(image, layout, &found, SPARE_BLOCKS)?;
    let bytes = anew.left_bytes();
    let mtd = chip_from(&mut anew, bytes, geometry, true)?;
    let settings = Options {
        // Tags are what counts: they tell the same, whatever the size of the blocks was.
        checkpoint_read: false,
        checkpoint_write: false,
        block_summaries: false,
        empty_lost_and_found: false,
        background: None,
        tags_ecc: found.tags_ecc,
        inband_tags: found.is_inband(),
        ..Options::default()
    };
    let mut fs = Yaffs2::mount(mtd, settings).map_err(TreeError::refused)?;
    let mut tree = tree_in(&mut fs, content, Vec::new());
    let entries = &mut tree.entries;
    // Mounting makes lost+found; unless something is in it, it says nothing about the image.
    if !entries.iter().any(|entry| entry.path.starts_with(b"lost+found/")) {
        entries.retain(|entry| entry.path != b"lost+found");
    }
    Ok(tree)
}

/// The image with OOB areas as the chip's driver has them, made page by page: another copy might not fit in memory.
pub struct Anew<'i> {
    pages: Chunks<'i, u8>,
    layout: Layout,
    geometry: Geometry,
    /// The page that is read now.
    page: Cursor<Vec<u8>>,
}

impl<'i> Anew<'i> {
    fn new(image: &'i [u8], layout: Layout, geometry: Geometry) -> Anew<'i> {
        Anew { pages: image.chunks(layout.stride_bytes()), layout, geometry, page: Cursor::default() }
    }

    /// What is left to read.
    pub fn left_bytes(&self) -> u64 {
        self.pages.len() as u64 * u64::from(self.geometry.page_bytes + self.geometry.oob_bytes)
    }

    fn lay_out(&mut self, stored: &[u8]) {
        let (page_bytes, oob_bytes) = (self.geometry.page_bytes as usize, self.geometry.oob_bytes as usize);
        let page = self.page.get_mut();
        page.clear();
        page.extend_from_slice(&stored[..page_bytes.min(stored.len())]);
        page.resize(page_bytes + oob_bytes, 0xFF);
        if let (false, Some(tags)) = (self.layout.is_inband(), stored.get(self.layout.tags_offset as usize..)) {
            let count = tags.len().min(TAGS_BYTES);
            let at = page_bytes + FREE_AT;
            page[at..at + count].copy_from_slice(&tags[..count]);
        }
        self.page.set_position(0);
    }
}

impl Read for Anew<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.page.position() == self.page.get_ref().len() as u64 {
            let Some(stored) = self.pages.next() else { return Ok(0) };
            self.lay_out(stored);
        }
        self.page.read(into)
    }
}
