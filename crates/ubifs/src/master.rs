//! The master node: where everything is. Two LEBs hold copies; a commit appends to both.
//!
//! Follows `fs/ubifs/master.c`.

use crate::error::{Fail, Res};
use crate::format::*;
use crate::geometry::Geometry;
use crate::leb::Lebs;
use crate::lprops::Stats;
use crate::lpt::{LptGeometry, Place};
use crate::node::NodeAt;
use crate::scan::ScannedLeb;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Master {
    /// Where the last one stands in its LEB.
    pub offs: u32,
    pub highest_ino: u64,
    pub cmt_no: u64,
    pub flags: u32,
    pub log_lnum: u32,
    pub root: NodeAt,
    pub gc_lnum: u32,
    pub ihead_lnum: u32,
    pub ihead_offs: u32,
    pub index_bytes: i64,
    pub stats: Stats,
    pub lpt: Place,
    pub nhead: Place,
    pub ltab: Place,
    pub lsave: Place,
    pub lscan_lnum: u32,
    pub leb_cnt: u32,
}

impl Master {
    pub fn unpack(node: &[u8], offs: u32) -> Master {
        let u32_at = |at| get_u32(node, at);
        let i64_at = |at| get_u64(node, at) as i64;
        let place = |at| Place { lnum: u32_at(at), offs: u32_at(at + 4) };
        Master {
            offs,
            highest_ino: get_u64(node, 24),
            cmt_no: get_u64(node, 32),
            flags: u32_at(40),
            log_lnum: u32_at(44),
            root: NodeAt { lnum: u32_at(48), offs: u32_at(52), len: u32_at(56) },
            gc_lnum: u32_at(60),
            ihead_lnum: u32_at(64),
            ihead_offs: u32_at(68),
            index_bytes: i64_at(72),
            stats: Stats {
                total_free: i64_at(80),
                total_dirty: i64_at(88),
                total_used: i64_at(96),
                total_dead: i64_at(104),
                total_dark: i64_at(112),
                empty_lebs: i64::from(u32_at(156)),
                idx_lebs: i64::from(u32_at(160)),
                taken_empty_lebs: 0,
            },
            lpt: place(120),
            nhead: place(128),
            ltab: place(136),
            lsave: place(144),
            lscan_lnum: u32_at(152),
            leb_cnt: u32_at(164),
        }
    }

    pub fn pack(&self, node: &mut [u8]) {
        let stats = &self.stats;
        let wide = [(24, self.highest_ino), (32, self.cmt_no), (72, self.index_bytes as u64)];
        let sums = [
            (80, stats.total_free),
            (88, stats.total_dirty),
            (96, stats.total_used),
            (104, stats.total_dead),
            (112, stats.total_dark),
        ];
        wide.into_iter().chain(sums.map(|(at, sum)| (at, sum as u64))).for_each(|(at, value)| put_u64(node, at, value));
        let narrow = [
            (40, self.flags),
            (44, self.log_lnum),
            (48, self.root.lnum),
            (52, self.root.offs),
            (56, self.root.len),
            (60, self.gc_lnum),
            (64, self.ihead_lnum),
            (68, self.ihead_offs),
            (120, self.lpt.lnum),
            (124, self.lpt.offs),
            (128, self.nhead.lnum),
            (132, self.nhead.offs),
            (136, self.ltab.lnum),
            (140, self.ltab.offs),
            (144, self.lsave.lnum),
            (148, self.lsave.offs),
            (152, self.lscan_lnum),
            (156, stats.empty_lebs as u32),
            (160, stats.idx_lebs as u32),
            (164, self.leb_cnt),
        ];
        narrow.into_iter().for_each(|(at, value)| put_u32(node, at, value));
    }

