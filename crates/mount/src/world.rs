//! The simulated machine as a mount uses it: it handles requests in the order in which the kernel made them, and
//! accounts for think time and pace.

use crate::control::write_whole;
use crate::owner::give_root;
use crate::paths::{with_nodes, Paths};
use crate::simulation::Asked;
use crate::walk::Walks;
use crate::{MountSpec, Mounted};
use ffslab_crashtest::{Recorder, Watched};
use ffslab_fs::{FileKind, Ino};
use ffslab_lab::requests::CallOp;
use ffslab_lab::{io_reason, LabError, Session};
use ffslab_system::{Fd, NodeId, Refusal, System, ROOT_NODE};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What a program is taken to compute to look at a clock: the order of magnitude of a call that reads one.
const CLOCK_LOOK_NS: u64 = 1_000;

/// The time of the board.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BoardTime {
    pub now_ns: u64,
    /// The time of day at 0 ns, since 1970.
    pub epoch_s: u64,
}

/// An entry of a directory that a program reads.
pub struct Line {
    pub ino: Ino,
    pub kind: FileKind,
    pub name: Vec<u8>,
}

/// The simulated machine, and its relation to the host's time.
pub struct World {
    pub session: Session,
    /// Keeps what power cuts need, where that is asked for.
    recorder: Option<Recorder>,
    pub walks: Walks,
    /// Of a system that knows files by path alone: which inode has which path.
    pub paths: Paths,
    /// The entries of each open directory. As in the C library they are as old as the reading of the first one.
    pub directories: BTreeMap<Fd, Rc<Vec<Line>>>,
    /// Names of open files, for the recorded rows.
    pub names: BTreeMap<Fd, String>,
    /// The result of the last read.
    pub buffer: Vec<u8>,
    /// What the system lacks and a program asked for.
    lacks: BTreeSet<String>,
    /// Those of them that nobody was told yet.
    pub remarks: Vec<String>,
    pub requests: u64,
    pub began: Instant,
    think: bool,
    realtime: bool,
    last_answer: Instant,
    /// The shortest pause so far between an answer and the next request. A request takes at least so long to arrive, so
    /// this part of a pause is not think time of the program.
    shortest_pause: Duration,
    /// A time of the host and a time of the board that correspond to each other.
    pace: (Instant, u64),
}

impl World {
    /// Makes the stack and mounts it.
    ///
    /// Errors: what is wrong with the stack; why it cannot be mounted.
    pub fn new(spec: &MountSpec) -> Result<World, LabError> {
        let (mut session, recorder) = session_of(spec)?;
        if let Some(observed) = &spec.observed {
            session.observe(observed)?;
        }
        session.begin_step("mount");
        session.system_mut().mount(&spec.options)?;
        let mut paths = Paths::default();
        let root = with_nodes(session.system_mut(), &mut paths, |nodes| nodes.stat(ROOT_NODE));
        let root = root.map_err(|refusal| LabError::Input(format!("the root of the file system: {refusal}")))?;
        if let Some(owner) = spec.owner {
            give_root(&mut session, (&root, owner), &spec.options)
                .map_err(|error| LabError::Input(error.to_string()))?;
            paths.root_changed();
        }
        session.begin_step("use");
        if let Some(operations) = spec.power_cut_after_operations {
            let cut = session.cut_power_after(operations, spec.torn);
            cut.map_err(|refusal| LabError::Input(refusal.to_string()))?;
        }
        let now = Instant::now();
        let now_ns = session.system().now_ns();
        Ok(World {
            session,
            recorder,
            walks: Walks::default(),
            paths,
            directories: BTreeMap::new(),
            names: BTreeMap::new(),
            buffer: Vec::new(),
            lacks: BTreeSet::new(),
            remarks: Vec::new(),
            requests: 0,
            began: now,
            think: spec.think,
            realtime: spec.realtime,
            last_answer: now,
            shortest_pause: Duration::MAX,
            pace: (now, now_ns),
        })
    }

    /// Handles a request of the kernel: `act` carries it out, `answer` replies.
    pub fn serve<R>(&mut self, asked: &Asked, act: impl FnOnce(&mut World) -> R, answer: impl FnOnce(&World, R)) {
        if asked.process == std::process::id() {
            // The request comes from ffslab itself, which examines its own mount. It is not a call of a program.
            let result = act(self);
            return answer(self, result);
        }
        self.requests += 1;
        self.time_passes(asked.arrived);
        let looked = self.walks.request(asked.process, asked.kind, asked.nodes);
        self.calls_that_looked(&looked);
        let result = act(self);
        self.keep_pace();
        answer(self, result);
        self.last_answer = Instant::now();
    }

    /// Answers a question that is not a request of a program.
    pub fn question<R>(&mut self, work: impl FnOnce(&mut World) -> R) -> R {
        self.time_passes(Instant::now());
        let result = work(self);
        self.last_answer = Instant::now();
        result
    }

