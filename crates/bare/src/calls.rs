//! What the program calls.

use crate::handles::foreign_flag;
use crate::path::Found;
use crate::{Bare, Handle};
use ffslab_fs::{causes, run_turn, DirEntry, Errno, FileKind, Ino, NewNode, SetAttr, Stat, StatFs, TimeSpec};
use ffslab_sim::{Idle, Sim};
use ffslab_system::{Answer, Calls, Entry, Fd, OpenFlags, Whence};

impl Bare {
    fn handle(&self, fd: Fd) -> Answer<Handle> {
        self.handles.get(fd).copied()
    }

    fn set_position(&mut self, fd: Fd, position: u64) {
        if let Ok(handle) = self.handles.get_mut(fd) {
            handle.position = position;
        }
    }

    fn is_open(&self, ino: Ino) -> bool {
        self.handles.iter().any(|handle| handle.ino == ino)
    }

    /// Nobody may be left who uses it: what has no name any more ends.
    fn let_go(&mut self, ino: Ino) -> Answer<()> {
        if self.is_open(ino) {
            Ok(())
        } else {
            self.call(&causes::METADATA, |fs, host| fs.evict(host, ino))
        }
    }

    fn want_write(&self) -> Answer<()> {
        match &self.fs {
            Some(fs) if fs.is_read_only() => Err(Errno::RoFs.into()),
            _ => Ok(()),
        }
    }

    fn make(&mut self, path: &[u8], kind: FileKind, permissions: u32, target: &[u8]) -> Answer<Ino> {
        let found = self.find(path, false)?;
        if found.ino.is_some() {
            return Err(Errno::Exist.into());
        }
        self.make_at(&found, kind, permissions, target)
    }

    fn make_at(&mut self, found: &Found, kind: FileKind, permissions: u32, target: &[u8]) -> Answer<Ino> {
        self.want_write()?;
        let node = NewNode { kind, permissions, uid: 0, gid: 0, device: 0, target };
        self.call(&causes::METADATA, |fs, host| fs.create(host, found.directory, &found.name, &node))
    }

    fn remove(&mut self, path: &[u8], is_directory: bool) -> Answer<()> {
        self.want_write()?;
        let found = self.find(path, false)?;
        let ino = found.there()?;
        let wanted = if is_directory { Errno::NotDir } else { Errno::IsDir };
        if (self.kind_of(ino)? == FileKind::Directory) != is_directory {
            return Err(wanted.into());
        }
        if found.name.is_empty() {
            return Err(Errno::Busy.into());
        }
        self.call(&causes::METADATA, |fs, host| {
            if is_directory {
                fs.rmdir(host, found.directory, &found.name)
            } else {
                fs.unlink(host, found.directory, &found.name)
            }
        })?;
        self.let_go(ino)
    }

    fn change(&mut self, ino: Ino, change: &SetAttr) -> Answer<()> {
        self.want_write()?;
        self.call(&causes::METADATA, |fs, host| fs.setattr(host, ino, change))
    }

    fn read_at(&mut self, handle: Handle, into: &mut [u8], at: u64) -> Answer<usize> {
        if !handle.flags.read {
            return Err(Errno::BadF.into());
        }
        if handle.kind == FileKind::Directory {
            return Err(Errno::IsDir.into());
        }
        let read = self.call(&causes::READ, |fs, _| fs.read_at(handle.ino, at, into))?;
        self.copies(read);
        Ok(read)
    }

    /// Where the data went, and how many bytes.
    fn write_at(&mut self, handle: Handle, data: &[u8], at: u64) -> Answer<(u64, usize)> {
        if !handle.flags.write {
            return Err(Errno::BadF.into());
        }
        let at = if handle.flags.append {
            self.call(&causes::METADATA, |fs, _| fs.getattr(handle.ino))?.size_bytes
        } else {
            at
        };
        let written = self.call(&causes::DATA, |fs, host| fs.write_at(host, handle.ino, at, data))?;
        self.copies(written);
        Ok((at, written))
    }

