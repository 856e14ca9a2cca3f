//! fio's logs of I/O, versions 2 and 3: what `write_iolog` writes and `read_iolog` reads.
//!
//! Format: HOWTO.rst of fio 3.33, "Trace file format", and `iolog.c` where it says more: times are microseconds since
//! the job began; a "wait" of version 2 ends so many milliseconds after the start.

use super::process::{Action, Layout};
use crate::steps::Advice;
use std::collections::{BTreeMap, VecDeque};
use thiserror::Error;

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Line in the text, from 1.
    pub line: u64,
    /// Time since the start of the log; logs of version 2 have none.
    pub at_us: Option<u64>,
    pub file: String,
    pub event: Event,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Add,
    Open,
    Close,
    Read {
        offset: u64,
        bytes: u64,
    },
    Write {
        offset: u64,
        bytes: u64,
    },
    Trim {
        offset: u64,
        bytes: u64,
    },
    Sync,
    DataSync,
    /// Waits until so many milliseconds after the start.
    Wait {
        ms: u64,
    },
}

/// First lines of the two versions.
pub const HEADS: [&str; 2] = ["fio version 2 iolog", "fio version 3 iolog"];

/// Why a line of a log cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LogError {
    #[error("expected \"{}\" or \"{}\"", HEADS[0], HEADS[1])]
    NoHead,
    #[error("a second log begins here: one log holds one process")]
    SecondLog,
    /// `wanted`: what lines of its version look like.
    #[error("{wanted}")]
    Line { wanted: &'static str },
    #[error("unknown action \"{action}\": {wanted}")]
    Action { action: String, wanted: &'static str },
    #[error("version 3 has no \"wait\": the times of its lines say it")]
    WaitInVersion3,
    #[error("\"trim\": a job makes none; `replay` of the log does, on a block device")]
    Trim,
    /// It is opened, closed or used when it cannot be.
    #[error("{file} is {state}")]
    State { file: String, state: &'static str },
}

/// Reads a log line by line.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// Version of the log; 0: the first line has not been read yet.
    version: u32,
    open: BTreeMap<String, bool>,
}

impl Reader {
    /// Reads the next line, which has no spaces around it.
    ///
    /// Errors: line, and what is wrong there.
    pub fn line(&mut self, line: u64, text: &str) -> Result<Option<Entry>, (u64, LogError)> {
        if self.version == 0 {
            self.version = match text {
                head if head.starts_with(HEADS[0]) => 2,
                head if head.starts_with(HEADS[1]) => 3,
                _ => return Err((line, LogError::NoHead)),
            };
            return Ok(None);
        }
        if text.is_empty() {
            return Ok(None);
        }
        // The processes of a job append to one file, and each begins with a first line of its own.
        if HEADS.contains(&text) {
            return Err((line, LogError::SecondLog));
        }
        let entry = parse_line(line, text, self.version).map_err(|why| (line, why))?;
        self.check_open(&entry)?;
        Ok(Some(entry))
    }

    fn check_open(&mut self, entry: &Entry) -> Result<(), (u64, LogError)> {
        let is_open = match self.open.get_mut(&entry.file) {
            Some(is_open) => is_open,
            None => self.open.entry(entry.file.clone()).or_default(),
        };
        let expected = match entry.event {
            Event::Add | Event::Wait { .. } => return Ok(()),
            Event::Open => !std::mem::replace(is_open, true),
            Event::Close => std::mem::replace(is_open, false),
            _ => *is_open,
        };
        if expected {
            return Ok(());
        }
        let state = if entry.event == Event::Open { "open already" } else { "not open" };
        Err((entry.line, LogError::State { file: entry.file.clone(), state }))
    }
}

/// Reads the log of a job, which makes reads, writes and syncs.
///
/// Errors: line, and what is wrong there.
pub fn parse(text: &str) -> Result<Vec<Entry>, (u64, LogError)> {
    let mut reader = Reader::default();
    let mut entries = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let entry = reader.line(i as u64 + 1, line.trim())?;
        if let Some(Entry { line, event: Event::Trim { .. }, .. }) = entry {
            return Err((line, LogError::Trim));
        }
        entries.extend(entry);
    }
    match reader.version {
        0 => reader.line(1, "").map(|_| entries),
        _ => Ok(entries),
    }
}

