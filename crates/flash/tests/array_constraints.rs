//! What the array refuses, rule by rule; and that what is refused costs and changes nothing.

use crate::arrays;

use arrays::*;
use ffslab_flash::{
    Address, Array, ArrayConfig, ArrayError, Command, CopyBack, Hierarchy, PageIn, PageOut, Rules, Torn,
};
use ffslab_flash::{Laws, Pairing};
use ffslab_sim::{Sim, SimConfig};

fn two_by_two() -> ArrayConfig {
    config(hierarchy(1, 1, 2, 2))
}

/// Runs a command that must be refused, and looks whether anything has changed.
fn refused(array: &mut Array, command: Command) -> String {
    let state = |array: &Array| {
        let sim = array.sim();
        (
            sim.total(),
            sim.now_ns(),
            array.all_done_ns(),
            array.bus_busy_ns(0),
            array.spent(),
            array.modifying_operations(),
        )
    };
    let before = (state(array), array.snapshot().to_bytes());
    let error = array.issue(command).unwrap_err().to_string();
    assert!(before == (state(array), array.snapshot().to_bytes()), "{error}: something has changed");
    error
}

fn refused_read(array: &mut Array, places: &[Address]) -> String {
    refused(array, Command::Read(&mut unseen(places)))
}

fn refused_program(array: &mut Array, places: &[Address]) -> String {
    let pages: Vec<PageIn> = places.iter().map(|&at| PageIn { at, data: &[0; PAGE], oob: None }).collect();
    refused(array, Command::Program(&pages))
}

fn refused_copy(array: &mut Array, copies: &[(Address, Address)]) -> String {
    let copies: Vec<CopyBack> = copies.iter().map(|&(from, to)| CopyBack { from, to }).collect();
    refused(array, Command::CopyBack(&copies))
}

#[test]
fn addresses_have_a_range() {
    let mut array = array(two_by_two());
    for outside in [at(2, 0, 0), at(0, 8, 0), at(0, 0, 8), at(u32::MAX, 0, 0)] {
        let sizes = "outside the array: it has 2 dies of 8 blocks of 8 pages";
        assert!(refused_read(&mut array, &[outside]).ends_with(sizes));
        assert!(refused_program(&mut array, &[outside]).ends_with(sizes));
        assert!(refused(&mut array, Command::Erase(&[outside])).ends_with(sizes));
        assert!(refused_copy(&mut array, &[(at(0, 0, 0), outside)]).ends_with(sizes));
        assert!(refused_copy(&mut array, &[(outside, at(0, 0, 0))]).ends_with(sizes));
    }
    assert_eq!(refused_read(&mut array, &[at(1, 7, 9)]).split(" is ").next(), Some("die 1 block 7 page 9"));
    assert_eq!(refused_read(&mut array, &[]), "a command without a page or block");
}

#[test]
fn a_page_is_programmed_once() {
    let mut array = array(two_by_two());
    program(&mut array, &[at(0, 2, 0)], 0).unwrap();
    let error = "die 0 block 2 page 0 was already programmed 1 times since its erase, and the part allows no more";
    assert_eq!(refused_program(&mut array, &[at(0, 2, 0)]), error);
    assert_eq!(refused_program(&mut array, &[at(0, 3, 0), at(0, 2, 0)]), error, "all planes or none");
    assert_eq!(refused_copy(&mut array, &[(at(0, 4, 0), at(0, 2, 0))]), error);
    array.issue(Command::Erase(&[at(0, 2, 0)])).unwrap();
    program(&mut array, &[at(0, 2, 0)], 0).unwrap();
}

