//! What all chips on an SPI bus share: bytes go in, bytes come out, while the chip is selected.

/// One transfer: `sent` goes in first, then `taken` comes out.
pub(super) struct Transfer<'a> {
    pub sent: &'a [u8],
    pub taken: &'a mut [u8],
}

impl Transfer<'_> {
    /// The address that follows the command, high byte first; `None`: not all of it was sent.
    pub fn address(&self, bytes: usize) -> Option<u32> {
        let address = self.sent.get(1..=bytes)?;
        Some(address.iter().fold(0, |all, &byte| (all << 8) | u32::from(byte)))
    }

    /// What was sent behind so many bytes of command, address and dummies.
    pub fn data(&self, head: usize) -> &[u8] {
        self.sent.get(head..).unwrap_or(&[])
    }

    /// What comes out behind a head of so many bytes: how many bytes of it were clocked out while something was still sent, and room for
    /// those that are taken. While the head is not over nobody drives the line, and ones are read.
    pub fn answer(&mut self, head: usize) -> (usize, &mut [u8]) {
        let missing = head.saturating_sub(self.sent.len()).min(self.taken.len());
        let (dark, rest) = self.taken.split_at_mut(missing);
        dark.fill(0xFF);
        (self.sent.len().saturating_sub(head), rest)
    }

    /// Bytes come out behind the head, and what is behind them as `then`.
    pub fn gives(&mut self, head: usize, bytes: &[u8], then: u8) {
        let (from, into) = self.answer(head);
        for (at, byte) in into.iter_mut().enumerate() {
            *byte = bytes.get(from + at).copied().unwrap_or(then);
        }
    }

    /// The same bytes come out again and again, as registers do.
    pub fn gives_ever(&mut self, head: usize, byte: u8) {
        self.answer(head).1.fill(byte);
    }

    /// Nobody answers.
    pub fn gives_nothing(&mut self) {
        self.taken.fill(0xFF);
    }
}

/// Whole bytes of the dummy clocks behind an address.
pub(super) fn dummy_bytes(clocks: u32, lines: u32) -> usize {
    (clocks * lines).div_ceil(8) as usize
}

#[cfg(test)]
mod tests {
    use super::Transfer;

    #[test]
    fn what_is_taken_early_is_ones_and_what_is_sent_late_is_passed_over() {
        let taken = |sent: &[u8], count: usize| {
            let mut taken = vec![0; count];
            Transfer { sent, taken: &mut taken }.gives(3, &[1, 2, 3], 9);
            taken
        };
        assert_eq!(taken(&[0, 0, 0], 4), [1, 2, 3, 9]);
        assert_eq!(taken(&[0], 4), [0xFF, 0xFF, 1, 2]);
        assert_eq!(taken(&[0, 0, 0, 0, 0], 2), [3, 9]);
        assert_eq!(taken(&[0], 1), [0xFF]);
    }
}
