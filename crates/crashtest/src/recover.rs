//! Power comes back: a new machine with what the medium holds, mounted and looked at.

use crate::tree::{self, Tree};
use ffslab_machine::spec::{MachineSpec, State};
use ffslab_mtd::Modifications;
use ffslab_system::System;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// How long background work of the mount gets before anybody looks.
const SETTLES_NS: u64 = 100_000_000;

/// What a mount after a power cut shows.
pub struct Recovered {
    /// Errors: it cannot be mounted, or a directory cannot be read, in a line.
    pub tree: Result<Tree, String>,
    /// Whether that mount succeeded.
    pub is_mounted: bool,
    /// What the mount and looking did to the medium, where that was asked for.
    pub modifications: Modifications,
    pub now_ns: u64,
    system: Option<Box<dyn System>>,
}

/// What an unmount and a mount after it have shown and done.
pub struct SecondMount {
    /// Errors: what differs from before, or why that cannot be known, in a line.
    pub same: Result<(), String>,
    /// What both did to the medium, where that was asked for.
    pub modifications: Modifications,
    /// How many of these are the unmount's.
    pub unmount_operations: u64,
    pub now_ns: u64,
    /// If something is wrong: known faults of the simulated system that were met since the cut.
    pub faults_met: Vec<&'static str>,
}

/// Mounts what is on the medium, and reads all files. `keeps`: what happens to the medium meanwhile is kept.
///
/// A panic of the simulation is an error of the mount: nothing that a medium holds may cause one.
pub fn recover(spec: &MachineSpec, state: &State, options: &[String], keeps: bool) -> Recovered {
    let work = || {
        let mut system = match spec.build(Some(state)) {
            Ok(system) => system,
            Err(error) => return Recovered::failed(format!("the machine does not start: {error}"), state.at_ns),
        };
        if keeps {
            if let Some(mtd) = system.mtd() {
                mtd.keep_modifications();
            }
        }
        let mounted = system.mount(options).map_err(|error| format!("cannot be mounted: {error}"));
        let is_mounted = mounted.is_ok();
        let tree = mounted.and_then(|()| {
            system.sleep_ns(SETTLES_NS);
            tree::read(&mut *system)
        });
        let modifications = if keeps {
            system.mtd().map(ffslab_mtd::Mtd::take_modifications).unwrap_or_default()
        } else {
            Modifications::default()
        };
        Recovered { tree, is_mounted, modifications, now_ns: system.now_ns(), system: Some(system) }
    };
    guarded(work).unwrap_or_else(|text| Recovered::failed(text, state.at_ns))
}

impl Recovered {
    fn failed(text: String, now_ns: u64) -> Recovered {
        let modifications = Modifications::default();
        Recovered { tree: Err(text), is_mounted: false, modifications, now_ns, system: None }
    }

    /// Unmounts and mounts once more: the same files must be there. `keeps`: what happens to the medium meanwhile is kept.
    pub fn second_mount(&mut self, options: &[String], keeps: bool) -> SecondMount {
        let mut done = SecondMount {
            same: Ok(()),
            modifications: Modifications::default(),
            unmount_operations: 0,
            now_ns: self.now_ns,
            faults_met: Vec::new(),
        };
        let (Ok(before), Some(mut system)) = (&self.tree, self.system.take()) else { return done };
        let work = || {
            let mut take = |system: &dyn System| {
                let Some(mtd) = system.mtd().filter(|_| keeps) else { return 0 };
                let Modifications { operations, pairing, block_bytes } = mtd.take_modifications();
                done.modifications.operations.extend(operations);
                (done.modifications.pairing, done.modifications.block_bytes) = (pairing, block_bytes);
                done.modifications.operations.len() as u64
            };
            system.umount().map_err(|error| format!("cannot be unmounted after the cut: {error}"))?;
            done.unmount_operations = take(&*system);
            system.crash().map_err(|error| format!("does not start again after the cut: {error}"))?;
            system.mount(options).map_err(|error| format!("cannot be mounted a second time: {error}"))?;
            let after = tree::read(&mut *system).map_err(|error| format!("second mount: {error}"))?;
            take(&*system);
            done.now_ns = system.now_ns();
            match tree::difference(before, &after) {
                Some(difference) => Err(format!("second mount: {difference}")),
                None => Ok(()),
            }
        };
        done.same = guarded(work).and_then(|same| same);
        if done.same.is_err() {
            done.faults_met = system.sim().faults_met();
        }
        done
    }
}

fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        format!("the simulation contradicts itself: {text}")
    })
}
