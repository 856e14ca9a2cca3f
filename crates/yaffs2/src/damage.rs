//! Contradictions on the medium: what is wrong, and where.
//!
//! YAFFS2 goes on after all of them, by a scan, with what else there is, or with EIO, and the original writes a trace at most.
//! Here the last one is kept ([`crate::Yaffs2::damage`]).

use std::fmt;

use thiserror::Error;

/// What is wrong with a checkpoint or an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    #[error("a checkpoint ends before its page {page}")]
    CheckpointEnds { page: u32 },
    #[error("tags and header are not those of page {page} of a checkpoint")]
    CheckpointPage { page: u32 },
    #[error("the sum of a checkpoint is {found:#010x}, {expected:#010x} is written there")]
    CheckpointSum { found: u32, expected: u32 },
    #[error("a checkpoint states {found:#x} as {what}, which cannot be")]
    CheckpointValue { what: &'static str, found: u32 },
    #[error("mode {mode:#o} is that of no kind of special file")]
    Mode { mode: u32 },
    #[error("a hard link stands for object {target}, which is not there")]
    Link { target: u32 },
}

/// A contradiction on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub struct Damage {
    pub flaw: Flaw,
    /// The object that is damaged.
    pub object: Option<u32>,
    /// Where the page is, if one page is to blame.
    pub place: Option<Place>,
}

/// A place on the medium: erase block of the partition, counted from 0, and page in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub block: u32,
    pub page: u32,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.flaw)?;
        match (self.object, self.place) {
            (Some(object), Some(Place { block, page })) => write!(f, " (object {object}, block {block}, page {page})"),
            (Some(object), None) => write!(f, " (object {object})"),
            (None, Some(Place { block, page })) => write!(f, " (block {block}, page {page})"),
            (None, None) => Ok(()),
        }
    }
}
