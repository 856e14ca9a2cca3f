//! Images of UBI with UBIFS, read as they stand: headers, volume table, superblock, nodes.

use super::fastmap;
use crate::format::Layout;
use crate::scan::{Hit, Scanned};
use ffslab_mtd::is_erased;
use ffslab_ubi::probe::Leb;
use ffslab_ubifs::probe::records::{self, Record};
use ffslab_ubifs::probe::Superblock;
use serde_json::json;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What a block with a copy of the volume table holds.
pub const VOLUME_TABLE: &str = "volume table";

pub fn scan(image: &[u8], layout: &Layout, scanned: &mut Scanned) {
    if layout.lacks_ubi {
        return scan_alone(image, layout, scanned);
    }
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
            Some(leb) if leb.is_layout() => VOLUME_TABLE.to_string(),
            Some(leb) if leb.is_anchor() => fastmap::ANCHOR.to_string(),
            Some(leb) if leb.is_fastmap() => fastmap::DATA.to_string(),
            Some(leb) if leb.is_internal() => "UBI's own".to_string(),
            Some(leb) => format!("volume {} LEB {}", leb.volume_id, leb.leb_number),
            None if headers.erases.is_some() => "erased, counted".to_string(),
            None if is_erased(&data) => "erased".to_string(),
            None => "no header".to_string(),
        };
        lebs.extend(headers.leb.map(|leb| (block, leb)));
    }
    static_data(image, layout, scanned, (vid, data_offset), &lebs);
    let leb_data = |block: u32| leb_data(image, layout, data_offset, block);
    scanned.fact("volume identifier header at", vid);
    scanned.fact("data at", data_offset);
    scanned.fact("LEB B", layout.block_bytes.saturating_sub(data_offset));
    let table = table_of(&lebs);
    let volumes = table.map(|block| ffslab_ubi::probe::volumes(&leb_data(block))).unwrap_or_default();
    for volume in volumes.iter().filter(|volume| volume.is_static) {
        missing_leb(layout, scanned, volume.id, &lebs);
    }
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
    fastmap::scan(layout.blocks, &lebs, &leb_data, scanned);
    let ubifs = volumes_of(layout, &lebs, &leb_data);
    let Some((id, superblock)) = ubifs.first() else {
        scanned.notes.push("no volume begins with a superblock of UBIFS whose CRC is right".to_string());
        return;
    };
    scanned.fact("UBIFS is on volume", *id);
    superblock_facts(scanned, superblock);
    for (number, (id, _)) in ubifs.iter().enumerate() {
        let of_it = lebs.iter().filter(|(_, leb)| leb.volume_id == *id).map(|(block, leb)| (*block, leb.leb_number));
        let name = if ubifs.len() > 1 { format!("volume {id} ") } else { String::new() };
        let counts = scan_nodes(image, layout, scanned, data_offset, (number, &name), of_it);
        if number == 0 {
            counts_facts(scanned, counts);
        }
    }
}

/// Tells of data of static volumes that are not those of which the headers have the CRC. A LEB of which two blocks are there was being
/// moved when the power failed: UBI takes the one that is whole.
fn static_data(
    image: &[u8],
    layout: &Layout,
    scanned: &mut Scanned,
    (vid, data_offset): (u32, u32),
    lebs: &[(u32, Leb)],
) {
    let place = |leb: &Leb| (leb.volume_id, leb.leb_number);
    for (block, leb) in lebs.iter().filter(|(_, leb)| leb.is_static) {
        let data = layout.data(*block, image);
        let is_whole = ffslab_ubi::probe::has_whole_data(&data, vid, data_offset) != Some(false);
        if !is_whole && !lebs.iter().any(|(other, twin)| other != block && place(twin) == place(leb)) {
            let what = format!("data with a wrong CRC (LEB {} of static volume {})", leb.leb_number, leb.volume_id);
            scanned.damaged_part(*block, layout.offset_in_image(*block, data_offset), what, None);
        }
    }
}

