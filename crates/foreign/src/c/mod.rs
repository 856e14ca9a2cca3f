//! C code in libraries behind safe types. All unsafe code of the crate stands here.
//!
//! What makes it sound: what C holds lives as long as the type that made it, which owns its device and frees both; a call of C calls back
//! only the functions below, with the device or list that it was given and buffers of the length that is told; nobody else uses
//! the type meanwhile, because each call takes it exclusively.

mod info;
pub(crate) mod keys;
pub(crate) mod paths;
pub(crate) mod sectors;

pub use info::Info;

use crate::device::Device;
use crate::libraries::LoadError;
use ffslab_fs::causes;
use ffslab_sim::{Kind, Purpose, Reason};
use std::ffi::{c_char, c_void, CStr, CString};
use std::path::Path;

/// Numbers by what a library calls them, which says their unit.
pub type Settings = Vec<(&'static str, i64)>;

/// `struct ffslab_device` of `device.h`.
#[repr(C)]
struct RawDevice {
    context: *mut c_void,
    size_bytes: u64,
    erase_block_bytes: u32,
    program_bytes: u32,
    read: unsafe extern "C" fn(*mut c_void, u32, u64, *mut u8, u32) -> i32,
    program: unsafe extern "C" fn(*mut c_void, u32, u64, *const u8, u32) -> i32,
    erase: unsafe extern "C" fn(*mut c_void, u32, u64, u32) -> i32,
    sync: unsafe extern "C" fn(*mut c_void, u32) -> i32,
    is_bad: unsafe extern "C" fn(*mut c_void, u64) -> i32,
    mark_bad: unsafe extern "C" fn(*mut c_void, u64) -> i32,
}

#[repr(C)]
struct RawSetting {
    name: *const c_char,
    value: i64,
}

#[repr(C)]
struct RawCause {
    name: *const c_char,
    sentence: *const c_char,
    kind: u32,
    purpose: u32,
}

/// The functions of a library, by their names in C.
macro_rules! functions {
    ($(fn $name:ident($($kind:ty),*) $(-> $answer:ty)?;)*) => {
        /// The functions of a library.
        struct Functions {
            $($name: unsafe extern "C" fn($($kind),*) $(-> $answer)?,)*
        }

        impl Functions {
            /// Errors: the library lacks one.
            ///
            /// # Safety
            /// Its functions of these names are those of the header.
            unsafe fn of(library: &libloading::Library) -> Result<Functions, libloading::Error> {
                Ok(Functions { $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)* })
            }
        }
    };
}
use functions;

/// Opens a library, which stays loaded.
///
/// # Safety
/// Its code is what a user wants to run: it runs when the library is opened.
unsafe fn opened<F>(
    file: &Path,
    functions: impl FnOnce(&libloading::Library) -> Result<F, libloading::Error>,
) -> Result<F, LoadError> {
    let library = libloading::Library::new(file).map_err(|error| LoadError::unloadable(file, error))?;
    let functions = functions(&library).map_err(|error| LoadError::unloadable(file, error))?;
    std::mem::forget(library);
    Ok(functions)
}

/// What each interface tells of a library.
struct Told {
    abi: unsafe extern "C" fn() -> u32,
    causes: unsafe extern "C" fn(*mut u32) -> *const RawCause,
}

/// The functions of a library of the interface `abi`, which stays loaded, and its causes.
///
/// Errors: it cannot be loaded, lacks a function, or was built for another ffslab.
///
/// # Safety
/// As [`opened`]; a library that is of the interface gives a table of as many causes as it says, whose texts are texts of C.
unsafe fn loaded<F>(
    file: &Path,
    abi: u32,
    functions: impl FnOnce(&libloading::Library) -> Result<F, libloading::Error>,
    told: impl FnOnce(&F) -> Told,
) -> Result<(F, Vec<&'static Reason>), LoadError> {
    let f = opened(file, functions)?;
    let told = told(&f);
    if (told.abi)() != abi {
        return Err(LoadError::other_abi(file));
    }
    let mut count = 0;
    let table = (told.causes)(&raw mut count);
    let causes = std::slice::from_raw_parts(table, count as usize).iter().map(|raw| reason(raw)).collect();
    Ok((f, causes))
}

