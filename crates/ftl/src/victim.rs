//! Which block garbage collection empties next.
//!
//! A policy sees only closed blocks. Greedy keeps them in lists by their valid pages, so that a choice and a change are a few
//! steps whatever the number of blocks; the others keep the order of closing.

use std::fmt;
use std::str::FromStr;

use ffslab_policy::{AgeUnit, CandidateTable, Entry, Room, SpecError, VictimSpec};
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// A victim policy of `ffslab-policy`, whose papers stand there. Those by their name are kept up to date with each write here; any
/// other one is asked at each collection.
#[derive(Clone, Debug, PartialEq)]
pub enum Victim {
    Greedy,
    Random,
    Fifo,
    /// The best of so many random ones, which may be the same twice.
    DChoices(u32),
    /// The best of the so many oldest ones.
    WindowedGreedy(u32),
    Asked(VictimSpec),
}

impl FromStr for Victim {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Victim, SpecError> {
        let spec = VictimSpec::parse(text)?;
        Ok(match spec.built_in() {
            // The own rule of translation layers.
            None if spec.is_own_rule() => Victim::Greedy,
            Some(("greedy", _)) => Victim::Greedy,
            Some(("random", _)) => Victim::Random,
            // When a page became invalid is not recorded.
            Some(("fifo" | "lru", _)) => Victim::Fifo,
            Some(("d-choices", choices)) => Victim::DChoices(choices),
            Some(("windowed-greedy", blocks)) => Victim::WindowedGreedy(blocks),
            _ => Victim::Asked(spec),
        })
    }
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Victim::Greedy => f.write_str("greedy"),
            Victim::Random => f.write_str("random"),
            Victim::Fifo => f.write_str("fifo"),
            Victim::DChoices(choices) => write!(f, "d-choices({choices})"),
            Victim::WindowedGreedy(blocks) => write!(f, "windowed-greedy({blocks})"),
            Victim::Asked(spec) => f.write_str(&spec.text()),
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
    /// Who is asked; `None`: the policy is kept up to date here.
    asked: Option<ffslab_policy::Victims>,
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
        let asked = match &policy {
            Victim::Asked(spec) => {
                let table = CandidateTable::new(pages_per_block, Room::Pages, AgeUnit::Writes).must_gain();
                ffslab_policy::Victims::of(spec, seed, table)
            }
            _ => None,
        };
        Victims {
            policy,
            asked,
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
        Some(match self.policy {
            Victim::Asked(_) => self.ask(view).unwrap_or(self.oldest.first),
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
        })
    }

    /// The blocks among which is chosen.
    pub fn closed(&self) -> &[u32] {
        &self.closed
    }

    #[inline]
    fn any(&mut self) -> u32 {
        let number = (u64::from(self.random.next_u32()) * self.closed.len() as u64) >> 32;
        self.closed[number as usize]
    }

    /// What the policy answers. `None`: it has no preference, or chose what it must not (`refusal`), and the oldest block is taken.
    fn ask(&self, view: &View) -> Option<u32> {
        let fill = |table: &mut CandidateTable| {
            let next = |&block: &u32| Some(self.order.after[block as usize]).filter(|&after| after != NONE);
            for block in std::iter::successors(Some(self.oldest.first), next) {
                let index = block as usize;
                let (valid, age) = (view.valid[index], view.now - view.closed_at[index]);
                let invalid = view.pages_per_block - valid;
                table.push(Entry { block, valid, invalid, erases: view.erases[index], age, idle: age, stream: 0 });
            }
        };
        self.asked.as_ref()?.choose(fill).ok().flatten()
    }

    /// Why a choice was refused, if one was.
    pub fn refusal(&self) -> Option<ffslab_policy::Refusal> {
        self.asked.as_ref()?.refusal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let names =
            ["greedy", "random", "fifo", "d-choices(4)", "windowed-greedy(8)", "cost-benefit", "cat", "invalid * age"];
        for name in names {
            assert_eq!(name.parse::<Victim>().unwrap().to_string(), name);
        }
        assert_eq!("lru".parse(), Ok(Victim::Fifo));
        assert_eq!("kernel".parse(), Ok(Victim::Greedy));
        for bad in ["greedy(2)", "d-choices(0)", "gredy"] {
            assert!(bad.parse::<Victim>().is_err(), "{bad}");
        }
    }
}
