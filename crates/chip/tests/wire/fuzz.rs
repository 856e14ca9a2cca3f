//! Random commands on the bus, and the same operations on a chip of this part below: each byte that comes out is compared.

#![allow(clippy::single_range_in_vec_init, reason = "lists of pieces of the OOB area, no lists of its bytes")]

use crate::host::{at, small, Host};
use crate::raw_nand::{status, Cycles};
use ffslab_chip::{Chip, MtdError};

/// splitmix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Programs data at a place, and single bytes of its page's out-of-band area. Whether the part says that it is done.
type Program = fn(&mut Host, u64, &[u8], &[(usize, u8)], &mut Dice) -> bool;

/// Sizes of a part, and how a driver sends its commands.
struct Bus {
    part: &'static str,
    board: &'static str,
    keys: &'static str,
    blocks: i64,
    /// Bytes of a page, and where of its out-of-band area a driver may put bytes.
    page: usize,
    free: &'static [std::ops::Range<usize>],
    program: Program,
    erase: fn(&mut Host, u64) -> bool,
    read: fn(&mut Host, u64, usize, &mut Dice) -> Vec<u8>,
    /// Commands that change nothing.
    noise: fn(&mut Host, &mut Dice),
}

fn nor_waits(host: &mut Host, dice: &mut Dice) {
    while host.spi(&[0x05], 1)[0] & 1 != 0 {
        if dice.below(3) == 0 {
            host.is_refused(&at(0x03, 0, 3, &[]), "busy");
        }
        host.passes_us(1 + dice.below(60_000));
    }
}

const NOR: Bus = Bus {
    part: "w25q128jv",
    board: "luckfox-pico-max",
    keys: "erase_block_KiB = 4\n",
    blocks: 64,
    page: 256,
    free: &[],
    program: |host, place, data, _, dice| {
        host.does(&[0x06], 0);
        host.does(&at(0x02, place as u32, 3, data), 0);
        nor_waits(host, dice);
        true
    },
    erase: |host, place| {
        host.does(&[0x06], 0);
        host.does(&at(0x20, place as u32, 3, &[]), 0);
        host.waits();
        true
    },
    read: |host, place, count, dice| {
        let (command, dummies) = dice.one_of(&[(0x03, 0), (0x0B, 1), (0x3B, 1), (0x6B, 1)]);
        host.does(&at(command, place as u32, 3, &[0xA5][..dummies]), count)
    },
    noise: |host, dice| match dice.below(5) {
        0 => assert_eq!(host.does(&[0x9F], 3), [0xEF, 0x40, 0x18]),
        1 => host.is_refused(&at(0x20, 0, 3, &[]), "write enable"),
        2 => assert_eq!(host.does(&at(0x5A, 0, 3, &[0]), 4), b"SFDP"),
        3 => {
            host.does(&[0x06], 0);
            host.does(&[0x04], 0);
            host.is_refused(&at(0x02, 0, 3, &[0]), "write enable");
        }
        _ => {
            host.spi(&[0x66], 0);
            host.does(&[0x99], 0);
            host.waits();
        }
    },
};

