//! What stat(2) shows: Linux's inodes beside YAFFS2's objects.

use crate::support;

use ffslab_fs::{FileKind, SetAttr, TimeSpec};
use ffslab_linux::{Calls, OpenFlags};
use ffslab_yaffs2::Options;
use support::{Bench, Files, SECOND_NS};

/// Earlier than anything happens: clocks of tests begin at 0.
const OLD: TimeSpec = TimeSpec { seconds: 1, nanoseconds: 0 };

#[test]
fn a_write_moves_the_inodes_times_at_once_and_the_objects_when_it_is_flushed() {
    let mut bench = Bench::new(80, Options::default());
    bench.vfs.sleep_ns(10 * SECOND_NS);
    bench.create("f", 4096, 4096);
    let fd = bench.vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    bench.vfs.utimens(b"f", Some(OLD), Some(OLD)).unwrap();
    assert_eq!(bench.vfs.fstat(fd).unwrap().modified, OLD);
    let cost = bench.counts(|b| b.vfs.pwrite(fd, b"x", 0).map(drop).unwrap());
    assert_eq!(cost.page_programs, 0, "the time stamp alone costs no header");
    let written = bench.vfs.fstat(fd).unwrap();
    assert!(written.modified > OLD && written.changed == written.modified);
    bench.vfs.sleep_ns(10 * SECOND_NS);
    bench.vfs.close(fd).unwrap();
    assert_eq!(bench.vfs.stat(b"f").unwrap().modified, written.modified, "the flush stamps the object alone");
    bench.vfs.drop_caches().unwrap();
    let flushed = bench.vfs.stat(b"f").unwrap();
    assert!(flushed.modified.seconds >= written.modified.seconds + 10, "which a new inode is filled from");
    assert!(flushed.changed.seconds < written.changed.seconds + 10, "but for its change time");
}

#[test]
fn names_leave_the_times_of_files_alone() {
    let mut bench = Bench::new(80, Options::default());
    for name in ["a", "b", "victim"] {
        bench.create(name, 4096, 4096);
    }
    bench.vfs.mkdir(b"d", 0o755).unwrap();
    let victim = bench.vfs.open(b"victim", OpenFlags::READ, 0).unwrap();
    let before = bench.vfs.fstat(victim).unwrap();
    let directory = bench.vfs.stat(b"d").unwrap();
    bench.vfs.sleep_ns(10 * SECOND_NS);
    bench.vfs.link(b"a", b"d/a2").unwrap();
    bench.vfs.rename(b"b", b"victim").unwrap();
    let after = bench.vfs.fstat(victim).unwrap();
    assert_eq!((after.links, after.modified, after.changed), (0, before.modified, before.changed));
    let linked = bench.vfs.stat(b"a").unwrap();
    assert_eq!((linked.links, linked.changed), (2, before.changed));
    let entered = bench.vfs.stat(b"d").unwrap();
    assert!(entered.changed > directory.changed && entered.modified == entered.changed);
    assert_eq!(entered.links, 1, "directories are not counted");
    bench.vfs.close(victim).unwrap();
    assert_eq!(bench.vfs.stat(b"d/a2").unwrap().kind, FileKind::File);
}

#[test]
fn truncate_asks_for_no_time_stamps_and_ftruncate_does() {
    let mut bench = Bench::new(80, Options::default());
    bench.create("f", 4096, 4096);
    let before = bench.vfs.stat(b"f").unwrap();
    bench.vfs.sleep_ns(10 * SECOND_NS);
    bench.vfs.truncate(b"f", 10).unwrap();
    let cut = bench.vfs.stat(b"f").unwrap();
    assert_eq!((cut.size_bytes, cut.modified, cut.changed), (10, before.modified, before.changed));
    let fd = bench.vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    bench.vfs.ftruncate(fd, 5).unwrap();
    let cut = bench.vfs.fstat(fd).unwrap();
    assert!(cut.modified > before.modified && cut.changed > before.changed);
    bench.vfs.close(fd).unwrap();
    assert!(!SetAttr { size_bytes: Some(5), ..SetAttr::default() }.moves_change_time());
}
