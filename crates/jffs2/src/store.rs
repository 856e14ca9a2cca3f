//! The store: everything below the inodes. Blocks, node references, space accounting, the medium.
//!
//! Follows `fs/jffs2/jffs2_fs_sb.h` (`struct jffs2_sb_info`), `nodelist.c` (`jffs2_link_node_ref`) and `nodemgmt.c`
//! (`jffs2_mark_node_obsolete`).

use crate::causes;
use ffslab_fs::{Errno, Result, PAGE_BYTES};
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::Sim;
use rustc_hash::FxHashMap;

use crate::blocks::{Blocks, List};
use crate::compress::CompressionWork;
use crate::format::{pad, Endian, INODE_BYTES, MIN_DATA_BYTES};
use crate::ledger::Share;
use crate::levels::Levels;
use crate::medium::Manner;
use crate::options::Options;
use crate::refs::{NodeRefs, NodeState, RefId, NONE};
use crate::summary::Collector;
use crate::wakeups::ThreadSignal;
use crate::wbuf::WriteBuffer;

/// State of an inode with regard to memory (`INO_STATE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InodeState {
    /// Found by the mount scan, data CRCs not checked yet.
    Unchecked,
    /// In memory.
    Present,
    /// Checked, not in memory.
    CheckedAbsent,
}

/// What stays in memory for every inode of the medium (`struct jffs2_inode_cache`).
#[derive(Clone, Copy, Debug)]
pub struct InodeCache {
    pub first: RefId,
    pub state: InodeState,
    /// Number of links; for a directory the inode number of its parent. 0: deleted.
    pub links_or_parent: u32,
    pub is_directory: bool,
}

pub struct Store {
    pub mtd: Mtd,
    /// How the medium wants to be used. Superseded nodes are not marked during the mount, as in the kernel.
    pub manner: Manner,
    pub sim: Sim,
    pub options: Options,
    pub endian: Endian,
    pub block_bytes: u32,
    /// `block_bytes` as a power of two, which it is on NAND.
    block_shift: Option<u32>,
    pub flash_bytes: u32,
    pub page_bytes: u32,
    pub blocks: Blocks,
    pub refs: NodeRefs,
    pub inode_caches: FxHashMap<u32, InodeCache>,
    pub highest_ino: u32,
    pub levels: Levels,
    /// The block to which nodes are appended.
    pub next_block: Option<u32>,
    /// The block that garbage collection is emptying.
    pub gc_block: Option<u32>,
    /// Blocks that wait for an erase or are being erased. Those on the lists `Erasable` and `ErasablePendingWbuf` do
    /// not count.
    pub erasing_blocks: u32,
    pub wbuf: WriteBuffer,
    pub summary: Collector,
    pub signal: ThreadSignal,
    /// The write buffer's timer has fired and its work is not done yet.
    pub worker_busy: bool,
    /// Set while the mount scan runs: block lists do not exist yet.
    pub scanning: bool,
    /// Buffer for nodes and data CRCs, one erase block long.
    pub scratch: Vec<u8>,
    /// Buffer for erase checks, which may be needed to make room for a node that is in `scratch`.
    pub erase_check: Box<[u8]>,
    /// Buffer for node headers: two pages and what a header may need beyond them.
    pub header_buffer: Vec<u8>,
    /// Buffer for decompressed data.
    pub plain: Vec<u8>,
    /// Work of decompression so far.
    pub expanded: CompressionWork,
    refile_counter: u32,
}

/// A block with more obsolete bytes than this is dirty (`ISDIRTY`).
pub const DIRTY_THRESHOLD_BYTES: u32 = INODE_BYTES + MIN_DATA_BYTES;

#[inline]
pub fn is_dirty(bytes: u32) -> bool {
    bytes > DIRTY_THRESHOLD_BYTES
}

impl Store {
    pub fn new(mtd: Mtd, options: Options) -> Store {
        let sim = mtd.sim().clone();
        causes::register(&sim);
        let block_bytes = mtd.erase_block_bytes();
        let blocks = mtd.blocks();
        let flash_bytes = blocks * block_bytes;
        let page_bytes = mtd.page_bytes();
        Store {
            sim,
            options,
            endian: options.endian,
            block_bytes,
            block_shift: block_bytes.is_power_of_two().then(|| block_bytes.trailing_zeros()),
            flash_bytes,
            page_bytes,
            blocks: Blocks::new(blocks, block_bytes),
            refs: NodeRefs::default(),
            inode_caches: FxHashMap::default(),
            highest_ino: 1,
            levels: Levels::of(flash_bytes, block_bytes),
            next_block: None,
            gc_block: None,
            erasing_blocks: 0,
            wbuf: WriteBuffer::new(page_bytes),
            summary: Collector::new(options.summary),
            signal: ThreadSignal::default(),
            worker_busy: false,
            scanning: false,
            scratch: vec![0; block_bytes as usize],
            erase_check: Box::new([0; PAGE_BYTES]),
            header_buffer: vec![0; 3 * page_bytes as usize + INODE_BYTES as usize],
            plain: Vec::new(),
            expanded: CompressionWork::default(),
            refile_counter: 0,
            manner: Manner { marks_obsolete: false, ..Manner::of(&mtd) },
            mtd,
        }
    }

