//! What happens to each erase block during the measured steps, for a film of them: each flash operation with its cause,
//! and what a block holds whenever that has changed between two calls.
//!
//! Only differences are kept. Looking takes no time and changes nothing; a look costs a pass over the blocks, so none is
//! taken unless something was programmed or erased since the last one, and after many of them only at every second such
//! call, at every fourth, and so on.

use crate::probe_log::has_nand;
use ffslab_fs::BlockSpace;
use ffslab_sim::{EventSink, Op, OpEvent, Reason, Task};
use ffslab_system::System;
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// Name of the log in which the film stands.
pub(crate) const FILM: &str = "film.csv";
/// Later events are left out.
const ROWS_MAX: usize = 2_000_000;
/// After so many looks each further one waits for twice as many calls.
const LOOKS_MAX: u32 = 4_096;

pub(crate) struct Film {
    pages_per_block: u32,
    /// Of the partition, in the chip.
    first_block: u32,
    blocks: u32,
    start_ns: u64,
    seen: Rc<RefCell<Seen>>,
    held: Vec<BlockSpace>,
    looks: u32,
    /// Calls that changed something since the last look, and how many a look waits for.
    changed_calls: u32,
    stride_calls: u32,
}

#[derive(Default)]
struct Seen {
    rows: Vec<Row>,
    has_changed: bool,
}

struct Row {
    at_ns: u64,
    event: Event,
}

enum Event {
    /// Of the chip; the address is that of a page, or for an erase of a block.
    Operation { op: Op, address: u32, task: &'static Task, reason: &'static Reason },
    /// What a block of the partition holds from now on.
    Holds { block: u32, space: BlockSpace },
}

struct Sink(Rc<RefCell<Seen>>);

impl EventSink for Sink {
    fn flash_op(&mut self, event: &OpEvent) {
        let &OpEvent { at_ns, address, op, task, reason, .. } = event;
        let mut seen = self.0.borrow_mut();
        seen.has_changed |= !matches!(op, Op::PageRead | Op::PartialPageRead | Op::OobRead);
        if seen.rows.len() < ROWS_MAX {
            seen.rows.push(Row { at_ns, event: Event::Operation { op, address, task, reason } });
        }
    }
}

impl Film {
    /// Begins with what each block holds now.
    ///
    /// Errors: the system has no raw NAND.
    pub fn start(system: &dyn System) -> Result<Film, String> {
        let nand = has_nand("film", system)?;
        let (geometry, range) = (nand.geometry(), nand.range());
        let sim = system.sim();
        let seen = Rc::default();
        sim.set_sink(Some(Box::new(Sink(Rc::clone(&seen)))));
        let mut film = Film {
            pages_per_block: geometry.pages_per_block,
            first_block: range.start,
            blocks: range.end - range.start,
            start_ns: sim.now_ns(),
            seen,
            held: Vec::new(),
            looks: 0,
            changed_calls: 0,
            stride_calls: 1,
        };
        film.look(system);
        Ok(film)
    }

    /// A call has returned.
    pub fn call_done(&mut self, system: &dyn System) {
        if !std::mem::take(&mut self.seen.borrow_mut().has_changed) {
            return;
        }
        self.changed_calls += 1;
        if self.changed_calls >= self.stride_calls {
            self.look(system);
        }
    }

    fn look(&mut self, system: &dyn System) {
        self.changed_calls = 0;
        self.looks += 1;
        if self.looks.is_multiple_of(LOOKS_MAX) {
            self.stride_calls *= 2;
        }
        let (at_ns, space) = (system.sim().now_ns(), system.block_space());
        let mut seen = self.seen.borrow_mut();
        for (block, space) in (0..).zip(&space) {
            if self.held.get(block as usize) != Some(space) && seen.rows.len() < ROWS_MAX {
                seen.rows.push(Row { at_ns, event: Event::Holds { block, space: *space } });
            }
        }
        drop(seen);
        // Nothing is known while nothing is mounted: the last that was known stands.
        if !space.is_empty() {
            self.held = space;
        }
    }

    /// Ends with a last look. Returns the film as lines of comma-separated values: microseconds since the measurement
    /// began, what happened, the block in the partition; of an operation its page in the block, task and reason; of what
    /// a block holds its bytes.
    pub fn end(mut self, system: &dyn System) -> (String, String) {
        system.sim().set_sink(None);
        self.look(system);
        let seen = self.seen.borrow();
        let mut text = "at_us,what,block,page,task,reason,valid_B,invalid_B,free_B\n".to_string();
        text.reserve(seen.rows.len() * 48);
        for row in &seen.rows {
            self.line(&mut text, row).expect("text grows");
        }
        (FILM.to_string(), text)
    }

    fn line(&self, text: &mut String, row: &Row) -> std::fmt::Result {
        let since_ns = row.at_ns - self.start_ns;
        let at = format_args!("{}.{:03}", since_ns / 1_000, since_ns % 1_000);
        match row.event {
            Event::Operation { op, address, task, reason } => {
                let (block, page) = match op {
                    Op::Erase => (address, 0),
                    _ => (address / self.pages_per_block, address % self.pages_per_block),
                };
                // What else there is on the chip is not shown.
                let Some(block) = block.checked_sub(self.first_block).filter(|block| *block < self.blocks) else {
                    return Ok(());
                };
                writeln!(text, "{at},{},{block},{page},{},{},,,", word(op), task.name, quoted(reason.name))
            }
            Event::Holds { block, space: BlockSpace { valid_bytes, invalid_bytes, free_bytes } } => {
                writeln!(text, "{at},holds,{block},,,,{valid_bytes},{invalid_bytes},{free_bytes}")
            }
        }
    }
}

fn word(op: Op) -> &'static str {
    match op {
        Op::PageRead | Op::PartialPageRead | Op::OobRead => "read",
        Op::PageProgram | Op::Reprogram | Op::OobProgram => "program",
        Op::Erase => "erase",
    }
}

/// A text as a field of such a line.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
