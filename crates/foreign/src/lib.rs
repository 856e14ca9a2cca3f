//! # foreign: file systems and stores of a user's own, from libraries
//!
//! **Role.** Loads a library that `ffslab foreign build` made of C sources ([`Code`]) and calls it as firmware does:
//! [`Foreign`] is a mounted file system with paths and handles ([`PathFileSystem`]), [`ForeignStore`] a mounted store of keys and values. Each flash operation carries the cause that the
//! library gives it by its functions; the library brings the table of its causes with it. A file system that overwrites sectors stands on a
//! [`Translation`].
//!
//! **Follows.** `python/ffslab/foreign/paths`: SPIFFS and FatFs are files by path (`paths.h`), Dhara is sectors (`sectors.h`), Zephyr's NVS,
//! ZMS and FCB and FlashDB are keys and values (`keys.h`).
//!
//! A call that does not come to an end ends the process ([`guard`]).
//!
//! **Leaves out.** The CPU's work in the library takes no time. What a failed assertion would do to firmware, it does to the process.

#[allow(unsafe_code)]
mod c;
mod device;
mod error;
pub mod guard;
mod libraries;
mod store;
mod translation;

pub use c::{Info, Settings};
pub use device::Below;
pub use error::MountError;
pub use libraries::{Libraries, LoadError};
pub use store::{ForeignStore, NumberNames, StoreCode, StoreSetup};
pub use translation::{
    nor_capabilities, page_map_pages, wear_levelling_capacity_bytes, DharaCode, Translation, NOR_BLOCK_BYTES,
};

use c::paths::{self, C};
use device::Device;
use error::answer;
use ffslab_fs::{causes, Errno, FileHandle, FileKind, OpenHow, PathFileSystem, PathStat, Result, StatFs};
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::Sim;
use std::ffi::CString;
use std::fmt;
use std::path::Path;

/// The code of a file system in a library.
#[derive(Clone, Copy)]
pub struct Code(&'static paths::Code);

static LOADED: Libraries<paths::Code> = Libraries::new();

impl Code {
    /// The code of a library.
    ///
    /// Errors: the file is none, or one of another ffslab.
    pub fn load(file: &Path) -> std::result::Result<Code, LoadError> {
        LOADED.get(file, paths::load).map(Code)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("code of a library")
    }
}

/// A mounted file system of a library.
pub struct Foreign {
    fs: &'static str,
    c: C,
    medium: Mtd,
}

/// A file system that is to be made or mounted.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name.
    pub fs: &'static str,
    pub code: Code,
    pub settings: Settings,
    pub translation: Translation,
}

impl Setup {
    fn on(&self, below: Box<dyn Below>) -> std::result::Result<C, MountError> {
        causes::register(below.sim());
        below.sim().register(&self.code.0.causes);
        let device = Device::new(below, &self.code.0.causes);
        C::new(self.code.0, &self.settings, device).ok_or(MountError::Settings { fs: self.fs })
    }

    /// Makes a new file system.
    ///
    /// Errors: settings that it does not take, a medium that fails.
    pub fn format(&self, medium: &Mtd) -> std::result::Result<(), MountError> {
        let mut c = self.on(self.translation.make(medium)?)?;
        let formatted = c.format();
        answer(self.fs, c.device(), formatted)
    }

    /// Errors: as [`Setup::format`]; no file system is there.
    pub fn mount(&self, medium: &Mtd) -> std::result::Result<Foreign, MountError> {
        let mut c = self.on(self.translation.open(medium)?)?;
        let mounted = c.mount();
        answer(self.fs, c.device(), mounted)?;
        Ok(Foreign { fs: self.fs, c, medium: medium.clone() })
    }
}

impl Foreign {
    /// What a call gave back.
    fn done(&self, code: i64) -> Result<u64> {
        error::done(self.c.device(), code)
    }
}

/// For C.
///
/// Errors: a path with NUL names nothing.
pub fn c_path(path: &[u8]) -> Result<CString> {
    CString::new(path).map_err(|_| Errno::Inval)
}

impl From<&Info> for PathStat {
    fn from(info: &Info) -> PathStat {
        let kind = if info.is_directory() { FileKind::Directory } else { FileKind::File };
        let size_bytes = if kind == FileKind::File { info.size_bytes } else { 0 };
        PathStat { name: info.name().to_vec(), kind, size_bytes }
    }
}

