//! Files: finding the cluster of a position, reading, writing, growing, truncating.
//!
//! Follows `fat_file.c`. A file remembers one pair of file cluster and disk cluster, and its last cluster; a step forward
//! walks the FAT from the pair, a step backward from the first cluster.

use super::boot::le32;
use super::volume::{Volume, END_OF_CHAIN, UNDEFINED};
use super::Dosfs;
use crate::bdbuf::Bdbuf;
use ffslab_fs::Errno;

/// A position in a directory: cluster (0: the root of FAT12 and FAT16), offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pos {
    pub cluster: u32,
    pub offset: u32,
}

impl Pos {
    /// "There is none": a name without long entries.
    pub const NONE: Pos = Pos { cluster: u32::MAX, offset: u32::MAX };
    /// Stands for the root directory, which has no entry (`FAT_ROOTDIR_CLUSTER_NUM`).
    pub const ROOT: Pos = Pos { cluster: 1, offset: 0 };
}

/// Where a file's entries are: the short one, and the first long one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirPos {
    pub short: Pos,
    pub long: Pos,
}

impl DirPos {
    pub const ROOT: DirPos = DirPos { short: Pos::ROOT, long: Pos::NONE };
}

#[derive(Clone, Copy, Debug)]
struct Walked {
    file_cluster: u32,
    disk_cluster: u32,
    last_cluster: u32,
}

/// An open file or directory (`fat_file_fd_t`).
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub links: u32,
    pub ino: u32,
    pub is_directory: bool,
    pub size_limit: u32,
    pub size: u32,
    pub cluster: u32,
    pub dir_pos: DirPos,
    pub removed: bool,
    /// Size, first cluster or times differ from the directory entry. In 2018 the flag is never reset.
    changed: bool,
    walked: Walked,
    pub ctime_s: u32,
    pub mtime_s: u32,
}

impl File {
    pub fn is_root(&self) -> bool {
        self.dir_pos.short == Pos::ROOT
    }

    /// Sets the remembered pair to the file's first cluster; the last cluster is remembered if it is known.
    pub fn reset_walk(&mut self, last_cluster: Option<u32>) {
        let last_cluster = last_cluster.unwrap_or(UNDEFINED);
        self.walked = Walked { file_cluster: 0, disk_cluster: self.cluster, last_cluster };
    }

    pub fn set_first_cluster(&mut self, cluster: u32) {
        self.cluster = cluster;
        self.changed = true;
    }

    pub fn set_size(&mut self, size: u32) {
        self.size = size;
        self.changed = true;
    }

    pub fn set_mtime(&mut self, now_s: u32) {
        self.mtime_s = now_s;
        self.changed = true;
    }

    pub fn set_times(&mut self, now_s: u32) {
        self.ctime_s = now_s;
        self.set_mtime(now_s);
    }
}

impl Volume {
    /// The number of a directory entry, which is made of its place on the disk (`fat_construct_key`).
    pub fn key(&self, pos: Pos) -> u32 {
        let sector = if pos.cluster == 1 { 1 } else { self.sector_of(pos.cluster) * (self.boot.sector_bytes / 512) };
        (sector.wrapping_add(pos.offset >> 9) << 4).wrapping_add((pos.offset >> 5) & 15)
    }

    /// The first inode number that cannot be the place of an entry. From here on numbers are given to files whose place
    /// is taken.
    pub fn unique_ino_base(&self) -> u32 {
        (self.boot.sectors_count * (self.boot.sector_bytes / 512)) << 4
    }

    fn is_fixed_root(&self, file: &File) -> bool {
        file.is_root() && !self.is_fat32()
    }

    /// `fat_file_lseek`: finds the cluster on disk for a cluster of the file.
    fn walk(&mut self, cache: &mut Bdbuf, file: &mut File, file_cluster: u32) -> Result<u32, Errno> {
        let walked = file.walked;
        if file_cluster == walked.file_cluster {
            return Ok(walked.disk_cluster);
        }
        let (from, steps) = if file_cluster > walked.file_cluster {
            (walked.disk_cluster, file_cluster - walked.file_cluster)
        } else {
            (file.cluster, file_cluster)
        };
        let cluster = self.follow(cache, from, steps)?;
        file.walked.file_cluster = file_cluster;
        file.walked.disk_cluster = cluster;
        Ok(cluster)
    }

    /// `fat_file_ioctl(F_CLU_NUM)`: the cluster of a position in the file.
    pub fn cluster_at(&mut self, cache: &mut Bdbuf, file: &mut File, offset: u32) -> Result<u32, Errno> {
        if offset >= file.size {
            return Err(Errno::Io);
        }
        if self.is_fixed_root(file) {
            return Ok(0);
        }
        self.walk(cache, file, offset / self.boot.cluster_bytes())
    }

