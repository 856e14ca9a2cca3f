//! A recording of one file or device, replayed on a file of another name: the calls on it and nothing else.

use super::error::{placed, RowError, TraceError};
use super::names::{from_text, to_text};
use super::{Call, Existing, ExistingKind, Record, Trace};
use std::collections::BTreeSet;

/// How many names an error lists.
const NAMES_MAX: usize = 8;

impl Trace {
    /// The calls on one file of the recording, which are made on `file` instead. `only` is its name in the recording, which may
    /// be left out if there is one file alone. Offsets stay as they are; pauses are those between the calls that are left.
    ///
    /// Errors: no file of this name, or several files and no name.
    pub fn onto(self, file: &str, only: Option<&str>) -> Result<Trace, TraceError> {
        let opened: BTreeSet<&[u8]> = self.records.iter().filter_map(opened).collect();
        let chosen = match only {
            Some(name) => opened.get(&from_text(name)[..]).copied(),
            None => opened.first().copied().filter(|_| opened.len() == 1),
        };
        let Some(chosen) = chosen.map(<[u8]>::to_vec) else {
            let listed = opened.iter().take(NAMES_MAX).map(|name| to_text(name));
            let further = (opened.len() > NAMES_MAX).then(|| "...".to_string());
            let names = listed.chain(further).collect::<Vec<_>>().join(" ");
            let why = match only {
                Some(name) => RowError::NoSuchFile { name: name.to_string(), names },
                None => RowError::SeveralFiles { names },
            };
            return Err(placed(&self.path, (0, why)));
        };
        let target = file.trim_start_matches('/').as_bytes().to_vec();
        Ok(self.with_calls_on(&chosen, &target))
    }

    fn with_calls_on(mut self, chosen: &[u8], target: &[u8]) -> Trace {
        let mut is_chosen = vec![false; self.handles as usize];
        let mut latest_end_ns = None;
        let before_n = self.records.len();
        self.records.retain_mut(|record| {
            if let Call::Open { handle, path, .. } = &mut record.call {
                is_chosen[*handle as usize] = path == chosen;
                *path = target.to_vec();
            }
            let stays = match (&record.call, record.call.path_or_handle()) {
                (Call::Open { handle, .. }, _) => is_chosen[*handle as usize],
                (_, Err(handle)) => is_chosen[handle as usize],
                (call, Ok(_)) => *call == Call::Sync,
            };
            if stays {
                record.think_ns = latest_end_ns.map_or(0, |end_ns| record.at_ns.saturating_sub(end_ns));
                let end_ns = record.at_ns.saturating_add(record.duration_ns);
                latest_end_ns = latest_end_ns.max(Some(end_ns));
            }
            stays
        });
        let others_n = (before_n - self.records.len()) as u64;
        if others_n > 0 {
            self.ignored.push((format!("on others than {}", to_text(chosen)), others_n));
        }
        let is_file = |existing: &Existing| matches!(existing.kind, ExistingKind::File { .. });
        self.existing.retain(|existing| existing.path == chosen && is_file(existing));
        self.existing.iter_mut().for_each(|existing| existing.path = target.to_vec());
        self
    }
}

/// The file that a call opens.
fn opened(record: &Record) -> Option<&[u8]> {
    match &record.call {
        Call::Open { path, .. } => Some(path),
        _ => None,
    }
}
