//! Which block garbage collection empties next.
//!
//! A policy sees only closed blocks. Greedy keeps them in lists by their valid pages, so that a choice and a change are a few
//! steps whatever the number of blocks; the others keep the order of closing.

use std::fmt;
use std::str::FromStr;

use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use thiserror::Error;

/// A victim policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    Greedy,
    Random,
    Fifo,
    /// The best of so many random ones, which may be the same twice.
    DChoices(u32),
    /// The best of the so many oldest ones.
    WindowedGreedy(u32),
    CostBenefit,
    Cat,
}

/// A policy with its name and paper.
pub struct Described {
    pub name: &'static str,
    pub other_names: &'static [&'static str],
    pub sentence: &'static str,
    pub paper: &'static str,
    make: fn(Option<u32>) -> Option<Victim>,
}

const fn plain(
    name: &'static str,
    other_names: &'static [&'static str],
    sentence: &'static str,
    paper: &'static str,
    make: fn(Option<u32>) -> Option<Victim>,
) -> Described {
    Described { name, other_names, sentence, paper, make }
}

/// All of them.
pub static POLICIES: [Described; 7] = [
    plain(
        "greedy",
        &[],
        "the block with the fewest valid pages",
        "Rosenblum and Ousterhout, SOSP 1991; Wu and Zwaenepoel, ASPLOS 1994",
        |number| number.is_none().then_some(Victim::Greedy),
    ),
    plain("random", &[], "any closed block", "Van Houdt, SIGMETRICS 2013", |number| {
        number.is_none().then_some(Victim::Random)
    }),
    plain(
        "fifo",
        &["lru"],
        "the block that was closed first",
        "Menon, 1995; Desnoyers, SYSTOR 2012, who calls it LRU",
        |number| number.is_none().then_some(Victim::Fifo),
    ),
    plain("d-choices", &[], "the best of d random blocks: d-choices:4", "Van Houdt, SIGMETRICS 2013", |number| {
        number.map(Victim::DChoices)
    }),
    plain(
        "windowed-greedy",
        &[],
        "the best of the w blocks that were closed first: windowed-greedy:64",
        "Hu et al., SYSTOR 2009",
        |number| number.map(Victim::WindowedGreedy),
    ),
    plain(
        "cost-benefit",
        &[],
        "the highest (1 - u) / 2u times the age of the block, u being its share of valid pages",
        "Kawaguchi, Nishioka and Motoda, USENIX 1995",
        |number| number.is_none().then_some(Victim::CostBenefit),
    ),
    plain(
        "cat",
        &[],
        "the lowest u / (1 - u) divided by the age, times the erases of the block",
        "Chiang, Lee and Chang, Software: Practice and Experience 1999",
        |number| number.is_none().then_some(Victim::Cat),
    ),
];

/// No policy has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("victim = \"{0}\": one of greedy, random, fifo, d-choices:D, windowed-greedy:W, cost-benefit, cat; D and W are 1 or more")]
pub struct UnknownVictim(String);

impl FromStr for Victim {
    type Err = UnknownVictim;

    fn from_str(text: &str) -> Result<Victim, UnknownVictim> {
        let unknown = || UnknownVictim(text.to_string());
        let (name, number) = match text.split_once(':') {
            None => (text, None),
            Some((name, number)) => (name, Some(number.parse().ok().filter(|&n| n > 0).ok_or_else(unknown)?)),
        };
        let described = POLICIES.iter().find(|known| known.name == name || known.other_names.contains(&name));
        described.and_then(|known| (known.make)(number)).ok_or_else(unknown)
    }
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Victim::Greedy => f.write_str("greedy"),
            Victim::Random => f.write_str("random"),
            Victim::Fifo => f.write_str("fifo"),
            Victim::DChoices(choices) => write!(f, "d-choices:{choices}"),
            Victim::WindowedGreedy(blocks) => write!(f, "windowed-greedy:{blocks}"),
            Victim::CostBenefit => f.write_str("cost-benefit"),
            Victim::Cat => f.write_str("cat"),
        }
    }
}

/// What a policy may look at.
pub(crate) struct View<'a> {
    pub valid: &'a [u32],
    pub erases: &'a [u32],
    /// Number of the program after which each block was closed.
    pub closed_at: &'a [u64],
    pub now: u64,
    pub pages_per_block: u32,
}

const NONE: u32 = u32::MAX;

/// A list of blocks, or of other numbers, through two arrays.
#[derive(Default)]
pub(crate) struct Links {
    before: Vec<u32>,
    after: Vec<u32>,
}

/// One list: its ends.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub first: u32,
    pub last: u32,
}

pub(crate) const EMPTY: Ends = Ends { first: NONE, last: NONE };

impl Links {
    pub fn of(blocks: u32) -> Links {
        Links { before: vec![NONE; blocks as usize], after: vec![NONE; blocks as usize] }
    }

    #[inline]
    pub fn append(&mut self, ends: &mut Ends, block: u32) {
        self.before[block as usize] = ends.last;
        self.after[block as usize] = NONE;
        match ends.last {
            NONE => ends.first = block,
            last => self.after[last as usize] = block,
        }
        ends.last = block;
    }

