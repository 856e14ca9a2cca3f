//! What the nodes of a LEB say, whether they are still valid or not: for tools that look for what was deleted.
//!
//! The fields are those of `fs/ubifs/ubifs-media.h`. The caller has found the nodes with [`super::walk`], which computes their
//! CRCs; what their fields claim is limited here once more.

use ffslab_fs::FileKind;

use super::u32_at;
use crate::compress::Compressor;
use crate::format::*;
use crate::inode::kind_of_entry;
use crate::key::{Key, DATA_KEY, DENT_KEY, INO_KEY, XENT_KEY};
use ffslab_sim::{Sim, SimConfig};

/// Bytes of a file that a data node stands for, whether it holds as many or fewer.
pub const DATA_BLOCK_BYTES: u32 = BLOCK_BYTES;

/// What a node says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Inode(InodeRecord),
    /// `bytes` of the block with this number of an inode's file.
    Data {
        ino: u32,
        block: u32,
        bytes: u32,
    },
    /// `ino` 0 deletes the name.
    Entry {
        parent: u32,
        ino: u32,
        kind: FileKind,
        name: Vec<u8>,
    },
    Truncation {
        ino: u32,
        new_bytes: u64,
    },
    /// An extended attribute of the inode `host`, whose value the inode `ino` holds; 0 removes it.
    Attribute {
        host: u32,
        ino: u32,
        name: Vec<u8>,
    },
    /// The value of an extended attribute.
    AttributeValue {
        ino: u32,
        value: Vec<u8>,
    },
    /// A node that tells nothing about files.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InodeRecord {
    pub ino: u32,
    pub kind: FileKind,
    pub permissions: u32,
    pub uid: u32,
    pub gid: u32,
    /// 0: the inode was deleted, or no program had given it a name yet.
    pub links: u32,
    pub size_bytes: u64,
    pub modified_s: i64,
    pub changed_s: i64,
    /// What its content or target holds, and the names in a directory, cannot be read without a key.
    pub is_encrypted: bool,
    /// Target of a symbolic link, or number of a device.
    pub data: Vec<u8>,
}

/// The sequence number of the node at the start of `node`: grows with each node that is written, and a copy keeps it.
pub fn sequence_number(node: &[u8]) -> u64 {
    get_u64(node, header::SQNUM)
}

/// What the node at the start of `node` says. Its check sum is not looked at.
pub fn record(node: &[u8]) -> Record {
    let length = u32_at(node, header::LEN) as usize;
    let node = node.get(..length).unwrap_or(node);
    let kind = node.get(header::TYPE).copied().unwrap_or(u8::MAX);
    let key = Key::read(node, KEY_AT);
    let has = |bytes: u32| node.len() >= bytes as usize;
    let found = match (kind, key.kind()) {
        (INO_NODE, INO_KEY) if has(INO_BYTES) && get_u32(node, ino::FLAGS) & INODE_XATTR != 0 => {
            inode_data(node).map(|value| Record::AttributeValue { ino: key.ino, value })
        }
        (INO_NODE, INO_KEY) if has(INO_BYTES) => inode(key.ino, node).map(Record::Inode),
        (XENT_NODE, XENT_KEY) if has(DENT_BYTES) => {
            let ino = get_u32(node, dent::INUM);
            name(node).map(|name| Record::Attribute { host: key.ino, ino, name })
        }
        (DATA_NODE, DATA_KEY) if has(DATA_BYTES) => {
            let bytes = get_u32(node, data::SIZE);
            (bytes <= BLOCK_BYTES).then_some(Record::Data { ino: key.ino, block: key.block(), bytes })
        }
        (DENT_NODE, DENT_KEY) if has(DENT_BYTES) => {
            let ino = get_u32(node, dent::INUM);
            let kind = kind_of_entry(node[dent::TYPE]);
            name(node).map(|name| Record::Entry { parent: key.ino, ino, kind, name })
        }
        (TRUN_NODE, _) if has(TRUN_BYTES) => {
            Some(Record::Truncation { ino: get_u32(node, trun::INUM), new_bytes: get_u64(node, trun::NEW_SIZE) })
        }
        _ => None,
    };
    found.unwrap_or(Record::Other)
}

fn name(node: &[u8]) -> Option<Vec<u8>> {
    let bytes = usize::from(get_u16(node, dent::NLEN));
    Some(node.get(dent::NAME..dent::NAME + bytes)?.to_vec())
}

fn inode_data(node: &[u8]) -> Option<Vec<u8>> {
    Some(node.get(ino::DATA..)?.get(..get_u32(node, ino::DATA_LEN) as usize)?.to_vec())
}

fn inode(ino: u32, node: &[u8]) -> Option<InodeRecord> {
    let mode = get_u32(node, ino::MODE);
    Some(InodeRecord {
        ino,
        kind: FileKind::from_mode(mode)?,
        permissions: mode & 0o7777,
        uid: get_u32(node, ino::UID),
        gid: get_u32(node, ino::GID),
        links: get_u32(node, ino::NLINK),
        size_bytes: get_u64(node, ino::SIZE),
        modified_s: get_u64(node, ino::MTIME_SEC) as i64,
        changed_s: get_u64(node, ino::CTIME_SEC) as i64,
        is_encrypted: get_u32(node, ino::FLAGS) & INODE_CRYPT != 0,
        data: inode_data(node)?,
    })
}

/// Expands what data nodes hold.
pub struct Expander {
    compressor: Compressor,
    free: Sim,
}

impl Default for Expander {
    fn default() -> Expander {
        Expander { compressor: Compressor::default(), free: Sim::new(SimConfig::default()) }
    }
}

impl Expander {
    /// What a data node holds of its block. `None`: it is none, or damaged.
    pub fn data_of(&mut self, node: &[u8]) -> Option<Vec<u8>> {
        self.expand(node, node.get(data::DATA..u32_at(node, header::LEN) as usize)?)
    }

    /// As [`Expander::data_of`], of a node that is encrypted: `open` opens the bytes of the block with the number.
    pub fn opened_data_of(&mut self, node: &[u8], open: impl FnOnce(u32, &mut [u8])) -> Option<Vec<u8>> {
        let Record::Data { block, .. } = record(node) else { return None };
        let mut stored = node.get(data::DATA..u32_at(node, header::LEN) as usize)?.to_vec();
        open(block, &mut stored);
        // What is behind fills up the last block of the cipher.
        self.expand(node, stored.get(..usize::from(get_u16(node, data::COMPR_SIZE)))?)
    }

    fn expand(&mut self, node: &[u8], stored: &[u8]) -> Option<Vec<u8>> {
        let Record::Data { bytes, .. } = record(node) else { return None };
        let mut plain = vec![0; BLOCK_BYTES as usize];
        let kind = get_u16(node, data::COMPR_TYPE);
        let expanded = self.compressor.decompress(&self.free, kind, stored, &mut plain)?;
        plain.truncate(bytes as usize);
        (expanded >= bytes as usize).then_some(plain)
    }
}

/// The length of the node at the start of `node`.
pub fn length(node: &[u8]) -> u32 {
    u32_at(node, header::LEN)
}
