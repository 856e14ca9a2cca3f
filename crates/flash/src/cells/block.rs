//! One block of a medium by itself: copied, put back, and told from others by a hash.

use super::{Block, Cells, Unstable};
use crate::slab::NONE;

/// What a block of a chip holds.
#[derive(Clone)]
pub struct BlockContent {
    block: u32,
    state: Block,
    erases: u32,
    pages: Vec<PageContent>,
}

#[derive(Clone)]
struct PageContent {
    page: u32,
    programs: u8,
    data: Option<Box<[u8]>>,
    oob: Option<Box<[u8]>>,
    damage: u64,
    unstable: Option<Unstable>,
    inherited: Box<[u32]>,
}

impl Cells {
    pub fn block_content(&self, block: u32) -> BlockContent {
        let (first, end) = self.pages_of(block);
        let written = (first..end).filter(|&page| self.is_written(page) || self.unstable(page).is_some());
        let pages = written.map(|page| PageContent {
            page,
            programs: self.programs[page as usize],
            data: self.data(page).map(Box::from),
            oob: self.oob(page).map(Box::from),
            damage: self.damage(page),
            unstable: self.unstable(page),
            inherited: self.inherited(page).into(),
        });
        let (state, erases) = (self.blocks[block as usize], self.erase_counts[block as usize]);
        BlockContent { block, state, erases, pages: pages.collect() }
    }

    /// Puts back what [`Cells::block_content`] has copied.
    pub fn put_block_content(&mut self, content: &BlockContent) {
        self.wipe(content.block);
        for PageContent { page, programs, data, oob, damage, unstable, inherited } in &content.pages {
            if let Some(data) = data {
                self.program_data(*page, data);
                self.programs[*page as usize] = *programs;
            }
            if let Some(oob) = oob {
                self.program_oob(*page, oob);
            }
            self.add_damage(*page, *damage);
            self.inherit(*page, inherited);
            if let Some(unstable) = unstable {
                self.unstable.insert(*page, *unstable);
            }
        }
        self.blocks[content.block as usize] = content.state;
        self.erase_counts[content.block as usize] = content.erases;
    }

    /// The same for two blocks that read alike, whatever was done to them before; wear is left out.
    pub fn block_hash(&self, block: u32) -> u64 {
        let (first, end) = self.pages_of(block);
        let mut hash = ContentHash::new();
        for page in (first..end).filter(|&page| self.is_written(page)) {
            hash.number(u64::from(page - first));
            hash.bytes(self.data(page).unwrap_or_default());
            hash.bytes(self.oob(page).unwrap_or_default());
            hash.number(self.damage(page));
        }
        if !self.unstable.is_empty() {
            for (page, Unstable { seed, units, oob }) in self.unstable.range(first..end) {
                for number in [u64::from(page - first), *seed, *units, u64::from(*oob)] {
                    hash.number(number);
                }
            }
        }
        if !self.inherited.is_empty() {
            for (page, bits) in self.inherited.range(first..end) {
                hash.number(u64::from(page - first));
                bits.iter().for_each(|&bit| hash.number(u64::from(bit)));
            }
        }
        hash.finish()
    }

    pub(super) fn is_written(&self, page: u32) -> bool {
        self.programs[page as usize] != 0 || self.oob_slot[page as usize] != NONE
    }
}

/// A hash of 64 bits that keeps up with copying: words are folded by a wide multiplication, as wyhash does.
pub struct ContentHash(u64);

const SECRET: u64 = 0x9E37_79B9_7F4A_7C15;

impl ContentHash {
    pub fn new() -> ContentHash {
        ContentHash(SECRET)
    }

    #[inline]
    pub fn number(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number ^ SECRET.rotate_left(17)) * u128::from(SECRET | 1);
        self.0 = (product as u64 ^ (product >> 64) as u64).wrapping_add(self.0.rotate_left(23));
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.number(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.number(u64::from_le_bytes(last));
    }

    pub fn finish(self) -> u64 {
        self.0
    }
}
