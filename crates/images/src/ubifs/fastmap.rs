//! The fastmap in an image: where it stands, whether it is whole, and whether it fits the headers of the blocks.

use crate::scan::Scanned;
use ffslab_ubi::probe::{self, Leb};
use serde_json::json;
use std::borrow::Cow;

/// What a block with the superblock of the newest fastmap holds.
pub const ANCHOR: &str = "fastmap anchor";
/// What a further block of it holds.
pub const DATA: &str = "fastmap";
const OLDER: &str = "older fastmap";

pub fn scan<'i>(blocks: u32, lebs: &[(u32, Leb)], leb_data: &dyn Fn(u32) -> Cow<'i, [u8]>, scanned: &mut Scanned) {
    let Some(found) = probe::fastmap(blocks, lebs, &|block| leb_data(block).into_owned()) else { return };
    for &block in &found.older_blocks {
        if let Some(facts) = scanned.blocks.get_mut(block as usize) {
            facts.holds = OLDER.to_string();
        }
    }
    let state = match (&found.flaw, &found.stale) {
        (Some(_), _) => "of no use",
        (None, Some(_)) => "stale",
        (None, None) => "fits",
    };
    let crc = found.crc_is_right.map_or("unknown", |is_right| if is_right { "right" } else { "wrong" });
    let facts = json!({
        "anchor": found.anchor_number,
        "blocks": found.blocks.len(),
        "crc": crc,
        "state": state,
        "pool": found.pool_pebs,
        "pool for moves": found.wl_pool_pebs,
        "free": found.free_pebs,
        "used": found.used_pebs,
        "scrub": found.scrub_pebs,
        "erase": found.erase_pebs,
        "bad": found.bad_pebs,
        "volumes": found.volumes_count,
        "older blocks": found.older_blocks.len(),
    });
    scanned.fact("fastmap", facts);
    if let Some(why) = &found.flaw {
        let note = format!("the fastmap is of no use ({why}): a kernel that knows fastmap scans all blocks");
        scanned.notes.push(note);
    }
    if let Some(why) = &found.stale {
        let note = format!("the fastmap is stale ({why}): a kernel that attaches by it loses what it does not know");
        scanned.notes.push(note);
    }
}
