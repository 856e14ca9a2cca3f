//! Which written pages will soon be written again: the rule that tells a hot stream from the rest.

use crate::decision::{column, Answer, Decision};
use crate::named::{Named, SpecError};
use crate::other::{OtherAtWork, OtherRule};
use crate::refusal::Refusal;
use crate::rule::Rule;

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

static TABLE: [Named; 2] = [
    Named { name: "none", about: "One stream.", paper: "the comparison of all papers", parameter: None },
    Named {
        name: "hot-cold",
        about: "Pages that were written often and of late are hot; Bloom filters that take turns remember them.",
        paper: "D. Park and D. Du, Hot Data Identification for Flash-based Storage Systems Using Multiple Bloom Filters, MSST 2011",
        parameter: None,
    },
];

/// The rules for the stream of a write.
pub fn stream_policies() -> &'static [Named] {
    &TABLE
}

/// A rule for the stream of a write before it is at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamSpec {
    #[default]
    None,
    HotCold,
    /// A score, which is above 0 for hot pages, or a rule of somebody else.
    Other(OtherRule),
}

impl StreamSpec {
    /// Errors: no such rule, a mistake in the score.
    pub fn parse(text: &str) -> Result<StreamSpec, SpecError> {
        Ok(match Rule::parse(text, &TABLE, &STREAM)? {
            Rule::Named { at, .. } => [StreamSpec::None, StreamSpec::HotCold][at],
            Rule::Other(other) => StreamSpec::Other(other),
        })
    }

    pub fn text(&self) -> String {
        match self {
            StreamSpec::None => TABLE[0].name.to_string(),
            StreamSpec::HotCold => TABLE[1].name.to_string(),
            StreamSpec::Other(other) => other.text(),
        }
    }

    /// What tells hot pages; `None`: nothing does.
    pub fn make(&self) -> Option<Box<dyn HotPages>> {
        match self {
            StreamSpec::None => None,
            StreamSpec::HotCold => Some(Box::new(BloomFilters::new())),
            StreamSpec::Other(other) => Some(Box::new(ByOther { at_work: other.make(), pages: Vec::new(), now: 0 })),
        }
    }
}

/// A rule for the stream of a write at work.
pub trait HotPages {
    /// Records a write of a page. `true`: the page is hot.
    fn writes(&mut self, page: u32) -> bool;

    /// Why an answer was refused, if one was; from then on no page is hot.
    fn refusal(&self) -> Option<Refusal> {
        None
    }
}

/// How often a page was written, and when last, in pages written since the mount.
#[derive(Clone, Copy, Debug, Default)]
struct History {
    writes: u32,
    last: u64,
}

/// A rule that stands in no table, with what it sees of each page.
struct ByOther {
    at_work: OtherAtWork,
    pages: Vec<History>,
    now: u64,
}

impl HotPages for ByOther {
    fn writes(&mut self, page: u32) -> bool {
        let index = page as usize;
        if index >= self.pages.len() {
            self.pages.resize(index + 1, History::default());
        }
        let (now, of) = (self.now, self.pages[index]);
        let number = self.at_work.number(|column| match column {
            0 => page.into(),
            1 => of.writes.into(),
            2 if of.writes == 0 => f64::INFINITY,
            2 => (now - of.last) as f64,
            _ => now as f64,
        });
        self.pages[index] = History { writes: of.writes + 1, last: now };
        self.now += 1;
        number.is_some_and(|number| number > 0.0)
    }

    fn refusal(&self) -> Option<Refusal> {
        self.at_work.refusal()
    }
}

/// Filters, bits of each and hashes of a page, and the writes after which the oldest filter is emptied: the paper's.
const FILTERS: usize = 4;
const FILTER_BITS: usize = 2048;
const HASHES: u32 = 2;
const DECAY_WRITES: u32 = 512;
/// A page is hot from this weight on. The filter that was emptied last counts 2, the one before it 1.5, then 1 and 0.5.
const HOT_HALVES: u32 = 8;

