//! The words of timelines by their numbers in the trace.

use crate::trace::{Name, Trace};
use ffslab_sim::Reason;

/// The numbers of words in the trace.
pub(crate) struct Words {
    pub step: Name,
    pub call: Name,
    pub turn: Name,
    pub reason: Name,
    pub wait: Name,
    pub link: Name,
    pub leaves: Name,
    pub makes_up: Name,
    pub long_call: Name,
    reasons: Vec<(&'static Reason, Name)>,
}

impl Words {
    pub fn new(trace: &mut Trace) -> Words {
        Words {
            step: trace.category("step"),
            call: trace.category("call"),
            turn: trace.category("turn"),
            reason: trace.category("reason"),
            wait: trace.category("wait"),
            link: trace.category("link"),
            leaves: trace.name("leaves work for later"),
            makes_up: trace.name("does what a call has left"),
            long_call: trace.name("call (its name stands at its end)"),
            reasons: Vec::new(),
        }
    }

    pub fn of(&mut self, reason: &'static Reason, trace: &mut Trace) -> Name {
        if let Some((_, name)) = self.reasons.iter().find(|(known, _)| *known == reason) {
            return *name;
        }
        let name = trace.name(reason.name);
        self.reasons.push((reason, name));
        name
    }
}
