//! Which OOB bytes hold ECC and which are free (`MTD_OPS_AUTO_OOB`). From Linux 6.1 `drivers/mtd/nand/ecc.c`:
//! `nand_ooblayout_free_sp`, `nand_ooblayout_free_lp`, `nand_ooblayout_free_lp_hamming` and the ECC functions beside.

use std::ops::Range;

use ffslab_flash::Geometry;

use crate::ecc::Ecc;

/// The layout of one page's OOB area.
#[derive(Clone, Debug)]
pub struct OobLayout {
    /// Free bytes, in ascending order; the second range may be empty.
    free: [Range<usize>; 2],
    /// For each OOB byte, the ECC step that it belongs to.
    step_of_byte: Box<[Option<u32>]>,
}

impl OobLayout {
    /// Computes the layout. The code must suit the chip ([`crate::Driver::check`]).
    pub fn new(geometry: &Geometry, ecc: &Ecc) -> OobLayout {
        let (page_bytes, oob_bytes) = (geometry.page_bytes, geometry.oob_bytes);
        let ecc_bytes = ecc.page_code_bytes(geometry);
        let place = |index: u32| ecc.place(geometry, index).unwrap_or(index);
        let mut step_of_byte = vec![None; oob_bytes as usize].into_boxed_slice();
        for index in 0..ecc_bytes {
            step_of_byte[place(index) as usize] = Some(index / ecc.code.code_bytes);
        }
        let oob = oob_bytes as usize;
        let free = if page_bytes == 512 {
            [8..oob, oob..oob]
        } else if ecc_bytes == 0 {
            [2..oob, oob..oob]
        } else {
            let first = place(0) as usize;
            [2..first, first + ecc_bytes as usize..oob]
        };
        OobLayout { free, step_of_byte }
    }

    pub fn free_bytes(&self) -> usize {
        self.free[0].len() + self.free[1].len()
    }

    /// The ECC step whose code holds OOB byte `at`.
    pub fn step_of_byte(&self, at: usize) -> Option<u32> {
        self.step_of_byte.get(at).copied().flatten()
    }

    /// Copies the free bytes out of an OOB area.
    #[inline]
    pub fn gather(&self, oob: &[u8], free: &mut [u8]) {
        let first = free.len().min(self.free[0].len());
        let (a, b) = free.split_at_mut(first);
        a.copy_from_slice(&oob[self.free[0].start..self.free[0].start + a.len()]);
        b.copy_from_slice(&oob[self.free[1].start..self.free[1].start + b.len()]);
    }

    /// Copies bytes to the free places of an OOB area.
    #[inline]
    pub fn scatter(&self, free: &[u8], oob: &mut [u8]) {
        let first = free.len().min(self.free[0].len());
        let (a, b) = free.split_at(first);
        oob[self.free[0].start..self.free[0].start + a.len()].copy_from_slice(a);
        oob[self.free[1].start..self.free[1].start + b.len()].copy_from_slice(b);
    }
}
