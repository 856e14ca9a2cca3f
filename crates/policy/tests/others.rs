//! Scores and rules of somebody else at the decisions that are not victims.

use ffslab_policy::{
    register_decider, unregister_decider, Answer, Decider, DirtyFile, EvictionSpec, FreePool, FreeSpec, Leveller,
    LevellingSpec, Question, ReadAheadPolicy, ReadAheadStream, ReadDemand, SpecError, StreamSpec, Wears,
    WriteBackOrder, DECISIONS, FREE, READ_AHEAD, STREAM,
};
use std::collections::HashSet;
use std::sync::Arc;

#[test]
fn decisions_say_what_they_show() {
    for decision in DECISIONS {
        let names: HashSet<&str> = decision.columns.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), decision.columns.len(), "{}", decision.key);
        assert!(!(decision.named)().is_empty(), "{}", decision.key);
    }
}

#[test]
fn mistakes_in_scores_are_told_with_the_columns_of_their_decision() {
    let error = FreeSpec::parse("erases + valid").unwrap_err().to_string();
    let known = "block, erases, waited, min, max, abs, sqrt, log, exp";
    assert_eq!(error, format!("`erases + valid`, character 10: unknown name `valid`; there are {known}"));
    assert!(matches!(FreeSpec::parse("least-wron"), Err(SpecError::Unknown { .. })));
    assert_eq!(FreeSpec::parse("-erases").unwrap().text(), "-erases");
    assert_eq!(FreeSpec::parse("-erases"), FreeSpec::parse("-erases"));
    assert_ne!(FreeSpec::parse("-erases"), FreeSpec::parse("erases"));
    assert_eq!(WriteBackOrder::parse("kernel"), Ok(None));
}

fn taken(rule: &str) -> Vec<u32> {
    let mut pool = FreePool::new(FreeSpec::parse(rule).unwrap(), 1);
    for (block, erases) in [(4, 10), (9, 3), (2, 7)] {
        pool.insert(block, erases);
    }
    std::iter::from_fn(|| pool.take()).collect()
}

#[test]
fn scores_of_free_blocks_say_what_named_rules_say() {
    assert_eq!(taken("-erases"), taken("least-worn"));
    assert_eq!(taken("waited"), taken("fifo"));
    assert_eq!(taken("-block"), taken("first"));
    assert_eq!(taken("erases * waited"), [4, 9, 2], "10 * 2, 3 * 1, 7 * 0; then 3 * 1, 7 * 0");
}

#[test]
fn a_score_above_0_levels_wear() {
    let chosen = |rule: &str, erases: &[u32]| {
        let mut leveller = Leveller::new(LevellingSpec::parse(rule).unwrap(), 1000, erases.len() as u32, 1);
        let closed = |block: u32| if block == 1 { Wears::Now } else { Wears::Closed };
        leveller.choose(erases, closed)
    };
    for erases in [[30, 1, 5, 9], [14, 1, 5, 9], [11, 9, 9, 9]] {
        assert_eq!(chosen("most - erases - 9", &erases), chosen("threshold(10)", &erases), "{erases:?}");
    }
    assert_eq!(chosen("most - erases - 9", &[30, 1, 5, 9]), Some(2), "block 1 has no data that can move");
    assert_eq!(chosen("mean - erases + 0 * least", &[4, 4, 4, 4]), None);
    let levelling = LevellingSpec::parse("endurance - erases").unwrap();
    assert!(levelling.moves_data() && levelling.lead_erases().is_none());
    assert_eq!(LevellingSpec::parse("dual-pool(7)").unwrap().lead_erases(), Some(7));
    assert_eq!(LevellingSpec::DYNAMIC.lead_erases(), None);
}

#[test]
fn a_score_is_the_number_of_pages_read_ahead() {
    let mut rule = ReadAheadPolicy::parse("sequential * min(max(2 * ahead, 4), 16)").unwrap().unwrap().make();
    let mut stream = ReadAheadStream::default();
    let mut read = |page, previous_page| {
        let demand = ReadDemand { page, count: 2, is_marked: false, previous_page };
        rule.window(&mut stream, demand, 4096).count
    };
    assert_eq!([read(0, None), read(6, Some(5)), read(16, Some(15)), read(34, Some(33))], [6, 10, 18, 18]);
    assert_eq!(read(100, Some(51)), 2);
    let mut endless = ReadAheadPolicy::parse("1 / 0").unwrap().unwrap().make();
    let demand = ReadDemand { page: 0, count: 1, is_marked: false, previous_page: None };
    assert_eq!(endless.window(&mut ReadAheadStream::default(), demand, 4096).count, 1 + 16_384, "64 MiB at most");
    let mut none = ReadAheadPolicy::parse("0 / 0").unwrap().unwrap().make();
    assert_eq!(none.window(&mut ReadAheadStream::default(), demand, 4096).count, 1);
}

