//! Garbage collection of the LPT area, for the big model: what is still valid in a LEB is written anew by the next commit.
//!
//! Follows `fs/ubifs/lpt_commit.c` (`lpt_gc`, `lpt_gc_lnum`).

use super::bits::{crc16, Unpacker};
use super::{Lpt, CRC_BYTES, FANOUT, FANOUT_SHIFT, LSAVE, LTAB, NNODE, NOT_A_NODE, PNODE, TYPE_BITS};
use crate::error::{Res, NO_SPACE};
use crate::format::{align, get_u16};
use crate::leb::Lebs;
use crate::space::Space;

impl Space {
    /// Empties the dirtiest LEB.
    pub(super) fn collect_lpt_garbage(&mut self, lebs: &mut Lebs) -> Res<()> {
        let mut most = 0;
        let mut victim = None;
        for (i, entry) in self.lpt.ltab.iter().enumerate() {
            let lnum = lebs.geo.lpt_first + i as u32;
            if lnum == self.lpt.nhead.lnum || entry.free + entry.dirty == lebs.geo.leb_bytes {
                continue;
            }
            if entry.dirty > most {
                most = entry.dirty;
                victim = Some(lnum);
            }
        }
        self.renew_lpt_leb(lebs, victim.ok_or(NO_SPACE)?)
    }

    fn renew_lpt_leb(&mut self, lebs: &mut Lebs, lnum: u32) -> Res<()> {
        let mut bytes = lebs.buffer();
        let read = lebs.read_checked(lnum, 0, &mut bytes);
        let mut at = 0u32;
        let mut result = read;
        while result.is_ok() && at < lebs.geo.leb_bytes {
            let Some((kind, number, len)) = self.lpt.node_at(&bytes[at as usize..]) else {
                let padded = align(at, lebs.geo.min_io);
                if padded == at {
                    break;
                }
                at = padded;
                continue;
            };
            result = self.renew_lpt_node(lebs, kind, number, lnum, at);
            at += len;
        }
        lebs.buffers.push(bytes);
        result
    }

    /// Marks the LPT node at this place as changed if it is the valid one, so that the next commit writes it elsewhere.
    fn renew_lpt_node(&mut self, lebs: &Lebs, kind: u32, number: u32, lnum: u32, offs: u32) -> Res<()> {
        let first = lebs.geo.lpt_first;
        match kind {
            PNODE if number < self.lpt.geo.pnode_cnt => {
                self.load_pnode(lebs, number)?;
                let node = self.lpt.pnodes[number as usize];
                if (node.lnum, node.offs) == (lnum, offs) {
                    self.make_pnode_dirty(lebs, number);
                }
            }
            NNODE => {
                let Some((level, index)) = self.lpt.nnode_of_number(number) else { return Ok(()) };
                for above in (level..=self.lpt.geo.height).rev() {
                    self.load_nnode(lebs, above, index >> (FANOUT_SHIFT * (above - level)))?;
                }
                let node = *self.lpt.node(level, index);
                if (node.lnum, node.offs) == (lnum, offs) {
                    self.make_nnodes_dirty(lebs, level, index);
                }
            }
            LTAB if (self.lpt.ltab_at.lnum, self.lpt.ltab_at.offs) == (lnum, offs) => self.lpt.make_ltab_dirty(first),
            LSAVE if (self.lpt.lsave_at.lnum, self.lpt.lsave_at.offs) == (lnum, offs) => {
                self.lpt.make_lsave_dirty(first)
            }
            _ => {}
        }
        Ok(())
    }
}

impl Lpt {
    /// Kind, number and length of the LPT node at the start of `bytes`, if there is one.
    fn node_at(&self, bytes: &[u8]) -> Option<(u32, u32, u32)> {
        let mut unpacker = Unpacker::new(bytes.get(CRC_BYTES..)?);
        let kind = unpacker.take(TYPE_BITS);
        let len = match kind {
            NOT_A_NODE => return None,
            PNODE => self.geo.pnode_bytes,
            NNODE => self.geo.nnode_bytes,
            LTAB => self.geo.ltab_bytes,
            LSAVE => self.geo.lsave_bytes,
            _ => return None,
        };
        let number = unpacker.take(self.geo.pcnt_bits);
        let node = bytes.get(..len as usize)?;
        (crc16(&node[CRC_BYTES..]) == get_u16(node, 0)).then_some((kind, number, len))
    }

    /// Level and index of the inner node with this number.
    fn nnode_of_number(&self, mut number: u32) -> Option<(u32, u32)> {
        let mut level = self.geo.height;
        let mut index = 0;
        while number >= FANOUT {
            index = (index << FANOUT_SHIFT) | (number & (FANOUT - 1));
            number >>= FANOUT_SHIFT;
            level = level.checked_sub(1)?;
        }
        (number == 1 && level >= 1 && self.has_node(level, index)).then_some((level, index))
    }
}
