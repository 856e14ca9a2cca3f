//! The software Hamming code of Linux: 3 ECC bytes for 256 data bytes, corrects one bit.
//!
//! The code and its byte order are those of `drivers/mtd/nand/ecc-sw-hamming.c` (without `sm_order`), the places in the
//! OOB area those of `drivers/mtd/nand/ecc.c` (small page, and large page Hamming layout).

/// Data bytes that one code covers.
pub const STEP_BYTES: usize = 256;
/// ECC bytes of a step.
pub const CODE_BYTES: usize = 3;

/// ECC bytes of [`STEP_BYTES`] data bytes.
///
/// The code consists of parities over halves of the data: for each of the 8 bits of a byte's index, one over the bytes
/// whose index has the bit and one over the others, and likewise for the 3 bits of a bit's number within its byte. They
/// are stored inverted, so that the code of erased bytes is erased too.
pub fn code(step: &[u8]) -> [u8; CODE_BYTES] {
    // The XOR of the indices of all bytes with odd parity: its bit k is the parity over the bytes whose index has bit
    // k.
    let mut with_bit = 0u8;
    let mut columns = 0u8;
    let mut odd_bytes = 0u8;
    for (index, &byte) in step.iter().enumerate() {
        columns ^= byte;
        if byte.count_ones() & 1 == 1 {
            with_bit ^= index as u8;
            odd_bytes ^= 1;
        }
    }
    let without_bit = if odd_bytes == 1 { !with_bit } else { with_bit };

    let (low, high) = (interleave(with_bit, without_bit), interleave(with_bit >> 4, without_bit >> 4));
    let parity = |mask: u8| ((columns & mask).count_ones() & 1) as u8;
    let column_code = parity(0xF0) << 7
        | parity(0x0F) << 6
        | parity(0xCC) << 5
        | parity(0x33) << 4
        | parity(0xAA) << 3
        | parity(0x55) << 2;
    [!high, !low, !column_code]
}

/// What became of a step when its ECC bytes were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    Right,
    Corrected,
    /// More bits are wrong than the code corrects.
    Hopeless,
}

/// Corrects the wrong bit of a step by its ECC bytes (`ecc_sw_hamming_correct`): each parity pair then differs in one half. One
/// bit of difference is a wrong bit of the ECC bytes themselves.
pub fn correct(step: &mut [u8], stored: [u8; CODE_BYTES]) -> Checked {
    let code = code(step);
    let [high, low, column] = [0, 1, 2].map(|at| code[at] ^ stored[at]);
    let is_one_of_each = |pairs: u8, mask: u8| (pairs ^ pairs >> 1) & mask == mask;
    match (high.count_ones() + low.count_ones() + column.count_ones(), column & 0b11) {
        (0, _) => Checked::Right,
        (11, 0) if is_one_of_each(high, 0x55) && is_one_of_each(low, 0x55) && is_one_of_each(column, 0x54) => {
            let odd_places = |pairs: u8| (0..4).fold(0, |value, k| value | (pairs >> (2 * k + 1) & 1) << k);
            let index = usize::from(odd_places(high)) << 4 | usize::from(odd_places(low));
            step[index] ^= 1 << odd_places(column >> 2);
            Checked::Corrected
        }
        (1, _) => Checked::Right,
        _ => Checked::Hopeless,
    }
}

/// ECC bytes that Linux finds two bits away from those of the data: it reports the step as lost and leaves the data as
/// they are.
///
/// Erased ECC bytes would not do: the halves of each of their parity pairs are equal, so Linux takes the step for one
/// with a single wrong bit whenever its data hold an odd number of ones, and "corrects" a bit that was right.
pub fn uncorrectable_code(step: &[u8]) -> [u8; CODE_BYTES] {
    let [a, b, c] = code(step);
    [a ^ 0b11, b, c]
}

/// Puts bits 0..4 of `odd` on the odd places of a byte and those of `even` on the even places.
fn interleave(odd: u8, even: u8) -> u8 {
    (0..4).fold(0, |byte, k| byte | (odd >> k & 1) << (2 * k + 1) | (even >> k & 1) << (2 * k))
}

