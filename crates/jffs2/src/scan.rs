//! The mount scan: every block is examined and put on its list.
//!
//! Follows `fs/jffs2/scan.c`. A block that begins with 256 bytes of 0xFF is taken for empty; otherwise the whole block
//! is read. With summaries the last page is read first, and often nothing else.

use std::collections::hash_map::Entry;

use crate::causes;
use ffslab_fs::Result as FsResult;
use ffslab_mtd::{is_erased, MtdError};
use ffslab_sim::Work;

use crate::blocks::List;
use crate::format::{
    crc32, oob_clean_marker, pad, Header, RawDirent, RawInode, ACCURATE, COMPAT_MASK, DIRENT_BYTES, FEATURE_INCOMPAT,
    FEATURE_ROCOMPAT, FEATURE_RWCOMPAT_COPY, HEADER_BYTES, INODE_BYTES, TYPE_CLEAN_MARKER, TYPE_DIRENT, TYPE_INODE,
    TYPE_PADDING, TYPE_SUMMARY, TYPE_XATTR, TYPE_XREF,
};
use crate::ledger::Share;
use crate::refs::{NodeState, RefId, NONE};
use crate::scan_block::Walk;
use crate::store::{errno, is_dirty, Store};
use crate::summary::{self, Collector, FRAME_BYTES, MARKER_MAGIC};
use crate::MountError;
use rustc_hash::FxHashMap;

/// A block that begins with so many bytes of 0xFF looks empty (`DEFAULT_EMPTY_SCAN_SIZE`).
pub(crate) const EMPTY_SCAN_BYTES: usize = 256;
/// In a block that looks empty, the out-of-band areas of so many pages must be erased, too.
const OOB_SCAN_PAGES: u32 = 4;

/// The result of the scan of a block.
pub(crate) enum BlockState {
    AllErased,
    CleanMarker,
    Clean,
    PartDirty,
    AllDirty,
    Bad,
}

/// A directory entry found by the scan.
pub struct FoundDirent {
    pub parent: u32,
    pub name: Box<[u8]>,
    pub node: RefId,
    pub version: u32,
    pub ino: u32,
    pub dirent_type: u8,
}

/// What the scan finds besides the lists of blocks.
#[derive(Default)]
pub struct Findings {
    /// The newest entry for each name of each directory.
    pub dirents: Vec<FoundDirent>,
    by_name: FxHashMap<(u32, Box<[u8]>), usize>,
    /// Sum of all versions: decides how far the lists are rotated, so that wear spreads over mounts.
    pub rotation_seed: u32,
}

impl Findings {
    /// Adds an entry. Of two entries for the same name the older one becomes obsolete.
    fn add(&mut self, store: &mut Store, found: FoundDirent) {
        match self.by_name.entry((found.parent, found.name.clone())) {
            Entry::Vacant(slot) => {
                slot.insert(self.dirents.len());
                self.dirents.push(found);
            }
            Entry::Occupied(slot) => {
                let known = &mut self.dirents[*slot.get()];
                if found.version < known.version {
                    store.mark_obsolete(found.node);
                } else {
                    store.mark_obsolete(known.node);
                    *known = found;
                }
            }
        }
    }
}

impl Store {
    /// Scans the medium and files every block.
    pub fn scan(&mut self, findings: &mut Findings) -> Result<(), MountError> {
        let _why = self.sim.because(&causes::MOUNT_SCAN);
        self.scanning = true;
        let (mut empty, mut bad) = (0, 0);
        for block in 0..self.blocks.count() {
            self.sim.work(Work::ScanBlock, 0);
            let mut collector = Collector::new(self.options.summary);
            match self.scan_block(block, findings, &mut collector)? {
                BlockState::AllErased => {
                    // The last erase may have been interrupted, so the block is erased again and marked as clean.
                    empty += 1;
                    self.blocks[block].is_blank = true;
                    self.queue_found(block);
                }
                BlockState::CleanMarker if self.blocks[block].dirty_bytes() == 0 => {
                    self.blocks.prepend(block, List::Free);
                }
                BlockState::CleanMarker | BlockState::AllDirty => self.queue_found(block),
                BlockState::Clean => self.blocks.prepend(block, List::Clean),
                BlockState::PartDirty => self.file_part_dirty(block, collector),
                BlockState::Bad => {
                    self.blocks.prepend(block, List::Bad);
                    self.blocks.shift_all(block, Share::Free, Share::Bad);
                    bad += 1;
                }
            }
        }
        self.scanning = false;
        self.prepare_next_block();
        if self.erasing_blocks > 0
            && self.blocks.totals().used_bytes() == 0
            && self.blocks.totals().unchecked_bytes() == 0
            && (self.free_blocks() + empty + bad != self.blocks.count() || bad == self.blocks.count())
        {
            return Err(MountError::NotJffs2);
        }
        Ok(())
    }

