//! Where tasks sleep while the chip works: who erases, and who waits for whom. The measured counterpart are the cases
//! `W/jffs2/osync/.../hw-sleep` of Linux 6.1.

use crate::causes;
use ffslab_fs::FileSystem;
use ffslab_sim::{NandWait, Preemption, SimConfig};

use super::{content, Bench};
use crate::blocks::List;
use crate::erase::EraseStep;
use crate::Options;

const BLOCKS: u32 = 64;
const FILE_BYTES: usize = 1_400_000;

fn erases(bench: &Bench) -> [u64; 2] {
    // The partition of a bench is new: its blocks' first erases are formatting.
    let of = |task, reason| bench.sim.counts(task, reason).erases;
    [&causes::CALLER, &causes::GC_THREAD].map(|task| of(task, &causes::ERASE) + of(task, &causes::FORMATTING))
}

/// A file system in which most blocks wait to be erased.
fn with_blocks_to_erase(wait: NandWait) -> Bench {
    let mut bench = Bench::waiting(wait, BLOCKS, Options::default());
    let ino = bench.create("old").unwrap();
    bench.write(ino, 0, &content(0, FILE_BYTES)).unwrap();
    bench.fs.sync(&mut bench.host).unwrap();
    bench.unlink("old").unwrap();
    bench
}

/// A small file system on which a deleted file has left a block that waits to be erased.
fn with_a_block_to_erase(preemption: Preemption) -> Bench {
    let mut bench = Bench::on(SimConfig { preemption, ..SimConfig::default() }, 24, Options::default());
    let ino = bench.create("old").unwrap();
    bench.write(ino, 0, &content(0, 200_000)).unwrap();
    bench.fs.sync(&mut bench.host).unwrap();
    bench.unlink("old").unwrap();
    bench.fs.sync(&mut bench.host).unwrap();
    bench
}

/// By the program and by the thread, while the program writes and flushes once.
fn erases_in_one_fsync(wait: NandWait) -> [u64; 2] {
    let mut bench = with_blocks_to_erase(wait);
    let before = erases(&bench);
    let ino = bench.create("new").unwrap();
    bench.write(ino, 0, &content(0, 5000)).unwrap();
    bench.fs.fsync(&mut bench.host, ino, false).unwrap();
    let after = erases(&bench);
    [after[0] - before[0], after[1] - before[1]]
}

/// A pass that erases has given the allocation semaphore back, so the thread erases beside it.
#[test]
fn who_sleeps_in_an_erase_lets_the_thread_erase_too() {
    let [caller, thread] = erases_in_one_fsync(NandWait::Sleep);
    assert!(caller + thread > 30, "{caller} + {thread}");
    assert!(4 * thread > caller && thread < caller, "{caller} by the program, {thread} by the thread");
}

#[test]
fn who_holds_the_cpu_erases_nearly_all_itself() {
    let [caller, thread] = erases_in_one_fsync(NandWait::Busy);
    assert!(caller + thread > 30, "{caller} + {thread}");
    assert!(caller > 4 * thread, "{caller} by the program, {thread} by the thread");
}

/// Where a kernel may take the CPU in the middle of a call, it can do so between an erase and the note that the block is erased: the thread
/// then finds nothing to erase or to read back, and moves a node. The measured counterpart are the cases `jffs2-chip-sizes`.
#[test]
fn who_runs_behind_an_erase_does_not_see_the_block_yet() {
    for (preemption, comes_between) in [(Preemption::None, false), (Preemption::Voluntary, true)] {
        let mut bench = with_a_block_to_erase(preemption);
        let store = &mut bench.fs.store;
        assert!(!store.space.blocks.is_empty(List::ErasePending) && store.space.blocks.is_empty(List::EraseComplete));
        let mut job = None;
        let mut step = || store.eraser.step(&mut store.space, &store.flash, &mut job, false).unwrap();
        assert_eq!(step(), EraseStep::Begun);
        if comes_between {
            assert_eq!(step(), EraseStep::Erased);
            assert_eq!(step(), EraseStep::More);
        } else {
            assert_eq!(step(), EraseStep::More);
        }
        assert!(!store.space.blocks.is_empty(List::EraseComplete), "{preemption:?}");
    }
}

/// Such a kernel also takes the CPU just before a task takes the semaphore of allocation: the thread finds it free, and erases. The
/// measured counterpart are the cases `jffs2-partition` and `jffs2-nor-saturated`.
#[test]
fn who_is_about_to_take_the_semaphore_may_lose_the_cpu_before() {
    for (preemption, comes_before) in [(Preemption::None, false), (Preemption::Voluntary, true)] {
        let mut bench = with_a_block_to_erase(preemption);
        assert!(!bench.fs.store.space.blocks.is_empty(List::ErasePending));
        bench.fs.thread_has_paused();
        bench.sim.wake(&causes::GC_THREAD);
        bench.sim.gives_others_a_chance();
        let before = erases(&bench)[1];
        bench.fs.hold_allocation(&mut bench.host);
        assert_eq!(erases(&bench)[1] > before, comes_before, "{preemption:?}");
    }
}

/// Overwrites a file of 3 pages by `pages` at a time with an fsync each. By whom its blocks are erased.
fn erases_while_overwriting(pages: usize) -> [u64; 2] {
    let mut bench = Bench::waiting(NandWait::Sleep, BLOCKS, Options::default());
    let ino = bench.create("file").unwrap();
    let data = content(0, pages * 4096);
    for _ in 0..3000 / pages {
        bench.write(ino, 0, &data).unwrap();
        bench.fs.fsync(&mut bench.host, ino, false).unwrap();
    }
    erases(&bench)
}

/// The block falls free when its last node is overwritten. When the program sleeps twice with the semaphore before its
/// next pass, the thread has it handed over; when it sleeps once, its own pass comes first.
#[test]
fn the_thread_gets_the_semaphore_at_the_second_sleep() {
    let [caller, thread] = erases_while_overwriting(1);
    assert!(caller > 4 * thread, "pages: {caller} by the program, {thread} by the thread");
    let [caller, thread] = erases_while_overwriting(3);
    assert!(thread > 4 * caller, "three pages: {caller} by the program, {thread} by the thread");
}
