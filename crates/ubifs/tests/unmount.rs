//! What an unmount waits for.

use crate::support;

use ffslab_flash::Geometry;
use ffslab_linux::Calls;
use ffslab_ubi::causes::UBI_THREAD;
use ffslab_ubifs::Options;
use support::{Bench, Files, SECOND_NS};

const CHIP: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 64 };

/// The commit of an unmount leaves blocks to erase. Whoever unmounts sleeps until UBIFS's thread has ended (`kthread_stop`), and UBI's
/// thread, which was woken before, erases meanwhile; what it has not erased when UBI is detached stays as it is.
#[test]
fn blocks_are_erased_while_an_unmount_waits_for_the_end_of_the_thread() {
    let mut bench = Bench::new(CHIP, 8 << 20, Options::default());
    bench.mount().unwrap();
    bench.vfs.sleep_ns(20 * SECOND_NS);
    bench.create("f", 100_000, 4096);
    let erases = |bench: &Bench| bench.sim.causes().of_task(&UBI_THREAD).erases;
    let before = erases(&bench);
    bench.vfs.umount().unwrap();
    assert!(erases(&bench) > before);
}
