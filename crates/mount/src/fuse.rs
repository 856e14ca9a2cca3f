//! The FUSE server: it passes the kernel's requests on to the simulation, and the results back as replies.

use crate::convert::{attr, attributes, caller, empty, entry, fd, file_type, new_time, number, opening, xattr, TTL};
use crate::ioctl::{extended_flags_reply, flags_ioctl, flags_reply, set_reply, FlagsIoctl};
use crate::simulation::{Asked, Simulation};
use crate::walk::Kind;
use crate::world::World;
use ffslab_fs::{FileKind, NewNode, RenameFlags as Renaming, XattrMode};
use ffslab_system::{Fd, NodeChange, NodeEntry};
use fuser::{
    BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, IoctlFlags, KernelConfig,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyIoctl, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use nix::libc;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// How much the kernel may read ahead for mapped memory: one page, because the simulated kernel reads ahead itself.
const MAPPED_READ_AHEAD_BYTES: u32 = 4096;

/// The kernel's side of a simulation.
pub struct Bridge {
    simulation: Arc<Simulation>,
    /// How files are opened.
    files: FopenFlags,
    /// Whether programs may share memory that is mapped to files.
    maps_shared: bool,
}

impl Bridge {
    pub fn new(simulation: Arc<Simulation>) -> Bridge {
        let maps_shared = simulation.maps_shared_writable();
        Bridge { simulation, files: FopenFlags::empty(), maps_shared }
    }

    /// Passes on a request about two nodes, or about one that is given twice: `act` carries it out, `answer` replies.
    fn ask<R>(
        &self,
        request: &Request,
        kind: Kind,
        nodes: [INodeNo; 2],
        act: impl FnOnce(&mut World) -> R + Send,
        answer: impl FnOnce(&World, R) + Send,
    ) {
        let asked =
            Asked { arrived: Instant::now(), process: request.pid(), kind, nodes: nodes.map(|INodeNo(node)| node) };
        self.simulation.serve(&asked, act, answer);
    }

    /// Passes on a request about one node that is a system call by itself.
    fn call<R>(
        &self,
        request: &Request,
        node: INodeNo,
        act: impl FnOnce(&mut World) -> R + Send,
        answer: impl FnOnce(R) + Send,
    ) {
        self.ask(request, Kind::Call, [node, node], act, |_, result| answer(result));
    }
}

impl Filesystem for Bridge {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Opening and truncating are one call of the simulated kernel. Old kernels without this capability send the
        // truncation as a request of its own.
        let _old = config.add_capabilities(InitFlags::FUSE_ATOMIC_O_TRUNC);
        // Where the file system does not allow shared writable mappings (JFFS2), the kernel allows no shared mappings
        // at all: without the capability below, `fuse_file_mmap` of `fs/fuse/file.c` returns ENODEV. The kernel can
        // neither be made to ask for each mapping nor to distinguish between descriptors.
        if !self.maps_shared {
            self.files = FopenFlags::FOPEN_DIRECT_IO;
            let _larger = config.set_max_readahead(MAPPED_READ_AHEAD_BYTES);
            return Ok(());
        }
        // From Linux 6.6 on, files can be read without the kernel's cache and be mapped nevertheless. Before 6.6 the
        // kernel's cache is used.
        if config.add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP).is_ok() {
            self.files = FopenFlags::FOPEN_DIRECT_IO;
            let _larger = config.set_max_readahead(MAPPED_READ_AHEAD_BYTES);
        } else {
            let _older = config.add_capabilities(InitFlags::FUSE_AUTO_INVAL_DATA);
        }
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.as_bytes();
        let look_up = |world: &mut World| world.look_up(parent.0, name);
        self.ask(request, Kind::LookUp, [parent, parent], look_up, |_, result| entry(reply, result));
    }

    fn forget(&self, _request: &Request, ino: INodeNo, nlookup: u64) {
        // Not a call of a program: it takes no time and does not end a path walk.
        self.simulation.forget(ino.0, nlookup);
    }

    fn getattr(&self, request: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        let look = |world: &mut World| world.attributes(ino.0);
        self.ask(request, Kind::Attributes, [ino, ino], look, |_, result| attr(reply, result));
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = NodeChange {
            size_bytes: size,
            by_descriptor: fh.is_some(),
            permissions: mode,
            uid,
            gid,
            accessed: atime.map(new_time),
            modified: mtime.map(new_time),
        };
        self.call(request, ino, |world| world.change(ino.0, &change), |result| attr(reply, result));
    }

    fn readlink(&self, request: &Request, ino: INodeNo, reply: ReplyData) {
        self.call(
            request,
            ino,
            |world| world.readlink(ino.0),
            |result| match result {
                Ok(target) => reply.data(&target),
                Err(error) => reply.error(number(error)),
            },
        );
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let Some(kind) = FileKind::from_mode(mode) else { return reply.error(Errno::EINVAL) };
        let (name, caller) = (name.as_bytes(), caller(request));
        let make = |world: &mut World| {
            let node = NewNode { permissions: mode & 0o7777, device: rdev, ..NewNode::of(kind) };
            world.make(parent.0, name, node, caller)
        };
        self.call(request, parent, make, |result| entry(reply, result));
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, reply: ReplyEntry) {
        let (name, caller) = (name.as_bytes(), caller(request));
        let make = |world: &mut World| {
            let node = NewNode { permissions: mode & 0o7777, ..NewNode::of(FileKind::Directory) };
            world.make(parent.0, name, node, caller)
        };
        self.call(request, parent, make, |result| entry(reply, result));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, link_name: &OsStr, target: &Path, reply: ReplyEntry) {
        let (name, caller) = (link_name.as_bytes(), caller(request));
        let target = target.as_os_str().as_bytes();
        let make = |world: &mut World| {
            let node = NewNode { permissions: 0o777, target, ..NewNode::of(FileKind::Symlink) };
            world.make(parent.0, name, node, caller)
        };
        self.call(request, parent, make, |result| entry(reply, result));
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.as_bytes();
        self.call(request, parent, |world| world.unlink(parent.0, name), |result| empty(reply, result));
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.as_bytes();
        self.call(request, parent, |world| world.rmdir(parent.0, name), |result| empty(reply, result));
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (old, new) = (name.as_bytes(), newname.as_bytes());
        let flags = Renaming {
            no_replace: flags.contains(RenameFlags::RENAME_NOREPLACE),
            exchange: flags.contains(RenameFlags::RENAME_EXCHANGE),
            whiteout: flags.contains(RenameFlags::RENAME_WHITEOUT),
        };
        let rename = |world: &mut World| world.rename((parent.0, old), (newparent.0, new), flags);
        self.ask(request, Kind::CallOfTwoPaths, [parent, newparent], rename, |_, result| empty(reply, result));
    }

    fn link(&self, request: &Request, ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        let name = newname.as_bytes();
        let link = |world: &mut World| world.link(ino.0, newparent.0, name);
        self.ask(request, Kind::CallOfTwoPaths, [ino, newparent], link, |_, result| entry(reply, result));
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let files = self.files;
        self.call(
            request,
            ino,
            |world| world.open(ino.0, opening(flags.0)),
            |result| match result {
                Ok(Fd(fd)) => reply.opened(FileHandle(u64::from(fd)), files),
                Err(error) => reply.error(number(error)),
            },
        );
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let (name, caller, files) = (name.as_bytes(), caller(request), self.files);
        let create = |world: &mut World| world.create(parent.0, name, opening(flags), mode & 0o7777, caller);
        self.call(request, parent, create, |result| match result {
            Ok((Fd(fd), NodeEntry { generation, stat, .. })) => {
                let handle = FileHandle(u64::from(fd));
                reply.created(&TTL, &attributes(&stat), Generation(generation), handle, files);
            }
            Err(error) => reply.error(number(error)),
        });
    }

    fn read(
        &self,
        request: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = |world: &mut World| world.read(fd(fh), size as usize, offset);
        self.ask(request, Kind::Call, [ino, ino], read, |world, result| match result {
            Ok(count) => reply.data(&world.buffer[..count]),
            Err(error) => reply.error(number(error)),
        });
    }

    fn write(
        &self,
        request: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let unprivileged = write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID);
        let write = |world: &mut World| world.write(ino.0, fd(fh), data, offset, unprivileged);
        self.call(request, ino, write, |result| match result {
            Ok(count) => reply.written(count as u32),
            Err(error) => reply.error(number(error)),
        });
    }

    fn flush(&self, request: &Request, ino: INodeNo, fh: FileHandle, _lock_owner: LockOwner, reply: ReplyEmpty) {
        self.call(request, ino, |world| world.flush(fd(fh)), |result| empty(reply, result));
    }

    fn release(
        &self,
        request: &Request,
        ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.call(request, ino, |world| world.release(fd(fh)), |result| empty(reply, result));
    }

    fn fsync(&self, request: &Request, ino: INodeNo, fh: FileHandle, datasync: bool, reply: ReplyEmpty) {
        self.call(request, ino, |world| world.fsync(fd(fh), datasync), |result| empty(reply, result));
    }

    fn opendir(&self, request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.call(
            request,
            ino,
            |world| world.open_directory(ino.0),
            |result| match result {
                Ok(Fd(fd)) => reply.opened(FileHandle(u64::from(fd)), FopenFlags::empty()),
                Err(error) => reply.error(number(error)),
            },
        );
    }

    fn readdir(&self, request: &Request, ino: INodeNo, fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let read = |world: &mut World| world.read_directory(ino.0, fd(fh), offset);
        self.call(request, ino, read, |result| match result {
            Ok(lines) => {
                for (index, line) in lines.iter().enumerate().skip(offset as usize) {
                    let (ino, name) = (INodeNo(u64::from(line.ino)), OsStr::from_bytes(&line.name));
                    if reply.add(ino, index as u64 + 1, file_type(line.kind), name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(number(error)),
        });
    }

    fn releasedir(&self, request: &Request, ino: INodeNo, fh: FileHandle, _flags: OpenFlags, reply: ReplyEmpty) {
        self.call(request, ino, |world| world.close_directory(fd(fh)), |result| empty(reply, result));
    }

    fn fsyncdir(&self, request: &Request, ino: INodeNo, fh: FileHandle, datasync: bool, reply: ReplyEmpty) {
        self.call(request, ino, |world| world.fsync(fd(fh), datasync), |result| empty(reply, result));
    }

    fn statfs(&self, request: &Request, ino: INodeNo, reply: ReplyStatfs) {
        self.call(request, ino, World::statfs, |result| match result {
            Ok((stat, name_bytes_max)) => reply.statfs(
                stat.blocks,
                stat.blocks_free,
                stat.blocks_free,
                stat.files,
                stat.files_free,
                stat.block_bytes,
                name_bytes_max,
                stat.block_bytes,
            ),
            Err(error) => reply.error(number(error)),
        });
    }

    fn setxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let (name, value) = (name.as_bytes(), value);
        let mode = match flags {
            libc::XATTR_CREATE => XattrMode::Create,
            libc::XATTR_REPLACE => XattrMode::Replace,
            _ => XattrMode::Any,
        };
        let set = |world: &mut World| world.set_xattr(ino.0, name, value, mode);
        self.call(request, ino, set, |result| empty(reply, result));
    }

    fn getxattr(&self, request: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let name = name.as_bytes();
        let read = |world: &mut World| world.keeps_xattrs().then(|| world.xattr(ino.0, name));
        self.call(request, ino, read, |result| match result {
            Some(result) => xattr(reply, size, result),
            // After this answer the kernel does not ask again, and programs get EOPNOTSUPP.
            None => reply.error(Errno::ENOSYS),
        });
    }

    fn listxattr(&self, request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.call(request, ino, |world| world.xattrs(ino.0), |result| xattr(reply, size, result));
    }

    fn ioctl(
        &self,
        request: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _flags: IoctlFlags,
        cmd: u32,
        in_data: &[u8],
        _out_size: u32,
        reply: ReplyIoctl,
    ) {
        let get = |world: &mut World| world.inode_flags(ino.0);
        match (flags_ioctl(cmd), in_data.first_chunk()) {
            (Some(FlagsIoctl::Get), _) => self.call(request, ino, get, |result| flags_reply(reply, result)),
            (Some(FlagsIoctl::GetExtended), _) => {
                self.call(request, ino, get, |result| extended_flags_reply(reply, result));
            }
            (Some(FlagsIoctl::Set), Some(&bits)) => {
                let bits = u32::from_ne_bytes(bits);
                let set = |world: &mut World| world.set_inode_flags(ino.0, bits);
                self.call(request, ino, set, |result| set_reply(reply, result));
            }
            (Some(FlagsIoctl::SetExtended), _) => reply.error(Errno::EOPNOTSUPP),
            _ => reply.error(Errno::ENOTTY),
        }
    }

    fn removexattr(&self, request: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.as_bytes();
        self.call(request, ino, |world| world.remove_xattr(ino.0, name), |result| empty(reply, result));
    }
}