    #[inline]
    pub fn block_of(&self, offset: u32) -> u32 {
        match self.block_shift {
            Some(shift) => offset >> shift,
            None => offset / self.block_bytes,
        }
    }

    pub fn free_blocks(&self) -> u32 {
        self.blocks.length(List::Free)
    }

    /// Offset at which the next node is written. Only valid while there is a block to write to.
    pub fn write_offset(&self) -> u32 {
        let block = self.next_block.unwrap_or(0);
        (block + 1) * self.block_bytes - self.blocks[block].free_bytes()
    }

    /// Bytes of a node including its alignment: up to the next node, or up to the free space of its block.
    pub fn ref_bytes(&self, id: RefId) -> u32 {
        let node = &self.refs[id];
        let end = if node.next_in_block == NONE {
            let block = self.block_of(node.offset());
            (block + 1) * self.block_bytes - self.blocks[block].free_bytes()
        } else {
            self.refs[node.next_in_block].offset()
        };
        end - node.offset()
    }

    /// Appends a reference to the node that begins where the free space of the block began.
    pub fn link_node(&mut self, offset: u32, state: NodeState, bytes: u32, owner: u32) -> RefId {
        let id = self.refs.allocate(offset, state);
        self.link_existing(id, bytes, owner);
        id
    }

    /// Like [`Store::link_node`], for a reference that has its offset and state already.
    pub fn link_existing(&mut self, id: RefId, bytes: u32, owner: u32) {
        let (offset, state) = (self.refs[id].offset(), self.refs[id].state());
        let number = self.block_of(offset);
        let block = &mut self.blocks[number];
        debug_assert_eq!(offset, (number + 1) * self.block_bytes - block.free_bytes(), "node in the wrong place");
        if block.first == NONE {
            block.first = id;
        } else {
            self.refs[block.last].next_in_block = id;
        }
        block.last = id;
        self.blocks.shift(number, Share::Free, state.share(), bytes);
        if owner != 0 {
            self.chain_to_inode(id, owner);
        }
    }

    fn chain_to_inode(&mut self, id: RefId, owner: u32) {
        let Some(cache) = self.inode_caches.get_mut(&owner) else { return };
        let head = cache.first;
        cache.first = id;
        if head != NONE {
            self.refs[head].previous_in_inode = id;
        }
        let node = &mut self.refs[id];
        node.owner = owner;
        node.next_in_inode = head;
        node.previous_in_inode = NONE;
    }

    /// Takes a reference out of its inode's chain.
    pub fn unchain_from_inode(&mut self, id: RefId) {
        let node = self.refs[id];
        if node.owner == 0 {
            return;
        }
        if node.next_in_inode != NONE {
            self.refs[node.next_in_inode].previous_in_inode = node.previous_in_inode;
        }
        if node.previous_in_inode != NONE {
            self.refs[node.previous_in_inode].next_in_inode = node.next_in_inode;
        } else if let Some(cache) = self.inode_caches.get_mut(&node.owner) {
            cache.first = node.next_in_inode;
            if cache.first == NONE && cache.links_or_parent == 0 && cache.state != InodeState::Present {
                self.inode_caches.remove(&node.owner);
            }
        }
        let node = &mut self.refs[id];
        node.owner = 0;
        node.next_in_inode = NONE;
        node.previous_in_inode = NONE;
    }

    /// Counts `bytes` bytes at the start of a block's free space as dirty, in one piece with dirty space before them.
    pub fn scan_dirty_space(&mut self, block: u32, bytes: u32) {
        if bytes == 0 {
            return;
        }
        let b = &self.blocks[block];
        if b.last != NONE && self.refs[b.last].is_obsolete() {
            self.blocks.shift(block, Share::Free, Share::Dirty, bytes);
        } else {
            let offset = (block + 1) * self.block_bytes - b.free_bytes();
            self.link_node(offset, NodeState::Obsolete, bytes, 0);
        }
    }

    /// Counts `bytes` bytes at the start of a block's free space as wasted: they are lost until the block is erased,
    /// but are no reason to collect it.
    pub fn waste_space(&mut self, block: u32, offset: u32, bytes: u32) {
        self.link_node(offset, NodeState::Obsolete, bytes, 0);
        self.blocks.shift(block, Share::Dirty, Share::Wasted, bytes);
    }

