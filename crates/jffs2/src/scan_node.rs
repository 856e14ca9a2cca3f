//! What the mount scan makes of a node, or of the entry for it in a summary.
//!
//! Follows `fs/jffs2/scan.c` (`jffs2_scan_inode_node`, `jffs2_scan_dirent_node`) and `summary.c`
//! (`jffs2_sum_process_sum_data`).

use std::collections::hash_map::Entry;

use ffslab_fs::Result as FsResult;
use ffslab_sim::Work;
use rustc_hash::FxHashMap;

use crate::faults;
use crate::flash::Flash;
use crate::format::{
    crc32, pad, Header, RawDirent, RawInode, RawXattr, RawXref, ACCURATE, COMPAT_MASK, DIRENT_BYTES, FEATURE_INCOMPAT,
    FEATURE_ROCOMPAT, FEATURE_RWCOMPAT_COPY, HEADER_BYTES, INODE_BYTES, TYPE_CLEAN_MARKER, TYPE_DIRENT, TYPE_INODE,
    TYPE_PADDING, TYPE_SUMMARY, TYPE_XATTR, TYPE_XREF, XREF_BYTES,
};
use crate::refs::{NodeState, RefId, NONE};
use crate::space::Space;
use crate::summary::{self, Collector, MARKER_MAGIC};
use crate::xattr_build::FoundXattrs;
use crate::MountError;

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
    pub xattrs: FoundXattrs,
    /// Sum of all versions: decides how far the lists are rotated, so that wear spreads over mounts.
    pub rotation_seed: u32,
}

impl Findings {
    /// Adds an entry. Of two entries for the same name the older one becomes obsolete.
    fn add(&mut self, space: &mut Space, flash: &Flash, found: FoundDirent) {
        match self.by_name.entry((found.parent, found.name.clone())) {
            Entry::Vacant(slot) => {
                slot.insert(self.dirents.len());
                self.dirents.push(found);
            }
            Entry::Occupied(slot) => {
                let known = &mut self.dirents[*slot.get()];
                if (found.version < known.version) != faults::OLDER_ENTRY_WINS.is_seeded() {
                    space.mark_obsolete(flash, found.node);
                } else {
                    space.mark_obsolete(flash, known.node);
                    *known = found;
                }
            }
        }
    }
}

/// A mount scan under way.
pub struct Scan<'a> {
    pub space: &'a mut Space,
    pub flash: &'a Flash,
    pub findings: Findings,
}

