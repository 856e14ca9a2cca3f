//! Open files: descriptors, positions, advice, fsync.

use crate::dentries::DentryId;
use crate::namei::{check_open, LastLink};
use crate::open_file::OpenFile;
use crate::read_ahead::ReadAhead;
use crate::vfs::Vfs;
use crate::walk::Found;
use crate::write_back;
use ffslab_fs::{DirEntry, Errno, FileKind, Ino, NewNode, Result, SetAttr};
use ffslab_system::{FallocateFlag, Fd, OpenFlags, Whence};

/// Pages of a file that one node of its tree holds (`XA_CHUNK_SIZE`).
const PAGES_OF_NODE: usize = 64;

impl Vfs {
    /// `permissions` are those of a file that is created (07777, no umask).
    ///
    /// # Errors
    /// The errors of the manual page. [`Errno::NotSup`]: the file system knows no files without names, or the file is a
    /// FIFO, which nobody else could open. [`Errno::NxIo`]: the file is a device file, for which there is no device
    /// here, or a socket.
    pub(crate) fn open_path(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Result<Fd> {
        if !(flags.read || flags.write) || (flags.create && flags.directory) {
            return Err(Errno::Inval);
        }
        if flags.unnamed {
            return self.open_unnamed(path, flags, permissions);
        }
        let found = self.walk(path, LastLink::of_open(flags))?;
        let node = NewNode { permissions: permissions & 0o7777, ..NewNode::of(FileKind::File) };
        self.open_found(found, flags, &node).map(|(fd, _)| fd)
    }

    /// Opens the file that was found, or makes `node` there if [`OpenFlags::create`] is set.
    pub(crate) fn open_found(&mut self, found: Found, flags: OpenFlags, node: &NewNode) -> Result<(Fd, Ino)> {
        if flags.create && found.trailing_slash {
            return Err(Errno::IsDir);
        }
        let (ino, kind) = match self.dentries.inode(found.dentry) {
            Some(_) if flags.create && flags.exclusive => return Err(Errno::Exist),
            Some((ino, kind)) => {
                check_open(kind, flags, found.trailing_slash)?;
                if flags.write || flags.truncate {
                    self.want_write()?;
                }
                self.may_open(ino, flags)?;
                check_direct(flags)?;
                if flags.truncate && kind == FileKind::File {
                    self.set_size(ino, 0, true)?;
                }
                (ino, kind)
            }
            None if flags.create => {
                let is_first = !std::mem::replace(&mut self.has_made_files, true);
                self.spend(self.config.costs.create_ns + if is_first { self.config.costs.first_create_ns } else { 0 });
                self.want_write()?;
                let ino = self.make_node(found.dentry, node)?;
                // As on Linux, the file remains if this check fails: it is made before it is opened.
                check_direct(flags)?;
                (ino, FileKind::File)
            }
            None => return Err(Errno::NoEnt),
        };
        Ok((self.add_file(found.dentry, (ino, kind), flags), ino))
    }

    /// `do_tmpfile` of `fs/namei.c`.
    fn open_unnamed(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Result<Fd> {
        if !flags.write || flags.create {
            return Err(Errno::Inval);
        }
        let last_link = if flags.no_follow { LastLink::FollowIfSlash } else { LastLink::Follow };
        let directory = self.walk_existing(path, last_link)?;
        let Some((directory_ino, FileKind::Directory)) = self.dentries.inode(directory) else {
            return Err(Errno::NotDir);
        };
        self.want_write()?;
        let node = NewNode { permissions: permissions & 0o7777, ..NewNode::of(FileKind::File) };
        let (fs, memory) = self.parts()?;
        let inode = (fs.create_unnamed(memory, directory_ino, &node)?, FileKind::File);
        if !flags.exclusive {
            self.linkable.insert(inode.0);
        }
        let dentry = self.dentries.add_unnamed(directory, inode);
        let fd = self.add_file(dentry, inode, flags);
        if let Err(error) = check_direct(flags) {
            self.do_release(fd)?;
            return Err(error);
        }
        Ok(fd)
    }

    /// A new open file; the lowest free number is its descriptor.
    fn add_file(&mut self, dentry: DentryId, (ino, kind): (Ino, FileKind), flags: OpenFlags) -> Fd {
        self.dentries.hold(dentry);
        *self.opens.entry(ino).or_insert(0) += 1;
        let read_ahead = ReadAhead::new(self.device_ra_pages);
        let errors_known = self.memory.write_back.errors_at_open(ino);
        let file = OpenFile { dentry, ino, kind, flags, position: 0, read_ahead, errors_known, map: None };
        let number = self.files.iter().position(Option::is_none).unwrap_or_else(|| {
            self.files.push(None);
            self.files.len() - 1
        });
        self.files[number] = Some(file);
        Fd(number as u32)
    }

    /// The descriptor is gone even when the file system reports an error.
    pub(crate) fn close_open(&mut self, fd: Fd) -> Result<()> {
        let result = self.do_flush(fd);
        if result == Err(Errno::BadF) {
            return result;
        }
        self.do_release(fd)?;
        result
    }

    /// The part of close(2) for a descriptor that others share (`->flush`). The file stays open.
    pub fn flush(&mut self, fd: Fd) -> Result<()> {
        self.system_call(|vfs| vfs.do_flush(fd))
    }

    /// Closes an open file whose last descriptor is gone (`->release`). Each descriptor was flushed when it was closed.
    /// Not a system call.
    pub fn release(&mut self, fd: Fd) -> Result<()> {
        self.do_release(fd)
    }

    fn do_flush(&mut self, fd: Fd) -> Result<()> {
        let &OpenFile { ino, kind, .. } = self.file(fd)?;
        let (fs, memory) = self.parts()?;
        if kind == FileKind::File {
            fs.close(memory, ino)
        } else {
            Ok(())
        }
    }

    fn do_release(&mut self, fd: Fd) -> Result<()> {
        if self.file(fd)?.map.is_some() {
            self.unmap(fd)?;
        }
        let OpenFile { dentry, ino, .. } =
            self.files.get_mut(fd.0 as usize).and_then(Option::take).ok_or(Errno::BadF)?;
        match self.opens.get_mut(&ino) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                self.opens.remove(&ino);
            }
        }
        for (ino, kind) in self.dentries.release(dentry) {
            self.evict_if_unused(ino, kind)?;
        }
        if self.config.kernel.frees_files_later {
            self.sim.frees_later();
        }
        Ok(())
    }

