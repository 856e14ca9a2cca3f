//! When wear is stationary, and how far a life may leap then.
//!
//! A life is divided into windows with as many repetitions of the workload. In each window a block is in turn, that is, it was
//! erased, or at rest. As long as windows erase as much as the ones before, the blocks are taken for a chain of two states: how
//! often blocks change from rest to turn and back is counted. A leap draws for each block how long it stays in turn, and gives it
//! its share of the erases of that time: the mean of all blocks in turn, its own lasting deviation from that, and chance.

use super::window::Window;
use ffslab_flash::draws::{ln, open_unit, standard_normal};
use ffslab_system::Levelling;
use rand_pcg::Pcg32;
use std::collections::VecDeque;

/// Windows erase each block in turn so often on average that one that is missing rests.
const ERASES_PER_BLOCK_LEAST: f64 = 3.0;
/// How far the erases of two windows may be apart, as a share.
const TOTAL_TOLERANCE: f64 = 0.05;
/// Share of the blocks that may change between two windows: if more do, longer windows are needed to see who rests.
const CHANGES_MAX: f64 = 0.2;
/// Share of the blocks that may have changed unseen during a leap, because in all windows before it none did.
const UNSEEN_SHARE: f64 = 0.1;
/// Moves of wear levelling that become due during a leap are made after it: so late at most, as a share of the difference of erases
/// that makes them due, or so many of the blocks at most.
const DUE_LATE: f64 = 0.1;
const DUE_SHARE: f64 = 0.02;
/// So many pairs of windows must have been seen before a leap.
const PAIRS_LEAST: u32 = 4;
/// A leap passes over so many windows for each pair that was seen, if nothing else ends it. The more changes were counted, the
/// better their shares are known.
const LEAP_PER_PAIR: std::ops::RangeInclusive<f64> = 4.0..=40.0;
const LEAP_PER_CHANGE: f64 = 1.0;
/// By how many standard deviations of chance pairs of one kind are more than those of the other where the blocks in turn grow
/// fewer or more: nothing is stationary then (a sign test of the trend).
const UNBALANCED_FROM: f64 = 2.0;
/// So many windows tell how blocks differ.
const WINDOWS_KEPT: usize = 32;
/// Of fewer blocks nobody can tell how they differ.
const STEADY_LEAST: usize = 4;

/// The windows of a stretch in which wear is stationary, as far as it was run.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    /// The latest of them, the last one at the end.
    windows: VecDeque<Window>,
    pairs: u32,
    /// Changes of blocks between two windows, and how many could have changed.
    from_rest: (u64, u64),
    from_turn: (u64, u64),
    /// Pairs between which the blocks in turn became more, and fewer.
    grew: u32,
    shrank: u32,
}

impl Stretch {
    /// Adds a window, and tells how wear goes on; `None`: it is not like the one before, or nobody can tell yet.
    pub fn then(&mut self, window: Window) -> Option<Law> {
        let like = self.windows.back().is_some_and(|before| is_like(before, &window));
        if !like {
            *self = Stretch { windows: VecDeque::from([window]), ..Stretch::default() };
            return None;
        }
        let is_whole = window.bad_blocks == 0;
        self.add(window);
        if !self.is_balanced() {
            self.forget_transient();
        }
        let is_known = is_whole && self.pairs >= PAIRS_LEAST && self.is_balanced();
        is_known.then(|| self.law(&self.windows[self.windows.len() - 1]))
    }

    fn add(&mut self, window: Window) {
        if let Some(before) = self.windows.back() {
            self.pairs += 1;
            let changed_before = (self.from_rest.0, self.from_turn.0);
            for (&a, &b) in before.erases.iter().zip(&window.erases) {
                let (changes, of) = if a == 0 { (b > 0, &mut self.from_rest) } else { (b == 0, &mut self.from_turn) };
                *of = (of.0 + u64::from(changes), of.1 + 1);
            }
            let (to_turn, to_rest) = (self.from_rest.0 - changed_before.0, self.from_turn.0 - changed_before.1);
            self.grew += u32::from(to_turn > to_rest);
            self.shrank += u32::from(to_turn < to_rest);
        }
        if self.windows.len() == WINDOWS_KEPT {
            self.windows.pop_front();
        }
        self.windows.push_back(window);
    }

    /// Keeps the later half of the windows alone, if it is stationary and long enough: how blocks came in turn at first says
    /// nothing about how it goes on, and would never be outweighed where none change any more.
    fn forget_transient(&mut self) {
        let mut later = Stretch::default();
        self.windows.iter().skip(self.windows.len() / 2).for_each(|window| later.add(window.clone()));
        if later.pairs >= PAIRS_LEAST && later.is_balanced() {
            *self = later;
        }
    }

