//! The step that executes SQL with the real SQLite.

use super::execute::failed;
use super::facts::Facts;
use super::runner::{Runner, Stop, WATCH_EVERY};
use crate::requests::{Call, CallOp};
use ffslab_sim::Sim;
use ffslab_sqlite::{Made, MadeCall, SqlError, Wanted};
use ffslab_system::Refusal;
use ffslab_workload::steps;

impl Runner<'_> {
    pub(super) fn sqlite(&mut self, step: &steps::Sqlite) -> Result<Facts, Stop> {
        let Some(sql) = self.traces.sql_of(step) else {
            return failed(format!("the script {} has not been read", step.script.as_deref().unwrap_or_default()));
        };
        if !self.system.is_mounted() {
            return failed("nothing is mounted: a mount step must come before".to_string());
        }
        let wanted = Wanted {
            file: &step.file,
            pragmas: &step.pragmas,
            sql: &sql,
            repetitions_count: step.count,
            seed: step.seed,
        };
        let (log, calls, watch) = (&mut self.log, &mut self.calls, &mut self.watch);
        let (measuring, step_index, start_ns) = (self.measuring, self.step, self.start.at_ns);
        let mut facts = Facts::default();
        let mut i = 0u64;
        let mut each = |told: Option<(&Made, &Sim)>| {
            let Some((made, sim)) = told else { return watch(*calls) };
            let op = op_of(made.call);
            facts.moved(op, made.bytes);
            if measuring {
                let file = log.file_index(made.path);
                let Made { offset_bytes, bytes, latency_ns, .. } = *made;
                let start_ns = made.start_ns - start_ns;
                log.push(step_index, i, Call { op, file, offset_bytes, bytes, start_ns, latency_ns }, sim);
            }
            i += 1;
            *calls += 1;
            !calls.is_multiple_of(WATCH_EVERY) || watch(*calls)
        };
        let done = match ffslab_sqlite::run(&mut *self.system, &self.sqlite_locks, &wanted, &mut each) {
            Ok(done) => done,
            Err(SqlError::Interrupted) => return Err(Stop::Interrupted),
            Err(SqlError::Ended(ended)) => return failed(ended.to_string()),
        };
        facts.requests_done = Some(i);
        (facts.statements, facts.rows) = (Some(done.statements), Some(done.rows));
        if let Some(full) = &done.full {
            facts.stopped_by = Some(full.code);
            facts.notes.push(format!("{full}{}", self.holds(Refusal::Failed(ffslab_fs::Errno::NoSpc))));
        }
        Ok(facts)
    }
}

fn op_of(call: MadeCall) -> CallOp {
    match call {
        MadeCall::Open => CallOp::Open,
        MadeCall::Close => CallOp::Close,
        MadeCall::Read => CallOp::Read,
        MadeCall::Write => CallOp::Write,
        MadeCall::Sync => CallOp::Sync,
        MadeCall::Stat => CallOp::Stat,
        MadeCall::Unlink => CallOp::Unlink,
        MadeCall::Truncate => CallOp::Truncate,
    }
}
