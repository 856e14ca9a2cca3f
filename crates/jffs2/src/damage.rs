//! Contradictions on the medium: what is wrong, and where.
//!
//! A system call that meets one fails with EIO, as in the kernel, which prints the rest to its log. Here the last one is
//! kept ([`crate::Jffs2::damage`]), and a mount that fails returns it.

use std::fmt;

use ffslab_fs::Errno;
use thiserror::Error;

use crate::refs::{RefId, NONE};
use crate::space::Space;

/// What is wrong with a node or an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    #[error("the check sum of a header is wrong")]
    Header,
    #[error("data have check sum {found:#010x}, their header says {expected:#010x}")]
    Data { found: u32, expected: u32 },
    #[error("{stored_bytes} bytes are stored without compression for {data_bytes} bytes of data")]
    Length { stored_bytes: u32, data_bytes: u32 },
    #[error("a node claims {bytes} bytes of data, and an erase block has {block_bytes}")]
    TooLong { bytes: u32, block_bytes: u32 },
    #[error("data do not expand to the {data_bytes} bytes that their header says (compression {compression})")]
    Compression { compression: u8, data_bytes: u32 },
    #[error("compressor {compression} is not known: whatever it holds is left out")]
    Compressor { compression: u8 },
    #[error("mode {mode:#o} is that of no kind of file")]
    Mode { mode: u32 },
    #[error("a symbolic link or device needs exactly one data node and has {nodes}")]
    DataNodes { nodes: usize },
    #[error("names lead to an inode of which no sound node is left")]
    NoNode,
    #[error("{bytes} bytes are in nodes that no inode with a name owns")]
    Unowned { bytes: u32 },
}

/// A contradiction on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub struct Damage {
    pub flaw: Flaw,
    /// The inode that is damaged; `None`: the nodes belong to none.
    pub ino: Option<u32>,
    /// Where the node is, if one node is to blame.
    pub place: Option<Place>,
}

/// A place on the medium: erase block, and offset in it in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub block: u32,
    pub offset: u32,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.flaw)?;
        match (self.ino, self.place) {
            (Some(ino), Some(Place { block, offset })) => {
                write!(f, " (inode {ino}, block {block}, offset {offset:#x})")
            }
            (Some(ino), None) => write!(f, " (inode {ino})"),
            (None, Some(Place { block, offset })) => write!(f, " (block {block}, offset {offset:#x})"),
            (None, None) => Ok(()),
        }
    }
}

impl Damage {
    /// A flaw of the node `id`; [`NONE`]: of the inode as a whole.
    pub(crate) fn of_node(space: &Space, flaw: Flaw, ino: u32, id: RefId) -> Damage {
        let place = (id != NONE).then(|| {
            let offset = space.refs[id].offset();
            Place { block: space.blocks.of(offset), offset: offset % space.blocks.block_bytes() }
        });
        Damage { flaw, ino: (ino != 0).then_some(ino), place }
    }
}

/// Why something could not be read: the medium refuses, or what is on it contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fail {
    Errno(Errno),
    /// With the node that is to blame, or [`NONE`].
    Flaw(Flaw, RefId),
}

impl From<Errno> for Fail {
    fn from(error: Errno) -> Fail {
        Fail::Errno(error)
    }
}

pub type Res<T> = Result<T, Fail>;
