//! What a read delivers: here, and nowhere else, it is decided which bits of a read are flipped.
//!
//! The cells say what was programmed and what no ECC can correct any more; the faults say which bits flip today, and the
//! model of ageing which cells are wrong by now. Both also say which programs and erases fail.

use ffslab_sim::Sim;

use crate::ageing::{AgeingState, Read, WornOut};
use crate::cells::{disturb, Cells, DAMAGE_UNIT_BYTES};
use crate::faults::FaultState;

/// Returned by a read instead of a number of bit flips when no ECC can correct the data: the page is a grave page, or a
/// program or erase of it was cut off.
pub const DAMAGED: u32 = u32::MAX;

/// What one read moves over the bus: a part of the data area and the bytes that follow it.
pub struct Moved<'a> {
    pub page: u32,
    pub now_ns: u64,
    pub column: u32,
    pub data: &'a mut [u8],
    /// Further bytes on the bus: OOB or ECC bytes.
    pub tail_bytes: u32,
    /// Buffer for those bytes, if the caller wants them.
    pub tail: Option<&'a mut [u8]>,
}

#[derive(Default)]
pub struct Reading {
    pub faults: Option<Box<FaultState>>,
    /// `None`: cells hold what was programmed, however old.
    pub ageing: Option<Box<AgeingState>>,
    /// Bits that were flipped in the last read.
    pub flipped_bits: Vec<u32>,
}

impl Reading {
    /// Whether every read gives what is in the cells. Asked before each read: it forgets the flips of the last one.
    #[inline]
    pub fn is_faithful(&mut self, cells: &Cells) -> bool {
        self.flipped_bits.clear();
        self.faults.is_none() && self.ageing.is_none() && !cells.any_damage()
    }

    /// Flips bits of what a read has moved. Returns their number, or [`DAMAGED`].
    #[cold]
    pub fn disturb(&mut self, cells: &Cells, moved: Moved) -> u32 {
        let Moved { page, now_ns, column, data, tail_bytes, mut tail } = moved;
        if let Some(unstable) = cells.unstable(page) {
            let reads = cells.blocks[(page / cells.geometry.pages_per_block) as usize].reads_since_erase;
            if let Some(mut noise) = unstable.noise(page, reads) {
                if let Some(tail) = tail.as_deref_mut().filter(|_| unstable.oob) {
                    disturb(&mut noise, tail);
                }
                if unstable.units & units(column, data.len()) != 0 {
                    disturb(&mut noise, data);
                    return DAMAGED;
                }
            }
        }
        if cells.data(page).is_none() && cells.oob(page).is_none() {
            return 0;
        }
        let mut answer = 0;
        if cells.damage(page) & units(column, data.len()) != 0 {
            answer = DAMAGED;
        }
        let data_bits = data.len() as u32 * 8;
        if let Some(faults) = &mut self.faults {
            if faults.read_is_noise(page) {
                faults.noise(data);
                if let Some(tail) = tail {
                    faults.noise(tail);
                }
                return DAMAGED;
            }
            faults.choose_flips(data_bits + tail_bytes * 8, &mut self.flipped_bits);
        }
        if let Some(ageing) = &self.ageing {
            let block = (page / cells.geometry.pages_per_block) as usize;
            let read = Read {
                page,
                erases: cells.erase_counts[block],
                // This read disturbs the later ones.
                reads: cells.blocks[block].reads_since_erase - 1,
                now_ns,
                column,
                data_bytes: data.len() as u32,
                whole_oob: tail_bytes == cells.geometry.oob_bytes,
                code_in_oob: tail_bytes == cells.geometry.oob_bytes || tail_bytes == 0,
                has_data: cells.data(page).is_some(),
            };
            ageing.flip(&read, &mut self.flipped_bits);
        }
        for &bit in &self.flipped_bits {
            if bit < data_bits {
                data[bit as usize / 8] ^= 1 << (bit % 8);
            } else if let Some(tail) = &mut tail {
                tail[(bit - data_bits) as usize / 8] ^= 1 << (bit % 8);
            }
        }
        self.add_inherited(cells, page, column, data_bits, tail_bytes);
        if answer == DAMAGED {
            DAMAGED
        } else {
            self.flipped_bits.len() as u32
        }
    }

    /// What a copy-back took along is wrong in the cells already. A bit that flips again today is right.
    fn add_inherited(&mut self, cells: &Cells, page: u32, column: u32, data_bits: u32, tail_bytes: u32) {
        let page_bits = cells.geometry.page_bytes * 8;
        let moved = column * 8..column * 8 + data_bits;
        for &bit in cells.inherited(page) {
            let place = match bit.checked_sub(page_bits) {
                None if moved.contains(&bit) => bit - moved.start,
                // Of other tails it is not known which bytes they are.
                Some(of_oob) if tail_bytes == cells.geometry.oob_bytes => data_bits + of_oob,
                _ => continue,
            };
            match self.flipped_bits.iter().position(|&flipped| flipped == place) {
                Some(index) => drop(self.flipped_bits.remove(index)),
                None => self.flipped_bits.push(place),
            }
        }
    }

    /// The status of an erase; `erases`: of its block, this one included.
    #[inline]
    pub fn erase_fails(&mut self, block: u32, erases: u32) -> bool {
        self.faults.as_mut().is_some_and(|faults| faults.erase_fails(block))
            || self.ageing.as_ref().is_some_and(|state| state.worn_out(block, erases) == Some(WornOut::Erases))
    }

    /// The status of a program. Whoever ages notes the time of it.
    #[inline(always)]
    pub fn program_fails(&mut self, page: u32, cells: &Cells, sim: &Sim) -> bool {
        (self.faults.is_some() || self.ageing.is_some()) && self.weak_program_fails(page, cells, sim)
    }

    #[cold]
    fn weak_program_fails(&mut self, page: u32, cells: &Cells, sim: &Sim) -> bool {
        let is_weak = self.faults.as_mut().is_some_and(|faults| faults.program_fails(page));
        let Some(ageing) = &mut self.ageing else { return is_weak };
        let pages_per_block = cells.geometry.pages_per_block;
        let erases = cells.erase_counts[(page / pages_per_block) as usize];
        ageing.programmed(page, erases, sim.now_ns());
        is_weak || ageing.program_fails(page, pages_per_block, erases)
    }
}

/// The damage units that `bytes` bytes from `column` touch.
fn units(column: u32, bytes: usize) -> u64 {
    if bytes == 0 {
        return 0;
    }
    let first = column / DAMAGE_UNIT_BYTES;
    let last = (column + bytes as u32 - 1) / DAMAGE_UNIT_BYTES;
    (u64::MAX >> (63 - last)) & (u64::MAX << first)
}
