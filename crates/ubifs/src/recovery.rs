//! Recovery: what a mount mends after a power cut.
//!
//! Follows `fs/ubifs/recovery.c`, and `orphan.c` (`ubifs_mount_orphans`). Only what was being written when the power went may be damaged: the end of a journal
//! head, the end of the log, a master node, the page behind the index head or the LPT head. Anything else is an error.

use crate::core::Core;
use crate::error::{AtPlace, Fail, Res, NOT_FOUND, NO_SPACE};
use crate::faults;
use crate::find::PickFree;
use crate::format::*;
use crate::gc::Collected;
use crate::geometry::Geometry;
use crate::key::Key;
use crate::leb::Lebs;
use crate::lprops::Change;
use crate::master::{same_master, Master};
use crate::mount_state::Deferred;
use crate::node::{check_node, pad};
use crate::scan::{is_empty, scan_a_node, Found, ScannedLeb};
use ffslab_ubi::DataLife;

/// A copy of the master node and what follows it in its LEB.
struct MasterCopy {
    node: Option<(Vec<u8>, u32)>,
    /// The I/O unit behind the last good node was being written when the power went.
    damaged: bool,
}

/// How far the reading of the orphan area has come.
#[derive(Default)]
struct ReadState {
    last_cmt_no: u64,
    /// The orphan node that was read last was the last one of its commit.
    ended: bool,
}

impl Deferred {
    /// Scans a LEB whose end may be damaged, and mends it. `head`: whose bud it is (`ubifs_recover_leb`).
    pub fn recover_leb(&mut self, lebs: &mut Lebs, lnum: u32, start: u32, head: Option<usize>) -> Res<ScannedLeb> {
        let mut leb = lebs.start_scan(lnum, start)?;
        lebs.cond_resched();
        let result =
            recover_nodes(&lebs.geo, &mut leb, start, head).and_then(|()| self.mend_leb(lebs, &mut leb, start));
        match result {
            Ok(()) => Ok(leb),
            Err(fail) => {
                lebs.recycle(leb);
                Err(fail)
            }
        }
    }

    /// Writes a LEB anew without its damaged end (`fix_unclean_leb`). A LEB of which nothing is left is unmapped, and may go on
    /// as the end of a journal head without being mapped again: when it is unmounted and detached before UBI has erased the
    /// block, the damage is back in a file system that is clean. Linux refuses that one, too (`tests/referee/test_ubifs.py`).
    fn mend_leb(&mut self, lebs: &mut Lebs, leb: &mut ScannedLeb, start: u32) -> Res<()> {
        let end = leb.nodes.last().map_or(start, |node| node.offs + node.len);
        if lebs.ro_mount {
            self.unclean_lebs.push((leb.lnum, end));
            return Ok(());
        }
        if end == 0 {
            return lebs.unmap(leb.lnum);
        }
        let len = align(end, lebs.geo.min_io);
        if start > 0 {
            lebs.read_checked(leb.lnum, 0, &mut leb.bytes[..start as usize])?;
        }
        let padded = align8(end);
        if len > padded {
            pad(&mut leb.bytes[padded as usize..len as usize]);
        }
        lebs.expecting(DataLife::Unknown, |lebs| lebs.change(leb.lnum, &leb.bytes[..len as usize]))
    }

    /// Chooses the valid master node when the copies differ, and writes both copies anew. Returns the node and its
    /// offset.
    pub fn recover_master(&mut self, lebs: &mut Lebs) -> Res<(Vec<u8>, u32)> {
        let one = lebs.read_master_copy(MASTER_LNUM)?;
        let two = lebs.read_master_copy(MASTER_LNUM + 1)?;
        let mut node =
            choose_master(&lebs.geo, one, two).ok_or(Fail::corrupt("the master nodes contradict each other"))?;
        if lebs.ro_mount {
            self.master = Some(node.clone());
            // The chosen node may be that of a clean file system, but the copies would not differ if there had been no
            // power cut, so the mount must recover.
            let flags = get_u32(&node, 40);
            put_u32(&mut node, 40, flags | MASTER_DIRTY);
            return Ok((node, 0));
        }
        lebs.max_sqnum = get_u64(&node, header::SQNUM).saturating_sub(1);
        lebs.write_recovered_master(&mut node)?;
        Ok((node, 0))
    }
}

