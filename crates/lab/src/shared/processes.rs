//! Hands out variants to the processes that have made their setups, and gathers the answers.

use super::forked::forked;
use super::lanes::{Answering, Message};
use super::nursery::{self, Request, NO_MORE};
use super::to_share::{Answers, ToShare};
use super::wire::Wire;
use crate::pieces::Piece;
use crate::result::SharedSetups;
use crate::run::RunError;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::signal::{killpg, Signal};
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::{setpgid, Pid};
use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::AsFd;
use std::time::Instant;

/// How often progress is told, and processes are looked after, while no answer comes.
const LOOK_EVERY_MS: u16 = 50;

/// A process that makes the setup of a group.
struct Nursery {
    process: Pid,
    requests: PipeWriter,
    /// Its other end, which stays open here: a request to a process that has ended is no signal to this one.
    _asked: PipeReader,
    waiting: VecDeque<usize>,
    began: Instant,
    is_set_up: bool,
    setup_seconds: f64,
    /// Whether a variant has begun from its setup.
    is_shared: bool,
    has_ended: bool,
}

/// It ends with all processes that it has forked.
impl Drop for Nursery {
    fn drop(&mut self) {
        if !self.has_ended {
            let _ = killpg(self.process, Signal::SIGKILL);
            let _ = waitpid(self.process, None);
        }
    }
}

impl Nursery {
    /// Its setup is done.
    fn set_up(&mut self) {
        self.is_set_up = true;
        self.setup_seconds = self.began.elapsed().as_secs_f64();
    }

    /// Asks for the next variant, which is to answer on this lane.
    fn ask(&mut self, lane: usize) -> Option<usize> {
        let place = self.waiting.pop_front()?;
        let mut request = Vec::new();
        Request::put(&(place as u32, lane as u32), &mut request);
        if self.waiting.is_empty() {
            NO_MORE.put(&mut request);
        }
        self.requests.write_all(&request).ok().map(|()| place)
    }
}

struct Lane {
    answering: Answering,
    /// What runs: number of its nursery, and its place.
    runs: Option<(usize, usize)>,
}

struct Course<'a> {
    to_share: &'a ToShare<'a>,
    groups: VecDeque<Vec<usize>>,
    /// By number; one that has ended is gone.
    nurseries: Vec<Option<Nursery>>,
    lanes: Vec<Lane>,
    writers: Vec<PipeWriter>,
    answers: Answers,
    shared: SharedSetups,
}

/// See [`super::groups::run`].
pub(super) fn run(
    to_share: &ToShare,
    groups: Vec<Vec<usize>>,
    report: &mut dyn FnMut(usize, Option<u64>) -> bool,
) -> Result<(Answers, SharedSetups), RunError> {
    let mut course = Course {
        to_share,
        groups: groups.into(),
        nurseries: Vec::new(),
        lanes: Vec::new(),
        writers: Vec::new(),
        answers: to_share.running.iter().map(|_| None).collect(),
        shared: SharedSetups::default(),
    };
    for _ in 0..to_share.jobs {
        // Fewer lanes are fewer variants at once.
        let Ok((reader, writer)) = io::pipe() else { break };
        course.lanes.push(Lane { answering: Answering::new(reader), runs: None });
        course.writers.push(writer);
    }
    loop {
        course.assign();
        let is_done = course.lanes.iter().all(|lane| lane.runs.is_none());
        // Of a process that was killed nobody knows what it has still sent: what is not answered runs without one.
        if is_done || !course.gather(report)? {
            return Ok((std::mem::take(&mut course.answers), course.shared));
        }
    }
}

