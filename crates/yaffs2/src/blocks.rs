//! What memory knows of each erase block, and where the next chunk is written.
//!
//! Follows `struct yaffs_block_info` of `yaffs_guts.h`, `yaffs_bitmap.c`, the allocation functions of `yaffs_guts.c` and
//! the oldest dirty block of `yaffs_yaffs2.c`. Blocks are counted from [`Blocks::first`], which is 1: chunk number 0 means
//! "no chunk".

mod ledger;

use ffslab_fs::BlockSpace;

/// States of a block, with the numbers that checkpoints hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum BlockState {
    #[default]
    Unknown = 0,
    Scanning = 1,
    NeedsScan = 2,
    Empty = 3,
    /// The open block, into which chunks are being written. At most one block is in this state.
    Allocating = 4,
    Full = 5,
    /// No chunk in it is in use any more, and it is about to be erased.
    Dirty = 6,
    Checkpoint = 7,
    Collecting = 8,
    /// The block is bad and is not used any more.
    Dead = 9,
}

impl BlockState {
    pub fn from_number(number: u32) -> Option<BlockState> {
        use BlockState::*;
        [Unknown, Scanning, NeedsScan, Empty, Allocating, Full, Dirty, Checkpoint, Collecting, Dead]
            .get(number as usize)
            .copied()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockInfo {
    soft_deleted_chunks: i32,
    in_use_chunks: i32,
    pub state: BlockState,
    /// A program operation failed in the block: garbage collection moves its data away, then the block is marked bad.
    pub needs_retiring: bool,
    /// The block was erased since this mount, so writes need not check whether its chunks are really erased.
    pub skip_erased_check: bool,
    /// A read or a write of the block reported errors: garbage collection takes it before all others.
    pub gc_prioritise: bool,
    /// How often the block was prioritised because of errors. Three bits, as checkpoints store it.
    pub error_strikes: u8,
    pub has_summary: bool,
    /// The block holds a shrink header, which must be kept while older blocks have data that it invalidates.
    pub has_shrink_header: bool,
    pub sequence: u32,
}

impl BlockInfo {
    /// A block with these counts, as a checkpoint states them.
    pub fn with_counts(in_use_chunks: i32, soft_deleted_chunks: i32) -> BlockInfo {
        BlockInfo { in_use_chunks, soft_deleted_chunks, ..BlockInfo::default() }
    }

    /// Chunks in use, the soft-deleted ones included.
    pub fn in_use_chunks(&self) -> i32 {
        self.in_use_chunks
    }

    /// Chunks in use that belong to deleted files. Garbage collection drops them.
    pub fn soft_deleted_chunks(&self) -> i32 {
        self.soft_deleted_chunks
    }

    /// Whether the block was opened before the block with this sequence number, if it holds files at all.
    fn is_older_than(&self, sequence: u32) -> bool {
        !matches!(self.state, BlockState::Full | BlockState::Collecting) || self.sequence < sequence
    }

    /// Chunks that a garbage collection would have to copy.
    pub fn live(&self) -> i32 {
        self.in_use_chunks - self.soft_deleted_chunks
    }
}

impl BlockInfo {
    /// Valid, obsolete and free bytes of the block. `written_pages`: how many pages are written if it is the open
    /// block.
    fn space(&self, pages_per_block: u32, written_pages: u32, page_bytes: u32) -> BlockSpace {
        let written_pages = match self.state {
            BlockState::Dead => return BlockSpace::default(),
            BlockState::Empty => 0,
            BlockState::Allocating => written_pages,
            _ => pages_per_block,
        };
        let valid_pages = match self.state {
            BlockState::Checkpoint => pages_per_block,
            BlockState::Dirty => 0,
            // Chunks of deleted files count as in use until garbage collection drops them, but they hold nothing valid.
            _ => (self.live().max(0) as u32).min(written_pages),
        };
        BlockSpace {
            valid_bytes: valid_pages * page_bytes,
            invalid_bytes: (written_pages - valid_pages) * page_bytes,
            free_bytes: (pages_per_block - written_pages) * page_bytes,
        }
    }
}

/// All blocks of the partition.
pub struct Blocks {
    pub chunks_per_block: u32,
    info: Vec<BlockInfo>,
    /// A bit for each chunk in use.
    bits: Vec<u8>,
    bit_stride: usize,
    erased_blocks: i32,
    free_chunks: i32,
    /// The sums were right when the medium had been read, so that they must stay right. A medium may begin with wrong ones.
    pub(crate) is_trusted: bool,
    pub alloc_block: Option<u32>,
    pub alloc_page: u32,
    pub alloc_finder: u32,
    /// Sequence number of the block that was allocated last.
    pub sequence: u32,
    /// Lowest sequence number of all blocks that hold chunks out of use, and that block; 0: not known.
    pub oldest_dirty_sequence: u32,
    pub oldest_dirty_block: u32,
}

impl Blocks {
    pub fn new(blocks: u32, chunks_per_block: u32) -> Blocks {
        let bit_stride = chunks_per_block.div_ceil(8) as usize;
        Blocks {
            chunks_per_block,
            info: vec![BlockInfo::default(); blocks as usize],
            bits: vec![0; bit_stride * blocks as usize],
            bit_stride,
            erased_blocks: 0,
            free_chunks: 0,
            is_trusted: false,
            alloc_block: None,
            alloc_page: 0,
            alloc_finder: 0,
            sequence: 0,
            oldest_dirty_sequence: 0,
            oldest_dirty_block: 0,
        }
    }

    /// What each block holds, from the partition's first on.
    pub fn space(&self, page_bytes: u32) -> Vec<BlockSpace> {
        let of = |info: &BlockInfo| info.space(self.chunks_per_block, self.alloc_page, page_bytes);
        self.info.iter().map(of).collect()
    }

    pub fn count(&self) -> u32 {
        self.info.len() as u32
    }

    /// First block. Not 0, so that no chunk has number 0.
    pub fn first(&self) -> u32 {
        1
    }

    pub fn last(&self) -> u32 {
        self.count()
    }

    pub fn all(&self) -> std::ops::RangeInclusive<u32> {
        self.first()..=self.last()
    }

    pub fn contains_chunk(&self, chunk: u32) -> bool {
        self.all().contains(&(chunk / self.chunks_per_block))
    }

    /// Block of a chunk. Without a division: pages per block are a power of two.
    #[inline]
    pub fn of(&self, chunk: u32) -> u32 {
        chunk >> self.chunks_per_block.trailing_zeros()
    }

    #[inline]
    pub fn info(&self, block: u32) -> &BlockInfo {
        &self.info[(block - 1) as usize]
    }

    #[inline]
    pub fn info_mut(&mut self, block: u32) -> &mut BlockInfo {
        &mut self.info[(block - 1) as usize]
    }

    pub fn infos(&self) -> &[BlockInfo] {
        &self.info
    }

    pub fn bits(&self) -> &[u8] {
        &self.bits
    }

    pub fn bit_stride_bytes(&self) -> usize {
        self.bit_stride
    }

    fn bit(&self, block: u32, page: u32) -> (usize, u8) {
        ((block - 1) as usize * self.bit_stride + (page / 8) as usize, 1 << (page % 8))
    }

    #[inline]
    pub fn is_in_use(&self, block: u32, page: u32) -> bool {
        let (at, mask) = self.bit(block, page);
        self.bits[at] & mask != 0
    }

    #[inline]
    fn set_in_use(&mut self, block: u32, page: u32) {
        let (at, mask) = self.bit(block, page);
        self.bits[at] |= mask;
    }

    #[inline]
    fn clear_in_use(&mut self, block: u32, page: u32) {
        let (at, mask) = self.bit(block, page);
        self.bits[at] &= !mask;
    }

    fn bits_of(&self, block: u32) -> std::ops::Range<usize> {
        let start = (block - 1) as usize * self.bit_stride;
        start..start + self.bit_stride
    }

    fn clear_all(&mut self, block: u32) {
        let range = self.bits_of(block);
        self.bits[range].fill(0);
    }

    /// Is any chunk of the block in use?
    pub fn has_chunks(&self, block: u32) -> bool {
        self.bits[self.bits_of(block)].iter().any(|&byte| byte != 0)
    }

    /// The next chunk of a block in use from page `from` on.
    pub fn next_in_use(&self, block: u32, from: u32) -> Option<u32> {
        (from..self.chunks_per_block).find(|&page| self.is_in_use(block, page))
    }

    // ---- allocation ----------------------------------------------------------------------------------------

    /// Takes the next empty block after the one taken last, round robin (`yaffs_find_alloc_block`).
    fn find_block(&mut self) -> Option<u32> {
        if self.erased_blocks < 1 {
            return None;
        }
        for _ in self.all() {
            self.alloc_finder += 1;
            if !self.all().contains(&self.alloc_finder) {
                self.alloc_finder = self.first();
            }
            let block = self.alloc_finder;
            if self.info(block).state == BlockState::Empty {
                self.sequence = self.sequence.wrapping_add(1);
                let sequence = self.sequence;
                debug_assert!(
                    !self.is_trusted || self.info.iter().all(|info| info.is_older_than(sequence)),
                    "{sequence:#x}"
                );
                let info = self.info_mut(block);
                info.state = BlockState::Allocating;
                info.sequence = sequence;
                self.erased_blocks -= 1;
                return Some(block);
            }
        }
        None
    }

    /// Opens the next empty block if no block is open. When no block is empty none is open afterwards.
    pub fn open_block(&mut self) {
        if self.alloc_block.is_none() {
            self.alloc_block = self.find_block();
            self.alloc_page = 0;
        }
    }

    /// Takes the next chunk of the open block.
    pub fn take_chunk(&mut self) -> Option<u32> {
        let block = self.alloc_block?;
        let page = self.alloc_page;
        self.use_chunk(block, page);
        self.alloc_page += 1;
        if self.alloc_page >= self.chunks_per_block {
            self.info_mut(block).state = BlockState::Full;
            self.alloc_block = None;
        }
        Some(block * self.chunks_per_block + page)
    }

    /// Closes the open block although chunks of it are still erased (`yaffs_skip_rest_of_block`).
    pub fn skip_rest_of_block(&mut self) {
        if let Some(block) = self.alloc_block {
            if self.info(block).state == BlockState::Allocating {
                self.info_mut(block).state = BlockState::Full;
                self.alloc_block = None;
            }
        }
    }

    // ---- the oldest dirty block ----------------------------------------------------------------------------

    fn is_full_and_dirty(&self, info: &BlockInfo) -> bool {
        info.state == BlockState::Full && info.live() < self.chunks_per_block as i32
    }

    /// Finds the oldest dirty block unless it is known (`yaffs2_find_oldest_dirty_seq`).
    pub fn find_oldest_dirty(&mut self) {
        if self.oldest_dirty_sequence != 0 {
            return;
        }
        // Of several blocks with the same sequence number the first is taken, as in the original. The number is compared
        // before all else, because few blocks are older than the oldest so far and collections wait for this search.
        let (mut oldest, mut found) = (self.sequence.wrapping_add(1), None);
        for (index, info) in self.info.iter().enumerate() {
            if info.sequence < oldest && self.is_full_and_dirty(info) {
                (oldest, found) = (info.sequence, Some(index));
            }
        }
        if let Some(index) = found {
            self.oldest_dirty_sequence = oldest;
            self.oldest_dirty_block = index as u32 + 1;
        }
    }

    /// Forgets the oldest dirty block if it is `block`, which was erased or marked bad and so has no valid sequence
    /// number.
    pub fn forget_oldest_dirty(&mut self, block: u32) {
        if self.info(block).sequence == self.oldest_dirty_sequence {
            self.oldest_dirty_sequence = 0;
            self.oldest_dirty_block = 0;
        }
    }

    /// Notes that a chunk of the block went out of use, which may make the block the oldest dirty one.
    #[inline]
    pub fn became_dirtier(&mut self, block: u32) {
        let sequence = self.info(block).sequence;
        if self.oldest_dirty_sequence > sequence {
            self.oldest_dirty_sequence = sequence;
            self.oldest_dirty_block = block;
        }
    }

    /// Whether garbage collection may take this block now. A block with a shrink header must wait until every older
    /// block with data that the header invalidates was erased (`yaffs_block_ok_for_gc`).
    pub fn may_be_collected(&mut self, block: u32) -> bool {
        if !self.info(block).has_shrink_header {
            return true;
        }
        self.find_oldest_dirty();
        self.info(block).sequence <= self.oldest_dirty_sequence
    }

    /// The full block with the lowest sequence number.
    pub fn oldest_full(&self) -> Option<u32> {
        let full = self.info.iter().enumerate().filter(|(_, info)| info.state == BlockState::Full);
        full.min_by_key(|(_, info)| info.sequence).map(|(index, _)| index as u32 + 1)
    }
}
