//! Where the ECC of a chip keeps its bytes in the out-of-band area, and which are free.
//!
//! From the `mtd_ooblayout_ops` of Linux `drivers/mtd/nand/spi/winbond.c`, `gigadevice.c`, `macronix.c`, `micron.c`, `toshiba.c`,
//! `esmt.c`, `xtx.c` and `paragon.c`.

#![allow(clippy::single_range_in_vec_init, reason = "lists of pieces of the OOB area, no lists of its bytes")]

use super::STEP_BYTES;
use crate::layout::OobLayout;
use ffslab_flash::Geometry;
use std::ops::Range;

/// A layout that several parts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `w25m02gv_ooblayout`.
    WinbondW25m02gv,
    /// `w25n01kv_ooblayout`.
    WinbondW25n01kv,
    /// `w25n02kv_ooblayout`.
    WinbondW25n02kv,
    /// Code in the second half: `micron_8_ooblayout`, `tx58cxgxsxraix_ooblayout`.
    Half,
    /// `micron_4_ooblayout`.
    Micron4,
    /// `gd5fxgq4xa_ooblayout`.
    GigadeviceQ4a,
    /// Code in the second half, and only a byte of the first is not free: `gd5fxgqx_variant2_ooblayout`,
    /// `gd5fxgq4xc_oob_256_ops`.
    GigadeviceVariant2,
    /// The code stands where no command reaches it: `mx35lfxge4ab_ooblayout`.
    Hidden,
    /// `f50l1g41lb_ooblayout`.
    Esmt,
    /// `xt26g0xa_ooblayout`.
    XtxA,
    /// `pn26g0xa_ooblayout`.
    Paragon,
}

/// Regions of the code, and free ones.
type Regions = (Vec<Range<usize>>, Vec<Range<usize>>);

impl Layout {
    fn regions(self, geometry: &Geometry) -> Regions {
        let oob = geometry.oob_bytes as usize;
        let steps = (geometry.page_bytes / STEP_BYTES) as usize;
        // For each step `length` bytes from `offset` on in each `stride` bytes.
        let each = |stride: usize, offset: usize, length: usize| -> Vec<Range<usize>> {
            (0..steps).map(|step| step * stride + offset..step * stride + offset + length).collect()
        };
        // Eight free bytes for each step, without those of the mark.
        let behind_mark = |mark_bytes: usize| {
            let mut free = each(16, 0, 8);
            free[0].start += mark_bytes;
            free
        };
        match self {
            Layout::WinbondW25m02gv => (each(16, 8, 8), each(16, 2, 6)),
            Layout::WinbondW25n01kv => (each(8, 64, 7), each(16, 2, 14)),
            Layout::WinbondW25n02kv => (each(16, 64, 13), each(16, 2, 14)),
            Layout::Half => (vec![oob / 2..oob], vec![2..oob / 2]),
            Layout::Micron4 => (each(16, 8, 8), behind_mark(2)),
            Layout::GigadeviceQ4a => (each(16, 8, 8), behind_mark(1)),
            Layout::GigadeviceVariant2 => (vec![oob / 2..oob], vec![1..oob / 2]),
            Layout::Hidden => (Vec::new(), vec![2..oob]),
            Layout::Esmt => (each(oob / 4, oob / 8, oob / 8), each(oob / 4, 2, 2)),
            Layout::XtxA => (vec![48..64], vec![1..48]),
            Layout::Paragon => (each(15, 6, 13), [each(15, 4, 2), vec![64..128]].concat()),
        }
    }

    /// The layout for such pages; `None`: the area is too small for it.
    pub fn of(self, geometry: &Geometry) -> Option<OobLayout> {
        let (code, free) = self.regions(geometry);
        let end = code.iter().chain(&free).map(|region| region.end).max().unwrap_or(0);
        if end > geometry.oob_bytes as usize {
            return None;
        }
        Some(OobLayout::of_regions(geometry.oob_bytes, geometry.page_bytes / STEP_BYTES, &code, &free))
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;
    use ffslab_flash::Geometry;
    use std::ops::Range;

    /// Free regions as `mtd_ooblayout_free` lists them, and the last byte of the code of the last step.
    #[test]
    fn layouts_are_those_of_the_vendors_files() {
        type Case = (Layout, (u32, u32), &'static [Range<usize>], Option<usize>);
        let cases: [Case; 13] = [
            (Layout::WinbondW25m02gv, (2048, 64), &[2..8, 18..24, 34..40, 50..56], Some(63)),
            (Layout::WinbondW25n01kv, (2048, 96), &[2..16, 18..32, 34..48, 50..64], Some(94)),
            (Layout::WinbondW25n02kv, (2048, 128), &[2..16, 18..32, 34..48, 50..64], Some(124)),
            (Layout::Half, (2048, 128), &[2..64], Some(127)),
            (Layout::Half, (4096, 256), &[2..128], Some(255)),
            (Layout::Micron4, (2048, 64), &[2..8, 16..24, 32..40, 48..56], Some(63)),
            (Layout::GigadeviceQ4a, (2048, 64), &[1..8, 16..24, 32..40, 48..56], Some(63)),
            (Layout::GigadeviceVariant2, (2048, 128), &[1..64], Some(127)),
            (Layout::GigadeviceVariant2, (4096, 256), &[1..128], Some(255)),
            (Layout::Hidden, (4096, 256), &[2..256], None),
            (Layout::Esmt, (2048, 64), &[2..4, 18..20, 34..36, 50..52], Some(63)),
            (Layout::XtxA, (2048, 64), &[1..48], Some(63)),
            (Layout::Paragon, (2048, 128), &[4..6, 19..21, 34..36, 49..51, 64..128], Some(63)),
        ];
        for (layout, (page_bytes, oob_bytes), free, of_last_step) in cases {
            let geometry = Geometry { page_bytes, oob_bytes, pages_per_block: 64, blocks: 8 };
            let made = layout.of(&geometry).unwrap();
            let count: usize = free.iter().map(Range::len).sum();
            assert_eq!(made.free_bytes(), count, "{layout:?}");
            let data: Vec<u8> = (1..=count).map(|at| at as u8).collect();
            let mut oob = vec![0u8; oob_bytes as usize];
            made.scatter(&data, &mut oob);
            let places: Vec<usize> = (0..oob.len()).filter(|&at| oob[at] != 0).collect();
            assert_eq!(places, free.iter().cloned().flatten().collect::<Vec<usize>>(), "{layout:?}");
            let mut back = vec![0; count];
            made.gather(&oob, &mut back);
            assert_eq!(back, data, "{layout:?}");
            let last = page_bytes / 512 - 1;
            let of_last = (0..oob.len()).rfind(|&at| made.step_of_byte(at) == Some(last));
            assert_eq!(of_last, of_last_step, "{layout:?}");
        }
    }

    #[test]
    fn an_area_that_is_too_small_has_no_layout() {
        let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 8 };
        assert!(Layout::WinbondW25m02gv.of(&geometry).is_some());
        assert!(Layout::WinbondW25n02kv.of(&geometry).is_none() && Layout::Paragon.of(&geometry).is_none());
    }
}
