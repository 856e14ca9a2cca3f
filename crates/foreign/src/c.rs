//! The C side (`python/ffslab/foreign/paths/paths.h`) behind a safe type. All unsafe code of the crate stands here.
//!
//! What makes it sound: the file system in C lives as long as [`C`], which owns its device and frees both; a call of C calls back only
//! the functions below, with the device or list that it was given and buffers of the length that is told; nobody else uses [`C`]
//! meanwhile, because each call takes it exclusively.

use crate::device::Device;
use ffslab_sim::{Kind, Purpose, Reason};
use std::ffi::{c_char, c_void, CStr, CString};
use std::path::Path;
use std::ptr::NonNull;

#[repr(C)]
struct RawDevice {
    context: *mut c_void,
    size_bytes: u64,
    erase_block_bytes: u32,
    program_bytes: u32,
    read: unsafe extern "C" fn(*mut c_void, u32, u64, *mut u8, u32) -> i32,
    program: unsafe extern "C" fn(*mut c_void, u32, u64, *const u8, u32) -> i32,
    erase: unsafe extern "C" fn(*mut c_void, u32, u64) -> i32,
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

/// What is told of a name.
#[repr(C)]
pub(crate) struct Info {
    pub is_directory: u32,
    pub size_bytes: u64,
    name: [u8; 256],
}

impl Info {
    const EMPTY: Info = Info { is_directory: 0, size_bytes: 0, name: [0; 256] };

    pub fn name(&self) -> &[u8] {
        let end = self.name.iter().position(|&byte| byte == 0).unwrap_or(self.name.len());
        &self.name[..end]
    }
}

#[repr(C)]
struct RawFs {
    _private: [u8; 0],
}

type Emit = unsafe extern "C" fn(*mut c_void, *const Info);

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
            /// Its functions of these names are those of `paths.h`.
            unsafe fn of(library: &libloading::Library) -> Result<Functions, libloading::Error> {
                Ok(Functions { $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)* })
            }
        }
    };
}

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
    f: Functions,
    pub causes: Vec<&'static Reason>,
}

/// Why a file is no such library.
pub(crate) enum NotLoaded {
    Unloadable(String),
    OtherAbi,
}

/// Of this interface (`FFSLAB_PATHS_ABI`).
const ABI: u32 = 1;

/// The code of a library, which stays loaded.
///
/// Errors: it cannot be loaded, lacks a function, or was built for another ffslab.
pub(crate) fn load(file: &Path) -> Result<Code, NotLoaded> {
    let failed = |error: libloading::Error| NotLoaded::Unloadable(error.to_string());
    // What makes it sound is that the user has built it with `ffslab foreign build`: it runs as code of the user does.
    unsafe {
        let library = libloading::Library::new(file).map_err(failed)?;
        let f = Functions::of(&library).map_err(failed)?;
        if (f.ffslab_paths_abi)() != ABI {
            return Err(NotLoaded::OtherAbi);
        }
        let mut count = 0;
        let table = (f.ffslab_paths_causes)(&raw mut count);
        let causes = std::slice::from_raw_parts(table, count as usize).iter().map(|raw| reason(raw)).collect();
        std::mem::forget(library);
        Ok(Code { f, causes })
    }
}

/// A cause of the library as a reason: a known one where its name is that of one.
///
/// # Safety
/// Its texts are texts of C.
unsafe fn reason(raw: &RawCause) -> &'static Reason {
    let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
    let name = text(raw.name);
    if let Some(known) = crate::KNOWN.iter().find(|known| known.name == name) {
        return known;
    }
    // In the order of the enumerations of paths.h.
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

unsafe extern "C" fn erase(context: *mut c_void, cause: u32, at: u64) -> i32 {
    (*context.cast::<Device>()).erase(cause, at)
}

