//! Pages of files: `fs/erofs/zdata.c` for compressed ones, `fs/iomap/buffered-io.c` for others.
//!
//! Of a window the pages are looked at from the last to the first, and the physical clusters that they need are collected, to be read
//! together. Where the first of them begins before the window, the pages before it are filled, too, as far as they have room in the page
//! cache. Compressed pages of the last cluster, and of one that begins before the window, are kept: others may want a part of them. Kernels
//! differ in both ([`Windows`]).

use crate::clusters::{Cluster, Part};
use crate::extents::{Extent, Stored};
use crate::files::{Files, Node, Page};
use crate::metadata::Metadata;
use crate::superblock::BLOCK_BYTES;
use crate::windows::Windows;
use ffslab_fs::{causes, Errno, FileKind, Ino, PagesAhead, Result};
use ffslab_rawblock::Wrong;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// Pages that were filled, by their numbers. `None`: it cannot be read.
type Filled = BTreeMap<u64, Option<Vec<u8>>>;

/// Who says whether a page beside those that are asked for has room in a page cache and is not read yet.
enum Beside<'w> {
    Window(&'w mut dyn PagesAhead),
    /// Pages that [`Files::own_page`] keeps.
    Own(Ino),
    /// The page cache of the system, which takes what it has not.
    Any,
}

impl Beside<'_> {
    fn has_room(&mut self, files: &Files, index: u64) -> bool {
        match self {
            Beside::Window(window) => window.grab(index),
            Beside::Own(ino) => !files.own_pages.contains_key(&(*ino, index)),
            Beside::Any => true,
        }
    }
}

/// What is collected while pages of a file are looked at (`struct z_erofs_decompress_frontend`).
struct Front<'n> {
    node: &'n Node,
    /// Where the pages begin that are asked for.
    asked_at: u64,
    /// The extent that was looked at last. What of it was used up is cut off its end.
    extent: Extent,
    current: Option<usize>,
    clusters: Vec<Cluster>,
    is_last_extent: bool,
    filled: Filled,
}

impl<'n> Front<'n> {
    fn new(node: &'n Node, first_page: u64) -> Front<'n> {
        let asked_at = first_page * BLOCK_BYTES;
        let extent = Extent::plain(asked_at, asked_at, Stored::Nowhere);
        let (clusters, filled) = (Vec::new(), Filled::new());
        Front { node, asked_at, extent, current: None, clusters, is_last_extent: true, filled }
    }
}

impl Files {
    /// A page of what the kernel reads for itself: a directory, a symbolic link, fragments.
    pub fn own_page(&mut self, ino: Ino, index: u64) -> Result<Page> {
        if let Some(page) = self.own_pages.get(&(ino, index)) {
            return Ok(page.clone());
        }
        let node = self.node(ino)?;
        let filled = self.fill_one(&node, index, Beside::Own(ino))?;
        let found = filled.into_iter().filter_map(|(index, page)| Some(((ino, index), Rc::new(page?))));
        self.own_pages.extend(found);
        self.own_pages.get(&(ino, index)).cloned().ok_or(Errno::Io)
    }

    /// A page of a file, and others that came with it.
    pub fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<Vec<(u64, Vec<u8>)>> {
        let node = self.node(ino)?;
        if node.inode.kind != FileKind::File {
            return Err(Errno::IsDir);
        }
        let mut filled = self.fill_one(&node, index, Beside::Any)?;
        let found = filled.remove(&index).flatten().ok_or(Errno::Io)?;
        page.copy_from_slice(&found);
        Ok(filled.into_iter().filter_map(|(index, page)| Some((index, page?))).collect())
    }

    /// `->read_folio`.
    fn fill_one(&mut self, node: &Node, index: u64, mut beside: Beside<'_>) -> Result<Filled> {
        if !node.inode.is_compressed() {
            return self.fill_plain(node, index..index + 1);
        }
        let mut front = Front::new(node, index);
        // A fragment is filled to the end of the file.
        let end = front.asked_at + BLOCK_BYTES;
        if self.fills_beside() && self.look_at(&mut front, end - 1).is_ok() {
            self.fill_beside(&mut front, end, &mut beside)?;
        }
        let result = self.fill_page(&mut front, index);
        self.fill_before(&mut front, &mut beside)?;
        let filled = self.finish(front)?;
        result.map(|()| filled)
    }

