//! A volume with UBIFS out of the partition on which it was filled, as an image that is shipped.

use ffslab_ubi::probe::{headers, offsets};
use std::collections::BTreeMap;

/// The only volume of a partition of UBI that was detached, as `mkfs.ubifs` would have made it: its LEBs one after the other.
/// `partition`: page data without OOB areas. See [`ffslab_ubifs::shipped::cut_to_ship`].
///
/// Errors: it holds no such volume.
pub fn shipped(partition: &[u8], block_bytes: usize, space_fixup: bool, uuid: [u8; 16]) -> Result<Vec<u8>, String> {
    let mut newest: BTreeMap<u32, (u64, &[u8])> = BTreeMap::new();
    let mut leb_bytes = 0;
    for block in partition.chunks_exact(block_bytes.max(1)) {
        let Some((vid, data)) = offsets(block) else { continue };
        let Some(leb) = headers(block, vid, data).leb.filter(|leb| !leb.is_internal()) else { continue };
        let Some(held) = block.get(data as usize..) else { continue };
        leb_bytes = held.len();
        let found = newest.entry(leb.leb_number).or_insert((leb.sequence_number, held));
        *found = (*found).max((leb.sequence_number, held));
    }
    let superblock = newest.get(&0).and_then(|(_, leb)| ffslab_ubifs::probe::superblock(leb));
    let superblock = superblock.ok_or("the partition holds no UBIFS")?;
    let mut volume = vec![0xFF; superblock.lebs as usize * leb_bytes];
    for (leb, (_, held)) in newest {
        let place = leb as usize * leb_bytes;
        // What a LEB beyond the file system holds, no mount reads.
        if let Some(place) = volume.get_mut(place..place + leb_bytes) {
            place.copy_from_slice(held);
        }
    }
    ffslab_ubifs::shipped::cut_to_ship(&mut volume, space_fixup, uuid)?;
    Ok(volume)
}
