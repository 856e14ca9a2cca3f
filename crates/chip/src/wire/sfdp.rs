//! The table in which serial NOR describes itself (SFDP, JESD216B): its header, and the basic table of sixteen words.
//!
//! What a profile says stands in it: size, ways to read, erases with their times, the page, suspends. **Leaves out.** The tables of
//! vendors and of four-byte commands; modes of four lines for commands.

use super::identity;
use ffslab_profiles::{SpiMode, SpiNorPart};

/// Where the basic table begins.
const BASIC_AT: usize = 0x30;
const WORDS: usize = 16;

/// The whole area from address 0 on.
pub(super) fn of(id: &[u8], part: &SpiNorPart) -> Vec<u8> {
    let mut area = vec![0xFF; BASIC_AT];
    area[..8].copy_from_slice(b"SFDP\x06\x01\x00\xFF");
    area[8..16].copy_from_slice(&[0x00, 0x06, 0x01, WORDS as u8, BASIC_AT as u8, 0x00, 0x00, 0xFF]);
    basic(id, part).iter().for_each(|word| area.extend_from_slice(&word.to_le_bytes()));
    area
}

fn basic(id: &[u8], part: &SpiNorPart) -> [u32; WORDS] {
    let size = u64::from(part.array.erase_block_bytes) * u64::from(part.array.blocks);
    let is_large = size > 1 << 24;
    let has = |mode: SpiMode| part.reads.iter().any(|read| read.mode == mode);
    let bit = |is_set: bool, at: u32| u32::from(is_set) << at;
    let small = part.small_erase_ns.is_some();
    // Dummy clocks, none of them for mode bits, and the opcode.
    let read = |mode: SpiMode, opcode: u32| {
        part.reads.iter().find(|read| read.mode == mode).map_or(0, |read| read.dummy_cycles & 0x1F | opcode << 8)
    };
    let lines = bit(has(SpiMode::S112), 16)
        | bit(is_large, 17)
        | bit(has(SpiMode::S122), 20)
        | bit(has(SpiMode::S144), 21)
        | bit(has(SpiMode::S114), 22);
    let erase = |bytes: u32, opcode: u32| bytes.trailing_zeros() | opcode << 8;
    let (first, second) = if small { (erase(4 << 10, 0x20), erase(32 << 10, 0x52)) } else { (0xFF00, 0xFF00) };
    [
        if small { 0xFF80_20E5 } else { 0xFF80_FFE7 } | lines,
        (size * 8 - 1) as u32,
        read(SpiMode::S144, 0xEB) | read(SpiMode::S114, 0x6B) << 16,
        read(SpiMode::S112, 0x3B) | read(SpiMode::S122, 0xBB) << 16,
        0xFFFF_FFEE,
        0xFF00_FFFF,
        0xFF00_FFFF,
        first | second << 16,
        erase(part.array.erase_block_bytes, 0xD8) | 0xFF00 << 16,
        erase_times(part),
        program_times(part),
        suspends(part.array.erase_suspend),
        0x757A_757A,
        // Powered down by B9h, up again by ABh after 3 us; the status register is polled.
        0xB9 << 23 | 0xAB << 15 | 1 << 13 | 2 << 8 | if id[0] == identity::MICRON_NOR { 0xFF } else { 0xF7 },
        identity::quad_enable(id) << 20,
        // 66h and 99h reset; longer addresses by B7h, shorter ones by E9h.
        0x1000 | 0x80 | 0x01 | if is_large { 1 << 24 | 1 << 14 } else { 0 },
    ]
}

/// A time in units of which the table has some: their number less one, and which.
fn coded(ns: u64, units_ns: &[u64], count_bits: u32) -> u32 {
    let most = 1u64 << count_bits;
    let fits = |&(_, unit): &(usize, &u64)| ns.div_ceil(*unit) <= most;
    let (which, unit) =
        units_ns.iter().enumerate().find(fits).unwrap_or((units_ns.len() - 1, &units_ns[units_ns.len() - 1]));
    let count = ns.div_ceil(*unit).clamp(1, most) - 1;
    count as u32 | (which as u32) << count_bits
}

