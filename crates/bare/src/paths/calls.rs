//! What the program calls.

use super::{ino_of, plain, Handle, PathProgram};
use crate::handles::foreign_flag;
use ffslab_fs::{causes, Errno, FileHandle, FileKind, KeyEntry, OpenHow, PathStat, Stat, StatFs};
use ffslab_sim::{Idle, Sim};
use ffslab_system::{Answer, Calls, Entry, Fd, OpenFlags, Refusal, Whence};

impl PathProgram {
    fn handle(&mut self, fd: Fd) -> Answer<&mut Handle> {
        self.handles.get_mut(fd)
    }

    /// The open file of a descriptor that is to be read or written.
    fn file(&mut self, fd: Fd, is_allowed: impl FnOnce(&OpenFlags) -> bool) -> Answer<FileHandle> {
        let handle = self.handle(fd)?;
        if !is_allowed(&handle.flags) {
            return Err(Errno::BadF.into());
        }
        Ok(handle.file.ok_or(Errno::IsDir)?)
    }

    fn read_at(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        let file = self.file(fd, |flags| flags.read)?;
        let read = self.call(&causes::READ, |fs| fs.read_at(file, at, into))?;
        self.copies(read);
        Ok(read)
    }

    /// Where the data went, and how many bytes.
    fn write_at(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<(u64, usize)> {
        let file = self.file(fd, |flags| flags.write)?;
        let at =
            if self.handle(fd)?.flags.append { self.call(&causes::METADATA, |fs| fs.size_bytes(file))? } else { at };
        if data.is_empty() {
            return Ok((at, 0));
        }
        let written = self.call(&causes::DATA, |fs| fs.write_at(file, at, data))?;
        self.copies(written);
        Ok((at, written))
    }

    fn entry(&self, directory: &[u8], stat: PathStat) -> Entry {
        let path = plain(&[directory, b"/", &stat.name].concat());
        Entry { ino: ino_of(&path), name: stat.name, kind: Some(stat.kind) }
    }

    fn list(&mut self, path: &[u8]) -> Answer<Vec<Entry>> {
        let found = self.call(&causes::NAME_LOOKUP, |fs| fs.list(path))?;
        Ok(found.into_iter().map(|stat| self.entry(path, stat)).collect())
    }

    /// What is opened: a file, or `None` for a directory, which may be read alone.
    fn opened(&mut self, path: &[u8], flags: &OpenFlags) -> Answer<Option<FileHandle>> {
        if flags.directory {
            let stat = self.call(&causes::NAME_LOOKUP, |fs| fs.stat(path))?;
            return match stat.kind {
                FileKind::Directory if flags.write => Err(Errno::IsDir.into()),
                FileKind::Directory => Ok(None),
                _ => Err(Errno::NotDir.into()),
            };
        }
        let how = OpenHow {
            read: flags.read,
            write: flags.write,
            create: flags.create,
            exclusive: flags.exclusive,
            truncate: flags.truncate,
        };
        match self.call(&causes::METADATA, |fs| fs.open(path, how)) {
            Err(error) if error == Errno::IsDir && !flags.write && !flags.create => Ok(None),
            opened => opened.map(Some),
        }
    }
}

impl Calls for PathProgram {
    fn system_name(&self) -> &'static str {
        super::SYSTEM_NAME
    }

    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn read_clock_ns(&mut self) -> u64 {
        self.computes(self.costs.clock_read_ns);
        self.sim.now_ns()
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        self.sim.foreground_sleeps_until(self.sim.now_ns().saturating_add(duration_ns));
        while self.sim.idle_next() != Idle::Over {}
    }

    fn compute_ns(&mut self, duration_ns: u64) {
        self.sim.program_computes(duration_ns);
        self.sim.consume(self.costs.cpu_power, duration_ns);
    }

    fn epoch_s(&self) -> u64 {
        self.epoch_s
    }

    fn open(&mut self, path: &[u8], flags: OpenFlags, _permissions: u32) -> Answer<Fd> {
        if let Some(flag) = foreign_flag(&flags) {
            return Err(self.lacks(flag));
        }
        let path = plain(path);
        let file = self.opened(&path, &flags)?;
        Ok(self.handles.open(Handle { path, flags, file, position: 0 }))
    }

