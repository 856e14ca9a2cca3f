//! The C side (`python/ffslab/foreign/littlefs`) behind a safe type. All unsafe code of the crate stands here.
//!
//! What makes it sound: the file system in C lives as long as [`C`], which owns its device and frees both; handles are made and
//! freed by [`C`] alone and are numbers elsewhere; a call of C calls back only the three functions below, with the device that
//! [`C`] holds and buffers of the length that is told; nobody else uses [`C`] meanwhile, because each call takes it exclusively.

use crate::config::Config;
use crate::device::{Device, IO};
use ffslab_foreign::guard::Guarded;
use ffslab_foreign::Info;
use std::ffi::{c_char, c_void, CStr};
use std::path::Path;
use std::ptr::NonNull;

#[repr(C)]
struct RawConfig {
    read_size_bytes: u32,
    prog_size_bytes: u32,
    block_size_bytes: u32,
    block_count: u32,
    block_cycles: i32,
    cache_size_bytes: u32,
    lookahead_size_bytes: u32,
    compact_thresh_bytes: u32,
    name_max_bytes: u32,
    metadata_max_bytes: u32,
    inline_max_bytes: u32,
    disk_version: u32,
}

type Read = unsafe extern "C" fn(*mut c_void, u32, u32, u32, *mut u8, u32) -> i32;
type Program = unsafe extern "C" fn(*mut c_void, u32, u32, u32, *const u8, u32) -> i32;
type Erase = unsafe extern "C" fn(*mut c_void, u32, u32) -> i32;

#[repr(C)]
struct RawDevice {
    context: *mut c_void,
    read: Read,
    prog: Program,
    erase: Erase,
}

#[repr(C)]
struct RawFs {
    _private: [u8; 0],
}

#[repr(C)]
struct RawFile {
    _private: [u8; 0],
}

#[repr(C)]
struct RawDir {
    _private: [u8; 0],
}

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {
        extern "C" {
            $(fn $name($($argument: $kind),*) $(-> $answer)?;)*
        }

        /// The functions of the C side, as they are linked here or as a library has them.
        pub(crate) struct Functions {
            $($name: unsafe extern "C" fn($($argument: $kind),*) $(-> $answer)?,)*
        }

        /// Those of the littlefs that is compiled with this crate.
        pub(crate) static LINKED: Guarded<Functions> = Guarded::new(Functions { $($name,)* }, "littlefs");

        impl Functions {
            /// Errors: the library lacks one.
            ///
            /// # Safety
            /// Its functions of these names are those of the C side.
            pub(crate) unsafe fn of(library: &libloading::Library) -> Result<Functions, libloading::Error> {
                Ok(Functions { $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)* })
            }
        }
    };
}

