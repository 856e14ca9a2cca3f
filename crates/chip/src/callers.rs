//! Causes by call site: which functions of a program are under way when it calls for an operation, by the symbols of the backtrace.
//!
//! A stack is looked up once; the cause of each further operation with the same return addresses is known.

use crate::error::ChipError;
use crate::labels;
use ffslab_sim::{Reason, Sim, OTHER};
use rustc_hash::FxHashMap;

/// Return addresses that are looked at, from the operation outwards.
const FRAMES_MAX: usize = 64;
/// Stacks that are remembered; a program that recurses can have any number.
const STACKS_MAX: usize = 1 << 16;

/// What the functions under way say of the cause.
struct Rule {
    /// A whole name, or how it begins.
    function: String,
    is_beginning: bool,
    /// `None`: the function says nothing, not even by its name.
    reason: Option<&'static Reason>,
}

impl Rule {
    /// `FUNCTION = CAUSE`. `None`: the line is none.
    fn of(line: &str) -> Option<Result<Rule, ChipError>> {
        let (function, cause) = line.split_once('=').map(|(function, cause)| (function.trim(), cause.trim()))?;
        let (function, is_beginning) = function.strip_suffix('*').map_or((function, false), |start| (start, true));
        if function.is_empty() || function.contains([' ', '\t', '*']) {
            return None;
        }
        let function = function.to_string();
        if cause.is_empty() {
            return Some(Ok(Rule { function, is_beginning, reason: None }));
        }
        let named = labels::reason(cause).ok_or_else(|| ChipError::Label(cause.to_string()));
        Some(named.map(|reason| Rule { function, is_beginning, reason: Some(reason) }))
    }

    fn fits(&self, function: &str) -> bool {
        if self.is_beginning {
            function.starts_with(&self.function)
        } else {
            function == self.function
        }
    }
}

pub(crate) struct Callers {
    /// The first ones count before the others.
    rules: Vec<Rule>,
    known: FxHashMap<Box<[usize]>, &'static Reason>,
}

impl Callers {
    /// Errors: a line that is no rule, or a cause that cannot be a label.
    pub fn new(rules: &str) -> Result<Callers, ChipError> {
        let lines = rules.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let parsed = lines.map(|(number, line)| {
            let no_rule = || Err(ChipError::Rule { line: number + 1, text: line.trim().to_string() });
            Rule::of(line).unwrap_or_else(no_rule)
        });
        Ok(Callers { rules: parsed.collect::<Result<_, _>>()?, known: FxHashMap::default() })
    }

    /// Why the program that has called this function, through others of this crate, does so.
    pub fn reason(&mut self, sim: &Sim) -> &'static Reason {
        let mut frames = [0; FRAMES_MAX];
        let mut count = 0;
        backtrace::trace(|frame| {
            frames[count] = frame.ip() as usize;
            count += 1;
            count < FRAMES_MAX
        });
        let stack = &frames[..count];
        if let Some(reason) = self.known.get(stack) {
            return reason;
        }
        let reason = self.by_names(&functions(stack));
        sim.register(&[reason]);
        if self.known.len() >= STACKS_MAX {
            self.known.clear();
        }
        self.known.insert(stack.into(), reason);
        reason
    }

    /// The cause by the functions under way, the innermost first.
    fn by_names(&self, functions: &[String]) -> &'static Reason {
        let named = self.rules.iter().filter(|rule| rule.reason.is_some());
        let said = named.into_iter().find(|rule| functions.iter().any(|function| rule.fits(function)));
        if let Some(reason) = said.and_then(|rule| rule.reason) {
            return reason;
        }
        let passed_over = |function: &&String| self.rules.iter().any(|rule| rule.fits(function));
        let own = functions.iter().find(|function| !passed_over(function));
        own.and_then(|function| labels::reason(function)).unwrap_or(&OTHER)
    }
}

/// The names of the program's functions, those that were inlined, too, the innermost first. What comes before them is this library with the
/// headers that connect it.
fn functions(stack: &[usize]) -> Vec<String> {
    let mut names = Vec::new();
    for &address in stack {
        backtrace::resolve(address as *mut _, |symbol| {
            // Without the hash that tells functions of Rust apart.
            names.extend(symbol.name().map(|name| format!("{name:#}")));
        });
    }
    let is_ours = |name: &String| name.trim_start_matches('<').starts_with("ffslab");
    let program = names.iter().rposition(is_ours).map_or(0, |last| last + 1);
    names.split_off(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause_of(rules: &str, functions: &[&str]) -> &'static str {
        let functions: Vec<String> = functions.iter().map(ToString::to_string).collect();
        Callers::new(rules).expect("these are rules").by_names(&functions).name
    }

    #[test]
    fn the_first_rule_that_fits_a_function_under_way_says_the_cause() {
        let rules = "scan = allocation scan\n\n  commit* = commit\nbd_* =\n";
        assert_eq!(cause_of(rules, &["bd_read", "scan", "commit_all", "main"]), "allocation scan");
        assert_eq!(cause_of(rules, &["bd_read", "commit_all", "scan", "main"]), "allocation scan");
        assert_eq!(cause_of(rules, &["bd_read", "commit_all", "main"]), "commit");
        assert_eq!(cause_of(rules, &["bd_read", "bd_flush", "look_up", "main"]), "look_up");
        assert_eq!(cause_of(rules, &["bd_read"]), "other");
        assert_eq!(cause_of("", &["look_up", "main"]), "look_up");
        assert_eq!(cause_of("", &[]), "other");
    }

    #[test]
    fn what_is_no_rule_is_told_with_its_line() {
        for (rules, line) in [("nothing", 1), ("a = b\n= c", 2), ("a*b = c", 1), ("int a = b", 1)] {
            let refused = Callers::new(rules).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(refused.starts_with(&format!("callers, line {line}: ")), "{rules}: {refused}");
        }
    }
}
