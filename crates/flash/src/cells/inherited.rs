//! Bits that a copy-back has taken along: nothing corrected them on the way, so the cells of the copy hold them wrong.
//!
//! The cells say what they hold, as those of a real chip do; the list says which of these bits ECC will find wrong. Both go with
//! the page until its block is erased.

use super::Cells;

impl Cells {
    /// These bits of a programmed page are wrong from now on, beside those that are already: numbers of bits in the page, data first, then
    /// OOB area.
    pub fn inherit(&mut self, page: u32, bits: &[u32]) {
        if bits.is_empty() || self.programs(page) == 0 {
            return;
        }
        let mut all = self.inherited(page).to_vec();
        all.extend_from_slice(bits);
        all.sort_unstable();
        all.dedup();
        self.inherited.insert(page, all.into_boxed_slice());
    }

    /// Bits of a page that a copy-back has taken along, in ascending order.
    pub fn inherited(&self, page: u32) -> &[u32] {
        self.inherited.get(&page).map_or(&[], |bits| bits)
    }
}