    fn queue_found(&mut self, block: u32) {
        self.blocks.prepend(block, List::ErasePending);
        self.erasing_blocks += 1;
    }

    /// Puts a block with nodes and free space on its list. Writing continues in the block with the most free space; in
    /// all others the free space counts as dirty.
    fn file_part_dirty(&mut self, block: u32, collector: Collector) {
        let free = self.blocks[block].free_bytes();
        let worthwhile = self.page_bytes.max(2 * INODE_BYTES);
        let best = self.next_block.map_or(0, |b| self.blocks[b].free_bytes());
        if free > worthwhile && free > best {
            if let Some(other) = self.next_block.replace(block) {
                self.file_dirty(other);
            }
            self.summary = collector;
        } else {
            self.file_dirty(block);
        }
    }

    fn file_dirty(&mut self, block: u32) {
        let free = self.blocks[block].free_bytes();
        self.scan_dirty_space(block, free);
        self.blocks.shift_all(block, Share::Wasted, Share::Dirty);
        let very = self.blocks[block].dirty_bytes() >= self.block_bytes / 2;
        self.blocks.prepend(block, if very { List::VeryDirty } else { List::Dirty });
    }

    /// Lets writing continue at the start of the next page of the block with the most free space.
    fn prepare_next_block(&mut self) {
        let Some(block) = self.next_block else { return };
        self.blocks.shift_all(block, Share::Dirty, Share::Wasted);
        let skip = self.blocks[block].free_bytes() % self.page_bytes;
        self.scan_dirty_space(block, skip);
    }

    fn scan_block(
        &mut self,
        block: u32,
        findings: &mut Findings,
        collector: &mut Collector,
    ) -> Result<BlockState, MountError> {
        let start = block * self.block_bytes;
        if self.mtd.is_bad(u64::from(start)) {
            return Ok(BlockState::Bad);
        }
        let marked = self.manner.marker_in_oob && self.has_clean_marker(start)?;
        let mut data = std::mem::take(&mut self.scratch);
        let state = self.scan_content(block, start, marked, &mut data, findings, collector);
        self.scratch = data;
        state
    }

    fn has_clean_marker(&mut self, start: u32) -> FsResult<bool> {
        let mut oob = [0u8; 8];
        match self.mtd.read_oob_free(u64::from(start), &mut oob) {
            Ok(_) | Err(MtdError::Uncorrectable) => Ok(oob == oob_clean_marker(self.endian)),
            Err(error) => Err(errno(&error)),
        }
    }

    /// Whether the out-of-band areas of the first pages are erased, except for the clean marker.
    fn oob_is_empty(&mut self, start: u32, marked: bool) -> FsResult<bool> {
        if !self.manner.marker_in_oob {
            return Ok(true);
        }
        let free = self.mtd.oob_free_bytes();
        let mut oob = vec![0u8; (OOB_SCAN_PAGES * free) as usize];
        match self.mtd.read_oob_free(u64::from(start), &mut oob) {
            Ok(_) | Err(MtdError::Uncorrectable) => {}
            Err(error) => return Err(errno(&error)),
        }
        let skip = if marked { 8 } else { 0 };
        Ok(is_erased(&oob[skip..]))
    }