impl Scan<'_> {
    /// Takes a node that the walk over its block found.
    pub fn take_node(
        &mut self,
        block: u32,
        offset: u32,
        header: &Header,
        node: &[u8],
        collector: &mut Collector,
    ) -> Result<(), MountError> {
        let e = self.flash.endian;
        let bytes = node.len() as u32;
        let in_block = offset % self.flash.block_bytes;
        self.flash.sim.work(Work::Crc, node.len().min(INODE_BYTES as usize));
        match header.node_type {
            _ if header.node_type & ACCURATE == 0 => self.space.scan_dirty_space(block, bytes),
            TYPE_INODE => match RawInode::decode(e, pad_slice(node, INODE_BYTES)) {
                Some(raw) if raw.ino != 0 => {
                    self.findings.rotation_seed = self.findings.rotation_seed.wrapping_add(raw.version);
                    self.space.inode_cache_mut(raw.ino);
                    self.space.link_node(offset, NodeState::Unchecked, bytes, raw.ino);
                    collector.note_node(e, [node, &[]], in_block);
                }
                _ => self.space.scan_dirty_space(block, bytes),
            },
            TYPE_DIRENT => {
                let raw = RawDirent::decode(e, pad_slice(node, DIRENT_BYTES));
                let Some(raw) = raw else {
                    self.space.scan_dirty_space(block, bytes);
                    return Ok(());
                };
                let name = node.get(DIRENT_BYTES as usize..DIRENT_BYTES as usize + usize::from(raw.name_bytes));
                let name = name.filter(|n| crc32(0, n) == raw.name_crc && !n.is_empty() && !n.contains(&0));
                let Some(name) = name.filter(|_| raw.parent != 0) else {
                    self.space.scan_dirty_space(block, bytes);
                    return Ok(());
                };
                self.findings.rotation_seed = self.findings.rotation_seed.wrapping_add(raw.version);
                let state = if raw.ino == 0 { NodeState::Normal } else { NodeState::Pristine };
                self.space.inode_cache_mut(raw.parent);
                let id = self.space.link_node(offset, state, bytes, raw.parent);
                let found = FoundDirent {
                    parent: raw.parent,
                    name: name.into(),
                    node: id,
                    version: raw.version,
                    ino: raw.ino,
                    dirent_type: raw.dirent_type,
                };
                self.findings.add(self.space, self.flash, found);
                collector.note_node(e, [node, &[]], in_block);
            }
            TYPE_XATTR if self.flash.options.xattrs => match RawXattr::decode(e, node) {
                Some(raw) => {
                    let id = self.space.link_node(offset, NodeState::Pristine, bytes, 0);
                    self.findings.xattrs.add_datum(self.space, id, raw.xid, raw.version, Some(&raw));
                    collector.note_node(e, [node, &[]], in_block);
                }
                None => self.space.scan_dirty_space(block, bytes),
            },
            TYPE_XREF if self.flash.options.xattrs => match RawXref::decode(e, node) {
                Some(raw) => {
                    let id = self.space.link_node(offset, NodeState::Pristine, bytes, 0);
                    self.findings.xattrs.add_reference(self.space, id, Some(&raw));
                    collector.note_node(e, [node, &[]], in_block);
                }
                None => self.space.scan_dirty_space(block, bytes),
            },
            TYPE_PADDING => {
                collector.add_padding(header.total_bytes);
                self.space.scan_dirty_space(block, bytes);
            }
            TYPE_CLEAN_MARKER
                if !self.flash.manner.marker_in_oob
                    && header.total_bytes == HEADER_BYTES
                    && self.space.blocks[block].first == NONE =>
            {
                self.space.link_node(offset, NodeState::Normal, HEADER_BYTES, 0);
            }
            TYPE_CLEAN_MARKER | TYPE_SUMMARY => self.space.scan_dirty_space(block, bytes),
            other => match other & COMPAT_MASK {
                FEATURE_RWCOMPAT_COPY => {
                    self.space.link_node(offset, NodeState::Pristine, bytes, 0);
                    collector.disable();
                }
                // With a node of the second kind (ROCOMPAT) the kernel would mount read-only.
                FEATURE_INCOMPAT | FEATURE_ROCOMPAT => {
                    return Err(MountError::Incompatible { node_type: other, block, offset: in_block })
                }
                _ => self.space.scan_dirty_space(block, bytes),
            },
        }
        Ok(())
    }

    /// Takes the block's nodes from its summary. Returns `false` when the block has no summary or a damaged one.
    pub fn scan_summary(&mut self, block: u32, data: &mut [u8]) -> FsResult<bool> {
        let e = self.flash.endian;
        let (start, size) = (block * self.flash.block_bytes, self.flash.block_bytes as usize);
        // Of a medium with pages a whole one is read, of others no more than the place of the summary.
        let tail = self.flash.page_bytes.max(summary::MARKER_BYTES) as usize;
        self.flash.read_or_fetch(start + (size - tail) as u32, &mut data[size - tail..])?;
        if e.u32(data, size - 4) != MARKER_MAGIC {
            return Ok(false);
        }
        let at = e.u32(data, size - 8) as usize;
        if at >= size || !at.is_multiple_of(4) {
            return Ok(false);
        }
        if at < size - tail {
            self.flash.read_or_fetch(start + at as u32, &mut data[at..size - tail])?;
        }
        let Some(found) = summary::read_summary(e, &data[at..]) else { return Ok(false) };
        self.take_marker_of_summary(block, found.marker_bytes);
        found.entries.into_iter().for_each(|entry| self.take_entry(block, entry));
        self.scan_gap(block, at as u32);
        self.space.link_node(start + at as u32, NodeState::Normal, (size - at) as u32, 0);
        Ok(true)
    }

    /// Takes the clean marker that the summary says the block begins with (`jffs2_sum_scan_sumnode`).
    fn take_marker_of_summary(&mut self, block: u32, bytes: u32) {
        match bytes {
            0 => {}
            HEADER_BYTES if !self.flash.manner.marker_in_oob => {
                self.space.link_node(block * self.flash.block_bytes, NodeState::Normal, HEADER_BYTES, 0);
            }
            _ => self.space.scan_dirty_space(block, pad(bytes)),
        }
    }

    /// Takes an entry of the summary of a block.
    fn take_entry(&mut self, block: u32, entry: summary::Entry<'_>) {
        let base = block * self.flash.block_bytes;
        match entry {
            summary::Entry::Inode { ino, version, at, total_bytes } => {
                self.scan_gap(block, at);
                self.findings.rotation_seed = self.findings.rotation_seed.wrapping_add(version);
                if ino == 0 {
                    return self.space.scan_dirty_space(block, pad(total_bytes));
                }
                self.space.inode_cache_mut(ino);
                self.space.link_node(base + at, NodeState::Unchecked, pad(total_bytes), ino);
            }
            summary::Entry::Dirent { parent, version, ino, at, total_bytes, dirent_type, name } => {
                self.scan_gap(block, at);
                self.findings.rotation_seed = self.findings.rotation_seed.wrapping_add(version);
                if parent == 0 || name.is_empty() || name.contains(&0) {
                    return self.space.scan_dirty_space(block, pad(total_bytes));
                }
                self.space.inode_cache_mut(parent);
                let node = self.space.link_node(base + at, NodeState::Unchecked, pad(total_bytes), parent);
                let found = FoundDirent { parent, name: name.into(), node, version, ino, dirent_type };
                self.findings.add(self.space, self.flash, found);
            }
            summary::Entry::Xattr { xid, version, at, total_bytes } => {
                self.scan_gap(block, at);
                self.findings.rotation_seed = self.findings.rotation_seed.wrapping_add(xid);
                let node = self.space.link_node(base + at, NodeState::Unchecked, pad(total_bytes), 0);
                self.findings.xattrs.add_datum(self.space, node, xid, version, None);
            }
            summary::Entry::Xref { at } => {
                self.scan_gap(block, at);
                // The kernel adds the node's place with its state, which is 0.
                self.findings.rotation_seed = self.findings.rotation_seed.wrapping_add(base + at);
                let node = self.space.link_node(base + at, NodeState::Unchecked, XREF_BYTES, 0);
                self.findings.xattrs.add_reference(self.space, node, None);
            }
        }
    }

    /// Counts the space between the last known node and `at` as dirty, because no node describes it.
    fn scan_gap(&mut self, block: u32, at: u32) {
        let reached = self.flash.block_bytes - self.space.blocks[block].free_bytes();
        self.space.scan_dirty_space(block, at.saturating_sub(reached));
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
