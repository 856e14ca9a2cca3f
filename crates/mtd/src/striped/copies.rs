//! Copy-back over all planes of a die, with another record in the out-of-band area.

use std::ops::Range;

use ffslab_flash::{Address, Change, CopyBack, PLANES_MAX};

use super::{refused, Striped};
use crate::error::MtdError;

impl Striped {
    /// Lets a die copy a page. The controller waits for the bytes that it looks at, and for the program as for any other.
    pub(super) fn copy_page(
        &self,
        from: Address,
        to: Address,
        free: &mut [u8],
        change: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, MtdError> {
        let planes = self.hierarchy.planes_per_die;
        let copies: [CopyBack; PLANES_MAX] = std::array::from_fn(|plane| CopyBack {
            from: self.in_plane(from, plane as u32),
            to: self.in_plane(to, plane as u32),
        });
        let mut places = self.moved_places.borrow_mut();
        places.clear();
        places.extend(self.layout.places_of(free.len()));
        let mut by = |oob: &mut [u8]| {
            self.layout.gather(oob, free);
            let goes_on = change(free);
            if goes_on {
                self.layout.scatter(free, oob);
            }
            goes_on
        };
        let mut array = self.array.borrow_mut();
        array.end_sequence(from.die);
        array.wait_until(array.die_ready_ns(from.die));
        let change = Change { oob_bytes: &places, by: &mut by };
        let copied = array.copy_back_changing(&copies[..planes as usize], change).map_err(refused)?;
        let (planes, moved_bytes) = (u64::from(planes), places.iter().map(Range::len).sum::<usize>() as u64);
        let programmed = u64::from(copied.is_programmed);
        self.counts(|traffic| {
            traffic.reads += planes;
            traffic.read_bytes += moved_bytes;
            traffic.programs += planes * programmed;
            traffic.write_bytes += moved_bytes * programmed;
        });
        let has_failed = copied.done.failed.any();
        let is_waited_for = has_failed || !copied.is_programmed || !self.overlaps.get();
        array.wait_until(if is_waited_for { copied.done.done_ns } else { copied.seen_ns });
        if has_failed {
            Err(MtdError::ProgramFailed)
        } else {
            Ok(copied.is_programmed)
        }
    }
}
