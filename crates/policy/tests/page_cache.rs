//! The rules of a page cache, and what a victim policy may keep of its candidates.

use ffslab_policy::{
    read_ahead_policies, write_back_policies, AgeUnit, CandidateTable, Candidates, Columns, DirtyFile, Entry, Pcg,
    ReadAheadPolicy, ReadAheadStream, ReadDemand, ReadWindow, Room, SpecError, VictimPolicy, Victims, WriteBackOrder,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

const PAGE_BYTES: u64 = 4096;

fn rule(text: &str) -> ReadAheadPolicy {
    ReadAheadPolicy::parse(text).unwrap().unwrap()
}

#[test]
fn names_are_read_as_they_are_written() {
    assert_eq!(ReadAheadPolicy::parse("kernel"), Ok(None));
    assert_eq!(WriteBackOrder::parse(" kernel "), Ok(None));
    assert_eq!(rule("fixed").text(), "fixed(128)");
    assert_eq!(rule("fixed(64)").text(), "fixed(64)");
    for order in write_back_policies() {
        assert_eq!(WriteBackOrder::parse(order.name).unwrap().unwrap().text(), order.name);
    }
    assert!(matches!(ReadAheadPolicy::parse("fixed(2)"), Err(SpecError::Parameter { least: 4, .. })));
    assert!(matches!(ReadAheadPolicy::parse("none(4)"), Err(SpecError::NoParameter { name: "none" })));
    let Err(SpecError::Unknown { known, .. }) = WriteBackOrder::parse("greedy") else {
        panic!("there is no such order")
    };
    assert_eq!(known[0], "kernel");
    assert!(read_ahead_policies().iter().chain(write_back_policies()).all(|one| !one.paper.is_empty()));
}

#[test]
fn what_is_asked_for_is_always_read() {
    for named in read_ahead_policies() {
        let (mut rule, mut stream) = (rule(named.name).make(), ReadAheadStream::default());
        let mut previous_page = None;
        for page in [0, 8, 16, 100, 108, 3, 11, 500_000] {
            let demand = ReadDemand { page, count: 8, is_marked: false, previous_page };
            let window = rule.window(&mut stream, demand, PAGE_BYTES);
            assert!(window.first_page == page && window.count >= 8, "{}: {window:?}", named.name);
            assert!(
                window.mark_page.is_none_or(|mark| (page + 8..page + window.count).contains(&mark)),
                "{}",
                named.name
            );
            previous_page = Some(page + 7);
        }
    }
}

#[test]
fn a_mark_of_somebody_else_is_behind_what_he_reads_ahead() {
    let (mut rule, mut stream) = (rule("tagged(16)").make(), ReadAheadStream::default());
    let at = |page, is_marked| ReadDemand { page, count: 1, is_marked, previous_page: None };
    let first = ReadWindow { first_page: 100, count: 5, mark_page: Some(101) };
    assert_eq!(rule.window(&mut stream, at(100, false), PAGE_BYTES), first);
    let next = ReadWindow { first_page: 105, count: 4, mark_page: Some(105) };
    assert_eq!(rule.window(&mut stream, at(101, true), PAGE_BYTES), next);
    let other = ReadWindow { first_page: 304, count: 4, mark_page: Some(304) };
    assert_eq!(rule.window(&mut stream, at(300, true), PAGE_BYTES), other);
}

#[test]
fn the_sweep_over_files_goes_on_and_around() {
    let mut order = WriteBackOrder::parse("inode-order").unwrap().unwrap().make();
    let files = || [7, 3, 5].into_iter().map(|ino| DirtyFile { ino, dirty_pages: 1, dirtied_ns: 0, written_ns: 0 });
    let mut swept = || order.choose(files(), 0);
    assert_eq!([swept(), swept(), swept(), swept()], [Some(3), Some(5), Some(7), Some(3)]);
    assert_eq!(order.choose(std::iter::empty(), 0), None);
    let mut first = WriteBackOrder::parse("largest-first").unwrap().unwrap().make();
    assert_eq!(first.choose(files(), 0), Some(7), "of equals the one that became dirty first");
}

/// Takes the first candidate, and keeps the columns of every second decision.
struct Keeps {
    kept: Rc<RefCell<Vec<Arc<Columns>>>>,
    asked: u32,
}

impl VictimPolicy for Keeps {
    fn name(&self) -> &str {
        "keeps"
    }

    fn choose(&mut self, candidates: &Candidates<'_>, _rng: &mut Pcg) -> Option<usize> {
        self.asked += 1;
        let columns = candidates.columns();
        assert_eq!(columns.invalid.as_ptr(), candidates.invalid.as_ptr(), "no copy");
        if self.asked.is_multiple_of(2) {
            self.kept.borrow_mut().push(columns);
        }
        Some(0)
    }
}

#[test]
fn what_a_policy_keeps_stays_as_it_was() {
    let kept = Rc::new(RefCell::new(Vec::new()));
    let table = CandidateTable::new(64, Room::Pages, AgeUnit::Writes).must_gain();
    let victims = Victims::new(Box::new(Keeps { kept: kept.clone(), asked: 0 }), 1, table);
    for decision in 1..=10 {
        let fill = |table: &mut CandidateTable| {
            for block in 0..20 + decision {
                table.push(Entry { block: block + decision, invalid: decision, ..Entry::default() });
            }
        };
        assert_eq!(victims.choose(fill), Ok(Some(decision)));
    }
    assert_eq!(kept.borrow().len(), 5);
    for (columns, decision) in kept.borrow().iter().zip((2..=10).step_by(2)) {
        assert_eq!(columns.block, (decision..20 + 2 * decision).collect::<Vec<u32>>());
        assert!(columns.invalid.iter().all(|invalid| *invalid == decision));
    }
}
