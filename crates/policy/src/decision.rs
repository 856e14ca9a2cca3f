//! The decisions that take one rule of three kinds: a named one, a score, or one that somebody else has written.
//!
//! Victims are not among them: they have columns of their own memory ([`crate::Candidates`]), because they are asked for often and
//! with many blocks. What is asked here comes once a block, a file, a miss or a page that is written.

use crate::expression::Column;
use crate::named::Named;

/// What answers a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One of what is shown: that with the highest score.
    One,
    /// One of what is shown, that with the highest score, or none if no score is above 0.
    OneOrNone,
    /// A number: the score itself.
    Number,
}

/// A decision of a layer.
#[derive(Debug)]
pub struct Decision {
    /// The key of `[stack.policy]`.
    pub key: &'static str,
    /// What a score says.
    pub score: &'static str,
    /// The rules that have a name.
    pub named: fn() -> &'static [Named],
    /// What is shown.
    pub columns: &'static [Column],
    pub answer: Answer,
}

pub(crate) const fn column(name: &'static str, about: &'static str) -> Column {
    Column { name, about }
}
