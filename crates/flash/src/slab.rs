//! Memory for pages that are not erased: slots of equal size with a free list. The host commits a slot when it is first
//! used. Erased pages have no slot (but may share one with a programmed page), so memory depends on the number of
//! programmed pages and not on the size of the chip.

use ffslab_sim::Arena;

/// "No slot": the page is erased.
pub const NONE: u32 = u32::MAX;

pub struct Slab {
    slot_bytes: usize,
    arena: Arena,
    slots: u32,
    /// Slots handed out at least once.
    touched: u32,
    free: Vec<u32>,
}

impl Slab {
    /// Room for at most `slots` slots.
    pub fn new(slot_bytes: u32, slots: u32) -> Slab {
        let slot_bytes = slot_bytes as usize;
        Slab { slot_bytes, arena: Arena::new(slot_bytes * slots as usize), slots, touched: 0, free: Vec::new() }
    }

    /// A slot with undefined content.
    #[inline]
    pub fn take(&mut self) -> u32 {
        match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.touched += 1;
                self.touched - 1
            }
        }
    }

    #[inline]
    pub fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[inline]
    pub fn get(&self, slot: u32) -> &[u8] {
        let at = slot as usize * self.slot_bytes;
        &self.arena[at..at + self.slot_bytes]
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut [u8] {
        let at = slot as usize * self.slot_bytes;
        &mut self.arena[at..at + self.slot_bytes]
    }

    /// Bytes of the slots that were ever used.
    pub fn allocated_bytes(&self) -> u64 {
        self.used_bytes() as u64
    }

    fn used_bytes(&self) -> usize {
        self.touched as usize * self.slot_bytes
    }
}

impl Clone for Slab {
    fn clone(&self) -> Slab {
        let mut copy = Slab::new(self.slot_bytes as u32, self.slots);
        copy.clone_from(self);
        copy
    }

    /// Reuses the memory that is already allocated, so that restoring a snapshot again and again does not allocate.
    fn clone_from(&mut self, source: &Slab) {
        if self.slot_bytes != source.slot_bytes || self.slots != source.slots {
            *self = Slab::new(source.slot_bytes as u32, source.slots);
        }
        let used_bytes = source.used_bytes();
        self.arena[..used_bytes].copy_from_slice(&source.arena[..used_bytes]);
        self.free.clone_from(&source.free);
        self.touched = source.touched;
    }
}
