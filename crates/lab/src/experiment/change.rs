//! What a program, or an option of the command, puts in place of what an experiment file says.

use crate::data::Change;
use crate::error::LabError;
use std::borrow::Cow;
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// Puts what is new into the table `root` of a file: keys of the stack and axes one by one, everything else whole. A key of
/// the stack that gets a value is no axis any more. A key of the stack with a point in its name is one of a table in it.
///
/// What the file does not have stands from `place` on, behind all that it has. There axes keep the order in which they were given.
///
/// Errors: the change holds what TOML cannot.
pub(super) fn apply<'i>(root: &mut DeTable<'i>, change: &'i Change, mut place: usize) -> Result<(), LabError> {
    let new = change.new.read_table(&mut place)?;
    if let (Some(axes), Some(DeValue::Table(keys))) = (table_of(root, "axes"), new.get("stack").map(Spanned::get_ref)) {
        keys.keys().for_each(|key| remove_axis(axes, key.get_ref()));
    }
    if let Some(stack) = table_of(root, "stack") {
        change.removed().into_iter().for_each(|key| drop(stack.remove(key)));
    }
    for (name, value) in new {
        let place = name.span();
        let (name, value) = (name.into_inner(), value.into_inner());
        let DeValue::Table(keys) = value else {
            put(root, name, value, place);
            continue;
        };
        if !root.contains_key(&*name) {
            put(root, name.clone(), DeValue::Table(DeTable::new()), place);
        }
        let Some(table) = root.get_mut(&*name) else { continue };
        // An error in a key of the stack is told with the place of the stack.
        let in_stack = (name == "stack").then(|| table.span());
        let DeValue::Table(table) = table.get_mut() else { continue };
        for (key, value) in keys {
            let place = in_stack.clone().unwrap_or_else(|| key.span());
            let key = key.into_inner();
            match key.split_once('.').filter(|_| in_stack.is_some()) {
                // A key of a table in the stack, such as `policy.victim`: what else the table says stays.
                Some((name, inner)) => {
                    if !matches!(table.get(name).map(Spanned::get_ref), Some(DeValue::Table(_))) {
                        put(table, name.to_string().into(), DeValue::Table(DeTable::new()), place.clone());
                    }
                    let Some(inside) = table_of(table, name) else { continue };
                    put(inside, inner.to_string().into(), value.into_inner(), place);
                }
                None => put(table, key, value.into_inner(), place),
            }
        }
    }
    Ok(())
}

/// Takes the axis of a key away, which is written as one name or, of a key of a table, as a table in a table.
fn remove_axis(axes: &mut DeTable, key: &str) {
    axes.remove(key);
    if let Some((name, inner)) = key.split_once('.') {
        if let Some(table) = table_of(axes, name) {
            table.remove(inner);
            if table.is_empty() {
                axes.remove(name);
            }
        }
    }
}

/// A table that the file has.
fn table_of<'t, 'i>(root: &'t mut DeTable<'i>, name: &str) -> Option<&'t mut DeTable<'i>> {
    match root.get_mut(name).map(Spanned::get_mut) {
        Some(DeValue::Table(table)) => Some(table),
        _ => None,
    }
}

fn put<'i>(table: &mut DeTable<'i>, key: Cow<'i, str>, value: DeValue<'i>, place: Range<usize>) {
    // Inserted over a key that is there, the value would get the place of the old one.
    table.remove(&*key);
    table.insert(Spanned::new(place.clone(), key), Spanned::new(place, value));
}
