//! What happens while programs sleep: the background thread of the Linux port.

mod support;

use ffslab_yaffs2::causes;
use ffslab_yaffs2::{Generation, Options};
use support::{Bench, Files, SECOND_NS};

#[test]
fn headers_of_changed_directories_follow_within_a_second_or_two() {
    let mut bench = Bench::new(80, Options::default());
    bench.create("file", 4096, 4096);
    let sleep = bench.counts(|b| b.vfs.sleep_ns(3 * SECOND_NS));
    // The root directory had no header before, so nothing is read.
    assert_eq!((sleep.page_programs, sleep.page_reads), (1, 0));
    let more = bench.counts(|b| b.vfs.sleep_ns(10 * SECOND_NS));
    assert_eq!(more.page_programs, 0);
    assert_eq!(bench.sim.counts(&causes::YAFFS_THREAD, &causes::METADATA).page_programs, 1);
}

#[test]
fn without_a_thread_directories_wait_for_sync() {
    let mut bench = Bench::new(80, Options { background: None, ..Options::default() });
    bench.create("file", 4096, 4096);
    assert_eq!(bench.counts(|b| b.vfs.sleep_ns(10 * SECOND_NS)).page_programs, 0);
    assert_eq!(bench.counts(|b| b.vfs.sync_directories().unwrap()).page_programs, 1);
}

/// Summaries keep the blocks of a deleted file from being erased at once: the thread does it, block after block, the
/// faster the less of the free space is erased.
#[test]
fn freed_blocks_are_erased_in_the_background() {
    let mut bench = Bench::new(80, Options::of(Generation::Y2012));
    bench.create("large", 7 << 20, 65536);
    bench.vfs.unlink(b"large").unwrap();
    let sleep = bench.counts(|b| b.vfs.sleep_ns(60 * SECOND_NS));
    let thread = bench.sim.causes().of_task(&causes::YAFFS_THREAD).erases;
    assert!(thread > 20, "{thread} blocks erased");
    assert_eq!(sleep.erases, thread);
}

#[test]
fn a_valid_checkpoint_keeps_the_thread_from_collecting() {
    let mut bench = Bench::new(80, Options::of(Generation::Y2012));
    bench.create("small", 1 << 20, 65536);
    bench.vfs.unlink(b"small").unwrap();
    bench.vfs.sleep_ns(3 * SECOND_NS);
    bench.remount();
    assert_eq!(bench.counts(|b| b.vfs.sleep_ns(60 * SECOND_NS)).erases, 0);
}
