//! SPI NAND.

use crate::host::{at, wanted, Host};

const ENABLE: &[u8] = &[0x06];
const PAGE: usize = 2048;

fn unlocked(part: &str) -> Host {
    let mut host = Host::new(part);
    host.does(&[0x1F, 0xA0, 0], 0);
    host
}

fn status(host: &mut Host) -> u8 {
    host.does(&[0x0F, 0xC0], 1)[0]
}

fn programs(host: &mut Host, page: u32, column: u32, data: &[u8]) {
    host.does(ENABLE, 0);
    host.does(&at(0x02, column, 2, data), 0);
    host.does(&at(0x10, page, 3, &[]), 0);
    host.waits();
}

fn reads(host: &mut Host, page: u32, column: u32, count: usize) -> Vec<u8> {
    host.does(&at(0x13, page, 3, &[]), 0);
    host.waits();
    host.does(&at(0x0B, column, 2, &[0]), count)
}

#[test]
fn a_page_goes_through_the_register() {
    let mut host = unlocked("w25n01gv");
    assert_eq!(host.does(&[0x9F], 4), [0xFF, 0xEF, 0xAA, 0x21]);
    let data: Vec<u8> = (0..PAGE).map(|at| at as u8).collect();
    host.does(ENABLE, 0);
    host.does(&at(0x02, 0, 2, &data), 0);
    host.does(&at(0x84, PAGE as u32 + 4, 2, &[9, 8]), 0);
    host.does(&at(0x10, 70, 3, &[]), 0);
    assert_eq!(status(&mut host), 3);
    assert_eq!(host.waits(), 250_000);
    assert_eq!(status(&mut host), 0);
    host.does(&at(0x13, 70, 3, &[]), 0);
    assert_eq!(host.waits(), 60_000);
    assert_eq!(host.does(&at(0x03, 0, 2, &[0]), PAGE), data);
    let oob = host.does(&at(0x6B, PAGE as u32, 2, &[0]), 65);
    assert_eq!((&oob[..8], oob[64]), (&[0xFF, 0xFF, 0xFF, 0xFF, 9, 8, 0xFF, 0xFF][..], 0xFF));
    assert_eq!(host.does(&at(0xEB, 5, 2, &[0, 0]), 2), [5, 6], "two bytes of dummies on four lines");
    host.does(ENABLE, 0);
    host.does(&at(0xD8, 64, 3, &[]), 0);
    assert_eq!(host.waits(), 2_000_000);
    assert_eq!(reads(&mut host, 70, 0, 3), [0xFF; 3]);
}

/// A page that is read can be changed and programmed elsewhere: that is how data move inside the chip.
#[test]
fn a_page_is_copied_with_changes() {
    let mut host = unlocked("w25n01gv");
    programs(&mut host, 0, 0, &[1, 2, 3, 4]);
    host.does(&at(0x13, 0, 3, &[]), 0);
    host.waits();
    host.does(ENABLE, 0);
    host.does(&at(0x84, 1, 2, &[7]), 0);
    host.does(&at(0x10, 64, 3, &[]), 0);
    host.waits();
    assert_eq!(reads(&mut host, 64, 0, 5), [1, 7, 3, 4, 0xFF]);
}

