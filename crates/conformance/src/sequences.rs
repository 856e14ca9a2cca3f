//! Random sequences of system calls, carried out on the reference model and on the file system under test.

use crate::call::{describe, outcomes_agree, Answer, Call, How, Outcome, SLOTS};
use crate::content::pattern;
use crate::model::Model;
use crate::rig::{Machine, Rig};
use crate::tree::{bytes_difference, Tree};
use crate::{Failure, Features, Subject};
use ffslab_fs::{Errno, FileKind, RenameFlags, XattrMode};
use ffslab_linux::Calls;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use std::cell::RefCell;

/// A file system that reports itself as more than this full may fail with ENOSPC.
const FREE_PERCENT_WHEN_FULL: u64 = 50;

#[derive(Clone, Debug)]
pub struct Options {
    /// Number of sequences.
    pub cases: u32,
    /// Longest sequence.
    pub calls_max: usize,
    pub seed: u64,
    pub machine: Machine,
}

impl Default for Options {
    fn default() -> Self {
        Options { cases: 64, calls_max: 120, seed: 1, machine: Machine::USUAL }
    }
}

/// The effects of the sequences, with which a test can check that they did something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub calls: u64,
    /// Calls that both sides refused with the same error.
    pub refused: u64,
    /// Remounts and crashes after sync(2), each followed by a comparison of everything.
    pub remounts: u64,
    /// Calls made on a full medium.
    pub full: u64,
}

/// Runs the sequences. After each remount and at the end, names, links, attributes and bytes must be those of the
/// model.
///
/// # Errors
/// The shortest sequence found on which the file system is wrong, and the difference.
pub fn check(subject: &dyn Subject, options: &Options) -> Result<Report, Failure> {
    let config =
        Config { cases: options.cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let mut runner = runner(config, options.seed);
    let report = RefCell::new(Report::default());
    let result = runner.run(&sequence(options.calls_max, subject.features()), |calls| {
        let one = run(subject, options.machine, &calls).map_err(|failure| TestCaseError::fail(failure.to_string()))?;
        let mut sum = report.borrow_mut();
        sum.calls += one.calls;
        sum.refused += one.refused;
        sum.remounts += one.remounts;
        sum.full += one.full;
        Ok(())
    });
    match result {
        Ok(()) => Ok(report.into_inner()),
        Err(TestError::Fail(reason, calls)) => {
            let calls: Vec<String> = calls.iter().map(|call| format!("\n    {call:?}")).collect();
            Err(Failure::new(format!("{}: {reason}, after{}", subject.name(), calls.concat())))
        }
        Err(TestError::Abort(reason)) => Err(Failure::new(format!("no sequence was run: {reason}"))),
    }
}

fn runner(config: Config, seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// `count` calls that every file system must support, always the same ones for a seed.
///
/// # Errors
/// None are known; proptest could refuse to draw.
pub fn random_calls(seed: u64, count: usize) -> Result<Vec<Call>, Failure> {
    let tree = proptest::collection::vec(call(Features::NONE), count).new_tree(&mut runner(Config::default(), seed));
    tree.map(|tree| tree.current()).map_err(Failure::of)
}

/// Runs one sequence on a new file system.
///
/// # Errors
/// The first call whose result differs from the model's, or a difference after a remount.
pub fn run(subject: &dyn Subject, machine: Machine, calls: &[Call]) -> Result<Report, Failure> {
    play(subject, machine, calls).map(|pair| pair.report)
}

/// Runs one sequence and leaves the file system mounted.
///
/// # Errors
/// As [`run`].
pub fn play<'a>(subject: &'a dyn Subject, machine: Machine, calls: &[Call]) -> Result<Pair<'a>, Failure> {
    let mut pair = Pair::new(Rig::new(subject, machine)?)?;
    for path in ["d0", "d1", "d0/d2"] {
        let _ = pair.step(&Call::Mkdir { path: path.to_string(), permissions: 0o755 })?;
    }
    for (number, call) in calls.iter().enumerate() {
        // A call on an empty slot is preceded by an open. Calls are drawn without knowledge of the ones before, so
        // most slots would be empty otherwise.
        if let Some(slot) = used_slot(call).filter(|&slot| pair.model.open_file(slot).is_none()) {
            let path = ["f0", "f1", "d0/f0", "d1/f0"][slot].to_string();
            let open = Call::Open { slot, path, how: How::CREATE };
            let _ = pair.step(&open).map_err(|failure| failure.at(format!("before call {number}, {open:?}")))?;
        }
        let _ = pair.step(call).map_err(|failure| failure.at(format!("call {number}, {call:?}")))?;
    }
    pair.compare().map_err(|failure| failure.at("at the end"))?;
    pair.remount().map_err(|failure| failure.at("remount at the end"))?;
    Ok(pair)
}

