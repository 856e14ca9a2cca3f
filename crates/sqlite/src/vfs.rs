//! SQLite's interface to the operating system on a simulated one: the system calls of `src/os_unix.c`, in its order.

use crate::files::SystemFile;
use crate::memory::MemoryFile;
use crate::state::{MadeCall, NoCall, State};
use ffslab_fs::{Errno, FileKind};
use ffslab_system::System;
use libsqlite3_sys as ffi;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Once;

/// Unix's default where a page that is written leaves its neighbours alone (SQLITE_POWERSAFE_OVERWRITE).
const SECTOR_BYTES: c_int = 4096;
/// 1970-01-01 as a Julian day, in milliseconds (`unixCurrentTimeInt64`).
const UNIX_EPOCH_MS: i64 = 210_866_760_000_000;
const PATH_BYTES_MAX: c_int = 4096;
type Code = Result<(), c_int>;

/// An open file.
enum Opened {
    OnSystem(SystemFile),
    Memory(MemoryFile),
}

/// What SQLite allocates for an open file.
#[repr(C)]
struct Handle {
    base: ffi::sqlite3_file,
    state: *mut State<'static>,
    /// From a box.
    opened: *mut Opened,
}

/// A table of functions that SQLite knows by its name.
pub(crate) struct Vfs {
    table: Box<ffi::sqlite3_vfs>,
    name: CString,
}

impl Vfs {
    /// Makes the interface to `state` known, which must outlive it.
    pub fn register(state: *mut State<'_>) -> Vfs {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("ffslab-{number}")).expect("it has no zero byte");
        let mut table = Box::new(ffi::sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<Handle>() as c_int,
            mxPathname: PATH_BYTES_MAX,
            pNext: std::ptr::null_mut(),
            zName: name.as_ptr(),
            pAppData: state.cast::<c_void>(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: Some(get_last_error),
            xCurrentTimeInt64: Some(current_time_ms),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        });
        // SAFETY: the table stays where it is until it is unregistered, and its functions are those that SQLite expects.
        unsafe { ffi::sqlite3_vfs_register(&mut *table, 0) };
        Vfs { table, name }
    }

    pub fn name(&self) -> &CStr {
        &self.name
    }
}

impl Drop for Vfs {
    fn drop(&mut self) {
        // SAFETY: it is registered, and no connection uses it any more.
        unsafe { ffi::sqlite3_vfs_unregister(&mut *self.table) };
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// Starts SQLite's generator anew.
pub(crate) fn seed_random_numbers(seed: c_int) {
    static CONFIGURED: Once = Once::new();
    CONFIGURED.call_once(|| {
        // A name could choose the interface to the real system otherwise ("file:a.db?vfs=unix").
        // SAFETY: nothing of SQLite was called before; the arguments are those of this option.
        let code = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_URI, 0 as c_int) };
        assert_eq!(code, ffi::SQLITE_OK, "SQLite begins with its random numbers");
    });
    // SAFETY: the arguments are those of this operation; no data base is meant.
    unsafe { ffi::sqlite3_test_control(ffi::SQLITE_TESTCTRL_PRNG_SEED, seed, std::ptr::null_mut::<ffi::sqlite3>()) };
}

// ---- errors ------------------------------------------------------------------------------------------------------

/// The code of a failed system call. `code`: what it is unless the partition is full.
fn as_sqlite_sees_it(code: c_int) -> impl Fn(NoCall) -> c_int {
    move |error| match error {
        NoCall::Failed(Errno::NoSpc) => ffi::SQLITE_FULL,
        NoCall::Failed(_) | NoCall::Over => code,
    }
}

fn code_of(result: Code) -> c_int {
    result.err().unwrap_or(ffi::SQLITE_OK)
}

// ---- what SQLite calls -------------------------------------------------------------------------------------------

