//! What a machine has done so far, from three points of view: the work of the CPU by kind, the functions of the file
//! system as a function tracer records them, and the flash operations by task as Flashmon logs them.

use ffslab_sim::{Function, OpCounts, Sim, Task, Work};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything since the machine was made. Work that costs nothing on the whole board is not counted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Activity {
    pub work: BTreeMap<&'static str, WorkRow>,
    pub functions: BTreeMap<&'static str, FunctionRow>,
    /// Only the tasks that did something.
    pub tasks: BTreeMap<&'static str, TaskRow>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct WorkRow {
    pub count: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct FunctionRow {
    pub calls: u64,
    pub total_ns: u64,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct TaskRow {
    pub page_reads: u64,
    pub page_programs: u64,
    pub erases: u64,
    /// Time of the chip and of its driver together.
    pub flash_ns: u64,
    pub cpu_ns: u64,
}

impl Activity {
    pub fn of(sim: &Sim) -> Activity {
        let work = |&work: &Work| {
            let done = sim.work_done(work);
            (work.name(), WorkRow { count: done.count, bytes: done.bytes })
        };
        let function = |&function: &Function| {
            let time = sim.function_time(function);
            (function.name(), FunctionRow { calls: time.calls, total_ns: time.total_ns })
        };
        let causes = sim.causes();
        let task = |task: &'static Task| {
            let sum = causes.of_task(task);
            (sum != OpCounts::default()).then_some((
                task.name,
                TaskRow {
                    page_reads: sum.page_reads,
                    page_programs: sum.page_programs,
                    erases: sum.erases,
                    flash_ns: sum.busy_ns + sum.driver_ns,
                    cpu_ns: sum.cpu_ns,
                },
            ))
        };
        Activity {
            work: Work::ALL.iter().map(work).collect(),
            functions: Function::ALL.iter().map(function).collect(),
            tasks: causes.tasks().filter_map(task).collect(),
        }
    }
}
