//! # littlefs: littlefs v2 itself, on a simulated medium
//!
//! **Role.** Compiles the C code of littlefs unchanged and calls it as firmware does. [`Littlefs`] is a mounted file system with
//! paths and handles ([`PathFileSystem`]); each flash operation carries the cause that the function of littlefs gives it in which
//! it happens ([`causes`]).
//!
//! **Follows.** littlefs 2.9, whose sources the registry crate `littlefs2-sys` carries (`lfs.c`, `lfs.h`, `SPEC.md`), with formats
//! 2.0 and 2.1; or another littlefs 2 that is loaded ([`Version`]). The device functions are those of a usual port: a program or an erase that fails, a bad block and data that ECC
//! cannot correct are `LFS_ERR_CORRUPT`, upon which littlefs takes another block; anything else is `LFS_ERR_IO`.
//!
//! **Leaves out.** Custom attributes, `lfs_fs_grow`, read-only mounts, the migration from version 1. What the CPU computes in
//! littlefs takes no time. The device functions mark no block bad. A failed assertion of littlefs ends the mount.

#[allow(unsafe_code)]
mod c;
pub mod causes;
mod config;
mod device;
mod version;

pub use config::{Config, ConfigError, DISK_VERSION, DISK_VERSION_MIN, FILE_BYTES_MAX, NAME_BYTES_MAX};
pub use device::Counts;
pub use version::{LoadError, Version};

use c::{C, FAILED};
use device::Device;
use ffslab_foreign::c_path;
use ffslab_fs::{Errno, FileHandle, OpenHow, PathFileSystem, PathStat, Result, StatFs};
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::Sim;
use thiserror::Error;

/// Why there is no mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MountError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Both first blocks are no superblock of littlefs, or a log is damaged.
    #[error("the partition holds no littlefs that could be mounted (LFS_ERR_CORRUPT)")]
    Corrupt,
    /// The superblock says other sizes than the configuration.
    #[error("the superblock does not suit the configuration: another block size, fewer blocks, a newer format or larger limits")]
    OtherConfig,
    #[error("littlefs finds no room for its superblock: blocks 0 and 1 must be good, and are never replaced")]
    NoRoom,
    /// It contradicts itself, as on a damaged medium.
    #[error("littlefs stops: its assertion {0} does not hold")]
    Assertion(String),
    #[error("{0}")]
    Medium(MtdError),
    /// Another error of `lfs.h`.
    #[error("littlefs answers {0}")]
    Other(i32),
}

/// A mounted littlefs.
pub struct Littlefs {
    c: C,
    config: Config,
    blocks: u32,
    sim: Sim,
}

const RDONLY: i32 = 1;
const WRONLY: i32 = 2;
const CREAT: i32 = 0x0100;
const EXCL: i32 = 0x0200;
const TRUNC: i32 = 0x0400;
/// `LFS_ERR_INVAL`, `LFS_ERR_NOSPC`.
const INVAL: i32 = -22;
const NOSPC: i32 = -28;
const NOMEM: i32 = -12;

fn on(version: Version, medium: &Mtd, config: &Config) -> std::result::Result<C, MountError> {
    config.check(medium.capabilities())?;
    causes::register(medium.sim());
    let device = Device::new(medium.clone(), config.block_size_bytes);
    C::new(version.0, config, device).ok_or(MountError::Other(NOMEM))
}

/// What a format or mount says.
fn answer(c: &C, code: i32) -> std::result::Result<(), MountError> {
    let failure = c.device().take_failure();
    match code {
        0.. => Ok(()),
        FAILED => Err(MountError::Assertion(c.failed().unwrap_or_default())),
        device::IO => Err(failure.map_or(MountError::Other(code), MountError::Medium)),
        device::CORRUPT => Err(MountError::Corrupt),
        INVAL => Err(MountError::OtherConfig),
        NOSPC => Err(MountError::NoRoom),
        _ => Err(MountError::Other(code)),
    }
}

/// Makes a new file system.
///
/// # Errors
/// A configuration that does not suit the medium, blocks 0 and 1 that fail.
pub fn format(medium: &Mtd, config: &Config) -> std::result::Result<(), MountError> {
    format_by(Version::LINKED, medium, config)
}

/// [`format()`] by this littlefs.
///
/// Errors: as there.
pub fn format_by(version: Version, medium: &Mtd, config: &Config) -> std::result::Result<(), MountError> {
    let mut c = on(version, medium, config)?;
    let code = c.format();
    match answer(&c, code) {
        Err(MountError::Corrupt) => Err(MountError::NoRoom),
        answer => answer,
    }
}

impl Littlefs {
    /// # Errors
    /// A configuration that does not suit the medium; no file system is there.
    pub fn mount(medium: &Mtd, config: &Config) -> std::result::Result<Littlefs, MountError> {
        Littlefs::mount_by(Version::LINKED, medium, config)
    }

    /// [`Littlefs::mount`] by this littlefs.
    ///
    /// # Errors
    /// As there.
    pub fn mount_by(version: Version, medium: &Mtd, config: &Config) -> std::result::Result<Littlefs, MountError> {
        let mut c = on(version, medium, config)?;
        let code = c.mount();
        answer(&c, code)?;
        let blocks = config.blocks(medium.capabilities());
        Ok(Littlefs { c, config: *config, blocks, sim: medium.sim().clone() })
    }

