//! # crashtest: what a workload leaves when its power is cut anywhere
//!
//! **Role.** A workload runs once, on a machine that keeps every program and erase of its flash and every call that changes files
//! ([`Watched`]). Of that [`Recording`] each power cut is made afterwards: the content of the medium at an operation, whole or torn,
//! on a new machine that mounts it ([`recover()`]), whose files are judged.
//!
//! **Judges.** What fsync(2) and its relatives have promised ([`Ledger`]) is checked always, so that a file system that breaks
//! its word is told from an application that relies on more than its word. An application's own judge is a function of the
//! files and of what the application had said by then.
//!
//! **Follows.** `crates/conformance` (`power_cuts.rs`, `history.rs`) for the contract, which is that of fsync(2); there calls are
//! made from seeds and a machine is run again for each cut. CrashMonkey and ALICE (Pillai et al., "All File Systems Are Not
//! Created Equal", OSDI 2014) ask the same question of applications on block devices.
//!
//! **Leaves out.** Permissions, owners, times, extended attributes and numbers of links: contents and names are judged. Devices
//! without flash below. Chips that age.

mod book;
mod cache;
mod cuts;
mod ledger;
mod log;
mod namespace;
mod recording;
mod recover;
mod tree;
mod witness;

pub use cuts::{Asked, Finding, Found, JudgeFiles, Judged, Moment, Point, Stopped, Taken};
pub use ledger::Ledger;
pub use log::{Effect, NoteOfCall};
pub use recording::{CannotRecord, Recorder, Recording, Watched};
pub use recover::{recover, Recovered};
pub use tree::{FileOrSo, Tree};