    /// Charges for calls that only walked a path and asked for attributes.
    fn calls_that_looked(&mut self, at: &[NodeId]) {
        for &node in at {
            let row = (CallOp::Stat, "", 0);
            let paths = &mut self.paths;
            let charge = |system: &mut dyn System| {
                with_nodes(system, paths, |nodes| nodes.looked(node));
                Ok::<(), Infallible>(())
            };
            let Ok(()) = self.session.observed(row, charge, |()| 0);
        }
    }

    /// Notes why a call did nothing that the system does not have: the program sees no more than an error number.
    pub fn explain(&mut self, refusal: Refusal) {
        let text = refusal.to_string();
        if refusal.is_lack() && self.lacks.insert(text.clone()) {
            self.session.note(&text);
            self.remarks.push(text);
        }
    }

    /// A program sleeps on the board: background work goes on, and nobody waits on the host.
    pub fn sleep_ns(&mut self, duration_ns: u64) -> BoardTime {
        let looked = self.walks.pause();
        self.calls_that_looked(&looked);
        self.session.system_mut().sleep_ns(duration_ns);
        self.board_time()
    }

    /// A program looks at the board's clock. The look takes a moment, so that a loop that waits for a time by looking ends.
    pub fn look_at_clock(&mut self) -> BoardTime {
        self.session.system_mut().compute_ns(CLOCK_LOOK_NS);
        self.board_time()
    }

    fn board_time(&self) -> BoardTime {
        let system = self.session.system();
        BoardTime { now_ns: system.now_ns(), epoch_s: system.epoch_s() }
    }

    /// Accounts for the time since the last answer, in which the program did something else.
    fn time_passes(&mut self, now: Instant) {
        let pause = now.saturating_duration_since(self.last_answer);
        if !self.think || pause.is_zero() {
            return;
        }
        self.shortest_pause = self.shortest_pause.min(pause);
        let think_ns = u64::try_from((pause - self.shortest_pause).as_nanos()).unwrap_or(u64::MAX);
        if think_ns >= self.session.system().sim().tick_ns() {
            let looked = self.walks.pause();
            self.calls_that_looked(&looked);
        }
        if think_ns > 0 {
            self.session.think_ns(think_ns);
        }
    }

    /// Called before an answer: makes the program wait as long as it would on the board. If the host is slower than the
    /// board, the lost time is not made up for.
    fn keep_pace(&mut self) {
        if !self.realtime {
            return;
        }
        let now_ns = self.session.system().now_ns();
        let (at, at_ns) = self.pace;
        match Duration::from_nanos(now_ns - at_ns).checked_sub(at.elapsed()) {
            Some(ahead) => std::thread::sleep(ahead),
            None => self.pace = (Instant::now(), now_ns),
        }
    }

    /// Unmounts the simulated file system and returns the result.
    pub fn end(mut self, spec: &MountSpec) -> Result<Mounted, LabError> {
        let looked = self.walks.pause();
        self.calls_that_looked(&looked);
        // The kernel's last requests may be lost at the unmount, so files may still be open here that no program has
        // open.
        for (fd, _) in std::mem::take(&mut self.names) {
            let _closed = self.nodes(|nodes| nodes.release(fd));
        }
        self.session.begin_step("umount");
        let unmounted = self.session.system_mut().umount();
        if !self.session.system().is_powered() {
            self.session.note("the power was cut: what was in memory then is lost");
        } else if let Err(error) = unmounted {
            self.session.note(&format!("umount: {error}"));
        }
        if let Some(file) = &spec.save {
            let image = self.image(true, false)?;
            write_whole(file, &image).map_err(|error| {
                LabError::Input(format!("{}: cannot be written: {}", file.display(), io_reason(&error)))
            })?;
        }
        let keys = self.session.keys().clone();
        let recording = self.recorder.as_mut().map(|recorder| recorder.end(&mut self.session)).transpose();
        let recording = recording.map_err(|error| LabError::Input(error.to_string()))?;
        let result = self.session.result("mount", "{}")?;
        Ok(Mounted { result, recording, keys })
    }
}

/// The machine, and who keeps its workload if that is asked for: it begins with a file system that is made and not mounted. Such a
/// machine gives no calls by node, so that each call has a path and can be seen.
fn session_of(spec: &MountSpec) -> Result<(Session, Option<Recorder>), LabError> {
    if !spec.records {
        let mut session = Session::at(spec.stack.clone(), spec.seed, &spec.base_dir, spec.epoch_s)?;
        session.begins(&spec.initial)?;
        session.settle(&spec.options)?;
        return Ok((session, None));
    }
    let Watched { mut session, mut recorder } = Watched::new(spec.stack.clone(), spec.seed, &spec.base_dir)?;
    session.begins(&spec.initial)?;
    session.mount(&spec.options)?;
    recorder.begin(&mut session, spec.options.clone()).map_err(|error| LabError::Input(error.to_string()))?;
    Ok((session, Some(recorder)))
}
