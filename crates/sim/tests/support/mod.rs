//! Tasks and reasons of layers that exist in tests only.

// Each test takes what it needs.
#![allow(dead_code)]

use ffslab_sim::{Kind, Purpose, Reason, Sim, SimConfig, Task};

pub static WORKER: Task = Task { name: "worker", title: "worker", nice: 0, process: "worker/0" };
pub static SECOND: Task = Task { name: "second", title: "second", nice: 0, process: "second/0" };
pub static NICE: Task = Task { name: "nice", title: "nice thread", nice: 10, process: "nice/0" };

const fn reason(name: &'static str, kind: Kind) -> Reason {
    Reason { name, sentence: "as in tests", kind, purpose: Purpose::Cost }
}

pub static READ: Reason = reason("read", Kind::Reading);
pub static DATA: Reason = reason("data", Kind::Writing);
pub static METADATA: Reason = reason("metadata", Kind::Writing);
pub static SYNC: Reason = reason("sync", Kind::Writing);
pub static COPY: Reason = reason("copy", Kind::Collecting);
pub static ERASE: Reason = reason("erase", Kind::Erasing);

/// A machine whose layers have made their reasons known, but no task.
pub fn machine(config: SimConfig) -> Sim {
    let sim = Sim::new(config);
    sim.register(&[&DATA, &METADATA, &SYNC, &COPY, &ERASE, &READ]);
    sim
}
