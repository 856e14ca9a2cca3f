//! Results as columns, from which tables are made: in Python, and as files of Parquet.

use crate::requests::{CallOp, RequestLog};
use crate::run::Outcome;
use crate::slowest::Cause;
use crate::table::{Column, Columns};
use ffslab_fs::BlockSpace;
use ffslab_sim::units::ns_to_us;

/// Columns of `requests.parquet`, all of equal length. Each name of a variant or file is stored once, and the columns
/// hold its position in the list of names.
#[derive(Clone, Debug, Default)]
pub struct RequestColumns {
    /// Positions in `variant_names`.
    pub variant_index: Vec<u32>,
    pub variant_names: Vec<String>,
    pub step: Vec<u32>,
    pub i: Vec<u32>,
    pub op: Vec<CallOp>,
    /// Positions in `file_names`.
    pub file: Vec<u32>,
    pub file_names: Vec<String>,
    /// If several programs run: positions in `program_names`, and for how long calls waited for those of the others.
    /// Empty: the measured steps run alone.
    pub program_index: Vec<u16>,
    pub program_names: Vec<String>,
    pub waited_us: Vec<f64>,
    pub offset_bytes: Vec<u64>,
    pub bytes: Vec<u64>,
    pub start_us: Vec<f64>,
    pub latency_us: Vec<f64>,
    /// What took longest of each call: positions in `causes`.
    pub cause_index: Vec<u16>,
    /// Names of task and reason; both are empty for calls that took no time.
    pub causes: Vec<(&'static str, &'static str)>,
    pub cause_us: Vec<f64>,
    /// Time of chip and driver.
    pub flash_us: Vec<f64>,
    pub page_reads: Vec<u32>,
    pub page_programs: Vec<u32>,
    pub erases: Vec<u32>,
}

/// Rows of `blocks.parquet`: its columns cannot differ in length, whatever a medium counts and what it does not.
#[derive(Clone, Debug, Default)]
pub struct BlockColumns {
    /// Each variant with the number of its rows, which stand together.
    pub(crate) variants: Vec<(String, u32)>,
    pub(crate) rows: Vec<BlockRow>,
}

/// An erase block of a variant.
#[derive(Clone, Copy, Debug)]
pub struct BlockRow {
    /// Block in the partition.
    pub block: u32,
    /// Erases during the measured steps.
    pub erases_main: u32,
    /// Erases since the chip was made.
    pub erases_total: u32,
    /// Those of the erases in the measured steps that made a block of a new partition usable.
    pub erases_formatting: u32,
    /// `None`: the medium does not count them.
    pub programmed_pages: Option<u32>,
    /// What it holds at the start of the measurement. `None`: no file system was mounted that could tell.
    pub before: Option<BlockSpace>,
    pub after: Option<BlockSpace>,
}

impl RequestColumns {
    /// The rows of a variant.
    pub fn of(variant: &str, log: RequestLog) -> RequestColumns {
        let in_us = |column: Vec<u64>| column.into_iter().map(ns_to_us).collect::<Vec<f64>>();
        let of_programs = log.of_programs.unwrap_or_default();
        let names = |cause: &Option<Cause>| cause.map_or(("", ""), |(task, reason)| (task.name, reason.name));
        RequestColumns {
            variant_index: vec![0; log.step.len()],
            variant_names: vec![variant.to_string()],
            step: log.step,
            i: log.i,
            op: log.op,
            file: log.file,
            file_names: log.file_names,
            program_index: of_programs.program_index,
            program_names: of_programs.names,
            waited_us: in_us(of_programs.waited_ns),
            offset_bytes: log.offset_bytes,
            bytes: log.bytes,
            start_us: in_us(log.start_ns),
            latency_us: in_us(log.latency_ns),
            cause_index: log.cause_index,
            causes: log.causes.iter().map(names).collect(),
            cause_us: in_us(log.cause_ns),
            flash_us: in_us(log.flash_ns),
            page_reads: log.page_reads,
            page_programs: log.page_programs,
            erases: log.erases,
        }
    }

    /// Adds the rows of a variant.
    pub fn append(&mut self, of: RequestColumns) {
        let (first_variant, first_file) = (self.variant_names.len() as u32, self.file_names.len() as u32);
        self.variant_index.extend(of.variant_index.iter().map(|&variant| first_variant + variant));
        self.variant_names.extend(of.variant_names);
        self.file.extend(of.file.iter().map(|&file| first_file + file));
        self.file_names.extend(of.file_names);
        if !of.program_names.is_empty() {
            // All variants have the same ones.
            self.program_names = of.program_names;
        }
        append(&mut self.program_index, of.program_index);
        append(&mut self.waited_us, of.waited_us);
        append(&mut self.step, of.step);
        append(&mut self.i, of.i);
        append(&mut self.op, of.op);
        append(&mut self.offset_bytes, of.offset_bytes);
        append(&mut self.bytes, of.bytes);
        append(&mut self.start_us, of.start_us);
        append(&mut self.latency_us, of.latency_us);
        // The variants of a run have their causes in common.
        let place = |&cause: &(&'static str, &'static str)| {
            let known = self.causes.iter().position(|known| *known == cause);
            known.unwrap_or_else(|| {
                self.causes.push(cause);
                self.causes.len() - 1
            }) as u16
        };
        let places: Vec<u16> = of.causes.iter().map(place).collect();
        self.cause_index.extend(of.cause_index.iter().map(|&cause| places[cause as usize]));
        append(&mut self.cause_us, of.cause_us);
        append(&mut self.flash_us, of.flash_us);
        append(&mut self.page_reads, of.page_reads);
        append(&mut self.page_programs, of.page_programs);
        append(&mut self.erases, of.erases);
    }
}

