//! Writing a fastmap in place of the one that is on the flash.
//!
//! Follows Linux 6.1.192 `drivers/mtd/ubi/fastmap.c` (`ubi_update_fastmap`, `ubi_write_fastmap`). The anchor's header is written first:
//! from then on an attach finds no older fastmap, and scans all blocks if this one does not become whole.

use super::format::{Content, Counted, PoolRecord, VolumeMap, ANCHOR_VOLUME, DATA_VOLUME};
use super::Block;
use crate::causes;
use crate::device::{Device, VolumeState, Work};
use crate::error::UbiError;
use crate::media::{compat, LebAddress, VidHeader, VolumeKind, LAYOUT_LEBS, LAYOUT_VOLUME};
use crate::wear::Place;

type Blocks = Vec<Option<Block>>;

impl Device {
    /// Fills the pools and writes a fastmap, unless none is to be written. What goes wrong with the blocks of a fastmap leaves UBI
    /// without one.
    ///
    /// Errors: a power cut.
    pub fn update_fastmap(&mut self) -> Result<(), UbiError> {
        let _why = self.sim.because(&causes::FASTMAP);
        let updated = self.refill_and_write();
        self.io.read_only |= updated.is_err();
        updated
    }

    fn refill_and_write(&mut self) -> Result<(), UbiError> {
        self.refill_pools()?;
        let Some(fastmap) = self.wear.fastmap.as_mut() else { return Ok(()) };
        fastmap.update_wanted = false;
        if self.io.read_only || fastmap.disabled {
            return Ok(());
        }
        let count = fastmap.blocks as usize;
        let mut old: Option<Blocks> = fastmap.written.take().map(|blocks| blocks.into_iter().map(Some).collect());
        let mut new: Blocks = vec![None; count];
        let written = self.find_blocks(&mut old, &mut new).and_then(|()| self.write_fastmap(&new));
        match written {
            Ok(()) => {
                if let Some(fastmap) = self.wear.fastmap.as_mut() {
                    fastmap.written = Some(new.into_iter().flatten().collect());
                }
            }
            Err(UbiError::PowerCut) => return Err(UbiError::PowerCut),
            Err(_) => {
                // The kernel means to make the old one invalid here, but has forgotten by now that there is one (`invalidate_fastmap`).
                self.return_blocks(&mut old.unwrap_or_default());
                self.return_blocks(&mut new);
            }
        }
        self.ensure_anchor();
        Ok(())
    }

    /// Finds a place for each part; where no block is free, that of the old fastmap is erased at once.
    fn find_blocks(&mut self, old: &mut Option<Blocks>, new: &mut [Option<Block>]) -> Result<(), UbiError> {
        for number in 1..new.len() {
            let before = old.as_mut().and_then(|old| old.get_mut(number)).and_then(Option::take);
            new[number] = match (self.take_fm_peb(false), before) {
                (Some(peb), before) => {
                    self.return_blocks_of(number, before);
                    Some(Block { peb_number: peb, torture: false })
                }
                (None, Some(before)) => Some(self.erase_block(number, before).inspect_err(|_| {
                    self.return_data_blocks(new, number);
                })?),
                (None, None) => {
                    self.return_data_blocks(new, number);
                    return Err(UbiError::NoSpace);
                }
            };
        }
        if let Some(old) = old {
            for (number, before) in old.iter_mut().enumerate().skip(new.len()) {
                self.return_blocks_of(number, before.take());
            }
        }
        let before = old.as_mut().and_then(|old| old.first_mut()).and_then(Option::take);
        let anchor = self.wear.fastmap.as_mut().and_then(|fastmap| fastmap.anchor_number.take());
        new[0] = match (anchor, before) {
            (Some(peb), before) => {
                self.wear.put(peb, Place::Fastmap);
                self.return_blocks_of(0, before);
                Some(Block { peb_number: peb, torture: false })
            }
            (None, Some(before)) => Some(self.erase_block(0, before).inspect_err(|_| {
                let count = new.len();
                self.return_data_blocks(new, count);
            })?),
            (None, None) => {
                let count = new.len();
                self.return_data_blocks(new, count);
                return Err(UbiError::NoSpace);
            }
        };
        Ok(())
    }

    /// Erases a block of the old fastmap for the new one; if that fails, it goes the way of all others.
    fn erase_block(&mut self, number: usize, mut block: Block) -> Result<Block, UbiError> {
        match self.erase_and_count(block.peb_number, &mut block.torture) {
            Ok(()) => Ok(block),
            Err(error) => {
                self.return_blocks_of(number, Some(block));
                Err(error)
            }
        }
    }

