//! squashfs and EROFS that stand on the pages of a flash as they are, in a dump with the OOB areas between them. Nothing in them says how
//! large pages are, but their root can be read with the right sizes only.

use super::plain::Plain;
use crate::areas::data_areas;
use crate::format::Given;
use crate::recognise::strides;
use crate::{erofs, squashfs, ubifs};
use ffslab_yaffs2::probe::foreign;

/// Where the first one of a kind begins, and whether the root of one that begins there can be read.
type Kind = (fn(&[u8]) -> Option<usize>, IsReadable);
type IsReadable = fn(&[u8]) -> bool;

const KINDS: [Kind; 2] = [(squashfs::first, squashfs::is_readable), (erofs::first, erofs::is_readable)];

/// The page data alone. Sizes that are given are not looked for.
pub fn undo(image: &[u8], given: &Given) -> Option<Plain> {
    let (at, is_readable) = broken(image)?;
    // Others on the chip need what stands in its OOB areas, unless it is said that this one is wanted.
    let is_wanted = given.fs.is_some_and(|fs| fs.format().is_volume());
    let has_others = || !ubifs::headers(image).is_empty() || !foreign::headers_in(image, false).is_empty();
    if !is_wanted && has_others() {
        return None;
    }
    let sizes = strides(&Given { has_oob: Some(true), ..*given }).map(|(page, oob)| (page as usize, oob as usize));
    let mut begin = sizes.filter(|(page, oob)| at.is_multiple_of(page + oob));
    begin.find_map(|(page, oob)| without_oob(image, at, is_readable, page, oob))
}

/// As [`undo`], on pages whose sizes are known.
pub fn undo_of(image: &[u8], page: usize, oob: usize) -> Option<Plain> {
    let (at, is_readable) = broken(image)?;
    without_oob(image, at, is_readable, page, oob)
}

/// Where one begins whose root cannot be read as the bytes stand.
fn broken(image: &[u8]) -> Option<(usize, IsReadable)> {
    let first = |(first, is_readable): Kind| Some((first(image)?, is_readable));
    KINDS.into_iter().filter_map(first).find(|(at, is_readable)| !is_readable(&image[*at..]))
}

fn without_oob(image: &[u8], at: usize, is_readable: IsReadable, page: usize, oob: usize) -> Option<Plain> {
    let data = data_areas(image, page, oob).into_owned();
    let is_right = is_readable(data.get(at / (page + oob) * page..)?);
    let said = format!(
        "a volume stands on pages of {page} + {oob} B: the OOB areas were left out; positions in what follows are those of the page data, not of \
         the file"
    );
    is_right.then(|| Plain { image: data, said: vec![said], doubts: Vec::new() })
}