/// Reasons that each machine has: a cause of a library with the name of one is that one, since no name may stand for two.
static KNOWN: [&Reason; 14] = [
    &causes::OTHER,
    &causes::FORMATTING,
    &causes::READ,
    &causes::READ_AHEAD,
    &causes::READ_MODIFY_WRITE,
    &causes::INODE_READ,
    &causes::NAME_LOOKUP,
    &causes::MOUNT_SCAN,
    &causes::DATA,
    &causes::METADATA,
    &causes::PADDING,
    &causes::SYNC,
    &causes::GC_COPY,
    &causes::SUMMARY,
];

/// A cause of a library as a reason: a known one where its name is that of one.
///
/// # Safety
/// Its texts are texts of C.
unsafe fn reason(raw: &RawCause) -> &'static Reason {
    let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
    let name = text(raw.name);
    if let Some(known) = KNOWN.iter().find(|known| known.name == name) {
        return known;
    }
    // In the order of the enumerations of device.h.
    let kinds =
        [Kind::Reading, Kind::Mounting, Kind::Writing, Kind::Collecting, Kind::Erasing, Kind::Checking, Kind::Managing];
    let purposes = [Purpose::Read, Purpose::Write, Purpose::ForReads, Purpose::Cost, Purpose::Formatting];
    Box::leak(Box::new(Reason {
        name: name.leak(),
        sentence: text(raw.sentence).leak(),
        kind: kinds.get(raw.kind as usize).copied().unwrap_or(Kind::Managing),
        purpose: purposes.get(raw.purpose as usize).copied().unwrap_or(Purpose::Cost),
    }))
}

unsafe extern "C" fn read(context: *mut c_void, cause: u32, at: u64, into: *mut u8, bytes: u32) -> i32 {
    // The buffer may never have been written: its bytes are set before anybody can look at them.
    std::ptr::write_bytes(into, 0, bytes as usize);
    (*context.cast::<Device>()).read(cause, at, std::slice::from_raw_parts_mut(into, bytes as usize))
}

unsafe extern "C" fn program(context: *mut c_void, cause: u32, at: u64, data: *const u8, bytes: u32) -> i32 {
    (*context.cast::<Device>()).program(cause, at, std::slice::from_raw_parts(data, bytes as usize))
}

unsafe extern "C" fn erase(context: *mut c_void, cause: u32, at: u64, bytes: u32) -> i32 {
    (*context.cast::<Device>()).erase(cause, at, bytes)
}

unsafe extern "C" fn sync(context: *mut c_void, cause: u32) -> i32 {
    (*context.cast::<Device>()).sync(cause)
}

unsafe extern "C" fn is_bad(context: *mut c_void, at: u64) -> i32 {
    i32::from((*context.cast::<Device>()).below().is_bad(at))
}

unsafe extern "C" fn mark_bad(context: *mut c_void, at: u64) -> i32 {
    (*context.cast::<Device>()).mark_bad(at)
}

/// Makes what a library calls its own, on a device that stays where it is. `make` is told the device and the settings.
///
/// # Safety
/// `make` gives C what it is told for as long as the device lives.
unsafe fn made<T>(
    settings: &[(&'static str, i64)],
    device: Device,
    make: impl FnOnce(*const RawDevice, *const RawSetting, u32) -> *mut T,
) -> Option<(std::ptr::NonNull<T>, std::ptr::NonNull<Device>)> {
    let names: Vec<CString> = settings.iter().filter_map(|(name, _)| CString::new(*name).ok()).collect();
    let values = settings.iter().map(|(_, value)| *value);
    let raw: Vec<RawSetting> =
        names.iter().zip(values).map(|(name, value)| RawSetting { name: name.as_ptr(), value }).collect();
    let device = std::ptr::NonNull::from(Box::leak(Box::new(device)));
    let below = device.as_ref().below();
    let raw_device = RawDevice {
        context: device.as_ptr().cast(),
        size_bytes: below.size_bytes(),
        erase_block_bytes: below.erase_block_bytes(),
        program_bytes: below.program_bytes(),
        read,
        program,
        erase,
        sync,
        is_bad,
        mark_bad,
    };
    match std::ptr::NonNull::new(make(&raw const raw_device, raw.as_ptr(), raw.len() as u32)) {
        Some(made) => Some((made, device)),
        None => {
            drop(Box::from_raw(device.as_ptr()));
            None
        }
    }
}

/// Of a request: the interface knows no longer ones.
fn length(bytes: usize) -> u32 {
    bytes.min(i32::MAX as usize) as u32
}
