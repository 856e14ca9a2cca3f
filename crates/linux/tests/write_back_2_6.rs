//! Write-back of Linux 2.6.37 where it differs from that of 6.1.

use crate::support;

use ffslab_fs::causes;
use ffslab_fs::Ino;
use ffslab_linux::{Calls, ReadAheadRules, VfsConfig};
use ffslab_sim::{SimConfig, Task};
use support::delayed::{delaying_with, file, pages_of, with_limits, write_pages, PAGE, SECOND_NS};
use support::{config, mounted_on, MemFs};

fn old() -> VfsConfig {
    config(ReadAheadRules::V2_6, 0)
}

fn old_with_limits(dirty_pages: u64, background_pages: u64) -> VfsConfig {
    with_limits(ReadAheadRules::V2_6, dirty_pages, background_pages)
}

#[test]
fn a_few_dirty_pages_wait_until_they_are_old() {
    let (mut vfs, log) = delaying_with(old());
    let (_, ino) = file(&mut vfs, "f", 0..3);
    vfs.sleep_ns(29 * SECOND_NS);
    assert!(log.borrow().written.is_empty(), "although the device has not written lately");
    vfs.sleep_ns(7 * SECOND_NS);
    assert_eq!(log.borrow_mut().take_written(), [pages_of(ino, 0..3), vec![(ino, None)]].concat());
}

#[test]
fn the_flusher_looks_for_too_much_only_when_a_writer_asks() {
    let (mut vfs, log) = delaying_with(old_with_limits(2_000, 100));
    // A writer looks after every 512 pages, a 32nd of the memory.
    let (fd, _) = file(&mut vfs, "f", 0..500);
    vfs.sleep_ns(20 * SECOND_NS);
    assert!(log.borrow().written.is_empty());
    write_pages(&mut vfs, fd, 500..520);
    vfs.sleep_ns(SECOND_NS);
    assert!(log.borrow().written.len() >= 420, "{}", log.borrow().written.len());
    assert!(log.borrow().written.iter().all(|written| written.task == &causes::FLUSHER));
}

#[test]
fn the_inodes_of_a_round_share_a_portion() {
    let (mut vfs, log) = delaying_with(old());
    let (_, a) = file(&mut vfs, "a", 0..600);
    let (_, b) = file(&mut vfs, "b", 0..600);
    let (_, c) = file(&mut vfs, "c", 0..10);
    vfs.sleep_ns(40 * SECOND_NS);
    let order: Vec<Ino> = log.borrow().written.iter().map(|written| written.ino).collect();
    let runs: Vec<(Ino, usize)> = order.chunk_by(|x, y| x == y).map(|run| (run[0], run.len())).collect();
    // 600 + 424 pages and two inodes, then the third inode and what is left of the second.
    assert_eq!(runs, [(a, 601), (b, 425), (c, 11), (b, 176)]);
}

#[test]
fn a_writer_over_the_limit_writes_pages_itself() {
    let (mut vfs, log) = delaying_with(old_with_limits(2_048, 1_024));
    let (fd, _) = file(&mut vfs, "f", 0..1_500);
    assert!(log.borrow().written.iter().all(|written| written.task == &causes::FLUSHER));
    write_pages(&mut vfs, fd, 1_500..6_000);
    let written = log.borrow().written.len();
    assert!(6_000 - written < 2_600, "{written} of 6000 pages are written");
    assert!(log.borrow().written.iter().any(|written| written.task == &causes::CALLER));
}

#[test]
fn nothing_is_lost_when_writer_and_flusher_write_the_same_file() {
    let mut config = old_with_limits(64, 32);
    config.page_cache_bytes = 128 * PAGE;
    let (mut vfs, log) = delaying_with(config);
    let (fd, _) = file(&mut vfs, "f", (0..400).chain(100..300).chain(0..50));
    vfs.fsync(fd).unwrap();
    vfs.close(fd).unwrap();
    vfs.sync().unwrap();
    vfs.drop_caches().unwrap();
    let fd = vfs.open(b"f", ffslab_linux::OpenFlags::READ, 0).unwrap();
    for index in 0..400u64 {
        let mut page = [0; PAGE as usize];
        vfs.pread(fd, &mut page, index * PAGE).unwrap();
        assert_eq!(page, [(index as u8).wrapping_add(1); PAGE as usize], "page {index}");
    }
    let tasks: Vec<&'static Task> = log.borrow().written.iter().map(|written| written.task).collect();
    assert!(tasks.contains(&&causes::CALLER) && tasks.contains(&&causes::FLUSHER));
}