impl Core {
    // ---- journal and log ---------------------------------------------------------------------------------------

    /// Scans a LEB of the log whose end may be damaged: it must be the last one.
    pub fn recover_log_leb(&mut self, lnum: u32, mut cs_sqnum: u64) -> Res<ScannedLeb> {
        let next = self.lebs.geo.next_log_lnum(lnum);
        if next != self.journal.log.tail_lnum {
            let leb = self.lebs.scan(next, 0)?;
            let first = leb.nodes.first().map(|node| node.sqnum);
            self.lebs.recycle(leb);
            if let Some(sqnum) = first {
                if cs_sqnum == 0 {
                    let mut node = Vec::new();
                    self.lebs.read_node(&mut node, CS_NODE, lnum, 0, CS_BYTES)?;
                    if get_u64(&node, CMT_NO_AT) != self.commits.number {
                        return Err(Fail::corrupt("commit start node of another commit"));
                    }
                    cs_sqnum = get_u64(&node, header::SQNUM);
                }
                if sqnum > cs_sqnum {
                    return Err(Fail::corrupt("damage in the middle of the log"));
                }
            }
        }
        self.mount.deferred.recover_leb(&mut self.lebs, lnum, 0, None)
    }

    /// The unit behind a head of index or LPT may be half written (`ubifs_recover_inl_heads`).
    pub fn recover_heads(&mut self) -> Res<()> {
        self.lebs.recover_head(self.index.ihead_lnum, self.index.ihead_offs)?;
        self.lebs.recover_head(self.space.lpt.nhead.lnum, self.space.lpt.nhead.offs)
    }

    // ---- orphans -----------------------------------------------------------------------------------------------

    /// Deletes the orphans that the last unclean end left behind; after a clean unmount it only empties the orphan
    /// area.
    pub fn mount_orphans(&mut self, unclean: bool) -> Res<()> {
        self.journal.orphans.go_on_at(self.lebs.geo.orph_first, 0);
        if !unclean && self.lebs.ro_mount {
            return Ok(());
        }
        if !unclean {
            return self.journal.orphans.clear(&mut self.lebs);
        }
        if self.journal.orphans.none_on_flash() {
            return Ok(());
        }
        let mut state = ReadState::default();
        for lnum in self.lebs.geo.orph_first..=self.lebs.geo.orph_last {
            let leb = match self.lebs.scan(lnum, 0) {
                Err(Fail::Unclean) => self.mount.deferred.recover_leb(&mut self.lebs, lnum, 0, None)?,
                result => result?,
            };
            let go_on = self.kill_orphans(&leb, &mut state);
            let end = leb.end;
            self.lebs.recycle(leb);
            if !go_on.at(lnum, 0)? {
                break;
            }
            if end > 0 {
                self.journal.orphans.go_on_at(lnum, end);
            }
        }
        Ok(())
    }

