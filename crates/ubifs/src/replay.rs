//! Replay: a mount brings the index up to date with what the journal holds.
//!
//! Follows `fs/ubifs/replay.c`. All nodes of all buds are sorted by sequence number and applied.

use crate::core::Core;
use crate::error::{AtPlace, Fail, Res};
use crate::faults;
use crate::format::*;
use crate::journal::Bud;
use crate::key::{Key, DATA_KEY, INO_KEY, TRUN_KEY};
use crate::lprops::Change;
use crate::node::NodeAt;
use crate::tnc::{entry_name, validate_entry};

/// A node of the journal.
struct Entry {
    key: Key,
    at: NodeAt,
    sqnum: u64,
    deletion: bool,
    /// Name of a directory entry; empty for other nodes.
    name: Vec<u8>,
    /// Sizes of the file before and after a truncation.
    old_size: u64,
    new_size: u64,
}

/// A bud and what its replay found.
struct BudEntry {
    lnum: u32,
    bud: Bud,
    free: u32,
    dirty: u32,
}

#[derive(Default)]
pub(crate) struct Replay {
    entries: Vec<Entry>,
    buds: Vec<BudEntry>,
    cs_sqnum: u64,
}

impl Core {
    pub fn replay_journal(&mut self) -> Res<()> {
        let i = self.space.change_lp(
            &self.lebs,
            self.index.ihead_lnum,
            Change { taken: Some(true), ..Change::default() },
        )?;
        if self.index.ihead_offs != self.lebs.geo.leb_bytes - self.space.lpt.props[i].free {
            return Err(Fail::corrupt("bad place of the index head"));
        }
        self.index.replaying = true;
        let result = self.replay();
        self.index.replaying = false;
        result
    }

    fn replay(&mut self) -> Res<()> {
        let mut replay = Replay::default();
        let start = self.journal.log.head_lnum;
        self.journal.log.tail_lnum = start;
        let mut lnum = start;
        loop {
            let goes_on = self.replay_log_leb(lnum, &mut replay).at(lnum, 0)?;
            if !goes_on {
                if lnum == start && replay.cs_sqnum == 0 {
                    return Err(Fail::corrupt("no nodes at the start of the log")).at(lnum, 0);
                }
                break;
            }
            lnum = self.lebs.geo.next_log_lnum(lnum);
            if lnum == start {
                break;
            }
        }
        for i in 0..replay.buds.len() {
            self.replay_bud(&mut replay, i)?;
        }
        if !faults::REPLAY_UNORDERED.is_seeded() {
            replay.entries.sort_by_key(|entry| entry.sqnum);
        }
        for i in 0..replay.entries.len() {
            self.lebs.cond_resched();
            self.lebs.sim.work_of_mounting(|costs| costs.replay_node_ns);
            self.apply(&replay.entries, i)?;
        }
        for bud in &replay.buds {
            self.set_bud_lprops(bud)?;
        }
        self.space.budget.uncommitted_idx = self.index.dirty_cnt * i64::from(self.lebs.geo.idx_bytes_max);
        Ok(())
    }

    /// Replays one LEB of the log. Returns `false` when the log ends before or with this LEB.
    fn replay_log_leb(&mut self, lnum: u32, replay: &mut Replay) -> Res<bool> {
        let leb = match self.lebs.scan(lnum, 0) {
            Err(Fail::Unclean) if self.mount.need_recovery => self.recover_log_leb(lnum, replay.cs_sqnum)?,
            result => result?,
        };
        let result = self.replay_log_nodes(&leb, replay);
        let end = leb.end;
        if matches!(result, Ok(true)) && (end > 0 || self.journal.log.head_offs >= self.lebs.geo.leb_bytes) {
            (self.journal.log.head_lnum, self.journal.log.head_offs) = (lnum, end);
        }
        self.lebs.recycle(leb);
        Ok(result? && end > 0)
    }

