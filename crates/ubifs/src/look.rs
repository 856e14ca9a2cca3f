//! What each erase block holds, for an observer of the simulation: UBI's headers, and the LEBs as the LPT has them.

use crate::Ubifs;
use ffslab_fs::BlockSpace;
use ffslab_ubi::PebUse;

impl Ubifs {
    /// Valid, obsolete and free bytes of every erase block. Written bytes outside the main area count as valid, because
    /// those areas are rewritten as a whole; so do written bytes of other volumes. Empty when the LPT is damaged.
    pub(crate) fn look_at_blocks(&self) -> Vec<BlockSpace> {
        let core = &self.core;
        let Ok(lprops) = core.space.look_at_lprops(&core.lebs) else { return Vec::new() };
        let (all, data) = (self.ubi.peb_bytes(), self.ubi.leb_bytes());
        let headers = all - data;
        let mut space = Vec::new();
        for peb in self.ubi.look_at_pebs() {
            space.push(match peb {
                PebUse::Nowhere => BlockSpace::default(),
                PebUse::Free => BlockSpace { valid_bytes: headers, free_bytes: data, ..BlockSpace::default() },
                PebUse::Pending => BlockSpace { invalid_bytes: all, ..BlockSpace::default() },
                PebUse::Fastmap => BlockSpace { valid_bytes: all, ..BlockSpace::default() },
                PebUse::Leb { address, written_bytes } => {
                    let lprops = (address.volume_id == core.lebs.volume_id())
                        .then(|| address.leb_number.checked_sub(core.lebs.geo.main_first))
                        .flatten()
                        .and_then(|i| lprops.get(i as usize));
                    let (free_bytes, invalid_bytes) = match lprops {
                        Some(&(free, dirty)) => (free, dirty),
                        None => (data - written_bytes.min(data), 0),
                    };
                    BlockSpace { valid_bytes: all - free_bytes - invalid_bytes, invalid_bytes, free_bytes }
                }
            });
        }
        space
    }
}
