//! Which of the dirty files is written back next.
//!
//! A page cache asks when the flusher takes the next file of a round. Which pages of a file are written, in which order, and
//! for how long, stays its own: ascending, from where the last walk stopped.
//!
//! **Follows.** The papers that each order names in [`write_back_policies`]. They order blocks or groups of blocks of a device;
//! where a file lies is the file system's affair here, so a file takes the place of a group.
//!
//! **Leaves out.** When something is written, and who among the dirty is old enough for that.

use crate::decision::{column, Answer, Decision};
use crate::named::{own_rule_or, Named, SpecError};
use crate::other::OtherAtWork;
use crate::refusal::Refusal;
use crate::rule::Rule;

pub static WRITE_BACK: Decision = Decision {
    key: "write_back",
    named: write_back_policies,
    score: "the dirty file with the highest score is written next",
    columns: &[
        column("ino", "number of the file's inode"),
        column("dirty_pages", "how many of its pages are dirty"),
        column("dirty_s", "seconds since it became dirty"),
        column("idle_s", "seconds since a program wrote to it last"),
    ],
    answer: Answer::One,
};

/// A file that may be written now.
#[derive(Clone, Copy, Debug)]
pub struct DirtyFile {
    /// Its number in the file system.
    pub ino: u32,
    pub dirty_pages: u64,
    /// When it became dirty.
    pub dirtied_ns: u64,
    /// When a program wrote to it last.
    pub written_ns: u64,
}

/// What is lowest is written first; of equals the one that became dirty first. `after`: the file that was taken last.
type Key = fn(file: &DirtyFile, after: u32) -> (bool, u64);

const fn named(name: &'static str, about: &'static str, paper: &'static str) -> Named {
    Named { name, about, paper, parameter: None }
}

static TABLE: [Named; 4] = [
    named(
        "largest-first",
        "The file with the most dirty pages.",
        "H. Jo, J.-U. Kang, S.-Y. Park, J.-S. Kim and J. Lee, FAB: Flash-Aware Buffer Management Policy for Portable Media Players, IEEE TCE 2006",
    ),
    named(
        "smallest-first",
        "The file with the fewest dirty pages, so that most files are soon safe.",
        "shortest job first, as schedulers do: E. G. Coffman and P. J. Denning, Operating Systems Theory, 1973",
    ),
    named(
        "least-recently-written",
        "The file that no program has written to for the longest time: what is still being changed is written once.",
        "B. Gill and D. Modha, WOW: Wise Ordering for Writes, FAST 2005: there LRW",
    ),
    named(
        "inode-order",
        "Ascending numbers of files, and around: one sweep over the device of a file system that places files by number.",
        "B. Gill and D. Modha, FAST 2005: there CSCAN",
    ),
];

/// Their keys, in the order of the table.
static KEYS: [Key; 4] = [
    |file, _| (false, u64::MAX - file.dirty_pages),
    |file, _| (false, file.dirty_pages),
    |file, _| (false, file.written_ns),
    |file, after| (file.ino <= after, file.ino.into()),
];

/// The orders of write-back.
pub fn write_back_policies() -> &'static [Named] {
    &TABLE
}

/// An order of write-back before it is at work: a name, or a score of which the highest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBackOrder(Rule);

impl WriteBackOrder {
    /// What a user writes. `None`: the kernel's own order.
    ///
    /// Errors: no such order, a mistake in the score.
    pub fn parse(text: &str) -> Result<Option<WriteBackOrder>, SpecError> {
        own_rule_or(text, |text| Rule::parse(text, &TABLE, &WRITE_BACK).map(WriteBackOrder))
    }

    pub fn text(&self) -> String {
        self.0.text(&TABLE)
    }

    pub fn make(&self) -> WriteBackRule {
        let kind = match self.0 {
            Rule::Named { at, .. } => Kind::Named(KEYS[at]),
            Rule::Other(other) => Kind::Other(other.make(), Vec::new()),
        };
        WriteBackRule { kind, last_ino: 0 }
    }
}

enum Kind {
    Named(Key),
    /// With room for the files.
    Other(OtherAtWork, Vec<DirtyFile>),
}

/// An order of write-back at work.
pub struct WriteBackRule {
    kind: Kind,
    /// The file that was taken last.
    last_ino: u32,
}

impl WriteBackRule {
    /// The number of the file to write next; `None` only if there is none. `files`: in the order in which they became dirty.
    pub fn choose(&mut self, files: impl Iterator<Item = DirtyFile>, now_ns: u64) -> Option<u32> {
        let chosen = match &mut self.kind {
            Kind::Named(key) => files.min_by_key(|file| key(file, self.last_ino)),
            Kind::Other(other, room) => {
                room.clear();
                room.extend(files);
                let since_s = |then_ns: u64| now_ns.saturating_sub(then_ns) as f64 / 1e9;
                let row = other.choose(room.len(), |row, column| match column {
                    0 => room[row].ino.into(),
                    1 => room[row].dirty_pages as f64,
                    2 => since_s(room[row].dirtied_ns),
                    _ => since_s(room[row].written_ns),
                });
                room.get(row.unwrap_or(0)).copied()
            }
        };
        self.last_ino = chosen?.ino;
        Some(self.last_ino)
    }

    /// Why an answer was refused, if one was; from then on the file that became dirty first is taken.
    pub fn refusal(&self) -> Option<Refusal> {
        match &self.kind {
            Kind::Named(_) => None,
            Kind::Other(other, _) => other.refusal(),
        }
    }
}
