//! Images of JFFS2.

mod obsolete;
mod past;
mod purposes;
mod recognise;
mod scan;

use crate::areas::{block_data, data_areas};
use crate::format::{BlockLook, BlockOwner, BlockReader, Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::lost::history::History;
use crate::on_chip::chip_of;
use crate::scan::Scanned;
use crate::tree::{tree_in, Content, CutOff, OnChip, Tree, TreeError};
use ffslab_jffs2::probe::{self, Misfit};
use ffslab_jffs2::{Endian, Jffs2, Options};
use ffslab_mtd::is_erased;

/// How they are recognised, read and explained.
pub struct InImages;

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "JFFS2 node"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Nodes]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, _evidence: Evidence) -> Option<Layout> {
        recognise::recognise(fs, image, given)
    }

    /// Nodes stand at multiples of four bytes of it.
    fn begins_at(&self, image: &[u8], layout: Option<&Layout>) -> Option<usize> {
        if layout.is_some() {
            return None;
        }
        (1..4).find_map(|at| Some(at + probe::first_node(image.get(at..)?)?.0))
    }

    /// Nodes, or clean markers in the OOB areas of an erased block.
    fn block_owner<'a>(&self, _image: &'a [u8], _page_bytes: u32, _oob_bytes: u32) -> Option<BlockOwner<'a>> {
        Some(Box::new(|block: &BlockLook<'_>| {
            let (page, oob) = (block.page_bytes as usize, block.oob_bytes as usize);
            let has_marker = |endian| probe::oob_markers(endian, block.stored, page, oob) > 0;
            let is_clean =
                || oob > 0 && is_erased(block.data) && [Endian::Little, Endian::Big].into_iter().any(has_marker);
            let order = probe::byte_order(block.data).map(|order| if order == Endian::Big { 2 } else { 1 });
            order.or_else(|| is_clean().then_some(0))
        }))
    }

    fn block_reader(&self, block: &BlockLook<'_>) -> Option<BlockReader> {
        purposes::reader(block)
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        read(image, layout, content)
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        scan::scan(image, layout, scanned);
    }

    fn history<'i>(&self, image: &'i [u8], layout: &'i Layout) -> Option<History<'i>> {
        Some(past::history(image, layout))
    }

    /// Where nothing in the image marks them as clean, the mount has erased erased blocks again. A clean marker among the data is
    /// that of NOR: the mount on NAND, on which all images are read, takes the block for a dirty one.
    fn put_right(&self, layout: &Layout, scanned: &mut Scanned) {
        let mut without_marker = 0;
        for facts in scanned.blocks.iter_mut().filter(|facts| facts.valid_bytes.is_some() && facts.holds == "clean") {
            let free_bytes = layout.block_bytes - CLEAN_MARKER_BYTES;
            (facts.valid_bytes, facts.invalid_bytes, facts.free_bytes) =
                (Some(CLEAN_MARKER_BYTES), Some(0), Some(free_bytes));
        }
        let known = scanned.blocks.iter_mut().filter(|facts| facts.valid_bytes.is_some());
        for facts in known.filter(|facts| layout.oob_bytes == 0 && facts.holds == "erased") {
            (facts.invalid_bytes, facts.free_bytes) = (Some(0), Some(layout.block_bytes));
            without_marker += 1;
        }
        if without_marker > 0 {
            scanned.notes.push(format!(
                "{without_marker} erased blocks have no clean marker in the image, which has no OOB areas: a mount erases \
                 them again"
            ));
        }
    }

    fn cut_off(&self, image: &[u8], layout: &Layout) -> Option<CutOff> {
        cut_off(image, layout)
    }

    fn on_chip<'i>(&self, image: &'i [u8], layout: &Layout) -> Result<OnChip<'i>, TreeError> {
        layout.as_it_is(image, BLOCKS_MIN)
    }
}

fn cut_off(image: &[u8], layout: &Layout) -> Option<CutOff> {
    let &Layout { page_bytes, oob_bytes, .. } = layout;
    let rest = image.len() % layout.stride_bytes();
    if oob_bytes > 0 && rest > 0 {
        let what = format!(
            "the image is cut off in this page: it and what stood behind it are missing; or pages have not {page_bytes} + {oob_bytes} B"
        );
        return Some(CutOff { offset: (image.len() - rest) as u64, what });
    }
    let start = image.len() - image.len() % layout.stored_block_bytes();
    let block = data_areas(&image[start..], page_bytes as usize, oob_bytes as usize);
    let at = probe::cut_off(layout.endian?, &block)?;
    let offset = start + at / page_bytes as usize * layout.stride_bytes() + at % page_bytes as usize;
    let what = "the image is cut off in this node: it and what stood behind it are missing".to_string();
    Some(CutOff { offset: offset as u64, what })
}

/// A clean marker is the head of a node and nothing else (`struct jffs2_unknown_node`).
const CLEAN_MARKER_BYTES: u32 = 12;
/// JFFS2 mounts nothing smaller.
const BLOCKS_MIN: u32 = 5;

fn read(image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
    let &Layout { page_bytes, oob_bytes, block_bytes, .. } = layout;
    let geometry = layout.geometry(image, BLOCKS_MIN)?;
    let endian = layout.endian.unwrap_or_default();
    let blocks_of = |block_bytes| block_data(image, page_bytes, oob_bytes, block_bytes);
    let misfit = |block_bytes| probe::misfit(endian, blocks_of(block_bytes), block_bytes);
    let note = misfit_note(misfit, page_bytes, block_bytes);
    let mtd = chip_of(image, layout, geometry)?;
    let settings = Options { endian, ..Options::default() };
    let mut fs = Jffs2::mount(mtd, settings).map_err(TreeError::refused)?;
    Ok(tree_in(&mut fs, content, note.into_iter().collect()))
}

/// A warning about erase blocks of the wrong size, with the right one if there is one.
fn misfit_note(misfit: impl Fn(u32) -> Option<Misfit>, page_bytes: u32, block_bytes: u32) -> Option<String> {
    let (what, offset) = match misfit(block_bytes)? {
        Misfit::Crossing { offset } => ("crosses the end of its", offset),
        Misfit::Hidden { offset } => ("stands in an empty-looking", offset),
    };
    let sizes = (13..=20).map(|power| 1u32 << power).filter(|&size| size >= page_bytes);
    let right = sizes.rev().find(|&size| misfit(size).is_none());
    let advice = right.map_or(String::new(), |size| format!("; blocks of {} KiB would suit it", size >> 10));
    Some(format!(
        "files may be missing: the node at {offset:#x} {what} erase block of {} KiB{advice}",
        block_bytes >> 10
    ))
}
