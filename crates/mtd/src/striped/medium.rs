//! What a medium of several dies answers.

use ffslab_flash::{Address, Command, Hierarchy, PageOut, Torn, Traffic, PLANES_MAX};
use ffslab_sim::{Sim, FORMATTING};

use super::{refused, Striped};
use crate::correction::EccResult;
use crate::error::{Corrected, MtdError, RestoreError};
use crate::medium::{Capabilities, Medium, MediumImage};
use crate::nand::is_erased;

impl Medium for Striped {
    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn capabilities(&self) -> Capabilities {
        let blocks = self.hierarchy.blocks_per_plane;
        Capabilities {
            blocks,
            chip_blocks: blocks,
            erase_block_bytes: self.block_bytes() as u32,
            program_bytes: self.page_bytes(),
            partial_program_bytes: self.page_bytes(),
            write_buffer_bytes: self.page_bytes(),
            oob_bytes: self.hierarchy.oob_bytes * self.hierarchy.planes_per_die,
            oob_free_bytes: self.layout.free_bytes() as u32,
            clears_bits_again: false,
            has_bad_blocks: true,
            torn_erase_may_keep_start: false,
            in_memory: false,
        }
    }

    fn overlap_programs(&self) -> u32 {
        self.overlaps.set(true);
        // With cache programs one page of each die is programmed while the next one waits in its register.
        let of_a_die = if self.caches.get() && self.commands.cache_program { 2 } else { 1 };
        self.dies.len() as u32 * of_a_die
    }

    fn settle(&self) {
        let mut array = self.array.borrow_mut();
        self.dies.iter().for_each(|&die| array.end_sequence(die));
        array.wait_until(array.all_done_ns());
    }