    fn scan_content(
        &mut self,
        block: u32,
        start: u32,
        marked: bool,
        data: &mut [u8],
        findings: &mut Findings,
        collector: &mut Collector,
    ) -> Result<BlockState, MountError> {
        if self.options.summary && self.scan_summary(block, data, findings)? {
            return Ok(self.classify(block));
        }
        let looked_at = EMPTY_SCAN_BYTES.min(data.len());
        self.flash_read(start, &mut data[..looked_at])?;
        if is_erased(&data[..looked_at]) {
            return Ok(match (self.oob_is_empty(start, marked)?, marked) {
                (false, _) => BlockState::AllDirty,
                (true, true) => BlockState::CleanMarker,
                (true, false) => BlockState::AllErased,
            });
        }
        if self.scan_nodes(block, data, findings, collector)? == Walk::OnlyMarker {
            return Ok(BlockState::CleanMarker);
        }
        if collector.is_active() && pad(collector.bytes() + FRAME_BYTES) > self.blocks[block].free_bytes() {
            collector.disable();
        }
        self.blocks.shift_all(block, Share::Wasted, Share::Dirty);
        Ok(self.classify(block))
    }

    pub(crate) fn classify(&mut self, block: u32) -> BlockState {
        let b = self.blocks[block];
        let live = b.used_bytes() + b.unchecked_bytes();
        let (marker_bytes, last) = if self.manner.marker_in_oob { (0, NONE) } else { (HEADER_BYTES, b.last) };
        if live == marker_bytes && b.dirty_bytes() == 0 && b.first == last {
            BlockState::CleanMarker
        } else if !is_dirty(self.block_bytes - live) {
            self.blocks.shift_all(block, Share::Dirty, Share::Wasted);
            BlockState::Clean
        } else if live != 0 {
            BlockState::PartDirty
        } else {
            BlockState::AllDirty
        }
    }

    /// Takes the block's nodes from its summary. Returns `false` when the block has no summary or a damaged one.
    fn scan_summary(&mut self, block: u32, data: &mut [u8], findings: &mut Findings) -> FsResult<bool> {
        let e = self.endian;
        let (start, size, page) = (block * self.block_bytes, self.block_bytes as usize, self.page_bytes as usize);
        self.flash_read(start + (size - page) as u32, &mut data[size - page..])?;
        if e.u32(data, size - 4) != MARKER_MAGIC {
            return Ok(false);
        }
        let at = e.u32(data, size - 8) as usize;
        if at >= size || !at.is_multiple_of(4) {
            return Ok(false);
        }
        if at < size - page {
            self.flash_read(start + at as u32, &mut data[at..size - page])?;
        }
        let mut accounting = SummaryTaker { store: self, block, findings };
        let found = summary::read_summary(e, &data[at..], |entry| accounting.take(entry));
        if !found {
            return Ok(false);
        }
        self.scan_gap(block, at as u32);
        self.link_node(start + at as u32, NodeState::Normal, (size - at) as u32, 0);
        Ok(true)
    }

    /// Counts the space between the last known node and `at` as dirty, because no node describes it.
    fn scan_gap(&mut self, block: u32, at: u32) {
        let reached = self.block_bytes - self.blocks[block].free_bytes();
        self.scan_dirty_space(block, at.saturating_sub(reached));
    }

