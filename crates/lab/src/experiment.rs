//! Experiments: what people write. A TOML file holds a stack, setup steps, measured steps and axes to vary; each
//! combination of the axes' values is a variant, parsed as if it stood in the file.

use crate::data::{Change, Point, Written};
use crate::error::LabError;
use axes::{label, leave_to_others, plain_values, put, read_axes, Axis};
use ffslab_machine::stack_keys::StackKeys;
use ffslab_machine::systems;
use ffslab_machine::StackTable;
use ffslab_text::toml_text::{line_of, named, toml_error, unknown};
use ffslab_workload::Step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::Spanned;

mod axes;
mod change;
pub mod initial;
mod program;
pub(crate) mod repetition;
mod resolved;
mod steps;

pub use program::{Program, MAIN};
use steps::{read_programs, read_steps};

/// An experiment file: a stack, steps that prepare it, steps that are measured, and axes to vary.
// The JSON Schema is made from this type. Files are read by `Experiment::parse` instead, which remembers the line of each
// key for its messages.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "ffslab experiment", deny_unknown_fields)]
pub struct ExperimentFile {
    /// What the experiment shows; stands over its tables and plots.
    pub title: String,
    /// Seed of the file content. Steps that draw offsets have seeds of their own.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Keep the logs that the probe kit would write on a real system: each flash operation and each call of the
    /// measured steps. They become logs/flashmon.log and logs/vfsmon.log of the results, for `ffslab trace`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub probe_logs: bool,
    /// Keep what happens to each erase block in the measured steps: each flash operation with its cause, and what the
    /// block holds as that changes. It becomes logs/film.parquet of the results, and a film in the report.
    #[serde(default, skip_serializing_if = "is_false")]
    pub film: bool,
    /// The largest number of calls that the experiment may make, in the setup and in all variants together. Without the
    /// key it is 1,000,000,000. An experiment that would make more is refused before it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_max: Option<u64>,
    /// How many requests of each variant, from its first one on, get a row in requests.parquet. Further ones are
    /// counted in histograms, which give percentiles of latencies within 0.1 %. Without the key the limit is 2,000,000
    /// for all variants together, and at least 1,000 for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_kept: Option<u32>,
    /// How often each variant is run. The first run is the one that the file describes; in the others the content of files, the
    /// seeds of steps and faults, and the uptime of the machine are drawn anew. The results then have the median, its interval
    /// and the worst of all runs. States (`state`) are shared.
    #[serde(rename = "repeat", default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// The machine and its file system.
    pub stack: StackTable,
    /// An initial state in one line: "saturated", "filled 60 %", "df 90 %" (as full as df(1) says), "dirty 20 MiB", "aged
    /// 3", "fragmented 5 MiB", or several with commas between them. It stands for a mount, 5 min in which the blocks of a new partition are
    /// erased, the setup steps that make the state, and a sync. These come before all steps of `setup`, and the caches
    /// stay warm. "settled", which holds without the key, makes no state: the blocks of a new partition are erased and marked
    /// before anything is measured. With "fresh" they are not, and that work goes on in the measured steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,
    /// Steps that make the initial state of the partition, in order, from an erased one. A shutdown follows them. The
    /// content of the chip is then kept, and all runs with the same steps and the same stack start from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<Step>,
    /// Steps before the measurement, in order. They start from an erased partition, or from `state`.
    #[serde(default)]
    pub setup: Vec<Step>,
    /// The measured steps, in order.
    pub measure: Vec<Step>,
    /// Programs that run beside the measured steps, on the same CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<Program>,
    /// What is varied. Each key is a stack key, `initial`, `step.key` for the measured steps of that name,
    /// `setup.step.key`, `state.step.key` or `NAME.step.key` for the steps of a program, and its value is a list of values. The experiment runs once for each
    /// combination.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub axes: BTreeMap<String, Vec<toml::Value>>,
    /// What `ffslab advise` is asked of this file: how often a day the measured steps happen, what may vary, limits, what is
    /// wanted. docs/advise.md has its keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub question: BTreeMap<String, toml::Value>,
    /// How `ffslab sweep` varies this file: further axes, how points are chosen, what is best. docs/studies.md has its keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub study: BTreeMap<String, toml::Value>,
    /// How `ffslab crashtest` judges what power cuts in the measured steps leave, and which cuts are made.
    /// docs/power-cuts.md has its keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub crashtest: BTreeMap<String, toml::Value>,
    /// The limits that `ffslab ci` checks for this file. docs/budgets.md has its keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub budgets: BTreeMap<String, toml::Value>,
}