    /// `->readahead`.
    pub fn read_ahead(&mut self, ino: Ino, window: &mut dyn PagesAhead) -> Result<()> {
        let node = self.node(ino)?;
        let asked = window.pages();
        let asks = if window.is_asked_for(&asked) { &causes::READ } else { &causes::READ_AHEAD };
        let sim = self.sim.clone();
        let _why = sim.because(asks);
        let filled = if node.inode.is_compressed() {
            let mut front = Front::new(&node, asked.start);
            if self.fills_beside() && self.look_at(&mut front, asked.end * BLOCK_BYTES - 1).is_ok() {
                window.expand(asked.start..front.extent.end_offset.div_ceil(BLOCK_BYTES).max(asked.end));
            }
            for index in window.take(u64::MAX).rev() {
                match self.fill_page(&mut front, index) {
                    Err(Errno::PowerCut) => return Err(Errno::PowerCut),
                    // It is tried again when it is asked for.
                    _unread => {}
                }
            }
            self.fill_before(&mut front, &mut Beside::Window(window))?;
            self.finish(front)?
        } else {
            let pages = window.take(u64::MAX);
            self.fill_plain(&node, pages)?
        };
        for (index, page) in filled {
            if let Some(page) = page {
                window.fill(index, &mut |into| into.copy_from_slice(&page));
            }
        }
        Ok(())
    }

    // ---- compressed files ----------------------------------------------------------------------------------------

    fn fills_beside(&self) -> bool {
        self.windows != Windows::V5_10
    }

    fn look_at(&mut self, front: &mut Front<'_>, at: u64) -> Result<()> {
        (front.extent.begin_offset, front.extent.end_offset) = (at, at);
        front.extent = self.extent(front.node, at)?;
        Ok(())
    }

    /// `z_erofs_do_read_page`.
    fn fill_page(&mut self, front: &mut Front<'_>, index: u64) -> Result<()> {
        front.filled.insert(index, Some(vec![0; BLOCK_BYTES as usize]));
        let result = self.collect(front, index);
        if result.is_err() {
            front.filled.insert(index, None);
        }
        result
    }

    fn collect(&mut self, front: &mut Front<'_>, index: u64) -> Result<()> {
        let offset = index * BLOCK_BYTES;
        let mut end = BLOCK_BYTES;
        while end > 0 {
            let last = offset + end - 1;
            if !(front.extent.begin_offset..front.extent.end_offset).contains(&last) {
                if front.current.take().is_some() {
                    front.is_last_extent = false;
                }
                self.look_at(front, last)?;
            }
            let extent = front.extent;
            let cut = extent.begin_offset.saturating_sub(offset);
            match extent.stored {
                Stored::Nowhere => {}
                Stored::Fragment { at } => {
                    let skipped = offset.saturating_sub(extent.begin_offset);
                    let bytes = (extent.end_offset - extent.begin_offset - skipped).min(end - cut);
                    let held = self.fragment(front.node, at.saturating_add(skipped), bytes)?;
                    if let Some(Some(page)) = front.filled.get_mut(&index) {
                        page[cut as usize..(cut + bytes) as usize].copy_from_slice(&held);
                    }
                }
                Stored::Metadata { .. } | Stored::Blocks { .. } => {
                    let number = match front.current {
                        Some(number) => number,
                        None => self.begin_cluster(front)?,
                    };
                    let cluster = &mut front.clusters[number];
                    let from_offset = offset + cut - extent.begin_offset;
                    cluster.parts.push(Part { page: index, bytes: cut as usize..end as usize, from_offset });
                    if cluster.wanted_bytes < offset + end - extent.begin_offset {
                        cluster.wanted_bytes = offset + end - extent.begin_offset;
                        cluster.offset = extent.begin_offset % BLOCK_BYTES;
                    }
                }
            }
            front.extent.end_offset = offset + cut;
            end = cut;
        }
        Ok(())
    }

    /// `z_erofs_collector_begin`. One that several extents share is read once.
    fn begin_cluster(&mut self, front: &mut Front<'_>) -> Result<usize> {
        let Extent { begin_offset: begin, is_end_known, stored, algorithm, .. } = front.extent;
        let Some(algorithm) = algorithm else { return Err(Errno::Io) };
        if let Stored::Metadata { at, .. } = stored {
            self.block(at / BLOCK_BYTES).map_err(|wrong| self.errno(wrong))?;
        }
        let is_blocks = matches!(stored, Stored::Blocks { .. });
        let known = front.clusters.iter().position(|cluster| is_blocks && cluster.stored == stored);
        let may_go_on = match self.windows {
            Windows::V5_10 | Windows::V6_1 => front.is_last_extent,
            Windows::V6_6 => !is_end_known,
        };
        let number = known.unwrap_or_else(|| {
            let is_kept = may_go_on || begin < front.asked_at;
            let parts = Vec::new();
            front.clusters.push(Cluster { stored, algorithm, offset: 0, wanted_bytes: 0, is_kept, parts });
            front.clusters.len() - 1
        });
        front.current = Some(number);
        Ok(number)
    }

