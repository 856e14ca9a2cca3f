//! Write-back over a file system that delays writes: what is written, when, by whom and in which order.

use crate::support;

use ffslab_fs::causes;
use ffslab_fs::{Errno, Ino};
use ffslab_linux::{timed, Advice, Calls, OpenFlags, ReadAheadRules, Vfs, VfsConfig};
use ffslab_sim::Switch;
use std::cell::RefCell;
use std::rc::Rc;
use support::delayed::{delaying_with, file, pages_of, write_pages, CREATE, PAGE, SECOND_NS};
use support::{config, Log, MemFs};

fn with_limits(dirty_pages: u64, background_pages: u64) -> VfsConfig {
    support::delayed::with_limits(ReadAheadRules::V6_1, dirty_pages, background_pages)
}

fn delaying() -> (Vfs, Rc<RefCell<Log>>) {
    delaying_with(config(ReadAheadRules::V6_1, 0))
}

/// The device wrote much, so that it has a share in the limits.
fn warm_up(vfs: &mut Vfs, log: &Rc<RefCell<Log>>) {
    let (fd, _) = file(vfs, "warm", 0..2_000);
    vfs.fsync(fd).unwrap();
    vfs.sync().unwrap();
    vfs.close(fd).unwrap();
    log.borrow_mut().written.clear();
}

#[test]
fn a_write_reaches_the_file_system_only_at_write_back() {
    let (mut vfs, log) = delaying();
    let (fd, ino) = file(&mut vfs, "f", [3, 0, 0, 2]);
    assert!(log.borrow().written.is_empty());
    let mut data = [0; 4];
    vfs.pread(fd, &mut data, 2 * PAGE).unwrap();
    assert_eq!(data, [3; 4], "the cache has it");
    vfs.fsync(fd).unwrap();
    assert_eq!(log.borrow_mut().take_written(), pages_of(ino, [0, 2, 3]), "each page once, in ascending order");
    vfs.fsync(fd).unwrap();
    assert!(log.borrow().written.is_empty());
    assert_eq!(log.borrow().fsyncs, [(ino, false), (ino, false)]);
}

#[test]
fn a_device_that_has_not_written_lately_is_written_at_the_first_look() {
    let (mut vfs, log) = delaying();
    let begin_ns = vfs.sim().now_ns();
    let (_, ino) = file(&mut vfs, "f", [1, 0]);
    vfs.sleep_ns(4_900_000_000);
    assert!(log.borrow().written.is_empty());
    vfs.sleep_ns(300_000_000);
    let first = log.borrow().written[0];
    assert_eq!(first.task, &causes::FLUSHER);
    assert!((5 * SECOND_NS..5 * SECOND_NS + 100_000_000).contains(&(first.at_ns - begin_ns)), "{first:?}");
    assert_eq!(log.borrow_mut().take_written(), [pages_of(ino, [0, 1]), vec![(ino, None)]].concat());
}

#[test]
fn what_has_expired_is_written_at_the_next_look() {
    let mut config = config(ReadAheadRules::V6_1, 0);
    config.write_back.expire_ms = 10_000;
    let (mut vfs, log) = delaying_with(config);
    warm_up(&mut vfs, &log);
    let begin_ns = vfs.sim().now_ns();
    let (_, a) = file(&mut vfs, "a", [0]);
    vfs.sleep_ns(7 * SECOND_NS);
    let (_, b) = file(&mut vfs, "b", [0]);
    vfs.sleep_ns(2_900_000_000);
    assert!(log.borrow().written.is_empty());
    vfs.sleep_ns(6_100_000_000);
    let at_ns = log.borrow().written[0].at_ns - begin_ns;
    assert!((10 * SECOND_NS..16 * SECOND_NS).contains(&at_ns), "{at_ns}");
    assert_eq!(log.borrow_mut().take_written(), [(a, Some(0)), (a, None)], "b is younger");
    vfs.sleep_ns(7 * SECOND_NS);
    assert_eq!(log.borrow_mut().take_written(), [(b, Some(0)), (b, None)]);
}

