//! Writes an experiment with all its defaults, so that it can be run again from another folder.

use super::initial::SETTLED;
use super::{Experiment, ExperimentFile, Program};
use ffslab_machine::file_systems::owned_keys;
use ffslab_machine::StackTable;
use ffslab_profiles::is_path;
use ffslab_workload::Step;
use std::collections::BTreeMap;
use std::path::Path;

/// Axes whose values are names of profiles, and axes whose values are names of files.
const PROFILE_AXES: &[&str] = &["board", "part", "kernel", "device"];
const FILE_AXES: &[&str] =
    &["image", "replay.file", "copy_in.from", "load.image", "fio.file", "postmark.file", "sqlite.script"];
/// The key of a stack whose value is a list of tables, each with keys of its own.
const MOUNTS: &str = "mount";
/// The keys of any step and of any table of the stack that name files.
const FILE_KEYS: &[&str] = &["content_file", "library", "dhara_library"];

impl Experiment {
    /// The experiment with every default. `stacks` are those of the variants, of the first run of each, in which the values of the boards are
    /// filled in. A key whose value depends on an axis is left out, because the axis will decide it again. Files are
    /// looked for from `base_dir`, and their full paths are written.
    pub fn resolved(&self, stacks: &[&StackTable], base_dir: &Path) -> String {
        let first = &self.variants[0];
        let mut stack = self.common(stacks);
        for name in stack.keys_mut().profiles_mut() {
            *name = located_profile(base_dir, name);
        }
        for image in stack.keys_mut().images_mut() {
            *image = located(base_dir, image);
        }
        let steps = |steps: &[Step]| steps.iter().map(|step| located_step(base_dir, step)).collect();
        let mut axes = self.axes.clone();
        for (name, values) in &mut axes {
            // `step.key` behind the list or program of the step.
            let key = match name.match_indices('.').nth(1) {
                Some(_) => name.split_once('.').map_or(&name[..], |(_, key)| key),
                None => name,
            };
            for value in values {
                let toml::Value::String(text) = value else { continue };
                if PROFILE_AXES.contains(&key) {
                    *text = located_profile(base_dir, text);
                } else if FILE_AXES.contains(&key)
                    || key.rsplit('.').next().is_some_and(|last| FILE_KEYS.contains(&last))
                {
                    *text = located(base_dir, text);
                }
            }
        }
        let file = ExperimentFile {
            title: self.title.clone(),
            seed: first.seed,
            probe_logs: first.probe_logs,
            film: first.film,
            calls_max: self.calls_max,
            requests_kept: self.requests_kept,
            runs: self.runs,
            stack,
            initial: first.initial.clone().or_else(|| Some(SETTLED.to_string())),
            state: steps(&first.state),
            setup: steps(&first.setup[first.setup.len() - first.own_setup_steps()..]),
            measure: steps(&first.measure),
            program: first
                .programs
                .iter()
                .map(|program| Program { steps: steps(&program.steps), ..program.clone() })
                .collect(),
            axes: axes.into_iter().collect(),
            // They are questions about the file, and not about what ran.
            question: BTreeMap::new(),
            study: BTreeMap::new(),
            crashtest: BTreeMap::new(),
            budgets: BTreeMap::new(),
        };
        let text = toml::to_string(&file).expect("an experiment that was read can be written");
        if stacks.iter().all(|other| std::mem::discriminant(*other) == std::mem::discriminant(stacks[0])) {
            text
        } else {
            without_keys_of_one_system(&text, stacks)
        }
    }