const SPI_NAND: Bus = Bus {
    part: "w25n01gv",
    board: "luckfox-pico-max",
    keys: "",
    blocks: 8,
    page: 2048,
    free: &[2..8, 18..24, 34..40, 50..56],
    program: |host, place, data, oob, dice| {
        let column = place as u32 % 2048;
        host.does(&[0x06], 0);
        host.does(&at(dice.one_of(&[0x02, 0x32]), column, 2, data), 0);
        for &(offset, byte) in oob {
            host.does(&at(dice.one_of(&[0x84, 0x34]), 2048 + offset as u32, 2, &[byte]), 0);
        }
        host.does(&at(0x10, place as u32 / 2048, 3, &[]), 0);
        while host.spi(&[0x0F, 0xC0], 1)[0] & 1 != 0 {
            if dice.below(3) == 0 {
                host.is_refused(&at(0x13, 0, 3, &[]), "busy");
            }
            host.passes_us(1 + dice.below(100));
        }
        host.does(&[0x0F, 0xC0], 1)[0] & 8 == 0
    },
    erase: |host, place| {
        host.does(&[0x06], 0);
        host.does(&at(0xD8, place as u32 / 2048, 3, &[]), 0);
        host.waits();
        host.does(&[0x0F, 0xC0], 1)[0] & 4 == 0
    },
    read: |host, place, count, dice| {
        let mut all = Vec::new();
        while all.len() < count {
            let place = place as usize + all.len();
            let (page, column) = (place as u32 / 2048, place as u32 % 2048);
            host.does(&at(0x13, page, 3, &[]), 0);
            host.waits();
            let (command, dummies) = dice.one_of(&[(0x03, 1), (0x0B, 1), (0x3B, 1), (0xBB, 1), (0x6B, 1), (0xEB, 2)]);
            let piece = (count - all.len()).min(2048 - column as usize);
            all.extend(host.does(&at(command, column, 2, &[0x5A, 0xA5][..dummies]), piece));
        }
        all
    },
    noise: |host, dice| match dice.below(5) {
        0 => assert_eq!(host.does(&[0x9F, 0], 3), [0xEF, 0xAA, 0x21]),
        1 => host.is_refused(&at(0xD8, 0, 3, &[]), "write enable"),
        2 => host.is_refused(&[0x9E], "no such command"),
        3 => {
            host.does(&[0x1F, 0xA0, 0x38], 0);
            host.does(&[0x06], 0);
            host.is_refused(&at(0xD8, 64, 3, &[]), "protected");
            host.does(&[0x1F, 0xA0, 0x00], 0);
        }
        _ => {
            host.does(&[0xFF], 0);
            host.waits();
        }
    },
};

const RAW_NAND: Bus = Bus {
    part: "mt29f2g08abaea",
    board: "zero-overhead",
    keys: "",
    blocks: 8,
    page: 2048,
    free: &[2..40],
    program: |host, place, data, oob, dice| {
        let (row, column) = (place as u32 / 2048, (place % 2048) as u16);
        let mut cycles = Cycles::new().command(0x80).place(column, row).write(data);
        for &(offset, byte) in oob {
            cycles = cycles.command(0x85).addresses(&(2048 + offset as u16).to_le_bytes()).write(&[byte]);
        }
        cycles.command(0x10).done_by(host);
        while status(host) & 0x40 == 0 {
            host.passes_us(1 + dice.below(90));
        }
        status(host) & 1 == 0
    },
    erase: |host, place| {
        let row = (place as u32 / 2048).to_le_bytes();
        Cycles::new().command(0x60).addresses(&row[..3]).command(0xD0).done_by(host);
        host.waits();
        status(host) & 1 == 0
    },
    read: |host, place, count, dice| {
        let mut all = Vec::new();
        while all.len() < count {
            let place = place as usize + all.len();
            let (row, column) = (place as u32 / 2048, (place % 2048) as u16);
            let begin = if dice.below(2) == 0 { column } else { 0 };
            Cycles::new().command(0x00).place(begin, row).command(0x30).done_by(host);
            host.waits();
            let piece = (count - all.len()).min(2048 - usize::from(column));
            let cycles = Cycles::new().command(0x05).addresses(&column.to_le_bytes()).command(0xE0);
            all.extend(cycles.read(piece as u16).done_by(host));
        }
        all
    },
    noise: |host, dice| match dice.below(4) {
        0 => {
            let id = Cycles::new().command(0x90).addresses(&[0]).read(5).done_by(host);
            assert_eq!(id, [0x2C, 0xDA, 0x90, 0x95, 0x06]);
        }
        1 => assert_eq!(status(host) & 0xFE, 0xE0),
        2 => {
            Cycles::new().command(0xD0).on(host);
            assert!(host.is_refused);
        }
        _ => {
            Cycles::new().command(0xFF).done_by(host);
            host.waits();
        }
    },
};