    pub(crate) fn seek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Result<u64> {
        let file = self.file(fd)?;
        let (ino, position) = (file.ino, file.position);
        let (fs, _) = self.parts()?;
        let base = match whence {
            Whence::Set => 0,
            Whence::Current => position,
            Whence::End => fs.getattr(ino)?.size_bytes,
        };
        let limit = fs.file_bytes_max();
        let position = base.checked_add_signed(offset).filter(|&p| p <= limit).ok_or(Errno::Inval)?;
        self.file_mut(fd)?.position = position;
        Ok(position)
    }

    pub(crate) fn sync_open(&mut self, fd: Fd, data_only: bool) -> Result<()> {
        self.file(fd)?;
        self.sync_range(fd, 0, u64::MAX, data_only)
    }

    /// Writes the dirty pages `first ..= last` and then calls the file system's fsync (`vfs_fsync_range`). Each open
    /// file is told once of errors of earlier write-back.
    pub(crate) fn sync_range(&mut self, fd: Fd, first: u64, last: u64, data_only: bool) -> Result<()> {
        let Some(fs) = self.fs.as_deref_mut() else { return Err(Errno::NoDev) };
        let file = self.files.get_mut(fd.0 as usize).and_then(Option::as_mut).ok_or(Errno::BadF)?;
        if fs.is_read_only() {
            return Ok(());
        }
        if fs.delays_writes() || self.memory.write_back.has_stores {
            let written = write_back::write_range(&mut self.memory, fs, file.ino, first, last);
            let earlier = self.memory.write_back.error_since(file.ino, &mut file.errors_known);
            written.and(earlier)?;
        }
        fs.fsync(&mut self.memory, file.ino, data_only)
    }

    pub(crate) fn truncate_open(&mut self, fd: Fd, size_bytes: u64) -> Result<()> {
        let file = self.file(fd)?;
        if file.kind != FileKind::File || !file.flags.write {
            return Err(Errno::Inval);
        }
        let ino = file.ino;
        self.may_cut(ino)?;
        self.set_size(ino, size_bytes, true)
    }

