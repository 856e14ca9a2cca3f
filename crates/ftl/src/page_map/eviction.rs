//! Which cached entry of the map DFTL gives up: lists and marks that make each choice a few steps, whatever the rule.

use ffslab_policy::{EvictionSpec, Pcg};
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::NONE;
use crate::victim::{Ends, Links, EMPTY};

/// The order of the cached entries, which are known by their logical pages.
pub(super) struct Eviction {
    rule: EvictionSpec,
    links: Links,
    /// What goes first stands in front. Segmented LRU has a second, protected list; the others use one.
    waiting: Ends,
    protected: Ends,
    protected_count: u32,
    protected_max: u32,
    /// Segmented LRU: the entry is in the protected list. Clock: it was used since its last turn.
    marked: Vec<bool>,
    /// Random: the entries and the place of each.
    cached: Vec<u32>,
    place: Vec<u32>,
    random: Pcg,
}

impl Eviction {
    pub fn new(rule: EvictionSpec, entries_max: u32, logical_pages: u32, seed: u64) -> Eviction {
        let is_random = rule == EvictionSpec::Random;
        Eviction {
            rule,
            links: Links::of(if is_random { 0 } else { logical_pages }),
            waiting: EMPTY,
            protected: EMPTY,
            protected_count: 0,
            protected_max: entries_max / 2,
            marked: vec![false; if is_random { 0 } else { logical_pages as usize }],
            cached: Vec::new(),
            place: vec![NONE; if is_random { logical_pages as usize } else { 0 }],
            random: Pcg::seed_from_u64(seed),
        }
    }

    pub fn enters(&mut self, entry: u32) {
        match self.rule {
            EvictionSpec::Random => {
                self.place[entry as usize] = self.cached.len() as u32;
                self.cached.push(entry);
            }
            _ => self.links.append(&mut self.waiting, entry),
        }
    }

    /// A cached entry is used again.
    pub fn is_used(&mut self, entry: u32) {
        let index = entry as usize;
        match self.rule {
            EvictionSpec::Fifo | EvictionSpec::Random => {}
            EvictionSpec::Clock => self.marked[index] = true,
            EvictionSpec::Lru => {
                self.links.remove(&mut self.waiting, entry);
                self.links.append(&mut self.waiting, entry);
            }
            EvictionSpec::SegmentedLru => {
                self.leaves(entry);
                self.marked[index] = true;
                self.protected_count += 1;
                self.links.append(&mut self.protected, entry);
                if self.protected_count > self.protected_max {
                    let oldest = self.protected.first;
                    self.leaves(oldest);
                    self.links.append(&mut self.waiting, oldest);
                }
            }
        }
    }

    /// The entry to be given up. It stays until it [`Eviction::leaves`].
    pub fn choose(&mut self) -> u32 {
        match self.rule {
            EvictionSpec::Random => {
                let at = (u64::from(self.random.next_u32()) * self.cached.len() as u64) >> 32;
                self.cached[at as usize]
            }
            EvictionSpec::Clock => {
                while std::mem::take(&mut self.marked[self.waiting.first as usize]) {
                    let turn = self.waiting.first;
                    self.links.remove(&mut self.waiting, turn);
                    self.links.append(&mut self.waiting, turn);
                }
                self.waiting.first
            }
            _ if self.waiting.first == NONE => self.protected.first,
            _ => self.waiting.first,
        }
    }

    pub fn leaves(&mut self, entry: u32) {
        let index = entry as usize;
        if self.rule == EvictionSpec::Random {
            let place = std::mem::replace(&mut self.place[index], NONE);
            self.cached.swap_remove(place as usize);
            if let Some(&moved) = self.cached.get(place as usize) {
                self.place[moved as usize] = place;
            }
            return;
        }
        let was_marked = std::mem::take(&mut self.marked[index]);
        if self.rule == EvictionSpec::SegmentedLru && was_marked {
            self.protected_count -= 1;
            self.links.remove(&mut self.protected, entry);
        } else {
            self.links.remove(&mut self.waiting, entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a cache of four entries gives up when 0 to 3 came in this order, 0 and 2 were used again, and two more come.
    fn given_up(rule: EvictionSpec) -> Vec<u32> {
        let mut order = Eviction::new(rule, 4, 8, 1);
        (0..4).for_each(|entry| order.enters(entry));
        [0, 2, 0].iter().for_each(|&entry| order.is_used(entry));
        (4..7)
            .map(|next| {
                let entry = order.choose();
                order.leaves(entry);
                order.enters(next);
                entry
            })
            .collect()
    }

    #[test]
    fn each_rule_gives_up_what_its_paper_says() {
        assert_eq!(given_up(EvictionSpec::Lru), [1, 3, 2]);
        assert_eq!(given_up(EvictionSpec::Fifo), [0, 1, 2]);
        assert_eq!(given_up(EvictionSpec::SegmentedLru), [1, 3, 4]);
        assert_eq!(given_up(EvictionSpec::Clock), [1, 3, 0]);
        let random = given_up(EvictionSpec::Random);
        assert!(random.windows(2).all(|pair| pair[0] != pair[1]), "{random:?}");
    }
}
