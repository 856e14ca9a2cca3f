//! Images of raw flash, read as they stand, erase block by erase block.

use super::{BlockFacts, Scanned};
use crate::recognise::Layout;
use crate::tree::ImageFs;
use ffslab_jffs2::probe::nodes::{self, Found};
use ffslab_jffs2::Endian;
use ffslab_mtd::is_erased;
use ffslab_ubi::probe::Leb;
use ffslab_yaffs2::probe::PageKind;
use serde_json::json;
use std::collections::BTreeMap;

pub fn scan(image: &[u8], layout: &Layout) -> Scanned {
    let mut scanned = Scanned {
        blocks: (0..layout.blocks).map(|block| BlockFacts { block, ..BlockFacts::default() }).collect(),
        bad_blocks: bad_blocks(image, layout),
        ..Scanned::default()
    };
    if let Some(bad) = &scanned.bad_blocks {
        scanned.blocks.iter_mut().for_each(|facts| facts.is_bad = Some(false));
        for &block in bad {
            scanned.blocks[block as usize].is_bad = Some(true);
            scanned.blocks[block as usize].holds = "bad".to_string();
        }
    }
    if layout.blocks > 0 && !image.len().is_multiple_of(layout.stored_block_bytes()) {
        let last = layout.place(layout.blocks - 1, image).len();
        scanned.notes.push(format!("the last erase block has only {last} of {} B", layout.stored_block_bytes()));
    }
    match layout.fs {
        ImageFs::Jffs2 => jffs2(image, layout, &mut scanned),
        ImageFs::Yaffs2 => yaffs2(image, layout, &mut scanned),
        _ => ubi(image, layout, &mut scanned),
    }
    scanned
}

/// Blocks whose first or second page carries the mark of a bad one: a byte other than 0xFF, the first of the OOB area, of
/// small pages the sixth (`drivers/mtd/nand/raw/nand_base.c`). `None`: there are no OOB areas, or their first bytes are
/// tags, as `mkyaffs2image` writes them.
fn bad_blocks(image: &[u8], layout: &Layout) -> Option<Vec<u32>> {
    if layout.oob_bytes == 0 || layout.tags_offset == Some(layout.page_bytes) {
        return None;
    }
    let mark_at = layout.page_bytes as usize + if layout.page_bytes > 512 { 0 } else { 5 };
    let is_bad = |&block: &u32| {
        let pages = image[layout.place(block, image)].chunks(layout.stride_bytes()).take(2);
        pages.filter_map(|page| page.get(mark_at)).any(|&mark| mark != 0xFF)
    };
    Some((0..layout.blocks).filter(is_bad).collect())
}

// ---- JFFS2 --------------------------------------------------------------------------------------------------

