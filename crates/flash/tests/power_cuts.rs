//! The power goes away during the k-th program or erase.

use crate::common;

use common::*;
use ffslab_flash::{Chip, ChipImage, FlashError, Torn, DAMAGED};

/// Two pages, an OOB program and an erase: four operations that change cells.
fn workload(chip: &mut Chip) -> Result<(), FlashError> {
    chip.program_page(0, &pattern(1, PAGE), Some(&pattern(2, OOB)))?;
    chip.read_page(0, &mut [0; PAGE], None)?;
    chip.program_page(1, &pattern(3, PAGE), None)?;
    chip.program_oob(2, &pattern(4, OOB))?;
    chip.erase(0)
}

#[test]
fn the_kth_operation_is_hit_and_everything_fails_afterwards() {
    for torn in [Torn::Nothing, Torn::Partial { seed: 1 }, Torn::Complete] {
        for k in 1..=4 {
            let mut chip = chip();
            chip.cut_power_after(k, torn);
            assert_eq!(chip.operations_until_cut(), Some(k));
            assert_eq!(workload(&mut chip), Err(FlashError::PowerCut));
            assert_eq!((chip.modifying_operations(), chip.operations_until_cut()), (k, None));
            let before = (chip.sim().now_ns(), chip.sim().total());
            assert_eq!(chip.read_page(0, &mut [0; PAGE], None), Err(FlashError::PowerCut));
            assert_eq!(chip.read_oob(0, &mut [0; OOB]), Err(FlashError::PowerCut));
            assert_eq!(chip.erase(0), Err(FlashError::PowerCut));
            assert_eq!(chip.program_page(0, &[0; PAGE], None), Err(FlashError::PowerCut));
            assert_eq!((chip.sim().now_ns(), chip.sim().total()), before);
            assert_eq!(chip.modifying_operations(), k);
            chip.power_on();
            chip.erase(0).unwrap();
            assert_eq!(workload(&mut chip), Ok(()));
        }
        let mut chip = chip();
        chip.cut_power_after(5, torn);
        assert_eq!(workload(&mut chip), Ok(()));
        assert_eq!(chip.operations_until_cut(), Some(1));
        chip.power_on();
        assert_eq!(chip.operations_until_cut(), None);
    }
}

#[test]
fn zero_operations_switch_off_at_once() {
    let mut chip = chip();
    chip.cut_power_after(0, Torn::Complete);
    assert!(!chip.is_on());
    assert_eq!(workload(&mut chip), Err(FlashError::PowerCut));
    assert_eq!(chip.sim().total().operations(), 0);
}

#[test]
fn nothing_and_complete() {
    let mut nothing = chip();
    nothing.cut_power_after(1, Torn::Nothing);
    assert!(workload(&mut nothing).is_err());
    nothing.power_on();
    assert_eq!(read(&mut nothing, 0), (vec![0xFF; PAGE], vec![0xFF; OOB]));

    let mut complete = chip();
    complete.cut_power_after(1, Torn::Complete);
    assert!(workload(&mut complete).is_err());
    complete.power_on();
    assert_eq!(read(&mut complete, 0), (pattern(1, PAGE), pattern(2, OOB)));
    assert_eq!(complete.sim().total().page_programs, 1);
}

/// A prefix of the data reached the cells, its length depends on the seed only, and ECC cannot vouch for it.
#[test]
fn a_torn_program_leaves_a_prefix() {
    let tear = |seed| {
        let mut chip = chip();
        chip.cut_power_after(1, Torn::Partial { seed });
        assert!(workload(&mut chip).is_err());
        chip.power_on();
        let (mut data, mut oob) = (vec![0; PAGE], vec![0; OOB]);
        assert_eq!(chip.read_page(0, &mut data, Some(&mut oob)), Ok(DAMAGED));
        let good = [pattern(1, PAGE), pattern(2, OOB)].concat();
        let found = [data, oob].concat();
        let arrived = found.iter().position(|&byte| byte == 0xFF).unwrap_or(found.len());
        assert_eq!(found[..arrived], good[..arrived]);
        assert!(found[arrived..].iter().all(|&byte| byte == 0xFF));
        assert_eq!(chip.programmed_pages(0), 1);

        let mut tail = [0; 256];
        let of_data = arrived.min(PAGE);
        for unit in 0..8 {
            let flips = chip.read_part(0, unit * 256, &mut tail, 3).unwrap();
            assert_eq!(flips == DAMAGED, (unit * 256) < of_data as u32, "unit {unit} of {of_data} bytes");
        }
        chip.erase(0).unwrap();
        read(&mut chip, 0);
        arrived
    };
    let lengths: Vec<usize> = (0..50).map(tear).collect();
    assert_eq!(lengths, (0..50).map(tear).collect::<Vec<_>>());
    assert!(lengths.iter().all(|&bytes| (1..PAGE + OOB).contains(&bytes)));
    assert!(lengths.iter().any(|&bytes| bytes < 500) && lengths.iter().any(|&bytes| bytes > 1500));
}

