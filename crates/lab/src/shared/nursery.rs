//! The process that makes a setup, and those of the variants that begin from it. None of them comes back to what it was forked from.

use super::forked::forked;
use super::lanes::{told_on, Message};
use super::to_share::ToShare;
use super::wire::Wire;
use crate::pieces::{Piece, VariantText};
use crate::run::{measure, RunError, SetUp};
use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::{setpgid, Pid};
use std::collections::BTreeMap;
use std::io::{PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// How long a process waits before it looks after those that it has forked.
const LOOK_EVERY_MS: u16 = 50;

/// Place of a variant, and number of the lane on which it is to answer.
pub(super) type Request = (u32, u32);
pub(super) const REQUEST_BYTES: usize = 8;
/// There is no further one.
pub(super) const NO_MORE: Request = (u32::MAX, 0);

/// Makes the setup of the variant that is asked for first, and lets this and the others begin from it until nobody asks any more.
pub(super) fn work(to_share: &ToShare, requests: &PipeReader, lanes: &[PipeWriter]) {
    // A group of its own, which can be ended as a whole; Ctrl-C is for the command alone.
    let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    // What goes wrong here is told by who runs the variant instead.
    std::panic::set_hook(Box::new(|_| {}));
    let Some((place, first_lane)) = next(requests) else { return };
    let made = catch_unwind(AssertUnwindSafe(|| set_up(to_share, place as usize, &lanes[first_lane as usize])));
    let mut set_up = match made {
        Ok(Ok(set_up)) if is_single_threaded() => Ok(set_up),
        Ok(Err(RunError::Step(text))) => Err(Message::Failed(text)),
        _ => Err(Message::Nothing),
    };
    if Message::SetUp.send(&lanes[first_lane as usize]).is_err() {
        return;
    }
    let mut children: BTreeMap<Pid, u32> = BTreeMap::new();
    let mut asked = Some((place, first_lane));
    while let Some((place, lane)) = asked {
        let sent = match &mut set_up {
            Err(message) => message.send(&lanes[lane as usize]),
            Ok(set_up) => match forked(|| answer(to_share, place as usize, set_up, &lanes[lane as usize])) {
                Ok(child) => {
                    children.insert(child, lane);
                    Ok(())
                }
                Err(_) => Message::Nothing.send(&lanes[lane as usize]),
            },
        };
        if sent.is_err() {
            return;
        }
        asked = waited(requests, &mut children, lanes);
    }
    while !children.is_empty() {
        look_after(&mut children, lanes, None);
    }
    // The process ends: all its memory goes at once.
    std::mem::forget(set_up);
}

fn set_up(to_share: &ToShare, place: usize, lane: &PipeWriter) -> Result<Option<SetUp>, RunError> {
    let (ready, states) = (to_share.running[place], to_share.states);
    ready
        .planned(to_share.traces, states, to_share.rows_max, |system, plan| SetUp::of(system, plan, &mut told_on(lane)))
        .map(Some)
}

/// Runs a variant from its setup on.
fn answer(to_share: &ToShare, place: usize, set_up: &mut Option<SetUp>, lane: &PipeWriter) {
    let ready = to_share.running[place];
    let observed = to_share.observed.map(|all| &all[place]);
    let set_up = set_up.take().expect("only copies of it are taken").never_freed();
    // Who does not listen has ended, and this process with it.
    let _ = Message::Calls(set_up.calls()).send(lane);
    let plan = ready.plan(to_share.traces, to_share.states, to_share.rows_max, observed);
    let message = match measure(set_up, &plan, &mut told_on(lane)) {
        Ok(outcome) => {
            let mut bytes = Vec::new();
            Piece::<VariantText>::of(ready, outcome).put(&mut bytes);
            Message::Piece(bytes)
        }
        Err(RunError::Step(text)) => Message::Failed(text),
        Err(RunError::Interrupted) => Message::Nothing,
    };
    let _ = message.send(lane);
}

/// The next variant that is asked for; `None`: there is no further one. Looks after the variants that run meanwhile.
fn waited(requests: &PipeReader, children: &mut BTreeMap<Pid, u32>, lanes: &[PipeWriter]) -> Option<Request> {
    loop {
        look_after(children, lanes, Some(WaitPidFlag::WNOHANG));
        let mut fds = [PollFd::new(requests.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::from(LOOK_EVERY_MS)) {
            Ok(0) | Err(Errno::EINTR) => {}
            _ => return next(requests),
        }
    }
}

fn next(mut requests: &PipeReader) -> Option<Request> {
    let mut request = [0; REQUEST_BYTES];
    requests.read_exact(&mut request).ok()?;
    Request::take(&mut &request[..]).filter(|request| *request != NO_MORE)
}

/// Takes note of a variant whose process has ended, and answers for one that could not.
fn look_after(children: &mut BTreeMap<Pid, u32>, lanes: &[PipeWriter], flags: Option<WaitPidFlag>) {
    while !children.is_empty() {
        let (child, answered) = match waitpid(Pid::from_raw(-1), flags) {
            Ok(WaitStatus::Exited(child, code)) => (child, code == 0),
            Ok(WaitStatus::Signaled(child, ..)) => (child, false),
            Ok(WaitStatus::StillAlive) => return,
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(_) => return children.clear(),
        };
        let lane = children.remove(&child);
        if let Some(lane) = lane.filter(|_| !answered) {
            let _ = Message::Nothing.send(&lanes[lane as usize]);
        }
    }
}

/// Whether a fork of this process would be whole.
fn is_single_threaded() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}