    /// `fat_file_size`: determines the size of a directory by following its chain of clusters.
    pub fn measure(&mut self, cache: &mut Bdbuf, file: &mut File) -> Result<(), Errno> {
        if self.is_fixed_root(file) {
            file.size = self.root_bytes();
            return Ok(());
        }
        file.size = 0;
        let (mut cluster, mut last) = (file.cluster, 0);
        while !self.is_end(cluster) {
            if file.size / self.boot.cluster_bytes() > self.clusters {
                // The chain is longer than the volume has clusters, so it runs in a circle.
                return Err(Errno::Io);
            }
            last = cluster;
            cluster = self.next_of(cache, cluster)?;
            file.size = file.size.saturating_add(self.boot.cluster_bytes());
        }
        file.walked.last_cluster = last;
        Ok(())
    }

    /// `fat_file_read`. After each piece of a cluster the next FAT entry is fetched, also after the last.
    pub fn read_file(
        &mut self,
        cache: &mut Bdbuf,
        file: &mut File,
        start: u32,
        into: &mut [u8],
    ) -> Result<usize, Errno> {
        if into.is_empty() || start >= file.size {
            return Ok(0);
        }
        let count = into.len().min((file.size - start) as usize);
        let sector_bytes = self.boot.sector_bytes;
        if self.is_fixed_root(file) {
            let sector = self.sector_of(0) + start / sector_bytes;
            self.read_bytes(cache, sector, start % sector_bytes, &mut into[..count])?;
            return Ok(count);
        }
        let cluster_bytes = self.boot.cluster_bytes();
        let mut offset = start % cluster_bytes;
        let mut cluster = self.walk(cache, file, start / cluster_bytes)?;
        let (mut last, mut done) = (cluster, 0);
        while done < count {
            let part = ((cluster_bytes - offset) as usize).min(count - done);
            let sector = self.sector_of(cluster) + offset / sector_bytes;
            self.read_bytes(cache, sector, offset % sector_bytes, &mut into[done..done + part])?;
            done += part;
            last = cluster;
            cluster = self.next_of(cache, cluster)?;
            offset = 0;
        }
        file.walked.file_cluster = (start + count as u32 - 1) / cluster_bytes;
        file.walked.disk_cluster = last;
        Ok(count)
    }

    /// `fat_file_write`.
    pub fn write_file(&mut self, cache: &mut Bdbuf, file: &mut File, start: u32, data: &[u8]) -> Result<usize, Errno> {
        if data.is_empty() {
            return Ok(0);
        }
        if start >= file.size_limit {
            return Err(Errno::FBig);
        }
        let count = data.len().min((file.size_limit - start) as usize) as u32;
        let zero = start > file.size;
        let reached = self.extend_file(cache, file, zero, start + count)?;
        let count = count.min(reached.saturating_sub(start));
        if count == 0 {
            return Err(Errno::NoSpc);
        }
        let data = &data[..count as usize];
        if self.is_fixed_root(file) {
            return self.write_root(cache, start, data);
        }
        let cluster_bytes = self.boot.cluster_bytes();
        let mut offset = start % cluster_bytes;
        let mut cluster = self.walk(cache, file, start / cluster_bytes)?;
        let (mut last, mut done) = (cluster, 0);
        while done < count {
            done += self.write_cluster(cache, cluster, offset, count - done, Some(&data[done as usize..]))?;
            last = cluster;
            if done < count {
                cluster = self.next_of(cache, cluster)?;
            }
            offset = 0;
        }
        file.walked.file_cluster = (start + count - 1) / cluster_bytes;
        file.walked.disk_cluster = last;
        Ok(count as usize)
    }

    fn write_root(&mut self, cache: &mut Bdbuf, start: u32, data: &[u8]) -> Result<usize, Errno> {
        if self.fixed {
            let sector_bytes = self.boot.sector_bytes;
            let sector = self.sector_of(0) + start / sector_bytes;
            self.write_bytes(cache, sector, start % sector_bytes, data)?;
            return Ok(data.len());
        }
        // In 2018 a position in the root directory is used as a cluster number. Only the first cluster of the root is
        // found that way, and entries behind it are written to other places of the volume.
        let cluster_bytes = self.boot.cluster_bytes();
        let offset = start % cluster_bytes;
        let done = self.write_cluster(cache, start / cluster_bytes, offset, data.len() as u32, Some(data))?;
        Ok(done as usize)
    }

