//! What is to be shared, and what comes of it.

use crate::observed::Observed;
use crate::pieces::{Piece, VariantText};
use crate::ready::{Ready, States};
use crate::run::RunError;
use crate::traces::Traces;

/// Calls what it is given at a moment at which nothing else of this program holds a lock, so that the process can be forked; it may call
/// nothing.
pub type Quiet<'a> = dyn Fn(&mut dyn FnMut()) + 'a;

/// What is to run: variants by their places.
pub(crate) struct ToShare<'a> {
    pub running: &'a [&'a Ready<'a>],
    pub traces: &'a Traces,
    pub states: &'a States,
    pub rows_max: usize,
    /// `None`: nothing is written down.
    pub observed: Option<&'a [Observed]>,
    /// How many variants run at once.
    pub jobs: usize,
    pub quiet: &'a Quiet<'a>,
}

/// What each variant left, by its place; `None`: it has not run.
pub(crate) type Answers = Vec<Option<Result<Piece<VariantText>, RunError>>>;
