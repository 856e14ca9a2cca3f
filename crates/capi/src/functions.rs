//! The functions of `ffslab.h`, in its order.
//!
//! # Safety
//! Of all of them: a chip is NULL or comes from [`ffslab_open`] and was not closed; texts are NULL or end with NUL; buffers have the
//! sizes that are given with them.

use crate::guard::{close, done, last_error, number, opened, told, with, Done, Handle};
use crate::types::{op, torn, Counters, Geometry, ERROR_NAMES, OK};
use ffslab_chip::{Corrected, MediumImage};
use std::ffi::{c_char, c_void, CStr};
use std::path::Path;
use std::slice;

/// Of the header.
const ABI_VERSION: u32 = 1;

/// A text of the caller.
unsafe fn text<'a>(text: *const c_char) -> Done<&'a str> {
    if text.is_null() {
        return Err("a text is NULL".into());
    }
    // SAFETY: see above.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| "a text is no UTF-8".into())
}

/// Bytes of the caller. NULL is no bytes.
unsafe fn bytes<'a>(data: *const c_void, bytes: usize) -> Done<&'a [u8]> {
    match (data.is_null(), bytes) {
        (_, 0) => Ok(&[]),
        (true, _) => Err("a buffer is NULL".into()),
        // SAFETY: see above.
        (false, _) => Ok(unsafe { slice::from_raw_parts(data.cast(), bytes) }),
    }
}

unsafe fn bytes_mut<'a, T>(into: *mut T, count: usize) -> Done<&'a mut [T]> {
    match (into.is_null(), count) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err("a buffer is NULL".into()),
        // SAFETY: see above.
        (false, _) => Ok(unsafe { slice::from_raw_parts_mut(into, count) }),
    }
}

/// Puts a value where the caller wants it.
unsafe fn put<T>(into: *mut T, value: T) -> Done {
    if into.is_null() {
        return Err("a buffer is NULL".into());
    }
    // SAFETY: see above.
    unsafe { into.write(value) };
    Ok(())
}

fn corrected(done: Corrected) -> i32 {
    match done {
        Corrected::Clean => OK,
        Corrected::BitFlips(bits) => bits as i32,
    }
}

