//! # fat: FAT by the crate `fatfs`, on a simulated medium
//!
//! **Role.** Calls the registry crate `fatfs`, unchanged, as firmware does. [`Fat`] is a mounted file system with paths and handles
//! ([`PathFileSystem`]) on sectors that a [`Translation`] brings to flash; each flash operation carries the cause that follows from the call
//! and from where on the volume it happens ([`causes`]).
//!
//! **Follows.** `fatfs` 0.3.6, with long names. It asks for a stream of bytes, for which a few sectors stay in memory
//! ([`Config::cache_sectors_count`]), as its own documentation wants.
//!
//! **Leaves out.** The CPU's work in the crate takes no time. What would end firmware, a panic of the crate on a damaged volume, ends the
//! mount: each further call answers EIO.

pub mod causes;
mod clock;
mod config;
#[allow(unsafe_code)]
mod held;
mod making;
mod names;
mod sectors;

pub use config::{Config, FatType};
pub use making::{format, MountError};

use ffslab_foreign::Translation;
use ffslab_fs::{Errno, FileHandle, OpenHow, PathFileSystem, PathStat, Result, StatFs};
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::Sim;
use held::Volume;
use making::{ended, open, Ended};
use names::{errno, key, told, walk, Lost, Place};
use sectors::{Disk, Sectors, Work};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

/// FAT's own limit.
const FILE_BYTES_MAX: u64 = u32::MAX as u64;
const NANOSECONDS: u64 = 1_000_000_000;

/// An open file.
#[derive(Debug)]
struct Opened {
    /// To which no other may be written at the same time: the crate has no file twice.
    key: String,
    writes: bool,
    size_bytes: u64,
}

/// A mounted FAT.
pub struct Fat {
    /// `None`: unmounted.
    volume: Option<Volume>,
    sectors: Rc<Sectors>,
    config: Config,
    opened: Vec<Option<Opened>>,
    failed: Option<String>,
}

impl Fat {
    /// # Errors
    /// No FAT is there, a medium that fails.
    pub fn mount(medium: &Mtd, translation: Translation, config: &Config) -> std::result::Result<Fat, MountError> {
        causes::register(medium.sim());
        let sectors = Rc::new(Sectors::new(translation.open(medium)?, config.cache_sectors_count));
        let volume = open(&sectors, config)?;
        Ok(Fat { volume: Some(volume), sectors, config: *config, opened: Vec::new(), failed: None })
    }

    /// Width of an entry of the table.
    pub fn fat_type(&self) -> Option<FatType> {
        self.volume.as_ref().map(|volume| FatType::of(volume.fs().fat_type()))
    }

    /// Makes a call of the crate.
    fn call<R>(
        &mut self,
        work: Work,
        body: impl FnOnce(&mut Volume, &Sectors) -> std::result::Result<R, Lost>,
    ) -> Result<R> {
        let volume = self.volume.as_mut().filter(|_| self.failed.is_none()).ok_or(Errno::Io)?;
        let sectors = &*self.sectors;
        sectors.begin(work);
        volume.clock().set(self.config.epoch_s.map(|epoch_s| epoch_s + sectors.sim().now_ns() / NANOSECONDS));
        match (ended(|| body(volume, sectors)), sectors.failure()) {
            (Ended::Done(done), _) => Ok(done),
            (_, Some(MtdError::PowerCut)) => Err(Errno::PowerCut),
            (Ended::Panicked(text), _) => {
                self.failed = Some(format!("the crate fatfs stops: {text}"));
                Err(Errno::Io)
            }
            (Ended::Failed(_), Some(_)) => Err(Errno::Io),
            (Ended::Failed(Lost::Known(errno)), None) => Err(errno),
            (Ended::Failed(Lost::Medium(error)), None) => Err(errno(&error)),
        }
    }

    fn opened(&self, file: FileHandle) -> Result<&Opened> {
        self.opened.get(file.0 as usize).and_then(Option::as_ref).ok_or(Errno::BadF)
    }

    fn set_size(&mut self, file: FileHandle, size_bytes: u64) {
        if let Some(Some(opened)) = self.opened.get_mut(file.0 as usize) {
            opened.size_bytes = size_bytes;
        }
    }

