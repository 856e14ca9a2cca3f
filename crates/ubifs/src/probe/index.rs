//! The way from the master node through the index, without a mount (`fs/ubifs/ubifs-media.h`: `ubifs_mst_node`, `ubifs_idx_node`,
//! `ubifs_cs_node`).

use super::{u32_at, walk};
use crate::format::{header, CS_NODE, HEADER_BYTES, IDX_NODE, MASTER_NODE};
use crate::key::{Key, DATA_KEY};

use super::records::sequence_number;

const COMMIT_AT: usize = 32;
const LOG_LEB_AT: usize = 44;
const ROOT_AT: usize = 48;
const CHILDREN_AT: usize = 28;
/// LEB, offset, length and key of a child; a signed volume has the hash of the child behind them.
const CHILD_BYTES: usize = 20;

/// What a master node leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Master {
    pub commit_number: u64,
    pub log_leb_number: u32,
    /// Where the root of the index stands.
    pub root_leb_number: u32,
    pub root_offset: u32,
}

/// A child of a node of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    pub leb_number: u32,
    pub offset: u32,
    pub ino: u32,
    /// The block of the file, if it is one of data.
    pub block: Option<u32>,
}

/// A node of the index; level 0 has leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Children {
    pub level: u16,
    pub of: Vec<Child>,
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The last whole master node of a LEB.
pub fn last_master(leb: &[u8]) -> Option<Master> {
    let mut last = None;
    walk(leb, &mut |offset, _, damage| {
        let node = &leb[offset as usize..];
        if damage.is_none() && node[header::TYPE] == MASTER_NODE {
            last = Some(Master {
                commit_number: u64_at(node, COMMIT_AT),
                log_leb_number: u32_at(node, LOG_LEB_AT),
                root_leb_number: u32_at(node, ROOT_AT),
                root_offset: u32_at(node, ROOT_AT + 4),
            });
        }
    });
    last
}

/// The sequence number of the commit start node at the start of a LEB of the log.
pub fn commit_start(leb: &[u8]) -> Option<u64> {
    let is_start = super::is_sound(leb) && leb[header::TYPE] == CS_NODE;
    is_start.then(|| sequence_number(leb))
}

/// The children of the node of the index at the start of `node`, whose CRC was right.
pub fn children(node: &[u8]) -> Option<Children> {
    let length = u32_at(node, header::LEN) as usize;
    let node = node.get(..length).filter(|node| node[header::TYPE] == IDX_NODE && length > CHILDREN_AT)?;
    let [count, level] =
        [0, 2].map(|at| u16::from_le_bytes([node[HEADER_BYTES as usize + at], node[HEADER_BYTES as usize + at + 1]]));
    let each = (length - CHILDREN_AT).checked_div(usize::from(count)).filter(|&each| each >= CHILD_BYTES)?;
    let of = node[CHILDREN_AT..].chunks_exact(each).take(count.into()).map(|child| {
        let key = Key::read(child, 12);
        Child {
            leb_number: u32_at(child, 0),
            offset: u32_at(child, 4),
            ino: key.ino,
            block: (key.kind() == DATA_KEY).then(|| key.block()),
        }
    });
    Some(Children { level, of: of.collect() })
}
