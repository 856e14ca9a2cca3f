//! How far a page cache reads ahead of a program.
//!
//! A rule is asked when a page is missing, or when a page that carries the mark of read-ahead is touched, and says which pages
//! to read. It remembers a little of each open file ([`ReadAheadStream`]). All numbers are pages and page indices unless
//! named otherwise.
//!
//! **Follows.** The papers that each rule names in [`read_ahead_policies`].
//!
//! **Leaves out.** Reading while the program works: flash drivers read inside the call, so a mark starts a read for which the
//! program waits, too.

use crate::decision::{column, Answer, Decision};
use crate::named::{own_rule_or, Named, Parameter, SpecError};
use crate::other::OtherAtWork;
use crate::refusal::Refusal;
use crate::rule::Rule;

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

/// What has to be read.
#[derive(Clone, Copy, Debug)]
pub struct ReadDemand {
    /// The page that is missing, or that carries the mark.
    pub page: u64,
    /// Pages from there on that the program asks for.
    pub count: u64,
    /// The page is there and carried the mark.
    pub is_marked: bool,
    /// The page that the program read last; `None`: it has read nothing.
    pub previous_page: Option<u64>,
}

impl ReadDemand {
    /// It follows what was read last, or begins where the file does.
    fn is_sequential(&self) -> bool {
        self.page == self.previous_page.map_or(0, |page| page + 1) || Some(self.page) == self.previous_page
    }
}

/// The pages to read; those that are cached are left out by the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadWindow {
    pub first_page: u64,
    pub count: u64,
    /// The page that gets the mark.
    pub mark_page: Option<u64>,
}

/// What a rule remembers of an open file: the pages that it read ahead last, and how far it reads ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAheadStream {
    ahead_first: u64,
    ahead_end: u64,
    degree: u64,
}

/// `most`: the parameter, in pages.
type Window = fn(&mut ReadAheadStream, ReadDemand, most: u64) -> ReadWindow;

const WINDOW: Parameter = Parameter { name: "KiB", about: "what is read ahead", least: 4, most: 65_536, default: 128 };

const fn named(name: &'static str, about: &'static str, paper: &'static str, parameter: Option<Parameter>) -> Named {
    Named { name, about, paper, parameter }
}

static TABLE: [Named; 5] = [
    named(
        "none",
        "What the program asks for, and nothing else.",
        "A. J. Smith, Sequential Program Prefetching in Memory Hierarchies, IEEE Computer 1978: demand fetching",
        None,
    ),
    named(
        "fixed",
        "On each miss, so much together with what is missing.",
        "A. J. Smith, Cache Memories, ACM Computing Surveys 1982: prefetch on misses, of more than one block",
        Some(WINDOW),
    ),
    named(
        "tagged",
        "On a miss, so much behind it; again so much when the program comes to what was read ahead.",
        "J. D. Gindele, Buffer Block Prefetching Method, IBM Technical Disclosure Bulletin 1977; A. J. Smith 1982: tagged prefetch",
        Some(WINDOW),
    ),
    named(
        "sequential-only",
        "On a miss that follows what was read last, so much together with it; on others nothing.",
        "B. Gill and D. Modha, SARC: Sequential Prefetching in Adaptive Replacement Cache, USENIX 2005: how sequential reads are told",
        Some(WINDOW),
    ),
    named(
        "adaptive",
        "Twice as far when three quarters of what was read ahead were used, half as far when less than two fifths were.",
        "F. Dahlgren, M. Dubois and P. Stenstrom, Sequential Hardware Prefetching in Shared-Memory Multiprocessors, IEEE TPDS 1995",
        Some(Parameter { about: "the most that is read ahead", ..WINDOW }),
    ),
];

/// The rules, in the order of the table.
static WINDOWS: [Window; 5] = [
    |_, demand, _| on_demand(demand, 0),
    |_, demand, most| on_demand(demand, most.saturating_sub(demand.count)),
    tagged,
    |_, demand, most| {
        let ahead = if demand.is_sequential() { most.saturating_sub(demand.count) } else { 0 };
        on_demand(demand, ahead)
    },
    adaptive,
];

fn on_demand(demand: ReadDemand, ahead: u64) -> ReadWindow {
    ReadWindow { first_page: demand.page, count: demand.count + ahead, mark_page: None }
}