    /// `vfs_fallocate` of `fs/open.c`. No file system here has a `->fallocate`, so what passes the checks is not supported.
    pub(crate) fn fallocate(&mut self, fd: Fd, flags: &[FallocateFlag], at: u64, bytes: u64) -> Result<()> {
        let has = |flag| flags.contains(&flag);
        let is_alone = |flag| flags.iter().all(|other| *other == flag);
        let file = self.file(fd)?;
        if bytes == 0 {
            return Err(Errno::Inval);
        }
        if has(FallocateFlag::PunchHole) && (has(FallocateFlag::ZeroRange) || !has(FallocateFlag::KeepSize)) {
            return Err(Errno::NotSup);
        }
        if [FallocateFlag::CollapseRange, FallocateFlag::InsertRange]
            .into_iter()
            .any(|flag| has(flag) && !is_alone(flag))
        {
            return Err(Errno::Inval);
        }
        if !file.flags.write {
            return Err(Errno::BadF);
        }
        let ino = file.ino;
        self.may_fallocate(ino, flags.iter().any(|flag| *flag != FallocateFlag::KeepSize))?;
        let (fs, _) = self.parts()?;
        let end = at.checked_add(bytes);
        Err(if end.is_some_and(|end| end <= fs.file_bytes_max()) { Errno::NotSup } else { Errno::FBig })
    }

    pub(crate) fn truncate_path(&mut self, path: &[u8], size_bytes: u64) -> Result<()> {
        let dentry = self.walk_existing(path, LastLink::Follow)?;
        match self.dentries.inode(dentry) {
            Some((ino, FileKind::File)) => {
                self.want_write()?;
                self.may_truncate(ino)?;
                self.set_size(ino, size_bytes, false)
            }
            Some((_, FileKind::Directory)) => Err(Errno::IsDir),
            _ => Err(Errno::Inval),
        }
    }

    /// Changes the size of a file. The page cache is cut only after the file system has succeeded, in the order that
    /// JFFS2 needs. Only calls on an open file set the modification time themselves (`fs/open.c`); for truncate(2) that
    /// is left to the file system.
    pub(crate) fn set_size(&mut self, ino: Ino, size_bytes: u64, stamp: bool) -> Result<()> {
        let (fs, memory) = self.parts()?;
        if size_bytes > fs.file_bytes_max() {
            return Err(Errno::FBig);
        }
        let modified = stamp.then(|| ffslab_fs::Host::now(memory));
        let change = SetAttr { size_bytes: Some(size_bytes), modified, ..SetAttr::default() };
        fs.setattr(memory, ino, &change)?;
        let cached = memory.pages.pages();
        memory.cut(fs, ino, size_bytes);
        let cut = cached.saturating_sub(self.memory.pages.pages());
        self.pay_for_deleted(cached);
        // The tree of pages has nodes of 64; one page that is the first needs none (`xas_shrink` of lib/xarray.c).
        if cut >= PAGES_OF_NODE || size_bytes <= ffslab_fs::PAGE_BYTES as u64 && cut > usize::from(size_bytes == 0) {
            self.sim.frees_later();
        }
        Ok(())
    }

    /// Hands out the entries of an open directory, in the file system's order, without "." and "..".
    pub(crate) fn entries_of(&mut self, fd: Fd, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        let file = self.file(fd)?;
        if file.kind != FileKind::Directory {
            return Err(Errno::NotDir);
        }
        let (dentry, ino) = (file.dentry, file.ino);
        if !self.dentries.is_hashed(dentry) {
            return Err(Errno::NoEnt);
        }
        self.parts()?.0.readdir(ino, emit)
    }

    pub(crate) fn file(&self, fd: Fd) -> Result<&OpenFile> {
        self.files.get(fd.0 as usize).and_then(Option::as_ref).ok_or(Errno::BadF)
    }

    pub(crate) fn file_mut(&mut self, fd: Fd) -> Result<&mut OpenFile> {
        self.files.get_mut(fd.0 as usize).and_then(Option::as_mut).ok_or(Errno::BadF)
    }
}

/// `do_dentry_open` of `fs/open.c`, after a file was found or made and before it is truncated: the address spaces of JFFS2,
/// YAFFS2 and UBIFS have no `direct_IO`.
fn check_direct(flags: OpenFlags) -> Result<()> {
    if flags.direct {
        Err(Errno::Inval)
    } else {
        Ok(())
    }
}