fn parse_line(line: u64, text: &str, version: u32) -> Result<Entry, LogError> {
    let wanted = match version {
        2 => "expected \"FILE ACTION\" or \"FILE ACTION OFFSET LENGTH\"",
        _ => "expected \"TIME FILE ACTION\" or \"TIME FILE ACTION OFFSET LENGTH\"",
    };
    let mut words = text.split_whitespace();
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok()).ok_or(LogError::Line { wanted });
    let at_us = if version == 3 { Some(number(words.next())?) } else { None };
    let (Some(file), Some(action)) = (words.next(), words.next()) else { return Err(LogError::Line { wanted }) };
    let event = match action {
        "add" => Event::Add,
        "open" => Event::Open,
        "close" => Event::Close,
        "read" => Event::Read { offset: number(words.next())?, bytes: number(words.next())? },
        "write" => Event::Write { offset: number(words.next())?, bytes: number(words.next())? },
        "sync" => Event::Sync,
        "datasync" => Event::DataSync,
        "wait" if version == 2 => Event::Wait { ms: number(words.next())? },
        "wait" => return Err(LogError::WaitInVersion3),
        "trim" => Event::Trim { offset: number(words.next())?, bytes: number(words.next())? },
        other => return Err(LogError::Action { action: other.to_string(), wanted }),
    };
    Ok(Entry { line, at_us, file: file.to_string(), event })
}

/// The files of a log in the order of their first use, each with the smallest initial size with which all reads
/// succeed.
pub fn files_of(entries: &[Entry]) -> Vec<(String, u64)> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    // Name, size needed at the start, current size.
    let mut files: Vec<(String, u64, u64)> = Vec::new();
    for entry in entries.iter().filter(|entry| !matches!(entry.event, Event::Wait { .. })) {
        let index = *known.entry(&entry.file).or_insert_with(|| {
            files.push((entry.file.clone(), 0, 0));
            files.len() - 1
        });
        let (_, needed, size) = &mut files[index];
        match entry.event {
            Event::Read { offset, bytes } => {
                let end = offset.saturating_add(bytes);
                if end > *size {
                    (*needed, *size) = (end, end);
                }
            }
            Event::Write { offset, bytes } => *size = offset.saturating_add(bytes).max(*size),
            _ => {}
        }
    }
    files.into_iter().map(|(name, needed, _)| (name, needed)).collect()
}

/// Size of the writes that lay a replayed file out.
const LAYOUT_REQUEST_BYTES: u64 = 64 << 10;

/// Replays a log within a job (`read_iolog`).
#[derive(Clone, Debug)]
pub struct Replayer {
    entries: Vec<Entry>,
    files: Vec<(String, u64)>,
    names: Vec<String>,
    /// Index into `files` of each entry.
    file_of_entry: Vec<usize>,
    next: usize,
    waited: bool,
    no_stall: bool,
    last_issue_ns: u64,
    last_at_us: Option<u64>,
    open: Vec<bool>,
    invalidate: bool,
}

impl Replayer {
    /// `no_stall`: requests follow each other without pauses. `invalidate`: the option of that name.
    pub fn new(entries: Vec<Entry>, no_stall: bool, invalidate: bool) -> Replayer {
        let files = files_of(&entries);
        let names: Vec<String> = files.iter().map(|(name, _)| name.trim_start_matches('/').to_string()).collect();
        let index: BTreeMap<&str, usize> = files.iter().enumerate().map(|(i, (name, _))| (name.as_str(), i)).collect();
        let file_of_entry = entries.iter().map(|entry| index.get(entry.file.as_str()).copied().unwrap_or(0)).collect();
        let open = vec![false; files.len()];
        let (next, waited, last_issue_ns, last_at_us) = (0, false, 0, None);
        Replayer {
            entries,
            files,
            names,
            file_of_entry,
            next,
            waited,
            no_stall,
            last_issue_ns,
            last_at_us,
            open,
            invalidate,
        }
    }

    /// Paths from the root of the file system.
    pub fn file_names(&self) -> &[String] {
        &self.names
    }

    /// Whether the log has reads, and whether it has writes.
    pub fn directions(&self) -> (bool, bool) {
        let any = |wanted: fn(&Event) -> bool| self.entries.iter().any(|entry| wanted(&entry.event));
        (any(|e| matches!(e, Event::Read { .. })), any(|e| matches!(e, Event::Write { .. })))
    }

    pub fn layouts(&self, present_bytes: &[Option<u64>]) -> Vec<Layout> {
        let short = |&(i, size_bytes): &(usize, u64)| {
            size_bytes > 0 && present_bytes.get(i).copied().flatten().unwrap_or(0) < size_bytes
        };
        let sizes = self.files.iter().map(|(_, size)| *size).enumerate().filter(short);
        sizes
            .map(|(file, size_bytes)| Layout { file, fill: true, size_bytes, request_bytes: LAYOUT_REQUEST_BYTES })
            .collect()
    }