    fn replay_log_nodes(&mut self, leb: &crate::scan::ScannedLeb, replay: &mut Replay) -> Res<bool> {
        let bad = Err(Fail::corrupt("bad log"));
        let Some(first) = leb.nodes.first() else { return Ok(false) };
        if replay.cs_sqnum == 0 {
            if first.kind != CS_NODE || get_u64(leb.node(first), CMT_NO_AT) != self.commits.number || first.sqnum == 0 {
                return bad;
            }
            replay.cs_sqnum = first.sqnum;
        }
        if first.sqnum < replay.cs_sqnum {
            // This LEB belongs to the log of an earlier commit.
            return Ok(false);
        }
        if first.offs != 0 {
            return bad;
        }
        for node in &leb.nodes {
            if node.sqnum < replay.cs_sqnum {
                return bad;
            }
            self.lebs.max_sqnum = self.lebs.max_sqnum.max(node.sqnum);
            match node.kind {
                REF_NODE => self.replay_reference(leb.node(node), replay)?,
                CS_NODE if node.offs == 0 => {}
                _ => return bad,
            }
        }
        Ok(true)
    }

    fn replay_reference(&mut self, node: &[u8], replay: &mut Replay) -> Res<()> {
        let (lnum, start) = (get_u32(node, reference::LNUM), get_u32(node, reference::OFFS));
        let head = get_u32(node, reference::JHEAD) as usize;
        if head >= HEADS
            || !self.lebs.geo.is_main(lnum)
            || start > self.lebs.geo.leb_bytes
            || start % self.lebs.geo.min_io != 0
        {
            return Err(Fail::corrupt("bad reference node"));
        }
        if let Some(bud) = self.journal.log.buds.get(&lnum) {
            // An interrupted commit has written this reference node once more.
            if bud.head == head && bud.start <= start {
                return Ok(());
            }
            return Err(Fail::corrupt("LEB referred to twice in the log")).at(lnum, start);
        }
        let bud = Bud { start, head };
        self.journal.add_bud(&self.lebs, lnum, bud);
        replay.buds.push(BudEntry { lnum, bud, free: 0, dirty: 0 });
        Ok(())
    }

    /// Whether a power cut may have damaged the end of this bud: it is the last one of its head, or the one before the
    /// last while the last one is empty.
    fn is_last_bud(&self, lnum: u32, head: usize) -> bool {
        let buds = &self.journal.heads[head].buds;
        let Some(position) = buds.iter().position(|&other| other == lnum) else { return true };
        match buds[position + 1..] {
            [] => true,
            [next] => {
                let start = self.journal.log.buds.get(&next).map_or(0, |bud| bud.start);
                let mut word = [0; 4];
                if start + 4 > self.lebs.geo.leb_bytes {
                    return false;
                }
                self.lebs.read(next, start, &mut word).is_ok() && word == [0xFF; 4]
            }
            _ => false,
        }
    }

    fn replay_bud(&mut self, replay: &mut Replay, i: usize) -> Res<()> {
        let BudEntry { lnum, bud, .. } = replay.buds[i];
        let is_last = self.is_last_bud(lnum, bud.head);
        let leb = if self.mount.need_recovery && is_last {
            self.mount.deferred.recover_leb(&mut self.lebs, lnum, bud.start, Some(bud.head))?
        } else {
            self.lebs.scan(lnum, bud.start)?
        };
        let used = self.replay_nodes(&leb, replay);
        let end = leb.end;
        self.lebs.recycle(leb);
        replay.buds[i].dirty = (end - bud.start).saturating_sub(used?);
        replay.buds[i].free = self.lebs.geo.leb_bytes - end;
        Ok(())
    }