    /// Deletes the inodes that the orphan nodes of one LEB name. Returns `false` when this LEB and all that follow are
    /// older than the last complete commit of orphans.
    fn kill_orphans(&mut self, leb: &ScannedLeb, state: &mut ReadState) -> Res<bool> {
        let mut node = Vec::new();
        for (i, found) in leb.nodes.iter().enumerate() {
            if found.kind != ORPHAN_NODE {
                return Err(Fail::corrupt("other nodes in the orphan area"));
            }
            let bytes = leb.node(found);
            let cmt_no = get_u64(bytes, CMT_NO_AT);
            let number = cmt_no & !ORPHAN_LAST;
            // The commit that wrote this node may have been interrupted, so its number may be above the master node's.
            self.commits.number = self.commits.number.max(number);
            if number < state.last_cmt_no && state.ended {
                return match i {
                    0 => Ok(false),
                    _ => Err(Fail::corrupt("orphan nodes out of order")),
                };
            }
            for at in (ORPHAN_INOS_AT..bytes.len() / 8 * 8).step_by(8) {
                let ino = get_u64(bytes, at) as u32;
                match self.locate(Key::inode(ino), &mut node) {
                    Ok(_) if get_u32(&node, ino::NLINK) == 0 => {
                        self.tnc_remove_range(Key::lowest(ino), Key::highest(ino))?;
                    }
                    Ok(_) | Err(NOT_FOUND) => {}
                    Err(fail) => return Err(fail),
                }
                self.journal.orphans.insert(ino, false, true);
            }
            state.last_cmt_no = number;
            state.ended = cmt_no & ORPHAN_LAST != 0;
        }
        Ok(true)
    }

    // ---- garbage collection and sizes --------------------------------------------------------------------------

    /// Garbage collection needs an empty LEB, and a commit, before anything else can be written
    /// (`ubifs_rcvry_gc_commit`).
    pub fn recover_gc(&mut self) -> Res<()> {
        self.space.gc_lnum = None;
        let head = &self.journal.heads[GC_HEAD];
        if head.lnum.is_none() || head.offs == self.lebs.geo.leb_bytes {
            return self.grab_empty_leb();
        }
        let (lnum, lp) = match self.space.find_dirty_leb(&self.lebs, head.offs, PickFree::YesNoIndex, false) {
            Err(NO_SPACE) => return self.grab_empty_leb(),
            result => result?,
        };
        self.run_commit()?;
        let collected = self.collect_leb(lnum, &lp)?;
        self.journal.sync_head(&mut self.lebs, &mut self.space, GC_HEAD)?;
        match (collected, self.space.gc_lnum) {
            (Collected::Retained, Some(lnum)) => self.lebs.unmap(lnum),
            _ => Err(Fail::corrupt("no LEB for garbage collection")),
        }
    }

    fn grab_empty_leb(&mut self) -> Res<()> {
        let lnum = self.space.find_free_leb_for_index(&mut self.lebs)?;
        self.space.change_lp(&self.lebs, lnum, Change { index: Some(false), ..Change::default() })?;
        self.space.gc_lnum = Some(lnum);
        self.run_commit()
    }

    /// Gives an inode whose data nodes reach beyond its size the size of the data, and removes data nodes without an
    /// inode (`ubifs_recover_size`).
    pub fn recover_sizes(&mut self) -> Res<()> {
        let mut node = Vec::new();
        for (ino, mut size) in std::mem::take(&mut self.mount.sizes.0) {
            if !size.exists {
                match self.locate(Key::inode(ino), &mut node) {
                    Ok(_) => {
                        size.exists = true;
                        size.inode_bytes = get_u64(&node, ino::SIZE);
                    }
                    Err(NOT_FOUND) => self.tnc_remove_ino(ino)?,
                    Err(fail) => return Err(fail),
                }
            }
            if size.exists && size.inode_bytes < size.data_bytes {
                if self.lebs.ro_mount || faults::SIZE_RECOVERED_IN_MEMORY.is_seeded() {
                    self.mount.deferred.sizes.insert(ino, size.data_bytes);
                } else {
                    self.fix_size_in_place(ino, size.data_bytes)?;
                }
            }
        }
        Ok(())
    }