    fn use_cache_commands(&self) -> Option<u32> {
        let has_some = self.commands.cache_program || self.commands.cache_read;
        self.caches.set(has_some);
        has_some.then_some(self.dies.len() as u32)
    }

    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        let page_bytes = u64::from(self.page_bytes());
        let (mut page, mut oob) = (self.page.borrow_mut(), self.oob.borrow_mut());
        let (mut at, mut rest, mut result) = (at, data, EccResult::CLEAN);
        while !rest.is_empty() {
            let column = at % page_bytes;
            let (part, after) = rest.split_at_mut(rest.len().min((page_bytes - column) as usize));
            result = result.worse(self.read_page(self.place_of(at)?, &mut page, &mut oob)?);
            part.copy_from_slice(&page[column as usize..column as usize + part.len()]);
            (at, rest) = (at + part.len() as u64, after);
        }
        self.report(result)
    }

    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        let page_bytes = self.page_bytes() as usize;
        if !data.len().is_multiple_of(page_bytes) {
            return Err(MtdError::Unaligned);
        }
        for (data, at) in data.chunks_exact(page_bytes).zip((at..).step_by(page_bytes)) {
            self.program(self.whole_page(at, data.len(), 0)?, data, None)?;
        }
        Ok(())
    }

    fn erase(&self, at: u64) -> Result<(), MtdError> {
        let block = self.block_of(at)?;
        if !at.is_multiple_of(self.block_bytes()) {
            return Err(MtdError::Unaligned);
        }
        if self.is_bad(at) {
            return Err(MtdError::BadBlock);
        }
        self.settle();
        let mut array = self.array.borrow_mut();
        let planes = self.hierarchy.planes_per_die;
        let mut has_failed = false;
        for &die in &self.dies {
            let mut blocks = [Address::default(); PLANES_MAX];
            for (at, plane) in blocks.iter_mut().zip(0..planes) {
                *at = Address { die, block: block * planes + plane, page: 0 };
            }
            let done = array.issue(Command::Erase(&blocks[..planes as usize])).map_err(refused)?;
            has_failed |= done.failed.any();
        }
        array.wait_until(array.all_done_ns());
        self.formatting_erases.borrow_mut()[block as usize] += u32::from(self.sim.reason() == &FORMATTING);
        self.counts(|traffic| traffic.erases += u64::from(planes) * self.dies.len() as u64);
        if has_failed {
            Err(MtdError::EraseFailed)
        } else {
            Ok(())
        }
    }

    fn read_page_with_oob(&self, at: u64, data: &mut [u8], free: &mut [u8]) -> Result<Corrected, MtdError> {
        let place = self.whole_page(at, data.len(), free.len())?;
        let mut oob = self.oob.borrow_mut();
        let result = self.read_page(place, data, &mut oob)?;
        self.layout.gather(&oob, free);
        self.report(result)
    }

    fn begin_read(&self, at: u64, data: &mut [u8], free: &mut [u8]) -> Result<Corrected, MtdError> {
        self.begin_read_in_row(at, data, free, false)
    }

    fn begin_read_in_row(&self, at: u64, data: &mut [u8], free: &mut [u8], more: bool) -> Result<Corrected, MtdError> {
        let place = self.whole_page(at, data.len(), free.len())?;
        let mut oob = self.oob.borrow_mut();
        let (result, done_ns) = self.issue_read(place, data, &mut oob, more)?;
        self.reads_done_ns.set(self.reads_done_ns.get().max(done_ns));
        self.layout.gather(&oob, free);
        self.report(result)
    }

    fn can_copy_back(&self, from: u64, to: u64) -> bool {
        let die_of = |at| self.place_of(at).map(|place| place.die);
        self.commands.copy_back && die_of(from).is_ok_and(|die| die_of(to) == Ok(die))
    }

    fn copy_back(
        &self,
        from: u64,
        to: u64,
        free: &mut [u8],
        change: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, MtdError> {
        if !self.can_copy_back(from, to) {
            return Err(MtdError::NotSupported);
        }
        let (from, to) = (self.whole_page(from, self.page_bytes() as usize, free.len())?, self.place_of(to)?);
        self.copy_page(from, to, free, change)
    }

    fn settle_reads(&self) {
        self.sim.wait_for_medium(self.reads_done_ns.get());
    }

    fn write_page_with_oob(&self, at: u64, data: &[u8], free: &[u8]) -> Result<(), MtdError> {
        let place = self.whole_page(at, data.len(), free.len())?;
        let mut oob = self.oob.borrow_mut();
        oob.fill(0xFF);
        self.layout.scatter(free, &mut oob);
        self.program(place, data, Some(&oob))
    }

    fn read_oob_free(&self, at: u64, free: &mut [u8]) -> Result<(), MtdError> {
        let Hierarchy { page_bytes, oob_bytes, .. } = self.hierarchy;
        let mut oob = self.oob.borrow_mut();
        let per_page = self.layout.free_bytes().max(1);
        for (part, at) in free.chunks_mut(per_page).zip((at..).step_by(self.page_bytes() as usize)) {
            let page = PageOut {
                at: self.place_of(at)?,
                column: page_bytes,
                data: &mut [],
                oob: Some(&mut oob),
                further_bytes: oob_bytes,
                flipped_bits: 0,
            };
            let mut array = self.array.borrow_mut();
            array.end_sequence(page.at.die);
            let done = array.issue(Command::Read(&mut [page])).map_err(refused)?;
            array.wait_until(done.done_ns);
            self.counts(|traffic| {
                traffic.reads += 1;
                traffic.read_bytes += u64::from(oob_bytes);
            });
            self.layout.gather(&oob, part);
        }
        Ok(())
    }

    fn is_bad(&self, at: u64) -> bool {
        self.block_of(at).map_or(true, |block| self.bad.borrow()[block as usize])
    }

    fn mark_bad(&self, at: u64) -> Result<(), MtdError> {
        let block = self.block_of(at)?;
        // Copies of what stood there are whole before a mount does not look there any more.
        self.settle();
        let mut array = self.array.borrow_mut();
        if !array.is_on() {
            return Err(MtdError::PowerCut);
        }
        self.numbers_of(block).take(1).for_each(|number| array.mark_bad(number));
        self.bad.borrow_mut()[block as usize] = true;
        Ok(())
    }

    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        let array = self.array.borrow();
        let part_bytes = u64::from(self.hierarchy.page_bytes);
        let (mut at, mut rest) = (at, data);
        while !rest.is_empty() {
            let column = (at % part_bytes) as usize;
            let (part, after) = rest.split_at_mut(rest.len().min(part_bytes as usize - column));
            let plane = (at % u64::from(self.page_bytes()) / part_bytes) as u32;
            match array.peek_data(self.in_plane(self.place_of(at)?, plane)) {
                Some(cells) => part.copy_from_slice(&cells[column..column + part.len()]),
                None => part.fill(0xFF),
            }
            (at, rest) = (at + part.len() as u64, after);
        }
        Ok(())
    }

    fn look_at_written_pages(&self, at: u64) -> Result<u32, MtdError> {
        let mut page = vec![0; self.page_bytes() as usize];
        let start = u64::from(self.block_of(at)?) * self.block_bytes();
        for index in (0..self.pages_per_block()).rev() {
            self.look(start + u64::from(index) * page.len() as u64, &mut page)?;
            if !is_erased(&page) {
                return Ok(index + 1);
            }
        }
        Ok(0)
    }

    fn traffic(&self) -> Traffic {
        self.traffic.get()
    }

    fn erase_counts(&self) -> Vec<u32> {
        let array = self.array.borrow();
        let first = |block| self.numbers_of(block).next().unwrap_or(0);
        (0..self.hierarchy.blocks_per_plane).map(|block| array.erase_counts()[first(block) as usize]).collect()
    }

    fn formatting_erases(&self) -> Vec<u32> {
        self.formatting_erases.borrow().to_vec()
    }

    fn programmed_pages(&self) -> Vec<u32> {
        let array = self.array.borrow();
        let of = |block| self.numbers_of(block).map(|number| array.programmed_pages(number)).sum::<u32>();
        (0..self.hierarchy.blocks_per_plane).map(|block| of(block) / self.hierarchy.planes_per_die).collect()
    }

    fn cut_power_after(&self, operations: u64, torn: Torn) {
        self.array.borrow_mut().cut_power_after(operations, torn);
    }

    fn is_on(&self) -> bool {
        self.array.borrow().is_on()
    }

    fn restart(&self) {
        self.array.borrow_mut().power_on();
        self.read_marks();
    }

    fn modifying_operations(&self) -> u64 {
        self.array.borrow().modifying_operations()
    }

    fn snapshot(&self) -> MediumImage {
        MediumImage::Chip(Box::new(self.array.borrow().snapshot()))
    }

    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        let MediumImage::Chip(chip) = held else { return Err(RestoreError::NotOfChip) };
        self.array.borrow_mut().restore(chip)?;
        self.read_marks();
        Ok(())
    }
}
