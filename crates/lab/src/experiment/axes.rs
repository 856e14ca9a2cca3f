//! The table of axes: which keys of an experiment are varied, and what a variant gets of them.

use super::{read, Source, Value};
use crate::data::Point;
use crate::error::LabError;
use ffslab_machine::file_systems::{is_own_table, keys_of_others, steps_of_others};
use ffslab_machine::systems;
use ffslab_text::toml_text::unknown;
use std::collections::BTreeSet;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

pub(super) struct Axis<'i> {
    pub(super) path: Vec<String>,
    /// Position of the axis's key in the text, for messages and for the order of the axes.
    pub(super) offset: usize,
    pub(super) values: Vec<Value<'i>>,
}

impl Axis<'_> {
    pub(super) fn name(&self) -> String {
        self.path.join(".")
    }
}

pub(super) fn read_axes<'i>(source: &Source, axes: Value<'i>) -> Result<Vec<Axis<'i>>, LabError> {
    let mut found = Vec::new();
    let offset = axes.span().start;
    collect_axes(source, &mut Vec::new(), axes, offset, &mut found)?;
    found.sort_by_key(|axis| axis.offset);
    Ok(found)
}

/// Collects the axes below `value`, whose names begin with `path`. In TOML `requests.count = [..]` is a table in a
/// table; `"requests.count" = [..]` is read the same way.
fn collect_axes<'i>(
    source: &Source,
    path: &mut Vec<String>,
    value: Value<'i>,
    offset: usize,
    found: &mut Vec<Axis<'i>>,
) -> Result<(), LabError> {
    match value.into_inner() {
        DeValue::Table(table) => {
            for (key, value) in table {
                let depth = path.len();
                path.extend(key.get_ref().split('.').map(str::to_string));
                collect_axes(source, path, value, key.span().start, found)?;
                path.truncate(depth);
            }
            Ok(())
        }
        DeValue::Array(values) if !values.is_empty() && !path.is_empty() => {
            found.push(Axis { path: path.clone(), offset, values: values.into_iter().collect() });
            Ok(())
        }
        _ => Err(source.error(offset, format!("axis `{}` must be a list of values, such as [128, 0]", path.join(".")))),
    }
}

pub(super) fn plain_values(source: &Source, axis: &Axis) -> Result<Vec<toml::Value>, LabError> {
    axis.values.iter().map(|value| read(source, value.clone())).collect()
}

/// Removes the keys and tables of the stack and the steps that the file system of this variant does not know, when `fs` is an axis: they
/// are meant for the variants with the other file systems. A key that is an axis itself stays and is refused later,
/// because it would make several variants that are the same, unless it is left out at this `point`.
pub(super) fn leave_to_others(root: &mut DeTable, axes: &[Axis], point: &Point) {
    let Some(compared) = axes.iter().find(|axis| axis.path == ["fs"]) else { return };
    let others: Vec<&str> = compared.values.iter().filter_map(|fs| fs.get_ref().as_str()).collect();
    let Some(DeValue::Table(stack)) = root.get_mut("stack").map(Spanned::get_mut) else { return };
    let fs = text_of(stack, "fs").to_string();
    let system = systems::find(text_of(stack, "system")).unwrap_or_else(systems::by_default);
    for key in keys_of_others(system.own_keys, &fs, &others) {
        // An axis of a table (`fat.spare`) has made the table where it is not left out.
        let is_varied = |axis: &Axis| axis.path.first().is_some_and(|name| name == key) && axis.path.len() <= 2;
        if !axes.iter().zip(point).any(|(axis, position)| is_varied(axis) && position.is_some()) {
            stack.remove(key);
        }
    }
    let foreign: Vec<&str> = steps_of_others(&fs, &others).collect();
    ["state", "setup", "measure"].into_iter().for_each(|list| remove_steps(root, list, &foreign));
    if let Some(DeValue::Array(programs)) = root.get_mut("program").map(Spanned::get_mut) {
        for program in programs.iter_mut() {
            if let DeValue::Table(program) = program.get_mut() {
                remove_steps(program, "steps", &foreign);
            }
        }
    }
}

