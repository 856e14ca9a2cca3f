//! Power cuts during the k-th program or erase, for every k.

use crate::call::{Answer, Call, How};
use crate::content::Random;
use crate::history::{History, Latitude};
use crate::rig::{Machine, Rig};
use crate::tree::Tree;
use crate::workloads::{Workload, ALL};
use crate::{Failure, Subject};
use ffslab_flash::Torn;
use ffslab_fs::FileKind;
use ffslab_mtd::MediumImage;
use ffslab_system::Calls;

#[derive(Clone, Debug)]
pub struct Options {
    /// How many cuts are made for each workload and each kind of torn operation. Workloads with more operations are
    /// sampled evenly.
    pub points_max: u64,
    /// How many cuts are made for all workloads together, at least: where they have fewer operations, each operation that is cut
    /// in its middle is torn in as many ways as that takes.
    pub points_least: u64,
    /// Whether the power is cut a second time, while the file system recovers and continues to work.
    pub cut_recovery: bool,
    /// Only the workload of this name.
    pub only: Option<&'static str>,
    pub machine: Machine,
}

impl Default for Options {
    fn default() -> Self {
        Options { points_max: 60, points_least: 0, cut_recovery: true, only: None, machine: Machine::USUAL }
    }
}

/// The number of cuts that were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub workloads: Vec<WorkloadReport>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadReport {
    pub name: &'static str,
    /// Programs and erases of the workload without a cut.
    pub modifying_operations: u64,
    pub cut_points: u64,
    /// Second cuts, which happened during the recovery or the work after it.
    pub cuts_of_recovery: u64,
    /// Cuts before anything was durable, after which the mount was refused; see
    /// [`Subject::may_refuse_unfinished_format`].
    pub refused: u64,
}

impl Report {
    pub fn cut_points(&self) -> u64 {
        self.workloads.iter().map(|workload| workload.cut_points).sum()
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for WorkloadReport { name, modifying_operations, cut_points, cuts_of_recovery, refused } in &self.workloads {
            writeln!(
                f,
                "{name}: {modifying_operations} programs and erases, cut {cut_points} times, and {cuts_of_recovery} times again; \
                 {refused} mounts refused with nothing safe yet"
            )?;
        }
        Ok(())
    }
}

/// Cuts the power in each workload at each sampled operation. After each cut the file system is mounted, compared with
/// the model, and used further.
///
/// # Errors
/// The first cut after which durable data are missing, foreign data are found, or the file system cannot be used
/// further.
pub fn check(subject: &dyn Subject, options: &Options) -> Result<Report, Failure> {
    let mut report = Report::default();
    let features = subject.features();
    let wanted = |workload: &&Workload| {
        features.include(workload.needs) && options.only.is_none_or(|only| only == workload.name)
    };
    let place = |workload: &Workload| format!("{}, workload \"{}\"", subject.name(), workload.name);
    let mut recorded = Vec::new();
    for workload in ALL.iter().filter(wanted) {
        let ready =
            record(subject, workload, options.machine).and_then(|recording| Ok((recording.run_uncut()?, recording)));
        let (operations, recording) = ready.map_err(|failure| failure.at(place(workload)))?;
        recorded.push((workload, operations, recording));
    }
    let points = |operations: u64| operations.min(options.points_max.max(1));
    let all_points: u64 = recorded.iter().map(|&(_, operations, _)| points(operations)).sum();
    // Two more cuts at each point are those beside the operation, before it and after it.
    let tears = options.points_least.div_ceil(all_points.max(1)).saturating_sub(2).max(1);
    for (workload, operations, recording) in recorded {
        let done = cut_all(workload.name, &recording, operations, (points(operations), tears), options.cut_recovery);
        report.workloads.push(done.map_err(|failure| failure.at(place(workload)))?);
    }
    if report.workloads.is_empty() {
        return Err(Failure::new(format!("there is no workload {:?}", options.only)));
    }
    Ok(report)
}

