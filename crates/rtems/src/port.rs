//! File systems with their own flash driver, as file systems of [`crate::libio`]: no block cache, no page cache.
//!
//! Follows `cpukit/libfs/src/jffs2/src/fs-rtems.c` and `dir-rtems.c` of RTEMS cf811a4eb2. The file systems themselves
//! are those of the crates `ffslab-jffs2` and `ffslab-yaffs2`; this file holds what RTEMS adds around them.

use crate::bdbuf::Bdbuf;
use crate::cpu::Cpu;
use crate::libio::{DirEntry, FileSystem, Kind, Node, OpenFile, Stat, StatVfs, Step, S_IFDIR, S_IFMT, S_IFREG};
use ffslab_fs::{Errno, FileKind, FileSystem as Core, NewNode, NoPageCache, SetAttr, TimeSpec, Unwritten};
use std::collections::BTreeMap;

/// The root directory of both file systems.
const ROOT: u32 = 1;
/// `PAGE_SIZE` of the ports.
const PAGE_BYTES: u32 = 4096;

/// What a file system offers to its RTEMS port, in addition to [`ffslab_fs::FileSystem`].
pub trait Direct {
    /// The file system itself.
    fn core(&mut self) -> &mut dyn Core;

    /// Counts a further user of an inode, which is loaded into memory if need be.
    fn take(&mut self, ino: u32) -> Result<(), Errno>;

    /// Counts a user of an inode less. With the last user, a deleted inode is freed.
    fn release(&mut self, host: &mut NoPageCache, ino: u32);

    /// The directory in which a directory was found last; for the root, the root itself.
    fn parent_of(&self, ino: u32) -> u32;

    /// Notes that the directory `ino` was found in `parent`.
    fn set_parent(&mut self, ino: u32, parent: u32);

    /// Reads from `at` on; less at the end of the file.
    fn read_at(&mut self, ino: u32, at: u64, into: &mut [u8]) -> Result<usize, Errno>;

    fn write_at(&mut self, host: &mut NoPageCache, ino: u32, at: u64, data: &[u8]) -> Result<usize, Errno>;

    /// fsync and fdatasync. The default handler of RTEMS fails with EINVAL.
    fn make_safe(&mut self, _host: &mut NoPageCache, _ino: u32) -> Result<(), Errno> {
        Err(Errno::Inval)
    }

    /// Called when a descriptor is closed.
    fn close_file(&mut self, _host: &mut NoPageCache, _ino: u32) -> Result<(), Errno> {
        Ok(())
    }

    /// Called at unmount.
    fn shut_down(&mut self, _host: &mut NoPageCache) -> Result<(), Errno> {
        Ok(())
    }

    /// Charges the CPU for everything done since the last call.
    fn charge(&mut self, cpu: &mut Cpu);
}

/// A mounted file system that has its own flash.
pub struct Port<C: Direct> {
    fs: C,
    host: NoPageCache,
    /// For each inode, the name by which it was found last (`i_fd`).
    found_as: BTreeMap<u32, Vec<u8>>,
}

fn at_second(time_s: u32) -> TimeSpec {
    TimeSpec { seconds: i64::from(time_s), nanoseconds: 0 }
}

fn seconds(time: TimeSpec) -> u32 {
    time.seconds as u32
}

impl<C: Direct> Port<C> {
    pub(crate) fn of(fs: C) -> Port<C> {
        Port { fs, host: NoPageCache::default(), found_as: BTreeMap::new() }
    }

    /// Charges the CPU for mounting. File systems are mounted before [`crate::libio::Libio::mount`] gets them.
    pub fn charge_mount(&mut self, cache: &mut Bdbuf) {
        self.fs.charge(&mut cache.cpu);
    }

    fn node(&mut self, ino: u32) -> Result<Node, Errno> {
        let kind = match self.fs.core().getattr(ino)?.kind {
            FileKind::Directory => Kind::Directory,
            FileKind::File => Kind::File,
            FileKind::Symlink => Kind::Link,
            _ => Kind::Device,
        };
        Ok(Node { id: ino, extra_id: 0, kind })
    }

