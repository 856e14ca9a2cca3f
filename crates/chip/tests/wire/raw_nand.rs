//! Raw NAND.

use crate::host::Host;

/// Cycles as the protocol has them.
pub struct Cycles(pub Vec<u8>, pub usize);

impl Cycles {
    pub fn new() -> Cycles {
        Cycles(Vec::new(), 0)
    }

    pub fn command(mut self, command: u8) -> Cycles {
        self.0.extend([b'C', command]);
        self
    }

    pub fn addresses(mut self, bytes: &[u8]) -> Cycles {
        self.0.extend([b'A', bytes.len() as u8]);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Column and row, each with the low byte first.
    pub fn place(self, column: u16, row: u32) -> Cycles {
        let (column, row) = (column.to_le_bytes(), row.to_le_bytes());
        self.addresses(&[column[0], column[1], row[0], row[1], row[2]])
    }

    pub fn write(mut self, data: &[u8]) -> Cycles {
        self.0.push(b'W');
        self.0.extend((data.len() as u16).to_le_bytes());
        self.0.extend_from_slice(data);
        self
    }

    pub fn read(mut self, count: u16) -> Cycles {
        self.0.push(b'R');
        self.0.extend(count.to_le_bytes());
        self.1 += usize::from(count);
        self
    }

    /// The bytes that were read.
    pub fn on(self, host: &mut Host) -> Vec<u8> {
        host.ask(2, 0, &self.0, self.1).unwrap()
    }

    /// The same, which the part does.
    pub fn done_by(self, host: &mut Host) -> Vec<u8> {
        let bytes = self.on(host);
        assert!(!host.is_refused, "{}", host.wire.why());
        bytes
    }
}

pub fn status(host: &mut Host) -> u8 {
    // With it may come that what was begun before was against the rules.
    Cycles::new().command(0x70).read(1).on(host)[0]
}

pub fn programs(host: &mut Host, row: u32, column: u16, data: &[u8]) {
    Cycles::new().command(0x80).place(column, row).write(data).command(0x10).done_by(host);
    host.waits();
}

pub fn reads(host: &mut Host, row: u32, column: u16, count: u16) -> Vec<u8> {
    Cycles::new().command(0x00).place(column, row).command(0x30).done_by(host);
    host.waits();
    Cycles::new().read(count).done_by(host)
}

#[test]
fn a_page_is_programmed_read_and_erased() {
    let mut host = Host::new("mt29f2g08abaea");
    assert_eq!(Cycles::new().command(0x90).addresses(&[0]).read(5).done_by(&mut host), [0x2C, 0xDA, 0x90, 0x95, 0x06]);
    let data: Vec<u8> = (0..2112u32).map(|at| (at * 7) as u8).collect();
    Cycles::new().command(0x80).place(0, 130).write(&data).command(0x10).done_by(&mut host);
    assert!(!host.is_ready);
    assert_eq!((status(&mut host), host.waits(), status(&mut host)), (0x80, 200_000, 0xE0));
    Cycles::new().command(0x00).place(0, 130).command(0x30).done_by(&mut host);
    assert_eq!(host.waits(), 25_000);
    // The status in between, and 00h goes back to the data.
    assert_eq!(status(&mut host), 0xE0);
    assert_eq!(Cycles::new().command(0x00).read(2112).done_by(&mut host), data);
    let further = Cycles::new().command(0x05).addresses(&[0x00, 0x08]).command(0xE0).read(64);
    assert_eq!(further.done_by(&mut host), data[2048..]);
    Cycles::new().command(0x60).addresses(&[130, 0, 0]).command(0xD0).done_by(&mut host);
    assert_eq!((host.waits(), status(&mut host)), (500_000, 0xE0));
    assert_eq!(reads(&mut host, 130, 0, 3), [0xFF; 3]);
}

/// 85h moves the column while a page is loaded.
#[test]
fn a_page_is_loaded_in_pieces() {
    let mut host = Host::new("mt29f2g08abaea");
    let pieces = Cycles::new().command(0x80).place(0, 0).write(&[1, 2]);
    pieces.command(0x85).addresses(&[0, 8]).write(&[3]).command(0x10).done_by(&mut host);
    host.waits();
    let page = reads(&mut host, 0, 0, 2112);
    assert_eq!((&page[..3], &page[2047..2050]), (&[1, 2, 0xFF][..], &[0xFF, 3, 0xFF][..]));
}

#[test]
fn the_parameter_page_has_its_check_sum() {
    let mut host = Host::new("mt29f2g08abaea");
    assert_eq!(Cycles::new().command(0x90).addresses(&[0x20]).read(4).done_by(&mut host), b"ONFI");
    Cycles::new().command(0xEC).addresses(&[0]).done_by(&mut host);
    assert!(!host.is_ready);
    host.waits();
    let page = Cycles::new().read(768).done_by(&mut host);
    // CRC-16 of ONFI, computed bit by bit from its definition: x^16 + x^15 + x^2 + 1, begun with 4F4Eh.
    let mut crc = 0x4F4Eu32;
    for bit in page[..254].iter().flat_map(|byte| (0..8).rev().map(move |bit| u32::from(byte >> bit & 1))) {
        let top = crc >> 15 & 1;
        crc = crc << 1 & 0xFFFF;
        if top != bit {
            crc ^= 0x8005;
        }
    }
    assert_eq!(u32::from(u16::from_le_bytes([page[254], page[255]])), crc);
    assert_eq!((page[..256] == page[256..512], &page[44..58]), (true, &b"MT29F2G08ABAEA"[..]));
    assert_eq!((page[92], page[101], page[110]), (64, 0x23, 4));
}

#[test]
fn what_nobody_began_is_not_done() {
    let mut host = Host::new("mt29f2g08abaea");
    let mut refused = |cycles: Cycles, words: &str| {
        cycles.on(&mut host);
        assert!(host.is_refused && host.wire.why().contains(words), "{}", host.wire.why());
    };
    refused(Cycles::new().command(0x30), "ends no command");
    refused(Cycles::new().command(0xD0), "ends no command");
    refused(Cycles::new().command(0x77), "no such command");
    refused(Cycles::new().command(0x00).addresses(&[0, 0]).command(0x30), "cycles of a row");
    refused(Cycles::new().command(0x00).place(0, 131_072).command(0x30), "131072");
    refused(Cycles::new().command(0x80).place(2110, 0).write(&[0; 3]), "behind the end");
    refused(Cycles::new().command(0x90).write(&[0]), "takes none");
    refused(Cycles::new().command(0x80).place(0, 0).write(&[0]).command(0x10).command(0x00), "busy");
}
