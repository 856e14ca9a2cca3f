//! What a power cut leaves in NOR cells of the operation that it hits.
//!
//! A chip programs its bytes in order. It erases a block in three steps of its own (the "embedded algorithm" of data sheets):
//! it programs all bits to 0, so that all cells start alike, then takes the charge away, then repairs cells that lost too
//! much. Linux has met the first step (`nor_erase_prepare` of `drivers/mtd/ubi/io.c`): on a Spansion S29GL512N it begins at
//! the end of the block, so that a block whose erase was cut off begins with intact data.

use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

use crate::faults::below;

/// Programs the first bytes of `data`; of the next one some bits. Returns how many bytes were reached.
pub fn program(seed: u64, cells: &mut [u8], data: &[u8]) -> usize {
    let mut random = Pcg32::seed_from_u64(seed);
    let whole = below(&mut random, data.len().max(1) as u32) as usize;
    cells.iter_mut().zip(&data[..whole]).for_each(|(cell, byte)| *cell &= byte);
    if let (Some(cell), Some(byte)) = (cells.get_mut(whole), data.get(whole)) {
        *cell &= byte | random.next_u32() as u8;
    }
    whole
}

/// Leaves a block in one of the steps of an erase.
pub fn erase(seed: u64, cells: &mut [u8]) {
    let mut random = Pcg32::seed_from_u64(seed);
    let at = 1 + below(&mut random, cells.len() as u32 - 1) as usize;
    match below(&mut random, 3) {
        // Bits become 0, from the end or from the start.
        0 => cells[at..].fill(0),
        1 => cells[..at].fill(0),
        _ => lose_charge(&mut random, cells),
    }
}

/// Leaves a block whose bits had all become 0: none of its old content is left.
pub fn erase_late(seed: u64, cells: &mut [u8]) {
    lose_charge(&mut Pcg32::seed_from_u64(seed), cells);
}

/// The charge goes: hardly, half or nearly gone, so that few, half or nearly all bits read as 1. Some blocks read as if they were
/// erased.
fn lose_charge(random: &mut Pcg32, cells: &mut [u8]) {
    let rate = below(random, 5);
    for byte in cells.iter_mut() {
        let noise = random.next_u32();
        let some = noise as u8;
        let other = (noise >> 8) as u8;
        *byte = match rate {
            0 => some & other,
            1 => some,
            2 => some | other,
            // One byte of 256 has a bit that is 0.
            3 if other == 0 => !(1 << (some & 7)),
            _ => 0xFF,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_program_clears_only_bits_of_its_data_and_in_order() {
        for seed in 0..500 {
            let mut cells = [0xF7; 12];
            let reached = program(seed, &mut cells, &[0x3C; 12]);
            assert!(reached < 12);
            assert!(cells[..reached].iter().all(|&cell| cell == 0x34));
            assert!(cells[reached] | 0xF7 == 0xF7 && cells[reached] & 0x34 == 0x34);
            assert!(cells[reached + 1..].iter().all(|&cell| cell == 0xF7));
        }
    }

    /// All that chips are known to leave happens: old data at the start, at the end, noise, what reads as erased.
    #[test]
    fn a_torn_erase_leaves_each_of_its_steps() {
        let mut found = [0; 4];
        for seed in 0..200 {
            let mut cells = [0x5A; 256];
            erase(seed, &mut cells);
            let place = match (cells[0], cells[255]) {
                (0x5A, 0) => 0,
                (0, 0x5A) => 1,
                _ if cells.iter().all(|&cell| cell == 0xFF) => 2,
                _ => 3,
            };
            found[place] += 1;
        }
        assert!(found.iter().all(|&count| count > 5), "{found:?}");
        let mut cells = [0x5A; 4096];
        erase_late(7, &mut cells);
        assert!(cells.iter().filter(|&&cell| cell == 0x5A).count() < 4096 / 8);
    }
}
