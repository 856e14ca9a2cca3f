//! Bulk-read: what it saves follows from where data nodes stand, and what is read is the same.

use crate::subject;
use crate::support;

use ffslab_conformance::{must, sequences, Machine};
use ffslab_flash::Geometry;
use ffslab_linux::{Calls, Fd, OpenFlags};
use ffslab_ubifs::Options;
use subject::{UbifsSubject, BAD_RESERVE};
use support::{content, Bench, Files};

const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 96 };
const PAGE: usize = 4096;
/// Two LEBs of 129024 bytes hold 31 data nodes of 4144 bytes each.
const PAGES: u64 = 62;

/// Two files of incompressible content, read from nothing but the medium.
fn two_files(bulk_read: bool, page_cache_bytes: u64) -> (Bench, [Fd; 2]) {
    let mut bench = Bench::new(GEOMETRY, page_cache_bytes, Options { bulk_read, ..Options::default() });
    bench.mount().unwrap();
    for (seed, name) in ["a", "b"].into_iter().enumerate() {
        let fd = bench.open_new(name);
        bench.vfs.pwrite(fd, &content(seed as u64, PAGES as usize * PAGE), 0).unwrap();
        bench.vfs.fsync(fd).unwrap();
        bench.vfs.close(fd).unwrap();
    }
    bench.vfs.umount().unwrap();
    bench.mount().unwrap();
    let open = |bench: &mut Bench, name: &[u8]| bench.vfs.open(name, OpenFlags::READ, 0).unwrap();
    let fds = [open(&mut bench, b"a"), open(&mut bench, b"b")];
    (bench, fds)
}

/// Page reads of the chip while both files are read page by page in turns, each at the page that `order` says.
fn read_in_turns(bench: &mut Bench, fds: [Fd; 2], order: impl Fn(u64) -> u64) -> u64 {
    let contents = [content(0, PAGES as usize * PAGE), content(1, PAGES as usize * PAGE)];
    let before = bench.sim.total().page_reads;
    let mut page = vec![0; PAGE];
    for i in 0..PAGES {
        let at = order(i) * PAGE as u64;
        for (fd, content) in fds.into_iter().zip(&contents) {
            assert_eq!(bench.vfs.pread(fd, &mut page, at).unwrap(), PAGE);
            assert!(page == content[at as usize..at as usize + PAGE], "page {i}");
        }
    }
    bench.sim.total().page_reads - before
}

/// A node of 4144 bytes touches three pages of the chip, rarely four, and its neighbours share the outer two. One access
/// for 31 nodes reads 128464 bytes: 63 pages.
#[test]
fn files_that_are_read_in_turns_share_no_page_unless_they_are_read_in_bulk() {
    let index_pages_max = 12;
    let (mut bench, fds) = two_files(false, 16 << 20);
    let single = read_in_turns(&mut bench, fds, |i| i);
    let least = 2 * PAGES * 3;
    assert!((least..least + 8 + index_pages_max).contains(&single), "{single} pages without bulk-read");

    let (mut bench, fds) = two_files(true, 16 << 20);
    let bulk = read_in_turns(&mut bench, fds, |i| i);
    // Of each file two nodes alone, then the rest in pieces of a LEB, each of which begins within a page.
    let least = 2 * (2 * 3 + (PAGES - 2) * 4144 / 2048);
    assert!((least..least + 2 * 3 + index_pages_max).contains(&bulk), "{bulk} pages with bulk-read");
}

#[test]
fn reads_that_are_not_in_a_row_cost_the_same() {
    // Every second page, backwards in between: never three in a row.
    let order = |i: u64| (i * 37) % PAGES;
    let [without, with] = [false, true].map(|bulk_read| {
        let (mut bench, fds) = two_files(bulk_read, 16 << 20);
        read_in_turns(&mut bench, fds, order)
    });
    assert_eq!(without, with);
}

/// The page that was asked for stays in the cache while 30 others push everything else out.
#[test]
fn a_page_cache_smaller_than_a_piece_is_no_harm() {
    let (mut bench, fds) = two_files(true, 0);
    read_in_turns(&mut bench, fds, |i| i);
}

/// Linux 6.1 puts the pages of a read-ahead window into the cache, locked, before it reads the first.
#[test]
fn read_ahead_leaves_bulk_read_nothing_to_insert_within_its_window() {
    let count = |read_ahead_bytes: u32| {
        let (mut bench, fds) = two_files(true, 16 << 20);
        bench.vfs.close(fds[0]).unwrap();
        bench.vfs.set_read_ahead_bytes(read_ahead_bytes);
        let fd = bench.vfs.open(b"a", OpenFlags::READ, 0).unwrap();
        let before = bench.sim.total().page_reads;
        let mut whole = vec![0; PAGES as usize * PAGE];
        assert_eq!(bench.vfs.pread(fd, &mut whole, 0).unwrap(), whole.len());
        assert!(whole == content(0, whole.len()));
        bench.sim.total().page_reads - before
    };
    let (off, on) = (count(0), count(128 << 10));
    assert!(on > 5 * off, "{on} pages with read-ahead, {off} without");
}

#[test]
fn random_sequences_with_bulk_read() {
    let subject = UbifsSubject {
        policy: "kernel",
        options: Options { bulk_read: true, ..Options::default() },
        geometry: GEOMETRY,
        bad_reserve: BAD_RESERVE,
    };
    must(sequences::check(&subject, &sequences::Options { seed: 21, cases: 40, ..sequences::Options::default() }));
    let tiny = sequences::Options { seed: 22, cases: 30, machine: Machine::TINY, ..sequences::Options::default() };
    must(sequences::check(&subject, &tiny));
}
