//! Nodes: checking them, finishing their headers, padding.
//!
//! Follows `fs/ubifs/io.c`.

use crate::error::{AtPlace, Fail, Res};
use crate::faults;
use crate::format::*;
use crate::geometry::Geometry;
use crate::leb::Lebs;
use ffslab_sim::Work;

/// Where the index says that a node stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeAt {
    pub lnum: u32,
    pub offs: u32,
    pub len: u32,
}

/// Checks header, length and check sum of the node at the start of `bytes`, which stands at `offs` of its LEB
/// (`ubifs_check_node`).
pub(crate) fn check_node(geo: &Geometry, bytes: &[u8], offs: u32, check_crc: bool) -> Res<()> {
    if bytes.len() < HEADER_BYTES as usize || get_u32(bytes, header::MAGIC) != NODE_MAGIC {
        return Err(Fail::Unclean);
    }
    let kind = bytes[header::TYPE];
    let len = get_u32(bytes, header::LEN);
    let (least, most) = geo.node_range(kind).ok_or(Fail::corrupt("node of an unknown kind"))?;
    if len < least || len > most || len.saturating_add(offs) > geo.leb_bytes || len as usize > bytes.len() {
        return Err(Fail::corrupt("node of a wrong length"));
    }
    let check_crc = check_crc && !faults::NODES_BELIEVED.is_seeded();
    if check_crc && crc32(&bytes[8..len as usize]) != get_u32(bytes, header::CRC) {
        return Err(Fail::Unclean);
    }
    Ok(())
}

pub(crate) fn kind_of(node: &[u8]) -> u8 {
    node.get(header::TYPE).copied().unwrap_or(u8::MAX)
}

/// Fills `bytes` with padding (`ubifs_pad`): a padding node when there is room for one.
pub(crate) fn pad(bytes: &mut [u8]) {
    let pad_node = PAD_BYTES as usize;
    if bytes.len() >= pad_node {
        let rest = (bytes.len() - pad_node) as u32;
        bytes.fill(0);
        put_u32(bytes, header::MAGIC, NODE_MAGIC);
        bytes[header::TYPE] = PAD_NODE;
        put_u32(bytes, header::LEN, PAD_BYTES);
        put_u32(bytes, PAD_LEN_AT, rest);
        let crc = crc32(&bytes[8..pad_node]);
        put_u32(bytes, header::CRC, crc);
    } else {
        bytes.fill(PADDING_BYTE);
    }
}

impl Lebs {
    pub fn next_sqnum(&mut self) -> u64 {
        self.max_sqnum += 1;
        self.max_sqnum
    }

    /// Writes the header of the node in `node[..len]`, check sum included.
    pub fn finish_node(&mut self, node: &mut [u8], len: u32, kind: u8, group: u8) {
        let sqnum = self.next_sqnum();
        put_u32(node, header::MAGIC, NODE_MAGIC);
        put_u64(node, header::SQNUM, sqnum);
        put_u32(node, header::LEN, len);
        node[header::TYPE] = kind;
        node[header::GROUP] = group;
        node[22] = 0;
        node[23] = 0;
        self.sim.work(Work::NodeWrite, len as usize);
        self.sim.work(Work::Crc, len as usize);
        let crc = crc32(&node[8..len as usize]);
        put_u32(node, header::CRC, crc);
    }

    /// Finishes a lone node and pads the rest of `node` behind it, which ends at an I/O unit (`ubifs_write_node`).
    pub fn write_node(&mut self, node: &mut [u8], len: u32, kind: u8, lnum: u32, offs: u32) -> Res<()> {
        self.finish_node(node, len, kind, NO_GROUP);
        let padded = align(len, self.geo.min_io) as usize;
        let end = align8(len) as usize;
        if end > len as usize {
            node[len as usize..end].fill(0);
        }
        pad(&mut node[end..padded]);
        self.write(lnum, offs, &node[..padded])
    }

    /// Reads a node whose place, kind and length the index knows (`ubifs_read_node`).
    pub fn read_node(&self, node: &mut Vec<u8>, kind: u8, lnum: u32, offs: u32, len: u32) -> Res<()> {
        self.room_for_node(node, lnum, offs, len)?;
        self.read_checked(lnum, offs, node)?;
        self.check_read(node, kind, offs).at(lnum, offs)
    }

    /// Reads a node as the kernel reads those that it finds without its lock of the index: what ECC could not correct is an
    /// error here, and what fails is read again with the lock, for the node may have been moved meanwhile
    /// (`try_read_node` and `ubifs_tnc_locate` of `fs/ubifs/tnc.c`).
    pub fn read_node_twice(&self, node: &mut Vec<u8>, kind: u8, lnum: u32, offs: u32, len: u32) -> Res<()> {
        self.room_for_node(node, lnum, offs, len)?;
        if self.read(lnum, offs, node).is_ok() && self.check_read(node, kind, offs).is_ok() {
            return Ok(());
        }
        self.read_node(node, kind, lnum, offs, len)
    }

    fn room_for_node(&self, node: &mut Vec<u8>, lnum: u32, offs: u32, len: u32) -> Res<()> {
        if len < HEADER_BYTES || u64::from(offs) + u64::from(len) > u64::from(self.geo.leb_bytes) {
            return Err(Fail::corrupt("place of a node outside of its LEB")).at(lnum, offs);
        }
        node.resize(len as usize, 0);
        Ok(())
    }

    /// What every node that was read must fulfil: kind, check sum, length.
    pub fn check_read(&self, node: &[u8], kind: u8, offs: u32) -> Res<()> {
        if kind_of(node) != kind {
            return Err(Fail::corrupt("node of another kind than the index says"));
        }
        let checks_crc = kind != DATA_NODE || self.check_data_crc;
        self.sim.work(Work::NodeRead, node.len());
        if checks_crc {
            self.sim.work(Work::Crc, node.len());
        }
        check_node(&self.geo, node, offs, checks_crc).map_err(|_| Fail::corrupt("damaged node"))?;
        if get_u32(node, header::LEN) as usize != node.len() {
            return Err(Fail::corrupt("node of another length than the index says"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_says_how_far_it_reaches() {
        let mut bytes = [1; 64];
        pad(&mut bytes);
        let geo = Geometry { leb_bytes: 4096, ..Geometry::default() };
        assert_eq!(check_node(&geo, &bytes, 0, true), Ok(()));
        assert_eq!(get_u32(&bytes, PAD_LEN_AT), 36);
        let mut short = [1; 8];
        pad(&mut short);
        assert_eq!(short, [PADDING_BYTE; 8]);
    }

    #[test]
    fn a_flipped_bit_is_found() {
        let mut bytes = [0; 28];
        pad(&mut bytes);
        bytes[25] ^= 1;
        let geo = Geometry { leb_bytes: 4096, ..Geometry::default() };
        assert_eq!(check_node(&geo, &bytes, 0, true), Err(Fail::Unclean));
        assert_eq!(check_node(&geo, &bytes, 0, false), Ok(()));
    }
}
