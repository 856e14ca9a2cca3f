//! When data are moved only to level wear, and from which block.
//!
//! A layer asks after erases, at its own pace: a look goes through all blocks, so it does not ask after every one.

use crate::decision::{column, Answer, Decision};
use crate::free::FreeSpec;
use crate::named::{Named, Parameter, SpecError};
use crate::other::OtherAtWork;
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::Pcg;

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

/// Erases that data sheets of large-page SLC NAND promise, for a part that says nothing.
pub const ENDURANCE_ERASES: u32 = 100_000;

/// The wear of all good blocks. All columns have the same length, and the same block stands always at the same position.
#[derive(Clone, Copy, Debug)]
pub struct WearOfBlocks<'a> {
    pub block: &'a [u32],
    pub erases: &'a [u32],
    /// Whether data can be moved away from it: it is neither free nor being written.
    pub is_closed: &'a [bool],
    /// Erases that the cells bear.
    pub endurance_erases: u32,
}

impl WearOfBlocks<'_> {
    /// The closed block with the fewest erases among those that `counts`.
    fn coldest(&self, counts: impl Fn(usize) -> bool) -> Option<usize> {
        let closed = (0..self.block.len()).filter(|at| self.is_closed[*at] && counts(*at));
        closed.min_by_key(|at| self.erases[*at])
    }

    fn most_erases(&self, counts: impl Fn(usize) -> bool) -> Option<usize> {
        let all = (0..self.block.len()).filter(|at| counts(*at));
        all.max_by_key(|at| (self.erases[*at], std::cmp::Reverse(*at)))
    }
}

/// A rule for static wear levelling.
pub trait Levelling {
    fn name(&self) -> &str;

