//! The nodes of an erase block, one after the other, and what is wrong with them. Nothing on the medium is trusted:
//! lengths are limited to the block, and every check sum is computed.

use crate::compress::decompress;
use crate::format::{
    crc32, pad, Endian, Header, RawDirent, RawInode, RawXattr, RawXref, ACCURATE, COMPR_ZERO, DIRENT_BYTES,
    HEADER_BYTES, INODE_BYTES, MAGIC, TYPE_CLEAN_MARKER, TYPE_DIRENT, TYPE_INODE, TYPE_PADDING, TYPE_SUMMARY,
    TYPE_XATTR, TYPE_XREF, XATTR_BYTES,
};

/// The text for a node that crosses the end of its block. This is damage only if the block is complete.
pub const CROSSES: &str = "a node that crosses the end of its erase block";

/// What stands at a place of an erase block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Inode {
        ino: u32,
        version: u32,
        /// Its name; see `fs/jffs2/compr.c`.
        compression: &'static str,
        data_bytes: u32,
        compressed_bytes: u32,
    },
    /// `ino` 0 deletes a name.
    Dirent {
        parent: u32,
        ino: u32,
    },
    CleanMarker,
    Padding,
    Summary,
    ExtendedAttribute,
    /// The header is valid, but this kind of node is not known here.
    Foreign {
        node_type: u16,
    },
    /// No node, or a damaged one: why.
    Damage(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Offset of the node in the block.
    pub offset: u32,
    /// Bytes up to the next node; for damage, the bytes that were skipped.
    pub total_bytes: u32,
    pub found: Found,
    /// The "accurate" bit was cleared in place, on a medium that allows it.
    pub is_obsolete: bool,
}

fn compression(code: u8) -> &'static str {
    match code {
        0 => "none",
        1 => "zeros",
        2 => "rtime",
        3 => "rubinmips",
        4 => "copy",
        5 => "dynrubin",
        6 => "zlib",
        7 => "lzo",
        _ => "unknown",
    }
}

/// The text for bytes that are neither a node nor erased, such as a node whose magic number was hit.
pub const NO_NODE: &str = "bytes that are no node, and not erased";

/// Walks over a block's page data as `fs/jffs2/scan.c` does.
pub fn walk(e: Endian, block: &[u8], emit: &mut dyn FnMut(Place)) {
    let mut at = 0;
    // What is left of a damaged node is no damage of its own.
    let mut is_told = false;
    while at + HEADER_BYTES as usize <= block.len() {
        let here = &block[at..];
        if here[..4] == [0xFF; 4] || here[..4] == [0; 4] {
            // Erased bytes, or zeros at the end of a page that had no room for a padding node.
            is_told &= here[..4] != [0xFF; 4];
            at += 4;
            continue;
        }
        let damaged = |why| Place { offset: at as u32, total_bytes: 4, found: Found::Damage(why), is_obsolete: false };
        let Some(header) = Header::sound(e, here) else {
            if e.u16(here, 0) == MAGIC {
                emit(damaged("a node header with a wrong CRC"));
            } else if !is_told {
                emit(damaged(NO_NODE));
            }
            is_told = true;
            at += 4;
            continue;
        };
        let Some(node) = here.get(..header.total_bytes as usize) else {
            emit(damaged(CROSSES));
            is_told = true;
            at += 4;
            continue;
        };
        is_told = false;
        let is_obsolete = header.node_type & ACCURATE == 0;
        let total_bytes = pad(header.total_bytes).min(here.len() as u32);
        let node_type = header.node_type | ACCURATE;
        let found =
            if is_obsolete { look(e, node_type, &as_written(e, node_type, node)) } else { look(e, node_type, node) };
        emit(Place { offset: at as u32, total_bytes, found, is_obsolete });
        at += total_bytes as usize;
    }
}

/// The whole node at a place of its block, as it was before it was marked as obsolete.
pub fn unmarked(e: Endian, block: &[u8], place: &Place) -> Vec<u8> {
    let end = (place.offset + place.total_bytes) as usize;
    let node = &block[place.offset as usize..end.min(block.len())];
    as_written(e, e.u16(node, 2) | ACCURATE, node)
}

