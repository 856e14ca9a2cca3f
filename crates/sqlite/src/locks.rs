//! Who holds which lock of which data base (`src/os_unix.c`, the table before `unixLock`). Connections of all programs of a
//! machine share them; a lock costs no system call.

use libsqlite3_sys as ffi;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::rc::Rc;

/// An open file that can hold locks.
pub(crate) type Holder = u64;

#[derive(Debug, Default)]
struct OfFile {
    shared: BTreeSet<Holder>,
    reserved: Option<Holder>,
    pending: Option<Holder>,
    exclusive: Option<Holder>,
}

/// The locks of a machine.
#[derive(Clone, Debug, Default)]
pub struct Locks(Rc<RefCell<Table>>);

#[derive(Debug, Default)]
struct Table {
    holders_count: Holder,
    files: BTreeMap<String, OfFile>,
}

impl Locks {
    pub(crate) fn new_holder(&self) -> Holder {
        let mut table = self.0.borrow_mut();
        table.holders_count += 1;
        table.holders_count
    }

    /// Takes a lock; the level that is held then, and whether it is the one that was wanted.
    pub(crate) fn lock(&self, path: &str, holder: Holder, held: c_int, wanted: c_int) -> (c_int, bool) {
        if wanted <= held {
            return (held, true);
        }
        let mut table = self.0.borrow_mut();
        let locks = table.files.entry(path.to_string()).or_default();
        let is_others = |lock: Option<Holder>| lock.is_some_and(|other| other != holder);
        let others_write = is_others(locks.exclusive) || is_others(locks.pending);
        match wanted {
            _ if others_write => return (held, false),
            ffi::SQLITE_LOCK_SHARED => {
                locks.shared.insert(holder);
            }
            ffi::SQLITE_LOCK_RESERVED => {
                if is_others(locks.reserved) {
                    return (held, false);
                }
                locks.reserved = Some(holder);
            }
            _ => {
                locks.pending = Some(holder);
                if locks.shared.iter().any(|other| *other != holder) {
                    // PENDING is kept: no new reader comes, and the next attempt may succeed.
                    return (ffi::SQLITE_LOCK_PENDING, false);
                }
                locks.exclusive = Some(holder);
            }
        }
        (wanted, true)
    }

    /// Gives locks above `level` (NONE or SHARED) back.
    pub(crate) fn unlock(&self, path: &str, holder: Holder, level: c_int) {
        let mut table = self.0.borrow_mut();
        let Some(locks) = table.files.get_mut(path) else { return };
        for lock in [&mut locks.exclusive, &mut locks.pending, &mut locks.reserved] {
            lock.take_if(|of| *of == holder);
        }
        if level == ffi::SQLITE_LOCK_NONE {
            locks.shared.remove(&holder);
        }
    }

    pub(crate) fn is_reserved(&self, path: &str) -> bool {
        let table = self.0.borrow();
        table.files.get(path).is_some_and(|locks| locks.reserved.is_some() || locks.exclusive.is_some())
    }
}