/// Keys at the top of a file; a test compares them with the schema.
const TOP_KEYS: &[&str] = &[
    "title",
    "seed",
    "probe_logs",
    "film",
    "calls_max",
    "requests_kept",
    "repeat",
    "stack",
    "initial",
    "state",
    "setup",
    "measure",
    "program",
    "axes",
    "question",
    "study",
    "crashtest",
    "budgets",
];

/// Tables that other verbs read; a run leaves them alone.
const QUESTIONS: &[&str] = &["question", "study", "crashtest", "budgets"];

fn is_false(value: &bool) -> bool {
    !value
}

fn default_seed() -> u64 {
    1
}

/// An experiment that has been read, with its variants in order: the first axis of the file changes slowest.
#[derive(Clone, Debug)]
pub struct Experiment {
    pub title: String,
    pub variants: Vec<Variant>,
    /// Axis names and values, in the file's order.
    pub axes: Vec<(String, Vec<toml::Value>)>,
    /// See [`ExperimentFile`].
    pub calls_max: Option<u64>,
    pub requests_kept: Option<u32>,
    /// The runs of a variant, one after the other among `variants`. `None`: there is one, and no word of it.
    pub runs: Option<u32>,
}

/// One combination of the axes' values, or one run of it.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Name of the variant, such as "read_ahead_KiB=128, requests.count=8", or "base" without axes. A path is shortened
    /// to the name of its file if that still tells the values of the axis apart.
    pub name: String,
    pub axes: Vec<(String, toml::Value)>,
    pub seed: u64,
    pub probe_logs: bool,
    pub film: bool,
    pub stack: StackTable,
    pub state: Vec<Step>,
    pub initial: Option<String>,
    /// Whether a new partition is made usable before the measurement, see [`crate::run::Plan::settles`].
    pub settles: bool,
    /// All setup steps, with those that `initial` stands for at the front.
    pub setup: Vec<Step>,
    pub measure: Vec<Step>,
    /// What runs beside `measure`.
    pub programs: Vec<Program>,
}

impl Variant {
    /// Whether it is a run after the first one of the same variant.
    pub(crate) fn is_repeated(&self) -> bool {
        self.axes.last().is_some_and(|(name, run)| name == repetition::RUN && run.as_integer() != Some(1))
    }

    /// The steps of the setup and of all programs, of which the measured steps are one.
    pub fn steps(&self) -> impl Iterator<Item = &Step> + Clone {
        let of_programs = self.programs.iter().flat_map(|program| &program.steps);
        self.setup.iter().chain(&self.measure).chain(of_programs)
    }

    /// Number of setup steps that stand in the file, without those that come from `initial`.
    fn own_setup_steps(&self) -> usize {
        let short = self.initial.as_ref().and_then(|text| initial::steps(text).ok()).unwrap_or_default();
        self.setup.len() - short.len()
    }
}

type Value<'i> = Spanned<DeValue<'i>>;

/// The text of a file, if it has one, and the file's name, for messages.
struct Source<'a> {
    text: Option<&'a str>,
    file_name: &'a str,
}

impl Source<'_> {
    /// An error at a place of the text, or in what a program has given, which has no lines: without a text, and behind its end.
    fn error(&self, offset: usize, text: impl std::fmt::Display) -> LabError {
        let written = self.text.filter(|text| offset <= text.len());
        let line = written.map(|text| format!(":{}", line_of(text, offset))).unwrap_or_default();
        LabError::Input(format!("{}{line}: {text}", self.file_name))
    }
}

impl Experiment {
    /// Reads an experiment; `file_name` names it in messages.
    ///
    /// Errors: one line with file, line, what is wrong and what would be right.
    pub fn parse(text: &str, file_name: &str) -> Result<Experiment, LabError> {
        Experiment::read(&text.into(), file_name, None)
    }