    /// Appends the master node to both LEBs; a full one begins anew.
    pub fn write(&mut self, lebs: &mut Lebs, highest_ino: u32) -> Res<()> {
        lebs.check_writable()?;
        let mut offs = self.offs + lebs.geo.master_bytes;
        if offs + MASTER_BYTES > lebs.geo.leb_bytes {
            lebs.unmap(MASTER_LNUM)?;
            offs = 0;
        }
        self.offs = offs;
        self.highest_ino = u64::from(highest_ino);
        let mut node = vec![0; lebs.geo.master_bytes as usize];
        self.pack(&mut node);
        lebs.write_node(&mut node, MASTER_BYTES, MASTER_NODE, MASTER_LNUM, offs)?;
        if offs == 0 {
            lebs.unmap(MASTER_LNUM + 1)?;
        }
        lebs.write_node(&mut node, MASTER_BYTES, MASTER_NODE, MASTER_LNUM + 1, offs)
    }

    pub fn validate(&self, geo: &Geometry, lpt: &LptGeometry) -> Res<()> {
        let main = geo.main_bytes();
        let in_lpt = |place: Place, bytes: u32| {
            (geo.lpt_first..=geo.lpt_last).contains(&place.lnum)
                && u64::from(place.offs) + u64::from(bytes) <= u64::from(geo.leb_bytes)
        };
        let sum_is_good = |sum: i64| (0..=main).contains(&sum) && sum % 8 == 0;
        let stats = &self.stats;
        let is_good = self.highest_ino < 0xFFFF_FF00
            && (LOG_LNUM..=geo.log_last).contains(&self.log_lnum)
            && geo.is_main(self.root.lnum)
            && self.root.offs < geo.leb_bytes
            && self.root.offs.is_multiple_of(8)
            && (idx_node_bytes(1)..=idx_node_bytes(geo.fanout)).contains(&self.root.len)
            && geo.is_main(self.gc_lnum)
            && geo.is_main(self.ihead_lnum)
            && self.ihead_offs.is_multiple_of(geo.min_io)
            && self.ihead_offs <= geo.leb_bytes
            && sum_is_good(self.index_bytes)
            && in_lpt(self.lpt, lpt.nnode_bytes)
            && in_lpt(self.nhead, 0)
            && self.nhead.offs.is_multiple_of(geo.min_io)
            && in_lpt(self.ltab, lpt.ltab_bytes)
            && (!lpt.big || in_lpt(self.lsave, lpt.lsave_bytes))
            && geo.is_main(self.lscan_lnum)
            && (0..=i64::from(geo.main_lebs) - 2).contains(&stats.empty_lebs)
            && (0..i64::from(geo.main_lebs)).contains(&stats.idx_lebs)
            && [stats.total_free, stats.total_dirty, stats.total_used, stats.total_dead, stats.total_dark]
                .into_iter()
                .all(sum_is_good)
            && stats.total_free + stats.total_dirty + stats.total_used <= main
            && stats.total_dead + stats.total_dark + stats.total_used + self.index_bytes <= main
            && stats.total_dead.max(stats.total_dark) <= stats.total_free + stats.total_dirty;
        if is_good {
            Ok(())
        } else {
            Err(Fail::corrupt("bad master node"))
        }
    }
}

/// Whether two copies of the master node have the same content. Headers and message codes (HMAC), which differ, are
/// left out.
pub(crate) fn same_master(one: &[u8], other: &[u8]) -> bool {
    one[24..296] == other[24..296] && one[360..512] == other[360..512]
}

impl Lebs {
    /// The last master node and where it stands. [`Fail::Unclean`]: its two copies differ.
    pub fn scan_for_master(&mut self) -> Res<(Vec<u8>, u32)> {
        let last = |leb: &ScannedLeb| match leb.nodes.last() {
            Some(node) if node.kind != MASTER_NODE => Err(Fail::corrupt("other nodes among the master nodes")),
            Some(node) => Ok(Some((leb.node(node).to_vec(), node.offs, leb.nodes.len()))),
            None => Ok(None),
        };
        let leb = self.scan(MASTER_LNUM, 0)?;
        let first = last(&leb);
        self.recycle(leb);
        let first = first?;
        let leb = self.scan(MASTER_LNUM + 1, 0)?;
        let second = last(&leb);
        self.recycle(leb);
        match (first, second?) {
            (Some((one, offs, count)), Some((other, other_offs, other_count)))
                if count == other_count && offs == other_offs && same_master(&one, &other) =>
            {
                Ok((one, offs))
            }
            _ => Err(Fail::Unclean),
        }
    }
}