#[test]
fn no_interval_means_no_periodic_write_back() {
    let mut config = config(ReadAheadRules::V6_1, 0);
    config.write_back.writeback_interval_ms = 0;
    let (mut vfs, log) = delaying_with(config);
    file(&mut vfs, "f", 0..4);
    vfs.sleep_ns(3_600 * SECOND_NS);
    assert!(log.borrow().written.is_empty());
    vfs.sync().unwrap();
    assert_eq!(log.borrow().written.len(), 5);
}

#[test]
fn inodes_are_written_in_the_order_in_which_they_became_dirty() {
    let (mut vfs, log) = delaying();
    let (a_fd, a) = file(&mut vfs, "a", [5]);
    let (_, b) = file(&mut vfs, "b", [7]);
    let (_, c) = file(&mut vfs, "c", [1]);
    write_pages(&mut vfs, a_fd, [2]);
    vfs.sync().unwrap();
    let expected = [(a, Some(2)), (a, Some(5)), (a, None), (b, Some(7)), (b, None), (c, Some(1)), (c, None)];
    assert!(log.borrow().written.iter().all(|written| written.task == &causes::FLUSHER));
    assert_eq!(log.borrow_mut().take_written(), expected);
    assert_eq!(log.borrow().syncs, 1);
}

#[test]
fn an_inode_whose_pages_only_are_dirty_is_not_written() {
    let (mut vfs, log) = delaying();
    let (fd, ino) = file(&mut vfs, "f", 0..3);
    vfs.sync().unwrap();
    log.borrow_mut().written.clear();
    write_pages(&mut vfs, fd, [1]);
    vfs.sync().unwrap();
    assert_eq!(log.borrow_mut().take_written(), [(ino, Some(1))]);
}

#[test]
fn the_flusher_wakes_at_the_background_limit_and_stops_below_it() {
    let (mut vfs, log) = delaying_with(with_limits(2_000, 400));
    warm_up(&mut vfs, &log);
    // Clean pages are written over, so that only the limit can be why.
    let (fd, _) = file(&mut vfs, "f", 0..300);
    vfs.sleep_ns(SECOND_NS);
    assert!(log.borrow().written.is_empty());
    write_pages(&mut vfs, fd, 300..700);
    vfs.sleep_ns(SECOND_NS);
    let written = log.borrow().written.clone();
    assert!(written.len() > 600 && written.iter().all(|w| w.task == &causes::FLUSHER), "{}", written.len());
    let begin_ns = vfs.sim().now_ns();
    let quiet_ns = begin_ns - written.last().unwrap().at_ns;
    assert!(quiet_ns > 400_000_000, "it has come to rest");
}

#[test]
fn a_writer_is_held_up_before_the_limit_is_reached() {
    let (mut vfs, log) = delaying_with(with_limits(2_048, 1_024));
    let begin_ns = vfs.sim().now_ns();
    let (fd, _) = file(&mut vfs, "f", 0..1_500);
    assert_eq!(vfs.sim().now_ns(), begin_ns, "nobody is held up below the middle of the two limits");
    write_pages(&mut vfs, fd, 1_500..6_000);
    let written = log.borrow().written.len();
    assert!(6_000 - written < 2_100, "{written} of 6000 pages are written");
    assert!(vfs.sim().now_ns() > begin_ns + 2_000_000_000);
    assert!(log.borrow().written.iter().all(|w| w.task == &causes::FLUSHER));
}

