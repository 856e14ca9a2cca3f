//! How an image is put on the chip of a stack: which part of the file, with or without OOB areas, and where the tags of
//! YAFFS2 are.

use super::parts::{self, Wanted};
use super::{Given, Layout, Unrecognised};
use crate::format::ImageFs;
use ffslab_flash::Geometry;
use std::ops::Range;
use thiserror::Error;

/// What the experiment says about the image of a stack. What is `None` is found out from the image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub oob: Option<bool>,
    pub autoplace: Option<bool>,
    /// Which partition of the image is meant. The format and the sizes in it are not used, because they follow from the
    /// stack.
    pub wanted: Wanted,
}

/// How an image is put on a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arranged {
    /// The part of the file that is put on the chip.
    pub place_bytes: Range<usize>,
    pub oob: bool,
    pub autoplace: bool,
    /// `None`: nothing in the image is recognised, and it is put on the chip unchanged.
    pub layout: Option<Layout>,
}

/// Why an image is not put on a chip. One line, without its path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArrangeError {
    /// It is for another file system, contradicts what is said, or has several partitions.
    #[error(transparent)]
    Unrecognised(#[from] Unrecognised),
    #[error("its pages have OOB areas of {found_bytes} B, those of the part {chip_bytes} B: name another part")]
    OobSize { found_bytes: u32, chip_bytes: u32 },
    #[error("autoplace is set, but not oob: there are no OOB bytes to place")]
    NothingToPlace,
    #[error("autoplace is said, but its tags stand where a chip has them: leave it out")]
    PlacedAlready,
}

impl Arranged {
    pub fn is_inband(&self) -> bool {
        self.layout.as_ref().and_then(|layout| layout.yaffs2).is_some_and(|found| found.is_inband())
    }
}

/// Finds out how an image for the file system `fs` is put on a chip of this geometry. When `fs` is `None`, the
/// partition will not be mounted and the image is not looked at.
///
/// Errors: the image is for another file system or chip, contradicts what is said, or has several partitions.
pub fn arranged(
    image: &[u8],
    said: &Said,
    fs: Option<ImageFs>,
    geometry: &Geometry,
    formats: &[ImageFs],
) -> Result<Arranged, ArrangeError> {
    let Some(fs) = fs else { return as_said(image, said) };
    // Without OOB areas it is NOR, whose images know nothing of pages.
    let is_paged = geometry.oob_bytes > 0;
    let given = Given {
        fs: Some(fs),
        page_bytes: is_paged.then_some(geometry.page_bytes),
        block_bytes: Some(geometry.block_bytes()),
        has_oob: if is_paged { said.oob } else { Some(false) },
        said_by: Some("those of the part"),
        ..Given::default()
    };
    let (part, layout) = match parts::only(image, &Wanted { given, ..said.wanted.clone() }, formats) {
        Ok(found) => found,
        Err(why) => {
            // An image in which nothing is recognised is put on the chip unchanged.
            if said.wanted == Wanted::default() && parts::find(image, &Wanted::default(), formats).is_err() {
                return as_said(image, said);
            }
            return Err(why.into());
        }
    };
    let oob = layout.oob_bytes > 0;
    if oob && layout.oob_bytes != geometry.oob_bytes {
        let (found, chip) = (layout.oob_bytes, geometry.oob_bytes);
        return Err(ArrangeError::OobSize { found_bytes: found, chip_bytes: chip });
    }
    let found = layout.tags_offset == Some(layout.page_bytes);
    if said.autoplace == Some(true) && !oob {
        return Err(ArrangeError::NothingToPlace);
    }
    if said.autoplace == Some(true) && layout.tags_offset.is_some() && !found {
        return Err(ArrangeError::PlacedAlready);
    }
    let autoplace = said.autoplace.unwrap_or(found);
    Ok(Arranged { place_bytes: part.place_bytes, oob, autoplace, layout: Some(layout) })
}

/// The arrangement of an image in which nothing is recognised.
fn as_said(image: &[u8], said: &Said) -> Result<Arranged, ArrangeError> {
    let (oob, autoplace) = (said.oob.unwrap_or(false), said.autoplace.unwrap_or(false));
    if autoplace && !oob {
        return Err(ArrangeError::NothingToPlace);
    }
    Ok(Arranged { place_bytes: 0..image.len(), oob, autoplace, layout: None })
}
