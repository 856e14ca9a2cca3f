//! The LPT of a new file system.
//!
//! Follows `fs/ubifs/lpt.c` (`ubifs_create_dflt_lpt`).

use super::nodes::{nnode_number, pack_lsave, pack_ltab, pack_nnode, pack_pnode};
use super::{LptGeometry, LtabEntry, Place, FANOUT, FANOUT_SHIFT};
use crate::format::align;
use crate::geometry::Geometry;
use crate::lprops::Lprops;

/// A new LPT: what to write, and where its parts are.
pub(crate) struct DefaultLpt {
    /// Content of the LEBs, from the first of the area on; whole I/O units.
    pub lebs: Vec<Vec<u8>>,
    pub root: Place,
    pub nhead: Place,
    pub ltab: Place,
    pub lsave: Place,
}

struct Writer<'a> {
    geo: &'a Geometry,
    lebs: Vec<Vec<u8>>,
    ltab: Vec<LtabEntry>,
}

impl Writer<'_> {
    /// Room for a part: its place and bytes.
    fn room(&mut self, bytes: u32) -> (Place, &mut [u8]) {
        if self.lebs.last().is_none_or(|leb| leb.len() as u32 + bytes > self.geo.leb_bytes) {
            self.close();
            self.lebs.push(Vec::new());
        }
        let number = self.lebs.len() - 1;
        let leb = &mut self.lebs[number];
        let offs = leb.len();
        leb.resize(offs + bytes as usize, 0);
        (Place { lnum: self.geo.lpt_first + number as u32, offs: offs as u32 }, &mut leb[offs..])
    }

    fn close(&mut self) {
        let number = self.lebs.len();
        let Some(leb) = self.lebs.last_mut() else { return };
        let len = leb.len() as u32;
        let end = align(len, self.geo.min_io);
        leb.resize(end as usize, 0xFF);
        self.ltab[number - 1] = LtabEntry { free: self.geo.leb_bytes - end, dirty: end - len, ..LtabEntry::default() };
    }
}

/// The tree in which LEB 0 of the main area has `index_bytes` of index, LEB 1 `inode_bytes` of the root inode, and all
/// others are free.
pub(crate) fn create_default_lpt(geo: &Geometry, lpt: &LptGeometry, index_bytes: u32, inode_bytes: u32) -> DefaultLpt {
    let free = LtabEntry { free: geo.leb_bytes, ..LtabEntry::default() };
    let mut writer = Writer { geo, lebs: Vec::new(), ltab: vec![free; geo.lpt_lebs as usize] };
    let mut props = [Lprops::free(geo.leb_bytes); 4];
    for (prop, bytes) in props.iter_mut().zip([index_bytes, inode_bytes]) {
        let end = align(bytes, geo.min_io);
        prop.free = geo.leb_bytes - end;
        prop.dirty = end - bytes;
    }
    props[0].is_index = true;
    let mut places = Vec::new();
    for number in 0..lpt.pnode_cnt {
        let (place, bytes) = writer.room(lpt.pnode_bytes);
        pack_pnode(lpt, number, &props, bytes);
        places.push(place);
        props = [Lprops::free(geo.leb_bytes); 4];
    }
    let mut rows = 0;
    let mut reach = u64::from(FANOUT);
    while u64::from(lpt.pnode_cnt) > reach {
        rows += 1;
        reach <<= FANOUT_SHIFT;
    }
    let mut root = Place::default();
    for row in (0..=rows).rev() {
        let children = std::mem::take(&mut places);
        for (number, four) in children.chunks(FANOUT as usize).enumerate() {
            let (place, bytes) = writer.room(lpt.nnode_bytes);
            let mut branches = [Place::default(); 4];
            branches[..four.len()].copy_from_slice(four);
            // The number depends only on the distance to the root.
            pack_nnode(lpt, geo, nnode_number(row, 0, number as u32), &branches, bytes);
            places.push(place);
            root = place;
        }
    }
    let mut lsave = Place::default();
    if lpt.big {
        let mut lnums: Vec<u32> = (geo.main_first..geo.leb_cnt).take(lpt.lsave_cnt as usize).collect();
        lnums.resize(lpt.lsave_cnt as usize, geo.main_first);
        let (place, bytes) = writer.room(lpt.lsave_bytes);
        pack_lsave(lpt, &lnums, bytes);
        lsave = place;
    }
    let (ltab, _) = writer.room(lpt.ltab_bytes);
    writer.close();
    let last = writer.lebs.len() - 1;
    let end = ltab.offs as usize + lpt.ltab_bytes as usize;
    let (table, leb) = (&writer.ltab, &mut writer.lebs[last]);
    pack_ltab(lpt, table, &mut leb[ltab.offs as usize..end]);
    let nhead = Place { lnum: ltab.lnum, offs: leb.len() as u32 };
    DefaultLpt { lebs: writer.lebs, root, nhead, ltab, lsave }
}