#[test]
fn pages_of_a_block_are_programmed_in_order() {
    let mut array_ = array(two_by_two());
    program(&mut array_, &[at(0, 2, 3)], 0).unwrap();
    assert!(refused_program(&mut array_, &[at(0, 2, 2)]).ends_with("the next page of its block is page 4"));
    program(&mut array_, &[at(0, 2, 6)], 0).unwrap();

    let mut strict = two_by_two();
    strict.constraints.no_gaps = true;
    let mut array_ = array(strict);
    assert!(refused_program(&mut array_, &[at(0, 2, 1)]).ends_with("the next page of its block is page 0"));
    program(&mut array_, &[at(0, 2, 0)], 0).unwrap();
    program(&mut array_, &[at(0, 2, 1)], 0).unwrap();
    assert!(refused_copy(&mut array_, &[(at(0, 2, 0), at(0, 2, 3))]).ends_with("the next page of its block is page 2"));

    let mut free = two_by_two();
    free.rules = Rules { partial_programs_max: 2, in_order: false };
    let mut array_ = array(free);
    for page in [5, 2, 5] {
        program(&mut array_, &[at(0, 2, page)], 0).unwrap();
    }
}

#[test]
fn a_copy_back_stays_in_its_plane() {
    let mut array = array(two_by_two());
    for to in [at(0, 1, 0), at(1, 0, 0), at(1, 1, 0)] {
        assert!(refused_copy(&mut array, &[(at(0, 0, 0), to)]).ends_with("it stays in one plane"));
    }
    let crossed = [(at(0, 0, 0), at(0, 3, 0)), (at(0, 1, 0), at(0, 2, 0))];
    assert!(refused_copy(&mut array, &crossed).ends_with("it stays in one plane"));
    array.issue(Command::CopyBack(&[CopyBack { from: at(0, 0, 0), to: at(0, 2, 1) }])).unwrap();
}

#[test]
fn a_copy_back_keeps_even_and_odd_where_the_part_wants_it() {
    let copies = [(at(0, 0, 1), at(0, 2, 4))];
    let mut config = two_by_two();
    config.constraints.copy_back_same_parity = true;
    let mut strict = array(config);
    assert!(refused_copy(&mut strict, &copies).contains("from even to even or from odd to odd"));
    strict.issue(Command::CopyBack(&[CopyBack { from: at(0, 0, 1), to: at(0, 2, 5) }])).unwrap();
    let mut free = array(two_by_two());
    free.issue(Command::CopyBack(&[CopyBack { from: at(0, 0, 1), to: at(0, 2, 4) }])).unwrap();
}

#[test]
fn planes_of_a_command_are_distinct_and_in_one_die() {
    let mut array = array(two_by_two());
    let same = "both are in plane 0, and each plane does one thing at a time";
    assert!(refused_read(&mut array, &[at(0, 0, 0), at(0, 2, 0)]).ends_with(same));
    assert!(refused(&mut array, Command::Erase(&[at(0, 0, 0), at(0, 0, 0)])).ends_with(same));
    assert!(refused_program(&mut array, &[at(0, 0, 0), at(1, 1, 0)]).ends_with("it is for one die"));
    // Three of two planes: one of them comes twice.
    assert!(refused_read(&mut array, &[at(0, 0, 0), at(0, 1, 0), at(0, 3, 0)]).contains("plane 1"));
}

#[test]
fn the_page_is_the_same_in_all_planes() {
    let mut array = array(two_by_two());
    let same = "the page is the same in all planes";
    assert!(refused_read(&mut array, &[at(0, 0, 0), at(0, 1, 1)]).ends_with(same));
    assert!(refused_program(&mut array, &[at(0, 0, 0), at(0, 1, 1)]).ends_with(same));
    let copies = [(at(0, 0, 0), at(0, 2, 0)), (at(0, 1, 0), at(0, 3, 1))];
    assert!(refused_copy(&mut array, &copies).ends_with(same));
    array.issue(Command::Erase(&[at(0, 0, 5), at(0, 1, 6)])).unwrap();
}

#[test]
fn the_block_is_the_same_in_all_planes_where_the_part_wants_it() {
    let mut config = two_by_two();
    config.constraints.same_block = true;
    let mut strict = array(config);
    for error in [
        refused_read(&mut strict, &[at(0, 0, 0), at(0, 3, 0)]),
        refused_program(&mut strict, &[at(0, 0, 0), at(0, 3, 0)]),
        refused(&mut strict, Command::Erase(&[at(0, 0, 0), at(0, 3, 0)])),
        refused_copy(&mut strict, &[(at(0, 0, 0), at(0, 2, 0)), (at(0, 1, 0), at(0, 5, 0))]),
    ] {
        assert!(error.ends_with("this part wants the same block in all planes"), "{error}");
    }
    read(&mut strict, &[at(0, 2, 0), at(0, 3, 0)]).unwrap();
    read(&mut array(two_by_two()), &[at(0, 0, 0), at(0, 3, 0)]).unwrap();
}