    pub(crate) fn scan_node(
        &mut self,
        block: u32,
        offset: u32,
        header: &Header,
        node: &[u8],
        findings: &mut Findings,
        collector: &mut Collector,
    ) -> Result<(), MountError> {
        let e = self.endian;
        let bytes = node.len() as u32;
        let in_block = offset % self.block_bytes;
        self.sim.work(Work::Crc, node.len().min(INODE_BYTES as usize));
        match header.node_type {
            _ if header.node_type & ACCURATE == 0 => self.scan_dirty_space(block, bytes),
            TYPE_INODE => match RawInode::decode(e, pad_slice(node, INODE_BYTES)) {
                Some(raw) if raw.ino != 0 => {
                    findings.rotation_seed = findings.rotation_seed.wrapping_add(raw.version);
                    self.inode_cache_mut(raw.ino);
                    self.link_node(offset, NodeState::Unchecked, bytes, raw.ino);
                    collector.add_node(e, [node, &[]], in_block);
                }
                _ => self.scan_dirty_space(block, bytes),
            },
            TYPE_DIRENT => {
                let raw = RawDirent::decode(e, pad_slice(node, DIRENT_BYTES));
                let Some(raw) = raw else {
                    self.scan_dirty_space(block, bytes);
                    return Ok(());
                };
                let name = node.get(DIRENT_BYTES as usize..DIRENT_BYTES as usize + usize::from(raw.name_bytes));
                let name = name.filter(|n| crc32(0, n) == raw.name_crc && !n.is_empty() && !n.contains(&0));
                let Some(name) = name.filter(|_| raw.parent != 0) else {
                    self.scan_dirty_space(block, bytes);
                    return Ok(());
                };
                findings.rotation_seed = findings.rotation_seed.wrapping_add(raw.version);
                let state = if raw.ino == 0 { NodeState::Normal } else { NodeState::Pristine };
                self.inode_cache_mut(raw.parent);
                let id = self.link_node(offset, state, bytes, raw.parent);
                let found = FoundDirent {
                    parent: raw.parent,
                    name: name.into(),
                    node: id,
                    version: raw.version,
                    ino: raw.ino,
                    dirent_type: raw.dirent_type,
                };
                findings.add(self, found);
                collector.add_node(e, [node, &[]], in_block);
            }
            // Extended attributes are not offered to programs, but their nodes are kept and copied as they are.
            TYPE_XATTR | TYPE_XREF => {
                self.link_node(offset, NodeState::Pristine, bytes, 0);
                collector.disable();
            }
            TYPE_PADDING => {
                collector.add_padding(header.total_bytes);
                self.scan_dirty_space(block, bytes);
            }
            TYPE_CLEAN_MARKER
                if !self.manner.marker_in_oob
                    && header.total_bytes == HEADER_BYTES
                    && self.blocks[block].first == NONE =>
            {
                self.link_node(offset, NodeState::Normal, HEADER_BYTES, 0);
            }
            TYPE_CLEAN_MARKER | TYPE_SUMMARY => self.scan_dirty_space(block, bytes),
            other => match other & COMPAT_MASK {
                FEATURE_RWCOMPAT_COPY => {
                    self.link_node(offset, NodeState::Pristine, bytes, 0);
                    collector.disable();
                }
                // With a node of the second kind (ROCOMPAT) the kernel would mount read-only.
                FEATURE_INCOMPAT | FEATURE_ROCOMPAT => {
                    return Err(MountError::Incompatible { node_type: other, offset })
                }
                _ => self.scan_dirty_space(block, bytes),
            },
        }
        Ok(())
    }
}

/// Returns `node`, or, if it is shorter than `least`, an erased header, whose CRC is wrong.
fn pad_slice(node: &[u8], least: u32) -> &[u8] {
    const EMPTY: [u8; INODE_BYTES as usize] = [0xFF; INODE_BYTES as usize];
    if node.len() >= least as usize {
        node
    } else {
        &EMPTY
    }
}

struct SummaryTaker<'a> {
    store: &'a mut Store,
    block: u32,
    findings: &'a mut Findings,
}

impl SummaryTaker<'_> {
    fn take(&mut self, entry: summary::Entry<'_>) {
        let base = self.block * self.store.block_bytes;
        match entry {
            summary::Entry::Inode { ino, version, at, total_bytes } => {
                self.store.scan_gap(self.block, at);
                self.findings.rotation_seed = self.findings.rotation_seed.wrapping_add(version);
                if ino == 0 {
                    return self.store.scan_dirty_space(self.block, pad(total_bytes));
                }
                self.store.inode_cache_mut(ino);
                self.store.link_node(base + at, NodeState::Unchecked, pad(total_bytes), ino);
            }
            summary::Entry::Dirent { parent, version, ino, at, total_bytes, dirent_type, name } => {
                self.store.scan_gap(self.block, at);
                self.findings.rotation_seed = self.findings.rotation_seed.wrapping_add(version);
                if parent == 0 || name.is_empty() || name.contains(&0) {
                    return self.store.scan_dirty_space(self.block, pad(total_bytes));
                }
                self.store.inode_cache_mut(parent);
                let node = self.store.link_node(base + at, NodeState::Unchecked, pad(total_bytes), parent);
                let found = FoundDirent { parent, name: name.into(), node, version, ino, dirent_type };
                self.findings.add(self.store, found);
            }
        }
    }
}
