//! Buffered writes: where they go, what they make the file system do, what they answer.

use crate::support;

use ffslab_fs::causes;
use ffslab_fs::Errno;
use ffslab_linux::{Calls, OpenFlags, ReadAheadRules, VfsConfig, Whence};
use support::{config, empty, mounted, MemFs};

const CREATE: OpenFlags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };

#[test]
fn append_goes_to_the_end_whatever_the_position() {
    let (mut vfs, _) = empty();
    let fd = vfs.open(b"log", OpenFlags { append: true, ..CREATE }, 0o644).unwrap();
    vfs.write(fd, b"one ").unwrap();
    vfs.lseek(fd, 0, Whence::Set).unwrap();
    vfs.write(fd, b"two ").unwrap();
    vfs.pwrite(fd, b"three", 0).unwrap();
    assert_eq!(vfs.lseek(fd, 0, Whence::Current), Ok(8), "pwrite leaves the position alone");
    let mut buffer = [0; 20];
    assert_eq!(vfs.pread(fd, &mut buffer, 0), Ok(13));
    assert_eq!(&buffer[..13], b"one two three");
}

#[test]
fn a_write_is_cut_at_page_bounds_and_reads_pages_that_are_missing() {
    let (mut vfs, log) = mounted(config(ReadAheadRules::V6_1, 0), |sim| MemFs::with_file(sim, "f", 3 * 4096));
    let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    vfs.pread_discard(fd, 4096, 4096).unwrap();
    log.borrow_mut().page_reads.clear();
    assert_eq!(vfs.pwrite(fd, &[9; 8000], 100), Ok(8000));
    assert_eq!(log.borrow().writes_begun, [(false, 3996), (true, 4004)]);
    assert_eq!(log.borrow().page_reads, [(0, &causes::READ_MODIFY_WRITE)]);
    let mut buffer = vec![0; 3 * 4096];
    vfs.drop_caches().unwrap();
    vfs.pread(fd, &mut buffer, 0).unwrap();
    let expected: Vec<u8> =
        (0..3 * 4096).map(|at| if (100..8100).contains(&at) { 9 } else { (at / 4096 + 1) as u8 }).collect();
    assert_eq!(buffer, expected);
}

/// Once for each call, whatever number of pages it writes, but not for one that writes nothing.
#[test]
fn an_old_kernel_looks_the_capability_up_at_each_write() {
    for (looks, times) in [(false, 0), (true, 2)] {
        let mut config = config(ReadAheadRules::V2_6, 0);
        config.kernel.write_looks_up_capability = looks;
        let (mut vfs, log) = mounted(config, |sim| MemFs::with_file(sim, "f", 3 * 4096));
        let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
        assert_eq!(vfs.pwrite(fd, &[9; 8000], 100), Ok(8000));
        assert_eq!(vfs.pwrite(fd, &[], 100), Ok(0));
        assert_eq!(vfs.pwrite(fd, &[9; 8000], 100), Ok(8000));
        assert_eq!(log.borrow().capabilities.len(), times);
    }
}

/// The loop of the kernel goes on after a short count and meets the error at the next piece; the page that holds more
/// than was stored is read again.
#[test]
fn a_full_medium_gives_a_short_count_and_then_the_error() {
    let (mut vfs, log) = empty();
    let fd = vfs.open(b"f", CREATE, 0o644).unwrap();
    log.borrow_mut().space_bytes = Some(6000);
    assert_eq!(vfs.write(fd, &[5; 10_000]), Ok(6000));
    assert_eq!(log.borrow().writes_begun, [(false, 4096), (false, 4096), (false, 2192)]);
    assert_eq!(vfs.write(fd, &[5; 10]), Err(Errno::NoSpc.into()));
    assert_eq!(vfs.lseek(fd, 0, Whence::Current), Ok(6000));
    let mut buffer = vec![1; 10_000];
    assert_eq!(vfs.pread(fd, &mut buffer, 0), Ok(6000));
    assert!(buffer[..6000].iter().all(|&b| b == 5));
    log.borrow_mut().space_bytes = None;
    vfs.ftruncate(fd, 8000).unwrap();
    vfs.pread(fd, &mut buffer, 0).unwrap();
    assert!(buffer[6000..8000].iter().all(|&b| b == 0), "what was not accepted is not there");
}

#[test]
fn sync_flags_make_each_write_safe() {
    let (mut vfs, log) = empty();
    let fd = vfs.open(b"a", OpenFlags { sync: true, ..CREATE }, 0o644).unwrap();
    vfs.write(fd, &[1; 10_000]).unwrap();
    vfs.write(fd, &[]).unwrap();
    let fd = vfs.open(b"b", OpenFlags { dsync: true, ..CREATE }, 0o644).unwrap();
    vfs.write(fd, &[1]).unwrap();
    vfs.fsync(fd).unwrap();
    vfs.fdatasync(fd).unwrap();
    assert_eq!(log.borrow().fsyncs, [(2, false), (3, true), (3, false), (3, true)]);
}