    /// Whether the blocks in turn became more as often as fewer, but for chance. Pairs count and not blocks, because wear
    /// levelling moves many blocks in one stroke.
    fn is_balanced(&self) -> bool {
        let (grew, shrank) = (f64::from(self.grew), f64::from(self.shrank));
        grew == shrank || (grew - shrank).abs() < UNBALANCED_FROM * (grew + shrank).sqrt()
    }

    /// The last window, if another one was unlike it.
    pub fn last(&self) -> Option<&Window> {
        self.windows.back()
    }

    /// Whether its last window was unlike the one before, or is the first.
    pub fn is_new(&self) -> bool {
        self.pairs == 0
    }

    fn law(&self, window: &Window) -> Law {
        let in_turn = window.erases.iter().filter(|&&count| count > 0).count();
        let mean = window.total() / in_turn.max(1) as f64;
        let Lasting { deviations, noise } = Lasting::of(&self.windows);
        let rate = |(&erases, deviation): (&u32, &f64)| if erases > 0 { (mean + deviation).max(0.0) } else { 0.0 };
        let share = |(changes, of): (u64, u64)| if of > 0 { changes as f64 / of as f64 } else { 0.0 };
        let changes = self.from_rest.0 + self.from_turn.0;
        let unseen = if changes == 0 { window.erases.len() as f64 * UNSEEN_SHARE } else { 0.0 };
        let known = (*LEAP_PER_PAIR.start() + changes as f64 * LEAP_PER_CHANGE).min(*LEAP_PER_PAIR.end());
        Law {
            rates: window.erases.iter().zip(&deviations).map(rate).collect(),
            mean,
            noise,
            to_turn: share(self.from_rest),
            to_rest: share(self.from_turn),
            reach: f64::from(self.pairs) * known.max(unseen),
        }
    }
}

/// How blocks in turn differ: lastingly, and by chance.
struct Lasting {
    /// Of each block, erases in a window more than the mean.
    deviations: Vec<f64>,
    /// Standard deviation of what chance adds in a window.
    noise: f64,
}

impl Lasting {
    /// From the blocks that were in turn in all windows. What the two halves of the stretch have in common (their covariance) is
    /// lasting, what they have not is chance, which grows with the root of time; turns that go round by themselves add little
    /// of it. A block's own lasting part is what is to be expected from its erases in all windows.
    fn of(windows: &VecDeque<Window>) -> Lasting {
        let blocks = windows.front().map_or(0, |window| window.erases.len());
        let half = windows.len() / 2;
        let sums = |skipped: usize, block: usize| {
            windows.iter().skip(skipped).take(half).map(|window| f64::from(window.erases[block])).sum::<f64>()
        };
        let steady: Vec<usize> =
            (0..blocks).filter(|&block| windows.iter().all(|window| window.erases[block] > 0)).collect();
        let mut lasting = Lasting { deviations: vec![0.0; blocks], noise: 0.0 };
        if steady.len() < STEADY_LEAST || half == 0 {
            return lasting;
        }
        let halves = |first: usize| -> Vec<f64> { steady.iter().map(|&block| sums(first, block)).collect() };
        let (early, late) = (halves(windows.len() - 2 * half), halves(windows.len() - half));
        let count = steady.len() as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
        let (early_mean, late_mean) = (mean(&early), mean(&late));
        let product = |of: fn(f64, f64) -> f64| {
            early.iter().zip(&late).map(|(a, b)| of(a - early_mean, b - late_mean)).sum::<f64>() / (count - 1.0)
        };
        let half = half as f64;
        let common = product(|a, b| a * b).max(0.0);
        let chance = (product(|a, b| (a * a + b * b) / 2.0) - common).max(0.0);
        // Of a window: common / half^2 is the variance of the lasting part, chance / half that of chance.
        lasting.noise = (chance / half).sqrt();
        let told = if common > 0.0 { common / (2.0 * common + chance) / half } else { 0.0 };
        for ((&block, early), late) in steady.iter().zip(&early).zip(&late) {
            lasting.deviations[block] = told * (early - early_mean + late - late_mean);
        }
        lasting
    }
}

/// Whether two windows may be of one stretch.
fn is_like(first: &Window, second: &Window) -> bool {
    let (totals, blocks) = ((first.total(), second.total()), first.erases.len() as f64);
    let pairs = || first.erases.iter().zip(&second.erases);
    let in_turn = second.erases.iter().filter(|&&count| count > 0).count() as f64;
    let changes = pairs().filter(|&(&a, &b)| (a > 0) != (b > 0)).count() as f64;
    let mean_total = (totals.0 + totals.1) / 2.0;
    let is_enough = in_turn > 0.0 && totals.1 / in_turn >= ERASES_PER_BLOCK_LEAST;
    is_enough
        && first.repetitions == second.repetitions
        && (totals.0 - totals.1).abs() <= TOTAL_TOLERANCE * mean_total
        && changes <= CHANGES_MAX * blocks
}

