//! What an inode's data nodes are while it is read, and how two of them stand to each other (`jffs2_add_tn_to_tree` of
//! `fs/jffs2/readinode.c`).

use crate::refs::RefId;

/// A data node that was read, not yet in the fragment map (`struct jffs2_tmp_dnode_info`).
#[derive(Clone, Copy)]
pub struct Candidate {
    pub node: RefId,
    pub version: u32,
    pub offset: u32,
    pub bytes: u32,
    pub compressed_bytes: u32,
    pub data_crc: u32,
    /// CRC of those data that were read together with the header.
    pub partial_crc: u32,
    pub overlapped: bool,
}

/// How a candidate stands to a new one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Meets {
    /// Both are needed.
    Beside,
    /// It has the version of the new one.
    Copy,
    /// The new one is newer and covers it.
    Covered,
    /// It is newer and covers the new one.
    Covers,
}

impl Meets {
    pub fn of(this: &Candidate, new: &Candidate) -> Meets {
        let (this_end, new_end) = (this.offset + this.bytes, new.offset + new.bytes);
        if this.version == new.version {
            Meets::Copy
        } else if this.version < new.version && this.offset >= new.offset && this_end <= new_end {
            Meets::Covered
        } else if this.version > new.version && this.offset <= new.offset && this_end >= new_end {
            Meets::Covers
        } else {
            Meets::Beside
        }
    }
}
