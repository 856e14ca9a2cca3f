//! The trait of a victim policy, and the wrapper through which layers ask one.

use crate::candidates::{CandidateTable, Candidates};
use crate::refusal::Refusal;
use crate::Pcg;
use rand_pcg::rand_core::SeedableRng;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// A rule that chooses the block to collect.
pub trait VictimPolicy {
    fn name(&self) -> &str;

    /// The position of the victim among the candidates. `None`: no preference, the layer's own rule decides.
    fn choose(&mut self, candidates: &Candidates<'_>, rng: &mut Pcg) -> Option<usize>;

    /// Why the last choice failed, for policies that can fail, as those written in Python. Asked after each choice.
    fn failure(&mut self) -> Option<String> {
        None
    }
}

/// A victim policy at work in a layer, with its random numbers and the table that the layer fills. Clones share it.
#[derive(Clone)]
pub struct Victims(Rc<RefCell<State>>);

struct State {
    policy: Box<dyn VictimPolicy>,
    rng: Pcg,
    table: CandidateTable,
    choices: u64,
    refusal: Option<Refusal>,
}

impl fmt::Debug for Victims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Victims").field(&self.0.borrow().policy.name()).finish()
    }
}

impl Victims {
    /// The policy, with random numbers of this seed and an empty table that has the columns' units.
    pub fn new(policy: Box<dyn VictimPolicy>, seed: u64, table: CandidateTable) -> Victims {
        let rng = Pcg::seed_from_u64(seed);
        Victims(Rc::new(RefCell::new(State { policy, rng, table, choices: 0, refusal: None })))
    }

    /// Fills the table and asks the policy. Returns the layer's number of the chosen block; `None`: the layer's own rule
    /// decides, because there is no candidate, the policy has no preference, or a choice was refused before.
    ///
    /// Errors: the choice was refused. The policy is not asked again, the layer continues by its own rule so that nothing is
    /// lost, and the run must end with the reason.
    pub fn choose(&self, fill: impl FnOnce(&mut CandidateTable)) -> Result<Option<u32>, Refusal> {
        let mut state = self.0.borrow_mut();
        let State { policy, rng, table, choices, refusal } = &mut *state;
        if refusal.is_some() {
            return Ok(None);
        }
        table.clear();
        fill(table);
        let candidates = table.show();
        if !(0..candidates.len()).any(|at| candidates.is_legal(at)) {
            return Ok(None);
        }
        *choices += 1;
        let chosen = checked(policy.as_mut(), &candidates, rng).inspect_err(|why| *refusal = Some(why.clone()))?;
        Ok(chosen.map(|at| candidates.block[at]))
    }

    /// Why a choice was refused, if one was.
    pub fn refusal(&self) -> Option<Refusal> {
        self.0.borrow().refusal.clone()
    }

    /// How often the policy was asked.
    pub fn choices(&self) -> u64 {
        self.0.borrow().choices
    }
}

/// Asks a policy and checks its answer. For layers that keep their candidates themselves.
///
/// Errors: the choice is not a candidate, gains nothing where something must be gained, or the policy failed.
pub fn checked(
    policy: &mut dyn VictimPolicy,
    candidates: &Candidates<'_>,
    rng: &mut Pcg,
) -> Result<Option<usize>, Refusal> {
    let chosen = policy.choose(candidates, rng);
    if let Some(why) = policy.failure() {
        return Err(Refusal::Failed { policy: policy.name().to_string(), why });
    }
    let Some(at) = chosen else { return Ok(None) };
    if at >= candidates.len() {
        let policy = policy.name().to_string();
        return Err(Refusal::OutOfRange { policy, at, count: candidates.len() });
    }
    if !candidates.is_legal(at) {
        return Err(Refusal::NoGain { policy: policy.name().to_string(), block: candidates.block[at] });
    }
    Ok(chosen)
}