#[test]
fn a_program_that_wakes_gets_the_cpu_between_two_pages_when_waits_for_the_chip_offer_it() {
    let late_ns = |polls_with_resched: bool| {
        let machine = SimConfig { polls_with_resched, ..SimConfig::default() };
        let (mut vfs, log) = mounted_on(machine, old_with_limits(2_000, 100), MemFs::delaying);
        log.borrow_mut().write_ns = 650_000;
        file(&mut vfs, "f", 0..600);
        // The flusher is at work: it has 14 pages at a time, 9.1 ms.
        let begun_ns = vfs.now_ns();
        vfs.sleep_ns(23_000_000);
        assert!((10..100).contains(&log.borrow().written.len()));
        vfs.now_ns() - begun_ns - 23_000_000
    };
    let (with, without) = (late_ns(true), late_ns(false));
    assert!(with < 750_000, "{with}: at most one page and the timer's slack");
    assert!(without > 2_000_000, "{without}: until the end of a batch");
}

#[test]
fn sync_writes_everything() {
    let (mut vfs, log) = delaying_with(old());
    let (_, a) = file(&mut vfs, "a", 0..2);
    let (_, b) = file(&mut vfs, "b", 0..2);
    vfs.sync().unwrap();
    let expected = [pages_of(a, 0..2), vec![(a, None)], pages_of(b, 0..2), vec![(b, None)]].concat();
    assert!(log.borrow().written.iter().all(|written| written.task == &causes::FLUSHER));
    assert_eq!(log.borrow_mut().take_written(), expected);
}

#[test]
fn a_file_system_short_of_space_has_everything_written() {
    let (mut vfs, log) = delaying_with(old());
    log.borrow_mut().room_pages = Some(100);
    let (_, other) = file(&mut vfs, "other", 0..50);
    let (fd, ino) = file(&mut vfs, "f", 0..100);
    assert!(log.borrow().written.is_empty());
    write_pages(&mut vfs, fd, 100..101);
    // 16 pages were asked for.
    let all = [pages_of(other, 0..50), vec![(other, None)], pages_of(ino, 0..100), vec![(ino, None)]].concat();
    assert_eq!(log.borrow_mut().take_written(), all);
}

#[test]
fn a_walk_goes_on_where_the_last_one_ended_and_returns_to_the_pages_before() {
    let (mut vfs, log) = delaying_with(old());
    let (fd, ino) = file(&mut vfs, "f", 0..50);
    vfs.sleep_ns(40 * SECOND_NS);
    log.borrow_mut().take_written();
    write_pages(&mut vfs, fd, (0..5).chain(40..60));
    vfs.sleep_ns(40 * SECOND_NS);
    let expected = [pages_of(ino, 50..60), pages_of(ino, 0..5), pages_of(ino, 40..50), vec![(ino, None)]].concat();
    assert_eq!(log.borrow_mut().take_written(), expected);
}

#[test]
fn an_inode_that_became_dirty_during_a_piece_of_work_is_not_written_by_it_but_by_the_next_look() {
    let (mut vfs, log) = delaying_with(old_with_limits(4_000, 100));
    let (_, a) = file(&mut vfs, "a", 0..1_536);
    vfs.sleep_ns(50_000_000);
    let written = log.borrow().written.len();
    assert!((1..1_000).contains(&written), "the flusher is in the middle of its first round: {written}");
    let (_, b) = file(&mut vfs, "b", 0..3);
    vfs.sleep_ns(3 * SECOND_NS);
    assert!(log.borrow().written.iter().all(|written| written.ino == a), "all but {a:?} is too young");
    assert_eq!(log.borrow().written.len(), 1_537);
    // It is chosen already, so its age does not matter any more.
    vfs.sleep_ns(6 * SECOND_NS);
    assert_eq!(log.borrow_mut().take_written().split_off(1_537), [pages_of(b, 0..3), vec![(b, None)]].concat());
}

#[test]
fn an_inode_that_gets_dirty_pages_while_it_is_written_stays_as_old_as_it_is() {
    let written_after_s = |stores_meanwhile: bool| {
        let (mut vfs, log) = delaying_with(old());
        log.borrow_mut().write_ns = 1_000_000;
        let (fd, ino) = file(&mut vfs, "f", 0..600);
        while log.borrow().written.is_empty() {
            vfs.sleep_ns(10_000_000);
        }
        if stores_meanwhile {
            write_pages(&mut vfs, fd, 600..601);
        }
        vfs.sleep_ns(SECOND_NS);
        let pages = 600 + u64::from(stores_meanwhile);
        let expected = [pages_of(ino, 0..pages), vec![(ino, None)]].concat();
        assert_eq!(log.borrow_mut().take_written(), expected, "the walk has come to the new page, too");
        write_pages(&mut vfs, fd, 0..1);
        let begun_ns = vfs.now_ns();
        while log.borrow().written.is_empty() {
            vfs.sleep_ns(SECOND_NS / 10);
        }
        (vfs.now_ns() - begun_ns) / SECOND_NS
    };
    assert!(written_after_s(true) <= 5, "the next look finds an inode that is old");
    assert!(written_after_s(false) >= 29);
}
