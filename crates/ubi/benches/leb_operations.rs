//! How fast is the simulation? LEB writes with blocks that are given back and erased, and attach of a large partition,
//! beside the bare minimum of work: copying the pages and computing their CRCs. Compare the ratios of one run.
//!
//! Run with `cargo bench -p ffslab-ubi`.

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;

use ffslab_conformance::cpu_time::Stopwatch;
use ffslab_ubi::{Ubi, Volume};
use ffslab_workload::SplitMix64;
use support::{content, Rig, LEB_BYTES, PAGE_BYTES};

const ROUNDS: u32 = 3;

/// Flash operations and written pages of one run, and the CPU time they took.
#[derive(Clone, Copy)]
struct Rate {
    operations: u64,
    pages: u64,
    seconds: f64,
}

fn best(run: impl Fn() -> Rate) -> Rate {
    (0..ROUNDS).map(|_| run()).min_by(|a, b| a.seconds.total_cmp(&b.seconds)).expect("at least one round")
}

fn measured(rig: &Rig, pages: u64, f: impl FnOnce()) -> Rate {
    let before = rig.sim.total().operations();
    let watch = Stopwatch::start();
    f();
    let seconds = watch.seconds();
    Rate { operations: rig.sim.total().operations() - before, pages, seconds }
}

/// A partition whose LEBs are all written once, so that memory is warm.
fn full(blocks: u32, data: &[u8]) -> (Rig, Ubi, Volume) {
    let rig = Rig::new(blocks);
    let (ubi, volume) = rig.formatted();
    for leb in 0..volume.lebs() {
        volume.write(leb, 0, data).unwrap();
    }
    (rig, ubi, volume)
}

/// Random LEBs are unmapped and written again, a page at a time as UBIFS does, or changed as a whole.
fn churn(blocks: u32, rounds: u64, whole: bool) -> Rate {
    let data = content(0, 0, LEB_BYTES);
    let (rig, _ubi, volume) = full(blocks, &data);
    let mut random = SplitMix64::new(1);
    let lebs = u64::from(volume.lebs());
    measured(&rig, rounds * (LEB_BYTES / PAGE_BYTES) as u64, || {
        for _ in 0..rounds {
            let leb = random.below(lebs) as u32;
            if whole {
                volume.change(leb, &data).unwrap();
                continue;
            }
            volume.unmap(leb).unwrap();
            for (page, part) in (0..).zip(data.chunks(PAGE_BYTES)) {
                volume.write(leb, page * PAGE_BYTES as u32, part).unwrap();
            }
        }
    })
}

/// One page each, then the LEB is given back: headers, erases and the choice of blocks.
fn short_lebs(blocks: u32, rounds: u64) -> Rate {
    let (rig, _ubi, volume) = full(blocks, &content(0, 0, PAGE_BYTES));
    let page = content(1, 1, PAGE_BYTES);
    let mut random = SplitMix64::new(1);
    let lebs = u64::from(volume.lebs());
    measured(&rig, rounds, || {
        for _ in 0..rounds {
            let leb = random.below(lebs) as u32;
            volume.unmap(leb).unwrap();
            volume.write(leb, 0, &page).unwrap();
        }
    })
}

fn attach(blocks: u32) -> Rate {
    let (rig, ubi, _) = full(blocks, &content(0, 0, PAGE_BYTES));
    ubi.detach();
    measured(&rig, 0, || drop(black_box(rig.attach())))
}

/// Pages of 2 KiB per second that can be copied and checked.
fn bare_minimum() -> f64 {
    let source = content(0, 0, PAGE_BYTES);
    let mut target = vec![0u8; 64 << 20];
    let mut least = f64::MAX;
    for _ in 0..ROUNDS {
        let watch = Stopwatch::start();
        for page in target.chunks_exact_mut(PAGE_BYTES) {
            page.copy_from_slice(&source);
            black_box(crc32fast::hash(page));
        }
        least = least.min(watch.seconds());
    }
    (target.len() / PAGE_BYTES) as f64 / least
}

fn main() {
    let bare = bare_minimum();
    println!("ubi: simulated page operations per second of CPU time, best of {ROUNDS} runs");
    println!("{:<46} {:>12} {:>12} {:>10}", "workload", "ops/s", "pages/s", "of bare");
    let show = |name: &str, rate: Rate| {
        let pages = rate.pages as f64 / rate.seconds;
        let operations = rate.operations as f64 / rate.seconds;
        println!("{name:<46} {operations:>12.0} {pages:>12.0} {:>9.0}%", 100.0 * pages / bare);
    };
    show("whole LEBs page by page, 20 MB partition", best(|| churn(160, 10_000, false)));
    show("whole LEBs page by page, 256 MB partition", best(|| churn(2_048, 10_000, false)));
    show("atomic changes of whole LEBs, 256 MB", best(|| churn(2_048, 10_000, true)));
    show("LEBs of one page, 256 MB partition", best(|| short_lebs(2_048, 200_000)));
    println!("{:<46} {:>12} {:>12.0} {:>9.0}%", "bare copy + CRC of a 2 KiB page", "", bare, 100.0);
    let rate = best(|| attach(2_048));
    println!("attach of 2048 blocks: {} page reads in {:.2} ms", rate.operations, rate.seconds * 1000.0);
}
