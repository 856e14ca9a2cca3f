//! Making, renaming and removing names; finding the parent of a directory.
//!
//! Follows `msdos_create.c`, `msdos_rename.c`, `msdos_rmnod.c` and parts of `msdos_misc.c`.

use super::boot::{le16, le32};
use super::dirs::{Entry, ATTR_ARCHIVE, ATTR_DIRECTORY, ATTR_VOLUME_ID, DELETED, ENTRY_BYTES};
use super::files::{first_cluster, DirPos, Pos};
use super::names::{classify, dos_time, unix_time, NameType, NAME_MAX_WITH_DOT};
use super::Dosfs;
use crate::bdbuf::Bdbuf;
use ffslab_fs::Errno;

/// `MSDOS_MAX_DIR_LENGTH`.
pub(super) const DIRECTORY_BYTES_MAX: u32 = 0x20_0000;
const FILE_BYTES_MAX: u32 = u32::MAX;

/// What a new name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum New {
    Directory,
    File,
    /// A further name of a file, which is to lose its old one.
    Renamed(u32),
}

fn put(entry: &mut [u8], at: usize, bytes: &[u8]) {
    entry[at..at + bytes.len()].copy_from_slice(bytes);
}

fn put_first_cluster(entry: &mut [u8], cluster: u32) {
    put(entry, 26, &(cluster as u16).to_le_bytes());
    put(entry, 20, &((cluster >> 16) as u16).to_le_bytes());
}

impl Dosfs {
    /// `msdos_find_name`: opens the file or directory that a name stands for. `None`: there is no such name.
    pub(super) fn open_name(&mut self, cache: &mut Bdbuf, directory: u32, name: &[u8]) -> Result<Option<u32>, Errno> {
        let (kind, _) = classify(name);
        if kind == NameType::Invalid {
            return Err(Errno::Inval);
        }
        let Some((mut dir_pos, mut entry)) = self.find(cache, directory, name, kind)? else { return Ok(None) };
        if name == b".." {
            match first_cluster(&entry) {
                0 => dir_pos = DirPos::ROOT,
                cluster => (dir_pos, entry) = self.way_up(cache, cluster, dir_pos)?,
            }
        }
        if dir_pos != DirPos::ROOT && entry[11] & ATTR_VOLUME_ID != 0 {
            return Ok(None);
        }
        let file = self.file_open(dir_pos);
        let is_first = self.with_file(file, |_, file| {
            file.dir_pos = dir_pos;
            Ok(file.links == 1)
        })?;
        if is_first {
            if let Err(error) = self.fill_from_entry(cache, file, &entry) {
                let _ = self.file_close(cache, file);
                return Err(error);
            }
        }
        if let Err(error) = self.file_close(cache, directory) {
            let _ = self.file_close(cache, file);
            return Err(error);
        }
        Ok(Some(file))
    }

    fn fill_from_entry(&mut self, cache: &mut Bdbuf, file: u32, entry: &Entry) -> Result<(), Errno> {
        self.with_file(file, |volume, file| {
            file.cluster = first_cluster(entry);
            file.mtime_s = unix_time(le16(entry, 24), le16(entry, 22));
            file.ctime_s = unix_time(le16(entry, 16), le16(entry, 14));
            if entry[11] & ATTR_DIRECTORY != 0 {
                file.is_directory = true;
                file.size_limit = DIRECTORY_BYTES_MAX;
                volume.measure(cache, file)?;
            } else {
                file.is_directory = false;
                file.size_limit = FILE_BYTES_MAX;
                file.size = le32(entry, 28);
            }
            let one_cluster = file.size != 0 && file.size <= volume.boot.cluster_bytes();
            file.reset_walk(one_cluster.then_some(file.cluster));
            Ok(())
        })
    }

    /// Opens a directory of which only the first cluster is known; `dir_pos` is not the place of its own entry.
    fn open_directory_at(&mut self, cache: &mut Bdbuf, dir_pos: DirPos, cluster: u32) -> Result<u32, Errno> {
        let file = self.file_open(dir_pos);
        let measured = self.with_file(file, |volume, file| {
            file.cluster = cluster;
            file.is_directory = true;
            file.size_limit = DIRECTORY_BYTES_MAX;
            file.reset_walk(None);
            volume.measure(cache, file)
        });
        match measured {
            Ok(()) => Ok(file),
            Err(error) => {
                let _ = self.file_close(cache, file);
                Err(error)
            }
        }
    }

    /// `msdos_get_dotdot_dir_info_cluster_num_and_offset`: finds the directory entry of the directory above. That entry
    /// is in the parent of the directory above, so the search goes up once more and looks there for its first cluster.
    fn way_up(&mut self, cache: &mut Bdbuf, cluster: u32, dir_pos: DirPos) -> Result<(DirPos, Entry), Errno> {
        let above = self.open_directory_at(cache, dir_pos, cluster)?;
        let dots = self.find(cache, above, b".", NameType::Short).and_then(|dot| {
            let dotdot = self.find(cache, above, b"..", NameType::Short)?;
            Ok((dot.ok_or(Errno::NoEnt)?, dotdot.ok_or(Errno::NoEnt)?))
        });
        self.file_close(cache, above)?;
        let ((_, dot), (dotdot_pos, dotdot)) = dots?;
        let (next_pos, next_cluster) = match first_cluster(&dotdot) {
            0 => (DirPos::ROOT, self.root_cluster()),
            cluster => (dotdot_pos, cluster),
        };
        let next = self.open_directory_at(cache, next_pos, next_cluster)?;
        let found = self.find_cluster(cache, next, first_cluster(&dot));
        self.file_close(cache, next)?;
        found?.ok_or(Errno::NoEnt)
    }

