//! Calls on descriptors.

use super::fs::{DirEntry, FileSystem, Kind, OpenFile, Stat, S_IFREG};
use super::path::Flags;
use super::Libio;
use crate::bdbuf::Bdbuf;
use crate::causes;
use ffslab_fs::Errno;
use ffslab_system::{OpenFlags, Whence};

/// A file descriptor.
pub type Fd = usize;

/// `rtems_filesystem_umask` of a new system.
const UMASK: u32 = 0o022;
/// Vectors of one `readv` or `writev` (`IOV_MAX`).
const VECTORS_MAX: usize = 1024;

impl Libio {
    /// Opens a file. If it is missing and `create` is set, it is made: the path is looked up, the file is made, and the
    /// path is looked up again.
    pub fn open(&mut self, path: &[u8], flags: OpenFlags, mode: u32) -> Result<Fd, Errno> {
        let fd = self.files.iter().position(Option::is_none).ok_or(Errno::NFile)?;
        let wanted = Flags {
            follow: true,
            write: flags.write,
            make: flags.create,
            exclusive: flags.create && flags.exclusive,
            ..Flags::default()
        };
        let mut found = self.evaluate(path, wanted)?;
        if let Some(name) = found.missing.take() {
            let mode = S_IFREG | (mode & 0o7777 & !UMASK);
            let made = self.with(found.at.mount, |fs, cache| fs.mknod(cache, found.at.node, &name, mode));
            if let Err(error) = made {
                self.end(found.at);
                return Err(error);
            }
            found = self.continue_from(found.at, &name, Flags::default())?;
        }
        let at = found.at;
        if flags.write {
            let stat = self.with(at.mount, |fs, cache| fs.stat(cache, at.node));
            if stat.is_ok_and(|stat| Kind::of_mode(stat.mode) == Some(Kind::Directory)) {
                self.end(at);
                return Err(Errno::IsDir);
            }
        }
        // The descriptor keeps the location, so only the lock is given back here.
        self.unlock(at.mount);
        let mut file =
            OpenFile { node: at.node, offset: 0, readable: flags.read, writable: flags.write, append: flags.append };
        if let Err(error) = self.locked(at.mount, |fs, cache| fs.open(cache, &mut file)) {
            self.locked(at.mount, |fs, cache| fs.free_node(cache, file.node));
            return Err(error);
        }
        self.files[fd] = Some((at.mount, file));
        if flags.truncate {
            if let Err(error) = self.ftruncate(fd, 0) {
                let _ = self.close(fd);
                return Err(error);
            }
        }
        Ok(fd)
    }

    pub fn close(&mut self, fd: Fd) -> Result<(), Errno> {
        let (mount, mut file) = self.files.get_mut(fd).and_then(Option::take).ok_or(Errno::BadF)?;
        let node = file.node;
        self.cache.cpu.call();
        let closed = self.locked(mount, |fs, cache| fs.close(cache, &mut file));
        self.locked(mount, |fs, cache| fs.free_node(cache, node));
        closed
    }

    fn on_file<R>(
        &mut self,
        fd: Fd,
        f: impl FnOnce(&mut dyn FileSystem, &mut Bdbuf, &mut OpenFile) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        self.on_file_if(fd, |fs| fs.locks_calls(), f)
    }

    /// `locks`: whether the file system takes its lock for this call.
    fn on_file_if<R>(
        &mut self,
        fd: Fd,
        locks: impl FnOnce(&dyn FileSystem) -> bool,
        f: impl FnOnce(&mut dyn FileSystem, &mut Bdbuf, &mut OpenFile) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let (mount, mut file) = self.files.get(fd).copied().flatten().ok_or(Errno::BadF)?;
        let result = self.locked(mount, |fs, cache| {
            cache.cpu.call();
            cache.cpu.spend(u64::from(locks(fs)), |costs| costs.lock_ps);
            f(fs, cache, &mut file)
        });
        self.files[fd] = Some((mount, file));
        result
    }

    fn checked(&self, fd: Fd, allowed: impl Fn(&OpenFile) -> bool, otherwise: Errno) -> Result<(), Errno> {
        let (_, file) = self.files.get(fd).and_then(Option::as_ref).ok_or(Errno::BadF)?;
        if allowed(file) {
            Ok(())
        } else {
            Err(otherwise)
        }
    }

    /// Reads from the offset on; less at the end of the file.
    pub fn read(&mut self, fd: Fd, into: &mut [u8]) -> Result<usize, Errno> {
        if into.is_empty() {
            return Ok(0);
        }
        self.checked(fd, |file| file.readable, Errno::BadF)?;
        let _why = self.cache.sim().because(&causes::READ);
        self.on_file(fd, |fs, cache, file| fs.read(cache, file, into))
    }

    /// Writes at the offset, or at the end of the file if it was opened to append.
    pub fn write(&mut self, fd: Fd, data: &[u8]) -> Result<usize, Errno> {
        if data.is_empty() {
            return Ok(0);
        }
        self.checked(fd, |file| file.writable, Errno::BadF)?;
        let _why = self.cache.sim().because(&causes::DATA);
        self.on_file(fd, |fs, cache, file| fs.write(cache, file, data))
    }