#[test]
fn a_write_beyond_the_end_leaves_a_hole() {
    let (mut vfs, _) = empty();
    let fd = vfs.open(b"f", CREATE, 0o644).unwrap();
    vfs.pwrite(fd, b"x", 0).unwrap();
    vfs.pwrite(fd, b"y", 9000).unwrap();
    let mut buffer = vec![7; 9001];
    assert_eq!(vfs.pread(fd, &mut buffer, 0), Ok(9001));
    assert_eq!((buffer[0], buffer[9000]), (b'x', b'y'));
    assert!(buffer[1..9000].iter().all(|&b| b == 0));
}

#[test]
fn truncation_zeroes_what_a_later_extension_shows() {
    let (mut vfs, _) = empty();
    let fd = vfs.open(b"f", CREATE, 0o644).unwrap();
    vfs.write(fd, &[3; 10_000]).unwrap();
    vfs.ftruncate(fd, 5000).unwrap();
    vfs.truncate(b"f", 12_000).unwrap();
    let mut buffer = vec![1; 12_000];
    assert_eq!(vfs.pread(fd, &mut buffer, 0), Ok(12_000));
    assert!(buffer[..5000].iter().all(|&b| b == 3) && buffer[5000..].iter().all(|&b| b == 0));
}

#[test]
fn open_with_truncate_empties_what_exists() {
    let (mut vfs, _) = empty();
    let fd = vfs.open(b"f", CREATE, 0o644).unwrap();
    vfs.write(fd, &[3; 10]).unwrap();
    let again = vfs.open(b"f", OpenFlags { truncate: true, ..OpenFlags::WRITE }, 0).unwrap();
    assert_eq!(vfs.fstat(again).unwrap().size_bytes, 0);
    assert_eq!(vfs.read(fd, &mut [0; 10]), Ok(0));
}

/// Garbage collection caches pages of its own while a write is under way, in the smallest cache.
#[test]
fn the_page_being_written_stays_in_the_cache() {
    let small = VfsConfig { page_cache_bytes: 0, ..config(ReadAheadRules::V6_1, 0) };
    let (mut vfs, log) = mounted(small, |sim| MemFs::with_file(sim, "f", 40 * 4096));
    let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    for page in 0..40 {
        log.borrow_mut().cache_during_write = Some(page);
        vfs.write_pattern(fd, page * 4096, 4096, b"abc").unwrap();
    }
    log.borrow_mut().cache_during_write = None;
    let mut buffer = vec![0; 40 * 4096];
    vfs.pread(fd, &mut buffer, 0).unwrap();
    assert!(buffer.chunks(4096).all(|page| page.iter().enumerate().all(|(at, &b)| b == b"abc"[at % 3])));
}

#[test]
fn wrong_descriptors_and_sizes() {
    let (mut vfs, _) = empty();
    let write_only = vfs.open(b"f", OpenFlags { create: true, ..OpenFlags::WRITE }, 0o644).unwrap();
    let read_only = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    let directory = vfs.open(b"/", OpenFlags::READ, 0).unwrap();
    assert_eq!(vfs.read(write_only, &mut [0]), Err(Errno::BadF.into()));
    assert_eq!(vfs.write(read_only, &[0]), Err(Errno::BadF.into()));
    assert_eq!(vfs.ftruncate(read_only, 0), Err(Errno::Inval.into()));
    assert_eq!(vfs.read(directory, &mut [0]), Err(Errno::IsDir.into()));
    assert_eq!(vfs.readdir(read_only), Err(Errno::NotDir.into()));
    assert_eq!(vfs.pwrite(write_only, &[0], 1 << 31), Err(Errno::FBig.into()));
    assert_eq!(vfs.ftruncate(write_only, (1 << 31) + 1), Err(Errno::FBig.into()));
    assert_eq!(vfs.truncate(b"/", 0), Err(Errno::IsDir.into()));
    assert_eq!(vfs.lseek(read_only, -1, Whence::Set), Err(Errno::Inval.into()));
    assert_eq!(vfs.write_pattern(write_only, 0, 1, b""), Err(Errno::Inval));
    vfs.close(read_only).unwrap();
    assert_eq!(vfs.close(read_only), Err(Errno::BadF.into()));
    assert_eq!(vfs.read(read_only, &mut [0]), Err(Errno::BadF.into()));
    let next = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    assert_eq!(next, read_only, "the lowest free number");
}

/// A page that needs no reading begins as zeros, not with what the memory held before.
#[test]
fn a_new_page_holds_nothing_of_an_old_one() {
    let (mut vfs, log) = empty();
    log.borrow_mut().read_first = false;
    let fd = vfs.open(b"old", CREATE, 0o644).unwrap();
    vfs.write(fd, &[9; 4096]).unwrap();
    vfs.close(fd).unwrap();
    vfs.unlink(b"old").unwrap();
    let fd = vfs.open(b"new", CREATE, 0o644).unwrap();
    vfs.write(fd, b"abc").unwrap();
    vfs.ftruncate(fd, 4096 + 1).unwrap();
    let mut buffer = [1; 4096];
    vfs.pread(fd, &mut buffer, 0).unwrap();
    assert!(buffer.starts_with(b"abc") && buffer[3..].iter().all(|&b| b == 0));
}
