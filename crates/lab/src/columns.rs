//! Results as columns, from which tables are made: in Python, and as files of Parquet.

use crate::requests::{place_in, CallOp, RequestLog};
use crate::run::Outcome;
use crate::slowest::Cause;
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
    /// `None` stands for calls that took no time.
    pub causes: Vec<Option<Cause>>,
    pub cause_us: Vec<f64>,
    /// Time of chip and driver.
    pub flash_us: Vec<f64>,
    pub page_reads: Vec<u32>,
    pub page_programs: Vec<u32>,
    pub erases: Vec<u32>,
}

/// Columns of `blocks.parquet`, of equal length.
#[derive(Clone, Debug, Default)]
pub struct BlockColumns {
    pub variant: Vec<String>,
    /// Block in the partition.
    pub block: Vec<u32>,
    /// Erases during the measured steps.
    pub erases_main: Vec<u32>,
    /// Erases since the chip was made.
    pub erases_total: Vec<u32>,
    /// Those of the erases in the measured steps that made a block of a new partition usable.
    pub erases_formatting: Vec<u32>,
    pub programmed_pages: Vec<u32>,
    /// What each block holds at the start of the measurement. The values are NaN when no file system was mounted, so
    /// that nobody could tell.
    pub before: SpaceColumns,
    pub after: SpaceColumns,
}

/// A column of a table.
pub enum Column {
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    /// Names, and of each row the position of its name.
    Texts(Vec<String>, Vec<u32>),
}

/// Columns of equal length with their names.
pub type Columns = Vec<(&'static str, Column)>;

/// What erase blocks hold, as the file system accounts for it.
#[derive(Clone, Debug, Default)]
pub struct SpaceColumns {
    pub valid_bytes: Vec<f64>,
    pub invalid_bytes: Vec<f64>,
    pub free_bytes: Vec<f64>,
}

impl SpaceColumns {
    fn extend(&mut self, space: &[BlockSpace], blocks: usize) {
        let value = |i: usize, of: fn(&BlockSpace) -> u32| space.get(i).map_or(f64::NAN, |held| f64::from(of(held)));
        self.valid_bytes.extend((0..blocks).map(|i| value(i, |held| held.valid_bytes)));
        self.invalid_bytes.extend((0..blocks).map(|i| value(i, |held| held.invalid_bytes)));
        self.free_bytes.extend((0..blocks).map(|i| value(i, |held| held.free_bytes)));
    }
}

impl RequestColumns {
    /// Adds the rows of a variant.
    pub fn extend(&mut self, variant: &str, log: RequestLog) {
        let in_us = |column: Vec<u64>| column.into_iter().map(ns_to_us).collect::<Vec<f64>>();
        let first_file = self.file_names.len() as u32;
        self.variant_index.extend(std::iter::repeat_n(self.variant_names.len() as u32, log.len()));
        self.variant_names.push(variant.to_string());
        self.file.extend(log.file.iter().map(|&file| first_file + file));
        self.file_names.extend(log.file_names);
        if let Some(of) = log.of_programs {
            // All variants have the same ones.
            self.program_names = of.names;
            append(&mut self.program_index, of.program_index);
            append(&mut self.waited_us, in_us(of.waited_ns));
        }
        append(&mut self.step, log.step);
        append(&mut self.i, log.i);
        append(&mut self.op, log.op);
        append(&mut self.offset_bytes, log.offset_bytes);
        append(&mut self.bytes, log.bytes);
        append(&mut self.start_us, in_us(log.start_ns));
        append(&mut self.latency_us, in_us(log.latency_ns));
        // The variants of a run have their causes in common.
        let places: Vec<u16> = log.causes.iter().map(|&cause| place_in(&mut self.causes, cause)).collect();
        self.cause_index.extend(log.cause_index.iter().map(|&cause| places[cause as usize]));
        append(&mut self.cause_us, in_us(log.cause_ns));
        append(&mut self.flash_us, in_us(log.flash_ns));
        append(&mut self.page_reads, log.page_reads);
        append(&mut self.page_programs, log.page_programs);
        append(&mut self.erases, log.erases);
    }
}

impl From<RequestColumns> for Columns {
    /// The columns of `requests.parquet`, in their order.
    fn from(of: RequestColumns) -> Columns {
        let positions = |column: Vec<u16>| column.into_iter().map(u32::from).collect();
        let ops = CallOp::ALL.iter().map(|op| op.name().to_string()).collect();
        let names = |cause: &Option<Cause>| cause.map_or(("", ""), |(task, reason)| (task.name, reason.name));
        let (tasks, reasons): (Vec<_>, Vec<_>) = of.causes.iter().map(names).unzip();
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
        let mut names: Vec<String> = Vec::new();
        let mut place = |name: String| {
            // The rows of a variant stand together.
            if names.last() != Some(&name) {
                names.push(name);
            }
            names.len() as u32 - 1
        };
        let variant = of.variant.into_iter().map(&mut place).collect();
        vec![
            ("variant", Column::Texts(names, variant)),
            ("block", Column::U32(of.block)),
            ("erases_main", Column::U32(of.erases_main)),
            ("erases_total", Column::U32(of.erases_total)),
            ("erases_formatting", Column::U32(of.erases_formatting)),
            ("programmed_pages", Column::U32(of.programmed_pages)),
            ("valid_before_B", Column::F64(of.before.valid_bytes)),
            ("invalid_before_B", Column::F64(of.before.invalid_bytes)),
            ("free_before_B", Column::F64(of.before.free_bytes)),
            ("valid_after_B", Column::F64(of.after.valid_bytes)),
            ("invalid_after_B", Column::F64(of.after.invalid_bytes)),
            ("free_after_B", Column::F64(of.after.free_bytes)),
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
    pub fn extend(&mut self, variant: &str, outcome: &Outcome) {
        let blocks = outcome.erases_total.len();
        self.variant.extend(std::iter::repeat_n(variant.to_string(), blocks));
        self.block.extend(0..blocks as u32);
        self.erases_main.extend_from_slice(&outcome.erases_main);
        self.erases_total.extend_from_slice(&outcome.erases_total);
        self.erases_formatting.extend_from_slice(&outcome.erases_formatting);
        self.programmed_pages.extend_from_slice(&outcome.programmed_pages);
        self.before.extend(&outcome.space_before, blocks);
        self.after.extend(&outcome.space_after, blocks);
    }
}
