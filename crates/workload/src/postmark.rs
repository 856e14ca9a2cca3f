//! Postmark: many small files that are created, read, appended to and deleted at random, as a mail server does (Katcher:
//! "PostMark: a new file system benchmark", Network Appliance TR3022, 1997).
//!
//! Role: reads a command file of the program `postmark` ([`parse`]) and yields, run by run, its operations ([`Run`]) and its
//! report. Who runs them tells how they ended; nothing here touches a file system.
//!
//! Follows the behaviour of postmark 1.53 (Debian's package): its commands and defaults, its Mersenne Twister with the
//! seeding of 1998, the order in which it draws numbers, and the system calls that the C library makes of its buffered
//! reads and writes. The counts of a command file are the same ones; tests/workloads/test_postmark.py compares them.
//!
//! Leaves out the shell escape and commands typed at a prompt: the end of the file is `quit`.

mod commands;
mod error;
mod mersenne;
mod report;
mod run;
mod stdio;

pub use commands::{parse, CommandFile, ConfiguredRun, Location, Settings};
pub use error::{CommandError, CommandFileError};
pub use mersenne::GENERATOR;
pub use report::{Instants, Totals};
pub use run::{Operation, Run};
