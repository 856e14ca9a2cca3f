//! RFS, the RTEMS file system: groups with bitmaps and inode tables, block maps of up to two levels, packed directories.
//!
//! Follows `cpukit/libfs/src/rfs` of RTEMS cf811a4eb2. The on-disk format is in the crate's README. [`Quirks`] says whether
//! the bugs of that age are there.

mod bitmap;
mod dir;
mod file;
mod format;
mod fs;
mod handle;
mod hash;
mod inode;
mod layout;
mod map;
mod names;
mod quirks;
mod store;

pub use format::{format, FormatOptions};
pub use handle::HELD_BUFFERS_MAX;
pub use hash::name_hash;
pub use layout::Layout;

use crate::bdbuf::{Bdbuf, DiskId};
use crate::Quirks;
use ffslab_fs::Errno;
use file::{File, Shared};
use handle::{Handle, Held};
use inode::Inode;
use layout::ROOT_INO;
use store::Store;

/// Mount options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// "hold-bitmaps": bitmaps keep their buffers.
    pub hold_bitmaps: bool,
    /// "no-local-cache": released buffers go back to the cache at once.
    pub no_local_cache: bool,
    /// "max-held-bufs=N".
    pub held_buffers_max_count: usize,
    pub quirks: Quirks,
}

impl Default for MountOptions {
    fn default() -> Self {
        Self {
            hold_bitmaps: false,
            no_local_cache: false,
            held_buffers_max_count: HELD_BUFFERS_MAX,
            quirks: Quirks::default(),
        }
    }
}

impl MountOptions {
    /// From the text that `mount` passes ("hold-bitmaps,max-held-bufs=3"). EINVAL for what is not known.
    pub fn parse(text: &str) -> Result<MountOptions, Errno> {
        let mut options = MountOptions::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                None if word == "hold-bitmaps" => options.hold_bitmaps = true,
                None if word == "no-local-cache" => options.no_local_cache = true,
                Some(("max-held-bufs", count)) => {
                    options.held_buffers_max_count = count.parse().map_err(|_| Errno::Inval)?;
                }
                _ => return Err(Errno::Inval),
            }
        }
        Ok(options)
    }
}

/// A mounted RFS.
pub struct Rfs {
    store: Store,
    shares: Vec<Option<Shared>>,
    files: Vec<Option<File>>,
    /// The inodes at which path evaluations stand, the innermost last.
    paths: Vec<Inode>,
}

impl Rfs {
    /// Mounts: superblock, block size, both bitmaps of every group, root inode. EIO when it is no RFS.
    pub fn mount(cache: &mut Bdbuf, disk: DiskId, options: &MountOptions) -> Result<Rfs, Errno> {
        Rfs::open(cache, disk, options, false)
    }

    /// `rtems_rfs_fs_open`. `any_root`: the root directory need not be there yet.
    fn open(cache: &mut Bdbuf, disk: DiskId, options: &MountOptions, any_root: bool) -> Result<Rfs, Errno> {
        let fixed = options.quirks == Quirks::Fixed;
        let mut held = Held::new(disk, options.no_local_cache, options.held_buffers_max_count, fixed);
        let geometry = cache.geometry(disk);
        let media_bytes = u64::from(geometry.media_blocks) * u64::from(geometry.media_block_bytes);
        let mut handle = Handle::default();
        held.request(cache, &mut handle, 0, true)?;
        let layout = Layout::read(handle.data(cache), media_bytes);
        held.close(cache, &mut handle);
        let layout = match layout {
            Ok(layout) => layout,
            Err(error) => {
                held.set_block_size(cache, geometry.media_block_bytes)?;
                return Err(error);
            }
        };
        let store =
            Store { layout, held, groups: Vec::new(), hold_bitmaps: options.hold_bitmaps, quirks: options.quirks };
        let mut rfs = Rfs { store, shares: Vec::new(), files: Vec::new(), paths: Vec::new() };
        let opened = rfs.open_rest(cache, any_root);
        if let Err(error) = opened {
            let _ = rfs.close(cache);
            return Err(error);
        }
        rfs.store.held.release_all(cache);
        Ok(rfs)
    }

    fn open_rest(&mut self, cache: &mut Bdbuf, any_root: bool) -> Result<(), Errno> {
        let store = &mut self.store;
        store.held.set_block_size(cache, store.layout.block_bytes)?;
        store.open_groups(cache)?;
        let mut root = store.inode_open(cache, ROOT_INO)?;
        let mode = root.mode(cache);
        let good = any_root || (mode != 0xffff && root.is_directory(cache));
        store.inode_close(cache, &mut root)?;
        if good {
            Ok(())
        } else {
            Err(Errno::Io)
        }
    }

    /// `rtems_rfs_fs_close`: everything goes to the device, whose block size is its own again.
    fn close(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        self.store.close_groups(cache);
        let media_block_bytes = cache.geometry(self.store.held.disk).media_block_bytes;
        self.store.held.set_block_size(cache, media_block_bytes)
    }

    pub fn layout(&self) -> Layout {
        self.store.layout
    }
}
