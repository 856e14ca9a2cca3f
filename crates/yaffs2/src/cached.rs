//! How chunks come into the short-op cache, and from there to flash.
//!
//! Follows the cache functions of `yaffs_guts.c` (2012) and `yaffs_cache.c` (today).

use ffslab_fs::Result;

use crate::cache::SlotNumber;
use crate::causes;
use crate::device::Device;
use crate::objects::Obj;
use crate::options::Generation;

impl Device {
    /// A slot for a chunk that is not cached, filled from flash. `None`: no slot could be made free.
    pub fn cache_chunk(&mut self, owner: Obj, chunk: u32) -> Result<Option<SlotNumber>> {
        let Some(slot) = self.free_slot()? else { return Ok(None) };
        let mut data = std::mem::take(&mut self.cache.slots[slot].data);
        let read = {
            let _why = self.chunks.sim.because(&causes::READ_MODIFY_WRITE);
            self.read_file_chunk(owner, chunk, &mut data)
        };
        let taken = &mut self.cache.slots[slot];
        taken.data = data;
        read?;
        (taken.owner, taken.chunk, taken.dirty, taken.count_bytes) = (Some(owner), chunk, false, 0);
        Ok(Some(slot))
    }

    fn free_slot(&mut self) -> Result<Option<SlotNumber>> {
        if let Some(slot) = self.cache.vacant() {
            return Ok(Some(slot));
        }
        let Some(slot) = self.cache.oldest() else { return Ok(None) };
        if self.chunks.options.generation == Generation::Today {
            self.flush_slot(slot)?;
            self.cache.slots[slot].owner = None;
            return Ok(Some(slot));
        }
        // Sources before `Today` write all dirty chunks of the file that owns the least recently used slot.
        if let (true, Some(owner)) = (self.cache.slots[slot].dirty, self.cache.slots[slot].owner) {
            self.flush_cached(owner, true)?;
            return Ok(self.cache.vacant());
        }
        Ok(Some(slot))
    }

    /// Writes the chunk in a slot to flash if it is dirty. Returns `false` when there was no space.
    fn flush_slot(&mut self, number: SlotNumber) -> Result<bool> {
        let slot = &mut self.cache.slots[number];
        let (Some(owner), true) = (slot.owner, slot.dirty) else { return Ok(true) };
        let (chunk, count_bytes) = (slot.chunk, slot.count_bytes);
        let _of_setup = self.chunks.sim.because_left(slot.changed_in);
        let data = std::mem::take(&mut slot.data);
        let written = self.write_file_chunk(owner, chunk, &data, count_bytes, true);
        let slot = &mut self.cache.slots[number];
        slot.data = data;
        slot.dirty = false;
        written
    }

    /// Writes a file's dirty chunks to flash. `discard`: the chunks also leave the cache. Only today's sources look at
    /// `discard`; in earlier ones the chunks always leave the cache.
    pub fn flush_cached(&mut self, owner: Obj, discard: bool) -> Result<()> {
        if self.chunks.options.generation == Generation::Today {
            for slot in 0..self.cache.slots.len() {
                if self.cache.slots[slot].owner == Some(owner) {
                    self.flush_slot(slot)?;
                    if discard {
                        self.cache.slots[slot].owner = None;
                    }
                }
            }
            return Ok(());
        }
        // Chunks are written in the order of the file, until one finds no space.
        loop {
            let slots = self.cache.slots.iter().enumerate().filter(|(_, slot)| slot.owner == Some(owner) && slot.dirty);
            let Some((slot, _)) = slots.min_by_key(|(_, slot)| slot.chunk) else { return Ok(()) };
            let written = self.flush_slot(slot)?;
            self.cache.slots[slot].owner = None;
            if !written {
                return Ok(());
            }
        }
    }

    /// Writes all dirty chunks of all files out.
    pub fn flush_all_cached(&mut self) -> Result<()> {
        while let Some(owner) = self.cache.slots.iter().filter(|slot| slot.dirty).find_map(|slot| slot.owner) {
            self.flush_cached(owner, false)?;
        }
        Ok(())
    }
}
