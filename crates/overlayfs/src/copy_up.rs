//! Copying up: before the first change a lower inode gets a copy in the upper layer, directories above it first (`fs/overlayfs/copy_up.c`).

use crate::inodes::Node;
use crate::lookup::above;
use crate::marks::{Target, OWN};
use crate::{joined, Overlay};
use ffslab_fs::{Errno, FileKind, Result, SetAttr, Stat};
use ffslab_linux::Vfs;
use ffslab_system::{Calls, Fd, OpenFlags};

/// What a pipe holds, through which the data go (16 pages, `splice_direct_to_actor` of `fs/splice.c`).
const PIECE_BYTES: usize = 64 << 10;

const TO_WRITE: OpenFlags = OpenFlags { read: false, write: true, ..OpenFlags::READ };

impl Overlay {
    pub(crate) fn copy_up(&mut self, path: &[u8]) -> Result<()> {
        self.copy_up_as(path, false)
    }

    /// `is_cut`: the file is opened to be cut to nothing, so no data are copied.
    pub(crate) fn copy_up_as(&mut self, path: &[u8], is_cut: bool) -> Result<()> {
        let node = self.node(path)?;
        if node.borrow().is_upper {
            return Ok(());
        }
        let directory = self.node(above(path))?;
        self.copy_up(above(path))?;
        self.copy_up_one(&directory, &node, path, is_cut)
    }

    fn copy_up_one(&mut self, directory: &Node, node: &Node, path: &[u8], is_cut: bool) -> Result<()> {
        let layer = *node.borrow().lowers.first().ok_or(Errno::Io)?;
        let below = self.lowers[layer].clone();
        let lower_path = below.path(path);
        let mut stat = below.with(|vfs| vfs.lstat(&lower_path))?;
        let upper_directory = self.upper_path(above(path));
        let before = self.above(|vfs| vfs.lstat(&upper_directory))?;
        if is_cut {
            stat.size_bytes = 0;
        }
        let target = match stat.kind {
            FileKind::Symlink => below.with(|vfs| vfs.readlink(&lower_path))?,
            _ => Vec::new(),
        };
        self.set_impure(directory)?;
        let copy = Copy { layer, path, lower_path: &lower_path, stat: &stat, target: &target };
        if stat.kind == FileKind::File && self.state()?.has_unnamed {
            self.copy_unnamed(&copy)?;
        } else {
            self.copy_in_work_directory(&copy)?;
        }
        // The kernel does not ask whether the directory got its times back.
        let times = SetAttr { accessed: Some(before.accessed), modified: Some(before.modified), ..SetAttr::default() };
        best_effort(self.above(|vfs| vfs.change(&upper_directory, &times)))?;
        self.is_copied(node, path)
    }

    /// Open files of the lower inode are those of the upper one from now on.
    fn is_copied(&mut self, node: &Node, path: &[u8]) -> Result<()> {
        let mut inode = node.borrow_mut();
        inode.is_upper = true;
        if inode.is_directory() {
            inode.may_have_whiteouts = true;
        } else if inode.opens > 0 && inode.kind == FileKind::File {
            let upper = self.upper_path(path);
            inode.above = Some(self.above(|vfs| vfs.open(&upper, OpenFlags::READ, 0))?);
        }
        Ok(())
    }

    /// A file without a name gets all, and then its name (`ovl_copy_up_tmpfile`).
    fn copy_unnamed(&mut self, copy: &Copy<'_>) -> Result<()> {
        let work = joined(&[&self.work_base, b"work"]);
        let flags = OpenFlags { unnamed: true, ..TO_WRITE };
        let fd = self.above(|vfs| vfs.open(&work, flags, copy.stat.permissions))?;
        let upper = self.upper_path(copy.path);
        let copied = self
            .copy_data(copy, fd)
            .and_then(|()| self.copy_attributes(copy, Target::Open(fd)))
            .and_then(|()| Ok(self.above(|vfs| vfs.link_descriptor(fd, &upper))?));
        let closed = self.above(|vfs| vfs.close(fd)).map_err(Errno::from);
        copied.and(closed)
    }

    /// A temporary file, directory or other inode in the work directory gets all, and then its name (`ovl_copy_up_workdir`).
    fn copy_in_work_directory(&mut self, copy: &Copy<'_>) -> Result<()> {
        let temporary = self.temporary();
        let stat = copy.stat;
        self.above(|vfs| match stat.kind {
            FileKind::Directory => vfs.mkdir(&temporary, 0),
            FileKind::Symlink => vfs.symlink(copy.target, &temporary),
            kind => vfs.mknod(&temporary, kind, 0, stat.device),
        })?;
        let upper = self.upper_path(copy.path);
        let copied = self
            .copy_data_by_path(copy, &temporary)
            .and_then(|()| self.copy_attributes(copy, Target::Path(&temporary)))
            .and_then(|()| Ok(self.above(|vfs| vfs.rename(&temporary, &upper))?));
        self.or_clean_up(copied, &temporary)
    }