    fn return_data_blocks(&mut self, blocks: &mut [Option<Block>], before: usize) {
        for (number, block) in blocks.iter_mut().enumerate().take(before).skip(1) {
            self.return_blocks_of(number, block.take());
        }
    }

    fn return_blocks(&mut self, blocks: &mut [Option<Block>]) {
        for (number, block) in blocks.iter_mut().enumerate() {
            self.return_blocks_of(number, block.take());
        }
    }

    /// The part `number` of a fastmap is to be erased (`ubi_wl_put_fm_peb`).
    fn return_blocks_of(&mut self, number: usize, block: Option<Block>) {
        if let Some(Block { peb_number: peb, torture }) = block {
            let volume_id = if number == 0 { ANCHOR_VOLUME } else { DATA_VOLUME };
            self.schedule_erase(peb, Some(LebAddress { volume_id, leb_number: number as u32 }), torture);
        }
    }

    fn write_fastmap(&mut self, new: &[Option<Block>]) -> Result<(), UbiError> {
        let pebs: Vec<u32> = new.iter().flatten().map(|block| block.peb_number).collect();
        let counted: Vec<Counted> = pebs.iter().map(|&peb| self.counted(peb)).collect();
        let leb_bytes = self.io.layout.leb_bytes;
        let data = self.fastmap_content().encode(&counted, leb_bytes);
        for (number, &peb) in (0..).zip(&pebs) {
            let header = VidHeader {
                kind: VolumeKind::Dynamic,
                is_copy: false,
                // A kernel without fastmap erases it.
                compat: compat::DELETE,
                volume_id: if number == 0 { ANCHOR_VOLUME } else { DATA_VOLUME },
                leb_number: number,
                data_bytes: 0,
                used_lebs: 0,
                pad_bytes: 0,
                data_crc: 0,
                sequence_number: self.take_sequence_number(),
            };
            self.io.write_vid_header(peb, &header)?;
        }
        for (&peb, part) in pebs.iter().zip(data.chunks(leb_bytes as usize)) {
            self.io.write_data(peb, 0, part)?;
        }
        Ok(())
    }

    fn counted(&self, peb: u32) -> Counted {
        Counted { peb_number: peb, erases: self.wear.erases[peb as usize] }
    }

    /// What the fastmap says of the blocks and volumes as they are now.
    fn fastmap_content(&self) -> Content {
        let wear = &self.wear;
        let counted = |pebs: &mut dyn Iterator<Item = u32>| pebs.map(|peb| self.counted(peb)).collect::<Vec<_>>();
        let pools = wear.fastmap.as_ref().map(|fastmap| {
            [&fastmap.pool, &fastmap.wl_pool]
                .map(|pool| PoolRecord { pebs: pool.pebs.clone(), max_pebs: pool.max_pebs as u32 })
        });
        let [pool, wl_pool] = pools.unwrap_or_default();
        let mut waiting = wear.works.iter().filter_map(|work| match work {
            Work::Erase(work) => Some(work.peb_number),
            Work::Move => None,
        });
        Content {
            pool,
            wl_pool,
            free: counted(&mut wear.free.iter()),
            used: counted(&mut wear.used.iter().chain(wear.protection.iter())),
            scrub: counted(&mut wear.scrub.iter()),
            erase: counted(&mut waiting),
            bad_pebs: self.space.bad_pebs,
            volumes: self.volumes.iter().flatten().filter(|volume| !volume.is_leaving).map(map_of).collect(),
        }
    }

    /// Whether fastmaps are written now.
    pub fn writes_fastmap(&self) -> bool {
        self.wear.fastmap.as_ref().is_some_and(|fastmap| !fastmap.disabled) && !self.io.read_only
    }

    /// What stands in the fastmap of volumes has changed (`ubi_volume_notify`).
    pub fn volume_changed(&mut self) -> Result<(), UbiError> {
        if self.wear.fastmap.is_some() {
            self.update_fastmap()?;
        }
        Ok(())
    }
}

fn map_of(volume: &VolumeState) -> VolumeMap {
    VolumeMap {
        id: volume.id,
        kind: volume.kind,
        pad_bytes: volume.pad_bytes,
        used_lebs: volume.used_lebs,
        // Of the volume table the kernel has the number of its blocks here (`init_volumes` of `vtbl.c`).
        last_leb_bytes: if volume.id == LAYOUT_VOLUME { LAYOUT_LEBS } else { volume.last_leb_bytes },
        pebs: volume.pebs.clone(),
    }
}
