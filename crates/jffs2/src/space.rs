//! What every byte of the medium is used for: node references, the inodes that they belong to, erase blocks and the lists
//! on which these wait.
//!
//! Follows `fs/jffs2/jffs2_fs_sb.h` (`struct jffs2_sb_info`), `nodelist.c` (`jffs2_link_node_ref`) and `nodemgmt.c`
//! (`jffs2_mark_node_obsolete`, `jffs2_thread_should_wake`). Nothing here fills the write buffer or writes a node. That a
//! superseded node is marked on the medium where that is possible is all that reaches flash.

use ffslab_fs::BlockSpace;
use rustc_hash::FxHashMap;

use crate::blocks::{Blocks, List};
use crate::flash::Flash;
use crate::format::{pad, Header, ACCURATE, HEADER_BYTES, INODE_BYTES, MIN_DATA_BYTES};
use crate::ledger::Share;
use crate::levels::Levels;
use crate::refs::{NodeRefs, NodeState, RefId, NONE};
use crate::summary::Collector;
use crate::wakeups::ThreadSignal;
use crate::xattr_table::XattrTable;

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

pub struct Space {
    pub blocks: Blocks,
    pub refs: NodeRefs,
    pub inode_caches: FxHashMap<u32, InodeCache>,
    pub xattrs: XattrTable,
    pub highest_ino: u32,
    pub levels: Levels,
    /// The block to which nodes are appended, and the entries of its summary.
    pub next_block: Option<u32>,
    pub summary: Collector,
    /// The block that garbage collection is emptying.
    pub gc_block: Option<u32>,
    /// Blocks that wait for an erase or are being erased. Those on the lists `Erasable` and `ErasablePendingWbuf` do
    /// not count.
    pub erasing_blocks: u32,
    pub signal: ThreadSignal,
    /// Set while the mount scan runs: block lists do not exist yet.
    pub scanning: bool,
    refile_counter: u32,
}

/// A block with more obsolete bytes than this is dirty (`ISDIRTY`).
pub const DIRTY_THRESHOLD_BYTES: u32 = INODE_BYTES + MIN_DATA_BYTES;

#[inline]
pub fn is_dirty(bytes: u32) -> bool {
    bytes > DIRTY_THRESHOLD_BYTES
}

impl Space {
    pub fn new(flash: &Flash) -> Space {
        Space {
            blocks: Blocks::new(flash.bytes / flash.block_bytes, flash.block_bytes),
            refs: NodeRefs::default(),
            inode_caches: FxHashMap::default(),
            xattrs: XattrTable::default(),
            highest_ino: 1,
            levels: Levels::of(flash.bytes, flash.block_bytes),
            next_block: None,
            summary: Collector::new(flash.options.summary),
            gc_block: None,
            erasing_blocks: 0,
            signal: ThreadSignal::default(),
            scanning: false,
            refile_counter: 0,
        }
    }

    pub fn free_blocks(&self) -> u32 {
        self.blocks.length(List::Free)
    }

    /// Offset at which the next node is written. Only valid while there is a block to write to.
    #[inline]
    pub fn write_offset(&self) -> u32 {
        self.blocks.free_from(self.next_block.unwrap_or(0))
    }

    /// Bytes of a node including its alignment: up to the next node, or up to the free space of its block.
    #[inline]
    pub fn ref_bytes(&self, id: RefId) -> u32 {
        let node = &self.refs[id];
        let end = if node.next_in_block == NONE {
            self.blocks.free_from(self.blocks.of(node.offset()))
        } else {
            self.refs[node.next_in_block].offset()
        };
        end - node.offset()
    }

    /// Appends a reference to the node that begins where the free space of the block began.
    #[inline]
    pub fn link_node(&mut self, offset: u32, state: NodeState, bytes: u32, owner: u32) -> RefId {
        let id = self.refs.allocate(offset, state);
        self.link_existing(id, bytes, owner);
        id
    }