functions! {
    fn ffslab_lfs_abi() -> u32;
    fn ffslab_lfs_version() -> u32;
    fn ffslab_lfs_prepare();
    fn ffslab_lfs_new(config: *const RawConfig, device: *const RawDevice) -> *mut RawFs;
    fn ffslab_lfs_free(fs: *mut RawFs);
    fn ffslab_lfs_failed(fs: *const RawFs) -> *const c_char;
    fn ffslab_lfs_format(fs: *mut RawFs) -> i32;
    fn ffslab_lfs_mount(fs: *mut RawFs) -> i32;
    fn ffslab_lfs_unmount(fs: *mut RawFs) -> i32;
    fn ffslab_lfs_file_new() -> *mut RawFile;
    fn ffslab_lfs_file_free(file: *mut RawFile);
    fn ffslab_lfs_file_drop(file: *mut RawFile);
    fn ffslab_lfs_file_open(fs: *mut RawFs, file: *mut RawFile, path: *const c_char, flags: i32) -> i32;
    fn ffslab_lfs_file_close(fs: *mut RawFs, file: *mut RawFile) -> i32;
    fn ffslab_lfs_file_read(fs: *mut RawFs, file: *mut RawFile, at: u32, into: *mut u8, bytes: u32) -> i32;
    fn ffslab_lfs_file_write(fs: *mut RawFs, file: *mut RawFile, at: u32, data: *const u8, bytes: u32) -> i32;
    fn ffslab_lfs_file_sync(fs: *mut RawFs, file: *mut RawFile) -> i32;
    fn ffslab_lfs_file_truncate(fs: *mut RawFs, file: *mut RawFile, bytes: u32) -> i32;
    fn ffslab_lfs_file_size(fs: *mut RawFs, file: *mut RawFile) -> i32;
    fn ffslab_lfs_mkdir(fs: *mut RawFs, path: *const c_char) -> i32;
    fn ffslab_lfs_remove(fs: *mut RawFs, path: *const c_char) -> i32;
    fn ffslab_lfs_rename(fs: *mut RawFs, from: *const c_char, to: *const c_char) -> i32;
    fn ffslab_lfs_stat(fs: *mut RawFs, path: *const c_char, found: *mut Info) -> i32;
    fn ffslab_lfs_dir_new() -> *mut RawDir;
    fn ffslab_lfs_dir_free(dir: *mut RawDir);
    fn ffslab_lfs_dir_open(fs: *mut RawFs, dir: *mut RawDir, path: *const c_char) -> i32;
    fn ffslab_lfs_dir_close(fs: *mut RawFs, dir: *mut RawDir) -> i32;
    fn ffslab_lfs_dir_read(fs: *mut RawFs, dir: *mut RawDir, found: *mut Info) -> i32;
    fn ffslab_lfs_used_blocks(fs: *mut RawFs) -> i32;
    fn ffslab_lfs_gc(fs: *mut RawFs) -> i32;
}

unsafe extern "C" fn read(context: *mut c_void, cause: u32, block: u32, off: u32, buffer: *mut u8, bytes: u32) -> i32 {
    // The buffer may never have been written: its bytes are set before anybody can look at them.
    std::ptr::write_bytes(buffer, 0, bytes as usize);
    let (device, into) = (&*context.cast::<Device>(), std::slice::from_raw_parts_mut(buffer, bytes as usize));
    device.read(cause, (block, off), into)
}

unsafe extern "C" fn prog(
    context: *mut c_void,
    cause: u32,
    block: u32,
    off: u32,
    buffer: *const u8,
    bytes: u32,
) -> i32 {
    let (device, data) = (&*context.cast::<Device>(), std::slice::from_raw_parts(buffer, bytes as usize));
    device.program(cause, (block, off), data)
}

unsafe extern "C" fn erase(context: *mut c_void, cause: u32, block: u32) -> i32 {
    (*context.cast::<Device>()).erase(cause, block)
}

/// What it answers in place of a result, when an assertion has failed in lfs.c (`FFSLAB_LFS_FAILED`).
pub(crate) const FAILED: i32 = -1000;
/// `LFS_ERR_NOMEM`.
const NO_MEMORY: i32 = -12;

/// littlefs on a device, mounted or not.
pub(crate) struct C {
    f: &'static Guarded<Functions>,
    fs: NonNull<RawFs>,
    /// Where C points to, so it stays where it is until the end.
    device: NonNull<Device>,
    files: Vec<Option<NonNull<RawFile>>>,
}

impl C {
    /// `None`: there is no memory.
    pub fn new(f: &'static Guarded<Functions>, config: &Config, device: Device) -> Option<C> {
        let raw_config = RawConfig {
            read_size_bytes: config.read_size_bytes,
            prog_size_bytes: config.prog_size_bytes,
            block_size_bytes: config.block_size_bytes,
            block_count: config.blocks(device.mtd.capabilities()),
            block_cycles: config.block_cycles,
            cache_size_bytes: config.cache_size_bytes,
            lookahead_size_bytes: config.lookahead_size_bytes,
            compact_thresh_bytes: config.compact_thresh_bytes,
            name_max_bytes: config.name_max_bytes,
            metadata_max_bytes: config.metadata_max_bytes,
            inline_max_bytes: config.inline_max_bytes,
            disk_version: config.disk_version,
        };
        let device = NonNull::from(Box::leak(Box::new(device)));
        let raw_device = RawDevice { context: device.as_ptr().cast(), read, prog, erase };
        let fs = unsafe {
            (f.call().ffslab_lfs_prepare)();
            NonNull::new((f.call().ffslab_lfs_new)(&raw const raw_config, &raw const raw_device))
        };
        match fs {
            Some(fs) => Some(C { f, fs, device, files: Vec::new() }),
            None => {
                drop(unsafe { Box::from_raw(device.as_ptr()) });
                None
            }
        }
    }

