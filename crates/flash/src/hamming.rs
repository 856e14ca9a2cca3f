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
    // XOR of the indices of all bytes of odd parity: bit k is the parity over the bytes whose index has bit k.
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

/// Bits 0..4 of `odd` on the odd places of a byte, those of `even` on the even places.
fn interleave(odd: u8, even: u8) -> u8 {
    (0..4).fold(0, |byte, k| byte | (odd >> k & 1) << (2 * k + 1) | (even >> k & 1) << (2 * k))
}

/// Place of ECC byte `index` of a page in its OOB area; `None` when Linux has no Hamming layout for this size.
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