    /// Makes a new node and sets its times. The node has no user afterwards.
    fn create(
        &mut self,
        cache: &Bdbuf,
        parent: Node,
        name: &[u8],
        new: (FileKind, u32),
        target: &[u8],
    ) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        let new = NewNode { kind: new.0, permissions: new.1, uid: 0, gid: 0, device: 0, target };
        let ino = self.fs.core().create(&mut self.host, parent.id, name, &new)?;
        self.fs.take(ino)?;
        self.fs.release(&mut self.host, ino);
        Ok(())
    }

    fn change(&mut self, cache: &Bdbuf, node: Node, change: SetAttr) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        self.fs.core().setattr(&mut self.host, node.id, &change)
    }
}

impl<C: Direct> FileSystem for Port<C> {
    fn root(&self) -> Node {
        Node { id: ROOT, extra_id: 0, kind: Kind::Directory }
    }

    fn clone_node(&mut self, node: Node) {
        // This cannot fail: the inode is in memory, because a location refers to it.
        let _ = self.fs.take(node.id);
    }

    fn free_node(&mut self, cache: &mut Bdbuf, node: Node) {
        self.fs.release(&mut self.host, node.id);
        self.fs.charge(&mut cache.cpu);
    }

    /// At the end of every call.
    fn unlock(&mut self, cache: &mut Bdbuf) {
        self.fs.charge(&mut cache.cpu);
    }

    fn look_up(&mut self, _cache: &mut Bdbuf, at: &mut Node, name: &[u8], follow: bool) -> Result<Step, Errno> {
        let ino = match name {
            b"." => at.id,
            b".." => self.fs.parent_of(at.id),
            _ => match self.fs.core().lookup(at.id, name) {
                Ok(ino) => ino,
                Err(Errno::NoEnt) => return Ok(Step::NoEntry),
                Err(error) => return Err(error),
            },
        };
        self.fs.take(ino)?;
        if !matches!(name, b"." | b"..") {
            self.found_as.insert(ino, name.to_vec());
        }
        let found = self.node(ino)?;
        if found.kind == Kind::Link && follow {
            let target = self.fs.core().readlink(ino);
            self.fs.release(&mut self.host, ino);
            return target.map(Step::Link);
        }
        if found.kind == Kind::Directory {
            self.fs.set_parent(ino, at.id);
        }
        self.fs.release(&mut self.host, at.id);
        *at = found;
        Ok(Step::Found)
    }

    fn stat(&mut self, _cache: &mut Bdbuf, node: Node) -> Result<Stat, Errno> {
        let stat = self.fs.core().getattr(node.id)?;
        Ok(Stat {
            ino: node.id,
            mode: stat.kind.mode_bits() | stat.permissions,
            links: stat.links,
            uid: stat.uid as u16,
            gid: stat.gid as u16,
            size_bytes: stat.size_bytes,
            blocks: 0,
            block_bytes: PAGE_BYTES,
            atime_s: seconds(stat.accessed),
            mtime_s: seconds(stat.modified),
            ctime_s: seconds(stat.changed),
        })
    }

    fn mknod(&mut self, cache: &mut Bdbuf, parent: Node, name: &[u8], mode: u32) -> Result<(), Errno> {
        let kind = match mode & S_IFMT {
            S_IFDIR => FileKind::Directory,
            S_IFREG => FileKind::File,
            _ => return Err(Errno::Inval),
        };
        self.create(cache, parent, name, (kind, mode & 0o7777), b"")
    }

