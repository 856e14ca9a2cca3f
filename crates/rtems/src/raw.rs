//! A block device read and written as a file: `/dev/rda`.
//!
//! Follows `cpukit/libblock/src/blkdev-imfs.c`: block by block through the cache at its present block size; a block that is
//! written whole is not read.

use crate::bdbuf::{Bdbuf, DiskId};
use ffslab_fs::Errno;

pub fn read(cache: &mut Bdbuf, disk: DiskId, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
    let block_bytes = u64::from(cache.geometry(disk).block_bytes);
    let (mut at, mut done) = (offset, 0);
    while done < into.len() {
        let buffer = cache.read(disk, block_of(at, block_bytes)?)?;
        let skip = (at % block_bytes) as usize;
        let count = (block_bytes as usize - skip).min(into.len() - done);
        into[done..done + count].copy_from_slice(&cache.data(buffer)[skip..skip + count]);
        cache.release(buffer);
        at += count as u64;
        done += count;
    }
    Ok(())
}

pub fn write(cache: &mut Bdbuf, disk: DiskId, offset: u64, data: &[u8]) -> Result<(), Errno> {
    let block_bytes = u64::from(cache.geometry(disk).block_bytes);
    let (mut at, mut done) = (offset, 0);
    while done < data.len() {
        let skip = (at % block_bytes) as usize;
        let count = (block_bytes as usize - skip).min(data.len() - done);
        let block = block_of(at, block_bytes)?;
        let buffer = if count as u64 == block_bytes { cache.get(disk, block)? } else { cache.read(disk, block)? };
        cache.data_mut(buffer)[skip..skip + count].copy_from_slice(&data[done..done + count]);
        cache.release_modified(buffer);
        at += count as u64;
        done += count;
    }
    Ok(())
}

fn block_of(offset: u64, block_bytes: u64) -> Result<u32, Errno> {
    u32::try_from(offset / block_bytes).map_err(|_| Errno::Io)
}
