//! A connection to a data base, and what is executed on it.

use crate::locks::Locks;
use crate::state::{Each, State};
use crate::vfs::Vfs;
use crate::{Done, Ended, SqlError, Wanted};
use ffslab_system::System;
use libsqlite3_sys as ffi;
use std::ffi::{c_int, c_void, CStr, CString};
use std::panic::resume_unwind;
use std::ptr::{null, null_mut};

/// Characters of a statement in a message.
const SHOWN_CHARS: usize = 60;
/// Instructions of SQLite's machine, some milliseconds, between two looks at whether to go on.
const COMPUTES_FOR: c_int = 1 << 18;
/// WAL without shared memory.
const LOCK_EXCLUSIVELY: &str = "PRAGMA locking_mode = exclusive";

/// Dropping it closes the data base.
pub(crate) struct Connection<'a> {
    db: *mut ffi::sqlite3,
    /// `None`: closed.
    vfs: Option<Vfs>,
    /// From a box: SQLite reaches it, too, while it computes.
    state: *mut State<'a>,
    locked_exclusively: bool,
}

/// A place in a script.
#[derive(Clone, Copy)]
struct At {
    statement_number: u64,
    line: usize,
}

impl At {
    fn ended(self, code: &'static str, says: String, sql: &str) -> Ended {
        Ended { statement_number: self.statement_number, line: self.line, code, says, sql: shown(sql) }
    }
}

/// Where nothing of a script is executed.
const BEFORE: At = At { statement_number: 0, line: 1 };

impl<'a> Connection<'a> {
    /// Errors: the file cannot be opened.
    pub fn open(
        system: &'a mut dyn System,
        locks: &Locks,
        wanted: &Wanted,
        each: &'a mut Each<'a>,
    ) -> Result<Connection<'a>, SqlError> {
        let state = Box::into_raw(Box::new(State::new(system, each, locks.clone(), wanted.seed)));
        // SAFETY: the state is new, and this connection alone has it.
        unsafe { (*state).enter() };
        let vfs = Vfs::register(state);
        // From the root of the file system, so that no name has a meaning of its own, as ":memory:" has.
        let file = CString::new(format!("/{}", wanted.file)).unwrap_or_default();
        let mut connection = Connection { db: null_mut(), vfs: Some(vfs), state, locked_exclusively: false };
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE;
        let name = connection.vfs.as_ref().map_or(null(), |vfs| vfs.name().as_ptr());
        // SAFETY: names end in a zero; the interface is registered until the connection is closed.
        let code = unsafe { ffi::sqlite3_open_v2(file.as_ptr(), &mut connection.db, flags, name) };
        connection.check(code, BEFORE, wanted.file)?;
        // This build asks for foreign keys by default, SQLite and its shell do not.
        // SAFETY: the arguments are those of this option.
        unsafe {
            ffi::sqlite3_db_config(connection.db, ffi::SQLITE_DBCONFIG_ENABLE_FKEY, 0 as c_int, null_mut::<c_int>())
        };
        // SAFETY: the state lives as long as the connection.
        unsafe { ffi::sqlite3_progress_handler(connection.db, COMPUTES_FOR, Some(ends_computing), state.cast()) };
        Ok(connection)
    }

    /// Errors: a statement fails; whoever looks at each call wants no more.
    pub fn execute_all(&mut self, wanted: &Wanted, done: &mut Done) -> Result<(), SqlError> {
        for pragma in wanted.pragmas {
            self.execute(&format!("PRAGMA {pragma}"), 0, &mut Done::default(), BEFORE)?;
        }
        for repetition in 0..wanted.repetitions_count {
            let start = At { statement_number: done.statements + 1, line: 1 };
            self.execute(wanted.sql, repetition, done, start)?;
        }
        Ok(())
    }

    /// Executes all statements of a text.
    fn execute(&mut self, sql: &str, repetition: u64, done: &mut Done, start: At) -> Result<(), SqlError> {
        let mut rest = sql;
        let mut at = start;
        if let Some(place) = sql.find('\0') {
            at.line += newlines(&sql[..place]);
            return Err(at.ended("SQLITE_ERROR", "a zero byte: SQL is text".to_string(), "").into());
        }
        loop {
            let begins = rest.trim_start();
            at.line += newlines(&rest[..rest.len() - begins.len()]);
            if sets_wal(begins) && !self.locked_exclusively {
                self.locked_exclusively = true;
                self.execute(LOCK_EXCLUSIVELY, 0, &mut Done::default(), BEFORE)?;
            }
            let (statement, tail) = self.prepare(begins, at)?;
            let text = &begins[..begins.len() - tail.len()];
            if let Some(statement) = statement {
                statement.bind_repetition(repetition);
                done.rows += self.step_through(&statement, at, text)?;
                done.statements += 1;
                at.statement_number += u64::from(at.statement_number > 0);
            }
            if tail.is_empty() {
                return Ok(());
            }
            at.line += newlines(text);
            rest = tail;
        }
    }

    /// The first statement of a text, unless it is a comment, and what follows.
    fn prepare<'s>(&mut self, sql: &'s str, at: At) -> Result<(Option<Statement>, &'s str), SqlError> {
        let (mut statement, mut tail) = (null_mut(), null());
        let bytes = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
        let text = sql.as_ptr().cast();
        // SAFETY: the length is that of the text, and the tail points into it.
        let code = unsafe { ffi::sqlite3_prepare_v2(self.db, text, bytes, &mut statement, &mut tail) };
        self.check(code, at, sql)?;
        // SAFETY: as above.
        let used = unsafe { tail.offset_from(text) } as usize;
        let statement = (!statement.is_null()).then_some(Statement(statement));
        Ok((statement, sql.get(used..).unwrap_or_default()))
    }

    /// Executes a statement; the number of rows that it returns.
    fn step_through(&mut self, statement: &Statement, at: At, sql: &str) -> Result<u64, SqlError> {
        let mut rows = 0;
        let was_within = self.is_within_transaction();
        loop {
            // SAFETY: the statement is prepared and not finalized.
            match unsafe { ffi::sqlite3_step(statement.0) } {
                ffi::SQLITE_ROW => rows += 1,
                ffi::SQLITE_DONE => {
                    self.tells_commit(statement, was_within);
                    return Ok(rows);
                }
                code => self.check(code, at, sql)?,
            }
            self.check(ffi::SQLITE_OK, at, sql)?;
        }
    }

    fn is_within_transaction(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_get_autocommit(self.db) == 0 }
    }

    /// A statement that ends a transaction has told its program that the data are safe.
    fn tells_commit(&mut self, statement: &Statement, was_within: bool) {
        // SAFETY: the statement is not finalized.
        let writes = unsafe { ffi::sqlite3_stmt_readonly(statement.0) == 0 };
        if (writes || was_within) && !self.is_within_transaction() {
            self.state().tells_commit();
        }
    }

    /// Errors: what the code says; what came between.
    fn check(&mut self, code: c_int, at: At, sql: &str) -> Result<(), SqlError> {
        let state = self.state();
        if state.interrupted || state.panic.is_some() {
            return Err(SqlError::Interrupted);
        }
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        let last_error = state.last_error;
        // SAFETY: the message is SQLite's own and ends in a zero. Without a connection it says that memory is short.
        let mut says = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.db)) }.to_string_lossy().into_owned();
        let primary = code & 0xFF;
        if let Some(errno) = last_error.filter(|_| matches!(primary, ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN)) {
            says = format!("{says} ({errno})");
        } else if primary == ffi::SQLITE_CANTOPEN {
            says += " (a data base in WAL mode needs pragmas = [\"locking_mode = exclusive\"])";
        }
        Err(at.ended(code_name(primary), says, sql).into())
    }

    fn state(&mut self) -> &mut State<'a> {
        // SAFETY: SQLite does not compute now, so nobody else reaches it.
        unsafe { &mut *self.state }
    }

    /// Closes the data base. A panic of the system goes on from here.
    pub fn close(mut self) {
        if let Some(panic) = self.ends() {
            resume_unwind(panic);
        }
    }

    fn ends(&mut self) -> Option<Box<dyn std::any::Any + Send>> {
        let vfs = self.vfs.take()?;
        // SAFETY: all statements are finalized; then nobody uses the interface, and then nobody the state.
        unsafe {
            ffi::sqlite3_close(self.db);
            drop(vfs);
            let mut state = Box::from_raw(self.state);
            state.leave();
            state.panic.take()
        }
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        if let Some(panic) = self.ends().filter(|_| !std::thread::panicking()) {
            resume_unwind(panic);
        }
    }
}