/// What stands behind a table. Nobody else has it: a connection makes one call at a time.
unsafe fn state_of<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a mut State<'static> {
    // SAFETY: `Vfs::register` has put it there, and it outlives the table.
    unsafe { &mut *(*vfs).pAppData.cast::<State<'static>>() }
}

unsafe fn handle_of<'a>(file: *mut ffi::sqlite3_file) -> (&'a mut State<'static>, &'a mut Opened) {
    // SAFETY: `open` has filled the handle, and SQLite passes files between `open` and `close` alone.
    unsafe {
        let handle = &mut *file.cast::<Handle>();
        (&mut *handle.state, &mut *handle.opened)
    }
}

unsafe fn text_of<'a>(name: *const c_char) -> &'a str {
    // SAFETY: SQLite's names end in a zero. Ours are made of UTF-8.
    unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default()
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    wanted: c_int,
    opened_as: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives a name or none, room for a handle, and a place for the flags or none.
    unsafe {
        let state = state_of(vfs);
        let handle = file.cast::<Handle>();
        (*handle).base.pMethods = std::ptr::null();
        if !opened_as.is_null() {
            *opened_as = wanted;
        }
        let opened = if name.is_null() {
            Ok(Opened::Memory(MemoryFile::default()))
        } else {
            state.open_file(text_of(name), wanted).map(Opened::OnSystem)
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(_) => return ffi::SQLITE_CANTOPEN,
        };
        (*handle).state = state;
        (*handle).opened = Box::into_raw(Box::new(opened));
        (*handle).base.pMethods = &METHODS;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the file is open, and SQLite does not use it any more.
    let (state, opened) = unsafe {
        let handle = &mut *file.cast::<Handle>();
        handle.base.pMethods = std::ptr::null();
        (&mut *handle.state, Box::from_raw(handle.opened))
    };
    let Opened::OnSystem(file) = *opened else { return ffi::SQLITE_OK };
    state.locks.unlock(&file.path, file.holder, ffi::SQLITE_LOCK_NONE);
    let verified = if file.is_database { state.verify(&file.path, file.fd) } else { Ok(()) };
    let closed = verified.and_then(|()| state.close_fd(&file.path, file.fd));
    code_of(closed.map_err(as_sqlite_sees_it(ffi::SQLITE_IOERR_CLOSE)))
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, into: *mut c_void, amount: c_int, at: i64) -> c_int {
    // SAFETY: SQLite gives room for so many bytes.
    let (state, opened, into) = unsafe {
        let (state, opened) = handle_of(file);
        (state, opened, slice::from_raw_parts_mut(into.cast::<u8>(), amount as usize))
    };
    let got = match opened {
        Opened::Memory(memory) => Ok(memory.read(into, at as usize)),
        Opened::OnSystem(SystemFile { path, fd, .. }) => {
            let body = |system: &mut dyn System| system.pread(*fd, into, at as u64);
            state.call((MadeCall::Read, path, at as u64), body, |count| *count as u64)
        }
    };
    match got.map_err(as_sqlite_sees_it(ffi::SQLITE_IOERR_READ)) {
        Ok(count) if count < amount as usize => {
            into[count..].fill(0);
            ffi::SQLITE_IOERR_SHORT_READ
        }
        Ok(_) => ffi::SQLITE_OK,
        Err(code) => code,
    }
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, data: *const c_void, amount: c_int, at: i64) -> c_int {
    // SAFETY: SQLite gives so many bytes.
    let (state, opened, data) = unsafe {
        let (state, opened) = handle_of(file);
        (state, opened, slice::from_raw_parts(data.cast::<u8>(), amount as usize))
    };
    let file = match opened {
        Opened::Memory(memory) => {
            memory.write(data, at as usize);
            return ffi::SQLITE_OK;
        }
        Opened::OnSystem(file) => file,
    };
    let mut done = 0;
    while done < data.len() {
        let offset = at as u64 + done as u64;
        let body = |system: &mut dyn System| system.pwrite(file.fd, &data[done..], offset);
        match state.call((MadeCall::Write, &file.path, offset), body, |count| *count as u64) {
            Ok(0) => return ffi::SQLITE_FULL,
            Ok(count) => done += count,
            Err(error) => return as_sqlite_sees_it(ffi::SQLITE_IOERR_WRITE)(error),
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, bytes: i64) -> c_int {
    // SAFETY: the file is open.
    let (state, opened) = unsafe { handle_of(file) };
    match opened {
        Opened::Memory(memory) => {
            memory.truncate(bytes as usize);
            ffi::SQLITE_OK
        }
        Opened::OnSystem(SystemFile { path, fd, .. }) => {
            let body = |system: &mut dyn System| system.ftruncate(*fd, bytes as u64);
            let done = state.call((MadeCall::Truncate, path, bytes as u64), body, |()| 0);
            code_of(done.map_err(as_sqlite_sees_it(ffi::SQLITE_IOERR_TRUNCATE)))
        }
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: the file is open.
    let (state, opened) = unsafe { handle_of(file) };
    let Opened::OnSystem(file) = opened else { return ffi::SQLITE_OK };
    // On Linux `full_fsync` calls fdatasync whatever the flags are.
    if let Err(error) = state.fdatasync(&file.path, file.fd) {
        return as_sqlite_sees_it(ffi::SQLITE_IOERR_FSYNC)(error);
    }
    if file.syncs_directory {
        file.syncs_directory = false;
        // `unixSync` does not look at the result: some systems, as RTEMS, refuse to sync a directory.
        let synced = state.sync_directory(&file.path, false);
        return code_of(synced.map_err(as_sqlite_sees_it(ffi::SQLITE_IOERR_DIR_FSYNC)));
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, bytes: *mut i64) -> c_int {
    // SAFETY: the file is open, and SQLite gives a place for the size.
    let (state, opened) = unsafe { handle_of(file) };
    let size = match opened {
        Opened::Memory(memory) => Ok(memory.bytes() as u64),
        Opened::OnSystem(file) => state.fstat(&file.path, file.fd).map(|(_, size_bytes)| size_bytes),
    };
    let size = size.map_err(as_sqlite_sees_it(ffi::SQLITE_IOERR_FSTAT));
    // SAFETY: as above.
    code_of(size.map(|size| unsafe { *bytes = size as i64 }))
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: the file is open.
    let (state, opened) = unsafe { handle_of(file) };
    let Opened::OnSystem(file) = opened else { return ffi::SQLITE_OK };
    let (held, is_wanted) = state.locks.lock(&file.path, file.holder, file.level, level);
    file.level = held;
    if is_wanted {
        ffi::SQLITE_OK
    } else {
        ffi::SQLITE_BUSY
    }
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: the file is open.
    let (state, opened) = unsafe { handle_of(file) };
    if let Opened::OnSystem(file) = opened {
        state.locks.unlock(&file.path, file.holder, level);
        file.level = file.level.min(level);
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, is_reserved: *mut c_int) -> c_int {
    // SAFETY: the file is open, and SQLite gives a place for the answer.
    unsafe {
        let (state, opened) = handle_of(file);
        *is_reserved = match opened {
            Opened::Memory(_) => 0,
            Opened::OnSystem(file) => c_int::from(state.locks.is_reserved(&file.path)),
        };
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(file: *mut ffi::sqlite3_file, op: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the file is open.
    let (state, opened) = unsafe { handle_of(file) };
    let (Opened::OnSystem(file), ffi::SQLITE_FCNTL_HAS_MOVED) = (opened, op) else {
        // All others are hints and questions that make Unix call nothing.
        return ffi::SQLITE_NOTFOUND;
    };
    // Asked before each transaction that writes (`fileHasMoved`).
    match state.stat(&file.path).map_err(as_sqlite_sees_it(ffi::SQLITE_IOERR_FSTAT)) {
        Ok(stat) => {
            let has_moved = stat.is_none_or(|stat| stat.ino != file.ino);
            // SAFETY: of this operation the argument is the place of a number.
            unsafe { *argument.cast::<c_int>() = c_int::from(has_moved) };
            ffi::SQLITE_OK
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn sector_size(_file: *mut ffi::sqlite3_file) -> c_int {
    SECTOR_BYTES
}

unsafe extern "C" fn device_characteristics(_file: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, syncs_directory: c_int) -> c_int {
    // SAFETY: SQLite gives a name.
    let (state, path) = unsafe { (state_of(vfs), text_of(name)) };
    let unlink = |system: &mut dyn System| system.unlink(path.as_bytes());
    let deleted = match state.call((MadeCall::Unlink, path, 0), unlink, |()| 0) {
        Err(NoCall::Failed(Errno::NoEnt)) => return ffi::SQLITE_IOERR_DELETE_NOENT,
        other => other.map_err(as_sqlite_sees_it(ffi::SQLITE_IOERR_DELETE)),
    };
    let synced = |()| match syncs_directory {
        0 => Ok(()),
        _ => state.sync_directory(path, true).map_err(as_sqlite_sees_it(ffi::SQLITE_IOERR_DIR_FSYNC)),
    };
    code_of(deleted.and_then(synced))
}

unsafe extern "C" fn access(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, what: c_int, is: *mut c_int) -> c_int {
    // SAFETY: SQLite gives a name.
    let (state, path) = unsafe { (state_of(vfs), text_of(name)) };
    let found = match state.stat(path).map_err(as_sqlite_sees_it(ffi::SQLITE_IOERR_ACCESS)) {
        Ok(found) => found,
        Err(code) => return code,
    };
    // An empty file counts as none (`unixAccess`).
    let counts = |stat: &ffslab_fs::Stat| {
        what != ffi::SQLITE_ACCESS_EXISTS || stat.kind != FileKind::File || stat.size_bytes > 0
    };
    // SAFETY: SQLite gives a place for the answer.
    unsafe { *is = c_int::from(found.as_ref().is_some_and(counts)) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    into: *mut c_char,
) -> c_int {
    // SAFETY: SQLite gives a name, and room for so many bytes.
    unsafe {
        let path = format!("/{}", text_of(name).trim_start_matches('/'));
        if path.len() + 1 > room as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(path.as_ptr().cast::<c_char>(), into, path.len());
        *into.add(path.len()) = 0;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn randomness(vfs: *mut ffi::sqlite3_vfs, count: c_int, into: *mut c_char) -> c_int {
    // SAFETY: SQLite gives room for so many bytes.
    unsafe { state_of(vfs).randomness(slice::from_raw_parts_mut(into.cast::<u8>(), count as usize)) };
    count
}

unsafe extern "C" fn sleep(vfs: *mut ffi::sqlite3_vfs, us: c_int) -> c_int {
    // SAFETY: it is a table of ours. Nothing can be said of a sleep that was not.
    let _over = unsafe { state_of(vfs) }.sleep_ns(us.max(0) as u64 * 1_000);
    us
}

unsafe extern "C" fn current_time_ms(vfs: *mut ffi::sqlite3_vfs, into: *mut i64) -> c_int {
    // SAFETY: SQLite gives a place for the time.
    unsafe { *into = UNIX_EPOCH_MS + state_of(vfs).time_of_day_ms() as i64 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_time(vfs: *mut ffi::sqlite3_vfs, into: *mut f64) -> c_int {
    // SAFETY: SQLite gives a place for the time.
    unsafe { *into = (UNIX_EPOCH_MS + state_of(vfs).time_of_day_ms() as i64) as f64 / 86_400_000.0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn get_last_error(_vfs: *mut ffi::sqlite3_vfs, _room: c_int, _into: *mut c_char) -> c_int {
    0
}