/// The slot that a call needs not to be empty.
pub(crate) fn used_slot(call: &Call) -> Option<usize> {
    match call {
        Call::Read { slot, .. }
        | Call::Write { slot, .. }
        | Call::Pread { slot, .. }
        | Call::Pwrite { slot, .. }
        | Call::SeekTo { slot, .. }
        | Call::SeekFromEnd { slot, .. }
        | Call::Ftruncate { slot, .. }
        | Call::Fsync { slot }
        | Call::Fdatasync { slot }
        | Call::LinkSlot { slot, .. }
        | Call::Fstat { slot } => Some(*slot),
        // Closing an empty slot is allowed, because it tests the error for a bad descriptor.
        _ => None,
    }
}

/// The model and the system under test, side by side.
pub struct Pair<'a> {
    pub rig: Rig<'a>,
    pub model: Model,
    pub report: Report,
}

impl<'a> Pair<'a> {
    /// Mounts the erased partition of `rig`.
    pub fn new(mut rig: Rig<'a>) -> Result<Pair<'a>, Failure> {
        rig.mount()?;
        let (name_bytes_max, file_bytes_max) = rig.limits();
        let model = Model::new(name_bytes_max, file_bytes_max);
        Ok(Pair { rig, model, report: Report::default() })
    }

    /// Makes one call on both sides. After a remount everything is compared.
    ///
    /// # Errors
    /// The two results, if they differ.
    pub fn step(&mut self, call: &Call) -> Result<Outcome, Failure> {
        self.report.calls += 1;
        if self.is_own_affair(call) {
            return Ok(Ok(Answer::Done));
        }
        let found = self.rig.call(call)?;
        let is_short = match (call, &found) {
            (Call::Write { bytes, .. } | Call::Pwrite { bytes, .. }, Ok(Answer::Number(count))) => {
                *count > 0 && *count < *bytes as u64
            }
            _ => false,
        };
        if is_short || found == Err(Errno::NoSpc) {
            self.met_full(call, &found)?;
            return Ok(found);
        }
        let expected = self.model.call(call);
        if !outcomes_agree(&expected, &found) {
            return Err(Failure::new(format!("expected {}, got {}", describe(&expected), describe(&found))));
        }
        self.report.refused += u64::from(found.is_err());
        if matches!(call, Call::Remount | Call::SyncAndCrash) {
            self.report.remounts += 1;
            self.compare()?;
        }
        Ok(found)
    }

    /// Unmounts, mounts again, compares everything.
    ///
    /// # Errors
    /// The first difference.
    pub fn remount(&mut self) -> Result<(), Failure> {
        self.step(&Call::Remount).map(|_| ())
    }

    /// Compares everything visible: the whole tree, and the files behind open descriptors.
    pub fn compare(&mut self) -> Result<(), Failure> {
        let found = Tree::read(&mut self.rig)?;
        if self.rig.subject.older_xattrs_may_return() {
            self.model.adopt_older_xattrs(&found);
        }
        if let Some(difference) = Tree::of(&self.model).difference(&found) {
            return Err(Failure::new(difference));
        }
        for slot in 0..SLOTS {
            let Some(open) = self.model.open_file(slot) else { continue };
            let Ok(expected) = self.model.nodes.file(open.node) else { continue };
            let fd = self.rig.program.fd(slot).map_err(Failure::of)?;
            let found = self.rig.read_descriptor(fd).map_err(Failure::of)?;
            if let Some(difference) = bytes_difference(expected, &found) {
                return Err(Failure::new(format!("open file in slot {slot}: {difference}")));
            }
        }
        Ok(())
    }

    /// Whether the result of the call may differ, as sizes of directories do.
    fn is_own_affair(&self, call: &Call) -> bool {
        match call {
            Call::SeekFromEnd { slot, .. } => {
                self.model.open_file(*slot).is_some_and(|file| self.model.nodes.directory(file.node).is_ok())
            }
            _ => false,
        }
    }

    /// How many bytes a call may need on the medium; holes may need as much as data.
    fn bytes_needed(&self, call: &Call) -> u64 {
        let size_of = |slot: usize| {
            let file = self.model.open_file(slot).and_then(|file| self.model.nodes.file(file.node).ok());
            file.map_or(0, |bytes| bytes.len() as u64)
        };
        match call {
            Call::Pwrite { slot, at, bytes, .. } => at.saturating_sub(size_of(*slot)) + *bytes as u64,
            Call::Write { slot, bytes, .. } => {
                let at = self.model.write_position(*slot, None).unwrap_or(0);
                at.saturating_sub(size_of(*slot)) + *bytes as u64
            }
            Call::Ftruncate { size_bytes, .. } | Call::Truncate { size_bytes, .. } => *size_bytes,
            _ => 0,
        }
    }

    /// Handles a full medium: finds out which part of the call has happened.
    fn met_full(&mut self, call: &Call, found: &Outcome) -> Result<(), Failure> {
        self.report.full += 1;
        let free_percent = self.rig.free_percent().map_err(Failure::of)?;
        let statfs = self.rig.vfs.statfs().map_err(Failure::of)?;
        let free_bytes = statfs.blocks_free * u64::from(statfs.block_bytes);
        if free_percent > FREE_PERCENT_WHEN_FULL && self.bytes_needed(call) < free_bytes / 2 {
            return Err(Failure::new(format!("{} with {free_percent} % of the partition free", describe(found))));
        }
        let mut after = self.model.clone();
        let expected = after.call(call);
        let of_xattr = matches!(call, Call::SetXattr { .. } | Call::RemoveXattr { .. });
        if expected.is_err() && of_xattr && self.rig.subject.xattrs_reserve_space_first() {
            return Ok(());
        }
        if let Err(error) = expected {
            return Err(Failure::new(format!("expected {}, got {}", error.name(), describe(found))));
        }
        match call {
            Call::Write { slot, bytes, seed } => {
                let at = self.model.write_position(*slot, None).map_err(Failure::of)?;
                let accepted = self.adopt_write(*slot, at, &pattern(*seed, at, *bytes), found)?;
                if accepted > 0 {
                    self.model.set_position(*slot, at + accepted);
                }
                Ok(())
            }
            Call::Pwrite { slot, at, bytes, seed } => {
                let at = self.model.write_position(*slot, Some(*at)).map_err(Failure::of)?;
                self.adopt_write(*slot, at, &pattern(*seed, at, *bytes), found).map(|_| ())
            }
            Call::Remount | Call::SyncAndCrash => Err(Failure::new("remount failed with ENOSPC")),
            _ => {
                if let Call::Open { slot, .. } | Call::OpenUnnamed { slot, .. } = call {
                    // The slot was emptied before the open failed.
                    let _ = self.model.call(&Call::Close { slot: *slot });
                }
                // The call has either happened completely or not at all.
                let tree = Tree::read(&mut self.rig)?;
                let Some(difference) = Tree::of(&self.model).difference(&tree) else { return Ok(()) };
                // Descriptors are not part of the tree. An open that failed has opened nothing.
                let opens = matches!(call, Call::Open { .. } | Call::OpenUnnamed { .. });
                if opens || Tree::of(&after).difference(&tree).is_some() {
                    return Err(Failure::new(format!("ENOSPC, and yet: {difference}")));
                }
                self.model = after;
                Ok(())
            }
        }
    }

    /// Handles a write that was cut short: each of the bytes that were not accepted may be new or old, and nothing else
    /// may have changed. The model takes over the content found. Returns how many bytes were accepted.
    fn adopt_write(&mut self, slot: usize, at: u64, data: &[u8], outcome: &Outcome) -> Result<u64, Failure> {
        let accepted = match outcome {
            Ok(Answer::Number(count)) => *count,
            _ => 0,
        };
        let open = self.model.open_file(slot).ok_or_else(|| Failure::of(Errno::BadF))?;
        let fd = self.rig.program.fd(slot).map_err(Failure::of)?;
        let found = self.rig.read_descriptor(fd).map_err(Failure::of)?;
        let old = self.model.nodes.file(open.node).map_err(Failure::of)?;
        let at = at as usize;
        let (size_min, size_max) = match accepted {
            0 => (old.len(), old.len().max(at + data.len())),
            _ => (old.len().max(at + accepted as usize), old.len().max(at + data.len())),
        };
        if !(size_min..=size_max).contains(&found.len()) {
            return Err(Failure::new(format!(
                "a write of {} bytes at {at} accepted {accepted}; the file then has {} bytes, expected {size_min} to {size_max}",
                data.len(),
                found.len()
            )));
        }
        for (offset, &byte) in found.iter().enumerate() {
            let before = old.get(offset).copied().unwrap_or(0);
            let written = offset.checked_sub(at).and_then(|i| Some((i, *data.get(i)?)));
            let good = match written {
                Some((i, new)) if i < accepted as usize => byte == new,
                Some((_, new)) => byte == new || byte == before,
                None => byte == before,
            };
            if !good {
                return Err(Failure::new(format!(
                    "a write of {} bytes at {at} accepted {accepted}; byte {offset} is {byte:#04x}",
                    data.len()
                )));
            }
        }
        self.model.replace_content(open.node, found);
        Ok(accepted)
    }
}

// ---- strategies ------------------------------------------------------------------------------------------------

/// Sequences of up to `calls_max` calls.
pub fn sequence(calls_max: usize, features: Features) -> impl Strategy<Value = Vec<Call>> {
    proptest::collection::vec(call(features), 1..=calls_max)
}

fn call(features: Features) -> BoxedStrategy<Call> {
    let mut choices = vec![(12, usual_call().boxed())];
    if features.xattrs {
        choices.push((3, xattr_call().boxed()));
    }
    if features.rename_flags {
        choices.push((1, rename_call().boxed()));
    }
    if features.unnamed_files {
        choices.push((1, unnamed_call().boxed()));
    }
    match choices.len() {
        1 => usual_call().boxed(),
        _ => proptest::strategy::Union::new_weighted(choices).boxed(),
    }
}

fn rename_call() -> impl Strategy<Value = Call> {
    let both = RenameFlags { no_replace: true, ..RenameFlags::WHITEOUT };
    let wrong = RenameFlags { exchange: true, ..both };
    let flags = prop_oneof![
        6 => Just(RenameFlags::EXCHANGE),
        4 => Just(RenameFlags::WHITEOUT),
        3 => Just(RenameFlags::NO_REPLACE),
        1 => Just(both),
        1 => Just(wrong),
    ];
    (path(), path(), flags).prop_map(|(from, to, flags)| Call::RenameWith { from, to, flags })
}

fn unnamed_call() -> impl Strategy<Value = Call> {
    let directory = prop_oneof![4 => select(vec!["/", "d0", "d0/d2", "d1"]).prop_map(str::to_string), 1 => path()];
    prop_oneof![
        4 => (slot(), directory, proptest::bool::weighted(0.1))
            .prop_map(|(slot, path, exclusive)| Call::OpenUnnamed { slot, path, exclusive }),
        4 => (slot(), path()).prop_map(|(slot, to)| Call::LinkSlot { slot, to }),
    ]
}

fn xattr_call() -> impl Strategy<Value = Call> {
    let long = format!("user.{}", "n".repeat(250));
    let names = ["user.a", "user.b", "user.c", "trusted.a", "security.a", "user.", "odd.a", &long].map(str::to_string);
    let name = move || {
        let weight = |name: &str| if ["user.", "odd.a"].contains(&name) { 1 } else { 4 };
        proptest::strategy::Union::new_weighted(
            names.iter().map(|name| (weight(name), Just(name.clone()))).collect::<Vec<_>>(),
        )
    };
    let bytes = prop_oneof![6 => 0usize..300, 2 => select(vec![0usize, 1, 8, 4095, 4096]), 1 => 0usize..4096];
    let mode = prop_oneof![4 => Just(XattrMode::Any), 1 => Just(XattrMode::Create), 1 => Just(XattrMode::Replace)];
    prop_oneof![
        6 => (path(), name(), bytes, seed(), mode)
            .prop_map(|(path, name, bytes, seed, mode)| Call::SetXattr { path, name, bytes, seed, mode }),
        2 => (path(), name()).prop_map(|(path, name)| Call::GetXattr { path, name }),
        2 => path().prop_map(|path| Call::ListXattr { path }),
        3 => (path(), name()).prop_map(|(path, name)| Call::RemoveXattr { path, name }),
    ]
}

fn path() -> impl Strategy<Value = String> {
    let usual = select(vec![
        "f0", "f1", "f2", "d0", "d1", "d0/f0", "d0/f1", "d0/d2", "d0/d2/f0", "d1/f0", "d1/f2", "s0", "d0/s1",
    ]);
    let odd = select(vec!["/", "/f0", "f0/f1", "s0/f0", "d0/../f1", "./d1/./f0", "d0/s1/f0", "nowhere/f0", "d1/.."]);
    prop_oneof![
        12 => usual.prop_map(str::to_string),
        2 => odd.prop_map(str::to_string),
        1 => (200usize..258).prop_map(|bytes| "n".repeat(bytes)),
    ]
}

fn target() -> impl Strategy<Value = String> {
    select(vec!["f0", "d0", "../f1", "/d1", "s0", "d0/s1", "/nowhere", "d2/f0", "/d0/d2/.."]).prop_map(str::to_string)
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        2 => Just(How::READ),
        2 => Just(How::WRITE),
        6 => Just(How::CREATE),
        2 => Just(How::APPEND),
        1 => Just(How { exclusive: true, ..How::CREATE }),
        2 => Just(How { truncate: true, ..How::CREATE }),
        1 => Just(How { sync: true, ..How::CREATE }),
        1 => Just(How { no_follow: true, ..How::READ }),
    ]
}

