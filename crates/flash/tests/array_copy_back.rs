//! Copy-back as a controller uses it: with other bytes in the out-of-band area, with bits that nobody corrects, and cache sequences that
//! end without a further step.

#![expect(clippy::single_range_in_vec_init, reason = "a list of one range of OOB is meant, not the numbers in it")]

use crate::arrays;

use arrays::*;
use ffslab_flash::{Address, Array, Change, ChipImage, Command, Copied, CopyBack, Faults, Laws, PageIn};
use std::ops::Range;

/// Copies these pages and puts bytes into the OOB area of the first.
fn copy_changing(array: &mut Array, copies: &[CopyBack], oob: &[Range<usize>], new: Option<u8>) -> Copied {
    let mut by = |area: &mut [u8]| {
        for bytes in oob {
            area[bytes.clone()].fill(new.unwrap_or(0));
        }
        new.is_some()
    };
    array.copy_back_changing(copies, Change { oob_bytes: oob, by: &mut by }).unwrap()
}

fn one(from: Address, to: Address) -> [CopyBack; 1] {
    [CopyBack { from, to }]
}

/// Each copy reads, moves the bytes out and in again, and programs: R + 2 m + P.
#[test]
fn changed_bytes_cost_their_way_out_and_in() {
    for planes in [1, 2, 4] {
        for oob in [vec![2..8], vec![2..4, 10..16], vec![0..16]] {
            let mut array = array(config(hierarchy(1, 1, 1, 4)));
            program(&mut array, &in_planes(&array_of(4), 0, planes, 0), 7).unwrap();
            array.wait_until(array.all_done_ns());
            let before_ns = array.sim().now_ns();
            let changed_ns = oob.iter().map(Range::len).sum::<usize>() as u64 * 50;
            for (index, to) in (2..4).enumerate() {
                let copies: Vec<CopyBack> = (0..planes)
                    .map(|plane| CopyBack { from: at(0, 4 + plane, 0), to: at(0, to * 4 + plane, 0) })
                    .collect();
                let copied = copy_changing(&mut array, &copies, &oob, Some(0x5A));
                let begin_ns = before_ns + index as u64 * (25_000 + 2 * changed_ns + 200_000);
                assert!(copied.is_programmed);
                assert_eq!(copied.seen_ns, begin_ns + 25_000 + changed_ns);
                assert_eq!(copied.done.done_ns, begin_ns + 25_000 + 2 * changed_ns + 200_000);
            }
            let (data, area, flips) = bytes_of(&mut array, at(0, 8, 0));
            assert_eq!((data, flips), (vec![7; PAGE], 0));
            for (place, byte) in area.iter().enumerate() {
                let is_changed = oob.iter().any(|bytes| bytes.contains(&place));
                assert_eq!(*byte, if is_changed { 0x5A } else { 0xFF }, "byte {place}");
            }
        }
    }
}

fn array_of(planes: u32) -> Array {
    array(config(hierarchy(1, 1, 1, planes)))
}

/// Who has seen what was read can leave it at that: nothing is programmed, and the place stays free.
#[test]
fn a_refused_copy_is_a_read() {
    let mut array = array_of(1);
    program(&mut array, &[at(0, 0, 0)], 7).unwrap();
    let before_ns = array.all_done_ns();
    array.wait_until(before_ns);
    let operations = array.modifying_operations();
    let copied = copy_changing(&mut array, &one(at(0, 0, 0), at(0, 1, 0)), &[0..8], None);
    assert!(!copied.is_programmed);
    assert_eq!(copied.done.done_ns, before_ns + 25_000 + 8 * 50);
    assert_eq!(array.modifying_operations(), operations);
    assert_eq!(array.peek_data(at(0, 1, 0)), None);
    program(&mut array, &[at(0, 1, 0)], 9).unwrap();
}

/// Bits that differ from what was meant: of the data, and of the OOB area.
fn wrong_bits(array: &Array, place: Address) -> Vec<u32> {
    let bytes = [array.peek_data(place).unwrap(), array.peek_oob(place).unwrap()].concat();
    let meant = [vec![7; PAGE], vec![0x21; OOB]].concat();
    let differing = bytes.iter().zip(&meant).enumerate().flat_map(|(byte, (is, was))| {
        let wrong = is ^ was;
        (0..8).filter(move |bit| wrong >> bit & 1 == 1).map(move |bit| byte as u32 * 8 + bit)
    });
    differing.collect()
}