    /// `fat_file_extend`: gives the file clusters up to a new size, as far as free ones exist. Returns the size that
    /// was reached.
    pub fn extend_file(&mut self, cache: &mut Bdbuf, file: &mut File, zero: bool, bytes: u32) -> Result<u32, Errno> {
        if bytes <= file.size {
            return Ok(bytes);
        }
        if self.is_fixed_root(file) {
            return Err(Errno::NoSpc);
        }
        let cluster_bytes = self.boot.cluster_bytes();
        let left_in_last = (cluster_bytes - file.size % cluster_bytes) % cluster_bytes;
        let more = (bytes - file.size).saturating_sub(left_in_last);
        if zero && left_in_last > 0 {
            let cluster = self.walk(cache, file, file.size / cluster_bytes)?;
            self.write_cluster(cache, cluster, file.size % cluster_bytes, left_in_last, None)?;
        }
        if more == 0 {
            return Ok(bytes);
        }
        let wanted = more.div_ceil(cluster_bytes);
        let (chain, last, added) = self.allocate(cache, wanted, zero)?;
        if added == 0 && left_in_last == 0 {
            return Err(Errno::NoSpc);
        }
        let missing = u64::from(wanted - added) * u64::from(cluster_bytes);
        let reached = bytes - u64::from(more).min(missing) as u32;
        if added > 0 {
            if let Err(error) = self.append_chain(cache, file, chain) {
                let _ = self.free_chain(cache, chain);
                return Err(error);
            }
            file.walked.last_cluster = last;
            if file.is_directory {
                self.clear_chain(cache, chain)?;
            }
        }
        file.set_size(reached);
        Ok(reached)
    }

    fn append_chain(&mut self, cache: &mut Bdbuf, file: &mut File, chain: u32) -> Result<(), Errno> {
        if file.size == 0 {
            file.walked.disk_cluster = chain;
            file.walked.file_cluster = 0;
            file.set_first_cluster(chain);
            return Ok(());
        }
        let last = match file.walked.last_cluster {
            UNDEFINED => self.cluster_at(cache, file, file.size - 1)?,
            last => last,
        };
        self.set_next_of(cache, last, chain)?;
        self.release(cache)
    }

    /// `fat_init_clusters_chain`: zeros for a directory.
    fn clear_chain(&mut self, cache: &mut Bdbuf, chain: u32) -> Result<(), Errno> {
        let mut cluster = chain;
        while !self.is_end(cluster) {
            self.write_cluster(cache, cluster, 0, self.boot.cluster_bytes(), None)?;
            cluster = self.next_of(cache, cluster)?;
        }
        Ok(())
    }

    /// `fat_file_truncate`: frees the clusters behind a size. The size itself is the caller's business.
    pub fn truncate_file(&mut self, cache: &mut Bdbuf, file: &mut File, bytes: u32) -> Result<(), Errno> {
        let cluster_bytes = self.boot.cluster_bytes();
        let keep = bytes.div_ceil(cluster_bytes);
        if bytes >= file.size || u64::from(keep) * u64::from(cluster_bytes) >= u64::from(file.size) {
            return Ok(());
        }
        let last = match keep {
            0 => UNDEFINED,
            _ => self.walk(cache, file, keep - 1)?,
        };
        let cluster = self.walk(cache, file, keep)?;
        self.free_chain(cache, cluster)?;
        if keep > 0 {
            self.set_next_of(cache, last, END_OF_CHAIN)?;
            file.walked = Walked { file_cluster: keep - 1, disk_cluster: last, last_cluster: last };
        } else if self.fixed {
            // In 2018 this is missing: the entry of an emptied file still names its first cluster, which is free.
            file.set_first_cluster(0);
            file.reset_walk(None);
        }
        Ok(())
    }

    /// Where a file's short entry is.
    pub fn place_of(&self, pos: Pos) -> (u32, u32) {
        let sector_bytes = self.boot.sector_bytes;
        (self.sector_of(pos.cluster).wrapping_add(pos.offset / sector_bytes), pos.offset % sector_bytes)
    }