/// Runs the workload of this name, cuts the power after `percent` of its programs and erases, and mounts again.
/// `at_cut` is called with the machine without power, `recovered` with the mounted file system, unless the mount was
/// refused.
///
/// # Errors
/// Those of [`check`].
pub fn show(
    subject: &dyn Subject,
    name: &'static str,
    percent: u64,
    torn: Torn,
    at_cut: impl FnOnce(&Rig<'_>) -> Result<(), Failure>,
    recovered: impl FnOnce(&mut Rig<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let workload = ALL.iter().find(|workload| workload.name == name);
    let workload = workload.ok_or_else(|| Failure::new(format!("there is no workload \"{name}\"")))?;
    let recording = record(subject, workload, Machine::USUAL)?;
    let operations = recording.run_uncut()?;
    let (mut rig, history) = recording.run_until((operations * percent / 100).max(1), torn)?;
    at_cut(&rig)?;
    match recover(&mut rig, &history, None, &mut Again::default())? {
        Some(_) => recovered(&mut rig),
        None => Ok(()),
    }
}

/// A workload, ready to be run again and again.
struct Recording<'a> {
    subject: &'a dyn Subject,
    machine: Machine,
    start: MediumImage,
    history: History,
    calls: Vec<Call>,
}

/// Cuts at `points` of the `modifying_operations` of a workload: before and after the operation, and in it, torn in `tears` ways.
fn cut_all(
    name: &'static str,
    recording: &Recording,
    modifying_operations: u64,
    (points, tears): (u64, u64),
    cut_recovery: bool,
) -> Result<WorkloadReport, Failure> {
    let mut report = WorkloadReport { name, modifying_operations, ..WorkloadReport::default() };
    for point in 0..points {
        // The cuts are evenly spread; every operation is cut if there are no more points than that.
        let k = 1 + point * modifying_operations / points;
        let partial = (0..tears).map(|way| Torn::Partial { seed: k + way * modifying_operations });
        for (way, torn) in [Torn::Nothing].into_iter().chain(partial).chain([Torn::Complete]).enumerate() {
            // The second cut goes elsewhere with each way of tearing but the first.
            let further = (way as u64).saturating_sub(1) * u64::from(tears > 1);
            let second = cut_recovery.then_some(1 + (k + further) * 7 % 23);
            let again = recording.cut(k, torn, second).map_err(|failure| {
                failure.at(format!("power cut at program or erase {k} of {modifying_operations} ({torn:?})"))
            })?;
            report.cut_points += 1;
            report.cuts_of_recovery += again.cuts;
            report.refused += u64::from(again.refused);
        }
    }
    Ok(report)
}

fn record<'a>(subject: &'a dyn Subject, workload: &Workload, machine: Machine) -> Result<Recording<'a>, Failure> {
    let mut rig = Rig::new(subject, machine)?;
    let erased = rig.snapshot();
    rig.mount()?;
    if let Some(setup) = workload.setup {
        setup(&mut rig).map_err(|failure| failure.at("setup"))?;
    }
    let tree = Tree::read(&mut rig)?;
    let history = History::of_tree(&tree, rig.limits());
    rig.umount().map_err(Failure::of)?;
    let start = if workload.setup.is_some() { rig.snapshot() } else { erased };
    Ok(Recording { subject, machine, start, history, calls: (workload.calls)(subject.geometry().size_bytes()) })
}

/// The results after the first cut.
#[derive(Default)]
struct Again {
    /// Further cuts.
    cuts: u64,
    refused: bool,
}

/// The end of a run of calls.
enum Ended {
    /// All done and unmounted.
    Well,
    /// The power was cut.
    Dark,
}

impl Recording<'_> {
    /// Number of programs and erases from mount to unmount.
    fn run_uncut(&self) -> Result<u64, Failure> {
        let mut rig = Rig::with_image(self.subject, self.machine, &self.start)?;
        let before = rig.modifying_operations();
        rig.mount()?;
        let mut history = self.history.clone();
        match run(&mut rig, &mut history, &self.calls)? {
            Ended::Well => {}
            Ended::Dark => return Err(Failure::new("a call reported a power cut, and there was none")),
        }
        rig.umount().map_err(Failure::of)?;
        Ok(rig.modifying_operations() - before)
    }

    fn cut(&self, k: u64, torn: Torn, second: Option<u64>) -> Result<Again, Failure> {
        let (mut rig, history) = self.run_until(k, torn)?;
        let mut again = Again::default();
        let tree = recover(&mut rig, &history, second, &mut again).map_err(|failure| failure.at("after the cut"))?;
        let Some(tree) = tree else { return Ok(again) };
        work_on(&mut rig, (&tree, &history), second.map(|second| second + 3), &mut again)
            .map_err(|failure| failure.at("going on after the cut"))?;
        Ok(again)
    }

    /// Runs the calls until the power is cut during program or erase `k`. The power is off afterwards.
    fn run_until(&self, k: u64, torn: Torn) -> Result<(Rig<'_>, History), Failure> {
        let mut rig = Rig::with_image(self.subject, self.machine, &self.start)?;
        let mut history = self.history.clone();
        rig.mtd.cut_power_after(k, torn);
        match rig.mount() {
            Ok(()) => {
                if let Ended::Well = run(&mut rig, &mut history, &self.calls)? {
                    // The cut happens during the unmount, or after it.
                    let _ = rig.umount();
                }
            }
            Err(_) if !is_on(&rig) => {}
            Err(failure) => return Err(failure),
        }
        if is_on(&rig) {
            return Err(Failure::new("the run is not the same twice: this time it ended before the cut"));
        }
        Ok((rig, history))
    }
}

fn is_on(rig: &Rig) -> bool {
    rig.mtd.is_on()
}

