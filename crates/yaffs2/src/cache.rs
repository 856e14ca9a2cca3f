//! The short-op cache: a few chunks that writes and short reads go through.
//!
//! Follows the cache functions of `yaffs_guts.c` (2012) and `yaffs_cache.c` (today). How chunks come into it and go to flash
//! stands in `cached.rs`.

use crate::objects::Obj;
use ffslab_sim::Phase;

const CHUNKS_MAX: u32 = 20;

pub(crate) struct Slot {
    pub owner: Option<Obj>,
    pub chunk: u32,
    last_use: u64,
    /// The chunk differs from flash. The flag stays set when the slot is emptied and then still counts in
    /// [`ShortOpCache::dirty_flags`], as in the original.
    pub dirty: bool,
    /// When a program wrote to it last.
    pub changed_in: Phase,
    pub count_bytes: u32,
    pub data: Box<[u8]>,
}

pub(crate) struct ShortOpCache {
    pub slots: Vec<Slot>,
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
            changed_in: Phase::default(),
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
    pub fn put(&mut self, phase: Phase, slot: SlotNumber, start: usize, data: &[u8], count_bytes: u32) {
        self.used(slot);
        let slot = &mut self.slots[slot];
        slot.dirty = true;
        slot.changed_in = phase;
        slot.data[start..start + data.len()].copy_from_slice(data);
        slot.count_bytes = count_bytes;
    }

    /// How many bytes the dirty chunks hold.
    pub fn unwritten_bytes(&self) -> u64 {
        let dirty = self.slots.iter().filter(|slot| slot.dirty && slot.owner.is_some());
        dirty.map(|slot| u64::from(slot.count_bytes)).sum()
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

    pub fn vacant(&self) -> Option<SlotNumber> {
        self.slots.iter().position(|slot| slot.owner.is_none())
    }

    /// The least recently used slot, whatever it holds.
    pub fn oldest(&self) -> Option<SlotNumber> {
        (0..self.slots.len()).min_by_key(|&slot| self.slots[slot].last_use)
    }
}
