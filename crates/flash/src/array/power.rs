//! Power cuts of an array: several dies may be at work when the power goes.
//!
//! As with a [`Chip`](crate::Chip), the cut hits the k-th page program or block erase from now on, in the order in which
//! they are issued. Its time is then known, and with it what the others were doing: what had ended by then is whole, a
//! program that was under way is torn, and one that had not begun has not happened. So it is with erases, but for two
//! things: an erase that was issued and had not begun counts as done, and of a torn one the pages that are not erased hold
//! noise, because their old content is gone.

use ffslab_sim::Op;

use super::{Address, Array, ArrayError, PageIn, PLANES_MAX};
use crate::power::Torn;

#[derive(Clone, Copy)]
pub enum Change {
    Program,
    Erase { programmed_pages: u32 },
}

/// A program or an erase that was issued.
#[derive(Clone, Copy)]
pub struct Running {
    pub change: Change,
    /// Number of the page, or of the block, in the array.
    pub number: u32,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// The power is cut during a command.
#[derive(Clone, Copy)]
pub struct Cut(Torn);

impl Cut {
    /// What becomes of one of several pages or blocks.
    pub fn for_part(self, index: usize) -> Torn {
        match self.0 {
            Torn::Partial { seed } => Torn::Partial { seed: seed.wrapping_add(index as u64) },
            Torn::Unstable { seed } => Torn::Unstable { seed: seed.wrapping_add(index as u64) },
            torn => torn,
        }
    }

    /// When the power goes, if the planes work on the command in these times.
    pub fn at_ns(self, times_ns: &[(u64, u64)]) -> u64 {
        let start_ns = times_ns.iter().map(|&(start_ns, _)| start_ns).min().unwrap_or(0);
        let end_ns = times_ns.iter().map(|&(_, end_ns)| end_ns).max().unwrap_or(0);
        match self.0 {
            Torn::Nothing => start_ns,
            Torn::Partial { .. } | Torn::Unstable { .. } => start_ns + (end_ns - start_ns) / 2,
            Torn::Complete => end_ns,
        }
    }

    fn seed(self) -> u64 {
        match self.0 {
            Torn::Partial { seed } | Torn::Unstable { seed } => seed,
            Torn::Nothing | Torn::Complete => 0,
        }
    }
}

impl Array {
    /// Cuts the power during the `operations`-th page program or block erase from now on (1: the next one). Afterwards
    /// every command is refused until [`Array::power_on`]. 0 switches the array off at once; what is under way is torn.
    pub fn cut_power_after(&mut self, operations: u64, torn: Torn) {
        if operations == 0 {
            self.tear_running(self.sim.now_ns(), Cut(torn).seed());
        }
        self.power.cut_after(operations, torn);
    }

    /// Switches the array on, and cancels a cut that has not happened yet.
    pub fn power_on(&mut self) {
        self.power.switch_on();
    }

    pub fn is_on(&self) -> bool {
        self.power.on
    }

    /// Page programs and block erases begun since the array was made.
    pub fn modifying_operations(&self) -> u64 {
        self.power.modifying_operations
    }

    /// Begins so many programs or erases of one command. If the power goes during one of them it goes during all.
    #[inline]
    pub(super) fn power_goes(&mut self, operations: usize) -> Option<Cut> {
        for _ in 0..operations {
            if let Some(torn) = self.power.begin() {
                return Some(Cut(torn));
            }
        }
        None
    }

    /// Keeps in mind what a plane will be doing.
    #[inline]
    pub(super) fn runs(&mut self, at: Address, running: Running) {
        let now_ns = self.sim.now_ns();
        let plane = self.plane_at(at);
        let queue = &mut self.planes[plane].running;
        while queue.front().is_some_and(|first| first.end_ns <= now_ns) {
            queue.pop_front();
        }
        queue.push_back(running);
    }

