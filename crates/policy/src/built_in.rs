//! The victim policies of the literature. Ties go to the candidate that stands first.

use crate::candidates::Candidates;
use crate::expression::Expression;
use crate::victim::VictimPolicy;
use crate::Pcg;
use rand_pcg::rand_core::Rng;

/// A number below `count`, which is not 0.
pub(crate) fn below(count: usize, rng: &mut Pcg) -> usize {
    ((u64::from(rng.next_u32()) * count as u64) >> 32) as usize
}

/// The legal candidate with the highest key.
fn best<K: PartialOrd>(candidates: &Candidates<'_>, key: impl Fn(usize) -> K) -> Option<usize> {
    let mut best: Option<(usize, K)> = None;
    for at in (0..candidates.len()).filter(|at| candidates.is_legal(*at)) {
        let this = key(at);
        if best.as_ref().is_none_or(|(_, most)| this > *most) {
            best = Some((at, this));
        }
    }
    best.map(|(at, _)| at)
}

/// A rule that gives each candidate a score from its columns alone.
pub(crate) struct ByKey {
    pub name: &'static str,
    pub key: fn(&Candidates<'_>, usize) -> f64,
}

impl VictimPolicy for ByKey {
    fn name(&self) -> &str {
        self.name
    }

    fn choose(&mut self, candidates: &Candidates<'_>, _rng: &mut Pcg) -> Option<usize> {
        best(candidates, |at| (self.key)(candidates, at))
    }
}

/// Most to gain.
pub(crate) fn invalid(c: &Candidates<'_>, at: usize) -> f64 {
    f64::from(c.invalid[at])
}

/// Written longest ago.
pub(crate) fn age(c: &Candidates<'_>, at: usize) -> f64 {
    c.age[at] as f64
}

/// Changed longest ago.
pub(crate) fn idle(c: &Candidates<'_>, at: usize) -> f64 {
    c.idle[at] as f64
}

/// `idle * (1 - u) / 2u`, with u the share that is valid: benefit by cost of one read and one write.
pub(crate) fn cost_benefit(c: &Candidates<'_>, at: usize) -> f64 {
    if c.valid[at] == 0 {
        return f64::INFINITY;
    }
    c.idle[at] as f64 * f64::from(c.invalid[at]) / (2.0 * f64::from(c.valid[at]))
}

/// The inverse of `u / (1 - u) * erases / idle`, whose smallest value is chosen. A block without erases counts as one with
/// one.
pub(crate) fn cat(c: &Candidates<'_>, at: usize) -> f64 {
    if c.valid[at] == 0 {
        return f64::INFINITY;
    }
    let gain = f64::from(c.invalid[at]) / f64::from(c.valid[at]);
    gain * c.idle[at] as f64 / f64::from(c.erases[at].max(1))
}

/// Uniform among the legal candidates.
pub(crate) struct Random;

impl VictimPolicy for Random {
    fn name(&self) -> &str {
        "random"
    }

    fn choose(&mut self, candidates: &Candidates<'_>, rng: &mut Pcg) -> Option<usize> {
        draw(candidates, rng)
    }
}

/// A legal candidate, all with the same probability.
fn draw(candidates: &Candidates<'_>, rng: &mut Pcg) -> Option<usize> {
    if candidates.is_empty() {
        return None;
    }
    // Mostly all candidates are legal, so that the first draws hit; counting them is for the rest.
    for _ in 0..8 {
        let at = below(candidates.len(), rng);
        if candidates.is_legal(at) {
            return Some(at);
        }
    }
    let legal = || (0..candidates.len()).filter(|at| candidates.is_legal(*at));
    let count = legal().count();
    (count != 0).then(|| legal().nth(below(count, rng)).expect("it is below their count"))
}

/// The best of `d` random draws with replacement.
pub(crate) struct DChoices {
    pub name: String,
    pub draws: u32,
}

impl VictimPolicy for DChoices {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(&mut self, candidates: &Candidates<'_>, rng: &mut Pcg) -> Option<usize> {
        let mut chosen = draw(candidates, rng)?;
        for _ in 1..self.draws {
            let other = draw(candidates, rng)?;
            if candidates.invalid[other] > candidates.invalid[chosen] {
                chosen = other;
            }
        }
        Some(chosen)
    }
}

/// Most to gain among the `window` candidates that were written longest ago.
pub(crate) struct WindowedGreedy {
    pub name: String,
    pub window: usize,
    /// Positions of candidates; kept so that nothing is allocated.
    pub order: Vec<usize>,
}

impl VictimPolicy for WindowedGreedy {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(&mut self, candidates: &Candidates<'_>, _rng: &mut Pcg) -> Option<usize> {
        self.order.clear();
        self.order.extend((0..candidates.len()).filter(|at| candidates.is_legal(*at)));
        let oldest_first = |at: &usize| (std::cmp::Reverse(candidates.age[*at]), *at);
        if self.order.len() > self.window {
            self.order.select_nth_unstable_by_key(self.window - 1, oldest_first);
            self.order.truncate(self.window);
        }
        let most = |at: &&usize| (candidates.invalid[**at], candidates.age[**at], std::cmp::Reverse(**at));
        self.order.iter().max_by_key(most).copied()
    }
}

/// The highest score of an expression. A score that is not a number is lower than all others.
pub(crate) struct ByScore {
    pub expression: Expression,
}

impl VictimPolicy for ByScore {
    fn name(&self) -> &str {
        self.expression.text()
    }

    fn choose(&mut self, candidates: &Candidates<'_>, _rng: &mut Pcg) -> Option<usize> {
        // Numbers before all that are none, and those by their value.
        best(candidates, |at| {
            let score = self.expression.score(|column| candidates.value(column, at));
            (!score.is_nan(), if score.is_nan() { 0.0 } else { score })
        })
    }
}
