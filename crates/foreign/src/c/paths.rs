//! A file system in a library: files by path (`python/ffslab/foreign/paths/paths.h`).

use super::{functions, length, loaded, made, Info, RawCause, RawDevice, RawSetting, Told};
use crate::device::Device;
use crate::guard::Guarded;
use crate::libraries::LoadError;
use ffslab_sim::Reason;
use std::ffi::{c_char, c_void, CStr};
use std::path::Path;
use std::ptr::NonNull;

#[repr(C)]
struct RawFs {
    _private: [u8; 0],
}

type Emit = unsafe extern "C" fn(*mut c_void, *const Info);

functions! {
    fn ffslab_paths_abi() -> u32;
    fn ffslab_paths_causes(*mut u32) -> *const RawCause;
    fn ffslab_paths_name_bytes_max() -> u32;
    fn ffslab_paths_new(*const RawDevice, *const RawSetting, u32) -> *mut RawFs;
    fn ffslab_paths_free(*mut RawFs);
    fn ffslab_paths_format(*mut RawFs) -> i64;
    fn ffslab_paths_mount(*mut RawFs) -> i64;
    fn ffslab_paths_unmount(*mut RawFs) -> i64;
    fn ffslab_paths_open(*mut RawFs, *const c_char, u32) -> i64;
    fn ffslab_paths_close(*mut RawFs, u32) -> i64;
    fn ffslab_paths_size(*mut RawFs, u32) -> i64;
    fn ffslab_paths_read(*mut RawFs, u32, u64, *mut u8, u32) -> i64;
    fn ffslab_paths_write(*mut RawFs, u32, u64, *const u8, u32) -> i64;
    fn ffslab_paths_sync(*mut RawFs, u32) -> i64;
    fn ffslab_paths_truncate(*mut RawFs, u32, u64) -> i64;
    fn ffslab_paths_mkdir(*mut RawFs, *const c_char) -> i64;
    fn ffslab_paths_remove(*mut RawFs, *const c_char) -> i64;
    fn ffslab_paths_rename(*mut RawFs, *const c_char, *const c_char) -> i64;
    fn ffslab_paths_stat(*mut RawFs, *const c_char, *mut Info) -> i64;
    fn ffslab_paths_list(*mut RawFs, *const c_char, Emit, *mut c_void) -> i64;
    fn ffslab_paths_space(*mut RawFs, *mut u64, *mut u64) -> i64;
    fn ffslab_paths_gc(*mut RawFs) -> i64;
}

/// The code of a file system, as a library has it, and its causes.
pub(crate) struct Code {
    f: Guarded<Functions>,
    pub causes: Vec<&'static Reason>,
}

/// Of this interface (`FFSLAB_PATHS_ABI`).
const ABI: u32 = 2;

/// The code of a library, which stays loaded.
///
/// Errors: it cannot be loaded, lacks a function, or was built for another ffslab.
pub(crate) fn load(file: &Path) -> Result<Code, LoadError> {
    // What makes it sound is that the user has built it with `ffslab foreign build`: it runs as code of the user does.
    unsafe {
        let told = |f: &Functions| Told { abi: f.ffslab_paths_abi, causes: f.ffslab_paths_causes };
        let (f, causes) = loaded(file, ABI, |library| Functions::of(library), told)?;
        Ok(Code { f: Guarded::of(f, file), causes })
    }
}

unsafe extern "C" fn emit(list: *mut c_void, entry: *const Info) {
    (*list.cast::<Vec<Info>>()).push(*entry);
}

/// A file system on a device, mounted or not.
pub(crate) struct C {
    code: &'static Code,
    fs: NonNull<RawFs>,
    /// Where C points to, so it stays where it is until the end.
    device: NonNull<Device>,
}

impl C {
    /// `None`: it has no memory, or cannot take such settings.
    pub fn new(code: &'static Code, settings: &[(&'static str, i64)], device: Device) -> Option<C> {
        let call = code.f.call();
        let (fs, device) = unsafe {
            made(settings, device, |device, settings, count| (call.ffslab_paths_new)(device, settings, count))
        }?;
        Some(C { code, fs, device })
    }

    pub fn device(&self) -> &Device {
        unsafe { self.device.as_ref() }
    }

    pub fn name_bytes_max(&self) -> u32 {
        unsafe { (self.code.f.call().ffslab_paths_name_bytes_max)() }
    }

    pub fn format(&mut self) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_format)(self.fs.as_ptr()) }
    }

    pub fn mount(&mut self) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_mount)(self.fs.as_ptr()) }
    }

    pub fn unmount(&mut self) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_unmount)(self.fs.as_ptr()) }
    }

    pub fn open(&mut self, path: &CStr, how: u32) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_open)(self.fs.as_ptr(), path.as_ptr(), how) }
    }

    pub fn close(&mut self, file: u32) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_close)(self.fs.as_ptr(), file) }
    }

    pub fn size(&mut self, file: u32) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_size)(self.fs.as_ptr(), file) }
    }

    pub fn read(&mut self, file: u32, at: u64, into: &mut [u8]) -> i64 {
        let bytes = length(into.len());
        unsafe { (self.code.f.call().ffslab_paths_read)(self.fs.as_ptr(), file, at, into.as_mut_ptr(), bytes) }
    }

    pub fn write(&mut self, file: u32, at: u64, data: &[u8]) -> i64 {
        let bytes = length(data.len());
        unsafe { (self.code.f.call().ffslab_paths_write)(self.fs.as_ptr(), file, at, data.as_ptr(), bytes) }
    }

    pub fn sync(&mut self, file: u32) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_sync)(self.fs.as_ptr(), file) }
    }

    pub fn truncate(&mut self, file: u32, bytes: u64) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_truncate)(self.fs.as_ptr(), file, bytes) }
    }

    pub fn mkdir(&mut self, path: &CStr) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_mkdir)(self.fs.as_ptr(), path.as_ptr()) }
    }

    pub fn remove(&mut self, path: &CStr) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_remove)(self.fs.as_ptr(), path.as_ptr()) }
    }

    pub fn rename(&mut self, from: &CStr, to: &CStr) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_rename)(self.fs.as_ptr(), from.as_ptr(), to.as_ptr()) }
    }

    /// What is told of a path, and the result.
    pub fn stat(&mut self, path: &CStr) -> (Info, i64) {
        let mut info = Info::EMPTY;
        let code = unsafe { (self.code.f.call().ffslab_paths_stat)(self.fs.as_ptr(), path.as_ptr(), &raw mut info) };
        (info, code)
    }

    pub fn list(&mut self, path: &CStr) -> (Vec<Info>, i64) {
        let mut list: Vec<Info> = Vec::new();
        let into = (&raw mut list).cast();
        let code = unsafe { (self.code.f.call().ffslab_paths_list)(self.fs.as_ptr(), path.as_ptr(), emit, into) };
        (list, code)
    }

    /// Bytes of all, and used ones, and the result.
    pub fn space(&mut self) -> (u64, u64, i64) {
        let (mut total, mut used) = (0, 0);
        let code = unsafe { (self.code.f.call().ffslab_paths_space)(self.fs.as_ptr(), &raw mut total, &raw mut used) };
        (total, used, code)
    }

    pub fn gc(&mut self) -> i64 {
        unsafe { (self.code.f.call().ffslab_paths_gc)(self.fs.as_ptr()) }
    }
}

impl Drop for C {
    /// Nothing is written.
    fn drop(&mut self) {
        unsafe {
            (self.code.f.call().ffslab_paths_free)(self.fs.as_ptr());
            drop(Box::from_raw(self.device.as_ptr()));
        }
    }
}