/// Tells of LEBs that a static volume must have and no block holds: each of its headers says how many they are, and Linux calls such a
/// volume corrupted (`vtbl.c`, `init_volumes`). Of a volume of which no block is left nothing says that it had any.
fn missing_leb(layout: &Layout, scanned: &mut Scanned, volume: u32, lebs: &[(u32, Leb)]) {
    let of_it = || lebs.iter().filter(|(_, leb)| leb.volume_id == volume);
    let Some(&(block, Leb { used_lebs, .. })) = of_it().max_by_key(|(_, leb)| leb.sequence_number) else { return };
    let held: BTreeSet<u32> = of_it().map(|(_, leb)| leb.leb_number).collect();
    if let Some(missing) = (0..used_lebs).find(|number| !held.contains(number)) {
        let what =
            format!("static volume {volume} has {used_lebs} LEBs by this header, and no block holds LEB {missing}");
        scanned.damaged(block, layout.offset_in_image(block, 0), what);
    }
}

/// A volume without UBI, whose blocks are its LEBs.
fn scan_alone(image: &[u8], layout: &Layout, scanned: &mut Scanned) {
    for facts in &mut scanned.blocks {
        facts.holds = format!("LEB {}", facts.block);
    }
    match ffslab_ubifs::probe::superblock(image) {
        Some(superblock) => {
            superblock_facts(scanned, &superblock);
            let lebs = (0..layout.blocks).map(|leb| (leb, leb));
            let counts = scan_nodes(image, layout, scanned, 0, (0, ""), lebs);
            counts_facts(scanned, counts);
        }
        None => scanned.notes.push("its superblock is damaged".to_string()),
    }
}

fn superblock_facts(scanned: &mut Scanned, superblock: &Superblock) {
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
    scanned.fact("UBIFS space fixup", if superblock.has_space_fixup { "yes" } else { "no" });
}

fn counts_facts(scanned: &mut Scanned, counts: BTreeMap<&str, u64>) {
    for (name, count) in counts {
        scanned.fact(&format!("UBIFS {name} nodes"), count);
    }
}

/// Counts the nodes in the LEBs of a volume, each with the block that holds it, by kind, and tells of damaged ones. `number` and `name`: of
/// the volume among those of UBIFS, and how it is called if there are several.
fn scan_nodes<'n>(
    image: &[u8],
    layout: &Layout,
    scanned: &mut Scanned,
    data_offset: u32,
    (number, name): (usize, &str),
    lebs: impl Iterator<Item = (u32, u32)>,
) -> BTreeMap<&'n str, u64> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (block, leb) in lebs {
        let data = layout.data(block, image);
        let Some(data) = data.get(data_offset as usize..) else { continue };
        ffslab_ubifs::probe::walk(data, &mut |offset, kind, damage| {
            *counts.entry(if damage.is_some() { "damaged" } else { kind }).or_default() += 1;
            if let Some(what) = damage {
                let at = layout.offset_in_image(block, data_offset + offset);
                let hits = hit_by(&data[offset as usize..]).map(|hit| Hit { volume_number: number, ..hit });
                scanned.damaged_part(block, at, format!("{what} ({name}LEB {leb})"), hits);
            }
        });
    }
    counts
}

/// The LEB that each erase block holds, by the headers of the block.
pub fn lebs<'i>(image: &'i [u8], layout: &'i Layout) -> impl Iterator<Item = (u32, Leb)> + 'i {
    (0..layout.blocks).filter_map(move |block| {
        let (vid, data_offset) = layout.ubi_at_bytes?;
        Some((block, ffslab_ubi::probe::headers(&layout.data(block, image), vid, data_offset).leb?))
    })
}

/// The page data of an erase block behind UBI's headers.
pub fn leb_data<'i>(image: &'i [u8], layout: &Layout, data_offset: u32, block: u32) -> Cow<'i, [u8]> {
    match layout.data(block, image) {
        Cow::Borrowed(data) => data.get(data_offset as usize..).unwrap_or_default().into(),
        Cow::Owned(mut data) => {
            data.drain(..data.len().min(data_offset as usize));
            data.into()
        }
    }
}

