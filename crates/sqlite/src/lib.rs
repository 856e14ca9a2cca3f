//! # sqlite: the real SQLite as a program on a simulated system
//!
//! **Role.** Executes SQL on a data base in the file system of a [`System`]: SQLite, compiled into this crate, makes its system calls
//! there through an interface to the operating system of our own (`vfs.rs`, `files.rs`).
//!
//! **Follows.** `src/os_unix.c` of SQLite: which system calls, in which order. `python/ffslab/sqlite/vfs.py` is the same interface for
//! SQLite in Python; a test compares the calls of both.
//!
//! **Leaves out.** SQLite's own computing, which takes no time. Shared memory: a data base in WAL mode is locked exclusively.
//! Temporary files without a name are in memory, as on a board whose /tmp is a tmpfs. Locks cost no system call.
//!
//! SQLite computes in one thread at a time, since it has one generator of random numbers for the whole process and each run shall
//! draw its own. While a system call is made, others compute: nothing is locked or borrowed then, so a system may
//! switch to another program within a call. No panic goes through SQLite's frames; it goes on behind them.

// SQLite is C: its interface is calls of its functions, and a table of functions that it calls.
#[allow(unsafe_code)]
mod connection;
mod files;
mod locks;
mod memory;
mod state;
#[allow(unsafe_code)]
mod vfs;

pub use locks::Locks;
pub use state::{Each, Made, MadeCall};

use connection::Connection;
use ffslab_system::System;
use thiserror::Error;

/// What is to be executed.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The data base, relative to the mount point; it is made when it is missing.
    pub file: &'a str,
    /// What stands behind PRAGMA, each executed once before the statements.
    pub pragmas: &'a [String],
    /// SQL statements. `:i` in them is the number of the repetition, from 0.
    pub sql: &'a str,
    /// How often all statements are executed, one after the other.
    pub repetitions_count: u64,
    /// Of random numbers: SQLite's own and those of SQL's random().
    pub seed: u64,
}

/// What was executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Statements that came to their end, pragmas not counted.
    pub statements: u64,
    /// Rows that they returned.
    pub rows: u64,
    /// What a full partition ended.
    pub full: Option<Ended>,
}

/// A statement that was not done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {code}: {says}{}{sql}", self.place(), if sql.is_empty() { "" } else { ": " })]
pub struct Ended {
    /// From 1, in the order of execution; 0 for a pragma of [`Wanted::pragmas`] or the connection itself.
    pub statement_number: u64,
    /// Where it begins in the SQL, from 1.
    pub line: usize,
    /// SQLite's code, as "SQLITE_FULL".
    pub code: &'static str,
    /// SQLite's words, and those of the system call that failed.
    pub says: String,
    /// The statement, on one line, shortened.
    pub sql: String,
}

impl Ended {
    fn place(&self) -> String {
        match self.statement_number {
            0 => "before the first statement".to_string(),
            number => format!("statement {number} (line {})", self.line),
        }
    }
}

/// Why not all was executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SqlError {
    #[error(transparent)]
    Ended(#[from] Ended),
    /// Whoever looks at each call wants no more.
    #[error("interrupted")]
    Interrupted,
}

/// Executes SQL on a mounted system. `each` says whether to go on. Connections of other programs to the same files share `locks`.
///
/// A full partition (SQLITE_FULL) ends the run without an error.
///
/// Errors: a statement that fails; `each` wants no more.
pub fn run(system: &mut dyn System, locks: &Locks, wanted: &Wanted, each: &mut Each) -> Result<Done, SqlError> {
    let mut done = Done::default();
    let mut connection = Connection::open(system, locks, wanted, each)?;
    let executed = connection.execute_all(wanted, &mut done);
    connection.close();
    match executed {
        Err(SqlError::Ended(ended)) if ended.code == "SQLITE_FULL" => done.full = Some(ended),
        other => other?,
    }
    Ok(done)
}

/// The version of SQLite.
pub fn version() -> &'static str {
    libsqlite3_sys::SQLITE_VERSION.to_str().unwrap_or_default()
}