#[no_mangle]
pub extern "C" fn ffslab_abi_version() -> u32 {
    ABI_VERSION
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_open(stack_toml: *const c_char) -> *mut Handle {
    opened(|| Ok(ffslab_chip::Chip::open(unsafe { text(stack_toml) }?)?))
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_close(chip: *mut Handle) {
    unsafe { close(chip) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_last_error(chip: *const Handle) -> *const c_char {
    unsafe { last_error(chip) }
}

#[no_mangle]
pub extern "C" fn ffslab_error_name(error: i32) -> *const c_char {
    let name = ERROR_NAMES.get(error.unsigned_abs() as usize).filter(|_| error <= 0);
    name.copied().unwrap_or(c"unknown").as_ptr()
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_geometry(chip: *mut Handle, into: *mut Geometry) -> i32 {
    unsafe { done(chip, |chip| put(into, chip.capabilities().into())) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_read(chip: *mut Handle, at: u64, into: *mut c_void, bytes: usize) -> i32 {
    unsafe { with(chip, |chip| Ok(corrected(chip.read(at, bytes_mut(into.cast(), bytes)?)?))) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_program(chip: *mut Handle, at: u64, data: *const c_void, size: usize) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.program(at, bytes(data, size)?)?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_erase(chip: *mut Handle, at: u64) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.erase(at)?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_read_oob(
    chip: *mut Handle,
    at: u64,
    into: *mut c_void,
    size: usize,
    oob: *mut c_void,
    oob_bytes: usize,
) -> i32 {
    unsafe {
        with(chip, |chip| {
            let (into, oob) = (bytes_mut(into.cast(), size)?, bytes_mut(oob.cast(), oob_bytes)?);
            Ok(corrected(chip.read_with_oob(at, into, oob)?))
        })
    }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_program_oob(
    chip: *mut Handle,
    at: u64,
    data: *const c_void,
    size: usize,
    oob: *const c_void,
    oob_bytes: usize,
) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.program_with_oob(at, bytes(data, size)?, bytes(oob, oob_bytes)?)?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_is_bad(chip: *mut Handle, at: u64) -> i32 {
    unsafe { with(chip, |chip| Ok(chip.is_bad(at).into())) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_mark_bad(chip: *mut Handle, at: u64) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.mark_bad(at)?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_sync(chip: *mut Handle) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.sync()?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_now_ns(chip: *mut Handle) -> u64 {
    unsafe { number(chip, |chip| chip.now_ns()) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_think_ns(chip: *mut Handle, duration_ns: u64) -> i32 {
    unsafe { told(chip, |chip| chip.compute_ns(duration_ns)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_sleep_ns(chip: *mut Handle, duration_ns: u64) -> i32 {
    unsafe { told(chip, |chip| chip.sleep_ns(duration_ns)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_cut_power_after(chip: *mut Handle, operations: u64, how: u32, seed: u64) -> i32 {
    unsafe {
        done(chip, |chip| {
            chip.cut_power_after(operations, torn(how, seed).ok_or("no value of enum ffslab_torn")?);
            Ok(())
        })
    }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_is_powered(chip: *mut Handle) -> i32 {
    unsafe { with(chip, |chip| Ok(chip.is_powered().into())) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_restart(chip: *mut Handle) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.restart()?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_operations(chip: *mut Handle) -> u64 {
    unsafe { number(chip, |chip| chip.modifying_operations()) }
}

/// `ffslab_snapshot`.
pub struct Snapshot(MediumImage);

#[no_mangle]
pub unsafe extern "C" fn ffslab_snapshot_take(chip: *mut Handle) -> *mut Snapshot {
    let mut taken = std::ptr::null_mut();
    unsafe { told(chip, |chip| taken = Box::into_raw(Box::new(Snapshot(chip.snapshot())))) };
    taken
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_snapshot_restore(chip: *mut Handle, snapshot: *const Snapshot) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.restore(&snapshot.as_ref().ok_or("the snapshot is NULL")?.0)?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_snapshot_free(snapshot: *mut Snapshot) {
    if !snapshot.is_null() {
        drop(unsafe { Box::from_raw(snapshot) });
    }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_save_image(chip: *mut Handle, file: *const c_char, oob: i32) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.save_image(Path::new(text(file)?), oob != 0)?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_counters(chip: *mut Handle, into: *mut Counters) -> i32 {
    unsafe { done(chip, |chip| put(into, chip.counts().into())) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_counters_of(chip: *mut Handle, label: *const c_char, into: *mut Counters) -> i32 {
    unsafe { done(chip, |chip| put(into, chip.counts_of(text(label)?).into())) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_erase_counts(chip: *mut Handle, into: *mut u32, blocks: usize) -> i32 {
    unsafe {
        done(chip, |chip| {
            let into = bytes_mut(into, blocks)?;
            into.fill(0);
            into.iter_mut().zip(chip.erase_counts()).for_each(|(into, erases)| *into = erases);
            Ok(())
        })
    }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_because(chip: *mut Handle, reason: *const c_char) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.label(text(reason)?)?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_because_end(chip: *mut Handle) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.end_label()?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_callers(chip: *mut Handle, rules: *const c_char) -> i32 {
    unsafe {
        done(chip, |chip| {
            let rules = if rules.is_null() { "" } else { text(rules)? };
            Ok(chip.explain_by_callers(rules)?)
        })
    }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_step(chip: *mut Handle, title: *const c_char) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.begin_step(text(title)?)?)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_call(chip: *mut Handle, what: u32, name: *const c_char, offset: u64) -> i32 {
    unsafe {
        done(chip, |chip| Ok(chip.begin_call(op(what).ok_or("no value of enum ffslab_op")?, text(name)?, offset)?))
    }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_call_end(chip: *mut Handle, moved_bytes: u64) -> i32 {
    unsafe { told(chip, |chip| chip.end_call(moved_bytes)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_title(chip: *mut Handle, title: *const c_char) -> i32 {
    unsafe { with(chip, |chip| text(title).map(|title| chip.set_title(title)).map(|()| OK)) }
}

#[no_mangle]
pub unsafe extern "C" fn ffslab_results(chip: *mut Handle, folder: *const c_char) -> i32 {
    unsafe { done(chip, |chip| Ok(chip.save_results(Path::new(text(folder)?))?)) }
}
