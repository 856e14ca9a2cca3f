//! Programs and erases: the bus fills a register, the array empties it; with a cache register both at the same time.

use ffslab_sim::Op;

use super::power::{Change, Running};
use super::{Address, Array, Done, Failures, PageIn, Result, Sequence, PLANES_MAX};

impl Array {
    #[inline]
    pub(super) fn program(&mut self, pages: &[PageIn]) -> Result<Done> {
        let die = self.check_programs(pages)?;
        self.check_no_sequence(die)?;
        let begin_ns = self.begins_at(die);
        let mut in_ns = [0; PLANES_MAX];
        let mut last_in_ns = begin_ns;
        for (index, _) in pages.iter().enumerate() {
            let from_ns = begin_ns.max(last_in_ns) + if index > 0 { self.config.next_plane_ns } else { 0 };
            last_in_ns = self.move_in(die, from_ns);
            in_ns[index] = last_in_ns;
        }
        let mut times_ns = [(0, 0); PLANES_MAX];
        let mut done_ns = 0;
        for (index, page) in pages.iter().enumerate() {
            let start_ns = if self.config.overlapped_planes { in_ns[index] } else { last_in_ns };
            let program_ns = self.laws.program_ns(page.at.page);
            self.spent.program_ns += program_ns;
            times_ns[index] = (start_ns, start_ns + program_ns);
            done_ns = done_ns.max(start_ns + program_ns);
        }
        self.die_works(die, begin_ns, done_ns);
        let failed = self.store(pages, &times_ns)?;
        Ok(Done { begin_ns, array_ns: done_ns, done_ns, next_ns: done_ns, failed })
    }

    /// A step of a cache program: the data move in while the array programs those of the step before, then they are
    /// copied to the page register and programmed.
    pub(super) fn cache_program(&mut self, pages: &[PageIn], more: bool) -> Result<Done> {
        let die = self.check_programs(pages)?;
        let is_first = self.check_sequence(die, Sequence::Programs, pages.iter().map(|page| page.at))?;
        let now_ns = self.sim.now_ns();
        let mut begin_ns = self.begins_at(die);
        if is_first {
            self.begin_sequence(die, Sequence::Programs, pages.iter().map(|page| page.at));
        } else {
            let free_ns = pages.iter().map(|page| self.planes[self.plane_at(page.at)].copied_ns).max();
            begin_ns = free_ns.unwrap_or(0).max(now_ns);
        }
        let (mut copies_ns, mut last_copy_ns, mut last_in_ns) = ([0; PLANES_MAX], 0, begin_ns);
        for (index, page) in pages.iter().enumerate() {
            let plane = self.plane_at(page.at);
            let (free_ns, array_end_ns) = if is_first {
                (begin_ns, 0)
            } else {
                (self.planes[plane].copied_ns.max(now_ns), self.planes[plane].array_end_ns)
            };
            let earliest_ns = if self.config.overlapped_planes { free_ns } else { begin_ns };
            let between_ns = if index > 0 { self.config.next_plane_ns } else { 0 };
            // Planes are filled one after the other.
            let from_ns = if index > 0 { earliest_ns.max(last_in_ns + between_ns) } else { earliest_ns };
            last_in_ns = self.move_in(die, from_ns);
            copies_ns[index] = last_in_ns.max(array_end_ns);
            last_copy_ns = last_copy_ns.max(copies_ns[index]);
        }
        let mut times_ns = [(0, 0); PLANES_MAX];
        let (mut done_ns, mut next_ns) = (0, 0);
        for (index, page) in pages.iter().enumerate() {
            let copy_ns = if self.config.overlapped_planes { copies_ns[index] } else { last_copy_ns };
            let copied_ns = copy_ns + self.config.register_copy_ns;
            let program_ns = self.laws.program_ns(page.at.page);
            self.spent.program_ns += program_ns;
            times_ns[index] = (copied_ns, copied_ns + program_ns);
            let plane = self.plane_at(page.at);
            self.planes[plane].copied_ns = copied_ns;
            self.planes[plane].array_end_ns = copied_ns + program_ns;
            next_ns = next_ns.max(copied_ns);
            done_ns = done_ns.max(copied_ns + program_ns);
        }
        if !more {
            self.dies[die].sequence = Sequence::None;
            next_ns = done_ns;
        }
        self.die_works(die, begin_ns, done_ns);
        let failed = self.store(pages, &times_ns)?;
        Ok(Done { begin_ns, array_ns: done_ns, done_ns, next_ns, failed })
    }