/// The free bytes of an out-of-band area, in the order in which the layer below knows them.
fn free_bytes(bus: &Bus, oob: &[(usize, u8)]) -> Vec<u8> {
    let places = bus.free.iter().cloned().flatten();
    places.map(|place| oob.iter().rev().find(|(at, _)| *at == place).map_or(0xFF, |&(_, byte)| byte)).collect()
}

/// So many requests. How many there were.
fn compare(bus: &Bus, seed: u64, transactions: u64) -> u64 {
    let mut dice = Dice(seed);
    let mut host = Host::with(&small(bus.part, bus.blocks), None);
    let keys = format!(
        "board = \"{}\"\npart = \"{}\"\n{}chip_blocks = {}\npartition_blocks = {}\n",
        bus.board, bus.part, bus.keys, bus.blocks, bus.blocks
    );
    let mut below = Chip::open(&keys).unwrap();
    assert_eq!(below.size_bytes(), host.wire.size_bytes());
    let block_bytes = u64::from(below.capabilities().erase_block_bytes);
    if bus.part == SPI_NAND.part {
        host.does(&[0x1F, 0xA0, 0], 0);
    }
    while host.wire.counts()[0] < transactions {
        let place = dice.below(below.size_bytes());
        match dice.below(10) {
            0 => {
                let block = place - place % block_bytes;
                assert!((bus.erase)(&mut host, block));
                below.erase(block).unwrap();
            }
            1..=4 => {
                // Pages that are free come in order, so that some are refused and most are not.
                let page = bus.page as u64;
                let begin = place - place % page;
                let column = dice.one_of(&[0, place % page]);
                let count = 1 + dice.below(page - column) as usize;
                let data = dice.bytes(count);
                let places: Vec<usize> = bus.free.iter().cloned().flatten().collect();
                let count = if places.is_empty() { 0 } else { dice.below(4) };
                let oob: Vec<(usize, u8)> = (0..count).map(|_| (dice.one_of(&places), dice.below(256) as u8)).collect();
                let is_done = (bus.program)(&mut host, begin + column, &data, &oob, &mut dice);
                let done = if bus.free.is_empty() {
                    below.program(begin + column, &data)
                } else {
                    let mut whole = vec![0xFF; bus.page];
                    whole[column as usize..][..data.len()].copy_from_slice(&data);
                    below.program_with_oob(begin, &whole, &free_bytes(bus, &oob))
                };
                assert_eq!(is_done, done.is_ok(), "{}: {done:?}, {}", bus.part, host.wire.why());
                assert!(matches!(done, Ok(()) | Err(MtdError::RuleBroken)), "{done:?}");
            }
            5..=8 => {
                let count = 1 + dice.below((below.size_bytes() - place).min(6_000)) as usize;
                let found = (bus.read)(&mut host, place, count, &mut dice);
                let mut wanted = vec![0; count];
                below.read(place, &mut wanted).unwrap();
                assert!(found == wanted, "{} seed {seed}: bytes from {place:#x} on differ", bus.part);
            }
            _ => (bus.noise)(&mut host, &mut dice),
        }
    }
    let mut all = vec![0; below.size_bytes() as usize];
    below.read(0, &mut all).unwrap();
    let dump = host.wire.dump().unwrap();
    let oob_bytes = below.capabilities().oob_bytes as usize;
    assert!(dump.chunks(bus.page + oob_bytes).zip(all.chunks(bus.page)).all(|(held, data)| &held[..bus.page] == data));
    host.wire.counts()[0]
}

#[test]
fn no_byte_is_another_than_below() {
    for (bus, seed) in [(&NOR, 1), (&SPI_NAND, 2), (&RAW_NAND, 3)] {
        compare(bus, seed, 6_000);
    }
}

/// `cargo test --release -p ffslab-chip --test wire -- --ignored --nocapture`
#[test]
#[ignore = "takes ten times as long"]
fn no_byte_of_a_million_requests_is_another() {
    let all: u64 =
        [&NOR, &SPI_NAND, &RAW_NAND].map(|bus| (0..4).map(|seed| compare(bus, seed, 84_000)).sum::<u64>()).iter().sum();
    println!("{all} requests, and no wrong byte");
    assert!(all >= 1_000_000);
}