    /// One plain read per vector that is not empty, until one comes back short.
    pub fn readv(&mut self, fd: Fd, vectors: &mut [&mut [u8]]) -> Result<usize, Errno> {
        if vectors.is_empty() || vectors.len() > VECTORS_MAX {
            return Err(Errno::Inval);
        }
        self.checked(fd, |file| file.readable, Errno::BadF)?;
        let _why = self.cache.sim().because(&causes::READ);
        self.cache.cpu.spend(vectors.len() as u64, |costs| costs.vector_ps);
        let mut total = 0;
        for vector in vectors.iter_mut().filter(|vector| !vector.is_empty()) {
            let n = self.on_file(fd, |fs, cache, file| fs.read(cache, file, vector))?;
            total += n;
            if n < vector.len() {
                break;
            }
        }
        Ok(total)
    }

    /// One plain write per vector that is not empty, until one comes back short.
    pub fn writev(&mut self, fd: Fd, vectors: &[&[u8]]) -> Result<usize, Errno> {
        if vectors.is_empty() || vectors.len() > VECTORS_MAX {
            return Err(Errno::Inval);
        }
        self.checked(fd, |file| file.writable, Errno::BadF)?;
        let _why = self.cache.sim().because(&causes::DATA);
        self.cache.cpu.spend(vectors.len() as u64, |costs| costs.vector_ps);
        let mut total = 0;
        for vector in vectors.iter().filter(|vector| !vector.is_empty()) {
            let n = self.on_file(fd, |fs, cache, file| fs.write(cache, file, vector))?;
            total += n;
            if n < vector.len() {
                break;
            }
        }
        Ok(total)
    }

    /// newlib's implementation: asks for the offset, seeks, reads, seeks back.
    pub fn pread(&mut self, fd: Fd, into: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.elsewhere(fd, offset, |libio| libio.read(fd, into))
    }

    /// newlib's implementation: asks for the offset, seeks, writes, seeks back.
    pub fn pwrite(&mut self, fd: Fd, data: &[u8], offset: u64) -> Result<usize, Errno> {
        self.elsewhere(fd, offset, |libio| libio.write(fd, data))
    }

    fn elsewhere(
        &mut self,
        fd: Fd,
        offset: u64,
        transfer: impl FnOnce(&mut Self) -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let before = self.lseek(fd, 0, Whence::Current)?;
        let offset = i64::try_from(offset).map_err(|_| Errno::Inval)?;
        self.lseek(fd, offset, Whence::Set)?;
        let moved = transfer(self);
        self.lseek(fd, before as i64, Whence::Set)?;
        moved
    }

    /// Moves the offset; beyond the end is allowed.
    pub fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Result<u64, Errno> {
        let locks = |fs: &dyn FileSystem| fs.locks_seeks();
        self.on_file_if(fd, locks, |fs, cache, file| {
            let from = match (file.node.kind, whence) {
                (Kind::Link, _) => return Err(Errno::SPipe),
                (Kind::Directory, Whence::Set) if offset == 0 => 0,
                (Kind::Directory, _) => return Err(Errno::Inval),
                (_, Whence::Set) => 0,
                (_, Whence::Current) => file.offset,
                (_, Whence::End) => fs.stat(cache, file.node)?.size_bytes,
            };
            let to = (from as i64).checked_add(offset).and_then(|to| u64::try_from(to).ok()).ok_or(Errno::Inval)?;
            fs.seek(cache, file, to)?;
            Ok(to)
        })
    }

    pub fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Result<(), Errno> {
        self.checked(fd, |file| file.writable, Errno::Inval)?;
        self.on_file(fd, |fs, cache, file| fs.truncate(cache, file, bytes))
    }

    pub fn fsync(&mut self, fd: Fd) -> Result<(), Errno> {
        self.checked(fd, |file| file.writable, Errno::BadF)?;
        let _why = self.cache.sim().because(&causes::SYNC);
        self.on_file(fd, |fs, cache, file| fs.fsync(cache, file))
    }

    pub fn fdatasync(&mut self, fd: Fd) -> Result<(), Errno> {
        self.checked(fd, |file| file.writable, Errno::BadF)?;
        let _why = self.cache.sim().because(&causes::SYNC);
        self.on_file(fd, |fs, cache, file| fs.fdatasync(cache, file))
    }

    pub fn fstat(&mut self, fd: Fd) -> Result<Stat, Errno> {
        self.on_file(fd, |fs, cache, file| fs.stat(cache, file.node))
    }

    /// The next entry of an open directory: one `read` with room for one entry.
    pub fn read_dir(&mut self, fd: Fd) -> Result<Option<DirEntry>, Errno> {
        self.checked(fd, |file| file.node.kind == Kind::Directory, Errno::NotDir)?;
        self.on_file(fd, |fs, cache, file| fs.read_dir(cache, file))
    }
}
