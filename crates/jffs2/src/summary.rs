//! Erase block summaries: a list of a block's nodes at its end, so that a mount need not read the whole block.
//!
//! Follows `fs/jffs2/summary.c` and `summary.h`. Here summaries are collected, encoded and decoded; `append.rs` writes them,
//! `scan.rs` reads them.

use crate::format::{
    crc32, Endian, Header, DIRENT_BYTES, INODE_BYTES, MAGIC, TYPE_DIRENT, TYPE_INODE, TYPE_PADDING, TYPE_SUMMARY,
    TYPE_XATTR, TYPE_XREF, XATTR_BYTES, XREF_BYTES,
};

/// Instead of a number of bytes: the node to be written gets no entry in the summary.
pub const NO_SUMMARY: u32 = u32::MAX;
/// Header of the summary node and the marker at the very end of the block.
pub const FRAME_BYTES: u32 = SUMMARY_HEADER_BYTES + MARKER_BYTES;
pub const SUMMARY_HEADER_BYTES: u32 = 32;
pub const MARKER_BYTES: u32 = 8;
pub const MARKER_MAGIC: u32 = 0x0285_1885;
/// Entry of an inode node.
pub const INODE_ENTRY_BYTES: u32 = 18;
/// Entries of an extended attribute and of an inode's reference to one.
pub const XATTR_ENTRY_BYTES: u32 = INODE_ENTRY_BYTES;
pub const XREF_ENTRY_BYTES: u32 = 6;
/// Where the summary's header says how long the clean marker is that the block begins with; 0: it is not in the block.
pub const MARKER_BYTES_AT: usize = 16;
/// A summary must fit into one buffer (`MAX_SUMMARY_SIZE`).
const SUMMARY_BYTES_MAX: u32 = 65_536;

/// Entry of a directory entry node with a name of so many bytes.
pub fn dirent_entry_bytes(name_bytes: usize) -> u32 {
    24 + name_bytes as u32
}

/// Collects the entries of the block being written, in their on-flash form.
pub struct Collector {
    active: bool,
    disabled: bool,
    entries: Vec<u8>,
    count: u32,
    padded_bytes: u32,
}

impl Collector {
    pub fn new(active: bool) -> Self {
        Collector { active, disabled: false, entries: Vec::new(), count: 0, padded_bytes: 0 }
    }

    pub fn is_active(&self) -> bool {
        self.active
    }

    pub fn is_disabled(&self) -> bool {
        self.disabled
    }

    pub fn bytes(&self) -> u32 {
        self.entries.len() as u32
    }

    pub fn reset(&mut self) {
        self.entries.clear();
        self.count = 0;
        self.padded_bytes = 0;
        self.disabled = false;
    }

    /// Gives up the summary of this block.
    pub fn disable(&mut self) {
        self.reset();
        self.disabled = true;
    }

    pub fn add_padding(&mut self, bytes: u32) {
        self.padded_bytes += bytes;
    }

    /// Notes a node whose header stands at the start of `parts[0]`; `at` is its offset in the block.
    pub fn note_node(&mut self, e: Endian, parts: [&[u8]; 2], at: u32) {
        if !self.active || self.disabled {
            return;
        }
        let node = parts[0];
        let header = Header::decode(e, node);
        match header.node_type {
            // An entry of either kind: what the node belongs to, its version, where it stands, how long it is.
            TYPE_INODE | TYPE_XATTR => {
                let mut entry = [0u8; INODE_ENTRY_BYTES as usize];
                e.put16(&mut entry, 0, header.node_type);
                e.put32(&mut entry, 2, e.u32(node, 12));
                e.put32(&mut entry, 6, e.u32(node, 16));
                e.put32(&mut entry, 10, at);
                e.put32(&mut entry, 14, header.total_bytes);
                self.entries.extend_from_slice(&entry);
                self.count += 1;
            }
            TYPE_DIRENT => {
                let mut entry = [0u8; 24];
                e.put16(&mut entry, 0, TYPE_DIRENT);
                e.put32(&mut entry, 2, header.total_bytes);
                e.put32(&mut entry, 6, at);
                e.put32(&mut entry, 10, e.u32(node, 12));
                e.put32(&mut entry, 14, e.u32(node, 16));
                e.put32(&mut entry, 18, e.u32(node, 20));
                entry[22] = node[28];
                entry[23] = node[29];
                let name_bytes = usize::from(node[28]);
                let name = if parts[1].is_empty() {
                    &node[DIRENT_BYTES as usize..DIRENT_BYTES as usize + name_bytes]
                } else {
                    &parts[1][..name_bytes]
                };
                self.entries.extend_from_slice(&entry);
                self.entries.extend_from_slice(name);
                self.count += 1;
            }
            TYPE_XREF => {
                let mut entry = [0u8; XREF_ENTRY_BYTES as usize];
                e.put16(&mut entry, 0, TYPE_XREF);
                e.put32(&mut entry, 2, at);
                self.entries.extend_from_slice(&entry);
                self.count += 1;
            }
            TYPE_PADDING => self.padded_bytes += header.total_bytes,
            TYPE_SUMMARY => {}
            // A summary cannot describe a node of this kind, so the block must be scanned at the next mount.
            _ => self.disable(),
        }
    }

