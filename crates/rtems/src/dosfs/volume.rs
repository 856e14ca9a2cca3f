//! The volume: the one-sector window through which everything is read and written.
//!
//! Follows `fat.c`. The window is a buffer of the cache that stays held between calls. It is known by its *sector*:
//! another sector of the same cache block counts as another. A modified sector of the FAT is copied to the other FATs when
//! the window leaves it.

use super::boot::{le16, le32, BootSector, FatType};
use crate::bdbuf::{Bdbuf, BufferId, DiskId};
use ffslab_fs::Errno;

/// What is not known: a free count, a next free cluster.
pub(super) const UNDEFINED: u32 = u32::MAX;
pub(super) const FREE: u32 = 0;
/// End of a chain, for every FAT type.
pub(super) const END_OF_CHAIN: u32 = u32::MAX;

const FSINFO_FREE_COUNT: u32 = 488;
const FSINFO_NEXT_FREE: u32 = 492;

#[derive(Clone, Copy, Debug)]
struct Window {
    sector: u32,
    buffer: BufferId,
    modified: bool,
}

/// A mounted volume.
pub(super) struct Volume {
    pub disk: DiskId,
    pub boot: BootSector,
    /// Block size in the cache: a cluster if all areas of the volume are aligned to clusters, otherwise a sector.
    pub block_bytes: u32,
    pub free_clusters: u32,
    free_clusters_on_disk: u32,
    /// Where the search for a free cluster starts.
    pub next_cluster: u32,
    next_cluster_on_disk: u32,
    window: Option<Window>,
    /// FAT32 with mirroring off: only the active FAT is written.
    single_fat: bool,
    /// The bugs of 2018 are fixed.
    pub fixed: bool,
    pub clusters: u32,
    sector_shift: u32,
    /// First sector of the active FAT.
    fat_start: u32,
}

impl Volume {
    /// `fat_init_volume_info`.
    pub fn open(cache: &mut Bdbuf, disk: DiskId, fixed: bool) -> Result<Volume, Errno> {
        let geometry = cache.geometry(disk);
        let device_bytes = u64::from(geometry.media_blocks) * u64::from(geometry.media_block_bytes);
        let buffer = cache.read(disk, 0)?;
        let boot = BootSector::read(cache.data(buffer), device_bytes);
        cache.release(buffer);
        let boot = boot?;
        cache.set_block_size(disk, boot.sector_bytes, true).map_err(|_| Errno::Inval)?;
        let single_fat = boot.ext_flags & 0x80 != 0;
        let mut volume = Volume {
            disk,
            boot,
            block_bytes: boot.sector_bytes,
            free_clusters: UNDEFINED,
            free_clusters_on_disk: UNDEFINED,
            next_cluster: UNDEFINED,
            next_cluster_on_disk: UNDEFINED,
            window: None,
            single_fat,
            fixed,
            clusters: boot.clusters(),
            sector_shift: boot.sector_bytes.trailing_zeros(),
            fat_start: boot.reserved_sectors_count,
        };
        if single_fat {
            volume.fat_start += boot.fat_sectors_count * (boot.ext_flags & 0xf).min(boot.fats_count - 1);
        }
        if boot.fat_type == FatType::Fat32 {
            volume.read_info(cache)?;
        }
        let aligned = |sector: u32| sector.is_multiple_of(boot.sectors_per_cluster_count);
        let root_aligned = boot.fat_type == FatType::Fat32 || aligned(boot.root_start());
        if aligned(boot.data_start()) && root_aligned {
            // If no buffer is large enough for a cluster, the block size stays one sector.
            if cache.set_block_size(disk, boot.cluster_bytes(), true).is_ok() {
                volume.block_bytes = boot.cluster_bytes();
            }
        }
        Ok(volume)
    }

    fn read_info(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        let sector = self.boot.info_sector_number;
        let mut lead = [0; 4];
        let mut counts = [0; 12];
        let result = self.read_bytes(cache, sector, 0, &mut lead).and_then(|()| {
            if lead != *b"RRaA" {
                return Err(Errno::Inval);
            }
            self.read_bytes(cache, sector, 484, &mut counts)
        });
        self.release(cache)?;
        result?;
        self.free_clusters = le32(&counts, 4);
        self.free_clusters_on_disk = self.free_clusters;
        self.next_cluster = le32(&counts, 8);
        self.next_cluster_on_disk = self.next_cluster;
        Ok(())
    }

    // ---- geometry ------------------------------------------------------------------------------------------------

    pub fn is_fat32(&self) -> bool {
        self.boot.fat_type == FatType::Fat32
    }

    fn mask(&self) -> u32 {
        match self.boot.fat_type {
            FatType::Fat12 => 0xfff,
            FatType::Fat16 => 0xffff,
            FatType::Fat32 => 0x0fff_ffff,
        }
    }