    #[inline]
    pub(super) fn erase(&mut self, blocks: &[Address]) -> Result<Done> {
        let die = self.check_places(blocks.iter().copied(), false)?;
        self.check_no_sequence(die)?;
        let begin_ns = self.begins_at(die);
        let mut times_ns = [(0, 0); PLANES_MAX];
        let mut done_ns = 0;
        for (index, time_ns) in times_ns.iter_mut().enumerate().take(blocks.len()) {
            let start_ns = begin_ns + self.plane_delay_ns(index, blocks.len());
            let erase_ns = self.laws.erase_ns();
            self.spent.erase_ns += erase_ns;
            *time_ns = (start_ns, start_ns + erase_ns);
            done_ns = done_ns.max(start_ns + erase_ns);
        }
        self.die_works(die, begin_ns, done_ns);
        if let Some(cut) = self.power_goes(blocks.len()) {
            return Err(self.cut_erase(blocks, &times_ns, cut));
        }
        let mut failed = 0;
        for (index, &at) in blocks.iter().enumerate() {
            failed |= u32::from(self.wipe(at, times_ns[index])) << index;
        }
        Ok(Done { begin_ns, array_ns: done_ns, done_ns, next_ns: done_ns, failed: Failures(failed) })
    }

    fn check_programs(&self, pages: &[PageIn]) -> Result<usize> {
        let die = self.check_places(pages.iter().map(|page| page.at), true)?;
        for page in pages {
            self.check_in(page)?;
            self.check_program(page.at)?;
        }
        Ok(die)
    }

    /// Moves a page and its OOB area over the bus. Returns when they are in the register.
    #[inline]
    fn move_in(&mut self, die: usize, from_ns: u64) -> u64 {
        let bus_ns = self.bus_ns(self.hierarchy.page_bytes + self.hierarchy.oob_bytes);
        self.spent.program_bus_ns += bus_ns;
        self.transfer(die, from_ns, bus_ns)
    }

    /// Lets the programs of a command reach the cells, unless the power is cut.
    #[inline]
    fn store(&mut self, pages: &[PageIn], times_ns: &[(u64, u64); PLANES_MAX]) -> Result<Failures> {
        if let Some(cut) = self.power_goes(pages.len()) {
            return Err(self.cut_program(pages, times_ns, cut));
        }
        let moved_bytes = self.hierarchy.page_bytes + self.hierarchy.oob_bytes;
        let mut failed = 0;
        for (index, page) in pages.iter().enumerate() {
            failed |= u32::from(self.put(page, moved_bytes, times_ns[index])) << index;
        }
        Ok(Failures(failed))
    }

    /// Programs the cells of a page, and counts it. Returns whether its status says "failed".
    #[inline]
    pub(super) fn put(&mut self, page: &PageIn, moved_bytes: u32, (start_ns, end_ns): (u64, u64)) -> bool {
        let number = self.hierarchy.page_number(page.at);
        let op = if self.cells.programs(number) == 0 { Op::PageProgram } else { Op::Reprogram };
        let busy_ns = end_ns - start_ns + self.bus_ns(moved_bytes);
        self.sim.count_queued(op, number, 0, moved_bytes, start_ns, busy_ns);
        self.cells.program_data(number, page.data);
        if let Some(oob) = page.oob {
            self.cells.program_oob(number, oob);
        }
        self.runs(page.at, Running { change: Change::Program, number, start_ns, end_ns });
        self.reading.faults.as_mut().is_some_and(|faults| faults.program_fails(number))
    }

    #[inline]
    pub(super) fn wipe(&mut self, at: Address, (start_ns, end_ns): (u64, u64)) -> bool {
        let number = self.hierarchy.block_number(at);
        let programmed_pages = self.cells.blocks[number as usize].order_floor_page;
        self.sim.count_queued(Op::Erase, number, 0, 0, start_ns, end_ns - start_ns);
        self.cells.wipe(number);
        self.cells.erase_counts[number as usize] += 1;
        self.runs(at, Running { change: Change::Erase { programmed_pages }, number, start_ns, end_ns });
        self.reading.faults.as_mut().is_some_and(|faults| faults.erase_fails(number))
    }
}