    pub fn device(&self) -> &Device {
        unsafe { self.device.as_ref() }
    }

    /// The assertion of lfs.c that failed.
    pub fn failed(&self) -> Option<String> {
        let text = unsafe { (self.f.call().ffslab_lfs_failed)(self.fs.as_ptr()) };
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }

    pub fn format(&mut self) -> i32 {
        unsafe { (self.f.call().ffslab_lfs_format)(self.fs.as_ptr()) }
    }

    pub fn mount(&mut self) -> i32 {
        unsafe { (self.f.call().ffslab_lfs_mount)(self.fs.as_ptr()) }
    }

    /// All files are closed by then.
    pub fn unmount(&mut self) -> i32 {
        debug_assert!(self.files.iter().all(Option::is_none), "a file is open");
        unsafe { (self.f.call().ffslab_lfs_unmount)(self.fs.as_ptr()) }
    }

    /// A number for the file, or an error.
    pub fn open(&mut self, path: &CStr, flags: i32) -> i32 {
        let Some(file) = NonNull::new(unsafe { (self.f.call().ffslab_lfs_file_new)() }) else { return NO_MEMORY };
        let opened =
            unsafe { (self.f.call().ffslab_lfs_file_open)(self.fs.as_ptr(), file.as_ptr(), path.as_ptr(), flags) };
        if opened < 0 {
            unsafe { (self.f.call().ffslab_lfs_file_free)(file.as_ptr()) };
            return opened;
        }
        let number = self.files.iter().position(Option::is_none).unwrap_or(self.files.len());
        if number == self.files.len() {
            self.files.push(None);
        }
        self.files[number] = Some(file);
        number as i32
    }

    fn file(&self, number: u32) -> Option<*mut RawFile> {
        self.files.get(number as usize).copied().flatten().map(NonNull::as_ptr)
    }

    /// `None`: there is no such file.
    pub fn close(&mut self, number: u32) -> Option<i32> {
        let file = self.file(number)?;
        self.files[number as usize] = None;
        let closed = unsafe { (self.f.call().ffslab_lfs_file_close)(self.fs.as_ptr(), file) };
        // After a failed assertion nobody has freed its cache, and littlefs may still know the file.
        if closed != FAILED {
            unsafe { (self.f.call().ffslab_lfs_file_free)(file) };
        }
        Some(closed)
    }

    pub fn read(&mut self, number: u32, at: u32, into: &mut [u8]) -> Option<i32> {
        let (file, bytes) = (self.file(number)?, length(into.len()));
        Some(unsafe { (self.f.call().ffslab_lfs_file_read)(self.fs.as_ptr(), file, at, into.as_mut_ptr(), bytes) })
    }

    pub fn write(&mut self, number: u32, at: u32, data: &[u8]) -> Option<i32> {
        let (file, bytes) = (self.file(number)?, length(data.len()));
        Some(unsafe { (self.f.call().ffslab_lfs_file_write)(self.fs.as_ptr(), file, at, data.as_ptr(), bytes) })
    }

    pub fn sync(&mut self, number: u32) -> Option<i32> {
        let file = self.file(number)?;
        Some(unsafe { (self.f.call().ffslab_lfs_file_sync)(self.fs.as_ptr(), file) })
    }

    pub fn truncate(&mut self, number: u32, bytes: u32) -> Option<i32> {
        let file = self.file(number)?;
        Some(unsafe { (self.f.call().ffslab_lfs_file_truncate)(self.fs.as_ptr(), file, bytes) })
    }