/// How wear goes on.
#[derive(Debug)]
pub(super) struct Law {
    /// Erases of each block in a window as long as it stays as it is; 0: it rests.
    rates: Vec<f64>,
    /// Of a block in turn.
    mean: f64,
    /// Standard deviation of what chance adds to the erases of a block in turn in a window.
    noise: f64,
    /// Shares of the blocks at rest that come in turn, and of those in turn that come to rest, from window to window.
    to_turn: f64,
    to_rest: f64,
    /// For how many windows that is known well enough.
    reach: f64,
}

impl Law {
    /// For how many windows it may hold: as far as it is known, until a block is worn out, or data become due for a move.
    ///
    /// `left_erases`: what each block bears; empty: for ever.
    pub fn reach(&self, left_erases: &[u32], levelling: Option<&Levelling>) -> f64 {
        // A window's erases remain to be made, so that the block fails where it is used.
        let lives = self.rates.iter().zip(left_erases).filter(|(rate, _)| **rate > 0.0);
        let until_worn = lives.map(|(rate, &left)| f64::from(left) / rate - 1.0).fold(f64::INFINITY, f64::min);
        let until_due = levelling.map_or(f64::INFINITY, |levelling| self.until_due(levelling));
        self.reach.min(until_worn).min(until_due)
    }

