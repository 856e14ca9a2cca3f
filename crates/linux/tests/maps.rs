//! Mapped files: which pages a fault reads, when a store makes a page dirty, who writes it.

use crate::support;

use ffslab_fs::{causes, Errno};
use ffslab_linux::{Calls, Fd, MapAccess, OpenFlags, ReadAheadRules, Vfs};
use std::cell::RefCell;
use std::rc::Rc;
use support::delayed::{delaying_with, file, pages_of, CREATE, PAGE, SECOND_NS};
use support::{config, mounted, Log, MemFs};
use ReadAheadRules::{V2_6, V5_10, V6_1, V6_11};

const FILE_PAGES: u64 = 1280;

/// A file that is mapped as a whole.
fn mapped(rules: ReadAheadRules, read_ahead_bytes: u32, access: MapAccess) -> (Vfs, Rc<RefCell<Log>>, Fd) {
    let bytes = (FILE_PAGES * PAGE) as usize;
    let (mut vfs, log) = mounted(config(rules, read_ahead_bytes), |sim| MemFs::with_file(sim, "f", bytes));
    let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    vfs.mmap(fd, 0, bytes as u64, access).unwrap();
    (vfs, log, fd)
}

fn load(vfs: &mut Vfs, fd: Fd, page: u64) {
    vfs.map_load(fd, page * PAGE + 100, 8).unwrap();
}

#[test]
fn without_read_ahead_a_fault_reads_its_page() {
    for rules in [V2_6, V5_10, V6_1, V6_11] {
        let (mut vfs, log, fd) = mapped(rules, 0, MapAccess::Read);
        vfs.map_load(fd, 3 * PAGE - 4, 8).unwrap();
        load(&mut vfs, fd, 700);
        load(&mut vfs, fd, 3);
        assert_eq!(log.borrow().page_reads, [(2, &causes::READ), (3, &causes::READ), (700, &causes::READ)]);
    }
}

/// A window of 32 pages with the fault in its middle, its mark at three quarters.
#[test]
fn a_fault_reads_around() {
    for rules in [V5_10, V6_1, V6_11] {
        let (mut vfs, log, fd) = mapped(rules, 128 << 10, MapAccess::Read);
        load(&mut vfs, fd, 100);
        assert_eq!(log.borrow().pages(), (84..116).collect::<Vec<_>>());
        let asked = log.borrow().page_reads.iter().filter(|&&(_, reason)| reason == &causes::READ).count();
        assert_eq!(asked, 1, "the others are read ahead");
        (84..108).for_each(|page| load(&mut vfs, fd, page));
        assert_eq!(log.borrow().page_reads.len(), 32);
        load(&mut vfs, fd, 108);
        assert_eq!(log.borrow().pages(), (84..148).collect::<Vec<_>>(), "the mark begins the next window");
    }
}

#[test]
fn the_window_begins_with_the_file() {
    let (mut vfs, log, fd) = mapped(V6_1, 128 << 10, MapAccess::Read);
    load(&mut vfs, fd, 5);
    assert_eq!(log.borrow().pages(), (0..32).collect::<Vec<_>>());
}

/// On 2.6 the window has no mark, and a fault on the page behind the last one is a sequential read.
#[test]
fn faults_of_2_6() {
    let (mut vfs, log, fd) = mapped(V2_6, 128 << 10, MapAccess::Read);
    load(&mut vfs, fd, 100);
    (101..116).for_each(|page| load(&mut vfs, fd, page));
    assert_eq!(log.borrow().pages(), (84..116).collect::<Vec<_>>());
    load(&mut vfs, fd, 116);
    assert!(log.borrow().page_reads.len() > 32 && log.borrow().pages()[32] == 116, "{:?}", log.borrow().pages());
}

/// Each miss counts, and only hits make up for it: 2.6 maps no other pages along. Stores never do.
#[test]
fn who_misses_much_reads_no_more_around() {
    for (rules, access) in [(V2_6, MapAccess::Read), (V2_6, MapAccess::Write), (V6_1, MapAccess::Write)] {
        let (mut vfs, log, fd) = mapped(rules, 8 << 10, access);
        let mut touch = |page: u64| match access {
            MapAccess::Read => load(&mut vfs, fd, page),
            MapAccess::Write => vfs.map_store(fd, page * PAGE, b"x").unwrap(),
        };
        (0..100).for_each(|i| touch(10 + 10 * i));
        assert_eq!(log.borrow().page_reads.len(), 200, "{rules:?} {access:?}");
        touch(1_100);
        touch(1_110);
        assert_eq!(log.borrow().page_reads.len(), 202, "{rules:?} {access:?}");
    }
    let (mut vfs, log, fd) = mapped(V6_1, 8 << 10, MapAccess::Read);
    (0..110).for_each(|i| load(&mut vfs, fd, 10 + 10 * i));
    assert_eq!(log.borrow().page_reads.len(), 220, "the pages that a fault maps along are hits");
}

