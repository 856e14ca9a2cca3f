//! Orphans: inodes without a name that are still open. Their numbers are written by the commit, so that a mount after a
//! power cut deletes them.
//!
//! Follows `fs/ubifs/orphan.c`.

use crate::core::Core;
use crate::error::{AtPlace, Fail, Res, NOT_FOUND};
use crate::format::*;
use crate::key::Key;
use crate::scan::ScannedLeb;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
struct Orphan {
    /// Number that tells in which order the orphans were added.
    order: u64,
    /// No commit has written this orphan to the orphan area yet.
    new: bool,
    /// The inode is deleted already, but its number is still in the orphan area.
    deleted: bool,
    /// The inodes of its extended attributes, which are orphans as well and are deleted with it.
    attributes: Vec<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Orphans {
    known: BTreeMap<u32, Orphan>,
    next_order: u64,
    /// What the running commit writes.
    to_write: Vec<u32>,
    head_lnum: u32,
    head_offs: u32,
    none: bool,
}

/// How far the reading of the orphan area has come.
#[derive(Default)]
struct ReadState {
    last_cmt_no: u64,
    /// The orphan node that was read last was the last one of its commit.
    ended: bool,
}

impl Orphans {
    pub fn none_on_flash(&self) -> bool {
        self.none
    }

    pub fn set_none(&mut self, none: bool) {
        self.none = none;
    }

    fn in_order(&self, wanted: impl Fn(&Orphan) -> bool) -> Vec<u32> {
        let mut found: Vec<(u64, u32)> =
            self.known.iter().filter(|(_, orphan)| wanted(orphan)).map(|(&ino, orphan)| (orphan.order, ino)).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, ino)| ino).collect()
    }

    fn insert(&mut self, ino: u32, new: bool, deleted: bool) {
        self.next_order += 1;
        let order = self.next_order;
        self.known.entry(ino).or_insert(Orphan { order, new, deleted, attributes: Vec::new() });
    }
}

impl Core {
    fn orphans_max(&self) -> usize {
        let per_leb = ((self.lebs.geo.leb_bytes - ORPHAN_BYTES) / 8) as usize;
        self.lebs.geo.orph_lebs as usize * per_leb / 2
    }

    /// The inode has lost its last name: it and its extended attributes are orphans.
    pub fn add_orphans(&mut self, ino: u32) -> Res<()> {
        self.add_orphan(ino)?;
        let attributes = self.attributes_of(ino)?;
        attributes.iter().try_for_each(|&attribute| self.add_orphan(attribute))?;
        if let Some(orphan) = self.orphans.known.get_mut(&ino) {
            orphan.attributes = attributes;
        }
        Ok(())
    }

    fn add_orphan(&mut self, ino: u32) -> Res<()> {
        if self.orphans.known.len() >= self.orphans_max() {
            return Err(Fail::Errno(ffslab_fs::Errno::NoSpc));
        }
        self.orphans.insert(ino, true, false);
        Ok(())
    }

    /// Removes an orphan: its inode was deleted, or has a name again.
    pub fn delete_orphan(&mut self, ino: u32) {
        let attributes = self.orphans.known.get_mut(&ino).map(|orphan| std::mem::take(&mut orphan.attributes));
        attributes.into_iter().flatten().for_each(|attribute| self.drop_orphan(attribute));
        self.drop_orphan(ino);
    }

    fn drop_orphan(&mut self, ino: u32) {
        match self.orphans.known.get_mut(&ino) {
            Some(orphan) if self.orphans.to_write.contains(&ino) => orphan.deleted = true,
            Some(_) => {
                self.orphans.known.remove(&ino);
            }
            None => {}
        }
    }

    pub fn start_orphan_commit(&mut self) {
        self.orphans.to_write = self.orphans.in_order(|orphan| orphan.new);
        self.orphans.known.values_mut().for_each(|orphan| orphan.new = false);
        self.orphans.none = self.orphans.known.is_empty();
    }

    pub fn end_orphan_commit(&mut self) -> Res<()> {
        if !self.orphans.to_write.is_empty() {
            let atomic = self.orphan_room() < self.orphans.to_write.len();
            if atomic {
                self.orphans.to_write = self.orphans.in_order(|orphan| !orphan.new);
                if self.orphans.to_write.len() > self.orphans_max() {
                    return Err(Fail::corrupt("no space left in the orphan area"));
                }
                (self.orphans.head_lnum, self.orphans.head_offs) = (self.lebs.geo.orph_first, 0);
            }
            self.write_orphans(atomic)?;
        }
        self.orphans.known.retain(|_, orphan| !orphan.deleted);
        Ok(())
    }

