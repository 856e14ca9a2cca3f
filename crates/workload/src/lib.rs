//! # workload: what a program does to a file system
//!
//! **Role.** The one vocabulary of experiments and measured cases: [`Step`], the random number generator that draws offsets
//! ([`SplitMix64`]) and the bytes that are written ([`Content`]). What steps name: recorded programs ([`trace`]), fio's job files ([`fio`]), command files of
//! Postmark ([`postmark`]). Nothing here runs: `lab` executes steps on a simulated stack.
//!
//! **Follows.** The step format of the measured cases, whose requests in turn are uFLIP's base patterns
//! (Bouganim et al., CIDR 2009): sequential or random, request size, count, pause between requests. The whole of uFLIP's
//! patterns is in [`uflip`].
//!
//! **Leaves out.** Concurrent programs, but for the processes of fio jobs: one process runs all steps. Content that
//! compresses well.

#[macro_use]
mod word;

pub mod calls;
pub mod content;
pub mod fio;
pub mod host_tree;
pub mod postmark;
pub mod prng;
pub mod steps;
pub mod strace;
pub mod trace;
pub mod uflip;

pub use content::Content;
pub use prng::SplitMix64;
pub use steps::Step;
