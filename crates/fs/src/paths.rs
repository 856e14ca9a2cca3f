//! The seam for file systems whose calls take paths and handles, as those of firmware do: littlefs, FAT, SPIFFS.

use crate::{Errno, FileKind, KeyValueStore, Result, StatFs};
use ffslab_sim::Sim;

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenHow {
    pub read: bool,
    pub write: bool,
    /// Made if it is not there.
    pub create: bool,
    /// With `create`: [`Errno::Exist`] if it is there.
    pub exclusive: bool,
    /// Emptied.
    pub truncate: bool,
}

/// The name of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHandle(pub u32);

/// What is told of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStat {
    /// The last name of the path.
    pub name: Vec<u8>,
    pub kind: FileKind,
    /// 0 for directories.
    pub size_bytes: u64,
}

/// A mounted file system whose calls take paths and handles.
///
/// Conventions:
/// * Paths are bytes without NUL, names in them are divided by `/`; "/" is the root.
/// * What a handle has changed is only seen by others, and only survives, when it was synced or closed, unless the file system
///   promises more.
/// * After [`Errno::PowerCut`] the medium is dead: drop the file system, switch the medium on again and mount anew. Dropping
///   writes nothing.
pub trait PathFileSystem {
    /// "littlefs" ...
    fn name(&self) -> &'static str;

    fn sim(&self) -> &Sim;

    /// Whether a store of keys and values stands in the place of a file system ([`PathFileSystem::store`]).
    fn has_store(&self) -> bool {
        false
    }

    /// That store; `None`, which is the default: it has files.
    fn store(&mut self) -> Option<&mut dyn KeyValueStore> {
        None
    }

    /// Longest name, in bytes.
    fn name_bytes_max(&self) -> usize;

    /// Largest file, in bytes.
    fn file_bytes_max(&self) -> u64;

    // ---- open files ------------------------------------------------------------------------------------------------

    fn open(&mut self, path: &[u8], how: OpenHow) -> Result<FileHandle>;

    /// The handle is gone even if an error is reported.
    fn close(&mut self, file: FileHandle) -> Result<()>;

    /// Reads from byte `at` on; how many bytes there were.
    fn read_at(&mut self, file: FileHandle, at: u64, into: &mut [u8]) -> Result<usize>;

    /// Writes from byte `at` on; how many bytes found room. A gap before them is filled with zeros.
    fn write_at(&mut self, file: FileHandle, at: u64, data: &[u8]) -> Result<usize>;

    fn truncate(&mut self, file: FileHandle, bytes: u64) -> Result<()>;

    fn sync(&mut self, file: FileHandle) -> Result<()>;

    /// Size as the handle sees it; no operation.
    fn size_bytes(&mut self, file: FileHandle) -> Result<u64>;

    // ---- names -----------------------------------------------------------------------------------------------------

    fn mkdir(&mut self, path: &[u8]) -> Result<()>;

    /// Removes a file or an empty directory.
    fn remove(&mut self, path: &[u8]) -> Result<()>;

    /// A target that exists is replaced.
    fn rename(&mut self, old: &[u8], new: &[u8]) -> Result<()>;

    fn stat(&mut self, path: &[u8]) -> Result<PathStat>;

    /// All entries of a directory, in the file system's order, without `.` and `..`.
    fn list(&mut self, path: &[u8]) -> Result<Vec<PathStat>>;

    // ---- the whole file system ---------------------------------------------------------------------------------------

    /// Asking may cost something.
    fn statfs(&mut self) -> Result<StatFs>;

    /// Work that a program may do while it has time. [`Errno::NoSys`]: there is none, which is the default.
    fn collect_garbage(&mut self) -> Result<()> {
        Err(Errno::NoSys)
    }

    /// Counts of the file system's own, always the same names in the same order.
    fn counters(&self) -> Vec<(&'static str, i64)> {
        Vec::new()
    }

    /// Why it gave up for good; `None`: it did not.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Ends the mount. All files are closed by then.
    fn unmount(&mut self) -> Result<()>;
}
