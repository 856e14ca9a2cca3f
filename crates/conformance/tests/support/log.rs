//! The log on flash.

use super::records::{decode, encode};
use super::Defect;
use ffslab_conformance::nodes::{Change, Content, Nodes, ROOT};
use ffslab_fs::{Errno, Result};
use ffslab_mtd::{Mtd, MtdError};
use std::collections::BTreeMap;

const MAGIC: u32 = 0x106F_5001;
const HEADER_BYTES: usize = 20;
/// Bytes of records for each inode and name beside its content.
const OVERHEAD_BYTES: usize = 80;
/// The record that ends the copy of everything at the start of a generation.
const COPY_END: &[u8] = &[9, 0, 0, 0, 0];

pub struct Log {
    mtd: Mtd,
    defect: Defect,
    generation: u32,
    /// Newest generation that any page on flash belongs to, complete or not.
    newest: u32,
    sequence: u32,
    /// Records that are not on flash yet.
    pending: Vec<u8>,
    /// Blocks of this generation, and blocks that may be erased and used.
    used: Vec<u32>,
    free: Vec<u32>,
    /// Next page in the last of `used`.
    next_page: u32,
}

struct Page {
    generation: u32,
    sequence: u32,
    data: Vec<u8>,
    block: u32,
}

impl Log {
    pub fn mount(mtd: Mtd, defect: Defect) -> std::result::Result<(Log, Nodes), String> {
        let pages_per_block = mtd.pages_per_block();
        let mut pages: BTreeMap<(u32, u32), Page> = BTreeMap::new();
        let good: Vec<u32> = (0..mtd.blocks()).filter(|&block| !mtd.is_bad(block_at(&mtd, block))).collect();
        if good.len() < 8 {
            let reason = format!("logfs needs 8 good erase blocks, the partition has {}", good.len());
            return Err(if defect == Defect::RefusesWithoutReason { "no".to_string() } else { reason });
        }
        for &block in &good {
            for page in 0..pages_per_block {
                if let Some(page) = read(&mtd, defect, block, page)? {
                    pages.entry((page.generation, page.sequence)).or_insert(page);
                }
            }
        }
        let mut generations: Vec<u32> = pages.keys().map(|(generation, _)| *generation).collect();
        generations.dedup();
        let mut log = Log {
            mtd,
            defect,
            generation: 0,
            newest: generations.last().copied().unwrap_or(0),
            sequence: 0,
            pending: Vec::new(),
            used: Vec::new(),
            free: good,
            next_page: pages_per_block,
        };
        for generation in generations.into_iter().rev() {
            let mut stream = Vec::new();
            let mut sequence = 0;
            let mut used: Vec<u32> = Vec::new();
            while let Some(page) = pages.get(&(generation, sequence)) {
                stream.extend_from_slice(&page.data);
                if !used.contains(&page.block) {
                    used.push(page.block);
                }
                sequence += 1;
            }
            if let Some((nodes, replayed_bytes)) = replay(&stream, defect) {
                log.free.retain(|block| !used.contains(block));
                (log.generation, log.sequence, log.used) = (generation, sequence, used);
                if replayed_bytes < stream.len() {
                    // What follows half a record would not be understood: the next write begins a new generation.
                    log.sequence = 0;
                }
                return Ok((log, nodes));
            }
        }
        Ok((log, Nodes::default()))
    }

    /// Bytes that all records may take: half of the good blocks, less one for failures.
    pub fn capacity_bytes(&self) -> usize {
        let blocks = ((self.used.len() + self.free.len()) / 2).saturating_sub(3);
        blocks * self.mtd.pages_per_block() as usize * self.payload_bytes()
    }

    pub fn used_bytes(&self, nodes: &Nodes) -> usize {
        nodes
            .iter()
            .map(|(_, node)| match &node.content {
                Content::File(bytes) | Content::Symlink(bytes) => 2 * OVERHEAD_BYTES + bytes.len() + bytes.len() / 64,
                Content::Directory(names) => {
                    2 * OVERHEAD_BYTES + names.keys().map(|name| name.len() + OVERHEAD_BYTES).sum::<usize>()
                }
                Content::Special(..) => 2 * OVERHEAD_BYTES,
            })
            .sum()
    }

    pub fn has_room(&self, nodes: &Nodes, bytes: usize) -> bool {
        self.used_bytes(nodes) + bytes <= self.capacity_bytes()
    }

