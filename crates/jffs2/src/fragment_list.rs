//! The fragments of a file in order, in leaves of 64 memory pages.
//!
//! The kernel's tree has a node per fragment, so in a large file each step of a search reads another place of the
//! memory. Here the usual fragment begins at the start of a page and has no gap before it, so its place in its leaf is
//! computed first, and neighbours lie next to each other in memory.

use ffslab_fs::PAGE_BYTES;

use crate::refs::RefId;

const PAGE: u32 = PAGE_BYTES as u32;
const PAGES_PER_LEAF: u32 = 64;
const LEAF_BYTES: u32 = PAGES_PER_LEAF * PAGE;

/// A run of bytes of the file that comes from one node, or from none (a hole).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    pub offset: u32,
    pub bytes: u32,
    /// [`crate::refs::NONE`] for a hole that no node covers.
    pub node: RefId,
}

impl Fragment {
    pub fn end(&self) -> u32 {
        self.offset + self.bytes
    }
}

/// Fragments that begin in bytes `number * LEAF_BYTES ..` of the file; there is at least one.
struct Leaf {
    number: u32,
    fragments: Vec<Fragment>,
}

impl Leaf {
    /// The index of the fragment that begins at `offset`, or the index at which it would be inserted.
    #[inline]
    fn position(&self, offset: u32) -> Result<usize, usize> {
        let guess = (offset / PAGE % PAGES_PER_LEAF) as usize;
        match self.fragments.get(guess) {
            Some(fragment) if fragment.offset == offset => Ok(guess),
            _ => self.fragments.binary_search_by_key(&offset, |fragment| fragment.offset),
        }
    }
}

/// Fragments by the offset at which they begin.
#[derive(Default)]
pub struct FragmentList {
    leaves: Vec<Leaf>,
}

impl FragmentList {
    #[inline]
    fn leaf_position(&self, offset: u32) -> Result<usize, usize> {
        let number = offset / LEAF_BYTES;
        match self.leaves.get(number as usize) {
            Some(leaf) if leaf.number == number => Ok(number as usize),
            _ => self.leaves.binary_search_by_key(&number, |leaf| leaf.number),
        }
    }

    #[inline]
    pub fn get_mut(&mut self, offset: u32) -> Option<&mut Fragment> {
        let leaf = self.leaf_position(offset).ok()?;
        let leaf = &mut self.leaves[leaf];
        let at = leaf.position(offset).ok()?;
        Some(&mut leaf.fragments[at])
    }

    /// The fragment that begins at `offset`, or else the last one that begins before it.
    #[inline]
    pub fn at_or_before(&self, offset: u32) -> Option<Fragment> {
        let behind = match self.leaf_position(offset) {
            Ok(at) => match self.leaves[at].position(offset) {
                Ok(found) => return Some(self.leaves[at].fragments[found]),
                Err(0) => at,
                Err(behind) => return Some(self.leaves[at].fragments[behind - 1]),
            },
            Err(behind) => behind,
        };
        self.leaves[..behind].last()?.fragments.last().copied()
    }

    pub fn last(&self) -> Option<Fragment> {
        self.leaves.last()?.fragments.last().copied()
    }

    /// Fragments that begin at `from` or later, in order.
    pub fn starting_at(&self, from: u32) -> impl Iterator<Item = Fragment> + '_ {
        let leaf = self.leaf_position(from);
        let (first, rest) = match leaf {
            Ok(at) => {
                let skipped = self.leaves[at].position(from).unwrap_or_else(|at| at);
                (&self.leaves[at].fragments[skipped..], &self.leaves[at + 1..])
            }
            Err(at) => (&[][..], &self.leaves[at..]),
        };
        first.iter().chain(rest.iter().flat_map(|leaf| &leaf.fragments)).copied()
    }

    /// How many fragments begin before `offset`.
    pub fn count_before(&self, offset: u32) -> usize {
        let (behind, in_leaf) = match self.leaf_position(offset) {
            Ok(at) => (at, self.leaves[at].position(offset).unwrap_or_else(|at| at)),
            Err(at) => (at, 0),
        };
        in_leaf + self.leaves[..behind].iter().map(|leaf| leaf.fragments.len()).sum::<usize>()
    }

    pub fn len(&self) -> usize {
        self.leaves.iter().map(|leaf| leaf.fragments.len()).sum()
    }

    /// Inserts a fragment. It replaces one that begins at the same offset.
    pub fn insert(&mut self, new: Fragment) {
        let leaf = match self.leaf_position(new.offset) {
            Ok(at) => &mut self.leaves[at],
            Err(at) => {
                self.leaves.insert(at, Leaf { number: new.offset / LEAF_BYTES, fragments: Vec::new() });
                &mut self.leaves[at]
            }
        };
        match leaf.position(new.offset) {
            Ok(at) => leaf.fragments[at] = new,
            Err(at) => leaf.fragments.insert(at, new),
        }
    }

    pub fn remove(&mut self, offset: u32) {
        let Ok(leaf) = self.leaf_position(offset) else { return };
        if let Ok(at) = self.leaves[leaf].position(offset) {
            self.leaves[leaf].fragments.remove(at);
            if self.leaves[leaf].fragments.is_empty() {
                self.leaves.remove(leaf);
            }
        }
    }

    /// Takes all fragments out, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Fragment> {
        std::mem::take(&mut self.leaves).into_iter().flat_map(|leaf| leaf.fragments)
    }
}
