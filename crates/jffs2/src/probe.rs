//! What can be told about an image before it is mounted: its byte order, and whether a size of erase blocks suits it.
//!
//! A mount with the wrong size succeeds and silently lacks whatever the scan could not see, so tools that read foreign
//! images look here first. Headers are those of `include/uapi/linux/jffs2.h`; the walk is that of `fs/jffs2/scan.c`.

pub mod nodes;
pub mod old;

use crate::format::{oob_clean_marker, pad, Endian, Header, HEADER_BYTES, MAGIC};

/// The scan takes a block for empty if it begins with this number of bytes of 0xFF (`DEFAULT_EMPTY_SCAN_SIZE`).
const EMPTY_SCAN_BYTES: usize = 256;

/// Why a size of erase blocks does not suit an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// A node crosses the end of a block, so the real blocks are larger. Offset of the node in the image.
    Crossing { offset: u64 },
    /// A block begins with empty space, so a mount would not read it, but it holds nodes: the real blocks are smaller.
    /// Offset of the first node.
    Hidden { offset: u64 },
}

fn header_at(e: Endian, image: &[u8], at: usize) -> Option<Header> {
    let here = image.get(at..at + HEADER_BYTES as usize)?;
    Header::sound(e, here)
}

/// How many pages of an image hold a clean marker in their OOB area, if OOB areas have this size.
pub fn oob_markers(e: Endian, image: &[u8], page_bytes: usize, oob_bytes: usize) -> usize {
    let marker = oob_clean_marker(e);
    let has_marker = |oob: &[u8]| oob.windows(marker.len()).any(|bytes| bytes == marker);
    image.chunks(page_bytes + oob_bytes).filter(|page| page.get(page_bytes..).is_some_and(has_marker)).count()
}

/// Byte order of the first node in `image` (page data without OOB). `None`: there is no node.
pub fn byte_order(image: &[u8]) -> Option<Endian> {
    first_node(image).map(|(_, endian)| endian)
}

/// Where the first node in `image` stands, and its byte order.
pub fn first_node(image: &[u8]) -> Option<(usize, Endian)> {
    let orders = [Endian::Little, Endian::Big];
    let node = |at| orders.into_iter().find(|&e| header_at(e, image, at).is_some()).map(|endian| (at, endian));
    (0..image.len()).step_by(4).find_map(node)
}

/// Walks over the nodes of an image that is divided into erase blocks of `block_bytes`. Returns the first
/// contradiction. A power cut can cause either contradiction on a medium with the right block size as well, so callers
/// only warn.
pub fn misfit<B: AsRef<[u8]>>(e: Endian, blocks: impl Iterator<Item = B>, block_bytes: u32) -> Option<Misfit> {
    for (number, block) in blocks.enumerate() {
        let block = block.as_ref();
        let start = number as u64 * u64::from(block_bytes);
        let empty = block.iter().take(EMPTY_SCAN_BYTES).all(|&byte| byte == 0xFF);
        let mut at = 0;
        while at < block.len() {
            let offset = start + at as u64;
            let left = block.len() - at;
            let Some(header) = header_at(e, block, at) else {
                // The header of the node may cross the end of the block as well.
                let is_whole = block.len() == block_bytes as usize;
                if is_whole && left >= 2 && left < HEADER_BYTES as usize && e.u16(&block[at..], 0) == MAGIC {
                    return Some(Misfit::Crossing { offset });
                }
                at += 4;
                continue;
            };
            if empty {
                return Some(Misfit::Hidden { offset });
            }
            if header.total_bytes as usize > block_bytes as usize - at {
                return Some(Misfit::Crossing { offset });
            }
            at += pad(header.total_bytes) as usize;
        }
    }
    None
}

/// Where the last node of the last, shorter block begins, if the image ends in the middle of that node.
pub fn cut_off(e: Endian, block: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at + 2 <= block.len() {
        at += match header_at(e, block, at) {
            Some(header) if header.total_bytes as usize > block.len() - at => return Some(at),
            Some(header) => pad(header.total_bytes) as usize,
            None if block.len() - at < HEADER_BYTES as usize && e.u16(&block[at..], 0) == MAGIC => return Some(at),
            None => 4,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{encode_padding, RawInode};

    /// Nodes of `data_bytes` bytes of data, one after the other, from `at` on.
    fn image(e: Endian, bytes: usize, at: usize, data_bytes: u32, nodes: usize) -> Vec<u8> {
        let mut image = vec![0xFF; bytes];
        let raw = RawInode { ino: 2, compressed_bytes: data_bytes, data_bytes, ..RawInode::default() };
        let node = raw.total_bytes() as usize;
        for i in 0..nodes {
            let place = &mut image[at + i * node..at + (i + 1) * node];
            place.fill(0);
            place[..68].copy_from_slice(&raw.encode(e));
        }
        image
    }

    #[test]
    fn the_byte_order_is_that_of_the_first_node() {
        for e in [Endian::Little, Endian::Big] {
            assert_eq!(byte_order(&image(e, 1 << 15, 8192, 100, 1)), Some(e));
            let mut padding = vec![0xFF; 64];
            padding[20..32].copy_from_slice(&encode_padding(e, 32));
            assert_eq!(byte_order(&padding), Some(e));
        }
        assert_eq!(byte_order(&[0xFF; 4096]), None);
        assert_eq!(byte_order(b"short"), None);
    }

    #[test]
    fn an_image_that_ends_in_a_node_is_noticed() {
        let nodes = image(Endian::Little, 1 << 14, 0, 100, 10);
        let node = 168;
        assert_eq!(cut_off(Endian::Little, &nodes), None);
        for (bytes, at) in [(10 * node, None), (10 * node - 1, Some(9 * node)), (9 * node + 2, Some(9 * node))] {
            assert_eq!(cut_off(Endian::Little, &nodes[..bytes]), at, "{bytes}");
        }
        assert_eq!(cut_off(Endian::Little, &nodes[..9 * node + 1]), None, "a byte says nothing");
    }

    #[test]
    fn a_size_that_is_too_small_or_too_large_is_noticed() {
        // 5 nodes of 4096 bytes: the fourth crosses 16 KiB when they begin at 64.
        let crossing = image(Endian::Little, 1 << 17, 64, 4028, 5);
        let cut = |e, image: &[u8], block_bytes: u32| misfit(e, image.chunks(block_bytes as usize), block_bytes);
        assert_eq!(cut(Endian::Little, &crossing, 16 << 10), Some(Misfit::Crossing { offset: 64 + 3 * 4096 }));
        assert_eq!(cut(Endian::Little, &crossing, 64 << 10), None);
        // Only the first 8 bytes of the fourth node are in the first 16 KiB.
        let header = image(Endian::Little, 1 << 17, 8, 5388, 5);
        let offset = 8 + 3 * 5456;
        assert_eq!(cut(Endian::Little, &header, 16 << 10), Some(Misfit::Crossing { offset }));
        assert_eq!(cut(Endian::Little, &header, 32 << 10), None);
        // The second block of 16 KiB holds them, the first is empty.
        let hidden = image(Endian::Big, 1 << 17, 16 << 10, 4028, 4);
        assert_eq!(cut(Endian::Big, &hidden, 16 << 10), None);
        assert_eq!(cut(Endian::Big, &hidden, 32 << 10), Some(Misfit::Hidden { offset: 16 << 10 }));
    }
}
