//! Scanning a LEB for nodes.
//!
//! Follows `fs/ubifs/scan.c`.

use crate::error::{Fail, Res};
use crate::format::*;
use crate::geometry::Geometry;
use crate::key::Key;
use crate::leb::Lebs;
use crate::node::check_node;

/// What stands at a place of a LEB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Node,
    /// Padding of so many bytes.
    Padding(u32),
    EmptySpace,
    Garbage,
    CorruptNode,
    BadPadding,
}

/// A node that a scan found; its bytes are in [`ScannedLeb::bytes`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScannedNode {
    pub offs: u32,
    pub len: u32,
    pub kind: u8,
    pub group: u8,
    pub sqnum: u64,
    /// The key of the node; zero if nodes of this kind have none.
    pub key: Key,
}

/// A LEB and the nodes in it. Give the buffer back with [`Lebs::recycle`].
#[derive(Debug, Default)]
pub(crate) struct ScannedLeb {
    pub lnum: u32,
    pub nodes: Vec<ScannedNode>,
    /// Where the empty space begins.
    pub end: u32,
    pub bytes: Vec<u8>,
}

impl ScannedLeb {
    pub fn node(&self, node: &ScannedNode) -> &[u8] {
        &self.bytes[node.offs as usize..(node.offs + node.len) as usize]
    }

    pub fn add(&mut self, offs: u32) -> u32 {
        let bytes = &self.bytes[offs as usize..];
        let kind = bytes[header::TYPE];
        let key = match kind {
            INO_NODE | DATA_NODE | DENT_NODE | XENT_NODE => Key::read(bytes, KEY_AT),
            _ => Key::default(),
        };
        let len = get_u32(bytes, header::LEN);
        let (group, sqnum) = (bytes[header::GROUP], get_u64(bytes, header::SQNUM));
        self.nodes.push(ScannedNode { offs, len, kind, group, sqnum, key });
        align8(len)
    }
}

fn padding_bytes(bytes: &[u8]) -> Found {
    let most = bytes.len().min(PAD_BYTES as usize);
    let count = bytes[..most].iter().take_while(|&&b| b == PADDING_BYTE).count();
    if count == 0 || count % 8 != 0 {
        Found::Garbage
    } else {
        Found::Padding(count as u32)
    }
}

/// Looks at the start of `bytes`, which stands at `offs` (`ubifs_scan_a_node`).
pub(crate) fn scan_a_node(geo: &Geometry, bytes: &[u8], offs: u32) -> Found {
    let magic = get_u32(bytes, header::MAGIC);
    if magic == u32::MAX {
        return Found::EmptySpace;
    }
    if magic != NODE_MAGIC {
        return padding_bytes(bytes);
    }
    if bytes.len() < HEADER_BYTES as usize {
        return Found::Garbage;
    }
    if check_node(geo, bytes, offs, true).is_err() {
        return Found::CorruptNode;
    }
    if bytes[header::TYPE] == PAD_NODE {
        let node_len = get_u32(bytes, header::LEN);
        let pad_len = get_u32(bytes, PAD_LEN_AT);
        let whole = u64::from(node_len) + u64::from(pad_len);
        if u64::from(offs) + whole > u64::from(geo.leb_bytes) || whole % 8 != 0 {
            return Found::BadPadding;
        }
        return Found::Padding(whole as u32);
    }
    Found::Node
}

pub(crate) fn is_empty(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b == 0xFF)
}

impl Lebs {
    /// A buffer of one LEB.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_else(|| vec![0; self.geo.leb_bytes as usize])
    }

    pub fn recycle(&mut self, leb: ScannedLeb) {
        self.buffers.push(leb.bytes);
    }

    /// Reads a LEB from `offs` on, for a scan.
    pub fn start_scan(&mut self, lnum: u32, offs: u32) -> Res<ScannedLeb> {
        let mut leb = ScannedLeb { lnum, bytes: self.buffer(), ..ScannedLeb::default() };
        let bytes = u64::from(self.geo.leb_bytes.saturating_sub(offs));
        self.sim.work_of_mounting(|costs| costs.scan_ps_per_byte * bytes / 1_000);
        match self.read(lnum, offs, &mut leb.bytes[offs as usize..]) {
            Ok(()) | Err(Fail::BadMessage) => Ok(leb),
            Err(fail) => {
                self.recycle(leb);
                Err(fail)
            }
        }
    }

    /// All nodes of a LEB from `offs` on. [`Fail::Unclean`]: there is something that is no node (`ubifs_scan`).
    pub fn scan(&mut self, lnum: u32, offs: u32) -> Res<ScannedLeb> {
        let mut leb = self.start_scan(lnum, offs)?;
        // The kernel offers a reschedule before each node, but no simulated time passes between two nodes, so one offer
        // is enough.
        self.cond_resched();
        match scan_nodes(&self.geo, &mut leb, offs) {
            Ok(()) => Ok(leb),
            Err(fail) => {
                self.recycle(leb);
                Err(fail)
            }
        }
    }
}

fn scan_nodes(geo: &Geometry, leb: &mut ScannedLeb, mut offs: u32) -> Res<()> {
    while geo.leb_bytes - offs >= 8 {
        match scan_a_node(geo, &leb.bytes[offs as usize..], offs) {
            Found::Padding(bytes) => offs += bytes,
            Found::EmptySpace => break,
            // A node whose length is no multiple of 8 is followed by a gap up to the next multiple; the gap may reach
            // the end of the LEB.
            Found::Node => offs = (offs + leb.add(offs)).min(geo.leb_bytes),
            Found::Garbage | Found::CorruptNode | Found::BadPadding => return Err(Fail::Unclean),
        }
    }
    if !offs.is_multiple_of(geo.min_io) || !is_empty(&leb.bytes[offs as usize..]) {
        return Err(Fail::Unclean);
    }
    leb.end = align(offs, geo.min_io);
    Ok(())
}
