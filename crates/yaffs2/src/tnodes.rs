//! Which chunk on flash holds which chunk of a file: a tree per file, 16 chunks in a leaf, 8 branches above.
//!
//! Follows the tnode functions of `yaffs_guts.c`. Nodes lie in one arena; number 0 stands for none. The number of nodes
//! matters beyond memory: the space that is kept for a checkpoint depends on it.

/// Number of a tnode in the arena.
pub type Tnode = u32;

pub const LEAF_CHUNKS: usize = 16;
const LEAF_BITS: u32 = 4;
const BRANCHES: usize = 8;
const BRANCH_BITS: u32 = 3;
const LEVELS_MAX: u32 = 8;
/// Highest chunk of a file, counted from 1.
pub const CHUNK_ID_MAX: u32 = (1 << (LEAF_BITS + BRANCH_BITS * LEVELS_MAX)) - 1;

/// A file's tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    pub top: Tnode,
    /// 0: the top is a leaf.
    pub top_level: u32,
}

pub struct Tnodes {
    nodes: Vec<[u32; LEAF_CHUNKS]>,
    free: Vec<Tnode>,
    count: u32,
}

fn levels_for(chunk: u32) -> u32 {
    let mut rest = chunk >> LEAF_BITS;
    let mut levels = 0;
    while rest != 0 {
        rest >>= BRANCH_BITS;
        levels += 1;
    }
    levels
}

fn branch_of(chunk: u32, level: u32) -> usize {
    (chunk >> (LEAF_BITS + (level - 1) * BRANCH_BITS)) as usize & (BRANCHES - 1)
}

fn place_in_leaf(chunk: u32) -> usize {
    chunk as usize & (LEAF_CHUNKS - 1)
}

impl Tnodes {
    pub fn new() -> Tnodes {
        Tnodes { nodes: vec![[0; LEAF_CHUNKS]], free: Vec::new(), count: 0 }
    }

    /// Number of nodes in use, leaves and inner nodes.
    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn add(&mut self) -> Tnode {
        self.count += 1;
        match self.free.pop() {
            Some(node) => {
                self.nodes[node as usize] = [0; LEAF_CHUNKS];
                node
            }
            None => {
                self.nodes.push([0; LEAF_CHUNKS]);
                (self.nodes.len() - 1) as Tnode
            }
        }
    }

    pub fn release(&mut self, node: Tnode) {
        if node != 0 {
            self.count -= 1;
            self.free.push(node);
        }
    }

    /// The leaf that would hold `chunk`.
    #[inline]
    fn leaf(&self, tree: &Tree, chunk: u32) -> Option<Tnode> {
        if chunk > CHUNK_ID_MAX || levels_for(chunk) > tree.top_level {
            return None;
        }
        let mut node = tree.top;
        let mut level = tree.top_level;
        while level > 0 && node != 0 {
            node = self.nodes[node as usize][branch_of(chunk, level)];
            level -= 1;
        }
        (node != 0).then_some(node)
    }

    /// Where `chunk` of the file lies on flash.
    #[inline]
    pub fn find(&self, tree: &Tree, chunk: u32) -> Option<u32> {
        let leaf = self.leaf(tree, chunk)?;
        Some(self.nodes[leaf as usize][place_in_leaf(chunk)]).filter(|&at| at != 0)
    }

    /// Enters where `chunk` is on flash (0: nowhere), if the tree has a leaf for it.
    pub fn set_if_there(&mut self, tree: &Tree, chunk: u32, at: u32) {
        if let Some(leaf) = self.leaf(tree, chunk) {
            self.nodes[leaf as usize][place_in_leaf(chunk)] = at;
        }
    }

    /// Makes sure that there is a leaf for `chunk`; gives access to the chunk's entry in it. `None`: no file is so long.
    #[inline]
    pub fn entry(&mut self, tree: &mut Tree, chunk: u32) -> Option<&mut u32> {
        let leaf = self.make_leaf(tree, chunk)?;
        Some(&mut self.nodes[leaf as usize][place_in_leaf(chunk)])
    }