#[test]
fn pauses_end_when_the_flusher_has_caught_up() {
    let (mut vfs, _) = delaying_with(with_limits(2_048, 1_024));
    let (fd, _) = file(&mut vfs, "f", []);
    let mut longest_ns = 0;
    let mut held_up = 0;
    for index in 0..5_120 {
        let (_, latency_ns) = timed(&mut vfs, |vfs| vfs.pwrite(fd, &[1; 4096], index % 3_584 * PAGE));
        longest_ns = longest_ns.max(latency_ns);
        held_up += u32::from(latency_ns > 1_000_000);
    }
    assert!((1..400).contains(&held_up), "{held_up} calls were held up");
    assert!((10_000_000..2_000_000_000).contains(&longest_ns), "{longest_ns}");
}

#[test]
fn a_cache_full_of_dirty_pages_loses_none() {
    // The limits are far above the 16 pages of the cache.
    let mut config = with_limits(1_000, 900);
    config.page_cache_bytes = 0;
    let (mut vfs, log) = delaying_with(config);
    let (fd, _) = file(&mut vfs, "f", 0..200);
    assert!(log.borrow().written.len() >= 180);
    vfs.sync().unwrap();
    vfs.drop_caches().unwrap();
    for index in 0..200 {
        let mut page = [0; PAGE as usize];
        vfs.pread(fd, &mut page, index * PAGE).unwrap();
        assert_eq!(page, [(index as u8).wrapping_add(1); PAGE as usize], "page {index}");
    }
}

#[test]
fn reading_does_not_push_dirty_pages_out() {
    let mut config = with_limits(1_000, 900);
    config.page_cache_bytes = 32 * PAGE;
    let (mut vfs, log) = delaying_with(config);
    let (_, _) = file(&mut vfs, "clean", 0..30);
    vfs.sync().unwrap();
    log.borrow_mut().written.clear();
    let (fd, ino) = file(&mut vfs, "dirty", 0..10);
    let clean = vfs.open(b"clean", OpenFlags::READ, 0).unwrap();
    for _ in 0..5 {
        vfs.pread_discard(clean, 0, 30 * PAGE as usize).unwrap();
    }
    assert!(log.borrow().written.is_empty());
    vfs.fsync(fd).unwrap();
    assert_eq!(log.borrow_mut().take_written(), pages_of(ino, 0..10));
}

#[test]
fn fsync_writes_the_pages_of_its_file_in_the_caller() {
    let (mut vfs, log) = delaying();
    file(&mut vfs, "other", 0..3);
    let (fd, ino) = file(&mut vfs, "f", 0..3);
    vfs.fdatasync(fd).unwrap();
    assert!(log.borrow().written.iter().all(|written| written.task == &causes::CALLER));
    assert_eq!(log.borrow_mut().take_written(), pages_of(ino, 0..3));
    assert_eq!(log.borrow().fsyncs, [(ino, true)]);
}

#[test]
fn a_synchronous_write_writes_its_own_pages_only() {
    for (flags, data_only) in [(OpenFlags { sync: true, ..CREATE }, false), (OpenFlags { dsync: true, ..CREATE }, true)]
    {
        let (mut vfs, log) = delaying();
        let (_, ino) = file(&mut vfs, "f", 0..6);
        let fd = vfs.open(b"f", flags, 0).unwrap();
        vfs.pwrite(fd, &[1; 2], 2 * PAGE - 1).unwrap();
        assert_eq!(log.borrow_mut().take_written(), pages_of(ino, [1, 2]), "both pages that it touches");
        assert_eq!(log.borrow().fsyncs, [(ino, data_only)]);
        vfs.sync().unwrap();
        assert_eq!(log.borrow_mut().take_written(), [pages_of(ino, [0, 3, 4, 5]), vec![(ino, None)]].concat());
    }
}

#[test]
fn pages_cut_off_a_file_are_not_written() {
    let (mut vfs, log) = delaying();
    let (fd, ino) = file(&mut vfs, "f", 0..6);
    vfs.ftruncate(fd, 2 * PAGE + 10).unwrap();
    assert_eq!(log.borrow().dropped, [(ino, 3), (ino, 4), (ino, 5)]);
    vfs.sync().unwrap();
    assert_eq!(log.borrow_mut().take_written(), [pages_of(ino, 0..3), vec![(ino, None)]].concat());
}