    /// Counts a node as used from now on, because its check sums are right.
    pub fn mark_checked(&mut self, id: RefId, state: NodeState) {
        let bytes = self.ref_bytes(id);
        let block = self.block_of(self.refs[id].offset());
        self.refs[id].set_state(state);
        self.blocks.shift(block, Share::Unchecked, Share::Used, bytes);
    }

    /// Marks a node as obsolete, and moves its block to the list that fits now.
    pub fn mark_obsolete(&mut self, id: RefId) {
        let node = self.refs[id];
        if node.is_obsolete() {
            return;
        }
        let number = self.block_of(node.offset());
        let bytes = self.ref_bytes(id);
        let current = self.next_block == Some(number);
        let b = &self.blocks[number];
        let (wasted_bytes, bad_in_use) = (b.wasted_bytes(), b.list() == List::BadUsed);
        let counts_as_dirty = (b.dirty_bytes() != 0 || is_dirty(wasted_bytes + bytes)) && !current;
        let to = if counts_as_dirty { Share::Dirty } else { Share::Wasted };
        self.blocks.shift(number, node.state().share(), to, bytes);
        let mut added = 0;
        if counts_as_dirty {
            added = bytes;
            if wasted_bytes != 0 && bad_in_use {
                added = 0;
            } else {
                added += self.blocks.shift_all(number, Share::Wasted, Share::Dirty);
            }
        }
        self.refs[id].set_state(NodeState::Obsolete);
        if !self.scanning && !current {
            self.refile_after_obsoleting(number, added);
        }
        if self.manner.marks_obsolete {
            self.obliterate(id, bytes);
        }
    }

    fn refile_after_obsoleting(&mut self, number: u32, added: u32) {
        let b = &self.blocks[number];
        let half = self.block_bytes / 2;
        let before = b.dirty_bytes() - added.min(b.dirty_bytes());
        if b.used_bytes() == 0 && b.unchecked_bytes() == 0 {
            if self.gc_block == Some(number) {
                self.gc_block = None;
            }
            if self.wbuf.is_dirty() {
                // The node that replaced the last node may still be in the write buffer. If the block were erased now,
                // a power cut would lose both.
                self.blocks.append(number, List::ErasablePendingWbuf);
            } else {
                self.queue_for_erase(number, self.jiffies());
            }
        } else if self.gc_block == Some(number) {
            // The block is being collected and stays off the lists.
        } else if is_dirty(b.dirty_bytes()) && !is_dirty(before) {
            self.blocks.append(number, List::Dirty);
        } else if b.dirty_bytes() >= half && before < half {
            self.blocks.append(number, List::VeryDirty);
        }
    }

    /// Queues an obsolete block for its erase. One block in 128 is left alone for a while, so that not always the same
    /// blocks are used.
    fn queue_for_erase(&mut self, number: u32, lot: u32) {
        if lot & 127 != 0 {
            self.blocks.append(number, List::ErasePending);
            self.erasing_blocks += 1;
            self.trigger_gc_thread();
        } else {
            self.blocks.append(number, List::Erasable);
        }
    }

    /// Queues the blocks that waited for the write buffer, which is on flash now.
    pub fn refile_wbuf_blocks(&mut self) {
        while let Some(number) = self.blocks.take_first(List::ErasablePendingWbuf) {
            let lot = self.jiffies().wrapping_add(self.refile_counter);
            self.refile_counter = self.refile_counter.wrapping_add(1);
            self.queue_for_erase(number, lot);
        }
    }

    // ---- the medium ----------------------------------------------------------------------------------------

    /// Reads from flash; bytes that are still in the write buffer come from there (`jffs2_flash_read`). Bit errors that
    /// ECC could not correct are found by the check sums of the nodes.
    pub fn flash_read(&mut self, offset: u32, data: &mut [u8]) -> Result<()> {
        match self.mtd.read(u64::from(offset), data) {
            Ok(_) | Err(MtdError::Uncorrectable) => {}
            Err(error) => return Err(errno(&error)),
        }
        self.wbuf.overlay(offset, self.block_bytes, data);
        Ok(())
    }

    /// Makes the entry of an inode that was found on flash or just created.
    pub fn inode_cache_mut(&mut self, ino: u32) -> &mut InodeCache {
        if ino > self.highest_ino {
            self.highest_ino = ino;
        }
        self.inode_caches.entry(ino).or_insert(InodeCache {
            first: NONE,
            state: InodeState::Unchecked,
            links_or_parent: u32::from(ino == 1),
            is_directory: false,
        })
    }
}

/// The error of a system call that follows from a failed flash operation.
pub fn errno(error: &MtdError) -> Errno {
    match error {
        MtdError::PowerCut => Errno::PowerCut,
        _ => Errno::Io,
    }
}

/// Bytes a node takes on flash.
pub fn node_bytes(header: u32, payload: usize) -> u32 {
    pad(header + payload as u32)
}
