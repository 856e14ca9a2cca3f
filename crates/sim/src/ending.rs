//! A run that has to end for a reason outside of what is simulated.

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
}
