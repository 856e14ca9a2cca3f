//! What a program's reads cost on Linux 6.1, page by page.

use crate::support;

use ffslab_fs::causes;
use ffslab_linux::{Advice, Calls, OpenFlags, ReadAheadRules::V6_1, Vfs};
use std::cell::RefCell;
use std::rc::Rc;
use support::{config, mounted, Log, MemFs};

const FILE_BYTES: usize = 5 << 20;

fn system(read_ahead_bytes: u32) -> (Vfs, Rc<RefCell<Log>>) {
    mounted(config(V6_1, read_ahead_bytes), |sim| MemFs::with_file(sim, "f", FILE_BYTES))
}

/// Windows of 4, 8, 16, then 32 pages; the mark that starts the next window stands on the first page of the part that
/// the program has not asked for: pages 1, 4, 12, 28, 60 ... Request n touches page n - 1.
#[test]
fn a_sequential_reader_of_4_kib() {
    for (requests, pages) in [(1, 4), (2, 12), (8, 28), (16, 60), (64, 124), (128, 188), (512, 572), (1024, 1084)] {
        let (mut vfs, log) = system(128 << 10);
        let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
        for i in 0..requests {
            assert_eq!(vfs.pread_discard(fd, i * 4096, 4096), Ok(4096));
        }
        assert_eq!(log.borrow().pages(), (0..pages).collect::<Vec<_>>(), "{requests} requests");
    }
}

#[test]
fn the_end_of_the_file_ends_the_window() {
    let (mut vfs, log) = mounted(config(V6_1, 128 << 10), |sim| MemFs::with_file(sim, "f", 50 * 4096 + 1));
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    let mut buffer = vec![0; 100 * 4096];
    assert_eq!(vfs.read(fd, &mut buffer), Ok(50 * 4096 + 1));
    assert_eq!(log.borrow().pages(), (0..51).collect::<Vec<_>>());
    assert_eq!(vfs.read(fd, &mut buffer), Ok(0));
    assert_eq!(log.borrow().page_reads.len(), 51);
}

#[test]
fn without_read_ahead_pages_come_one_by_one() {
    let (mut vfs, log) = system(0);
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    assert_eq!(vfs.pread_discard(fd, 100, 10_000), Ok(10_000));
    assert_eq!(log.borrow().page_reads, [(0, &causes::READ), (1, &causes::READ), (2, &causes::READ)]);
    assert_eq!(vfs.pread_discard(fd, 0, 4096), Ok(4096));
    assert_eq!(log.borrow().page_reads.len(), 3, "now they are cached");
}

#[test]
fn what_nobody_asked_for_is_counted_as_read_ahead() {
    let (mut vfs, log) = system(128 << 10);
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    vfs.pread_discard(fd, 0, 2 * 4096).unwrap();
    // Request of 2: window of 4 with the mark on page 2, which is not touched yet.
    let expected = [(0, &causes::READ), (1, &causes::READ), (2, &causes::READ_AHEAD), (3, &causes::READ_AHEAD)];
    assert_eq!(log.borrow().page_reads, expected);
}

/// A request of 128 KiB at the start: window 32, merged 0, mark in its middle (page 16), where a batch ends; the next
/// window is read before that page is copied.
#[test]
fn a_large_request() {
    let (mut vfs, log) = system(128 << 10);
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    vfs.pread_discard(fd, 0, 128 << 10).unwrap();
    assert_eq!(log.borrow().pages(), (0..64).collect::<Vec<_>>());
    let demanded = log.borrow().page_reads.iter().filter(|&&(_, reason)| reason == &causes::READ).count();
    assert_eq!(demanded, 32);
}

#[test]
fn advice_random_reads_what_is_asked_in_pieces_of_a_window() {
    let (mut vfs, log) = system(16 << 10);
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    vfs.advise(fd, 0, 0, Advice::Random).unwrap();
    vfs.pread_discard(fd, 0, 10 * 4096).unwrap();
    assert_eq!(log.borrow().pages(), (0..10).collect::<Vec<_>>());
    vfs.pread_discard(fd, 10 * 4096, 4096).unwrap();
    assert_eq!(log.borrow().page_reads.len(), 11);
    vfs.advise(fd, 0, 0, Advice::Normal).unwrap();
    vfs.pread_discard(fd, 11 * 4096, 4096).unwrap();
    // Sequential again. With 4 pages at most, 1 <= 4 / 4 gives a first window of twice the request.
    assert_eq!(log.borrow().page_reads.len(), 13);
}

#[test]
fn advice_sequential_doubles_the_window() {
    let (mut vfs, log) = system(128 << 10);
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    vfs.advise(fd, 0, 0, Advice::Sequential).unwrap();
    for i in 0..1024 {
        vfs.pread_discard(fd, i * 4096, 4096).unwrap();
    }
    // Windows of 4, 8, 16, 32, 64, 64 ... end at 4, 12, 28, 60, 124, 188 ... Page 60 + 64 * 15 = 1020 is the last mark
    // touched; its window ends 128 pages behind it.
    assert_eq!(log.borrow().page_reads.len(), 1148);
}

#[test]
fn advice_will_need_reads_a_window_and_dont_need_drops_whole_pages() {
    let (mut vfs, log) = system(128 << 10);
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    vfs.advise(fd, 0, 0, Advice::WillNeed).unwrap();
    assert_eq!(log.borrow().pages(), (0..32).collect::<Vec<_>>());
    assert!(log.borrow().page_reads.iter().all(|&(_, reason)| reason == &causes::READ_AHEAD));
    vfs.advise(fd, 1, 2 * 4096 + 10, Advice::DontNeed).unwrap();
    log.borrow_mut().page_reads.clear();
    vfs.set_read_ahead_bytes(0);
    vfs.advise(fd, 0, 0, Advice::Normal).unwrap();
    vfs.pread_discard(fd, 0, 4 * 4096).unwrap();
    assert_eq!(log.borrow().pages(), [1], "pages 0 and 2 lie only partly in the range");
}

#[test]
fn a_read_error_is_reported_when_the_page_is_reached() {
    let (mut vfs, log) = system(128 << 10);
    log.borrow_mut().bad_pages.push(2);
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    assert_eq!(vfs.pread_discard(fd, 0, 4096), Ok(4096), "read ahead, nobody cares");
    assert_eq!(vfs.pread_discard(fd, 0, 4 * 4096), Ok(2 * 4096), "what came before it counts");
    assert_eq!(vfs.pread_discard(fd, 2 * 4096, 4096), Err(ffslab_fs::Errno::Io.into()));
}

#[test]
fn data_are_right_with_the_smallest_cache() {
    let small = ffslab_linux::VfsConfig { page_cache_bytes: 0, ..config(V6_1, 128 << 10) };
    let (mut vfs, _) = mounted(small, |sim| MemFs::with_file(sim, "f", 200 * 4096));
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    let mut buffer = vec![0; 200 * 4096];
    assert_eq!(vfs.pread(fd, &mut buffer, 0), Ok(200 * 4096));
    assert!(buffer.iter().enumerate().all(|(at, &byte)| byte == (at / 4096 + 1) as u8));
}

/// The mark is cleared when it is met: the second request of 2 KiB in the same page starts nothing.
#[test]
fn a_sequential_reader_of_2_kib_sees_the_same_windows() {
    let (mut vfs, log) = system(128 << 10);
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    for i in 0..16 {
        assert_eq!(vfs.pread_discard(fd, i * 2048, 2048), Ok(2048));
    }
    assert_eq!(log.borrow().pages(), (0..28).collect::<Vec<_>>());
}
