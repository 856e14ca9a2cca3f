//! Keys of a stack that only some file systems have. A file system names its own for each system
//! ([`super::Mountable::own_keys`], [`super::OnBare::own_keys`], [`super::OnRtems::own_keys`]); for the others such a key is a
//! mistake, unless they are compared with it.

use super::descriptor::Descriptor;
use super::table;
use crate::error::MachineError;
use crate::stack_keys::{StackKeys, OWNED_KEYS};
use ffslab_text::words::join_names;
use std::collections::BTreeSet;

/// Keys that only some file systems have, with the names of those that do.
pub fn owned_keys() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let table = table::all();
    OWNED_KEYS.iter().map(move |(key, _)| {
        let owns = |fs: &&&Descriptor| fs.mountable.is_some_and(|mountable| mountable.own_keys().contains(key));
        (*key, table.iter().filter(owns).map(|fs| fs.name).collect())
    })
}

/// Whether `[stack.NAME]` is a table of a file system that programs call.
pub fn is_own_table(name: &str) -> bool {
    table::all().iter().filter_map(|fs| fs.on_bare).any(|fs| fs.own_keys().contains(&name))
}

/// The keys of a `[stack]` that `fs` does not have and one of `others` has: in an experiment that compares them they are
/// the others' alone. `own_keys`: those of a file system with the system of the stack.
pub fn keys_of_others(own_keys: fn(&str) -> Vec<&'static str>, fs: &str, others: &[&str]) -> BTreeSet<&'static str> {
    let own = own_keys(fs);
    others.iter().flat_map(|other| own_keys(other)).filter(|key| !own.contains(key)).collect()
}

/// Keys of a Linux stack that the file system of this name has and not all have.
pub(crate) fn own_keys_on_linux(fs: &str) -> Vec<&'static str> {
    table::find(fs).and_then(|fs| fs.mountable).map_or(Vec::new(), |fs| fs.own_keys().to_vec())
}

/// The same of a bare program, which has keys of Linux's file systems, too.
pub(crate) fn own_keys_on_bare(fs: &str) -> Vec<&'static str> {
    let direct = table::find(fs).and_then(|fs| fs.on_bare).map_or(&[][..], |fs| fs.own_keys());
    [own_keys_on_linux(fs), direct.to_vec()].concat()
}

/// The same of RTEMS.
pub(crate) fn own_keys_on_rtems(fs: &str) -> Vec<&'static str> {
    table::find_on_rtems(fs).map_or(Vec::new(), |fs| fs.own_keys().to_vec())
}

/// The steps that `fs` does not have and one of `others` has, likewise.
pub fn steps_of_others<'a>(fs: &'a str, others: &'a [&str]) -> impl Iterator<Item = &'static str> + 'a {
    let steps = |name: &str| table::find(name).and_then(|fs| fs.mountable).map_or(&[] as &[&str], |fs| fs.own_steps());
    others.iter().flat_map(move |other| steps(other)).copied().filter(move |step| !steps(fs).contains(step))
}

/// A key that nothing would look at is a mistake.
///
/// Errors: one that the file system does not have.
pub(crate) fn refuse_what_does_not_apply(keys: &StackKeys) -> Result<(), MachineError> {
    let fs = keys.fs.as_str();
    let mut foreign = owned_keys().zip(OWNED_KEYS).filter(|((_, owners), _)| !owners.contains(&fs));
    match foreign.find(|(_, (_, is_given))| is_given(keys)) {
        Some(((key, owners), _)) => Err(MachineError::Foreign { key, owners: join_names(&owners), fs: fs.to_string() }),
        None => Ok(()),
    }
}
