//! What opening, syncing and closing a file is in system calls (`src/os_unix.c`).

use crate::locks::Holder;
use crate::state::{MadeCall, NoCall, State};
use ffslab_fs::{Errno, Ino, Stat};
use ffslab_system::{Fd, OpenFlags, System};
use libsqlite3_sys as ffi;
use std::ffi::c_int;

/// Journals are made together with their directory entry: the first sync of one syncs the directory, too.
const SYNCED_WITH_DIRECTORY: c_int =
    ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
/// Permissions of new files (SQLITE_DEFAULT_FILE_PERMISSIONS).
const PERMISSIONS: u32 = 0o644;

/// An open file of a system.
pub(crate) struct SystemFile {
    pub path: String,
    pub fd: Fd,
    pub ino: Ino,
    pub is_database: bool,
    /// The directory is synced with the next sync.
    pub syncs_directory: bool,
    pub holder: Holder,
    pub level: c_int,
}

impl State<'_> {
    pub fn fstat(&mut self, path: &str, fd: Fd) -> Result<(Ino, u64), NoCall> {
        let stat = self.call((MadeCall::Stat, path, 0), |system| system.fstat(fd), |_| 0)?;
        Ok((stat.ino, stat.size_bytes))
    }

    /// `None`: there is no such file.
    pub fn stat(&mut self, path: &str) -> Result<Option<Stat>, NoCall> {
        match self.call((MadeCall::Stat, path, 0), |system| system.stat(path.as_bytes()), |_| 0) {
            Err(NoCall::Failed(Errno::NoEnt | Errno::NotDir)) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Looks whether a file is still the one of its name (`verifyDbFile`), which Unix only logs.
    pub fn verify(&mut self, path: &str, fd: Fd) -> Result<(), NoCall> {
        self.fstat(path, fd)?;
        self.stat(path).map(drop)
    }

    pub fn close_fd(&mut self, path: &str, fd: Fd) -> Result<(), NoCall> {
        self.call((MadeCall::Close, path, 0), |system| system.close(fd), |()| 0)
    }

    pub fn fdatasync(&mut self, path: &str, fd: Fd) -> Result<(), NoCall> {
        self.call((MadeCall::Sync, path, 0), |system| system.fdatasync(fd), |()| 0)
    }

    /// Makes the entry of a file safe. Where `refusal_counts` is not set, a system may refuse to sync a directory, as RTEMS.
    pub fn sync_directory(&mut self, path: &str, refusal_counts: bool) -> Result<(), NoCall> {
        let directory = match path.rsplit_once('/') {
            None | Some(("", _)) => "/",
            Some((directory, _)) => directory,
        };
        let open = |system: &mut dyn System| system.open(directory.as_bytes(), OpenFlags::READ, 0);
        let fd = self.call((MadeCall::Open, directory, 0), open, |_| 0)?;
        match self.fdatasync(directory, fd) {
            Err(NoCall::Failed(errno)) if !refusal_counts && errno != Errno::PowerCut => {}
            other => other?,
        }
        self.close_fd(directory, fd)
    }

    pub fn open_file(&mut self, path: &str, wanted: c_int) -> Result<SystemFile, NoCall> {
        let has = |flag| wanted & flag != 0;
        if has(SYNCED_WITH_DIRECTORY) {
            // `findCreateFileMode`: a journal gets the permissions of its data base.
            let database = path.rsplit_once('-').map_or("", |(database, _)| database);
            if self.stat(database)?.is_none() {
                return Err(NoCall::Failed(Errno::NoEnt));
            }
        }
        let flags = OpenFlags {
            write: has(ffi::SQLITE_OPEN_READWRITE),
            create: has(ffi::SQLITE_OPEN_CREATE),
            exclusive: has(ffi::SQLITE_OPEN_EXCLUSIVE),
            no_follow: true,
            ..OpenFlags::READ
        };
        let open = |system: &mut dyn System| system.open(path.as_bytes(), flags, PERMISSIONS);
        let fd = self.call((MadeCall::Open, path, 0), open, |_| 0)?;
        let (ino, _) = self.fstat(path, fd)?;
        let is_database = has(ffi::SQLITE_OPEN_MAIN_DB);
        if is_database {
            self.verify(path, fd)?;
        }
        let syncs_directory = flags.create && has(SYNCED_WITH_DIRECTORY);
        let (holder, level) = (self.locks.new_holder(), ffi::SQLITE_LOCK_NONE);
        Ok(SystemFile { path: path.to_string(), fd, ino, is_database, syncs_directory, holder, level })
    }
}