fn remove_steps(table: &mut DeTable, list: &str, names: &[&str]) {
    if let Some(DeValue::Array(steps)) = table.get_mut(list).map(Spanned::get_mut) {
        let is_one =
            |step: &Value| matches!(step.get_ref(), DeValue::Table(step) if names.contains(&text_of(step, "step")));
        *steps = steps.clone().into_iter().filter(|step| !is_one(step)).collect();
        for step in steps.iter_mut() {
            if let DeValue::Table(step) = step.get_mut() {
                remove_steps(step, "steps", names);
            }
        }
    }
}

/// How a value of an axis is called: of a path the file's name, of a table the keys in which the axis's tables differ.
pub(super) fn label(source: &Source, axis: &Axis, value: &toml::Value) -> Result<String, LabError> {
    if let toml::Value::Table(table) = value {
        let others = plain_values(source, axis)?;
        let differs = |key: &str| others.iter().any(|other| other.get(key) != table.get(key));
        let kept = table.iter().filter(|(key, _)| others.len() < 2 || differs(key));
        return Ok(toml::Value::Table(kept.map(|(key, value)| (key.clone(), value.clone())).collect()).to_string());
    }
    let names: BTreeSet<&str> = axis.values.iter().filter_map(|text| text.get_ref().as_str()).map(file_name).collect();
    Ok(match value {
        toml::Value::String(text) if names.len() == axis.values.len() => file_name(text).to_string(),
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Writes the value of an axis to the place that the axis's name says.
pub(super) fn put<'i>(
    source: &Source,
    root: &mut DeTable<'i>,
    axis: &Axis<'i>,
    value: &Value<'i>,
) -> Result<(), LabError> {
    let path: Vec<&str> = axis.path.iter().map(String::as_str).collect();
    let (program, list, step, key) = match path[..] {
        ["initial"] => {
            set(root, "initial", axis.offset, value);
            return Ok(());
        }
        [key] => {
            // Whether the key is known is checked when the stack is read, and the message then has the line of the
            // axis.
            if let Some(DeValue::Table(stack)) = root.get_mut("stack").map(Spanned::get_mut) {
                set(stack, key, axis.offset, value);
            }
            return Ok(());
        }
        [at, key] if at.starts_with('/') => {
            let wrong = |text: String| source.error(axis.offset, format!("axis `{}`: {text}", axis.name()));
            set(mount_table(root, at).map_err(wrong)?, key, axis.offset, value);
            return Ok(());
        }
        [table, key] if is_table_of_stack(table) => {
            let wrong = |text: String| source.error(axis.offset, format!("axis `{}`: {text}", axis.name()));
            set(stack_table(root, table, axis.offset).map_err(wrong)?, key, axis.offset, value);
            return Ok(());
        }
        [step, key] => (None, "measure", step, key),
        [list @ ("setup" | "state"), step, key] => (None, list, step, key),
        [program, step, key] => (Some(program), "steps", step, key),
        _ => {
            let forms = "a stack key, `initial`, `/MOUNT.key`, `policy.key` (or another table of the stack), `step.key`, `setup.step.key`, `state.step.key` or \
                         `PROGRAM.step.key`";
            return Err(source.error(axis.offset, format!("axis `{}` is none of {forms}", axis.name())));
        }
    };
    let wrong = |text: String| source.error(axis.offset, format!("axis `{}`: {text}", axis.name()));
    let (table, what) = match program {
        None => (root, format!("{list} step")),
        Some(name) => (program_table(root, name).map_err(wrong)?, format!("step of program \"{name}\"")),
    };
    let mut names = Vec::new();
    if put_into_steps(table, list, (step, key), (axis.offset, value), &mut names) == 0 {
        names.sort();
        names.dedup();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(wrong(unknown(&what, step, &names)));
    }
    Ok(())
}

/// Puts a value into the key of all steps of a list that have this name, those in loops too. Returns how many there are; `names`
/// gets those of all steps.
fn put_into_steps<'i>(
    table: &mut DeTable<'i>,
    list: &str,
    (step, key): (&str, &str),
    (offset, value): (usize, &Value<'i>),
    names: &mut Vec<String>,
) -> usize {
    let mut hits = 0;
    if let Some(DeValue::Array(steps)) = table.get_mut(list).map(Spanned::get_mut) {
        for table in steps.iter_mut() {
            let DeValue::Table(table) = table.get_mut() else { continue };
            let name = text_of(table, "step").to_string();
            hits += put_into_steps(table, "steps", (step, key), (offset, value), names);
            if name == step {
                set(table, key, offset, value);
                hits += 1;
            }
            names.push(name);
        }
    }
    hits
}

/// The text of a key; "" if there is none.
fn text_of<'t>(table: &'t DeTable, key: &str) -> &'t str {
    table.get(key).and_then(|text| text.get_ref().as_str()).unwrap_or_default()
}