#[test]
fn a_score_orders_write_back() {
    let files = || {
        [(7, 10, 5, 9), (3, 2, 1, 2), (5, 40, 8, 8)].into_iter().map(|(ino, dirty_pages, dirtied_s, written_s)| {
            DirtyFile { ino, dirty_pages, dirtied_ns: dirtied_s * 1_000_000_000, written_ns: written_s * 1_000_000_000 }
        })
    };
    let first = |score: &str| {
        let mut rule = WriteBackOrder::parse(score).unwrap().unwrap().make();
        rule.choose(files(), 10_000_000_000).unwrap()
    };
    assert_eq!(first("dirty_pages"), first("largest-first"));
    assert_eq!(first("idle_s"), first("least-recently-written"));
    assert_eq!(first("dirty_pages * idle_s"), 5, "10 * 1, 2 * 8, 40 * 2");
    assert_eq!(first("dirty_s - 4 * (ino - 5) ^ 2"), 5);
}

/// Gives its answers one after the other, and then fails.
struct Says(Vec<Result<Option<f64>, String>>);

impl Decider for Says {
    fn decide(&mut self, question: &Question<'_>) -> Result<Option<f64>, String> {
        assert!(question.rows > 0 && question.value(0, 0) >= 0.0);
        self.0.pop().unwrap_or_else(|| Err("no answer is left".into()))
    }
}

fn registered(decision: &'static ffslab_policy::Decision, name: &str, answers: &[Option<f64>]) {
    let answers: Vec<_> = answers.iter().rev().map(|answer| Ok(*answer)).collect();
    register_decider(decision, name, Arc::new(move || Box::new(Says(answers.clone())))).unwrap();
}

#[test]
fn answers_that_are_none_are_refused_and_the_layer_goes_on() {
    for (name, answers, why) in [
        ("far", vec![Some(1.0), Some(3.0)], "policy far: it answered 3; a position from 0 to 1 or None is needed"),
        ("half", vec![Some(0.5)], "policy half: it answered 0.5; a position from 0 to 2 or None is needed"),
        ("below", vec![Some(-1.0)], "policy below: it answered -1; a position from 0 to 2 or None is needed"),
        ("nan", vec![Some(f64::NAN)], "policy nan: it answered NaN; a position from 0 to 2 or None is needed"),
        ("silent", vec![None], "policy silent: no answer is left"),
    ] {
        registered(&FREE, name, &answers);
        let mut pool = FreePool::new(FreeSpec::parse(name).unwrap(), 1);
        while pool.refusal().is_none() {
            [(4, 10), (9, 3), (2, 7)].iter().for_each(|&(block, erases)| pool.insert(block, erases));
            (0..3).for_each(|_| assert!(pool.take().is_some(), "the own rule decides"));
        }
        assert_eq!(pool.refusal().unwrap().to_string(), why);
        unregister_decider(&FREE, name);
    }
}

#[test]
fn numbers_below_0_are_refused() {
    registered(&STREAM, "hot-then-wrong", &[Some(2.0), Some(0.0), Some(-2.0)]);
    let mut pages = StreamSpec::parse("hot-then-wrong").unwrap().make().unwrap();
    assert_eq!([pages.writes(1), pages.writes(1), pages.writes(1), pages.writes(1)], [true, false, false, false]);
    let why = "policy hot-then-wrong: it answered -2; a number from 0 on or None is needed";
    assert_eq!(pages.refusal().unwrap().to_string(), why);
    assert_eq!(STREAM.answer, Answer::Number);
}

#[test]
fn names_belong_to_one_decision_and_can_be_forgotten() {
    registered(&READ_AHEAD, "mine", &[Some(3.0)]);
    let policy = ReadAheadPolicy::parse("mine").unwrap().unwrap();
    assert!(matches!(EvictionSpec::parse("mine"), Err(SpecError::Unknown { .. })));
    let again = register_decider(&READ_AHEAD, "mine", Arc::new(|| Box::new(Says(Vec::new()))));
    assert_eq!(again, Err(SpecError::Taken { name: "mine".into() }));
    let named = register_decider(&READ_AHEAD, "tagged", Arc::new(|| Box::new(Says(Vec::new()))));
    assert_eq!(named, Err(SpecError::Taken { name: "tagged".into() }));
    for wrong in ["ahead", "Mine", "2nd", ""] {
        let registered = register_decider(&READ_AHEAD, wrong, Arc::new(|| Box::new(Says(Vec::new()))));
        assert_eq!(registered, Err(SpecError::NotAName { name: wrong.into() }));
    }
    let Err(SpecError::Unknown { known, .. }) = ReadAheadPolicy::parse("mime") else { panic!("there is no such rule") };
    assert!(known.contains(&"mine".into()) && known[0] == "kernel");
    unregister_decider(&READ_AHEAD, "mine");
    assert!(ReadAheadPolicy::parse("mine").is_err());
    let demand = ReadDemand { page: 0, count: 1, is_marked: false, previous_page: None };
    assert_eq!(policy.make().window(&mut ReadAheadStream::default(), demand, 4096).count, 4, "who has it keeps it");
}
