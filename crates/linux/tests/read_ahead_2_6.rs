//! What a program's reads cost on Linux 2.6.37, page by page, where it differs from 6.1.

use crate::support;

use ffslab_linux::{Advice, Calls, OpenFlags, ReadAheadRules::V2_6, Vfs, VfsConfig};
use std::cell::RefCell;
use std::rc::Rc;
use support::{config, mounted, Log, MemFs};

fn system(config: VfsConfig) -> (Vfs, Rc<RefCell<Log>>) {
    mounted(config, |sim| MemFs::with_file(sim, "f", 5 << 20))
}

#[test]
fn a_sequential_reader_of_4_kib() {
    for (requests, pages) in [(8, 28), (16, 60), (64, 124), (128, 188), (512, 572), (1024, 1084)] {
        let (mut vfs, log) = system(config(V2_6, 128 << 10));
        let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
        for i in 0..requests {
            assert_eq!(vfs.pread_discard(fd, i * 4096, 4096), Ok(4096));
        }
        assert_eq!(log.borrow().pages(), (0..pages).collect::<Vec<_>>(), "{requests} requests");
    }
}

/// Two reads next to each other in the middle. The second one is sequential: initial window of 4. A third one, far
/// behind, is a lone read, except on 32-bit kernels before 3.13.
#[test]
fn a_backward_jump_counts_as_sequential_only_with_the_bug() {
    for (bug, pages) in [(false, 6), (true, 9)] {
        let mut config = config(V2_6, 128 << 10);
        config.kernel.sequential_miss_bug = bug;
        let (mut vfs, log) = system(config);
        let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
        for page in [500, 501, 100] {
            vfs.pread_discard(fd, page * 4096, 4096).unwrap();
        }
        assert_eq!(log.borrow().page_reads.len(), pages);
    }
}

/// 2.6 remembers the page copied last, 6.1 the position behind it: the page after the next one is sequential for 6.1
/// only.
#[test]
fn the_page_after_the_next_one_is_not_sequential() {
    let (mut vfs, log) = system(config(V2_6, 128 << 10));
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    vfs.pread_discard(fd, 500 * 4096, 4096).unwrap();
    vfs.pread_discard(fd, 502 * 4096, 4096).unwrap();
    assert_eq!(log.borrow().pages(), [500, 502]);
    let (mut vfs, log) = system(config(ffslab_linux::ReadAheadRules::V6_1, 128 << 10));
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    vfs.pread_discard(fd, 500 * 4096, 4096).unwrap();
    vfs.pread_discard(fd, 502 * 4096, 4096).unwrap();
    assert_eq!(log.borrow().pages(), [500, 502, 503, 504, 505]);
}

#[test]
fn a_large_request_reads_two_windows_at_once() {
    let (mut vfs, log) = system(config(V2_6, 128 << 10));
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    vfs.pread_discard(fd, 0, 128 << 10).unwrap();
    // Initial window 32 = async 32, so 32 more are merged; the mark on page 32 is not touched.
    assert_eq!(log.borrow().pages(), (0..64).collect::<Vec<_>>());
    vfs.pread_discard(fd, 32 * 4096, 4096).unwrap();
    assert_eq!(log.borrow().pages(), (0..96).collect::<Vec<_>>());
}

#[test]
fn without_read_ahead_pages_come_one_by_one() {
    let (mut vfs, log) = system(config(V2_6, 0));
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    vfs.advise(fd, 0, 0, Advice::Random).unwrap();
    assert_eq!(vfs.pread_discard(fd, 4096, 3 * 4096), Ok(3 * 4096));
    assert_eq!(log.borrow().pages(), [1, 2, 3]);
}

#[test]
fn advice_random_reads_the_whole_request() {
    let (mut vfs, log) = system(config(V2_6, 16 << 10));
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    vfs.advise(fd, 0, 0, Advice::Random).unwrap();
    vfs.pread_discard(fd, 0, 1000 * 4096).unwrap();
    assert_eq!(log.borrow().pages(), (0..1000).collect::<Vec<_>>());
}

/// The size is checked after the page is there: reading at the end of a file of whole pages caches a page of zeros.
#[test]
fn a_read_at_the_end_of_whole_pages_caches_one_page_more() {
    let (mut vfs, log) = mounted(config(V2_6, 0), |sim| MemFs::with_file(sim, "f", 2 * 4096));
    let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    assert_eq!(vfs.pread_discard(fd, 0, 3 * 4096), Ok(2 * 4096));
    assert_eq!(log.borrow().pages(), [0, 1, 2]);
    vfs.pwrite(fd, b"abc", 2 * 4096).unwrap();
    assert_eq!(log.borrow().writes_begun, [(true, 3)], "so a following append finds it");
    let mut buffer = [1; 10];
    assert_eq!(vfs.pread(fd, &mut buffer, 2 * 4096), Ok(3));
    assert_eq!(&buffer[..3], b"abc");
}

/// The mark is cleared when it is met: the second request of 2 KiB in the same page starts nothing.
#[test]
fn a_sequential_reader_of_2_kib_sees_the_same_windows() {
    let (mut vfs, log) = system(config(V2_6, 128 << 10));
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    for i in 0..16 {
        assert_eq!(vfs.pread_discard(fd, i * 2048, 2048), Ok(2048));
    }
    assert_eq!(log.borrow().pages(), (0..28).collect::<Vec<_>>());
}
