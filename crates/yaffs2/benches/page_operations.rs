//! How fast is the simulation? Simulated page operations per second of real time on one core, byte-real, and the ratio
//! to the bare minimum of work: copying the pages and computing their CRCs. All figures of one run belong together;
//! machines are noisy, so compare ratios. The partitions are equally full.
//!
//! Run with `cargo bench -p ffslab-yaffs2`.

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::Instant;

use ffslab_workload::SplitMix64;
use support::Bench;

const PAGE_BYTES: usize = 4096;
const ROUNDS: u32 = 3;

struct Rate {
    operations: u64,
    writes: u64,
    seconds: f64,
}

impl Rate {
    fn operations_per_s(&self) -> f64 {
        self.operations as f64 / self.seconds
    }

    fn writes_per_s(&self) -> f64 {
        self.writes as f64 / self.seconds
    }
}

/// What is written.
enum Workload {
    /// A new file from start to end, on a partition with room; an earlier one was deleted, so that memory is warm.
    NewFile,
    /// Overwrites of a file of so many pages, from start to end again and again.
    Sequential(u64),
    /// Overwrites at random places of a file of so many pages.
    Random(u64),
}

/// Writes of a page each, on a partition of `blocks` erase blocks.
fn run(blocks: u32, writes: u64, workload: &Workload) -> Rate {
    let mut best: Option<Rate> = None;
    let data = support::content(0, PAGE_BYTES);
    for _ in 0..ROUNDS {
        let mut bench = Bench::new(blocks);
        let mut fd = bench.open_new("target");
        let before = match workload {
            Workload::NewFile => writes,
            Workload::Sequential(pages) | Workload::Random(pages) => *pages,
        };
        for i in 0..before {
            bench.vfs.pwrite(fd, &data, i * PAGE_BYTES as u64).unwrap();
        }
        if let Workload::NewFile = workload {
            bench.vfs.close(fd).unwrap();
            bench.vfs.unlink(b"target").unwrap();
            bench.vfs.sync().unwrap();
            bench.vfs.sleep_ns(60 * support::SECOND_NS);
            fd = bench.open_new("target");
        }
        let mut generator = SplitMix64::new(1);
        let before = bench.sim.total().operations();
        let start = Instant::now();
        for i in 0..writes {
            let page = match workload {
                Workload::NewFile => i,
                Workload::Sequential(pages) => i % pages,
                Workload::Random(pages) => generator.next_u64() % pages,
            };
            bench.vfs.pwrite(fd, &data, page * PAGE_BYTES as u64).unwrap();
        }
        let seconds = start.elapsed().as_secs_f64();
        let rate = Rate { operations: bench.sim.total().operations() - before, writes, seconds };
        if best.as_ref().is_none_or(|b| rate.seconds < b.seconds) {
            best = Some(rate);
        }
    }
    best.unwrap()
}

/// The least that a byte-real simulation must do for a page: copy it and compute its CRC. Pages per second.
fn bare_minimum() -> f64 {
    let source = support::content(0, PAGE_BYTES);
    let mut target = vec![0u8; 64 << 20];
    let pages = target.len() / PAGE_BYTES;
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for page in target.chunks_exact_mut(PAGE_BYTES) {
            page.copy_from_slice(&source);
            black_box(crc32fast::hash(page));
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    pages as f64 / best
}

fn main() {
    let bare = bare_minimum();
    println!("yaffs2: simulated page operations per second of real time, best of {ROUNDS} runs");
    println!("{:<46} {:>12} {:>12} {:>10}", "workload", "ops/s", "writes/s", "of bare");
    let workloads = [
        ("sequential 4 KiB, new file, 128 MB partition", 1_024, 10_000, Workload::NewFile),
        ("sequential 4 KiB with GC, 20 MB partition", 160, 100_000, Workload::Sequential(3_000)),
        ("random 4 KiB with GC, 20 MB partition", 160, 100_000, Workload::Random(3_000)),
        ("random 4 KiB with GC, 256 MB partition", 2_048, 400_000, Workload::Random(38_400)),
    ];
    for (name, blocks, writes, workload) in workloads {
        let rate = run(blocks, writes, &workload);
        println!(
            "{name:<46} {:>12.0} {:>12.0} {:>9.0}%",
            rate.operations_per_s(),
            rate.writes_per_s(),
            100.0 * rate.writes_per_s() / bare
        );
    }
    println!("{:<46} {:>12} {:>12.0} {:>9.0}%", "bare copy + CRC of a 4 KiB page", "", bare, 100.0);
}
