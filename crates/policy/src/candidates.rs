//! What a victim policy sees: columns with one entry a block that may be collected.
//!
//! The columns' memory can be kept by a policy beyond its decision, as one in Python may: [`CandidateTable`] then takes other
//! memory for the next decision, and what was kept stays as it was.

use crate::expression::Column;
use std::sync::Arc;

/// In what `valid`, `invalid` and `capacity` are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Room {
    #[default]
    Bytes,
    Pages,
}

/// In what `age` and `idle` are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgeUnit {
    /// Nanoseconds of virtual time.
    #[default]
    Nanoseconds,
    /// Writes of the host that the layer has taken.
    Writes,
    /// Blocks that the layer has opened for writing.
    BlocksOpened,
}

const fn column(name: &'static str, about: &'static str) -> Column {
    Column { name, about }
}

/// The columns of [`Candidates`], as scores name them.
pub static VICTIM_COLUMNS: [Column; 9] = [
    column("valid", "what counts in it, in bytes or pages"),
    column("invalid", "what is obsolete in it, in bytes or pages"),
    column("erases", "how often it was erased"),
    column("age", "time since it was written"),
    column("idle", "time since it was written or something in it became obsolete"),
    column("stream", "the stream whose data it holds"),
    column("capacity", "what a block holds, in bytes or pages"),
    column("block", "the layer's number of the block"),
    column("u", "the share of it that is valid"),
];

/// Their values, in the order of the columns.
static VALUES: [fn(&Candidates<'_>, usize) -> f64; 9] = [
    |c, at| c.valid[at].into(),
    |c, at| c.invalid[at].into(),
    |c, at| c.erases[at].into(),
    |c, at| c.age[at] as f64,
    |c, at| c.idle[at] as f64,
    |c, at| c.stream[at].into(),
    |c, _| c.capacity.into(),
    |c, at| c.block[at].into(),
    |c, at| f64::from(c.valid[at]) / f64::from(c.capacity),
];

/// The blocks among which a victim is chosen. All columns have the same length, and a choice is a position in them.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// The layer's own numbers of the blocks.
    pub block: &'a [u32],
    /// What still counts in the block and would have to be moved.
    pub valid: &'a [u32],
    /// What is obsolete in it and would be gained.
    pub invalid: &'a [u32],
    /// How often the block was erased.
    pub erases: &'a [u32],
    /// Time since the last write into the block, in [`Candidates::age_unit`].
    pub age: &'a [u64],
    /// Time since the last change of the block: a write, or one that made something in it obsolete. Never more than `age`.
    pub idle: &'a [u64],
    /// The stream whose data the block holds, by the layer's own numbers; 0 where it has one only.
    pub stream: &'a [u8],
    /// What a block holds.
    pub capacity: u32,
    pub room: Room,
    pub age_unit: AgeUnit,
    /// The layer is short of space: a block in which nothing is obsolete gives none and is refused.
    pub must_gain: bool,
    /// The memory of the columns, if it can be kept.
    shared: Option<&'a Arc<Columns>>,
}

impl Candidates<'_> {
    /// The columns, to be kept as long as wanted; nobody changes them any more. They are copied only where the candidates are
    /// no [`CandidateTable`]'s that is shown.
    pub fn columns(&self) -> Arc<Columns> {
        self.shared.cloned().unwrap_or_else(|| {
            Arc::new(Columns {
                block: self.block.to_vec(),
                valid: self.valid.to_vec(),
                invalid: self.invalid.to_vec(),
                erases: self.erases.to_vec(),
                age: self.age.to_vec(),
                idle: self.idle.to_vec(),
                stream: self.stream.to_vec(),
            })
        })
    }

    /// What a score sees of a candidate; `column`: its position in [`VICTIM_COLUMNS`].
    #[inline]
    pub fn value(&self, column: usize, at: usize) -> f64 {
        VALUES[column](self, at)
    }

    pub fn len(&self) -> usize {
        self.block.len()
    }

    pub fn is_empty(&self) -> bool {
        self.block.is_empty()
    }

    /// Whether the candidate may be chosen.
    pub fn is_legal(&self, at: usize) -> bool {
        at < self.len() && !(self.must_gain && self.invalid[at] == 0)
    }
}

