//! Rules that stand in no table: score expressions, and rules that somebody else has written, as in Python.
//!
//! Both are known by a number in one register of the process, so that what an experiment asks for ([`OtherRule`]) is as small as
//! the number of a named rule. What is at work in a layer ([`OtherAtWork`]) is made for each mount.

use crate::decision::{Answer, Decision};
use crate::expression::Expression;
use crate::named::{is_name, SpecError, OWN_RULE};
use crate::refusal::Refusal;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// What is asked of a rule: rows and columns of numbers. Decisions of which the answer is a number have one row.
pub struct Question<'a> {
    pub decision: &'static Decision,
    pub rows: usize,
    value: &'a dyn Fn(usize, usize) -> f64,
}

impl Question<'_> {
    /// The value of a column, by its position in [`Decision::columns`].
    pub fn value(&self, row: usize, column: usize) -> f64 {
        (self.value)(row, column)
    }
}

/// A rule that somebody else has written.
pub trait Decider {
    /// The position of what is chosen, or the number that is asked for. `None`: no preference, the layer's own rule decides.
    ///
    /// Errors: why the rule failed.
    fn decide(&mut self, question: &Question<'_>) -> Result<Option<f64>, String>;
}

/// Makes a rule of somebody else for a mount.
pub type DeciderMaker = Arc<dyn Fn() -> Box<dyn Decider> + Send + Sync>;

#[derive(Clone)]
enum By {
    Score(Expression),
    Made(DeciderMaker),
    /// The name is free again; who has the number keeps the rule until it is made.
    Forgotten(DeciderMaker),
}

struct Known {
    decision: &'static Decision,
    text: String,
    by: By,
}

static KNOWN: RwLock<Vec<Known>> = RwLock::new(Vec::new());

fn with_known<T>(look: impl FnOnce(&[Known]) -> T) -> T {
    look(&KNOWN.read().unwrap_or_else(PoisonError::into_inner))
}

/// A rule that stands in no table, as it is written in an experiment, checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OtherRule(usize);

impl fmt::Debug for OtherRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OtherRule").field(&self.text()).finish()
    }
}

/// Adds a rule of somebody else under a name that experiments can use for this decision from now on.
///
/// Errors: it cannot be a name, or there is one of this name.
pub fn register_decider(decision: &'static Decision, name: &str, make: DeciderMaker) -> Result<(), SpecError> {
    if !is_name(name) || decision.columns.iter().any(|column| column.name == name) {
        return Err(SpecError::NotAName { name: name.to_string() });
    }
    let is_taken = name == OWN_RULE || (decision.named)().iter().any(|known| known.name == name);
    if is_taken || OtherRule::named(decision, name).is_some() {
        return Err(SpecError::Taken { name: name.to_string() });
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.push(Known { decision, text: name.to_string(), by: By::Made(make) });
    Ok(())
}

/// Forgets a rule of somebody else. Who has it keeps it.
pub fn unregister_decider(decision: &'static Decision, name: &str) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    for one in known.iter_mut().filter(|one| one.decision.key == decision.key && one.text == name) {
        if let By::Made(make) = &one.by {
            one.by = By::Forgotten(make.clone());
        }
    }
}

impl OtherRule {
    /// The rule of somebody else that has this name.
    pub(crate) fn named(decision: &Decision, name: &str) -> Option<OtherRule> {
        let is_it = |one: &Known| one.decision.key == decision.key && one.text == name && matches!(one.by, By::Made(_));
        with_known(|known| known.iter().position(is_it).map(OtherRule))
    }

    /// The names of rules of somebody else.
    pub(crate) fn names(decision: &Decision) -> Vec<String> {
        let is_one = |one: &&Known| one.decision.key == decision.key && matches!(one.by, By::Made(_));
        with_known(|known| known.iter().filter(is_one).map(|one| one.text.clone()).collect())
    }

    /// A score.
    ///
    /// Errors: what is wrong with it.
    pub(crate) fn score(decision: &'static Decision, text: &str) -> Result<OtherRule, SpecError> {
        let expression = Expression::compile(text, decision.columns)?;
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            |one: &Known| one.decision.key == decision.key && one.text == text && matches!(one.by, By::Score(_));
        let at = known.iter().position(is_it).unwrap_or_else(|| {
            known.push(Known { decision, text: text.to_string(), by: By::Score(expression) });
            known.len() - 1
        });
        Ok(OtherRule(at))
    }