    /// Whether a FAT entry says that the chain ends.
    pub fn is_end(&self, entry: u32) -> bool {
        entry & self.mask() >= self.mask() & !7
    }

    pub fn root_bytes(&self) -> u32 {
        self.boot.root_sectors() * self.boot.sector_bytes
    }

    /// First sector of a cluster; cluster 0 of FAT12 and FAT16 is the root directory.
    pub fn sector_of(&self, cluster: u32) -> u32 {
        if cluster == 0 && !self.is_fat32() {
            return self.boot.root_start();
        }
        let offset = cluster.wrapping_sub(2).wrapping_mul(self.boot.sectors_per_cluster_count);
        offset.wrapping_add(self.boot.data_start())
    }

    fn sectors_per_block(&self) -> u32 {
        self.block_bytes / self.boot.sector_bytes
    }

    fn in_fat(&self, sector: u32) -> bool {
        (self.boot.reserved_sectors_count..self.boot.root_start()).contains(&sector)
    }

    // ---- the window ----------------------------------------------------------------------------------------------

    /// `fat_buf_access`: moves the window to a sector. Returns the buffer and the sector's offset in it. `whole_block`:
    /// the caller overwrites the whole block, so it is not read.
    pub fn access(&mut self, cache: &mut Bdbuf, sector: u32, whole_block: bool) -> Result<(BufferId, usize), Errno> {
        cache.cpu.spend(1, |costs| costs.dosfs_sector_ps);
        let skip = (sector << self.sector_shift & (self.block_bytes - 1)) as usize;
        if let Some(window) = self.window.filter(|window| window.sector == sector) {
            return Ok((window.buffer, skip));
        }
        self.release(cache)?;
        let block = sector / self.sectors_per_block();
        let buffer = if whole_block { cache.get(self.disk, block)? } else { cache.read(self.disk, block)? };
        self.window = Some(Window { sector, buffer, modified: false });
        Ok((buffer, skip))
    }

    pub fn mark_modified(&mut self) {
        if let Some(window) = &mut self.window {
            window.modified = true;
        }
    }

    /// `fat_buf_release`: gives the window back and copies a modified sector of the FAT to the other FATs.
    pub fn release(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        let Some(window) = self.window.take() else { return Ok(()) };
        if !window.modified {
            cache.release(window.buffer);
            return Ok(());
        }
        let per_block = self.sectors_per_block();
        let bytes = self.boot.sector_bytes as usize;
        let mirrored = self.in_fat(window.sector) && !self.single_fat && self.boot.fats_count > 1;
        let skip_of = |sector: u32| (sector % per_block) as usize * bytes;
        let mut copy = [0; 4096];
        if mirrored {
            let skip = skip_of(window.sector);
            copy[..bytes].copy_from_slice(&cache.data(window.buffer)[skip..skip + bytes]);
        }
        cache.release_modified(window.buffer);
        if mirrored {
            for fat in 1..self.boot.fats_count {
                let sector = window.sector + self.boot.fat_sectors_count * fat;
                let block = sector / per_block;
                let buffer = match per_block {
                    1 => cache.get(self.disk, block)?,
                    _ => cache.read(self.disk, block)?,
                };
                let skip = skip_of(sector);
                cache.data_mut(buffer)[skip..skip + bytes].copy_from_slice(&copy[..bytes]);
                cache.copied_in(buffer, skip, bytes);
                cache.release_modified(buffer);
            }
        }
        Ok(())
    }

    /// `_fat_block_read`: bytes from sectors in a row.
    pub fn read_bytes(&mut self, cache: &mut Bdbuf, sector: u32, offset: u32, into: &mut [u8]) -> Result<(), Errno> {
        let (mut sector, mut offset, mut done) = (sector, offset as usize, 0);
        while done < into.len() {
            let (buffer, skip) = self.access(cache, sector, false)?;
            let count = (self.boot.sector_bytes as usize - offset).min(into.len() - done);
            into[done..done + count].copy_from_slice(&cache.data(buffer)[skip + offset..skip + offset + count]);
            cache.copied_out(buffer, skip + offset, count);
            done += count;
            sector += 1;
            offset = 0;
        }
        Ok(())
    }

    /// `fat_sector_write`: bytes within a sector (and the next ones).
    pub fn write_bytes(&mut self, cache: &mut Bdbuf, sector: u32, offset: u32, data: &[u8]) -> Result<(), Errno> {
        let (mut sector, mut offset, mut done) = (sector, offset as usize, 0);
        while done < data.len() {
            let count = (self.boot.sector_bytes as usize - offset).min(data.len() - done);
            let (buffer, skip) = self.access(cache, sector, count == self.block_bytes as usize)?;
            let target = &mut cache.data_mut(buffer)[skip + offset..skip + offset + count];
            target.copy_from_slice(&data[done..done + count]);
            cache.copied_in(buffer, skip + offset, count);
            self.mark_modified();
            done += count;
            sector += 1;
            offset = 0;
        }
        Ok(())
    }

