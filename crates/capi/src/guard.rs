//! What stands around each function: one call on a chip at a time, no panic that gets out, errors as codes and text.

use crate::types::{code, EBUSY, EINPUT, EINTERNAL, OK};
use ffslab_chip::{Chip, ChipError, MtdError};
use std::cell::UnsafeCell;
use std::ffi::{c_char, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// `ffslab_chip` of the header.
///
/// The parts of a simulation share each other by `Rc`, which two threads may not use at once. All of them are behind `is_used`, none
/// gets out, and no part is bound to a thread, so they may go from thread to thread together (`crates/mount/src/simulation.rs`
/// has the same argument).
pub struct Handle {
    is_used: AtomicBool,
    inside: UnsafeCell<Inside>,
}

struct Inside {
    /// `None`: it panicked, and what it left may contradict itself.
    chip: Option<Chip>,
    error: CString,
}

/// Of failures without a chip. The texts are kept: there are few, and a caller may still read one.
static ERROR_WITHOUT_CHIP: Mutex<Option<&'static CStr>> = Mutex::new(None);

/// Why a function fails.
pub(crate) enum Failure {
    Flash(MtdError),
    Other(String),
}

impl From<MtdError> for Failure {
    fn from(error: MtdError) -> Failure {
        Failure::Flash(error)
    }
}

impl From<ChipError> for Failure {
    fn from(error: ChipError) -> Failure {
        match error {
            ChipError::Flash(error) => Failure::Flash(error),
            other => Failure::Other(other.to_string()),
        }
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Failure {
        Failure::Other(text.to_string())
    }
}

pub(crate) type Done<T = ()> = Result<T, Failure>;

/// Text for C, which ends at the first NUL.
fn text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

pub(crate) fn fails_without_chip(why: &str) -> i32 {
    let leaked: &'static CStr = Box::leak(text(why).into_boxed_c_str());
    *ERROR_WITHOUT_CHIP.lock().unwrap_or_else(PoisonError::into_inner) = Some(leaked);
    EINPUT
}

/// The chip that `make` opens, or NULL.
pub(crate) fn opened(make: impl FnOnce() -> Done<Chip>) -> *mut Handle {
    let made = catch_unwind(AssertUnwindSafe(make));
    let why = match made {
        Ok(Ok(chip)) => {
            let inside = Inside { chip: Some(chip), error: CString::default() };
            return Box::into_raw(Box::new(Handle {
                is_used: AtomicBool::new(false),
                inside: UnsafeCell::new(inside),
            }));
        }
        Ok(Err(Failure::Other(why))) => why,
        Ok(Err(Failure::Flash(error))) => error.to_string(),
        Err(_) => "a mistake in libffslab".to_string(),
    };
    fails_without_chip(&why);
    ptr::null_mut()
}

/// Calls `body` on the chip. A negative code if that fails.
///
/// # Safety
/// `handle` is NULL or comes from [`opened`] and has not been closed.
#[inline]
pub(crate) unsafe fn with(handle: *const Handle, body: impl FnOnce(&mut Chip) -> Done<i32>) -> i32 {
    if handle.is_null() {
        return fails_without_chip("the chip is NULL");
    }
    // SAFETY: the caller says so; what is shared is an atomic, and the cell is used only by who has set it.
    let handle = unsafe { &*handle };
    if handle.is_used.swap(true, Ordering::Acquire) {
        return EBUSY;
    }
    // SAFETY: `is_used` lets one in at a time.
    let inside = unsafe { &mut *handle.inside.get() };
    let code = inside.call(body);
    handle.is_used.store(false, Ordering::Release);
    code
}

impl Inside {
    #[inline]
    fn call(&mut self, body: impl FnOnce(&mut Chip) -> Done<i32>) -> i32 {
        let Some(chip) = &mut self.chip else { return EINTERNAL };
        match catch_unwind(AssertUnwindSafe(|| body(chip))) {
            Ok(Ok(value)) => value,
            Ok(Err(failure)) => self.fails(failure),
            Err(_) => {
                // What is left of it is not dropped: that could panic again.
                std::mem::forget(self.chip.take());
                self.error = text("a mistake in libffslab: the chip can only be closed");
                EINTERNAL
            }
        }
    }

    #[cold]
    fn fails(&mut self, failure: Failure) -> i32 {
        let (code, why) = match failure {
            Failure::Flash(error) => (code(error), error.to_string()),
            Failure::Other(why) => (EINPUT, why),
        };
        self.error = text(&why);
        code
    }
}

/// [`with`], for what gives nothing back.
///
/// # Safety
/// As [`with`].
#[inline]
pub(crate) unsafe fn done(handle: *const Handle, body: impl FnOnce(&mut Chip) -> Done) -> i32 {
    // SAFETY: the caller's.
    unsafe { with(handle, |chip| body(chip).map(|()| OK)) }
}

/// [`with`], for what cannot fail.
///
/// # Safety
/// As [`with`].
pub(crate) unsafe fn told(handle: *const Handle, body: impl FnOnce(&mut Chip)) -> i32 {
    // SAFETY: the caller's.
    unsafe {
        done(handle, |chip| {
            body(chip);
            Ok(())
        })
    }
}

/// A number that is no code. 0 if the chip cannot say it.
///
/// # Safety
/// As [`with`].
pub(crate) unsafe fn number(handle: *const Handle, body: impl FnOnce(&mut Chip) -> u64) -> u64 {
    let mut number = 0;
    // SAFETY: the caller's.
    unsafe { told(handle, |chip| number = body(chip)) };
    number
}

/// What [`with`] failed with last.
///
/// # Safety
/// As [`with`].
pub(crate) unsafe fn last_error(handle: *const Handle) -> *const c_char {
    if handle.is_null() {
        let text = *ERROR_WITHOUT_CHIP.lock().unwrap_or_else(PoisonError::into_inner);
        return text.unwrap_or_default().as_ptr();
    }
    // SAFETY: the caller's; a text that another thread replaces meanwhile is the caller's mistake, as the header says.
    unsafe { (*(*handle).inside.get()).error.as_ptr() }
}

/// Ends a chip.
///
/// # Safety
/// As [`with`]; nobody uses it meanwhile or later.
pub(crate) unsafe fn close(handle: *mut Handle) {
    if handle.is_null() {
        return;
    }
    // SAFETY: it was made by `Box` in `opened`.
    let handle = unsafe { Box::from_raw(handle) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
}
