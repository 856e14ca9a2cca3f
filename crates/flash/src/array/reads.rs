//! Reads: the array fills the page register, the bus takes it away; with a cache register both at the same time.

use ffslab_sim::Op;

use super::{Array, Done, PageOut, Result, Sequence, PLANES_MAX};
use crate::reading::Moved;

impl Array {
    #[inline]
    pub(super) fn read(&mut self, pages: &mut [PageOut]) -> Result<Done> {
        let die = self.check_reads(pages)?;
        self.check_no_sequence(die)?;
        let begin_ns = self.begins_at(die);
        let (mut array_ns, mut ends_ns) = (begin_ns, [0; PLANES_MAX]);
        for (index, page) in pages.iter().enumerate() {
            let read_ns = self.laws.read_ns(page.at.page);
            ends_ns[index] = begin_ns + self.plane_delay_ns(index, pages.len()) + read_ns;
            array_ns = array_ns.max(ends_ns[index]);
            self.spent.read_ns += read_ns;
        }
        let mut done_ns = array_ns;
        self.flips.clear();
        for (index, page) in pages.iter_mut().enumerate() {
            let from_ns = if self.config.overlapped_planes { ends_ns[index] } else { array_ns };
            done_ns = done_ns.max(self.move_out(die, page, from_ns, begin_ns, ends_ns[index] - begin_ns));
            if page.flipped_bits != 0 {
                self.flips.extend(self.reading.flipped_bits.iter().map(|&bit| (index, bit)));
            }
        }
        self.die_works(die, begin_ns, done_ns);
        Ok(Done { begin_ns, array_ns, done_ns, next_ns: done_ns, ..Done::default() })
    }

    /// A step of a cache read. The array reads the next pages while these move out; they were asked for by the step
    /// before, so their read may have begun before now.
    pub(super) fn cache_read(&mut self, pages: &mut [PageOut], more: bool) -> Result<Done> {
        let die = self.check_reads(pages)?;
        let is_first = self.check_sequence(die, Sequence::Reads, pages.iter().map(|page| page.at))?;
        let now_ns = self.sim.now_ns();
        let begin_ns = self.begins_at(die);
        if is_first {
            self.begin_sequence(die, Sequence::Reads, pages.iter().map(|page| page.at));
        }
        let (mut copies_ns, mut starts_ns) = ([0; PLANES_MAX], [0; PLANES_MAX]);
        let (mut array_ns, mut last_copy_ns) = (0, 0);
        for (index, page) in pages.iter().enumerate() {
            let read_ns = self.laws.read_ns(page.at.page);
            self.spent.read_ns += read_ns;
            let delay_ns = self.plane_delay_ns(index, pages.len());
            let plane_number = self.plane_at(page.at);
            let plane = &mut self.planes[plane_number];
            let start_ns = if is_first { begin_ns + delay_ns } else { plane.copied_ns };
            plane.array_end_ns = start_ns + read_ns;
            let empty_ns = if is_first { 0 } else { plane.out_end_ns };
            plane.sequence_page = page.at.page;
            copies_ns[index] = plane.array_end_ns.max(empty_ns).max(now_ns);
            starts_ns[index] = start_ns;
            array_ns = array_ns.max(plane.array_end_ns);
            last_copy_ns = last_copy_ns.max(copies_ns[index]);
        }
        let mut done_ns = 0;
        self.flips.clear();
        for (index, page) in pages.iter_mut().enumerate() {
            let copy_ns = if self.config.overlapped_planes { copies_ns[index] } else { last_copy_ns };
            let copied_ns = copy_ns + self.config.register_copy_ns;
            let plane = self.plane_at(page.at);
            let read_ns = self.planes[plane].array_end_ns - starts_ns[index];
            let out_ns = self.move_out(die, page, copied_ns, starts_ns[index], read_ns);
            if page.flipped_bits != 0 {
                self.flips.extend(self.reading.flipped_bits.iter().map(|&bit| (index, bit)));
            }
            self.planes[plane].copied_ns = copied_ns;
            self.planes[plane].out_end_ns = out_ns;
            done_ns = done_ns.max(out_ns);
        }
        if !more {
            self.dies[die].sequence = Sequence::None;
        }
        let begin_ns = if is_first { begin_ns } else { starts_ns[0] };
        self.die_works(die, begin_ns, done_ns);
        Ok(Done { begin_ns, array_ns, done_ns, next_ns: done_ns, ..Done::default() })
    }

    fn check_reads(&self, pages: &[PageOut]) -> Result<usize> {
        let die = self.check_places(pages.iter().map(|page| page.at), true)?;
        pages.iter().try_for_each(|page| self.check_out(page))?;
        Ok(die)
    }

    /// Gives the caller the bytes of a page and moves them over the bus, from `from_ns` on. Returns when they are there.
    #[inline]
    fn move_out(&mut self, die: usize, page: &mut PageOut, from_ns: u64, at_ns: u64, read_ns: u64) -> u64 {
        let number = self.hierarchy.page_number(page.at);
        let moved_bytes = page.moved_bytes();
        let bus_ns = self.bus_ns(moved_bytes);
        let done_ns = self.transfer(die, from_ns, bus_ns);
        self.spent.read_bus_ns += bus_ns;
        let op = match &page.oob {
            Some(_) if page.data.is_empty() => Op::OobRead,
            _ if moved_bytes >= self.hierarchy.page_bytes => Op::PageRead,
            _ => Op::PartialPageRead,
        };
        self.sim.count_queued(op, number, moved_bytes, 0, at_ns, read_ns + bus_ns);
        self.cells.read_data(number, page.column, page.data);
        if let Some(oob) = &mut page.oob {
            self.cells.read_oob(number, oob);
        }
        self.cells.blocks[self.hierarchy.block_number(page.at) as usize].reads_since_erase += 1;
        page.flipped_bits = 0;
        if !self.reading.is_faithful(&self.cells) {
            let moved = Moved {
                page: number,
                now_ns: at_ns,
                column: page.column,
                data: page.data,
                tail_bytes: page.further_bytes,
                tail: page.oob.as_deref_mut(),
            };
            page.flipped_bits = self.reading.disturb(&self.cells, moved);
        }
        done_ns
    }
}
