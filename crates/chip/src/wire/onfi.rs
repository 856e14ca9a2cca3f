//! The parameter page in which NAND describes itself, raw and serial: 256 bytes with a CRC-16, and copies of it.
//!
//! From ONFI 1.0, "parameter page data structure definition" and "integrity CRC". Manufacturers of SPI NAND took the same page over.

use super::identity;
use ffslab_profiles::NandArray;

pub(super) const PAGE_BYTES: usize = 256;
/// Copies that stand one behind the other.
const COPIES: usize = 3;
const CRC_BEGIN: u16 = 0x4F4E;
const CRC_POLYNOMIAL: u16 = 0x8005;

/// The check sum of all bytes before it.
pub(super) fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(CRC_BEGIN, |crc, &byte| {
        (0..8).fold(
            crc ^ (u16::from(byte) << 8),
            |crc, _| {
                if crc & 0x8000 == 0 {
                    crc << 1
                } else {
                    crc << 1 ^ CRC_POLYNOMIAL
                }
            },
        )
    })
}

/// What a page says that is not in the profile of the cells.
pub(super) struct Said<'a> {
    pub id: &'a [u8],
    /// Name of the part.
    pub model: &'a str,
    pub row_cycles: u8,
    /// Optional commands: bit 2 features, bit 4 copy-back.
    pub optional: u16,
    /// Bits that somebody must correct in 512 bytes; 0: the chip does.
    pub ecc_bits: u8,
}

/// The page and its copies.
pub(super) fn pages(array: &NandArray, said: &Said) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    let spelled = |text: &str, count: usize| -> Vec<u8> {
        text.bytes().map(|byte| byte.to_ascii_uppercase()).chain(std::iter::repeat(b' ')).take(count).collect()
    };
    let geometry = array.geometry;
    let us = |ns: Option<u64>, typical_ns: u64| (ns.unwrap_or(typical_ns * 2).div_ceil(1_000)).min(65_535) as u16;
    put(0, b"ONFI");
    put(4, &2u16.to_le_bytes());
    let in_any_order = if array.rules.in_order { 0u16 } else { 4 };
    put(6, &in_any_order.to_le_bytes());
    put(8, &said.optional.to_le_bytes());
    put(32, &spelled(identity::vendor(said.id), 12));
    put(44, &spelled(said.model, 20));
    put(64, &said.id[..1]);
    put(80, &geometry.page_bytes.to_le_bytes());
    put(84, &(geometry.oob_bytes as u16).to_le_bytes());
    put(86, &512u32.to_le_bytes());
    put(90, &((geometry.oob_bytes / (geometry.page_bytes / 512)) as u16).to_le_bytes());
    put(92, &geometry.pages_per_block.to_le_bytes());
    put(96, &(geometry.blocks / array.dies).to_le_bytes());
    put(100, &[array.dies as u8, 2 << 4 | said.row_cycles, array.cell as u8 + 1]);
    put(103, &(array.bad_blocks_max.unwrap_or(geometry.blocks / 50) as u16).to_le_bytes());
    let (value, exponent) = endurance(array.endurance_erases.unwrap_or(0));
    put(105, &[value, exponent]);
    put(107, &[1]);
    put(110, &[array.rules.partial_programs_max.min(255) as u8]);
    put(112, &[said.ecc_bits, array.planes.trailing_zeros() as u8]);
    put(128, &[10]);
    put(129, &0x1Fu16.to_le_bytes());
    put(133, &us(array.longest.program_ns, array.program_ns).to_le_bytes());
    put(135, &us(array.longest.erase_ns, array.erase_ns).to_le_bytes());
    put(137, &us(array.longest.read_ns, array.read_ns).to_le_bytes());
    put(139, &100u16.to_le_bytes());
    let crc = crc16(&page[..PAGE_BYTES - 2]);
    page[PAGE_BYTES - 2..].copy_from_slice(&crc.to_le_bytes());
    page.repeat(COPIES)
}

/// A number and the power of ten that it is taken with.
fn endurance(erases: u32) -> (u8, u8) {
    let exponent = (0..9).find(|&exponent| erases / 10u32.pow(exponent) < 256).unwrap_or(0);
    ((erases / 10u32.pow(exponent)) as u8, exponent as u8)
}

#[cfg(test)]
mod tests {
    use super::crc16;

    /// That of no bytes is where it
    /// begins; one that is appended with its high byte first leaves nothing.
    #[test]
    fn a_check_sum_behind_its_bytes_leaves_nothing() {
        assert_eq!(crc16(&[]), 0x4F4E);
        let bytes = b"ONFI and what follows";
        let with = [&bytes[..], &crc16(bytes).to_be_bytes()].concat();
        assert_eq!(crc16(&with), 0);
        assert_ne!(crc16(b"ONFJ"), crc16(b"ONFI"));
    }
}