    /// The position of the block whose data move now, into a worn free block; `None`: nothing moves.
    fn choose(&mut self, wear: &WearOfBlocks<'_>, rng: &mut Pcg) -> Option<usize>;

    /// Why an answer was refused, if one was.
    fn refusal(&self) -> Option<Refusal> {
        None
    }
}

/// Moves nothing: there is no static wear levelling. With `dynamic` the layer takes the least worn free block.
struct MovesNothing(&'static str);

impl Levelling for MovesNothing {
    fn name(&self) -> &str {
        self.0
    }

    fn choose(&mut self, _wear: &WearOfBlocks<'_>, _rng: &mut Pcg) -> Option<usize> {
        None
    }
}

/// Moves the coldest data once the erases differ by the threshold.
struct Threshold {
    name: String,
    erases: u32,
}

impl Levelling for Threshold {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(&mut self, wear: &WearOfBlocks<'_>, _rng: &mut Pcg) -> Option<usize> {
        let most = wear.most_erases(|_| true)?;
        let coldest = wear.coldest(|_| true)?;
        (wear.erases[most] - wear.erases[coldest] >= self.erases).then_some(coldest)
    }
}

/// Keeps the spread of erases within a window that narrows as the blocks wear: wide while they are young, so that little is
/// moved, and 1 at the end of life. The paper narrows it in steps by the remaining life; here it is linear in it.
struct RejuvenatorLike {
    name: String,
    window_erases: u32,
}

impl Levelling for RejuvenatorLike {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(&mut self, wear: &WearOfBlocks<'_>, _rng: &mut Pcg) -> Option<usize> {
        let most = wear.most_erases(|_| true)?;
        let coldest = wear.coldest(|_| true)?;
        let left = wear.endurance_erases.saturating_sub(wear.erases[coldest]);
        let share = f64::from(left) / f64::from(wear.endurance_erases.max(1));
        let window = (f64::from(self.window_erases) * share).max(1.0);
        (f64::from(wear.erases[most] - wear.erases[coldest]) > window).then_some(coldest)
    }
}

/// Two pools: blocks that are erased often and blocks with cold data. If the most worn of the hot pool leads the least worn
/// of the cold pool by the threshold, the cold data move, and both blocks change their pools. A block that joins a pool
/// counts its erases from then on for going back (the paper's effective erase counts). The paper moves the cold data into
/// the very block that was most worn; here the layer takes a worn free one.
struct DualPoolLike {
    name: String,
    threshold_erases: u32,
    is_hot: Vec<bool>,
    erases_at_joining: Vec<u32>,
}

impl DualPoolLike {
    fn since_joining(&self, wear: &WearOfBlocks<'_>, at: usize) -> u32 {
        wear.erases[at].saturating_sub(self.erases_at_joining[at])
    }

    fn joins(&mut self, wear: &WearOfBlocks<'_>, at: usize, is_hot: bool) {
        self.is_hot[at] = is_hot;
        self.erases_at_joining[at] = wear.erases[at];
    }

    /// A block that is worn quickly although it is in the cold pool becomes hot, and one of the hot pool that lags behind the
    /// others there by twice the threshold becomes cold.
    fn adjust(&mut self, wear: &WearOfBlocks<'_>) {
        let this = &*self;
        let pool = |hot: bool| (0..wear.block.len()).filter(move |at| this.is_hot[*at] == hot);
        let quickest = pool(false).max_by_key(|at| this.since_joining(wear, *at));
        let slowest = pool(true).map(|at| this.since_joining(wear, at)).min();
        let threshold = this.threshold_erases;
        let lagging = wear.most_erases(|at| this.is_hot[at]).and_then(|most| {
            let least = pool(true).min_by_key(|at| wear.erases[*at])?;
            (wear.erases[most] - wear.erases[least] > 2 * threshold).then_some(least)
        });
        let rising =
            quickest.filter(|at| slowest.is_some_and(|least| this.since_joining(wear, *at) > least + threshold));
        if let Some(at) = rising {
            self.joins(wear, at, true);
        }
        if let Some(at) = lagging {
            self.joins(wear, at, false);
        }
    }
}

impl Levelling for DualPoolLike {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(&mut self, wear: &WearOfBlocks<'_>, _rng: &mut Pcg) -> Option<usize> {
        if self.is_hot.len() != wear.block.len() {
            // The paper begins with two pools of the same size, filled in the order of the blocks.
            self.is_hot = (0..wear.block.len()).map(|at| at % 2 == 0).collect();
            self.erases_at_joining = wear.erases.to_vec();
        }
        self.adjust(wear);
        let hot = wear.most_erases(|at| self.is_hot[at])?;
        let cold = wear.coldest(|at| !self.is_hot[at])?;
        if wear.erases[hot].saturating_sub(wear.erases[cold]) < self.threshold_erases {
            return None;
        }
        self.joins(wear, hot, false);
        self.joins(wear, cold, true);
        Some(cold)
    }
}

/// A rule that stands in no table. Where it has no preference nothing moves.
struct ByOther {
    at_work: OtherAtWork,
    /// Positions of the blocks whose data can move.
    closed: Vec<usize>,
}

impl Levelling for ByOther {
    fn name(&self) -> &str {
        self.at_work.text()
    }

    fn choose(&mut self, wear: &WearOfBlocks<'_>, _rng: &mut Pcg) -> Option<usize> {
        let ByOther { at_work, closed } = self;
        closed.clear();
        closed.extend((0..wear.block.len()).filter(|at| wear.is_closed[*at]));
        let least = wear.erases.iter().min().copied().unwrap_or(0);
        let most = wear.erases.iter().max().copied().unwrap_or(0);
        let mean = wear.erases.iter().map(|&erases| f64::from(erases)).sum::<f64>() / wear.erases.len().max(1) as f64;
        let row = at_work.choose(closed.len(), |row, column| match column {
            0 => wear.block[closed[row]].into(),
            1 => wear.erases[closed[row]].into(),
            2 => least.into(),
            3 => most.into(),
            4 => mean,
            _ => wear.endurance_erases.into(),
        })?;
        Some(closed[row])
    }

    fn refusal(&self) -> Option<Refusal> {
        self.at_work.refusal()
    }
}

const fn erases(about: &'static str, default: u32) -> Option<Parameter> {
    Some(Parameter { name: "erases", about, least: 1, most: 1_000_000, default })
}

static TABLE: [Named; 5] = [
    Named { name: "none", about: "No wear levelling.", paper: "the comparison of all papers", parameter: None },
    Named {
        name: "dynamic",
        about: "Only free blocks are chosen by wear; data never move for it.",
        paper: "E. Gal and S. Toledo, Algorithms and Data Structures for Flash Memories, ACM Computing Surveys 2005, section 2.2",
        parameter: None,
    },
    Named {
        name: "threshold",
        about: "The data of the least worn block move when the most worn leads it by so many erases.",
        paper: "Linux drivers/mtd/ubi/wl.c (CONFIG_MTD_UBI_WL_THRESHOLD); Y.-H. Chang, J.-W. Hsieh and T.-W. Kuo, Endurance Enhancement of Flash-Memory Storage Systems, DAC 2007, for static levelling as such",
        parameter: erases("lead from which on data move", 100),
    },
    Named {
        name: "rejuvenator",
        about: "The spread of erases stays in a window that narrows with the life that is left.",
        paper: "M. Murugan and D. Du, Rejuvenator: A Static Wear Leveling Algorithm for NAND Flash Memory with Minimized Overhead, MSST 2011",
        parameter: erases("window of new blocks", 100),
    },
    Named {
        name: "dual-pool",
        about: "Blocks of a hot and a cold pool change places when their erases differ by so many.",
        paper: "L.-P. Chang, On Efficient Wear Leveling for Large-Scale Flash-Memory Storage Systems, SAC 2007",
        parameter: erases("lead from which on blocks change pools", 100),
    },
];

/// The rules for levelling wear.
pub fn levelling_policies() -> &'static [Named] {
    &TABLE
}

/// A rule for levelling wear before there is one: a name, or a score of which the highest above 0 wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevellingSpec(Rule);

/// Positions in the table.
const NONE: usize = 0;
const DYNAMIC: usize = 1;
const THRESHOLD: usize = 2;
const REJUVENATOR: usize = 3;

impl LevellingSpec {
    /// `none`.
    pub const NONE: LevellingSpec = LevellingSpec(Rule::Named { at: NONE, parameter: 0 });
    /// `dynamic`.
    pub const DYNAMIC: LevellingSpec = LevellingSpec(Rule::Named { at: DYNAMIC, parameter: 0 });