#[test]
fn a_store_is_written_back_and_the_next_one_is_a_fault_again() {
    for rules in [V2_6, V6_1] {
        let (mut vfs, log) = delaying_with(config(rules, 0));
        let (fd, ino) = file(&mut vfs, "f", 0..4);
        vfs.fsync(fd).unwrap();
        log.borrow_mut().written.clear();
        vfs.mmap(fd, 0, 4 * PAGE, MapAccess::Write).unwrap();
        for word in [b"one", b"two"] {
            vfs.map_store(fd, 2 * PAGE - 1, word).unwrap();
            assert!(log.borrow().written.is_empty());
            let mut found = [0; 3];
            vfs.pread(fd, &mut found, 2 * PAGE - 1).unwrap();
            assert_eq!(&found, word, "programs see it at once");
            vfs.msync(fd, 0, 4 * PAGE as usize).unwrap();
            assert_eq!(log.borrow_mut().take_written(), pages_of(ino, [1, 2]), "{rules:?}");
        }
        vfs.map_store(fd, 0, b"late").unwrap();
        vfs.munmap(fd).unwrap();
        vfs.close(fd).unwrap();
        vfs.sleep_ns(40 * SECOND_NS);
        assert!(log.borrow_mut().take_written().contains(&(ino, Some(0))), "{rules:?}");
    }
}

/// msync(2) of 6.1 is a fdatasync(2) of the range, that of 2.6 an fsync(2).
#[test]
fn msync_writes_its_range() {
    for (rules, pages, data_only) in [(V6_1, 1..2, true), (V2_6, 0..3, false)] {
        let (mut vfs, log) = delaying_with(config(rules, 0));
        let (fd, ino) = file(&mut vfs, "f", 0..3);
        vfs.fsync(fd).unwrap();
        log.borrow_mut().written.clear();
        log.borrow_mut().fsyncs.clear();
        vfs.mmap(fd, 0, 3 * PAGE, MapAccess::Write).unwrap();
        (0..3).for_each(|page| vfs.map_store(fd, page * PAGE, b"x").unwrap());
        vfs.msync(fd, PAGE + 7, 10).unwrap();
        assert_eq!(log.borrow_mut().take_written(), pages_of(ino, pages));
        assert_eq!(log.borrow().fsyncs, [(ino, data_only)]);
    }
}

/// write(2) leaves no dirty pages there, but stores do: the flusher, msync(2), sync(2) and an unmount write them.
#[test]
fn a_file_system_that_does_not_delay_writes_gets_pages_of_maps() {
    type End = fn(&mut Vfs, Fd);
    let ends: [End; 5] = [
        |vfs, fd| vfs.msync(fd, 0, 10).unwrap(),
        |vfs, fd| vfs.fsync(fd).unwrap(),
        |vfs, _| vfs.sync().unwrap(),
        |vfs, _| vfs.sleep_ns(40 * SECOND_NS),
        |vfs, fd| {
            vfs.close(fd).unwrap();
            vfs.umount().unwrap();
        },
    ];
    for (rules, end) in [V2_6, V6_1].into_iter().flat_map(|rules| ends.map(|end| (rules, end))) {
        let (mut vfs, log, fd) = mapped(rules, 0, MapAccess::Write);
        let ino = vfs.fstat(fd).unwrap().ino;
        vfs.map_store(fd, 5, b"x").unwrap();
        assert!(log.borrow().written.is_empty());
        end(&mut vfs, fd);
        assert_eq!(log.borrow_mut().take_written().first(), Some(&(ino, Some(0))), "{rules:?}");
    }
}

#[test]
fn what_cannot_be_mapped_is_refused() {
    let (mut vfs, _) = mounted(config(V6_1, 0), |sim| MemFs::with_file(sim, "f", 5_000));
    let read = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    assert_eq!(vfs.mmap(read, 0, 0, MapAccess::Read), Err(Errno::Inval.into()));
    assert_eq!(vfs.mmap(read, 100, 5, MapAccess::Read), Err(Errno::Inval.into()));
    assert_eq!(vfs.mmap(read, 0, 5, MapAccess::Write), Err(Errno::Acces.into()));
    assert_eq!(vfs.map_load(read, 0, 1), Err(Errno::Inval.into()), "it is not mapped");
    vfs.mmap(read, 0, 3 * PAGE, MapAccess::Read).unwrap();
    assert_eq!(vfs.map_load(read, 3 * PAGE, 1), Err(Errno::Inval.into()), "behind the map");
    assert_eq!(vfs.map_load(read, 2 * PAGE, 1), Err(Errno::Io.into()), "behind the file: a bus error");
    assert_eq!(vfs.map_store(read, 0, b"x"), Err(Errno::Acces.into()));
    let write = vfs.open(b"f", OpenFlags::WRITE, 0).unwrap();
    assert_eq!(vfs.mmap(write, 0, 5, MapAccess::Read), Err(Errno::Acces.into()));
    let directory = vfs.open(b"/", OpenFlags { directory: true, ..OpenFlags::READ }, 0).unwrap();
    assert_eq!(vfs.mmap(directory, 0, 5, MapAccess::Read), Err(Errno::NoDev.into()));
    let made = vfs.open(b"g", CREATE, 0o644).unwrap();
    vfs.mmap(made, 0, 5, MapAccess::Write).unwrap();
    assert_eq!(vfs.map_store(made, 0, b"x"), Err(Errno::Io.into()), "the file is empty");
}
