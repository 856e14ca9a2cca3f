//! The decisions that take one rule of three kinds: a named one, a score, or one that somebody else has written.
//!
//! Victims are not among them: they have columns of their own memory ([`crate::Candidates`]), because they are asked for often and
//! with many blocks. What is asked here comes once a block, a file, a miss or a page that is written.

use crate::eviction::eviction_policies;
use crate::expression::Column;
use crate::free::free_policies;
use crate::levelling::levelling_policies;
use crate::named::Named;
use crate::read_ahead::read_ahead_policies;
use crate::stream::stream_policies;
use crate::write_back::write_back_policies;

/// What answers a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One of what is shown: that with the highest score.
    One,
    /// One of what is shown, that with the highest score, or none if no score is above 0.
    OneOrNone,
    /// A number: the score itself.
    Number,
}

/// A decision of a layer.
#[derive(Debug)]
pub struct Decision {
    /// The key of `[stack.policy]`.
    pub key: &'static str,
    /// What a score says.
    pub score: &'static str,
    /// The rules that have a name.
    pub named: fn() -> &'static [Named],
    /// What is shown.
    pub columns: &'static [Column],
    pub answer: Answer,
}

const fn column(name: &'static str, about: &'static str) -> Column {
    Column { name, about }
}

pub static FREE: Decision = Decision {
    key: "free",
    named: free_policies,
    score: "the free block with the highest score is written next",
    columns: &[
        column("block", "number of the block"),
        column("erases", "how often it was erased"),
        column("waited", "blocks that became free after it did"),
    ],
    answer: Answer::One,
};

pub static LEVELLING: Decision = Decision {
    key: "levelling",
    named: levelling_policies,
    score: "the data of the full block with the highest score move, if it is above 0",
    columns: &[
        column("block", "number of the block"),
        column("erases", "how often it was erased"),
        column("least", "erases of the least worn good block"),
        column("most", "erases of the most worn good block"),
        column("mean", "mean erases of all good blocks"),
        column("endurance", "erases that the part endures"),
    ],
    answer: Answer::OneOrNone,
};

pub static STREAM: Decision = Decision {
    key: "stream",
    named: stream_policies,
    score: "the page goes to the blocks of hot pages if its score is above 0",
    columns: &[
        column("page", "number of the logical page"),
        column("writes", "how often it was written before, since the mount"),
        column("age", "pages that were written since it was; infinite the first time"),
        column("now", "pages that were written since the mount"),
    ],
    answer: Answer::Number,
};

pub static MAP_EVICTION: Decision = Decision {
    key: "map_eviction",
    named: eviction_policies,
    score: "the cached entry with the highest score is given up",
    columns: &[
        column("page", "number of the logical page"),
        column("age", "look-ups since it came to the cache"),
        column("idle", "look-ups since it was used last"),
        column("uses", "how often it was used since it came, 0 for the look-up that brought it"),
        column("dirty", "1 if it must be written before it is given up, else 0"),
    ],
    answer: Answer::One,
};

pub static READ_AHEAD: Decision = Decision {
    key: "read_ahead",
    named: read_ahead_policies,
    score: "so many pages are read beyond those that the program asks for",
    columns: &[
        column("page", "number of the page of the file that is missing"),
        column("asked", "pages that the program asks for from there on"),
        column("sequential", "1 if they follow what was read last, else 0"),
        column("ahead", "pages that were read ahead last"),
        column("used", "share of those that the program has come to"),
    ],
    answer: Answer::Number,
};

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

/// All of them.
pub static DECISIONS: [&Decision; 6] = [&FREE, &LEVELLING, &STREAM, &MAP_EVICTION, &READ_AHEAD, &WRITE_BACK];
