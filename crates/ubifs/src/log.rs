//! The log: which LEBs the journal uses.
//!
//! Follows `fs/ubifs/log.c`. A LEB that a journal head takes is written down as a reference node first ("bud").

use crate::core::Core;
use crate::error::{Fail, Res};
use crate::format::*;
use crate::node::pad;
use std::collections::{BTreeMap, BTreeSet};

/// A LEB that the journal uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bud {
    /// Offset in the LEB at which the nodes of the journal begin.
    pub start: u32,
    pub head: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub head_lnum: u32,
    pub head_offs: u32,
    pub tail_lnum: u32,
    /// Bytes of the log that are kept free for the next commit.
    pub min_bytes: i64,
    pub buds: BTreeMap<u32, Bud>,
    pub bud_bytes: i64,
    commit_bud_bytes: i64,
    /// Buds that the running commit makes superfluous: afterwards the index leads to all their valid nodes.
    old_buds: Vec<u32>,
    /// Journal head of each LEB of the main area, `HEADS` for none.
    head_of_leb: Vec<u8>,
}

impl Log {
    pub fn new(main_lebs: u32) -> Log {
        let head_of_leb = vec![HEADS as u8; main_lebs as usize];
        Log { head_lnum: LOG_LNUM, tail_lnum: LOG_LNUM, head_of_leb, ..Log::default() }
    }
}

fn ref_node(core: &mut Core, node: &mut [u8], lnum: u32, offs: u32, head: usize) {
    put_u32(node, reference::LNUM, lnum);
    put_u32(node, reference::OFFS, offs);
    put_u32(node, reference::JHEAD, head as u32);
    core.lebs.finish_node(node, REF_BYTES, REF_NODE, NO_GROUP);
}

impl Core {
    /// Journal head whose bud a LEB is.
    #[inline]
    pub fn head_of_bud(&self, lnum: u32) -> Option<usize> {
        let i = lnum.checked_sub(self.lebs.geo.main_first)?;
        let head = usize::from(*self.log.head_of_leb.get(i as usize)?);
        (head < HEADS).then_some(head)
    }

    fn empty_log_bytes(&self) -> i64 {
        let leb = i64::from(self.lebs.geo.leb_bytes);
        let head = i64::from(self.log.head_lnum) * leb + i64::from(self.log.head_offs);
        let tail = i64::from(self.log.tail_lnum) * leb;
        if head > tail {
            self.lebs.geo.log_bytes() - head + tail
        } else if head != tail {
            tail - head
        } else {
            self.lebs.geo.log_bytes()
        }
    }

    pub fn add_bud(&mut self, lnum: u32, bud: Bud) {
        self.log.buds.insert(lnum, bud);
        self.log.head_of_leb[(lnum - self.lebs.geo.main_first) as usize] = bud.head as u8;
        self.log.bud_bytes += i64::from(self.lebs.geo.leb_bytes - bud.start);
        self.heads[bud.head].buds.push(lnum);
    }

    fn remove_bud(&mut self, lnum: u32) {
        if let Some(bud) = self.log.buds.remove(&lnum) {
            self.log.head_of_leb[(lnum - self.lebs.geo.main_first) as usize] = HEADS as u8;
            self.heads[bud.head].buds.retain(|&other| other != lnum);
        }
    }

    /// Writes down that a head goes on in this LEB. [`Fail::Again`]: a commit must run first.
    pub fn add_bud_to_log(&mut self, head: usize, lnum: u32, offs: u32) -> Res<()> {
        self.lebs.check_writable()?;
        let bytes = i64::from(self.lebs.geo.leb_bytes - offs);
        if self.empty_log_bytes() - i64::from(self.lebs.geo.ref_bytes) < self.log.min_bytes
            || self.log.bud_bytes + bytes > self.lebs.geo.max_bud_bytes
        {
            self.require_commit();
            return Err(Fail::Again);
        }
        if self.log.bud_bytes >= self.lebs.geo.bg_bud_bytes {
            self.request_background_commit();
        }
        if self.log.head_offs > self.lebs.geo.leb_bytes - self.lebs.geo.ref_bytes {
            self.log.head_lnum = self.lebs.geo.next_log_lnum(self.log.head_lnum);
            self.log.head_offs = 0;
        }
        if self.log.head_offs == 0 {
            self.lebs.unmap(self.log.head_lnum)?;
        }
        if offs == 0 {
            self.lebs.map(lnum)?;
        }
        let mut node = vec![0; self.lebs.geo.ref_bytes as usize];
        put_u32(&mut node, reference::LNUM, lnum);
        put_u32(&mut node, reference::OFFS, offs);
        put_u32(&mut node, reference::JHEAD, head as u32);
        self.lebs.write_node(&mut node, REF_BYTES, REF_NODE, self.log.head_lnum, self.log.head_offs)?;
        self.log.head_offs += self.lebs.geo.ref_bytes;
        self.add_bud(lnum, Bud { start: offs, head });
        Ok(())
    }

