//! The socket by which `ffslab stat` and `ffslab checkpoint` talk to a mount: a line of JSON in, a line of JSON out.
//!
//! ```json
//! {"ask": "stat"}
//! {"ask": "checkpoint", "file": "nand.bin", "oob": true, "sync": false}
//! ```

use crate::world::{Job, World};
use ffslab_lab::LabError;
use serde::Deserialize;
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;

#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
enum Question {
    /// What it has done, what the blocks hold.
    Stat,
    /// Writes what the chip holds to a file. `sync`: what is in memory goes there before; the kernel passes no sync(2) on.
    Checkpoint { file: PathBuf, oob: bool, sync: bool },
}

/// Listens as long as it lives.
pub struct Listener {
    socket: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Errors: the socket cannot be made; another mount listens there.
    pub fn new(socket: &Path, jobs: Sender<Job>) -> Result<Listener, LabError> {
        let place = socket.display();
        if UnixStream::connect(socket).is_ok() {
            return Err(LabError::Input(format!("{place}: another ffslab mount listens here: unmount it first")));
        }
        // What a mount that was killed has left.
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
                // Who asks may have gone again: that is no reason to end.
                let _lost = stream.and_then(|stream| answer(&stream, &jobs));
            }
        });
        Ok(Listener { socket: socket.to_path_buf(), stop, thread: Some(thread) })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread.
        let _woken = UnixStream::connect(&self.socket);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
        let _absent = std::fs::remove_file(&self.socket);
    }
}

fn answer(stream: &UnixStream, jobs: &Sender<Job>) -> std::io::Result<()> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let said = match serde_json::from_str::<Question>(&line) {
        Ok(question) => ask(question, jobs),
        Err(error) => Err(error.to_string()),
    };
    let said = match said {
        Ok(value) => json!({ "ok": value }),
        Err(text) => json!({ "error": text }),
    };
    let mut stream = stream;
    writeln!(stream, "{said}")
}

fn ask(question: Question, jobs: &Sender<Job>) -> Result<Value, String> {
    const GONE: &str = "the mount has ended";
    let (tell, told) = channel();
    let work = Box::new(move |world: &mut World| {
        // Who asks may have gone again.
        let _gone = tell.send(world.answer(question));
    });
    jobs.send(Job::Question(work)).map_err(|_| GONE)?;
    told.recv().map_err(|_| GONE)?
}

impl World {
    fn answer(&mut self, question: Question) -> Result<Value, String> {
        match question {
            Question::Stat => Ok(self.stat()),
            Question::Checkpoint { file, oob, sync } => {
                if sync {
                    self.session.sync().map_err(|error| error.to_string())?;
                }
                let image = self.session.stack().image(oob)?;
                write_whole(&file, &image)
                    .map_err(|error| format!("{}: cannot be written: {error}", file.display()))?;
                Ok(json!({ "file": file, "bytes": image.len() }))
            }
        }
    }

    fn stat(&mut self) -> Value {
        let free_bytes = self.session.free_bytes();
        let stack = self.session.stack();
        let space = stack.block_space();
        json!({
            "fs": self.session.keys().fs,
            "board": self.session.keys().board,
            "part": self.session.keys().part,
            "powered": stack.with_chip(|chip| chip.is_on()),
            "host_s": self.began.elapsed().as_secs_f64(),
            "fuse_requests": self.requests,
            "totals": self.session.totals(),
            "by_cause": self.session.causes(),
            "free_B": free_bytes,
            "partition_B": stack.partition_bytes(),
            "block_B": stack.block_bytes(),
            "blocks": {
                "erases": stack.erase_counts(),
                "valid_B": space.iter().map(|held| held.valid_bytes).collect::<Vec<_>>(),
                "invalid_B": space.iter().map(|held| held.invalid_bytes).collect::<Vec<_>>(),
                "free_B": space.iter().map(|held| held.free_bytes).collect::<Vec<_>>(),
            },
        })
    }
}

/// Writes a file beside its place and renames it: it is complete, or what was there before.
pub fn write_whole(file: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut unfinished = file.as_os_str().to_os_string();
    unfinished.push(".unfinished");
    let written = std::fs::write(&unfinished, content).and_then(|()| std::fs::rename(&unfinished, file));
    if written.is_err() {
        let _absent = std::fs::remove_file(&unfinished);
    }
    written
}
