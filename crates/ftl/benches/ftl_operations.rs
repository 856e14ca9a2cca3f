//! How fast is the simulation? Random writes to each mapping under garbage collection with real bytes, beside the bare minimum of work:
//! copying the pages and computing their CRCs. Then the page map without bytes. Compare the ratios of one run.
//!
//! Run with `cargo bench -p ffslab-ftl`.

use std::hint::black_box;
use std::time::Instant;

use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_ftl::flash::{NoBytes, OnMedium};
use ffslab_ftl::{FtlConfig, Mapping, PageMap, Victim, MAPPINGS};
use ffslab_mtd::{Driver, Mtd};
use ffslab_policy::LevellingSpec;
use ffslab_sim::{Sim, SimConfig};
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

const ROUNDS: u32 = 3;
const PAGE_BYTES: usize = 2048;
const PAGES_PER_BLOCK: u32 = 64;
const BLOCKS: u32 = 512;
/// Of the blocks, a tenth is spare.
const LOGICAL_PAGES: u32 = BLOCKS * PAGES_PER_BLOCK / 10 * 9;

/// Host writes, flash operations and programs of one run, and the time they took.
#[derive(Clone, Copy)]
struct Rate {
    writes: u64,
    operations: u64,
    programs: u64,
    seconds: f64,
}

fn below(random: &mut Pcg32, bound: u32) -> u32 {
    ((u64::from(random.next_u32()) * u64::from(bound)) >> 32) as u32
}

fn best(run: impl Fn() -> Rate) -> Rate {
    (0..ROUNDS).map(|_| run()).min_by(|a, b| a.seconds.total_cmp(&b.seconds)).expect("at least one round")
}

fn chip() -> Mtd {
    let geometry =
        Geometry { page_bytes: PAGE_BYTES as u32, oob_bytes: 64, pages_per_block: PAGES_PER_BLOCK, blocks: BLOCKS };
    let timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 2_000_000, bus_ps_per_byte: 25_000 };
    let rules = Rules { partial_programs_max: 4, in_order: true };
    let chip = Chip::new(Sim::new(SimConfig::default()), geometry, timing, rules).expect("a chip");
    Mtd::of_chip(chip, Driver::default(), 0..BLOCKS).expect("a driver that suits it")
}

fn with_bytes(mapping: &Mapping, writes: u64) -> Rate {
    let mtd = chip();
    let config = FtlConfig { log_blocks: 16, gc_free_blocks: 5, ..FtlConfig::new(LOGICAL_PAGES) };
    let mut ftl = (mapping.format)(OnMedium::new(mtd.clone()).expect("out-of-band bytes"), config).expect("room");
    let mut data = vec![0x5A; PAGE_BYTES];
    for page in 0..LOGICAL_PAGES {
        data[..4].copy_from_slice(&page.to_le_bytes());
        ftl.write(page, &data, false).expect("room");
    }
    let mut random = Pcg32::seed_from_u64(1);
    let before = mtd.sim().total();
    let watch = Instant::now();
    for _ in 0..writes {
        ftl.write(below(&mut random, LOGICAL_PAGES), &data, false).expect("room");
    }
    let seconds = watch.elapsed().as_secs_f64();
    let done = mtd.sim().total() - before;
    Rate { writes, operations: done.operations(), programs: done.page_programs, seconds }
}

fn without_bytes(victim: Victim, spare_percent: u32, writes: u64) -> Rate {
    let blocks = 1024;
    let logical_pages = blocks * PAGES_PER_BLOCK / 100 * (100 - spare_percent);
    let config = FtlConfig { victim, gc_apart: false, levelling: LevellingSpec::NONE, ..FtlConfig::new(logical_pages) };
    let mut ftl = PageMap::format(NoBytes::new(blocks + 3, PAGES_PER_BLOCK), config).expect("room");
    for page in 0..logical_pages {
        ftl.write(page, &[], false).expect("room");
    }
    let mut random = Pcg32::seed_from_u64(1);
    let before = ftl.flash().operations();
    let watch = Instant::now();
    for _ in 0..writes {
        ftl.write(below(&mut random, logical_pages), &[], false).expect("room");
    }
    let seconds = watch.elapsed().as_secs_f64();
    let (programs, erases) = ftl.flash().operations();
    let programs = programs - before.0;
    Rate { writes, operations: programs + erases - before.1, programs, seconds }
}

/// Pages of 2 KiB per second that can be copied and checked.
fn bare_minimum() -> f64 {
    let source = vec![0x5A; PAGE_BYTES];
    let mut target = vec![0u8; 64 << 20];
    let mut least = f64::MAX;
    for _ in 0..ROUNDS {
        let watch = Instant::now();
        for page in target.chunks_exact_mut(PAGE_BYTES) {
            page.copy_from_slice(&source);
            black_box(crc32fast::hash(page));
        }
        least = least.min(watch.elapsed().as_secs_f64());
    }
    (target.len() / PAGE_BYTES) as f64 / least
}

fn main() {
    let bare = bare_minimum();
    println!("ftl: per second, best of {ROUNDS} runs; 512 blocks of 64 pages, random writes");
    println!("{:<40} {:>12} {:>12} {:>14} {:>8}", "workload", "writes/s", "flash ops/s", "programs/s", "of bare");
    let show = |name: &str, rate: Rate, compared: bool| {
        let per_second = |count: u64| count as f64 / rate.seconds;
        let (writes, operations, programs) =
            (per_second(rate.writes), per_second(rate.operations), per_second(rate.programs));
        let share = if compared { format!("{:.0}%", 100.0 * programs / bare) } else { "-".to_string() };
        println!("{name:<40} {writes:>12.0} {operations:>12.0} {programs:>14.0} {share:>8}");
    };
    for mapping in &MAPPINGS {
        let writes = if ["page-map", "dftl"].contains(&mapping.name) { 60_000 } else { 4_000 };
        show(&format!("{}, 10 % spare, real bytes", mapping.name), best(|| with_bytes(mapping, writes)), true);
    }
    for (victim, spare_percent) in [(Victim::Greedy, 10), (Victim::Greedy, 30), (Victim::Fifo, 30)] {
        let name = format!("page-map, {victim}, {spare_percent} % spare, no bytes");
        show(&name, best(|| without_bytes(victim.clone(), spare_percent, 3_000_000)), false);
    }
    println!("{:<40} {:>12} {:>12} {bare:>14.0} {:>8}", "bare copy + CRC of a 2 KiB page", "", "", "100%");
}
