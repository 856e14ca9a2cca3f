//! The log: which LEBs the journal uses.
//!
//! Follows `fs/ubifs/log.c`. A LEB that a journal head takes is written down as a reference node first ("bud").

use super::{Bud, Journal};
use crate::commits::Commits;
use crate::error::{Fail, Res};
use crate::format::*;
use crate::leb::Lebs;
use crate::node::pad;
use crate::space::Space;
use std::collections::BTreeSet;

/// What a recovery drops (`fix_unclean_leb` of `fs/ubifs/recovery.c`), and UBI erases when it comes to that.
const TORN_COMES_BACK: &str = "UBIFS's log names a LEB that a recovery has emptied and UBI has not yet erased: if the power goes away \
                               after a clean unmount and before that, what was torn is there again, and nothing mounts it";

fn ref_node(lebs: &mut Lebs, node: &mut [u8], lnum: u32, offs: u32, head: usize) {
    put_u32(node, reference::LNUM, lnum);
    put_u32(node, reference::OFFS, offs);
    put_u32(node, reference::JHEAD, head as u32);
    lebs.finish_node(node, REF_BYTES, REF_NODE, NO_GROUP);
}

impl Journal {
    /// Journal head whose bud a LEB is.
    #[inline]
    pub fn head_of_bud(&self, lebs: &Lebs, lnum: u32) -> Option<usize> {
        let i = lnum.checked_sub(lebs.geo.main_first)?;
        let head = usize::from(*self.log.head_of_leb.get(i as usize)?);
        (head < HEADS).then_some(head)
    }

    fn empty_log_bytes(&self, lebs: &Lebs) -> i64 {
        let leb = i64::from(lebs.geo.leb_bytes);
        let head = i64::from(self.log.head_lnum) * leb + i64::from(self.log.head_offs);
        let tail = i64::from(self.log.tail_lnum) * leb;
        if head > tail {
            lebs.geo.log_bytes() - head + tail
        } else if head != tail {
            tail - head
        } else {
            lebs.geo.log_bytes()
        }
    }

    pub fn add_bud(&mut self, lebs: &Lebs, lnum: u32, bud: Bud) {
        self.log.buds.insert(lnum, bud);
        self.log.head_of_leb[(lnum - lebs.geo.main_first) as usize] = bud.head as u8;
        self.log.bud_bytes += i64::from(lebs.geo.leb_bytes - bud.start);
        self.heads[bud.head].buds.push(lnum);
    }

    fn remove_bud(&mut self, lebs: &Lebs, lnum: u32) {
        if let Some(bud) = self.log.buds.remove(&lnum) {
            self.log.head_of_leb[(lnum - lebs.geo.main_first) as usize] = HEADS as u8;
            self.heads[bud.head].buds.retain(|&other| other != lnum);
        }
    }

    /// Writes down that a head goes on in this LEB. [`Fail::Again`]: a commit must run first.
    pub fn add_bud_to_log(
        &mut self,
        lebs: &mut Lebs,
        commits: &mut Commits,
        head: usize,
        lnum: u32,
        offs: u32,
    ) -> Res<()> {
        lebs.check_writable()?;
        let bytes = i64::from(lebs.geo.leb_bytes - offs);
        if self.empty_log_bytes(lebs) - i64::from(lebs.geo.ref_bytes) < self.log.min_bytes
            || self.log.bud_bytes + bytes > lebs.geo.max_bud_bytes
        {
            commits.require_commit();
            return Err(Fail::Again);
        }
        if self.log.bud_bytes >= lebs.geo.bg_bud_bytes {
            commits.request_background_commit(lebs);
        }
        if self.log.head_offs > lebs.geo.leb_bytes - lebs.geo.ref_bytes {
            self.log.head_lnum = lebs.geo.next_log_lnum(self.log.head_lnum);
            self.log.head_offs = 0;
        }
        if self.log.head_offs == 0 {
            lebs.unmap(self.log.head_lnum)?;
        }
        if offs == 0 {
            lebs.map(lnum)?;
        }
        let mut node = vec![0; lebs.geo.ref_bytes as usize];
        put_u32(&mut node, reference::LNUM, lnum);
        put_u32(&mut node, reference::OFFS, offs);
        put_u32(&mut node, reference::JHEAD, head as u32);
        lebs.write_node(&mut node, REF_BYTES, REF_NODE, self.log.head_lnum, self.log.head_offs)?;
        self.log.head_offs += lebs.geo.ref_bytes;
        self.add_bud(lebs, lnum, Bud { start: offs, head });
        Ok(())
    }

    /// Drops the buds from the journal that the running commit makes superfluous. Only the buds to which heads still
    /// write remain, from the present offset of their head on.
    fn remove_buds(&mut self, lebs: &Lebs) {
        self.log.commit_bud_bytes = 0;
        let lnums: Vec<u32> = self.log.buds.keys().copied().collect();
        for lnum in lnums {
            let Some(bud) = self.log.buds.get_mut(&lnum) else { continue };
            let head = &self.heads[bud.head];
            if head.lnum == Some(lnum) {
                self.log.commit_bud_bytes += i64::from(head.offs) - i64::from(bud.start);
                bud.start = head.offs;
            } else {
                self.log.commit_bud_bytes += i64::from(lebs.geo.leb_bytes - bud.start);
                self.remove_bud(lebs, lnum);
                self.log.old_buds.push(lnum);
            }
        }
    }

