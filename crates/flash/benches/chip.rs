//! Speed of the bare chip: sequential program, read and erase, beside copying the same bytes.

use std::hint::black_box;
use std::time::Duration;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use ffslab_flash::{Chip, Geometry, Rules, Timing};
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

criterion_group!(benches, whole_chip);
criterion_main!(benches);
