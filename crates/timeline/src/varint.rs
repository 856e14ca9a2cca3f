//! Whole numbers of any length, as protocol buffers and Thrift write them.

/// Appends `value` in groups of seven bits, the lowest first; all but the last have the highest bit.
pub fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::push_varint;

    #[test]
    fn the_lowest_bits_come_first() {
        let mut bytes = Vec::new();
        for value in [0, 127, 128, 300, u64::MAX] {
            push_varint(&mut bytes, value);
        }
        let longest = [[0xFF; 9].as_slice(), &[1]].concat();
        assert_eq!(bytes, [[0, 127, 0x80, 1, 0xAC, 2].as_slice(), &longest].concat());
    }
}
