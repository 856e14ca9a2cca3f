//! The power goes away at each program and erase of a workload, before, in and after it: what was acknowledged is there.

mod support;

use ffslab_flash::Torn;
use ffslab_fs::{Errno, KeyValueStore};
use ffslab_mtd::Mtd;
use ffslab_stores::sequential::SequentialCache::{KeyPointers, None as NoCache};
use support::{key, sequential, value, Kind, Model};

const KEYS: usize = 6;

/// The change of this number: a key, and its new value; `None`: it goes.
fn change(number: usize) -> (Vec<u8>, Option<Vec<u8>>) {
    let name = key(number * 5 % KEYS);
    match number % 9 {
        8 => (name, None),
        _ => (name, Some(value(number, 90 + number * 37 % 400))),
    }
}

fn make(store: &mut dyn KeyValueStore, number: usize) -> Result<(), Errno> {
    match change(number) {
        (key, Some(value)) => store.set(&key, &value),
        (key, None) => match store.delete(&key) {
            Err(Errno::NoEnt) => Ok(()),
            done => done,
        },
    }
}

fn after(model: &Model, number: usize) -> Model {
    let mut after = model.clone();
    match change(number) {
        (key, Some(value)) => after.insert(key, value),
        (key, None) => after.remove(&key),
    };
    after
}

/// What was found after the cuts.
#[derive(Debug, Default)]
struct Found {
    cuts: u32,
    /// All that was acknowledged is there, and the change under way is there or not.
    kept: u32,
    /// The key of the change under way has neither its old nor its new value.
    key_gone: u32,
    /// It cannot be read.
    key_unreadable: u32,
    /// What else went wrong: another key, or a later change.
    lost: Vec<String>,
}

impl Found {
    fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.key_gone == 0 && self.key_unreadable == 0
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Found { cuts, kept, key_gone, key_unreadable, lost } = self;
        let first: Vec<&String> = lost.iter().take(12).collect();
        write!(
            f,
            "{cuts} cuts: {kept} kept, key gone {key_gone}, unreadable {key_unreadable}, {} lost: {first:#?}",
            lost.len()
        )
    }
}

/// Runs the workload up to a cut; the model before the change under way, and its number.
fn run(store: &mut dyn KeyValueStore, changes: usize) -> (Model, Option<usize>) {
    let mut model = Model::new();
    for number in 0..changes {
        match make(store, number) {
            Ok(()) => model = after(&model, number),
            Err(Errno::PowerCut) => return (model, Some(number)),
            Err(error) => panic!("change {number}: {error}"),
        }
    }
    (model, None)
}

/// Looks at what is there after a cut in the change `number`, and goes on.
fn look(found: &mut Found, kind: Kind, medium: &Mtd, (model, number): (&Model, usize), at: &str) {
    found.cuts += 1;
    let mut store = match kind.mount(medium) {
        Ok(store) => store,
        Err(error) => return found.lost.push(format!("{at}: mount: {error}")),
    };
    let under_way = change(number).0;
    let next = after(model, number);
    let seen = store.get(&under_way);
    let of = |model: &Model| model.get(&under_way).cloned().ok_or(Errno::NoEnt);
    match seen {
        ref seen if *seen == of(model) || *seen == of(&next) => found.kept += 1,
        Err(Errno::NoEnt) => found.key_gone += 1,
        _ => found.key_unreadable += 1,
    }
    for other in (0..KEYS).map(key).filter(|key| *key != under_way) {
        if store.get(&other) != model.get(&other).cloned().ok_or(Errno::NoEnt) {
            found.lost.push(format!("{at}: {}", String::from_utf8_lossy(&other)));
        }
    }
    for further in 0..24 {
        if let Err(error) = make(&mut *store, number + further) {
            return found.lost.push(format!("{at}: change {further} after it: {error}"));
        }
    }
}

/// `torn`: what a cut may leave of the operation that it hits.
fn cut_everywhere(kind: Kind, blocks: u32, changes: usize, torn: fn(u64) -> Vec<Torn>) -> Found {
    let mut found = Found::default();
    let (medium, mut store) = kind.made(blocks);
    let before = medium.modifying_operations();
    assert_eq!(run(&mut *store, changes).1, None);
    let operations = medium.modifying_operations() - before;
    for at in 1..=operations {
        for torn in torn(at) {
            let (medium, mut store) = kind.made(blocks);
            medium.cut_power_after(at, torn);
            let (model, stopped) = run(&mut *store, changes);
            // A cut after the last operation of the workload hits nobody.
            let Some(number) = stopped else { continue };
            drop(store);
            medium.restart();
            let at = format!("cut {at} {torn:?} in change {number}");
            look(&mut found, kind, &medium, (&model, number), &at);
        }
    }
    found
}