/// The `[[program]]` table with this name.
///
/// Errors: there is none.
fn program_table<'t, 'i>(root: &'t mut DeTable<'i>, name: &str) -> Result<&'t mut DeTable<'i>, String> {
    table_of(root, "program", "name", name)
}

/// Whether the keys of `[stack.NAME]` can be axes: `policy.victim`, `device.ftl`, `littlefs.lookahead_size_B`.
fn is_table_of_stack(name: &str) -> bool {
    ["policy", "device", "faults", "ageing"].contains(&name) || is_own_table(name)
}

/// Such a table, which is empty if the experiment has none.
///
/// Errors: something else stands there.
fn stack_table<'t, 'i>(root: &'t mut DeTable<'i>, name: &str, offset: usize) -> Result<&'t mut DeTable<'i>, String> {
    let Some(DeValue::Table(stack)) = root.get_mut("stack").map(Spanned::get_mut) else {
        return Err("the experiment has no [stack]".to_string());
    };
    if !stack.contains_key(name) {
        let none = Spanned::new(offset..offset, DeValue::Table(DeTable::new()));
        set(stack, name, offset, &none);
    }
    match stack.get_mut(name).map(Spanned::get_mut) {
        Some(DeValue::Table(table)) => Ok(table),
        _ => Err(format!("{name} in [stack] is no table")),
    }
}

/// The `[[stack.mount]]` table with this directory.
///
/// Errors: there is none.
fn mount_table<'t, 'i>(root: &'t mut DeTable<'i>, at: &str) -> Result<&'t mut DeTable<'i>, String> {
    match root.get_mut("stack").map(Spanned::get_mut) {
        Some(DeValue::Table(stack)) => table_of(stack, "mount", "at", at),
        _ => Err(unknown("mount", at, &[])),
    }
}

/// Of a list of tables the one whose `key` is `name`.
///
/// Errors: there is none.
fn table_of<'t, 'i>(
    parent: &'t mut DeTable<'i>,
    list: &str,
    key: &str,
    name: &str,
) -> Result<&'t mut DeTable<'i>, String> {
    let mut names = Vec::new();
    if let Some(DeValue::Array(tables)) = parent.get_mut(list).map(Spanned::get_mut) {
        for table in tables.iter_mut() {
            let DeValue::Table(table) = table.get_mut() else { continue };
            if text_of(table, key) == name {
                return Ok(table);
            }
            names.push(text_of(table, key).to_string());
        }
    }
    Err(unknown(list, name, &names.iter().map(String::as_str).collect::<Vec<_>>()))
}

fn set<'i>(table: &mut DeTable<'i>, key: &str, offset: usize, value: &Value<'i>) {
    // The key gets the position of the axis in the text, so that messages about it have the line of the axis.
    table.remove(key);
    table.insert(Spanned::new(offset..offset, key.to_string().into()), value.clone());
}
