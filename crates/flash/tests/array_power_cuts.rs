//! The power goes while several dies are at work.

use crate::arrays;

use arrays::*;
use ffslab_flash::{Array, ArrayConfig, ArrayError, Command, CopyBack, Pairing, Torn, DAMAGED};

fn four_dies() -> Array {
    array(config(hierarchy(2, 1, 2, 2)))
}

/// What a page holds: erased, whole, or torn.
fn state(array: &mut Array, die: u32, block: u32, page: u32) -> &'static str {
    let (data, _, flipped_bits) = bytes_of(array, at(die, block, page));
    match flipped_bits {
        DAMAGED => "torn",
        _ if data.iter().all(|&byte| byte == 0xFF) => "erased",
        _ => "whole",
    }
}

/// Dies 0 and 1 share a bus: 0 programs from 26.4 us on, 1 from 52.8 us, die 2 from 26.4 us on its own channel.
#[test]
fn each_die_is_hit_where_it_is() {
    let run = |torn| {
        let mut array = four_dies();
        program(&mut array, &[at(0, 0, 0)], 0x11).unwrap();
        program(&mut array, &[at(2, 0, 0)], 0x22).unwrap();
        program(&mut array, &[at(0, 0, 1)], 0x33).unwrap();
        array.cut_power_after(1, torn);
        assert_eq!(program(&mut array, &[at(1, 0, 0)], 0x44), Err(ArrayError::PowerCut));
        assert_eq!(read(&mut array, &[at(3, 0, 0)]), Err(ArrayError::PowerCut));
        let now_ns = array.sim().now_ns();
        array.power_on();
        let states = [(0, 0), (2, 0), (0, 1), (1, 0)].map(|(die, page)| state(&mut array, die, 0, page));
        (now_ns, states)
    };
    // The last program would have begun at 52.8 us: by then the first two have begun. The third waits for the first.
    assert_eq!(run(Torn::Nothing), (2 * MOVE_NS, ["torn", "torn", "erased", "erased"]));
    assert_eq!(run(Torn::Partial { seed: 5 }), (2 * MOVE_NS + 100_000, ["torn", "torn", "erased", "torn"]));
    assert_eq!(run(Torn::Complete), (2 * MOVE_NS + 200_000, ["whole", "whole", "erased", "whole"]));
}

#[test]
fn what_was_waited_for_is_whole() {
    let mut array = four_dies();
    let done = program(&mut array, &[at(0, 0, 0), at(0, 1, 0)], 0x11).unwrap();
    program(&mut array, &[at(1, 0, 0)], 0x11).unwrap();
    array.wait_until(done.done_ns);
    array.cut_power_after(0, Torn::Partial { seed: 1 });
    array.power_on();
    let states = [(0, 0), (0, 1), (1, 0)].map(|(die, block)| state(&mut array, die, block, 0));
    assert_eq!(states, ["whole", "whole", "torn"]);
    program(&mut array, &[at(0, 0, 1)], 0x11).unwrap();
}

#[test]
fn pages_that_had_not_begun_can_be_programmed_afterwards() {
    let mut array = four_dies();
    for page in 0..8 {
        program(&mut array, &[at(0, 0, page)], page as u8).unwrap();
    }
    array.wait_until(3 * (MOVE_NS + 200_000));
    array.cut_power_after(0, Torn::Partial { seed: 1 });
    array.power_on();
    let states: Vec<&str> = (0..8).map(|page| state(&mut array, 0, 0, page)).collect();
    assert_eq!(states, ["whole", "whole", "whole", "erased", "erased", "erased", "erased", "erased"]);
    for page in 3..8 {
        program(&mut array, &[at(0, 0, page)], 0).unwrap();
    }
    assert_eq!(bytes_of(&mut array, at(0, 0, 2)).0, [2; PAGE]);
}