    #[inline]
    pub fn remove(&mut self, ends: &mut Ends, block: u32) {
        let (before, after) = (self.before[block as usize], self.after[block as usize]);
        match before {
            NONE => ends.first = after,
            before => self.after[before as usize] = after,
        }
        match after {
            NONE => ends.last = before,
            after => self.before[after as usize] = before,
        }
    }
}

/// The closed blocks, kept as the policy needs them.
pub(crate) struct Victims {
    policy: Victim,
    random: Pcg32,
    closed: Vec<u32>,
    place: Vec<u32>,
    order: Links,
    oldest: Ends,
    by_valid: Links,
    buckets: Box<[Ends]>,
    /// No block has fewer valid pages than this.
    fewest: u32,
}

impl Victims {
    pub fn new(policy: Victim, blocks: u32, pages_per_block: u32, seed: u64) -> Victims {
        let buckets = if policy == Victim::Greedy { pages_per_block as usize + 1 } else { 0 };
        Victims {
            policy,
            random: Pcg32::seed_from_u64(seed),
            closed: Vec::with_capacity(blocks as usize),
            place: vec![NONE; blocks as usize],
            order: Links::of(blocks),
            oldest: EMPTY,
            by_valid: Links::of(if buckets > 0 { blocks } else { 0 }),
            buckets: vec![EMPTY; buckets].into(),
            fewest: pages_per_block,
        }
    }

    pub fn closed(&self) -> &[u32] {
        &self.closed
    }

    pub fn add(&mut self, block: u32, valid: u32) {
        debug_assert_eq!(self.place[block as usize], NONE, "block {block} is closed already");
        self.place[block as usize] = self.closed.len() as u32;
        self.closed.push(block);
        self.order.append(&mut self.oldest, block);
        if !self.buckets.is_empty() {
            self.by_valid.append(&mut self.buckets[valid as usize], block);
            self.fewest = self.fewest.min(valid);
        }
    }

    pub fn remove(&mut self, block: u32, valid: u32) {
        let place = std::mem::replace(&mut self.place[block as usize], NONE);
        self.closed.swap_remove(place as usize);
        if let Some(&moved) = self.closed.get(place as usize) {
            self.place[moved as usize] = place;
        }
        self.order.remove(&mut self.oldest, block);
        if !self.buckets.is_empty() {
            self.by_valid.remove(&mut self.buckets[valid as usize], block);
        }
    }

    /// A closed block has one valid page fewer: now `valid`.
    #[inline]
    pub fn lost_one(&mut self, block: u32, valid: u32) {
        if !self.buckets.is_empty() {
            self.by_valid.remove(&mut self.buckets[valid as usize + 1], block);
            self.by_valid.append(&mut self.buckets[valid as usize], block);
            self.fewest = self.fewest.min(valid);
        }
    }

    /// The next block to be emptied. `None`: no block is closed.
    pub fn choose(&mut self, view: &View) -> Option<u32> {
        if self.closed.is_empty() {
            return None;
        }
        let age = |block: u32| (view.now - view.closed_at[block as usize] + 1) as f64;
        let used = |block: u32| f64::from(view.valid[block as usize]) / f64::from(view.pages_per_block);
        Some(match self.policy {
            Victim::Greedy => {
                while self.buckets[self.fewest as usize].first == NONE {
                    self.fewest += 1;
                }
                self.buckets[self.fewest as usize].first
            }
            Victim::Random => self.any(),
            Victim::Fifo => self.oldest.first,
            Victim::DChoices(choices) => {
                let mut best = self.any();
                for _ in 1..choices {
                    let other = self.any();
                    if view.valid[other as usize] < view.valid[best as usize] {
                        best = other;
                    }
                }
                best
            }
            Victim::WindowedGreedy(blocks) => {
                let next = |&block: &u32| Some(self.order.after[block as usize]).filter(|&after| after != NONE);
                let window = std::iter::successors(Some(self.oldest.first), next).take(blocks as usize);
                window.min_by_key(|&block| view.valid[block as usize])?
            }
            Victim::CostBenefit => self.lowest(|block| {
                let used = used(block);
                -(1.0 - used) / (2.0 * used) * age(block)
            })?,
            Victim::Cat => self.lowest(|block| {
                let used = used(block);
                used / (1.0 - used) / age(block) * f64::from(view.erases[block as usize] + 1)
            })?,
        })
    }

    #[inline]
    fn any(&mut self) -> u32 {
        let number = (u64::from(self.random.next_u32()) * self.closed.len() as u64) >> 32;
        self.closed[number as usize]
    }

    fn lowest(&self, score: impl Fn(u32) -> f64) -> Option<u32> {
        let scored = self.closed.iter().map(|&block| (score(block), block));
        scored.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, block)| block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in ["greedy", "random", "fifo", "d-choices:4", "windowed-greedy:8", "cost-benefit", "cat"] {
            assert_eq!(name.parse::<Victim>().unwrap().to_string(), name);
        }
        assert_eq!("lru".parse(), Ok(Victim::Fifo));
        for bad in ["", "greedy:2", "d-choices", "d-choices:0", "gredy"] {
            assert_eq!(bad.parse::<Victim>(), Err(UnknownVictim(bad.to_string())));
        }
    }
}