    /// Drops the buds from the journal that the running commit makes superfluous. Only the buds to which heads still
    /// write remain, from the present offset of their head on.
    fn remove_buds(&mut self) {
        self.log.commit_bud_bytes = 0;
        let lnums: Vec<u32> = self.log.buds.keys().copied().collect();
        for lnum in lnums {
            let Some(bud) = self.log.buds.get_mut(&lnum) else { continue };
            let head = &self.heads[bud.head];
            if head.lnum == Some(lnum) {
                self.log.commit_bud_bytes += i64::from(head.offs) - i64::from(bud.start);
                bud.start = head.offs;
            } else {
                self.log.commit_bud_bytes += i64::from(self.lebs.geo.leb_bytes - bud.start);
                self.remove_bud(lnum);
                self.log.old_buds.push(lnum);
            }
        }
    }

    /// Begins a new log with a commit start node and the heads' present places. Returns its first LEB.
    pub fn start_log_commit(&mut self) -> Res<u32> {
        let most = CS_BYTES + HEADS as u32 * REF_BYTES;
        let mut bytes = vec![0; align(most, self.lebs.geo.min_io) as usize];
        put_u64(&mut bytes, CMT_NO_AT, self.cmt_no);
        self.lebs.finish_node(&mut bytes, CS_BYTES, CS_NODE, NO_GROUP);
        let mut len = CS_BYTES;
        for head in 0..HEADS {
            let (lnum, offs) = (self.heads[head].lnum, self.heads[head].offs);
            if let Some(lnum) = lnum.filter(|_| offs != self.lebs.geo.leb_bytes) {
                ref_node(self, &mut bytes[len as usize..], lnum, offs, head);
                len += REF_BYTES;
            }
        }
        let end = align(len, self.lebs.geo.min_io);
        pad(&mut bytes[len as usize..end as usize]);
        if self.log.head_offs > 0 {
            self.log.head_lnum = self.lebs.geo.next_log_lnum(self.log.head_lnum);
            self.log.head_offs = 0;
        }
        self.lebs.unmap(self.log.head_lnum)?;
        self.lebs.write(self.log.head_lnum, 0, &bytes[..end as usize])?;
        self.log.head_offs = end;
        self.remove_buds();
        self.log.min_bytes = 0;
        Ok(self.log.head_lnum)
    }

    /// The new log is valid with the master node that is written here.
    pub fn end_log_commit(&mut self, tail_lnum: u32) -> Res<()> {
        self.log.tail_lnum = tail_lnum;
        self.log.min_bytes = i64::from(self.lebs.geo.leb_bytes);
        self.log.bud_bytes -= self.log.commit_bud_bytes;
        self.write_master()
    }

    /// Gives back the old buds and the old log.
    pub fn finish_log_commit(&mut self, old_tail_lnum: u32) -> Res<()> {
        while let Some(lnum) = self.log.old_buds.pop() {
            self.space.return_leb(&mut self.lebs, lnum)?;
        }
        let mut lnum = old_tail_lnum;
        while lnum != self.log.tail_lnum {
            self.lebs.unmap(lnum)?;
            lnum = self.lebs.geo.next_log_lnum(lnum);
        }
        Ok(())
    }

    /// Makes room in a full log: every bud is kept once (`ubifs_consolidate_log`).
    pub fn consolidate_log(&mut self) -> Res<()> {
        let mut seen = BTreeSet::new();
        let mut lnum = self.log.tail_lnum;
        let mut write_lnum = lnum;
        let mut bytes: Vec<u8> = Vec::new();
        let mut first = true;
        loop {
            let leb = self.lebs.scan(lnum, 0)?;
            for node in &leb.nodes {
                let is_new = match node.kind {
                    REF_NODE => seen.insert(get_u32(leb.node(node), reference::LNUM)),
                    CS_NODE => std::mem::take(&mut first),
                    _ => false,
                };
                if !is_new {
                    continue;
                }
                if bytes.len() as u32 + node.len > self.lebs.geo.leb_bytes {
                    self.write_log_leb(write_lnum, &mut bytes)?;
                    write_lnum = self.lebs.geo.next_log_lnum(write_lnum);
                    bytes.clear();
                }
                bytes.extend_from_slice(leb.node(node));
                bytes.resize(align8(bytes.len() as u32) as usize, 0);
            }
            self.lebs.recycle(leb);
            if lnum == self.log.head_lnum {
                break;
            }
            lnum = self.lebs.geo.next_log_lnum(lnum);
        }
        if !bytes.is_empty() {
            self.write_log_leb(write_lnum, &mut bytes)?;
        }
        if write_lnum == self.log.head_lnum {
            return Err(Fail::corrupt("the log is too full"));
        }
        let mut lnum = write_lnum;
        while lnum != self.log.head_lnum {
            lnum = self.lebs.geo.next_log_lnum(lnum);
            self.lebs.unmap(lnum)?;
        }
        self.log.head_lnum = write_lnum;
        self.log.head_offs = bytes.len() as u32;
        Ok(())
    }

    fn write_log_leb(&mut self, lnum: u32, bytes: &mut Vec<u8>) -> Res<()> {
        let len = bytes.len();
        bytes.resize(align(len as u32, self.lebs.geo.min_io) as usize, 0);
        pad(&mut bytes[len..]);
        self.lebs.change(lnum, bytes)
    }
}