    /// For how many windows until the most worn block in turn is ahead of the data at rest by what makes them due for a move,
    /// or by twice as much, from which on UBI chooses free blocks otherwise (`find_mean_wl_entry` of `wl.c`).
    fn until_due(&self, levelling: &Levelling) -> f64 {
        let counted =
            || self.rates.iter().zip(&levelling.counted_erases).map(|(&rate, &count)| (rate, f64::from(count)));
        let ahead = counted().filter(|(rate, _)| *rate > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((rate, most)) = ahead else { return f64::INFINITY };
        let step = f64::from(levelling.from_erases);
        let at_rest = counted().filter(|(rate, count)| *rate == 0.0 && *count > 0.0);
        let mut due: Vec<f64> = at_rest
            .flat_map(|(_, count)| [count + step, count + 2.0 * step])
            .filter(|&limit| limit > most)
            .map(|limit| (limit - most) / rate)
            .collect();
        due.sort_by(f64::total_cmp);
        let passed = (self.rates.len() as f64 * DUE_SHARE) as usize;
        let Some(first) = due.first() else { return f64::INFINITY };
        due[passed.min(due.len() - 1)].max(first + DUE_LATE * step / rate)
    }

    /// Erases of each block in so many windows, but no more than it bears without being worn out.
    pub fn erases(&self, windows: f64, left_erases: &[u32], random: &mut Pcg32) -> Vec<u32> {
        let bears =
            left_erases.iter().map(|&left| f64::from(left.saturating_sub(1))).chain(std::iter::repeat(f64::MAX));
        let drawn = self.rates.iter().map(|&rate| self.of_block(rate, windows, random));
        // A block at rest may be one that has failed.
        drawn.zip(bears).map(|(erases, bears)| erases.min(bears).round() as u32).collect()
    }

    /// Erases of a block of this rate.
    fn of_block(&self, rate: f64, windows: f64, random: &mut Pcg32) -> f64 {
        let (mut left, mut erases, mut in_turn, mut rate_now) = (windows, 0.0, 0.0, rate);
        while left > 0.0 {
            let changes = if rate_now > 0.0 { self.to_rest } else { self.to_turn };
            // How many windows until the chain changes: geometrically distributed.
            let stays = if changes > 0.0 { (ln(open_unit(random)) / ln(1.0 - changes)).ceil().max(1.0) } else { left };
            let time = stays.min(left);
            erases += rate_now * time;
            in_turn += if rate_now > 0.0 { time } else { 0.0 };
            left -= time;
            rate_now = if rate_now > 0.0 { 0.0 } else { self.mean };
        }
        (erases + self.noise * in_turn.sqrt() * standard_normal(random)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::rand_core::SeedableRng;

    fn window(erases: &[u32]) -> Window {
        Window { erases: erases.to_vec(), repetitions: 1, ..Window::default() }
    }

    fn law(first: &[u32], second: &[u32]) -> Option<Law> {
        let mut stretch = Stretch::default();
        assert!(stretch.then(window(first)).is_none());
        (1..PAIRS_LEAST).for_each(|pair| {
            assert!(stretch.then(window(if pair % 2 == 0 { first } else { second })).is_none());
        });
        drop(stretch.then(window(first)));
        stretch.then(window(second))
    }

    fn after(law: &Law, windows: f64) -> Vec<u32> {
        law.erases(windows, &[], &mut Pcg32::seed_from_u64(1))
    }

    #[test]
    fn turns_that_go_round_become_even_and_lasting_differences_stay() {
        // Who was first in one window is last in the other one.
        let even = law(&[4, 3, 4, 3, 0], &[3, 4, 3, 4, 0]).unwrap();
        assert_eq!(even.rates, [3.5, 3.5, 3.5, 3.5, 0.0]);
        let uneven = law(&[10, 20, 10, 20, 0], &[10, 20, 10, 20, 0]).unwrap();
        assert_eq!((after(&uneven, 10.0), uneven.noise), (vec![100, 200, 100, 200, 0], 0.0));
    }

    #[test]
    fn windows_that_differ_or_are_short_tell_nothing() {
        assert!(law(&[4, 4, 0, 0], &[0, 0, 4, 4]).is_none());
        assert!(law(&[10, 10], &[12, 12]).is_none());
        assert!(law(&[1, 1], &[1, 1]).is_none());
        assert!(law(&[0, 0], &[0, 0]).is_none());
    }

    #[test]
    fn nothing_is_stationary_while_blocks_come_to_rest_and_none_in_turn() {
        let mut stretch = Stretch::default();
        let shrinking = |at: usize| window(&[vec![0; at], vec![10; 100 - at]].concat());
        assert!((0..8).all(|at| stretch.then(shrinking(at)).is_none()), "none came back");
        let known = stretch_of(50, shrinking).last().copied();
        assert_eq!(known, Some(false), "not even after many windows");
        // Four came to rest at most that had not come back.
        let known = stretch_of(12, |at| shrinking(at % 3));
        assert!(known[PAIRS_LEAST as usize..].iter().all(|&is_known| is_known), "{known:?}");
    }

    /// Whether wear was known after each of so many windows.
    fn stretch_of(windows_n: usize, at: impl Fn(usize) -> Window) -> Vec<bool> {
        let mut stretch = Stretch::default();
        (0..windows_n).map(|number| stretch.then(at(number)).is_some()).collect()
    }

    #[test]
    fn a_transient_is_forgotten() {
        // 40 blocks come in turn at first, 8 at a time, and then nothing changes.
        let filling = |at: usize| window(&[vec![10; 60 + 8 * at.min(5)], vec![0; 40 - 8 * at.min(5)]].concat());
        let known = stretch_of(20, filling);
        assert!(!known[PAIRS_LEAST as usize] && known[12..].iter().all(|&is_known| is_known), "{known:?}");
    }

    #[test]
    fn a_leap_ends_before_the_first_block_fails_and_where_data_become_due() {
        let law = Law { rates: vec![2.0, 4.0, 0.0], mean: 3.0, noise: 0.0, to_turn: 0.0, to_rest: 0.0, reach: 1e9 };
        assert_eq!(law.reach(&[100, 100, 1], None), 24.0);
        let levelling = Levelling { from_erases: 64, counted_erases: vec![10, 14, 1] };
        // The block with 14 erases, 4 a window, is 64 ahead of the one at rest after 12.75 windows, and a tenth more after 14.35.
        assert_eq!(law.reach(&[1_000, 1_000, 1_000], Some(&levelling)), 14.35);
        assert_eq!(after(&law, 12.6), [25, 50, 0]);
        assert_eq!(law.erases(50.0, &[90, 90, 0], &mut Pcg32::seed_from_u64(1)), [89, 89, 0]);
    }

    /// Four blocks in turn of eight, of which one in fifty changes each window: in the long run all have had as much.
    #[test]
    fn blocks_that_change_places_share_the_erases_in_the_long_run() {
        let rates = [3.0, 3.0, 3.0, 3.0, 0.0, 0.0, 0.0, 0.0].repeat(50);
        let law = Law { rates, mean: 3.0, noise: 0.0, to_turn: 0.02, to_rest: 0.02, reach: 1e9 };
        let share = |windows: f64| {
            let erases = after(&law, windows);
            let of = |from: usize| erases.chunks(8).flat_map(|each| &each[from..from + 4]).sum::<u32>();
            f64::from(of(4)) / f64::from(of(0))
        };
        assert!(share(10.0) < 0.2, "{}", share(10.0));
        assert!(share(5_000.0) > 0.95, "{}", share(5_000.0));
    }
}