    /// Queues the action of the next line, or a pause before it. Returns `false` at the end of the log.
    pub fn next_actions(&mut self, elapsed_ns: u64, queue: &mut VecDeque<Action>) -> bool {
        while let Some(entry) = self.entries.get(self.next) {
            if let (Event::Wait { ms }, false) = (entry.event, self.no_stall) {
                self.next += 1;
                queue.push_back(Action::WaitUntil { ns: ms.saturating_mul(1_000_000) });
                return true;
            }
            if let (Some(at_us), Some(last_us), false, false) =
                (entry.at_us, self.last_at_us, self.waited, self.no_stall)
            {
                let pause_ns = at_us.saturating_sub(last_us).saturating_mul(1_000);
                let due_ns = self.last_issue_ns.saturating_add(pause_ns);
                if due_ns > elapsed_ns {
                    self.waited = true;
                    queue.push_back(Action::WaitUntil { ns: due_ns });
                    return true;
                }
            }
            let index = self.file_of_entry[self.next];
            let action = match entry.event {
                // Reading the log of a job refuses trims.
                Event::Add | Event::Wait { .. } | Event::Trim { .. } => None,
                Event::Open => Some(Action::Open { file: index }),
                Event::Close => Some(Action::Close { file: index }),
                Event::Read { offset, bytes } => Some(Action::Transfer { file: index, write: false, offset, bytes }),
                Event::Write { offset, bytes } => Some(Action::Transfer { file: index, write: true, offset, bytes }),
                Event::Sync => Some(Action::Sync { file: index, data_only: false }),
                Event::DataSync => Some(Action::Sync { file: index, data_only: true }),
            };
            // fio takes the time of every line, also of lines without an action.
            (self.last_at_us, self.last_issue_ns, self.waited) = (entry.at_us, elapsed_ns, false);
            self.next += 1;
            let Some(action) = action else { continue };
            queue.push_back(action);
            match action {
                Action::Open { file } => {
                    self.open[file] = true;
                    if self.invalidate {
                        queue.push_back(Action::Advise { file, advice: Advice::DontNeed, offset: 0, bytes: 0 });
                    }
                }
                Action::Close { file } => self.open[file] = false,
                _ => {}
            }
            return true;
        }
        false
    }

    /// Queues the closing of all files that are still open.
    pub fn close_all(&mut self, queue: &mut VecDeque<Action>) {
        for (file, open) in self.open.iter_mut().enumerate() {
            if std::mem::replace(open, false) {
                queue.push_back(Action::Close { file });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V3: &str = "fio version 3 iolog\n9 a add\n10 a open\n20 a read 0 4096\n1020 a write 4096 512\n1030 a close\n";

    #[test]
    fn both_versions_are_read() {
        let entries = parse(V3).unwrap();
        assert_eq!(entries.len(), 5);
        assert_eq!(entries[2].event, Event::Read { offset: 0, bytes: 4096 });
        let v2 = parse("fio version 2 iolog\na add\na open\na wait 5 0\na sync\na close\n").unwrap();
        assert_eq!((v2[2].event, v2[2].at_us), (Event::Wait { ms: 5 }, None));
    }

    #[test]
    fn a_broken_line_is_named() {
        let error = |text: &str| parse(&format!("fio version 3 iolog\n{text}\n")).unwrap_err();
        assert_eq!(error("1 a add\n2 a read 0").0, 3);
        assert_eq!(error("1 a read 0 1"), (2, LogError::State { file: "a".to_string(), state: "not open" }));
        assert_eq!(error("1 a open\n2 a trim 0 1"), (3, LogError::Trim));
        assert!(parse("a read 0 1\n").unwrap_err().1.to_string().starts_with("expected \"fio version 2"));
    }

    #[test]
    fn what_is_read_before_it_is_written_must_exist() {
        assert_eq!(files_of(&parse(V3).unwrap()), [("a".to_string(), 4096)]);
    }

    #[test]
    fn a_replay_keeps_the_distances_between_issues() {
        let mut replayer = Replayer::new(parse(V3).unwrap(), false, false);
        let mut queue = VecDeque::new();
        let mut elapsed_ns = 0;
        let mut issued = Vec::new();
        while replayer.next_actions(elapsed_ns, &mut queue) {
            match queue.pop_front().unwrap() {
                Action::WaitUntil { ns } => elapsed_ns = ns,
                action => {
                    issued.push((elapsed_ns, action));
                    elapsed_ns += 500_000;
                }
            }
        }
        let times: Vec<u64> = issued.iter().map(|(at, _)| at / 1_000).collect();
        // 1 us after "add"; then each call takes 500 us; the write waits until 1000 us after the read.
        assert_eq!(times, [1, 501, 1501, 2001]);
    }
}
