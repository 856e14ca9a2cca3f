//! Classes that a board names: its flash controller with its driver (`profiles/controllers`), and the core of its CPU (`profiles/cores`).
//! The file of a class says some of a board's keys, which hold where the board's file does not say them itself.
//!
//! Times of the CPU in the file of a controller are those of the reference board, whose CPU all others are compared with.

use crate::built_in::Kind;
use crate::driver_keys;
use crate::entries::{factor, Entry, Merged};
use crate::error::ProfileError;
use std::collections::BTreeMap;

type Entries = BTreeMap<String, Entry>;

/// Keys that say how the CPU's times follow from the base, and are not inherited.
pub(crate) const OF_TIMES: [&str; 3] = ["cpu_time_scale", "core", "clock_MHz"];

/// Keys of the controller outside `[driver]`. What is wired on the board is not among them.
const OF_CONTROLLER: [&str; 4] =
    ["spi.transfer_overhead_us", "spi.copy_ns_per_B", "spi.transfer_max_B", "spi.polls_in_hardware"];

/// Whether a key belongs to the controller, so that it goes with the base's when a board names another one.
pub(crate) fn is_of_controller(path: &str) -> bool {
    path.starts_with("driver.") || OF_CONTROLLER.contains(&path)
}

/// Whether a constant is time that the CPU computes. Memory is not faster because a CPU is.
pub(crate) fn is_cpu_time(kind: Kind, path: &str) -> bool {
    let is_time = ["_us", "_ns", "_ns_per_B"].iter().any(|unit| path.ends_with(unit));
    let is_of_cpu = match kind {
        Kind::Board | Kind::Controller | Kind::Core => {
            let tables = ["vfs.", "cpu.", "tracers.", "program."];
            tables.iter().any(|table| path.starts_with(table)) || driver_keys::is_cpu_time(kind, path)
        }
        Kind::RtemsBoard => !path.starts_with("memory_"),
        Kind::Part | Kind::Kernel | Kind::BlockDevice => false,
    };
    is_time && is_of_cpu
}

/// Adds what the class of a controller says. `times`: how many times as long as on the reference board the CPU takes.
pub(crate) fn add_controller(own: &mut Merged, name: &str, class: Entries, times: f64) {
    let given = own.entries.clone();
    for (path, mut entry) in class {
        // What it makes of the bus stays true beside times of one's own, which totals leave out of account.
        let is_own =
            given.contains_key(&path) || (!driver_keys::is_of_bus(&path) && driver_keys::is_superseded(&path, &given));
        if is_own {
            continue;
        }
        if times != 1.0 && is_cpu_time(Kind::Controller, &path) {
            let number = entry.number().map(|number| number * times);
            entry.assume(number, |source| format!("{times:.3} times that of {name}: {source}"));
        }
        own.entries.insert(path, entry);
    }
}

/// How many times as long as on the reference board a CPU takes, and what the class of its core says of single times.
pub(crate) struct Core {
    pub times: f64,
    pub entries: Entries,
}

/// What the core and clock say that the file names; `None`: it names none.
///
/// Errors: a clock without a core, a core beside `cpu_time_scale`, and those of `read`, which reads the file of a class.
pub(crate) fn core(
    own: &Merged,
    read: impl FnOnce(Kind, &str, &Entry) -> Result<Entries, ProfileError>,
) -> Result<Option<Core>, ProfileError> {
    let clock = own.entries.get("clock_MHz");
    let Some(at) = own.entries.get("core").cloned() else {
        return match clock {
            Some(clock) => Err(clock.error("clock_MHz: it is the clock of a core: give core, too".to_string())),
            None => Ok(None),
        };
    };
    if let Some(scale) = own.entries.get("cpu_time_scale") {
        return Err(scale.error("cpu_time_scale: it follows from core and clock_MHz: leave it out".to_string()));
    }
    let name = at.value.as_str().unwrap_or_default();
    let mut entries = read(Kind::Core, name, &at)?;
    let mut taken = |key: &str| {
        let entry = entries.remove(key);
        entry.ok_or_else(|| at.error(format!("core: {name} does not say {key}")))
    };
    let (scale, class_clock) = (factor(&taken("cpu_time_scale")?)?, taken("clock_MHz")?);
    let megahertz = |entry: &Entry| {
        let number = entry.number().filter(|number| *number > 0.0 && *number <= 10_000.0);
        number.ok_or_else(|| entry.error("clock_MHz: a number above 0 and up to 10000 is needed".to_string()))
    };
    let class_clock = megahertz(&class_clock)?;
    let slower = class_clock / clock.map(megahertz).transpose()?.unwrap_or(class_clock);
    for (path, entry) in &mut entries {
        if slower != 1.0 && is_cpu_time(Kind::Core, path) {
            let number = entry.number().map(|number| number * slower);
            entry.assume(number, |source| format!("{slower:.3} times that at {class_clock} MHz: {source}"));
        }
    }
    Ok(Some(Core { times: scale * slower, entries }))
}
