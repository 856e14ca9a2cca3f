//! What a format hands over: the steps by which each file came to be, as far as they are still on the flash.

use ffslab_fs::FileKind;
use std::collections::BTreeSet;

/// A part of a file that a node holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where in the file it begins.
    pub offset: u64,
    /// How many bytes of the file it takes the place of; it may hold fewer.
    pub span_bytes: u64,
    /// It is a hole: all of it is zeros.
    pub is_hole: bool,
    /// Where its node stands: erase block, offset in the page data of the block, length.
    pub block: u32,
    pub node_offset: u32,
    pub stored_bytes: u32,
}

impl Piece {
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.span_bytes)
    }
}

/// Whether what the flash holds after a step is a state that the file had, or the middle of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    No,
    /// It is, whatever happened before.
    Yes,
    /// It is, unless a step since the last certain state has changed what was there.
    IfCalm,
    /// It is, if it was never changed: it is the file's last state then.
    IfLast,
}

/// A change of a file: data, a size, or both; first the data count.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Grows with time.
    pub sequence: u64,
    pub piece: Option<Piece>,
    pub size_bytes: Option<u64>,
    pub rest: Rest,
    pub modified_s: Option<i64>,
}

/// What a file, link or directory was.
#[derive(Clone, Debug)]
pub struct Past {
    pub ino: u32,
    pub kind: FileKind,
    pub permissions: u32,
    pub uid: u32,
    pub gid: u32,
    /// In the order of their numbers.
    pub steps: Vec<Step>,
    /// The numbers that are missing among the steps, if each file counts its own; else [`History::missing`] holds.
    pub missing: Option<Missing>,
    /// The flash says that it was deleted. Without that, it is gone if no name leads to it.
    pub is_ended: bool,
    pub ended_s: Option<i64>,
    /// The number of the step that deleted it, if that is there.
    pub ended_by_sequence: Option<u64>,
    /// If no step is missing, bytes that no step wrote are zeros. Otherwise they are not known: where writing is
    /// delayed, a size may come to the flash before the data.
    pub gaps_are_zeros: bool,
    /// Target of a symbolic link.
    pub target: Option<Vec<u8>>,
}

impl Past {
    pub fn new(ino: u32, kind: FileKind) -> Past {
        Past {
            ino,
            kind,
            permissions: if kind == FileKind::Directory { 0o755 } else { 0o644 },
            uid: 0,
            gid: 0,
            steps: Vec::new(),
            missing: None,
            is_ended: false,
            ended_s: None,
            ended_by_sequence: None,
            gaps_are_zeros: false,
            target: None,
        }
    }
}

/// A name that an object once had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub parent: u32,
    pub name: Vec<u8>,
    pub ino: u32,
    pub kind: FileKind,
    /// Of several names of an object the one with the highest number is the last.
    pub sequence: u64,
}

/// Step numbers that are missing, in ranges of neighbours.
#[derive(Clone, Debug, Default)]
pub struct Missing {
    /// First and last number of each run of numbers that are there, ascending.
    runs: Vec<(u64, u64)>,
}

impl Missing {
    /// Everything from `first` on that is not among `there`.
    pub fn among(there: &BTreeSet<u64>) -> Missing {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for &number in there {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => runs.push((number, number)),
            }
        }
        Missing { runs }
    }

    /// The highest missing number below a number that is there; 0: all from 1 on are there.
    pub fn last_before(&self, number: u64) -> u64 {
        let run = self.runs.partition_point(|&(first, _)| first <= number).checked_sub(1).map(|at| self.runs[at]);
        match run {
            Some((first, last)) if number <= last => first.saturating_sub(1),
            _ => number,
        }
    }
}

/// What a piece that is no hole holds; `None`: it is damaged.
pub type Fetch<'i> = Box<dyn FnMut(&Piece) -> Option<Vec<u8>> + 'i>;

/// Everything that is still on the flash of the past.
pub struct History<'i> {
    pub pasts: Vec<Past>,
    pub names: Vec<Name>,
    /// The steps that are missing, where all files share one count.
    pub missing: Missing,
    /// The root directory.
    pub root_ino: u32,
    pub fetch: Fetch<'i>,
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_that_is_missing_is_found() {
        let missing = Missing::among(&BTreeSet::from([1, 2, 3, 7, 8, 10]));
        let last: Vec<u64> = [1, 3, 7, 8, 10, 11].into_iter().map(|number| missing.last_before(number)).collect();
        assert_eq!(last, [0, 0, 6, 6, 9, 11]);
        assert_eq!(Missing::default().last_before(5), 5);
    }
}
