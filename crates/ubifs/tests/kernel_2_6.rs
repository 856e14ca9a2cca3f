//! Linux 2.6.37 where it differs from 6.1.

use crate::support;

use std::cell::RefCell;
use std::rc::Rc;

use ffslab_flash::Geometry;
use ffslab_linux::{Calls, OpenFlags};
use ffslab_sim::{EventSink, Op, OpEvent};
use ffslab_ubifs::{causes, KernelRules, Options};
use support::{Bench, Files, SECOND_NS};

const CHIP: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 64 };

fn bench(rules: KernelRules) -> Bench {
    let mut bench = Bench::new(CHIP, 8 << 20, Options { rules, ..Options::default() });
    bench.mount().unwrap();
    bench
}

/// Page programs of one sync.
fn sync_programs(bench: &mut Bench) -> u64 {
    let before = bench.sim.total().page_programs;
    bench.vfs.sync().unwrap();
    bench.sim.total().page_programs - before
}

#[test]
fn a_commit_is_run_although_nothing_has_changed() {
    let programs_of_fifth_sync = |rules| {
        let mut bench = bench(rules);
        bench.create("f", 10_000, 4096);
        for _ in 0..4 {
            sync_programs(&mut bench);
        }
        sync_programs(&mut bench)
    };
    assert_eq!(programs_of_fifth_sync(KernelRules::V6_1), 0);
    // At least the commit start node and both master nodes.
    assert!(programs_of_fifth_sync(KernelRules::V2_6) >= 3);
}

#[test]
fn a_mount_reads_the_root_of_the_index_for_debugging_code_that_is_not_there() {
    let reads_of_mount = |rules| {
        let mut bench = bench(rules);
        bench.create("f", 10_000, 4096);
        bench.vfs.umount().unwrap();
        let before = bench.sim.total().page_reads;
        bench.mount().unwrap();
        bench.sim.total().page_reads - before
    };
    assert_eq!(reads_of_mount(KernelRules::V6_1) - reads_of_mount(KernelRules::V2_6), 1);
}

#[test]
fn a_kernel_with_debugging_code_keeps_a_second_leb_for_orphans_and_reads_the_root_after_each_commit() {
    let of = |fs_debug| {
        let options = Options { rules: KernelRules::V2_6, fs_debug, ..Options::default() };
        let mut bench = Bench::new(CHIP, 8 << 20, options);
        bench.mount().unwrap();
        let size_blocks = bench.vfs.statfs().unwrap().blocks;
        bench.create("f", 10_000, 4096);
        let before = bench.sim.total().page_reads;
        for _ in 0..4 {
            sync_programs(&mut bench);
        }
        (size_blocks, bench.sim.total().page_reads - before)
    };
    let ((size_blocks, reads), (size_debug_blocks, reads_debug)) = (of(false), of(true));
    assert!(size_debug_blocks < size_blocks);
    assert_eq!((reads, reads_debug), (0, 4), "each sync runs a commit");
}

/// Page reads of a read of the whole file with its index nodes, after `drop_caches`.
fn reads_after_drop(rules: KernelRules, blocks: usize) -> u64 {
    let mut bench = bench(rules);
    bench.create("f", blocks * 4096, 4096);
    bench.vfs.sync().unwrap();
    let fd = bench.vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    bench.vfs.drop_caches().unwrap();
    let before = bench.sim.total().page_reads;
    let mut bytes = vec![0; blocks * 4096];
    bench.vfs.pread(fd, &mut bytes, 0).unwrap();
    bench.sim.total().page_reads - before
}

#[test]
fn a_small_index_survives_drop_caches() {
    let (old, new) = (reads_after_drop(KernelRules::V2_6, 100), reads_after_drop(KernelRules::V6_1, 100));
    // 13 index nodes lead to the data; each read of one costs the page that two data nodes share as well.
    assert!(old + 13 <= new, "{old} reads of 2.6.37, {new} of 6.1");
    let large = 600;
    assert_eq!(reads_after_drop(KernelRules::V2_6, large), reads_after_drop(KernelRules::V6_1, large));
}

#[test]
fn what_waits_in_a_buffer_is_written_after_three_to_five_seconds_whatever_the_interval_of_write_back() {
    let programs_after = |rules, seconds| {
        let options = Options { rules, wbuf_delay_ms: 1_000, ..Options::default() };
        let mut bench = Bench::new(CHIP, 8 << 20, options);
        bench.mount().unwrap();
        bench.vfs.sleep_ns(10 * SECOND_NS);
        bench.vfs.mkdir(b"d", 0o755).unwrap();
        bench.vfs.sleep_ns(seconds * SECOND_NS);
        bench.sim.causes().of_task(&causes::UBIFS_THREAD).page_programs
    };
    assert_eq!([2, 6].map(|seconds| programs_after(KernelRules::V6_1, seconds)), [1, 1]);
    assert_eq!([2, 6].map(|seconds| programs_after(KernelRules::V2_6, seconds)), [0, 1]);
}

/// The erase block of each program.
struct Programmed(Rc<RefCell<Vec<u32>>>);

impl EventSink for Programmed {
    fn flash_op(&mut self, event: &OpEvent) {
        if event.op == Op::PageProgram {
            self.0.borrow_mut().push(event.address / CHIP.pages_per_block);
        }
    }
}

/// The rest of a bud that waits in the write buffer comes behind the reference to the next bud, and before it since 3.0.
#[test]
fn a_bud_ends_after_the_log_names_the_next_one() {
    let ends_later = |rules| {
        let mut bench = bench(rules);
        let blocks = Rc::new(RefCell::new(Vec::new()));
        bench.sim.set_sink(Some(Box::new(Programmed(Rc::clone(&blocks)))));
        bench.create("f", 60 * 4096, 4096);
        bench.vfs.sync().unwrap();
        let blocks = blocks.borrow();
        let count = |block: &u32| blocks.iter().filter(|other| *other == block).count();
        let first = *blocks.iter().find(|block| count(block) > 50).expect("a bud is full");
        let next = *blocks.iter().find(|block| **block != first && count(block) > 20).expect("the next one has begun");
        let begins = blocks.iter().position(|block| *block == next).unwrap();
        blocks[begins - 1] == first
    };
    assert!(ends_later(KernelRules::V2_6));
    assert!(!ends_later(KernelRules::V6_1));
}
