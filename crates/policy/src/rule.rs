//! A rule for one of the decisions, as users write it.

use crate::decision::Decision;
use crate::named::{is_named, parse, text_of, Named, SpecError};
use crate::other::OtherRule;

/// A rule as it is written for one of the [`crate::Decision`]s: one of a table, or another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Named { at: usize, parameter: u32 },
    Other(OtherRule),
}

impl Rule {
    /// Errors: what is wrong with it.
    pub fn parse(text: &str, table: &[Named], decision: &'static Decision) -> Result<Rule, SpecError> {
        let text = text.trim();
        if let Some(other) = OtherRule::named(decision, text) {
            return Ok(Rule::Other(other));
        }
        if !is_named(text, decision.columns) {
            return OtherRule::score(decision, text).map(Rule::Other);
        }
        match parse(text, table) {
            Ok((at, parameter)) => Ok(Rule::Named { at, parameter }),
            Err(SpecError::Unknown { name, mut known }) => {
                known.extend(OtherRule::names(decision));
                Err(SpecError::Unknown { name, known })
            }
            Err(error) => Err(error),
        }
    }

    /// As it would be written.
    pub fn text(self, table: &[Named]) -> String {
        match self {
            Rule::Named { at, parameter } => text_of(&table[at], parameter),
            Rule::Other(other) => other.text(),
        }
    }
}
