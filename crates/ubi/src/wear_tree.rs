//! The red-black tree in which erase blocks stand by erase counter.
//!
//! Which free block UBI hands out depends on the *shape* of this tree (its root is taken), so insertion and removal
//! rebalance exactly as `lib/rbtree.c` and `include/linux/rbtree_augmented.h` of Linux do: the algorithm of Cormen,
//! Leiserson and Rivest without a sentinel, where the removal of a node with two children puts its successor in its
//! place. Nodes are numbered by erase block; their links lie in one array that is made once.

const NIL: u32 = u32::MAX;
const LEFT: usize = 0;
const RIGHT: usize = 1;

#[derive(Clone, Copy)]
struct Node {
    erases: u32,
    parent: u32,
    children: [u32; 2],
    red: bool,
}

const LONE: Node = Node { erases: 0, parent: NIL, children: [NIL; 2], red: true };

/// A set of erase blocks, ordered by (erase counter, number).
pub struct WearTree {
    nodes: Box<[Node]>,
    root: u32,
}

impl WearTree {
    /// An empty tree for blocks `0..pebs`.
    pub fn new(pebs: u32) -> WearTree {
        WearTree { nodes: vec![LONE; pebs as usize].into_boxed_slice(), root: NIL }
    }

    pub fn is_empty(&self) -> bool {
        self.root == NIL
    }

    /// The block at the root.
    pub fn root(&self) -> Option<u32> {
        (self.root != NIL).then_some(self.root)
    }

    /// The least worn block.
    pub fn first(&self) -> Option<u32> {
        self.outermost(LEFT)
    }

    /// The most worn block.
    pub fn last(&self) -> Option<u32> {
        self.outermost(RIGHT)
    }

    /// Erase counter of a block in the tree.
    pub fn erases(&self, peb: u32) -> u32 {
        self.node(peb).erases
    }

    /// The most worn block whose counter is below the lowest one plus `difference`; the first block when there is none
    /// (`find_wl_entry`).
    pub fn below(&self, difference: u32) -> Option<u32> {
        let mut found = self.first()?;
        let limit = self.erases(found).saturating_add(difference);
        let mut at = self.root;
        while at != NIL {
            if self.erases(at) >= limit {
                at = self.child(at, LEFT);
            } else {
                found = at;
                at = self.child(at, RIGHT);
            }
        }
        Some(found)
    }

    /// Adds a block that is not in the tree.
    pub fn insert(&mut self, peb: u32, erases: u32) {
        let (mut parent, mut side, mut at) = (NIL, LEFT, self.root);
        while at != NIL {
            parent = at;
            side = if (erases, peb) < (self.erases(at), at) { LEFT } else { RIGHT };
            at = self.child(at, side);
        }
        self.nodes[peb as usize] = Node { erases, parent, ..LONE };
        if parent == NIL {
            self.root = peb;
        } else {
            self.set_child(parent, side, peb);
        }
        self.rebalance_after_insertion(peb);
    }

    /// Removes a block that is in the tree.
    pub fn remove(&mut self, peb: u32) {
        let Node { parent, children: [left, right], red, .. } = *self.node(peb);
        let short_below = if left == NIL || right == NIL {
            let child = if left == NIL { right } else { left };
            self.replace_child(parent, peb, child);
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
            self.put_successor_in_place(peb)
        };
        if short_below != NIL {
            self.rebalance_after_removal(short_below);
        }
    }

    /// Removes a node with two children: its successor takes its place. Returns the node below which the paths lack a
    /// black node now.
    fn put_successor_in_place(&mut self, peb: u32) -> u32 {
        let Node { parent, children: [left, right], red, .. } = *self.node(peb);
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
        self.replace_child(parent, peb, successor);
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

    fn node(&self, peb: u32) -> &Node {
        &self.nodes[peb as usize]
    }

    fn node_mut(&mut self, peb: u32) -> &mut Node {
        &mut self.nodes[peb as usize]
    }

    fn is_red(&self, peb: u32) -> bool {
        peb != NIL && self.node(peb).red
    }

    fn child(&self, peb: u32, side: usize) -> u32 {
        self.node(peb).children[side]
    }

    fn set_child(&mut self, peb: u32, side: usize, child: u32) {
        self.node_mut(peb).children[side] = child;
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

    use ffslab_workload::SplitMix64;

    use super::*;

    const PEBS: u32 = 300;

    /// FNV-1a over 64-bit words.
    struct Digest(u64);

    impl Digest {
        fn mix(&mut self, word: u64) {
            self.0 = (self.0 ^ word).wrapping_mul(0x100_0000_01B3);
        }

        fn mix_shape(&mut self, tree: &WearTree, at: u32) {
            self.mix(u64::from(at));
            if at != NIL {
                self.mix(u64::from(tree.is_red(at)));
                self.mix_shape(tree, tree.child(at, LEFT));
                self.mix_shape(tree, tree.child(at, RIGHT));
            }
        }
    }

    /// Number of black nodes on each path below `at`. Panics where a rule of red-black trees or the order is violated.
    fn black_height(tree: &WearTree, at: u32, parent: u32) -> u32 {
        if at == NIL {
            return 0;
        }
        assert_eq!(tree.node(at).parent, parent);
        let children = tree.node(at).children;
        for child in children {
            assert!(!(tree.is_red(at) && tree.is_red(child)));
        }
        let key = |peb: u32| (tree.erases(peb), peb);
        assert!(children[LEFT] == NIL || key(children[LEFT]) < key(at));
        assert!(children[RIGHT] == NIL || key(children[RIGHT]) > key(at));
        let heights = children.map(|child| black_height(tree, child, at));
        assert_eq!(heights[LEFT], heights[RIGHT]);
        heights[LEFT] + u32::from(!tree.is_red(at))
    }

    #[test]
    fn the_tree_has_the_shape_of_the_kernels_after_every_step() {
        let mut tree = WearTree::new(PEBS);
        let mut random = SplitMix64::new(1);
        let mut erases = [0; PEBS as usize];
        let mut inside = BTreeSet::new();
        let mut digest = Digest(0xCBF2_9CE4_8422_2325);
        for step in 0..20_000 {
            let peb = random.below(u64::from(PEBS)) as u32;
            if inside.remove(&(erases[peb as usize], peb)) {
                tree.remove(peb);
                erases[peb as usize] += 1 + random.below(2) as u32;
            } else {
                inside.insert((erases[peb as usize], peb));
                tree.insert(peb, erases[peb as usize]);
            }
            digest.mix(u64::from(tree.root));
            assert_eq!(tree.first(), inside.first().map(|&(_, peb)| peb));
            assert_eq!(tree.last(), inside.last().map(|&(_, peb)| peb));
            if step % 500 == 499 {
                black_height(&tree, tree.root, NIL);
                digest.mix_shape(&tree, tree.root);
            }
        }
        // The same steps with `lib/rbtree.c` of Linux 6.1, compiled for the purpose, gave this digest. (The first half of a
        // removal stands in `rbtree_augmented.h`, whose logic is the same since Linux 3.7.)
        assert_eq!(digest.0, 0xA48D_7043_C9C8_8C44);
    }

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
    fn the_most_worn_block_below_a_limit_is_found() {
        let mut tree = WearTree::new(PEBS);
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
