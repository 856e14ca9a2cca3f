//! What Zephyr's stores of numbers (NVS, ZMS) have in common: sectors in a ring, of which one is written, and names of settings.

use crate::key_values::{Item, KeyState, Store};
use std::collections::BTreeMap;

/// The sector behind a closed one that is not closed; without a closed one the first, or the last if it is the one with entries.
/// `None`: all are closed.
pub fn written(sectors: usize, is_closed: impl Fn(usize) -> bool, last_has_entries: bool) -> Option<usize> {
    let next = |number: usize| (number + 1) % sectors;
    if (0..sectors).all(&is_closed) {
        return None;
    }
    let behind = (0..sectors).find(|&number| is_closed(number) && !is_closed(next(number))).map(next);
    behind.or(if last_has_entries { sectors.checked_sub(1) } else { Some(0) })
}

/// Numbers of sectors, the oldest first: the ring begins behind the one that is written.
pub fn ring(sectors: usize, written: Option<usize>) -> impl Iterator<Item = usize> {
    let first = written.map_or(0, |number| number + 1);
    (0..sectors).map(move |number| (first + number) % sectors)
}

/// Which is the oldest cannot be told.
pub const ALL_CLOSED: &str =
    "all sectors are closed, which Zephyr refuses: which of them is the oldest is not known, the first is taken for it";

/// What stands in the place of a namespace for settings.
pub const SETTINGS: &[u8] = b"settings";

/// Names of settings are words with slashes between.
pub fn is_setting_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(u8::is_ascii_graphic)
}

/// Where a name of a setting stands under two numbers, both keep their numbers.
pub fn tell_settings_apart(store: &mut Store) {
    let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let is_current = |item: &&mut Item| item.state == KeyState::Current && item.namespace.is_some();
    store.items.iter_mut().filter(is_current).for_each(|item| *counts.entry(item.key.clone()).or_default() += 1);
    let twice: Vec<Vec<u8>> = counts.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect();
    for (number, item) in store.items.iter_mut().filter(is_current).enumerate() {
        if twice.contains(&item.key) {
            item.key.extend(format!(" ({number})").bytes());
        }
    }
}

/// Power was cut while the sector behind the written one was emptied: its values may stand twice.
pub fn interrupted(emptied: u32, written: u32, is_collected: bool) -> String {
    format!(
        "sector {emptied} was to be emptied into sector {written}: garbage collection came {}; the next start goes on with it",
        if is_collected { "to its end, the erase did not" } else { "not to its end" }
    )
}
