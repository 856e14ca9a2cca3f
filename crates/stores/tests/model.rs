//! Random workloads: each store holds what a map in memory holds.

mod support;

use ffslab_fs::Errno;
use ffslab_sim::Purpose;
use ffslab_stores::causes::{COLLECTION, COMMIT, COMPACTION, DELETION, GET, ITERATE, MIGRATION, SEARCH, SET};
use ffslab_stores::sequential::SequentialCache::{KeyPointers, None as NoCache, PagePointers, PageStates};
use proptest::prelude::*;
use support::{held, iterated, key, sequential, value, Kind, Model};

const KEYS: usize = 12;

#[derive(Clone, Debug)]
enum Op {
    Set(usize, usize),
    Delete(usize),
    Get(usize),
    Remount,
}

fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => (0..KEYS, 0..300_usize).prop_map(|(key, bytes)| Op::Set(key, bytes)),
        2 => (0..KEYS).prop_map(Op::Delete),
        2 => (0..KEYS).prop_map(Op::Get),
        1 => Just(Op::Remount),
    ];
    proptest::collection::vec(op, 1..most)
}

fn agrees(kind: Kind, blocks: u32, ops: &[Op]) {
    let (medium, mut store) = kind.made(blocks);
    let mut model = Model::new();
    for (number, op) in ops.iter().enumerate() {
        match *op {
            Op::Set(name, bytes) => {
                let value = value(number, bytes);
                assert_eq!(store.set(&key(name), &value), Ok(()), "{number}: {op:?}");
                model.insert(key(name), value);
            }
            Op::Delete(name) => {
                let was = model.remove(&key(name));
                match store.delete(&key(name)) {
                    Ok(()) => {}
                    Err(Errno::NoEnt) => assert_eq!(was, None, "{number}: {op:?}"),
                    Err(error) => panic!("{number}: {op:?}: {error}"),
                }
            }
            Op::Get(name) => {
                let expected = model.get(&key(name)).cloned().ok_or(Errno::NoEnt);
                assert_eq!(store.get(&key(name)), expected, "{number}: {op:?}");
            }
            Op::Remount => store = kind.mount(&medium).expect("it was mounted before"),
        }
    }
    assert_eq!(held(&mut *store, KEYS).expect("all can be read"), model);
    if let Some(all) = iterated(&mut *store).expect("all can be read") {
        assert_eq!(all, model);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sequential_storage_holds_what_it_was_given(ops in ops(300)) {
        for (cache, word) in [(NoCache, 1), (PageStates, 4), (PagePointers, 1), (KeyPointers, 32)] {
            agrees(sequential(cache, word), 4, &ops);
        }
        agrees(Kind::Mapped(|| sequential(KeyPointers, 1)), 4, &ops);
    }

    #[test]
    fn ekv_holds_what_it_was_given(ops in ops(120)) {
        agrees(Kind::Ekv, 32, &ops);
        agrees(Kind::Mapped(|| Kind::Ekv), 32, &ops);
    }

    #[test]
    fn tickv_holds_what_it_was_given_while_no_region_fills_up(ops in ops(40)) {
        agrees(Kind::Tickv, 64, &ops);
        agrees(Kind::Mapped(|| Kind::Tickv), 64, &ops);
    }
}

/// What each reason of a workload that fills a small flash several times over has done: reads, programs, erases.
#[test]
fn each_operation_has_a_cause() {
    let of = |kind: Kind, blocks: u32| {
        let (medium, mut store) = kind.made(blocks);
        let before = medium.sim().total();
        for number in 0..600 {
            store.set(&key(number % KEYS), &value(number, 200)).expect("there is room");
            assert!(store.get(&key(number % KEYS)).is_ok());
        }
        let _ = iterated(&mut *store);
        let counts = [&SET, &GET, &ITERATE, &SEARCH, &DELETION, &COMMIT, &MIGRATION, &COMPACTION, &COLLECTION]
            .map(|reason| (reason.name, medium.sim().causes().of_reason(reason)));
        let all = medium.sim().total() - before;
        let explained = counts.iter().fold([0; 3], |sum, (_, count)| {
            [sum[0] + count.page_reads, sum[1] + count.page_programs, sum[2] + count.erases]
        });
        assert_eq!(explained, [all.page_reads, all.page_programs, all.erases], "{kind:?}");
        counts
    };
    let erases = |counts: &[(&str, ffslab_sim::OpCounts)], name: &str| {
        counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| count.erases)
    };
    let map = of(sequential(NoCache, 1), 4);
    assert!(erases(&map, "page migration") > 20 && erases(&map, "set") == 0);
    let tree = of(Kind::Ekv, 32);
    // Each transaction begins a page of its own.
    assert!(erases(&tree, "set") >= 600 && erases(&tree, "compaction") > 100 && erases(&tree, "commit") > 0);
    assert_eq!(SET.purpose, Purpose::Write);
}

/// A store that is full says so, keeps what it has, and takes new values when old ones are gone.
#[test]
fn a_full_store_keeps_what_it_has() {
    for (kind, blocks) in [(sequential(NoCache, 1), 4), (Kind::Ekv, 32), (Kind::Tickv, 4)] {
        let (medium, mut store) = kind.made(blocks);
        let mut model = Model::new();
        let stopped = (0..2_000).find_map(|number| match store.set(&key(number), &value(number, 500)) {
            Ok(()) => {
                model.insert(key(number), value(number, 500));
                None
            }
            Err(error) => Some((number, error)),
        });
        let (number, error) = stopped.expect("it fills up");
        assert_eq!(error, Errno::NoSpc, "{kind:?} after {number}");
        let capacity = medium.size_bytes() / 500;
        assert!((number as u64) < capacity && number > 5, "{kind:?}: {number} of {capacity}");
        assert_eq!(held(&mut *store, number).expect("all can be read"), model, "{kind:?}");
        let mut store = kind.mount(&medium).expect("a full store can be mounted");
        assert_eq!(held(&mut *store, number).expect("all can be read"), model, "{kind:?} after a mount");
    }
}

#[test]
fn what_a_store_cannot_hold_is_refused() {
    for kind in [sequential(NoCache, 1), Kind::Ekv, Kind::Tickv] {
        let (_, mut store) = kind.made(32);
        assert_eq!(store.set(b"k", &[0; 5_000]), Err(Errno::TooBig), "{kind:?}");
        assert_eq!(store.get(b"k"), Err(Errno::NoEnt), "{kind:?}");
        let (key, value) = (vec![b'k'; store.key_bytes_max()], vec![1; store.value_bytes_max()]);
        assert_eq!(store.set(&key, &value), Ok(()), "{kind:?}");
        assert_eq!(store.get(&key), Ok(value), "{kind:?}");
    }
}
