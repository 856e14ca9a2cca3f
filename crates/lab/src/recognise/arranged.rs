//! How an image is put on the chip of a stack: which part of the file, with OOB areas or without, tags where.

use super::parts::{self, Wanted};
use super::{Given, Layout};
use crate::file_systems::ImageFs;
use ffslab_flash::Geometry;
use std::ops::Range;

/// What is said about an image of a stack; what is `None` is found in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub oob: Option<bool>,
    pub autoplace: Option<bool>,
    /// Which partition of it; what it is follows from the stack.
    pub wanted: Wanted,
}

/// How an image is put on a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arranged {
    /// In the file.
    pub place_bytes: Range<usize>,
    pub oob: bool,
    pub autoplace: bool,
    /// `None`: nothing is known in the image, which is taken as it is.
    pub layout: Option<Layout>,
}

impl Arranged {
    pub fn is_inband(&self) -> bool {
        self.layout.as_ref().and_then(|layout| layout.yaffs2).is_some_and(|found| found.is_inband())
    }
}

/// Finds out how an image for `fs` is put on a chip of such a geometry. `fs` `None`: the partition is not mounted, and
/// nothing is looked for.
///
/// Errors: one line; the image is of another file system or chip, or contradicts what is said; several partitions.
pub fn arranged(image: &[u8], said: &Said, fs: Option<ImageFs>, geometry: &Geometry) -> Result<Arranged, String> {
    let Some(fs) = fs else { return as_said(image, said) };
    let page_bytes = geometry.page_bytes;
    let given = Given {
        fs: Some(fs),
        page_bytes: Some(page_bytes),
        block_bytes: Some(page_bytes * geometry.pages_per_block),
        has_oob: said.oob,
        said_by: Some("those of the part"),
        ..Given::default()
    };
    let (part, layout) = match parts::only(image, &Wanted { given, ..said.wanted.clone() }) {
        Ok(found) => found,
        Err(text) => {
            // What is of nobody is taken as it is.
            if said.wanted == Wanted::default() && parts::find(image, &Wanted::default()).is_err() {
                return as_said(image, said);
            }
            return Err(text);
        }
    };
    let oob = layout.oob_bytes > 0;
    if oob && layout.oob_bytes != geometry.oob_bytes {
        let (found, chip) = (layout.oob_bytes, geometry.oob_bytes);
        return Err(format!("its pages have OOB areas of {found} B, those of the part {chip} B: name another part"));
    }
    let found = layout.tags_offset == Some(layout.page_bytes);
    if said.autoplace == Some(true) && !oob {
        return Err(NOTHING_TO_PLACE.to_string());
    }
    if said.autoplace == Some(true) && layout.tags_offset.is_some() && !found {
        return Err("autoplace is said, but its tags stand where a chip has them: leave it out".to_string());
    }
    let autoplace = said.autoplace.unwrap_or(found);
    Ok(Arranged { place_bytes: part.place_bytes, oob, autoplace, layout: Some(layout) })
}

const NOTHING_TO_PLACE: &str = "autoplace is set, but not oob: there are no OOB bytes to place";

/// An image of which nothing is known.
fn as_said(image: &[u8], said: &Said) -> Result<Arranged, String> {
    let (oob, autoplace) = (said.oob.unwrap_or(false), said.autoplace.unwrap_or(false));
    if autoplace && !oob {
        return Err(NOTHING_TO_PLACE.to_string());
    }
    Ok(Arranged { place_bytes: 0..image.len(), oob, autoplace, layout: None })
}