/// The order of a cache program: one page is being programmed, the next one waits in the cache register.
#[test]
fn a_cache_program_loses_what_is_in_its_registers() {
    let mut array = array(config(hierarchy(1, 1, 1, 1)));
    for page in 0..4 {
        cache_program(&mut array, &[at(0, 0, page)], 1, true).unwrap();
    }
    array.wait_until(MOVE_NS + 200_000 + 1_000);
    array.cut_power_after(0, Torn::Partial { seed: 3 });
    array.power_on();
    let states: Vec<&str> = (0..4).map(|page| state(&mut array, 0, 0, page)).collect();
    assert_eq!(states, ["whole", "torn", "erased", "erased"]);
    read(&mut array, &[at(0, 0, 0)]).expect("the sequence is over");
}

#[test]
fn a_torn_upper_page_takes_its_lower_page_along_in_every_plane() {
    let pairing = Some(Pairing::distance_3(8).unwrap());
    let make = || {
        let mut array = array(ArrayConfig { pairing: pairing.clone(), ..config(hierarchy(1, 1, 1, 2)) });
        for page in 0..2 {
            program(&mut array, &[at(0, 0, page), at(0, 1, page)], 0x55).unwrap();
        }
        array.wait_until(array.all_done_ns());
        array
    };
    // Page 2 is the upper page of page 0. The cut hits it when it is issued, or later while it runs.
    let mut now = make();
    now.cut_power_after(2, Torn::Partial { seed: 1 });
    assert!(program(&mut now, &[at(0, 0, 2), at(0, 1, 2)], 0).is_err());
    let mut later = make();
    let done = program(&mut later, &[at(0, 0, 2), at(0, 1, 2)], 0).unwrap();
    later.wait_until(done.done_ns - 1);
    later.cut_power_after(0, Torn::Partial { seed: 1 });
    for mut array in [now, later] {
        array.power_on();
        for block in 0..2 {
            let states = [0, 1, 2].map(|page| state(&mut array, 0, block, page));
            assert_eq!(states, ["torn", "whole", "torn"]);
        }
    }
}

#[test]
fn erases_are_torn() {
    let fill = |array: &mut Array| {
        for page in 0..6 {
            program(array, &[at(0, 0, page)], 0x55).unwrap();
        }
        array.wait_until(array.all_done_ns());
    };
    let mut seen = [0; 3];
    for seed in 0..30 {
        let mut now = four_dies();
        fill(&mut now);
        now.cut_power_after(1, Torn::Partial { seed });
        assert_eq!(now.issue(Command::Erase(&[at(0, 0, 0)])), Err(ArrayError::PowerCut));
        let mut later = four_dies();
        fill(&mut later);
        let done = later.issue(Command::Erase(&[at(0, 0, 0)])).unwrap();
        later.wait_until(done.done_ns - 1);
        later.cut_power_after(0, Torn::Partial { seed });
        for mut array in [now, later] {
            array.power_on();
            assert_eq!(array.erase_counts()[0], 1);
            for page in 0..8 {
                match state(&mut array, 0, 0, page) {
                    "erased" => seen[0] += u32::from(page < 6),
                    "torn" if page < 6 => seen[1] += 1,
                    _ => seen[2] += 1,
                }
            }
            array.issue(Command::Erase(&[at(0, 0, 0)])).unwrap();
            assert_eq!(state(&mut array, 0, 0, 0), "erased");
        }
    }
    assert!(seen[0] > 100 && seen[1] > 100 && seen[2] == 0, "{seen:?}");
}

#[test]
fn a_copy_back_is_torn_like_a_program() {
    for (torn, expected) in [(Torn::Nothing, "erased"), (Torn::Partial { seed: 1 }, "torn"), (Torn::Complete, "whole")]
    {
        let mut array = four_dies();
        program(&mut array, &[at(0, 0, 0)], 0x55).unwrap();
        array.cut_power_after(1, torn);
        let copy = CopyBack { from: at(0, 0, 0), to: at(0, 2, 0) };
        assert_eq!(array.issue(Command::CopyBack(&[copy])), Err(ArrayError::PowerCut));
        array.power_on();
        assert_eq!((state(&mut array, 0, 0, 0), state(&mut array, 0, 2, 0)), ("whole", expected));
        assert_eq!(array.modifying_operations(), 2);
    }
}
