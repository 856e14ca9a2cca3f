//! What the read-ahead study (P. Olivier, J. Boukhobza, E. Senn, EWiLi 2014) found on a real board for JFFS2 and YAFFS2,
//! checked on the simulated one: board omap3evm, kernel 2.6.37, read-ahead 128 KiB against none.
//!
//! A gain is the share of the total read time that goes away when read-ahead is switched off.
//!
//! **Random offsets are not aligned here.** The paper does not say how it draws them. With offsets that are multiples of
//! 4 KiB the simulation gives a gain of 50 % or more for any number of requests up to 512, because the kernel takes each backward
//! jump, every second request, for sequential (the defect of 32-bit kernels before 3.13) and reads 4 pages instead of 1.
//! That is not the published curve. With offsets at any byte a 4 KiB request covers 2 pages, the same window of 4 pages
//! costs less in proportion, and the curve has the published shape: about 30 % for few requests, 47 % at 256, 8 % at
//! 1024; and 2 KiB requests gain more than those of 4 KiB, which the paper notes and puts down to "memory alignment
//! issues". Without the defect few requests would gain nothing at all. That the paper's program read at unaligned
//! offsets is an inference. For few requests the paper says "20 %" and the simulation 28 to 35 % for
//! JFFS2, 33 to 41 % for YAFFS2, whose chunks never share a page: not explained. The CPU costs of the board are not the
//! reason: they came in with the calibration from its traces and moved these gains by a point.

use ffslab_lab::{run_experiment, Experiment};
use ffslab_linux::{Calls, OpenFlags};
use ffslab_machine::stack::{Stack, StackSpec};
use ffslab_workload::{Content, SplitMix64};
use std::path::Path;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

const FILE_SYSTEMS: [&str; 2] = ["jffs2", "yaffs2"];

#[derive(Clone, Copy, Debug)]
enum Order {
    Sequential,
    /// At any byte, drawn with this seed.
    Random(u64),
}

/// A series of reads of one file, caches dropped before.
#[derive(Clone, Copy, Debug)]
struct Series {
    fs: &'static str,
    file_bytes: u64,
    request_bytes: u64,
    requests: u64,
    order: Order,
    /// Random offsets are multiples of it.
    align_bytes: u64,
    gap_us: u64,
}

#[derive(Clone, Debug)]
struct Run {
    page_reads: u64,
    /// Of the read calls alone.
    time_us: f64,
    energy_uj: f64,
    latency_us: Vec<f64>,
}

fn few(fs: &'static str, requests: u64, order: Order) -> Series {
    Series { fs, file_bytes: 5 * MIB, request_bytes: 4 * KIB, requests, order, align_bytes: 1, gap_us: 0 }
}

/// The board with one file that was written front to back.
struct Board {
    stack: Stack,
    file_bytes: u64,
}

impl Board {
    fn new(fs: &str, file_bytes: u64, read_ahead_kib: u32) -> Board {
        let blocks = 48 + file_bytes / (100 * KIB);
        let text = format!(
            "title = 'claims'\n[stack]\nboard = 'omap3evm'\nkernel = '2.6.37'\nfs = '{fs}'\n\
             compression = 'none'\npartition_blocks = {blocks}\n\
             read_ahead_KiB = {read_ahead_kib}\n[[measure]]\nstep = 'mount'\n"
        );
        let experiment = Experiment::parse(&text, "claims").unwrap();
        let (spec, _) = StackSpec::from_keys(experiment.variants[0].stack.linux().unwrap(), Path::new("")).unwrap();
        let mut stack = Stack::new(&spec).unwrap();
        stack.mount(&[]).unwrap();
        stack.vfs.sleep_ns(60_000_000_000);
        let mut content = Content::new(1);
        let fd = stack.vfs.open(b"target", OpenFlags { create: true, ..OpenFlags::WRITE }, 0o644).unwrap();
        let mut at = 0;
        while at < file_bytes {
            at += stack.vfs.pwrite(fd, content.take(64 << 10), at).unwrap() as u64;
        }
        stack.vfs.close(fd).unwrap();
        stack.vfs.sync().unwrap();
        Board { stack, file_bytes }
    }

