//! FAT and RFS volumes, read as they stand: superblock, what is in use in each area, and what contradicts itself.

use crate::format::Layout;
use crate::scan::Scanned;
use ffslab_rtems::dosfs::{BootSector, FatType};
use ffslab_rtems::rfs;

/// Adds bytes to the area that holds them.
fn add(scanned: &mut Scanned, layout: &Layout, at: u64, bytes: u64, is_used: bool) {
    let (mut at, end) = (at, at.saturating_add(bytes));
    while at < end {
        let area = at / u64::from(layout.block_bytes);
        let part = (end - at).min((area + 1) * u64::from(layout.block_bytes) - at);
        let Some(facts) = scanned.blocks.get_mut(area as usize) else { return };
        let sum = if is_used { &mut facts.valid_bytes } else { &mut facts.free_bytes };
        *sum = Some(sum.unwrap_or(0).saturating_add(part as u32));
        at += part;
    }
}

fn word(image: &[u8], at: u64, bytes: usize) -> Option<u32> {
    let at = usize::try_from(at).ok()?;
    let found = image.get(at..at.checked_add(bytes)?)?;
    Some(found.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte)))
}

/// Entry of a cluster in the FAT that begins at byte `fat`; the upper bits that do not belong to it are cut off.
fn entry(image: &[u8], boot: &BootSector, fat: u64, cluster: u32) -> Option<u32> {
    let at = fat + u64::from(boot.fat_offset(cluster));
    match boot.fat_type {
        FatType::Fat12 => word(image, at, 2).map(|pair| if cluster & 1 == 1 { pair >> 4 } else { pair & 0xFFF }),
        FatType::Fat16 => word(image, at, 2),
        FatType::Fat32 => word(image, at, 4).map(|value| value & 0x0FFF_FFFF),
    }
}

pub fn fat(image: &[u8], boot: &BootSector, layout: &Layout, scanned: &mut Scanned) {
    let (name, mask, serial_at) = match boot.fat_type {
        FatType::Fat12 => ("FAT12", 0xFFF, 39),
        FatType::Fat16 => ("FAT16", 0xFFFF, 39),
        FatType::Fat32 => ("FAT32", 0x0FFF_FFFF, 67),
    };
    let sector = u64::from(boot.sector_bytes);
    let text = |at: usize, bytes: usize| {
        String::from_utf8_lossy(image.get(at..at + bytes).unwrap_or_default()).trim_end().to_string()
    };
    scanned.fact("type", name);
    scanned.fact("made by", text(3, 8));
    if image.get(serial_at - 1) == Some(&0x29) {
        scanned.fact("serial number", format!("{:08x}", word(image, serial_at as u64, 4).unwrap_or(0)));
        scanned.fact("label", text(serial_at + 4, 11));
    }
    let clusters = boot.clusters();
    scanned.fact("sector B", boot.sector_bytes);
    scanned.fact("cluster B", boot.cluster_bytes());
    scanned.fact("clusters", clusters);
    scanned.fact("reserved sectors", boot.reserved_sectors_count);
    scanned.fact("FATs", boot.fats_count);
    scanned.fact("sectors of a FAT", boot.fat_sectors_count);
    scanned.fact("root directory entries", boot.root_entries);
    let data_start = u64::from(boot.data_start()) * sector;
    add(scanned, layout, 0, data_start, true);
    let first_fat = u64::from(boot.reserved_sectors_count) * sector;
    let fat_bytes = u64::from(boot.fat_sectors_count) * sector;
    let (mut free, mut bad) = (0u64, 0u64);
    let mut pointed_at = vec![false; clusters as usize + 2];
    let area_of = |at: u64| (at / u64::from(layout.block_bytes)) as u32;
    for cluster in 2..clusters + 2 {
        let Some(next) = entry(image, boot, first_fat, cluster) else { break };
        let at = first_fat + u64::from(boot.fat_offset(cluster));
        let place = data_start + u64::from(cluster - 2) * u64::from(boot.cluster_bytes());
        add(scanned, layout, place, u64::from(boot.cluster_bytes()), next != 0);
        match next {
            0 => free += 1,
            _ if next == mask - 8 => bad += 1,
            _ if next >= mask - 7 => {}
            _ if next == 1 || next > clusters + 1 => {
                scanned.damaged(area_of(at), at, format!("cluster {cluster} is followed by {next}, which is none"));
            }
            _ if std::mem::replace(&mut pointed_at[next as usize], true) => {
                scanned.damaged(
                    area_of(at),
                    at,
                    format!("cluster {next} follows two clusters, the second is {cluster}"),
                );
            }
            _ => {}
        }
    }
    for copy in 1..boot.fats_count {
        let other = first_fat + u64::from(copy) * fat_bytes;
        let differs = (2..clusters + 2)
            .find(|&cluster| entry(image, boot, first_fat, cluster) != entry(image, boot, other, cluster));
        if let Some(cluster) = differs {
            let at = other + u64::from(boot.fat_offset(cluster));
            scanned.damaged(
                area_of(at),
                at,
                format!("FAT {} differs from the first, first at cluster {cluster}", copy + 1),
            );
        }
    }
    scanned.fact("free clusters", free);
    scanned.fact("bad clusters", bad);
    if boot.fat_type == FatType::Fat32 {
        let noted = word(image, u64::from(boot.info_sector_number) * sector + 488, 4).unwrap_or(u32::MAX);
        scanned.fact(
            "free clusters as FSInfo has them",
            if noted == u32::MAX { "unknown".into() } else { noted.to_string() },
        );
        if noted != u32::MAX && u64::from(noted) != free {
            let at = u64::from(boot.info_sector_number) * sector + 488;
            scanned.damaged(area_of(at), at, format!("FSInfo counts {noted} free clusters, the FAT has {free}"));
        }
    }
}

pub fn rfs(image: &[u8], superblock: &rfs::Layout, layout: &Layout, scanned: &mut Scanned) {
    for (name, value) in [
        ("block B", superblock.block_bytes),
        ("blocks", superblock.blocks),
        ("bad blocks", superblock.bad_blocks),
        ("longest name B", superblock.name_max_bytes),
        ("groups", superblock.groups_count),
        ("blocks of a group", superblock.group_blocks),
        ("inodes of a group", superblock.group_inodes),
    ] {
        scanned.fact(name, value);
    }
    let block_bytes = u64::from(superblock.block_bytes);
    add(scanned, layout, 0, block_bytes, true);
    let (mut free_blocks, mut free_inodes) = (0u64, 0u64);
    // A bit is 1 when it is free (`rtems-rfs-bitmaps.c`); the block bitmap is the first block of a group, the inode bitmap
    // the second.
    let bit = |map: u64, index: u32| {
        word(image, map + u64::from(index / 8), 1).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    };
    for group in 0..superblock.groups_count {
        let base = superblock.group_base(group);
        if base >= superblock.blocks {
            break;
        }
        let map = u64::from(base) * block_bytes;
        for index in 0..superblock.group_size(group) {
            let is_free = bit(map, index);
            free_blocks += u64::from(is_free);
            add(scanned, layout, u64::from(base + index) * block_bytes, block_bytes, !is_free);
        }
        free_inodes += (0..superblock.group_inodes).filter(|&index| bit(map + block_bytes, index)).count() as u64;
        if (0..2).any(|index| bit(map, index)) {
            let area = (map / u64::from(layout.block_bytes)) as u32;
            scanned.damaged(area, map, format!("the bitmaps of group {group} stand in blocks that are free"));
        }
    }
    scanned.fact("free blocks", free_blocks);
    scanned.fact("free inodes", free_inodes);
}
