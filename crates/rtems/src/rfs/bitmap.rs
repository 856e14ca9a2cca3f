//! Bitmaps of blocks and inodes, and the search for a free bit.
//!
//! Follows `rtems-rfs-bitmaps.c`. On disk a bit is 1 when it is free, and the bits stand in 32-bit words in the byte order
//! of the CPU: here little-endian, as on ARM and x86. A search map has a bit per word: 1 when the word may have a free bit.

use super::handle::{Handle, Held};
use crate::bdbuf::Bdbuf;
use ffslab_fs::Errno;

const ELEMENT_BITS: i32 = 32;
/// All bits taken.
const TAKEN: u32 = 0;
/// All bits free.
const FREE: u32 = u32::MAX;
/// How far a search goes in one direction before it turns round.
const WINDOW_BITS: i32 = ELEMENT_BITS * 64;

#[derive(Debug)]
pub(super) struct Bitmap {
    pub handle: Handle,
    block: u32,
    pub size: u32,
    pub free: u32,
    search: Vec<u32>,
}

fn is_taken(element: u32, bit: i32) -> bool {
    element & (1 << bit) == 0
}

fn element(map: &[u8], index: i32) -> u32 {
    let at = index as usize * 4;
    match (index >= 0).then(|| map.get(at..at + 4)).flatten() {
        Some(bytes) => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        None => TAKEN,
    }
}

fn set_element(map: &mut [u8], index: i32, value: u32) {
    let at = index as usize * 4;
    if let Some(bytes) = map.get_mut(at..at + 4) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}

impl Bitmap {
    /// `rtems_rfs_bitmap_open`: reads the map and counts what is free.
    pub fn open(held: &mut Held, cache: &mut Bdbuf, handle: Handle, size: u32, block: u32) -> Result<Bitmap, Errno> {
        let elements = size.div_ceil(32);
        let search = vec![FREE; elements.div_ceil(32) as usize];
        let mut bitmap = Bitmap { handle, block, size, free: 0, search };
        bitmap.load(held, cache)?;
        let map = bitmap.handle.data(cache);
        for index in 0..elements as i32 {
            let bits = match size - index as u32 * 32 {
                rest @ 0..32 => element(map, index) & ((1 << rest) - 1),
                _ => element(map, index),
            };
            // The original determines which words are full, but does not store it, so the search map starts without
            // full words.
            bitmap.free += bits.count_ones();
        }
        Ok(bitmap)
    }

    pub fn load(&mut self, held: &mut Held, cache: &mut Bdbuf) -> Result<(), Errno> {
        held.request(cache, &mut self.handle, self.block, true)
    }

    /// `rtems_rfs_bitmap_map_set`: takes a bit.
    pub fn take(&mut self, held: &mut Held, cache: &mut Bdbuf, bit: u32) -> Result<(), Errno> {
        self.load(held, cache)?;
        if bit >= self.size {
            return Err(Errno::Inval);
        }
        let (index, offset) = (bit as i32 / ELEMENT_BITS, bit as i32 % ELEMENT_BITS);
        let map = self.handle.data_mut(cache);
        let before = element(map, index);
        let after = before & !(1 << offset);
        if after == before {
            return Ok(());
        }
        set_element(map, index, after);
        self.free = self.free.saturating_sub(1);
        self.handle.dirty = true;
        if after == TAKEN {
            self.search[(index / ELEMENT_BITS) as usize] &= !(1 << (index % ELEMENT_BITS));
        }
        Ok(())
    }

    /// `rtems_rfs_bitmap_map_clear`: gives a bit back.
    pub fn give_back(&mut self, held: &mut Held, cache: &mut Bdbuf, bit: u32) -> Result<(), Errno> {
        self.load(held, cache)?;
        if bit >= self.size {
            return Err(Errno::Inval);
        }
        let (index, offset) = (bit as i32 / ELEMENT_BITS, bit as i32 % ELEMENT_BITS);
        let map = self.handle.data_mut(cache);
        let before = element(map, index);
        let after = before | (1 << offset);
        if after == before {
            return Ok(());
        }
        set_element(map, index, after);
        self.search[(index / ELEMENT_BITS) as usize] |= 1 << (index % ELEMENT_BITS);
        self.handle.dirty = true;
        self.free += 1;
        Ok(())
    }

