//! YAFFS2: object headers whose tags suit them are found with the right sizes only.

use crate::format::{Given, ImageFs, Layout};
use crate::recognise::said;
use crate::unrecognised::either;
use ffslab_yaffs2::probe::{self, Known};

fn pages_of(fs: ImageFs, image: &[u8], given: &Given) -> Option<probe::Layout> {
    let &Given { page_bytes, oob_bytes, has_oob, .. } = given;
    probe::layout(image, &Known { page_bytes, oob_bytes, has_oob, is_yaffs2: given.fs == Some(fs) })
}

/// There are pages of YAFFS2, which no erase blocks can hold.
pub fn lacks_blocks(fs: ImageFs, image: &[u8], given: &Given) -> bool {
    pages_of(fs, image, given).is_some_and(|found| probe::block_sizes(image, &found).is_none())
}

pub fn recognise(fs: ImageFs, image: &[u8], given: &Given) -> Option<Layout> {
    let found = pages_of(fs, image, given)?;
    let sizes = probe::block_sizes(image, &found)?;
    let fits: Vec<u32> = sizes.pages.iter().map(|pages| pages * found.page_bytes).collect();
    let (block_bytes, how) = match (given.block_bytes, fits.as_slice()) {
        (Some(bytes), fits) if fits.contains(&bytes) => (bytes, said(given, true, "")),
        (Some(_), _) => return None,
        (None, &[bytes]) => (bytes, format!("as found: {}", sizes.because)),
        // Tags tell the same, whatever the size, so that of a usual chip will do where no more than files is wanted.
        (None, fits) => {
            (*fits.iter().rfind(|&&bytes| bytes <= 64 * found.page_bytes).unwrap_or(&fits[0]), String::new())
        }
    };
    let mut layout = Layout::new(fs, found.page_bytes, found.oob_bytes, block_bytes, image);
    layout.tags_offset = Some(found.tags_offset);
    layout.yaffs2 = Some(found);
    layout = layout.unchecked(if found.tags_ecc {
            "YAFFS2 has check sums over its tags only: a changed bit of a file, a name or an attribute shows in the ECC of \
             pages, which is not looked at here"
        } else {
            "YAFFS2 has no check sums here: a changed bit of a file, a name or an attribute shows in the ECC of pages, which is \
             not looked at here"
        });
    let (place, at) = if found.is_inband() {
        ("at the end of the page data", found.tags_offset)
    } else {
        ("in the OOB area, at offset", found.tags_offset - found.page_bytes)
    };
    let ecc = if found.tags_ecc { "with ECC" } else { "without ECC" };
    let (page, oob) = (found.page_bytes, found.oob_bytes);
    let are_given = given.page_bytes.is_some() && given.oob_bytes.is_some();
    let blocks = if how.is_empty() {
        layout.block_sizes_that_fit_bytes.clone_from(&fits);
        format!("the size of the erase blocks cannot be told: {} KiB fit", either(&fits))
    } else {
        format!("erase blocks of {} KiB are {how}", block_bytes >> 10)
    };
    Some(
        layout
            .because(format!("object headers of YAFFS2 were found with tags {place} {at}, {ecc}"))
            .because(format!(
                "pages of {page} + {oob} B are {}",
                said(given, are_given, "no other sizes find more headers")
            ))
            .because(blocks),
    )
}