    fn make_leaf(&mut self, tree: &mut Tree, chunk: u32) -> Option<Tnode> {
        if chunk > CHUNK_ID_MAX || tree.top == 0 {
            return None;
        }
        for _ in tree.top_level..levels_for(chunk) {
            let above = self.add();
            self.nodes[above as usize][0] = tree.top;
            tree.top = above;
            tree.top_level += 1;
        }
        let mut node = tree.top;
        for level in (1..=tree.top_level).rev() {
            let branch = branch_of(chunk, level);
            let mut below = self.nodes[node as usize][branch];
            if below == 0 {
                below = self.add();
                self.nodes[node as usize][branch] = below;
            }
            node = below;
        }
        Some(node)
    }

    /// Enters a whole leaf as a checkpoint holds it. `first_chunk` is the file's chunk of the first entry. Returns
    /// `false` when no file is so long.
    pub fn put_leaf(&mut self, tree: &mut Tree, first_chunk: u32, chunks: [u32; LEAF_CHUNKS]) -> bool {
        match self.make_leaf(tree, first_chunk) {
            Some(leaf) => {
                self.nodes[leaf as usize] = chunks;
                true
            }
            None => false,
        }
    }

    /// Calls `f` for each leaf, in the order of the file, with the first chunk of each.
    pub fn leaves(&self, tree: &Tree, f: &mut dyn FnMut(u32, &[u32; LEAF_CHUNKS])) {
        self.leaves_below(tree.top, tree.top_level, 0, f);
    }

    fn leaves_below(&self, node: Tnode, level: u32, prefix: u32, f: &mut dyn FnMut(u32, &[u32; LEAF_CHUNKS])) {
        if node == 0 {
            return;
        }
        let entries = &self.nodes[node as usize];
        if level == 0 {
            f(prefix << LEAF_BITS, entries);
            return;
        }
        for (branch, &below) in entries[..BRANCHES].iter().enumerate() {
            self.leaves_below(below, level - 1, prefix << BRANCH_BITS | branch as u32, f);
        }
    }

    /// The highest chunk of the file, up to `limit`, that is on flash, and its place there.
    pub fn last_up_to(&self, tree: &Tree, limit: u32) -> Option<(u32, u32)> {
        // The tree is not tall enough for chunks beyond its reach, so they are not on flash.
        let reach = LEAF_BITS + BRANCH_BITS * tree.top_level.min(LEVELS_MAX);
        self.last_below(tree.top, tree.top_level, 0, limit.min((1 << reach) - 1))
    }

    fn last_below(&self, node: Tnode, level: u32, prefix: u32, limit: u32) -> Option<(u32, u32)> {
        if node == 0 {
            return None;
        }
        let entries = &self.nodes[node as usize];
        if level == 0 {
            let first = prefix << LEAF_BITS;
            return (0..LEAF_CHUNKS as u32)
                .rev()
                .map(|place| (first + place, entries[place as usize]))
                .find(|&(chunk, at)| chunk <= limit && at != 0);
        }
        let below_bits = LEAF_BITS + (level - 1) * BRANCH_BITS;
        (0..BRANCHES as u32).rev().find_map(|branch| {
            let prefix = prefix << BRANCH_BITS | branch;
            if prefix << below_bits > limit {
                return None;
            }
            self.last_below(entries[branch as usize], level - 1, prefix, limit)
        })
    }

    /// Takes every chunk out of the tree, of which only the top node stays. `f` is called with each chunk's place on
    /// flash, from the end of the file to its start.
    pub fn take_all(&mut self, tree: &Tree, f: &mut dyn FnMut(u32)) {
        self.take_below(tree.top, tree.top_level, f);
    }

    fn take_below(&mut self, node: Tnode, level: u32, f: &mut dyn FnMut(u32)) {
        if node == 0 {
            return;
        }
        let entries = std::mem::replace(&mut self.nodes[node as usize], [0; LEAF_CHUNKS]);
        if level == 0 {
            entries.iter().rev().filter(|&&at| at != 0).for_each(|&at| f(at));
            return;
        }
        for &below in entries[..BRANCHES].iter().rev() {
            self.take_below(below, level - 1, f);
            self.release(below);
        }
    }