/// Offset of ECC byte `index` of a page in its OOB area; `None` when Linux has no Hamming layout for this size.
pub fn oob_place(page_bytes: u32, oob_bytes: u32, index: u32) -> Option<u32> {
    let total = page_bytes / STEP_BYTES as u32 * CODE_BYTES as u32;
    let place = match oob_bytes {
        16 if page_bytes == 512 => {
            if index < 4 {
                index
            } else {
                index + 2
            }
        }
        64 if 40 + total <= 64 => 40 + index,
        128 if 80 + total <= 128 => 80 + index,
        _ => return None,
    };
    (index < total).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random steps: Knuth's 64-bit linear congruential generator, its top byte.
    fn random_steps(count: usize) -> Vec<Vec<u8>> {
        let mut state = 1u64;
        let mut next = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        (0..count).map(|_| (0..STEP_BYTES).map(|_| next()).collect()).collect()
    }

    /// What the kernel's own `ecc_sw_hamming_calculate` returned for the same data.
    #[test]
    fn agrees_with_the_kernel() {
        assert_eq!(code(&[0xFF; 256]), [0xFF, 0xFF, 0xFF]);
        assert_eq!(code(&[0x00; 256]), [0xFF, 0xFF, 0xFF]);
        let mut first_bit = [0; 256];
        first_bit[0] = 0x01;
        assert_eq!(code(&first_bit), [0xAA, 0xAA, 0xAB]);
        let mut last_bit = [0; 256];
        last_bit[255] = 0x80;
        assert_eq!(code(&last_bit), [0x55, 0x55, 0x57]);
        let steps = random_steps(2);
        assert_eq!(code(&steps[0]), [0x5A, 0x66, 0x97]);
        assert_eq!(code(&steps[1]), [0xC3, 0xCF, 0x0F]);
    }

    #[test]
    fn every_single_flip_is_corrected_and_two_are_not() {
        let step = &random_steps(1)[0];
        let good = code(step);
        for bit in 0..STEP_BYTES * 8 {
            let mut flipped = step.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(correct(&mut flipped.clone(), code(&flipped)), Checked::Right);
            let twice = (bit + 777) % (STEP_BYTES * 8);
            let mut both = flipped.clone();
            both[twice / 8] ^= 1 << (twice % 8);
            assert_eq!(correct(&mut both, good), Checked::Hopeless);
            assert_eq!((correct(&mut flipped, good), &flipped), (Checked::Corrected, step));
        }
        let of_code = [good[0], good[1] ^ 0x10, good[2]];
        assert_eq!(correct(&mut step.clone(), of_code), Checked::Right);
    }

    /// The rule of `ecc_sw_hamming_correct`: no difference, one half of every pair (a data bit), one bit (an ECC bit).
    #[test]
    fn a_lost_step_is_neither_right_nor_correctable() {
        for step in random_steps(20) {
            let (wanted, found) = (code(&step), uncorrectable_code(&step));
            let difference = [wanted[0] ^ found[0], wanted[1] ^ found[1], wanted[2] ^ found[2]];
            assert_eq!(difference.iter().map(|byte| byte.count_ones()).sum::<u32>(), 2);
            assert_ne!((difference[0] ^ difference[0] >> 1) & 0x55, 0x55);
        }
    }

    #[test]
    fn places_in_the_oob_area() {
        assert_eq!(
            (oob_place(2048, 64, 0), oob_place(2048, 64, 23), oob_place(2048, 64, 24)),
            (Some(40), Some(63), None)
        );
        assert_eq!((oob_place(4096, 128, 0), oob_place(4096, 128, 47)), (Some(80), Some(127)));
        assert_eq!((oob_place(512, 16, 3), oob_place(512, 16, 4)), (Some(3), Some(6)));
        assert_eq!((oob_place(4096, 64, 0), oob_place(4096, 224, 0)), (None, None));
    }
}
