//! Which pages share their cells, and what a torn program does to those that were programmed before it.

use crate::common;

use common::*;
use ffslab_flash::{Chip, FlashError, Pairing, Rules, Torn, DAMAGED};

/// `nand_base.c`, `nand_pairing_dist3_get_info`: group and pair of each page of a block.
fn dist3(page: u32) -> (u32, u32) {
    if page == 0 || page % 2 == 1 {
        return (0, page.div_ceil(2));
    }
    (1, (page - 2) / 2)
}

fn last_of_dist3(pages_per_block: u32) -> (u32, u32) {
    (1, (pages_per_block - 2) / 2)
}

#[test]
fn distance_3_is_the_kernels() {
    for pages_per_block in [4, 8, 64, 128, 256] {
        let pairing = Pairing::distance_3(pages_per_block).unwrap();
        let of = |page| {
            if page == pages_per_block - 1 {
                last_of_dist3(pages_per_block)
            } else {
                dist3(page)
            }
        };
        for page in 0..pages_per_block {
            let (group, pair) = of(page);
            let earlier: Vec<u32> = pairing.earlier_pages(page).collect();
            let expected: Vec<u32> = (0..page).filter(|&other| of(other).1 == pair).collect();
            assert_eq!(earlier, expected, "page {page} of {pages_per_block}");
            assert_eq!(pairing.is_upper(page), group == 1);
        }
    }
}

/// The pairs of H27UCG8T2BTR that `include/linux/mtd/mtd.h` quotes.
#[test]
fn runs_of_two_are_those_of_a_data_sheet() {
    let pairing = Pairing::runs(2, 256).unwrap();
    for (lower, upper) in [(0, 4), (1, 5), (2, 8), (3, 9), (6, 12), (251, 255)] {
        assert_eq!(pairing.earlier_pages(upper).collect::<Vec<_>>(), [lower]);
        assert!(!pairing.is_upper(lower));
    }
    assert_eq!((0..256).filter(|&page| pairing.is_upper(page)).count(), 128);
    assert!(Pairing::runs(3, 256).unwrap_err().to_string().starts_with("pages_per_block = 256"));
    assert!(Pairing::table(&[0, 1], 4).unwrap_err().to_string().contains("2 pages"));
}

fn mlc() -> Chip {
    let mut chip = chip_with(Rules { partial_programs_max: 1, in_order: true });
    chip.set_pairing(Some(Pairing::distance_3(PAGES_PER_BLOCK).unwrap())).unwrap();
    for page in 0..2 {
        chip.program_page(page, &pattern(page, PAGE), Some(&pattern(page, OOB))).unwrap();
    }
    chip
}

/// Of four pages 0 and 2 share cells, and 1 and 3.
#[test]
fn a_torn_upper_page_takes_its_lower_page_along() {
    for seed in 0..20 {
        let mut chip = mlc();
        chip.cut_power_after(1, Torn::Partial { seed });
        assert_eq!(chip.program_page(2, &pattern(9, PAGE), None), Err(FlashError::PowerCut));
        chip.power_on();
        let (mut data, mut oob) = (vec![0; PAGE], vec![0; OOB]);
        assert_eq!(chip.read_page(0, &mut data, Some(&mut oob)), Ok(DAMAGED));
        let flipped: u32 = data.iter().zip(pattern(0, PAGE)).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert!((PAGE as u32..3 * PAGE as u32).contains(&flipped), "{flipped} of {} bits", PAGE * 8);
        assert_ne!(oob, pattern(0, OOB), "the OOB area is in the same cells");
        assert_eq!(read(&mut chip, 1), (pattern(1, PAGE), pattern(1, OOB)), "other word lines are not touched");
        chip.erase(0).unwrap();
        chip.program_page(0, &pattern(5, PAGE), None).unwrap();
        assert_eq!(read(&mut chip, 0).0, pattern(5, PAGE), "an erase ends it");
    }
}

#[test]
fn only_a_torn_program_of_an_upper_page_does() {
    for torn in [Torn::Nothing, Torn::Complete] {
        let mut chip = mlc();
        chip.cut_power_after(1, torn);
        assert!(chip.program_page(2, &pattern(9, PAGE), None).is_err());
        chip.power_on();
        assert_eq!(read(&mut chip, 0).0, pattern(0, PAGE));
    }
    let mut chip = chip_with(Rules { partial_programs_max: 1, in_order: true });
    chip.set_pairing(Some(Pairing::distance_3(PAGES_PER_BLOCK).unwrap())).unwrap();
    chip.program_page(0, &pattern(0, PAGE), None).unwrap();
    chip.cut_power_after(1, Torn::Partial { seed: 1 });
    assert!(chip.program_page(1, &pattern(1, PAGE), None).is_err());
    chip.power_on();
    assert_eq!(read(&mut chip, 0).0, pattern(0, PAGE), "page 1 is a lower page");
}

#[test]
fn three_pages_may_share_a_word_line() {
    let mut chip = chip_with(Rules { partial_programs_max: 1, in_order: true });
    chip.set_pairing(Some(Pairing::table(&[0, 0, 1, 0], PAGES_PER_BLOCK).unwrap())).unwrap();
    for page in 0..3 {
        chip.program_page(page, &pattern(page, PAGE), None).unwrap();
    }
    chip.cut_power_after(1, Torn::Partial { seed: 4 });
    assert!(chip.program_page(3, &pattern(3, PAGE), None).is_err());
    chip.power_on();
    let damaged: Vec<bool> = (0..3).map(|page| chip.damaged_units(page) != 0).collect();
    assert_eq!(damaged, [true, true, false]);
    assert!(chip.set_pairing(Some(Pairing::distance_3(8).unwrap())).is_err(), "of another block size");
}