/// UBI programs its VID header into the page of its EC header: a cut must not take the EC header's step along.
#[test]
fn a_torn_reprogram_damages_only_what_it_changes() {
    let mut chip = chip();
    let mut header = [0xFF; PAGE];
    header[..64].fill(0x11);
    chip.program_page(0, &header, None).unwrap();
    let mut second = [0xFF; PAGE];
    second[512..576].fill(0x22);
    let seed = (0..)
        .find(|&seed| {
            let mut trial = common::chip();
            trial.cut_power_after(1, Torn::Partial { seed });
            assert!(trial.program_page(0, &second, None).is_err());
            trial.damaged_units(0) != 0
        })
        .unwrap();
    chip.cut_power_after(1, Torn::Partial { seed });
    assert!(chip.program_page(0, &second, None).is_err());
    chip.power_on();
    assert_eq!(chip.damaged_units(0), 1 << 2);
    let mut step = [0; 256];
    assert_eq!(chip.read_part(0, 0, &mut step, 3), Ok(0));
    assert_eq!(step[..64], [0x11; 64]);
    assert_eq!(chip.read_part(0, 512, &mut step, 3), Ok(DAMAGED));
}

#[test]
fn a_torn_oob_program_leaves_a_prefix_and_does_not_harm_the_data() {
    let mut chip = chip();
    chip.program_page(2, &pattern(9, PAGE), None).unwrap();
    chip.cut_power_after(1, Torn::Partial { seed: 7 });
    assert!(chip.program_oob(2, &[0; OOB]).is_err());
    chip.power_on();
    let (data, oob) = read(&mut chip, 2);
    assert_eq!(data, pattern(9, PAGE));
    assert_eq!(oob[0], 0);
    assert_eq!(oob[OOB - 1], 0xFF);
}

#[test]
fn a_torn_erase_leaves_some_pages_erased_and_others_mixed() {
    let (mut erased, mut mixed) = (0, 0);
    for seed in 0..20 {
        let mut chip = chip();
        for page in 0..3 {
            chip.program_page(page, &pattern(page, PAGE), Some(&[0x55; OOB])).unwrap();
        }
        chip.cut_power_after(1, Torn::Partial { seed });
        assert_eq!(chip.erase(0), Err(FlashError::PowerCut));
        assert_eq!(chip.erase_counts()[0], 1);
        chip.power_on();
        let mut kept = 0;
        for page in 0..4 {
            let (mut data, mut oob) = (vec![0; PAGE], vec![0; OOB]);
            let flips = chip.read_page(page, &mut data, Some(&mut oob)).unwrap();
            if flips == 0 {
                assert!(data.iter().chain(&oob).all(|&byte| byte == 0xFF));
                erased += 1;
            } else {
                assert_eq!(flips, DAMAGED);
                let old = pattern(page, PAGE);
                assert!(data != old && data.iter().zip(&old).all(|(new, old)| new & old == *old), "bits only get set");
                kept += 1;
            }
        }
        assert_eq!(chip.programmed_pages(0), kept);
        mixed += kept;
        chip.erase(0).unwrap();
        assert_eq!(chip.programmed_pages(0), 0);
        read(&mut chip, 0);
    }
    assert!(mixed > 15 && erased > 35, "{mixed} mixed, {erased} erased");
}

/// What the documentation of UBIFS calls unstable bits: all four kinds happen, a page reads well at one time and not at another, and
/// an erase ends it.
#[test]
fn unstable_bits_read_differently_each_time() {
    let (good, erased) = (pattern(1, PAGE), vec![0xFF; PAGE]);
    let mut kinds = [0; 4];
    for seed in 0..16 {
        for erases in [false, true] {
            let mut chip = chip();
            if erases {
                chip.program_page(0, &good, Some(&pattern(2, OOB))).unwrap();
                chip.cut_power_after(1, Torn::Unstable { seed });
                assert_eq!(chip.erase(0), Err(FlashError::PowerCut));
            } else {
                chip.cut_power_after(1, Torn::Unstable { seed });
                assert_eq!(chip.program_page(0, &good, Some(&pattern(2, OOB))), Err(FlashError::PowerCut));
            }
            chip.power_on();
            let mut data = vec![0; PAGE];
            let mut reads = |chip: &mut Chip| (chip.read_page(0, &mut data, None).unwrap() == DAMAGED, data.clone());
            let found: Vec<_> = (0..24).map(|_| reads(&mut chip)).collect();
            let well: Vec<_> = found.iter().filter(|(is_damaged, _)| !is_damaged).collect();
            assert!((1..24).contains(&well.len()));
            assert!(well.iter().all(|(_, data)| *data == well[0].1));
            assert!(well[0].1 == good || well[0].1 == erased);
            kinds[2 * usize::from(erases) + usize::from(well[0].1 == good)] += 1;
            // The same medium reads the same, also one that was stored.
            let image = ChipImage::from_bytes(&chip.snapshot().to_bytes(), chip.geometry()).unwrap();
            let mut other = common::chip();
            other.restore(&image).unwrap();
            for _ in 0..8 {
                assert_eq!(reads(&mut chip), reads(&mut other));
            }
            chip.erase(0).unwrap();
            assert!((0..24).all(|_| reads(&mut chip) == (false, erased.clone())));
        }
    }
    assert!(kinds.iter().all(|&count| count > 2), "{kinds:?}");
}