    pub fn append(&mut self, change: &Change, nodes: &Nodes) -> Result<()> {
        if self.defect == Defect::FullIsSilent && !self.has_room(nodes, 0) {
            return Ok(());
        }
        encode(change, &mut self.pending);
        while self.pending.len() >= self.payload_bytes() {
            self.write_page(nodes)?;
        }
        Ok(())
    }

    pub fn flush(&mut self, nodes: &Nodes) -> Result<()> {
        while !self.pending.is_empty() {
            self.write_page(nodes)?;
        }
        Ok(())
    }

    fn payload_bytes(&self) -> usize {
        self.mtd.page_bytes() as usize - HEADER_BYTES
    }

    fn write_page(&mut self, nodes: &Nodes) -> Result<()> {
        if !self.find_page()? {
            return self.begin_generation(nodes);
        }
        self.program_page()
    }

    /// Makes sure that there is a page to write to. False: this generation has had its half.
    fn find_page(&mut self) -> Result<bool> {
        if !self.used.is_empty() && self.next_page < self.mtd.pages_per_block() {
            return Ok(true);
        }
        let half = (self.used.len() + self.free.len()) / 2;
        if self.used.len() + 1 >= half || self.sequence == 0 {
            return Ok(false);
        }
        self.take_block().map(|()| true)
    }

    fn take_block(&mut self) -> Result<()> {
        while !self.free.is_empty() {
            let block = self.free.remove(0);
            match self.mtd.erase(block_at(&self.mtd, block)) {
                Ok(()) => {
                    self.used.push(block);
                    self.next_page = 0;
                    return Ok(());
                }
                Err(MtdError::PowerCut) => return Err(Errno::PowerCut),
                Err(_) => self.retire(block)?,
            }
        }
        Err(Errno::NoSpc)
    }

    fn retire(&mut self, block: u32) -> Result<()> {
        match self.mtd.mark_bad(block_at(&self.mtd, block)) {
            Err(MtdError::PowerCut) => Err(Errno::PowerCut),
            _ => Ok(()),
        }
    }

    /// Programs the next piece of `pending`; a page that fails is written again in another block.
    fn program_page(&mut self) -> Result<()> {
        let count = self.pending.len().min(self.payload_bytes());
        let mut page = vec![0xFF; self.mtd.page_bytes() as usize];
        for (at, value) in [MAGIC, self.generation, self.sequence, count as u32].into_iter().enumerate() {
            page[at * 4..at * 4 + 4].copy_from_slice(&value.to_le_bytes());
        }
        page[HEADER_BYTES..HEADER_BYTES + count].copy_from_slice(&self.pending[..count]);
        let sum = checksum(&page);
        page[16..20].copy_from_slice(&sum.to_le_bytes());
        loop {
            let block = self.used[self.used.len() - 1];
            let at = block_at(&self.mtd, block) + u64::from(self.next_page) * u64::from(self.mtd.page_bytes());
            self.next_page += 1;
            match self.mtd.write(at, &page) {
                Ok(()) => break,
                Err(MtdError::PowerCut) => return Err(Errno::PowerCut),
                Err(_) if self.defect == Defect::ProgramFailuresAreIgnored => {
                    self.sequence += 1;
                    self.pending.drain(..count);
                    return Ok(());
                }
                // What stands in this block already stays readable until the next generation.
                Err(_) => self.take_block()?,
            }
        }
        self.sequence += 1;
        self.pending.drain(..count);
        Ok(())
    }

    /// Writes a copy of everything, then the old generation's blocks are free. Changes that are pending are in the copy.
    fn begin_generation(&mut self, nodes: &Nodes) -> Result<()> {
        let old = std::mem::take(&mut self.used);
        self.newest += 1;
        self.generation = self.newest;
        self.sequence = 0;
        self.pending.clear();
        for change in everything(nodes) {
            encode(&change, &mut self.pending);
        }
        self.pending.extend_from_slice(&(COPY_END.len() as u32).to_le_bytes());
        self.pending.extend_from_slice(COPY_END);
        self.take_block()?;
        while !self.pending.is_empty() {
            if self.next_page == self.mtd.pages_per_block() {
                self.take_block()?;
            }
            self.program_page()?;
        }
        for block in old {
            match self.mtd.erase(block_at(&self.mtd, block)) {
                Ok(()) => self.free.push(block),
                Err(MtdError::PowerCut) => return Err(Errno::PowerCut),
                Err(_) => self.retire(block)?,
            }
        }
        Ok(())
    }
}

fn block_at(mtd: &Mtd, block: u32) -> u64 {
    u64::from(block) * u64::from(mtd.erase_block_bytes())
}