    /// `fat_cluster_write` and `fat_cluster_set`: bytes of a cluster, cache block by cache block. `None` writes zeros.
    pub fn write_cluster(
        &mut self,
        cache: &mut Bdbuf,
        cluster: u32,
        offset: u32,
        count: u32,
        data: Option<&[u8]>,
    ) -> Result<u32, Errno> {
        let count = count.min(self.boot.cluster_bytes() - offset);
        let first = self.sector_of(cluster) / self.sectors_per_block() + offset / self.block_bytes;
        let (mut block, mut offset, mut done) = (first, offset % self.block_bytes, 0);
        while done < count {
            let part = (self.block_bytes - offset).min(count - done);
            let sector = block * self.sectors_per_block();
            let (buffer, _) = self.access(cache, sector, part == self.block_bytes)?;
            let target = &mut cache.data_mut(buffer)[offset as usize..(offset + part) as usize];
            match data {
                Some(data) => {
                    target.copy_from_slice(&data[done as usize..(done + part) as usize]);
                    cache.copied_in(buffer, offset as usize, part as usize);
                }
                None => {
                    target.fill(0);
                    cache.cleared(buffer, offset as usize, part as usize);
                }
            }
            self.mark_modified();
            done += part;
            block += 1;
            offset = 0;
        }
        Ok(count)
    }

    // ---- FAT entries ---------------------------------------------------------------------------------------------

    #[inline]
    fn entry_place(&self, cluster: u32) -> Result<(u32, usize), Errno> {
        if cluster < 2 || cluster > self.clusters + 1 {
            return Err(Errno::Io);
        }
        let offset = self.boot.fat_offset(cluster);
        let within = offset & (self.boot.sector_bytes - 1);
        Ok((self.fat_start + (offset >> self.sector_shift), within as usize))
    }

    /// `fat_get_fat_cluster`.
    pub fn next_of(&mut self, cache: &mut Bdbuf, cluster: u32) -> Result<u32, Errno> {
        let (sector, offset) = self.entry_place(cluster)?;
        let (buffer, skip) = self.access(cache, sector, false)?;
        let at = skip + offset;
        match self.boot.fat_type {
            FatType::Fat16 => Ok(u32::from(le16(cache.data(buffer), at))),
            FatType::Fat32 => Ok(le32(cache.data(buffer), at)),
            FatType::Fat12 => {
                let low = u32::from(cache.data(buffer)[at]);
                let high = if offset == self.boot.sector_bytes as usize - 1 {
                    let (buffer, skip) = self.access(cache, sector + 1, false)?;
                    u32::from(cache.data(buffer)[skip])
                } else {
                    u32::from(cache.data(buffer)[at + 1])
                };
                let entry = low | high << 8;
                Ok(if cluster & 1 == 1 { entry >> 4 } else { entry & 0xfff })
            }
        }
    }

    /// Follows a chain for so many steps. Entries in the sector of the window cost no call into the cache, so they are
    /// read together.
    pub fn follow(&mut self, cache: &mut Bdbuf, cluster: u32, steps: u32) -> Result<u32, Errno> {
        let (mut cluster, mut left) = (cluster, steps);
        while left > 0 {
            cluster = self.next_of(cache, cluster)?;
            left -= 1;
            let (Some(window), false) = (self.window, self.boot.fat_type == FatType::Fat12) else { continue };
            let data = cache.data(window.buffer);
            let skip = (window.sector << self.sector_shift & (self.block_bytes - 1)) as usize;
            let before = left;
            while left > 0 {
                let (sector, offset) = self.entry_place(cluster)?;
                if sector != window.sector {
                    break;
                }
                cluster = match self.boot.fat_type {
                    FatType::Fat16 => u32::from(le16(data, skip + offset)),
                    _ => le32(data, skip + offset),
                };
                left -= 1;
            }
            cache.cpu.spend(u64::from(before - left), |costs| costs.dosfs_sector_ps);
        }
        Ok(cluster)
    }