    /// Like [`Space::link_node`], for a reference that has its offset and state already.
    #[inline]
    pub fn link_existing(&mut self, id: RefId, bytes: u32, owner: u32) {
        let (offset, state) = (self.refs[id].offset(), self.refs[id].state());
        let number = self.blocks.of(offset);
        debug_assert_eq!(offset, self.blocks.free_from(number), "node in the wrong place");
        let block = &mut self.blocks[number];
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

    /// Takes a reference out of the chain of its inode, or of its extended attribute.
    pub fn unchain(&mut self, id: RefId) {
        match self.refs[id].owner {
            0 => self.xattrs.unchain(&mut self.refs, id),
            _ => self.unchain_from_inode(id),
        }
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

    /// Counts `bytes` bytes at the start of a block's free space as dirty, in one piece with dirty space before them.
    pub fn scan_dirty_space(&mut self, block: u32, bytes: u32) {
        if bytes == 0 {
            return;
        }
        let b = &self.blocks[block];
        if b.last != NONE && self.refs[b.last].is_obsolete() {
            self.blocks.shift(block, Share::Free, Share::Dirty, bytes);
        } else {
            let offset = self.blocks.free_from(block);
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
        let block = self.blocks.of(self.refs[id].offset());
        self.refs[id].set_state(state);
        self.blocks.shift(block, Share::Unchecked, Share::Used, bytes);
    }

    /// Valid, obsolete and free bytes of each block. Nodes whose check sums were not checked yet count as valid.
    pub fn block_space(&self) -> Vec<BlockSpace> {
        let all = self.blocks.block_bytes();
        let of = |block| {
            let b = &self.blocks[block];
            match b.list() {
                List::Bad => BlockSpace::default(),
                List::ErasePending | List::Erasing | List::EraseChecking => {
                    BlockSpace { invalid_bytes: all, ..BlockSpace::default() }
                }
                List::EraseComplete | List::Free => BlockSpace { free_bytes: all, ..BlockSpace::default() },
                _ => BlockSpace {
                    valid_bytes: b.used_bytes() + b.unchecked_bytes(),
                    invalid_bytes: b.dirty_bytes() + b.wasted_bytes(),
                    free_bytes: b.free_bytes(),
                },
            }
        };
        (0..self.blocks.count()).map(of).collect()
    }

    // ---- obsolete nodes ------------------------------------------------------------------------------------

    /// Marks a node as obsolete, and moves its block to the list that fits now.
    #[inline]
    pub fn mark_obsolete(&mut self, flash: &Flash, id: RefId) {
        let node = self.refs[id];
        if node.is_obsolete() {
            return;
        }
        let number = self.blocks.of(node.offset());
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
            self.refile_after_obsoleting(flash, number, added);
        }
        if flash.manner.marks_obsolete {
            self.obliterate(flash, id, bytes);
        }
    }

    fn refile_after_obsoleting(&mut self, flash: &Flash, number: u32, added: u32) {
        let b = &self.blocks[number];
        let half = self.blocks.block_bytes() / 2;
        let before = b.dirty_bytes() - added.min(b.dirty_bytes());
        if b.used_bytes() == 0 && b.unchecked_bytes() == 0 {
            if self.gc_block == Some(number) {
                self.gc_block = None;
            }
            if flash.wbuf.is_dirty() {
                // The node that replaced the last node may still be in the write buffer. If the block were erased now,
                // a power cut would lose both.
                self.blocks.append(number, List::ErasablePendingWbuf);
            } else {
                self.queue_for_erase(flash, number, flash.jiffies());
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
    fn queue_for_erase(&mut self, flash: &Flash, number: u32, lot: u32) {
        if lot & 127 != 0 {
            self.queue_at_end(flash, number);
        } else {
            self.blocks.append(number, List::Erasable);
        }
    }

    /// Queues a block for its erase, behind those that wait already.
    pub fn queue_at_end(&mut self, flash: &Flash, number: u32) {
        self.blocks.append(number, List::ErasePending);
        self.erasing_blocks += 1;
        self.trigger_gc_thread(flash);
    }

    /// Queues the blocks that waited for the write buffer, which is on flash now.
    pub fn refile_wbuf_blocks(&mut self, flash: &Flash) {
        while let Some(number) = self.blocks.take_first(List::ErasablePendingWbuf) {
            let lot = flash.jiffies().wrapping_add(self.refile_counter);
            self.refile_counter = self.refile_counter.wrapping_add(1);
            self.queue_for_erase(flash, number, lot);
        }
    }

    /// Clears the "accurate" bit in the header of a superseded node and takes the node out of its inode's chain. If
    /// this fails nothing is lost: a mount finds superseded nodes by their versions.
    fn obliterate(&mut self, flash: &Flash, id: RefId, bytes: u32) {
        let e = flash.endian;
        let offset = self.refs[id].offset();
        let mut raw = [0u8; HEADER_BYTES as usize];
        if flash.read(offset, &mut raw).is_err() {
            return;
        }
        let header = Header::decode(e, &raw);
        if pad(header.total_bytes) != pad(bytes) || header.node_type & ACCURATE == 0 {
            return;
        }
        e.put16(&mut raw, 2, header.node_type & !ACCURATE);
        if flash.mtd.write(u64::from(offset), &raw).is_ok() {
            self.unchain(id);
        }
    }

    /// Makes the clean marker of a block obsolete, because a node is about to follow it and it is not needed any more.
    pub fn give_up_clean_marker(&mut self, flash: &Flash, block: u32) {
        let b = self.blocks[block];
        if !flash.manner.marker_in_oob && b.used_bytes() == HEADER_BYTES && self.refs[b.first].owner == 0 {
            self.mark_obsolete(flash, b.first);
        }
    }

    // ---- when there is work --------------------------------------------------------------------------------

    /// Obsolete bytes that garbage collection can free. Blocks that wait for an erase or are being erased are counted
    /// by `erasing_blocks` and left out here.
    pub fn collectable_bytes(&self) -> u32 {
        let totals = self.blocks.totals();
        (totals.dirty_bytes() + totals.erasing_bytes()).saturating_sub(self.erasing_blocks * self.blocks.block_bytes())
    }

    pub fn thread_should_wake(&self) -> bool {
        if !self.blocks.is_empty(List::EraseComplete) || !self.blocks.is_empty(List::ErasePending) {
            return true;
        }
        if self.blocks.totals().unchecked_bytes() != 0 {
            return true;
        }
        if self.free_blocks() + self.erasing_blocks < self.levels.gc_trigger_blocks
            && self.collectable_bytes() > self.levels.no_space_dirty_bytes
        {
            return true;
        }
        self.blocks.length(List::VeryDirty) >= self.levels.very_dirty_trigger_blocks
    }

    /// If the thread has come as far as the allocation semaphore and found it taken, it has taken note of its signal. One that
    /// comes while it waits is blocked until its pass has ended (`hupmask` of `fs/jffs2/background.c`).
    pub fn notice_vain_turn(&mut self, flash: &Flash) {
        if flash.sim.came_in_vain() && !self.signal.is_at_lock {
            self.signal.pending = false;
            self.signal.in_pass = true;
            self.signal.is_at_lock = true;
        }
    }

    /// Sends the thread a signal if there is work for it (`jffs2_garbage_collect_trigger`).
    pub fn trigger_gc_thread(&mut self, flash: &Flash) {
        self.notice_vain_turn(flash);
        if self.signal.is_awaited() && self.thread_should_wake() {
            self.signal.send(&flash.sim, &flash.options);
        }
    }
}

/// Bytes a node takes on flash.
pub fn node_bytes(header: u32, payload: usize) -> u32 {
    pad(header + payload as u32)
}
