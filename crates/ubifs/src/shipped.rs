//! A volume that was filled and unmounted, made as small as an image that is shipped: as `mkfs.ubifs` leaves it, of which a mount makes
//! the file system as large as its volume.
//!
//! Follows `fs/ubifs/sb.c` and `master.c` (`ubifs_read_superblock`, `ubifs_read_master`), which add the LEBs that a volume has more than
//! the superblock says; here they are taken away.

use crate::format::*;
use crate::master::Master;
use crate::probe;
use crate::sb::field;

/// Cuts off the LEBs behind the last one that holds something, so that the file system fits any volume from there to the size for
/// which it was made. `space_fixup`: the first mount writes anew the LEBs that a programmer may have written whole (`mkfs.ubifs -F`).
/// `uuid`: what identifies the file system. `volume`: its LEBs one after the other, 0xFF where there is none.
///
/// Errors: it is no file system that was unmounted.
pub fn cut_to_ship(volume: &mut Vec<u8>, space_fixup: bool, uuid: [u8; 16]) -> Result<(), String> {
    let found = probe::superblock(volume).ok_or("it has no superblock")?;
    let (leb, lebs) = (found.leb_bytes as usize, found.lebs);
    if leb == 0 || volume.len() < (LOG_LNUM + found.log_lebs) as usize * leb {
        return Err("it is shorter than its superblock says".to_string());
    }
    let places = [MASTER_LNUM, MASTER_LNUM + 1].map(|lnum| last_master(volume, leb, lnum));
    let [Some(first), Some(second)] = places else { return Err("it has no master node".to_string()) };
    let mut master = Master::unpack(&volume[first..first + MASTER_BYTES as usize], 0);
    if master.flags & MASTER_DIRTY != 0 || master.leb_cnt != lebs {
        return Err("it was not unmounted".to_string());
    }
    let log = &volume[LOG_LNUM as usize * leb..(LOG_LNUM + found.log_lebs) as usize * leb];
    let written = volume.chunks(leb).rposition(|data| data.iter().any(|&byte| byte != 0xFF)).unwrap_or(0) as u32;
    let last = [master.gc_lnum, master.ihead_lnum, master.lscan_lnum, last_bud(log)].into_iter().max().unwrap_or(0);
    // The journal is a part of the main area (`validate_sb`).
    let bud_lebs = (get_u64(volume, field::MAX_BUD_BYTES) / leb as u64) as u32;
    let before = LOG_LNUM + found.log_lebs + found.lpt_lebs + found.orphan_lebs;
    let kept = (written.max(last) + 1).max(before + MAIN_LEBS_MIN.max(bud_lebs)).min(lebs);
    let cut = i64::from(lebs - kept);
    master.leb_cnt = kept;
    master.stats.empty_lebs -= cut;
    master.stats.total_free -= cut * leb as i64;
    // All of what an empty LEB has may turn out to be unusable but for this (`dark_wm`).
    master.stats.total_dark -= cut * i64::from(align(NODE_BYTES_MAX, found.min_io_bytes));
    for at in [first, second] {
        let node = &mut volume[at..at + MASTER_BYTES as usize];
        master.pack(node);
        sum(node);
    }
    let node = &mut volume[..SB_BYTES as usize];
    put_u32(node, field::LEB_CNT, kept);
    let flags = get_u32(node, field::FLAGS);
    put_u32(node, field::FLAGS, flags | if space_fixup { SB_SPACE_FIXUP } else { 0 });
    node[field::UUID..field::UUID + uuid.len()].copy_from_slice(&uuid);
    sum(node);
    volume.truncate(kept as usize * leb);
    Ok(())
}

fn sum(node: &mut [u8]) {
    let crc = crc32(&node[header::SQNUM..]);
    put_u32(node, header::CRC, crc);
}

/// Where the last master node of a LEB stands in the volume.
fn last_master(volume: &[u8], leb: usize, lnum: u32) -> Option<usize> {
    let begin = lnum as usize * leb;
    let mut last = None;
    probe::walk(&volume[begin..begin + leb], &mut |at, kind, damage| {
        if kind == "master" && damage.is_none() {
            last = Some(begin + at as usize);
        }
    });
    last
}

/// The highest LEB that the log says is in the journal; it may hold nothing yet.
fn last_bud(log: &[u8]) -> u32 {
    let mut last = 0;
    probe::walk(log, &mut |at, kind, damage| {
        if kind == "reference" && damage.is_none() {
            last = last.max(get_u32(&log[at as usize..], reference::LNUM));
        }
    });
    last
}