    fn run(&mut self, series: Series) -> Run {
        let Series { request_bytes, requests, order, align_bytes, gap_us, .. } = series;
        let Stack { vfs, sim, .. } = &mut self.stack;
        // Open while the caches are dropped: opening reads the header of each node, which is not what is measured.
        let fd = vfs.open(b"target", OpenFlags::READ, 0).unwrap();
        vfs.drop_caches().unwrap();
        let mut prng = SplitMix64::new(if let Order::Random(seed) = order { seed } else { 0 });
        let (counts, energy) = (sim.total(), sim.energy());
        let mut latency_us = Vec::new();
        for i in 0..requests {
            let places = (self.file_bytes - request_bytes) / align_bytes + 1;
            let at = match order {
                Order::Sequential => i * request_bytes % self.file_bytes,
                Order::Random(_) => prng.next_u64() % places * align_bytes,
            };
            let start_ns = sim.now_ns();
            let read = vfs.pread_discard(fd, at, request_bytes as usize).unwrap();
            assert_eq!(read as u64, request_bytes);
            latency_us.push((sim.now_ns() - start_ns) as f64 / 1_000.0);
            if gap_us > 0 {
                vfs.sleep_ns(gap_us * 1_000);
            }
        }
        vfs.close(fd).unwrap();
        Run {
            page_reads: (sim.total() - counts).page_reads,
            time_us: latency_us.iter().sum(),
            energy_uj: (sim.energy() - energy).total_uj(),
            latency_us,
        }
    }
}

fn run(series: Series, read_ahead_kib: u32) -> Run {
    Board::new(series.fs, series.file_bytes, read_ahead_kib).run(series)
}

/// With read-ahead, without, and what switching it off gains.
struct Compared {
    on: Run,
    off: Run,
}

impl Compared {
    fn of(series: Series) -> Compared {
        Compared { on: run(series, 128), off: run(series, 0) }
    }

    fn time_gain(&self) -> f64 {
        1.0 - self.off.time_us / self.on.time_us
    }

    fn energy_gain(&self) -> f64 {
        1.0 - self.off.energy_uj / self.on.energy_uj
    }

    fn page_read_gain(&self) -> f64 {
        1.0 - self.off.page_reads as f64 / self.on.page_reads as f64
    }
}

/// Gain in the time of many draws of the offsets together: 8 random requests are few.
fn random_gain(series: Series) -> f64 {
    let draws = (3_000 / series.requests).clamp(4, 100);
    let total_us = |read_ahead_kib| -> f64 {
        let mut board = Board::new(series.fs, series.file_bytes, read_ahead_kib);
        (1..=draws).map(|seed| board.run(Series { order: Order::Random(seed), ..series }).time_us).sum()
    };
    1.0 - total_us(0) / total_us(128)
}

const NUMBERS: [u64; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];

/// RA-2: "5 MB file, sequential reads, read-ahead on: the mean read latency does not change with the inter-arrival time;
/// prefetch time is added to the read() that triggered it".
#[test]
fn ra_2_read_ahead_is_synchronous() {
    for fs in FILE_SYSTEMS {
        ra_2(fs);
    }
}

fn ra_2(fs: &'static str) {
    let with_gap = |gap_us| run(Series { gap_us, ..few(fs, 256, Order::Sequential) }, 128);
    let without_pause = with_gap(0);
    for gap_us in [100, 1_000, 10_000, 100_000] {
        // Nothing else runs, so not one call may differ.
        assert_eq!(with_gap(gap_us).latency_us, without_pause.latency_us, "think time {gap_us} us");
    }
    // One call in 32 pays for a whole window of 32 pages of 4 KiB (at least 2 flash pages each, 185 us), the others
    // find their page in the cache.
    let dear = without_pause.latency_us.iter().filter(|us| **us > 32.0 * 2.0 * 185.0).count();
    let free = without_pause.latency_us.iter().filter(|us| **us < 10.0).count();
    assert!((256 / 32 - 1..=256 / 32 + 1).contains(&dear), "{dear} calls pay for a window");
    assert!(free >= 240, "{free} calls cost no flash operation");
}

