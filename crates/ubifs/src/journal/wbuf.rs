//! Write buffers: each journal head collects an I/O unit before it writes.
//!
//! Follows `fs/ubifs/io.c` (`ubifs_wbuf_write_nolock`, `ubifs_wbuf_sync_nolock`, `ubifs_wbuf_seek_nolock`).

use super::Journal;
use crate::causes;
use crate::commits::Commits;
use crate::error::{AtPlace, Fail, Res, NO_SPACE};
use crate::faults;
use crate::format::{align, align8, GC_HEAD, HEADS};
use crate::leb::Lebs;
use crate::lprops::Change;
use crate::node::pad;
use crate::node::NodeAt;
use crate::space::Space;

impl Journal {
    /// Pads the content of a head's buffer to a whole I/O unit and writes it.
    pub fn sync_head(&mut self, lebs: &mut Lebs, space: &mut Space, head: usize) -> Res<()> {
        self.cancel_head_timer(head);
        let h = &mut self.heads[head];
        let Some(lnum) = h.lnum.filter(|_| h.used > 0) else { return Ok(()) };
        lebs.check_writable()?;
        let h = &mut self.heads[head];
        let end = align(h.used, lebs.geo.min_io);
        let dirt = end - h.used;
        if dirt > 0 {
            pad(&mut h.bytes[h.used as usize..end as usize]);
        }
        let (offs, bytes) = (h.offs, std::mem::take(&mut h.bytes));
        let written = {
            let _of_setup = lebs.sim.because_left(self.heads[head].changed_in);
            let _why = (dirt > 0 && head != GC_HEAD && lebs.sim.reason() != &causes::SYNC)
                .then(|| lebs.sim.because(&causes::PADDING));
            lebs.write(lnum, offs, &bytes[..end as usize])
        };
        self.heads[head].bytes = bytes;
        written?;
        let h = &mut self.heads[head];
        h.offs += end;
        h.set_size(&lebs.geo);
        let free = lebs.geo.leb_bytes - h.offs;
        space.update_lp(lebs, lnum, Some(free), dirt, Change::default())
    }

    pub fn sync_all_heads(&mut self, lebs: &mut Lebs, space: &mut Space) -> Res<()> {
        (0..HEADS).try_for_each(|head| self.sync_head(lebs, space, head))
    }

    /// Writes the buffers that hold nodes of an inode (`ubifs_sync_wbufs_by_inode`).
    pub fn sync_heads_of(&mut self, lebs: &mut Lebs, space: &mut Space, ino: u32) -> Res<()> {
        for head in 0..HEADS {
            if head != GC_HEAD && self.heads[head].holds(ino) && !faults::SYNC_LEAVES_BUFFERS.is_seeded() {
                self.sync_head(lebs, space, head)?;
            }
        }
        Ok(())
    }

    /// Appends a node, or a group of nodes, to a head. There must be room for it.
    pub fn write_head(
        &mut self,
        lebs: &mut Lebs,
        space: &mut Space,
        commits: &mut Commits,
        head: usize,
        node: &[u8],
    ) -> Res<()> {
        let aligned = align8(node.len() as u32);
        let lnum = self.heads[head].lnum.ok_or(NO_SPACE)?;
        if self.heads[head].space(&lebs.geo) < aligned {
            return Err(NO_SPACE);
        }
        self.cancel_head_timer(head);
        lebs.check_writable()?;
        let phase = lebs.sim.phase_of_change();
        commits.changed_in = commits.changed_in.max(Some(phase));
        let h = &mut self.heads[head];
        h.changed_in = if h.used == 0 { phase } else { h.changed_in.max(phase) };
        let mut bytes = std::mem::take(&mut self.heads[head].bytes);
        let result = self.fill_head(lebs, head, lnum, &mut bytes, node, aligned);
        self.heads[head].bytes = bytes;
        result?;
        let free = self.heads[head].space(&lebs.geo);
        space.update_lp(lebs, lnum, Some(free), 0, Change::default())?;
        if self.heads[head].used > 0 {
            self.start_head_timer(lebs, commits, head);
        }
        Ok(())
    }

