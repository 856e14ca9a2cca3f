//! The step `repeat`: its steps round after round, names that count, the condition at which it ends; and the step that deletes
//! what is oldest, without which few loops would end.

use super::execute::{absolute, failed};
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::CallOp;
use ffslab_fs::{FileKind, StatFs};
use ffslab_text::words::size_text;
use ffslab_workload::steps::{self, path_of_many, EndsWhen, Step, Watched};
use std::collections::BTreeMap;

type Done = Result<Facts, Stop>;

/// What counts in loops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// The next number of each name.
    next: BTreeMap<String, u64>,
    /// The numbers that the rounds under way have drawn, the outermost loop first.
    rounds: Vec<BTreeMap<String, u64>>,
}

impl Numbers {
    /// A name with its number in place of its `#`: the one that a loop around has drawn for its round, else the next one.
    fn named(&mut self, name: &str) -> String {
        let known = self.rounds.iter().find_map(|round| round.get(name)).copied();
        let number = known.unwrap_or_else(|| {
            let next = self.next.entry(name.to_string()).or_default();
            *next += 1;
            *next - 1
        });
        if let (None, Some(round)) = (known, self.rounds.last_mut()) {
            round.insert(name.to_string(), number);
        }
        path_of_many("", name, number)
    }

    /// The step with numbers in its names.
    fn put_into(&mut self, step: &mut Step) {
        for path in step.paths_mut().into_iter().filter(|path| path.contains('#')) {
            *path = self.named(path);
        }
    }
}

impl Runner<'_> {
    pub(super) fn repeat(&mut self, step: &steps::Repeat) -> Done {
        let (began_ns, first_row) = (self.system.now_ns(), self.log.len());
        let mut facts = Facts::default();
        let mut rounds = 0;
        loop {
            if let Some(until) = &step.until {
                let (holds, now) = self.looks_at(until, &step.at, began_ns)?;
                if holds {
                    break;
                }
                if rounds == step.rounds_max() && step.times.is_none() {
                    return failed(step.endless(&now));
                }
            }
            if rounds == step.rounds_max() {
                break;
            }
            self.numbers.rounds.push(BTreeMap::new());
            let done = self.round(step, rounds, first_row, &mut facts);
            self.numbers.rounds.pop();
            done?;
            rounds += 1;
            if facts.stopped_by.is_some() {
                break;
            }
        }
        self.log.first_i = 0;
        // Of a loop in a loop each round would have its own.
        if step.until.is_some() && self.numbers.rounds.is_empty() {
            let plural = if rounds == 1 { "" } else { "s" };
            facts.notes.push(format!("{}: {rounds} round{plural}", step.title()));
        }
        Ok(facts)
    }

    /// A round from its first step to its last, or to one that found no room.
    fn round(&mut self, step: &steps::Repeat, number: u64, first_row: usize, facts: &mut Facts) -> Result<(), Stop> {
        for (i, one) in step.steps.iter().enumerate() {
            let mut one = one.clone();
            one.shift_seed(number);
            self.numbers.put_into(&mut one);
            // Rows are numbered on within the step, which is the whole loop.
            self.log.first_i = (self.log.len() - first_row) as u64;
            let untimed_calls = std::mem::take(&mut self.untimed_calls);
            let done = self.execute(&one);
            self.untimed_calls += untimed_calls;
            let in_round = |text: String| format!("round {}, step {} ({}): {text}", number + 1, i + 1, one.title());
            facts.add(done.map_err(|error| match error {
                Stop::Failed(text) => Stop::Failed(in_round(text)),
                Stop::Interrupted => Stop::Interrupted,
            })?);
            if facts.stopped_by.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Whether a condition holds, and how what it watches stands. A program that wants to know the space asks by statfs(2).
    fn looks_at(&mut self, until: &EndsWhen, at: &str, began_ns: u64) -> Result<(bool, String), Stop> {
        if until.watched == Watched::TimeUs {
            let time_us = (self.system.now_ns() - began_ns) / 1_000;
            return Ok((until.holds(time_us as f64), format!("{time_us} us have passed")));
        }
        let space = self.call(CallOp::Other, at, |system| system.statfs_at(&absolute(at)))?;
        let StatFs { block_bytes, blocks, blocks_free, .. } = space;
        let percent_of = |part: u64| part as f64 / blocks.max(1) as f64 * 100.0;
        let df = percent_of(blocks.saturating_sub(blocks_free)).ceil();
        let free_bytes = blocks_free * u64::from(block_bytes);
        let value = match until.watched {
            Watched::FreeBytes => free_bytes as f64,
            Watched::FreePercent => percent_of(blocks_free),
            Watched::DfPercent | Watched::TimeUs => df,
        };
        let now = format!("{:.1} % are free, {}; df shows {df} %", percent_of(blocks_free), size_text(free_bytes));
        Ok((until.holds(value), now))
    }

    pub(super) fn unlink_oldest(&mut self, step: &steps::UnlinkOldest) -> Done {
        let slash = if step.dir.is_empty() { "" } else { "/" };
        let path = absolute(&step.dir);
        let entries = self.call(CallOp::Readdir, &step.dir, |system| system.readdir_path(&path))?;
        let mut known = Vec::new();
        for entry in entries.iter().filter(|entry| entry.kind.is_none_or(|kind| kind == FileKind::File)) {
            let name = String::from_utf8_lossy(&entry.name);
            if !step.means(&name) || name == "." || name == ".." {
                continue;
            }
            let path = format!("{}{slash}{name}", step.dir);
            let about = self.call(CallOp::Stat, &path, |system| system.stat(path.as_bytes()))?;
            if about.kind == FileKind::File {
                known.push((about.modified.seconds, path));
            }
            self.tick()?;
        }
        if (known.len() as u64) < step.count {
            let of_names = if step.name == "*" { String::new() } else { format!(" called {}", step.name) };
            return failed(format!(
                "ENOENT: {} of {} files{of_names} are left in \"{}\"",
                known.len(),
                step.count,
                step.dir
            ));
        }
        known.sort();
        for (_, path) in known.into_iter().take(step.count as usize) {
            self.call(CallOp::Unlink, &path, |system| system.unlink(path.as_bytes()))?;
            self.tick()?;
        }
        Ok(Facts { files: Some(step.count), ..Facts::default() })
    }
}