#[test]
fn a_deleted_file_is_not_written() {
    let (mut vfs, log) = delaying();
    let (fd, ino) = file(&mut vfs, "f", 0..3);
    vfs.unlink(b"f").unwrap();
    assert!(log.borrow().dropped.is_empty(), "it is open");
    vfs.close(fd).unwrap();
    assert_eq!(log.borrow().dropped, [(ino, 0), (ino, 1), (ino, 2)]);
    assert_eq!(log.borrow().evicted, [ino]);
    vfs.sync().unwrap();
    vfs.sleep_ns(60 * SECOND_NS);
    assert!(log.borrow().written.is_empty());
}

#[test]
fn a_file_is_deleted_after_the_flusher_has_left_it() {
    let (mut vfs, log) = delaying_with(with_limits(4_000, 100));
    let (fd, ino) = file(&mut vfs, "f", 0..400);
    vfs.close(fd).unwrap();
    // The flusher was woken at the limit and is in the middle of the file.
    vfs.sleep_ns(40_000_000);
    let before = log.borrow().written.len();
    assert!((10..300).contains(&before), "{before}");
    vfs.unlink(b"f").unwrap();
    assert_eq!((log.borrow().written.len(), log.borrow().evicted.clone()), (401, vec![ino]));
}

#[test]
fn dropping_caches_keeps_what_is_dirty() {
    let (mut vfs, log) = delaying();
    let (clean_fd, clean) = file(&mut vfs, "clean", 0..2);
    vfs.close(clean_fd).unwrap();
    vfs.sync().unwrap();
    let (fd, ino) = file(&mut vfs, "f", 0..3);
    vfs.close(fd).unwrap();
    log.borrow_mut().written.clear();
    vfs.drop_caches().unwrap();
    let in_memory = log.borrow().in_memory.clone();
    assert!(in_memory.contains(&ino) && !in_memory.contains(&clean), "{in_memory:?}");
    vfs.sync().unwrap();
    assert_eq!(log.borrow_mut().take_written(), [pages_of(ino, 0..3), vec![(ino, None)]].concat());
    vfs.drop_caches().unwrap();
    assert!(!log.borrow().in_memory.contains(&ino));
}

#[test]
fn unmounting_writes_everything_and_a_crash_nothing() {
    let (mut vfs, log) = delaying();
    let (fd, ino) = file(&mut vfs, "f", 0..3);
    vfs.close(fd).unwrap();
    vfs.umount().unwrap();
    assert_eq!(log.borrow_mut().take_written(), [pages_of(ino, 0..3), vec![(ino, None)]].concat());
    assert_eq!(log.borrow().syncs, 1);
    let (mut vfs, log) = delaying();
    file(&mut vfs, "f", 0..3);
    vfs.crash();
    vfs.sleep_ns(60 * SECOND_NS);
    assert!(log.borrow().written.is_empty());
}

#[test]
fn a_file_system_short_of_space_waits_for_the_flusher() {
    let (mut vfs, log) = delaying();
    log.borrow_mut().room_pages = Some(100);
    let (fd, ino) = file(&mut vfs, "f", 0..100);
    assert!(log.borrow().written.is_empty());
    let (_, latency_ns) = timed(&mut vfs, |vfs| vfs.pwrite(fd, &[1; 4096], 100 * PAGE));
    // 16 pages were asked for; the whole inode is written, and the call lasts as long.
    assert_eq!(latency_ns, 256 + 101 * 650_000);
    assert!(log.borrow().written.iter().all(|written| written.task == &causes::FLUSHER));
    assert_eq!(log.borrow_mut().take_written(), [pages_of(ino, 0..100), vec![(ino, None)]].concat());
}

