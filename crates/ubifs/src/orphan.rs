//! Orphans: inodes without a name that are still open. Their numbers are written by the commit, so that a mount after a
//! power cut deletes them.
//!
//! Follows `fs/ubifs/orphan.c`.

use crate::error::{Fail, Res};
use crate::format::*;
use crate::geometry::Geometry;
use crate::leb::Lebs;
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

fn orphans_max(geo: &Geometry) -> usize {
    let per_leb = ((geo.leb_bytes - ORPHAN_BYTES) / 8) as usize;
    geo.orph_lebs as usize * per_leb / 2
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

    pub fn insert(&mut self, ino: u32, new: bool, deleted: bool) {
        self.next_order += 1;
        let order = self.next_order;
        self.known.entry(ino).or_insert(Orphan { order, new, deleted, attributes: Vec::new() });
    }

    pub fn add(&mut self, lebs: &Lebs, ino: u32) -> Res<()> {
        if self.known.len() >= orphans_max(&lebs.geo) {
            return Err(Fail::Errno(ffslab_fs::Errno::NoSpc));
        }
        self.insert(ino, true, false);
        Ok(())
    }

    /// These inodes of extended attributes, which are orphans as well, are deleted with the orphan.
    pub fn delete_with(&mut self, ino: u32, attributes: Vec<u32>) {
        if let Some(orphan) = self.known.get_mut(&ino) {
            orphan.attributes = attributes;
        }
    }

    /// Where the next orphan node of a commit goes.
    pub fn go_on_at(&mut self, lnum: u32, offs: u32) {
        (self.head_lnum, self.head_offs) = (lnum, offs);
    }

    /// Removes an orphan: its inode was deleted, or has a name again.
    pub fn delete(&mut self, ino: u32) {
        let attributes = self.known.get_mut(&ino).map(|orphan| std::mem::take(&mut orphan.attributes));
        attributes.into_iter().flatten().for_each(|attribute| self.drop_one(attribute));
        self.drop_one(ino);
    }

    fn drop_one(&mut self, ino: u32) {
        match self.known.get_mut(&ino) {
            Some(orphan) if self.to_write.contains(&ino) => orphan.deleted = true,
            Some(_) => {
                self.known.remove(&ino);
            }
            None => {}
        }
    }

    pub fn start_commit(&mut self) {
        self.to_write = self.in_order(|orphan| orphan.new);
        self.known.values_mut().for_each(|orphan| orphan.new = false);
        self.none = self.known.is_empty();
    }

    pub fn end_commit(&mut self, lebs: &mut Lebs, cmt_no: u64) -> Res<()> {
        if !self.to_write.is_empty() {
            let atomic = self.room(lebs) < self.to_write.len();
            if atomic {
                self.to_write = self.in_order(|orphan| !orphan.new);
                if self.to_write.len() > orphans_max(&lebs.geo) {
                    return Err(Fail::corrupt("no space left in the orphan area"));
                }
                (self.head_lnum, self.head_offs) = (lebs.geo.orph_first, 0);
            }
            self.write(lebs, cmt_no, atomic)?;
        }
        self.known.retain(|_, orphan| !orphan.deleted);
        Ok(())
    }

    /// How many orphan numbers fit between the last orphan node and the end of the orphan area.
    fn room(&self, lebs: &Lebs) -> usize {
        let whole_lebs = lebs.geo.orph_last - self.head_lnum;
        let mut room = (whole_lebs * ((lebs.geo.leb_bytes - ORPHAN_BYTES) / 8)) as usize;
        let gap = lebs.geo.leb_bytes - self.head_offs;
        if gap >= ORPHAN_BYTES + 8 {
            room += ((gap - ORPHAN_BYTES) / 8) as usize;
        }
        room
    }

    fn write(&mut self, lebs: &mut Lebs, cmt_no: u64, atomic: bool) -> Res<()> {
        let inos = std::mem::take(&mut self.to_write);
        let mut left = &inos[..];
        while !left.is_empty() {
            let mut gap = lebs.geo.leb_bytes - self.head_offs;
            if gap < ORPHAN_BYTES + 8 {
                self.head_lnum += 1;
                self.head_offs = 0;
                gap = lebs.geo.leb_bytes;
                if self.head_lnum > lebs.geo.orph_last {
                    return Err(Fail::corrupt("no space left in the orphan area"));
                }
            }
            let count = left.len().min(((gap - ORPHAN_BYTES) / 8) as usize);
            let len = ORPHAN_BYTES + 8 * count as u32;
            let mut node = vec![0; align(len, lebs.geo.min_io) as usize];
            for (i, &ino) in left[..count].iter().enumerate() {
                put_u64(&mut node, ORPHAN_INOS_AT + 8 * i, u64::from(ino));
            }
            left = &left[count..];
            put_u64(&mut node, CMT_NO_AT, cmt_no | if left.is_empty() { ORPHAN_LAST } else { 0 });
            let (lnum, offs) = (self.head_lnum, self.head_offs);
            if atomic {
                lebs.finish_node(&mut node, len, ORPHAN_NODE, NO_GROUP);
                crate::node::pad(&mut node[len as usize..]);
                lebs.change(lnum, &node)?;
            } else {
                if offs == 0 {
                    lebs.unmap(lnum)?;
                }
                lebs.write_node(&mut node, len, ORPHAN_NODE, lnum, offs)?;
            }
            self.head_offs += node.len() as u32;
        }
        if atomic {
            for lnum in self.head_lnum + 1..=lebs.geo.orph_last {
                lebs.unmap(lnum)?;
            }
        }
        Ok(())
    }

    /// Empties the area.
    pub fn clear(&mut self, lebs: &mut Lebs) -> Res<()> {
        (self.head_lnum, self.head_offs) = (lebs.geo.orph_first, 0);
        (lebs.geo.orph_first..=lebs.geo.orph_last).try_for_each(|lnum| lebs.unmap(lnum))
    }
}
