//! Names with a parameter, as users write them: `greedy`, `d-choices(4)`.

use crate::expression::{is_function, Column, ExpressionError};
use thiserror::Error;

/// The word for the layer's own rule.
pub const OWN_RULE: &str = "kernel";

/// What is known of a policy by its name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// As users write it, without the parameter.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// The paper that it follows.
    pub paper: &'static str,
    pub parameter: Option<Parameter>,
}

/// The number in brackets behind a name.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub about: &'static str,
    pub least: u32,
    pub most: u32,
    /// What counts if it is not given.
    pub default: u32,
}

/// What is wrong with the name of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    #[error("unknown policy `{name}`; there are {}", .known.join(", "))]
    Unknown { name: String, known: Vec<String> },
    #[error("policy `{name}` has no parameter")]
    NoParameter { name: &'static str },
    #[error("policy `{name}`: {parameter} = `{given}`: a number from {least} to {most} is needed")]
    Parameter { name: &'static str, parameter: &'static str, given: String, least: u32, most: u32 },
    #[error("there is already a policy `{name}`")]
    Taken { name: String },
    #[error(
        "`{name}` cannot be the name of a policy: lower-case letters, digits and hyphens are needed, a letter first"
    )]
    NotAName { name: String },
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

/// Splits `name(parameter)`.
pub(crate) fn split(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((name, parameter)) => (name.trim(), Some(parameter.trim())),
        None => (text, None),
    }
}

/// Finds a policy and its parameter in a table.
///
/// Errors: no such name, no such parameter.
pub(crate) fn parse(text: &str, table: &[Named]) -> Result<(usize, u32), SpecError> {
    let (name, given) = split(text);
    let Some(at) = table.iter().position(|known| known.name == name) else {
        let known = table.iter().map(|known| known.name.to_string()).collect();
        return Err(SpecError::Unknown { name: name.to_string(), known });
    };
    let Named { name, parameter, .. } = table[at];
    match (parameter, given) {
        (None, None) => Ok((at, 0)),
        (None, Some(_)) => Err(SpecError::NoParameter { name }),
        (Some(parameter), None) => Ok((at, parameter.default)),
        (Some(Parameter { name: parameter, least, most, .. }), Some(given)) => {
            let number = given.parse().ok().filter(|number| (least..=most).contains(number));
            let wrong = || SpecError::Parameter { name, parameter, given: given.to_string(), least, most };
            number.map(|number| (at, number)).ok_or_else(wrong)
        }
    }
}

/// Reads a rule for a decision that has the layer's own one beside those of `parse`: `None`.
///
/// Errors: as those of `parse`; what is known has the own rule, too.
pub fn own_rule_or<T>(text: &str, parse: impl FnOnce(&str) -> Result<T, SpecError>) -> Result<Option<T>, SpecError> {
    if text.trim() == OWN_RULE {
        return Ok(None);
    }
    parse(text).map(Some).map_err(|error| match error {
        SpecError::Unknown { name, mut known } => {
            known.insert(0, OWN_RULE.to_string());
            SpecError::Unknown { name, known }
        }
        error => error,
    })
}

/// Whether this can be the name of a policy of somebody else.
pub(crate) fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_allowed)
}

/// Whether this is a name, perhaps with a parameter, and no score. "invalid-valid" looks like a name, but is made of columns.
pub(crate) fn is_named(text: &str, columns: &[Column]) -> bool {
    let (name, _) = split(text);
    let is_column = |word: &str| columns.iter().any(|column| column.name == word);
    is_name(name) && !name.split('-').all(is_column) && !is_function(name)
}

/// The name with its parameter.
pub(crate) fn text_of(named: &Named, parameter: u32) -> String {
    match named.parameter {
        Some(_) => format!("{}({parameter})", named.name),
        None => named.name.to_string(),
    }
}
