//! What can be told about a volume before it is mounted: its superblock, and whether its nodes are whole.
//!
//! For tools that look into images. Nothing is believed: lengths stay in the LEB, and every CRC is computed.

pub mod index;
pub mod records;

pub use crate::format::LEB_BYTES_MIN;
use crate::format::{
    header, HEADER_BYTES, NODE_MAGIC, PAD_NODE, SB_AUTHENTICATION, SB_BYTES, SB_ENCRYPTION, SB_NODE, SB_SPACE_FIXUP,
};

/// Names of the kinds of nodes, by their code (`fs/ubifs/ubifs-media.h`).
const KINDS: [&str; 14] = [
    "inode",
    "data",
    "directory entry",
    "extended attribute entry",
    "truncation",
    "padding",
    "superblock",
    "master",
    "reference",
    "index",
    "commit start",
    "orphan",
    "authentication",
    "signature",
];
/// Names of the compressors, by their code.
const COMPRESSORS: [&str; 4] = ["none", "lzo", "zlib", "zstd"];

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// The facts of a superblock node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    pub min_io_bytes: u32,
    pub leb_bytes: u32,
    pub lebs: u32,
    pub lebs_max_count: u32,
    pub log_lebs: u32,
    pub lpt_lebs: u32,
    pub orphan_lebs: u32,
    /// Branches of an index node.
    pub fanout_count: u32,
    pub format_version: u32,
    pub compression: &'static str,
    /// Its nodes are signed, which no reader needs.
    pub is_signed: bool,
    /// Names and content of some files are encrypted.
    pub is_encrypted: bool,
    /// The first mount writes anew what a programmer may have written as erased pages (`mkfs.ubifs -F`).
    pub has_space_fixup: bool,
}

/// The superblock at the start of LEB 0; `None`: there is none whose CRC is right.
pub fn superblock(leb: &[u8]) -> Option<Superblock> {
    let node = leb.get(..SB_BYTES as usize)?;
    let sound = matches!(look(node), Some((kind, _, None)) if kind == SB_NODE);
    sound.then(|| Superblock {
        min_io_bytes: u32_at(node, 32),
        leb_bytes: u32_at(node, 36),
        lebs: u32_at(node, 40),
        lebs_max_count: u32_at(node, 44),
        log_lebs: u32_at(node, 56),
        lpt_lebs: u32_at(node, 60),
        orphan_lebs: u32_at(node, 64),
        fanout_count: u32_at(node, 72),
        format_version: u32_at(node, 80),
        compression: COMPRESSORS.get((u32_at(node, 84) & 0xFFFF) as usize).copied().unwrap_or("unknown"),
        is_signed: u32_at(node, 28) & SB_AUTHENTICATION != 0,
        is_encrypted: u32_at(node, 28) & SB_ENCRYPTION != 0,
        has_space_fixup: u32_at(node, 28) & SB_SPACE_FIXUP != 0,
    })
}

/// Whether a node begins at the start of `bytes` whose CRC is right.
pub fn is_sound(bytes: &[u8]) -> bool {
    matches!(look(bytes), Some((_, _, None)))
}

/// Kind, length and damage of the node at the start of `bytes`; `None`: no node begins there.
fn look(bytes: &[u8]) -> Option<(u8, u32, Option<&'static str>)> {
    if bytes.len() < HEADER_BYTES as usize || u32_at(bytes, header::MAGIC) != NODE_MAGIC {
        return None;
    }
    let (kind, length) = (bytes[header::TYPE], u32_at(bytes, header::LEN));
    let damage = match bytes.get(..length as usize) {
        _ if length < HEADER_BYTES => Some("a node that is too short"),
        None => Some("a node that crosses the end of its LEB"),
        Some(node) if !crc32fast::hash(&node[header::SQNUM..]) != u32_at(node, header::CRC) => {
            Some("a node with a wrong CRC")
        }
        Some(_) => None,
    };
    Some((kind, length, damage))
}

/// Walks over the nodes of a LEB: offset, kind, and what is wrong.
pub fn walk(leb: &[u8], emit: &mut dyn FnMut(u32, &'static str, Option<&'static str>)) {
    let mut at = 0;
    while at < leb.len() {
        let Some((kind, length, damage)) = look(&leb[at..]) else {
            at += 8;
            continue;
        };
        emit(at as u32, KINDS.get(kind as usize).copied().unwrap_or("unknown"), damage);
        if damage.is_some() {
            at += 8;
            continue;
        }
        let padding = if kind == PAD_NODE { u32_at(leb, at + HEADER_BYTES as usize) } else { 0 };
        at = (at + length as usize).saturating_add(padding as usize).next_multiple_of(8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_found_and_a_changed_byte_is_noticed() {
        let mut leb = vec![0xFF; 512];
        let node = &mut leb[64..64 + 32];
        node.fill(0);
        node[..4].copy_from_slice(&NODE_MAGIC.to_le_bytes());
        node[header::LEN..header::LEN + 4].copy_from_slice(&32u32.to_le_bytes());
        node[header::TYPE] = 11;
        let crc = !crc32fast::hash(&node[8..]);
        node[4..8].copy_from_slice(&crc.to_le_bytes());
        let found = |leb: &[u8]| {
            let mut found = Vec::new();
            walk(leb, &mut |offset, kind, damage| found.push((offset, kind, damage)));
            found
        };
        assert_eq!(found(&leb), [(64, "orphan", None)]);
        leb[90] ^= 1;
        assert_eq!(found(&leb), [(64, "orphan", Some("a node with a wrong CRC"))]);
        leb[64 + 16..64 + 20].fill(0xFF);
        assert_eq!(found(&leb), [(64, "orphan", Some("a node that crosses the end of its LEB"))]);
        assert_eq!(superblock(&leb), None);
    }
}