/// The mark stands on the first page that was read ahead.
fn tagged(stream: &mut ReadAheadStream, demand: ReadDemand, most: u64) -> ReadWindow {
    let is_own_mark = demand.is_marked && (stream.ahead_first..stream.ahead_end).contains(&demand.page);
    let (first, ahead_first) = if is_own_mark {
        (stream.ahead_end, stream.ahead_end)
    } else if demand.is_marked {
        // Somebody else who reads this file has left the mark, in front of so much that he read ahead.
        (demand.page + most, demand.page + most)
    } else {
        (demand.page, demand.page + demand.count)
    };
    (stream.ahead_first, stream.ahead_end) = (ahead_first, ahead_first + most);
    ReadWindow { first_page: first, count: stream.ahead_end - first, mark_page: Some(ahead_first) }
}

impl ReadAheadStream {
    /// Pages that were read ahead last.
    fn ahead(&self) -> u64 {
        self.ahead_end - self.ahead_first
    }

    /// How many of them the program has come to.
    fn used(&self, demand: ReadDemand) -> u64 {
        let reached =
            if demand.page == self.ahead_end { demand.page } else { demand.previous_page.map_or(0, |page| page + 1) };
        reached.clamp(self.ahead_first, self.ahead_end) - self.ahead_first
    }

    /// So many pages are read ahead, behind what is asked for.
    fn reads_ahead(&mut self, demand: ReadDemand, pages: u64) -> ReadWindow {
        self.ahead_first = demand.page + demand.count;
        self.ahead_end = self.ahead_first + pages;
        on_demand(demand, pages)
    }
}

/// The paper counts prefetched blocks that are used; here it is how far the program has come in what was read ahead last.
fn adaptive(stream: &mut ReadAheadStream, demand: ReadDemand, most: u64) -> ReadWindow {
    let ahead = stream.ahead();
    if ahead > 0 {
        let used = stream.used(demand);
        if used * 4 >= ahead * 3 {
            stream.degree = (stream.degree * 2).min(most);
        } else if used * 5 < ahead * 2 {
            stream.degree /= 2;
        }
    } else if demand.is_sequential() {
        stream.degree = stream.degree.max(1);
    }
    stream.reads_ahead(demand, stream.degree)
}

/// The rules for read-ahead.
pub fn read_ahead_policies() -> &'static [Named] {
    &TABLE
}

/// A rule for read-ahead before it is at work: a name, or a score, which is the number of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAheadPolicy(Rule);

impl ReadAheadPolicy {
    /// What a user writes. `None`: the kernel's own rule.
    ///
    /// Errors: no such rule, no such window, a mistake in the score.
    pub fn parse(text: &str) -> Result<Option<ReadAheadPolicy>, SpecError> {
        own_rule_or(text, |text| Rule::parse(text, &TABLE, &READ_AHEAD).map(ReadAheadPolicy))
    }

    pub fn text(&self) -> String {
        self.0.text(&TABLE)
    }

    pub fn make(&self) -> ReadAheadRule {
        ReadAheadRule(match self.0 {
            Rule::Named { at, parameter } => Kind::Named { window: WINDOWS[at], most_kib: parameter },
            Rule::Other(other) => Kind::Other(other.make()),
        })
    }
}

enum Kind {
    Named { window: Window, most_kib: u32 },
    Other(OtherAtWork),
}

/// A rule for read-ahead at work.
pub struct ReadAheadRule(Kind);

/// What a rule that stands in no table may read ahead at most, as the named ones.
const OTHER_MOST_BYTES: u64 = WINDOW.most as u64 * 1024;

impl ReadAheadRule {
    /// What to read, with pages of so many bytes.
    pub fn window(&mut self, stream: &mut ReadAheadStream, demand: ReadDemand, page_bytes: u64) -> ReadWindow {
        match &mut self.0 {
            Kind::Named { window, most_kib } => {
                window(stream, demand, (u64::from(*most_kib) * 1024 / page_bytes).max(1))
            }
            Kind::Other(other) => {
                let (ahead, used) = (stream.ahead(), stream.used(demand));
                let pages = other.number(|column| match column {
                    0 => demand.page as f64,
                    1 => demand.count as f64,
                    2 => demand.is_sequential().into(),
                    3 => ahead as f64,
                    _ if ahead == 0 => 0.0,
                    _ => used as f64 / ahead as f64,
                });
                // A conversion of a number that is too large gives the largest one.
                let pages = (pages.unwrap_or(0.0) as u64).min(OTHER_MOST_BYTES / page_bytes);
                stream.reads_ahead(demand, pages)
            }
        }
    }

    /// Why an answer was refused, if one was; from then on nothing is read ahead.
    pub fn refusal(&self) -> Option<Refusal> {
        match &self.0 {
            Kind::Named { .. } => None,
            Kind::Other(other) => other.refusal(),
        }
    }
}
