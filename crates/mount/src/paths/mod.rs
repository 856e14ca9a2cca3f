//! The calls by node of a system that knows files by path alone.
//!
//! What the kernel asks beyond the program's call is answered from a table as far as it is known there. The system is
//! asked for a name when it is seen for the first time, and for attributes when they have changed; such a look is a call
//! of the system, and the stat(2) for which a path was walked is not charged a second time for it.

mod table;

use ffslab_fs::{Errno, FileKind, NewNode, RenameFlags, Stat, StatFs, TimeSpec, XattrMode};
use ffslab_system::{
    Answer, Caller, Entry, Fd, NewTime, NodeChange, NodeEntry, NodeId, NodeName, Nodes, OpenFlags, System, Whence,
    ROOT_NODE,
};
use table::{Opened, Table};

/// The longest name of POSIX's limits that all systems take.
const NAME_BYTES_MAX: u32 = 255;
/// The position of a descriptor whose last transfer failed: no file is so long.
const UNKNOWN: u64 = u64::MAX;

/// What a mount remembers of such a system.
#[derive(Debug, Default)]
pub struct Paths {
    table: Table,
    /// Looks of path walks that were calls of the system, since the last call of a program.
    looks: u32,
}

impl Paths {
    /// The root was changed beside the mount.
    pub fn root_changed(&mut self) {
        self.table.changed(ROOT_NODE);
    }

    /// A call of a program has ended: the looks before it were part of it.
    pub fn call_ends(&mut self) {
        self.looks = 0;
    }
}

/// The calls of a system by node, whether it has them itself or they are made of paths.
pub fn with_nodes<R>(system: &mut dyn System, paths: &mut Paths, body: impl FnOnce(&mut dyn Nodes) -> R) -> R {
    if let Some(nodes) = system.nodes() {
        return body(nodes);
    }
    body(&mut ByPath { system, paths })
}

struct ByPath<'a> {
    system: &'a mut dyn System,
    paths: &'a mut Paths,
}

