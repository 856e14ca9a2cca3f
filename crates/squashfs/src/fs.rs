//! squashfs as a system above calls it.

use crate::blocks::Blocks;
use crate::content::Taken;
use crate::files::Files;
use crate::inode::Is;
use crate::meta_index::MetaIndex;
use crate::windows::Windows;
use ffslab_fs::{DirEntry, Errno, Host, Ino, PagesAhead, Result, Stat, StatFs};
use ffslab_rawblock::{causes, Image, MountError, OnlyRead, RawBlock};
use ffslab_sim::Sim;
use ffslab_ubi::Ubi;

/// A mounted image.
pub struct Squashfs {
    files: Files,
    index: MetaIndex,
    /// The block that the last [`Image::read_page`] has read.
    taken: Option<Taken>,
}

impl Squashfs {
    /// Reads superblock, the lists of its tables and the root.
    pub fn mount(
        device: RawBlock,
        ubi: Option<Ubi>,
        sim: Sim,
        windows: Windows,
    ) -> std::result::Result<OnlyRead<Squashfs>, MountError> {
        causes::register(&sim);
        let _why = sim.because(&causes::MOUNT_SCAN);
        let missing = MountError::NoSuperblock { fs: "squashfs", maker: "mksquashfs", device: device.name() };
        let blocks = Blocks::open(sim.clone(), device.clone(), windows)?.ok_or(missing)?;
        let superblock = blocks.superblock;
        if !superblock.compressor.is_of_linux() {
            let name = superblock.compressor.name();
            return Err(MountError::Unknown(format!(
                "it is compressed with {name}, which no Linux since 2.6.38 reads: mksquashfs -comp gzip, xz, lzo, lz4 or zstd"
            )));
        }
        MountError::check_size(&device, superblock.used_bytes)?;
        let files = Files::open(blocks).map_err(|(errno, damage)| MountError::of(errno, damage))?;
        Ok(OnlyRead::new(Squashfs { files, index: MetaIndex::default(), taken: None }, ubi))
    }
}

impl Image for Squashfs {
    fn name(&self) -> &'static str {
        "squashfs"
    }

    fn sim(&self) -> &Sim {
        &self.files.blocks.sim
    }

    fn root(&self) -> Ino {
        self.files.root
    }

    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        self.files.look_up(dir, name)
    }

    fn readdir(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        self.files.list(dir, emit)
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

    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<bool> {
        self.taken = self.files.read_page(&mut self.index, ino, index, page)?;
        Ok(self.taken.is_some())
    }

    fn insert_read_pages(&mut self, host: &mut dyn Host) {
        if let Some(taken) = self.taken.take() {
            taken.insert(host);
        }
    }

    fn read_ahead(&mut self, ino: Ino, window: &mut dyn PagesAhead) {
        let _unread = self.files.read_ahead(&mut self.index, ino, window);
    }

    fn statfs(&self) -> StatFs {
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

    fn forget(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        let root = self.files.root;
        self.files.nodes.retain(|&ino, _| ino == root || in_use(ino));
    }

    fn evict(&mut self, ino: Ino) {
        self.files.nodes.remove(&ino);
    }
}
