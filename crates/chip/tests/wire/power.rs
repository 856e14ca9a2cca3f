//! Power cuts, resets, copies, labels, and requests that are none.

use crate::host::{at, small, wanted, Host};
use crate::raw_nand::{programs, reads, status, Cycles};
use ffslab_chip::Torn;

const ENABLE: &[u8] = &[0x06];

/// Of a page of zeroes the first bytes have arrived.
fn is_torn(page: &[u8]) -> bool {
    let done = page.iter().take_while(|&&byte| byte == 0).count();
    done < page.len() && page[done + 1..].iter().all(|&byte| byte == 0xFF)
}

#[test]
fn a_cut_leaves_the_operation_that_it_hits_torn() {
    let mut host = Host::with(&small("w25q128jv", 64), None);
    let cut = [&3u32.to_le_bytes()[..], &5u64.to_le_bytes()].concat();
    host.ask(17, 0, &cut, 0).unwrap();
    for page in 0..3 {
        assert!(host.is_powered);
        host.does(ENABLE, 0);
        host.does(&at(0x02, page * 256, 3, &[0; 256]), 0);
        host.waits();
    }
    assert!(!host.is_powered);
    assert_eq!(host.spi(&[0x05], 2), [0xFF, 0xFF]);
    host.ask(18, 0, &[], 0).unwrap();
    assert!(host.is_powered && host.does(&[0x05], 1) == [0]);
    assert_eq!(host.does(&at(0x03, 0, 3, &[]), 512), [0; 512]);
    assert!(is_torn(&host.does(&at(0x03, 512, 3, &[]), 256)));
}

#[test]
fn a_cut_now_hits_what_goes_on() {
    let mut host = Host::new("mt29f2g08abaea");
    programs(&mut host, 0, 0, &[0; 2048]);
    Cycles::new().command(0x60).addresses(&[0, 0, 0]).command(0xD0).done_by(&mut host);
    host.passes_us(100);
    host.ask(17, 1, &[], 0).unwrap();
    assert!(!host.is_powered);
    host.ask(18, 0, &[], 0).unwrap();
    assert_eq!(reads(&mut host, 0, 0, 2048), [0; 2048], "the erase had not begun, the cut says");
    assert_eq!(status(&mut host), 0xE0);
}

/// What a reset finds under way is left in its middle, and the part takes its time.
#[test]
fn a_reset_ends_what_goes_on() {
    let mut host = Host::new("mt29f2g08abaea");
    Cycles::new().command(0x80).place(0, 0).write(&[0; 2048]).command(0x10).done_by(&mut host);
    host.passes_us(50);
    Cycles::new().command(0xFF).done_by(&mut host);
    assert_eq!(host.waits(), 10_000);
    assert!(is_torn(&reads(&mut host, 0, 0, 2048)));
    let mut nor = Host::with(&small("w25q128jv", 64), None);
    nor.does(ENABLE, 0);
    nor.does(&at(0x02, 0, 3, &[0; 256]), 0);
    nor.does(&[0x66], 0);
    nor.does(&[0x99], 0);
    assert_eq!(nor.waits(), 30_000);
    assert!(is_torn(&nor.does(&at(0x03, 0, 3, &[]), 256)));
    nor.is_refused(&[0x99], "no such command");
}

#[test]
fn what_was_kept_is_put_back_as_often_as_one_likes() {
    let mut host = Host::new("mt29f2g08abaea");
    assert!(host.ask(22, 0, &[], 0).unwrap_err().contains("nothing was kept"));
    programs(&mut host, 0, 0, &[1, 2]);
    host.ask(21, 0, &[], 0).unwrap();
    for _ in 0..3 {
        programs(&mut host, 1, 0, &[3]);
        Cycles::new().command(0x60).addresses(&[0, 0, 0]).command(0xD0).done_by(&mut host);
        host.waits();
        host.ask(22, 0, &[], 0).unwrap();
        assert_eq!((reads(&mut host, 0, 0, 2), reads(&mut host, 1, 0, 1)), (vec![1, 2], vec![0xFF]));
    }
}

