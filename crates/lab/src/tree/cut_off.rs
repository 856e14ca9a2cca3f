//! Images that end too early: copies that broke off. What is there is read, and what is missing is said.

use super::{data_areas, rtems, ImageFs};
use crate::recognise::Layout;
use ffslab_jffs2::probe;
use ffslab_workload::quoting::quoted;

/// Where an image ends that should go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// In the image file: the beginning of what is not whole.
    pub offset: u64,
    pub what: String,
}

/// Finds out whether an image ends in the middle of something. One that ends between two nodes, pages of different files or
/// erase blocks looks whole.
pub fn find(image: &[u8], layout: &Layout) -> Option<CutOff> {
    match layout.fs {
        ImageFs::Jffs2 => jffs2(image, layout),
        ImageFs::Yaffs2 => yaffs2(image, layout),
        ImageFs::Ubifs => ubi(image, layout),
        // A volume says how large it is: one that is larger than the image is not recognised.
        ImageFs::Fat | ImageFs::Rfs => None,
    }
}

/// What is said about an image in which nothing is known, if it begins as a larger volume does.
pub fn volume(image: &[u8]) -> Option<String> {
    let (name, bytes) = rtems::volume_bytes(image)?;
    let here = image.len();
    (bytes > here as u64).then(|| format!("the image is cut off: it has {here} of the {bytes} B of its {name} volume"))
}

fn jffs2(image: &[u8], layout: &Layout) -> Option<CutOff> {
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

fn yaffs2(image: &[u8], layout: &Layout) -> Option<CutOff> {
    let rest = image.len() % layout.stride_bytes();
    let offset = (image.len() - rest) as u64;
    if rest > 0 {
        let what = "the image is cut off in this page: it and what stood behind it are missing".to_string();
        return Some(CutOff { offset, what });
    }
    // Where the size of the blocks is not known, nothing says that there are whole ones.
    let is_whole = image.len().is_multiple_of(layout.stored_block_bytes());
    if is_whole && layout.block_sizes_that_fit_bytes.is_empty() {
        return None;
    }
    let file = ffslab_yaffs2::probe::unfinished(image, &layout.yaffs2?)?;
    let (name, held, all) = (quoted(&file.name), file.held_bytes, file.file_bytes);
    let what =
        format!("the image is cut off in the file {name}: {held} of its {all} B are there, and nothing behind it");
    Some(CutOff { offset, what })
}

fn ubi(image: &[u8], layout: &Layout) -> Option<CutOff> {
    let all = layout.stored_block_bytes();
    let here = image.len() % all;
    let what = format!(
        "the image is cut off in this erase block, which has only {here} of {all} B: what stood behind it is missing"
    );
    (here > 0).then(|| CutOff { offset: (image.len() - here) as u64, what })
}