    fn rmnod(&mut self, cache: &mut Bdbuf, parent: Node, node: Node) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        let name = self.found_as.get(&node.id).cloned().ok_or(Errno::NoEnt)?;
        match node.kind {
            Kind::Directory => self.fs.core().rmdir(&mut self.host, parent.id, &name)?,
            _ => self.fs.core().unlink(&mut self.host, parent.id, &name)?,
        }
        self.found_as.remove(&node.id);
        Ok(())
    }

    fn link(&mut self, cache: &mut Bdbuf, parent: Node, target: Node, name: &[u8]) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        self.fs.core().link(&mut self.host, target.id, parent.id, name)
    }

    fn symlink(&mut self, cache: &mut Bdbuf, parent: Node, name: &[u8], target: &[u8]) -> Result<(), Errno> {
        self.create(cache, parent, name, (FileKind::Symlink, 0o777), target)
    }

    fn readlink(&mut self, _cache: &mut Bdbuf, node: Node) -> Result<Vec<u8>, Errno> {
        self.fs.core().readlink(node.id)
    }

    fn rename(
        &mut self,
        cache: &mut Bdbuf,
        old_parent: Node,
        old: Node,
        new_parent: Node,
        name: &[u8],
    ) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        let old_name = self.found_as.get(&old.id).cloned().ok_or(Errno::NoEnt)?;
        self.fs.core().rename(&mut self.host, old_parent.id, &old_name, new_parent.id, name)?;
        self.found_as.insert(old.id, name.to_vec());
        Ok(())
    }

    fn chmod(&mut self, cache: &mut Bdbuf, node: Node, mode: u32) -> Result<(), Errno> {
        self.change(cache, node, SetAttr { permissions: Some(mode & 0o7777), ..SetAttr::default() })
    }

    fn chown(&mut self, cache: &mut Bdbuf, node: Node, uid: u16, gid: u16) -> Result<(), Errno> {
        let change = SetAttr { uid: Some(u32::from(uid)), gid: Some(u32::from(gid)), ..SetAttr::default() };
        self.change(cache, node, change)
    }

    fn utime(&mut self, cache: &mut Bdbuf, node: Node, atime_s: u32, mtime_s: u32) -> Result<(), Errno> {
        let (accessed, modified) = (Some(at_second(atime_s)), Some(at_second(mtime_s)));
        self.change(cache, node, SetAttr { accessed, modified, ..SetAttr::default() })
    }

    fn statvfs(&mut self, _cache: &mut Bdbuf) -> Result<StatVfs, Errno> {
        let stat = self.fs.core().statfs();
        Ok(StatVfs {
            block_bytes: stat.block_bytes,
            fragment_bytes: stat.block_bytes,
            blocks: stat.blocks,
            free_blocks: stat.blocks_free,
            files: 0,
            free_files: 0,
            name_max_bytes: self.fs.core().name_bytes_max() as u32,
        })
    }

    fn read(&mut self, _cache: &mut Bdbuf, file: &mut OpenFile, into: &mut [u8]) -> Result<usize, Errno> {
        let bytes = match file.node.kind {
            Kind::File => self.fs.read_at(file.node.id, file.offset, into)?,
            Kind::Directory => return Err(Errno::IsDir),
            _ => return Err(Errno::NotSup),
        };
        file.offset += bytes as u64;
        Ok(bytes)
    }

    fn write(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, data: &[u8]) -> Result<usize, Errno> {
        if file.node.kind != Kind::File {
            return Err(Errno::NotSup);
        }
        self.host.time = at_second(cache.now_s());
        if file.append {
            file.offset = self.fs.core().getattr(file.node.id)?.size_bytes;
        }
        let bytes = self.fs.write_at(&mut self.host, file.node.id, file.offset, data)?;
        file.offset += bytes as u64;
        Ok(bytes)
    }

    fn truncate(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, bytes: u64) -> Result<(), Errno> {
        match file.node.kind {
            Kind::File => self.change(cache, file.node, SetAttr { size_bytes: Some(bytes), ..SetAttr::default() }),
            Kind::Directory => Err(Errno::IsDir),
            _ => Err(Errno::Inval),
        }
    }

    fn sync(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        self.fs.core().sync(&mut self.host)
    }

    fn fsync(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        self.fs.make_safe(&mut self.host, file.node.id)
    }

    fn close(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        match file.node.kind {
            Kind::File => self.fs.close_file(&mut self.host, file.node.id),
            _ => Ok(()),
        }
    }

    fn unwritten(&mut self) -> Unwritten {
        self.fs.core().unwritten()
    }

    fn shut_down(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        let result = self.fs.shut_down(&mut self.host);
        self.fs.charge(&mut cache.cpu);
        result
    }

    /// Returns the next entry. The offset counts entries, of which "." and ".." are the first two.
    fn read_dir(&mut self, _cache: &mut Bdbuf, file: &mut OpenFile) -> Result<Option<DirEntry>, Errno> {
        let ino = file.node.id;
        let mut entry = match file.offset {
            0 => Some(DirEntry { ino, name: b".".to_vec() }),
            1 => Some(DirEntry { ino: self.fs.parent_of(ino), name: b"..".to_vec() }),
            _ => None,
        };
        let mut at = 2;
        self.fs.core().readdir(ino, &mut |found| {
            if at == file.offset {
                entry = Some(DirEntry { ino: found.ino, name: found.name.to_vec() });
            }
            at += 1;
        })?;
        file.offset += u64::from(entry.is_some());
        Ok(entry)
    }
}