    /// `fat_file_update`: first cluster, size and times go into the directory.
    pub fn update_entry(&mut self, cache: &mut Bdbuf, file: &File) -> Result<(), Errno> {
        if file.removed || !file.changed || file.is_root() {
            return Ok(());
        }
        let (sector, byte) = self.place_of(file.dir_pos.short);
        let size = if file.is_directory { 0 } else { file.size };
        let first = self.write_first_cluster(cache, file);
        let (date, time) = super::names::dos_time(file.mtime_s);
        let (create_date, create_time) = super::names::dos_time(file.ctime_s);
        let fields: [(u32, &[u8]); 6] = [
            (28, &size.to_le_bytes()),
            (22, &time.to_le_bytes()),
            (24, &date.to_le_bytes()),
            (18, &date.to_le_bytes()),
            (14, &create_time.to_le_bytes()),
            (16, &create_date.to_le_bytes()),
        ];
        let mut result = first;
        for (at, bytes) in fields {
            result = result.and(self.write_bytes(cache, sector, byte + at, bytes));
        }
        result
    }

    pub fn write_first_cluster(&mut self, cache: &mut Bdbuf, file: &File) -> Result<(), Errno> {
        let (sector, byte) = self.place_of(file.dir_pos.short);
        let low = self.write_bytes(cache, sector, byte + 26, &(file.cluster as u16).to_le_bytes());
        let high = self.write_bytes(cache, sector, byte + 20, &((file.cluster >> 16) as u16).to_le_bytes());
        low.and(high)
    }
}

impl Dosfs {
    /// `fat_file_open`: opens the file of a directory entry. All who open the same entry share one [`File`].
    pub(super) fn file_open(&mut self, dir_pos: DirPos) -> u32 {
        let key = self.volume.key(dir_pos.short);
        let volume = &self.volume;
        let has_key = |file: &File| volume.key(file.dir_pos.short) == key;
        let open = self.files.iter().position(|f| f.as_ref().is_some_and(|f| !f.removed && has_key(f)));
        if let Some(open) = open {
            self.files[open].iter_mut().for_each(|file| file.links += 1);
            return open as u32;
        }
        // A removed file whose entry was at this place is still open and uses the number, so the new file gets another
        // one.
        let taken = self.files.iter().flatten().any(|f| f.removed && f.ino == key && has_key(f));
        let ino = if taken { self.unique_ino() } else { key };
        let file = File {
            links: 1,
            ino,
            is_directory: true,
            size_limit: 0,
            size: 0,
            cluster: 0,
            dir_pos,
            removed: false,
            changed: false,
            walked: Walked { file_cluster: 0, disk_cluster: 0, last_cluster: UNDEFINED },
            ctime_s: 0,
            mtime_s: 0,
        };
        match self.files.iter().position(Option::is_none) {
            Some(at) => {
                self.files[at] = Some(file);
                at as u32
            }
            None => {
                self.files.push(Some(file));
                self.files.len() as u32 - 1
            }
        }
    }

    fn unique_ino(&self) -> u32 {
        let base = self.volume.unique_ino_base();
        let used = |ino: u32| self.files.iter().flatten().any(|file| file.ino == ino);
        (base..=u32::MAX).find(|&ino| !used(ino)).unwrap_or(base)
    }

    /// `fat_file_close`: the last user of the file writes what changed in its entry and frees the clusters of a removed
    /// file. The window is released.
    pub(super) fn file_close(&mut self, cache: &mut Bdbuf, file: u32) -> Result<(), Errno> {
        let Some(mut open) = self.files.get(file as usize).copied().flatten() else { return Err(Errno::BadF) };
        if open.links > 1 {
            open.links -= 1;
            self.files[file as usize] = Some(open);
        } else {
            // Its failure is not reported (`fat_file_close` ignores it); the entry stays as it was.
            let _ = self.volume.update_entry(cache, &open);
            let unique = open.ino >= self.volume.unique_ino_base();
            if open.removed {
                if self.volume.truncate_file(cache, &mut open, 0).is_ok() {
                    self.files[file as usize] = None;
                }
            } else if unique {
                open.links = 0;
                self.files[file as usize] = Some(open);
            } else {
                self.files[file as usize] = None;
            }
        }
        self.volume.release(cache)
    }

    /// Calls `f` with the volume and a file.
    pub(super) fn with_file<R>(
        &mut self,
        file: u32,
        f: impl FnOnce(&mut Volume, &mut File) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let open = self.files.get_mut(file as usize).and_then(Option::as_mut).ok_or(Errno::BadF)?;
        f(&mut self.volume, open)
    }

    pub(super) fn file(&self, file: u32) -> Result<File, Errno> {
        self.files.get(file as usize).copied().flatten().ok_or(Errno::BadF)
    }
}

/// The first cluster in a directory entry.
pub(super) fn first_cluster(entry: &[u8]) -> u32 {
    let low = le32(entry, 26) & 0xffff;
    let high = le32(entry, 20) & 0xffff;
    high << 16 | low
}
