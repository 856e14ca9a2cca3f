//! Every power cut of a recording: media that are equal once, each mounted, its files judged for each instant that leaves it.

use crate::ledger::Ledger;
use crate::log::Effect;
use crate::recording::Recording;
use crate::recover::{recover, Recovered, SecondMount};
use crate::tree::{self, Tree};
use ffslab_flash::Torn;
use ffslab_machine::spec::State;
use ffslab_mtd::{MediumImage, Modifications};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a power cut takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// What was under way in the flash.
    Operation(Torn),
    /// What a device had in its write cache, but for a subset that the seed chooses: a multiple of 64 only the last write. Of a block
    /// device that a program drives alone.
    Cache { seed: u64 },
}

/// A power cut: which operation it hits, from 1 (one more than there are: after the last), and what is left of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub operation_number: u64,
    pub taken: Taken,
}

impl Point {
    /// What is left of the operation itself.
    pub fn torn(&self) -> Torn {
        match self.taken {
            Taken::Operation(torn) => torn,
            Taken::Cache { .. } => Torn::Nothing,
        }
    }
}

/// What is to be looked at.
#[derive(Clone, Debug)]
pub struct Asked {
    /// In the order of their operations.
    pub points: Vec<Point>,
    /// How many further cuts are made while a mount after a cut recovers, and as many in the unmount and second mount, spread
    /// evenly over the operations of each; 0: none.
    pub recovery_cuts: u64,
    /// How often the recovery from a cut is cut again.
    pub depth: u32,
    /// Unmount and mount again after each recovery: the same files must be there.
    pub second_mount: bool,
    /// Threads; the result does not depend on it.
    pub jobs: usize,
}

/// What was wrong after a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// The file system broke what it promises.
    FileSystem,
    /// The file system kept its promises, and the application's judge does not agree with what is there.
    Application,
    /// Lost or damaged although synced, by a file system that promises nothing.
    NotPromised,
    /// The same, and the judge of the test agrees with what is there: the application does without it.
    Tolerated,
    /// The mount was refused before anything was safe, which the file system may do.
    Refused,
}

/// A cut after which something was wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Position in the list of points.
    #[serde(rename = "point")]
    pub point_index: usize,
    pub found: Found,
    pub says: String,
    /// Operations of the recoveries that were cut, too, one of each: "1 of 7".
    pub recoveries_cut: Vec<String>,
}

/// What was found at all points.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Judged {
    pub points: usize,
    /// Media that differ.
    #[serde(rename = "states")]
    pub states_count: usize,
    /// Mounts after cuts, second ones of the same medium not counted.
    #[serde(rename = "recoveries")]
    pub recoveries_count: usize,
    /// Cuts of recoveries.
    pub cuts_of_recoveries: usize,
    /// Cuts of the unmounts and second mounts after them.
    pub cuts_of_second_mounts: usize,
    pub findings: Vec<Finding>,
    /// Known faults of the simulated system that second mounts met of which something is wrong.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub faults_met: BTreeSet<&'static str>,
}

/// An instant at which an application is judged.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The operation that was cut.
    pub operation_number: u64,
    /// How many things the application had told.
    pub told_count: usize,
}

/// Somebody does not want to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// An application's own judge: what is wrong, in a line; `None`: nothing.
pub type JudgeFiles<'a> = dyn Fn(&Tree, &Moment) -> Result<Option<String>, Stopped> + Sync + 'a;

/// Points that leave the same medium.
struct Group {
    point: Point,
    members: Vec<usize>,
}