const MS: u64 = 1_000_000;

fn erase_times(part: &SpiNorPart) -> u32 {
    let units = [MS, 16 * MS, 128 * MS, 1_000 * MS];
    let block = coded(part.array.erase_ns, &units, 5);
    let (small, half) = match part.small_erase_ns {
        Some(ns) => (coded(ns, &units, 5), block),
        None => (0, 0),
    };
    // The longest time is so many times the typical one: 2 (n + 1).
    let most = part.array.longest.erase_ns.unwrap_or(part.array.erase_ns * 4);
    let times = most.div_ceil(2 * part.array.erase_ns).clamp(1, 16) - 1;
    times as u32 | small << 4 | half << 11 | block << 18
}

fn program_times(part: &SpiNorPart) -> u32 {
    let page = coded(part.program_ns, &[8_000, 64_000], 5);
    let byte = coded(part.program_byte_ns, &[1_000, 8_000], 4);
    let further = part.program_ns.saturating_sub(part.program_byte_ns) / u64::from(part.program_page_bytes.max(1));
    let further = coded(further, &[1_000, 8_000], 4);
    let chip =
        coded(part.array.erase_ns * u64::from(part.array.blocks), &[16 * MS, 256 * MS, 4_000 * MS, 64_000 * MS], 5);
    0x8000_0003 | part.program_page_bytes.trailing_zeros() << 4 | page << 8 | byte << 14 | further << 19 | chip << 24
}

/// 20 us until a suspend works.
fn suspends(can: bool) -> u32 {
    if !can {
        return 0x8000_0000 | 0x100;
    }
    let latency = coded(20_000, &[128, 1_000, 8_000, 64_000], 5);
    0xE2 | 0x100 | latency << 13 | latency << 24
}

#[cfg(test)]
mod tests {
    use super::{coded, of, MS};
    use ffslab_profiles::Profile;
    use std::path::Path;

    /// Read as Linux does (`spi_nor_parse_bfpt` of `drivers/mtd/spi-nor/sfdp.c`).
    #[test]
    fn a_driver_finds_what_the_profile_says() {
        let profile = Profile::load("luckfox-pico-max", Some("w25q128jv"), None, Path::new(".")).unwrap();
        let area = of(&[0xEF, 0x40, 0x18], profile.part.spi_nor().unwrap());
        assert_eq!((&area[..4], area[11], area[12], area.len()), (&b"SFDP"[..], 16, 0x30, 0x30 + 64));
        let word = |n: usize| u32::from_le_bytes(area[0x30 + 4 * n..][..4].try_into().unwrap());
        assert_eq!((word(0) & 3, word(0) >> 8 & 0xFF, word(0) >> 17 & 3), (1, 0x20, 0));
        assert_eq!((word(0) >> 16 & 1, word(0) >> 20 & 7), (1, 0b100), "1-1-2 and 1-1-4");
        assert_eq!(u64::from(word(1)) + 1, 128 << 20);
        assert_eq!((word(2) >> 16, word(3) & 0xFFFF), (0x6B08, 0x3B08));
        assert_eq!((word(7), word(8) & 0xFFFF), (0x520F_200C, 0xD810));
        // 45 ms are 3 of 16 ms, 150 ms 10 of them.
        assert_eq!((word(9) >> 4 & 0x7F, word(9) >> 18 & 0x7F), (2 | 1 << 5, 9 | 1 << 5));
        assert_eq!((word(10) >> 4 & 0xF, word(12), word(14) >> 20 & 7), (8, 0x757A_757A, 5));
    }

    #[test]
    fn times_are_never_said_shorter_than_they_are() {
        assert_eq!(coded(MS, &[MS, 16 * MS], 5), 0);
        assert_eq!(coded(33 * MS, &[MS, 16 * MS], 5), 2 | 1 << 5);
        assert_eq!(coded(9_999 * MS, &[MS, 16 * MS], 5), 31 | 1 << 5);
    }
}
