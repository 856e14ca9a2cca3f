//! What the operations of a NOR chip take.

/// Times of a NOR chip, its share of the bus included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NorTiming {
    pub read: NorRead,
    /// A byte comes over the bus to be programmed.
    pub load_ps_per_byte: u64,
    pub program: NorProgram,
    /// One block.
    pub erase_ns: u64,
    /// From the command that suspends an erase until the other blocks can be used; `None`: it cannot be suspended.
    pub suspend_ns: Option<u64>,
}

/// How bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NorRead {
    /// One after the other over a serial bus.
    Serial { ps_per_byte: u64 },
    /// Word by word. Of the page that was read last further words come sooner, if the chip has such a mode.
    Words { word_bytes: u32, access_ns: u64, page: Option<NorReadPage> },
}

/// Page mode of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NorReadPage {
    pub page_bytes: u32,
    /// Of each word behind the first.
    pub access_ns: u64,
}

/// How long programs take: between the smallest and the largest one in proportion to what they add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NorProgram {
    /// One command programs within one of these units: a page of a serial chip, the write buffer of a parallel one, or a word.
    pub unit_bytes: u32,
    pub unit_ns: u64,
    /// The smallest program: a byte, or a word.
    pub least_bytes: u32,
    pub least_ns: u64,
}

impl NorTiming {
    pub fn read_ns(&self, offset: u64, bytes: usize) -> u64 {
        let bytes = bytes as u64;
        match self.read {
            NorRead::Serial { ps_per_byte } => bytes * ps_per_byte / 1_000,
            NorRead::Words { .. } if bytes == 0 => 0,
            NorRead::Words { word_bytes, access_ns, page } => {
                let touched = |unit: u32| {
                    let unit = u64::from(unit);
                    (offset + bytes).div_ceil(unit) - offset / unit
                };
                let words = touched(word_bytes);
                match page {
                    None => words * access_ns,
                    Some(page) => {
                        let pages = touched(page.page_bytes);
                        pages * access_ns + (words - pages) * page.access_ns
                    }
                }
            }
        }
    }

    /// Of the cells alone.
    pub fn program_ns(&self, bytes: usize) -> u64 {
        let NorProgram { unit_bytes, unit_ns, least_bytes, least_ns } = self.program;
        let further = u64::from((bytes as u32).saturating_sub(least_bytes));
        let most = u64::from(unit_bytes.saturating_sub(least_bytes)).max(1);
        least_ns + unit_ns.saturating_sub(least_ns) * further.min(most) / most
    }

    pub fn load_ns(&self, bytes: usize) -> u64 {
        bytes as u64 * self.load_ps_per_byte / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARALLEL: NorTiming = NorTiming {
        read: NorRead::Words {
            word_bytes: 2,
            access_ns: 90,
            page: Some(NorReadPage { page_bytes: 16, access_ns: 25 }),
        },
        load_ps_per_byte: 45_000,
        program: NorProgram { unit_bytes: 64, unit_ns: 480_000, least_bytes: 2, least_ns: 60_000 },
        erase_ns: 500_000_000,
        suspend_ns: Some(20_000),
    };

    #[test]
    fn words_of_the_same_page_come_sooner() {
        assert_eq!(PARALLEL.read_ns(0, 16), 90 + 7 * 25);
        // Nine words, of which the first lies in a page of its own.
        assert_eq!(PARALLEL.read_ns(14, 18), 2 * 90 + 7 * 25);
        assert_eq!((PARALLEL.read_ns(3, 1), PARALLEL.read_ns(3, 2), PARALLEL.read_ns(3, 0)), (90, 115, 0));
        let without = NorTiming { read: NorRead::Words { word_bytes: 2, access_ns: 90, page: None }, ..PARALLEL };
        assert_eq!(without.read_ns(0, 16), 8 * 90);
    }

    #[test]
    fn a_program_takes_what_its_bytes_add() {
        assert_eq!(
            [1, 2, 33, 64, 65].map(|bytes| PARALLEL.program_ns(bytes)),
            [60_000, 60_000, 270_000, 480_000, 480_000]
        );
        let word = NorProgram { unit_bytes: 2, unit_ns: 150, least_bytes: 2, least_ns: 150 };
        assert_eq!(NorTiming { program: word, ..PARALLEL }.program_ns(2), 150);
        assert_eq!(PARALLEL.load_ns(64), 32 * 90);
    }
}
