//! A cache of expanded blocks: `fs/squashfs/cache.c`. Which block leaves is decided in turns, whoever was used last.

use ffslab_fs::Errno;
use std::rc::Rc;

/// A block that was expanded.
#[derive(Clone, Debug)]
pub struct Block {
    pub bytes: Rc<Vec<u8>>,
    /// Where the next one begins, of blocks of metadata.
    pub next_offset: u64,
}

/// A block that could not be read stays in the cache, too, and is not tried again until it leaves.
type Held = Result<Block, Errno>;

pub struct BlockCache {
    held: Vec<Option<(u64, Held)>>,
    /// Which one is replaced next.
    next: usize,
}

impl BlockCache {
    pub fn new(blocks: usize) -> BlockCache {
        BlockCache { held: vec![None; blocks], next: 0 }
    }

    pub fn find(&self, at_bytes: u64) -> Option<Held> {
        let found = self.held.iter().flatten().find(|(at, _)| *at == at_bytes);
        found.map(|(_, held)| held.clone())
    }

    pub fn put(&mut self, at_bytes: u64, block: Held) {
        self.held[self.next] = Some((at_bytes, block));
        self.next = (self.next + 1) % self.held.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_leaves_even_if_it_was_just_used() {
        let block = || Ok(Block { bytes: Rc::default(), next_offset: 0 });
        let mut cache = BlockCache::new(3);
        (0..3).for_each(|at| cache.put(at, block()));
        assert!(cache.find(0).is_some());
        cache.put(3, block());
        let left: Vec<bool> = (0..4).map(|at| cache.find(at).is_some()).collect();
        assert_eq!(left, [false, true, true, true]);
    }
}
