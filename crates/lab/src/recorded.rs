//! The calls of steps that are programs of their own, such as a job file, for a run of the same steps on a real kernel: the
//! simulation makes them, and each is written down.

use crate::data::Written;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::recorder::{Recorder, Recording};
use crate::run::{RunError, Runner};
use crate::traces::Traces;
use ffslab_machine::stack::{Stack, StackSpec};
use ffslab_workload::Step;
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// The calls of a step, a line each (see `recorder`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedStep {
    pub is_setup: bool,
    /// Of a setup step as many as there are: what the measured steps need is laid out at the end of the setup.
    pub index: usize,
    pub calls: String,
}

/// Which steps of which variant are recorded.
pub struct ToRecord<'a> {
    pub variant_index: usize,
    pub setup: &'a [Step],
    pub measure: &'a [Step],
    /// The names of the steps whose calls are wanted.
    pub names: &'a [String],
}

/// Simulates the steps on the stack of a variant of the experiment, and returns the calls of those that are
/// wanted, and the bytes that they name. The other arguments are those of [`crate::run_experiment`].
///
/// Errors: [`LabError::Input`] with one line when the experiment is wrong or a step cannot be done.
pub fn recorded_calls(
    written: &Written,
    file_name: &str,
    base_dir: &Path,
    what: &ToRecord,
) -> Result<(Vec<RecordedStep>, Vec<u8>), LabError> {
    let experiment = Experiment::read(written, file_name, None)?;
    let input = |text: String| LabError::Input(format!("{file_name}: {text}"));
    let variant = experiment.variants.get(what.variant_index);
    let (Some(variant), Some(keys)) = (variant, variant.and_then(|variant| variant.stack.linux())) else {
        return Err(input("there is no such variant on Linux".to_string()));
    };
    let (spec, _) = StackSpec::from_keys(keys, base_dir)?;
    let mut traces = Traces::default();
    traces.read(what.setup.iter().chain(what.measure), base_dir, None).map_err(|error| input(error.to_string()))?;
    let recording = Rc::new(RefCell::new(Recording::default()));
    let system = Recorder::new(Stack::new(&spec).map_err(|error| input(error.to_string()))?, Rc::clone(&recording));
    let mut runner = Runner::new(Box::new(system), variant.seed, Cow::Borrowed(&traces), Box::new(|_| true));
    let found = steps(&mut runner, what, &recording).map_err(|error| match error {
        RunError::Step(text) => input(text),
        RunError::Interrupted => LabError::Interrupted,
    })?;
    let data = std::mem::take(&mut recording.borrow_mut().data);
    Ok((found, data))
}

fn steps(runner: &mut Runner, what: &ToRecord, recording: &RefCell<Recording>) -> Result<Vec<RecordedStep>, RunError> {
    let mut found = Vec::new();
    let mut one = |runner: &mut Runner, is_setup: bool, index: usize, step: &Step| {
        let is_wanted = what.names.iter().any(|name| name == step.name());
        if is_wanted {
            let mut recording = recording.borrow_mut();
            recording.start();
            runner.each_open(&mut |name, fd| recording.bind(fd, name));
        }
        runner.step(if is_setup { "setup" } else { "measure" }, index, step)?;
        if is_wanted {
            found.push(RecordedStep { is_setup, index, calls: recording.borrow_mut().stop() });
        }
        Ok::<(), RunError>(())
    };
    runner.begin_setup();
    for (index, step) in what.setup.iter().enumerate() {
        one(runner, true, index, step)?;
    }
    recording.borrow_mut().start();
    runner.prepare(what.measure)?;
    let prepared = recording.borrow_mut().stop();
    runner.begin_measurement();
    for (index, step) in what.measure.iter().enumerate() {
        one(runner, false, index, step)?;
    }
    if !prepared.is_empty() {
        found.push(RecordedStep { is_setup: true, index: what.setup.len(), calls: prepared });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPERIMENT: &str = r#"
        title = "Calls"
        [stack]
        board = "zero-overhead"
        fs = "jffs2"
        partition_blocks = 32
        [[setup]]
        step = "mount"
        [[measure]]
        step = "open"
        file = "a file"
        flags = ["wronly", "create"]
        [[measure]]
        step = "age"
        file = "b"
        overwrites = 1.0
        distribution = "sequential"
    "#;

    #[test]
    fn calls_are_those_of_the_simulation_and_name_what_they_write() {
        let step = |json: &str| serde_json::from_str::<Step>(json).unwrap();
        let setup = [
            step(r#"{"step":"mount"}"#),
            step(r#"{"step":"create","file":"b","bytes":8192}"#),
            step(r#"{"step":"open","file":"a file","flags":["wronly","create"]}"#),
        ];
        let measure = [step(r#"{"step":"age","file":"b","overwrites":1.0,"distribution":"sequential"}"#)];
        let names = ["age".to_string()];
        let what = ToRecord { variant_index: 0, setup: &setup, measure: &measure, names: &names };
        let (found, data) = recorded_calls(&EXPERIMENT.into(), "e.toml", Path::new("."), &what).unwrap();
        let lines = "bind 0 a%20file =ok\nopen 1 b wronly 0 =ok\nfstat 1 =ok\npwrite 1 0 4096 0 =ok\n\
                     pwrite 1 4096 4096 4096 =ok\nfsync 1 =ok\nclose 1 =ok\n";
        assert_eq!(found, [RecordedStep { is_setup: false, index: 0, calls: lines.to_string() }]);
        assert_eq!(data.len(), 8192);
    }
}
