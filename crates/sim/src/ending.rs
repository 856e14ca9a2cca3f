//! What an answer says of a run beside its figures: that it had to end for a reason outside of what is simulated, and what was met.

use crate::Sim;

impl Sim {
    /// The run has to end with this reason, which lies outside of what is simulated: a rule that somebody wrote failed. The
    /// layer that says so continues as if nothing had happened; who drives the simulation asks [`Sim::given_up`]. The first
    /// reason stands.
    pub fn give_up(&self, why: impl std::fmt::Display) {
        self.0.given_up.borrow_mut().get_or_insert_with(|| why.to_string());
    }

    /// Why the run has to end, if it has to.
    #[inline]
    pub fn given_up(&self) -> Option<String> {
        self.0.given_up.borrow().clone()
    }

    /// Has the answer say this, once: what was met and changes what it is worth.
    pub fn tell(&self, text: &'static str) {
        self.0.told.borrow_mut().said.insert(text);
    }

    /// A fault of the simulated system was met, which may lose data; the answer says so, once.
    pub fn meet_fault(&self, text: &'static str) {
        self.0.told.borrow_mut().faults.insert(text);
    }

    /// Faults of the simulated system that were met.
    pub fn faults_met(&self) -> Vec<&'static str> {
        self.0.told.borrow().faults.iter().copied().collect()
    }

    /// What the answer must say, faults last.
    pub fn told(&self) -> Vec<&'static str> {
        let told = self.0.told.borrow();
        told.said.iter().chain(&told.faults).copied().collect()
    }
}
