//! Bills: what a single call of a program waited for.

use crate::{CauseCounts, Sim};

impl Sim {
    /// A call of the measured program begins. What is counted until the next one begins can be asked for
    /// ([`Sim::bill`]); this takes no time and changes nothing.
    #[inline]
    pub fn call_begins(&self) {
        self.0.causes.borrow_mut().open_bill();
    }

    /// Passes what was counted since the last call began, cause by cause in the order in which they came up. Together
    /// with the time in which no task could run, this is what the call has waited for.
    pub fn bill(&self, each: impl FnMut(CauseCounts)) {
        self.0.causes.borrow().bill().for_each(each);
    }
}
