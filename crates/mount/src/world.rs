//! The thread in which the simulation lives. It is one thread for good reasons (see DESIGN.md); requests reach it through
//! a queue, in the order in which the kernel made them, and questions about it through the same queue.

use crate::control::write_whole;
use crate::walk::{Kind, Walks};
use crate::{MountSpec, Mounted};
use ffslab_fs::{FileKind, Ino};
use ffslab_lab::requests::CallOp;
use ffslab_lab::{io_reason, LabError, Session};
use ffslab_linux::{Fd, NodeId};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvError, Sender};
use std::time::{Duration, Instant};

/// What the simulation is asked to do.
pub enum Job {
    Request(Request),
    /// The kernel does not remember a node any more, of which it heard so often. No call of a program.
    Forget(NodeId, u64),
    /// A question from beside, which is no request of a program.
    Question(Work),
    End,
}

pub type Work = Box<dyn FnOnce(&mut World) + Send>;

/// A request of the kernel.
pub struct Request {
    pub arrived: Instant,
    pub process: u32,
    pub kind: Kind,
    /// What it is about; the same twice where it is one node.
    pub nodes: [NodeId; 2],
    /// Does it and answers.
    pub work: Work,
}

/// An entry of a directory that a program reads.
pub struct Line {
    pub ino: Ino,
    pub kind: FileKind,
    pub name: Vec<u8>,
}

/// The simulated machine, and what the host's time has to do with it.
pub struct World {
    pub session: Session,
    pub walks: Walks,
    /// What is read from each open directory; from the time of its first entry on, as in the C library.
    pub directories: BTreeMap<Fd, Rc<Vec<Line>>>,
    /// Names of open files, for the rows of calls.
    pub names: BTreeMap<Fd, String>,
    /// What the last read gave.
    pub buffer: Vec<u8>,
    pub requests: u64,
    pub began: Instant,
    think: bool,
    realtime: bool,
    last_answer: Instant,
    /// The shortest pause between an answer and the next request. So long a request takes to come here at least: it is
    /// no time in which the program thinks.
    shortest_pause: Duration,
    /// An instant of the host and of the board that were the same.
    pace: (Instant, u64),
}

/// How long the simulation looks for the next request before it sleeps: waking a thread takes the host longer than most
/// programs take to their next call.
const LOOKED_FOR: Duration = Duration::from_micros(50);

/// The next job; an error when nobody can send one any more.
fn next(queue: &Receiver<Job>) -> Result<Job, RecvError> {
    let began = Instant::now();
    while began.elapsed() < LOOKED_FOR {
        if let Ok(job) = queue.try_recv() {
            return Ok(job);
        }
        std::hint::spin_loop();
    }
    queue.recv()
}

impl World {
    /// Makes the stack, mounts, tells so, and serves the queue to its end.
    ///
    /// Errors: what is wrong with the stack; why it cannot be mounted.
    pub fn live(spec: &MountSpec, queue: Receiver<Job>, tell: &Sender<()>) -> Result<Mounted, LabError> {
        let mut session = Session::at(&spec.stack_toml, spec.seed, &spec.base_dir, spec.epoch_s)?;
        session.begin_step("mount");
        session.stack_mut().mount(&spec.options).map_err(LabError::Input)?;
        session.begin_step("use");
        if let Some(operations) = spec.power_cut_after_operations {
            session.cut_power_after(operations, spec.torn);
        }
        let now = Instant::now();
        let now_ns = session.stack().sim.now_ns();
        let mut world = World {
            session,
            walks: Walks::default(),
            directories: BTreeMap::new(),
            names: BTreeMap::new(),
            buffer: Vec::new(),
            requests: 0,
            began: now,
            think: spec.think,
            realtime: spec.realtime,
            last_answer: now,
            shortest_pause: Duration::MAX,
            pace: (now, now_ns),
        };
        if tell.send(()).is_ok() {
            while let Ok(job) = next(&queue) {
                match job {
                    Job::Request(request) => world.serve(request),
                    Job::Forget(node, look_ups) => world.forget(node, look_ups),
                    Job::Question(work) => {
                        world.time_passes(Instant::now());
                        work(&mut world);
                        world.last_answer = Instant::now();
                    }
                    Job::End => break,
                }
            }
        }
        world.end(spec)
    }

    fn serve(&mut self, request: Request) {
        if request.process == std::process::id() {
            // Of ffslab itself, which looks where it has mounted: no call of a program.
            return (request.work)(self);
        }
        self.requests += 1;
        self.time_passes(request.arrived);
        let looked = self.walks.request(request.process, request.kind, request.nodes);
        self.calls_that_looked(looked);
        (request.work)(self);
        self.last_answer = Instant::now();
    }

    /// Charges calls that did nothing but walk a path and ask for attributes.
    fn calls_that_looked(&mut self, calls: u32) {
        for _ in 0..calls {
            let row = (CallOp::Stat, "", 0);
            let charge = |vfs: &mut ffslab_linux::Vfs| {
                vfs.charge_call();
                Ok(())
            };
            // The body cannot fail.
            let _ok = self.session.observed(row, charge, |()| 0);
        }
    }

    /// The program has done something else since the last answer.
    fn time_passes(&mut self, now: Instant) {
        let pause = now.saturating_duration_since(self.last_answer);
        if !self.think || pause.is_zero() {
            return;
        }
        self.shortest_pause = self.shortest_pause.min(pause);
        let think_ns = u64::try_from((pause - self.shortest_pause).as_nanos()).unwrap_or(u64::MAX);
        if think_ns >= self.session.stack().sim.tick_ns() {
            let looked = self.walks.pause();
            self.calls_that_looked(looked);
        }
        if think_ns > 0 {
            self.session.think_ns(think_ns);
        }
    }

    /// Before an answer: lets the program wait for it as long as on the board. A host that is slower than the board cannot
    /// catch up; the board's clock then stands still.
    pub fn keep_pace(&mut self) {
        if !self.realtime {
            return;
        }
        let now_ns = self.session.stack().sim.now_ns();
        let (at, at_ns) = self.pace;
        match Duration::from_nanos(now_ns - at_ns).checked_sub(at.elapsed()) {
            Some(ahead) => std::thread::sleep(ahead),
            None => self.pace = (Instant::now(), now_ns),
        }
    }

    /// Unmounts what is simulated and sums up.
    fn end(mut self, spec: &MountSpec) -> Result<Mounted, LabError> {
        let looked = self.walks.pause();
        self.calls_that_looked(looked);
        // The kernel's last requests may be lost when it unmounts: files are still open that no program has.
        for (fd, _) in std::mem::take(&mut self.names) {
            let _closed = self.session.stack_mut().vfs.release(fd);
        }
        let left_out = self.session.calls_left_out();
        if left_out > 0 {
            self.session.note(&format!("{left_out} later calls have no row in the table of calls"));
        }
        self.session.begin_step("umount");
        let unmounted = self.session.stack_mut().vfs.umount();
        if !self.session.stack().with_chip(|chip| chip.is_on()) {
            self.session.note("the power was cut: what was in memory then is lost");
        } else if let Err(error) = unmounted {
            self.session.note(&format!("umount: {error}"));
        }
        if let Some(file) = &spec.save {
            let image = self.session.stack().image(true).map_err(LabError::Input)?;
            write_whole(file, &image).map_err(|error| {
                LabError::Input(format!("{}: cannot be written: {}", file.display(), io_reason(&error)))
            })?;
        }
        let keys = self.session.keys().clone();
        let result = self.session.result("mount", "{}")?;
        Ok(Mounted { result, keys })
    }
}