fn any(seed: u64) -> Vec<Torn> {
    vec![Torn::Nothing, Torn::Partial { seed }, Torn::Complete]
}

#[test]
fn sequential_storage_keeps_what_was_acknowledged() {
    for (cache, word) in [(NoCache, 1), (KeyPointers, 4)] {
        let found = cut_everywhere(sequential(cache, word), 4, 60, any);
        assert!(found.is_clean() && found.cuts > 300, "{found}");
    }
}

#[test]
fn ekv_keeps_what_was_acknowledged_if_programs_are_whole() {
    let found = cut_everywhere(Kind::Ekv, 16, 20, |_| vec![Torn::Nothing, Torn::Complete]);
    assert!(found.is_clean() && found.cuts > 200, "{found}");
}

/// ekv 1.0 finds its list of files by the headers of pages. A header of which only some bytes have arrived ends its mount.
#[test]
fn ekv_may_not_mount_behind_a_torn_program() {
    let found = cut_everywhere(Kind::Ekv, 16, 20, |seed| vec![Torn::Partial { seed }]);
    assert!(!found.lost.is_empty() && found.lost.len() < found.cuts as usize / 10, "{found}");
    assert!(found.lost.iter().all(|lost| lost.contains("could be mounted")), "{found}");
}

/// The head of an entry in ekv's list has 8 bytes. Where it reaches over the end of a page of the chip it is two programs, and
/// between them its check sum is missing: a mount takes the list for a corrupted one.
#[test]
fn ekv_may_not_mount_between_two_programs_of_an_entry_head() {
    let found = cut_everywhere(Kind::Ekv, 16, 90, |_| vec![Torn::Nothing]);
    println!("{found}");
    assert!(found.lost.iter().any(|lost| lost.contains("could be mounted")), "{found}");
}

/// ekv 1.0 begins a full list of files anew in another page, and writes that page's header before it marks the list as whole
/// (`Transaction::commit` of its `file.rs`). A cut between these two programs, of which each is whole, leaves the newest list
/// empty, and a mount believes it.
#[test]
fn ekv_loses_all_keys_at_one_cut_of_a_full_list_of_files() {
    // The list is full for the first time in this one.
    const LAST: usize = 35;
    let set = |store: &mut dyn KeyValueStore, number: usize| store.set(&key(number % 2), &value(number, 8));
    let before_last = || {
        let (medium, mut store) = Kind::Ekv.made(16);
        (0..LAST).for_each(|number| set(&mut *store, number).unwrap());
        (medium, store)
    };
    let (medium, mut store) = before_last();
    let before = medium.modifying_operations();
    set(&mut *store, LAST).unwrap();
    let all_gone = (1..=medium.modifying_operations() - before).filter(|&at| {
        let (medium, mut store) = before_last();
        medium.cut_power_after(at, Torn::Nothing);
        assert_eq!(set(&mut *store, LAST), Err(Errno::PowerCut));
        drop(store);
        medium.restart();
        let mut store = Kind::Ekv.mount(&medium).unwrap();
        (0..2).all(|number| store.get(&key(number)) == Err(Errno::NoEnt))
    });
    assert_eq!(all_gone.count(), 1);
}

/// TicKV marks the old value before it writes the new one, and demands that a write happens as a whole or not at all, which flash does
/// not: what a cut tears is there and cannot be read, until it is set again.
#[test]
fn tickv_may_lose_the_key_that_is_set() {
    let found = cut_everywhere(Kind::Tickv, 16, 40, any);
    println!("{found}");
    assert!(found.key_gone > 0 && found.key_unreadable > 0, "{found}");
}

/// A sector of a page map is written as a whole or not at all, so that no program is torn there; one that reaches over the end of a sector is two.
#[test]
fn on_a_page_map_what_was_acknowledged_is_kept() {
    let map = || sequential(NoCache, 1);
    for (kind, blocks, changes) in [(Kind::Mapped(map), 4, 40), (Kind::Mapped(|| Kind::Ekv), 16, 12)] {
        let found = cut_everywhere(kind, blocks, changes, any);
        println!("{found}");
        assert!(found.is_clean() && found.cuts > 200, "{found}");
    }
    let found = cut_everywhere(Kind::Mapped(|| Kind::Tickv), 16, 40, any);
    println!("{found}");
    assert!(found.lost.is_empty() && found.key_gone > 0, "{found}");
}