/// RA-3: "5 MB file, 4 KiB requests, N = 8..1024 (powers of two), sequential and random, JFFS2 and YAFFS2: total time
/// without read-ahead <= with it, in every point".
#[test]
fn ra_3_always_better_off() {
    for fs in FILE_SYSTEMS {
        ra_3(fs);
    }
}

fn ra_3(fs: &'static str) {
    for requests in NUMBERS {
        for order in [Order::Sequential, Order::Random(1), Order::Random(2)] {
            let compared = Compared::of(few(fs, requests, order));
            assert!(compared.off.time_us <= compared.on.time_us, "{requests} requests, {order:?}");
            assert!(compared.off.page_reads <= compared.on.page_reads, "{requests} requests, {order:?}");
        }
    }
}

/// RA-4: "sequential, fewer than 64 requests of 4 KiB: flash page reads fall by more than 50 % without read-ahead; the
/// prefetch window is about 128 KiB; the fewer the requests the larger the gain".
#[test]
fn ra_4_sequential_few_requests() {
    for fs in FILE_SYSTEMS {
        ra_4(fs);
    }
}

fn ra_4(fs: &'static str) {
    let gains: Vec<f64> =
        NUMBERS.iter().map(|n| Compared::of(few(fs, *n, Order::Sequential)).page_read_gain()).collect();
    println!("{fs}: page reads saved, sequential: {gains:.3?}");
    for (requests, gain) in NUMBERS.iter().zip(&gains) {
        assert_eq!(*gain > 0.5, *requests < 64, "{requests} requests: {gain:.3}");
    }
    // From 16 on. With 8 requests the window has only grown to 16 pages (the first three hold 4, 8 and 16), so that the
    // gain is 70 % instead of the 73 % of 16 requests; the paper's figure cannot be read that finely.
    assert!(gains[1..].windows(2).all(|pair| pair[0] > pair[1]), "{gains:.3?}");
    assert!(gains[0] > gains[2], "{gains:.3?}");
    // 32 pages of 4 KiB, written one after the other: 65 or 66 flash pages of 185.065 us, and up to 100 us of the CPU for
    // each page.
    let largest_us = run(few(fs, 1024, Order::Sequential), 128).latency_us.iter().fold(0.0, |a: f64, b| a.max(*b));
    let (least_us, most_us) = (64.0 * 185.065, 67.0 * 185.065 + 32.0 * 100.0);
    assert!((least_us..=most_us).contains(&largest_us), "the longest call takes {largest_us:.0} us");
}

/// RA-5: "random 4 KiB: gain about 20 % up to 32 requests, rising to about 50 % at 256 requests (later page-cache hits
/// appear)". See the head of this file for the offsets.
#[test]
fn ra_5_random() {
    for fs in FILE_SYSTEMS {
        ra_5(fs);
    }
}

fn ra_5(fs: &'static str) {
    let gains: Vec<f64> = NUMBERS.iter().map(|n| random_gain(few(fs, *n, Order::Random(0)))).collect();
    println!("{fs}: time saved, random: {gains:.3?}");
    // Up to 21 points above the published 20 %: see the head of this file.
    for (requests, gain) in NUMBERS.iter().zip(&gains).take(3) {
        assert!((0.20..=0.41).contains(gain), "{requests} requests: {gain:.3}");
    }
    // Two points for chance.
    assert!(gains[..6].windows(2).all(|pair| pair[0] < pair[1] + 0.02), "rising to 256 requests: {gains:.3?}");
    assert!((0.43..=0.56).contains(&gains[5]), "256 requests: {:.3}", gains[5]);
    assert!(gains[5] > gains[6] && gains[6] > gains[7], "then page-cache hits: {gains:.3?}");
}

