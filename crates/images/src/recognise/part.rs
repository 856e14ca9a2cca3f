//! A partition of a dump, and the whole of a dump as one.

use super::{recognise, Given, Layout};
use crate::format::ImageFs;
use crate::unrecognised::Unrecognised;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::ops::Range;

/// A partition.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Part {
    /// Name of the partition; empty if it is the whole image.
    pub name: String,
    /// Position on the flash, not counting OOB areas.
    #[serde(rename = "offset_B")]
    pub offset_bytes: u64,
    #[serde(rename = "size_B")]
    pub size_bytes: u64,
    /// The part of the file that holds the partition.
    #[serde(skip)]
    pub place_bytes: Range<usize>,
    /// What the partition holds, or why that is not known.
    #[serde(serialize_with = "layout_or_why")]
    #[schemars(with = "Result<Layout, String>")]
    pub layout: Result<Layout, Unrecognised>,
}

fn layout_or_why<S: Serializer>(layout: &Result<Layout, Unrecognised>, serializer: S) -> Result<S::Ok, S::Error> {
    layout.as_ref().map_err(Unrecognised::to_string).serialize(serializer)
}

/// The whole image, or what stands in it behind something else.
pub fn whole(image: &[u8], given: &Given, formats: &[ImageFs]) -> Result<Part, Unrecognised> {
    let found = recognise(image, given, formats);
    let late = formats.iter().find_map(|fs| fs.format().begins_at(image, found.as_ref().ok()));
    let behind = late.and_then(|at| {
        let layout = recognise(&image[at..], &Given { starts_at_bytes: at as u64, ..*given }, formats).ok()?;
        Some((at, layout.because(format!("{at} B of something else stand before it"))))
    });
    let (at, layout) = match behind {
        Some((at, layout)) => (at, layout),
        None => (0, found?),
    };
    let place_bytes = at..image.len();
    // What stands before it has no pages.
    let (page, stride) = if at > 0 { (layout.page_bytes as usize, layout.stride_bytes()) } else { (1, 1) };
    let size = place_bytes.len() / stride * page + (place_bytes.len() % stride).min(page);
    let (offset_bytes, size_bytes) = (at as u64, size as u64);
    Ok(Part { name: String::new(), offset_bytes, size_bytes, place_bytes, layout: Ok(layout) })
}

/// How what nobody knows is called.
pub const UNKNOWN: &str = "unknown";

/// A name of a partition that holds such, which no other has.
pub fn own_name(parts: &[Part], base: &str) -> String {
    let before = parts.iter().filter(|part| part.name.split('-').next() == base.split('-').next()).count();
    if before == 0 {
        base.to_string()
    } else {
        format!("{base}-{}", before + 1)
    }
}