    pub fn size(&mut self, number: u32) -> Option<i32> {
        let file = self.file(number)?;
        Some(unsafe { (self.f.call().ffslab_lfs_file_size)(self.fs.as_ptr(), file) })
    }

    pub fn mkdir(&mut self, path: &CStr) -> i32 {
        unsafe { (self.f.call().ffslab_lfs_mkdir)(self.fs.as_ptr(), path.as_ptr()) }
    }

    pub fn remove(&mut self, path: &CStr) -> i32 {
        unsafe { (self.f.call().ffslab_lfs_remove)(self.fs.as_ptr(), path.as_ptr()) }
    }

    pub fn rename(&mut self, from: &CStr, to: &CStr) -> i32 {
        unsafe { (self.f.call().ffslab_lfs_rename)(self.fs.as_ptr(), from.as_ptr(), to.as_ptr()) }
    }

    pub fn stat(&mut self, path: &CStr) -> Result<Info, i32> {
        let mut info = Info::EMPTY;
        match unsafe { (self.f.call().ffslab_lfs_stat)(self.fs.as_ptr(), path.as_ptr(), &raw mut info) } {
            0.. => Ok(info),
            error => Err(error),
        }
    }

    /// All entries of a directory; the first two are "." and "..".
    pub fn list(&mut self, path: &CStr, mut emit: impl FnMut(&Info)) -> i32 {
        let Some(dir) = NonNull::new(unsafe { (self.f.call().ffslab_lfs_dir_new)() }) else { return NO_MEMORY };
        let fs = self.fs.as_ptr();
        let mut result = unsafe { (self.f.call().ffslab_lfs_dir_open)(fs, dir.as_ptr(), path.as_ptr()) };
        if result == 0 {
            let mut info = Info::EMPTY;
            loop {
                result = unsafe { (self.f.call().ffslab_lfs_dir_read)(fs, dir.as_ptr(), &raw mut info) };
                if result <= 0 {
                    break;
                }
                emit(&info);
            }
            let closed = unsafe { (self.f.call().ffslab_lfs_dir_close)(fs, dir.as_ptr()) };
            result = if result < 0 { result } else { closed };
        }
        // After a failed assertion littlefs may still know the directory.
        if result != FAILED {
            unsafe { (self.f.call().ffslab_lfs_dir_free)(dir.as_ptr()) };
        }
        result
    }

    /// How many blocks hold something, or an error.
    pub fn used_blocks(&mut self) -> i32 {
        unsafe { (self.f.call().ffslab_lfs_used_blocks)(self.fs.as_ptr()) }
    }

    pub fn gc(&mut self) -> i32 {
        unsafe { (self.f.call().ffslab_lfs_gc)(self.fs.as_ptr()) }
    }
}

impl Drop for C {
    /// Nothing is written.
    fn drop(&mut self) {
        unsafe {
            for file in self.files.iter().flatten() {
                (self.f.call().ffslab_lfs_file_drop)(file.as_ptr());
            }
            (self.f.call().ffslab_lfs_free)(self.fs.as_ptr());
            drop(Box::from_raw(self.device.as_ptr()));
        }
    }
}

/// Of a request: littlefs knows no longer ones than files can be.
fn length(bytes: usize) -> u32 {
    bytes.min(i32::MAX as usize) as u32
}

const _: () = assert!(IO == -5);

impl Functions {
    /// Of the interface of the C side.
    pub fn abi(&self) -> u32 {
        unsafe { (self.ffslab_lfs_abi)() }
    }

    /// `LFS_VERSION`.
    pub fn version(&self) -> u32 {
        unsafe { (self.ffslab_lfs_version)() }
    }
}

/// The functions of a library, which stays loaded.
///
/// Errors: it cannot be loaded, or lacks a function.
pub(crate) fn load(file: &Path) -> Result<Functions, libloading::Error> {
    // What makes it sound is that the user has built it with `ffslab foreign build`: it runs as code of the user does.
    unsafe {
        let library = libloading::Library::new(file)?;
        let functions = Functions::of(&library)?;
        std::mem::forget(library);
        Ok(functions)
    }
}
