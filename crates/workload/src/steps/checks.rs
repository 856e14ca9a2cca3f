//! Checks that several steps share.

use super::error::{StepError, REQUEST_BYTES_MAX};
use super::words::Pattern;
use ffslab_text::quantity::Bytes;

/// Checks the size of requests.
///
/// Errors: the key of a size that is 0, or too large for memory.
pub(crate) fn request_size(key: &'static str, bytes: Bytes) -> Result<(), StepError> {
    nonzero(key, bytes.0)?;
    if bytes.0 > REQUEST_BYTES_MAX {
        return Err(StepError::LargeRequest { key, bytes: bytes.0 });
    }
    Ok(())
}

/// Checks a number that must not be 0.
///
/// Errors: the key.
pub(super) fn nonzero(key: &'static str, value: u64) -> Result<(), StepError> {
    match value {
        0 => Err(StepError::Zero { key }),
        _ => Ok(()),
    }
}

/// Checks that places are listed for the pattern that takes them, and for no other.
///
/// Errors: `order` is missing, or not used.
pub(super) fn check_order(pattern: Pattern, order: &[u64]) -> Result<(), StepError> {
    match (pattern == Pattern::Listed, order.is_empty()) {
        (true, true) => Err(StepError::NoOrder),
        (false, false) => Err(StepError::OrderUnused),
        _ => Ok(()),
    }
}
