//! What a victim policy sees: columns with one entry a block that may be collected.

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
}

impl Candidates<'_> {
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

/// The columns, owned by the layer: filled at a decision point, or kept up to date from one to the next. After the first
/// filling nothing is allocated.
#[derive(Clone, Debug, Default)]
pub struct CandidateTable {
    block: Vec<u32>,
    valid: Vec<u32>,
    invalid: Vec<u32>,
    erases: Vec<u32>,
    age: Vec<u64>,
    idle: Vec<u64>,
    stream: Vec<u8>,
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

    pub fn clear(&mut self) {
        self.block.clear();
        self.valid.clear();
        self.invalid.clear();
        self.erases.clear();
        self.age.clear();
        self.idle.clear();
        self.stream.clear();
    }

    pub fn push(&mut self, entry: Entry) {
        debug_assert!(entry.idle <= entry.age, "block {} has changed before it was written", entry.block);
        self.block.push(entry.block);
        self.valid.push(entry.valid);
        self.invalid.push(entry.invalid);
        self.erases.push(entry.erases);
        self.age.push(entry.age);
        self.idle.push(entry.idle);
        self.stream.push(entry.stream);
    }

    /// The layer's number of the block at this position.
    pub fn block(&self, at: usize) -> u32 {
        self.block[at]
    }

    pub fn view(&self) -> Candidates<'_> {
        Candidates {
            block: &self.block,
            valid: &self.valid,
            invalid: &self.invalid,
            erases: &self.erases,
            age: &self.age,
            idle: &self.idle,
            stream: &self.stream,
            capacity: self.capacity,
            room: self.room,
            age_unit: self.age_unit,
            must_gain: self.must_gain,
        }
    }
}