/// A node as it was before its "accurate" bit was cleared, which its check sums count as set.
fn as_written(e: Endian, node_type: u16, node: &[u8]) -> Vec<u8> {
    let mut node = node.to_vec();
    let raw = match e {
        Endian::Little => node_type.to_le_bytes(),
        Endian::Big => node_type.to_be_bytes(),
    };
    node[2..4].copy_from_slice(&raw);
    node
}

fn look(e: Endian, node_type: u16, node: &[u8]) -> Found {
    match node_type {
        TYPE_INODE if node.len() < INODE_BYTES as usize => Found::Damage("an inode node that is too short"),
        TYPE_INODE => {
            let Some(raw) = RawInode::decode(e, node) else { return Found::Damage("an inode node with a wrong CRC") };
            let data = node.get(INODE_BYTES as usize..).and_then(|data| data.get(..raw.compressed_bytes as usize));
            // A hole has no data. Old writers swapped its two lengths.
            let is_hole = raw.compression == 1;
            match data {
                None if !is_hole => Found::Damage("an inode node that is shorter than its data"),
                Some(data) if crc32(0, data) != raw.data_crc && !is_hole => {
                    Found::Damage("an inode node whose data have a wrong CRC")
                }
                _ => Found::Inode {
                    ino: raw.ino,
                    version: raw.version,
                    compression: compression(raw.compression),
                    data_bytes: raw.data_bytes,
                    compressed_bytes: raw.compressed_bytes,
                },
            }
        }
        TYPE_DIRENT if node.len() < DIRENT_BYTES as usize => Found::Damage("a directory entry that is too short"),
        TYPE_DIRENT => {
            let Some(raw) = RawDirent::decode(e, node) else {
                return Found::Damage("a directory entry with a wrong CRC");
            };
            match node.get(DIRENT_BYTES as usize..).and_then(|name| name.get(..raw.name_bytes as usize)) {
                // scan.c cuts such a name at its zero byte and drops the entry, because the CRC does not match the rest
                // of the name.
                Some(name) if name.contains(&0) => Found::Damage("a directory entry whose name has a zero byte"),
                Some(name) if crc32(0, name) == raw.name_crc => Found::Dirent { parent: raw.parent, ino: raw.ino },
                Some(_) => Found::Damage("a directory entry whose name has a wrong CRC"),
                None => Found::Damage("a directory entry that is shorter than its name"),
            }
        }
        TYPE_CLEAN_MARKER => Found::CleanMarker,
        TYPE_PADDING => Found::Padding,
        TYPE_SUMMARY => Found::Summary,
        TYPE_XATTR => {
            let Some(raw) = RawXattr::decode(e, node) else {
                return Found::Damage("an extended attribute with a wrong CRC or length");
            };
            match node.get(XATTR_BYTES as usize..(XATTR_BYTES + raw.data_bytes()) as usize) {
                Some(data) if crc32(0, data) == raw.data_crc => Found::ExtendedAttribute,
                _ => Found::Damage("an extended attribute whose name or value have a wrong CRC"),
            }
        }
        TYPE_XREF if RawXref::decode(e, node).is_none() => {
            Found::Damage("a reference to an extended attribute with a wrong CRC or length")
        }
        TYPE_XREF => Found::ExtendedAttribute,
        other => Found::Foreign { node_type: other },
    }
}

/// A node whose header is right but for one bit, with that bit mended. `None`: it needs no mending, or it does not help.
pub fn mended(e: Endian, node: &[u8]) -> Option<Vec<u8>> {
    let mut header = *node.first_chunk::<{ HEADER_BYTES as usize }>()?;
    if Header::sound(e, &header).is_some() {
        return None;
    }
    let is_whole = |header: &[u8]| Header::sound(e, header).is_some_and(|it| it.total_bytes as usize <= node.len());
    for bit in 0..8 * header.len() {
        header[bit / 8] ^= 1 << (bit % 8);
        if is_whole(&header) {
            return Some([&header[..], &node[header.len()..]].concat());
        }
        header[bit / 8] ^= 1 << (bit % 8);
    }
    None
}

