//! What a read delivers: here, and nowhere else, it is decided which bits of a read are flipped.
//!
//! The cells say what was programmed and what no ECC can correct any more; the faults say which bits flip today. Whoever
//! lets a medium age adds it here, where page, block (with its erases and its reads) and generator are at hand.

use crate::cells::{Cells, DAMAGE_UNIT_BYTES};
use crate::faults::FaultState;

/// Returned by a read instead of a number of bit flips when no ECC can correct the data: the page is a grave page, or a
/// program or erase of it was cut off.
pub const DAMAGED: u32 = u32::MAX;

/// What one read moves over the bus: a part of the data area and the bytes that follow it.
pub struct Moved<'a> {
    pub page: u32,
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
    /// Bits that were flipped in the last read.
    pub flipped_bits: Vec<u32>,
}

impl Reading {
    /// Whether every read gives what is in the cells. Asked before each read: it forgets the flips of the last one.
    #[inline]
    pub fn is_faithful(&mut self, cells: &Cells) -> bool {
        self.flipped_bits.clear();
        self.faults.is_none() && !cells.any_damage()
    }

    /// Flips bits of what a read has moved. Returns their number, or [`DAMAGED`].
    #[cold]
    pub fn disturb(&mut self, cells: &Cells, moved: Moved) -> u32 {
        let Moved { page, column, data, tail_bytes, tail } = moved;
        if cells.data(page).is_none() && cells.oob(page).is_none() {
            return 0;
        }
        let mut answer = 0;
        if cells.damage(page) & units(column, data.len()) != 0 {
            answer = DAMAGED;
        }
        let Some(faults) = &mut self.faults else { return answer };
        if faults.read_is_noise(page) {
            faults.noise(data);
            if let Some(tail) = tail {
                faults.noise(tail);
            }
            return DAMAGED;
        }
        let data_bits = data.len() as u32 * 8;
        faults.choose_flips(data_bits + tail_bytes * 8, &mut self.flipped_bits);
        let mut tail = tail;
        for &bit in &self.flipped_bits {
            if bit < data_bits {
                data[bit as usize / 8] ^= 1 << (bit % 8);
            } else if let Some(tail) = &mut tail {
                tail[(bit - data_bits) as usize / 8] ^= 1 << (bit % 8);
            }
        }
        if answer == DAMAGED {
            DAMAGED
        } else {
            self.flipped_bits.len() as u32
        }
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
