//! Writing the changed part of the tree.
//!
//! Follows `fs/ubifs/lpt_commit.c`. The changed nodes are laid out and packed when the commit starts, and written when it
//! ends: changes in between belong to the next commit.

use super::nodes::{nnode_number, pack_lsave, pack_ltab, pack_nnode, pack_pnode};
use super::{Lpt, PendingWrite, Place, FANOUT, FANOUT_SHIFT};
use crate::error::{Res, NO_SPACE};
use crate::format::align;
use crate::geometry::Geometry;
use crate::leb::Lebs;
use crate::lprops::Category;
use crate::space::Space;

/// Something that a commit writes.
#[derive(Clone, Copy)]
enum Part {
    Lsave,
    Ltab,
    Node { level: u32, index: u32 },
}

/// Where the next part goes.
struct Layout {
    at: Place,
    parts: Vec<(Part, Place)>,
}

impl Space {
    /// Lays out and packs what changed (`ubifs_lpt_start_commit`).
    pub fn start_lpt_commit(&mut self, lebs: &mut Lebs) -> Res<()> {
        if self.lpt.check_free {
            self.lpt.check_free = false;
            while self.must_write_whole_lpt(lebs) {
                self.collect_lpt_garbage(lebs)?;
            }
        }
        self.start_trivial_lpt_gc(lebs);
        self.lpt.pending.clear();
        if self.lpt.dirty_pnodes == 0 {
            return Ok(());
        }
        if !self.lpt.geo.big && self.must_write_whole_lpt(lebs) {
            self.make_lpt_dirty(lebs)?;
            self.start_trivial_lpt_gc(lebs);
        }
        if self.lpt.geo.big {
            self.populate_lsave(lebs);
        }
        let layout = self.lay_out_lpt(lebs)?;
        self.pack_lpt(lebs, layout);
        self.lpt.ltab_dirty = false;
        self.lpt.lsave_dirty = false;
        Ok(())
    }

    /// Writes what [`Space::start_lpt_commit`] packed (`write_cnodes`).
    pub fn end_lpt_commit(&mut self, lebs: &mut Lebs) -> Res<()> {
        let writes = std::mem::take(&mut self.lpt.pending);
        for write in &writes {
            if write.unmap {
                lebs.unmap(write.lnum)?;
            }
            if !write.bytes.is_empty() {
                lebs.write(write.lnum, write.offs, &write.bytes)?;
            }
        }
        if let Some(last) = writes.last() {
            self.lpt.nhead = Place { lnum: last.lnum, offs: last.offs + last.bytes.len() as u32 };
        }
        self.lpt.ltab.iter_mut().for_each(|entry| entry.allocated = false);
        Ok(())
    }

    /// Unmaps what is not needed any more (`ubifs_lpt_post_commit`).
    pub fn finish_lpt_commit(&mut self, lebs: &mut Lebs) -> Res<()> {
        for i in 0..self.lpt.ltab.len() {
            if self.lpt.ltab[i].trivial_gc {
                lebs.unmap(lebs.geo.lpt_first + i as u32)?;
                self.lpt.ltab[i].trivial_gc = false;
            }
        }
        if self.lpt.geo.big {
            while self.must_write_whole_lpt(lebs) {
                self.collect_lpt_garbage(lebs)?;
            }
        }
        Ok(())
    }

    fn lay_out_lpt(&mut self, lebs: &Lebs) -> Res<Layout> {
        let geo = lebs.geo;
        let lpt = &mut self.lpt;
        let mut left: Vec<Part> = if lpt.geo.big { vec![Part::Lsave, Part::Ltab] } else { vec![Part::Ltab] };
        let mut layout = Layout { at: lpt.nhead, parts: Vec::new() };
        // The tables come first if they fit.
        left.retain(|&part| {
            let fits = layout.at.offs + lpt.part_bytes(part) <= geo.leb_bytes;
            if fits {
                lpt.place(&mut layout, part);
            }
            !fits
        });
        for (level, index) in lpt.dirty_nodes() {
            let part = Part::Node { level, index };
            while layout.at.offs + lpt.part_bytes(part) > geo.leb_bytes {
                lpt.next_leb(&geo, &mut layout)?;
                while !left.is_empty() && layout.at.offs + lpt.part_bytes(left[0]) <= geo.leb_bytes {
                    let table = left.remove(0);
                    lpt.place(&mut layout, table);
                    if layout.at.offs + lpt.part_bytes(part) <= geo.leb_bytes {
                        break;
                    }
                }
            }
            lpt.place(&mut layout, part);
        }
        for part in left {
            if layout.at.offs + lpt.part_bytes(part) > geo.leb_bytes {
                lpt.next_leb(&geo, &mut layout)?;
            }
            lpt.place(&mut layout, part);
        }
        lpt.close_leb(&geo, layout.at);
        Ok(layout)
    }

