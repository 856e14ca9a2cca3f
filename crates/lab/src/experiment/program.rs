//! Programs that run beside the measured steps.

use ffslab_workload::Step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the program that the measured steps are.
pub const MAIN: &str = "main";
/// Names that mean something else in the names of axes.
const TAKEN: &[&str] = &[MAIN, "measure", "setup", "state", "initial"];

/// A program that runs at the same time as the measured steps, on the same CPU. All programs make their system calls in
/// turns: whichever has been ready longest makes its next call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name in results, and in the names of axes: letters, digits, `-` and `_`. The measured steps are the program
    /// "main".
    pub name: String,
    /// It is ended when all programs have ended that are not in the background. If it comes to the end of its
    /// steps before, its files are closed and it begins again, as a program that is started anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// What it does, in order. Steps that concern the whole machine, such as `umount` and `crash`, cannot be here.
    pub steps: Vec<Step>,
}

impl Program {
    /// The measured steps, if other programs run beside them.
    pub fn main(steps: &[Step]) -> Program {
        Program { name: MAIN.to_string(), background: false, steps: steps.to_vec() }
    }

    /// For messages.
    pub(crate) fn title(&self) -> String {
        format!("program \"{}\"", self.name)
    }

    /// The list of its steps, for messages.
    pub(crate) fn phase(&self) -> String {
        match self.name.as_str() {
            MAIN => "measure".to_string(),
            _ => self.title(),
        }
    }

    /// Finds a name that cannot be used.
    ///
    /// Errors: what is wrong with it and what would be right.
    pub(super) fn check_name(name: &str) -> Result<(), String> {
        if TAKEN.contains(&name) {
            return Err(format!("name = \"{name}\" means something else already: give the program another one"));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !name.is_empty() && name.chars().all(is_plain) {
            Ok(())
        } else {
            Err(format!("name = \"{name}\" must be of letters, digits, - and _, such as \"logger\""))
        }
    }
}