impl ByPath<'_> {
    fn table(&mut self) -> &mut Table {
        &mut self.paths.table
    }

    fn path_of(&self, id: NodeId) -> Answer<Vec<u8>> {
        Ok(self.paths.table.path(id).ok_or(Errno::NoEnt)?)
    }

    fn path_below(&self, directory: NodeId, name: &[u8]) -> Answer<Vec<u8>> {
        Ok(self.paths.table.path_below(directory, name).ok_or(Errno::NoEnt)?)
    }

    /// Asks the system for the attributes of a node.
    fn look(&mut self, id: NodeId) -> Answer<Stat> {
        self.paths.looks += 1;
        let stat = match (self.paths.table.path(id), self.paths.table.descriptor_of(id, false)) {
            (Some(path), _) => self.system.lstat(&path)?,
            (None, Some(fd)) => self.system.fstat(fd)?,
            (None, None) => return Err(Errno::NoEnt.into()),
        };
        match id {
            ROOT_NODE => self.table().adopt_root(&stat),
            _ => self.table().refresh(id, &stat),
        }
        self.known(id)
    }

    fn known(&self, id: NodeId) -> Answer<Stat> {
        Ok(self.paths.table.node(id).ok_or(Errno::NoEnt)?.stat)
    }

    fn is_fresh(&self, id: NodeId) -> bool {
        self.paths.table.node(id).is_some_and(|node| node.is_fresh)
    }

    /// The node of a name that is new or not known yet.
    fn adopt(&mut self, directory: NodeId, name: &[u8]) -> Answer<NodeId> {
        self.paths.looks += 1;
        let path = self.path_below(directory, name)?;
        let stat = self.system.lstat(&path)?;
        Ok(self.table().adopt(directory, name, &stat))
    }

    fn hand_out(&mut self, id: NodeId) -> Answer<NodeEntry> {
        let stat = self.known(id)?;
        self.table().handed_out(id);
        Ok(NodeEntry { id, generation: 0, stat })
    }

    /// A name is gone. Another name of the same node may be the same one in other letters (FAT) and be gone with it.
    fn name_is_gone(&mut self, directory: NodeId, name: &[u8]) {
        self.table().changed(directory);
        let Some(id) = self.table().remove_name(directory, name) else { return };
        let others = self.paths.table.node(id).map(|node| node.names.clone()).unwrap_or_default();
        for (above, other) in others {
            let path = self.path_below(above, &other);
            if path.and_then(|path| self.system.lstat(&path)).is_err() {
                self.table().remove_name(above, &other);
            }
        }
    }

    /// `UTIME_NOW`, by the system's calendar.
    fn now(&self) -> TimeSpec {
        let now_ns = self.system.now_ns();
        let seconds = (self.system.epoch_s() + now_ns / 1_000_000_000) as i64;
        TimeSpec { seconds, nanoseconds: (now_ns % 1_000_000_000) as u32 }
    }

    fn set_size(&mut self, id: NodeId, change: &NodeChange, bytes: u64) -> Answer<()> {
        match self.paths.table.descriptor_of(id, true).filter(|_| change.by_descriptor) {
            Some(fd) => self.system.ftruncate(fd, bytes),
            None => {
                let path = self.path_of(id)?;
                self.system.truncate(&path, bytes)
            }
        }
    }

    fn set_attributes(&mut self, id: NodeId, change: &NodeChange) -> Answer<()> {
        let now = self.now();
        let time = |time: Option<NewTime>| match time? {
            NewTime::Now => Some(now),
            NewTime::At(time) => Some(time),
        };
        let (accessed, modified) = (time(change.accessed), time(change.modified));
        if let Some(permissions) = change.permissions {
            let path = self.path_of(id)?;
            self.system.chmod(&path, permissions & 0o7777)?;
        }
        if change.uid.is_some() || change.gid.is_some() {
            let path = self.path_of(id)?;
            self.system.chown(&path, change.uid, change.gid)?;
        }
        if accessed.is_some() || modified.is_some() {
            let path = self.path_of(id)?;
            self.system.utimens(&path, accessed, modified)?;
        }
        Ok(())
    }

    /// Moves the system's descriptor where the next transfer begins, unless it is there already.
    fn seek(&mut self, fd: Fd, at: u64) -> Answer<()> {
        if self.table().opened(fd).ok_or(Errno::BadF)?.position == at {
            return Ok(());
        }
        let to = i64::try_from(at).map_err(|_| Errno::Inval)?;
        self.system.lseek(fd, to, Whence::Set)?;
        self.moved(fd, at);
        Ok(())
    }

    fn moved(&mut self, fd: Fd, to: u64) {
        let Some(opened) = self.table().opened(fd) else { return };
        opened.position = to;
        let node = opened.node;
        self.table().changed(node);
    }

    fn opened(&mut self, fd: Fd, node: NodeId, flags: OpenFlags) {
        let opened = Opened { node, writes: flags.write, appends: flags.append, position: 0, was_listed: false };
        self.table().open(fd, opened);
        if flags.truncate {
            self.table().changed(node);
        }
    }
}