/// Why RA-5 is checked with unaligned offsets: aligned ones do not rise from 32 to 256 requests.
#[test]
fn ra_5_does_not_come_from_aligned_offsets() {
    for fs in FILE_SYSTEMS {
        let aligned = |n: &u64| random_gain(Series { align_bytes: 4 * KIB, ..few(fs, *n, Order::Random(0)) });
        let gains: Vec<f64> = NUMBERS.iter().map(aligned).collect();
        println!("{fs}: time saved, random, aligned: {gains:.3?}");
        assert!(gains[..7].iter().all(|gain| (0.46..=0.66).contains(gain)), "{fs}: {gains:.3?}");
    }
}

/// RA-6: "when nearly the whole file is read (1024 x 4 KiB of 5 MB, sequential) the gain is minimal".
#[test]
fn ra_6_whole_file() {
    for fs in FILE_SYSTEMS {
        ra_6(fs);
    }
}

fn ra_6(fs: &'static str) {
    let gain = Compared::of(few(fs, 1024, Order::Sequential)).time_gain();
    // What is read in vain is the last window, at most 64 of 1280 pages.
    assert!((0.0..=0.06).contains(&gain), "{gain:.3}");
    let whole = Compared::of(few(fs, 1280, Order::Sequential)).time_gain();
    assert!(whole.abs() < 0.005, "all of it: {whole:.4}");
}

/// RA-7: "32 MB file, N x request size: sequential gain falls as the total space read grows; random gain is stable
/// except for 1024 x 32 KiB (page-cache hits); energy gain curves equal the time gain curves".
#[test]
fn ra_7_request_size() {
    for fs in FILE_SYSTEMS {
        ra_7(fs);
    }
}

fn ra_7(fs: &'static str) {
    let (mut on, mut off) = (Board::new(fs, 32 * MIB, 128), Board::new(fs, 32 * MIB, 0));
    let sizes = [2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB];
    let mut random_gains = Vec::new();
    for request_bytes in sizes {
        let mut gains_of = |order, draws| -> Vec<f64> {
            let mut gains = Vec::new();
            for requests in [32, 128, 512, 1024] {
                let (mut with, mut without) = ((0.0, 0.0), (0.0, 0.0));
                for seed in 1..=draws {
                    let order = if let Order::Random(_) = order { Order::Random(seed) } else { order };
                    let series = Series { request_bytes, file_bytes: 32 * MIB, ..few(fs, requests, order) };
                    let (a, b) = (on.run(series), off.run(series));
                    with = (with.0 + a.time_us, with.1 + a.energy_uj);
                    without = (without.0 + b.time_us, without.1 + b.energy_uj);
                }
                let (time, energy) = (1.0 - without.0 / with.0, 1.0 - without.1 / with.1);
                // Every flash read takes the same time at the same power; the CPU, which has a tenth of the time, draws
                // somewhat more.
                assert!((time - energy).abs() < 0.01, "{requests} x {request_bytes} B: {time:.3}, {energy:.3}");
                gains.push(time);
            }
            gains
        };
        let sequential = gains_of(Order::Sequential, 1);
        assert!(sequential.windows(2).all(|pair| pair[0] > pair[1]), "{request_bytes} B, sequential: {sequential:.3?}");
        random_gains.push(gains_of(Order::Random(0), 10));
    }
    println!("{fs}: 32 MiB, random, rows 2 .. 32 KiB, columns 32 .. 1024 requests: {random_gains:.3?}");
    // "A slight enhancement for 2 KB requests as compared to 4 KB".
    assert!((0..3).all(|n| random_gains[0][n] > random_gains[1][n]), "{random_gains:.3?}");
    // Stable: within 15 points of the middle, the one exception aside.
    let stable: Vec<f64> = random_gains.iter().flatten().copied().take(19).collect();
    assert!(stable.iter().all(|gain| (gain - 0.45).abs() <= 0.15), "{random_gains:.3?}");
    let exception = random_gains[4][3];
    assert!(stable.iter().all(|gain| exception < *gain), "{random_gains:.3?}");
}