#[test]
fn all_planes_take_part_where_the_part_wants_it() {
    let mut config = config(hierarchy(1, 1, 1, 4));
    config.constraints.all_planes = true;
    let mut strict = array(config);
    let error = refused_read(&mut strict, &[at(0, 0, 0), at(0, 1, 0)]);
    assert_eq!(error, "a multi-plane command of 2 planes: this part wants all 4 planes");
    read(&mut strict, &[at(0, 0, 0), at(0, 1, 0), at(0, 2, 0), at(0, 3, 0)]).unwrap();
    read(&mut strict, &[at(0, 0, 0)]).unwrap();
}

#[test]
fn a_cache_sequence_stays_in_its_block() {
    let mut array = array(two_by_two());
    cache_read(&mut array, &[at(0, 0, 0)], true).unwrap();
    let leaves =
        |block| format!("die 0 block {block} page 0 is not in a block of the cache sequence that its die is in");
    // Another block of the same plane, and a plane that has not begun.
    for block in [2, 1] {
        let error = refused(&mut array, Command::CacheRead { pages: &mut unseen(&[at(0, block, 0)]), more: false });
        assert_eq!(error, leaves(block));
    }
    cache_read(&mut array, &[at(0, 0, 7)], false).unwrap();
    cache_read(&mut array, &[at(0, 2, 0)], true).unwrap();
    cache_program(&mut array, &[at(1, 2, 0)], 0, true).unwrap();
    let page = [PageIn { at: at(1, 4, 0), data: &[0; PAGE], oob: None }];
    let error = refused(&mut array, Command::CacheProgram { pages: &page, more: false });
    assert!(error.starts_with("die 1 block 4 page 0 is not in a block"));
    cache_program(&mut array, &[at(1, 2, 1)], 0, false).unwrap();
}

#[test]
fn a_cache_sequence_ends_before_something_else_begins() {
    let mut array = array(two_by_two());
    cache_program(&mut array, &[at(0, 0, 0)], 0, true).unwrap();
    let open = "die 0 is in a cache sequence, which ends with the step that says that no more will come";
    assert_eq!(refused_read(&mut array, &[at(0, 1, 0)]), open);
    assert_eq!(refused_program(&mut array, &[at(0, 0, 1)]), open);
    assert_eq!(refused(&mut array, Command::Erase(&[at(0, 1, 0)])), open);
    assert_eq!(refused_copy(&mut array, &[(at(0, 1, 0), at(0, 3, 0))]), open);
    let error = refused(&mut array, Command::CacheRead { pages: &mut unseen(&[at(0, 0, 0)]), more: false });
    assert_eq!(error, open);
    read(&mut array, &[at(1, 0, 0)]).unwrap();
    cache_program(&mut array, &[at(0, 0, 1)], 0, false).unwrap();
    read(&mut array, &[at(0, 1, 0)]).unwrap();
}

#[test]
fn interleaved_commands_are_for_different_dies_of_one_channel() {
    let array = array(config(hierarchy(2, 1, 2, 1)));
    let erase = |die: u32| [at(die, 0, 0)];
    let check = |dies: &[u32]| {
        let blocks: Vec<[Address; 1]> = dies.iter().map(|&die| erase(die)).collect();
        let commands: Vec<Command> = blocks.iter().map(|blocks| Command::Erase(blocks)).collect();
        array.check_interleaved(&commands).map_err(|error| error.to_string())
    };
    assert_eq!(check(&[0, 1]), Ok(()));
    assert_eq!(check(&[3, 2]), Ok(()));
    let error = |at: &str, other: &str| {
        format!("commands that are interleaved name {at} and {other}: they are for different dies of one channel")
    };
    assert_eq!(check(&[0, 2]), Err(error("die 2 block 0 page 0", "die 0 block 0 page 0")));
    assert_eq!(check(&[0, 1, 1]), Err(error("die 1 block 0 page 0", "die 1 block 0 page 0")));
    assert!(check(&[0, 9]).unwrap_err().contains("outside the array"));
    assert_eq!(array.check_interleaved(&[Command::Erase(&[])]), Err(ArrayError::Nothing));
}

