//! The tree in which erase blocks stand by erase counter. Which free block UBI hands out depends on its shape: its root is taken.

use ffslab_sim::RedBlackTree;

/// A set of erase blocks, ordered by (erase counter, number).
pub struct WearTree {
    tree: RedBlackTree<(u32, u32)>,
    count: u32,
}

impl WearTree {
    /// An empty tree for blocks `0..pebs`.
    pub fn new(pebs: u32) -> WearTree {
        WearTree { tree: RedBlackTree::with_room(pebs), count: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    /// The blocks in their order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first(), |&peb| self.tree.next(peb))
    }

    /// The block behind the root.
    pub fn behind_root(&self) -> Option<u32> {
        self.tree.next(self.root()?)
    }

    /// The block at the root.
    pub fn root(&self) -> Option<u32> {
        self.tree.root()
    }

    /// The least worn block.
    pub fn first(&self) -> Option<u32> {
        self.tree.first()
    }

    /// The most worn block.
    pub fn last(&self) -> Option<u32> {
        self.tree.last()
    }

    /// Erase counter of a block in the tree.
    pub fn erases(&self, peb: u32) -> u32 {
        self.tree.key(peb).0
    }

    /// The most worn block whose counter is below the lowest one plus `difference`; the first block when there is none
    /// (`find_wl_entry`).
    pub fn below(&self, difference: u32) -> Option<u32> {
        let first = self.first()?;
        let limit = self.erases(first).saturating_add(difference);
        self.tree.last_below(|&(erases, _)| erases < limit).or(Some(first))
    }

    /// Adds a block that is not in the tree.
    pub fn insert(&mut self, peb: u32, erases: u32) {
        self.tree.insert(peb, (erases, peb));
        self.count += 1;
    }

    /// Removes a block that is in the tree.
    pub fn remove(&mut self, peb: u32) {
        self.tree.remove(peb);
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freshly_formatted_partition_is_used_from_its_middle_on() {
        let mut tree = WearTree::new(160);
        for peb in 0..160 {
            tree.insert(peb, 1);
        }
        for expected in 63..87 {
            assert_eq!(tree.root(), Some(expected));
            tree.remove(expected);
        }
    }

    #[test]
    fn the_blocks_come_in_their_order() {
        let mut tree = WearTree::new(300);
        for peb in (0..300).rev() {
            tree.insert(peb, peb % 7);
        }
        for peb in (0..300).step_by(3) {
            tree.remove(peb);
        }
        let blocks: Vec<u32> = tree.iter().collect();
        assert_eq!((blocks.len(), tree.count()), (200, 200));
        assert!(blocks.is_sorted_by_key(|&peb| (peb % 7, peb)));
        let root = blocks.iter().position(|&peb| Some(peb) == tree.root()).unwrap();
        assert_eq!(tree.behind_root(), Some(blocks[root + 1]));
    }

    #[test]
    fn the_most_worn_block_below_a_limit_is_found() {
        let mut tree = WearTree::new(300);
        assert_eq!(tree.below(5), None);
        for (peb, erases) in [(7, 10), (3, 12), (9, 14), (4, 14), (1, 20)] {
            tree.insert(peb, erases);
        }
        assert_eq!(tree.below(0), Some(7));
        assert_eq!(tree.below(4), Some(3));
        assert_eq!(tree.below(5), Some(9));
        assert_eq!(tree.below(100), Some(1));
    }
}
