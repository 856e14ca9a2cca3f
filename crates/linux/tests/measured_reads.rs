//! Read requests of the measured cases (family R): the pages that the kernel asked for, without a real file system.
//!
//! YAFFS2 cases count two chunk reads a page and used the read-ahead of 2.6.3x; JFFS2 cases of Linux 6.1 are replayed
//! over the known position of each node on the flash. Skipped when the cases are not there.

use crate::support;

use ffslab_linux::{timed, Calls, OpenFlags, ReadAheadRules, Vfs};
use ffslab_workload::SplitMix64;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use support::{config, mounted, MemFs};

const PAGE_READ_NS: u64 = 130_600;

fn cases(name: &str) -> Vec<Value> {
    let shared = std::env::var_os("FFSLAB_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    let path = shared.join("oracle").join(name);
    let Ok(file) = std::fs::File::open(&path) else {
        println!("skipped: {} is not there", path.display());
        return Vec::new();
    };
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    // Most lines are write cases, which are long.
    let reads = lines.map(Result::unwrap).filter(|line| line.contains(r#""family":"R"#));
    reads.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

/// The `requests` step of a case, its setup file's size, and the read-ahead.
struct Reads {
    request_bytes: u64,
    count: u64,
    slots: u64,
    random: Option<SplitMix64>,
    gap_ns: u64,
    file_bytes: u64,
    read_ahead_bytes: u32,
}

impl Reads {
    fn of(case: &Value) -> Reads {
        let step = case["measure"].as_array().unwrap().iter().find(|s| s["step"] == "requests").unwrap();
        let number = |key: &str| step[key].as_u64().unwrap();
        let create = case["setup"].as_array().unwrap().iter().find(|s| s["step"] == "create").unwrap();
        Reads {
            request_bytes: number("request_B"),
            count: number("count"),
            slots: number("range_B") / number("request_B"),
            random: (step["pattern"] == "random").then(|| SplitMix64::new(number("seed"))),
            gap_ns: number("gap_us") * 1000,
            file_bytes: create["bytes"].as_u64().unwrap(),
            read_ahead_bytes: case["system"]["read_ahead_KiB"].as_u64().unwrap() as u32 * 1024,
        }
    }

    /// Latencies in nanoseconds.
    fn run(mut self, vfs: &mut Vfs) -> Vec<u64> {
        let fd = vfs.open(b"target", OpenFlags::READ, 0).unwrap();
        (0..self.count)
            .map(|i| {
                let slot = self.random.as_mut().map_or(i, SplitMix64::next_u64) % self.slots;
                let at = slot * self.request_bytes;
                let (result, latency_ns) = timed(vfs, |vfs| vfs.pread_discard(fd, at, self.request_bytes as usize));
                assert_eq!(result, Ok(self.request_bytes as usize));
                if self.gap_ns > 0 {
                    vfs.sleep_ns(self.gap_ns);
                }
                latency_ns
            })
            .collect()
    }
}

#[test]
fn yaffs2_page_reads_with_the_rules_of_2_6() {
    let mut checked = 0;
    for case in cases("yaffs2.jsonl.gz").iter().filter(|case| case["family"] == "R1") {
        let reads = Reads::of(case);
        let (mut vfs, log) = mounted(config(ReadAheadRules::V2_6, reads.read_ahead_bytes), |sim| {
            MemFs::with_file(sim, "target", reads.file_bytes as usize)
        });
        reads.run(&mut vfs);
        let chunk_reads = 2 * log.borrow().page_reads.len() as u64;
        assert_eq!(Some(chunk_reads), case["expect"]["reads"]["readpage"].as_u64(), "{}", case["id"]);
        checked += 1;
    }
    println!("{checked} cases");
}

/// Where JFFS2 put each 4 KiB page of a file that was written at once: flash pages from .. to, in reading order.
/// Sizes from `include/uapi/linux/jffs2.h`; a node that does not fit is cut at the end of the block.
fn jffs2_layout(file_bytes: u64) -> Vec<Vec<u64>> {
    const NODE_HEADER_BYTES: u64 = 68;
    const BLOCK_BYTES: u64 = 64 * 2048;
    // The new file's inode node and its directory entry ("target") come first.
    let mut at = NODE_HEADER_BYTES + 48;
    let mut pages = Vec::new();
    for _ in 0..file_bytes / 4096 {
        let mut left = 4096;
        let mut touched = Vec::new();
        while left > 0 {
            let free = BLOCK_BYTES - at % BLOCK_BYTES;
            if free < NODE_HEADER_BYTES + 128 {
                at += free;
                continue;
            }
            let data = left.min((free - NODE_HEADER_BYTES) / 4 * 4);
            touched.extend(at / 2048..=(at + NODE_HEADER_BYTES + data - 1) / 2048);
            at += NODE_HEADER_BYTES + data;
            left -= data;
        }
        pages.push(touched);
    }
    pages
}

#[test]
fn jffs2_page_reads_and_latencies_with_the_rules_of_6_1() {
    let wanted = |case: &&Value| {
        matches!(case["family"].as_str(), Some("R1" | "R2" | "R3"))
            && case["system"]["fs"] == "jffs2"
            && case["system"]["ecc"] == "hw"
            && case["system"]["nand_wait"] == "busy"
    };
    let mut checked = 0;
    for case in cases("linux-6.1.jsonl.gz").iter().filter(wanted) {
        let reads = Reads::of(case);
        let layout = jffs2_layout(reads.file_bytes);
        let (mut vfs, log) = mounted(config(ReadAheadRules::V6_1, reads.read_ahead_bytes), |sim| {
            MemFs::with_file(sim, "target", reads.file_bytes as usize)
        });
        let flash_reads = std::rc::Rc::new(std::cell::Cell::new(0));
        let counter = flash_reads.clone();
        let mut in_register = None;
        log.borrow_mut().page_read_cost = Some(Box::new(move |index| {
            let mut count = 0;
            for &page in &layout[index as usize] {
                count += u64::from(in_register != Some(page));
                in_register = Some(page);
            }
            counter.set(counter.get() + count);
            count * PAGE_READ_NS
        }));
        let mut latencies = reads.run(&mut vfs);
        let expect = &case["expect"];
        let expected = expect["page_reads"].as_u64().unwrap();
        // The layout above is exact for the 5 MiB files of R1; in the larger ones a node or two lies elsewhere.
        let exact = case["family"] == "R1";
        let difference = flash_reads.get().abs_diff(expected);
        assert!(difference <= if exact { 0 } else { 3 }, "{}: {} {expected}", case["id"], flash_reads.get());
        checked += 1;
        if !exact {
            continue;
        }
        latencies.sort_unstable();
        let percentile = |p: usize| latencies[latencies.len() * p / 100] as f64 / 1000.0;
        for (p, name) in [(0, "min"), (50, "p50"), (90, "p90"), (99, "p99")] {
            let measured = expect["latency_us"][name].as_f64().unwrap();
            // The measuring clock counts in steps of 0.256 us.
            assert!((percentile(p) - measured).abs() <= 0.26, "{} {name}: {} {measured}", case["id"], percentile(p));
        }
    }
    println!("{checked} cases");
}
