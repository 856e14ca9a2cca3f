//! The stream as it is written: bits from the lowest on, in a buffer of 16 as zlib has it, then bytes that wait for room.

const BUFFER_BITS: u32 = 16;
/// Code and length of the end of a block with fixed codes (RFC 1951, 3.2.6).
const FIXED_END: (u16, u32) = (0, 7);
/// The head of a block with fixed codes that is not the last one: three bits.
pub const FIXED_BLOCK: u16 = 1 << 1;
pub const BLOCK_HEAD_BITS: u32 = 3;

#[derive(Default)]
pub struct Bits {
    waiting: Vec<u8>,
    given_bytes: usize,
    buffer: u16,
    valid_bits: u32,
    /// Bits of the end of the last block, by which a decompressor may have to look ahead.
    last_end_bits: u32,
}

impl Bits {
    pub fn reset(&mut self) {
        self.waiting.clear();
        (self.given_bytes, self.buffer, self.valid_bits) = (0, 0, 0);
        self.last_end_bits = FIXED_END.1 + 1;
    }

    /// Appends `count` bits, at most 16. The buffer may stay full: zlib hands it on with the next bits.
    pub fn push(&mut self, value: u16, count: u32) {
        debug_assert!(count <= BUFFER_BITS && u32::from(value) >> count == 0, "{value:#x} has more than {count} bits");
        let both = u32::from(self.buffer) | u32::from(value) << self.valid_bits;
        self.buffer = both as u16;
        self.valid_bits += count;
        if self.valid_bits > BUFFER_BITS {
            self.waiting.extend_from_slice(&self.buffer.to_le_bytes());
            self.buffer = (both >> BUFFER_BITS) as u16;
            self.valid_bits -= BUFFER_BITS;
        }
    }

    /// Appends whole bytes behind the bits, which are filled up with zeros.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.fill_byte();
        self.waiting.extend_from_slice(bytes);
    }

    /// Fills the last byte with zeros (`bi_windup`).
    pub fn fill_byte(&mut self) {
        let whole = self.valid_bits.div_ceil(8) as usize;
        self.waiting.extend_from_slice(&self.buffer.to_le_bytes()[..whole]);
        (self.buffer, self.valid_bits) = (0, 0);
    }

    /// Says how many bits end the block that was just written.
    pub fn block_ends_with(&mut self, bits: u32) {
        self.last_end_bits = bits;
    }

    /// Ends a piece with an empty block, so that a decompressor has enough bits to see its end (`_tr_align`). Old
    /// decompressors look nine bits ahead, so sometimes it takes two.
    pub fn align(&mut self) {
        self.empty_block();
        if 1 + self.last_end_bits + BLOCK_HEAD_BITS + FIXED_END.1 - self.valid_bits < 9 {
            self.empty_block();
        }
        self.last_end_bits = FIXED_END.1;
    }

    fn empty_block(&mut self) {
        self.push(FIXED_BLOCK, BLOCK_HEAD_BITS);
        self.push(FIXED_END.0, FIXED_END.1);
        // Whole bytes leave the buffer (`bi_flush`).
        while self.valid_bits >= 8 {
            self.waiting.push(self.buffer as u8);
            self.buffer >>= 8;
            self.valid_bits -= 8;
        }
    }

    pub fn has_bytes(&self) -> bool {
        self.given_bytes < self.waiting.len()
    }

    /// Moves waiting bytes to `out` until that is `end` bytes long.
    pub fn give(&mut self, out: &mut Vec<u8>, end: usize) {
        let count = (self.waiting.len() - self.given_bytes).min(end - out.len());
        out.extend_from_slice(&self.waiting[self.given_bytes..self.given_bytes + count]);
        self.given_bytes += count;
    }
}
