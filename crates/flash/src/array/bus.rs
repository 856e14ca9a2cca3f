//! The bus of a channel: when it is free.
//!
//! Transfers are booked when a command is issued, often long before they happen: the data of a read that waits behind an
//! erase come milliseconds later. In between the bus is free, and a controller would use it for whoever is ready. So the
//! bus remembers gaps, and a transfer goes into the first one that is long enough.

/// Gaps that are remembered. Beyond that the earliest one is forgotten, as if it were used; so many are open only if
/// hundreds of commands are issued without waiting.
const GAPS_MAX: usize = 128;

#[derive(Default)]
pub struct Bus {
    /// Nothing is booked from here on.
    free_from_ns: u64,
    /// Times before that which are free, as beginning and end, in their order.
    gaps: Vec<(u64, u64)>,
    /// Sum of what was booked.
    pub busy_ns: u64,
}

impl Bus {
    /// Books `length_ns` as early as possible from `from_ns` on. Returns when they begin.
    #[inline]
    pub fn book(&mut self, from_ns: u64, length_ns: u64, now_ns: u64) -> u64 {
        debug_assert!(from_ns >= now_ns || length_ns == 0, "the past cannot be booked");
        self.busy_ns += length_ns;
        if !self.gaps.is_empty() {
            if let Some(begin_ns) = self.book_gap(from_ns, length_ns, now_ns) {
                return begin_ns;
            }
        }
        let begin_ns = from_ns.max(self.free_from_ns);
        let free_from_ns = self.free_from_ns.max(now_ns);
        if begin_ns > free_from_ns {
            if self.gaps.len() == GAPS_MAX {
                self.gaps.remove(0);
            }
            self.gaps.push((free_from_ns, begin_ns));
        }
        self.free_from_ns = begin_ns + length_ns;
        begin_ns
    }

    /// Forgets what was booked for later: the power went.
    pub fn clear(&mut self) {
        self.free_from_ns = 0;
        self.gaps.clear();
    }

    fn book_gap(&mut self, from_ns: u64, length_ns: u64, now_ns: u64) -> Option<u64> {
        let over = self.gaps.iter().take_while(|&&(_, end_ns)| end_ns <= now_ns).count();
        self.gaps.drain(..over);
        let first = self.gaps.partition_point(|&(_, end_ns)| end_ns <= from_ns);
        for index in first..self.gaps.len() {
            let (gap_begin_ns, gap_end_ns) = self.gaps[index];
            let begin_ns = gap_begin_ns.max(from_ns);
            let end_ns = begin_ns + length_ns;
            if end_ns > gap_end_ns {
                continue;
            }
            match (begin_ns > gap_begin_ns, end_ns < gap_end_ns) {
                (false, false) => drop(self.gaps.remove(index)),
                (false, true) => self.gaps[index].0 = end_ns,
                (true, false) => self.gaps[index].1 = begin_ns,
                (true, true) => {
                    self.gaps[index].1 = begin_ns;
                    self.gaps.insert(index + 1, (end_ns, gap_end_ns));
                    if self.gaps.len() > GAPS_MAX {
                        self.gaps.remove(0);
                    }
                }
            }
            return Some(begin_ns);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::rand_core::{Rng, SeedableRng};
    use rand_pcg::Pcg32;

    #[test]
    fn transfers_go_into_the_first_gap_that_is_long_enough() {
        let mut bus = Bus::default();
        assert_eq!(bus.book(100, 50, 0), 100);
        assert_eq!(bus.book(0, 60, 0), 0, "before the other");
        assert_eq!(bus.book(0, 60, 0), 150, "40 ns are left between them");
        assert_eq!(bus.book(70, 20, 0), 70);
        assert_eq!(bus.book(0, 10, 0), 60);
        assert_eq!(bus.book(0, 10, 0), 90);
        assert_eq!(bus.book(0, 1, 0), 210);
        assert_eq!(bus.busy_ns, 211);
    }

    /// Against a list of all bookings in their order: none overlap, each is at the earliest place.
    #[test]
    fn bookings_never_overlap_and_are_as_early_as_possible() {
        let mut random = Pcg32::seed_from_u64(5);
        let (mut bus, mut booked, mut now_ns) = (Bus::default(), Vec::<(u64, u64)>::new(), 0);
        for _ in 0..5_000 {
            if random.next_u32() % 4 == 0 {
                now_ns += u64::from(random.next_u32() % 60);
            }
            let from_ns = now_ns + u64::from(random.next_u32() % 400);
            let length_ns = u64::from(1 + random.next_u32() % 30);
            // Where it does not fit before a booking, it begins behind it at the earliest.
            let fits = |begin: u64, &(from, to): &(u64, u64)| {
                if begin + length_ns <= from {
                    Err(begin)
                } else {
                    Ok(begin.max(to))
                }
            };
            let (Ok(expected) | Err(expected)) = booked.iter().try_fold(from_ns, fits);
            let begin_ns = bus.book(from_ns, length_ns, now_ns);
            assert_eq!(begin_ns, expected);
            let place = booked.partition_point(|&(from, _)| from < begin_ns);
            booked.insert(place, (begin_ns, begin_ns + length_ns));
            booked.retain(|&(_, to)| to > now_ns);
        }
    }
}
