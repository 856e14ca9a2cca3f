//! EROFS as a system above calls it.

use crate::files::Files;
use crate::superblock::{Superblock, BLOCK_BYTES, FEATURES_OF_5_10};
use crate::windows::Windows;
use ffslab_fs::{DirEntry, Errno, FileKind, Host, Ino, PagesAhead, Result, Stat, StatFs};
use ffslab_rawblock::{causes, Image, MountError, OnlyRead, RawBlock, Wrong};
use ffslab_sim::Sim;
use ffslab_ubi::Ubi;

/// A mounted image.
pub struct Erofs {
    files: Files,
    /// Pages that came with the one that [`Image::read_page`] has read last.
    beside: (Ino, Vec<(u64, Vec<u8>)>),
}

impl Erofs {
    /// Reads the superblock, the root and the inode of fragments.
    pub fn mount(
        device: RawBlock,
        ubi: Option<Ubi>,
        sim: Sim,
        windows: Windows,
    ) -> std::result::Result<OnlyRead<Erofs>, MountError> {
        causes::register(&sim);
        let _why = sim.because(&causes::MOUNT_SCAN);
        let missing = MountError::NoSuperblock { fs: "EROFS", maker: "mkfs.erofs", device: device.name() };
        if device.size_bytes() < BLOCK_BYTES {
            return Err(missing);
        }
        let mut head = vec![0; BLOCK_BYTES as usize];
        device.read(0, &mut head)?;
        let superblock = Superblock::read(&head).ok_or(missing)?.map_err(MountError::Unknown)?;
        if let (Windows::V5_10, unknown @ 1..) = (windows, superblock.flags & !FEATURES_OF_5_10) {
            return Err(MountError::Unknown(format!("it needs features that Linux 5.10 has not (bits {unknown:#x})")));
        }
        MountError::check_size(&device, superblock.bytes())?;
        let files = Files::open(sim, device, superblock, head, windows);
        let files = files.map_err(|(errno, damage)| MountError::of(errno, damage))?;
        Ok(OnlyRead::new(Erofs { files, beside: (0, Vec::new()) }, ubi))
    }
}

impl Image for Erofs {
    fn name(&self) -> &'static str {
        "erofs"
    }

    fn sim(&self) -> &Sim {
        &self.files.sim
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

    /// One that stands beside its inode is in memory; of others the first page is read.
    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>> {
        let node = self.files.node(ino)?;
        if node.inode.kind != FileKind::Symlink {
            return Err(Errno::Inval);
        }
        if let Some(target) = &node.target {
            return Ok(target.clone());
        }
        if node.inode.bytes >= BLOCK_BYTES {
            return Err(self.files.errno(Wrong::new(node.inode.behind_offset, "a symbolic link that is too long")));
        }
        let page = self.files.own_page(ino, 0)?;
        Ok(page[..node.inode.bytes as usize].to_vec())
    }

    fn getattr(&mut self, ino: Ino) -> Result<Stat> {
        self.files.node(ino).map(|node| node.stat(ino))
    }

    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<bool> {
        self.beside = (ino, self.files.read_page(ino, index, page)?);
        Ok(!self.beside.1.is_empty())
    }

    fn insert_read_pages(&mut self, host: &mut dyn Host) {
        let (ino, pages) = std::mem::take(&mut self.beside);
        for (index, page) in pages {
            host.insert_page(ino, index, &page);
        }
    }

    fn read_ahead(&mut self, ino: Ino, window: &mut dyn PagesAhead) {
        let _unread = self.files.read_ahead(ino, window);
    }

    fn statfs(&self) -> StatFs {
        let superblock = self.files.superblock();
        StatFs {
            block_bytes: BLOCK_BYTES as u32,
            blocks: superblock.blocks_count.into(),
            blocks_free: 0,
            files: u64::MAX,
            files_free: u64::MAX - superblock.inodes_count,
        }
    }

    fn take_damage(&mut self) -> Option<String> {
        self.files.damage.take()
    }

    fn forget(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        self.files.forget(in_use);
    }

    fn evict(&mut self, ino: Ino) {
        self.files.evict(ino);
    }
}