    /// Removes nodes that hold no chunk any more, and lowers the tree as far as possible (`yaffs_prune_tree`).
    pub fn prune(&mut self, tree: &mut Tree) {
        if tree.top_level < 1 {
            return;
        }
        self.prune_below(tree.top, tree.top_level, false);
        while tree.top_level > 0 {
            let entries = self.nodes[tree.top as usize];
            if entries[1..BRANCHES].iter().any(|&below| below != 0) {
                break;
            }
            self.release(tree.top);
            tree.top = entries[0];
            tree.top_level -= 1;
        }
    }

    /// Prunes the tree below a node. Returns the node, or 0 if it was empty and could be removed. The leftmost nodes
    /// stay.
    fn prune_below(&mut self, node: Tnode, level: u32, may_go: bool) -> Tnode {
        if node == 0 {
            return 0;
        }
        let entries = if level == 0 { LEAF_CHUNKS } else { BRANCHES };
        if level > 0 {
            for branch in 0..BRANCHES {
                let below = self.nodes[node as usize][branch];
                self.nodes[node as usize][branch] = self.prune_below(below, level - 1, branch > 0 || may_go);
            }
        }
        if may_go && self.nodes[node as usize][..entries].iter().all(|&entry| entry == 0) {
            self.release(node);
            return 0;
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(tnodes: &mut Tnodes) -> Tree {
        Tree { top: tnodes.add(), top_level: 0 }
    }

    #[test]
    fn chunks_are_found_where_they_were_put() {
        let mut tnodes = Tnodes::new();
        let mut tree = tree(&mut tnodes);
        for chunk in [1, 15, 16, 127, 128, 5000, CHUNK_ID_MAX] {
            *tnodes.entry(&mut tree, chunk).unwrap() = chunk + 7;
        }
        for chunk in [1, 15, 16, 127, 128, 5000, CHUNK_ID_MAX] {
            assert_eq!(tnodes.find(&tree, chunk), Some(chunk + 7));
        }
        assert_eq!(tnodes.find(&tree, 2), None);
        assert_eq!(tnodes.find(&tree, 4000), None);
        assert!(tnodes.entry(&mut tree, CHUNK_ID_MAX + 1).is_none());
    }

    #[test]
    fn the_last_chunk_is_found_without_a_walk() {
        let mut tnodes = Tnodes::new();
        let mut tree = tree(&mut tnodes);
        for chunk in [3, 100, 70_000] {
            *tnodes.entry(&mut tree, chunk).unwrap() = chunk;
        }
        assert_eq!(tnodes.last_up_to(&tree, CHUNK_ID_MAX), Some((70_000, 70_000)));
        assert_eq!(tnodes.last_up_to(&tree, 69_999), Some((100, 100)));
        assert_eq!(tnodes.last_up_to(&tree, 99), Some((3, 3)));
        assert_eq!(tnodes.last_up_to(&tree, 2), None);
    }

    #[test]
    fn pruning_leaves_the_nodes_that_hold_chunks() {
        let mut tnodes = Tnodes::new();
        let mut tree = tree(&mut tnodes);
        for chunk in [1, 16, 2000] {
            *tnodes.entry(&mut tree, chunk).unwrap() = chunk;
        }
        tnodes.set_if_there(&tree, 2000, 0);
        tnodes.prune(&mut tree);
        assert_eq!((tree.top_level, tnodes.count()), (1, 3));
        tnodes.set_if_there(&tree, 16, 0);
        tnodes.prune(&mut tree);
        assert_eq!((tree.top_level, tnodes.count()), (0, 1));
        assert_eq!(tnodes.find(&tree, 1), Some(1));
    }

    #[test]
    fn taking_all_leaves_the_top() {
        let mut tnodes = Tnodes::new();
        let mut tree = tree(&mut tnodes);
        for chunk in [1, 16, 2000] {
            *tnodes.entry(&mut tree, chunk).unwrap() = chunk;
        }
        let mut taken = Vec::new();
        tnodes.take_all(&tree, &mut |at| taken.push(at));
        assert_eq!(taken, [2000, 16, 1]);
        assert_eq!(tnodes.count(), 1);
    }
}