    /// A call with an open file.
    fn with_file<R>(
        &mut self,
        work: Work,
        file: FileHandle,
        body: impl FnOnce(&mut fatfs::File<'_, Disk>) -> io::Result<R>,
    ) -> Result<R> {
        self.opened(file)?;
        self.call(work, |volume, _| {
            let done = volume.with_file(file.0 as usize, body).ok_or(Errno::BadF)?;
            Ok(done?)
        })
    }

    /// Errors: the file is open, and the crate would not know that it is another one now.
    fn refuse_open(&self, key: &str, but_readers: bool) -> Result<()> {
        let is_in_use = |opened: &&Opened| opened.key == key && (opened.writes || !but_readers);
        match self.opened.iter().flatten().find(is_in_use) {
            None => Ok(()),
            Some(_) => Err(Errno::Busy),
        }
    }

    /// Zeros from the end of a file until it is so long. The crate cannot seek beyond its end.
    fn extend(&mut self, file: FileHandle, until: u64) -> Result<()> {
        let size = self.opened(file)?.size_bytes;
        if size >= until {
            return Ok(());
        }
        let zeros = vec![0; self.sectors.sector_bytes() as usize];
        let mut now = size;
        let extended = self.with_file(Work::Write, file, |file| {
            file.seek(SeekFrom::Start(size))?;
            while now < until {
                let missing = (until - now).min(zeros.len() as u64) as usize;
                now += file.write(&zeros[..missing])? as u64;
            }
            Ok(())
        });
        self.set_size(file, now);
        extended
    }
}

impl Drop for Fat {
    /// Nothing is written.
    fn drop(&mut self) {
        self.sectors.end();
    }
}

/// A path as the crate takes it, without slashes around; "": the root.
///
/// Errors: bytes that are no text name nothing.
fn text(path: &[u8]) -> Result<&str> {
    std::str::from_utf8(path).map(|path| path.trim_matches('/')).map_err(|_| Errno::Inval)
}

fn is_root(path: &str) -> bool {
    path.is_empty()
}

impl PathFileSystem for Fat {
    fn name(&self) -> &'static str {
        "fat"
    }

    fn sim(&self) -> &Sim {
        self.sectors.sim()
    }

    fn name_bytes_max(&self) -> usize {
        names::NAME_BYTES_MAX
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX
    }

    fn open(&mut self, path: &[u8], how: OpenHow) -> Result<FileHandle> {
        let path = text(path)?;
        if is_root(path) {
            return Err(Errno::IsDir);
        }
        let key = key(path);
        self.refuse_open(&key, !how.write)?;
        let mut size_bytes = 0;
        let number = self.call(Work::Names, |volume, _| {
            volume.open(|fs| {
                let Place { directory, name, entry } = walk(fs, path)?;
                match entry {
                    Some(entry) if entry.is_dir() => Err(Errno::IsDir.into()),
                    Some(_) if how.write && how.create && how.exclusive => Err(Errno::Exist.into()),
                    Some(entry) => {
                        size_bytes = entry.len();
                        Ok(entry.to_file())
                    }
                    None if how.write && how.create => {
                        names::check(path)?;
                        Ok::<_, Lost>(directory.create_file(name)?)
                    }
                    None => Err(Errno::NoEnt.into()),
                }
            })
        })?;
        let opened = Opened { key, writes: how.write, size_bytes };
        self.opened.resize_with(self.opened.len().max(number + 1), || None);
        self.opened[number] = Some(opened);
        let file = FileHandle(number as u32);
        if how.write && how.truncate && size_bytes > 0 {
            if let Err(error) = self.truncate(file, 0) {
                let _ = self.close(file);
                return Err(error);
            }
        }
        Ok(file)
    }

    fn close(&mut self, file: FileHandle) -> Result<()> {
        let synced = self.sync(file);
        let number = file.0 as usize;
        let _ = self.call(Work::Sync, |volume, _| {
            volume.close(number);
            Ok(())
        });
        if let Some(opened) = self.opened.get_mut(number) {
            *opened = None;
        }
        synced
    }

    fn read_at(&mut self, file: FileHandle, at: u64, into: &mut [u8]) -> Result<usize> {
        if at >= self.opened(file)?.size_bytes {
            return Ok(0);
        }
        self.with_file(Work::Read, file, |file| {
            file.seek(SeekFrom::Start(at))?;
            let mut done = 0;
            while done < into.len() {
                match file.read(&mut into[done..])? {
                    0 => break,
                    bytes => done += bytes,
                }
            }
            Ok(done)
        })
    }

    fn write_at(&mut self, file: FileHandle, at: u64, data: &[u8]) -> Result<usize> {
        if at.saturating_add(data.len() as u64) > FILE_BYTES_MAX {
            return Err(Errno::FBig);
        }
        self.extend(file, at)?;
        let mut done = 0;
        let written = self.with_file(Work::Write, file, |file| {
            file.seek(SeekFrom::Start(at))?;
            while done < data.len() {
                done += file.write(&data[done..])?;
            }
            Ok(())
        });
        let size_bytes = self.opened(file)?.size_bytes.max(at + done as u64);
        self.set_size(file, size_bytes);
        match written {
            Err(Errno::NoSpc) if done > 0 => Ok(done),
            written => written.map(|()| done),
        }
    }

