//! RTEMS as a system: its calls, and what may be asked beside them. What it does not have keeps the defaults of the traits.

use super::{below, Machine, Medium, DEVICE};
use ffslab_flash::Traffic;
use ffslab_fs::{Errno, FileKind, Stat, StatFs, TimeSpec, Unwritten};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_rtems::bdbuf::EPOCH_S;
use ffslab_rtems::libio;
use ffslab_sim::Sim;
use ffslab_system::{Answer, Calls, Entry, Fd, OpenFlags, Refusal, System, SystemError, Whence};
use ffslab_text::words::size_text;

/// No file of these file systems becomes larger.
const FILE_BYTES_MAX: u64 = u32::MAX as u64;

fn stat_of(stat: &libio::Stat) -> Stat {
    let at = |seconds: u32| TimeSpec { seconds: i64::from(seconds), nanoseconds: 0 };
    Stat {
        ino: stat.ino,
        kind: FileKind::from_mode(stat.mode).unwrap_or(FileKind::File),
        permissions: stat.mode & 0o7777,
        links: stat.links,
        uid: u32::from(stat.uid),
        gid: u32::from(stat.gid),
        device: 0,
        size_bytes: stat.size_bytes,
        blocks: stat.blocks,
        accessed: at(stat.atime_s),
        modified: at(stat.mtime_s),
        changed: at(stat.ctime_s),
    }
}

fn fd_of(fd: Fd) -> libio::Fd {
    fd.0 as libio::Fd
}

impl Machine {
    /// A flag of open that RTEMS does not have.
    fn unknown_flag(&self, flags: OpenFlags) -> Option<Refusal> {
        let unknown = [
            (flags.sync, "flag \"sync\" of open"),
            (flags.dsync, "flag \"dsync\" of open"),
            (flags.direct, "flag \"direct\" of open"),
            (flags.unnamed, "flag \"tmpfile\" of open"),
        ];
        unknown.into_iter().find(|(given, _)| *given).map(|(_, what)| self.lacks(what))
    }
}

