//! Measured cases that ship with the repository (`tests/measured`): what real systems did, counter by counter. They run
//! everywhere, so no change of a model goes unnoticed because a folder is missing.
//!
//! A counter must be the measured one, and a latency must be within 1 % of it. What is not is listed in
//! `tests/measured/misses.json` with the value that was simulated when it was listed: it may come nearer to the measured
//! one, but not go away from it, and what has become exact must leave the list.

use ffslab_validate::{validate, CaseReport, Pair, ValidateOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// By case and counter: the value that is simulated where the measured one is not met.
type Misses = BTreeMap<String, BTreeMap<String, f64>>;

/// Latencies are means over calls that differ by ticks of the measuring machine; a nearer agreement would be chance.
const LATENCY_TOLERANCE: f64 = 0.01;

/// A standard deviation may differ in its last digit between builds, as its sum is grouped.
const ROUNDING: f64 = 1.0 + 1e-9;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/measured")
}

fn latency(name: &str) -> String {
    format!("latency_us {name}")
}

/// Everything of a case that is compared, under the names of `misses.json`.
fn compared(case: &CaseReport) -> impl Iterator<Item = (String, Pair)> + '_ {
    let counters = case.counters.iter().map(|(name, pair)| (name.clone(), *pair));
    counters.chain(case.latency_us.iter().map(|(name, pair)| (latency(name), *pair)))
}

fn is_met(name: &str, pair: Pair) -> bool {
    let allowed = if name.starts_with("latency_us ") { LATENCY_TOLERANCE * pair.expected.abs() } else { 0.0 };
    (pair.simulated - pair.expected).abs() <= allowed
}

/// What contradicts the list, a line each; the list as it would be now.
fn judge(cases: &[CaseReport], listed: &Misses) -> (Vec<String>, Misses) {
    let mut wrong = Vec::new();
    let mut now = Misses::new();
    for case in cases {
        let id = &case.id;
        if let Some(error) = &case.error {
            wrong.push(format!("{id}: {error}"));
        }
        for (name, pair) in compared(case) {
            let known = listed.get(id).and_then(|row| row.get(&name));
            let Pair { expected, simulated } = pair;
            match (is_met(&name, pair), known) {
                (true, None) => continue,
                (true, Some(_)) => wrong.push(format!("{id}: {name} is met now: take it out of the list")),
                (false, None) => wrong.push(format!("{id}: {name} is {simulated} instead of {expected}")),
                (false, Some(&before)) if (simulated - expected).abs() > (before - expected).abs() * ROUNDING => {
                    wrong.push(format!("{id}: {name} is {simulated} instead of {expected}; it was {before}"));
                }
                (false, Some(_)) => {}
            }
            if !is_met(&name, pair) {
                now.entry(id.clone()).or_default().insert(name, simulated);
            }
        }
    }
    (wrong, now)
}

#[test]
fn what_real_systems_did_is_done_again() {
    let folder = folder();
    let listed: Misses = serde_json::from_slice(&std::fs::read(folder.join("misses.json")).unwrap()).unwrap();
    let mut cases = Vec::new();
    for file in
        ["linux-6.1.jsonl.gz", "linux-2.6.37.jsonl.gz", "reference.jsonl.gz", "yaffs2.jsonl.gz", "rtems.json.gz"]
    {
        cases.extend(validate(&folder.join(file), &ValidateOptions::default(), &|_| true).unwrap().cases);
    }
    assert!(cases.len() > 600, "{} cases", cases.len());
    let gone: Vec<&String> = listed.keys().filter(|id| !cases.iter().any(|case| case.id == **id)).collect();
    assert!(gone.is_empty(), "the list names cases that are not there: {gone:?}");
    let (wrong, now) = judge(&cases, &listed);
    // For whoever has changed a model on purpose and looks whether that is right.
    println!("the list as it would be now:\n{}", serde_json::to_string_pretty(&now).unwrap());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_judgement_refuses_what_went_away_and_what_was_left_behind() {
    let case = |simulated: f64| CaseReport {
        id: "a".into(),
        counters: [("erases".to_string(), Pair { expected: 10.0, simulated })].into(),
        ..CaseReport::default()
    };
    let listed = Misses::from([("a".to_string(), BTreeMap::from([("erases".to_string(), 12.0)]))]);
    let complaints = |simulated: f64, listed: &Misses| judge(&[case(simulated)], listed).0.len();
    assert_eq!([12.0, 11.0, 9.0].map(|value| complaints(value, &listed)), [0, 0, 0]);
    assert_eq!([13.0, 7.0, 10.0].map(|value| complaints(value, &listed)), [1, 1, 1]);
    assert_eq!([10.0, 11.0].map(|value| complaints(value, &Misses::new())), [0, 1]);
}
