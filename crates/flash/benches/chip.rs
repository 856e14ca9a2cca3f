//! Speed of the bare chip: sequential program, read and erase, beside copying the same bytes; and of an array, in commands.

use std::hint::black_box;
use std::time::Duration;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use ffslab_flash::{Address, Array, ArrayConfig, Chip, Command, Geometry, Hierarchy, PageIn, PageOut, Rules, Timing};
use ffslab_sim::{Sim, SimConfig};

const PAGE: usize = 2048;
const BLOCKS: u32 = 64;
const PAGES: u32 = BLOCKS * 64;

fn chip() -> Chip {
    let geometry = Geometry { page_bytes: PAGE as u32, oob_bytes: 64, pages_per_block: 64, blocks: BLOCKS };
    let timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 };
    let rules = Rules { partial_programs_max: 4, in_order: true };
    Chip::new(Sim::new(SimConfig::default()), geometry, timing, rules).unwrap()
}

fn whole_chip(c: &mut Criterion) {
    let mut group = c.benchmark_group("whole chip, 4096 pages of 2 KiB");
    group.measurement_time(Duration::from_secs(3)).throughput(Throughput::Elements(u64::from(PAGES)));
    let data = vec![0x5A; PAGE];

    let mut memory = vec![0u8; PAGE * PAGES as usize];
    group.bench_function("memcpy", |b| {
        b.iter(|| {
            for page in memory.chunks_exact_mut(PAGE) {
                page.copy_from_slice(black_box(&data));
            }
        })
    });

    let mut written = chip();
    group.bench_function("erase and program", |b| {
        b.iter(|| {
            for block in 0..BLOCKS {
                written.erase(block).unwrap();
                for page in block * 64..block * 64 + 64 {
                    written.program_page(page, black_box(&data), None).unwrap();
                }
            }
        })
    });

    let mut buffer = vec![0; PAGE];
    group.bench_function("read", |b| {
        b.iter(|| {
            for page in 0..PAGES {
                written.read_page(page, black_box(&mut buffer), None).unwrap();
            }
        })
    });
    group.finish();
}

const DIES: u32 = 16;
const PLANES: u32 = 2;
const SMALL: usize = 512;

/// Four channels of four dies with two planes, pages of 512 bytes: with small pages the commands count, not the bytes.
fn array() -> Array {
    let hierarchy = Hierarchy {
        channels: 4,
        chips_per_channel: 2,
        dies_per_chip: 2,
        planes_per_die: PLANES,
        blocks_per_plane: 4,
        pages_per_block: 64,
        page_bytes: SMALL as u32,
        oob_bytes: 16,
    };
    let timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 5_000 };
    let rules = Rules { partial_programs_max: 1, in_order: true };
    Array::new(Sim::new(SimConfig::default()), ArrayConfig::new(hierarchy, timing, rules)).unwrap()
}

/// As an FTL would: a command for one die after the other, and waiting for a die before it gets its next one.
fn whole_array(c: &mut Criterion) {
    let mut group = c.benchmark_group("whole array, 16 dies of 2 planes, commands");
    group.measurement_time(Duration::from_secs(3));
    let data = [0x5A; SMALL];
    let mut array = array();

    let commands = DIES * 64;
    group.throughput(Throughput::Elements(u64::from(commands + DIES)));
    group.bench_function("erase and program", |b| {
        b.iter(|| {
            for die in 0..DIES {
                array.wait_until(array.die_ready_ns(die));
                array.issue(Command::Erase(&[Address { die, block: 2, page: 0 }])).unwrap();
            }
            for page in 0..64 {
                for die in 0..DIES {
                    array.wait_until(array.die_ready_ns(die));
                    let at = Address { die, block: 2, page };
                    array.issue(Command::Program(&[PageIn { at, data: black_box(&data), oob: None }])).unwrap();
                }
            }
        })
    });

    group.throughput(Throughput::Elements(u64::from(commands)));
    let mut buffer = vec![0; SMALL];
    group.bench_function("read", |b| {
        b.iter(|| {
            for page in 0..64 {
                for die in 0..DIES {
                    array.wait_until(array.die_ready_ns(die));
                    let at = Address { die, block: 2, page };
                    let mut pages = [PageOut::whole(at, black_box(&mut buffer), None, 16)];
                    array.issue(Command::Read(&mut pages)).unwrap();
                }
            }
        })
    });
    group.bench_function("read of two planes, bytes unseen", |b| {
        b.iter(|| {
            for page in 0..64 {
                for die in 0..DIES {
                    array.wait_until(array.die_ready_ns(die));
                    let place = |plane: u32| Address { die, block: 2 + plane, page };
                    let mut pages = [PageOut::unseen(place(0), 528), PageOut::unseen(place(1), 528)];
                    array.issue(Command::Read(&mut pages)).unwrap();
                }
            }
        })
    });
    group.finish();
}

criterion_group!(benches, whole_chip, whole_array);
criterion_main!(benches);