impl Calls for Machine {
    fn system_name(&self) -> &'static str {
        "RTEMS"
    }

    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn read_clock_ns(&mut self) -> u64 {
        self.libio.read_clock_ns()
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        self.libio.sleep_until(self.sim.now_ns().saturating_add(duration_ns));
    }

    fn prepare_request(&mut self) {
        self.libio.cache_mut().cpu_mut().prepare_request();
    }

    fn epoch_s(&self) -> u64 {
        u64::from(EPOCH_S)
    }

    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Answer<Fd> {
        if let Some(refusal) = self.unknown_flag(flags) {
            return Err(refusal);
        }
        Ok(self.libio.open(&below(path), flags, permissions).map(|fd| Fd(fd as u32))?)
    }

    fn close(&mut self, fd: Fd) -> Answer<()> {
        Ok(self.libio.close(fd_of(fd))?)
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        Ok(self.libio.read(fd_of(fd), into)?)
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        Ok(self.libio.write(fd_of(fd), data)?)
    }

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        Ok(self.libio.pread(fd_of(fd), into, at)?)
    }

    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize> {
        self.buffer.resize(bytes.max(self.buffer.len()), 0);
        Ok(self.libio.pread(fd_of(fd), &mut self.buffer[..bytes], at)?)
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        Ok(self.libio.pwrite(fd_of(fd), data, at)?)
    }

    fn readv(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        Ok(self.libio.readv(fd_of(fd), &mut [into])?)
    }

    fn writev(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        Ok(self.libio.writev(fd_of(fd), &[data])?)
    }

    fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Answer<u64> {
        Ok(self.libio.lseek(fd_of(fd), offset, whence)?)
    }

    fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Answer<()> {
        Ok(self.libio.ftruncate(fd_of(fd), bytes)?)
    }

    fn fsync(&mut self, fd: Fd) -> Answer<()> {
        Ok(self.libio.fsync(fd_of(fd))?)
    }

    fn fdatasync(&mut self, fd: Fd) -> Answer<()> {
        Ok(self.libio.fdatasync(fd_of(fd))?)
    }

    fn fstat(&mut self, fd: Fd) -> Answer<Stat> {
        Ok(self.libio.fstat(fd_of(fd)).map(|stat| stat_of(&stat))?)
    }

    /// `struct dirent` of newlib has no `d_type`.
    fn readdir(&mut self, fd: Fd) -> Answer<Vec<Entry>> {
        let mut entries = Vec::new();
        while let Some(entry) = self.libio.read_dir(fd_of(fd))? {
            if !matches!(&entry.name[..], b"." | b"..") {
                entries.push(Entry { ino: entry.ino, name: entry.name, kind: None });
            }
        }
        Ok(entries)
    }

    fn advise(&mut self, _fd: Fd, _offset: u64, _bytes: u64, _advice: ffslab_system::Advice) -> Answer<()> {
        Err(self.lacks(NO_PAGE_CACHE))
    }

    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        Ok(self.libio.mkdir(&below(path), permissions)?)
    }

    fn rmdir(&mut self, path: &[u8]) -> Answer<()> {
        Ok(self.libio.rmdir(&below(path))?)
    }

    fn unlink(&mut self, path: &[u8]) -> Answer<()> {
        Ok(self.libio.unlink(&below(path))?)
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        Ok(self.libio.rename(&below(old), &below(new))?)
    }

    fn link(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        Ok(self.libio.link(&below(old), &below(new))?)
    }

    fn symlink(&mut self, target: &[u8], path: &[u8]) -> Answer<()> {
        Ok(self.libio.symlink(target, &below(path))?)
    }

    fn readlink(&mut self, path: &[u8]) -> Answer<Vec<u8>> {
        Ok(self.libio.readlink(&below(path))?)
    }

    fn stat(&mut self, path: &[u8]) -> Answer<Stat> {
        Ok(self.libio.stat(&below(path)).map(|stat| stat_of(&stat))?)
    }

    fn lstat(&mut self, path: &[u8]) -> Answer<Stat> {
        Ok(self.libio.lstat(&below(path)).map(|stat| stat_of(&stat))?)
    }

    /// `truncate.c` of `cpukit/libcsupport`: open, ftruncate, close.
    fn truncate(&mut self, path: &[u8], bytes: u64) -> Answer<()> {
        let fd = self.open(path, OpenFlags::WRITE, 0)?;
        let cut = self.ftruncate(fd, bytes);
        self.close(fd)?;
        cut
    }

    fn chmod(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        Ok(self.libio.chmod(&below(path), permissions)?)
    }

    /// Owners have 16 bits. RTEMS sets both, so what is not given stays what stat(2) says.
    fn chown(&mut self, path: &[u8], uid: Option<u32>, gid: Option<u32>) -> Answer<()> {
        let now = self.stat(path)?;
        let narrow = |id: u32| u16::try_from(id).map_err(|_| Errno::Inval);
        let (uid, gid) = (narrow(uid.unwrap_or(now.uid))?, narrow(gid.unwrap_or(now.gid))?);
        Ok(self.libio.chown(&below(path), uid, gid)?)
    }

    /// utime(2): whole seconds. It sets both times, so what is not given stays what stat(2) says.
    fn utimens(&mut self, path: &[u8], accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> Answer<()> {
        let now = self.stat(path)?;
        let seconds = |time: TimeSpec| u32::try_from(time.seconds).map_err(|_| Errno::Inval);
        let (accessed, modified) = (accessed.unwrap_or(now.accessed), modified.unwrap_or(now.modified));
        Ok(self.libio.utime(&below(path), seconds(accessed)?, seconds(modified)?)?)
    }

    /// sync(2) of RTEMS knows only the streams of stdio. What a program does to have everything on the medium is an fsync of
    /// the block device's node; file systems without a block cache write out what they hold.
    fn sync(&mut self) -> Answer<()> {
        self.libio.sync_file_systems()?;
        if let Medium::Disk(..) = self.medium {
            let fd = self.libio.open(DEVICE, OpenFlags::READ_WRITE, 0)?;
            let synced = self.libio.fsync(fd);
            self.libio.close(fd)?;
            synced?;
        }
        Ok(())
    }

    fn statfs(&mut self) -> Answer<StatFs> {
        let stat = self.libio.statvfs(&below(b""))?;
        Ok(StatFs {
            block_bytes: stat.block_bytes,
            blocks: stat.blocks,
            blocks_free: stat.free_blocks,
            files: stat.files,
            files_free: stat.free_files,
        })
    }

    fn drop_caches(&mut self) -> Answer<()> {
        Err(self.lacks(NO_PAGE_CACHE))
    }

    fn drop_pages(&mut self) -> Answer<()> {
        Err(self.lacks(NO_PAGE_CACHE))
    }
}

