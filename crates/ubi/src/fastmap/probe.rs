//! What the fastmap in an image says, and whether it fits what the headers of all blocks say. Nothing is attached.
//!
//! It is stale if an attach by it (`drivers/mtd/ubi/fastmap.c` of Linux 6.1.192, `ubi_attach_fastmap`) would find a LEB in another block
//! than a scan of all blocks does, or not at all. A LEB that was unmapped since is no contradiction: that shows when it is read.

use std::collections::{BTreeMap, BTreeSet};

use super::format::{Content, Superblock, ANCHORS_WITHIN_PEBS, ANCHOR_VOLUME};
use crate::probe::Leb;

/// A fastmap, as it stands in an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FastmapFacts {
    /// The block with the superblock, the newest of those in which it is searched for.
    pub anchor_number: u32,
    /// All its blocks, the anchor first.
    pub blocks: Vec<u32>,
    /// Whether the CRC over all its data is right; `None`: what it covers is not known.
    pub crc_is_right: Option<bool>,
    /// Why no kernel attaches by it.
    pub flaw: Option<String>,
    /// What it says otherwise than the headers of the blocks.
    pub stale: Option<String>,
    pub pool_pebs: u32,
    pub wl_pool_pebs: u32,
    pub free_pebs: u32,
    pub used_pebs: u32,
    pub scrub_pebs: u32,
    pub erase_pebs: u32,
    pub bad_pebs: u32,
    pub volumes_count: u32,
    /// Blocks of older fastmaps, which wait for their erase.
    pub older_blocks: Vec<u32>,
}

/// The fastmap of an image with so many blocks, of which these hold LEBs. `data` gives what stands behind the headers of a block.
/// `None`: no block holds one.
pub fn fastmap(pebs: u32, lebs: &[(u32, Leb)], data: &dyn Fn(u32) -> Vec<u8>) -> Option<FastmapFacts> {
    let of_fastmap: BTreeMap<u32, Leb> = lebs.iter().filter(|(_, leb)| leb.is_fastmap()).copied().collect();
    let anchors = of_fastmap.iter().filter(|(&peb, leb)| leb.volume_id == ANCHOR_VOLUME && peb < ANCHORS_WITHIN_PEBS);
    let Some((&anchor, _)) = anchors.max_by_key(|(_, leb)| leb.sequence_number) else {
        let older_blocks: Vec<u32> = of_fastmap.into_keys().collect();
        let flaw = Some("no block among the first 64 holds its superblock".to_string());
        let anchor = *older_blocks.first()?;
        return Some(FastmapFacts { anchor_number: anchor, flaw, older_blocks, ..FastmapFacts::default() });
    };
    let mut facts = FastmapFacts { anchor_number: anchor, blocks: vec![anchor], ..FastmapFacts::default() };
    match read(&of_fastmap, data, &mut facts) {
        Ok(content) => {
            let count = |length: usize| length as u32;
            (facts.pool_pebs, facts.wl_pool_pebs) = (count(content.pool.pebs.len()), count(content.wl_pool.pebs.len()));
            (facts.free_pebs, facts.used_pebs) = (count(content.free.len()), count(content.used.len()));
            (facts.scrub_pebs, facts.erase_pebs) = (count(content.scrub.len()), count(content.erase.len()));
            (facts.bad_pebs, facts.volumes_count) = (content.bad_pebs, count(content.volumes.len()));
            facts.stale = contradiction(&content, pebs, &facts.blocks, lebs);
        }
        Err(flaw) => facts.flaw = Some(flaw),
    }
    facts.older_blocks = of_fastmap.into_keys().filter(|peb| !facts.blocks.contains(peb)).collect();
    Some(facts)
}

fn read(
    of_fastmap: &BTreeMap<u32, Leb>,
    data: &dyn Fn(u32) -> Vec<u8>,
    facts: &mut FastmapFacts,
) -> Result<Content, String> {
    let superblock = Superblock::decode(&data(facts.anchor_number))?;
    if superblock.blocks[0].peb_number != facts.anchor_number {
        return Err(format!("its superblock says that it stands in block {}", superblock.blocks[0].peb_number));
    }
    facts.blocks = superblock.blocks.iter().map(|block| block.peb_number).collect();
    let mut all = Vec::new();
    for (number, &peb) in facts.blocks.iter().enumerate() {
        let is_part = of_fastmap.get(&peb).is_some_and(|leb| (leb.volume_id == ANCHOR_VOLUME) == (number == 0));
        if !is_part {
            return Err(format!("block {peb} does not hold its part {number}"));
        }
        all.extend(data(peb));
    }
    let is_right = superblock.crc_is_right(&all);
    facts.crc_is_right = Some(is_right);
    if !is_right {
        return Err("the CRC over its data is wrong".to_string());
    }
    Ok(Content::decode(&all)?)
}

/// The first thing that an attach by the fastmap would find otherwise than a scan.
fn contradiction(content: &Content, pebs: u32, own: &[u32], lebs: &[(u32, Leb)]) -> Option<String> {
    let pools: BTreeSet<u32> = content.pool.pebs.iter().chain(&content.wl_pool.pebs).copied().collect();
    let waiting: BTreeSet<u32> = content.erase.iter().map(|counted| counted.peb_number).collect();
    let lists = [&content.free, &content.used, &content.scrub, &content.erase];
    let listed = lists.into_iter().flatten().map(|counted| counted.peb_number);
    let known: BTreeSet<u32> = listed.chain(pools.iter().copied()).chain(own.iter().copied()).collect();
    if let Some(peb) = known.iter().find(|&&peb| peb >= pebs) {
        return Some(format!("it names block {peb}, and there are {pebs}"));
    }
    let mapped = |leb: &Leb| {
        let volume = content.volumes.iter().find(|volume| volume.id == leb.volume_id);
        volume.and_then(|volume| volume.pebs.get(leb.leb_number as usize)).copied()
    };
    let mut newest: BTreeMap<(u32, u32), (u64, u32)> = BTreeMap::new();
    for (peb, leb) in lebs.iter().filter(|(_, leb)| !leb.is_fastmap()) {
        let place = newest.entry((leb.volume_id, leb.leb_number)).or_insert((leb.sequence_number, *peb));
        *place = (*place).max((leb.sequence_number, *peb));
    }
    let in_other_block = lebs.iter().find_map(|(peb, leb)| {
        let is_newest = newest.get(&(leb.volume_id, leb.leb_number)) == Some(&(leb.sequence_number, *peb));
        let is_found = pools.contains(peb) || waiting.contains(peb) || mapped(leb) == Some(*peb);
        (is_newest && !is_found).then_some((*peb, *leb))
    });
    in_other_block.map(|(peb, leb)| {
        let (volume, number) = (leb.volume_id, leb.leb_number);
        let name =
            if leb.is_layout() { "the volume table".to_string() } else { format!("volume {volume} LEB {number}") };
        format!("block {peb} holds {name}, of which the fastmap does not know")
    })
}
