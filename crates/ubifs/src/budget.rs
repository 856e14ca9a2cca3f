//! Budgets: what a caller is about to make dirty, and the bytes on flash that are reserved for it.
//!
//! Follows `fs/ubifs/budget.c`; [`crate::room`] grants them.

use crate::format::*;
use crate::geometry::Geometry;

/// What a caller is about to make dirty. A budget for it is asked for with [`crate::Ubifs::budget`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Request {
    /// Fail with `NoSpc` at once, without writing back, collecting garbage or committing to make room.
    pub fast: bool,
    pub new_page: bool,
    pub dirtied_page: bool,
    pub new_dent: bool,
    pub mod_dent: bool,
    pub new_ino: bool,
    pub dirtied_inos: u32,
    /// Bytes of data that the new inodes hold beside their fixed part, such as the target of a symbolic link.
    pub new_ino_bytes: u32,
    pub dirtied_ino_bytes: u32,
}

/// The bytes that a granted request reserves, by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    pub idx: i64,
    pub data: i64,
    /// Nodes that replace nodes which are on flash already.
    pub dirty: i64,
}

/// State of the budget (`ubifs_budg_info`), in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    pub growth: Growth,
    pub uncommitted_idx: i64,
    pub old_idx_bytes: i64,
    pub min_idx_lebs: i64,
    /// The last attempt to make room failed.
    pub no_space: bool,
}

impl Request {
    pub fn growth(&self, geo: &Geometry) -> Growth {
        let bytes = |wanted: bool, bytes: u32| if wanted { i64::from(bytes) } else { 0 };
        let znodes = u32::from(self.new_ino) + u32::from(self.new_page) + u32::from(self.new_dent);
        let data = bytes(self.new_ino, INO_BYTES)
            + bytes(self.new_page, DATA_BYTES_MAX)
            + bytes(self.new_dent, DENT_BYTES_MAX)
            + i64::from(self.new_ino_bytes);
        let dirty = bytes(self.dirtied_page, DATA_BYTES_MAX)
            + i64::from(INO_BYTES * self.dirtied_inos)
            + bytes(self.mod_dent, DENT_BYTES_MAX)
            + i64::from(self.dirtied_ino_bytes);
        Growth { idx: i64::from(znodes * geo.idx_bytes_max), data, dirty }
    }
}

impl Growth {
    pub fn add(&mut self, other: Growth) {
        self.idx += other.idx;
        self.data += other.data;
        self.dirty += other.dirty;
    }

    pub fn subtract(&mut self, other: Growth) {
        self.idx -= other.idx;
        self.data -= other.data;
        self.dirty -= other.dirty;
        debug_assert!(self.idx >= 0 && self.data >= 0 && self.dirty >= 0, "{other:?} more than was granted: {self:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "more than was granted")]
    fn nobody_gives_back_more_than_was_granted() {
        let mut growth = Growth { idx: 0, data: 4096, dirty: 0 };
        growth.subtract(Growth { data: 4096, ..Growth::default() });
        growth.subtract(Growth { data: 4096, ..Growth::default() });
    }
}
