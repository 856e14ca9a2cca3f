//! fio's job files: which calls a job makes.
//!
//! Role: reads a job file ([`parse`]) and yields, for each [`Process`] of its jobs, one call after the other
//! ([`Action`]). Who runs them gives each process its turn and tells it the time; nothing here touches a file system.
//!
//! Follows fio 3.33, so closely that the requests of a job are the same ones, offsets and sizes included: its random
//! numbers, its seeds, its order of decisions. `tests/workloads/test_fio.py` compares both for a list of job files.
//!
//! Leaves out what docs/fio.md lists as refused: among others asynchronous and direct I/O, rates, verification, trim.

mod error;
mod file;
pub mod iolog;
pub mod job;
mod job_file;
pub mod options;
mod process;
pub mod random;
mod random_map;
mod values;

pub use error::{JobError, JobFileError, LineError, NotHonoured, ValueError};
pub use iolog::Replayer;
pub use job::{parse, Job, JobFile};
pub use options::ZIPF_THETA;
pub use process::{Action, Layout, Process};