fn jffs2(image: &[u8], layout: &Layout, scanned: &mut Scanned) {
    let endian = layout.endian.unwrap_or_default();
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut compressions: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    let (mut ino_most, mut version_most, mut obsolete, mut deletions) = (0, 0, 0u64, 0u64);
    for block in 0..layout.blocks {
        if scanned.blocks[block as usize].is_bad == Some(true) {
            continue;
        }
        let data = layout.data(block, image);
        let (mut nodes_count, mut only_marker) = (0, false);
        nodes::walk(endian, &data, &mut |place| {
            let name = match place.found {
                Found::Inode { ino, version, compression, data_bytes, compressed_bytes } => {
                    ino_most = ino.max(ino_most);
                    version_most = version.max(version_most);
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
                    scanned.damaged(block, layout.offset_in_image(block, place.offset), what);
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
    scanned.fact("byte order", if endian == Endian::Big { "big-endian" } else { "little-endian" });
    for (name, (count, bytes)) in counts {
        scanned.fact(&format!("{name} nodes"), json!({"count": count, "B": bytes}));
    }
    for (name, (count, plain, packed)) in compressions {
        let facts = json!({"nodes": count, "data_B": plain, "compressed_B": packed});
        scanned.fact(&format!("compression {name}"), facts);
    }
    scanned.fact("highest inode number", ino_most);
    scanned.fact("highest version of an inode", version_most);
    scanned.fact("deletion entries", deletions);
    scanned.fact("nodes marked obsolete in place", obsolete);
    scanned.notes.push("JFFS2 keeps no erase counters: an image says nothing of wear".to_string());
}

// ---- YAFFS2 -------------------------------------------------------------------------------------------------

fn yaffs2(image: &[u8], layout: &Layout, scanned: &mut Scanned) {
    let Some(probe) = layout.yaffs2 else { return };
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut objects = std::collections::BTreeSet::new();
    for block in 0..layout.blocks {
        if scanned.blocks[block as usize].is_bad == Some(true) {
            continue;
        }
        if image[layout.place(block, image)].iter().all(|&byte| byte == 0) {
            scanned.damaged(block, layout.offset_in_image(block, 0), "a block of zeros");
            scanned.blocks[block as usize].holds = "zeros".to_string();
            continue;
        }
        let mut sequence = None;
        let mut of_block: BTreeMap<&str, u32> = BTreeMap::new();
        for (index, page) in image[layout.place(block, image)].chunks(layout.stride_bytes()).enumerate() {
            let Some(tags) = probe.look(page) else { continue };
            let name = match tags.kind {
                PageKind::Header => "object header",
                PageKind::Data => "data",
                PageKind::Summary => "block summary",
                PageKind::Checkpoint => "checkpoint",
                PageKind::BadBlock => "bad block",
                PageKind::Damage(what) => {
                    let offset = layout.offset_in_image(block, index as u32 * layout.page_bytes);
                    scanned.damaged(block, offset, what);
                    "damaged"
                }
            };
            *counts.entry(name).or_default() += 1;
            *of_block.entry(name).or_default() += 1;
            if tags.kind == PageKind::Header {
                objects.insert(tags.object);
            }
            if ffslab_yaffs2::probe::PageTags::SEQUENCES.contains(&tags.sequence)
                && !matches!(tags.kind, PageKind::Damage(_))
            {
                if sequence.is_some_and(|first| first != tags.sequence) {
                    let offset = layout.offset_in_image(block, index as u32 * layout.page_bytes);
                    scanned.damaged(block, offset, "a page whose sequence number is not that of its block");
                }
                sequence = sequence.or(Some(tags.sequence));
            }
        }
        let facts = &mut scanned.blocks[block as usize];
        facts.sequence = sequence;
        let parts: Vec<String> = of_block.iter().map(|(name, count)| format!("{count} {name}")).collect();
        facts.holds = if parts.is_empty() { "erased".to_string() } else { parts.join(", ") };
    }
    let sequences: Vec<u32> = scanned.blocks.iter().filter_map(|facts| facts.sequence).collect();
    for (name, count) in counts {
        scanned.fact(&format!("{name} pages"), count);
    }
    scanned.fact("objects with a header", objects.len());
    if let (Some(&low), Some(&high)) = (sequences.iter().min(), sequences.iter().max()) {
        let first = ffslab_yaffs2::probe::PageTags::SEQUENCES.start;
        let taken = u64::from(high.saturating_sub(first)) + 1;
        scanned.fact("lowest sequence number", low);
        scanned.fact("highest sequence number", high);
        scanned.fact("blocks taken to be written since the format", taken);
        scanned.fact("of them per block", taken as f64 / f64::from(layout.blocks.max(1)));
    }
}

// ---- UBI, UBIFS ---------------------------------------------------------------------------------------------

fn ubi(image: &[u8], layout: &Layout, scanned: &mut Scanned) {
    let Some((vid, data_offset)) = layout.ubi_at_bytes else { return };
    let mut lebs: Vec<(u32, Leb)> = Vec::new();
    for block in 0..layout.blocks {
        if scanned.blocks[block as usize].is_bad == Some(true) {
            continue;
        }
        let data = layout.data(block, image);
        let headers = ffslab_ubi::probe::headers(&data, vid, data_offset);
        if let Some(what) = headers.damage {
            scanned.damaged(block, layout.offset_in_image(block, 0), what);
        }
        let facts = &mut scanned.blocks[block as usize];
        facts.erases = headers.erases;
        facts.holds = match headers.leb {
            Some(leb) if leb.is_layout() => "volume table".to_string(),
            Some(leb) if leb.is_internal() => "UBI's own".to_string(),
            Some(leb) => format!("volume {} LEB {}", leb.volume_id, leb.leb_number),
            None if headers.erases.is_some() => "erased, counted".to_string(),
            None if is_erased(&data) => "erased".to_string(),
            None => "no header".to_string(),
        };
        lebs.extend(headers.leb.map(|leb| (block, leb)));
    }
    let leb_data = |block: u32| {
        let data = layout.data(block, image);
        data.get(data_offset as usize..).unwrap_or_default().to_vec()
    };
    scanned.fact("volume identifier header at", vid);
    scanned.fact("data at", data_offset);
    scanned.fact("LEB B", layout.block_bytes.saturating_sub(data_offset));
    let table = lebs.iter().filter(|(_, leb)| leb.is_layout()).max_by_key(|(_, leb)| leb.sequence_number);
    let volumes = table.map(|&(block, _)| ffslab_ubi::probe::volumes(&leb_data(block))).unwrap_or_default();
    for volume in &volumes {
        let held = lebs.iter().filter(|(_, leb)| leb.volume_id == volume.id).count();
        let facts = json!({
            "name": volume.name,
            "kind": if volume.is_static { "static" } else { "dynamic" },
            "reserved_pebs": volume.reserved_pebs,
            "pebs_in_image": held,
        });
        scanned.fact(&format!("volume {}", volume.id), facts);
    }
    if table.is_none() {
        scanned.notes.push("there is no volume table in the image".to_string());
    }
    let is_ubifs = |id: u32| {
        let first = lebs.iter().filter(|(_, leb)| (leb.volume_id, leb.leb_number) == (id, 0));
        first.max_by_key(|(_, leb)| leb.sequence_number).and_then(|&(block, _)| {
            ffslab_ubifs::probe::superblock(&leb_data(block)).map(|superblock| (id, superblock))
        })
    };
    let Some((id, superblock)) = volumes.iter().find_map(|volume| is_ubifs(volume.id)) else {
        scanned.notes.push("no volume begins with a superblock of UBIFS whose CRC is right".to_string());
        return;
    };
    scanned.fact("UBIFS is on volume", id);
    for (name, value) in [
        ("UBIFS format version", superblock.format_version),
        ("UBIFS LEB B", superblock.leb_bytes),
        ("UBIFS LEBs", superblock.lebs),
        ("UBIFS LEBs at most", superblock.lebs_max_count),
        ("UBIFS log LEBs", superblock.log_lebs),
        ("UBIFS LPT LEBs", superblock.lpt_lebs),
        ("UBIFS orphan LEBs", superblock.orphan_lebs),
        ("UBIFS index fanout", superblock.fanout_count),
        ("UBIFS least write B", superblock.min_io_bytes),
    ] {
        scanned.fact(name, value);
    }
    scanned.fact("UBIFS compression", superblock.compression);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for &(block, leb) in lebs.iter().filter(|(_, leb)| leb.volume_id == id) {
        let data = layout.data(block, image);
        let Some(data) = data.get(data_offset as usize..) else { continue };
        ffslab_ubifs::probe::walk(data, &mut |offset, kind, damage| {
            *counts.entry(if damage.is_some() { "damaged" } else { kind }).or_default() += 1;
            if let Some(what) = damage {
                let at = layout.offset_in_image(block, data_offset + offset);
                scanned.damaged(block, at, format!("{what} (LEB {})", leb.leb_number));
            }
        });
    }
    for (name, count) in counts {
        scanned.fact(&format!("UBIFS {name} nodes"), count);
    }
}
