//! Copy-back: a page is read into the page register and programmed from there, in its plane.

use ffslab_sim::Op;

use super::{Address, Array, CopyBack, Done, Failures, PageIn, Result, PLANES_MAX};
use crate::reading::{Moved, DAMAGED};

impl Array {
    pub(super) fn copy_back(&mut self, copies: &[CopyBack]) -> Result<Done> {
        let die = self.check_copies(copies)?;
        let begin_ns = self.begins_at(die);
        let mut reads_ns = [(0, 0); PLANES_MAX];
        let mut last_read_ns = begin_ns;
        for (index, copy) in copies.iter().enumerate() {
            let start_ns = begin_ns + self.plane_delay_ns(index, copies.len());
            let read_ns = self.laws.read_ns(copy.from.page);
            self.spent.copy_read_ns += read_ns;
            reads_ns[index] = (start_ns, start_ns + read_ns);
            last_read_ns = last_read_ns.max(start_ns + read_ns);
        }
        let mut times_ns = [(0, 0); PLANES_MAX];
        let mut done_ns = 0;
        for (index, copy) in copies.iter().enumerate() {
            let start_ns = if self.config.overlapped_planes { reads_ns[index].1 } else { last_read_ns };
            let program_ns = self.laws.program_ns(copy.to.page);
            self.spent.copy_program_ns += program_ns;
            times_ns[index] = (start_ns, start_ns + program_ns);
            done_ns = done_ns.max(start_ns + program_ns);
        }
        self.die_works(die, begin_ns, done_ns);
        let cut = self.power_goes(copies.len());
        let mut failed = 0;
        // The register is a buffer of its own, so that nothing is allocated.
        let mut register = std::mem::take(&mut self.copied);
        for (index, copy) in copies.iter().enumerate() {
            let is_damaged = self.read_register(copy.from, reads_ns[index], &mut register);
            let (data, oob) = register.split_at(self.hierarchy.page_bytes as usize);
            let page = PageIn { at: copy.to, data, oob: Some(oob) };
            match cut {
                None => failed |= u32::from(self.put(&page, 0, times_ns[index])) << index,
                Some(cut) => self.put_torn(&page, 0, times_ns[index], cut.for_part(index)),
            }
            if is_damaged && self.cells.programs(self.hierarchy.page_number(copy.to)) > 0 {
                self.cells.add_damage(self.hierarchy.page_number(copy.to), u64::MAX);
            }
        }
        self.copied = register;
        if let Some(cut) = cut {
            return Err(self.go_out(cut.at_ns(&times_ns[..copies.len()]), cut));
        }
        let array_ns = done_ns;
        Ok(Done { begin_ns, array_ns, done_ns, next_ns: done_ns, failed: Failures(failed) })
    }

    fn check_copies(&self, copies: &[CopyBack]) -> Result<usize> {
        let die = self.check_places(copies.iter().map(|copy| copy.from), true)?;
        self.check_places(copies.iter().map(|copy| copy.to), true)?;
        for copy in copies {
            self.check_copy(copy)?;
            self.check_program(copy.to)?;
        }
        self.check_no_sequence(die)?;
        Ok(die)
    }

    /// Reads a page without moving it. No ECC corrects it on the way, so flipped bits stay flipped in the copy. Returns
    /// whether it can be corrected no more.
    fn read_register(&mut self, from: Address, (start_ns, end_ns): (u64, u64), register: &mut [u8]) -> bool {
        let number = self.hierarchy.page_number(from);
        self.sim.count_queued(Op::PageRead, number, 0, 0, start_ns, end_ns - start_ns);
        self.cells.blocks[self.hierarchy.block_number(from) as usize].reads_since_erase += 1;
        let (data, oob) = register.split_at_mut(self.hierarchy.page_bytes as usize);
        self.cells.read_data(number, 0, data);
        self.cells.read_oob(number, oob);
        if self.reading.is_faithful(&self.cells) {
            return false;
        }
        let tail_bytes = self.hierarchy.oob_bytes;
        let moved = Moved { page: number, now_ns: start_ns, column: 0, data, tail_bytes, tail: Some(oob) };
        self.reading.disturb(&self.cells, moved) == DAMAGED
    }
}
