//! Serial NOR.

use crate::host::{at, Host};

const ENABLE: &[u8] = &[0x06];

#[test]
fn bytes_are_programmed_within_their_page_and_read_in_every_way() {
    let mut host = Host::new("w25q128jv");
    assert_eq!(host.does(&[0x9F], 3), [0xEF, 0x40, 0x18]);
    host.does(ENABLE, 0);
    assert_eq!(host.does(&[0x05], 2), [2, 2]);
    // Four bytes behind the end of the page come at its begin.
    let data: Vec<u8> = (1..=8).collect();
    host.does(&at(0x02, 0x1FC, 3, &data), 0);
    assert_eq!((host.is_ready, host.does(&[0x05], 1)), (false, vec![3]));
    assert_eq!(host.waits(), 400_000, "a program that wraps is one of a page");
    assert_eq!(host.does(&[0x05], 1), [0]);
    assert_eq!(host.does(&at(0x03, 0x1FC, 3, &[]), 5), [1, 2, 3, 4, 0xFF]);
    assert_eq!(host.does(&at(0x0B, 0x100, 3, &[0]), 5), [5, 6, 7, 8, 0xFF]);
    assert_eq!(host.does(&at(0x3B, 0x100, 3, &[0]), 2), [5, 6]);
    assert_eq!(host.does(&at(0x6B, 0x100, 3, &[0]), 2), [5, 6]);
    // A single byte takes less, and clears bits only.
    host.does(ENABLE, 0);
    host.does(&at(0x02, 0x100, 3, &[0xF4]), 0);
    assert_eq!(host.waits(), 30_000);
    assert_eq!(host.does(&at(0x03, 0x100, 3, &[]), 1), [4]);
    // Behind the last byte comes the first.
    assert_eq!(host.does(&at(0x03, 0xFF_FFFF, 3, &[]), 2), [0xFF, 0xFF]);
}

#[test]
fn erases_of_all_sizes_take_what_the_part_takes() {
    let mut host = Host::new("w25q128jv");
    for place in [0u32, 0x1000, 0x9000, 0xFFFF] {
        host.does(ENABLE, 0);
        host.does(&at(0x02, place, 3, &[0]), 0);
        host.waits();
    }
    let left = |host: &mut Host| [0u32, 0x1000, 0x9000, 0xFFFF].map(|place| host.does(&at(0x03, place, 3, &[]), 1)[0]);
    for (command, took_ms, left_then) in
        [(0x20, 45, [0, 0xFF, 0, 0]), (0x52, 150, [0xFF, 0xFF, 0, 0]), (0xD8, 150, [0xFF; 4])]
    {
        host.does(ENABLE, 0);
        host.does(&at(command, 0x1234, 3, &[]), 0);
        assert_eq!(host.waits(), took_ms * 1_000_000);
        assert_eq!(left(&mut host), left_then, "{command:02X}h");
    }
    host.does(ENABLE, 0);
    host.does(&[0xC7], 0);
    assert_eq!(host.waits(), 256 * 150_000_000);
    let [_, operations, refusals] = host.wire.counts();
    assert_eq!((operations, refusals), (8, 0));
}

#[test]
fn what_the_data_sheet_forbids_is_not_done_and_says_why() {
    let mut host = Host::new("w25q128jv");
    host.is_refused(&at(0x02, 0, 3, &[0]), "write enable");
    host.is_refused(&at(0x20, 0, 3, &[]), "write enable");
    host.is_refused(&[0xA5], "no such command");
    host.is_refused(&[0xB7], "no such command");
    host.is_refused(&[0x75], "nothing goes on");
    host.does(ENABLE, 0);
    host.is_refused(&at(0x02, 0, 3, &[]), "no byte");
    host.does(ENABLE, 0);
    host.does(&at(0x20, 0, 3, &[]), 0);
    host.is_refused(&at(0x03, 0, 3, &[]), "busy");
    host.waits();
    // A half of the chip, from its end on.
    host.does(ENABLE, 0);
    host.does(&[0x01, 0x18], 0);
    assert_eq!(host.waits(), 10_000_000);
    for (place, is_protected) in [(0xFF_FFFF, true), (0x80_0000, true), (0x7F_FFFF, false)] {
        host.does(ENABLE, 0);
        host.spi(&at(0x02, place, 3, &[0]), 0);
        assert_eq!(host.is_refused, is_protected, "{place:x}");
        host.waits();
    }
    host.does(&[0xB9], 0);
    host.is_refused(&[0x9F], "powered down");
    assert_eq!(host.does(&[0xAB, 0, 0, 0], 1), [0x17]);
    host.waits();
    assert_eq!(host.does(&[0x90, 0, 0, 0], 3), [0xEF, 0x17, 0xEF]);
}

#[test]
fn an_erase_waits_while_other_blocks_are_used() {
    let mut host = Host::new("w25q128jv");
    host.does(ENABLE, 0);
    host.does(&at(0xD8, 0, 3, &[]), 0);
    host.passes_us(50_000);
    host.does(&[0x75], 0);
    assert_eq!(host.waits(), 20_000);
    assert_eq!(host.does(&[0x35], 1), [0x80]);
    assert_eq!((host.spi(&at(0x03, 5, 3, &[]), 1), host.is_refused), (vec![0xFF], true));
    host.spi(&at(0x03, 0xFFFF, 3, &[]), 2);
    assert!(host.is_refused, "the second byte is beyond the block, the first is not");
    assert_eq!(host.does(&at(0x03, 0x1_0000, 3, &[]), 1), [0xFF]);
    host.does(ENABLE, 0);
    host.does(&at(0x02, 0x1_0000, 3, &[0x5A]), 0);
    host.waits();
    assert_eq!(host.does(&at(0x03, 0x1_0000, 3, &[]), 1), [0x5A]);
    host.does(ENABLE, 0);
    host.is_refused(&at(0x20, 0x2_0000, 3, &[]), "suspended");
    host.does(&[0x7A], 0);
    assert_eq!(host.waits(), 100_000_000, "what was left of 150 ms");
    assert_eq!(host.does(&[0x35], 1), [0]);
}

#[test]
fn large_parts_have_longer_addresses() {
    let mut host = Host::new("w25q256");
    let place = 0x0123_4567;
    host.does(ENABLE, 0);
    host.does(&at(0x12, place, 4, &[1, 2]), 0);
    host.waits();
    assert_eq!(host.does(&at(0x13, place, 4, &[]), 2), [1, 2]);
    assert_eq!(host.does(&at(0x03, place & 0xFF_FFFF, 3, &[]), 2), [0xFF, 0xFF]);
    host.does(&[0xB7], 0);
    assert_eq!(host.does(&at(0x03, place, 4, &[]), 2), [1, 2]);
    host.does(&[0xE9], 0);
    host.does(ENABLE, 0);
    host.does(&[0xC5, 1], 0);
    assert_eq!((host.does(&[0xC8], 1), host.does(&at(0x03, 0x23_4567, 3, &[]), 2)), (vec![1], vec![1, 2]));
}