/// No file of a small chip is larger; offsets in C are signed.
const FILE_BYTES_MAX: u64 = i32::MAX as u64;

impl PathFileSystem for Foreign {
    fn name(&self) -> &'static str {
        self.fs
    }

    fn sim(&self) -> &Sim {
        self.medium.sim()
    }

    fn name_bytes_max(&self) -> usize {
        self.c.name_bytes_max() as usize
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX
    }

    fn open(&mut self, path: &[u8], how: OpenHow) -> Result<FileHandle> {
        // `enum ffslab_paths_how`.
        let given =
            [(how.read || !how.write, 1), (how.write, 2), (how.create, 4), (how.exclusive, 8), (how.truncate, 16)];
        let flags = given.iter().filter(|(is_given, _)| *is_given).fold(0, |flags, (_, flag)| flags | flag);
        let code = self.c.open(&c_path(path)?, flags);
        self.done(code).map(|number| FileHandle(number as u32))
    }

    fn close(&mut self, file: FileHandle) -> Result<()> {
        let code = self.c.close(file.0);
        self.done(code).map(drop)
    }

    fn read_at(&mut self, file: FileHandle, at: u64, into: &mut [u8]) -> Result<usize> {
        if at > FILE_BYTES_MAX {
            return Ok(0);
        }
        let code = self.c.read(file.0, at, into);
        self.done(code).map(|bytes| bytes as usize)
    }

    fn write_at(&mut self, file: FileHandle, at: u64, data: &[u8]) -> Result<usize> {
        if at.saturating_add(data.len() as u64) > FILE_BYTES_MAX {
            return Err(Errno::FBig);
        }
        let code = self.c.write(file.0, at, data);
        self.done(code).map(|bytes| bytes as usize)
    }

    fn truncate(&mut self, file: FileHandle, bytes: u64) -> Result<()> {
        if bytes > FILE_BYTES_MAX {
            return Err(Errno::FBig);
        }
        let code = self.c.truncate(file.0, bytes);
        self.done(code).map(drop)
    }

    fn sync(&mut self, file: FileHandle) -> Result<()> {
        let code = self.c.sync(file.0);
        self.done(code).map(drop)
    }

    fn size_bytes(&mut self, file: FileHandle) -> Result<u64> {
        let code = self.c.size(file.0);
        self.done(code)
    }

    fn mkdir(&mut self, path: &[u8]) -> Result<()> {
        let code = self.c.mkdir(&c_path(path)?);
        self.done(code).map(drop)
    }

    fn remove(&mut self, path: &[u8]) -> Result<()> {
        let code = self.c.remove(&c_path(path)?);
        self.done(code).map(drop)
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Result<()> {
        let code = self.c.rename(&c_path(old)?, &c_path(new)?);
        self.done(code).map(drop)
    }

    fn stat(&mut self, path: &[u8]) -> Result<PathStat> {
        let (info, code) = self.c.stat(&c_path(path)?);
        self.done(code).map(|_| PathStat::from(&info))
    }

    fn list(&mut self, path: &[u8]) -> Result<Vec<PathStat>> {
        let (entries, code) = self.c.list(&c_path(path)?);
        self.done(code).map(|_| entries.iter().map(PathStat::from).collect())
    }

    fn statfs(&mut self) -> Result<StatFs> {
        let (total_bytes, used_bytes, code) = self.c.space();
        self.done(code)?;
        let block_bytes = self.medium.erase_block_bytes();
        let blocks = |bytes: u64| bytes / u64::from(block_bytes);
        Ok(StatFs {
            block_bytes,
            blocks: blocks(total_bytes),
            blocks_free: blocks(total_bytes.saturating_sub(used_bytes)),
            files: 0,
            files_free: 0,
        })
    }

    fn collect_garbage(&mut self) -> Result<()> {
        let code = self.c.gc();
        self.done(code).map(drop)
    }

    fn unmount(&mut self) -> Result<()> {
        let code = self.c.unmount();
        self.done(code)?;
        self.c.device().below().close().map_err(|error| match error {
            MtdError::PowerCut => Errno::PowerCut,
            _ => Errno::Io,
        })
    }
}