impl Recording {
    /// Judges the points. `progress` gets the share that is done, and says whether to go on.
    ///
    /// Errors: `progress` or the judge has stopped it.
    pub fn judge(
        &self,
        asked: &Asked,
        files: Option<&JudgeFiles>,
        progress: &(dyn Fn(f64) -> bool + Sync),
    ) -> Result<Judged, Stopped> {
        let groups = self.groups(&asked.points, progress)?;
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let all = Mutex::new(Judged { points: asked.points.len(), states_count: groups.len(), ..Judged::default() });
        let work = || {
            let mut worker = Worker::new(self, asked, files);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(group) = groups.get(number).filter(|_| !stop.load(Ordering::Relaxed)) else { break };
                let done = worker.group(group);
                if done.is_err() || !progress(number as f64 / groups.len() as f64) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.recoveries_count += worker.recoveries;
            all.cuts_of_recoveries += worker.cuts_of_recoveries;
            all.cuts_of_second_mounts += worker.cuts_of_second_mounts;
            all.findings.append(&mut worker.findings);
            all.faults_met.append(&mut worker.faults_met);
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (1..asked.jobs.max(1)).map(|_| scope.spawn(work)).collect();
            work();
            threads.into_iter().for_each(|thread| drop(thread.join()));
        });
        if stop.into_inner() {
            return Err(Stopped);
        }
        let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Of one point in the order in which they were found, whoever found them.
        all.findings.sort_by_key(|finding| finding.point_index);
        Ok(all)
    }

    /// Points that leave the same medium, together.
    fn groups(&self, points: &[Point], progress: &(dyn Fn(f64) -> bool + Sync)) -> Result<Vec<Group>, Stopped> {
        let done = &self.modifications;
        let mut medium = self.base.medium.clone();
        let blocks = done.blocks(&medium);
        let mut hashes: Vec<u64> = (0..blocks).map(|block| done.hash(&medium, block)).collect();
        let mut whole = hashes.iter().fold(0, |all, hash| all ^ hash);
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        let mut operation = 1;
        for (number, point) in points.iter().enumerate() {
            while operation < point.operation_number {
                let Some(change) = done.operations.get(operation as usize - 1) else { break };
                done.apply(change, Torn::Complete, &mut medium);
                let block = done.block_of(change, &medium) as usize;
                let hash = done.hash(&medium, block as u32);
                whole ^= std::mem::replace(&mut hashes[block], hash) ^ hash;
                operation += 1;
            }
            let hash = match (done.operations.get(operation as usize - 1), point.torn()) {
                _ if matches!(point.taken, Taken::Cache { .. }) => {
                    // Made when it is looked at: as a rule it differs from all others.
                    groups.push(Group { point: *point, members: vec![number] });
                    continue;
                }
                (None, _) | (_, Torn::Nothing) => whole,
                (Some(change), torn) => {
                    let block = done.block_of(change, &medium);
                    let part = done.part(&medium, block);
                    done.apply(change, torn, &mut medium);
                    let hash = done.hash(&medium, block);
                    part.put_back(&mut medium);
                    whole ^ hashes[block as usize] ^ hash
                }
            };
            let at = *known.entry(hash).or_insert_with(|| {
                groups.push(Group { point: *point, members: Vec::new() });
                groups.len() - 1
            });
            groups[at].members.push(number);
            if number.is_multiple_of(64) && !progress(0.0) {
                return Err(Stopped);
            }
        }
        Ok(groups)
    }

    /// The entries of the log at which the application told something.
    fn told_at(&self) -> Vec<usize> {
        let entries = self.log.entries.iter().enumerate();
        entries.filter(|(_, entry)| matches!(entry.effect, Effect::Told(_))).map(|(number, _)| number).collect()
    }
}

/// Goes through groups in their order, with a medium and promises that go along.
struct Worker<'a> {
    recording: &'a Recording,
    asked: &'a Asked,
    files: Option<&'a JudgeFiles<'a>>,
    /// What the medium holds before the operation of the last group.
    state: State,
    operations: u64,
    ledger: Ledger,
    entries: usize,
    told_at: Vec<usize>,
    recoveries: usize,
    cuts_of_recoveries: usize,
    cuts_of_second_mounts: usize,
    findings: Vec<Finding>,
    faults_met: BTreeSet<&'static str>,
}

/// A mount that is cut once more.
struct Mount<'t> {
    /// What the medium held before it, or before the unmount that went before it.
    start: MediumImage,
    modifications: Modifications,
    at_ns: u64,
    /// How many of the operations are that unmount's.
    unmount_operations: u64,
    /// What must be there from the end of the unmount on.
    shown: Option<&'t Tree>,
    /// What to tell of an operation's number.
    what: &'static str,
}

/// An instant of which a medium may be, with what was promised by then.
struct Instant {
    point: usize,
    moment: Moment,
    ledger: Ledger,
}