fn slot() -> std::ops::Range<usize> {
    0..SLOTS
}

fn bytes() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0usize..9_000, 2 => select(vec![1usize, 512, 2048, 4095, 4096, 4097, 8192]), 1 => 0usize..70_000]
}

fn offset() -> impl Strategy<Value = u64> {
    let even = select(vec![0u64, 4096, 8192, 12288, 4095, 2048]);
    prop_oneof![5 => 0u64..30_000, 2 => even, 1 => 0u64..200_000, 1 => 900_000u64..1_000_000]
}

fn seed() -> std::ops::Range<u64> {
    1..1_000
}

fn usual_call() -> impl Strategy<Value = Call> {
    let data = prop_oneof![
        8 => (slot(), path(), how()).prop_map(|(slot, path, how)| Call::Open { slot, path, how }),
        2 => slot().prop_map(|slot| Call::Close { slot }),
        2 => (slot(), bytes()).prop_map(|(slot, bytes)| Call::Read { slot, bytes }),
        6 => (slot(), bytes(), seed()).prop_map(|(slot, bytes, seed)| Call::Write { slot, bytes, seed }),
        4 => (slot(), offset(), bytes()).prop_map(|(slot, at, bytes)| Call::Pread { slot, at, bytes }),
        8 => (slot(), offset(), bytes(), seed())
            .prop_map(|(slot, at, bytes, seed)| Call::Pwrite { slot, at, bytes, seed }),
        2 => (slot(), offset()).prop_map(|(slot, at)| Call::SeekTo { slot, at }),
        1 => (slot(), -5_000i64..5_000).prop_map(|(slot, offset)| Call::SeekFromEnd { slot, offset }),
        3 => (slot(), offset()).prop_map(|(slot, size_bytes)| Call::Ftruncate { slot, size_bytes }),
        2 => (path(), offset()).prop_map(|(path, size_bytes)| Call::Truncate { path, size_bytes }),
        2 => slot().prop_map(|slot| Call::Fsync { slot }),
        1 => slot().prop_map(|slot| Call::Fdatasync { slot }),
        2 => slot().prop_map(|slot| Call::Fstat { slot }),
    ];
    let special = select(vec![FileKind::Fifo, FileKind::Socket, FileKind::CharDevice, FileKind::BlockDevice]);
    let device = |kind| if matches!(kind, FileKind::CharDevice | FileKind::BlockDevice) { 0x0503 } else { 0 };
    let names = prop_oneof![
        4 => (path(), path()).prop_map(|(from, to)| Call::Rename { from, to }),
        2 => (path(), path()).prop_map(|(from, to)| Call::Link { from, to }),
        2 => (target(), path()).prop_map(|(target, path)| Call::Symlink { target, path }),
        1 => path().prop_map(|path| Call::Readlink { path }),
        4 => path().prop_map(|path| Call::Unlink { path }),
        5 => (path(), select(vec![0o755u32, 0o700, 0o1777])).prop_map(|(path, permissions)| Call::Mkdir { path, permissions }),
        2 => path().prop_map(|path| Call::Rmdir { path }),
        1 => (path(), special).prop_map(move |(path, kind)| Call::Mknod { path, kind, device: device(kind) }),
        1 => path().prop_map(|path| Call::Readdir { path }),
        1 => path().prop_map(|path| Call::Stat { path }),
        1 => path().prop_map(|path| Call::Lstat { path }),
        1 => (path(), select(vec![0o600u32, 0o4755, 0o644])).prop_map(|(path, permissions)| Call::Chmod { path, permissions }),
        1 => (path(), 0u32..60_000, 0u32..60_000).prop_map(|(path, uid, gid)| Call::Chown { path, uid, gid }),
        1 => (path(), 0i64..2_000_000_000).prop_map(|(path, seconds)| Call::SetModified { path, seconds }),
        1 => path().prop_map(|path| Call::FsyncDirectory { path }),
    ];
    let system = prop_oneof![
        2 => Just(Call::Sync),
        3 => Just(Call::DropCaches),
        2 => select(vec![1u64, 700, 6_000, 40_000]).prop_map(|ms| Call::Sleep { ms }),
        2 => Just(Call::Remount),
        2 => Just(Call::SyncAndCrash),
    ];
    prop_oneof![11 => data, 7 => names, 2 => system]
}
