//! Which blocks of a file have been touched: random I/O visits every block once before it visits any block twice.
//!
//! A search gives the same result as fio's `lib/axmap.c`: the block itself if it is free, or the next free one behind
//! it, continuing at the start after the end.

/// A set of blocks with a fast search for the next block that is not in it: each level above the first has one bit for
/// each full word of the level below.
#[derive(Clone, Debug)]
pub struct RandomMap {
    blocks: u64,
    /// The first level has a bit for each block, each further level a bit for each full word of the level before.
    levels: Vec<Vec<u64>>,
}

const WORD: u64 = 64;

impl RandomMap {
    pub fn new(blocks: u64) -> RandomMap {
        let mut levels = Vec::new();
        let mut bits = blocks;
        loop {
            let words = bits.div_ceil(WORD);
            let mut level = vec![0; words as usize];
            // Bits behind the end count as taken.
            if let Some(last) = level.last_mut().filter(|_| !bits.is_multiple_of(WORD)) {
                *last = u64::MAX << (bits % WORD);
            }
            levels.push(level);
            if words <= 1 {
                break;
            }
            bits = words;
        }
        RandomMap { blocks, levels }
    }

    pub fn clear(&mut self) {
        *self = RandomMap::new(self.blocks);
    }

    pub fn is_free(&self, block: u64) -> bool {
        block < self.blocks && self.levels[0][(block / WORD) as usize] & (1 << (block % WORD)) == 0
    }

    fn take(&mut self, block: u64) {
        let mut bit = block;
        for level in &mut self.levels {
            let word = &mut level[(bit / WORD) as usize];
            *word |= 1 << (bit % WORD);
            if *word != u64::MAX {
                break;
            }
            bit /= WORD;
        }
    }

    /// Takes up to `count` free blocks from `block` on, and stops at the first that is taken. Returns how many it took.
    pub fn take_run(&mut self, block: u64, count: u64) -> u64 {
        let mut taken = 0;
        while taken < count && self.is_free(block + taken) {
            self.take(block + taken);
            taken += 1;
        }
        taken
    }

    /// `block` if it is free, or the next free block behind it, continuing at the start after the end; `None`: no block
    /// is free.
    pub fn free_from(&self, block: u64) -> Option<u64> {
        if self.is_free(block) {
            return Some(block);
        }
        self.first_free(block).or_else(|| self.first_free(0))
    }

    /// The first free block that is not below `from`.
    fn first_free(&self, from: u64) -> Option<u64> {
        let mut from = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = (from / WORD) as usize;
            let free = !level.get(word)? & (u64::MAX << (from % WORD));
            if free != 0 {
                let mut found = word as u64 * WORD + u64::from(free.trailing_zeros());
                for below in self.levels[..height].iter().rev() {
                    found = found * WORD + u64::from((!below[found as usize]).trailing_zeros());
                }
                return Some(found);
            }
            // No block of this word is free. The level above tells which of the following words is not full.
            from = word as u64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    #[test]
    fn finds_what_a_linear_search_finds() {
        for blocks in [1, 63, 64, 65, 5000] {
            let mut map = RandomMap::new(blocks);
            let mut taken = vec![false; blocks as usize];
            let mut prng = SplitMix64::new(blocks);
            for _ in 0..blocks {
                let start = prng.below(blocks);
                let expected = (start..blocks).chain(0..start).find(|&b| !taken[b as usize]);
                assert_eq!(map.free_from(start), expected);
                let block = expected.unwrap();
                assert_eq!(map.take_run(block, 1), 1);
                taken[block as usize] = true;
                assert!(!map.is_free(block));
            }
            assert_eq!(map.free_from(0), None);
            map.clear();
            assert_eq!(map.free_from(0), Some(0));
        }
    }

    #[test]
    fn a_run_ends_before_a_taken_block_and_at_the_end() {
        let mut map = RandomMap::new(100);
        assert_eq!(map.take_run(10, 1), 1);
        assert_eq!(map.take_run(4, 20), 6);
        assert_eq!(map.take_run(95, 20), 5);
    }
}