    /// `z_erofs_read_fragment`: each page of the inode of fragments once.
    fn fragment(&mut self, node: &Node, at: u64, bytes: u64) -> Result<Vec<u8>> {
        let packed = self.packed().filter(|&packed| u64::from(packed) != node.inode.number);
        let Some(packed) = packed else {
            return Err(self.errno(Wrong::new(node.inode.behind_offset, "a fragment, and no inode with fragments")));
        };
        let mut held = Vec::with_capacity(bytes as usize);
        while (held.len() as u64) < bytes {
            let at = at.saturating_add(held.len() as u64);
            if at >= self.node(packed)?.inode.bytes {
                return Err(
                    self.errno(Wrong::new(node.inode.behind_offset, "a fragment behind the end of all fragments"))
                );
            }
            let page = self.own_page(packed, at / BLOCK_BYTES)?;
            let part = &page[(at % BLOCK_BYTES) as usize..];
            held.extend_from_slice(&part[..part.len().min(bytes as usize - held.len())]);
        }
        Ok(held)
    }

    /// The last part of `z_erofs_pcluster_readmore`: the pages of the extent that is looked at, from its end down to `end`.
    fn fill_beside(&mut self, front: &mut Front<'_>, end: u64, beside: &mut Beside<'_>) -> Result<()> {
        let file_bytes = front.node.inode.bytes;
        let mut at = front.extent.end_offset.saturating_sub(1);
        while at >= end && at < file_bytes {
            let index = at / BLOCK_BYTES;
            if beside.has_room(self, index) {
                match self.fill_page(front, index) {
                    Err(Errno::PowerCut) => return Err(Errno::PowerCut),
                    _unread => {}
                }
            }
            match (index * BLOCK_BYTES).checked_sub(1) {
                Some(before) => at = before,
                None => break,
            }
        }
        Ok(())
    }

    /// Pages before those that are asked for, of the extent in which they begin.
    fn fill_before(&mut self, front: &mut Front<'_>, beside: &mut Beside<'_>) -> Result<()> {
        if self.fills_beside() && front.extent.end_offset > front.extent.begin_offset {
            let end = front.extent.begin_offset.next_multiple_of(BLOCK_BYTES);
            self.fill_beside(front, end, beside)?;
        }
        Ok(())
    }

    /// Reads what was collected, and gives each page its parts.
    fn finish(&mut self, front: Front<'_>) -> Result<Filled> {
        let Front { clusters, mut filled, .. } = front;
        let expanded = self.expand_all(&clusters)?;
        for (cluster, content) in clusters.iter().zip(expanded) {
            for Part { page, bytes, from_offset } in &cluster.parts {
                let Some(slot) = filled.get_mut(page) else { continue };
                let from = *from_offset as usize;
                let part = content.as_ref().and_then(|content| content.get(from..from + bytes.len()));
                match (slot.as_mut(), part) {
                    (Some(data), Some(part)) => data[bytes.clone()].copy_from_slice(part),
                    _ => *slot = None,
                }
            }
        }
        Ok(filled)
    }

    // ---- others --------------------------------------------------------------------------------------------------

    /// Blocks that stand behind one another are one request, and the end of a file comes from among the metadata.
    fn fill_plain(&mut self, node: &Node, pages: Range<u64>) -> Result<Filled> {
        let mut filled = Filled::new();
        // The first page of each run, its block, and how many.
        let mut runs: Vec<(u64, u64, u64)> = Vec::new();
        for index in pages {
            let offset = index * BLOCK_BYTES;
            let extent = self.extent(node, offset)?;
            match extent.stored {
                Stored::Blocks { at, .. } => {
                    let block = at.saturating_add(offset - extent.begin_offset) / BLOCK_BYTES;
                    match runs.last_mut() {
                        Some((first, begin, count)) if *begin + *count == block && *first + *count == index => {
                            *count += 1
                        }
                        _ => runs.push((index, block, 1)),
                    }
                }
                Stored::Metadata { at, bytes } => {
                    let held = self.take(at, bytes as usize).map_err(|wrong| self.errno(wrong))?;
                    let mut page = vec![0; BLOCK_BYTES as usize];
                    page[..held.len()].copy_from_slice(&held);
                    filled.insert(index, Some(page));
                }
                Stored::Nowhere | Stored::Fragment { .. } => {
                    filled.insert(index, Some(vec![0; BLOCK_BYTES as usize]));
                }
            }
        }
        for (first, block, count) in runs {
            let held = match self.read_blocks(block, count) {
                Err(Errno::PowerCut) => return Err(Errno::PowerCut),
                held => held.ok(),
            };
            for number in 0..count {
                let at = (number * BLOCK_BYTES) as usize;
                let page = held.as_ref().map(|held| held[at..at + BLOCK_BYTES as usize].to_vec());
                filled.insert(first + number, page);
            }
        }
        // What stands behind the end of the file in its last block is not the file's.
        let end = node.inode.bytes;
        if let Some(Some(page)) = filled.get_mut(&(end / BLOCK_BYTES)) {
            page[(end % BLOCK_BYTES) as usize..].fill(0);
        }
        Ok(filled)
    }
}