    /// Reads a text or data, with what a program puts in place of what they say.
    ///
    /// Errors: as there; data have no lines.
    pub fn read(written: &Written, file_name: &str, change: Option<&Change>) -> Result<Experiment, LabError> {
        let text = match written {
            Written::Text(text) => Some(text.as_str()),
            Written::Data(_) => None,
        };
        let source = Source { text, file_name };
        let (mut root, behind) = written.table(file_name)?;
        if let Some(change) = change {
            change::apply(&mut root, change, behind)?;
        }
        for key in root.keys() {
            if !TOP_KEYS.contains(&key.get_ref().as_ref()) {
                return Err(source.error(key.span().start, unknown("key", key.get_ref(), TOP_KEYS)));
            }
        }
        for key in QUESTIONS {
            if let Some(value) = root.remove(*key).filter(|value| !matches!(value.get_ref(), DeValue::Table(_))) {
                return Err(source.error(value.span().start, format!("`{key}` must be a table, [{key}]")));
            }
        }
        let axes = match root.remove("axes") {
            Some(axes) => read_axes(&source, axes)?,
            None => Vec::new(),
        };
        let title: String = required(&source, &root, "title")?;
        let points = points_of(&source, &axes, change.and_then(|change| change.points.as_deref()))?;
        let combinations = points.len();
        let runs = repetition::read(&source, &root, combinations)?;
        let mut variants = Vec::with_capacity(combinations * runs.unwrap_or(1) as usize);
        for point in &points {
            let variant = read_variant(&source, &root, &axes, point)?;
            match runs {
                None => variants.push(variant),
                Some(runs) => variants.extend((1..=runs).map(|run| repetition::run_of(&variant, run))),
            }
        }
        let axes =
            axes.iter().map(|axis| Ok((axis.name(), plain_values(&source, axis)?))).collect::<Result<_, LabError>>()?;
        let (calls_max, requests_kept) =
            (optional(&source, &root, "calls_max")?, optional(&source, &root, "requests_kept")?);
        Ok(Experiment { title, variants, axes, calls_max, requests_kept, runs })
    }
}

/// The setup steps that the key `initial` stands for, as JSON.
///
/// Errors: what is wrong with the text, and what would be right.
pub fn initial_steps(text: &str) -> Result<String, LabError> {
    let steps = initial::steps(text).map_err(LabError::Input)?;
    Ok(serde_json::to_string(&steps).expect("steps that were made can be written"))
}

/// The `[stack]` table as it stands in the text of an experiment, without defaults.
///
/// Errors: as those of [`Experiment::parse`] for a text that is no TOML; a text without such a table.
pub fn stack_as_written(text: &str, file_name: &str) -> Result<toml::Table, LabError> {
    let root = DeTable::parse(text).map_err(|error| toml_error(text, file_name, &error))?.into_inner();
    required(&Source { text: Some(text), file_name }, &root, "stack")
}

/// An experiment with more variants than this is refused: its axes are taken to be a mistake.
pub(crate) const VARIANTS_MAX: usize = 10_000;

/// The combinations to run: for each axis the position of its value. Without a choice they are all, and the first axis changes
/// slowest.
fn points_of(source: &Source, axes: &[Axis], chosen: Option<&[Point]>) -> Result<Vec<Point>, LabError> {
    let at = axes.first().map_or(0, |axis| axis.offset);
    if let Some(chosen) = chosen {
        let has = |axis: &Axis, position: &Option<usize>| position.is_none_or(|position| position < axis.values.len());
        let fits = |point: &Point| {
            point.len() == axes.len() && point.iter().zip(axes).all(|(position, axis)| has(axis, position))
        };
        return match chosen.iter().find(|point| !fits(point)) {
            None if !chosen.is_empty() && chosen.len() <= VARIANTS_MAX => Ok(chosen.to_vec()),
            None => Err(source.error(at, format!("{} variants are chosen: 1 to {VARIANTS_MAX} can be", chosen.len()))),
            Some(point) => Err(source.error(at, format!("the axes have no values at {point:?}"))),
        };
    }
    let combinations = axes.iter().try_fold(1usize, |made, axis| made.checked_mul(axis.values.len()));
    let Some(combinations) = combinations.filter(|&made| made <= VARIANTS_MAX) else {
        let many = combinations.map_or_else(|| "far too many".to_string(), |made| made.to_string());
        return Err(source.error(at, format!("the axes make {many} variants: {VARIANTS_MAX} is the limit")));
    };
    let point = |number: usize| {
        let mut rest = number;
        let mut point: Point = Vec::with_capacity(axes.len());
        for axis in axes.iter().rev() {
            point.push(Some(rest % axis.values.len()));
            rest /= axis.values.len();
        }
        point.reverse();
        point
    };
    Ok((0..combinations).map(point).collect())
}

/// Deserializes a value of the file; errors keep their line.
fn read<'i, T: Deserialize<'i>>(source: &Source, value: Value<'i>) -> Result<T, LabError> {
    let offset = value.span().start;
    T::deserialize(ValueDeserializer::from(value)).map_err(|error| placed(source, &error, offset, None))
}

/// An error of a value with its line and, of a table that the file calls so, the name of its key.
fn placed(source: &Source, error: &toml::de::Error, offset: usize, table: Option<&str>) -> LabError {
    source.error(error.span().map_or(offset, |span| span.start), named(error, table))
}