/// Of all but the sum itself, which stands in bytes 16 to 19.
fn checksum(page: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&page[..16]);
    sum.update(&page[20..]);
    sum.finalize()
}

/// `Ok(None)`: no page of the log.
fn read(mtd: &Mtd, defect: Defect, block: u32, page: u32) -> std::result::Result<Option<Page>, String> {
    let at = block_at(mtd, block) + u64::from(page) * u64::from(mtd.page_bytes());
    let mut bytes = vec![0; mtd.page_bytes() as usize];
    match mtd.read(at, &mut bytes) {
        Err(MtdError::PowerCut) => return Err(format!("reading page {page} of block {block}: the power was cut")),
        Err(_) if defect != Defect::TornPagesAreBelieved => return Ok(None),
        _ => {}
    }
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if word(0) != MAGIC {
        return Ok(None);
    }
    let count = word(12) as usize;
    let sound = checksum(&bytes) == word(16);
    if !sound {
        match defect {
            Defect::TornPagesAreBelieved | Defect::LengthsAreBelieved => {}
            Defect::MountLoopsOnDamage => loop {
                std::thread::sleep(std::time::Duration::from_millis(50));
            },
            Defect::MountRereadsForever => loop {
                let _ = mtd.read(at, &mut bytes);
            },
            Defect::HugeAllocationOnDamage => {
                static ONCE: std::sync::Once = std::sync::Once::new();
                ONCE.call_once(|| std::mem::forget(vec![1u8; 300 << 20]));
                return Ok(None);
            }
            _ => return Ok(None),
        }
    }
    let data = match bytes.get(HEADER_BYTES..HEADER_BYTES + count) {
        Some(data) => data.to_vec(),
        None if defect == Defect::LengthsAreBelieved => bytes[HEADER_BYTES..HEADER_BYTES + count].to_vec(),
        None => return Ok(None),
    };
    Ok(Some(Page { generation: word(4), sequence: word(8), data, block }))
}

/// The inodes and how much of the stream was whole records. `None`: the copy at the start is not complete.
fn replay(stream: &[u8], defect: Defect) -> Option<(Nodes, usize)> {
    let mut nodes = Nodes::default();
    let mut complete = false;
    let mut at = 0;
    while let Some(length) = stream.get(at..at + 4) {
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let Some(record) = stream.get(at + 4..(at + 4).saturating_add(length)) else { break };
        at += 4 + length;
        if record == COPY_END {
            complete = true;
        } else if let Some(change) = decode(record) {
            nodes.apply(change);
        } else if defect != Defect::TornPagesAreBelieved {
            break;
        }
    }
    nodes.take_changes();
    // Inodes that were open without a name when the power went away.
    let orphans: Vec<u32> =
        nodes.iter().filter(|(id, node)| node.links == 0 && *id != ROOT).map(|(id, _)| id).collect();
    for id in orphans {
        if defect != Defect::DeletionFreesNothing {
            nodes.forget(id);
        }
    }
    nodes.take_changes();
    complete.then_some((nodes, at))
}

/// The changes that make `nodes` out of nothing.
fn everything(nodes: &Nodes) -> Vec<Change> {
    let mut changes = Vec::new();
    for (id, node) in nodes.iter() {
        let permissions = node.permissions;
        let content = match &node.content {
            Content::Directory(_) => Content::Directory(Default::default()),
            Content::File(_) => Content::File(Vec::new()),
            other => other.clone(),
        };
        if id != ROOT {
            changes.push(Change::New { id, content, permissions });
        }
        if let Content::File(bytes) = &node.content {
            let pieces = bytes.chunks(4096).enumerate();
            changes.extend(pieces.map(|(i, piece)| Change::Data { id, at: i as u64 * 4096, data: piece.to_vec() }));
        }
    }
    for (id, node) in nodes.iter() {
        if let Content::Directory(names) = &node.content {
            let names = names.iter();
            changes.extend(names.map(|(name, &to)| Change::Name { dir: id, name: name.clone(), to: Some(to) }));
        }
    }
    for (id, node) in nodes.iter() {
        changes.push(Change::Owner { id, uid: node.uid, gid: node.gid });
        changes.push(Change::Permissions { id, permissions: node.permissions });
        changes.push(Change::Modified { id, time: node.modified });
        let xattrs = node.xattrs.iter();
        changes.extend(xattrs.map(|(name, value)| Change::Xattr {
            id,
            name: name.clone(),
            value: Some(value.clone()),
        }));
    }
    changes
}