impl<'a> Worker<'a> {
    fn new(recording: &'a Recording, asked: &'a Asked, files: Option<&'a JudgeFiles<'a>>) -> Worker<'a> {
        let State { at_ns, content_position_bytes, .. } = recording.base;
        Worker {
            recording,
            asked,
            files,
            state: State { medium: recording.base.medium.clone(), at_ns, content_position_bytes },
            operations: 0,
            ledger: recording.ledger(),
            entries: 0,
            told_at: recording.told_at(),
            recoveries: 0,
            cuts_of_recoveries: 0,
            cuts_of_second_mounts: 0,
            findings: Vec::new(),
            faults_met: BTreeSet::new(),
        }
    }

    fn group(&mut self, group: &Group) -> Result<(), Stopped> {
        let done = &self.recording.modifications;
        let (operation, torn) = (group.point.operation_number, group.point.torn());
        while self.operations + 1 < operation {
            let Some(change) = done.operations.get(self.operations as usize) else { break };
            done.apply(change, Torn::Complete, &mut self.state.medium);
            self.operations += 1;
        }
        let instants = self.instants(group);
        if let Taken::Cache { seed } = group.point.taken {
            return match self.recording.lost_cache(operation, seed) {
                Ok(state) => self.cut(&instants, (Some(&state), None), self.asked.depth, &mut Vec::new()),
                Err(says) => {
                    self.add(instants[0].point, Found::FileSystem, says, &[]);
                    Ok(())
                }
            };
        }
        let change = done.operations.get(operation as usize - 1).filter(|_| torn != Torn::Nothing);
        let part = change.map(|change| {
            let part = done.part(&self.state.medium, done.block_of(change, &self.state.medium));
            done.apply(change, torn, &mut self.state.medium);
            part
        });
        let judged = self.cut(&instants, (None, None), self.asked.depth, &mut Vec::new());
        if let Some(part) = part {
            part.put_back(&mut self.state.medium);
        }
        judged
    }

    /// The instants of a group: of those with the same promises one.
    fn instants(&mut self, group: &Group) -> Vec<Instant> {
        let log = &self.recording.log;
        let mut instants: Vec<Instant> = Vec::new();
        for &point in &group.members {
            let operation = self.asked.points[point].operation_number;
            let until = log.until(operation);
            let begins = instants.is_empty();
            let (mut ledger, from) = match instants.last() {
                None => (None, self.entries),
                Some(last) => (Some(last.ledger.clone()), log.until(last.moment.operation_number)),
            };
            if from == until && !begins {
                continue;
            }
            for entry in &log.entries[from.min(until)..until] {
                ledger.as_mut().unwrap_or(&mut self.ledger).apply(&entry.effect);
            }
            if begins {
                self.entries = until.max(self.entries);
            }
            let told_count = self.told_at.partition_point(|&entry| entry < until);
            let moment = Moment { operation_number: operation, told_count };
            instants.push(Instant { point, moment, ledger: ledger.unwrap_or_else(|| self.ledger.clone()) });
        }
        instants
    }

    /// Mounts what the medium holds, and judges it; then what is left when the recovery is cut, or the mount after that.
    ///
    /// `shown`: what an earlier mount showed and an unmount made safe.
    fn cut(
        &mut self,
        instants: &[Instant],
        (other, shown): (Option<&State>, Option<&Tree>),
        depth: u32,
        trail: &mut Vec<String>,
    ) -> Result<(), Stopped> {
        let (spec, options) = (&self.recording.spec, &self.recording.options);
        let goes_deeper = depth > 0 && self.asked.recovery_cuts > 0;
        let state = other.unwrap_or(&self.state);
        let mut recovered = recover(spec, state, options, goes_deeper);
        self.recoveries += 1;
        self.findings_of(&recovered, instants, shown, trail)?;
        let is_mounted_again = self.asked.second_mount && recovered.tree.is_ok();
        let again = is_mounted_again.then(|| recovered.second_mount(options, goes_deeper));
        if let Some(SecondMount { same: Err(says), faults_met, .. }) = &again {
            self.faults_met.extend(faults_met);
            let is_promised = !self.is_unstable(instants[0].point);
            let found = if is_promised { Found::FileSystem } else { Found::NotPromised };
            self.add(instants[0].point, found, says.clone(), trail);
        }
        if !goes_deeper {
            return Ok(());
        }
        let (modifications, at_ns) = (std::mem::take(&mut recovered.modifications), recovered.now_ns);
        let start = other.map_or_else(|| self.state.medium.clone(), |state| state.medium.clone());
        let first = Mount { start, modifications, at_ns, unmount_operations: 0, shown: None, what: "" };
        self.cuts_of_recoveries += self.cut_mount(instants, &first, depth - 1, trail)?;
        if let Some(SecondMount { modifications, unmount_operations, now_ns, .. }) = again {
            let Mount { mut start, modifications: before, .. } = first;
            before.operations.iter().for_each(|change| before.apply(change, Torn::Complete, &mut start));
            let (shown, what) = (recovered.tree.as_ref().ok(), " of the unmount and second mount");
            let second = Mount { start, modifications, at_ns: now_ns, unmount_operations, shown, what };
            self.cuts_of_second_mounts += self.cut_mount(instants, &second, depth - 1, trail)?;
        }
        Ok(())
    }

    /// Judges what cuts of a mount leave, spread evenly over what it does to the medium. Returns how many there were.
    fn cut_mount(
        &mut self,
        instants: &[Instant],
        mount: &Mount,
        depth: u32,
        trail: &mut Vec<String>,
    ) -> Result<usize, Stopped> {
        let operations = mount.modifications.operations.len() as u64;
        let cuts = self.asked.recovery_cuts.min(operations);
        let seed = instants[0].moment.operation_number;
        for number in 0..cuts {
            let operation = 1 + (number * operations + seed % operations) / cuts % operations;
            let medium = recovery_cut(&mount.modifications, &mount.start, operation, seed);
            let state = State { medium, at_ns: mount.at_ns, content_position_bytes: 0 };
            let shown = mount.shown.filter(|_| operation > mount.unmount_operations);
            trail.push(format!("{operation} of {operations}{}", mount.what));
            let judged = self.cut(instants, (Some(&state), shown), depth, trail);
            trail.pop();
            judged?;
        }
        Ok(cuts as usize)
    }

    fn is_unstable(&self, point: usize) -> bool {
        matches!(self.asked.points[point].torn(), Torn::Unstable { .. })
    }

    /// Whether what was synced must be there. No file system promises that after it has read what reads differently the next time.
    fn keeps_synced(&self, point: usize) -> bool {
        self.recording.promises.keeps_synced && !self.is_unstable(point)
    }

    fn add(&mut self, point: usize, found: Found, says: String, trail: &[String]) {
        self.findings.push(Finding { point_index: point, found, says, recoveries_cut: trail.to_vec() });
    }

    fn findings_of(
        &mut self,
        recovered: &Recovered,
        instants: &[Instant],
        shown: Option<&Tree>,
        trail: &[String],
    ) -> Result<(), Stopped> {
        let tree = match &recovered.tree {
            Ok(tree) => tree,
            Err(says) => {
                for instant in instants {
                    let refused = !recovered.is_mounted
                        && self.recording.promises.may_refuse_unfinished
                        && instant.ledger.nothing_is_safe();
                    let found = match (refused, self.keeps_synced(instant.point)) {
                        (true, _) => Found::Refused,
                        (false, true) => Found::FileSystem,
                        (false, false) => Found::NotPromised,
                    };
                    self.add(instant.point, found, says.clone(), trail);
                }
                return Ok(());
            }
        };
        if let Some(difference) = shown.and_then(|shown| tree::difference(shown, tree)) {
            let point = instants[0].point;
            let found = if self.keeps_synced(point) { Found::FileSystem } else { Found::NotPromised };
            self.add(point, found, format!("a cut of the second mount: {difference}"), trail);
        }
        let mut verdicts: BTreeMap<usize, Option<String>> = BTreeMap::new();
        for instant in instants {
            let explained = instant.ledger.explains(tree);
            let verdict = match (verdicts.get(&instant.moment.told_count), self.files) {
                (Some(verdict), _) => verdict.clone(),
                (None, None) => None,
                (None, Some(files)) => {
                    let verdict = files(tree, &instant.moment)?;
                    verdicts.insert(instant.moment.told_count, verdict.clone());
                    verdict
                }
            };
            match (explained, verdict, self.keeps_synced(instant.point)) {
                (Ok(()), None, _) => {}
                (Err(broken), None, true) => self.add(instant.point, Found::FileSystem, broken, trail),
                (Err(broken), None, false) => {
                    let found = if self.files.is_some() { Found::Tolerated } else { Found::NotPromised };
                    self.add(instant.point, found, broken, trail);
                }
                (Err(broken), Some(says), true) => {
                    self.add(instant.point, Found::FileSystem, format!("{broken}; so {says}"), trail);
                }
                (_, Some(says), _) => self.add(instant.point, Found::Application, says, trail),
            }
        }
        Ok(())
    }
}

/// What the medium holds when the recovery is cut in the middle of one of its operations.
fn recovery_cut(modifications: &Modifications, start: &MediumImage, operation: u64, seed: u64) -> MediumImage {
    let mut medium = start.clone();
    let (before, from) = modifications.operations.split_at(operation as usize - 1);
    for change in before {
        modifications.apply(change, Torn::Complete, &mut medium);
    }
    if let Some(change) = from.first() {
        modifications.apply(change, Torn::Partial { seed: seed ^ operation }, &mut medium);
    }
    medium
}