/// Numbers and names of the volumes whose last update was interrupted.
pub fn interrupted(image: &[u8], layout: &Layout) -> Vec<(u32, String)> {
    let Some((_, data_offset)) = layout.ubi_at_bytes else { return Vec::new() };
    let Some(table) = table_of(&lebs(image, layout).collect::<Vec<_>>()) else { return Vec::new() };
    let volumes = ffslab_ubi::probe::volumes(&leb_data(image, layout, data_offset, table));
    volumes.into_iter().filter(|volume| volume.update_interrupted).map(|volume| (volume.id, volume.name)).collect()
}

/// The block with the newest copy of the volume table.
fn table_of(lebs: &[(u32, Leb)]) -> Option<u32> {
    let tables = lebs.iter().filter(|(_, leb)| leb.is_layout());
    tables.max_by_key(|(_, leb)| leb.sequence_number).map(|&(block, _)| block)
}

/// Whether a volume is the one that is wanted, by name or number, or all are.
pub fn is_wanted(layout: &Layout, name: &str, id: u32) -> bool {
    layout.volume.as_ref().is_none_or(|wanted| wanted == name || *wanted == id.to_string())
}

/// Numbers and superblocks of the volumes of UBIFS, of those that are wanted, in the order of the volume table.
pub fn volumes_of<'i>(
    layout: &Layout,
    lebs: &[(u32, Leb)],
    leb_data: &dyn Fn(u32) -> Cow<'i, [u8]>,
) -> Vec<(u32, Superblock)> {
    let volumes = table_of(lebs).map(|table| ffslab_ubi::probe::volumes(&leb_data(table))).unwrap_or_default();
    let wanted = volumes.iter().filter(|volume| is_wanted(layout, &volume.name, volume.id));
    let ubifs = wanted.filter_map(|volume| {
        let first = lebs.iter().filter(|(_, leb)| (leb.volume_id, leb.leb_number) == (volume.id, 0));
        let &(block, _) = first.max_by_key(|(_, leb)| leb.sequence_number)?;
        Some((volume.id, ffslab_ubifs::probe::superblock(&leb_data(block))?))
    });
    ubifs.collect()
}

/// Numbers and names of all volumes: those of the table, or of its damaged copies together; without one the numbers that LEBs have.
pub fn all_volumes(image: &[u8], layout: &Layout) -> BTreeMap<u32, String> {
    let Some((_, data_offset)) = layout.ubi_at_bytes else { return BTreeMap::new() };
    let lebs: Vec<(u32, Leb)> = lebs(image, layout).collect();
    let tables = lebs.iter().filter(|(_, leb)| leb.is_layout());
    let records =
        tables.flat_map(|&(block, _)| ffslab_ubi::probe::volumes(&leb_data(image, layout, data_offset, block)));
    let found: BTreeMap<u32, String> = records.map(|volume| (volume.id, volume.name)).collect();
    if !found.is_empty() {
        return found;
    }
    let held = lebs.iter().filter(|(_, leb)| !leb.is_internal());
    held.map(|(_, leb)| (leb.volume_id, without_table(leb.volume_id))).collect()
}

/// How a volume is called whose name is lost.
pub fn without_table(id: u32) -> String {
    format!("volume-{id}")
}

/// What a damaged node says that it holds. Its one check sum is wrong, so this is told only of a file that is known from
/// other nodes, too.
fn hit_by(node: &[u8]) -> Option<Hit> {
    let sequence = Some(records::sequence_number(node));
    match records::record(node) {
        Record::Inode(inode) => Some(Hit::new(inode.ino, None, sequence)),
        Record::Data { ino, block, bytes } => {
            let from = u64::from(block) * u64::from(records::DATA_BLOCK_BYTES);
            Some(Hit::new(ino, Some([from, from + u64::from(bytes)]), sequence))
        }
        Record::Entry { ino, .. } if ino != 0 => Some(Hit::new(ino, None, None)),
        _ => None,
    }
}
