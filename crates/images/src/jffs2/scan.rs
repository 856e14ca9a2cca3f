//! Images of JFFS2, read as they stand, node by node.

use super::obsolete::Marks;
use crate::format::Layout;
use crate::scan::{Hit, Scanned};
use ffslab_jffs2::probe::nodes::{self, Found};
use ffslab_jffs2::Endian;
use ffslab_mtd::is_erased;
use serde_json::json;
use std::collections::BTreeMap;

/// With what OpenWrt says that a file system begins behind here, at the start of a block (`mtd jffs2write`).
const END_MARK: [u8; 4] = [0xDE, 0xAD, 0xC0, 0xDE];

pub fn scan(image: &[u8], layout: &Layout, scanned: &mut Scanned) {
    let endian = layout.endian.unwrap_or_default();
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut compressions: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    let mut marks = Marks::default();
    let mut data_node_most = 0;
    let (mut ino_most, mut version_most, mut obsolete, mut deletions) = (0, 0, 0u64, 0u64);
    for block in 0..layout.blocks {
        if scanned.blocks[block as usize].is_bad == Some(true) {
            continue;
        }
        let data = layout.data(block, image);
        if data.starts_with(&END_MARK) {
            scanned.blocks[block as usize].holds = "end mark of OpenWrt".to_string();
            continue;
        }
        let (mut nodes_count, mut only_marker) = (0, false);
        nodes::walk(endian, &data, &mut |place| {
            let offset = layout.offset_in_image(block, place.offset);
            let node = &data[place.offset as usize..];
            if place.is_obsolete && layout.oob_bytes > 0 {
                scanned.damaged_part(
                    block,
                    offset,
                    "a node that is marked in place, which NAND cannot",
                    hit_by(endian, node),
                );
            } else if !matches!(place.found, Found::Damage(_)) {
                marks.add(endian, &nodes::unmarked(endian, &data, &place), place.is_obsolete, (block, offset));
            }
            let name = match place.found {
                Found::Inode { ino, version, compression, data_bytes, compressed_bytes } => {
                    ino_most = ino.max(ino_most);
                    version_most = version.max(version_most);
                    // A hole has no data, however long it is.
                    if compressed_bytes > 0 {
                        data_node_most = data_bytes.max(data_node_most);
                    }
                    let sum = compressions.entry(compression).or_default();
                    *sum = (sum.0 + 1, sum.1 + u64::from(data_bytes), sum.2 + u64::from(compressed_bytes));
                    "inode"
                }
                Found::Dirent { ino, .. } => {
                    deletions += u64::from(ino == 0);
                    "directory entry"
                }
                Found::CleanMarker => "clean marker",
                Found::Padding => "padding",
                Found::Summary => "summary",
                Found::ExtendedAttribute => "extended attribute",
                Found::Foreign { .. } => "unknown",
                // The whole image is cut off there, which is said elsewhere.
                Found::Damage(nodes::CROSSES) if data.len() < layout.block_bytes as usize => "cut off",
                Found::Damage(what) => {
                    scanned.damaged_part(block, offset, what, hit_by(endian, node));
                    "damaged"
                }
            };
            only_marker = nodes_count == 0 && place.found == Found::CleanMarker;
            nodes_count += 1;
            obsolete += u64::from(place.is_obsolete);
            let sum = counts.entry(name).or_default();
            *sum = (sum.0 + 1, sum.1 + u64::from(place.total_bytes));
        });
        scanned.blocks[block as usize].holds = match nodes_count {
            0 if is_erased(&data) => "erased".to_string(),
            0 => {
                scanned.damaged(block, layout.offset_in_image(block, 0), "no node in a block that is not erased");
                "no node".to_string()
            }
            1 if only_marker => "clean".to_string(),
            count => format!("{count} nodes"),
        };
    }
    marks.tell(scanned);
    scanned.fact("byte order", if endian == Endian::Big { "big-endian" } else { "little-endian" });
    for (name, (count, bytes)) in counts {
        scanned.fact(&format!("{name} nodes"), json!({"count": count, "B": bytes}));
    }
    for (name, (count, plain, packed)) in compressions {
        let facts = json!({"nodes": count, "data_B": plain, "compressed_B": packed});
        scanned.fact(&format!("compression {name}"), facts);
    }
    scanned.fact("largest data node B", data_node_most);
    scanned.fact("highest inode number", ino_most);
    scanned.fact("highest version of an inode", version_most);
    scanned.fact("deletion entries", deletions);
    scanned.fact("nodes marked obsolete in place", obsolete);
    scanned.notes.push("JFFS2 keeps no erase counters: an image says nothing of wear".to_string());
}

/// What a damaged node holds. The head of a node has a check sum of its own, so it may be whole.
fn hit_by(endian: Endian, node: &[u8]) -> Option<Hit> {
    let mended = nodes::mended(endian, node);
    let node = mended.as_deref().unwrap_or(node);
    if let Some(raw) = nodes::inode(endian, node) {
        let (from, bytes) = (u64::from(raw.offset), u64::from(raw.covered_bytes()));
        let range = (bytes > 0).then_some([from, from + bytes]);
        return Some(Hit::new(raw.ino, range, Some(u64::from(raw.version))));
    }
    let (raw, _) = nodes::dirent(endian, node)?;
    (raw.ino != 0).then(|| Hit::new(raw.ino, None, None))
}
