//! The keys of the table `[driver]` that belong together: which say the time of an operation, which the bus, and which are the CPU's.

use crate::built_in::Kind;
use crate::entries::Entry;
use crate::error::ProfileError;
use std::collections::BTreeMap;

pub(crate) const OPERATIONS: [&str; 3] = ["read", "program", "erase"];

pub(crate) fn total_key(operation: &str) -> String {
    format!("driver.{operation}_us")
}

pub(crate) fn overhead_key(operation: &str) -> String {
    format!("driver.{operation}_overhead_us")
}

/// Refuses a file that says both of an operation: a total and an overhead.
pub(crate) fn refuse_two_times(given: &BTreeMap<String, Entry>, file: &str) -> Result<(), ProfileError> {
    for operation in OPERATIONS {
        let (total, overhead) = (total_key(operation), overhead_key(operation));
        if given.contains_key(&total) && given.contains_key(&overhead) {
            return Err(ProfileError::TwoTimes { file: file.to_string(), total, overhead });
        }
    }
    Ok(())
}

/// Operations of which a board with a table `[driver]` says no time.
pub(crate) fn missing_times(given: &BTreeMap<String, Entry>) -> Vec<String> {
    if !given.keys().any(|key| key.starts_with("driver.")) {
        return Vec::new();
    }
    let is_missing =
        |operation: &&str| !given.contains_key(&total_key(operation)) && !given.contains_key(&overhead_key(operation));
    let says = |operation: &str| {
        let (total, overhead) = (total_key(operation), overhead_key(operation));
        format!("{total} (us: with chip and bus) or {overhead} (us: the driver alone)")
    };
    OPERATIONS.into_iter().filter(is_missing).map(says).collect()
}

/// Whether a key of the base is about what the file gives itself: the other way to say the time of an operation, an energy, which belongs
/// to the time that it was measured with, or what the base's controller makes of the bus, which is in times of one's own.
pub(crate) fn is_superseded(path: &str, given: &BTreeMap<String, Entry>) -> bool {
    let gives =
        |operation: &&str| given.contains_key(&total_key(operation)) || given.contains_key(&overhead_key(operation));
    if is_of_bus(path) {
        return gives_times(given);
    }
    OPERATIONS
        .iter()
        .filter(|operation| gives(operation))
        .any(|operation| path.strip_prefix("driver.").is_some_and(|name| name.starts_with(&format!("{operation}_"))))
}

pub(crate) const BUS: &str = "driver.bus_ns_per_B";
const COPY: &str = "driver.copy_ns_per_B";
const LOAD: &str = "driver.load_ns_per_B";

/// Whether a file gives the time of an operation itself.
pub(crate) fn gives_times(given: &BTreeMap<String, Entry>) -> bool {
    OPERATIONS.iter().any(|name| given.contains_key(&total_key(name)) || given.contains_key(&overhead_key(name)))
}

/// Whether a key says what the controller makes of the bus of raw NAND.
pub(crate) fn is_of_bus(path: &str) -> bool {
    [BUS, COPY, LOAD].contains(&path)
}

/// Whether a key of a controller's class is time of the CPU. What a board inherits is divided further (`driver::keep_overheads`).
pub(crate) fn is_cpu_time(kind: Kind, path: &str) -> bool {
    let is_overhead = || OPERATIONS.iter().any(|operation| path == overhead_key(operation));
    path == COPY || (kind == Kind::Controller && is_overhead())
}
