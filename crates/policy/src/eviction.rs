//! Which entry a full cache of a map gives up, by name.

use crate::decision::{column, Answer, Decision};
use crate::named::{Named, SpecError};
use crate::other::OtherRule;
use crate::rule::Rule;

const fn named(name: &'static str, about: &'static str, paper: &'static str) -> Named {
    Named { name, about, paper, parameter: None }
}

static TABLE: [Named; 5] = [
    named("lru", "The entry that was used longest ago.", "P. Denning, The Working Set Model for Program Behavior, CACM 1968"),
    named(
        "segmented-lru",
        "Entries used more than once are kept in a protected half; the others go first.",
        "R. Karedla, J. Love and B. Wherry, Caching Strategies to Improve Disk System Performance, IEEE Computer 1994; A. Gupta, Y. Kim and B. Urgaonkar, DFTL, ASPLOS 2009, section 3.2",
    ),
    named("fifo", "The entry that came first, however often it was used.", "L. Belady, R. Nelson and G. Shedler, An Anomaly in Space-Time Characteristics of Certain Programs, CACM 1969"),
    named("random", "A random entry.", "L. Belady, A Study of Replacement Algorithms for a Virtual-Storage Computer, IBM Systems Journal 1966"),
    named("clock", "As fifo, but an entry that was used since its last turn gets another one.", "F. Corbato, A Paging Experiment with the Multics System, 1968"),
];

/// A rule before it is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionSpec {
    Lru,
    SegmentedLru,
    Fifo,
    Random,
    Clock,
    /// A score, of which the highest wins, or a rule of somebody else.
    Other(OtherRule),
}

use EvictionSpec::{Clock, Fifo, Lru, Random, SegmentedLru};

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

/// In the order of the table.
const SPECS: [EvictionSpec; 5] = [Lru, SegmentedLru, Fifo, Random, Clock];

/// The rules for a cache of a map.
pub fn eviction_policies() -> &'static [Named] {
    &TABLE
}

impl EvictionSpec {
    /// Errors: no such rule, a mistake in the score.
    pub fn parse(text: &str) -> Result<EvictionSpec, SpecError> {
        Ok(match Rule::parse(text, &TABLE, &MAP_EVICTION)? {
            Rule::Named { at, .. } => SPECS[at],
            Rule::Other(other) => EvictionSpec::Other(other),
        })
    }

    pub fn text(&self) -> String {
        match self {
            EvictionSpec::Other(other) => other.text(),
            named => SPECS
                .iter()
                .zip(&TABLE)
                .find(|(spec, _)| *spec == named)
                .map_or("", |(_, named)| named.name)
                .to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for (named, spec) in eviction_policies().iter().zip(SPECS) {
            assert_eq!(EvictionSpec::parse(named.name), Ok(spec));
            assert_eq!(spec.text(), named.name);
        }
        assert!(EvictionSpec::parse("lruu").is_err());
        assert_eq!(EvictionSpec::parse("idle - 10 * dirty").unwrap().text(), "idle - 10 * dirty");
    }
}