/// An array whose page 0 of block 1 is a copy that took flipped bits along.
fn with_inherited_bits() -> Array {
    let mut array = array_of(1);
    let (data, oob) = ([7; PAGE], [0x21; OOB]);
    array.issue(Command::Program(&[PageIn { at: at(0, 0, 0), data: &data, oob: Some(&oob) }])).unwrap();
    array.set_faults(&Faults { bitflips: 12, seed: 3, ..Faults::default() }).unwrap();
    loop {
        array.issue(Command::Erase(&[at(0, 1, 0)])).unwrap();
        array.issue(Command::CopyBack(&one(at(0, 0, 0), at(0, 1, 0)))).unwrap();
        if wrong_bits(&array, at(0, 1, 0)).len() > 2 {
            break;
        }
    }
    array.set_faults(&Faults::default()).unwrap();
    array
}

#[test]
fn a_copy_keeps_the_bits_wrong_that_nobody_corrected() {
    let mut array = with_inherited_bits();
    let wrong = wrong_bits(&array, at(0, 1, 0));
    let flips_of = |array: &mut Array, place| {
        let flips = bytes_of(array, place).2;
        let mut bits = array.flipped_bits().to_vec();
        bits.sort_unstable();
        assert_eq!(bits.len() as u32, flips);
        bits
    };
    assert_eq!(flips_of(&mut array, at(0, 0, 0)), [0; 0], "the source is right");
    assert_eq!(flips_of(&mut array, at(0, 1, 0)), wrong);
    array.issue(Command::CopyBack(&one(at(0, 1, 0), at(0, 2, 0)))).unwrap();
    assert_eq!(flips_of(&mut array, at(0, 2, 0)), wrong, "a copy of the copy");
    let copied = copy_changing(&mut array, &one(at(0, 1, 0), at(0, 3, 0)), &[0..OOB], Some(0x21));
    assert!(copied.is_programmed);
    let of_data: Vec<u32> = wrong.iter().copied().filter(|&bit| bit < PAGE as u32 * 8).collect();
    assert_eq!(flips_of(&mut array, at(0, 3, 0)), of_data, "what is sent anew is right");

    let image = ChipImage::from_bytes(&array.snapshot().to_bytes(), array.geometry()).unwrap();
    let mut other = array_of(1);
    other.restore(&image).unwrap();
    assert_eq!(flips_of(&mut other, at(0, 2, 0)), wrong, "with the content");

    // A part of the data is read with its own flips.
    let mut data = [0; 128];
    let part = ffslab_flash::PageOut::part(at(0, 1, 0), 128, &mut data, 3);
    array.issue(Command::Read(&mut [part])).unwrap();
    let of_part = wrong.iter().filter(|bit| (1024..2048).contains(*bit)).map(|bit| bit - 1024);
    assert_eq!(array.flipped_bits(), of_part.collect::<Vec<u32>>());

    array.issue(Command::Erase(&[at(0, 1, 0)])).unwrap();
    program(&mut array, &[at(0, 1, 0)], 1).unwrap();
    assert_eq!(flips_of(&mut array, at(0, 1, 0)), [0; 0], "an erase ends it");
}

/// A cache program that ends without another page costs nothing more: the last page is programmed as the others.
#[test]
fn a_cache_program_ends_when_the_array_is_ready() {
    let mut array = array_of(1);
    for page in 0..3 {
        cache_program(&mut array, &[at(0, 0, page)], 1, true).unwrap();
    }
    assert!(array.goes_on_programming(at(0, 0, 3)) && !array.goes_on_programming(at(0, 1, 0)));
    assert_eq!(array.cache_free_ns(0), MOVE_NS + 2 * 200_000);
    array.end_sequence(0);
    assert_eq!(array.all_done_ns(), MOVE_NS + 3 * 200_000);
    assert!(!array.goes_on_programming(at(0, 0, 3)));
    let next = program(&mut array, &[at(0, 1, 0)], 1).unwrap();
    assert_eq!(next.begin_ns, MOVE_NS + 3 * 200_000);
}

/// The array has begun the next page; a block has no page behind its last one.
#[test]
fn a_cache_read_that_ends_early_has_read_a_page_too_many() {
    let ready_ns = |pages: Range<u32>| {
        let mut config = config(hierarchy(1, 1, 1, 1));
        config.laws = Laws::constant(75_000, 200_000, 1_500_000);
        let mut array = array(config);
        let count = u64::from(pages.end - pages.start);
        for page in pages.clone() {
            cache_read(&mut array, &[at(0, 0, page)], true).unwrap();
        }
        assert!(array.goes_on_reading(at(0, 0, pages.end)));
        array.end_sequence(0);
        (array.all_done_ns(), count)
    };
    let (ends_ns, count) = ready_ns(0..3);
    assert_eq!(ends_ns, (count + 1) * 75_000);
    let (ends_ns, count) = ready_ns(6..8);
    assert_eq!(ends_ns, count * 75_000 + MOVE_NS);
}
