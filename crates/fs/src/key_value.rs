//! The seam for stores of keys and values, which have no files: sequential-storage, ekv, TicKV.

use crate::{Errno, FileHandle, OpenHow, PathFileSystem, PathStat, Result, StatFs};
use ffslab_sim::Sim;

/// A key, and how many bytes its value has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    pub key: Vec<u8>,
    pub value_bytes: u64,
}

/// A mounted store of keys and values.
///
/// Conventions:
/// * A call that has returned is done: nothing waits in memory.
/// * After [`Errno::PowerCut`] the medium is dead: drop the store, switch the medium on again and mount anew. Dropping writes
///   nothing.
pub trait KeyValueStore {
    /// "sequential-storage" ...
    fn name(&self) -> &'static str;

    fn sim(&self) -> &Sim;

    /// Longest key, in bytes.
    fn key_bytes_max(&self) -> usize;

    /// Largest value, in bytes, of a key of the longest kind.
    fn value_bytes_max(&self) -> usize;

    /// Gives a key this value, whether it had one or not.
    ///
    /// Errors: [`Errno::NoSpc`], [`Errno::NameTooLong`] for the key, [`Errno::TooBig`] for the value.
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// The value of a key.
    ///
    /// Errors: [`Errno::NoEnt`].
    fn get(&mut self, key: &[u8]) -> Result<Vec<u8>>;

    /// Forgets a key.
    ///
    /// Errors: [`Errno::NoEnt`] where the store says so.
    fn delete(&mut self, key: &[u8]) -> Result<()>;

    /// All keys with their values, sorted by key, each handed to `each`; how many flash operations that takes is up to the store.
    ///
    /// Errors: [`Errno::NoSys`]: the store does not know its keys.
    fn iterate(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<()>;

    /// Why it gave up for good; `None`: it did not.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// A store in the place of a file system: it can be mounted, and has no files. Each call about files is [`Errno::NoSys`].
pub struct WithoutFiles(pub Box<dyn KeyValueStore>);

impl PathFileSystem for WithoutFiles {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn sim(&self) -> &Sim {
        self.0.sim()
    }

    fn has_store(&self) -> bool {
        true
    }

    fn store(&mut self) -> Option<&mut dyn KeyValueStore> {
        Some(&mut *self.0)
    }

    fn name_bytes_max(&self) -> usize {
        self.0.key_bytes_max()
    }

    fn file_bytes_max(&self) -> u64 {
        self.0.value_bytes_max() as u64
    }

    fn open(&mut self, _path: &[u8], _how: OpenHow) -> Result<FileHandle> {
        Err(Errno::NoSys)
    }

    fn close(&mut self, _file: FileHandle) -> Result<()> {
        Err(Errno::NoSys)
    }

    fn read_at(&mut self, _file: FileHandle, _at: u64, _into: &mut [u8]) -> Result<usize> {
        Err(Errno::NoSys)
    }

    fn write_at(&mut self, _file: FileHandle, _at: u64, _data: &[u8]) -> Result<usize> {
        Err(Errno::NoSys)
    }

    fn truncate(&mut self, _file: FileHandle, _bytes: u64) -> Result<()> {
        Err(Errno::NoSys)
    }

    fn sync(&mut self, _file: FileHandle) -> Result<()> {
        Err(Errno::NoSys)
    }

    fn size_bytes(&mut self, _file: FileHandle) -> Result<u64> {
        Err(Errno::NoSys)
    }

    fn mkdir(&mut self, _path: &[u8]) -> Result<()> {
        Err(Errno::NoSys)
    }

    fn remove(&mut self, _path: &[u8]) -> Result<()> {
        Err(Errno::NoSys)
    }

    fn rename(&mut self, _old: &[u8], _new: &[u8]) -> Result<()> {
        Err(Errno::NoSys)
    }

    fn stat(&mut self, _path: &[u8]) -> Result<PathStat> {
        Err(Errno::NoSys)
    }

    fn list(&mut self, _path: &[u8]) -> Result<Vec<PathStat>> {
        Err(Errno::NoSys)
    }

    fn statfs(&mut self) -> Result<StatFs> {
        Err(Errno::NoSys)
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn unmount(&mut self) -> Result<()> {
        Ok(())
    }
}
