//! Long nodes that go across the end of a page: their check sum is right over bytes that would stand in two pages and the OOB area
//! between them, so there is no OOB area. That costs little, and spares the search for an ECC in images that have none.

use ffslab_jffs2::probe::nodes::{self, Found};
use ffslab_jffs2::Endian;
use ffslab_ubifs::probe::{self, records};
use std::ops::Range;

/// So much of an image is looked through: what is written lies at its beginning, or everywhere.
const LOOKED_AT_BYTES: usize = 32 << 20;
/// Where data and code stand in turns in a page, so many bytes of data lie together at most: the largest sector that an ECC corrects,
/// with what a controller adds. A shorter node may stand whole where other pages have their OOB area.
const TOGETHER_BYTES_MAX: usize = 2048 + 64;
/// No node of JFFS2 is longer on a page of 4 KiB.
const JFFS2_NODE_BYTES_MAX: usize = 8 << 10;

/// Leaves those sizes of pages and OOB areas that no node shows to be wrong.
pub(super) fn retain_possible(image: &[u8], strides: &mut Vec<(usize, usize)>) {
    let mut at = 0;
    while !strides.is_empty() && at < image.len().min(LOOKED_AT_BYTES) {
        let Some(node) = node_at(image, at) else {
            at += 4;
            continue;
        };
        if node.len() > TOGETHER_BYTES_MAX {
            strides.retain(|stride| !holds_oob(&node, *stride));
        }
        at = node.end.next_multiple_of(4);
    }
}

/// The whole node that begins there.
fn node_at(image: &[u8], at: usize) -> Option<Range<usize>> {
    let bytes = &image[at..];
    if probe::is_sound(bytes) {
        return Some(at..at + records::length(bytes) as usize);
    }
    let endian = match bytes.first_chunk::<2>()? {
        [0x85, 0x19] => Endian::Little,
        [0x19, 0x85] => Endian::Big,
        _ => return None,
    };
    let mut first = None;
    let node_bytes = if bytes.len() < 8 { 0 } else { endian.u32(bytes, 4) as usize };
    let window = &bytes[..bytes.len().min(node_bytes.next_multiple_of(4)).min(JFFS2_NODE_BYTES_MAX)];
    nodes::walk(endian, window, &mut |place| first = first.or(Some(place)));
    // Of padding no check sum tells what stands in it.
    let is_whole = |found| !matches!(found, Found::Damage(_) | Found::Foreign { .. } | Found::Padding);
    first.filter(|place| place.offset == 0 && is_whole(place.found)).map(|place| at..at + place.total_bytes as usize)
}

/// Whether a byte of the node would stand in an OOB area.
fn holds_oob(node: &Range<usize>, (page_bytes, oob_bytes): (usize, usize)) -> bool {
    let stride = page_bytes + oob_bytes;
    node.end > node.start / stride * stride + page_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node of UBIFS, with nothing in it.
    fn node(bytes: u32) -> Vec<u8> {
        let mut node = vec![0; bytes as usize];
        node[..4].copy_from_slice(&0x0610_1831_u32.to_le_bytes());
        node[16..20].copy_from_slice(&bytes.to_le_bytes());
        let crc = !crc32fast::hash(&node[8..]);
        node[4..8].copy_from_slice(&crc.to_le_bytes());
        node
    }

    fn possible(image: &[u8]) -> Vec<(usize, usize)> {
        let mut strides = vec![(2048, 512), (4096, 1024)];
        retain_possible(image, &mut strides);
        strides
    }

    #[test]
    fn a_long_node_across_the_end_of_a_page_shows_that_there_is_no_oob_area() {
        assert_eq!(possible(&node(4096)), [(4096, 1024)]);
        assert_eq!(possible(&[vec![0xFF; 2048], node(4096)].concat()), []);
    }

    /// As where data and code stand in turns.
    #[test]
    fn a_short_node_shows_nothing() {
        assert_eq!(possible(&[vec![0xFF; 2048], node(160)].concat()).len(), 2);
    }
}