    /// The stack of the first variant, without the keys that have another value in another variant and are no axis:
    /// written out, such a default would hold for all variants.
    fn common(&self, stacks: &[&StackTable]) -> StackTable {
        let tables: Vec<toml::Table> = stacks.iter().map(|stack| as_table(stack)).collect();
        let mut common = in_all(&tables, |key| self.axes.iter().any(|(axis, _)| axis == key));
        // Of a table that is not the same in all, as `[stack.littlefs]` with an axis of its keys, the keys that are.
        for (name, value) in &tables[0] {
            let of_stack = |table: &toml::Table| table.get(name)?.as_table().cloned();
            let inner: Option<Vec<toml::Table>> = tables.iter().map(of_stack).collect();
            if let (true, false, Some(inner)) = (value.is_table(), common.contains_key(name), inner) {
                let is_varied = |key: &str| self.axes.iter().any(|(axis, _)| *axis == format!("{name}.{key}"));
                common.insert(name.clone(), in_all(&inner, is_varied).into());
            }
        }
        if let Some(toml::Value::Array(first)) = tables[0].get(MOUNTS) {
            let common_mount = |number: usize| {
                let of_stack = |table: &toml::Table| table.get(MOUNTS)?.as_array()?.get(number)?.as_table().cloned();
                let mounts: Vec<toml::Table> = tables.iter().filter_map(of_stack).collect();
                let at = mounts[0].get("at").and_then(toml::Value::as_str).unwrap_or_default();
                let is_varied = |key: &str| self.axes.iter().any(|(axis, _)| *axis == format!("{at}.{key}"));
                toml::Value::Table(in_all(&mounts, is_varied))
            };
            common.insert(MOUNTS.to_string(), (0..first.len()).map(common_mount).collect::<Vec<_>>().into());
        }
        // A key that only some of the compared file systems know is missing in the stacks of the others. It is kept if
        // all stacks of its own file systems agree in it.
        for (key, owners) in owned_keys() {
            let owns = |table: &&toml::Table| {
                table.get("fs").and_then(toml::Value::as_str).is_some_and(|fs| owners.contains(&fs))
            };
            let values: Vec<Option<&toml::Value>> = tables.iter().filter(owns).map(|table| table.get(key)).collect();
            match values.first() {
                Some(Some(first)) if values.iter().all(|value| *value == Some(first)) => {
                    common.insert(key.to_string(), (*first).clone());
                }
                _ => {}
            }
        }
        StackTable::read(stacks[0].keys().system(), common).expect("keys that were written can be read")
    }
}

/// The keys of the first table that have the same value in all, or that are varied.
fn in_all(tables: &[toml::Table], is_varied: impl Fn(&str) -> bool) -> toml::Table {
    let mut common = tables[0].clone();
    common.retain(|key, value| is_varied(key) || tables.iter().all(|table| table.get(key) == Some(value)));
    common
}

/// Where systems are compared, a key that only one of them has is left to its default: written out, the others would
/// refuse it.
fn without_keys_of_one_system(text: &str, stacks: &[&StackTable]) -> String {
    let mut file: toml::Table = toml::from_str(text).expect("what was just written can be read");
    let tables: Vec<toml::Table> = stacks.iter().map(|stack| as_table(stack)).collect();
    if let Some(toml::Value::Table(stack)) = file.get_mut("stack") {
        stack.retain(|key, _| tables.iter().all(|table| table.contains_key(key)));
    }
    toml::to_string(&file).expect("an experiment that was read can be written")
}

fn as_table(keys: &StackTable) -> toml::Table {
    toml::Table::try_from(keys).expect("keys that were read can be written")
}

fn located_step(base_dir: &Path, step: &Step) -> Step {
    let mut step = step.clone();
    if let Some(file) = step.content_file_mut() {
        *file = located(base_dir, file);
    }
    match &mut step {
        Step::Replay(replay) => replay.file = located(base_dir, &replay.file),
        Step::Postmark(postmark) if postmark.commands.is_none() => {
            postmark.file = located(base_dir, &postmark.file);
        }
        Step::Fio(fio) => fio.file = located(base_dir, &fio.file),
        Step::Sqlite(sqlite) => {
            sqlite.script = sqlite.script.as_ref().map(|script| located(base_dir, script));
        }
        Step::Load(load) => load.image = located(base_dir, &load.image),
        Step::CopyIn(copy) => copy.from = located(base_dir, &copy.from),
        Step::Repeat(repeat) => repeat.steps.iter_mut().for_each(|step| *step = located_step(base_dir, step)),
        _ => {}
    }
    step
}

/// The path of a profile, or its name unchanged if it is built in.
fn located_profile(base_dir: &Path, name: &str) -> String {
    if is_path(name) {
        located(base_dir, name)
    } else {
        name.to_string()
    }
}

/// The full path of a file that was read before. If it cannot be determined or is not valid text, the name stays as it
/// is.
fn located(base_dir: &Path, file: &str) -> String {
    let path = base_dir.join(file).canonicalize();
    path.ok().and_then(|path| path.to_str().map(str::to_string)).unwrap_or_else(|| file.to_string())
}