    pub fn fix_size_in_place(&mut self, ino: u32, bytes: u64) -> Res<()> {
        let mut node = Vec::new();
        let at = self.locate(Key::inode(ino), &mut node)?;
        if get_u64(&node, ino::SIZE) >= bytes {
            return Ok(());
        }
        let mut leb = self.lebs.buffer();
        let result = self.lebs.read_checked(at.lnum, 0, &mut leb).and_then(|()| {
            let node = &mut leb[at.offs as usize..(at.offs + at.len) as usize];
            put_u64(node, ino::SIZE, bytes);
            let crc = crc32(&node[8..]);
            put_u32(node, header::CRC, crc);
            let used = leb.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last as u32 + 1);
            let end = align(used, self.lebs.geo.min_io) as usize;
            self.lebs.expecting(DataLife::Unknown, |lebs| lebs.change(at.lnum, &leb[..end]))
        });
        self.lebs.buffers.push(leb);
        result
    }
}

impl Lebs {
    fn recover_head(&mut self, lnum: u32, offs: u32) -> Res<()> {
        let len = self.geo.max_write.min(self.geo.leb_bytes - offs);
        if len == 0 {
            return Ok(());
        }
        let mut unit = vec![0; len as usize];
        let is_clean = match self.read(lnum, offs, &mut unit) {
            Ok(()) => is_empty(&unit),
            Err(Fail::BadMessage) => false,
            Err(fail) => return Err(fail),
        };
        if is_clean {
            return Ok(());
        }
        if offs == 0 {
            return self.unmap(lnum);
        }
        let mut bytes = vec![0; offs as usize];
        self.read_checked(lnum, 0, &mut bytes)?;
        self.expecting(DataLife::Unknown, |lebs| lebs.change(lnum, &bytes))
    }

    /// Writes both copies of the master node anew (`write_rcvrd_mst_node`).
    pub fn write_recovered_master(&mut self, node: &mut Vec<u8>) -> Res<()> {
        let flags = get_u32(node, 40);
        put_u32(node, 40, flags | MASTER_RECOVERY);
        node.resize(self.geo.master_bytes as usize, 0);
        self.finish_node(node, MASTER_BYTES, MASTER_NODE, NO_GROUP);
        pad(&mut node[MASTER_BYTES as usize..]);
        self.change(MASTER_LNUM, node)?;
        self.change(MASTER_LNUM + 1, node)?;
        put_u32(node, 40, flags);
        node.truncate(MASTER_BYTES as usize);
        Ok(())
    }

    fn read_master_copy(&mut self, lnum: u32) -> Res<MasterCopy> {
        let mut bytes = self.buffer();
        let read = self.read(lnum, 0, &mut bytes);
        let result = match read {
            Ok(()) | Err(Fail::BadMessage) => find_master(&self.geo, &bytes),
            Err(fail) => Err(fail),
        };
        self.buffers.push(bytes);
        result
    }
}

/// Scans up to the damage; what is damaged must be the last thing that was written.
fn recover_nodes(geo: &Geometry, leb: &mut ScannedLeb, start: u32, head: Option<usize>) -> Res<()> {
    let mut offs = start;
    let mut found = Found::EmptySpace;
    while geo.leb_bytes - offs >= 8 {
        found = scan_a_node(geo, &leb.bytes[offs as usize..], offs);
        match found {
            Found::Node => offs = (offs + leb.add(offs)).min(geo.leb_bytes),
            Found::Padding(bytes) => offs += bytes,
            _ => break,
        }
    }
    let rest = &leb.bytes[offs as usize..];
    let is_last = match found {
        Found::Garbage | Found::BadPadding => is_last_write(geo, rest, offs),
        Found::CorruptNode => no_more_nodes(geo, rest, offs),
        _ => is_empty(rest) || is_last_write(geo, rest, offs),
    };
    if !is_last {
        return Err(Fail::corrupt("damage that no interrupted write explains"));
    }
    let unit = offs / geo.min_io * geo.min_io;
    let is_grouped = head.is_some_and(|head| head != GC_HEAD);
    if is_grouped {
        // A group of nodes is valid only as a whole, so the nodes of an unfinished group are dropped.
        while let Some(node) = leb.nodes.pop_if(|node| node.group == IN_GROUP) {
            offs = node.offs;
        }
    }
    if head == Some(GC_HEAD) {
        // Nodes in the I/O unit that was being written may be unreliable. The GC head only copies: the original of a
        // dropped node still exists.
        while offs > unit {
            let Some(node) = leb.nodes.pop() else { break };
            offs = node.offs;
        }
    }
    let end = align(offs, geo.min_io);
    pad(&mut leb.bytes[offs as usize..end as usize]);
    leb.bytes[end as usize..].fill(0xFF);
    leb.end = end;
    Ok(())
}

