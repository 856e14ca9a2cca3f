//! The socket by which `ffslab stat`, `ffslab checkpoint` and programs with the preloaded library (`preload/sleeps.c`) talk to a mount: a line of JSON in, a line of JSON out.
//!
//! ```json
//! {"ask": "stat"}
//! {"ask": "sleep", "ns": 3600000000000}
//! {"ask": "clock"}
//! {"ask": "checkpoint", "file": "nand.bin", "oob": true, "sync": false}
//! {"ask": "timeline"}
//! ```

use crate::simulation::Simulation;
use crate::world::World;
use ffslab_lab::counts::CauseSummary;
use ffslab_lab::legend::Legend;
use ffslab_lab::session::SessionTotals;
use ffslab_lab::slowest::SlowCall;
use ffslab_lab::{LabError, Observing};
use ffslab_mtd::Mtd;
use ffslab_system::SystemError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use thiserror::Error;

#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
enum Question {
    /// Counters so far, and the content of the blocks.
    Stat,
    /// Writes the content of the chip to a file. `sync`: dirty data in memory are written to the chip first; the kernel
    /// does not pass sync(2) on to a mount.
    Checkpoint { file: PathBuf, oob: bool, sync: bool },
    /// A program sleeps so long on the board.
    Sleep { ns: u64 },
    /// A program looks at the board's clock.
    Clock,
    /// Writes the timeline to its file, up to now.
    Timeline,
}

/// What a mount has done so far.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MountStat {
    #[serde(rename = "block_B")]
    pub block_bytes: Option<u64>,
    pub blocks: MountBlocks,
    pub board: String,
    pub by_cause: Vec<CauseSummary>,
    pub causes: Legend,
    #[serde(rename = "free_B")]
    pub free_bytes: Option<u64>,
    pub fs: String,
    pub fuse_requests: u64,
    /// Since the mount began, by the clock of the machine on which it runs.
    pub host_s: f64,
    pub part: Option<String>,
    #[serde(rename = "partition_B")]
    pub partition_bytes: u64,
    pub powered: bool,
    /// The slowest calls so far.
    pub slowest: Vec<SlowCall>,
    pub system: &'static str,
    /// Whether a timeline is being written (`--timeline`).
    pub timeline: bool,
    pub totals: SessionTotals,
}

/// The erase blocks of the partition: one value each.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MountBlocks {
    pub erases: Vec<u32>,
    #[serde(rename = "free_B")]
    pub free_bytes: Vec<u32>,
    #[serde(rename = "invalid_B")]
    pub invalid_bytes: Vec<u32>,
    #[serde(rename = "valid_B")]
    pub valid_bytes: Vec<u32>,
}

/// The thread that listens on the socket; dropping this value ends it.
pub struct Listener {
    socket: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Errors: the socket cannot be made; another mount listens there.
    pub fn new(socket: &Path, simulation: Arc<Simulation>) -> Result<Listener, LabError> {
        let place = socket.display();
        if UnixStream::connect(socket).is_ok() {
            return Err(LabError::Input(format!("{place}: another ffslab mount listens here: unmount it first")));
        }
        // A mount that was killed has left its socket behind.
        let _absent = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket)
            .map_err(|error| LabError::Input(format!("{place}: cannot make the mount's socket: {error}")))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                // The program that asks may have ended already, which is no reason to stop listening.
                let _lost = stream.and_then(|stream| answer(&stream, &simulation));
            }
        });
        Ok(Listener { socket: socket.to_path_buf(), stop, thread: Some(thread) })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The connection wakes the thread, which then sees that it must stop.
        let _woken = UnixStream::connect(&self.socket);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
        let _absent = std::fs::remove_file(&self.socket);
    }
}

fn answer(stream: &UnixStream, simulation: &Simulation) -> std::io::Result<()> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let said = match serde_json::from_str::<Question>(&line) {
        Ok(question) => ask(question, simulation),
        Err(error) => Err(error.into()),
    };
    let said = match said {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    let mut stream = stream;
    writeln!(stream, "{said}")
}

