//! Memory for the pages that hold something: equal slots in chunks that never move, with a free list.
//! An erased page owns no slot, so memory follows what is programmed and not the size of the chip.

/// Bytes allocated at a time.
const CHUNK_BYTES: usize = 256 * 1024;

/// "No slot": the page is erased.
pub const NONE: u32 = u32::MAX;

pub struct Slab {
    slot_bytes: usize,
    /// Slots of a chunk, as a power of two.
    chunk_shift: u32,
    chunks: Vec<Box<[u8]>>,
    /// Slots handed out at least once.
    touched: u32,
    free: Vec<u32>,
}

impl Slab {
    pub fn new(slot_bytes: u32) -> Slab {
        let slot_bytes = slot_bytes as usize;
        let chunk_shift = (CHUNK_BYTES / slot_bytes).max(1).ilog2();
        Slab { slot_bytes, chunk_shift, chunks: Vec::new(), touched: 0, free: Vec::new() }
    }

    /// A slot with undefined content.
    #[inline]
    pub fn take(&mut self) -> u32 {
        match self.free.pop() {
            Some(slot) => slot,
            None => self.take_new(),
        }
    }

    fn take_new(&mut self) -> u32 {
        let slot = self.touched;
        if (slot >> self.chunk_shift) as usize == self.chunks.len() {
            self.chunks.push(vec![0; self.slot_bytes << self.chunk_shift].into_boxed_slice());
        }
        self.touched += 1;
        slot
    }

    #[inline]
    pub fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[inline]
    fn place(&self, slot: u32) -> (usize, usize) {
        let within = (slot & ((1 << self.chunk_shift) - 1)) as usize;
        ((slot >> self.chunk_shift) as usize, within * self.slot_bytes)
    }

    #[inline]
    pub fn get(&self, slot: u32) -> &[u8] {
        let (chunk, at) = self.place(slot);
        &self.chunks[chunk][at..at + self.slot_bytes]
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut [u8] {
        let (chunk, at) = self.place(slot);
        &mut self.chunks[chunk][at..at + self.slot_bytes]
    }

    /// Bytes allocated for slots.
    pub fn allocated_bytes(&self) -> u64 {
        (self.chunks.len() as u64) * ((self.slot_bytes as u64) << self.chunk_shift)
    }
}

impl Clone for Slab {
    fn clone(&self) -> Slab {
        Slab { chunks: self.chunks.clone(), free: self.free.clone(), ..*self }
    }

    /// Reuses the chunks that are already there, so that restoring a snapshot again and again does not allocate.
    fn clone_from(&mut self, source: &Slab) {
        self.chunks.truncate(source.chunks.len());
        let have = self.chunks.len();
        for (mine, theirs) in self.chunks.iter_mut().zip(&source.chunks) {
            mine.copy_from_slice(theirs);
        }
        self.chunks.extend_from_slice(&source.chunks[have..]);
        self.free.clone_from(&source.free);
        self.touched = source.touched;
    }
}
