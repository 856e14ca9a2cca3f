//! Runs that are written down while they go on: a timeline for Perfetto, and the stacks of flame graphs (see `timeline`).
//!
//! Each variant has a file of its own while it runs; in the end they become one, in which the variants are groups of tracks
//! on one axis of time. What is written down is the measurement, from its start.

use crate::error::LabError;
use ffslab_sim::Sim;
use ffslab_text::words::io_reason;
use ffslab_timeline::{Finished, StackRow, Timeline, Wanted};
use serde::Serialize;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What of all variants of an experiment is to be written down. Stacks are in any case.
#[derive(Clone, Debug, Default)]
pub struct Observe {
    /// File of the timeline.
    pub timeline: Option<PathBuf>,
    /// What happens in a call is drawn of one in so many; 0 and 1: of each.
    pub every_calls: u64,
}

/// The same of one variant or session.
#[derive(Clone, Debug)]
pub struct Observed {
    file: Option<PathBuf>,
    sequence: u32,
    title: String,
    every_calls: u64,
}

/// A run that is being written down.
pub struct Observing {
    timeline: Timeline,
    file: Option<PathBuf>,
}

impl Observed {
    /// Of a single run. `sequence`: its number, from 1, if its timeline is put together with others.
    pub fn alone(observe: &Observe, title: &str, sequence: u32) -> Observed {
        Observed {
            file: observe.timeline.clone(),
            sequence,
            title: title.to_string(),
            every_calls: observe.every_calls,
        }
    }

    /// Begins now. `programs`: names of those that run, if there are several.
    ///
    /// Errors: the file cannot be made.
    pub(crate) fn start(&self, sim: &Sim, programs: &[String]) -> Result<Observing, String> {
        let wanted = Wanted {
            file: self.file.as_deref(),
            sequence: self.sequence,
            title: self.title.clone(),
            programs: programs.to_vec(),
            every_calls: self.every_calls,
        };
        let timeline = Timeline::start(sim, &wanted).map_err(|error| unwritten(self.file.as_deref(), &error))?;
        Ok(Observing { timeline, file: self.file.clone() })
    }
}

/// The part of a timeline that is on the disk.
#[derive(Clone, Debug, Serialize)]
pub struct SoFar {
    pub file: PathBuf,
    /// From the beginning of the file. What comes behind it may end in the middle of an event.
    pub bytes: u64,
}

impl Observing {
    /// Whether that is more than stacks.
    pub fn has_timeline(&self) -> bool {
        self.file.is_some()
    }

    /// Writes the timeline to its file, up to now. `None`: there is none.
    ///
    /// Errors: the file could not be written.
    pub fn write_so_far(&self) -> Result<Option<SoFar>, LabError> {
        let written = self.timeline.write_so_far();
        let written = written.map_err(|error| LabError::Input(unwritten(self.file.as_deref(), &error)))?;
        Ok(self.file.clone().zip(written).map(|(file, written)| SoFar { file, bytes: written.bytes }))
    }

    /// Errors: the file could not be written.
    pub(crate) fn finish(self) -> Result<Vec<StackRow>, String> {
        let Observing { timeline, file } = self;
        match timeline.finish() {
            Ok(Finished { stacks, .. }) => Ok(stacks.rows()),
            Err(error) => {
                remove_half_written(file.as_deref());
                Err(unwritten(file.as_deref(), &error))
            }
        }
    }
}

/// A timeline that ends where the disk was full is worse than none: no viewer says that the rest is missing.
fn remove_half_written(file: Option<&Path>) {
    // It may not even have been begun; that it cannot be written is what is told.
    file.iter().for_each(|file| drop(std::fs::remove_file(file)));
}

fn unwritten(file: Option<&Path>, error: &io::Error) -> String {
    let file = file.map_or(String::new(), |file| format!("{}: ", file.display()));
    format!("{file}the timeline cannot be written: {}", io_reason(error))
}

/// The files of variants that run at once, which go away with this.
pub(crate) struct Parts {
    whole: Option<PathBuf>,
    parts: Vec<Option<PathBuf>>,
}

impl Parts {
    /// What is to be written down of so many variants with these titles.
    pub fn of<'a>(observe: &Observe, titles: impl ExactSizeIterator<Item = &'a str>) -> (Parts, Vec<Observed>) {
        let alone = titles.len() == 1;
        let mut parts = Vec::new();
        let mut of_variants = Vec::new();
        for (sequence, title) in (1u32..).zip(titles) {
            let file = observe.timeline.as_ref().map(|whole| {
                if alone {
                    whole.clone()
                } else {
                    let mut name = whole.clone().into_os_string();
                    name.push(format!(".{sequence}"));
                    PathBuf::from(name)
                }
            });
            parts.push(file.clone());
            of_variants.push(Observed { file, sequence, title: title.to_string(), every_calls: observe.every_calls });
        }
        let whole = observe.timeline.clone().filter(|_| !alone);
        (Parts { whole, parts }, of_variants)
    }

    /// Puts them together.
    ///
    /// Errors: the file cannot be written.
    pub fn join(self) -> Result<(), LabError> {
        let Some(whole) = &self.whole else { return Ok(()) };
        let joined = || -> io::Result<()> {
            let mut to = File::create(whole)?;
            // A variant that failed before it was measured has no file.
            for part in self.parts.iter().flatten().filter(|part| part.exists()) {
                io::copy(&mut File::open(part)?, &mut to)?;
                std::fs::remove_file(part)?;
            }
            Ok(())
        };
        joined().map_err(|error| {
            remove_half_written(Some(whole));
            LabError::Input(unwritten(Some(whole), &error))
        })
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if self.whole.is_some() {
            for part in self.parts.iter().flatten() {
                // What is not there any more was joined; nothing else can be done about the rest.
                let _ = std::fs::remove_file(part);
            }
        }
    }
}

/// Columns of `stacks.parquet`, of equal length.
#[derive(Clone, Debug, Default)]
pub struct StackColumns {
    pub variant: Vec<String>,
    pub task: Vec<String>,
    /// The call in which it happened, or what stands for one.
    pub call: Vec<String>,
    /// Empty: nobody has stated one.
    pub reason: Vec<&'static str>,
    pub operation: Vec<&'static str>,
    pub time_ns: Vec<u64>,
    pub energy_uj: Vec<f64>,
    pub operations: Vec<u64>,
    pub erases: Vec<u64>,
}

impl StackColumns {
    pub fn of(variant: &str, rows: Vec<StackRow>) -> StackColumns {
        let mut columns = StackColumns::default();
        columns.extend(variant, rows);
        columns
    }

    /// Adds the rows of another one.
    pub fn append(&mut self, mut of: StackColumns) {
        self.variant.append(&mut of.variant);
        self.task.append(&mut of.task);
        self.call.append(&mut of.call);
        self.reason.append(&mut of.reason);
        self.operation.append(&mut of.operation);
        self.time_ns.append(&mut of.time_ns);
        self.energy_uj.append(&mut of.energy_uj);
        self.operations.append(&mut of.operations);
        self.erases.append(&mut of.erases);
    }

    /// Adds the rows of a variant.
    pub fn extend(&mut self, variant: &str, rows: Vec<StackRow>) {
        for StackRow { task, call, reason, frame, cost } in rows {
            self.variant.push(variant.to_string());
            self.task.push(task);
            self.call.push(call);
            self.reason.push(reason.unwrap_or(""));
            self.operation.push(frame.name());
            self.time_ns.push(cost.time_ns);
            self.energy_uj.push(cost.energy_uj);
            self.operations.push(cost.operations);
            self.erases.push(cost.erases);
        }
    }
}