/// Runs calls and records them in the history.
fn run(rig: &mut Rig, history: &mut History, calls: &[Call]) -> Result<Ended, Failure> {
    for (number, call) in calls.iter().enumerate() {
        let expected = history.begin(call);
        let found = match rig.call(call) {
            Ok(found) => found,
            Err(_) if !is_on(rig) => return Ok(Ended::Dark),
            Err(failure) => return Err(failure.at(format!("call {number}, {call:?}"))),
        };
        if !is_on(rig) {
            return Ok(Ended::Dark);
        }
        let agree = match (&expected, &found) {
            // Results such as sizes of directories are compared elsewhere; here every call must succeed completely.
            (Ok(Answer::Number(all)), Ok(Answer::Number(count))) => all == count,
            (expected, found) => expected.is_ok() && found.is_ok(),
        };
        if !agree {
            let texts = (crate::call::describe(&expected), crate::call::describe(&found));
            return Err(Failure::new(format!("call {number}, {call:?}: expected {}, got {}", texts.0, texts.1)));
        }
        history.succeeded(call);
    }
    Ok(Ended::Well)
}

/// Switches the chip on, mounts and compares. With `second` the power is cut once more, at that operation. `None`: the
/// mount was refused, and that is allowed.
fn recover(rig: &mut Rig, history: &History, second: Option<u64>, again: &mut Again) -> Result<Option<Tree>, Failure> {
    let mut second = second;
    loop {
        rig.power_cycle();
        if let Some(operations) = second.take() {
            rig.mtd.cut_power_after(operations, Torn::Partial { seed: operations });
        }
        let mount = rig.mount();
        let mounted = mount.is_ok();
        let found = match mount {
            Ok(()) => {
                // Background work of the mount gets time to run.
                rig.vfs.sleep_ns(100_000_000);
                Tree::read(rig)
            }
            Err(failure) => Err(failure),
        };
        if !is_on(rig) {
            again.cuts += 1;
            continue;
        }
        rig.mtd.restart();
        if !mounted && history.nothing_is_safe() && rig.subject.may_refuse_unfinished_format() {
            again.refused = true;
            return Ok(None);
        }
        let tree = found?;
        history.explains(&tree, Latitude::of(rig.subject))?;
        return Ok(Some(tree));
    }
}

/// Uses the file system further, with another cut if `second` is given. The state at the end must be exactly that of
/// the model.
fn work_on(
    rig: &mut Rig,
    (tree, before): (&Tree, &History),
    second: Option<u64>,
    again: &mut Again,
) -> Result<(), Failure> {
    let mut history = before.continued(tree, rig.limits());
    make_room(rig, &mut history, tree)?;
    if let Some(operations) = second {
        rig.mtd.cut_power_after(operations, Torn::Partial { seed: operations });
        let ended = run(rig, &mut history, &further_work("again"))?;
        if let Ended::Dark = ended {
            again.cuts += 1;
            let tree = recover(rig, &history, None, again).map_err(|failure| failure.at("after a further cut"))?;
            let Some(tree) = tree else { return Ok(()) };
            history = history.continued(&tree, rig.limits());
        }
        rig.mtd.restart();
    }
    match run(rig, &mut history, &further_work("after"))? {
        Ended::Well => {}
        Ended::Dark => return Err(Failure::new("a call reported a power cut, and there was none")),
    }
    let found = Tree::read(rig)?;
    if rig.subject.older_xattrs_may_return() {
        history.model.adopt_older_xattrs(&found);
    }
    let mut expected = Tree::of(&history.model);
    if rig.subject.older_data_may_return() {
        expected.forgive_zeros(&found);
    }
    match expected.difference(&found) {
        Some(difference) => Err(Failure::new(difference)),
        None => Ok(()),
    }
}

/// On a nearly full partition, deletes a large file first.
fn make_room(rig: &mut Rig, history: &mut History, tree: &Tree) -> Result<(), Failure> {
    if rig.free_percent().map_err(Failure::of)? >= 15 {
        return Ok(());
    }
    let files = tree.0.iter().filter(|(_, entry)| entry.attributes.kind == FileKind::File);
    let Some((path, _)) = files.max_by_key(|(_, entry)| entry.content.len()) else { return Ok(()) };
    let path = String::from_utf8_lossy(path).into_owned();
    match run(rig, history, &[Call::Unlink { path }, Call::Sync])? {
        Ended::Well => Ok(()),
        Ended::Dark => Err(Failure::new("a call reported a power cut, and there was none")),
    }
}

fn further_work(name: &str) -> Vec<Call> {
    let mut random = Random(name.len() as u64);
    let mut calls = vec![Call::Mkdir { path: format!("{name}.d"), permissions: 0o755 }];
    calls.push(Call::Open { slot: 0, path: name.to_string(), how: How::CREATE });
    for seed in 0..6 {
        let (at, bytes) = (random.below(12_000), 1 + random.below(5_000) as usize);
        calls.push(Call::Pwrite { slot: 0, at, bytes, seed: 40 + seed });
        if seed % 2 == 0 {
            calls.push(Call::Fsync { slot: 0 });
        }
    }
    calls.push(Call::FsyncDirectory { path: "/".to_string() });
    calls.push(Call::Close { slot: 0 });
    calls.push(Call::Rename { from: name.to_string(), to: format!("{name}.d/f") });
    calls.push(Call::Sync);
    calls.push(Call::Remount);
    calls
}