    fn copy_data_by_path(&mut self, copy: &Copy<'_>, temporary: &[u8]) -> Result<()> {
        if copy.stat.kind != FileKind::File || copy.stat.size_bytes == 0 {
            return Ok(());
        }
        let fd = self.above(|vfs| vfs.open(temporary, TO_WRITE, 0))?;
        let copied = self.copy_data(copy, fd);
        let closed = self.above(|vfs| vfs.close(fd)).map_err(Errno::from);
        copied.and(closed)
    }

    /// The data go piece by piece through the page caches of both layers, and are on flash before the file has its name
    /// (`ovl_copy_up_file`).
    fn copy_data(&mut self, copy: &Copy<'_>, to: Fd) -> Result<()> {
        let bytes = copy.stat.size_bytes;
        if bytes == 0 {
            return Ok(());
        }
        let below = self.lowers[copy.layer].clone();
        let from = below.with(|vfs| vfs.open(copy.lower_path, OpenFlags::READ, 0))?;
        let mut copied = Ok(());
        let mut at = 0;
        let mut piece = vec![0; PIECE_BYTES];
        while at < bytes && copied.is_ok() {
            let count = (bytes - at).min(PIECE_BYTES as u64) as usize;
            copied = below.with(|vfs| vfs.pread(from, &mut piece[..count], at)).map_err(Errno::from).and_then(|read| {
                if read == 0 {
                    return Err(Errno::Io);
                }
                self.above(|vfs| write_all(vfs, to, &piece[..read], at))?;
                at += read as u64;
                Ok(())
            });
        }
        below.with(|vfs| vfs.close(from))?;
        copied?;
        Ok(self.above(|vfs| vfs.fsync(to))?)
    }

    /// Extended attributes, the origin, size, permissions, owner and times, in this order (`ovl_copy_up_metadata`).
    fn copy_attributes(&mut self, copy: &Copy<'_>, target: Target<'_>) -> Result<()> {
        let below = self.lowers[copy.layer].clone();
        self.copy_xattrs(&below, copy.lower_path, target)?;
        if copy.stat.kind == FileKind::Directory || copy.stat.links == 1 {
            self.set_origin(copy.layer, copy.path, target)?;
        }
        if copy.stat.kind == FileKind::File {
            let size = SetAttr { size_bytes: Some(copy.stat.size_bytes), ..SetAttr::default() };
            self.change(target, &size)?;
        }
        self.set_attributes(copy.stat, target)
    }

    /// `ovl_copy_xattr`: all but the overlay's own.
    pub(crate) fn copy_xattrs(&self, from: &crate::Layer, path: &[u8], target: Target<'_>) -> Result<()> {
        let names = match from.with(|vfs| vfs.llistxattr(path)).map_err(Errno::from) {
            Err(Errno::NotSup) => return Ok(()),
            names => names?,
        };
        for name in names.iter().filter(|name| !name.starts_with(OWN)) {
            let value = from.with(|vfs| vfs.lgetxattr(path, name))?;
            self.set_attribute(target, name, &value)?;
        }
        Ok(())
    }

    /// Permissions, owner, times: three changes (`ovl_set_attr`).
    pub(crate) fn set_attributes(&self, stat: &Stat, target: Target<'_>) -> Result<()> {
        let nothing = SetAttr::default();
        if stat.kind != FileKind::Symlink {
            self.change(target, &SetAttr { permissions: Some(stat.permissions), ..nothing })?;
        }
        self.change(target, &SetAttr { uid: Some(stat.uid), gid: Some(stat.gid), ..nothing })?;
        let times = SetAttr { accessed: Some(stat.accessed), modified: Some(stat.modified), ..nothing };
        best_effort(self.change(target, &times))
    }

    fn change(&self, target: Target<'_>, change: &SetAttr) -> Result<()> {
        self.above(|vfs| match target {
            Target::Path(path) => vfs.change(path, change),
            Target::Open(fd) => vfs.change_open(fd, change),
        })
    }
}

/// What is copied.
struct Copy<'c> {
    layer: usize,
    /// Of the overlay.
    path: &'c [u8],
    /// On the mount of the layer.
    lower_path: &'c [u8],
    stat: &'c Stat,
    /// Of a symbolic link.
    target: &'c [u8],
}

fn write_all(vfs: &mut Vfs, fd: Fd, data: &[u8], at: u64) -> Result<()> {
    let mut written = 0;
    while written < data.len() {
        written += vfs.pwrite(fd, &data[written..], at + written as u64)?;
    }
    Ok(())
}

/// Only a power cut counts.
fn best_effort(done: Result<()>) -> Result<()> {
    match done {
        Err(Errno::PowerCut) => Err(Errno::PowerCut),
        _ => Ok(()),
    }
}