    /// Packs the parts, LEB by LEB. Afterwards they count as clean.
    fn pack_lpt(&mut self, lebs: &Lebs, layout: Layout) {
        let geo = lebs.geo;
        let lpt = &mut self.lpt;
        let mut writes: Vec<PendingWrite> = Vec::new();
        let head = lpt.nhead;
        writes.push(PendingWrite { lnum: head.lnum, offs: head.offs, unmap: head.offs == 0, bytes: Vec::new() });
        for (part, place) in layout.parts {
            if writes.last().is_some_and(|write| write.lnum != place.lnum) {
                writes.push(PendingWrite { lnum: place.lnum, offs: 0, unmap: true, bytes: Vec::new() });
            }
            let Some(write) = writes.last_mut() else { return };
            let from = write.bytes.len();
            write.bytes.resize(from + lpt.part_bytes(part) as usize, 0);
            lpt.pack_part(&geo, part, &mut write.bytes[from..]);
        }
        for write in &mut writes {
            let padded = align(write.bytes.len() as u32, geo.min_io);
            write.bytes.resize(padded as usize, 0xFF);
        }
        lpt.pending = writes;
    }

    fn must_write_whole_lpt(&self, lebs: &Lebs) -> bool {
        let mut free = 0i64;
        for (i, entry) in self.lpt.ltab.iter().enumerate() {
            if lebs.geo.lpt_first + i as u32 == self.lpt.nhead.lnum {
                free += i64::from(lebs.geo.leb_bytes - self.lpt.nhead.offs);
            } else if entry.free + entry.dirty == lebs.geo.leb_bytes {
                free += i64::from(lebs.geo.leb_bytes);
            }
        }
        free <= self.lpt.geo.lpt_bytes * 2
    }

    /// LEBs with nothing but dirt are free after this commit.
    fn start_trivial_lpt_gc(&mut self, lebs: &Lebs) {
        let (first, leb_bytes, head) = (lebs.geo.lpt_first, lebs.geo.leb_bytes, self.lpt.nhead.lnum);
        for (i, entry) in self.lpt.ltab.iter_mut().enumerate() {
            if first + i as u32 != head && entry.dirty > 0 && entry.free + entry.dirty == leb_bytes {
                entry.trivial_gc = true;
                entry.free = leb_bytes;
                entry.dirty = 0;
            }
        }
    }

    /// Marks every leaf that was ever written (`make_tree_dirty`).
    fn make_lpt_dirty(&mut self, lebs: &Lebs) -> Res<()> {
        for index in 0..self.lpt.geo.pnode_cnt {
            if index == 0 || self.was_written(lebs, index)? {
                self.load_pnode(lebs, index)?;
                self.make_pnode_dirty(lebs, index);
            }
        }
        Ok(())
    }

    fn was_written(&mut self, lebs: &Lebs, index: u32) -> Res<bool> {
        for level in (1..=self.lpt.geo.height).rev() {
            let at = index >> (FANOUT_SHIFT * level);
            if level < self.lpt.geo.height && self.lpt.node(level, at).lnum == 0 {
                return Ok(false);
            }
            self.load_nnode(lebs, level, at)?;
        }
        Ok(self.lpt.pnodes[index as usize].lnum != 0)
    }

    /// Chooses the LEBs for the table of saved LEB numbers, whose properties the next mount reads at once.
    fn populate_lsave(&mut self, lebs: &Lebs) {
        self.lpt.make_lsave_dirty(lebs.geo.lpt_first);
        let count = self.lpt.geo.lsave_cnt as usize;
        let first = lebs.geo.main_first;
        let lists = [Category::Empty, Category::Freeable, Category::FreeableIndex];
        let heaps = [Category::DirtyIndex, Category::Dirty, Category::Free];
        let categories = &self.lpt.categories;
        let listed = lists.into_iter().flat_map(|category| categories.list(category));
        let heaped = heaps.into_iter().flat_map(|category| categories.heap(category).iter().map(|&i| i as usize));
        let mut lsave: Vec<u32> = listed.chain(heaped).take(count).map(|i| first + i as u32).collect();
        lsave.resize(count, first);
        self.lpt.lsave = lsave;
    }
}

