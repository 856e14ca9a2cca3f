//! Setups that several variants have in common are run once: each of the variants begins from a copy of what the setup has left, which the
//! kernel copies only where it is written.
//!
//! A process makes the setup, and forks one process for each variant (`nursery.rs`), which sends back what the variant left (`wire.rs`).
//! What these do not answer, for whatever reason, runs in a thread as every other variant does, and tells its own error there. So the
//! results are the same, whichever way a variant ran.
//!
//! Shared is only what provably is the same: a setup knows nothing of what is measured but the options of its first mount.

#[cfg(target_os = "linux")]
mod forked;
mod groups;
#[cfg(target_os = "linux")]
mod lanes;
#[cfg(target_os = "linux")]
mod nursery;
#[cfg(target_os = "linux")]
mod processes;
mod to_share;
#[cfg(target_os = "linux")]
mod wire;

pub(crate) use groups::run;
pub use to_share::Quiet;
pub(crate) use to_share::ToShare;
