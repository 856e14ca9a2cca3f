//! What is known of the space: how full each LEB of the main area is, which LEBs are kept back, and what is promised.
//!
//! Choosing LEBs (`find`), their properties (`lprops`, `lpt`) and promises of room (`budget`) change this part and read
//! and write flash; they know neither journal nor index.

use crate::budget::Budget;
use crate::error::{Fail, Res};
use crate::gc::IdxGc;
use crate::leb::Lebs;
use crate::lprops::Change;
use crate::lpt::Lpt;
use ffslab_policy::Victims;

#[derive(Debug, Default)]
pub(crate) struct Space {
    pub lpt: Lpt,
    pub budget: Budget,
    /// The empty LEB that is kept in reserve for garbage collection.
    pub gc_lnum: Option<u32>,
    /// LEBs of the index that garbage collection has emptied and a commit frees; the latest stands first.
    pub idx_gc: Vec<IdxGc>,
    /// How many LEBs of the index are empty in memory while the index on flash still uses them.
    pub idx_gc_cnt: i64,
    /// LEBs of the index as the last commit left them, the dirtiest last.
    pub dirty_idx_lebs: Vec<u32>,
    /// Who chooses the LEB to collect in place of the heaps.
    pub victims: Option<Victims>,
    /// When each LEB of the main area was opened for writing, counted in LEBs that this mount has opened; empty without a
    /// policy.
    pub opened_at: Vec<u32>,
    pub opened_lebs: u32,
    /// Working memory: a node of the LPT.
    pub node_buffer: Vec<u8>,
}

impl Space {
    /// Takes the LEB that is kept in reserve for garbage collection, and makes sure that it is empty.
    pub fn take_gc_leb(&mut self, lebs: &Lebs) -> Res<()> {
        let Some(lnum) = self.gc_lnum else { return Ok(()) };
        let free = Some(lebs.geo.leb_bytes);
        let change = Change { free, dirty: Some(0), taken: Some(true), ..Change::default() };
        self.change_lp(lebs, lnum, change).map(drop)
    }

    pub fn check_free_space(&self, lebs: &Lebs) -> Res<()> {
        let stats = &self.lpt.stats;
        if stats.total_free + stats.total_dirty < i64::from(lebs.geo.dark_wm) {
            return Err(Fail::Errno(ffslab_fs::Errno::NoSpc));
        }
        Ok(())
    }
}