    fn close(&mut self, fd: Fd) -> Answer<()> {
        let file = self.handles.close(fd)?.file;
        file.map_or(Ok(()), |file| self.call(&causes::SYNC, |fs| fs.close(file)))
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        let at = self.handle(fd)?.position;
        let read = self.read_at(fd, into, at)?;
        self.handle(fd)?.position = at + read as u64;
        Ok(read)
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        let at = self.handle(fd)?.position;
        let (at, written) = self.write_at(fd, data, at)?;
        self.handle(fd)?.position = at + written as u64;
        Ok(written)
    }

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        self.read_at(fd, into, at)
    }

    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(bytes.max(buffer.len()), 0);
        let read = self.pread(fd, &mut buffer[..bytes], at);
        self.buffer = buffer;
        read
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        self.write_at(fd, data, at).map(|(_, written)| written)
    }

    fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Answer<u64> {
        let from = match whence {
            Whence::Set => 0,
            Whence::Current => self.handle(fd)?.position,
            Whence::End => self.fstat(fd)?.size_bytes,
        };
        let to = (from as i64).checked_add(offset).and_then(|to| u64::try_from(to).ok()).ok_or(Errno::Inval)?;
        self.handle(fd)?.position = to;
        Ok(to)
    }

    fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Answer<()> {
        let handle = self.handle(fd)?;
        match handle.file.filter(|_| handle.flags.write) {
            Some(file) => self.call(&causes::METADATA, |fs| fs.truncate(file, bytes)),
            None => Err(Errno::Inval.into()),
        }
    }

    /// The names of a directory are safe when the call that made them has returned.
    fn fsync(&mut self, fd: Fd) -> Answer<()> {
        match self.handle(fd)?.file {
            Some(file) => self.call(&causes::SYNC, |fs| fs.sync(file)),
            None => Ok(()),
        }
    }

    fn fdatasync(&mut self, fd: Fd) -> Answer<()> {
        self.fsync(fd)
    }

    fn fstat(&mut self, fd: Fd) -> Answer<Stat> {
        let handle = self.handle(fd)?;
        let (path, file) = (handle.path.clone(), handle.file);
        match file {
            Some(file) => {
                let size_bytes = self.call(&causes::METADATA, |fs| fs.size_bytes(file))?;
                Ok(self.stat_of(&path, FileKind::File, size_bytes))
            }
            None => Ok(self.stat_of(&path, FileKind::Directory, 0)),
        }
    }

    fn readdir(&mut self, fd: Fd) -> Answer<Vec<Entry>> {
        let handle = self.handle(fd)?;
        if handle.file.is_some() {
            return Err(Errno::NotDir.into());
        }
        let path = handle.path.clone();
        self.list(&path)
    }

    fn readdir_path(&mut self, path: &[u8]) -> Answer<Vec<Entry>> {
        self.list(&plain(path))
    }

    fn mkdir(&mut self, path: &[u8], _permissions: u32) -> Answer<()> {
        self.call(&causes::METADATA, |fs| fs.mkdir(&plain(path)))
    }

    /// The file system removes files and empty directories by one call.
    fn rmdir(&mut self, path: &[u8]) -> Answer<()> {
        self.call(&causes::METADATA, |fs| fs.remove(&plain(path)))
    }

    fn unlink(&mut self, path: &[u8]) -> Answer<()> {
        self.call(&causes::METADATA, |fs| fs.remove(&plain(path)))
    }

    /// A directory cannot move into itself, which no file system of this kind is asked: littlefs would lose it.
    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        let (old, new) = (plain(old), plain(new));
        if new.strip_prefix(&old[..]).is_some_and(|rest| rest.first() == Some(&b'/')) {
            return Err(Errno::Inval.into());
        }
        self.call(&causes::METADATA, |fs| fs.rename(&old, &new))
    }

    fn stat(&mut self, path: &[u8]) -> Answer<Stat> {
        let path = plain(path);
        let found = self.call(&causes::NAME_LOOKUP, |fs| fs.stat(&path))?;
        Ok(self.stat_of(&path, found.kind, found.size_bytes))
    }

    fn truncate(&mut self, path: &[u8], bytes: u64) -> Answer<()> {
        let fd = self.open(path, OpenFlags { write: true, ..OpenFlags::default() }, 0)?;
        let truncated = self.ftruncate(fd, bytes);
        truncated.and(self.close(fd))
    }

    /// Each open file that can be written is synced; nothing else waits in memory.
    fn sync(&mut self) -> Answer<()> {
        let files: Vec<FileHandle> =
            self.handles.iter().filter(|handle| handle.flags.write).filter_map(|handle| handle.file).collect();
        files.into_iter().try_for_each(|file| self.call(&causes::SYNC, |fs| fs.sync(file)))
    }

    fn has_keys(&self) -> bool {
        self.fs.as_ref().is_some_and(|fs| fs.has_store())
    }

    fn set_value(&mut self, key: &[u8], value: &[u8]) -> Answer<()> {
        self.call_store(|store| store.set(key, value))?;
        self.copies(value.len());
        Ok(())
    }

    fn get_value(&mut self, key: &[u8]) -> Answer<Vec<u8>> {
        let value = self.call_store(|store| store.get(key))?;
        self.copies(value.len());
        Ok(value)
    }

    fn delete_value(&mut self, key: &[u8]) -> Answer<()> {
        self.call_store(|store| store.delete(key))
    }

    fn list_values(&mut self) -> Answer<Vec<KeyEntry>> {
        let mut entries = Vec::new();
        let listed = self.call_store(|store| {
            store.iterate(&mut |key, value| {
                entries.push(KeyEntry { key: key.to_vec(), value_bytes: value.len() as u64 });
            })
        });
        match listed {
            Err(Refusal::Failed(Errno::NoSys)) => {
                let what = "list of its keys, only hashes of them";
                return Err(Refusal::Lacks { system: super::STORE_NAME, what });
            }
            listed => listed?,
        }
        entries.iter().for_each(|entry| self.copies(entry.value_bytes as usize));
        Ok(entries)
    }

    fn statfs(&mut self) -> Answer<StatFs> {
        self.call(&causes::METADATA, |fs| fs.statfs())
    }
}
