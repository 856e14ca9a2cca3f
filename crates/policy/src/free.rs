//! Which free block is written next.

use crate::built_in::below;
use crate::decision::{column, Answer, Decision};
use crate::named::{Named, SpecError};
use crate::other::OtherAtWork;
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::Pcg;

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

/// The free blocks. Both columns have the same length; blocks stand in the order in which they became free.
#[derive(Clone, Copy, Debug)]
pub struct FreeBlocks<'a> {
    pub block: &'a [u32],
    pub erases: &'a [u32],
}

/// A rule that chooses the next free block: its position; `None` only if there is none.
pub trait FreePolicy {
    fn name(&self) -> &str;

    fn choose(&mut self, free: &FreeBlocks<'_>, rng: &mut Pcg) -> Option<usize>;

    /// Why an answer was refused, if one was.
    fn refusal(&self) -> Option<Refusal> {
        None
    }
}

type Choose = fn(&FreeBlocks<'_>, &mut Pcg) -> Option<usize>;

struct ByRule {
    name: &'static str,
    choose: Choose,
}

impl FreePolicy for ByRule {
    fn name(&self) -> &str {
        self.name
    }

    fn choose(&mut self, free: &FreeBlocks<'_>, rng: &mut Pcg) -> Option<usize> {
        (self.choose)(free, rng)
    }
}

/// A rule that stands in no table; `least-worn` where it has no preference.
struct ByOther(OtherAtWork);

impl FreePolicy for ByOther {
    fn name(&self) -> &str {
        self.0.text()
    }

    fn choose(&mut self, free: &FreeBlocks<'_>, rng: &mut Pcg) -> Option<usize> {
        let last = free.block.len().saturating_sub(1);
        let chosen = self.0.choose(free.block.len(), |at, column| match column {
            0 => free.block[at].into(),
            1 => free.erases[at].into(),
            _ => (last - at) as f64,
        });
        chosen.or_else(|| CHOICES[LEAST_WORN](free, rng))
    }

    fn refusal(&self) -> Option<Refusal> {
        self.0.refusal()
    }
}

const fn named(name: &'static str, about: &'static str, paper: &'static str) -> Named {
    Named { name, about, paper, parameter: None }
}

static TABLE: [Named; 5] = [
    named("first", "The free block with the lowest number.", "as simple controllers do"),
    named(
        "least-worn",
        "The free block with the fewest erases: dynamic wear levelling.",
        "E. Gal and S. Toledo, Algorithms and Data Structures for Flash Memories, ACM Computing Surveys 2005, section 2.2",
    ),
    named(
        "most-worn",
        "The free block with the most erases: what holds cold data should rest there.",
        "Linux drivers/mtd/ubi/wl.c, find_wl_entry without its bound",
    ),
    named("fifo", "The block that became free longest ago.", "E. Gal and S. Toledo 2005, section 2.2"),
    named("random", "A random free block.", "E. Gal and S. Toledo 2005, section 2.2: randomised wear levelling"),
];

/// The rules, in the order of the table.
static CHOICES: [Choose; 5] = [
    |free, _| (0..free.block.len()).min_by_key(|at| free.block[*at]),
    |free, _| (0..free.block.len()).min_by_key(|at| free.erases[*at]),
    |free, _| (0..free.block.len()).max_by_key(|at| (free.erases[*at], std::cmp::Reverse(*at))),
    |free, _| (!free.block.is_empty()).then_some(0),
    |free, rng| (!free.block.is_empty()).then(|| below(free.block.len(), rng)),
];

/// The rules for the next free block.
pub fn free_policies() -> &'static [Named] {
    &TABLE
}

const LEAST_WORN: usize = 1;
const FIFO: usize = 3;

/// A rule for the next free block before there is one: a name, or a score of which the highest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeSpec(Rule);

impl FreeSpec {
    /// `least-worn`.
    pub const LEAST_WORN: FreeSpec = FreeSpec(Rule::Named { at: LEAST_WORN, parameter: 0 });
    /// `fifo`.
    pub const FIFO: FreeSpec = FreeSpec(Rule::Named { at: FIFO, parameter: 0 });

    /// Errors: no such rule, a mistake in the score.
    pub fn parse(text: &str) -> Result<FreeSpec, SpecError> {
        Rule::parse(text, &TABLE, &FREE).map(FreeSpec)
    }

    pub fn text(&self) -> String {
        self.0.text(&TABLE)
    }

    pub fn make(&self) -> Box<dyn FreePolicy> {
        match self.0 {
            Rule::Named { at, .. } => Box::new(ByRule { name: TABLE[at].name, choose: CHOICES[at] }),
            Rule::Other(other) => Box::new(ByOther(other.make())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_that_have_a_constant_are_those_of_the_table() {
        assert_eq!(FreeSpec::LEAST_WORN.text(), "least-worn");
        assert_eq!(FreeSpec::FIFO.text(), "fifo");
    }
}
