//! Reasons that a program names while it runs.

use ffslab_fs::causes as fs;
use ffslab_mtd::causes as mtd;
use ffslab_sim::{Kind, Purpose, Reason, FORMATTING, OTHER};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Reasons that layers of the laboratory have, too: a label of this name is that reason.
static KNOWN: [&Reason; 18] = [
    &OTHER,
    &FORMATTING,
    &fs::READ,
    &fs::READ_AHEAD,
    &fs::READ_MODIFY_WRITE,
    &fs::INODE_READ,
    &fs::NAME_LOOKUP,
    &fs::MOUNT_SCAN,
    &fs::DATA,
    &fs::METADATA,
    &fs::PADDING,
    &fs::SYNC,
    &fs::GC_COPY,
    &fs::SUMMARY,
    &mtd::ERASE,
    &mtd::ERASE_CHECK,
    &mtd::RECOVERY,
    &mtd::SCRUB,
];

/// The most labels of a process. They are never forgotten, so a program that makes them up must stop somewhere.
const LABELS_MAX: usize = 1_000;

static LABELS: LazyLock<Mutex<HashMap<String, &'static Reason>>> =
    LazyLock::new(|| Mutex::new(KNOWN.iter().map(|reason| (reason.name.to_string(), *reason)).collect()));

/// The reason of this name. `None`: there are too many, or the name is no line of text.
pub(crate) fn reason(name: &str) -> Option<&'static Reason> {
    let mut labels = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&reason) = labels.get(name) {
        return Some(reason);
    }
    if labels.len() >= LABELS_MAX || name.is_empty() || name.contains(char::is_control) {
        return None;
    }
    let leaked: &'static str = Box::leak(name.to_string().into_boxed_str());
    let reason: &'static Reason = Box::leak(Box::new(Reason {
        name: leaked,
        sentence: "a label of the program",
        kind: Kind::Managing,
        purpose: Purpose::Cost,
    }));
    labels.insert(leaked.to_string(), reason);
    Some(reason)
}
