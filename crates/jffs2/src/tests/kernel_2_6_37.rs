//! What Linux 2.6.37 does otherwise than 6.1.

use ffslab_fs::FileSystem;
use ffslab_sim::CALLER;

use super::{audit, content, Bench};
use crate::blocks::List;
use crate::Options;

fn caller_erases(bench: &Bench) -> u64 {
    bench.sim.causes().of_task(&CALLER).erases
}

/// Leaves `blocks` blocks that wait for an erase, and a write buffer with data of a file.
fn bench_with_pending_erases(options: Options, blocks: usize) -> Bench {
    let mut bench = Bench::new(24, options);
    let gone = bench.create("gone").unwrap();
    let bytes = blocks * super::BLOCK_BYTES as usize;
    for at in (0..bytes).step_by(4096) {
        bench.write(gone, at as u64, &content(at, 4096)).unwrap();
    }
    bench.fs.sync(&mut bench.host).unwrap();
    bench.unlink("gone").unwrap();
    bench.fs.sync(&mut bench.host).unwrap();
    bench
}

/// `sync` lets garbage collection fill the page that waits, and collection erases before it moves nodes. 6.1 pads.
#[test]
fn sync_erases_what_waits_for_an_erase() {
    for (options, erases) in [(Options::default(), false), (Options::linux_2_6_37(), true)] {
        let mut bench = bench_with_pending_erases(options, 6);
        let file = bench.create("file").unwrap();
        bench.write(file, 0, &content(1, 100)).unwrap();
        bench.fs.sync(&mut bench.host).unwrap();
        assert_eq!(caller_erases(&bench) > 0, erases, "{options:?}");
        assert_eq!(bench.fs.store.space.blocks.is_empty(List::ErasePending), erases, "{options:?}");
        assert!(!bench.fs.store.flash.wbuf.is_dirty());
        audit(&bench.fs.store);
    }
}

/// There is nothing to collect for when no data of a program wait.
#[test]
fn sync_of_a_clean_buffer_does_nothing() {
    let mut bench = bench_with_pending_erases(Options::linux_2_6_37(), 6);
    bench.sleep_ms(30_000);
    let before = bench.sim.total();
    bench.fs.sync(&mut bench.host).unwrap();
    assert_eq!(bench.sim.total(), before);
}

/// The worker of the write buffer is interrupted in the middle of an erase, and `sync` waits for it: the block is marked as
/// clean before the program goes on. An interrupted erase was once left for good when the page had been written meanwhile.
#[test]
fn sync_waits_for_the_worker() {
    let mut bench = bench_with_pending_erases(Options::linux_2_6_37(), 6);
    let file = bench.create("file").unwrap();
    bench.write(file, 0, &content(1, 100)).unwrap();
    bench.fs.store.timer.worker_busy = true;
    let began_at = bench.fs.store.flash.wbuf.offset;
    bench.fs.begin_interrupted_erase(began_at);
    bench.fs.sync(&mut bench.host).unwrap();
    assert!(!bench.fs.store.timer.worker_busy);
    assert!(bench.fs.store.space.blocks.is_empty(List::EraseChecking));
    assert_eq!(bench.fs.store.space.erasing_blocks, 0);
    audit(&bench.fs.store);
}

/// The reproducer of 23892d383bee, from which a file system checker learnt of it: what a truncation had cut off is there again.
#[test]
fn a_gap_in_the_last_page_shows_what_was_cut_off() {
    for (options, in_gap) in [(Options::default(), 0), (Options::linux_2_6_37(), 1)] {
        let mut bench = Bench::new(24, options);
        let file = bench.create("file").unwrap();
        bench.write(file, 0, &[1; 16]).unwrap();
        bench.truncate(file, 8).unwrap();
        bench.write(file, 20, &[2; 4]).unwrap();
        let before = bench.read(file);
        assert_eq!(before[8..16], [0; 8], "{options:?}");
        bench.remount(true);
        let ino = bench.fs.lookup(1, b"file").unwrap();
        let after = bench.read(ino);
        let expected = [vec![1; 8], vec![in_gap; 8], vec![0; 4], vec![2; 4]].concat();
        assert_eq!(after, expected, "{options:?}");
        audit(&bench.fs.store);
    }
}