impl From<RequestColumns> for Columns {
    /// The columns of `requests.parquet`, in their order.
    fn from(of: RequestColumns) -> Columns {
        let positions = |column: Vec<u16>| column.into_iter().map(u32::from).collect();
        let ops = CallOp::ALL.iter().map(|op| op.name().to_string()).collect();
        let (tasks, reasons): (Vec<_>, Vec<_>) = of.causes.into_iter().unzip();
        let texts = |names: Vec<&str>| names.into_iter().map(str::to_string).collect();
        let causes: Vec<u32> = positions(of.cause_index);
        let mut columns = vec![
            ("variant", Column::Texts(of.variant_names, of.variant_index)),
            ("step", Column::U32(of.step)),
            ("i", Column::U32(of.i)),
            ("op", Column::Texts(ops, of.op.into_iter().map(|op| op as u32).collect())),
            ("file", Column::Texts(of.file_names, of.file)),
            ("offset_B", Column::U64(of.offset_bytes)),
            ("bytes", Column::U64(of.bytes)),
            ("start_us", Column::F64(of.start_us)),
            ("latency_us", Column::F64(of.latency_us)),
            ("cause", Column::Texts(texts(reasons), causes.clone())),
            ("cause_task", Column::Texts(texts(tasks), causes)),
            ("cause_us", Column::F64(of.cause_us)),
            ("flash_us", Column::F64(of.flash_us)),
            ("page_reads", Column::U32(of.page_reads)),
            ("page_programs", Column::U32(of.page_programs)),
            ("erases", Column::U32(of.erases)),
        ];
        if !of.program_names.is_empty() {
            columns.push(("program", Column::Texts(of.program_names, positions(of.program_index))));
            columns.push(("waited_us", Column::F64(of.waited_us)));
        }
        columns
    }
}

impl From<BlockColumns> for Columns {
    /// The columns of `blocks.parquet`, in their order.
    fn from(of: BlockColumns) -> Columns {
        let counts = |count: fn(&BlockRow) -> u32| Column::U32(of.rows.iter().map(count).collect());
        let held = |space: fn(&BlockRow) -> Option<BlockSpace>, bytes: fn(BlockSpace) -> u32| {
            let value = |row: &BlockRow| space(row).map_or(f64::NAN, |space| f64::from(bytes(space)));
            Column::F64(of.rows.iter().map(value).collect())
        };
        let names = of.variants.iter().map(|(name, _)| name.clone()).collect();
        let variants = of.variants.iter().zip(0..);
        let of_rows = variants.flat_map(|(&(_, rows), variant)| std::iter::repeat_n(variant, rows as usize)).collect();
        vec![
            ("variant", Column::Texts(names, of_rows)),
            ("block", counts(|row| row.block)),
            ("erases_main", counts(|row| row.erases_main)),
            ("erases_total", counts(|row| row.erases_total)),
            ("erases_formatting", counts(|row| row.erases_formatting)),
            ("programmed_pages", Column::counted(of.rows.iter().map(|row| row.programmed_pages))),
            ("valid_before_B", held(|row| row.before, |space| space.valid_bytes)),
            ("invalid_before_B", held(|row| row.before, |space| space.invalid_bytes)),
            ("free_before_B", held(|row| row.before, |space| space.free_bytes)),
            ("valid_after_B", held(|row| row.after, |space| space.valid_bytes)),
            ("invalid_after_B", held(|row| row.after, |space| space.invalid_bytes)),
            ("free_after_B", held(|row| row.after, |space| space.free_bytes)),
        ]
    }
}

/// Appends `more` to `column`. An empty column is replaced by `more`, which saves a copy.
fn append<T>(column: &mut Vec<T>, mut more: Vec<T>) {
    if column.is_empty() {
        *column = more;
    } else {
        column.append(&mut more);
    }
}

impl BlockColumns {
    /// Those of all variants, one after the other.
    pub fn rows(&self) -> &[BlockRow] {
        &self.rows
    }

    /// Adds the rows of a variant.
    pub fn append(&mut self, mut of: BlockColumns) {
        self.variants.append(&mut of.variants);
        append(&mut self.rows, of.rows);
    }

    /// Adds the rows of a variant: one of each block whose erases the medium counts.
    pub fn extend(&mut self, variant: &str, outcome: &Outcome) {
        let blocks = outcome.erases_total.len();
        let count = |of: &[u32], block: usize| of.get(block).copied().unwrap_or_default();
        self.variants.push((variant.to_string(), blocks as u32));
        self.rows.extend((0..blocks).map(|block| BlockRow {
            block: block as u32,
            erases_main: count(&outcome.erases_main, block),
            erases_total: outcome.erases_total[block],
            erases_formatting: count(&outcome.erases_formatting, block),
            programmed_pages: outcome.programmed_pages.get(block).copied(),
            before: outcome.space_before.get(block).copied(),
            after: outcome.space_after.get(block).copied(),
        }));
    }
}