    pub(super) fn cut_program(
        &mut self,
        pages: &[PageIn],
        times_ns: &[(u64, u64); PLANES_MAX],
        cut: Cut,
    ) -> ArrayError {
        let moved_bytes = self.hierarchy.page_bytes + self.hierarchy.oob_bytes;
        for (index, page) in pages.iter().enumerate() {
            self.put_torn(page, moved_bytes, times_ns[index], cut.for_part(index));
        }
        self.go_out(cut.at_ns(&times_ns[..pages.len()]), cut)
    }

    /// Programs what arrives of a page.
    pub(super) fn put_torn(&mut self, page: &PageIn, moved_bytes: u32, times_ns: (u64, u64), torn: Torn) {
        let number = self.hierarchy.page_number(page.at);
        match torn {
            Torn::Nothing => {}
            Torn::Complete => drop(self.put(page, moved_bytes, times_ns)),
            Torn::Partial { seed } | Torn::Unstable { seed } => {
                let op = if self.cells.programs(number) == 0 { Op::PageProgram } else { Op::Reprogram };
                let (start_ns, end_ns) = times_ns;
                self.sim.count_queued(op, number, 0, moved_bytes, start_ns, end_ns - start_ns);
                match torn {
                    Torn::Unstable { .. } => self.cells.program_unstable(seed, number, page.data, page.oob),
                    _ => self.cells.program_torn(seed, number, page.data, page.oob, self.config.pairing.as_ref()),
                }
            }
        }
    }

    pub(super) fn cut_erase(
        &mut self,
        blocks: &[Address],
        times_ns: &[(u64, u64); PLANES_MAX],
        cut: Cut,
    ) -> ArrayError {
        for (index, &at) in blocks.iter().enumerate() {
            let number = self.hierarchy.block_number(at);
            let torn = cut.for_part(index);
            match torn {
                Torn::Nothing => {}
                Torn::Complete => drop(self.wipe(at, times_ns[index])),
                Torn::Partial { seed } | Torn::Unstable { seed } => {
                    let (start_ns, end_ns) = times_ns[index];
                    self.sim.count_queued(Op::Erase, number, 0, 0, start_ns, end_ns - start_ns);
                    match torn {
                        Torn::Unstable { .. } => self.cells.erase_unstable(seed, number),
                        _ => self.cells.erase_torn(seed, number),
                    }
                    self.cells.erase_counts[number as usize] += 1;
                }
            }
        }
        self.go_out(cut.at_ns(&times_ns[..blocks.len()]), cut)
    }

    /// The power goes at this time.
    pub(super) fn go_out(&mut self, at_ns: u64, cut: Cut) -> ArrayError {
        self.tear_running(at_ns, cut.seed());
        self.wait_until(at_ns);
        ArrayError::PowerCut
    }

    /// What the planes were told to do, and had not done at this time.
    #[cold]
    fn tear_running(&mut self, at_ns: u64, seed: u64) {
        for index in 0..self.planes.len() {
            // The latest first: an operation that had not begun is taken back before what it was to follow is torn.
            while let Some(running) = self.planes[index].running.pop_back() {
                if running.end_ns > at_ns {
                    self.tear(running, running.start_ns < at_ns, seed ^ u64::from(running.number));
                }
            }
            let plane = &mut self.planes[index];
            plane.array_end_ns = plane.array_end_ns.min(at_ns);
        }
        for die in &mut self.dies {
            die.sequence = super::Sequence::None;
            die.ready_ns = die.ready_ns.min(at_ns);
            die.moved_ns = die.moved_ns.min(at_ns);
        }
        self.channels.iter_mut().for_each(super::Bus::clear);
    }

    fn tear(&mut self, running: Running, has_begun: bool, seed: u64) {
        let Running { change, number, .. } = running;
        match change {
            // A page that was programmed several times keeps what it has: what of it came when is not known any more.
            Change::Program if self.cells.programs(number) != 1 => {}
            Change::Program if has_begun => self.cells.tear(seed, number, self.config.pairing.as_ref()),
            Change::Program => self.cells.unprogram(number),
            Change::Erase { programmed_pages } if has_begun => self.cells.tear_erase(seed, number, programmed_pages),
            Change::Erase { .. } => {}
        }
    }
}
