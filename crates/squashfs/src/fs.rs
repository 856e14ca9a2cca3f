//! squashfs as a system above calls it.

use crate::blocks::Blocks;
use crate::causes;
use crate::content::Taken;
use crate::files::Files;
use crate::inode::Is;
use crate::meta_index::MetaIndex;
use ffslab_fs::{
    take_turns, DirEntry, Errno, FileSystem, Host, Ino, NewNode, PagesAhead, Result, SetAttr, Stat, StatFs, WritePlan,
};
use ffslab_rawblock::{RawBlock, ReadError};
use ffslab_sim::{Sim, Task};
use ffslab_ubi::Ubi;
use thiserror::Error;

/// `MAX_LFS_FILESIZE`.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;
/// `NAME_MAX`; the image may hold names of one byte more.
const NAME_BYTES_MAX: usize = 255;

/// Why a device cannot be mounted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MountError {
    #[error(
        "no squashfs begins on {device}: `image` names one that mksquashfs made, or the step `load` puts it there"
    )]
    NoSuperblock { device: &'static str },
    #[error("its compressor has the {0}")]
    Compressor(String),
    #[error("the image has {image_bytes} B, and the device {device_bytes} B")]
    TooLarge { image_bytes: u64, device_bytes: u64 },
    #[error("{0}")]
    Damaged(String),
    #[error(transparent)]
    Device(#[from] ReadError),
}

/// A mounted image.
pub struct Squashfs {
    files: Files,
    index: MetaIndex,
    /// The block that the last [`FileSystem::read_folio`] has read.
    taken: Option<Taken>,
    /// What the device stands on, whose thread works on beside it.
    ubi: Option<Ubi>,
}

impl Squashfs {
    /// Reads superblock, the lists of its tables and the root.
    pub fn mount(device: RawBlock, ubi: Option<Ubi>, sim: Sim) -> std::result::Result<Squashfs, MountError> {
        causes::register(&sim);
        let _why = sim.because(&causes::MOUNT_SCAN);
        let name = device.name();
        let device_bytes = device.size_bytes();
        let blocks = Blocks::open(sim.clone(), device)?.ok_or(MountError::NoSuperblock { device: name })?;
        let superblock = blocks.superblock;
        if !superblock.compressor.is_of_linux() {
            return Err(MountError::Compressor(superblock.compressor.name()));
        }
        if superblock.used_bytes > device_bytes {
            return Err(MountError::TooLarge { image_bytes: superblock.used_bytes, device_bytes });
        }
        let files = Files::open(blocks).map_err(|(errno, damage)| match errno {
            Errno::PowerCut => MountError::Device(ReadError::PowerCut),
            errno => MountError::Damaged(damage.unwrap_or_else(|| errno.to_string())),
        })?;
        Ok(Squashfs { files, index: MetaIndex::default(), taken: None, ubi })
    }

    /// Does `f` because names are looked for.
    fn for_names<T>(&mut self, f: impl FnOnce(&mut Files) -> Result<T>) -> Result<T> {
        let sim = self.files.blocks.sim.clone();
        let _why = sim.because(&causes::NAME_LOOKUP);
        f(&mut self.files)
    }
}

impl FileSystem for Squashfs {
    fn name(&self) -> &'static str {
        "squashfs"
    }

    fn sim(&self) -> &Sim {
        &self.files.blocks.sim
    }

    fn root(&self) -> Ino {
        self.files.root
    }

    fn name_bytes_max(&self) -> usize {
        NAME_BYTES_MAX
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX
    }

    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        self.for_names(|files| files.look_up(dir, name))
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
        self.for_names(|files| files.list(dir, emit))
    }

    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>> {
        match &self.files.node(ino)?.inode.is {
            Is::Symlink(target) => Ok(target.clone()),
            _ => Err(Errno::Inval),
        }
    }

    fn getattr(&mut self, ino: Ino) -> Result<Stat> {
        self.files.node(ino).map(|node| node.stat())
    }

    fn setattr(&mut self, _host: &mut dyn Host, _ino: Ino, _change: &SetAttr) -> Result<()> {
        Err(Errno::RoFs)
    }

    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()> {
        self.files.read_page(&mut self.index, ino, index, page).map(drop)
    }

    fn read_folio(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<bool> {
        self.taken = self.files.read_page(&mut self.index, ino, index, page)?;
        Ok(self.taken.is_some())
    }

    fn insert_read_pages(&mut self, host: &mut dyn Host) {
        if let Some(taken) = self.taken.take() {
            taken.insert(host);
        }
    }

    fn reads_ahead(&self) -> bool {
        true
    }

    fn read_ahead(&mut self, ino: Ino, window: &mut dyn PagesAhead) {
        // Pages that stay unread are read when they are asked for, and that says what is wrong.
        let _unread = self.files.read_ahead(&mut self.index, ino, window);
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
        let superblock = &self.files.blocks.superblock;
        StatFs {
            block_bytes: superblock.block_bytes,
            blocks: superblock.used_bytes.div_ceil(superblock.block_bytes.into()),
            blocks_free: 0,
            files: superblock.inodes_count.into(),
            files_free: 0,
        }
    }

    fn take_damage(&mut self) -> Option<String> {
        self.files.blocks.damage.take()
    }

    fn evict(&mut self, _host: &mut dyn Host, ino: Ino) -> Result<()> {
        self.files.nodes.remove(&ino);
        Ok(())
    }

    fn drop_inodes(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        let root = self.files.root;
        self.files.nodes.retain(|&ino, _| ino == root || in_use(ino));
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

    /// It stays read-only, whatever is asked for (`squashfs_reconfigure`).
    fn remount(&mut self, _host: &mut dyn Host, _read_only: bool) -> Result<()> {
        Ok(())
    }

    fn unmount(&mut self, _host: &mut dyn Host) -> Result<()> {
        Ok(())
    }
}
