//! Reads the steps and programs of a file; messages name their places.

use super::program::Program;
use super::{optional, placed, Source, Value};
use crate::error::LabError;
use ffslab_text::toml_text::unknown;
use ffslab_workload::Step;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::Spanned;

pub(super) fn read_steps(source: &Source, root: &DeTable, list: &str) -> Result<Vec<Step>, LabError> {
    let Some(value) = root.get(list) else {
        return Ok(Vec::new());
    };
    steps_in(source, list, list, value)
}

/// The steps of a list, which `place` names in messages.
fn steps_in(source: &Source, place: &str, list: &str, value: &Value) -> Result<Vec<Step>, LabError> {
    let DeValue::Array(tables) = value.get_ref() else {
        return Err(
            source.error(value.span().start, format!("`{list}` must be steps: [[{list}]] tables with a key `step`"))
        );
    };
    tables.iter().enumerate().map(|(i, table)| read_step(source, place, i, table)).collect()
}

fn read_step(source: &Source, list: &str, index: usize, value: &Value) -> Result<Step, LabError> {
    let offset = value.span().start;
    let place = format!("{list} step {}", index + 1);
    let DeValue::Table(table) = value.get_ref() else {
        return Err(source.error(offset, format!("{place} must be a table with a key `step`")));
    };
    let mut keys = table.clone();
    // The steps of a loop are read one by one, so that messages have their lines.
    let inner = match table.get("step").and_then(|name| name.get_ref().as_str()) {
        Some("repeat") => keys.remove("steps"),
        _ => None,
    };
    let name = match keys.remove("step") {
        Some(name) => name,
        None => {
            return Err(source.error(offset, format!("{place} has no key `step`: `ffslab steps` lists what it may be")))
        }
    };
    let Some(text) = name.get_ref().as_str() else {
        return Err(source.error(name.span().start, format!("{place}: the value of `step` must be a text")));
    };
    let keys = ValueDeserializer::from(Spanned::new(value.span(), DeValue::Table(keys)));
    let mut step = match Step::from_keys(text, keys) {
        Some(step) => step.map_err(|error| match placed(source, &error, offset, None) {
            LabError::Input(line) => LabError::Input(name_step(&line, source.file_name, &place, text)),
            other => other,
        })?,
        None => return Err(source.error(name.span().start, format!("{place}: {}", Step::unknown(text)))),
    };
    if let (Step::Repeat(repeat), Some(inner)) = (&mut step, inner) {
        repeat.steps = steps_in(source, &format!("{place} (repeat):"), "steps", &inner)?;
    }
    step.check().map_err(|text| source.error(offset, format!("{place} ({}): {text}", step.title())))?;
    Ok(step)
}

/// Inserts the list and number of a step, such as "setup step 3 (create): ", after the file and line of a message.
fn name_step(line: &str, file_name: &str, place: &str, step: &str) -> String {
    let of_name = file_name.len();
    let split = line.get(of_name..).and_then(|rest| rest.find(": ")).map_or(0, |at| of_name + at + 2);
    format!("{}{place} ({step}): {}", &line[..split], &line[split..])
}

/// Keys of a `[[program]]` table; a test compares them with the schema.
pub(super) const PROGRAM_KEYS: &[&str] = &["name", "background", "steps"];

/// Reads the `[[program]]` tables, beside which `measure` runs.
pub(super) fn read_programs(source: &Source, root: &DeTable, measure: &[Step]) -> Result<Vec<Program>, LabError> {
    let Some(value) = root.get("program") else {
        return Ok(Vec::new());
    };
    let DeValue::Array(tables) = value.get_ref() else {
        return Err(
            source.error(value.span().start, "`program` must be programs: [[program]] tables with a key `name`")
        );
    };
    let mut programs: Vec<Program> = Vec::with_capacity(tables.len());
    for (i, table) in tables.iter().enumerate() {
        let program = read_program(source, i, table)?;
        if programs.iter().any(|other| other.name == program.name) {
            let text = format!("{}: another program has this name: give each its own", program.title());
            return Err(source.error(table.span().start, text));
        }
        programs.push(program);
    }
    if !programs.is_empty() {
        // The steps were read from the tables of this list, in this order.
        let tables = root.get("measure").and_then(|value| value.get_ref().as_array());
        let offset = |i: usize| tables.and_then(|tables| tables.get(i)).map_or(0, |table| table.span().start);
        refuse_lonely(source, "measure", measure, offset)?;
    }
    Ok(programs)
}

fn read_program(source: &Source, index: usize, value: &Value) -> Result<Program, LabError> {
    let at = value.span().start;
    let DeValue::Table(table) = value.get_ref() else {
        return Err(source.error(at, format!("program {} must be a table with a key `name`", index + 1)));
    };
    for key in table.keys() {
        if !PROGRAM_KEYS.contains(&key.get_ref().as_ref()) {
            let text = unknown("key", key.get_ref(), PROGRAM_KEYS);
            return Err(source.error(key.span().start, format!("program {}: {text}", index + 1)));
        }
    }
    let Some(name) = optional::<String>(source, table, "name")? else {
        return Err(source.error(at, format!("program {}: the key `name` is missing", index + 1)));
    };
    let place = format!("program \"{name}\"");
    Program::check_name(&name).map_err(|text| source.error(at, format!("program {}: {text}", index + 1)))?;
    let background = optional(source, table, "background")?.unwrap_or(false);
    let Some(value) = table.get("steps") else {
        return Err(source.error(at, format!("{place} has no steps: write them as [[program.steps]] tables")));
    };
    let steps = steps_in(source, &place, "program.steps", value)?;
    if steps.is_empty() {
        return Err(source.error(at, format!("{place} has no steps: write them as [[program.steps]] tables")));
    }
    let tables = value.get_ref().as_array();
    let offset = |i: usize| tables.and_then(|tables| tables.get(i)).map_or(at, |table| table.span().start);
    refuse_lonely(source, &place, &steps, offset)?;
    Ok(Program { name, background, steps })
}

/// Refuses steps that no program could do while others run. `offset`: where a step stands.
fn refuse_lonely(
    source: &Source,
    place: &str,
    steps: &[Step],
    offset: impl Fn(usize) -> usize,
) -> Result<(), LabError> {
    let Some((i, step)) = steps.iter().enumerate().find(|(_, step)| step.concerns_the_machine()) else {
        return Ok(());
    };
    let text = format!(
        "{place} step {} ({}): it concerns the whole machine, and other programs run on it: put it into [[setup]]",
        i + 1,
        step.name()
    );
    Err(source.error(offset(i), text))
}
