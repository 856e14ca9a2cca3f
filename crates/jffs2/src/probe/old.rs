//! Images with the magic number of before 2001 (`include/uapi/linux/jffs2.h`, `JFFS2_OLD_MAGIC_BITMASK`): nodes are the same
//! otherwise, so they get the number of today, and check sums that suit it if the old ones were right.

use crate::format::{crc32, pad, Endian, DIRENT_BYTES, HEADER_BYTES, INODE_BYTES, MAGIC, TYPE_DIRENT, TYPE_INODE};

const OLD_MAGIC: u16 = 0x1984;
/// The check sum of a header covers what stands before it.
const HEADER_CRC_AT: usize = 8;

/// The image with the magic number of today. `None`: it has no node with the old one.
pub fn renewed(image: &[u8]) -> Option<Vec<u8>> {
    let orders = [Endian::Little, Endian::Big].into_iter();
    orders.filter(|&e| (0..image.len()).step_by(4).any(|at| is_old(e, image, at))).map(|e| renewed_in(e, image)).next()
}

fn is_old(e: Endian, image: &[u8], at: usize) -> bool {
    image.get(at..at + HEADER_BYTES as usize).is_some_and(|header| {
        e.u16(header, 0) == OLD_MAGIC && e.u32(header, HEADER_CRC_AT) == crc32(0, &header[..HEADER_CRC_AT])
    })
}

fn renewed_in(e: Endian, image: &[u8]) -> Vec<u8> {
    let mut new = image.to_vec();
    let mut at = 0;
    while at + HEADER_BYTES as usize <= new.len() {
        if !is_old(e, &new, at) {
            at += 4;
            continue;
        }
        let (kind, bytes) = (e.u16(&new[at..], 2), e.u32(&new[at..], 4));
        let covered = match kind {
            TYPE_INODE => Some((INODE_BYTES as usize - 8, INODE_BYTES as usize - 4)),
            TYPE_DIRENT => Some((DIRENT_BYTES as usize - 8, DIRENT_BYTES as usize - 8)),
            _ => None,
        };
        let room = new.len();
        let node = &mut new[at..room];
        let sound = covered
            .filter(|&(covered, crc_at)| node.len() >= crc_at + 4 && e.u32(node, crc_at) == crc32(0, &node[..covered]));
        e.put16(node, 0, MAGIC);
        let crc = crc32(0, &node[..HEADER_CRC_AT]);
        e.put32(node, HEADER_CRC_AT, crc);
        if let Some((covered, crc_at)) = sound {
            let crc = crc32(0, &node[..covered]);
            e.put32(node, crc_at, crc);
        }
        at += (pad(bytes) as usize).max(HEADER_BYTES as usize);
    }
    new
}
