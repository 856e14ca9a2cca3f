//! Why an operation is done, by its address: a firmware that is not changed says nothing of it, but its partitions do.

use crate::{labels, Chip, ChipError};
use ffslab_sim::Reason;
use std::ops::Range;

/// Ranges of bytes of the chip, without out-of-band areas, and what is done there. The first one that fits counts.
#[derive(Default)]
pub(super) struct Causes(Vec<(Range<u64>, &'static Reason)>);

impl Causes {
    /// Errors: a name that is no line of text, or too many of them.
    pub fn new(ranges: &[(Range<u64>, String)]) -> Result<Causes, ChipError> {
        let known = |(range, name): &(Range<u64>, String)| {
            let reason = labels::reason(name).ok_or_else(|| ChipError::Label(name.clone()))?;
            Ok((range.clone(), reason))
        };
        Ok(Causes(ranges.iter().map(known).collect::<Result<_, ChipError>>()?))
    }

    pub fn register(&self, chip: &Chip) {
        self.0.iter().for_each(|&(_, reason)| chip.sim().register(&[reason]));
    }

    /// Why something is done there now: a label of the client comes before what the address says.
    #[inline]
    pub fn of(&self, chip: &Chip, at: u64) -> &'static Reason {
        let said = chip.sim().reason();
        if self.0.is_empty() || !chip.labels.is_empty() {
            return said;
        }
        self.0.iter().find(|(range, _)| range.contains(&at)).map_or(said, |&(_, reason)| reason)
    }
}