    fn fill_head(
        &mut self,
        lebs: &mut Lebs,
        head: usize,
        lnum: u32,
        buffer: &mut [u8],
        node: &[u8],
        aligned: u32,
    ) -> Res<()> {
        let (max_write, leb_bytes) = (lebs.geo.max_write, lebs.geo.leb_bytes);
        let mut done = 0usize;
        let mut written = 0;
        let mut left = aligned;
        let h = &mut self.heads[head];
        if left < h.avail() {
            let at = h.used as usize;
            put(&mut buffer[at..at + left as usize], node);
            h.used += left;
            return Ok(());
        }
        if h.used > 0 || left == h.avail() {
            let (at, size, offs) = (h.used as usize, h.size as usize, h.offs);
            let count = size - at;
            put(&mut buffer[at..size], &node[..count.min(node.len())]);
            lebs.write(lnum, offs, &buffer[..size])?;
            (done, written) = (count, size);
        } else if !h.offs.is_multiple_of(max_write) {
            let (size, offs) = (h.size as usize, h.offs);
            lebs.write(lnum, offs, &node[..size])?;
            (done, written) = (size, size);
        }
        let h = &mut self.heads[head];
        h.offs += written as u32;
        left -= done as u32;
        let units = left / max_write;
        if units > 0 {
            let many = ((units - 1) * max_write) as usize;
            if many > 0 {
                let offs = h.offs;
                lebs.write(lnum, offs, &node[done..done + many])?;
                self.heads[head].offs += many as u32;
                done += many;
            }
            let unit = max_write as usize;
            let offs = self.heads[head].offs;
            match node.get(done..done + unit) {
                Some(whole) => lebs.write(lnum, offs, whole)?,
                // The node ends before this write unit does.
                None => {
                    put(&mut buffer[..unit], &node[done..]);
                    lebs.write(lnum, offs, &buffer[..unit])?;
                }
            }
            self.heads[head].offs += max_write;
            done += unit;
            left -= many as u32 + max_write;
        }
        let h = &mut self.heads[head];
        if left > 0 {
            put(&mut buffer[..left as usize], &node[done..]);
        }
        h.size = max_write.min(leb_bytes - h.offs);
        h.used = left;
        h.inodes.clear();
        Ok(())
    }

    /// Reads a node that may still be in a head's buffer, wholly or in part (`ubifs_read_node_wbuf`).
    pub fn read_node_of_head(&self, lebs: &Lebs, head: usize, node: &mut Vec<u8>, kind: u8, at: NodeAt) -> Res<()> {
        let h = &self.heads[head];
        let end = at.offs + at.len;
        if h.lnum != Some(at.lnum) || end <= h.offs {
            return lebs.read_node(node, kind, at.lnum, at.offs, at.len);
        }
        node.resize(at.len as usize, 0);
        self.read_of_head(lebs, head, node, at)?;
        lebs.check_read(node, kind, at.offs).at(at.lnum, at.offs)
    }

    /// Whether all of a node is still in the buffer of a head.
    pub fn is_buffered(&self, lebs: &Lebs, at: NodeAt) -> bool {
        let head = self.head_of_bud(lebs, at.lnum).map(|head| &self.heads[head]);
        head.is_some_and(|head| head.lnum == Some(at.lnum) && at.offs >= head.offs)
    }

    /// Reads bytes that may still be in a head's buffer, wholly or in part (`read_wbuf`).
    pub fn read_of_head(&self, lebs: &Lebs, head: usize, bytes: &mut [u8], at: NodeAt) -> Res<()> {
        let h = &self.heads[head];
        let end = at.offs + at.len;
        if h.lnum != Some(at.lnum) || end <= h.offs {
            return lebs.read_checked(at.lnum, at.offs, bytes);
        }
        if end > h.offs + h.used {
            return Err(Fail::corrupt("node behind the end of a journal head")).at(at.lnum, at.offs);
        }
        let on_flash = h.offs.saturating_sub(at.offs) as usize;
        let from = (at.offs + on_flash as u32 - h.offs) as usize;
        bytes[on_flash..].copy_from_slice(&h.bytes[from..from + at.len as usize - on_flash]);
        match on_flash {
            0 => Ok(()),
            _ => lebs.read_checked(at.lnum, at.offs, &mut bytes[..on_flash]),
        }
    }
}

/// Copies a node and pads the rest.
fn put(target: &mut [u8], node: &[u8]) {
    target[..node.len()].copy_from_slice(node);
    pad(&mut target[node.len()..]);
}