    fn safe(&mut self, fd: Fd, data_only: bool) -> Answer<()> {
        let ino = self.handle(fd)?.ino;
        self.want_write()?;
        self.call(&causes::SYNC, |fs, host| fs.fsync(host, ino, data_only))
    }
}

impl Calls for Bare {
    fn system_name(&self) -> &'static str {
        "a bare program"
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
        while let Idle::Run(task) = self.sim.idle_next() {
            match self.fs.as_deref_mut() {
                Some(fs) => run_turn(fs, &mut self.host, task),
                None => self.sim.kill(task),
            }
        }
    }

    fn compute_ns(&mut self, duration_ns: u64) {
        self.sim.program_computes(duration_ns);
        self.sim.consume(self.costs.cpu_power, duration_ns);
    }

    fn epoch_s(&self) -> u64 {
        self.epoch_s
    }

    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Answer<Fd> {
        if let Some(flag) = foreign_flag(&flags) {
            return Err(self.lacks(flag));
        }
        let found = self.find(path, !flags.no_follow)?;
        let ino = match found.ino {
            Some(_) if flags.create && flags.exclusive => return Err(Errno::Exist.into()),
            Some(ino) => ino,
            // Behind a symbolic link to nothing the file is made where the link points to.
            None if flags.create => self.make_at(&found, FileKind::File, permissions, b"")?,
            None => return Err(Errno::NoEnt.into()),
        };
        let kind = self.kind_of(ino)?;
        match kind {
            FileKind::Symlink => return Err(Errno::Loop.into()),
            FileKind::Directory if flags.write => return Err(Errno::IsDir.into()),
            FileKind::Directory => {}
            _ if flags.directory => return Err(Errno::NotDir.into()),
            _ => {}
        }
        if flags.write {
            self.want_write()?;
        }
        if flags.truncate && kind == FileKind::File {
            self.change(ino, &SetAttr { size_bytes: Some(0), ..SetAttr::default() })?;
        }
        Ok(self.handles.open(Handle { ino, kind, flags, position: 0 }))
    }

    fn close(&mut self, fd: Fd) -> Answer<()> {
        let handle = self.handles.close(fd)?;
        let writes = handle.kind == FileKind::File && handle.flags.write;
        // `yaffs_close` flushes a file that was written, whoever else has it open.
        let closed = if writes { self.call(&causes::SYNC, |fs, host| fs.close(host, handle.ino)) } else { Ok(()) };
        closed.and(self.let_go(handle.ino))
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        let handle = self.handle(fd)?;
        let read = self.read_at(handle, into, handle.position)?;
        self.set_position(fd, handle.position + read as u64);
        Ok(read)
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        let handle = self.handle(fd)?;
        let (at, written) = self.write_at(handle, data, handle.position)?;
        self.set_position(fd, at + written as u64);
        Ok(written)
    }

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        let handle = self.handle(fd)?;
        self.read_at(handle, into, at)
    }

    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(bytes.max(buffer.len()), 0);
        let read = self.pread(fd, &mut buffer[..bytes], at);
        self.buffer = buffer;
        read
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        let handle = self.handle(fd)?;
        self.write_at(handle, data, at).map(|(_, written)| written)
    }

    fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Answer<u64> {
        let handle = self.handle(fd)?;
        let from = match whence {
            Whence::Set => 0,
            Whence::Current => handle.position,
            Whence::End => self.fstat(fd)?.size_bytes,
        };
        let to = (from as i64).checked_add(offset).and_then(|to| u64::try_from(to).ok()).ok_or(Errno::Inval)?;
        self.set_position(fd, to);
        Ok(to)
    }

    fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Answer<()> {
        let handle = self.handle(fd)?;
        if !handle.flags.write {
            return Err(Errno::Inval.into());
        }
        self.change(handle.ino, &SetAttr { size_bytes: Some(bytes), ..SetAttr::default() })
    }

    fn fsync(&mut self, fd: Fd) -> Answer<()> {
        self.safe(fd, false)
    }

    fn fdatasync(&mut self, fd: Fd) -> Answer<()> {
        self.safe(fd, true)
    }

    fn fstat(&mut self, fd: Fd) -> Answer<Stat> {
        let ino = self.handle(fd)?.ino;
        self.call(&causes::METADATA, |fs, _| fs.getattr(ino))
    }

    fn readdir(&mut self, fd: Fd) -> Answer<Vec<Entry>> {
        let ino = self.handle(fd)?.ino;
        let mut entries = Vec::new();
        let mut emit = |entry: DirEntry<'_>| {
            entries.push(Entry { ino: entry.ino, name: entry.name.to_vec(), kind: Some(entry.kind) });
        };
        self.call(&causes::METADATA, |fs, _| fs.readdir(ino, &mut emit))?;
        Ok(entries)
    }

    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        self.make(path, FileKind::Directory, permissions, b"").map(drop)
    }

    fn rmdir(&mut self, path: &[u8]) -> Answer<()> {
        self.remove(path, true)
    }

    fn unlink(&mut self, path: &[u8]) -> Answer<()> {
        self.remove(path, false)
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.want_write()?;
        let (from, to) = (self.find(old, false)?, self.find(new, false)?);
        let moved = from.there()?;
        if from.name.is_empty() || to.name.is_empty() {
            // The root, or a directory by way of "." or "..", has no name that could be given or taken.
            return Err(Errno::Busy.into());
        }
        if to.ino == Some(moved) {
            return Ok(());
        }
        self.call(&causes::METADATA, |fs, host| fs.rename(host, from.directory, &from.name, to.directory, &to.name))?;
        to.ino.map_or(Ok(()), |replaced| self.let_go(replaced))
    }

    fn link(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.want_write()?;
        let (ino, to) = (self.find(old, true)?.there()?, self.find(new, false)?);
        if to.ino.is_some() {
            return Err(Errno::Exist.into());
        }
        if self.kind_of(ino)? == FileKind::Directory {
            return Err(Errno::Perm.into());
        }
        self.call(&causes::METADATA, |fs, host| fs.link(host, ino, to.directory, &to.name))
    }

    fn symlink(&mut self, target: &[u8], path: &[u8]) -> Answer<()> {
        self.make(path, FileKind::Symlink, 0o777, target).map(drop)
    }

    fn readlink(&mut self, path: &[u8]) -> Answer<Vec<u8>> {
        let ino = self.find(path, false)?.there()?;
        match self.kind_of(ino)? {
            FileKind::Symlink => self.call(&causes::METADATA, |fs, _| fs.readlink(ino)),
            _ => Err(Errno::Inval.into()),
        }
    }

    fn stat(&mut self, path: &[u8]) -> Answer<Stat> {
        let ino = self.find(path, true)?.there()?;
        self.call(&causes::METADATA, |fs, _| fs.getattr(ino))
    }

    fn lstat(&mut self, path: &[u8]) -> Answer<Stat> {
        let ino = self.find(path, false)?.there()?;
        self.call(&causes::METADATA, |fs, _| fs.getattr(ino))
    }

    fn truncate(&mut self, path: &[u8], bytes: u64) -> Answer<()> {
        let ino = self.find(path, true)?.there()?;
        if self.kind_of(ino)? == FileKind::Directory {
            return Err(Errno::IsDir.into());
        }
        self.change(ino, &SetAttr { size_bytes: Some(bytes), ..SetAttr::default() })
    }

    fn chmod(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        let ino = self.find(path, true)?.there()?;
        self.change(ino, &SetAttr { permissions: Some(permissions & 0o7777), ..SetAttr::default() })
    }

    fn utimens(&mut self, path: &[u8], accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> Answer<()> {
        let ino = self.find(path, true)?.there()?;
        self.change(ino, &SetAttr { accessed, modified, ..SetAttr::default() })
    }

    fn sync(&mut self) -> Answer<()> {
        self.want_write()?;
        self.call(&causes::SYNC, |fs, host| fs.sync(host))
    }

    fn statfs(&mut self) -> Answer<StatFs> {
        self.call(&causes::METADATA, |fs, _| Ok(fs.statfs()))
    }
}
