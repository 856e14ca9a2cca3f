//! What happens while programs sleep: the background thread of the Linux port.

use crate::support;

use ffslab_fs::FileSystem;
use ffslab_linux::{Calls, OpenFlags};
use ffslab_yaffs2::causes;
use ffslab_yaffs2::{Generation, Options, Yaffs2};
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

/// Old kernels come by every 6 s and write what has changed: data in the short-op cache, headers of open files.
#[test]
fn old_kernels_write_a_changed_super_block() {
    for (interval_ms, headers) in [(None, 0), (Some(5_000), 1)] {
        let options = Options { super_sync_interval_ms: interval_ms, ..Options::of(Generation::Y2010) };
        let mut bench = Bench::new(80, options);
        let fd = bench.vfs.open(b"f", OpenFlags { create: true, ..OpenFlags::WRITE }, 0o644).unwrap();
        bench.vfs.sleep_ns(7 * SECOND_NS);
        bench.vfs.pwrite(fd, &[1; 2048], 0).unwrap();
        bench.vfs.sleep_ns(7 * SECOND_NS);
        let by_kernel = bench.sim.causes().of_task(&causes::SYNC_SUPERS);
        // The header on flash is read for the name.
        assert_eq!((by_kernel.page_programs, by_kernel.page_reads), (headers, headers));
        // Nothing has changed since.
        assert_eq!(bench.counts(|b| b.vfs.sleep_ns(20 * SECOND_NS)).page_programs, 0);
        assert_eq!(bench.counts(|b| b.vfs.close(fd).unwrap()).page_programs, 1 - headers);
    }
}

/// Attributes stand in the chunk of the header, which is read once; memory remembers that there are none.
#[test]
fn a_look_for_attributes_reads_the_header_once() {
    let mut bench = Bench::new(80, Options::default());
    bench.create("file", 4096, 4096);
    bench.vfs.umount().unwrap();
    let mut fs = Yaffs2::mount(bench.mtd.clone(), bench.options).unwrap();
    let ino = fs.lookup(fs.root(), b"file").unwrap();
    let reads = [1, 0].map(|_| {
        let before = bench.sim.total().page_reads;
        fs.look_up_capability(ino).unwrap();
        bench.sim.total().page_reads - before
    });
    assert_eq!(reads, [1, 0]);
}