impl Lpt {
    fn part_bytes(&self, part: Part) -> u32 {
        match part {
            Part::Lsave => self.geo.lsave_bytes,
            Part::Ltab => self.geo.ltab_bytes,
            Part::Node { level: 0, .. } => self.geo.pnode_bytes,
            Part::Node { .. } => self.geo.nnode_bytes,
        }
    }

    fn place(&mut self, layout: &mut Layout, part: Part) {
        let at = layout.at;
        match part {
            Part::Lsave => self.lsave_at = at,
            Part::Ltab => self.ltab_at = at,
            Part::Node { level, index } => {
                let node = self.node(level, index);
                (node.lnum, node.offs) = (at.lnum, at.offs);
            }
        }
        layout.parts.push((part, at));
        layout.at.offs += self.part_bytes(part);
    }

    fn close_leb(&mut self, geo: &Geometry, at: Place) {
        let end = align(at.offs, geo.min_io);
        if let Some(entry) = self.ltab.get_mut((at.lnum - geo.lpt_first) as usize) {
            entry.free = geo.leb_bytes - end;
            entry.dirty += end - at.offs;
        }
    }

    /// Goes on in the next free LEB of the LPT area (`alloc_lpt_leb`).
    fn next_leb(&mut self, geo: &Geometry, layout: &mut Layout) -> Res<()> {
        self.close_leb(geo, layout.at);
        let lebs = self.ltab.len();
        let after = (layout.at.lnum - geo.lpt_first) as usize + 1;
        let free = (after..lebs).chain(0..after.min(lebs)).find(|&i| {
            let entry = &self.ltab[i];
            !entry.trivial_gc && !entry.allocated && entry.free == geo.leb_bytes
        });
        let i = free.ok_or(NO_SPACE)?;
        self.ltab[i].allocated = true;
        layout.at = Place { lnum: geo.lpt_first + i as u32, offs: 0 };
        Ok(())
    }

    /// The changed nodes, children before parents.
    fn dirty_nodes(&self) -> Vec<(u32, u32)> {
        let mut nodes = Vec::new();
        self.add_dirty_below(self.geo.height, 0, &mut nodes);
        nodes
    }

    fn add_dirty_below(&self, level: u32, index: u32, nodes: &mut Vec<(u32, u32)>) {
        if !self.has_node(level, index) {
            return;
        }
        let node =
            if level == 0 { &self.pnodes[index as usize] } else { &self.nnodes[level as usize - 1][index as usize] };
        if !node.dirty {
            return;
        }
        if level > 0 {
            for i in 0..FANOUT {
                self.add_dirty_below(level - 1, index * FANOUT + i, nodes);
            }
        }
        nodes.push((level, index));
    }

    fn pack_part(&mut self, geo: &Geometry, part: Part, bytes: &mut [u8]) {
        match part {
            Part::Lsave => pack_lsave(&self.geo, &self.lsave, bytes),
            Part::Ltab => pack_ltab(&self.geo, &self.ltab, bytes),
            Part::Node { level: 0, index } => {
                let from = (index * FANOUT) as usize;
                pack_pnode(&self.geo, index, &self.props[from..from + 4], bytes);
                self.pnodes[index as usize].dirty = false;
                self.dirty_pnodes -= 1;
            }
            Part::Node { level, index } => {
                let children: Vec<Place> = (0..FANOUT)
                    .map(|i| index * FANOUT + i)
                    .map(|child| {
                        if self.has_node(level - 1, child) {
                            let child = self.node(level - 1, child);
                            Place { lnum: child.lnum, offs: child.offs }
                        } else {
                            Place::default()
                        }
                    })
                    .collect();
                pack_nnode(&self.geo, geo, nnode_number(self.geo.height, level, index), &children, bytes);
                self.node(level, index).dirty = false;
            }
        }
    }

    /// Whether the next commit has anything to write.
    pub fn is_dirty(&self) -> bool {
        self.nnodes.last().and_then(|level| level.first()).is_some_and(|root| root.dirty)
    }
}