#[test]
fn buffers_have_the_size_of_what_moves() {
    let mut array = array(two_by_two());
    let (mut long, mut short) = ([0; PAGE + 1], [0; OOB - 1]);
    let long_read = [PageOut::part(at(0, 0, 0), 0, &mut long, 0)];
    let mut long_read = long_read;
    assert_eq!(refused(&mut array, Command::Read(&mut long_read)), "bytes 0 to 513 are not inside a page of 512 bytes");
    let mut oob_read = [PageOut::whole(at(0, 0, 0), &mut [], Some(&mut short), OOB as u32)];
    let error = refused(&mut array, Command::Read(&mut oob_read));
    assert_eq!(error, "a buffer of 15 bytes was given where 16 bytes move");
    let page = [PageIn { at: at(0, 0, 0), data: &[0; 100], oob: None }];
    assert_eq!(refused(&mut array, Command::Program(&page)), "a buffer of 100 bytes was given where 512 bytes move");
    let page = [PageIn { at: at(0, 0, 0), data: &[0; PAGE], oob: Some(&[0; 3]) }];
    assert_eq!(refused(&mut array, Command::Program(&page)), "a buffer of 3 bytes was given where 16 bytes move");
}

#[test]
fn nothing_goes_without_power() {
    let mut array = array(two_by_two());
    array.cut_power_after(0, Torn::Complete);
    assert!(!array.is_on());
    assert_eq!(refused_read(&mut array, &[at(0, 0, 0)]), "the power was cut");
    array.power_on();
    read(&mut array, &[at(0, 0, 0)]).unwrap();
}

#[test]
fn impossible_arrays_are_refused() {
    let good = hierarchy(2, 1, 2, 2);
    let error = |sizes: Hierarchy| {
        Array::new(Sim::new(SimConfig::default()), config(sizes)).err().map(|error| error.to_string())
    };
    assert_eq!(error(good), None);
    assert_eq!(error(Hierarchy { channels: 0, ..good }).unwrap(), "channels = 0: an array has at least one");
    assert!(error(Hierarchy { planes_per_die: 3, ..good }).unwrap().starts_with("planes_per_die = 3"));
    assert!(error(Hierarchy { planes_per_die: 32, ..good }).unwrap().starts_with("planes_per_die = 32"));
    assert!(error(Hierarchy { channels: 1 << 31, ..good }).unwrap().contains("more than can be numbered"));
    assert!(error(Hierarchy { blocks_per_plane: 1 << 24, ..good }).unwrap().starts_with("blocks = "));
    assert!(error(Hierarchy { page_bytes: 1000, ..good }).unwrap().starts_with("page_B = 1000"));
    let of = |config| Array::new(Sim::new(SimConfig::default()), config).err().unwrap().to_string();
    let no_programs = Rules { partial_programs_max: 0, in_order: true };
    assert!(of(ArrayConfig { rules: no_programs, ..config(good) }).starts_with("partial_programs_max = 0"));
    let pairing = Some(Pairing::distance_3(16).unwrap());
    assert!(of(ArrayConfig { pairing, ..config(good) }).contains("16 pages"));
    let mut laws = Laws::constant(1, 1, 1);
    laws.read.law = ffslab_flash::Law::MinMax { min_ns: 2, max_ns: 1 };
    assert!(of(ArrayConfig { laws, ..config(good) }).starts_with("a min-max law"));
}

#[test]
fn dies_and_pages_are_numbered_through() {
    let sizes = hierarchy(2, 3, 4, 2);
    assert_eq!((sizes.dies(), sizes.die(1, 2, 3), sizes.channel_of(23), sizes.channel_of(11)), (24, 23, 1, 0));
    assert_eq!((sizes.plane_of(4), sizes.plane_of(5)), (0, 1));
    let place = at(23, 7, 5);
    assert_eq!(sizes.page_number(place), 23 * 64 + 7 * 8 + 5);
    assert_eq!(sizes.address_of(sizes.page_number(place)), place);
}