const NO_PAGE_CACHE: &str = "page cache (bdbuf_read_ahead_blocks sets its own read-ahead)";

impl System for Machine {
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn std::any::Any> {
        Some(self)
    }

    fn mount(&mut self, options: &[String]) -> Result<(), SystemError> {
        Machine::mount(self, options)
    }

    fn format(&mut self) -> Result<(), SystemError> {
        Machine::format(self)
    }

    fn umount(&mut self) -> Answer<()> {
        Ok(Machine::umount(self)?)
    }

    fn is_mounted(&self) -> bool {
        self.mounted
    }

    fn crash(&mut self) -> Result<(), SystemError> {
        Ok(Machine::crash(self)?)
    }

    fn set_read_ahead_bytes(&mut self, _bytes: u32) -> Answer<()> {
        Err(self.lacks(NO_PAGE_CACHE))
    }

    fn unwritten(&mut self) -> Unwritten {
        self.libio.unwritten()
    }

    /// The programs of the study timed calls and whole tests, never what lies between two of them.
    fn step_clock_ns(&mut self) -> u64 {
        self.sim.now_ns()
    }

    fn counters(&self) -> Vec<(&'static str, i64)> {
        let flash = match &self.medium {
            Medium::Flash(flash, _) => flash.traffic(),
            Medium::Disk(..) | Medium::Memory(_) => Traffic::default(),
        };
        let now = self.libio.cache().counts().named();
        let cache = now.iter().zip(self.counts_before).map(|((name, count), before)| (*name, count + before));
        let flash = [
            ("flash_read_ops", flash.reads),
            ("flash_read_bytes", flash.read_bytes),
            ("flash_write_ops", flash.programs),
            ("flash_write_bytes", flash.write_bytes),
            ("flash_erases", flash.erases),
            ("dev_write_bytes_of_setup", self.of_setup_bytes()),
            ("imfs_memfile_blocks", self.libio.memory_blocks()),
        ];
        let layer = self.disk().and_then(|disk| self.libio.cache().device(disk).layer_counts());
        let all = cache.chain(flash).chain(layer.into_iter().flatten());
        all.map(|(name, count)| (name, count as i64)).collect()
    }

    /// That of a file system with its own flash driver, or of a block device below its translation layer.
    fn mtd(&self) -> Option<&Mtd> {
        match &self.medium {
            Medium::Disk(_, _, flash) => flash.as_ref(),
            Medium::Flash(flash, _) => Some(flash),
            Medium::Memory(_) => None,
        }
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX
    }

    fn medium_bytes(&self) -> u64 {
        self.spec.medium_bytes()
    }

    fn too_small(&self) -> String {
        let bytes = size_text(self.medium_bytes());
        format!("the device holds {bytes} with the file system's own needs; enlarge device_KiB or write less")
    }

    fn failure(&self) -> Option<String> {
        self.disk().and_then(|disk| self.libio.cache().device(disk).failure())
    }

    fn image(&self, oob: bool) -> Result<Vec<u8>, SystemError> {
        if oob {
            return Err(SystemError::NoOob);
        }
        self.disk_image()?.ok_or(SystemError::NoDevice { hint: ": images are those of file systems on one" })
    }

    fn snapshot(&self) -> Result<MediumImage, SystemError> {
        match &self.medium {
            Medium::Memory(_) => Err(SystemError::InMemory),
            Medium::Disk(_, _, Some(flash)) => Ok(flash.snapshot()),
            Medium::Disk(disk, ..) => Ok(MediumImage::Bytes(self.libio.cache().device(*disk).image().to_vec())),
            Medium::Flash(flash, _) => Ok(flash.snapshot()),
        }
    }
}
