//! A store of keys and values in a library (`python/ffslab/foreign/paths/keys.h`).

use super::{functions, length, loaded, made, RawCause, RawDevice, RawSetting, Told};
use crate::device::Device;
use crate::guard::Guarded;
use crate::libraries::LoadError;
use ffslab_sim::Reason;
use std::ffi::{c_char, c_void, CStr};
use std::path::Path;
use std::ptr::NonNull;

#[repr(C)]
struct RawKeys {
    _private: [u8; 0],
}

type Emit = unsafe extern "C" fn(*mut c_void, *const u8, u32, *const u8, u32);

functions! {
    fn ffslab_keys_abi() -> u32;
    fn ffslab_keys_store() -> *const c_char;
    fn ffslab_keys_causes(*mut u32) -> *const RawCause;
    fn ffslab_keys_numbers() -> u32;
    fn ffslab_keys_key_bytes_max() -> u32;
    fn ffslab_keys_new(*const RawDevice, *const RawSetting, u32) -> *mut RawKeys;
    fn ffslab_keys_free(*mut RawKeys);
    fn ffslab_keys_mount(*mut RawKeys) -> i64;
    fn ffslab_keys_value_bytes_max(*mut RawKeys) -> u32;
    fn ffslab_keys_set(*mut RawKeys, *const u8, u32, *const u8, u32) -> i64;
    fn ffslab_keys_get(*mut RawKeys, *const u8, u32, *mut u8, u32) -> i64;
    fn ffslab_keys_delete(*mut RawKeys, *const u8, u32) -> i64;
    fn ffslab_keys_iterate(*mut RawKeys, Emit, *mut c_void) -> i64;
}

/// The code of a store, as a library has it, and its causes.
pub(crate) struct Code {
    f: Guarded<Functions>,
    pub causes: Vec<&'static Reason>,
    /// The file system whose code it is.
    pub store: String,
    /// Keys are numbers below this one; 0: they are bytes.
    pub numbers: u32,
    /// Of the longest key, where keys are bytes.
    pub key_bytes_max: u32,
}

/// Of this interface (`FFSLAB_KEYS_ABI`).
const ABI: u32 = 2;

/// The code of a library, which stays loaded.
///
/// Errors: it cannot be loaded, lacks a function, or was built for another ffslab.
pub(crate) fn load(file: &Path) -> Result<Code, LoadError> {
    // What makes it sound is that the user has built it with `ffslab foreign build`: it runs as code of the user does.
    unsafe {
        let told = |f: &Functions| Told { abi: f.ffslab_keys_abi, causes: f.ffslab_keys_causes };
        let (f, causes) = loaded(file, ABI, |library| Functions::of(library), told)?;
        let store = CStr::from_ptr((f.ffslab_keys_store)()).to_string_lossy().into_owned();
        let (numbers, key_bytes_max) = ((f.ffslab_keys_numbers)(), (f.ffslab_keys_key_bytes_max)());
        Ok(Code { f: Guarded::of(f, file), causes, store, numbers, key_bytes_max })
    }
}

/// All keys with their values, as C hands them out: a key that comes again has the later value. `None`: it is gone.
type Items = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// `FFSLAB_KEYS_GONE`.
const GONE: u32 = u32::MAX;

unsafe extern "C" fn emit(items: *mut c_void, key: *const u8, key_bytes: u32, value: *const u8, bytes: u32) {
    let copied = |data: *const u8, bytes: u32| std::slice::from_raw_parts(data, bytes as usize).to_vec();
    let value = (bytes != GONE).then(|| copied(value, bytes));
    (*items.cast::<Items>()).push((copied(key, key_bytes), value));
}

/// A store on a device, mounted or not.
pub(crate) struct Keys {
    code: &'static Code,
    raw: NonNull<RawKeys>,
    /// Where C points to, so it stays where it is until the end.
    device: NonNull<Device>,
}

impl Keys {
    /// `None`: it has no memory, or cannot take such settings.
    pub fn new(code: &'static Code, settings: &[(&'static str, i64)], device: Device) -> Option<Keys> {
        let call = code.f.call();
        let (raw, device) = unsafe {
            made(settings, device, |device, settings, count| (call.ffslab_keys_new)(device, settings, count))
        }?;
        Some(Keys { code, raw, device })
    }

    pub fn device(&self) -> &Device {
        unsafe { self.device.as_ref() }
    }

    pub fn mount(&mut self) -> i64 {
        unsafe { (self.code.f.call().ffslab_keys_mount)(self.raw.as_ptr()) }
    }

    pub fn value_bytes_max(&self) -> u32 {
        unsafe { (self.code.f.call().ffslab_keys_value_bytes_max)(self.raw.as_ptr()) }
    }

    pub fn set(&mut self, key: &[u8], value: &[u8]) -> i64 {
        let (key_bytes, bytes) = (length(key.len()), length(value.len()));
        unsafe {
            (self.code.f.call().ffslab_keys_set)(self.raw.as_ptr(), key.as_ptr(), key_bytes, value.as_ptr(), bytes)
        }
    }

    /// The length of the value, of which as much as there is room for is in `into`.
    pub fn get(&mut self, key: &[u8], into: &mut [u8]) -> i64 {
        let (key_bytes, bytes) = (length(key.len()), length(into.len()));
        unsafe {
            (self.code.f.call().ffslab_keys_get)(self.raw.as_ptr(), key.as_ptr(), key_bytes, into.as_mut_ptr(), bytes)
        }
    }

    pub fn delete(&mut self, key: &[u8]) -> i64 {
        unsafe { (self.code.f.call().ffslab_keys_delete)(self.raw.as_ptr(), key.as_ptr(), length(key.len())) }
    }

    pub fn iterate(&mut self) -> (Items, i64) {
        let mut items = Items::new();
        let into = (&raw mut items).cast();
        let code = unsafe { (self.code.f.call().ffslab_keys_iterate)(self.raw.as_ptr(), emit, into) };
        (items, code)
    }
}

impl Drop for Keys {
    /// Nothing is written.
    fn drop(&mut self) {
        unsafe {
            (self.code.f.call().ffslab_keys_free)(self.raw.as_ptr());
            drop(Box::from_raw(self.device.as_ptr()));
        }
    }
}
