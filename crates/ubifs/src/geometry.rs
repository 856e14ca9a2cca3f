//! Sizes and places that follow from the volume and the superblock.
//!
//! Follows `fs/ubifs/super.c` (`init_constants_early`, `init_constants_sb`).

use crate::format::*;
use crate::key::{name_hash, Key};

/// (`init_constants_early`)
const MIN_IO_BYTES_LEAST: u32 = 8;

/// Constants of a mounted file system. LEB numbers and byte counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Geometry {
    pub leb_bytes: u32,
    /// Smallest unit that is written at once.
    pub min_io: u32,
    /// Size of a write buffer.
    pub max_write: u32,
    pub leb_cnt: u32,
    pub max_leb_cnt: u32,
    pub log_lebs: u32,
    pub log_last: u32,
    pub lpt_lebs: u32,
    pub lpt_first: u32,
    pub lpt_last: u32,
    pub orph_lebs: u32,
    pub orph_first: u32,
    pub orph_last: u32,
    pub main_lebs: u32,
    pub main_first: u32,
    pub fanout: u32,
    pub key_hash: u8,
    pub double_hash: bool,
    /// A piece of space in a LEB with fewer bytes than this holds no node: it is dead.
    pub dead_wm: u32,
    /// A piece of space in a LEB with fewer bytes than this may hold no further node: it is dark.
    pub dark_wm: u32,
    /// Bytes that remain unused at the end of a LEB that is filled with data nodes of the largest size.
    pub leb_overhead: u32,
    pub ref_bytes: u32,
    pub master_bytes: u32,
    pub idx_bytes_min: u32,
    pub idx_bytes_max: u32,
    pub idx_leb_bytes: u32,
    pub max_bud_bytes: i64,
    pub bg_bud_bytes: i64,
    pub rp_bytes: i64,
    /// LEBs that the budget keeps for journal heads.
    pub kept_for_heads_lebs: u32,
}

impl Geometry {
    /// What the volume alone determines. Nodes are aligned to 8 bytes, so no unit of the medium is smaller.
    pub fn of_volume(leb_bytes: u32, leb_cnt: u32, min_io: u32, max_write: u32) -> Geometry {
        let min_io = min_io.max(MIN_IO_BYTES_LEAST);
        let max_write = max_write.max(min_io);
        Geometry {
            leb_bytes,
            min_io,
            max_write,
            leb_cnt,
            max_leb_cnt: leb_cnt,
            dead_wm: align(WRITE_BYTES_MIN, min_io),
            dark_wm: align(NODE_BYTES_MAX, min_io),
            leb_overhead: leb_bytes % DATA_BYTES_MAX,
            ref_bytes: align(REF_BYTES, min_io),
            master_bytes: align(MASTER_BYTES, min_io),
            ..Geometry::default()
        }
    }

    pub fn half_leb(&self) -> u32 {
        self.leb_bytes / 2
    }

    pub fn main_bytes(&self) -> i64 {
        i64::from(self.main_lebs) * i64::from(self.leb_bytes)
    }

    pub fn log_bytes(&self) -> i64 {
        i64::from(self.log_lebs) * i64::from(self.leb_bytes)
    }

    /// Key of a name in a directory.
    pub fn entry_key(&self, dir: u32, name: &[u8]) -> Key {
        Key::dent(dir, name_hash(self.key_hash, name))
    }

    /// Key of the name of an extended attribute.
    pub fn xattr_key(&self, host: u32, name: &[u8]) -> Key {
        Key::xent(host, name_hash(self.key_hash, name))
    }

    /// Number of the LEB with this index in the main area.
    pub fn lnum_of(&self, i: usize) -> u32 {
        self.main_first + i as u32
    }

    pub fn is_main(&self, lnum: u32) -> bool {
        lnum >= self.main_first && lnum < self.leb_cnt
    }

    pub fn next_log_lnum(&self, lnum: u32) -> u32 {
        if lnum >= self.log_last {
            LOG_LNUM
        } else {
            lnum + 1
        }
    }

    /// How many of `space` free and dirty bytes of a LEB may turn out to be unusable (`ubifs_calc_dark`).
    pub fn dark(&self, space: u32) -> u32 {
        if space < self.dark_wm {
            space
        } else if space - self.dark_wm < WRITE_BYTES_MIN {
            space - WRITE_BYTES_MIN
        } else {
            self.dark_wm
        }
    }

    /// Least and largest length of a node of this kind; `None`: there is no such kind.
    pub fn node_range(&self, kind: u8) -> Option<(u32, u32)> {
        Some(match kind {
            PAD_NODE => (PAD_BYTES, PAD_BYTES),
            SB_NODE => (SB_BYTES, SB_BYTES),
            MASTER_NODE => (MASTER_BYTES, MASTER_BYTES),
            REF_NODE => (REF_BYTES, REF_BYTES),
            TRUN_NODE => (TRUN_BYTES, TRUN_BYTES),
            CS_NODE => (CS_BYTES, CS_BYTES),
            AUTH_NODE => (HEADER_BYTES, HEADER_BYTES + 64),
            SIG_NODE => (64, self.leb_bytes),
            INO_NODE => (INO_BYTES, INO_BYTES_MAX),
            ORPHAN_NODE => (ORPHAN_BYTES + 8, self.leb_bytes),
            DENT_NODE | XENT_NODE => (DENT_BYTES, DENT_BYTES_MAX),
            DATA_NODE => (DATA_BYTES, DATA_BYTES_MAX),
            IDX_NODE => (idx_node_bytes(1), idx_node_bytes(self.fanout.max(1))),
            _ => return None,
        })
    }
}