    /// The summary node of a block of which the last `free` bytes are free, header and body; `at` is where it begins.
    /// `marker_bytes`: of the clean marker that the block begins with. `None`: there is nothing to summarise, or no room.
    pub fn encode(
        &mut self,
        e: Endian,
        at: u32,
        free: u32,
        marker_bytes: u32,
    ) -> Option<([u8; SUMMARY_HEADER_BYTES as usize], Vec<u8>)> {
        let content = self.bytes() + MARKER_BYTES;
        if self.count == 0 || SUMMARY_HEADER_BYTES + content > free || free - SUMMARY_HEADER_BYTES > SUMMARY_BYTES_MAX {
            return None;
        }
        let mut body = std::mem::take(&mut self.entries);
        body.resize((free - SUMMARY_HEADER_BYTES) as usize, 0xFF);
        let marker_at = body.len() - MARKER_BYTES as usize;
        e.put32(&mut body, marker_at, at);
        e.put32(&mut body, marker_at + 4, MARKER_MAGIC);
        let mut head = [0u8; SUMMARY_HEADER_BYTES as usize];
        e.put16(&mut head, 0, MAGIC);
        e.put16(&mut head, 2, TYPE_SUMMARY);
        e.put32(&mut head, 4, free);
        let header_crc = crc32(0, &head[..8]);
        e.put32(&mut head, 8, header_crc);
        e.put32(&mut head, 12, self.count);
        e.put32(&mut head, MARKER_BYTES_AT, marker_bytes);
        e.put32(&mut head, 20, self.padded_bytes);
        e.put32(&mut head, 24, crc32(0, &body));
        let node_crc = crc32(0, &head[..24]);
        e.put32(&mut head, 28, node_crc);
        Some((head, body))
    }
}

/// One entry of a summary found on flash.
pub enum Entry<'a> {
    Inode { ino: u32, version: u32, at: u32, total_bytes: u32 },
    Dirent { parent: u32, version: u32, ino: u32, at: u32, total_bytes: u32, dirent_type: u8, name: &'a [u8] },
    Xattr { xid: u32, version: u32, at: u32, total_bytes: u32 },
    Xref { at: u32 },
}

impl Entry<'_> {
    /// Where the node stands in its block, its length, and the least length of a node of its kind.
    fn extent(&self) -> (u32, u32, u32) {
        match *self {
            Entry::Inode { at, total_bytes, .. } => (at, total_bytes, INODE_BYTES),
            Entry::Dirent { at, total_bytes, .. } => (at, total_bytes, DIRENT_BYTES),
            Entry::Xattr { at, total_bytes, .. } => (at, total_bytes, XATTR_BYTES),
            Entry::Xref { at } => (at, XREF_BYTES, XREF_BYTES),
        }
    }
}

/// What a summary found on flash says.
pub struct Found<'a> {
    /// Length of the clean marker that the block begins with; 0: it has none there.
    pub marker_bytes: u32,
    pub entries: Vec<Entry<'a>>,
}

/// Reads a summary node, which runs to the end of the block. `None`: it is damaged or holds entries of unknown kinds.
pub fn read_summary(e: Endian, node: &[u8]) -> Option<Found<'_>> {
    if node.len() < FRAME_BYTES as usize {
        return None;
    }
    let header = Header::decode(e, node);
    let body = &node[SUMMARY_HEADER_BYTES as usize..];
    if header.magic != MAGIC
        || header.node_type != TYPE_SUMMARY
        || !header.crc_ok(e, node)
        || header.total_bytes as usize != node.len()
        || crc32(0, &node[..24]) != e.u32(node, 28)
        || crc32(0, body) != e.u32(node, 24)
    {
        return None;
    }
    let (count, marker_bytes) = (e.u32(node, 12), e.u32(node, MARKER_BYTES_AT));
    let mut entries = Vec::new();
    let mut at = 0usize;
    for _ in 0..count {
        let kind = body.get(at..at + 2)?;
        match e.u16(kind, 0) {
            TYPE_INODE => {
                let raw = body.get(at..at + INODE_ENTRY_BYTES as usize)?;
                entries.push(Entry::Inode {
                    ino: e.u32(raw, 2),
                    version: e.u32(raw, 6),
                    at: e.u32(raw, 10),
                    total_bytes: e.u32(raw, 14),
                });
                at += INODE_ENTRY_BYTES as usize;
            }
            TYPE_DIRENT => {
                let raw = body.get(at..at + 24)?;
                let name_bytes = usize::from(raw[22]);
                let name = body.get(at + 24..at + 24 + name_bytes)?;
                entries.push(Entry::Dirent {
                    parent: e.u32(raw, 10),
                    version: e.u32(raw, 14),
                    ino: e.u32(raw, 18),
                    at: e.u32(raw, 6),
                    total_bytes: e.u32(raw, 2),
                    dirent_type: raw[23],
                    name,
                });
                at += 24 + name_bytes;
            }
            TYPE_XATTR => {
                let raw = body.get(at..at + XATTR_ENTRY_BYTES as usize)?;
                entries.push(Entry::Xattr {
                    xid: e.u32(raw, 2),
                    version: e.u32(raw, 6),
                    at: e.u32(raw, 10),
                    total_bytes: e.u32(raw, 14),
                });
                at += XATTR_ENTRY_BYTES as usize;
            }
            TYPE_XREF => {
                let raw = body.get(at..at + XREF_ENTRY_BYTES as usize)?;
                entries.push(Entry::Xref { at: e.u32(raw, 2) });
                at += XREF_ENTRY_BYTES as usize;
            }
            _ => return None,
        }
    }
    // Entries that overlap or leave the block would make the references overlap.
    let limit = e.u32(node, node.len() - MARKER_BYTES as usize);
    if marker_bytes > limit {
        return None;
    }
    let mut end = marker_bytes;
    for entry in &entries {
        let (at, bytes, least) = entry.extent();
        let next = at.checked_add(bytes).map(|n| (n + 3) & !3)?;
        if at % 4 != 0 || at < end || bytes < least || next > limit {
            return None;
        }
        end = next;
    }
    Some(Found { marker_bytes, entries })
}
