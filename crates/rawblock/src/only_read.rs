//! What all file systems of images do alike: nothing changes them.

use crate::causes;
use crate::{RawBlock, ReadError};
use ffslab_fs::{
    take_turns, DirEntry, Errno, FileSystem, Host, Ino, NewNode, PagesAhead, Result, SetAttr, Stat, StatFs, WritePlan,
};
use ffslab_sim::{Sim, Task};
use ffslab_ubi::Ubi;
use thiserror::Error;

/// `MAX_LFS_FILESIZE`.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;
/// `NAME_MAX`; an image may hold longer names.
const NAME_BYTES_MAX: usize = 255;

/// Why a device cannot be mounted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MountError {
    #[error("no {fs} begins on {device}: `image` names one that {maker} made, or the step `load` puts it there")]
    NoSuperblock { fs: &'static str, maker: &'static str, device: &'static str },
    /// The kernel does not know what the image says that it needs.
    #[error("{0}")]
    Unknown(String),
    #[error(
        "the image has {image_bytes} B, and {device} {device_bytes} B: the image is cut off, or the partition too small"
    )]
    TooLarge { image_bytes: u64, device: &'static str, device_bytes: u64 },
    #[error("{0}")]
    Damaged(String),
    #[error(transparent)]
    Device(#[from] ReadError),
}

impl MountError {
    /// Of an image that begins, and cannot be read on. `damage`: what is wrong, if that is why.
    pub fn of(errno: Errno, damage: Option<String>) -> MountError {
        match errno {
            Errno::PowerCut => MountError::Device(ReadError::PowerCut),
            errno => MountError::Damaged(damage.unwrap_or_else(|| errno.to_string())),
        }
    }

    /// Errors: the device ends before the image that begins on it.
    pub fn check_size(device: &RawBlock, image_bytes: u64) -> std::result::Result<(), MountError> {
        let device_bytes = device.size_bytes();
        if image_bytes > device_bytes {
            return Err(MountError::TooLarge { image_bytes, device: device.name(), device_bytes });
        }
        Ok(())
    }
}

/// An image as it is read. The conventions are those of [`FileSystem`].
pub trait Image {
    fn name(&self) -> &'static str;
    fn sim(&self) -> &Sim;
    fn root(&self) -> Ino;
    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino>;
    fn readdir(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()>;
    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>>;
    fn getattr(&mut self, ino: Ino) -> Result<Stat>;
    /// Returns whether other pages were read beside it, which [`Image::insert_read_pages`] puts into the page cache.
    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<bool>;
    fn insert_read_pages(&mut self, host: &mut dyn Host);
    /// Pages that stay unread are read when they are asked for, and that says what is wrong.
    fn read_ahead(&mut self, ino: Ino, window: &mut dyn PagesAhead);
    fn statfs(&self) -> StatFs;
    fn take_damage(&mut self) -> Option<String>;
    /// Inodes that nobody uses leave memory, and what is in caches of its own.
    fn forget(&mut self, in_use: &dyn Fn(Ino) -> bool);
    fn evict(&mut self, ino: Ino);
}

/// A mounted image.
pub struct OnlyRead<I> {
    image: I,
    /// What the device stands on, whose thread works on beside it.
    ubi: Option<Ubi>,
}

impl<I: Image> OnlyRead<I> {
    pub fn new(image: I, ubi: Option<Ubi>) -> OnlyRead<I> {
        OnlyRead { image, ubi }
    }

    /// Does `f` because names are looked for.
    fn for_names<T>(&mut self, f: impl FnOnce(&mut I) -> Result<T>) -> Result<T> {
        let sim = self.image.sim().clone();
        let _why = sim.because(&causes::NAME_LOOKUP);
        f(&mut self.image)
    }
}

impl<I: Image> FileSystem for OnlyRead<I> {
    fn name(&self) -> &'static str {
        self.image.name()
    }

    fn sim(&self) -> &Sim {
        self.image.sim()
    }

    fn root(&self) -> Ino {
        self.image.root()
    }

    fn name_bytes_max(&self) -> usize {
        NAME_BYTES_MAX
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX
    }

    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        self.for_names(|image| image.lookup(dir, name))
    }

    fn create(&mut self, _host: &mut dyn Host, _dir: Ino, _name: &[u8], _node: &NewNode) -> Result<Ino> {
        Err(Errno::RoFs)
    }

    fn link(&mut self, _host: &mut dyn Host, _ino: Ino, _dir: Ino, _name: &[u8]) -> Result<()> {
        Err(Errno::RoFs)
    }

    fn unlink(&mut self, _host: &mut dyn Host, _dir: Ino, _name: &[u8]) -> Result<()> {
        Err(Errno::RoFs)
    }

    fn rmdir(&mut self, _host: &mut dyn Host, _dir: Ino, _name: &[u8]) -> Result<()> {
        Err(Errno::RoFs)
    }

    fn rename(&mut self, _host: &mut dyn Host, _from: Ino, _name: &[u8], _to: Ino, _new_name: &[u8]) -> Result<()> {
        Err(Errno::RoFs)
    }

    fn readdir(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        self.for_names(|image| image.readdir(dir, emit))
    }

    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>> {
        self.image.readlink(ino)
    }

    fn getattr(&mut self, ino: Ino) -> Result<Stat> {
        self.image.getattr(ino)
    }

    fn setattr(&mut self, _host: &mut dyn Host, _ino: Ino, _change: &SetAttr) -> Result<()> {
        Err(Errno::RoFs)
    }

    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()> {
        self.image.read_page(ino, index, page).map(drop)
    }

    fn read_folio(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<bool> {
        self.image.read_page(ino, index, page)
    }

    fn insert_read_pages(&mut self, host: &mut dyn Host) {
        self.image.insert_read_pages(host);
    }

    fn reads_ahead(&self) -> bool {
        true
    }

    fn read_ahead(&mut self, ino: Ino, window: &mut dyn PagesAhead) {
        self.image.read_ahead(ino, window);
    }

    fn write_begin(&mut self, _: &mut dyn Host, _: Ino, _at: u64, _bytes: usize, _cached: bool) -> Result<WritePlan> {
        Err(Errno::RoFs)
    }

    fn write_end(&mut self, _host: &mut dyn Host, _ino: Ino, _at: u64, _bytes: usize) -> Result<usize> {
        Err(Errno::RoFs)
    }

    /// `generic_file_readonly_mmap`.
    fn maps_shared_writable(&self) -> bool {
        false
    }

    fn fsync(&mut self, _host: &mut dyn Host, _ino: Ino, _data_only: bool) -> Result<()> {
        Err(Errno::Inval)
    }

    fn sync(&mut self, _host: &mut dyn Host) -> Result<()> {
        Ok(())
    }

    fn statfs(&mut self) -> StatFs {
        self.image.statfs()
    }

    fn take_damage(&mut self) -> Option<String> {
        self.image.take_damage()
    }

    fn evict(&mut self, _host: &mut dyn Host, ino: Ino) -> Result<()> {
        self.image.evict(ino);
        Ok(())
    }

    fn drop_inodes(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        self.image.forget(in_use);
    }

    fn run_task(&mut self, host: &mut dyn Host, task: &'static Task) {
        match self.ubi.clone().filter(|_| task == &causes::UBI_THREAD) {
            Some(ubi) => while ubi.run_task() && !take_turns(self, host) {},
            None => self.sim().block(task),
        }
    }

    fn resched(&mut self, host: &mut dyn Host) {
        take_turns(self, host);
    }

    fn is_read_only(&self) -> bool {
        true
    }

    /// It stays read-only, whatever is asked for (`squashfs_reconfigure`, `erofs_fc_reconfigure`).
    fn remount(&mut self, _host: &mut dyn Host, _read_only: bool) -> Result<()> {
        Ok(())
    }

    fn unmount(&mut self, _host: &mut dyn Host) -> Result<()> {
        Ok(())
    }
}
