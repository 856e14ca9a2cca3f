//! Access to the simulation for several threads: the one that serves FUSE, the one that answers questions, and the one
//! that mounts and unmounts. Only one of them uses the simulation at a time.

use crate::walk::Kind;
use crate::world::World;
use crate::{MountSpec, Mounted};
use ffslab_fs::Stat;
use ffslab_lab::LabError;
use ffslab_system::{NodeId, ROOT_NODE};
use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A request of the kernel.
pub struct Asked {
    pub arrived: Instant,
    pub process: u32,
    pub kind: Kind,
    /// The nodes of the request; the same node twice if there is only one.
    pub nodes: [NodeId; 2],
}

enum State {
    Lives(Box<World>),
    Ended,
    /// The payload of the panic.
    Panicked(Box<dyn Any + Send>),
}

// SAFETY: the simulation is made of parts that share each other by `Rc`, which may not be used by two threads at once.
// It is made inside of `Simulation::begin` out of a `MountSpec`, which is `Send`; it is used only by closures that are
// `Send` and whose results are, under the mutex, and taken apart there. So none of its `Rc` comes in or gets out, and
// all of them go from thread to thread together. A `thread_local` would be a way out: there is none in the simulation.
#[allow(unsafe_code)]
unsafe impl Send for State {}

pub struct Simulation(Mutex<State>);

impl Simulation {
    /// Makes the stack and mounts it.
    ///
    /// Errors: what is wrong with the stack; why it cannot be mounted.
    pub fn begin(spec: &MountSpec) -> Result<Simulation, LabError> {
        Ok(Simulation(Mutex::new(State::Lives(Box::new(World::new(spec)?)))))
    }

    /// Runs `work` when no other thread is using the simulation. `None`: the simulation has ended.
    fn with<R: Send>(&self, work: impl FnOnce(&mut World) -> R + Send) -> Option<R> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State::Lives(world) = &mut *state else { return None };
        match catch_unwind(AssertUnwindSafe(|| work(world))) {
            Ok(result) => Some(result),
            Err(panic) => {
                *state = State::Panicked(panic);
                None
            }
        }
    }

    /// Carries out a request of the kernel with `act` and replies with `answer`. When the simulation has ended, neither
    /// is called, and the reply becomes EIO when it is dropped.
    pub fn serve<R>(
        &self,
        asked: &Asked,
        act: impl FnOnce(&mut World) -> R + Send,
        answer: impl FnOnce(&World, R) + Send,
    ) {
        let _ended = self.with(|world| world.serve(asked, act, answer));
    }

    /// Notes that the kernel has forgotten a node that was handed out `look_ups` times. Not a call of a program.
    pub fn forget(&self, node: NodeId, look_ups: u64) {
        let _ended = self.with(|world| world.forget(node, look_ups));
    }

    /// Whether the mounted file system allows shared writable mappings. This is asked once, before the first request.
    pub fn maps_shared_writable(&self) -> bool {
        self.with(|world| world.maps_shared_writable()).unwrap_or(true)
    }

    /// Attributes of the root. `None`: the simulation has ended.
    pub fn root(&self) -> Option<Stat> {
        self.with(|world| world.nodes(|nodes| nodes.stat(ROOT_NODE)).ok())?
    }

    /// Whether the kernel is to check permissions. This is asked once, before the first request.
    pub fn has_users(&self) -> bool {
        self.with(|world| world.has_users()).unwrap_or(true)
    }

    /// What programs asked for and the system lacks, since the last question. Does not wait for other threads.
    pub fn remarks(&self) -> Vec<String> {
        match self.0.try_lock().as_deref_mut() {
            Ok(State::Lives(world)) => std::mem::take(&mut world.remarks),
            _ => Vec::new(),
        }
    }

    /// Answers a question that is not a request of a program. `None`: the simulation has ended.
    pub fn question<R: Send>(&self, work: impl FnOnce(&mut World) -> R + Send) -> Option<R> {
        self.with(|world| world.question(work))
    }

    /// Whether the simulation has ended by itself, which happens only after a panic. Does not wait for other threads.
    pub fn has_failed(&self) -> bool {
        self.0.try_lock().is_ok_and(|state| !matches!(*state, State::Lives(_)))
    }

    /// Unmounts the simulated file system and returns the result. Must be called only once.
    pub fn end(&self, spec: &MountSpec) -> Result<Mounted, LabError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Ended) {
            State::Lives(world) => world.end(spec),
            State::Panicked(panic) => {
                drop(state);
                resume_unwind(panic)
            }
            State::Ended => Err(LabError::Input("the mount has ended already".to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_lab::session::Torn;
    use std::path::PathBuf;

    fn spec() -> MountSpec {
        MountSpec {
            stack: "board = \"omap3evm\"\nfs = \"jffs2\"\npartition_blocks = 20\n".parse().unwrap(),
            base_dir: PathBuf::from("."),
            initial: "settled".to_string(),
            seed: 1,
            options: Vec::new(),
            owner: None,
            mountpoint: PathBuf::from("nowhere"),
            socket: PathBuf::from("nowhere.socket"),
            think: false,
            realtime: false,
            power_cut_after_operations: None,
            torn: Torn::Nothing,
            epoch_s: 0,
            save: None,
            observed: None,
            records: false,
        }
    }

    #[test]
    fn threads_use_it_one_after_the_other() {
        let simulation = Simulation::begin(&spec()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let before = simulation.question(|world| world.requests).unwrap();
                        let after = simulation.question(|world| {
                            world.requests += 1;
                            world.requests
                        });
                        assert!(after.unwrap() > before);
                    }
                });
            }
        });
        assert_eq!(simulation.question(|world| world.requests), Some(400));
        simulation.end(&spec()).unwrap();
        assert_eq!(simulation.question(|_| ()), None);
    }

    #[test]
    fn its_panic_comes_at_the_end() {
        let simulation = Simulation::begin(&spec()).unwrap();
        assert!(!simulation.has_failed());
        assert_eq!(simulation.question(|_| -> () { panic!("a fault of ours") }), None);
        assert!(simulation.has_failed());
        let ended = catch_unwind(AssertUnwindSafe(|| simulation.end(&spec())));
        let Err(panic) = ended else { unreachable!("it panicked") };
        assert_eq!(panic.downcast_ref(), Some(&"a fault of ours"));
    }
}
