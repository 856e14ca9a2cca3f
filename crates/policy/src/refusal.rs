//! Choices that are none.

use thiserror::Error;

/// Why a choice was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("policy {policy}: it chose candidate {at} of {count}; candidates are numbered from 0")]
    OutOfRange { policy: String, at: usize, count: usize },
    #[error("policy {policy}: it chose block {block}, in which nothing is obsolete: collecting it gives no space, and space is short")]
    NoGain { policy: String, block: u32 },
    #[error("policy {policy}: {why}")]
    Failed { policy: String, why: String },
}
