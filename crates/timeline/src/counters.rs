//! Counters of a timeline. A value is written when it has changed, at the end of a call or of a background task's turn, and
//! not more often than every [`EVERY_NS`]; so no value stands there that was not true at that instant.

use crate::trace::{Rank, Trace, Track};
use ffslab_sim::{CallDone, Energy, Op};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const EVERY_NS: u64 = 100_000;
const RANK: Rank = 10_000;

#[derive(Default)]
struct Counter {
    track: Option<Track>,
    value: Option<f64>,
    shown: Option<f64>,
}

impl Counter {
    fn show(&mut self, trace: &mut Trace, group: Track, at_ns: u64, (rank, name, unit): (Rank, &str, &str)) {
        if self.value == self.shown {
            return;
        }
        let Some(value) = self.value else { return };
        let track = *self.track.get_or_insert_with(|| trace.counter((group, rank), name, unit));
        trace.count(track, at_ns, value);
        self.shown = self.value;
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    free_blocks: Counter,
    put_off: Counter,
    amplification: Counter,
    energy: Counter,
    energy_uj: f64,
    programmed_bytes: u64,
    written_bytes: u64,
    shown_ns: Option<u64>,
    /// Ends of operations that the medium was told to do.
    queue: BinaryHeap<Reverse<u64>>,
    queue_track: Option<Track>,
}

impl Counters {
    pub fn free_blocks(&mut self, blocks: u64) {
        self.free_blocks.value = Some(blocks as f64);
    }

    pub fn put_off(&mut self, pages: u64) {
        self.put_off.value = Some(pages as f64);
    }

    pub fn energy(&mut self, used: Energy) {
        self.energy_uj += used.total_uj();
        self.energy.value = Some(self.energy_uj);
    }

    pub fn operation(&mut self, op: Op, page_bytes: u32) {
        if matches!(op, Op::PageProgram | Op::Reprogram) {
            self.programmed_bytes += u64::from(page_bytes);
            self.amplify();
        }
    }

    pub fn call(&mut self, call: &CallDone) {
        if call.writes {
            self.written_bytes += call.bytes;
            self.amplify();
        }
    }

    fn amplify(&mut self) {
        if self.written_bytes > 0 && self.programmed_bytes > 0 {
            self.amplification.value = Some(self.programmed_bytes as f64 / self.written_bytes as f64);
        }
    }

    /// Whether values would be shown now.
    pub fn are_due(&self, at_ns: u64) -> bool {
        self.shown_ns.is_none_or(|shown_ns| at_ns >= shown_ns + EVERY_NS)
    }

    pub fn show(&mut self, trace: &mut Trace, group: Track, at_ns: u64, at_once: bool) {
        if !at_once && !self.are_due(at_ns) {
            return;
        }
        self.shown_ns = Some(at_ns);
        self.free_blocks.show(trace, group, at_ns, (RANK, "free erase blocks", "blocks"));
        self.put_off.show(trace, group, at_ns, (RANK + 1, "dirty pages", "pages"));
        self.amplification.show(trace, group, at_ns, (RANK + 2, "write amplification", "programmed B/written B"));
        self.energy.show(trace, group, at_ns, (RANK + 3, "energy above idle", "uJ"));
    }

    /// The medium was told at `now_ns` to do what it will have done at `end_ns`.
    pub fn queued(&mut self, trace: &mut Trace, group: Track, now_ns: u64, end_ns: u64) {
        let track = *self.queue_track.get_or_insert_with(|| trace.counter((group, RANK + 4), "queue", "operations"));
        self.drain(trace, track, now_ns);
        self.queue.push(Reverse(end_ns));
        trace.count(track, now_ns, self.queue.len() as f64);
    }

    fn drain(&mut self, trace: &mut Trace, track: Track, until_ns: u64) {
        while let Some(&Reverse(end_ns)) = self.queue.peek().filter(|end| end.0 <= until_ns) {
            self.queue.pop();
            trace.count(track, end_ns, self.queue.len() as f64);
        }
    }

    pub fn end(&mut self, trace: &mut Trace, group: Track, at_ns: u64) {
        self.show(trace, group, at_ns, true);
        if let Some(track) = self.queue_track {
            self.drain(trace, track, u64::MAX);
        }
    }
}