/// Why a question is not answered; one line.
#[derive(Debug, Error)]
enum AskError {
    #[error("the mount has ended")]
    Ended,
    #[error(transparent)]
    Refused(#[from] SystemError),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("no timeline is written: mount with --timeline FILE")]
    NoTimeline,
    #[error("{}: cannot be written: {error}", file.display())]
    Unwritable { file: PathBuf, error: std::io::Error },
    /// The question is none, or the answer cannot be said.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

fn ask(question: Question, simulation: &Simulation) -> Result<Value, AskError> {
    match question {
        Question::Stat => {
            let now = simulation.question(World::stat).ok_or(AskError::Ended)?;
            Ok(serde_json::to_value(now)?)
        }
        Question::Sleep { ns } => {
            let now = simulation.question(move |world| world.sleep_ns(ns)).ok_or(AskError::Ended)?;
            Ok(serde_json::to_value(now)?)
        }
        Question::Clock => {
            let now = simulation.question(World::look_at_clock).ok_or(AskError::Ended)?;
            Ok(serde_json::to_value(now)?)
        }
        Question::Timeline => {
            let written = |world: &mut World| world.session.observing.as_ref().map(Observing::write_so_far).transpose();
            let written = simulation.question(written).ok_or(AskError::Ended)??.flatten();
            Ok(serde_json::to_value(written.ok_or(AskError::NoTimeline)?)?)
        }
        Question::Checkpoint { file, oob, sync } => {
            let image = simulation.question(move |world| world.image(oob, sync)).ok_or(AskError::Ended)??;
            // The file may be on this mount; at this point no request is waiting for the simulation any more.
            let written = write_whole(&file, &image);
            written.map_err(|error| AskError::Unwritable { file: file.clone(), error })?;
            Ok(json!({ "file": file, "bytes": image.len() }))
        }
    }
}

impl World {
    /// The content of the medium as an image; only raw NAND has OOB areas. `sync`: dirty data in memory are written to the chip first.
    pub fn image(&mut self, oob: bool, sync: bool) -> Result<Vec<u8>, SystemError> {
        if sync {
            self.session.sync()?;
        }
        let system = self.session.system();
        system.image(oob && system.mtd().is_some_and(|mtd| mtd.capabilities().oob_bytes > 0))
    }

    fn stat(&mut self) -> MountStat {
        let by_cause = self.session.causes();
        let free_bytes = self.session.free_bytes();
        let system = self.session.system();
        let keys = self.session.keys().linux();
        let space = system.block_space();
        MountStat {
            block_bytes: system.mtd().map(Mtd::erase_block_bytes).map(u64::from),
            blocks: MountBlocks {
                erases: system.erase_counts(),
                free_bytes: space.iter().map(|held| held.free_bytes).collect(),
                invalid_bytes: space.iter().map(|held| held.invalid_bytes).collect(),
                valid_bytes: space.iter().map(|held| held.valid_bytes).collect(),
            },
            board: self.session.keys().board().to_string(),
            causes: Legend::of(&by_cause),
            by_cause,
            free_bytes,
            fs: self.session.keys().fs().to_string(),
            fuse_requests: self.requests,
            host_s: self.began.elapsed().as_secs_f64(),
            part: keys.and_then(|keys| keys.part.clone()),
            partition_bytes: system.medium_bytes(),
            powered: system.is_powered(),
            slowest: self.session.slowest(),
            system: system.system_name(),
            timeline: self.session.observing.as_ref().is_some_and(Observing::has_timeline),
            totals: self.session.totals(),
        }
    }
}

/// Writes a file under a temporary name and renames it, so that it is complete or unchanged.
pub fn write_whole(file: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut unfinished = file.as_os_str().to_os_string();
    unfinished.push(".unfinished");
    let written = std::fs::write(&unfinished, content).and_then(|()| std::fs::rename(&unfinished, file));
    if written.is_err() {
        let _absent = std::fs::remove_file(&unfinished);
    }
    written
}