    /// `threshold(erases)`, at least 1.
    pub fn threshold(erases: u32) -> LevellingSpec {
        LevellingSpec(Rule::Named { at: THRESHOLD, parameter: erases.max(1) })
    }

    /// Whether the rule ever moves data.
    pub fn moves_data(&self) -> bool {
        ![LevellingSpec::NONE, LevellingSpec::DYNAMIC].contains(self)
    }

    /// From which difference of erases on data move; `None`: they never do, or the rule stands in no table, so that nobody knows.
    pub fn lead_erases(&self) -> Option<u32> {
        match self.0 {
            Rule::Named { parameter, .. } => self.moves_data().then_some(parameter),
            Rule::Other(_) => None,
        }
    }

    /// The rule for the next free block that belongs to it unless somebody asks for another one: without wear levelling the block
    /// that became free longest ago, otherwise the least worn one.
    pub fn free_rule(&self) -> FreeSpec {
        if *self == LevellingSpec::NONE {
            FreeSpec::FIFO
        } else {
            FreeSpec::LEAST_WORN
        }
    }

    /// Errors: no such rule, a parameter that it does not have, a mistake in the score.
    pub fn parse(text: &str) -> Result<LevellingSpec, SpecError> {
        Rule::parse(text, &TABLE, &LEVELLING).map(LevellingSpec)
    }

    pub fn text(&self) -> String {
        self.0.text(&TABLE)
    }

    pub fn make(&self) -> Box<dyn Levelling> {
        let (at, erases) = match self.0 {
            Rule::Named { at, parameter } => (at, parameter),
            Rule::Other(other) => return Box::new(ByOther { at_work: other.make(), closed: Vec::new() }),
        };
        let name = self.text();
        match at {
            THRESHOLD => Box::new(Threshold { name, erases }),
            REJUVENATOR => Box::new(RejuvenatorLike { name, window_erases: erases }),
            NONE | DYNAMIC => Box::new(MovesNothing(TABLE[at].name)),
            _ => Box::new(DualPoolLike {
                name,
                threshold_erases: erases,
                is_hot: Vec::new(),
                erases_at_joining: Vec::new(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_that_have_a_constant_are_those_of_the_table() {
        assert_eq!(LevellingSpec::NONE.text(), "none");
        assert_eq!(LevellingSpec::DYNAMIC.text(), "dynamic");
        assert_eq!(LevellingSpec::threshold(7).text(), "threshold(7)");
        assert_eq!(LevellingSpec::threshold(7), LevellingSpec::parse("threshold(7)").unwrap());
        for named in levelling_policies() {
            let spec = LevellingSpec::parse(named.name).unwrap();
            assert_eq!(spec.moves_data(), !["none", "dynamic"].contains(&named.name), "{}", named.name);
        }
    }
}
