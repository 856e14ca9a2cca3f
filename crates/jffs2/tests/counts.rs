//! Flash operations of single actions, as Linux 6.1 does them: a file system that is right but reads one page more
//! would be found out here.

use crate::support;

use ffslab_linux::Calls;
use ffslab_workload::SplitMix64;
use support::{Bench, Files, SECOND_NS};

#[test]
fn an_erased_partition_is_erased_and_marked_in_the_background() {
    let bench = Bench::new(20);
    let total = bench.sim.total();
    // Each block: one erase, a read-back of its 64 pages, a clean marker; the mount itself looks at one page and,
    // because the page is empty, at 1 + 4 out-of-band areas.
    assert_eq!((total.erases, total.oob_programs), (20, 20));
    assert_eq!(total.page_reads, 20 * 64 + 20);
    assert_eq!(total.oob_reads, 20 * 5);
    assert_eq!(total.page_programs, 0);
}

#[test]
fn opening_a_file_reads_all_its_node_headers() {
    let mut bench = Bench::new(800);
    bench.create("target", 5 << 20, 65536);
    bench.vfs.sync().unwrap();
    bench.vfs.drop_caches().unwrap();
    let open = bench.counts(|b| {
        b.open("target");
    });
    assert_eq!(open.page_reads, 1340);
    let fd = bench.open("target");
    let sequential = bench.counts(|b| {
        for i in 0..64 {
            b.vfs.pread_discard(fd, i * 4096, 4096).unwrap();
        }
    });
    assert_eq!(sequential.page_reads, 131);
    bench.vfs.close(fd).unwrap();
    bench.vfs.drop_caches().unwrap();
    let fd = bench.open("target");
    let mut random = SplitMix64::new(1);
    let random = bench.counts(|b| {
        for _ in 0..64 {
            b.vfs.pread_discard(fd, random.next_u64() % 1280 * 4096, 4096).unwrap();
        }
    });
    assert_eq!(random.page_reads, 189);
}

#[test]
fn a_clean_partition_mounts_with_one_page_and_five_oob_reads_per_block() {
    let mut bench = Bench::new(160);
    bench.vfs.umount().unwrap();
    let mount = bench.counts(|b| b.mount());
    assert_eq!((mount.page_reads, mount.oob_reads), (160, 800));
}

#[test]
fn appends_of_a_page_fill_flash_pages_without_padding() {
    let mut bench = Bench::new(160);
    let fd = bench.open_new("target");
    let appends = bench.counts(|b| {
        for i in 0..1000 {
            b.vfs.write(fd, &support::content(i * 4096, 4096)).unwrap();
        }
        b.vfs.close(fd).unwrap();
        b.vfs.sync().unwrap();
    });
    assert_eq!(appends.page_programs, 2035);
    assert_eq!((appends.page_reads, appends.erases), (0, 0));
}

#[test]
fn what_is_written_is_there_after_a_remount() {
    let mut bench = Bench::new(40);
    bench.create("a", 300_000, 5_000);
    bench.vfs.mkdir(b"d", 0o755).unwrap();
    bench.create("d/b", 10, 10);
    bench.vfs.rename(b"d/b", b"c").unwrap();
    bench.vfs.symlink(b"../a", b"d/link").unwrap();
    bench.remount();
    assert_eq!(bench.read_all("a"), support::content(0, 300_000));
    assert_eq!(bench.read_all("c"), support::content(0, 10));
    assert_eq!(bench.vfs.readlink(b"d/link").unwrap(), b"../a");
    assert!(bench.vfs.stat(b"d/b").is_err());
    bench.vfs.sleep_ns(30 * SECOND_NS);
    assert_eq!(bench.read_all("a"), support::content(0, 300_000));
}

/// A program that writes right after the first mount is faster than the thread that marks the blocks. It once waited for
/// ever, when the only block left was the one that the thread had begun to read back.
#[test]
fn writing_goes_on_while_the_thread_prepares_the_blocks() {
    for blocks in [16, 20, 32] {
        let mut bench = Bench::unprepared(blocks);
        bench.create("target", 256 << 10, 65536);
        let fd = bench.open_new("more");
        for i in 0..400 {
            bench.vfs.pwrite(fd, &support::content(i * 512, 512), i as u64 * 512).unwrap();
        }
        bench.vfs.close(fd).unwrap();
        bench.remount();
        assert_eq!(bench.read_all("target"), support::content(0, 256 << 10));
        assert_eq!(bench.read_all("more"), support::content(0, 400 * 512));
    }
}
