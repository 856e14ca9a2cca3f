//! What happens to each erase block during the measured steps, for a film of them: each flash operation with its cause,
//! and what a block holds, and for which file it was written, whenever that has changed between two calls.
//!
//! Only differences are kept. Looking takes no time and changes nothing; a look costs a pass over the blocks, so none is
//! taken unless something was programmed or erased since the last one, and after many of them only at every second such
//! call, at every fourth, and so on.

use crate::probe_log::has_nand;
use crate::table::{Column, Columns};
use ffslab_flash::ImageLayout;
use ffslab_fs::BlockSpace;
use ffslab_images::purposes::{Purpose, Purposes};
use ffslab_images::BlockLook;
use ffslab_machine::file_systems::image_formats;
use ffslab_mtd::NandPartition;
use ffslab_sim::units::ns_to_us;
use ffslab_sim::{EventSink, Op, OpEvent, Reason, Task};
use ffslab_system::System;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Name of the table, as a file below `logs/` of the results folder.
pub(crate) const FILM: &str = "film.parquet";
/// Later events are left out.
const ROWS_MAX: usize = 2_000_000;
/// After so many looks each further one waits for twice as many calls.
const LOOKS_MAX: u32 = 4_096;

pub(crate) struct Film {
    page_bytes: u32,
    oob_bytes: u32,
    pages_per_block: u32,
    /// Of the partition, in the chip.
    first_block: u32,
    blocks: u32,
    start_ns: u64,
    seen: Rc<RefCell<Seen>>,
    held: Vec<BlockSpace>,
    /// For what each block was written, and what of that has been told.
    purposes: Purposes,
    written_for: Vec<Option<Purpose>>,
    told_for: Vec<Option<Purpose>>,
    looks: u32,
    /// Calls that changed something since the last look, and how many a look waits for.
    changed_calls: u32,
    stride_calls: u32,
}

#[derive(Default)]
struct Seen {
    rows: Vec<Row>,
    /// Blocks of the chip that were programmed or erased since the last look, and whether one was since the last call.
    changed: BTreeSet<u32>,
    has_changed: bool,
    pages_per_block: u32,
}

struct Row {
    at_ns: u64,
    event: Event,
}

enum Event {
    /// Of the chip; the address is that of a page, or for an erase of a block.
    Operation { op: Op, address: u32, task: &'static Task, reason: &'static Reason },
    /// What a block of the partition holds from now on.
    Holds { block: u32, space: BlockSpace, written_for: Option<Purpose> },
}

struct Sink(Rc<RefCell<Seen>>);

