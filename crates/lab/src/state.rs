//! Initial states: what the steps under `state` of an experiment leave on the chip. Making a state may take long. So it
//! is made once for all variants in which everything that determines it is the same, and kept in a file for later runs.
//!
//! The result must not depend on whether a state is made or found. So each state ends with a shutdown: the setup always
//! starts from a chip that was switched on again, with nothing in memory, at the time of day at which the state was
//! complete.

use crate::experiment::Variant;
use crate::fingerprint::Fingerprint;
use crate::run::{RunError, Runner, Watch};
use crate::traces::Traces;
use ffslab_flash::ChipImage;
use ffslab_machine::spec::{MachineSpec, State};
use ffslab_mtd::MediumImage;
use ffslab_system::SystemError;
use ffslab_workload::Step;
use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder in which states are kept between runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateCache {
    pub dir: PathBuf,
    /// Identifies the build of the program. Another build may make other states, so it does not use these.
    pub build: String,
}

/// What to make: the machine, the steps, the seed of the content, and whether a new partition is made usable after the first
/// mount.
#[derive(Clone, Debug)]
pub struct Recipe<'a> {
    pub spec: MachineSpec,
    pub steps: &'a [Step],
    pub seed: u64,
    pub settles: bool,
}

impl<'a> Recipe<'a> {
    /// The recipe of the state of a variant. Read-ahead is switched off while a state is made, so that variants that differ only in
    /// read-ahead share a state.
    pub(crate) fn new(spec: &MachineSpec, variant: &'a Variant) -> Recipe<'a> {
        let mut spec = spec.clone();
        spec.without_read_ahead();
        Recipe { spec, steps: &variant.state, seed: variant.seed, settles: variant.settles }
    }

    /// A hash of everything that determines the state. `build` identifies the build of the program.
    ///
    /// Errors: the image on which the state starts cannot be read.
    pub fn key(&self, build: &str) -> Result<String, String> {
        let mut hash = Fingerprint::of_build(build);
        hash.machine(&self.spec)?;
        hash.bytes(serde_json::to_string(self.steps).map_err(|error| error.to_string())?.as_bytes());
        hash.number(self.seed);
        hash.number(self.settles.into());
        Ok(hash.finish())
    }

    /// Runs the steps and returns the state that they leave. For errors see [`RunError`].
    pub fn make(&self, watch: &mut Watch) -> Result<State, RunError> {
        let traces = Traces::default();
        let system = self.spec.build(None)?;
        let mut runner = Runner::new(system, self.seed, Cow::Borrowed(&traces), Box::new(watch));
        runner.settles = self.settles;
        runner.begin_setup();
        for (index, step) in self.steps.iter().enumerate() {
            runner.step("state", index, step)?;
        }
        let at_end = |error: SystemError| RunError::Step(format!("end of the state: {error}"));
        runner.shut_down().map_err(at_end)?;
        Ok(State {
            medium: runner.system.snapshot().map_err(at_end)?,
            at_ns: runner.system.now_ns(),
            content_position_bytes: runner.content.position(),
        })
    }
}

/// Refuses steps that cannot be part of a state, because they depend on files outside of it or leave something there.
///
/// Errors: one line.
pub fn check_steps(steps: &[Step]) -> Result<(), String> {
    for (i, step) in steps.iter().enumerate() {
        if step.counts() {
            let number = i + 1;
            return Err(format!(
                "state step {number} ({}): a name in it counts, and the steps behind a state do not know how far: put it \
                 into [[setup]]",
                step.title()
            ));
        }
        check_steps(step.inner())?;
        let is_outside = match step {
            Step::Replay(_) | Step::CopyIn(_) | Step::SaveImage(_) | Step::Load(_) => true,
            Step::Sqlite(sqlite) => sqlite.script.is_some(),
            _ => step.content_file().is_some(),
        };
        if is_outside {
            let (number, name) = (i + 1, step.name());
            return Err(format!("state step {number} ({name}): cannot be part of a state, put it into [[setup]]"));
        }
    }
    Ok(())
}

/// Bytes of a state file before the content of the medium: `at_ns` and the position of the content.
const HEAD_BYTES: usize = 16;
/// Limit for all state files together, enough for several campaigns.
const BYTES_MAX: u64 = 4 << 30;
/// The fastest level, because most of the data that flash holds here do not compress at all.
const ZSTD_LEVEL: i32 = 1;

/// A state as bytes, from which [`unpacked`] makes it again.
///
/// Errors: those of the packer, of which there are none in memory.
pub fn packed(state: &State) -> io::Result<Vec<u8>> {
    let mut bytes = state.at_ns.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(state.content_position_bytes as u64).to_le_bytes());
    match &state.medium {
        MediumImage::Chip(chip) => bytes.extend_from_slice(&chip.to_bytes()),
        MediumImage::Bytes(held) => bytes.extend_from_slice(held),
    }
    zstd::encode_all(bytes.as_slice(), ZSTD_LEVEL)
}

