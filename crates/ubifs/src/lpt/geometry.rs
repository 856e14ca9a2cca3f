//! Sizes of the LPT's nodes.
//!
//! Follows `fs/ubifs/lpt.c` (`do_calc_lpt_geom`, `calc_dflt_lpt_geom`).

use crate::error::{Fail, Res};
use crate::format::{align, LPT_LEBS_MIN};
use crate::geometry::Geometry;

/// LEBs of a leaf, and children of an inner node.
pub(crate) const FANOUT: u32 = 4;
pub(super) const FANOUT_SHIFT: u32 = 2;
pub(super) const CRC_BITS: u32 = 16;
pub(super) const TYPE_BITS: u32 = 4;

/// Bits and bytes of the fields and nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LptGeometry {
    pub big: bool,
    pub height: u32,
    pub pnode_cnt: u32,
    pub nnode_cnt: u32,
    pub space_bits: u32,
    pub lpt_lnum_bits: u32,
    pub lpt_offs_bits: u32,
    pub lpt_spc_bits: u32,
    pub pcnt_bits: u32,
    pub lnum_bits: u32,
    pub pnode_bytes: u32,
    pub nnode_bytes: u32,
    pub ltab_bytes: u32,
    pub lsave_bytes: u32,
    pub lsave_cnt: u32,
    /// Room that a whole tree takes at most.
    pub lpt_bytes: i64,
}

/// Position of the highest bit that is set, from 1 on; 0 for 0.
fn fls(value: u32) -> u32 {
    u32::BITS - value.leading_zeros()
}

impl LptGeometry {
    /// The geometry of the LPT for a file system with the areas of `geo`, which must have the numbers of LEBs.
    pub fn new(geo: &Geometry, big: bool, lsave_cnt: u32) -> LptGeometry {
        let main_max = geo.main_lebs + geo.max_leb_cnt - geo.leb_cnt;
        let pnodes_max = u64::from(main_max.div_ceil(FANOUT));
        let mut height = 1;
        let mut reach = u64::from(FANOUT);
        while reach < pnodes_max {
            height += 1;
            reach <<= FANOUT_SHIFT;
        }
        let pnode_cnt = geo.main_lebs.div_ceil(FANOUT);
        let mut row = pnode_cnt.div_ceil(FANOUT);
        let mut nnode_cnt = row;
        for _ in 1..height {
            row = row.div_ceil(FANOUT);
            nnode_cnt += row;
        }
        let space_bits = fls(geo.leb_bytes) - 3;
        let lpt_lnum_bits = fls(geo.lpt_lebs);
        let lpt_offs_bits = fls(geo.leb_bytes - 1);
        let lpt_spc_bits = fls(geo.leb_bytes);
        let pcnt_bits = fls(geo.max_leb_cnt.div_ceil(FANOUT) - 1);
        let lnum_bits = fls(geo.max_leb_cnt - 1);
        let head = CRC_BITS + TYPE_BITS;
        let number = if big { pcnt_bits } else { 0 };
        let bytes = |bits: u64| bits.div_ceil(8) as u32;
        let pnode_bytes = bytes(u64::from(head + number + (space_bits * 2 + 1) * FANOUT));
        let nnode_bytes = bytes(u64::from(head + number + (lpt_lnum_bits + lpt_offs_bits) * FANOUT));
        let ltab_bytes = bytes(u64::from(head) + u64::from(geo.lpt_lebs) * u64::from(lpt_spc_bits) * 2);
        let lsave_bytes = bytes(u64::from(head) + u64::from(lnum_bits) * u64::from(lsave_cnt));
        let mut lpt_bytes = i64::from(pnode_cnt) * i64::from(pnode_bytes)
            + i64::from(nnode_cnt) * i64::from(nnode_bytes)
            + i64::from(ltab_bytes);
        if big {
            lpt_bytes += i64::from(lsave_bytes);
        }
        // What the ends of LEBs waste.
        let waste_per_leb = i64::from(pnode_bytes.max(nnode_bytes));
        let leb = i64::from(geo.leb_bytes);
        let mut rest = lpt_bytes + waste_per_leb;
        let mut waste = waste_per_leb;
        while rest > leb {
            rest += waste_per_leb - leb;
            waste += waste_per_leb;
        }
        waste += i64::from(align(rest as u32, geo.min_io)) - rest;
        lpt_bytes += waste;
        LptGeometry {
            big,
            height,
            pnode_cnt,
            nnode_cnt,
            space_bits,
            lpt_lnum_bits,
            lpt_offs_bits,
            lpt_spc_bits,
            pcnt_bits,
            lnum_bits,
            pnode_bytes,
            nnode_bytes,
            ltab_bytes,
            lsave_bytes,
            lsave_cnt,
            lpt_bytes,
        }
    }

    /// As [`LptGeometry::new`], for a mounted file system. Checks that the LPT area has room for two whole trees.
    pub fn checked(geo: &Geometry, big: bool, lsave_cnt: u32) -> Res<LptGeometry> {
        let lpt = LptGeometry::new(geo, big, lsave_cnt);
        let lebs = (lpt.lpt_bytes as u64 * 2).div_ceil(u64::from(geo.leb_bytes));
        if lebs > u64::from(geo.lpt_lebs) || lpt.ltab_bytes > geo.leb_bytes || lpt.lsave_bytes > geo.leb_bytes {
            return Err(Fail::corrupt("too few LEBs for the LPT"));
        }
        Ok(lpt)
    }

    /// Chooses model and number of LEBs for a new file system, whose main area and LPT have `lebs` LEBs together.
    pub fn default_for(geo: &mut Geometry, lebs: u32, lsave_cnt: u32) -> Option<LptGeometry> {
        let leb = i64::from(geo.leb_bytes);
        geo.lpt_lebs = LPT_LEBS_MIN;
        geo.main_lebs = lebs.checked_sub(geo.lpt_lebs).filter(|&n| n > 0)?;
        let mut lpt = LptGeometry::new(geo, false, lsave_cnt);
        let big = lpt.lpt_bytes > leb;
        if big {
            lpt = LptGeometry::new(geo, true, lsave_cnt);
        }
        for _ in 0..64 {
            let needed = (lpt.lpt_bytes * 4 + leb - 1) / leb;
            if needed <= i64::from(geo.lpt_lebs) {
                return (lpt.ltab_bytes <= geo.leb_bytes).then_some(lpt);
            }
            geo.lpt_lebs = u32::try_from(needed).ok()?;
            geo.main_lebs = lebs.checked_sub(geo.lpt_lebs).filter(|&n| n > 0)?;
            lpt = LptGeometry::new(geo, big, lsave_cnt);
        }
        None
    }
}
