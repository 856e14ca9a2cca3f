//! Neighbours in the tree.
//!
//! Follows `fs/ubifs/tnc.c` (`tnc_next`, `tnc_prev`, `left_znode`, `right_znode`).

use super::{Index, Position, NO_ZNODE};
use crate::error::Res;
use crate::leb::Lebs;

impl Index {
    pub(crate) fn next(&mut self, lebs: &Lebs, position: Position) -> Res<Option<Position>> {
        let n = position.n + 1;
        if (n as usize) < self.z(position.znode).branches.len() {
            return Ok(Some(Position { n, ..position }));
        }
        Ok(self.right_of(lebs, position.znode)?.map(|znode| Position { znode, n: 0 }))
    }

    pub(super) fn previous(&mut self, lebs: &Lebs, position: Position) -> Res<Option<Position>> {
        if position.n > 0 {
            return Ok(Some(Position { n: position.n - 1, ..position }));
        }
        let left = self.left_of(lebs, position.znode)?;
        Ok(left.map(|znode| Position { znode, n: self.z(znode).branches.len() as i32 - 1 }))
    }

    /// The znode to the right, of the same level.
    pub(super) fn right_of(&mut self, lebs: &Lebs, mut znode: u32) -> Res<Option<u32>> {
        let level = self.z(znode).level;
        loop {
            let n = self.z(znode).iip as usize + 1;
            znode = self.z(znode).parent;
            if znode == NO_ZNODE {
                return Ok(None);
            }
            if n < self.z(znode).branches.len() {
                znode = self.child_znode(lebs, znode, n)?;
                while self.z(znode).level != level {
                    znode = self.child_znode(lebs, znode, 0)?;
                }
                return Ok(Some(znode));
            }
        }
    }

    /// The znode to the left, of the same level.
    pub(super) fn left_of(&mut self, lebs: &Lebs, mut znode: u32) -> Res<Option<u32>> {
        let level = self.z(znode).level;
        loop {
            let iip = self.z(znode).iip as usize;
            znode = self.z(znode).parent;
            if znode == NO_ZNODE {
                return Ok(None);
            }
            if iip > 0 {
                znode = self.child_znode(lebs, znode, iip - 1)?;
                while self.z(znode).level != level {
                    let last = self.z(znode).branches.len() - 1;
                    znode = self.child_znode(lebs, znode, last)?;
                }
                return Ok(Some(znode));
            }
        }
    }
}
