//! Images that end too early: copies that broke off. What is there is read, and what is missing is said.

use super::{block_data, data_areas, rtems, stored_block_bytes, ubifs, yaffs2, ImageFs, ImageOptions};
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
/// erase blocks looks whole. `options.fs` says what it is, of JFFS2 it may not.
pub fn find(image: &[u8], options: &ImageOptions) -> Option<CutOff> {
    match options.fs {
        Some(ImageFs::Jffs2) | None => jffs2(image, options),
        Some(ImageFs::Yaffs2) => yaffs2(image, options),
        Some(ImageFs::Ubifs) => ubi(image, options),
        // A volume says how large it is: one that is larger than the image is not recognised.
        Some(ImageFs::Fat | ImageFs::Rfs) => None,
    }
}

/// What is said about an image in which nothing is known, if it begins as a larger volume does.
pub fn volume(image: &[u8]) -> Option<String> {
    let (name, bytes) = rtems::volume_bytes(image)?;
    let here = image.len();
    (bytes > here as u64).then(|| format!("the image is cut off: it has {here} of the {bytes} B of its {name} volume"))
}

fn jffs2(image: &[u8], options: &ImageOptions) -> Option<CutOff> {
    let &ImageOptions { page_bytes, oob_bytes, block_bytes, oob, .. } = options;
    let oob_bytes = if oob { oob_bytes } else { 0 };
    let rest = image.len() % (page_bytes + oob_bytes) as usize;
    if oob && rest > 0 {
        let what = format!(
            "the image is cut off in this page: it and what stood behind it are missing; or pages have not {page_bytes} + {oob_bytes} B"
        );
        return Some(CutOff { offset: (image.len() - rest) as u64, what });
    }
    let start = image.len() - image.len() % stored_block_bytes(options).ok()?;
    let block = data_areas(&image[start..], page_bytes as usize, oob_bytes as usize);
    let mut blocks = block_data(image, page_bytes, oob_bytes, block_bytes);
    let endian = options.endian.or_else(|| blocks.find_map(|block| probe::byte_order(&block)))?;
    let at = probe::cut_off(endian, &block)?;
    let offset = start + at / page_bytes as usize * (page_bytes + oob_bytes) as usize + at % page_bytes as usize;
    let what = "the image is cut off in this node: it and what stood behind it are missing".to_string();
    Some(CutOff { offset: offset as u64, what })
}

fn yaffs2(image: &[u8], options: &ImageOptions) -> Option<CutOff> {
    let layout = yaffs2::layout(image, options)?;
    let rest = image.len() % layout.stride_bytes();
    let offset = (image.len() - rest) as u64;
    if rest > 0 {
        let what = "the image is cut off in this page: it and what stood behind it are missing".to_string();
        return Some(CutOff { offset, what });
    }
    let pages_per_block =
        ffslab_yaffs2::probe::pages_per_block(image, &layout, options.block_bytes / layout.page_bytes)?;
    if (image.len() / layout.stride_bytes()).is_multiple_of(pages_per_block as usize) {
        return None;
    }
    let file = ffslab_yaffs2::probe::unfinished(image, &layout)?;
    let (name, held, all) = (quoted(&file.name), file.held_bytes, file.file_bytes);
    let what =
        format!("the image is cut off in the file {name}: {held} of its {all} B are there, and nothing behind it");
    Some(CutOff { offset, what })
}

fn ubi(image: &[u8], options: &ImageOptions) -> Option<CutOff> {
    ubifs::vid_header_offset(image, options)?;
    let all = stored_block_bytes(options).ok()?;
    let here = image.len() % all;
    let what = format!(
        "the image is cut off in this erase block, which has only {here} of {all} B: what stood behind it is missing"
    );
    (here > 0).then(|| CutOff { offset: (image.len() - here) as u64, what })
}