impl EventSink for Sink {
    fn flash_op(&mut self, event: &OpEvent) {
        let &OpEvent { at_ns, address, op, task, reason, .. } = event;
        let mut seen = self.0.borrow_mut();
        if !matches!(op, Op::PageRead | Op::PartialPageRead | Op::OobRead) {
            seen.has_changed = true;
            let block = if op == Op::Erase { address } else { address / seen.pages_per_block };
            seen.changed.insert(block);
        }
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
        let seen = Seen {
            // At first all of them are new.
            changed: range.clone().collect(),
            pages_per_block: geometry.pages_per_block,
            ..Seen::default()
        };
        let seen = Rc::new(RefCell::new(seen));
        sim.set_sink(Some(Box::new(Sink(Rc::clone(&seen)))));
        let blocks = range.end - range.start;
        let mut film = Film {
            page_bytes: geometry.page_bytes,
            oob_bytes: geometry.oob_bytes,
            pages_per_block: geometry.pages_per_block,
            first_block: range.start,
            blocks,
            start_ns: sim.now_ns(),
            seen,
            held: Vec::new(),
            purposes: Purposes::new(image_formats()),
            written_for: vec![None; blocks as usize],
            told_for: vec![None; blocks as usize],
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
        self.read_changed(system);
        let mut seen = self.seen.borrow_mut();
        for (block, space) in (0..).zip(&space) {
            let at = block as usize;
            let written_for = self.written_for.get(at).copied().flatten();
            let is_new =
                self.held.get(at) != Some(space) || self.told_for.get(at).is_some_and(|told| *told != written_for);
            if is_new && seen.rows.len() < ROWS_MAX {
                seen.rows.push(Row { at_ns, event: Event::Holds { block, space: *space, written_for } });
            }
        }
        drop(seen);
        // Nothing is known while nothing is mounted: the last that was known stands.
        if !space.is_empty() {
            self.told_for.clone_from(&self.written_for);
            self.held = space;
        }
    }

    /// Finds out for what the blocks were written that have changed since the last look.
    fn read_changed(&mut self, system: &dyn System) {
        let changed = std::mem::take(&mut self.seen.borrow_mut().changed);
        let Ok(nand) = has_nand("film", system) else { return };
        for block in changed {
            let at = block.checked_sub(self.first_block).and_then(|at| self.written_for.get_mut(at as usize));
            if let Some(written_for) = at {
                *written_for = purpose_of(&mut self.purposes, nand, block, self.page_bytes, self.oob_bytes);
            }
        }
    }

    /// Ends with a last look. Returns the film as a table: microseconds since the measurement began, what happened, the block in
    /// the partition; of an operation its page in the block, task and reason; of what a block holds its bytes, and for what it was
    /// written.
    pub fn end(mut self, system: &dyn System) -> Columns {
        system.sim().set_sink(None);
        self.look(system);
        let seen = self.seen.borrow();
        let purposes = seen.rows.iter().filter_map(|row| match row.event {
            Event::Holds { written_for, .. } => written_for,
            Event::Operation { .. } => None,
        });
        let names = self.purposes.texts(purposes.collect::<BTreeSet<_>>());
        let told: Vec<Told> = seen.rows.iter().filter_map(|row| self.told(row, &names)).collect();
        let texts =
            |text: for<'t> fn(&'t Told<'t>) -> Option<&'t str>| Column::texts(told.iter().map(|told| text(told)));
        let bytes = |of: fn(&BlockSpace) -> u32| {
            Column::Optional(told.iter().map(|told| told.space.as_ref().map(of)).collect())
        };
        vec![
            ("at_us", Column::F64(told.iter().map(|told| ns_to_us(told.since_ns)).collect())),
            ("what", texts(|told| Some(told.what))),
            ("block", Column::U32(told.iter().map(|told| told.block).collect())),
            ("page", Column::Optional(told.iter().map(|told| told.page).collect())),
            ("task", texts(|told| told.task)),
            ("reason", texts(|told| told.reason)),
            ("valid_B", bytes(|space| space.valid_bytes)),
            ("invalid_B", bytes(|space| space.invalid_bytes)),
            ("free_B", bytes(|space| space.free_bytes)),
            ("written_for", texts(|told| told.written_for)),
        ]
    }

    /// `None`: it is of another place of the chip, and not shown.
    fn told<'a>(&self, row: &Row, names: &'a BTreeMap<Purpose, String>) -> Option<Told<'a>> {
        let since_ns = row.at_ns - self.start_ns;
        match row.event {
            Event::Operation { op, address, task, reason } => {
                let (block, page) = match op {
                    Op::Erase => (address, 0),
                    _ => (address / self.pages_per_block, address % self.pages_per_block),
                };
                let block = block.checked_sub(self.first_block).filter(|block| *block < self.blocks)?;
                let (task, reason) = (Some(task.name), Some(reason.name));
                Some(Told {
                    since_ns,
                    what: word(op),
                    block,
                    page: Some(page),
                    task,
                    reason,
                    space: None,
                    written_for: None,
                })
            }
            Event::Holds { block, space, written_for } => {
                let written_for = written_for.and_then(|purpose| names.get(&purpose)).map(String::as_str);
                let space = Some(space);
                Some(Told { since_ns, what: "holds", block, page: None, task: None, reason: None, space, written_for })
            }
        }
    }
}

/// A row of the table.
struct Told<'a> {
    since_ns: u64,
    what: &'static str,
    /// Of the partition.
    block: u32,
    page: Option<u32>,
    task: Option<&'static str>,
    reason: Option<&'static str>,
    space: Option<BlockSpace>,
    written_for: Option<&'a str>,
}

/// For what a block of the chip was written, read from its cells without an operation.
fn purpose_of(
    purposes: &mut Purposes,
    nand: &NandPartition,
    block: u32,
    page_bytes: u32,
    oob_bytes: u32,
) -> Option<Purpose> {
    let mut stored = Vec::new();
    let layout = ImageLayout { oob: true, hamming_ecc: false };
    nand.with_chip(|chip| chip.write_image(&mut stored, block..block + 1, layout)).ok()?;
    let pages = stored.chunks_exact((page_bytes + oob_bytes) as usize);
    let data: Vec<u8> = pages.flat_map(|page| &page[..page_bytes as usize]).copied().collect();
    purposes.of(&BlockLook { stored: &stored, data: &data, page_bytes, oob_bytes })
}

fn word(op: Op) -> &'static str {
    match op {
        Op::PageRead | Op::PartialPageRead | Op::OobRead => "read",
        Op::PageProgram | Op::Reprogram | Op::OobProgram => "program",
        Op::Erase => "erase",
    }
}