/// Whether nothing stands behind the unit in which `offs` is.
fn is_last_write(geo: &Geometry, rest: &[u8], offs: u32) -> bool {
    let empty_from = align(offs + 1, geo.max_write) - offs;
    rest.get(empty_from as usize..).is_none_or(is_empty)
}

/// Whether nothing stands behind a damaged node.
fn no_more_nodes(geo: &Geometry, rest: &[u8], offs: u32) -> bool {
    let behind = |end: u32| rest.get((align(end, geo.max_write) - offs) as usize..).is_none_or(is_empty);
    if behind(offs + HEADER_BYTES) {
        return true;
    }
    let len = get_u32(rest, header::LEN);
    check_node(geo, rest, offs, true) == Err(Fail::Unclean) && behind(offs.saturating_add(len).min(geo.leb_bytes))
}

/// The last good master node of a LEB.
fn find_master(geo: &Geometry, bytes: &[u8]) -> Res<MasterCopy> {
    let bad = Err(Fail::corrupt("damaged master nodes"));
    let unit = geo.master_bytes;
    let mut offs = 0;
    while offs + MASTER_BYTES <= geo.leb_bytes && get_u32(bytes, offs as usize) == NODE_MAGIC {
        offs += unit;
    }
    let mut node = None;
    if offs > 0 {
        offs -= unit;
        let mut found = scan_a_node(geo, &bytes[offs as usize..], offs);
        if found != Found::Node && offs > 0 {
            offs -= unit;
            found = scan_a_node(geo, &bytes[offs as usize..], offs);
            if found != Found::Node {
                return bad;
            }
        }
        if found == Found::Node {
            if bytes[offs as usize + header::TYPE] != MASTER_NODE {
                return bad;
            }
            node = Some((bytes[offs as usize..(offs + MASTER_BYTES) as usize].to_vec(), offs));
            offs += unit;
        }
    }
    let mut damaged = false;
    if offs < geo.leb_bytes {
        let end = (offs + unit).min(geo.leb_bytes);
        damaged = !is_empty(&bytes[offs as usize..end as usize]);
        offs = end;
    }
    if !is_empty(&bytes[offs as usize..]) {
        return bad;
    }
    Ok(MasterCopy { node, damaged })
}

/// The first copy is written before the second (`ubifs_recover_master_node`).
fn choose_master(geo: &Geometry, one: MasterCopy, two: MasterCopy) -> Option<Vec<u8>> {
    let unit = geo.master_bytes;
    match (one.node, two.node) {
        (Some((node, offs)), second) => {
            let flags = Master::unpack(&node, offs).flags;
            if flags & MASTER_RECOVERY != 0 && offs == 0 && !one.damaged {
                return Some(node);
            }
            match second {
                Some((other, other_offs)) if offs == other_offs => same_master(&node, &other).then_some(node),
                Some((_, other_offs)) => {
                    let follows = other_offs + unit == offs;
                    let wraps = offs == 0 && geo.leb_bytes - other_offs - unit < unit;
                    ((follows || wraps) && !one.damaged).then_some(node)
                }
                None => (offs == 0 && !one.damaged).then_some(node),
            }
        }
        // Only the second LEB has a good node: the first one had been full, and was erased to begin anew.
        (None, Some((node, offs))) => (offs + 2 * unit > geo.leb_bytes).then_some(node),
        (None, None) => None,
    }
}