unsafe extern "C" fn emit(list: *mut c_void, entry: *const Info) {
    let Info { is_directory, size_bytes, name } = &*entry;
    (*list.cast::<Vec<Info>>()).push(Info { is_directory: *is_directory, size_bytes: *size_bytes, name: *name });
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
        let names: Vec<CString> = settings.iter().filter_map(|(name, _)| CString::new(*name).ok()).collect();
        let values = settings.iter().map(|(_, value)| *value);
        let raw: Vec<RawSetting> =
            names.iter().zip(values).map(|(name, value)| RawSetting { name: name.as_ptr(), value }).collect();
        let can = *device.mtd.capabilities();
        let device = NonNull::from(Box::leak(Box::new(device)));
        let raw_device = RawDevice {
            context: device.as_ptr().cast(),
            size_bytes: u64::from(can.blocks) * u64::from(can.erase_block_bytes),
            erase_block_bytes: can.erase_block_bytes,
            program_bytes: can.program_bytes,
            read,
            program,
            erase,
        };
        let made = unsafe { (code.f.ffslab_paths_new)(&raw const raw_device, raw.as_ptr(), raw.len() as u32) };
        match NonNull::new(made) {
            Some(fs) => Some(C { code, fs, device }),
            None => {
                drop(unsafe { Box::from_raw(device.as_ptr()) });
                None
            }
        }
    }

    pub fn device(&self) -> &Device {
        unsafe { self.device.as_ref() }
    }

    pub fn name_bytes_max(&self) -> u32 {
        unsafe { (self.code.f.ffslab_paths_name_bytes_max)() }
    }

    pub fn format(&mut self) -> i64 {
        unsafe { (self.code.f.ffslab_paths_format)(self.fs.as_ptr()) }
    }

    pub fn mount(&mut self) -> i64 {
        unsafe { (self.code.f.ffslab_paths_mount)(self.fs.as_ptr()) }
    }

    pub fn unmount(&mut self) -> i64 {
        unsafe { (self.code.f.ffslab_paths_unmount)(self.fs.as_ptr()) }
    }

    pub fn open(&mut self, path: &CStr, how: u32) -> i64 {
        unsafe { (self.code.f.ffslab_paths_open)(self.fs.as_ptr(), path.as_ptr(), how) }
    }

    pub fn close(&mut self, file: u32) -> i64 {
        unsafe { (self.code.f.ffslab_paths_close)(self.fs.as_ptr(), file) }
    }

    pub fn size(&mut self, file: u32) -> i64 {
        unsafe { (self.code.f.ffslab_paths_size)(self.fs.as_ptr(), file) }
    }

    pub fn read(&mut self, file: u32, at: u64, into: &mut [u8]) -> i64 {
        let bytes = length(into.len());
        unsafe { (self.code.f.ffslab_paths_read)(self.fs.as_ptr(), file, at, into.as_mut_ptr(), bytes) }
    }

    pub fn write(&mut self, file: u32, at: u64, data: &[u8]) -> i64 {
        let bytes = length(data.len());
        unsafe { (self.code.f.ffslab_paths_write)(self.fs.as_ptr(), file, at, data.as_ptr(), bytes) }
    }

    pub fn sync(&mut self, file: u32) -> i64 {
        unsafe { (self.code.f.ffslab_paths_sync)(self.fs.as_ptr(), file) }
    }

    pub fn truncate(&mut self, file: u32, bytes: u64) -> i64 {
        unsafe { (self.code.f.ffslab_paths_truncate)(self.fs.as_ptr(), file, bytes) }
    }

    pub fn mkdir(&mut self, path: &CStr) -> i64 {
        unsafe { (self.code.f.ffslab_paths_mkdir)(self.fs.as_ptr(), path.as_ptr()) }
    }

    pub fn remove(&mut self, path: &CStr) -> i64 {
        unsafe { (self.code.f.ffslab_paths_remove)(self.fs.as_ptr(), path.as_ptr()) }
    }

    pub fn rename(&mut self, from: &CStr, to: &CStr) -> i64 {
        unsafe { (self.code.f.ffslab_paths_rename)(self.fs.as_ptr(), from.as_ptr(), to.as_ptr()) }
    }

    /// What is told of a path, and the result.
    pub fn stat(&mut self, path: &CStr) -> (Info, i64) {
        let mut info = Info::EMPTY;
        let code = unsafe { (self.code.f.ffslab_paths_stat)(self.fs.as_ptr(), path.as_ptr(), &raw mut info) };
        (info, code)
    }

    pub fn list(&mut self, path: &CStr) -> (Vec<Info>, i64) {
        let mut list: Vec<Info> = Vec::new();
        let into = (&raw mut list).cast();
        let code = unsafe { (self.code.f.ffslab_paths_list)(self.fs.as_ptr(), path.as_ptr(), emit, into) };
        (list, code)
    }

    /// Bytes of all, and used ones, and the result.
    pub fn space(&mut self) -> (u64, u64, i64) {
        let (mut total, mut used) = (0, 0);
        let code = unsafe { (self.code.f.ffslab_paths_space)(self.fs.as_ptr(), &raw mut total, &raw mut used) };
        (total, used, code)
    }

    pub fn gc(&mut self) -> i64 {
        unsafe { (self.code.f.ffslab_paths_gc)(self.fs.as_ptr()) }
    }
}

impl Drop for C {
    /// Nothing is written.
    fn drop(&mut self) {
        unsafe {
            (self.code.f.ffslab_paths_free)(self.fs.as_ptr());
            drop(Box::from_raw(self.device.as_ptr()));
        }
    }
}

/// Of a request: the interface knows no longer ones.
fn length(bytes: usize) -> u32 {
    bytes.min(i32::MAX as usize) as u32
}
