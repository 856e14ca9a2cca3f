//! Which OOB bytes hold ECC and which are free (`MTD_OPS_AUTO_OOB`). From Linux 6.1 `drivers/mtd/nand/ecc.c`:
//! `nand_ooblayout_free_sp`, `nand_ooblayout_free_lp`, `nand_ooblayout_free_lp_hamming` and the ECC functions beside.

use std::ops::Range;

use ffslab_flash::{Frames, Geometry};

use crate::ecc::Ecc;

/// The layout of one page's OOB area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OobLayout {
    /// Free bytes, in ascending order.
    free: Box<[Range<usize>]>,
    free_bytes: usize,
    /// For each OOB byte, the ECC step that it belongs to.
    step_of_byte: Box<[Option<u32>]>,
}

impl OobLayout {
    /// Computes the layout. The code must suit the chip ([`crate::Driver::check`]).
    #[expect(clippy::single_range_in_vec_init, reason = "a list of one piece of the OOB area, no list of its bytes")]
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
            vec![8..oob]
        } else if ecc_bytes == 0 {
            vec![2..oob]
        } else {
            let first = place(0) as usize;
            vec![2..first, first + ecc_bytes as usize..oob]
        };
        OobLayout::with(free, step_of_byte)
    }

    /// A layout that a list of regions describes: those of the code, which belong to `steps` ECC steps in equal parts and in
    /// this order, and the free ones.
    pub fn of_regions(oob_bytes: u32, steps: u32, code: &[Range<usize>], free: &[Range<usize>]) -> OobLayout {
        let mut step_of_byte = vec![None; oob_bytes as usize].into_boxed_slice();
        let code_bytes: usize = code.iter().map(Range::len).sum();
        for (index, at) in code.iter().cloned().flatten().enumerate() {
            step_of_byte[at] = Some((index * steps as usize / code_bytes) as u32);
        }
        OobLayout::with(free.to_vec(), step_of_byte)
    }

    fn with(free: Vec<Range<usize>>, step_of_byte: Box<[Option<u32>]>) -> OobLayout {
        let free_bytes = free.iter().map(Range::len).sum();
        OobLayout { free: free.into_boxed_slice(), free_bytes, step_of_byte }
    }

    pub fn free_bytes(&self) -> usize {
        self.free_bytes
    }

    /// How many of the free bytes, from the first on, stand among the first `count` bytes of the area.
    pub fn free_bytes_before(&self, count: usize) -> usize {
        self.free.iter().map(|region| region.end.min(count).saturating_sub(region.start)).sum()
    }

    /// Where the first `count` free bytes stand.
    pub fn places_of(&self, count: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut rest = count;
        self.free.iter().map_while(move |region| {
            let taken = rest.min(region.len());
            rest -= taken;
            (taken > 0).then(|| region.start..region.start + taken)
        })
    }

    /// The ECC step whose code holds OOB byte `at`.
    pub fn step_of_byte(&self, at: usize) -> Option<u32> {
        self.step_of_byte.get(at).copied().flatten()
    }

    /// Which bytes are corrected together, for a chip that ages.
    pub fn frames(&self, page_bytes: u32, step_bytes: u32) -> Frames {
        Frames::new(page_bytes, step_bytes, &self.step_of_byte)
    }

    /// Copies the free bytes out of an OOB area.
    #[inline]
    pub fn gather(&self, oob: &[u8], free: &mut [u8]) {
        let mut rest = free;
        for region in &*self.free {
            let (part, after) = rest.split_at_mut(rest.len().min(region.len()));
            part.copy_from_slice(&oob[region.start..region.start + part.len()]);
            rest = after;
        }
        debug_assert!(rest.is_empty(), "more bytes were asked for than are free");
    }

    /// Copies bytes to the free places of an OOB area.
    #[inline]
    pub fn scatter(&self, free: &[u8], oob: &mut [u8]) {
        let mut rest = free;
        for region in &*self.free {
            let (part, after) = rest.split_at(rest.len().min(region.len()));
            oob[region.start..region.start + part.len()].copy_from_slice(part);
            rest = after;
        }
        debug_assert!(rest.is_empty(), "more bytes were given than are free");
    }
}
