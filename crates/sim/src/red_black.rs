//! A red-black tree with the shape of the kernel's.
//!
//! Some decisions of Linux depend on the *shape* of a tree: which free erase block is handed out (the root of a tree), at which
//! node a search ends. So insertion and removal rebalance exactly as `lib/rbtree.c` and `include/linux/rbtree_augmented.h` do: the
//! algorithm of Cormen, Leiserson and Rivest without a sentinel, where the removal of a node with two children puts its successor
//! in its place. Nodes are numbered by whoever puts them there; their links lie in one array.

const NIL: u32 = u32::MAX;
const LEFT: usize = 0;
const RIGHT: usize = 1;

#[derive(Clone, Copy)]
struct Node<K> {
    key: K,
    parent: u32,
    children: [u32; 2],
    red: bool,
}

/// A set of numbered slots in the order of their keys.
pub struct RedBlackTree<K> {
    nodes: Vec<Node<K>>,
    root: u32,
}

impl<K> Default for RedBlackTree<K> {
    fn default() -> RedBlackTree<K> {
        RedBlackTree { nodes: Vec::new(), root: NIL }
    }
}

impl<K: Ord + Copy> RedBlackTree<K> {
    /// An empty tree with room for slots `0..slots`; it grows if others come.
    pub fn with_room(slots: u32) -> RedBlackTree<K> {
        RedBlackTree { nodes: Vec::with_capacity(slots as usize), root: NIL }
    }

    pub fn is_empty(&self) -> bool {
        self.root == NIL
    }

    /// The slot behind this one in the order of keys.
    pub fn next(&self, slot: u32) -> Option<u32> {
        let mut at = self.child(slot, RIGHT);
        if at != NIL {
            while self.child(at, LEFT) != NIL {
                at = self.child(at, LEFT);
            }
            return Some(at);
        }
        let (mut below, mut at) = (slot, self.node(slot).parent);
        while at != NIL && self.child(at, RIGHT) == below {
            (below, at) = (at, self.node(at).parent);
        }
        (at != NIL).then_some(at)
    }

    /// The slot at the root.
    pub fn root(&self) -> Option<u32> {
        (self.root != NIL).then_some(self.root)
    }

    /// Key of a slot in the tree.
    pub fn key(&self, slot: u32) -> K {
        self.node(slot).key
    }

    /// The slot at which a search ends that goes to the right of each key that is below what is sought, and to the left of the
    /// others: the last one before it or the first one behind it, whichever lies deeper.
    pub fn search_end(&self, is_below: impl Fn(&K) -> bool) -> Option<u32> {
        let (mut found, mut at) = (None, self.root);
        while at != NIL {
            found = Some(at);
            at = self.child(at, if is_below(&self.node(at).key) { RIGHT } else { LEFT });
        }
        found
    }

    /// The last slot whose key is below what is sought.
    pub fn last_below(&self, is_below: impl Fn(&K) -> bool) -> Option<u32> {
        let (mut found, mut at) = (None, self.root);
        while at != NIL {
            if is_below(&self.node(at).key) {
                found = Some(at);
                at = self.child(at, RIGHT);
            } else {
                at = self.child(at, LEFT);
            }
        }
        found
    }

    /// Adds a slot that is not in the tree, behind all whose key is not greater.
    pub fn insert(&mut self, slot: u32, key: K) {
        let (mut parent, mut side, mut at) = (NIL, LEFT, self.root);
        while at != NIL {
            parent = at;
            side = if key < self.key(at) { LEFT } else { RIGHT };
            at = self.child(at, side);
        }
        let node = Node { key, parent, children: [NIL; 2], red: true };
        if self.nodes.len() <= slot as usize {
            self.nodes.resize(slot as usize + 1, node);
        }
        self.nodes[slot as usize] = node;
        if parent == NIL {
            self.root = slot;
        } else {
            self.set_child(parent, side, slot);
        }
        self.rebalance_after_insertion(slot);
    }

    /// Removes a slot that is in the tree.
    pub fn remove(&mut self, slot: u32) {
        let Node { parent, children: [left, right], red, .. } = *self.node(slot);
        let short_below = if left == NIL || right == NIL {
            let child = if left == NIL { right } else { left };
            self.replace_child(parent, slot, child);
            if child != NIL {
                // The only child of a node is red. It takes over the place and the colour of the removed node.
                self.node_mut(child).parent = parent;
                self.node_mut(child).red = red;
                NIL
            } else if red {
                NIL
            } else {
                parent
            }
        } else {
            self.put_successor_in_place(slot)
        };
        if short_below != NIL {
            self.rebalance_after_removal(short_below);
        }
    }