/// RA-8: "gain up to 70 % sequential, up to 60 % random (time and energy)".
#[test]
fn ra_8_maximum_gain() {
    for fs in FILE_SYSTEMS {
        ra_8(fs);
    }
}

fn ra_8(fs: &'static str) {
    let (mut on, mut off) = (Board::new(fs, 5 * MIB, 128), Board::new(fs, 5 * MIB, 0));
    let mut best = |order: fn(u64) -> Order| {
        let (mut time, mut energy) = (0.0f64, 0.0f64);
        for series in NUMBERS.iter().flat_map(|n| (1..=4).map(|seed| few(fs, *n, order(seed)))) {
            let compared = Compared { on: on.run(series), off: off.run(series) };
            time = time.max(compared.time_gain());
            energy = energy.max(compared.energy_gain());
        }
        (time, energy)
    };
    // 7 points either way: the paper rounds, and the largest of several draws is a chance value.
    let near = |gain: f64, published: f64| (gain - published).abs() <= 0.07;
    let (time, energy) = best(|_| Order::Sequential);
    println!("{fs}: largest sequential gain: time {time:.3}, energy {energy:.3}");
    assert!(near(time, 0.70) && near(energy, 0.70), "sequential: {time:.3}, {energy:.3}");
    let (time, energy) = best(Order::Random);
    println!("{fs}: largest random gain: time {time:.3}, energy {energy:.3}");
    assert!(near(time, 0.60) && near(energy, 0.60), "random: {time:.3}, {energy:.3}");
}

/// RA-9: "random: the gain falls as the number of selected records grows", mean gain 9.5 % in order and 44 % at random, at
/// most 70 %. The published means are over runs of many sizes and hold SQLite's own CPU time. These are recorded runs of
/// some sizes, flash time only, so that only the order and the bounds are checked.
#[test]
fn ra_9_sqlite() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/readahead");
    let text = std::fs::read_to_string(folder.join("sqlite.toml")).unwrap();
    let result = run_experiment(&text, "sqlite.toml", &folder, &|_| true).unwrap();
    let replayed = |read_ahead: &str, trace: &str| {
        let found = result.summary.variants.iter().find(|v| v.name.contains(read_ahead) && v.name.contains(trace));
        let variant = found.unwrap();
        assert!(variant.notes.iter().all(|note| !note.contains("ended differently")), "{:?}", variant.notes);
        &variant.steps[1]
    };
    let gain = |trace: &str| {
        let (on, off) = (replayed("KiB=128", trace), replayed("KiB=0", trace));
        let gain = 1.0 - off.elapsed_us / on.elapsed_us;
        let reads = (on.counts.page_reads, off.counts.page_reads);
        println!("{trace}: {:.1} ms -> {:.1} ms, gain {gain:.3}, {reads:?}", on.elapsed_us / 1e3, off.elapsed_us / 1e3);
        gain
    };
    let random = ["random-50.", "random-200.", "random-500.", "random-1000."].map(gain);
    assert!(random.windows(2).all(|pair| pair[0] > pair[1]), "falls with the number of records: {random:.3?}");
    // In order the published mean (9.5 %) is far below ours: a few records are a small part of the file, and the last
    // windows are read in vain. The more of the file is read, the less is lost.
    let in_order = ["sequential-50.", "sequential-200.", "sequential-500.", "sequential-1000."].map(gain);
    assert!(in_order.windows(2).all(|pair| pair[0] > pair[1]), "{in_order:.3?}");
    // "Disabling read-ahead always reduces the execution time": where all of the file is read it makes no difference.
    assert!(random.iter().chain(&in_order).all(|gain| (-0.01..=0.72).contains(gain)), "{random:.3?} {in_order:.3?}");
}
