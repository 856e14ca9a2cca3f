//! Deliberate defects of file systems and translation layers: each is found, and none is reported where there is none.
//!
//! A defect is seeded for the whole process, so one test does all of them, one after the other.

use ffslab_crashtest::{Asked, Found, Point, Recording, Taken, Watched};
use ffslab_flash::Torn;
use ffslab_sim::Fault;
use ffslab_workload::Step;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;

/// Of a recording's operations so many are cut at most; a defect is mostly found by the first few.
const CUT_OPERATIONS: u64 = 96;
/// What only a second mount shows: the first one hides it.
static SHOWN_BY_SECOND_MOUNT: [&Fault; 1] = [&ffslab_ubifs::faults::SIZE_RECOVERED_IN_MEMORY];
/// Parts in which the cuts are made, so that the search may end early. A power of two.
const ROUNDS: u64 = 8;

#[derive(Deserialize)]
struct File {
    workloads: HashMap<String, Vec<Step>>,
    subjects: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    name: String,
    /// What is made before, and not cut.
    setup: Option<String>,
    workload: String,
    stack: toml::Table,
}

impl Subject {
    fn recorded(&self, workloads: &HashMap<String, Vec<Step>>) -> Result<Recording, String> {
        let text = |error: &dyn std::fmt::Display| format!("{}: {error}", self.name);
        let mut watched = Watched::new(self.stack.clone(), 1, Path::new(".")).map_err(|error| text(&error))?;
        watched.session.system_mut().mount(&[]).map_err(|error| text(&error))?;
        for step in self.setup.iter().flat_map(|setup| &workloads[setup]) {
            watched.session.run_step(step).map_err(|error| text(&error))?;
        }
        watched.session.system_mut().sleep_ns(10_000_000_000);
        watched.begin(Vec::new()).map_err(|error| text(&error))?;
        if !watched.session.system().is_mounted() {
            watched.session.system_mut().mount(&[]).map_err(|error| text(&error))?;
        }
        for step in &workloads[&self.workload] {
            watched.session.run_step(step).map_err(|error| text(&error))?;
        }
        watched.end().map_err(|error| text(&error))
    }
}

/// The first thing that is wrong, whoever is to blame, and how many cuts that took; `Err`: none, after so many.
/// `second_mount`: after each cut it is mounted a second time, too.
fn first_failure(recording: &Recording, second_mount: bool) -> Result<(String, usize), usize> {
    let operations = recording.operations();
    let cut = operations.min(CUT_OPERATIONS);
    let mut made = 0;
    for round in 0..ROUNDS {
        let numbers = (0..cut).filter(|number| number % ROUNDS == round);
        let at = numbers.map(|number| 1 + number * operations / cut);
        let points = at.flat_map(|operation_number| {
            let torn = Torn::Partial { seed: operation_number };
            [Torn::Nothing, torn].map(|torn| Point { operation_number, taken: Taken::Operation(torn) })
        });
        // And after the last one, where all that only waits is lost.
        let at_end = Point { operation_number: operations + 1, taken: Taken::Operation(Torn::Nothing) };
        let points = points.chain((round == 0).then_some(at_end)).collect();
        let asked = Asked { points, recovery_cuts: 0, depth: 0, second_mount, jobs: 2 };
        made += asked.points.len();
        let judged = recording.judge(&asked, None, &|_| true).unwrap_or_default();
        let wrong = judged.findings.into_iter().find(|finding| finding.found != Found::Refused);
        if let Some(finding) = wrong {
            return Ok((finding.says, made));
        }
    }
    Err(made)
}

fn faults() -> Vec<(&'static [&'static str], &'static Fault)> {
    let of = |subjects: &'static [&'static str], faults: &'static [&'static Fault]| {
        faults.iter().map(move |&fault| (subjects, fault))
    };
    of(&["jffs2", "jffs2 on NOR", "jffs2 of RTEMS"], &ffslab_jffs2::faults::ALL)
        .chain(of(&["yaffs2"], &ffslab_yaffs2::faults::ALL))
        .chain(of(&["ubifs"], &ffslab_ubifs::faults::ALL))
        .chain(of(&["fast", "bplru"], &ffslab_ftl::faults::ALL))
        .chain(of(&["dosfs", "rfs", "dosfs, appended", "rfs, appended"], &ffslab_rtems::faults::ALL))
        .collect()
}

#[test]
fn each_deliberate_defect_is_found_and_nothing_else() {
    let file: File = toml::from_str(include_str!("seeded_faults.toml")).expect("the workloads are sound");
    let mut wrong = Vec::new();
    for subject in &file.subjects {
        match subject.recorded(&file.workloads).map(|recording| first_failure(&recording, true)) {
            Err(error) => wrong.push(error),
            Ok(Ok((says, _))) => wrong.push(format!("{}: blamed without a defect: {says}", subject.name)),
            Ok(Err(cuts)) => println!("{}: {cuts} cuts: nothing", subject.name),
        }
    }
    for (subjects, fault) in faults() {
        fault.seed(true);
        let first = |second_mount| {
            file.subjects.iter().filter(|subject| subjects.contains(&subject.name.as_str())).find_map(|subject| {
                let recording = subject.recorded(&file.workloads).ok()?;
                let (says, cuts) = first_failure(&recording, second_mount).ok()?;
                Some(format!("{} ({cuts} cuts): {says}", subject.name))
            })
        };
        let needs_second_mount = SHOWN_BY_SECOND_MOUNT.iter().any(|&shown| std::ptr::eq(shown, fault));
        let found = first(needs_second_mount);
        if needs_second_mount {
            wrong.extend(first(false).map(|says| format!("no second mount was needed: {}: {says}", fault.what)));
        }
        fault.seed(false);
        match found {
            Some(says) => println!("{}: {says}", fault.what),
            None => wrong.push(format!("not found: {}", fault.what)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