#[test]
fn portions_take_turns_between_large_files() {
    let (mut vfs, log) = delaying_with(with_limits(4_000, 10));
    let (_, a) = file(&mut vfs, "a", 0..1_300);
    let (_, b) = file(&mut vfs, "b", 0..10);
    vfs.sleep_ns(10 * SECOND_NS);
    let order: Vec<Ino> = log.borrow().written.iter().map(|written| written.ino).collect();
    let runs: Vec<(Ino, usize)> = order.chunk_by(|x, y| x == y).map(|run| (run[0], run.len())).collect();
    // 1024 pages and the inode, then the other file, then the rest.
    assert_eq!(runs, [(a, 1_025), (b, 11), (a, 276)]);
}

#[test]
fn the_next_portion_goes_on_where_the_last_one_ended() {
    let (mut vfs, log) = delaying_with(with_limits(4_000, 10));
    let (fd, a) = file(&mut vfs, "a", 0..1_300);
    let (_, b) = file(&mut vfs, "b", 0..600);
    vfs.sleep_ns(800_000_000);
    assert_eq!(log.borrow().written.last().unwrap().ino, b, "the first portion of the first file is written");
    write_pages(&mut vfs, fd, 0..20);
    log.borrow_mut().written.clear();
    vfs.sleep_ns(10 * SECOND_NS);
    let written = log.borrow_mut().take_written();
    let of_a: Vec<_> = written.into_iter().filter(|&(ino, index)| ino == a && index.is_some()).collect();
    assert_eq!(of_a, pages_of(a, (1_024..1_300).chain(0..20)));
}

#[test]
fn a_large_file_that_has_expired_is_written_to_its_end() {
    let mut config = config(ReadAheadRules::V6_1, 0);
    config.write_back.expire_ms = 10_000;
    let (mut vfs, log) = delaying_with(config);
    warm_up(&mut vfs, &log);
    let (_, large) = file(&mut vfs, "large", 0..1_300);
    vfs.sleep_ns(7 * SECOND_NS);
    file(&mut vfs, "young", 0..3);
    vfs.sleep_ns(9 * SECOND_NS);
    let written = log.borrow_mut().take_written();
    let expected = [pages_of(large, 0..1_024), vec![(large, None)], pages_of(large, 1_024..1_300)].concat();
    assert_eq!(written, expected, "more than a portion, at one look");
}

#[test]
fn an_error_of_write_back_is_reported_once_to_each_open_file() {
    let (mut vfs, log) = delaying();
    let (fd, _) = file(&mut vfs, "f", 0..4);
    let other = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    log.borrow_mut().failing_pages = vec![1];
    vfs.sync().unwrap();
    assert_eq!(log.borrow().written.len(), 5, "the other pages are written");
    log.borrow_mut().failing_pages.clear();
    assert_eq!(vfs.fsync(fd), Err(Errno::Io.into()));
    assert_eq!(vfs.fsync(fd), Ok(()));
    assert_eq!(vfs.fsync(other), Err(Errno::Io.into()));
    assert_eq!(vfs.fsync(other), Ok(()));
    let later = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    assert_eq!(vfs.fsync(later), Ok(()));
}

#[test]
fn an_error_that_nobody_heard_of_is_told_to_who_opens_next() {
    let (mut vfs, log) = delaying();
    let (fd, _) = file(&mut vfs, "f", 0..4);
    vfs.close(fd).unwrap();
    log.borrow_mut().failing_pages = vec![1];
    vfs.sync().unwrap();
    let later = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    assert_eq!(vfs.fsync(later), Err(Errno::Io.into()));
    assert_eq!(vfs.fsync(later), Ok(()));
}

