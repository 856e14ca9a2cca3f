//! Which cached entry of the map DFTL gives up: lists and marks that make each choice a few steps, whatever the rule.

use ffslab_policy::{EvictionSpec, OtherAtWork, Pcg, Refusal};
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::victim::{Ends, Links, EMPTY};

/// No page.
pub(super) const NONE: u32 = u32::MAX;

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
    /// Random, and rules that stand in no table: the entries and the place of each.
    cached: Vec<u32>,
    place: Vec<u32>,
    random: Pcg,
    asked: Option<Asked>,
}

/// A rule that stands in no table, with what it sees of each cached entry.
struct Asked {
    rule: OtherAtWork,
    /// In the order of [`Eviction::cached`].
    uses: Vec<Uses>,
    look_ups: u64,
}

/// How often an entry was used since it came, and the look-ups before it came and before its last use.
struct Uses {
    count: u32,
    came: u64,
    last: u64,
}

impl Eviction {
    pub fn new(rule: EvictionSpec, entries_max: u32, logical_pages: u32, seed: u64) -> Eviction {
        let has_places = matches!(rule, EvictionSpec::Random | EvictionSpec::Other(_));
        let asked = match rule {
            EvictionSpec::Other(other) => Some(Asked { rule: other.make(), uses: Vec::new(), look_ups: 0 }),
            _ => None,
        };
        Eviction {
            rule,
            links: Links::of(if has_places { 0 } else { logical_pages }),
            waiting: EMPTY,
            protected: EMPTY,
            protected_count: 0,
            protected_max: entries_max / 2,
            marked: vec![false; if has_places { 0 } else { logical_pages as usize }],
            cached: Vec::new(),
            place: vec![NONE; if has_places { logical_pages as usize } else { 0 }],
            random: Pcg::seed_from_u64(seed),
            asked,
        }
    }

    pub fn enters(&mut self, entry: u32) {
        if self.place.is_empty() {
            return self.links.append(&mut self.waiting, entry);
        }
        self.place[entry as usize] = self.cached.len() as u32;
        self.cached.push(entry);
        if let Some(asked) = &mut self.asked {
            asked.uses.push(Uses { count: 0, came: asked.look_ups, last: asked.look_ups });
            asked.look_ups += 1;
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
            EvictionSpec::Other(_) => {
                if let Some(asked) = &mut self.asked {
                    let uses = &mut asked.uses[self.place[index] as usize];
                    uses.count += 1;
                    uses.last = asked.look_ups;
                    asked.look_ups += 1;
                }
            }
        }
    }

    /// The entry to be given up. It stays until it [`Eviction::leaves`]. `is_dirty`: whether an entry must be written before.
    pub fn choose(&mut self, is_dirty: impl Fn(u32) -> bool) -> u32 {
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
            EvictionSpec::Other(_) => self.choose_by_other(is_dirty),
            _ if self.waiting.first == NONE => self.protected.first,
            _ => self.waiting.first,
        }
    }

    /// Where the rule has no preference, the entry that was used longest ago.
    fn choose_by_other(&mut self, is_dirty: impl Fn(u32) -> bool) -> u32 {
        let (Some(asked), cached) = (&mut self.asked, &self.cached) else { return NONE };
        let Asked { rule, uses, look_ups } = asked;
        let chosen = rule.choose(cached.len(), |row, column| match column {
            0 => cached[row].into(),
            1 => (*look_ups - uses[row].came) as f64,
            2 => (*look_ups - uses[row].last) as f64,
            3 => uses[row].count.into(),
            _ => is_dirty(cached[row]).into(),
        });
        let least_recently_used = || (0..cached.len()).min_by_key(|&row| uses[row].last);
        chosen.or_else(least_recently_used).map_or(NONE, |row| cached[row])
    }

    pub fn leaves(&mut self, entry: u32) {
        let index = entry as usize;
        if !self.place.is_empty() {
            let place = std::mem::replace(&mut self.place[index], NONE) as usize;
            self.cached.swap_remove(place);
            if let Some(asked) = &mut self.asked {
                asked.uses.swap_remove(place);
            }
            if let Some(&moved) = self.cached.get(place) {
                self.place[moved as usize] = place as u32;
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

    /// Why an answer of the rule was refused, if one was; from then on the entry that was used longest ago is given up.
    pub fn refusal(&self) -> Option<Refusal> {
        self.asked.as_ref()?.rule.refusal()
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
                let entry = order.choose(|_| false);
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
        // By a score: what was used least often, then what came first.
        assert_eq!(given_up(EvictionSpec::parse("age - 100 * uses").unwrap()), [1, 3, 4]);
        assert_eq!(given_up(EvictionSpec::parse("idle").unwrap()), given_up(EvictionSpec::Lru));
        let random = given_up(EvictionSpec::Random);
        assert!(random.windows(2).all(|pair| pair[0] != pair[1]), "{random:?}");
    }
}
