//! JFFS2 as a file system of [`crate::libio`]: NOR flash, no block cache, no page cache.
//!
//! Follows `cpukit/libfs/src/jffs2/src/fs-rtems.c` and `dir-rtems.c` of RTEMS cf811a4eb2. The core is the one of the
//! crate `ffslab-jffs2`; here stands what RTEMS puts around it: every write goes to flash at once, fsync fails with
//! EINVAL as the default handler does.

use crate::bdbuf::Bdbuf;
use crate::libio::{DirEntry, FileSystem, Kind, Node, OpenFile, Stat, StatVfs, Step, S_IFDIR, S_IFMT, S_IFREG};
use ffslab_fs::{Errno, FileKind, FileSystem as Core, NewNode, NoPageCache, SetAttr, TimeSpec};
pub use ffslab_jffs2::{Compression, MountError, NorCounts, NorFlash};
use std::collections::BTreeMap;

const ROOT: u32 = 1;
/// `PAGE_SIZE` of the port.
const PAGE_BYTES: u32 = 4096;

/// A mounted JFFS2.
pub struct Jffs2 {
    core: ffslab_jffs2::Jffs2,
    host: NoPageCache,
    /// The name by which a node was found last (`i_fd`).
    found_as: BTreeMap<u32, Vec<u8>>,
}

fn at_second(time_s: u32) -> TimeSpec {
    TimeSpec { seconds: i64::from(time_s), nanoseconds: 0 }
}

fn seconds(time: TimeSpec) -> u32 {
    time.seconds as u32
}

impl Jffs2 {
    /// Mounts the flash; what of it is erased is erased once more and marked clean. Without a compressor data are stored
    /// as they are.
    ///
    /// # Errors
    /// [`MountError`]: too few erase blocks, too large, no JFFS2.
    pub fn mount(flash: NorFlash, compression: Compression) -> Result<Jffs2, MountError> {
        let options = ffslab_jffs2::Options { compression, ..ffslab_jffs2::Options::default() };
        let core = ffslab_jffs2::Jffs2::mount_nor(flash, options)?;
        Ok(Jffs2 { core, host: NoPageCache::default(), found_as: BTreeMap::new() })
    }

    fn node(&mut self, ino: u32) -> Result<Node, Errno> {
        let kind = match self.core.getattr(ino)?.kind {
            FileKind::Directory => Kind::Directory,
            FileKind::File => Kind::File,
            FileKind::Symlink => Kind::Link,
            _ => Kind::Device,
        };
        Ok(Node { id: ino, extra_id: 0, kind })
    }

    /// A new node, with the time of day set. It stays in memory as long as nobody else leaves it.
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
        let ino = self.core.create(&mut self.host, parent.id, name, &new)?;
        self.core.take_inode(ino)?;
        self.core.release_inode(ino);
        Ok(())
    }

    fn change(&mut self, cache: &Bdbuf, node: Node, change: SetAttr) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        self.core.setattr(&mut self.host, node.id, &change)
    }
}

impl FileSystem for Jffs2 {
    fn root(&self) -> Node {
        Node { id: ROOT, extra_id: 0, kind: Kind::Directory }
    }

    fn clone_node(&mut self, node: Node) {
        // It is in memory: a location names it.
        let _ = self.core.take_inode(node.id);
    }

    fn free_node(&mut self, _cache: &mut Bdbuf, node: Node) {
        self.core.release_inode(node.id);
    }

    fn look_up(&mut self, _cache: &mut Bdbuf, at: &mut Node, name: &[u8], follow: bool) -> Result<Step, Errno> {
        let ino = match name {
            b"." => at.id,
            b".." => self.core.parent_of(at.id),
            _ => match self.core.lookup(at.id, name) {
                Ok(ino) => ino,
                Err(Errno::NoEnt) => return Ok(Step::NoEntry),
                Err(error) => return Err(error),
            },
        };
        self.core.take_inode(ino)?;
        if !matches!(name, b"." | b"..") {
            self.found_as.insert(ino, name.to_vec());
        }
        let found = self.node(ino)?;
        if found.kind == Kind::Link && follow {
            let target = self.core.readlink(ino);
            self.core.release_inode(ino);
            return target.map(Step::Link);
        }
        if found.kind == Kind::Directory {
            self.core.set_parent(ino, at.id);
        }
        self.core.release_inode(at.id);
        *at = found;
        Ok(Step::Found)
    }

    fn stat(&mut self, _cache: &mut Bdbuf, node: Node) -> Result<Stat, Errno> {
        let stat = self.core.getattr(node.id)?;
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
            Kind::Directory => self.core.rmdir(&mut self.host, parent.id, &name)?,
            _ => self.core.unlink(&mut self.host, parent.id, &name)?,
        }
        self.found_as.remove(&node.id);
        Ok(())
    }

    fn link(&mut self, cache: &mut Bdbuf, parent: Node, target: Node, name: &[u8]) -> Result<(), Errno> {
        self.host.time = at_second(cache.now_s());
        self.core.link(&mut self.host, target.id, parent.id, name)
    }

    fn symlink(&mut self, cache: &mut Bdbuf, parent: Node, name: &[u8], target: &[u8]) -> Result<(), Errno> {
        self.create(cache, parent, name, (FileKind::Symlink, 0o777), target)
    }

    fn readlink(&mut self, _cache: &mut Bdbuf, node: Node) -> Result<Vec<u8>, Errno> {
        self.core.readlink(node.id)
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
        self.core.rename(&mut self.host, old_parent.id, &old_name, new_parent.id, name)?;
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
        let stat = self.core.statfs();
        Ok(StatVfs {
            block_bytes: stat.block_bytes,
            fragment_bytes: stat.block_bytes,
            blocks: stat.blocks,
            free_blocks: stat.blocks_free,
            files: 0,
            free_files: 0,
            name_max_bytes: self.core.name_bytes_max() as u32,
        })
    }

    fn read(&mut self, _cache: &mut Bdbuf, file: &mut OpenFile, into: &mut [u8]) -> Result<usize, Errno> {
        let bytes = match file.node.kind {
            Kind::File => self.core.read_at(file.node.id, file.offset, into)?,
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
            file.offset = self.core.getattr(file.node.id)?.size_bytes;
        }
        let bytes = self.core.write_at(&mut self.host, file.node.id, file.offset, data)?;
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

    /// The offset counts entries; "." and ".." come first.
    fn read_dir(&mut self, _cache: &mut Bdbuf, file: &mut OpenFile) -> Result<Option<DirEntry>, Errno> {
        let ino = file.node.id;
        let mut entry = match file.offset {
            0 => Some(DirEntry { ino, name: b".".to_vec() }),
            1 => Some(DirEntry { ino: self.core.parent_of(ino), name: b"..".to_vec() }),
            _ => None,
        };
        let mut at = 2;
        self.core.readdir(ino, &mut |found| {
            if at == file.offset {
                entry = Some(DirEntry { ino: found.ino, name: found.name.to_vec() });
            }
            at += 1;
        })?;
        file.offset += u64::from(entry.is_some());
        Ok(entry)
    }
}