    /// As it would be written.
    pub fn text(self) -> String {
        with_known(|known| known[self.0].text.clone())
    }

    /// The rule for one mount.
    pub fn make(self) -> OtherAtWork {
        let (decision, text, by) = with_known(|known| {
            let one = &known[self.0];
            (one.decision, one.text.clone(), one.by.clone())
        });
        let rule = match by {
            By::Score(expression) => Rule::Score(expression),
            // It is made outside of the register's lock: it may ask the register itself.
            By::Made(make) | By::Forgotten(make) => Rule::Decider(make()),
        };
        OtherAtWork { decision, text, rule, refusal: None }
    }
}

enum Rule {
    Score(Expression),
    Decider(Box<dyn Decider>),
}

/// A rule that stands in no table, at work in a layer. After an answer that is none it is not asked again: the layer goes on by its
/// own rule, and the run must end with the reason.
pub struct OtherAtWork {
    decision: &'static Decision,
    text: String,
    rule: Rule,
    refusal: Option<Refusal>,
}

impl fmt::Debug for OtherAtWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OtherAtWork").field(&self.text).finish()
    }
}

impl OtherAtWork {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Why an answer was refused, if one was.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal.clone()
    }

    /// The position of the row that is chosen. `value`: by row and column. `None`: there is none, the rule has no preference, or
    /// an answer was refused.
    pub fn choose(&mut self, rows: usize, value: impl Fn(usize, usize) -> f64) -> Option<usize> {
        debug_assert_ne!(self.decision.answer, Answer::Number, "{} is answered by a number", self.decision.key);
        if rows == 0 || self.refusal.is_some() {
            return None;
        }
        let answer = match &mut self.rule {
            Rule::Score(expression) => {
                let above = (self.decision.answer == Answer::OneOrNone).then_some(0.0);
                return highest(rows, above, |row| expression.score(|column| value(row, column)));
            }
            Rule::Decider(decider) => decider.decide(&Question { decision: self.decision, rows, value: &value }),
        };
        let is_position = |at: f64| at >= 0.0 && at.fract() == 0.0 && at < rows as f64;
        let wanted = format_args!("a position from 0 to {} or None is needed", rows - 1);
        self.checked(answer, is_position, wanted).map(|at| at as usize)
    }

    /// The number that is asked for, at least 0; a score that is no number counts 0. `value`: by column. `None`: the rule has no
    /// preference, or an answer was refused.
    pub fn number(&mut self, value: impl Fn(usize) -> f64) -> Option<f64> {
        debug_assert_eq!(self.decision.answer, Answer::Number, "{} is answered by a choice", self.decision.key);
        if self.refusal.is_some() {
            return None;
        }
        let of_row = |_: usize, column: usize| value(column);
        let answer = match &mut self.rule {
            // The larger of a number and of what is none is the number.
            Rule::Score(expression) => return Some(expression.score(value).max(0.0)),
            Rule::Decider(decider) => decider.decide(&Question { decision: self.decision, rows: 1, value: &of_row }),
        };
        self.checked(answer, |number| number >= 0.0, format_args!("a number from 0 on or None is needed"))
    }

    fn checked(
        &mut self,
        answer: Result<Option<f64>, String>,
        is_right: impl Fn(f64) -> bool,
        wanted: fmt::Arguments<'_>,
    ) -> Option<f64> {
        let why = match answer {
            Ok(answer) if answer.is_none_or(is_right) => return answer,
            Ok(answer) => format!("it answered {}; {wanted}", answer.unwrap_or(f64::NAN)),
            Err(why) => why,
        };
        self.refusal = Some(Refusal::Failed { policy: self.text.clone(), why });
        None
    }
}

/// The row with the highest score, the first of equals; one that is no number is lower than all others. `above`: what it must exceed.
fn highest(rows: usize, above: Option<f64>, score: impl Fn(usize) -> f64) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for row in 0..rows {
        let this = score(row);
        if best.is_none_or(|(_, most)| this > most || (most.is_nan() && !this.is_nan())) {
            best = Some((row, this));
        }
    }
    best.filter(|(_, most)| above.is_none_or(|above| *most > above)).map(|(row, _)| row)
}