#[test]
fn a_chip_is_what_was_held_of_it() {
    let mut host = Host::with(&small("w25q128jv", 64), None);
    host.does(ENABLE, 0);
    host.does(&at(0xD8, 0, 3, &[]), 0);
    host.waits();
    host.does(ENABLE, 0);
    host.does(&at(0x02, 7, 3, b"kept"), 0);
    host.wire.end();
    let (held, dump) = (host.wire.held().unwrap(), host.wire.dump().unwrap());
    let mut again = Host::with(&small("w25q128jv", 64), Some(&held));
    assert_eq!(again.does(&at(0x03, 7, 3, &[]), 4), b"kept");
    let mut loaded = Host::with(&small("w25q128jv", 64), None);
    loaded.wire.load("dump", &dump).unwrap();
    assert_eq!(loaded.does(&at(0x03, 7, 3, &[]), 4), b"kept");
    assert!(loaded.wire.load("dump", &[dump, vec![0]].concat()).is_err());
}

#[test]
fn causes_come_from_addresses_and_labels() {
    let mut asked = wanted("w25q128jv");
    asked.causes_by_bytes = vec![(0..0x1_0000, "bootloader".to_string())];
    let mut host = Host::with(&asked, None);
    let erase = |host: &mut Host, place: u32| {
        host.does(ENABLE, 0);
        host.does(&at(0x20, place, 3, &[]), 0);
    };
    erase(&mut host, 0xF000);
    // The label comes while the erase still goes on, which began without it.
    host.ask(16, 0, b"update", 0).unwrap();
    host.waits();
    erase(&mut host, 0);
    host.waits();
    host.ask(16, 0, b"", 0).unwrap();
    erase(&mut host, 0x1_0000);
    host.waits();
    host.wire.end();
    let causes = host.wire.result().unwrap().summary.by_cause;
    let of =
        |name: &str| causes.iter().filter(|cause| cause.reason == name).map(|cause| cause.counts.erases).sum::<u64>();
    assert_eq!((of("bootloader"), of("update"), of("other")), (1, 1, 1));
}

#[test]
fn a_request_that_is_none_is_answered_and_changes_nothing() {
    let mut host = Host::new("w25n01gv");
    assert!(host.ask(99, 0, &[], 0).unwrap_err().contains("no such kind"));
    assert!(host.ask(2, 0, b"CX", 0).unwrap_err().contains("SPI"));
    assert!(host.ask(17, 9, &[], 0).unwrap_err().contains("four ways"));
    assert!(host.ask(16, 0, &[0xFF], 0).unwrap_err().contains("UTF-8"));
    let mut raw = Host::new("mt29f2g08abaea");
    assert!(raw.ask(1, 0, &[0x9F], 3).unwrap_err().contains("cycles"));
    assert!(raw.ask(2, 0, b"CpR\x01\0", 2).unwrap_err().contains("read 1 bytes"));
    assert!(raw.ask(2, 0, b"CpQ", 0).unwrap_err().contains("are known"));
    assert!(raw.ask(2, 0, b"A\0", 0).is_err());
    // Pieces of a request come together; one that is too large ends the connection.
    let request = Host::request(1, 0, &[0x9F], 4, 0);
    let mut answer = Vec::new();
    request.iter().for_each(|byte| assert!(host.feed(&[*byte], &mut answer)));
    assert_eq!(&answer[16..], [0xFF, 0xEF, 0xAA, 0x21]);
    answer.clear();
    assert!(!host.feed(&Host::request(1, 0, &[], 1 << 30, 0), &mut answer) && answer[0] == 1);
}

#[test]
fn parts_that_are_not_served_say_why() {
    let refused = |asked: &ffslab_chip::wire::Wanted| match ffslab_chip::wire::Wire::open(asked, None) {
        Ok(_) => panic!("{} is served", asked.part),
        Err(error) => error.to_string(),
    };
    assert!(refused(&wanted("s29gl256p")).contains("parallel NOR"));
    assert!(refused(&wanted("nand512w3a2s")).contains("512 B"));
    assert!(refused(&wanted("micron-slc-omap3evm")).contains("--read-id"));
    let mut bad = wanted("w25n01gv");
    bad.settings.insert("fs".into(), "jffs2".into());
    assert!(refused(&bad).contains("--set fs"));
    // Known by its bytes, it is served.
    let mut known = wanted("micron-slc-omap3evm");
    known.id = Some(vec![0x2C, 0xDA]);
    let mut host = Host::with(&known, None);
    assert_eq!(Cycles::new().command(0x90).addresses(&[0]).read(3).done_by(&mut host), [0x2C, 0xDA, 0]);
    host.wire.cut_after(0, Torn::Nothing);
    assert!(!host.wire.is_powered());
}
