//! The page cache under policies: what is read ahead, and which file the flusher writes next.

use crate::support;

use ffslab_fs::Ino;
use ffslab_linux::{Calls, Fd, MapAccess, OpenFlags, ReadAheadRules, Vfs};
use ffslab_policy::{write_back_policies, ReadAheadPolicy, WriteBackOrder};
use std::cell::RefCell;
use std::rc::Rc;
use support::delayed::{delaying_with, file, write_pages};
use support::{config, mounted, Log, MemFs};

const KERNELS: [ReadAheadRules; 4] =
    [ReadAheadRules::V2_6, ReadAheadRules::V5_10, ReadAheadRules::V6_1, ReadAheadRules::V6_11];

/// A file of 1000 pages, opened; read-ahead of the device is off, which a policy does not look at.
fn reading(rules: ReadAheadRules, policy: &str) -> (Vfs, Rc<RefCell<Log>>, Fd) {
    let mut config = config(rules, 0);
    config.policies.read_ahead = ReadAheadPolicy::parse(policy).unwrap();
    let (mut vfs, log) = mounted(config, |sim| MemFs::with_file(sim, "f", 1000 * 4096));
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    (vfs, log, fd)
}

/// What reached the file system when these pages were read one by one.
fn pages_read(rules: ReadAheadRules, policy: &str, pages: &[u64]) -> Vec<u64> {
    let (mut vfs, log, fd) = reading(rules, policy);
    for page in pages {
        vfs.pread_discard(fd, page * 4096, 4096).unwrap();
    }
    let read = log.borrow().pages();
    read
}

#[test]
fn each_rule_reads_what_it_says_on_every_kernel() {
    for rules in KERNELS {
        assert_eq!(pages_read(rules, "none", &[0, 1, 500]), [0, 1, 500]);
        assert_eq!(pages_read(rules, "fixed(16)", &[0, 1, 500]), [0, 1, 2, 3, 500, 501, 502, 503]);
        assert_eq!(pages_read(rules, "sequential-only(8)", &[500, 501, 10]), [500, 501, 502, 10]);
        // Page 1 carries the mark of the first window, page 3 that of the second one.
        assert_eq!(pages_read(rules, "tagged(8)", &[0]), [0, 1, 2]);
        assert_eq!(pages_read(rules, "tagged(8)", &[0, 1, 2]), [0, 1, 2, 3, 4]);
        assert_eq!(pages_read(rules, "tagged(8)", &[0, 1, 2, 3]), [0, 1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn the_adaptive_rule_doubles_in_order_and_stops_at_random() {
    for rules in KERNELS {
        let in_order: Vec<u64> = (0..14).collect();
        // Windows of 1 + 1, 1 + 2, 1 + 4, 1 + 4 pages.
        assert_eq!(pages_read(rules, "adaptive(16)", &in_order), (0..15).collect::<Vec<_>>());
        let at_random: Vec<u64> = (1..20).map(|number| number * 50).collect();
        assert_eq!(pages_read(rules, "adaptive(16)", &at_random), at_random);
        let mixed: Vec<u64> = in_order.into_iter().chain(at_random).collect();
        let wasted = pages_read(rules, "adaptive(16)", &mixed).len() - mixed.len();
        assert!((1..=8).contains(&wasted), "{wasted} pages were read for nothing");
    }
}

#[test]
fn a_request_of_many_pages_is_read_as_a_whole() {
    for rules in KERNELS {
        let (mut vfs, log, fd) = reading(rules, "fixed(16)");
        vfs.pread_discard(fd, 0, 10 * 4096).unwrap();
        assert_eq!(log.borrow().pages(), (0..10).collect::<Vec<_>>());
    }
}

#[test]
fn page_faults_ask_the_policy_too() {
    for rules in KERNELS {
        let (mut vfs, log, fd) = reading(rules, "fixed(16)");
        vfs.mmap(fd, 0, 1000 * 4096, MapAccess::Read).unwrap();
        vfs.map_load(fd, 300 * 4096, 8).unwrap();
        assert_eq!(log.borrow().pages(), [300, 301, 302, 303]);
    }
}

/// The files in the order in which sync(2) writes them: 3 pages, then 1, then 5; after that the first one is changed again.
fn order_of_files(order: Option<&str>) -> Vec<usize> {
    let mut config = config(ReadAheadRules::V6_1, 0);
    config.policies.write_back = order.and_then(|order| WriteBackOrder::parse(order).unwrap());
    let (mut vfs, log) = delaying_with(config);
    let files = [file(&mut vfs, "a", 0..3), file(&mut vfs, "b", 0..1), file(&mut vfs, "c", 0..5)];
    vfs.sleep_ns(1_000_000);
    write_pages(&mut vfs, files[0].0, [0]);
    vfs.sync().unwrap();
    let mut written: Vec<Ino> = log.borrow_mut().take_written().iter().map(|(ino, _)| *ino).collect();
    written.dedup();
    written.iter().map(|ino| files.iter().position(|(_, file)| file == ino).unwrap()).collect()
}

#[test]
fn an_order_decides_which_file_is_written_first() {
    assert_eq!(order_of_files(None), [0, 1, 2]);
    assert_eq!(order_of_files(Some("largest-first")), [2, 0, 1]);
    assert_eq!(order_of_files(Some("smallest-first")), [1, 0, 2]);
    assert_eq!(order_of_files(Some("least-recently-written")), [1, 2, 0]);
    assert_eq!(order_of_files(Some("inode-order")), [0, 1, 2]);
}

#[test]
fn nothing_stays_unwritten_under_any_order_on_any_kernel() {
    for rules in KERNELS {
        for order in write_back_policies() {
            let mut config = support::delayed::with_limits(rules, 40, 20);
            config.policies.write_back = WriteBackOrder::parse(order.name).unwrap();
            let (mut vfs, log) = delaying_with(config);
            let files: Vec<_> = (0..6).map(|number| file(&mut vfs, &number.to_string(), 0..30 * number + 1)).collect();
            vfs.sleep_ns(1_000_000_000);
            write_pages(&mut vfs, files[3].0, 10..20);
            vfs.sync().unwrap();
            let mut pages: Vec<_> =
                log.borrow_mut().take_written().into_iter().filter(|(_, page)| page.is_some()).collect();
            pages.sort_unstable();
            pages.dedup();
            assert_eq!(pages.len(), (0..6).map(|number| 30 * number + 1).sum::<usize>(), "{} on {rules:?}", order.name);
        }
    }
}
