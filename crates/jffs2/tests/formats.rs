//! Byte orders and summaries: what one mount wrote the next one finds.

use crate::support;

use ffslab_jffs2::{Compression, Endian, Jffs2, Options};
use ffslab_linux::Calls;
use support::{content, Bench, Files};

/// A few files and a directory, with names and data gone again.
fn populate(bench: &mut Bench) {
    bench.vfs.mkdir(b"dir", 0o755).unwrap();
    for i in 0..20 {
        bench.create(&format!("dir/file {i}"), 1 + 4_000 * i, 3_000);
    }
    for i in (0..20).step_by(3) {
        bench.vfs.unlink(format!("dir/file {i}").as_bytes()).unwrap();
    }
    bench.vfs.rename(b"dir/file 1", b"renamed").unwrap();
    bench.vfs.symlink(b"renamed", b"link").unwrap();
}

fn check(bench: &mut Bench) {
    for i in 0..20 {
        let name = format!("dir/file {i}");
        if i % 3 == 0 || i == 1 {
            assert!(bench.vfs.stat(name.as_bytes()).is_err(), "{name}");
        } else {
            assert!(bench.read_all(&name) == content(0, 1 + 4_000 * i), "{name}");
        }
    }
    assert!(bench.read_all("renamed") == content(0, 4_001));
    assert_eq!(bench.vfs.readlink(b"link").unwrap(), b"renamed");
}

#[test]
fn a_big_endian_medium_mounts_and_reads_the_same() {
    for compression in [Compression::None, Compression::Size] {
        for summary in [false, true] {
            let mut bench =
                Bench::with_options(40, Options { endian: Endian::Big, compression, summary, ..Options::default() });
            populate(&mut bench);
            bench.remount();
            check(&mut bench);
        }
    }
}

/// Byte 0 of a node is the first byte of the magic number 0x1985 in the medium's byte order.
#[test]
fn nodes_begin_with_the_magic_number_in_the_byte_order_of_the_medium() {
    for (endian, first) in [(Endian::Little, [0x85, 0x19]), (Endian::Big, [0x19, 0x85])] {
        let mut bench = Bench::with_options(10, Options { endian, ..Options::default() });
        bench.create("file", 100_000, 100_000);
        bench.vfs.umount().unwrap();
        let starts: Vec<[u8; 2]> = (0..10)
            .map(|block| {
                let mut start = [0; 2];
                bench.mtd.read(block * 131_072, &mut start).unwrap();
                start
            })
            .filter(|start| *start != [0xFF, 0xFF])
            .collect();
        assert_eq!(starts, [first]);
    }
}

#[test]
fn the_other_byte_order_is_refused_and_not_erased() {
    let mut bench = Bench::with_options(40, Options { endian: Endian::Big, ..Options::default() });
    populate(&mut bench);
    bench.vfs.umount().unwrap();
    assert!(Jffs2::mount(bench.mtd.clone(), Options::default()).is_err());
    bench.mount();
    check(&mut bench);
}

#[test]
fn summaries_describe_what_a_scan_finds() {
    let summary = Options { summary: true, ..Options::default() };
    let mut bench = Bench::with_options(40, summary);
    populate(&mut bench);
    bench.create("large", 2 << 20, 65_536);
    bench.remount();
    check(&mut bench);
    // A kernel without support for summaries ignores them.
    bench.options = Options::default();
    bench.remount();
    check(&mut bench);
    bench.options = summary;
    bench.remount();
    check(&mut bench);
    assert!(bench.read_all("large") == content(0, 2 << 20));
}

/// The measured case `linux-6.1/M/jffs2/sum/full/800blk/hw-busy`: two pages at the end of a block instead of all 64,
/// most often one, because the summary fits into it.
#[test]
fn a_mount_with_summaries_reads_about_one_page_of_each_block() {
    let mut bench = Bench::with_options(800, Options { summary: true, ..Options::default() });
    let fd = bench.open_new("keep");
    let data = content(0, 65_536);
    let mut bytes = 0u64;
    // A short write says that the medium is full; the next one fails.
    while let Ok(written) = bench.vfs.pwrite(fd, &data, bytes) {
        bytes += written as u64;
    }
    assert_eq!(bytes, 100_155_392);
    let _ = bench.vfs.close(fd);
    bench.vfs.sync().unwrap();
    bench.vfs.sleep_ns(60 * support::SECOND_NS);
    bench.vfs.umount().unwrap();
    bench.vfs.drop_caches().unwrap();
    let mount = bench.counts(Bench::mount);
    assert_eq!((mount.page_reads, mount.oob_reads, mount.page_programs), (946, 872, 0));
}