    fn truncate(&mut self, file: FileHandle, bytes: u64) -> Result<()> {
        if bytes > FILE_BYTES_MAX {
            return Err(Errno::FBig);
        }
        if self.opened(file)?.size_bytes <= bytes {
            return self.extend(file, bytes);
        }
        self.with_file(Work::Write, file, |file| {
            file.seek(SeekFrom::Start(bytes))?;
            file.truncate()
        })?;
        self.set_size(file, bytes);
        Ok(())
    }

    fn sync(&mut self, file: FileHandle) -> Result<()> {
        self.with_file(Work::Sync, file, |file| file.flush())
    }

    fn size_bytes(&mut self, file: FileHandle) -> Result<u64> {
        Ok(self.opened(file)?.size_bytes)
    }

    fn mkdir(&mut self, path: &[u8]) -> Result<()> {
        let path = text(path)?;
        if is_root(path) {
            return Err(Errno::Exist);
        }
        self.call(Work::Names, |volume, sectors| {
            let Place { directory, name, entry } = walk(volume.fs(), path)?;
            if entry.is_some() {
                return Err(Errno::Exist.into());
            }
            names::check(path)?;
            drop(directory.create_dir(name)?);
            drop(directory);
            Ok(sectors.flush()?)
        })
    }

    fn remove(&mut self, path: &[u8]) -> Result<()> {
        let path = text(path)?;
        if is_root(path) {
            return Err(Errno::Busy);
        }
        self.refuse_open(&key(path), false)?;
        self.call(Work::Names, |volume, sectors| {
            volume.fs().root_dir().remove(path)?;
            Ok(sectors.flush()?)
        })
    }

    /// Nothing is replaced: EEXIST.
    fn rename(&mut self, old: &[u8], new: &[u8]) -> Result<()> {
        let (old, new) = (text(old)?, text(new)?);
        if is_root(old) || is_root(new) {
            return Err(Errno::Busy);
        }
        let (old_key, new_key) = (key(old), key(new));
        self.refuse_open(&old_key, false)?;
        names::check(new)?;
        self.call(Work::Names, |volume, sectors| {
            let root = volume.fs().root_dir();
            root.rename(old, &root, new)?;
            Ok(sectors.flush()?)
        })?;
        // Open files below a directory that has moved.
        for opened in self.opened.iter_mut().flatten() {
            let below = opened.key.strip_prefix(&old_key).filter(|rest| rest.starts_with('/'));
            if let Some(rest) = below {
                opened.key = format!("{new_key}{rest}");
            }
        }
        Ok(())
    }

    fn stat(&mut self, path: &[u8]) -> Result<PathStat> {
        let path = text(path)?;
        if is_root(path) {
            return Ok(PathStat { name: Vec::new(), kind: ffslab_fs::FileKind::Directory, size_bytes: 0 });
        }
        self.call(Work::Names, |volume, _| {
            let found = walk(volume.fs(), path)?.entry.ok_or(Errno::NoEnt)?;
            Ok(told(&found))
        })
    }

    fn list(&mut self, path: &[u8]) -> Result<Vec<PathStat>> {
        let path = text(path)?;
        self.call(Work::Names, |volume, _| {
            let directory = if is_root(path) {
                volume.fs().root_dir()
            } else {
                let found = walk(volume.fs(), path)?.entry.ok_or(Errno::NoEnt)?;
                if !found.is_dir() {
                    return Err(Errno::NotDir.into());
                }
                found.to_dir()
            };
            let mut entries = Vec::new();
            for entry in directory.iter() {
                entries.push(told(&entry?));
            }
            entries.retain(|entry| entry.name != b"." && entry.name != b"..");
            Ok(entries)
        })
    }

    fn statfs(&mut self) -> Result<StatFs> {
        let stats = self.call(Work::Space, |volume, _| Ok(volume.fs().stats()?))?;
        Ok(StatFs {
            block_bytes: stats.cluster_size(),
            blocks: stats.total_clusters().into(),
            blocks_free: stats.free_clusters().into(),
            files: 0,
            files_free: 0,
        })
    }

    fn failure(&self) -> Option<String> {
        self.failed.clone()
    }

    fn unmount(&mut self) -> Result<()> {
        self.call(Work::Sync, |_, sectors| Ok(sectors.flush()?))?;
        let volume = self.volume.take().ok_or(Errno::NoDev)?;
        self.sectors.begin(Work::Sync);
        let ended = ended(|| {
            volume.unmount()?;
            Ok(self.sectors.flush()?)
        });
        let closed = match ended {
            Ended::Done(()) => self.sectors.close(),
            _ => Err(self.sectors.failure().unwrap_or(MtdError::ProgramFailed)),
        };
        closed.map_err(|error| if error == MtdError::PowerCut { Errno::PowerCut } else { Errno::Io })
    }
}
