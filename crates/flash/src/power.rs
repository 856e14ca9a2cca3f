//! Power cuts: when the power goes away and what the interrupted operation leaves behind.

/// What a power cut leaves of the operation that it hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Torn {
    /// The operation had not begun.
    Nothing,
    /// It was under way. A program: only the first bytes, a random number of them (data, then OOB), reached the cells,
    /// and ECC cannot correct what is there. An erase: some pages are erased, others hold a mix of their old content
    /// and ones. The seed decides.
    Partial { seed: u64 },
    /// It was done, but its caller never hears of it.
    Complete,
}

pub struct Power {
    pub on: bool,
    /// Programs and erases since the chip was made.
    pub modifying_operations: u64,
    /// The operation, counted as in `modifying_operations`, that the cut hits; `u64::MAX`: none.
    pub cut_at_operations: u64,
    pub torn: Torn,
}

impl Power {
    pub fn new() -> Power {
        Power { on: true, modifying_operations: 0, cut_at_operations: u64::MAX, torn: Torn::Nothing }
    }

    /// A program or erase begins. Is it the one that the cut hits?
    #[inline]
    pub fn begin(&mut self) -> Option<Torn> {
        self.modifying_operations += 1;
        if self.modifying_operations < self.cut_at_operations {
            return None;
        }
        self.on = false;
        self.cut_at_operations = u64::MAX;
        Some(self.torn)
    }
}
