//! Copy-back: a page is read into the page register and programmed from there, in its plane. A controller can change bytes on the
//! way (ONFI, change write column). Bits that are wrong in the register are wrong in the copy, until its block is erased.

use std::ops::Range;

use ffslab_sim::Op;

use super::{Address, Array, Change, Copied, CopyBack, Done, Failures, PageIn, Result, PLANES_MAX};
use crate::reading::{Moved, DAMAGED};

/// Beginning and end of what each plane does.
type Times = [(u64, u64); PLANES_MAX];

impl Array {
    /// `change` can refuse that anything is programmed.
    pub(super) fn copy_back(&mut self, copies: &[CopyBack], mut change: Option<Change>) -> Result<Copied> {
        let die = self.check_copies(copies)?;
        let begin_ns = self.begins_at(die);
        let (reads_ns, last_read_ns) = self.time_reads(copies, begin_ns);
        // The register is a buffer of its own, so that nothing is allocated.
        let mut register = std::mem::take(&mut self.copied);
        let changed_bytes =
            change.as_ref().map_or(0, |change| change.oob_bytes.iter().map(Range::len).sum::<usize>() as u32);
        let mut is_damaged = self.read_register(copies[0].from, changed_bytes, reads_ns[0], &mut register);
        let (mut out_ns, mut changed_ns) = (begin_ns, begin_ns);
        if let Some(change) = &mut change {
            let seen_ns = if self.config.overlapped_planes { reads_ns[0].1 } else { last_read_ns };
            out_ns = self.move_changed(die, changed_bytes, seen_ns);
            if !(change.by)(&mut register[self.hierarchy.page_bytes as usize..]) {
                self.copied = register;
                let done_ns = last_read_ns.max(out_ns);
                self.die_works(die, begin_ns, done_ns);
                let done = Done { begin_ns, array_ns: last_read_ns, done_ns, next_ns: done_ns, ..Done::default() };
                return Ok(Copied { done, seen_ns: out_ns, is_programmed: false });
            }
            changed_ns = self.move_changed(die, changed_bytes, out_ns);
        }
        let times_ns = self.time_programs(copies, &reads_ns, last_read_ns, changed_ns);
        let done_ns = times_ns[..copies.len()].iter().map(|&(_, end_ns)| end_ns).max().unwrap_or(begin_ns);
        self.die_works(die, begin_ns, done_ns);
        let cut = self.power_goes(copies.len());
        let mut failed = 0;
        for (index, copy) in copies.iter().enumerate() {
            if index > 0 {
                is_damaged = self.read_register(copy.from, 0, reads_ns[index], &mut register);
            }
            let mut wrong_bits = std::mem::take(&mut self.reading.flipped_bits);
            if let Some(change) = change.as_ref().filter(|_| index == 0) {
                let page_bits = self.hierarchy.page_bytes * 8;
                let is_new = |bit: u32| {
                    bit >= page_bits
                        && change.oob_bytes.iter().any(|bytes| bytes.contains(&((bit - page_bits) as usize / 8)))
                };
                wrong_bits.retain(|&bit| !is_new(bit));
            }
            let (data, oob) = register.split_at(self.hierarchy.page_bytes as usize);
            let page = PageIn { at: copy.to, data, oob: Some(oob) };
            let moved_bytes = if index == 0 { changed_bytes } else { 0 };
            match cut {
                None => failed |= u32::from(self.put(&page, moved_bytes, times_ns[index])) << index,
                Some(cut) => self.put_torn(&page, moved_bytes, times_ns[index], cut.for_part(index)),
            }
            let to = self.hierarchy.page_number(copy.to);
            self.cells.inherit(to, &wrong_bits);
            if is_damaged && self.cells.programs(to) > 0 {
                self.cells.add_damage(to, u64::MAX);
            }
        }
        self.copied = register;
        if let Some(cut) = cut {
            return Err(self.go_out(cut.at_ns(&times_ns[..copies.len()]), cut));
        }
        let done = Done { begin_ns, array_ns: done_ns, done_ns, next_ns: done_ns, failed: Failures(failed) };
        Ok(Copied { done, seen_ns: out_ns, is_programmed: true })
    }

    /// When the array reads each of the pages, and when it has read the last.
    fn time_reads(&mut self, copies: &[CopyBack], begin_ns: u64) -> (Times, u64) {
        let (mut reads_ns, mut last_read_ns) = ([(0, 0); PLANES_MAX], begin_ns);
        for (index, copy) in copies.iter().enumerate() {
            let start_ns = begin_ns + self.plane_delay_ns(index, copies.len());
            let read_ns = self.laws.read_ns(copy.from.page);
            self.spent.copy_read_ns += read_ns;
            reads_ns[index] = (start_ns, start_ns + read_ns);
            last_read_ns = last_read_ns.max(start_ns + read_ns);
        }
        (reads_ns, last_read_ns)
    }

    /// When each of the pages is programmed, from its read and the change on.
    fn time_programs(&mut self, copies: &[CopyBack], reads_ns: &Times, last_read_ns: u64, changed_ns: u64) -> Times {
        let mut times_ns = [(0, 0); PLANES_MAX];
        for (index, copy) in copies.iter().enumerate() {
            let read_ns = if self.config.overlapped_planes { reads_ns[index].1 } else { last_read_ns };
            let start_ns = read_ns.max(changed_ns);
            let program_ns = self.laws.program_ns(copy.to.page);
            self.spent.copy_program_ns += program_ns;
            times_ns[index] = (start_ns, start_ns + program_ns);
        }
        times_ns
    }

    /// Moves what a controller looks at or sends anew. Returns when that has arrived.
    fn move_changed(&mut self, die: usize, bytes: u32, from_ns: u64) -> u64 {
        let bus_ns = self.bus_ns(bytes);
        self.spent.copy_bus_ns += bus_ns;
        self.transfer(die, from_ns, bus_ns)
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

    /// Reads a page of which only these bytes move. No ECC corrects it on the way, so flipped bits stay flipped in the copy. Returns
    /// whether it can be corrected no more.
    fn read_register(
        &mut self,
        from: Address,
        moved_bytes: u32,
        (start_ns, end_ns): (u64, u64),
        register: &mut [u8],
    ) -> bool {
        let number = self.hierarchy.page_number(from);
        let busy_ns = end_ns - start_ns + self.bus_ns(moved_bytes);
        self.sim.count_queued(Op::PageRead, number, moved_bytes, 0, start_ns, busy_ns);
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