    /// Removes a node with two children: its successor takes its place. Returns the node below which the paths lack a
    /// black node now.
    fn put_successor_in_place(&mut self, slot: u32) -> u32 {
        let Node { parent, children: [left, right], red, .. } = *self.node(slot);
        let mut successor = right;
        while self.child(successor, LEFT) != NIL {
            successor = self.child(successor, LEFT);
        }
        let Node { parent: above, children: [_, orphan], red: successor_red, .. } = *self.node(successor);
        let bereft = if successor == right {
            successor
        } else {
            self.set_child(above, LEFT, orphan);
            self.set_child(successor, RIGHT, right);
            self.node_mut(right).parent = successor;
            above
        };
        self.set_child(successor, LEFT, left);
        self.node_mut(left).parent = successor;
        self.replace_child(parent, slot, successor);
        self.node_mut(successor).parent = parent;
        self.node_mut(successor).red = red;
        if orphan != NIL {
            self.node_mut(orphan).parent = bereft;
            self.node_mut(orphan).red = false;
            NIL
        } else if successor_red {
            NIL
        } else {
            bereft
        }
    }

    fn rebalance_after_insertion(&mut self, inserted: u32) {
        let mut node = inserted;
        loop {
            let mut parent = self.node(node).parent;
            if parent == NIL {
                self.node_mut(node).red = false;
                return;
            }
            if !self.is_red(parent) {
                return;
            }
            let grandparent = self.node(parent).parent;
            let side = self.side_of(grandparent, parent);
            let uncle = self.child(grandparent, 1 - side);
            if self.is_red(uncle) {
                self.node_mut(uncle).red = false;
                self.node_mut(parent).red = false;
                self.node_mut(grandparent).red = true;
                node = grandparent;
                continue;
            }
            if self.child(parent, 1 - side) == node {
                self.rotate(parent, side);
                parent = node;
            }
            self.rotate(grandparent, 1 - side);
            self.node_mut(parent).red = false;
            self.node_mut(grandparent).red = true;
            return;
        }
    }

    /// Restores the rule that all paths have the same number of black nodes. The paths below `bereft`, on the side that
    /// is empty or has lost a black node, lack one.
    fn rebalance_after_removal(&mut self, bereft: u32) {
        let (mut parent, mut node) = (bereft, NIL);
        loop {
            let side = if self.child(parent, RIGHT) == node { RIGHT } else { LEFT };
            let far = 1 - side;
            let mut sibling = self.child(parent, far);
            if self.is_red(sibling) {
                self.rotate(parent, side);
                self.node_mut(sibling).red = false;
                self.node_mut(parent).red = true;
                sibling = self.child(parent, far);
            }
            if !self.is_red(self.child(sibling, far)) {
                let near_nephew = self.child(sibling, side);
                if !self.is_red(near_nephew) {
                    self.node_mut(sibling).red = true;
                    if self.is_red(parent) {
                        self.node_mut(parent).red = false;
                        return;
                    }
                    node = parent;
                    parent = self.node(node).parent;
                    if parent == NIL {
                        return;
                    }
                    continue;
                }
                self.rotate(sibling, far);
                self.node_mut(sibling).red = true;
                sibling = near_nephew;
            }
            let colour = self.is_red(parent);
            self.rotate(parent, side);
            self.node_mut(sibling).red = colour;
            self.node_mut(parent).red = false;
            let far_nephew = self.child(sibling, far);
            self.node_mut(far_nephew).red = false;
            return;
        }
    }

    /// Rotates at `top`: it moves down to `side`, and its child on the other side takes its place. Colours stay.
    fn rotate(&mut self, top: u32, side: usize) {
        let riser = self.child(top, 1 - side);
        let moved = self.child(riser, side);
        let parent = self.node(top).parent;
        self.set_child(top, 1 - side, moved);
        if moved != NIL {
            self.node_mut(moved).parent = top;
        }
        self.set_child(riser, side, top);
        self.replace_child(parent, top, riser);
        self.node_mut(riser).parent = parent;
        self.node_mut(top).parent = riser;
    }

    // ---- links ---------------------------------------------------------------------------------------------

    /// The first slot in order.
    pub fn first(&self) -> Option<u32> {
        self.outermost(LEFT)
    }

    /// The last slot in order.
    pub fn last(&self) -> Option<u32> {
        self.outermost(RIGHT)
    }

    fn node(&self, slot: u32) -> &Node<K> {
        &self.nodes[slot as usize]
    }

    fn node_mut(&mut self, slot: u32) -> &mut Node<K> {
        &mut self.nodes[slot as usize]
    }

    fn is_red(&self, slot: u32) -> bool {
        slot != NIL && self.node(slot).red
    }

