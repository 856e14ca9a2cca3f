//! The check sum of eight bits that Zephyr's stores have over their entries.

/// The sum of the CCITT (polynomial 0x07), begun with all ones.
pub fn crc8(bytes: &[u8]) -> u8 {
    let shifted = |crc: u8, _| crc << 1 ^ if crc & 0x80 != 0 { 0x07 } else { 0 };
    bytes.iter().fold(0xFF, |crc, byte| (0..8).fold(crc ^ byte, shifted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_check_value_of_its_polynomial_and_begin() {
        assert_eq!(crc8(b"123456789"), 0xFB);
    }
}