/// The inode node at the start of `node`, if its own CRC is right; its data may be damaged.
pub fn inode(e: Endian, node: &[u8]) -> Option<RawInode> {
    let header = Header::sound(e, node.get(..HEADER_BYTES as usize)?)?;
    let raw = RawInode::decode(e, node.get(..INODE_BYTES as usize)?)?;
    (header.node_type | ACCURATE == TYPE_INODE).then_some(raw)
}

/// The directory entry at the start of `node`, if its own CRC is right, and its name if that is whole, too.
pub fn dirent(e: Endian, node: &[u8]) -> Option<(RawDirent, Option<&[u8]>)> {
    let header = Header::sound(e, node.get(..HEADER_BYTES as usize)?)?;
    let raw = RawDirent::decode(e, node.get(..DIRENT_BYTES as usize)?)?;
    let name = node.get(DIRENT_BYTES as usize..).and_then(|name| name.get(..raw.name_bytes as usize));
    let name = name.filter(|name| crc32(0, name) == raw.name_crc && !name.contains(&0));
    (header.node_type | ACCURATE == TYPE_DIRENT).then_some((raw, name))
}

/// What the inode node at the start of `node` writes into the file, expanded. `None`: its data are damaged, or it claims
/// more than `bytes_max`. A hole is zeros.
pub fn data_of(e: Endian, node: &[u8], bytes_max: u32) -> Option<Vec<u8>> {
    let raw = inode(e, node)?;
    let mut plain = vec![0; usize::try_from(raw.covered_bytes()).ok().filter(|_| raw.covered_bytes() <= bytes_max)?];
    if raw.compression == COMPR_ZERO {
        return Some(plain);
    }
    let stored = node.get(INODE_BYTES as usize..)?.get(..raw.compressed_bytes as usize)?;
    (crc32(0, stored) == raw.data_crc && decompress(raw.compression, stored, &mut plain)).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{encode_clean_marker, DIRENT_BYTES};

    fn places(e: Endian, block: &[u8]) -> Vec<(u32, Found)> {
        let mut found = Vec::new();
        walk(e, block, &mut |place| found.push((place.offset, place.found)));
        found
    }

    #[test]
    fn nodes_are_found_and_a_changed_byte_is_noticed() {
        for e in [Endian::Little, Endian::Big] {
            let mut block = vec![0xFF; 4096];
            block[..12].copy_from_slice(&encode_clean_marker(e));
            let data = [7; 100];
            let raw = RawInode {
                ino: 2,
                version: 3,
                compressed_bytes: 100,
                data_bytes: 100,
                data_crc: crc32(0, &data),
                ..RawInode::default()
            };
            block[12..80].copy_from_slice(&raw.encode(e));
            block[80..180].copy_from_slice(&data);
            let inode =
                Found::Inode { ino: 2, version: 3, compression: "none", data_bytes: 100, compressed_bytes: 100 };
            assert_eq!(places(e, &block), [(0, Found::CleanMarker), (12, inode)]);
            block[100] ^= 1;
            let wrong = Found::Damage("an inode node whose data have a wrong CRC");
            assert_eq!(places(e, &block), [(0, Found::CleanMarker), (12, wrong)]);
            block[13] ^= 0x40;
            let passed_over = (12, Found::Damage(NO_NODE));
            assert_eq!(places(e, &block), [(0, Found::CleanMarker), passed_over], "without its magic number, too");
            assert_eq!(places(e, &block[..100]).len(), 2, "a block may end anywhere");
        }
    }

    #[test]
    fn a_name_with_a_zero_byte_is_damage_though_its_crc_is_right() {
        let e = Endian::Little;
        let name = b"a\0b";
        let dirent = RawDirent { parent: 1, ino: 2, name_bytes: 3, name_crc: crc32(0, name), ..RawDirent::default() };
        let mut block = vec![0xFF; 4096];
        block[..DIRENT_BYTES as usize].copy_from_slice(&dirent.encode(e));
        block[DIRENT_BYTES as usize..][..name.len()].copy_from_slice(name);
        let zero = Found::Damage("a directory entry whose name has a zero byte");
        assert_eq!(places(e, &block), [(0, zero)]);
    }
}