/// Reads a key of a table, and names it where that is wrong.
fn read_key<'i, T: Deserialize<'i>>(source: &Source, key: &str, value: &Value<'i>) -> Result<T, LabError> {
    let wrong = |error: toml::de::Error| {
        let at = error.span().map_or(value.span().start, |span| span.start);
        source.error(at, format!("`{key}`: {}", named(&error, None)))
    };
    T::deserialize(ValueDeserializer::from(value.clone())).map_err(wrong)
}

fn required<'i, T: Deserialize<'i>>(source: &Source, root: &DeTable<'i>, key: &str) -> Result<T, LabError> {
    match root.get(key) {
        Some(value) => read_key(source, key, value),
        None => Err(LabError::Input(format!("{}: the key `{key}` is missing", source.file_name))),
    }
}

fn optional<'i, T: Deserialize<'i>>(source: &Source, table: &DeTable<'i>, key: &str) -> Result<Option<T>, LabError> {
    table.get(key).map(|value| read_key(source, key, value)).transpose()
}

/// Reads the `[stack]` table. Its key `system` is a name of the table of systems, of which the first one is the default.
fn read_stack(source: &Source, root: &DeTable) -> Result<StackTable, LabError> {
    let Some(stack) = root.get("stack") else {
        let text = "the table [stack] is missing: it names board, fs and partition_blocks";
        return Err(LabError::Input(format!("{}: {text}", source.file_name)));
    };
    let DeValue::Table(table) = stack.get_ref() else {
        return read(source, stack.clone()).map(|keys: StackKeys| keys.into());
    };
    if let Some(key) = table.keys().find(|key| TOP_KEYS.contains(&key.get_ref().as_ref())) {
        let text =
            format!("`{0}` is no key of [stack]: it stands at the top of the file, above [stack]", key.get_ref());
        return Err(source.error(key.span().start, text));
    }
    let mut keys = table.clone();
    let Some(named) = table.get("system") else {
        return read_keys(source, systems::by_default(), Spanned::new(stack.span(), DeValue::Table(keys)));
    };
    let name = named.get_ref().as_str().unwrap_or_default();
    let Some(system) = systems::find(name) else {
        let known: Vec<&str> = systems::all().iter().map(|system| system.name).collect();
        return Err(source.error(named.span().start, unknown("system", name, &known)));
    };
    if system == systems::by_default() {
        // Its keys are those of a table that names no system.
        keys.remove("system");
    }
    read_keys(source, system, Spanned::new(stack.span(), DeValue::Table(keys)))
}

fn read_keys(source: &Source, system: &systems::Descriptor, keys: Value) -> Result<StackTable, LabError> {
    let offset = keys.span().start;
    StackTable::read(system, ValueDeserializer::from(keys))
        .map_err(|error| placed(source, &error, offset, Some("stack")))
}

fn read_variant<'i>(
    source: &Source,
    root: &DeTable<'i>,
    axes: &[Axis<'i>],
    point: &Point,
) -> Result<Variant, LabError> {
    let mut root = root.clone();
    let mut chosen = Vec::new();
    for (axis, &position) in axes.iter().zip(point).rev() {
        let Some(position) = position else { continue };
        let value = &axis.values[position];
        put(source, &mut root, axis, value)?;
        let value: toml::Value = read(source, value.clone())?;
        chosen.push((format!("{}={}", axis.name(), label(source, axis, &value)?), (axis.name(), value)));
    }
    chosen.reverse();
    leave_to_others(&mut root, axes, point);
    let (labels, chosen): (Vec<String>, Vec<_>) = chosen.into_iter().unzip();
    let seed = optional(source, &root, "seed")?.unwrap_or_else(default_seed);
    let measure = read_steps(source, &root, "measure")?;
    if measure.is_empty() {
        let text = "there is no [[measure]] step: nothing would be measured";
        return Err(LabError::Input(format!("{}: {text}", source.file_name)));
    }
    let programs = read_programs(source, &root, &measure)?;
    let initial: Option<String> = optional(source, &root, "initial")?;
    let mut setup = match (&initial, root.get("initial")) {
        (Some(text), Some(value)) => initial::steps(text).map_err(|error| source.error(value.span().start, error))?,
        _ => Vec::new(),
    };
    setup.extend(read_steps(source, &root, "setup")?);
    Ok(Variant {
        name: if labels.is_empty() { "base".to_string() } else { labels.join(", ") },
        axes: chosen,
        seed,
        probe_logs: optional(source, &root, "probe_logs")?.unwrap_or(false),
        film: optional(source, &root, "film")?.unwrap_or(false),
        stack: read_stack(source, &root)?,
        state: read_steps(source, &root, "state")?,
        settles: initial::settles(initial.as_deref()),
        initial,
        setup,
        measure,
        programs,
    })
}

#[cfg(test)]
mod tests;