impl Nodes for ByPath<'_> {
    fn look_up(&mut self, directory: NodeId, name: &[u8]) -> Answer<NodeEntry> {
        let id = match self.paths.table.child(directory, name) {
            // The kernel asks again for what it wants to know of a directory; on a way through it, it does not look.
            Some(id) if self.is_fresh(id) || self.paths.table.kind(id) == Some(FileKind::Directory) => id,
            Some(id) => {
                self.look(id)?;
                id
            }
            None => self.adopt(directory, name)?,
        };
        self.hand_out(id)
    }

    fn forget(&mut self, id: NodeId, look_ups: u64) {
        self.table().forget(id, look_ups);
    }

    fn looked(&mut self, id: NodeId) {
        match self.paths.looks.checked_sub(1) {
            Some(left) => self.paths.looks = left,
            None => {
                // The program got its answer before; what is gone meanwhile costs it nothing more.
                let _gone = self.look(id);
                self.paths.looks = 0;
            }
        }
    }

    fn path(&self, id: NodeId) -> Vec<u8> {
        self.paths.table.path(id).filter(|_| id != ROOT_NODE).unwrap_or_default()
    }

    fn parent(&mut self, directory: NodeId) -> Answer<NodeId> {
        let node = self.paths.table.node(directory).ok_or(Errno::NoEnt)?;
        Ok(node.names.last().map_or(ROOT_NODE, |(above, _)| *above))
    }

    fn make(&mut self, directory: NodeId, name: &[u8], node: NewNode, _caller: Caller) -> Answer<NodeEntry> {
        let path = self.path_below(directory, name)?;
        match node.kind {
            FileKind::Directory => self.system.mkdir(&path, node.permissions)?,
            FileKind::Symlink => self.system.symlink(node.target, &path)?,
            FileKind::File => {
                let flags = OpenFlags { exclusive: true, ..OpenFlags::CREATE };
                let fd = self.system.open(&path, flags, node.permissions)?;
                self.system.close(fd)?;
            }
            _ => return Err(self.system.lacks("device files, pipes and sockets that programs could make by mknod")),
        }
        self.table().changed(directory);
        let id = self.adopt(directory, name)?;
        self.hand_out(id)
    }

    fn link(&mut self, id: NodeId, directory: NodeId, name: &[u8]) -> Answer<NodeEntry> {
        let (old, new) = (self.path_of(id)?, self.path_below(directory, name)?);
        self.system.link(&old, &new)?;
        self.table().changed(directory);
        let linked = self.adopt(directory, name)?;
        self.hand_out(linked)
    }

    fn unlink(&mut self, directory: NodeId, name: &[u8]) -> Answer<()> {
        let path = self.path_below(directory, name)?;
        self.system.unlink(&path)?;
        self.name_is_gone(directory, name);
        Ok(())
    }

    fn rmdir(&mut self, directory: NodeId, name: &[u8]) -> Answer<()> {
        let path = self.path_below(directory, name)?;
        self.system.rmdir(&path)?;
        self.name_is_gone(directory, name);
        Ok(())
    }

    fn rename(&mut self, old: (NodeId, &[u8]), new: (NodeId, &[u8]), flags: RenameFlags) -> Answer<()> {
        let (from, to) = (self.path_below(old.0, old.1)?, self.path_below(new.0, new.1)?);
        if flags.exchange || flags.whiteout {
            self.system.rename_with(&from, &to, flags)?;
        } else {
            // The kernel has looked whether the new name is there, and nobody else makes names
            // (`do_renameat2` of `fs/namei.c`), so `RENAME_NOREPLACE` needs nothing more.
            self.system.rename(&from, &to)?;
        }
        let (source, target) = (self.paths.table.child(old.0, old.1), self.paths.table.child(new.0, new.1));
        self.table().changed(old.0);
        self.table().changed(new.0);
        // rename(2) leaves two names of the same file as they are.
        if source.is_none() || source != target {
            self.table().rename(old, new);
        }
        if let Some(id) = source {
            // Where the number of a file follows from the place of its entry (FAT), it is another one now.
            let _asked_again_later = self.look(id);
        }
        Ok(())
    }

    fn readlink(&mut self, id: NodeId) -> Answer<Vec<u8>> {
        let path = self.path_of(id)?;
        self.system.readlink(&path)
    }

    fn stat(&mut self, id: NodeId) -> Answer<Stat> {
        if self.is_fresh(id) {
            self.known(id)
        } else {
            self.look(id)
        }
    }

    fn change(&mut self, id: NodeId, change: &NodeChange) -> Answer<Stat> {
        if let Some(bytes) = change.size_bytes {
            match self.known(id)?.kind {
                FileKind::File => self.set_size(id, change, bytes)?,
                FileKind::Directory => return Err(Errno::IsDir.into()),
                _ => return Err(Errno::Inval.into()),
            }
        }
        let set = self.set_attributes(id, change);
        self.table().changed(id);
        set?;
        self.look(id)
    }

    /// The systems that know paths alone have none; without a call, the kernel does not ask again.
    fn keeps_xattrs(&self) -> bool {
        false
    }

    fn set_xattr(&mut self, id: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()> {
        let path = self.path_of(id)?;
        self.system.setxattr(&path, name, value, mode)
    }

    fn xattr(&mut self, id: NodeId, name: &[u8]) -> Answer<Vec<u8>> {
        let path = self.path_of(id)?;
        self.system.getxattr(&path, name)
    }

    fn xattrs(&mut self, id: NodeId) -> Answer<Vec<Vec<u8>>> {
        let path = self.path_of(id)?;
        self.system.listxattr(&path)
    }

    fn remove_xattr(&mut self, id: NodeId, name: &[u8]) -> Answer<()> {
        let path = self.path_of(id)?;
        self.system.removexattr(&path, name)
    }

    fn open(&mut self, id: NodeId, flags: OpenFlags) -> Answer<Fd> {
        let path = self.path_of(id)?;
        let fd = self.system.open(&path, OpenFlags { create: false, exclusive: false, ..flags }, 0)?;
        self.opened(fd, id, flags);
        Ok(fd)
    }

    fn create(
        &mut self,
        directory: NodeId,
        name: &[u8],
        flags: OpenFlags,
        permissions: u32,
        _caller: Caller,
    ) -> Answer<(Fd, NodeEntry)> {
        let path = self.path_below(directory, name)?;
        let fd = self.system.open(&path, OpenFlags { create: true, ..flags }, permissions)?;
        let stat = match self.system.fstat(fd) {
            Ok(stat) => stat,
            Err(refusal) => {
                self.system.close(fd)?;
                return Err(refusal);
            }
        };
        self.table().changed(directory);
        let id = self.table().adopt(directory, name, &stat);
        self.opened(fd, id, OpenFlags { truncate: false, ..flags });
        Ok((fd, self.hand_out(id)?))
    }

    fn entries(&mut self, directory: NodeId, fd: Fd) -> Answer<Vec<NodeName>> {
        let opened = self.table().opened(fd).ok_or(Errno::BadF)?;
        if std::mem::replace(&mut opened.was_listed, true) {
            self.system.lseek(fd, 0, Whence::Set)?;
        }
        let mut entries = Vec::new();
        for Entry { name, .. } in self.system.readdir(fd)? {
            let id = match self.paths.table.child(directory, &name) {
                Some(id) => id,
                None => self.adopt(directory, &name)?,
            };
            let kind = self.known(id)?.kind;
            entries.push(NodeName { id, kind, name });
        }
        Ok(entries)
    }

    fn read(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        self.seek(fd, at)?;
        let read = self.system.read(fd, into);
        self.moved(fd, read.map_or(UNKNOWN, |count| at + count as u64));
        read
    }

    fn write(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        if !self.table().opened(fd).ok_or(Errno::BadF)?.appends {
            self.seek(fd, at)?;
        }
        let written = self.system.write(fd, data);
        self.moved(fd, written.map_or(UNKNOWN, |count| at + count as u64));
        written
    }

    fn fsync(&mut self, fd: Fd, data_only: bool) -> Answer<()> {
        if data_only {
            self.system.fdatasync(fd)
        } else {
            self.system.fsync(fd)
        }
    }

    fn closes_at_flush(&self) -> bool {
        false
    }

    fn flush(&mut self, _fd: Fd) -> Answer<()> {
        Ok(())
    }

    fn release(&mut self, fd: Fd) -> Answer<()> {
        self.table().close(fd);
        self.system.close(fd)
    }

    fn close_directory(&mut self, fd: Fd) -> Answer<()> {
        self.release(fd)
    }

    fn statfs(&mut self) -> Answer<StatFs> {
        self.system.statfs()
    }

    fn name_bytes_max(&self) -> u32 {
        NAME_BYTES_MAX
    }

    fn has_users(&self) -> bool {
        false
    }

    fn maps_shared_writable(&self) -> bool {
        false
    }
}