/// One candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub block: u32,
    pub valid: u32,
    pub invalid: u32,
    pub erases: u32,
    pub age: u64,
    pub idle: u64,
    pub stream: u8,
}

/// The memory of the columns; what they are is told at [`Candidates`].
#[derive(Clone, Debug, Default)]
pub struct Columns {
    pub block: Vec<u32>,
    pub valid: Vec<u32>,
    pub invalid: Vec<u32>,
    pub erases: Vec<u32>,
    pub age: Vec<u64>,
    pub idle: Vec<u64>,
    pub stream: Vec<u8>,
}

impl Columns {
    fn with_capacity(entries: usize) -> Columns {
        Columns {
            block: Vec::with_capacity(entries),
            valid: Vec::with_capacity(entries),
            invalid: Vec::with_capacity(entries),
            erases: Vec::with_capacity(entries),
            age: Vec::with_capacity(entries),
            idle: Vec::with_capacity(entries),
            stream: Vec::with_capacity(entries),
        }
    }

    fn clear(&mut self) {
        self.block.clear();
        self.valid.clear();
        self.invalid.clear();
        self.erases.clear();
        self.age.clear();
        self.idle.clear();
        self.stream.clear();
    }
}

/// The columns, owned by the layer: filled at a decision point. After the first filling nothing is allocated, unless a policy
/// keeps what it was shown.
#[derive(Clone, Debug, Default)]
pub struct CandidateTable {
    columns: Columns,
    /// What was shown last, if it was not taken back yet; else empty.
    shown: Arc<Columns>,
    pub capacity: u32,
    pub room: Room,
    pub age_unit: AgeUnit,
    pub must_gain: bool,
}

impl CandidateTable {
    pub fn new(capacity: u32, room: Room, age_unit: AgeUnit) -> CandidateTable {
        CandidateTable { capacity, room, age_unit, ..CandidateTable::default() }
    }

    /// The same for a layer that collects because it is short of space.
    pub fn must_gain(self) -> CandidateTable {
        CandidateTable { must_gain: true, ..self }
    }

    /// Empties the table. What was shown and is kept by somebody stays his, and the table goes on in other memory.
    pub fn clear(&mut self) {
        match Arc::get_mut(&mut self.shown) {
            Some(shown) if !shown.block.is_empty() => std::mem::swap(shown, &mut self.columns),
            Some(_) => {}
            None => {
                let kept = std::mem::take(&mut self.shown);
                self.columns = Columns::with_capacity(kept.block.len());
            }
        }
        self.columns.clear();
    }

    pub fn push(&mut self, entry: Entry) {
        debug_assert!(entry.idle <= entry.age, "block {} has changed before it was written", entry.block);
        let columns = &mut self.columns;
        columns.block.push(entry.block);
        columns.valid.push(entry.valid);
        columns.invalid.push(entry.invalid);
        columns.erases.push(entry.erases);
        columns.age.push(entry.age);
        columns.idle.push(entry.idle);
        columns.stream.push(entry.stream);
    }

    /// The layer's number of the block at this position.
    pub fn block(&self, at: usize) -> u32 {
        self.columns.block[at]
    }

    pub fn view(&self) -> Candidates<'_> {
        self.candidates(&self.columns, None)
    }

    /// The candidates in memory that a policy may keep. The table must be cleared before it is filled again.
    pub(crate) fn show(&mut self) -> Candidates<'_> {
        let columns = std::mem::take(&mut self.columns);
        match Arc::get_mut(&mut self.shown) {
            // The empty columns in it have had memory before: it serves the next filling, should this one be kept.
            Some(shown) => self.columns = std::mem::replace(shown, columns),
            None => self.shown = Arc::new(columns),
        }
        self.candidates(&self.shown, Some(&self.shown))
    }

    fn candidates<'a>(&self, columns: &'a Columns, shared: Option<&'a Arc<Columns>>) -> Candidates<'a> {
        Candidates {
            block: &columns.block,
            valid: &columns.valid,
            invalid: &columns.invalid,
            erases: &columns.erases,
            age: &columns.age,
            idle: &columns.idle,
            stream: &columns.stream,
            capacity: self.capacity,
            room: self.room,
            age_unit: self.age_unit,
            must_gain: self.must_gain,
            shared,
        }
    }
}