    fn root_cluster(&self) -> u32 {
        self.volume.boot.root_cluster_number
    }

    /// `msdos_creat_node`.
    pub(super) fn make(&mut self, cache: &mut Bdbuf, parent: u32, name: &[u8], new: New) -> Result<(), Errno> {
        if name.len() > NAME_MAX_WITH_DOT {
            return Err(Errno::NameTooLong);
        }
        let (kind, short_name) = classify(name);
        if kind == NameType::Invalid {
            return Err(Errno::Inval);
        }
        let mut short: Entry = [0; ENTRY_BYTES as usize];
        put(&mut short, 0, &short_name);
        let now_s = cache.now_s();
        self.with_file(parent, |_, file| {
            file.set_times(now_s);
            Ok(())
        })?;
        let (date, time) = dos_time(now_s);
        for (at, value) in [(14, time), (16, date), (22, time), (24, date), (18, date)] {
            put(&mut short, at, &value.to_le_bytes());
        }
        match new {
            New::Directory => short[11] = ATTR_DIRECTORY,
            New::File => short[11] = ATTR_ARCHIVE,
            New::Renamed(file) => {
                let place = self.volume.place_of(self.file(file)?.dir_pos.short);
                let mut old: Entry = [0; ENTRY_BYTES as usize];
                self.volume.read_bytes(cache, place.0, place.1, &mut old)?;
                short[11] = old[11];
                if !self.volume.fixed || short[11] & ATTR_DIRECTORY == 0 {
                    short[11] |= ATTR_ARCHIVE;
                }
                // Attributes, creation time, first cluster and size are copied; the time of the last write is not.
                for range in [13..18, 20..22, 26..32] {
                    short[range.clone()].copy_from_slice(&old[range]);
                }
            }
        }
        let dir_pos = self.add(cache, parent, name, kind, &mut short)?;
        match new {
            New::File => Ok(()),
            New::Directory => {
                let made = self.make_directory(cache, parent, dir_pos, &short, now_s);
                if made.is_err() {
                    let _ = self.set_first_byte(cache, dir_pos, DELETED);
                }
                made
            }
            New::Renamed(file) => self.finish_rename(cache, parent, file, dir_pos, &short),
        }
    }

    /// Gives a new directory its first cluster, with the entries "." and "..".
    fn make_directory(
        &mut self,
        cache: &mut Bdbuf,
        parent: u32,
        dir_pos: DirPos,
        short: &Entry,
        now_s: u32,
    ) -> Result<(), Errno> {
        let cluster_bytes = self.volume.boot.cluster_bytes();
        let parent = self.file(parent)?;
        let above = if parent.is_root() { 0 } else { parent.cluster };
        let new = self.file_open(dir_pos);
        let made = self.with_file(new, |volume, file| {
            file.is_directory = true;
            file.size_limit = DIRECTORY_BYTES_MAX;
            file.set_times(now_s);
            volume.extend_file(cache, file, true, cluster_bytes)?;
            let mut dots = [0; 2 * ENTRY_BYTES as usize];
            for (dot, name, cluster) in [(0, b".          ", file.cluster), (32, b"..         ", above)] {
                let entry = &mut dots[dot..dot + ENTRY_BYTES as usize];
                entry.copy_from_slice(short);
                put(entry, 0, name);
                put_first_cluster(entry, cluster);
            }
            volume.write_file(cache, file, 0, &dots)?;
            volume.write_first_cluster(cache, file)
        });
        // The original ignores errors of this close.
        let _ = self.file_close(cache, new);
        made
    }

    /// Erases the old entries of a renamed file. In 2018 nothing else is done: an open file still writes to the place
    /// of its old entry, and the ".." of a directory still names the old parent.
    fn finish_rename(
        &mut self,
        cache: &mut Bdbuf,
        parent: u32,
        file: u32,
        dir_pos: DirPos,
        short: &Entry,
    ) -> Result<(), Errno> {
        let old = self.file(file)?;
        self.set_first_byte(cache, old.dir_pos, DELETED)?;
        if !self.volume.fixed {
            return Ok(());
        }
        if short[11] & ATTR_DIRECTORY != 0 {
            let parent = self.file(parent)?;
            let above = if parent.is_root() { 0 } else { parent.cluster };
            let (sector, _) = self.volume.place_of(Pos { cluster: old.cluster, offset: 0 });
            let low = (above as u16).to_le_bytes();
            let high = ((above >> 16) as u16).to_le_bytes();
            self.volume.write_bytes(cache, sector, ENTRY_BYTES + 26, &low)?;
            self.volume.write_bytes(cache, sector, ENTRY_BYTES + 20, &high)?;
        }
        self.with_file(file, |_, file| {
            file.dir_pos = dir_pos;
            Ok(())
        })
    }

    /// `msdos_rmnod`: erases the entries at once; the clusters are freed when the last user closes the file.
    pub(super) fn remove(&mut self, cache: &mut Bdbuf, file: u32) -> Result<(), Errno> {
        let open = self.file(file)?;
        if open.is_directory {
            if !self.is_empty(cache, file)? {
                return Err(Errno::NotEmpty);
            }
            if open.links > 1 {
                return Err(Errno::Busy);
            }
        }
        self.set_first_byte(cache, open.dir_pos, DELETED)?;
        self.with_file(file, |_, file| {
            file.removed = true;
            Ok(())
        })
    }
}
