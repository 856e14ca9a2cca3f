//! The short-op cache: a few chunks that writes and short reads go through.
//!
//! Follows the cache functions of `yaffs_guts.c` (2012) and `yaffs_cache.c` (today).

use crate::causes;
use ffslab_fs::Result;

use crate::device::Device;
use crate::objects::Obj;
use crate::options::Generation;

const CHUNKS_MAX: u32 = 20;

struct Slot {
    owner: Option<Obj>,
    chunk: u32,
    last_use: u64,
    /// The chunk differs from flash. The flag stays set when the slot is emptied and then still counts in
    /// [`ShortOpCache::dirty_flags`], as in the original.
    dirty: bool,
    /// The chunk has been dirty since the setup of an experiment.
    is_of_setup: bool,
    count_bytes: u32,
    data: Box<[u8]>,
}

pub(crate) struct ShortOpCache {
    slots: Vec<Slot>,
    uses: u64,
}

/// Position in the cache.
pub type SlotNumber = usize;

impl ShortOpCache {
    pub fn new(chunks: u32, data_bytes: u32) -> ShortOpCache {
        let slot = || Slot {
            owner: None,
            chunk: 0,
            last_use: 0,
            dirty: false,
            is_of_setup: false,
            count_bytes: 0,
            data: vec![0; data_bytes as usize].into_boxed_slice(),
        };
        ShortOpCache { slots: (0..chunks.min(CHUNKS_MAX)).map(|_| slot()).collect(), uses: 0 }
    }

    pub fn is_on(&self) -> bool {
        !self.slots.is_empty()
    }

    #[inline]
    pub fn find(&self, owner: Obj, chunk: u32) -> Option<SlotNumber> {
        self.slots.iter().position(|slot| slot.owner == Some(owner) && slot.chunk == chunk)
    }

    pub fn data(&self, slot: SlotNumber) -> &[u8] {
        &self.slots[slot].data
    }

    pub fn is_dirty(&self, slot: SlotNumber) -> bool {
        self.slots[slot].dirty
    }

    pub fn has_dirty(&self, owner: Obj) -> bool {
        self.slots.iter().any(|slot| slot.owner == Some(owner) && slot.dirty)
    }

    pub fn dirty_flags(&self) -> i32 {
        self.slots.iter().filter(|slot| slot.dirty).count() as i32
    }

    /// Notes that the slot was used now, for the choice of the least recently used one.
    pub fn used(&mut self, slot: SlotNumber) {
        self.uses += 1;
        self.slots[slot].last_use = self.uses;
    }

    /// Puts bytes that a program wrote into a chunk. From now on the first `count_bytes` bytes of the chunk hold data
    /// of the file.
    pub fn put(&mut self, slot: SlotNumber, start: usize, data: &[u8], count_bytes: u32) {
        self.used(slot);
        let slot = &mut self.slots[slot];
        slot.dirty = true;
        slot.is_of_setup = false;
        slot.data[start..start + data.len()].copy_from_slice(data);
        slot.count_bytes = count_bytes;
    }

    /// Marks all dirty chunks as left by the setup of an experiment. Returns how many bytes they hold.
    pub fn measurement_begins(&mut self) -> u64 {
        let mut bytes = 0;
        for slot in self.slots.iter_mut().filter(|slot| slot.dirty && slot.owner.is_some()) {
            slot.is_of_setup = true;
            bytes += u64::from(slot.count_bytes);
        }
        bytes
    }

    pub fn forget_chunk(&mut self, owner: Obj, chunk: u32) {
        if let Some(slot) = self.find(owner, chunk) {
            self.slots[slot].owner = None;
        }
    }

    pub fn forget_file(&mut self, owner: Obj) {
        for slot in self.slots.iter_mut().filter(|slot| slot.owner == Some(owner)) {
            slot.owner = None;
        }
    }

    fn vacant(&self) -> Option<SlotNumber> {
        self.slots.iter().position(|slot| slot.owner.is_none())
    }

    /// The least recently used slot, whatever it holds.
    fn oldest(&self) -> Option<SlotNumber> {
        (0..self.slots.len()).min_by_key(|&slot| self.slots[slot].last_use)
    }
}

impl Device {
    /// A slot for a chunk that is not cached, filled from flash. `None`: no slot could be made free.
    pub fn cache_chunk(&mut self, owner: Obj, chunk: u32) -> Result<Option<SlotNumber>> {
        let Some(slot) = self.free_slot()? else { return Ok(None) };
        let mut data = std::mem::take(&mut self.cache.slots[slot].data);
        let read = {
            let _why = self.sim.because(&causes::READ_MODIFY_WRITE);
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
        if self.options.generation == Generation::Today {
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
        let _of_setup = self.sim.because_of_setup_if(std::mem::take(&mut slot.is_of_setup));
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
        if self.options.generation == Generation::Today {
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