/// Multiple Bloom filters. A write is recorded in the next filter that does not know the page yet, so that the number of filters that
/// know it counts its writes; each filter is emptied in its turn, so that old writes are forgotten. With the paper's four
/// filters a page is hot if at least three of them know it, the youngest ones among them.
#[derive(Clone, Debug)]
struct BloomFilters {
    filters: [[u64; FILTER_BITS / 64]; FILTERS],
    /// The filter in which the next write is recorded, and the one that was emptied last.
    next: usize,
    youngest: usize,
    writes: u32,
}

impl BloomFilters {
    fn new() -> BloomFilters {
        BloomFilters { filters: [[0; FILTER_BITS / 64]; FILTERS], next: 0, youngest: 0, writes: 0 }
    }
}

impl HotPages for BloomFilters {
    fn writes(&mut self, page: u32) -> bool {
        let bits = bits_of(page);
        let knows = |filter: &[u64; FILTER_BITS / 64]| bits.iter().all(|&bit| filter[bit / 64] >> (bit % 64) & 1 == 1);
        let free = (0..FILTERS).map(|turn| (self.next + turn) % FILTERS).find(|&at| !knows(&self.filters[at]));
        if let Some(at) = free {
            bits.iter().for_each(|&bit| self.filters[at][bit / 64] |= 1 << (bit % 64));
            self.next = (at + 1) % FILTERS;
        }
        let weight_halves = (0..FILTERS as u32).filter_map(|age| {
            let at = (self.youngest + FILTERS - age as usize) % FILTERS;
            knows(&self.filters[at]).then_some(FILTERS as u32 - age)
        });
        let is_hot = weight_halves.sum::<u32>() >= HOT_HALVES;
        self.writes += 1;
        if self.writes == DECAY_WRITES {
            self.writes = 0;
            self.youngest = (self.youngest + 1) % FILTERS;
            self.filters[self.youngest] = [0; FILTER_BITS / 64];
        }
        is_hot
    }
}

/// Two independent multiplicative hashes of the number of a page (Knuth, The Art of Computer Programming 6.4).
fn bits_of(page: u32) -> [usize; HASHES as usize] {
    let hash = (u64::from(page) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let shift = u64::BITS - FILTER_BITS.trailing_zeros();
    [(hash >> shift) as usize, (hash.rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> shift) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for (named, spec) in stream_policies().iter().zip([StreamSpec::None, StreamSpec::HotCold]) {
            assert_eq!(StreamSpec::parse(named.name), Ok(spec));
            assert_eq!(spec.text(), named.name);
        }
    }

    /// Ten pages are written with every second write, ten thousand others in turn.
    #[test]
    fn pages_that_are_written_again_and_again_are_hot_and_others_are_not() {
        let mut pages = BloomFilters::new();
        let (mut hot, mut cold) = (0, 0);
        for write in 0..20_000u32 {
            hot += u32::from(pages.writes(write % 10));
            cold += u32::from(pages.writes(100 + write % 10_000));
        }
        assert!(hot > 18_000, "{hot} of 20000 writes of hot pages");
        assert!(cold < 2_000, "{cold} of 20000 writes of cold pages");
        // What is written no longer is forgotten.
        for write in 0..4 * DECAY_WRITES {
            pages.writes(1_000_000 + write);
        }
        assert!((0..10).all(|page| !pages.writes(page)));
    }

    /// Hot is what was written less than 20 writes ago.
    #[test]
    fn a_score_sees_how_long_ago_a_page_was_written() {
        let mut pages = StreamSpec::parse("20 - age").unwrap().make().unwrap();
        assert!(!pages.writes(5));
        assert!(pages.writes(5));
        (100..119).for_each(|page| assert!(!pages.writes(page)));
        assert!(!pages.writes(5));
    }
}