    /// `rtems_rfs_bitmap_map_clear_all`: everything is free.
    pub fn free_all(&mut self, held: &mut Held, cache: &mut Bdbuf) -> Result<(), Errno> {
        self.load(held, cache)?;
        self.free = self.size;
        let map = self.handle.data_mut(cache);
        let elements = self.size.div_ceil(32);
        for index in 0..elements as i32 {
            set_element(map, index, FREE);
        }
        self.search.fill(FREE);
        // Bits of the search map for which there is no word are marked as taken.
        let last_bits = elements % 32;
        if let (Some(last), 1..) = (self.search.last_mut(), last_bits) {
            *last = (1 << last_bits) - 1;
        }
        self.handle.dirty = true;
        Ok(())
    }

    /// `rtems_rfs_bitmap_map_alloc`: takes the first free bit that the search finds. It searches a window upwards from
    /// the seed, then one downwards, and so on with windows further away.
    pub fn allocate(&mut self, held: &mut Held, cache: &mut Bdbuf, seed: u32) -> Result<Option<u32>, Errno> {
        let size = self.size as i32;
        let (mut upper, mut lower) = (seed as i32, seed as i32);
        while upper < size || (0..size).contains(&lower) {
            if upper < size {
                if let Some(bit) = self.search_from(held, cache, upper, 1)? {
                    return Ok(Some(bit));
                }
            }
            if lower >= 0 {
                if let Some(bit) = self.search_from(held, cache, lower, -1)? {
                    return Ok(Some(bit));
                }
            }
            if upper < size {
                upper += WINDOW_BITS;
            }
            if lower >= 0 {
                lower -= WINDOW_BITS;
            }
        }
        Ok(None)
    }

    /// `rtems_rfs_search_map_for_clear_bit`.
    fn search_from(
        &mut self,
        held: &mut Held,
        cache: &mut Bdbuf,
        from: i32,
        direction: i32,
    ) -> Result<Option<u32>, Errno> {
        self.load(held, cache)?;
        let up = direction > 0;
        let restart = if up { 0 } else { ELEMENT_BITS - 1 };
        let mut bit = from;
        let end = (bit + WINDOW_BITS * direction).clamp(0, self.size as i32 - 1);
        let (mut index, mut offset) = (bit / ELEMENT_BITS, bit % ELEMENT_BITS);
        let (mut search_index, mut search_offset) = (index / ELEMENT_BITS, index % ELEMENT_BITS);
        loop {
            let searched = self.search.get(search_index.max(0) as usize).copied().unwrap_or(TAKEN);
            if searched != TAKEN && search_index >= 0 {
                while (0..ELEMENT_BITS).contains(&search_offset) {
                    if !is_taken(self.search[search_index as usize], search_offset) {
                        let bits = element(self.handle.data(cache), index);
                        while (0..ELEMENT_BITS).contains(&offset) {
                            if !is_taken(bits, offset) {
                                self.found(cache, index, offset, search_index, search_offset);
                                return Ok(Some(bit as u32));
                            }
                            if bit == end {
                                break;
                            }
                            offset += direction;
                            bit += direction;
                        }
                    }
                    index += direction;
                    offset = restart;
                    bit = index * ELEMENT_BITS + offset;
                    search_offset += direction;
                    if (!up && bit <= end) || (up && bit >= end) {
                        break;
                    }
                }
            } else {
                // All 32 words of this word of the search map are full, so the search goes on with the next one.
                bit &= !(ELEMENT_BITS - 1);
                let skipped = if up { ELEMENT_BITS - search_offset } else { search_offset + 1 };
                bit += if up { skipped * ELEMENT_BITS } else { -((skipped - 1) * ELEMENT_BITS + 1) };
                offset = restart;
                index += direction * skipped;
            }
            search_index += direction;
            search_offset = restart;
            if (!up && bit < end) || (up && bit > end) {
                return Ok(None);
            }
        }
    }

    fn found(&mut self, cache: &mut Bdbuf, index: i32, offset: i32, search_index: i32, search_offset: i32) {
        let map = self.handle.data_mut(cache);
        let bits = element(map, index) & !(1 << offset);
        set_element(map, index, bits);
        if bits == TAKEN {
            self.search[search_index as usize] &= !(1 << search_offset);
        }
        self.free = self.free.saturating_sub(1);
        self.handle.dirty = true;
    }
}
