//! Packing and unpacking of LPT nodes.
//!
//! Follows `fs/ubifs/lpt.c` (`ubifs_pack_pnode` ... `unpack_lsave`, `validate_nnode`, `validate_pnode`).

use super::bits::{crc16, Packer, Unpacker};
use super::{
    Lpt, LptGeometry, LtabEntry, Place, CRC_BYTES, FANOUT, FANOUT_SHIFT, LSAVE, LTAB, NNODE, PNODE, TYPE_BITS,
};
use crate::error::{Fail, Res};
use crate::format::{get_u16, put_u16};
use crate::geometry::Geometry;
use crate::lprops::Lprops;

const BAD: Fail = Fail::corrupt("damaged LPT node");

fn seal(bytes: &mut [u8]) {
    let crc = crc16(&bytes[CRC_BYTES..]);
    put_u16(bytes, 0, crc);
}

fn open<'a>(bytes: &'a [u8], kind: u32) -> Res<Unpacker<'a>> {
    let mut unpacker = Unpacker::new(&bytes[CRC_BYTES..]);
    if unpacker.take(TYPE_BITS) != kind || get_u16(bytes, 0) != crc16(&bytes[CRC_BYTES..]) {
        return Err(BAD);
    }
    Ok(unpacker)
}

/// Number of an inner node: its path from the root, two bits a step, below a leading one.
pub(super) fn nnode_number(height: u32, level: u32, index: u32) -> u32 {
    let mut number = 1;
    for step in 0..height - level {
        number = (number << FANOUT_SHIFT) | ((index >> (FANOUT_SHIFT * step)) & (FANOUT - 1));
    }
    number
}

pub(super) fn pack_pnode(lpt: &LptGeometry, number: u32, props: &[Lprops], bytes: &mut [u8]) {
    let mut packer = Packer::new(&mut bytes[CRC_BYTES..]);
    packer.put(PNODE, TYPE_BITS);
    if lpt.big {
        packer.put(number, lpt.pcnt_bits);
    }
    for prop in props {
        packer.put(prop.free >> 3, lpt.space_bits);
        packer.put(prop.dirty >> 3, lpt.space_bits);
        packer.put(u32::from(prop.is_index), 1);
    }
    seal(bytes);
}

/// Free and dirty bytes and the index flag of four LEBs.
pub(super) fn unpack_pnode(lpt: &LptGeometry, geo: &Geometry, index: u32, bytes: &[u8]) -> Res<[(u32, u32, bool); 4]> {
    let mut unpacker = open(bytes, PNODE)?;
    if lpt.big && unpacker.take(lpt.pcnt_bits) != index {
        return Err(BAD);
    }
    let mut props = [(0, 0, false); 4];
    for prop in &mut props {
        let free = unpacker.take(lpt.space_bits) << 3;
        let dirty = unpacker.take(lpt.space_bits) << 3;
        *prop = (free, dirty, unpacker.take(1) == 1);
        if free % geo.min_io != 0 || free > geo.leb_bytes || dirty > geo.leb_bytes || free + dirty > geo.leb_bytes {
            return Err(BAD);
        }
    }
    Ok(props)
}

pub(super) fn pack_nnode(lpt: &LptGeometry, geo: &Geometry, number: u32, children: &[Place], bytes: &mut [u8]) {
    let mut packer = Packer::new(&mut bytes[CRC_BYTES..]);
    packer.put(NNODE, TYPE_BITS);
    if lpt.big {
        packer.put(number, lpt.pcnt_bits);
    }
    for child in children {
        let lnum = if child.lnum == 0 { geo.lpt_last + 1 } else { child.lnum };
        packer.put(lnum - geo.lpt_first, lpt.lpt_lnum_bits);
        packer.put(child.offs, lpt.lpt_offs_bits);
    }
    seal(bytes);
}

/// Places of the four children of the inner node at `level`.
pub(super) fn unpack_nnode(lpt: &LptGeometry, geo: &Geometry, level: u32, index: u32, bytes: &[u8]) -> Res<[Place; 4]> {
    let mut unpacker = open(bytes, NNODE)?;
    if lpt.big && unpacker.take(lpt.pcnt_bits) != nnode_number(lpt.height, level, index) {
        return Err(BAD);
    }
    let child_bytes = if level == 1 { lpt.pnode_bytes } else { lpt.nnode_bytes };
    let mut children = [Place::default(); 4];
    for child in &mut children {
        let lnum = unpacker.take(lpt.lpt_lnum_bits) + geo.lpt_first;
        let offs = unpacker.take(lpt.lpt_offs_bits);
        let lnum = if lnum == geo.lpt_last + 1 { 0 } else { lnum };
        if lnum > geo.lpt_last || (lnum == 0 && offs != 0) || offs > geo.leb_bytes - child_bytes {
            return Err(BAD);
        }
        *child = Place { lnum, offs };
    }
    Ok(children)
}

pub(super) fn pack_ltab(lpt: &LptGeometry, ltab: &[LtabEntry], bytes: &mut [u8]) {
    let mut packer = Packer::new(&mut bytes[CRC_BYTES..]);
    packer.put(LTAB, TYPE_BITS);
    for entry in ltab {
        packer.put(entry.free, lpt.lpt_spc_bits);
        packer.put(entry.dirty, lpt.lpt_spc_bits);
    }
    seal(bytes);
}

pub(super) fn pack_lsave(lpt: &LptGeometry, lsave: &[u32], bytes: &mut [u8]) {
    let mut packer = Packer::new(&mut bytes[CRC_BYTES..]);
    packer.put(LSAVE, TYPE_BITS);
    for &lnum in lsave {
        packer.put(lnum, lpt.lnum_bits);
    }
    seal(bytes);
}

impl Lpt {
    pub(super) fn unpack_ltab(&mut self, leb_bytes: u32, bytes: &[u8]) -> Res<()> {
        let mut unpacker = open(bytes, LTAB)?;
        for entry in &mut self.ltab {
            let free = unpacker.take(self.geo.lpt_spc_bits);
            let dirty = unpacker.take(self.geo.lpt_spc_bits);
            if free > leb_bytes || dirty > leb_bytes || free + dirty > leb_bytes {
                return Err(BAD);
            }
            *entry = LtabEntry { free, dirty, ..LtabEntry::default() };
        }
        Ok(())
    }

    pub(super) fn unpack_lsave(&mut self, geo: &Geometry, bytes: &[u8]) -> Res<()> {
        let mut unpacker = open(bytes, LSAVE)?;
        self.lsave.clear();
        for _ in 0..self.geo.lsave_cnt {
            let lnum = unpacker.take(self.geo.lnum_bits);
            if !geo.is_main(lnum) {
                return Err(BAD);
            }
            self.lsave.push(lnum);
        }
        Ok(())
    }
}
