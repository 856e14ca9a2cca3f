//! Open files: each has the real file of its layer open (`fs/overlayfs/file.c`).

use crate::inodes::{Node, Opened, Where};
use crate::Overlay;
use ffslab_fs::{Errno, FileKind, NewNode, Result, Stat};
use ffslab_linux::namei::{check_open, LastLink};
use ffslab_linux::Vfs;
use ffslab_system::{Answer, Calls, Entry, Fd, OpenFlags, Whence};

impl Overlay {
    pub(crate) fn open_path(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Result<Fd> {
        if !(flags.read || flags.write) || flags.create && flags.directory {
            return Err(Errno::Inval);
        }
        if flags.unnamed {
            // Overlays have files without names since 6.10.
            return Err(if flags.write && !flags.create { Errno::NotSup } else { Errno::Inval });
        }
        let found = self.walk(path, LastLink::of_open(flags))?;
        if flags.create && found.has_slash {
            return Err(Errno::IsDir);
        }
        let node = match found.known.node() {
            Some(_) if flags.create && flags.exclusive => return Err(Errno::Exist),
            Some(node) => {
                check_open(node.borrow().kind, flags, found.has_slash)?;
                node.clone()
            }
            None if flags.create => {
                let new = NewNode { permissions: permissions & 0o7777, ..NewNode::of(FileKind::File) };
                self.make(&found, &new)?
            }
            None => return Err(Errno::NoEnt),
        };
        if flags.direct {
            return Err(Errno::Inval);
        }
        if node.borrow().is_directory() {
            return Ok(self.add(Opened { node, real: None }));
        }
        if flags.write || flags.truncate {
            self.copy_up_as(&found.path, flags.truncate)?;
        }
        let at = match node.borrow().lowers.first() {
            Some(&layer) if !node.borrow().is_upper => Where::Lower(layer),
            _ => Where::Upper,
        };
        let (layer, real) = self.real(&node.borrow(), &found.path);
        let asked = OpenFlags { create: false, exclusive: false, ..flags };
        let fd = layer.with(|vfs| vfs.open(&real, asked, 0))?;
        Ok(self.add(Opened { node, real: Some((at, fd)) }))
    }

    /// The lowest free number is its descriptor.
    fn add(&mut self, file: Opened) -> Fd {
        file.node.borrow_mut().opens += 1;
        let free = self.files.iter().position(Option::is_none).unwrap_or(self.files.len());
        if free == self.files.len() {
            self.files.push(None);
        }
        self.files[free] = Some(file);
        Fd(free as u32)
    }

    fn file(&self, fd: Fd) -> Result<&Opened> {
        self.files.get(fd.0 as usize).and_then(Option::as_ref).ok_or(Errno::BadF)
    }

    pub(crate) fn close_open(&mut self, fd: Fd) -> Result<()> {
        let file = self.files.get_mut(fd.0 as usize).and_then(Option::take).ok_or(Errno::BadF)?;
        let closed = match file.real {
            Some((at, real)) => self.at(at, |vfs| vfs.close(real)).map_err(Errno::from),
            None => Ok(()),
        };
        let above = {
            let mut inode = file.node.borrow_mut();
            inode.opens -= 1;
            if inode.opens == 0 {
                inode.above.take()
            } else {
                None
            }
        };
        let copied = above.map_or(Ok(()), |above| self.above(|vfs| vfs.close(above)).map_err(Errno::from));
        closed.and(copied)
    }

    fn at<R>(&self, at: Where, call: impl FnOnce(&mut Vfs) -> R) -> R {
        match at {
            Where::Upper => self.above(call),
            Where::Lower(layer) => self.lowers[layer].with(call),
        }
    }

    /// The open file that has the data by now: who opened a lower one reads the upper one when it was copied up (`ovl_real_fdget`).
    fn real_file(&self, fd: Fd) -> Result<(Where, Fd)> {
        let file = self.file(fd)?;
        let (at, real) = file.real.ok_or(Errno::IsDir)?;
        let above = file.node.borrow().above.filter(|_| at != Where::Upper);
        Ok(above.map_or((at, real), |above| (Where::Upper, above)))
    }

    /// A call on the real file. A directory answers with `on_directory`.
    pub(crate) fn on_file<R>(
        &mut self,
        fd: Fd,
        on_directory: Errno,
        call: impl FnOnce(&mut Vfs, Fd) -> Answer<R>,
    ) -> Result<R> {
        if self.file(fd)?.real.is_none() {
            return Err(on_directory);
        }
        let (at, real) = self.real_file(fd)?;
        Ok(self.at(at, |vfs| call(vfs, real))?)
    }

    /// read(2) at the position, which the file that was opened first keeps.
    pub(crate) fn read_on(&mut self, fd: Fd, into: &mut [u8]) -> Result<usize> {
        let Some(opened) = self.file(fd)?.real else { return Err(Errno::IsDir) };
        let real = self.real_file(fd)?;
        if real == opened {
            return Ok(self.at(real.0, |vfs| vfs.read(real.1, into))?);
        }
        let position = self.at(opened.0, |vfs| vfs.lseek(opened.1, 0, Whence::Current))?;
        let read = self.at(real.0, |vfs| vfs.pread(real.1, into, position))?;
        let end = i64::try_from(position + read as u64).map_err(|_| Errno::Inval)?;
        self.at(opened.0, |vfs| vfs.lseek(opened.1, end, Whence::Set))?;
        Ok(read)
    }

    pub(crate) fn seek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Result<u64> {
        let Some(opened) = self.file(fd)?.real else {
            // A list is always read whole here.
            return Ok(0);
        };
        let real = self.real_file(fd)?;
        if real == opened || whence != Whence::End {
            return Ok(self.at(opened.0, |vfs| vfs.lseek(opened.1, offset, whence))?);
        }
        let end = self.at(real.0, |vfs| vfs.lseek(real.1, offset, whence))?;
        let end = i64::try_from(end).map_err(|_| Errno::Inval)?;
        Ok(self.at(opened.0, |vfs| vfs.lseek(opened.1, end, Whence::Set))?)
    }

    /// A lower file has nothing that could be written (`ovl_fsync`).
    pub(crate) fn sync_open(&mut self, fd: Fd, data_only: bool) -> Result<()> {
        if self.file(fd)?.real.is_none() {
            return self.sync_directory(fd);
        }
        let (at, real) = self.real_file(fd)?;
        match at {
            Where::Lower(_) => Ok(()),
            Where::Upper if data_only => Ok(self.above(|vfs| vfs.fdatasync(real))?),
            Where::Upper => Ok(self.above(|vfs| vfs.fsync(real))?),
        }
    }

    fn sync_directory(&mut self, fd: Fd) -> Result<()> {
        let node = self.file(fd)?.node.clone();
        if !node.borrow().is_upper || node.borrow().is_gone {
            return Ok(());
        }
        let path = self.upper_path(&node.borrow().path);
        self.above(|vfs| {
            let real = vfs.open(&path, OpenFlags { directory: true, ..OpenFlags::READ }, 0)?;
            let synced = vfs.fsync(real);
            vfs.close(real)?;
            Ok(synced?)
        })
    }

    pub(crate) fn stat_open(&mut self, fd: Fd) -> Result<Stat> {
        let node = self.file(fd)?.node.clone();
        if self.file(fd)?.real.is_none() {
            if node.borrow().is_gone {
                return Err(Errno::NoEnt);
            }
            let path = node.borrow().path.clone();
            return self.stat_node(&path, &node);
        }
        let (at, real) = self.real_file(fd)?;
        let stat = self.at(at, |vfs| vfs.fstat(real))?;
        Ok(self.numbered(stat, &node))
    }

    /// Attributes are those of the real inode (`ovl_getattr`).
    pub(crate) fn stat_node(&mut self, path: &[u8], node: &Node) -> Result<Stat> {
        let (layer, real) = self.real(&node.borrow(), path);
        let stat = layer.with(|vfs| vfs.lstat(&real))?;
        Ok(self.numbered(stat, node))
    }

    /// The inode number that programs see: that of the lower file also behind its copy, a directory's own.
    fn numbered(&self, mut stat: Stat, node: &Node) -> Stat {
        let inode = node.borrow();
        stat.ino = inode.number.unwrap_or(stat.ino);
        if inode.is_merged() {
            // Nobody counts the directories in it.
            stat.links = 1;
        }
        stat
    }

    pub(crate) fn entries_of(&mut self, fd: Fd) -> Result<Vec<Entry>> {
        let file = self.file(fd)?;
        if file.real.is_some() {
            return Err(Errno::NotDir);
        }
        let node = file.node.clone();
        let inode = node.borrow();
        self.list(&inode)
    }

    pub(crate) fn has_open_files(&self) -> bool {
        self.files.iter().any(Option::is_some)
    }
}