/// What SQLite asks while it computes: not 0 ends the statement.
unsafe extern "C" fn ends_computing(state: *mut c_void) -> c_int {
    // SAFETY: it is the state that the connection was opened with, and SQLite has no call of ours open.
    let state = unsafe { &mut *state.cast::<State>() };
    c_int::from(!state.computes_on())
}

/// A prepared statement; dropping it finalizes it.
struct Statement(*mut ffi::sqlite3_stmt);

impl Statement {
    fn bind_repetition(&self, repetition: u64) {
        // SAFETY: the statement is prepared; the name ends in a zero.
        unsafe {
            let index = ffi::sqlite3_bind_parameter_index(self.0, c":i".as_ptr());
            if index > 0 {
                ffi::sqlite3_bind_int64(self.0, index, repetition as i64);
            }
        }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: it is finalized once.
        unsafe { ffi::sqlite3_finalize(self.0) };
    }
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Whether a statement puts a data base into WAL mode.
fn sets_wal(sql: &str) -> bool {
    let statement = sql.split(';').next().unwrap_or_default().to_lowercase();
    let Some(pragma) = statement.strip_prefix("pragma") else { return false };
    let Some((name, value)) = pragma.split_once(['=', '(']) else { return false };
    let name = name.rsplit('.').next().unwrap_or_default().trim();
    name == "journal_mode" && value.trim_start_matches([' ', '\'', '"']).starts_with("wal")
}

/// A statement on one line, shortened.
fn shown(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{} ...", line[..end].trim_end()),
        None => line,
    }
}

fn code_name(primary: c_int) -> &'static str {
    match primary {
        ffi::SQLITE_ERROR => "SQLITE_ERROR",
        ffi::SQLITE_BUSY => "SQLITE_BUSY",
        ffi::SQLITE_LOCKED => "SQLITE_LOCKED",
        ffi::SQLITE_NOMEM => "SQLITE_NOMEM",
        ffi::SQLITE_READONLY => "SQLITE_READONLY",
        ffi::SQLITE_IOERR => "SQLITE_IOERR",
        ffi::SQLITE_CORRUPT => "SQLITE_CORRUPT",
        ffi::SQLITE_FULL => "SQLITE_FULL",
        ffi::SQLITE_CANTOPEN => "SQLITE_CANTOPEN",
        ffi::SQLITE_TOOBIG => "SQLITE_TOOBIG",
        ffi::SQLITE_CONSTRAINT => "SQLITE_CONSTRAINT",
        ffi::SQLITE_MISMATCH => "SQLITE_MISMATCH",
        ffi::SQLITE_NOTADB => "SQLITE_NOTADB",
        _ => "SQLITE_ERROR",
    }
}