    /// How many orphan numbers fit between the last orphan node and the end of the orphan area.
    fn orphan_room(&self) -> usize {
        let lebs = self.lebs.geo.orph_last - self.orphans.head_lnum;
        let mut room = (lebs * ((self.lebs.geo.leb_bytes - ORPHAN_BYTES) / 8)) as usize;
        let gap = self.lebs.geo.leb_bytes - self.orphans.head_offs;
        if gap >= ORPHAN_BYTES + 8 {
            room += ((gap - ORPHAN_BYTES) / 8) as usize;
        }
        room
    }

    fn write_orphans(&mut self, atomic: bool) -> Res<()> {
        let inos = std::mem::take(&mut self.orphans.to_write);
        let mut left = &inos[..];
        while !left.is_empty() {
            let mut gap = self.lebs.geo.leb_bytes - self.orphans.head_offs;
            if gap < ORPHAN_BYTES + 8 {
                self.orphans.head_lnum += 1;
                self.orphans.head_offs = 0;
                gap = self.lebs.geo.leb_bytes;
                if self.orphans.head_lnum > self.lebs.geo.orph_last {
                    return Err(Fail::corrupt("no space left in the orphan area"));
                }
            }
            let count = left.len().min(((gap - ORPHAN_BYTES) / 8) as usize);
            let len = ORPHAN_BYTES + 8 * count as u32;
            let mut node = vec![0; align(len, self.lebs.geo.min_io) as usize];
            for (i, &ino) in left[..count].iter().enumerate() {
                put_u64(&mut node, ORPHAN_INOS_AT + 8 * i, u64::from(ino));
            }
            left = &left[count..];
            put_u64(&mut node, CMT_NO_AT, self.cmt_no | if left.is_empty() { ORPHAN_LAST } else { 0 });
            let (lnum, offs) = (self.orphans.head_lnum, self.orphans.head_offs);
            if atomic {
                self.lebs.finish_node(&mut node, len, ORPHAN_NODE, NO_GROUP);
                crate::node::pad(&mut node[len as usize..]);
                self.lebs.change(lnum, &node)?;
            } else {
                if offs == 0 {
                    self.lebs.unmap(lnum)?;
                }
                self.lebs.write_node(&mut node, len, ORPHAN_NODE, lnum, offs)?;
            }
            self.orphans.head_offs += node.len() as u32;
        }
        if atomic {
            for lnum in self.orphans.head_lnum + 1..=self.lebs.geo.orph_last {
                self.lebs.unmap(lnum)?;
            }
        }
        Ok(())
    }

    // ---- mount -------------------------------------------------------------------------------------------------

    /// Deletes the orphans that the last unclean end left behind; after a clean unmount it only empties the orphan
    /// area.
    pub fn mount_orphans(&mut self, unclean: bool) -> Res<()> {
        (self.orphans.head_lnum, self.orphans.head_offs) = (self.lebs.geo.orph_first, 0);
        match unclean {
            true => {}
            false if self.lebs.ro_mount => return Ok(()),
            false => return self.clear_orphans(),
        }
        if self.orphans.none {
            return Ok(());
        }
        let mut state = ReadState::default();
        for lnum in self.lebs.geo.orph_first..=self.lebs.geo.orph_last {
            let leb = match self.lebs.scan(lnum, 0) {
                Err(Fail::Unclean) => self.recover_leb(lnum, 0, None)?,
                result => result?,
            };
            let go_on = self.kill_orphans(&leb, &mut state);
            let end = leb.end;
            self.lebs.recycle(leb);
            if !go_on.at(lnum, 0)? {
                break;
            }
            if end > 0 {
                (self.orphans.head_lnum, self.orphans.head_offs) = (lnum, end);
            }
        }
        Ok(())
    }

    /// Empties the area.
    pub fn clear_orphans(&mut self) -> Res<()> {
        (self.orphans.head_lnum, self.orphans.head_offs) = (self.lebs.geo.orph_first, 0);
        (self.lebs.geo.orph_first..=self.lebs.geo.orph_last).try_for_each(|lnum| self.lebs.unmap(lnum))
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
            self.cmt_no = self.cmt_no.max(number);
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
                self.orphans.insert(ino, false, true);
            }
            state.last_cmt_no = number;
            state.ended = cmt_no & ORPHAN_LAST != 0;
        }
        Ok(true)
    }
}