impl Course<'_> {
    /// Gives variants to lanes that have none: those whose setup is done, or the first one of another group.
    fn assign(&mut self) {
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].runs.is_some() {
                continue;
            }
            let is_ready = |nursery: &Nursery| nursery.is_set_up && !nursery.waiting.is_empty();
            let found = self.nurseries.iter().position(|one| one.as_ref().is_some_and(is_ready));
            if let Some(number) = found {
                let asked = self.nurseries[number].as_mut().and_then(|nursery| nursery.ask(lane));
                self.lanes[lane].runs = asked.map(|place| (number, place));
                continue;
            }
            let begun = self.nurseries.iter().flatten().filter(|nursery| !nursery.waiting.is_empty()).count();
            let Some(places) = (begun < self.lanes.len()).then(|| self.groups.pop_front()).flatten() else { continue };
            // Without a process the variants of the group stay without an answer.
            if let Some(mut nursery) = self.begun(places) {
                let number = self.nurseries.len();
                self.lanes[lane].runs = nursery.ask(lane).map(|place| (number, place));
                self.nurseries.push(Some(nursery));
            }
        }
    }

    /// Forks the process of a group.
    fn begun(&self, places: Vec<usize>) -> Option<Nursery> {
        let (asked, requests) = io::pipe().ok()?;
        let mut process = None;
        (self.to_share.quiet)(&mut || {
            process = forked(|| nursery::work(self.to_share, &asked, &self.writers)).ok();
        });
        let process = process?;
        // The new process does the same: whoever of the two comes first.
        let _ = setpgid(process, process);
        Some(Nursery {
            process,
            requests,
            _asked: asked,
            waiting: places.into(),
            began: Instant::now(),
            is_set_up: false,
            setup_seconds: 0.0,
            is_shared: false,
            has_ended: false,
        })
    }

    /// Waits for answers, and takes them. Whether all processes are as they should be.
    ///
    /// Errors: it is not to go on.
    fn gather(&mut self, report: &mut dyn FnMut(usize, Option<u64>) -> bool) -> Result<bool, RunError> {
        for nursery in self.nurseries.iter_mut().flatten().filter(|nursery| !nursery.has_ended) {
            match waitpid(nursery.process, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => {}
                Ok(WaitStatus::Exited(_, 0)) => nursery.has_ended = true,
                _ => {
                    nursery.has_ended = true;
                    return Ok(false);
                }
            }
        }
        let with_answers = self.with_answers();
        let is_silent = |lane: usize, runs: Option<(usize, usize)>| {
            let nursery = runs.map(|(number, _)| self.nurseries[number].as_ref());
            !with_answers.contains(&lane) && nursery.is_some_and(|one| one.is_none_or(|nursery| nursery.has_ended))
        };
        // Nobody is left who could answer.
        if self.lanes.iter().enumerate().any(|(number, lane)| is_silent(number, lane.runs)) {
            return Ok(false);
        }
        for lane in with_answers {
            let Some((number, place)) = self.lanes[lane].runs else { continue };
            if self.lanes[lane].answering.read().is_err() {
                return Ok(false);
            }
            while let Some(message) = self.lanes[lane].answering.next() {
                let calls = self.take((lane, number, place), message);
                if !report(place, calls) {
                    return Err(RunError::Interrupted);
                }
            }
        }
        if !report(0, None) {
            return Err(RunError::Interrupted);
        }
        for (number, nursery) in self.nurseries.iter_mut().enumerate() {
            let is_waited_for = self.lanes.iter().any(|lane| lane.runs.is_some_and(|(of, _)| of == number));
            if nursery.as_ref().is_some_and(|nursery| nursery.has_ended && !is_waited_for) {
                *nursery = None;
            }
        }
        Ok(true)
    }

    /// Waits until a lane has something, not for long.
    fn with_answers(&self) -> Vec<usize> {
        let lanes = self.lanes.iter();
        let mut fds: Vec<PollFd> =
            lanes.map(|lane| PollFd::new(lane.answering.reader.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut fds, PollTimeout::from(LOOK_EVERY_MS)) {
            Ok(_) => fds.iter().enumerate().filter(|(_, fd)| fd.any() == Some(true)).map(|(lane, _)| lane).collect(),
            // A signal has come, which is looked at elsewhere.
            Err(_) => Vec::new(),
        }
    }

    /// Takes what came on a lane; the calls that were made, if it says so.
    fn take(&mut self, (lane, number, place): (usize, usize, usize), message: Message) -> Option<u64> {
        if message.is_last() {
            self.lanes[lane].runs = None;
        }
        let answer = match message {
            Message::Calls(calls) => return Some(calls),
            Message::SetUp => {
                self.nurseries[number].iter_mut().for_each(Nursery::set_up);
                return None;
            }
            Message::Piece(bytes) => Piece::take(&mut &bytes[..]).map(Ok),
            Message::Failed(text) => Some(Err(RunError::Step(text))),
            Message::Nothing => None,
        };
        if let Some(nursery) = self.nurseries[number].as_mut().filter(|_| answer.is_some()) {
            self.shared.variants_count += 1;
            if !std::mem::replace(&mut nursery.is_shared, true) {
                self.shared.setups_count += 1;
                self.shared.seconds += nursery.setup_seconds;
            }
        }
        self.answers[place] = answer;
        None
    }
}