    /// Begins a new log with a commit start node and the heads' present places. Returns its first LEB.
    pub fn start_log_commit(&mut self, lebs: &mut Lebs, cmt_no: u64) -> Res<u32> {
        let most = CS_BYTES + HEADS as u32 * REF_BYTES;
        let mut bytes = vec![0; align(most, lebs.geo.min_io) as usize];
        put_u64(&mut bytes, CMT_NO_AT, cmt_no);
        lebs.finish_node(&mut bytes, CS_BYTES, CS_NODE, NO_GROUP);
        let mut len = CS_BYTES;
        for head in 0..HEADS {
            let (lnum, offs) = (self.heads[head].lnum, self.heads[head].offs);
            if let Some(lnum) = lnum.filter(|_| offs != lebs.geo.leb_bytes) {
                if offs == 0 && !lebs.is_mapped(lnum) {
                    lebs.sim.meet_fault(TORN_COMES_BACK);
                }
                ref_node(lebs, &mut bytes[len as usize..], lnum, offs, head);
                len += REF_BYTES;
            }
        }
        let end = align(len, lebs.geo.min_io);
        pad(&mut bytes[len as usize..end as usize]);
        if self.log.head_offs > 0 {
            self.log.head_lnum = lebs.geo.next_log_lnum(self.log.head_lnum);
            self.log.head_offs = 0;
        }
        lebs.unmap(self.log.head_lnum)?;
        lebs.write(self.log.head_lnum, 0, &bytes[..end as usize])?;
        self.log.head_offs = end;
        self.remove_buds(lebs);
        self.log.min_bytes = 0;
        Ok(self.log.head_lnum)
    }

    /// The log begins here, as soon as the master node says so, too.
    pub fn end_log_commit(&mut self, lebs: &Lebs, tail_lnum: u32) {
        self.log.tail_lnum = tail_lnum;
        self.log.min_bytes = i64::from(lebs.geo.leb_bytes);
        self.log.bud_bytes -= self.log.commit_bud_bytes;
    }

    /// Gives back the old buds and the old log.
    pub fn finish_log_commit(&mut self, lebs: &mut Lebs, space: &mut Space, old_tail_lnum: u32) -> Res<()> {
        while let Some(lnum) = self.log.old_buds.pop() {
            space.return_leb(lebs, lnum)?;
        }
        let mut lnum = old_tail_lnum;
        while lnum != self.log.tail_lnum {
            lebs.unmap(lnum)?;
            lnum = lebs.geo.next_log_lnum(lnum);
        }
        Ok(())
    }

    /// Makes room in a full log: every bud is kept once (`ubifs_consolidate_log`).
    pub fn consolidate_log(&mut self, lebs: &mut Lebs) -> Res<()> {
        let mut seen = BTreeSet::new();
        let mut lnum = self.log.tail_lnum;
        let mut write_lnum = lnum;
        let mut bytes: Vec<u8> = Vec::new();
        let mut first = true;
        loop {
            let leb = lebs.scan(lnum, 0)?;
            for node in &leb.nodes {
                let is_new = match node.kind {
                    REF_NODE => seen.insert(get_u32(leb.node(node), reference::LNUM)),
                    CS_NODE => std::mem::take(&mut first),
                    _ => false,
                };
                if !is_new {
                    continue;
                }
                if bytes.len() as u32 + node.len > lebs.geo.leb_bytes {
                    lebs.write_log_leb(write_lnum, &mut bytes)?;
                    write_lnum = lebs.geo.next_log_lnum(write_lnum);
                    bytes.clear();
                }
                bytes.extend_from_slice(leb.node(node));
                bytes.resize(align8(bytes.len() as u32) as usize, 0);
            }
            lebs.recycle(leb);
            if lnum == self.log.head_lnum {
                break;
            }
            lnum = lebs.geo.next_log_lnum(lnum);
        }
        if !bytes.is_empty() {
            lebs.write_log_leb(write_lnum, &mut bytes)?;
        }
        if write_lnum == self.log.head_lnum {
            return Err(Fail::corrupt("the log is too full"));
        }
        let mut lnum = write_lnum;
        while lnum != self.log.head_lnum {
            lnum = lebs.geo.next_log_lnum(lnum);
            lebs.unmap(lnum)?;
        }
        self.log.head_lnum = write_lnum;
        self.log.head_offs = bytes.len() as u32;
        Ok(())
    }
}

impl Lebs {
    fn write_log_leb(&mut self, lnum: u32, bytes: &mut Vec<u8>) -> Res<()> {
        let len = bytes.len();
        bytes.resize(align(len as u32, self.geo.min_io) as usize, 0);
        pad(&mut bytes[len..]);
        self.change(lnum, bytes)
    }
}