    fn child(&self, slot: u32, side: usize) -> u32 {
        self.node(slot).children[side]
    }

    fn set_child(&mut self, slot: u32, side: usize, child: u32) {
        self.node_mut(slot).children[side] = child;
    }

    fn side_of(&self, parent: u32, child: u32) -> usize {
        usize::from(self.child(parent, RIGHT) == child)
    }

    /// Puts `new` in the place of `old` below `parent`. Links upwards are not changed.
    fn replace_child(&mut self, parent: u32, old: u32, new: u32) {
        if parent == NIL {
            self.root = new;
        } else {
            let side = self.side_of(parent, old);
            self.set_child(parent, side, new);
        }
    }

    fn outermost(&self, side: usize) -> Option<u32> {
        let mut at = self.root()?;
        while self.child(at, side) != NIL {
            at = self.child(at, side);
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SLOTS: u32 = 300;

    /// SplitMix64, the generator with which the kernel's digest was made.
    struct SplitMix64(u64);

    impl SplitMix64 {
        fn new(seed: u64) -> SplitMix64 {
            SplitMix64(seed)
        }

        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z ^ (z >> 31)) % bound
        }
    }

    /// FNV-1a over 64-bit words.
    struct Digest(u64);

    impl Digest {
        fn mix(&mut self, word: u64) {
            self.0 = (self.0 ^ word).wrapping_mul(0x100_0000_01B3);
        }

        fn mix_shape(&mut self, tree: &RedBlackTree<(u32, u32)>, at: u32) {
            self.mix(u64::from(at));
            if at != NIL {
                self.mix(u64::from(tree.is_red(at)));
                self.mix_shape(tree, tree.child(at, LEFT));
                self.mix_shape(tree, tree.child(at, RIGHT));
            }
        }
    }

    /// Number of black nodes on each path below `at`. Panics where a rule of red-black trees or the order is violated.
    fn black_height(tree: &RedBlackTree<(u32, u32)>, at: u32, parent: u32) -> u32 {
        if at == NIL {
            return 0;
        }
        assert_eq!(tree.node(at).parent, parent);
        let children = tree.node(at).children;
        for child in children {
            assert!(!(tree.is_red(at) && tree.is_red(child)));
        }
        assert!(children[LEFT] == NIL || tree.key(children[LEFT]) < tree.key(at));
        assert!(children[RIGHT] == NIL || tree.key(children[RIGHT]) > tree.key(at));
        let heights = children.map(|child| black_height(tree, child, at));
        assert_eq!(heights[LEFT], heights[RIGHT]);
        heights[LEFT] + u32::from(!tree.is_red(at))
    }

    #[test]
    fn the_tree_has_the_shape_of_the_kernels_after_every_step() {
        let mut tree = RedBlackTree::with_room(SLOTS);
        let mut random = SplitMix64::new(1);
        let mut erases = [0; SLOTS as usize];
        let mut inside = BTreeSet::new();
        let mut digest = Digest(0xCBF2_9CE4_8422_2325);
        for step in 0..20_000 {
            let slot = random.below(u64::from(SLOTS)) as u32;
            if inside.remove(&(erases[slot as usize], slot)) {
                tree.remove(slot);
                erases[slot as usize] += 1 + random.below(2) as u32;
            } else {
                inside.insert((erases[slot as usize], slot));
                tree.insert(slot, (erases[slot as usize], slot));
            }
            digest.mix(u64::from(tree.root));
            assert_eq!(tree.first(), inside.first().map(|&(_, slot)| slot));
            assert_eq!(tree.last(), inside.last().map(|&(_, slot)| slot));
            if step % 500 == 499 {
                black_height(&tree, tree.root, NIL);
                digest.mix_shape(&tree, tree.root);
            }
        }
        // The same steps with `lib/rbtree.c` of Linux 6.1, compiled for the purpose, gave this digest. (The first half of a
        // removal stands in `rbtree_augmented.h`, whose logic is the same since Linux 3.7.)
        assert_eq!(digest.0, 0xA48D_7043_C9C8_8C44);
    }

    /// What lies deeper depends on the shape, not on the distance.
    #[test]
    fn a_search_ends_before_or_behind_what_is_sought() {
        let mut tree = RedBlackTree::default();
        assert_eq!(tree.search_end(|&key: &u32| key < 5), None);
        for (slot, key) in [(1, 10), (2, 20), (3, 30)] {
            tree.insert(slot, key);
        }
        let end = |sought: u32| tree.search_end(|&key| key < sought).map(|slot| tree.key(slot));
        assert_eq!([5, 15, 25, 35].map(end), [Some(10), Some(10), Some(30), Some(30)]);
        assert_eq!(tree.last_below(|&key| key < 25), Some(2));
    }
}
