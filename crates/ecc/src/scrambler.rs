//! The sequence that Allwinner's controller adds to pages, so that no pattern of data is hard on the cells: a shift register of 15 bits
//! (x^15 + x^14 + 1, 8 steps a byte), which begins anew with each sector from the number of the page in its block.
//!
//! The numbers are those of `default_scrambler_seeds` in U-Boot's tools/sunxi-spl-image-builder.c, which Linux's
//! drivers/mtd/nand/raw/sunxi_nand.c has as well.

const SEEDS: [u16; 128] = [
    0x2b75, 0x0bd0, 0x5ca3, 0x62d1, 0x1c93, 0x07e9, 0x2162, 0x3a72, 0x0d67, 0x67f9, 0x1be7, 0x077d, 0x032f, 0x0dac,
    0x2716, 0x2436, 0x7922, 0x1510, 0x3860, 0x5287, 0x480f, 0x4252, 0x1789, 0x5a2d, 0x2a49, 0x5e10, 0x437f, 0x4b4e,
    0x2f45, 0x216e, 0x5cb7, 0x7130, 0x2a3f, 0x60e4, 0x4dc9, 0x0ef0, 0x0f52, 0x1bb9, 0x6211, 0x7a56, 0x226d, 0x4ea7,
    0x6f36, 0x3692, 0x38bf, 0x0c62, 0x05eb, 0x4c55, 0x60f4, 0x728c, 0x3b6f, 0x2037, 0x7f69, 0x0936, 0x651a, 0x4ceb,
    0x6218, 0x79f3, 0x383f, 0x18d9, 0x4f05, 0x5c82, 0x2912, 0x6f17, 0x6856, 0x5938, 0x1007, 0x61ab, 0x3e7f, 0x57c2,
    0x542f, 0x4f62, 0x7454, 0x2eac, 0x7739, 0x42d4, 0x2f90, 0x435a, 0x2e52, 0x2064, 0x637c, 0x66ad, 0x2c90, 0x0bad,
    0x759c, 0x0029, 0x0986, 0x7126, 0x1ca7, 0x1605, 0x386a, 0x27f5, 0x1380, 0x6d75, 0x24c3, 0x0f8e, 0x2b7a, 0x1418,
    0x1fd1, 0x7dc1, 0x2d8e, 0x43af, 0x2267, 0x7da3, 0x4e3d, 0x1338, 0x50db, 0x454d, 0x764d, 0x40a3, 0x42e6, 0x262b,
    0x2d2e, 0x1aea, 0x2e17, 0x173d, 0x3a6e, 0x71bf, 0x25f9, 0x0a5d, 0x7c57, 0x0fbe, 0x46ce, 0x4939, 0x6b17, 0x37bb,
    0x3e91, 0x76db,
];

/// So many pages one after the other have numbers of their own.
pub const PAGES_MAX: usize = SEEDS.len();

/// A step: what leaves at the bottom and the bit above it come in at the top.
fn stepped(state: u16) -> u16 {
    state >> 1 | ((state ^ state >> 1) & 1) << 14
}

/// Eight steps at once: no bit that comes in leaves again within them.
fn stepped_by_8(state: u16) -> u16 {
    state >> 8 | ((state ^ state >> 1) & 0xFF) << 7
}

/// What is added to the bytes of a sector of a page.
pub fn sequence(page: usize) -> impl Iterator<Item = u8> {
    let first = (0..15).fold(SEEDS[page % PAGES_MAX], |state, _| stepped(state));
    std::iter::successors(Some(first), |state| Some(stepped_by_8(*state))).map(|state| state as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the functions of U-Boot's tool add to a sector of 1072 B: the first bytes, and all of them as a sum.
    #[test]
    fn the_sequence_is_that_of_u_boot() {
        let wanted = [
            (0, 0xcf7e_d420_5f58_383a, 2_437_159_761),
            (1, 0x380e_9284_6da3_6db9, 1_050_948_297),
            (127, 0xb6cd_b6d5_b6df_36d8, 2_103_761_253),
        ];
        for (page, first, sum) in wanted {
            let bytes: Vec<u8> = sequence(page).take(1072).collect();
            let begins: u64 = bytes[..8].iter().fold(0, |all, &byte| all << 8 | u64::from(byte));
            let all = bytes.iter().fold(0u32, |all, &byte| all.wrapping_mul(31).wrapping_add(u32::from(byte)));
            assert_eq!((begins, all), (first, sum), "page {page}");
        }
    }
}
