//! Making a file system.
//!
//! Follows `rtems-rfs-format.c`.

use super::bitmap::Bitmap;
use super::handle::{Handle, Held};
use super::layout::{Layout, GROUP_BLOCK_BITMAP, GROUP_INODES, GROUP_INODE_BITMAP, INODE_BYTES, ROOT_INO};
use super::store::Of;
use super::{MountOptions, Rfs};
use crate::bdbuf::{Bdbuf, DiskId};
use crate::libio::S_IFDIR;
use crate::Quirks;
use ffslab_fs::Errno;

/// `rtems_rfs_format_config`; 0 leaves the choice to the formatter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatOptions {
    /// Any multiple of the media block, 1536 too.
    pub block_bytes: u32,
    pub group_blocks: u32,
    /// Inodes per group.
    pub group_inodes: u32,
    /// Share of the disk for inodes.
    pub inode_overhead_percent: u32,
    pub name_max_bytes: u32,
    /// Writes the inode tables, which are otherwise left as they are.
    pub initialise_inodes: bool,
}

const INODE_OVERHEAD_PERCENT: u32 = 1;
const BLOCK_BYTES_MAX: u32 = 4096;

/// `rtems_rfs_rup_quotient`.
fn quotient(dividend: u32, divisor: u32) -> u32 {
    match dividend {
        0 => 1,
        _ => dividend.div_ceil(divisor),
    }
}

/// `rtems_rfs_check_config`.
fn choose(options: &FormatOptions, media_block_bytes: u32, media_blocks: u32) -> Result<Layout, Errno> {
    let media_bytes = u64::from(media_block_bytes) * u64::from(media_blocks);
    let block_bytes = match options.block_bytes {
        0 => {
            // "GIGS" is defined as 2^20 in the original, so a value meant in gibibytes is in mebibytes.
            let megs = media_bytes.checked_add(1 << 20).map_or(0, |sum| sum >> 20).min(u64::from(u32::MAX));
            let power = if media_bytes >= 1 << 20 { 1u64 << megs.max(1).ilog2() } else { 0 };
            (power.min(u64::from(BLOCK_BYTES_MAX)) as u32).max(512)
        }
        bytes => bytes,
    };
    if media_block_bytes == 0 || !block_bytes.is_multiple_of(media_block_bytes) || block_bytes > 1 << 20 {
        return Err(Errno::Inval);
    }
    let bits = block_bytes * 8;
    let group_blocks = if options.group_blocks == 0 { bits } else { options.group_blocks };
    if group_blocks > bits {
        return Err(Errno::Inval);
    }
    let blocks = (media_bytes / u64::from(block_bytes)) as u32;
    let groups_count = quotient(blocks, bits);
    let per_block = block_bytes / INODE_BYTES;
    let group_inodes = match options.group_inodes {
        0 => {
            let percent = match options.inode_overhead_percent {
                0 => INODE_OVERHEAD_PERCENT,
                percent => percent,
            };
            let table_blocks = u64::from(blocks.saturating_sub(1)) * u64::from(percent) / 100;
            quotient(table_blocks as u32, groups_count) * per_block
        }
        inodes => inodes,
    };
    let group_inodes = (quotient(group_inodes, per_block) * per_block).min(bits);
    let name_max_bytes = if options.name_max_bytes == 0 { 512 } else { options.name_max_bytes };
    let layout =
        Layout { blocks, block_bytes, bad_blocks: 0, name_max_bytes, groups_count, group_blocks, group_inodes };
    // A last group that is too short for its bitmaps would be written beyond the end of the device.
    let last = u64::from(layout.group_base(groups_count - 1)) + u64::from(GROUP_INODES);
    if last < u64::from(blocks) {
        Ok(layout)
    } else {
        Err(Errno::Inval)
    }
}

fn write_superblock(held: &mut Held, cache: &mut Bdbuf, layout: &Layout) -> Result<(), Errno> {
    let mut handle = Handle::default();
    held.request(cache, &mut handle, 0, false)?;
    handle.data_mut(cache).fill(0xff);
    for (index, word) in layout.words().into_iter().enumerate() {
        handle.write_u32(cache, index as u32, word);
    }
    held.close(cache, &mut handle);
    Ok(())
}

/// `rtems_rfs_write_group`.
fn write_group(
    held: &mut Held,
    cache: &mut Bdbuf,
    layout: &Layout,
    group: u32,
    initialise_inodes: bool,
) -> Result<(), Errno> {
    let base = layout.group_base(group);
    let size = layout.group_size(group);
    let table_blocks = quotient(layout.group_inodes, layout.inodes_per_block());

    let mut bitmap = Bitmap::open(held, cache, Handle::default(), size, base + GROUP_BLOCK_BITMAP)?;
    bitmap.handle.data_mut(cache).fill(0xff);
    bitmap.free_all(held, cache)?;
    for block in 0..GROUP_INODES + table_blocks {
        // A short last group has fewer blocks than bits, and bits beyond its end cannot be taken.
        match bitmap.take(held, cache, block) {
            Ok(()) | Err(Errno::Inval) => {}
            Err(error) => return Err(error),
        }
    }
    let mut handle = bitmap.handle;
    handle.dirty = true;

    let mut bitmap = Bitmap::open(held, cache, handle, size, base + GROUP_INODE_BITMAP)?;
    bitmap.handle.data_mut(cache).fill(0);
    bitmap.free_all(held, cache)?;
    let mut handle = bitmap.handle;
    handle.dirty = true;

    if initialise_inodes {
        for block in 0..table_blocks {
            held.request(cache, &mut handle, base + GROUP_INODES + block, false)?;
            handle.data_mut(cache).fill(0xff);
            handle.dirty = true;
        }
    }
    held.close(cache, &mut handle);
    Ok(())
}

/// `rtems_rfs_write_root_dir`.
fn write_root(cache: &mut Bdbuf, disk: DiskId) -> Result<(), Errno> {
    let options = MountOptions {
        no_local_cache: true,
        held_buffers_max_count: 0,
        quirks: Quirks::Rtems2018,
        hold_bitmaps: false,
    };
    let mut rfs = Rfs::open(cache, disk, &options, true)?;
    let store = &mut rfs.store;
    let ino = store.allocate(cache, ROOT_INO, Of::Inodes)?;
    if ino != ROOT_INO {
        rfs.close(cache)?;
        return Err(Errno::Inval);
    }
    let mut inode = store.inode_open(cache, ino)?;
    store.inode_initialise(cache, &mut inode, 0, S_IFDIR | 0o711);
    let added = store.dir_add_entry(cache, &mut inode, b".", ino);
    store.inode_close(cache, &mut inode)?;
    rfs.close(cache)?;
    added
}

/// Makes an empty RFS on a device. EINVAL for sizes that do not work.
pub fn format(cache: &mut Bdbuf, disk: DiskId, options: &FormatOptions) -> Result<Layout, Errno> {
    let geometry = cache.geometry(disk);
    let layout = choose(options, geometry.media_block_bytes, geometry.media_blocks)?;
    let mut held = Held::new(disk, true, 0, false);
    held.set_block_size(cache, layout.block_bytes).map_err(|_| Errno::Inval)?;
    write_superblock(&mut held, cache, &layout)?;
    for group in 0..layout.groups_count {
        write_group(&mut held, cache, &layout, group, options.initialise_inodes)?;
    }
    held.set_block_size(cache, geometry.media_block_bytes)?;
    write_root(cache, disk)?;
    Ok(layout)
}
