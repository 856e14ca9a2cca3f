//! Power cuts: when the power goes away and what the interrupted operation leaves behind.

/// What a power cut leaves of the operation that it hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Torn {
    /// The operation had not begun.
    Nothing,
    /// The operation was under way. Of a program, only the first bytes (a random number; data, then OOB) have reached
    /// the cells, and ECC cannot correct them. After an erase, some pages are erased and others hold a mix of their old
    /// content and ones. The seed decides.
    Partial { seed: u64 },
    /// The operation had hardly begun, or was nearly over: the seed says which. What it was to change reads as before it, or as if it
    /// were done, and at other times as damaged: cells stand between 0 and 1, and each read decides anew. NOR: as `Partial`.
    Unstable { seed: u64 },
    /// The operation was complete, but its caller gets no result.
    Complete,
}

pub struct Power {
    pub on: bool,
    /// Programs and erases since the chip was made.
    pub modifying_operations: u64,
    /// The number, counted as in `modifying_operations`, of the operation during which the power is cut; `u64::MAX`:
    /// none.
    pub cut_at_operations: u64,
    pub torn: Torn,
}

impl Power {
    pub fn new() -> Power {
        Power { on: true, modifying_operations: 0, cut_at_operations: u64::MAX, torn: Torn::Nothing }
    }

    /// Counts the beginning of a program or erase. Returns what remains of it if the power is cut during it.
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

    /// Cuts the power during the `operations`-th program or erase from now on (1: the next one); 0 switches off at once.
    pub fn cut_after(&mut self, operations: u64, torn: Torn) {
        if operations == 0 {
            self.on = false;
            self.cut_at_operations = u64::MAX;
        } else {
            self.cut_at_operations = self.modifying_operations.saturating_add(operations);
            self.torn = torn;
        }
    }

    /// Switches on, and cancels a cut that has not happened yet.
    pub fn switch_on(&mut self) {
        self.on = true;
        self.cut_at_operations = u64::MAX;
    }
}
