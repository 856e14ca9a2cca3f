//! What the causes in a result mean. Each task and each reason that the result names is explained once, in the words of
//! the layer that it belongs to.

use crate::counts::CauseSummary;
use ffslab_sim::{Reason, Task};
use schemars::JsonSchema;
use serde::Serialize;

/// Key `causes` of a result.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Legend {
    /// The tasks in the order of their rows: the program first, then the background tasks from the medium upwards.
    pub tasks: Vec<TaskWords>,
    /// The reasons ordered by kind ([`ffslab_sim::Kind`]), and by name within a kind.
    pub reasons: Vec<ReasonWords>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TaskWords {
    pub task: &'static str,
    /// A short title for the heads of tables.
    pub title: &'static str,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReasonWords {
    pub reason: &'static str,
    /// What happens when work is done for this reason.
    pub sentence: &'static str,
    /// Who wants the work to be done: a name of [`ffslab_sim::Purpose`].
    pub purpose: &'static str,
}

impl Legend {
    pub fn of(causes: &[CauseSummary]) -> Legend {
        let (mut tasks, mut reasons) = (Vec::<&'static Task>::new(), Vec::<&'static Reason>::new());
        for cause in causes {
            if !tasks.contains(&cause.of_task) {
                tasks.push(cause.of_task);
            }
            if !reasons.contains(&cause.of_reason) {
                reasons.push(cause.of_reason);
            }
        }
        reasons.sort_by_key(|reason| (reason.kind, reason.name));
        let words = |reason: &'static Reason| ReasonWords {
            reason: reason.name,
            sentence: reason.sentence,
            purpose: reason.purpose.name(),
        };
        Legend {
            tasks: tasks.into_iter().map(|task| TaskWords { task: task.name, title: task.title }).collect(),
            reasons: reasons.into_iter().map(words).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_fs::causes::{CALLER, DATA, FLUSHER, READ, SYNC};
    use ffslab_sim::{CauseCounts, OpCounts};

    fn row(task: &'static Task, reason: &'static Reason) -> CauseSummary {
        CauseSummary::of(&CauseCounts { task, reason, counts: OpCounts::default() })
    }

    #[test]
    fn each_task_and_each_reason_is_explained_once() {
        let causes = [row(&CALLER, &SYNC), row(&CALLER, &READ), row(&FLUSHER, &DATA), row(&FLUSHER, &READ)];
        let legend = Legend::of(&causes);
        let tasks: Vec<_> = legend.tasks.iter().map(|task| (task.task, task.title)).collect();
        assert_eq!(tasks, [("caller", "program"), ("flusher", "flusher")]);
        let reasons: Vec<_> = legend.reasons.iter().map(|reason| (reason.reason, reason.purpose)).collect();
        assert_eq!(reasons, [("read", "read"), ("sync", "cost"), ("user data", "write")]);
        assert_eq!(legend.reasons[0].sentence, READ.sentence);
    }
}
