//! Faults with nandsim's names.

use crate::common;

use common::*;
use ffslab_flash::{Faults, FlashError, Weak, DAMAGED};

fn weak(text: &str) -> Vec<Weak> {
    text.split(',').map(|part| part.parse().unwrap()).collect()
}

#[test]
fn text_form_is_that_of_nandsim() {
    assert_eq!(weak("7,9:100"), [Weak { number: 7, good_operations: 3 }, Weak { number: 9, good_operations: 100 }]);
    assert_eq!(
        "seven".parse::<Weak>().unwrap_err().to_string(),
        "\"seven\" is no weak block or page: write its number, or number:operations, for example 7 or 7:100"
    );
    assert!("1:2:3".parse::<Weak>().is_err());
}

#[test]
fn badblocks_carry_the_factory_mark() {
    let mut chip = chip();
    chip.set_faults(&Faults { badblocks: vec![3], ..Faults::default() }).unwrap();
    assert!(chip.is_marked_bad(3) && !chip.is_marked_bad(2));
    let (data, oob) = read(&mut chip, 12);
    assert_eq!((data, oob[0], &oob[1..]), (vec![0xFF; PAGE], 0, &[0xFF; OOB - 1][..]));
}

#[test]
fn faults_outside_the_chip_are_refused() {
    let mut chip = chip();
    let error = chip.set_faults(&Faults { badblocks: vec![8], ..Faults::default() }).unwrap_err();
    assert_eq!(error, FlashError::OutOfRange { unit: "block", number: 8, count: 8 });
    let error = chip.set_faults(&Faults { gravepages: weak("32"), ..Faults::default() }).unwrap_err();
    assert_eq!(error, FlashError::OutOfRange { unit: "page", number: 32, count: 32 });
}

#[test]
fn weakblocks_fail_to_erase_after_their_cycles() {
    let mut chip = chip();
    chip.set_faults(&Faults { weakblocks: weak("2:2,5"), ..Faults::default() }).unwrap();
    assert_eq!([chip.erase(2), chip.erase(2)], [Ok(()), Ok(())]);
    let before_ns = chip.sim().now_ns();
    assert_eq!(chip.erase(2), Err(FlashError::EraseFailed { block: 2 }));
    assert_eq!(chip.sim().now_ns() - before_ns, 500_000, "a failed erase takes its time");
    assert_eq!(chip.sim().total().erases, 3);
    assert_eq!(chip.erase(2), Err(FlashError::EraseFailed { block: 2 }));
    assert_eq!(chip.erase(1), Ok(()));
    chip.set_faults(&Faults::default()).unwrap();
    assert_eq!(chip.erase(2), Ok(()));
}

#[test]
fn weakpages_fail_to_program_after_their_writes() {
    let mut chip = chip();
    chip.set_faults(&Faults { weakpages: weak("9:1"), ..Faults::default() }).unwrap();
    chip.program_page(9, &pattern(1, PAGE), None).unwrap();
    let before_ns = chip.sim().now_ns();
    assert_eq!(chip.program_page(9, &[0; PAGE], None), Err(FlashError::ProgramFailed { page: 9 }));
    assert_eq!(chip.sim().now_ns() - before_ns, 305_600);
    assert_eq!(chip.sim().total().page_programs, 2);
    chip.erase(2).unwrap();
    assert_eq!(chip.program_oob(9, &[0; OOB]), Err(FlashError::ProgramFailed { page: 9 }));
    chip.program_page(8, &pattern(1, PAGE), None).unwrap();
}

#[test]
fn gravepages_return_noise_after_their_reads() {
    let mut chip = chip();
    chip.program_page(1, &pattern(1, PAGE), None).unwrap();
    chip.set_faults(&Faults { gravepages: weak("1:2,2:0"), ..Faults::default() }).unwrap();
    read(&mut chip, 1);
    read(&mut chip, 1);
    let mut data = [0; PAGE];
    assert_eq!(chip.read_page(1, &mut data, None), Ok(DAMAGED));
    let agreeing = data.iter().zip(pattern(1, PAGE)).filter(|(a, b)| **a == *b).count();
    assert!(agreeing < PAGE / 16, "{agreeing} bytes survived");
    assert_eq!(chip.read_page(2, &mut data, None), Ok(0), "an erased page has nothing to lose");
}

/// One read of 1024 is hit, the positions are reported, differ from each other, and undoing them gives the data back.
#[test]
fn bitflips_are_rare_reported_and_reproducible() {
    let run = |seed| {
        let mut chip = chip();
        let (good, good_oob) = (pattern(1, PAGE), pattern(2, OOB));
        chip.program_page(0, &good, Some(&good_oob)).unwrap();
        chip.set_faults(&Faults { bitflips: 4, seed, ..Faults::default() }).unwrap();
        let (mut data, mut oob) = ([0; PAGE], [0; OOB]);
        let mut log = Vec::new();
        for read in 0..100_000 {
            let flips = chip.read_page(0, &mut data, Some(&mut oob)).unwrap();
            assert_eq!(flips as usize, chip.flipped_bits().len());
            if flips > 0 {
                log.push((read, chip.flipped_bits().to_vec()));
                for &bit in chip.flipped_bits() {
                    match (bit as usize / 8).checked_sub(PAGE) {
                        None => data[bit as usize / 8] ^= 1 << (bit % 8),
                        Some(at) => oob[at] ^= 1 << (bit % 8),
                    }
                }
            }
            assert!(data[..] == good[..] && oob[..] == good_oob[..]);
        }
        log
    };
    let log = run(1);
    assert!((60..140).contains(&log.len()), "{} of 100000 reads", log.len());
    assert!(log.iter().all(|(_, flips)| (1..=4).contains(&flips.len())));
    assert!(log.iter().any(|(_, flips)| flips.len() == 4));
    assert_eq!(log, run(1));
    assert_ne!(log, run(2));
}