#[test]
fn a_page_that_is_put_back_is_tried_again_later() {
    let (mut vfs, log) = delaying();
    let (_, ino) = file(&mut vfs, "f", 0..3);
    log.borrow_mut().put_back_pages = vec![1];
    vfs.sleep_ns(6 * SECOND_NS);
    assert_eq!(log.borrow_mut().take_written(), [pages_of(ino, 0..3), vec![(ino, None)]].concat());
    log.borrow_mut().put_back_pages.clear();
    vfs.sleep_ns(60 * SECOND_NS);
    assert_eq!(log.borrow_mut().take_written(), [(ino, Some(1))]);
}

#[test]
fn a_file_system_that_has_given_up_writing_does_not_hold_programs_up_for_ever() {
    for rules in [ReadAheadRules::V2_6, ReadAheadRules::V6_1] {
        let mut config = support::delayed::with_limits(rules, 64, 32);
        config.page_cache_bytes = 1_024 * PAGE;
        let (mut vfs, log) = delaying_with(config);
        log.borrow_mut().put_back_pages = (0..2_000).collect();
        log.borrow_mut().write_ns = 0;
        let (fd, _) = file(&mut vfs, "f", 0..100);
        write_pages(&mut vfs, fd, 1_100..1_110);
        vfs.sleep_ns(60 * SECOND_NS);
        vfs.close(fd).unwrap();
        vfs.umount().unwrap();
    }
}

#[test]
fn a_power_cut_reaches_whoever_waits_for_the_flusher() {
    let (mut vfs, log) = delaying();
    let (fd, _) = file(&mut vfs, "f", 0..3);
    log.borrow_mut().failing_pages = vec![1];
    log.borrow_mut().failure = Some(Errno::PowerCut);
    assert_eq!(vfs.sync(), Err(Errno::PowerCut.into()));
    assert_eq!(vfs.fsync(fd), Ok(()), "the pages that were left are written by the caller");
    vfs.sleep_ns(60 * SECOND_NS);
    vfs.crash();
}

#[test]
fn giving_cached_pages_up_writes_them_first() {
    let (mut vfs, log) = delaying();
    let (fd, ino) = file(&mut vfs, "f", 0..4);
    vfs.advise(fd, PAGE, 2 * PAGE, Advice::DontNeed).unwrap();
    assert_eq!(log.borrow_mut().take_written(), pages_of(ino, 1..3));
    vfs.fsync(fd).unwrap();
    assert_eq!(log.borrow_mut().take_written(), pages_of(ino, [0, 3]));
}

#[test]
fn a_second_mount_has_a_flusher_of_its_own() {
    let (mut vfs, log) = delaying();
    file(&mut vfs, "f", 0..3);
    vfs.crash();
    let sim = vfs.sim().clone();
    let fs = MemFs::delaying(&sim);
    let second = fs.log.clone();
    vfs.mount(Box::new(fs)).unwrap();
    let (_, ino) = file(&mut vfs, "f", 0..2);
    vfs.sleep_ns(6 * SECOND_NS);
    assert_eq!(second.borrow_mut().take_written(), [pages_of(ino, 0..2), vec![(ino, None)]].concat());
    assert!(log.borrow().written.is_empty());
}

/// The flusher's worker offers the CPU behind its work. The program that has waited for it takes it, and the worker can run until its next
/// turn, in which it goes to sleep: so the program loses the CPU at the next tick.
#[test]
fn a_flusher_that_has_done_its_work_still_waits_for_the_cpu() {
    let (mut vfs, log) = delaying();
    file(&mut vfs, "f", 0..2_000);
    vfs.sync().unwrap();
    assert_eq!(log.borrow().written.last().map(|written| written.task), Some(&causes::FLUSHER));
    let sim = vfs.sim();
    sim.advance(2 * sim.tick_ns());
    assert_eq!(sim.resched(), Switch::Run(&causes::FLUSHER));
    vfs.sleep_ns(SECOND_NS);
    let sim = vfs.sim();
    sim.advance(2 * sim.tick_ns());
    assert_eq!(sim.resched(), Switch::Stay, "it sleeps");
}
