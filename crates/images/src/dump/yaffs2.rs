//! Images of YAFFS2 that are laid out otherwise than its usual drivers do, and those of YAFFS1: made into images as usual.

use super::ecc;
use super::plain::Plain;
use ffslab_yaffs2::probe::{self, foreign, yaffs1, Known};

/// The image as usual, after its ECC has corrected it.
pub fn undo(image: &[u8]) -> Option<Plain> {
    laid_out_anew(image, false)
}

/// As [`undo`], of an image that was corrected already.
pub fn undo_corrected(image: &[u8]) -> Option<Plain> {
    laid_out_anew(image, true)
}

fn laid_out_anew(image: &[u8], is_corrected: bool) -> Option<Plain> {
    let headers = foreign::headers_in(image, false);
    let has_none = headers.is_empty() && foreign::headers_in(image, true).is_empty();
    if has_none || !crate::ubifs::headers(image).is_empty() {
        return None;
    }
    // Tags with their ECC look right on the first page, whatever the size of the OOB areas.
    if let Some(usual) = probe::layout(image, &Known::default()) {
        let at_pages = headers.iter().filter(|&at| at % usual.stride_bytes() == 0).count();
        if 2 * at_pages >= headers.len() {
            return None;
        }
    }
    let found = if yaffs1::is_one(image) { None } else { Some(foreign::find(image)?) };
    let (mut said, mut doubts) = (Vec::new(), Vec::new());
    let mut corrected = image.to_vec();
    let mut correct = |page_bytes: u32, oob_bytes: u32, holds_more: bool| {
        if is_corrected {
            return;
        }
        match ecc::correct(&mut corrected, (page_bytes, oob_bytes), &|_| true) {
            Some(counts) => {
                said.push(counts.text());
                doubts.extend(counts.doubts());
            }
            None if holds_more => doubts.push(ecc::UNKNOWN.to_string()),
            None => {}
        };
    };
    let (image, text) = if let Some(found) = found {
        let (page_bytes, oob_bytes) = found.sizes_bytes();
        correct(page_bytes, oob_bytes, found.holds_more);
        (found.laid_out_anew(&corrected), found.text())
    } else {
        correct(yaffs1::PAGE_BYTES as u32, yaffs1::OOB_BYTES as u32, false);
        let (image, is_big_endian) = yaffs1::as_yaffs2(&corrected)?;
        let order = if is_big_endian { "big" } else { "little" };
        (image, format!("YAFFS1 in {order}-endian order with pages of 512 + 16 B, read as YAFFS2 that holds the same"))
    };
    said.insert(0, text);
    Some(Plain { image, said, doubts })
}