    /// Collects the nodes of a bud for the replay. Returns how many bytes of them are in use.
    fn replay_nodes(&mut self, leb: &crate::scan::ScannedLeb, replay: &mut Replay) -> Res<u32> {
        let mut used = 0;
        for node in &leb.nodes {
            let bytes = leb.node(node);
            self.lebs.max_sqnum = self.lebs.max_sqnum.max(node.sqnum);
            let at = NodeAt { lnum: leb.lnum, offs: node.offs, len: node.len };
            let mut entry = Entry {
                key: node.key,
                at,
                sqnum: node.sqnum,
                deletion: false,
                name: Vec::new(),
                old_size: 0,
                new_size: 0,
            };
            match node.kind {
                INO_NODE => {
                    entry.new_size = get_u64(bytes, ino::SIZE);
                    entry.deletion = get_u32(bytes, ino::NLINK) == 0;
                }
                DATA_NODE => {
                    let size = get_u32(bytes, data::SIZE);
                    entry.new_size = u64::from(size) + (u64::from(node.key.block()) << BLOCK_SHIFT);
                }
                DENT_NODE | XENT_NODE => {
                    validate_entry(bytes).at(leb.lnum, node.offs).of_inode(node.key.ino)?;
                    entry.name = entry_name(bytes).to_vec();
                    entry.deletion = get_u64(bytes, dent::INUM) == 0;
                }
                TRUN_NODE => {
                    entry.key = Key::truncation(get_u32(bytes, trun::INUM));
                    entry.old_size = get_u64(bytes, trun::OLD_SIZE);
                    entry.new_size = get_u64(bytes, trun::NEW_SIZE);
                    entry.deletion = true;
                    if entry.old_size <= entry.new_size || entry.old_size > FILE_BYTES_MAX {
                        let bad = Err(Fail::corrupt("bad truncation node"));
                        return bad.at(leb.lnum, node.offs).of_inode(entry.key.ino);
                    }
                }
                AUTH_NODE => continue,
                _ => return Err(Fail::corrupt("unexpected node in the journal")).at(leb.lnum, node.offs),
            }
            let expected = match node.kind {
                INO_NODE => INO_KEY,
                DATA_NODE => DATA_KEY,
                TRUN_NODE => TRUN_KEY,
                kind => u32::from(kind),
            };
            if entry.key.kind() != expected {
                let other = Err(Fail::corrupt("node of the journal with the key of another kind"));
                return other.at(leb.lnum, node.offs).of_inode(entry.key.ino);
            }
            if !entry.deletion {
                used += align8(node.len);
            }
            self.highest_ino = self.highest_ino.max(entry.key.ino);
            replay.entries.push(entry);
        }
        Ok(used)
    }

    fn apply(&mut self, entries: &[Entry], i: usize) -> Res<()> {
        let entry = &entries[i];
        let key = entry.key;
        if key.is_hashed() {
            return if entry.deletion {
                self.tnc_remove_name(key, &entry.name)
            } else {
                self.tnc_add_name(key, entry.at, &entry.name)
            };
        }
        match (entry.deletion, key.kind()) {
            (true, INO_KEY) => {
                // A file without a name may have got a name again later (`linkat`): it is deleted only if its last node
                // says so, too.
                let mut later = entries.iter().rev().filter(|other| other.key == key);
                if later.next().is_none_or(|last| last.deletion) {
                    self.tnc_remove_ino(key.ino)?;
                }
            }
            (true, TRUN_KEY) if !faults::TRUNCATION_NOT_REPLAYED.is_seeded() => {
                let first = entry.new_size.div_ceil(u64::from(BLOCK_BYTES)) as u32;
                let last = (entry.old_size.div_ceil(u64::from(BLOCK_BYTES))).saturating_sub(1) as u32;
                if last >= first {
                    self.tnc_remove_range(Key::data(key.ino, first), Key::data(key.ino, last))?;
                }
            }
            (true, TRUN_KEY) => {}
            (true, _) => self.index.remove(&self.lebs, &mut self.space, key)?,
            (false, _) => self.tnc_add(key, entry.at)?,
        }
        if self.mount.need_recovery {
            self.mount.sizes.note(key, entry.deletion, entry.new_size);
        }
        Ok(())
    }

    fn set_bud_lprops(&mut self, entry: &BudEntry) -> Res<()> {
        let i = self.space.lpt_lookup_dirty(&self.lebs, entry.lnum)?;
        let lp = self.space.lpt.props[i];
        let mut dirty = lp.dirty;
        if entry.bud.start == 0 && (lp.free != self.lebs.geo.leb_bytes || lp.dirty != 0) {
            // Garbage collection emptied this LEB after the last commit, so the dirt that the LPT on flash knows of is
            // gone.
            dirty = dirty.saturating_sub(self.lebs.geo.leb_bytes - lp.free);
        }
        let change =
            Change { free: Some(entry.free), dirty: Some(dirty + entry.dirty), taken: Some(true), ..Change::default() };
        self.space.change_lp(&self.lebs, entry.lnum, change)?;
        self.journal.heads[entry.bud.head].seek(&self.lebs.geo, entry.lnum, self.lebs.geo.leb_bytes - entry.free);
        Ok(())
    }
}