/// The state of such a machine; `None`: the bytes are damaged, or those of another machine's.
pub fn unpacked(packed: &[u8], of: &MachineSpec) -> Option<State> {
    let bytes = zstd::decode_all(packed).ok()?;
    let (head, held) = bytes.split_at_checked(HEAD_BYTES)?;
    let number = |at: usize| Some(u64::from_le_bytes(head[at..at + 8].try_into().ok()?));
    Some(State {
        medium: match of.chip_geometry() {
            Some(geometry) => MediumImage::Chip(Box::new(ChipImage::from_bytes(held, geometry)?)),
            None => MediumImage::Bytes(held.to_vec()),
        },
        at_ns: number(0)?,
        content_position_bytes: usize::try_from(number(8)?).ok()?,
    })
}

impl StateCache {
    fn path(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{key}.state"))
    }

    /// The state of this key, if there is one. A damaged file is ignored.
    pub fn find(&self, key: &str, recipe: &Recipe) -> Option<State> {
        let path = self.path(key);
        let packed = fs::read(&path).ok()?;
        // The time of the file is set, so that states in use are removed last. An error is ignored: in a folder that
        // cannot be written nothing is removed either.
        let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        unpacked(&packed, &recipe.spec)
    }

    /// Writes a state to the cache. Errors are ignored; the state is then made again in the next run.
    pub fn keep(&self, key: &str, state: &State) {
        let Ok(packed) = packed(state) else { return };
        let path = self.path(key);
        let temporary = path.with_extension(format!("{}.part", std::process::id()));
        let written = fs::create_dir_all(&self.dir)
            .and_then(|()| fs::write(&temporary, packed))
            .and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            remove(&temporary);
        }
        self.make_room(BYTES_MAX, &path);
    }

    /// Removes states until the rest takes at most `bytes_max`, beginning with the one that was not used for longest.
    /// `newest` is never removed.
    fn make_room(&self, bytes_max: u64, newest: &Path) {
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        let mut states: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let about = entry.metadata().ok()?;
                let is_state = entry.path().extension()? == "state";
                is_state.then_some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        states.sort();
        let mut bytes: u64 = states.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, of_one, path) in states.iter().filter(|(_, _, path)| path != newest) {
            if bytes <= bytes_max {
                return;
            }
            remove(path);
            bytes -= of_one;
        }
    }
}

fn remove(path: &Path) {
    // The file may not exist at all.
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_states_that_were_not_used_for_longest_make_room() {
        let dir = std::env::temp_dir().join(format!("ffslab-states-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let cache = StateCache { dir: dir.clone(), build: String::new() };
        for (age_s, name) in [(10, "b"), (30, "c"), (20, "a"), (0, "new")] {
            fs::write(cache.path(name), [0; 100]).unwrap();
            let file = File::options().append(true).open(cache.path(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age_s)).unwrap();
        }
        fs::write(dir.join("mine.txt"), [0; 1000]).unwrap();
        let left = || {
            let names = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        cache.make_room(400, &cache.path("new"));
        assert_eq!(left(), ["a.state", "b.state", "c.state", "mine.txt", "new.state"]);
        cache.make_room(250, &cache.path("new"));
        assert_eq!(left(), ["b.state", "mine.txt", "new.state"]);
        cache.make_room(0, &cache.path("new"));
        assert_eq!(left(), ["mine.txt", "new.state"]);
        fs::remove_dir_all(&dir).unwrap();
    }
}