#[test]
fn what_the_data_sheet_forbids_fails_and_says_why() {
    let mut host = Host::new("w25n01gv");
    assert_eq!(host.does(&[0x0F, 0xA0], 1)[0] & 0x38, 0x38, "all blocks are locked when power comes");
    host.does(ENABLE, 0);
    host.does(&at(0x02, 0, 2, &[0]), 0);
    host.is_refused(&at(0x10, 0, 3, &[]), "protected");
    assert_eq!(status(&mut host), 8);
    host.does(ENABLE, 0);
    host.is_refused(&at(0xD8, 0, 3, &[]), "protected");
    assert_eq!(status(&mut host), 12);
    host.does(&[0x1F, 0xA0, 0], 0);
    host.is_refused(&at(0x10, 0, 3, &[]), "write enable");
    host.does(ENABLE, 0);
    host.is_refused(&at(0xD8, 65_536, 3, &[]), "65536");
    host.is_refused(&at(0x02, PAGE as u32 + 60, 2, &[0; 5]), "behind the end");
    // More programs of a page than the part allows, and pages out of order.
    for _ in 0..4 {
        programs(&mut host, 3, 0, &[0x7F]);
        assert_eq!(status(&mut host), 0);
    }
    for page in [3, 2] {
        host.does(ENABLE, 0);
        host.does(&at(0x10, page, 3, &[]), 0);
        host.waits();
        assert!(host.wire.why().contains("page"), "{}", host.wire.why());
        assert_eq!(status(&mut host), 8, "page {page}");
    }
    host.does(&at(0x13, 0, 3, &[]), 0);
    host.is_refused(&at(0x0B, 0, 2, &[0]), "busy");
}

/// `nandsim`'s flips: the chip corrects one of 512 bytes, and says so.
#[test]
fn the_ecc_corrects_and_tells() {
    let mut wanted = wanted("w25n01gv");
    let faults: toml::Table = toml::from_str("bitflips = 2").unwrap();
    wanted.settings.insert("faults".into(), faults.into());
    let mut host = Host::with(&wanted, None);
    host.does(&[0x1F, 0xA0, 0], 0);
    let data = vec![0x5A; PAGE];
    programs(&mut host, 0, 0, &data);
    let mut seen = [0; 4];
    for _ in 0..20_000 {
        host.does(&at(0x13, 0, 3, &[]), 0);
        host.waits();
        let said = status(&mut host) >> 4;
        seen[usize::from(said)] += 1;
        let found = host.does(&at(0x03, 0, 2, &[0]), PAGE);
        assert_eq!(found == data, said != 2, "said {said}");
    }
    assert!(seen[0] > 19_000 && seen[1] > 5 && seen[3] == 0, "{seen:?}");
    // Without it they are seen.
    host.does(&[0x1F, 0xB0, 0x08], 0);
    let mut flipped = 0;
    for _ in 0..20_000 {
        host.does(&at(0x13, 0, 3, &[]), 0);
        assert_eq!(host.waits(), 25_000);
        flipped += u32::from(host.does(&at(0x03, 0, 2, &[0]), PAGE) != data);
        assert_eq!(status(&mut host) >> 4, 0);
    }
    assert!(flipped > 5, "{flipped}");
}

#[test]
fn the_parameter_page_is_in_the_otp_area() {
    let mut host = unlocked("w25n01gv");
    host.does(&[0x1F, 0xB0, 0x58], 0);
    let page = reads(&mut host, 1, 0, 768);
    assert_eq!((&page[..4], &page[32..39], page[64]), (&b"ONFI"[..], &b"WINBOND"[..], 0xEF));
    assert_eq!(u32::from_le_bytes(page[80..84].try_into().unwrap()), 2048);
    assert_eq!(page[..256], page[512..768]);
    host.does(ENABLE, 0);
    host.is_refused(&at(0x10, 2, 3, &[]), "OTP");
    host.does(&[0xFF], 0);
    host.waits();
    assert_eq!(host.does(&[0x0F, 0xB0], 1), [0x18]);
}

#[test]
fn dies_are_chosen() {
    let mut host = unlocked("w25m02gv");
    programs(&mut host, 0, 0, &[1]);
    host.does(&[0xC2, 1], 0);
    assert_eq!(reads(&mut host, 0, 0, 1), [0xFF]);
    programs(&mut host, 0, 0, &[2]);
    host.does(&[0xC2, 0], 0);
    assert_eq!(reads(&mut host, 0, 0, 1), [1]);
    host.is_refused(&[0xC2, 2], "2 dies");
}
