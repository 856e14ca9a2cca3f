//! How fast is the simulation? Simulated page operations per second of CPU time, byte-real, and the ratio
//! to the bare minimum of work: copying the pages and computing their CRCs. All figures of one run belong together;
//! machines are noisy, so compare ratios. The partitions are equally full.
//!
//! The clock starts in a steady state: before, as much is written in the same way as the partition holds, so that garbage
//! collection is at work and the host has provided every page of the chip's and the page cache's memory. That is a
//! cost of the start, which would weigh the more the larger the partition.
//!
//! This is the common part: each file system's benchmark makes it a module, beside its tests' `support`, and says how to
//! make a mounted partition. `-- 256` on the command line runs only the workloads with "256" in their name.

use ffslab_linux::Calls;
use std::hint::black_box;

use ffslab_conformance::cpu_time::Stopwatch;
use ffslab_sim::Arena;
use ffslab_workload::SplitMix64;

use crate::support::{self, Bench, Files};

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

/// Writes of a page each, on a partition of `blocks` erase blocks that `make` makes and mounts.
fn run(make: &dyn Fn(u32) -> Bench, blocks: u32, writes: u64, workload: &Workload) -> Rate {
    let mut best: Option<Rate> = None;
    let data = support::content(0, PAGE_BYTES);
    for _ in 0..ROUNDS {
        let mut bench = make(blocks);
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
        let mut write = |bench: &mut Bench, i: u64| {
            let page = match workload {
                Workload::NewFile => i,
                Workload::Sequential(pages) => i % pages,
                Workload::Random(pages) => generator.next_u64() % pages,
            };
            bench.vfs.pwrite(fd, &data, page * PAGE_BYTES as u64).unwrap();
        };
        if !matches!(workload, Workload::NewFile) {
            for i in 0..bench.mtd.size_bytes() / PAGE_BYTES as u64 {
                write(&mut bench, i);
            }
        }
        let before = bench.sim.total().operations();
        let watch = Stopwatch::start();
        for i in 0..writes {
            write(&mut bench, i);
        }
        let seconds = watch.seconds();
        let rate = Rate { operations: bench.sim.total().operations() - before, writes, seconds };
        if best.as_ref().is_none_or(|b| rate.seconds < b.seconds) {
            best = Some(rate);
        }
    }
    best.unwrap()
}

/// The least that a byte-real simulation must do for a page: copy it and compute its CRC. Pages per second.
fn bare_minimum() -> f64 {
    bare(vec![0u8; 64 << 20].as_mut_slice(), |i, _| i)
}

/// The same at random places of `blocks` erase blocks: what the memory of this machine makes of the larger partition.
fn bare_at_random(blocks: u32) -> f64 {
    let mut generator = SplitMix64::new(1);
    let mut target = Arena::new(blocks as usize * support::BLOCK_BYTES);
    bare(&mut target, |_, pages| (generator.next_u64() % pages as u64) as usize)
}

fn bare(target: &mut [u8], mut place: impl FnMut(usize, usize) -> usize) -> f64 {
    let source = support::content(0, PAGE_BYTES);
    target.fill(1);
    let pages = target.len() / PAGE_BYTES;
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let watch = Stopwatch::start();
        for i in 0..pages {
            let at = place(i, pages) * PAGE_BYTES;
            let page = &mut target[at..at + PAGE_BYTES];
            page.copy_from_slice(&source);
            black_box(crc32fast::hash(page));
        }
        best = best.min(watch.seconds());
    }
    pages as f64 / best
}

/// Prints the table of one file system.
pub fn table(title: &str, make: impl Fn(u32) -> Bench) {
    let bare = bare_minimum();
    println!("{title}: simulated page operations per second of CPU time, best of {ROUNDS} runs");
    println!("{:<46} {:>12} {:>12} {:>10}", "workload", "ops/s", "writes/s", "of bare");
    let workloads = [
        ("sequential 4 KiB, new file, 128 MB partition", 1_024, 10_000, Workload::NewFile),
        ("sequential 4 KiB with GC, 20 MB partition", 160, 100_000, Workload::Sequential(3_000)),
        ("random 4 KiB with GC, 20 MB partition", 160, 100_000, Workload::Random(3_000)),
        ("random 4 KiB with GC, 256 MB partition", 2_048, 400_000, Workload::Random(38_400)),
    ];
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    for (name, blocks, writes, workload) in workloads.into_iter().filter(|(name, ..)| name.contains(&wanted)) {
        let rate = run(&make, blocks, writes, &workload);
        println!(
            "{name:<46} {:>12.0} {:>12.0} {:>9.0}%",
            rate.operations_per_s(),
            rate.writes_per_s(),
            100.0 * rate.writes_per_s() / bare
        );
    }
    println!("{:<46} {:>12} {:>12.0} {:>9.0}%", "bare copy + CRC of a 4 KiB page", "", bare, 100.0);
    for (name, blocks) in [("the same at random places of 20 MB", 160), ("the same at random places of 256 MB", 2_048)]
    {
        let rate = bare_at_random(blocks);
        println!("{name:<46} {:>12} {rate:>12.0} {:>9.0}%", "", 100.0 * rate / bare);
    }
}