    /// Calls of the device functions since the mount.
    pub fn counts(&self) -> Counts {
        self.c.device().counts()
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What a call gave back.
    fn done(&self, code: i32) -> Result<u32> {
        let failure = self.c.device().take_failure();
        match code {
            0.. => Ok(code as u32),
            _ if failure == Some(MtdError::PowerCut) => Err(Errno::PowerCut),
            _ => Err(errno(code)),
        }
    }

    /// What a call with a handle gave back.
    fn done_with(&self, code: Option<i32>) -> Result<u32> {
        self.done(code.ok_or(Errno::BadF)?)
    }
}

/// The error of a code of `lfs.h`, which has the numbers of Linux. A corrupt block that cannot be worked around, and a failed
/// assertion, are errors of the medium to a program.
fn errno(code: i32) -> Errno {
    match code {
        -2 => Errno::NoEnt,
        -9 => Errno::BadF,
        NOMEM => Errno::NoMem,
        -17 => Errno::Exist,
        -20 => Errno::NotDir,
        -21 => Errno::IsDir,
        INVAL => Errno::Inval,
        -27 => Errno::FBig,
        NOSPC => Errno::NoSpc,
        -36 => Errno::NameTooLong,
        -39 => Errno::NotEmpty,
        -61 => Errno::NoData,
        _ => Errno::Io,
    }
}

/// A place or size in a file. Beyond what littlefs knows nothing can be.
fn offset(at: u64) -> Result<u32> {
    u32::try_from(at).ok().filter(|&at| u64::from(at) <= FILE_BYTES_MAX).ok_or(Errno::FBig)
}

impl PathFileSystem for Littlefs {
    fn name(&self) -> &'static str {
        "littlefs"
    }

    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn name_bytes_max(&self) -> usize {
        match self.config.name_max_bytes {
            0 => NAME_BYTES_MAX as usize,
            bytes => bytes as usize,
        }
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX
    }

    fn open(&mut self, path: &[u8], how: OpenHow) -> Result<FileHandle> {
        let given = [
            (how.read || !how.write, RDONLY),
            (how.write, WRONLY),
            (how.create && how.write, CREAT),
            (how.exclusive && how.create && how.write, EXCL),
            (how.truncate && how.write, TRUNC),
        ];
        let flags = given.iter().filter(|(is_given, _)| *is_given).fold(0, |flags, (_, flag)| flags | flag);
        let code = self.c.open(&c_path(path)?, flags);
        self.done(code).map(FileHandle)
    }

    fn close(&mut self, file: FileHandle) -> Result<()> {
        let code = self.c.close(file.0);
        self.done_with(code).map(drop)
    }

    fn read_at(&mut self, file: FileHandle, at: u64, into: &mut [u8]) -> Result<usize> {
        // No file reaches further.
        let Ok(at) = offset(at) else { return Ok(0) };
        let code = self.c.read(file.0, at, into);
        self.done_with(code).map(|bytes| bytes as usize)
    }

    fn write_at(&mut self, file: FileHandle, at: u64, data: &[u8]) -> Result<usize> {
        let code = self.c.write(file.0, offset(at)?, data);
        self.done_with(code).map(|bytes| bytes as usize)
    }

    fn truncate(&mut self, file: FileHandle, bytes: u64) -> Result<()> {
        let code = self.c.truncate(file.0, offset(bytes)?);
        self.done_with(code).map(drop)
    }

    fn sync(&mut self, file: FileHandle) -> Result<()> {
        let code = self.c.sync(file.0);
        self.done_with(code).map(drop)
    }

    fn size_bytes(&mut self, file: FileHandle) -> Result<u64> {
        let code = self.c.size(file.0);
        self.done_with(code).map(u64::from)
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
        let found = self.c.stat(&c_path(path)?);
        let code = found.as_ref().err().copied().unwrap_or(0);
        self.done(code)?;
        found.map(|info| PathStat::from(&info)).map_err(errno)
    }

    fn list(&mut self, path: &[u8]) -> Result<Vec<PathStat>> {
        let mut entries = Vec::new();
        let code = self.c.list(&c_path(path)?, |info| entries.push(PathStat::from(info)));
        self.done(code)?;
        entries.retain(|entry| entry.name != b"." && entry.name != b"..");
        Ok(entries)
    }

    fn statfs(&mut self) -> Result<StatFs> {
        let code = self.c.used_blocks();
        let used = self.done(code)?;
        Ok(StatFs {
            block_bytes: self.config.block_size_bytes,
            blocks: u64::from(self.blocks),
            blocks_free: u64::from(self.blocks.saturating_sub(used)),
            files: 0,
            files_free: 0,
        })
    }

    fn collect_garbage(&mut self) -> Result<()> {
        let code = self.c.gc();
        self.done(code).map(drop)
    }

    fn counters(&self) -> Vec<(&'static str, i64)> {
        let Counts { reads, read_bytes, programs, programmed_bytes, erases } = self.counts();
        let counts = [
            ("lfs_reads", reads),
            ("lfs_read_B", read_bytes),
            ("lfs_programs", programs),
            ("lfs_programmed_B", programmed_bytes),
            ("lfs_erases", erases),
        ];
        counts.map(|(name, count)| (name, count as i64)).to_vec()
    }

    fn failure(&self) -> Option<String> {
        self.c.failed().map(|assertion| MountError::Assertion(assertion).to_string())
    }

    fn unmount(&mut self) -> Result<()> {
        let code = self.c.unmount();
        self.done(code).map(drop)
    }
}