    /// `fat_set_fat_cluster`.
    pub fn set_next_of(&mut self, cache: &mut Bdbuf, cluster: u32, value: u32) -> Result<(), Errno> {
        let (sector, offset) = self.entry_place(cluster)?;
        let (buffer, skip) = self.access(cache, sector, false)?;
        let at = skip + offset;
        let data = cache.data_mut(buffer);
        match self.boot.fat_type {
            FatType::Fat16 => data[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes()),
            FatType::Fat32 => {
                let kept = le32(data, at) & 0xf000_0000;
                data[at..at + 4].copy_from_slice(&(kept | value & 0x0fff_ffff).to_le_bytes());
            }
            FatType::Fat12 => {
                let odd = cluster & 1 == 1;
                let [low, high] = (if odd { (value as u16) << 4 } else { value as u16 & 0xfff }).to_le_bytes();
                data[at] = if odd { data[at] & 0x0f | low & 0xf0 } else { low };
                self.mark_modified();
                let (buffer, at) = if offset == self.boot.sector_bytes as usize - 1 {
                    self.access(cache, sector + 1, false)?
                } else {
                    (buffer, at + 1)
                };
                let second = &mut cache.data_mut(buffer)[at];
                *second = if odd { high } else { *second & 0xf0 | high };
            }
        }
        self.mark_modified();
        Ok(())
    }

    /// `fat_scan_fat_for_free_clusters`: allocates up to `count` clusters as a chain. Gives first and last and how many.
    pub fn allocate(&mut self, cache: &mut Bdbuf, count: u32, zero: bool) -> Result<(u32, u32, u32), Errno> {
        let end = self.clusters + 2;
        let mut cluster = if (2..end).contains(&self.next_cluster) { self.next_cluster } else { 2 };
        let (mut first, mut last, mut added) = (UNDEFINED, UNDEFINED, 0);
        for _ in 2..end {
            if added == count {
                break;
            }
            let taken = self.take_if_free(cache, cluster, last, zero);
            match taken {
                Ok(true) => {
                    if added == 0 {
                        first = cluster;
                    }
                    last = cluster;
                    added += 1;
                }
                Ok(false) => {}
                Err(error) => {
                    if added > 0 {
                        let _ = self.free_chain(cache, first);
                    }
                    return Err(error);
                }
            }
            cluster = if cluster + 1 >= end { 2 } else { cluster + 1 };
        }
        self.next_cluster = last;
        if self.free_clusters != UNDEFINED {
            self.free_clusters = self.free_clusters.saturating_sub(added);
        }
        self.release(cache)?;
        Ok((first, last, added))
    }

    /// Allocates a cluster if it is free, and links it behind the cluster `before`.
    fn take_if_free(&mut self, cache: &mut Bdbuf, cluster: u32, before: u32, zero: bool) -> Result<bool, Errno> {
        // The original compares the whole word; the upper four bits of FAT32 are not part of the entry.
        if self.next_of(cache, cluster)? & self.mask() != FREE {
            return Ok(false);
        }
        self.set_next_of(cache, cluster, END_OF_CHAIN)?;
        if before != UNDEFINED {
            self.set_next_of(cache, before, cluster)?;
        }
        if zero {
            self.write_cluster(cache, cluster, 0, self.boot.cluster_bytes(), None)?;
        }
        Ok(true)
    }

    /// `fat_free_fat_clusters_chain`.
    pub fn free_chain(&mut self, cache: &mut Bdbuf, chain: u32) -> Result<(), Errno> {
        let mut cluster = chain;
        let mut freed = 0;
        let mut result = Ok(());
        // If the chain runs in a circle, the walk meets a cluster that it has freed itself; the number of clusters
        // bounds it in any case.
        while !self.is_end(cluster) && freed <= self.clusters {
            let next = match self.next_of(cache, cluster) {
                Ok(next) => next,
                Err(error) => {
                    self.count_freed(freed);
                    self.release(cache)?;
                    return Err(error);
                }
            };
            result = result.and(self.set_next_of(cache, cluster, FREE));
            freed += 1;
            cluster = next;
        }
        self.next_cluster = chain;
        self.count_freed(freed);
        self.release(cache)?;
        result
    }

    fn count_freed(&mut self, freed: u32) {
        if self.free_clusters != UNDEFINED {
            self.free_clusters += freed;
        }
    }

    // ---- the end ---------------------------------------------------------------------------------------------------

    /// `fat_sync`: writes the FSInfo sector, releases the window and synchronises the device.
    pub fn sync(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        let mut result = Ok(());
        if self.is_fat32() {
            let sector = self.boot.info_sector_number;
            if self.free_clusters != self.free_clusters_on_disk {
                self.free_clusters_on_disk = self.free_clusters;
                let count = self.free_clusters.to_le_bytes();
                result = result.and(self.write_bytes(cache, sector, FSINFO_FREE_COUNT, &count));
            }
            if self.next_cluster != self.next_cluster_on_disk {
                self.next_cluster_on_disk = self.next_cluster;
                let next = self.next_cluster.to_le_bytes();
                result = result.and(self.write_bytes(cache, sector, FSINFO_NEXT_FREE, &next));
            }
        }
        let released = self.release(cache);
        let synced = cache.syncdev(self.disk).map_err(Errno::from);
        result.and(released).and(synced)
    }
}
