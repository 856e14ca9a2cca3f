//! Bit packing of LPT nodes, and their check sum.
//!
//! Follows `fs/ubifs/lpt.c` (`pack_bits`, `ubifs_unpack_bits`): fields follow each other without regard to bytes, least
//! significant bit first.

/// CRC-16 of the kernel (`lib/crc16.c`) that begins with all ones.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xFFFF, |crc, &byte| (crc >> 8) ^ CRC16[usize::from((crc as u8) ^ byte)])
}

const CRC16: [u16; 256] = {
    let mut table = [0u16; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u16;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xA001 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// Appends fields to a zeroed buffer.
pub struct Packer<'a> {
    bytes: &'a mut [u8],
    bit: usize,
}

impl<'a> Packer<'a> {
    pub fn new(bytes: &'a mut [u8]) -> Self {
        bytes.fill(0);
        Packer { bytes, bit: 0 }
    }

    pub fn put(&mut self, value: u32, bits: u32) {
        let mut value = u64::from(value) & ((1u64 << bits) - 1);
        let mut left = bits as usize;
        while left > 0 {
            let (byte, shift) = (self.bit / 8, self.bit % 8);
            let count = left.min(8 - shift);
            self.bytes[byte] |= ((value & ((1 << count) - 1)) as u8) << shift;
            value >>= count;
            self.bit += count;
            left -= count;
        }
    }
}

/// Takes fields out of a buffer; beyond its end everything is zero.
pub struct Unpacker<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl<'a> Unpacker<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Unpacker { bytes, bit: 0 }
    }

    pub fn take(&mut self, bits: u32) -> u32 {
        let mut value = 0u64;
        let mut done = 0;
        while done < bits as usize {
            let (byte, shift) = (self.bit / 8, self.bit % 8);
            let count = (bits as usize - done).min(8 - shift);
            let piece = u64::from(self.bytes.get(byte).copied().unwrap_or(0) >> shift) & ((1 << count) - 1);
            value |= piece << done;
            done += count;
            self.bit += count;
        }
        value as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_went_in() {
        let fields = [(1, 4), (0x1FFF, 14), (0, 1), (0xFFFF_FFFF, 32), (5, 3), (129_024, 17), (1, 1)];
        let mut bytes = [0; 16];
        let mut packer = Packer::new(&mut bytes);
        for (value, bits) in fields {
            packer.put(value, bits);
        }
        let mut unpacker = Unpacker::new(&bytes);
        for (value, bits) in fields {
            assert_eq!(unpacker.take(bits), value);
        }
    }

    #[test]
    fn the_check_sum_is_the_one_of_the_kernel() {
        // CRC-16/MODBUS.
        assert_eq!(crc16(b"123456789"), 0x4B37);
    }
}
