//! What a step did: its counters, and what there is beside them.

use crate::fio::FioReport;
use crate::postmark::PostmarkReport;
use crate::requests::CallOp;
use ffslab_sim::{Energy, OpCounts};
use std::collections::BTreeMap;
use std::ops::Range;

/// So many different notes of the steps of a loop are kept.
const NOTES_MAX: usize = 8;

/// What a step did beyond its counters, where it applies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// `requests`, `append`: bytes that the calls moved. `fill`, `create`: bytes written.
    pub bytes_accepted: Option<u64>,
    pub requests_done: Option<u64>,
    /// Unix name of the error that ended `requests`; of `sqlite` SQLITE_FULL.
    pub stopped_by: Option<&'static str>,
    /// `create_many`: files begun.
    pub files: Option<u64>,
    /// `sqlite`: statements that came to their end, and rows that they returned.
    pub statements: Option<u64>,
    pub rows: Option<u64>,
    /// `readdir`: names, without "." and "..".
    pub entries: Option<u64>,
    /// `create_fragmented`.
    pub fragment_pieces: Option<u64>,
    /// What a reader of the results should know, such as calls of a replay that ended differently.
    pub notes: Vec<String>,
    /// What a reader should know of the bytes that were written if a file system compresses them.
    pub where_compressed: Option<String>,
    /// `fio`: what its jobs did.
    pub fio: Option<FioReport>,
    /// `postmark`: what each of its runs did.
    pub postmark: Vec<PostmarkReport>,
    /// RTEMS: what its block cache, NOR flash and memory files counted, by name; what is 0 is left out.
    pub counters: BTreeMap<&'static str, i64>,
    /// `stage`: which one begins.
    pub stage: Option<String>,
    /// Bytes that programs read and wrote in the step, for the amplification factors.
    pub user_read_bytes: u64,
    pub user_written_bytes: u64,
}

impl Facts {
    /// Of a step that wrote files.
    pub(crate) fn of_files(files: u64, written_bytes: u64) -> Facts {
        Facts {
            files: Some(files),
            bytes_accepted: Some(written_bytes),
            user_written_bytes: written_bytes,
            ..Facts::default()
        }
    }

    /// Adds what another step of the same loop did.
    pub(crate) fn add(&mut self, more: Facts) {
        let sum = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or_default() + more);
            }
        };
        sum(&mut self.bytes_accepted, more.bytes_accepted);
        sum(&mut self.requests_done, more.requests_done);
        sum(&mut self.files, more.files);
        sum(&mut self.statements, more.statements);
        sum(&mut self.rows, more.rows);
        sum(&mut self.entries, more.entries);
        sum(&mut self.fragment_pieces, more.fragment_pieces);
        self.user_read_bytes += more.user_read_bytes;
        self.user_written_bytes += more.user_written_bytes;
        self.stopped_by = self.stopped_by.or(more.stopped_by);
        self.where_compressed = more.where_compressed.or(self.where_compressed.take());
        self.postmark.extend(more.postmark);
        // Each round may say the same.
        for note in more.notes {
            if self.notes.len() < NOTES_MAX && !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// A call of a program has moved so many bytes.
    pub(crate) fn moved(&mut self, op: CallOp, bytes: u64) {
        match op {
            CallOp::Read => self.user_read_bytes += bytes,
            CallOp::Write | CallOp::Append => self.user_written_bytes += bytes,
            _ => {}
        }
    }
}

/// What one step did.
#[derive(Clone, Debug, Default)]
pub struct StepOutcome {
    /// Flash operations from the start of the measurement (setup steps: of the setup) to the end of the step.
    pub counts: OpCounts,
    /// Virtual time from the same instant to the end of the step.
    pub time_ns: u64,
    /// Energy above idle from the same instant to the end of the step.
    pub energy: Energy,
    /// Of `counts`, those that made a new partition usable: no cost of what programs do.
    pub formatting: OpCounts,
    /// Between the clock readings before and after the step.
    pub elapsed_ns: u64,
    /// Rows of [`super::Outcome::requests`]; empty for setup steps.
    pub rows: Range<usize>,
    /// statfs free blocks x block size, while mounted.
    pub fs_free_bytes: Option<u64>,
    pub facts: Facts,
}
