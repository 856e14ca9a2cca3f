//! RFS as a file system of [`crate::libio`].
//!
//! Follows `rtems-rfs-rtems.c`, `rtems-rfs-rtems-file.c` and `rtems-rfs-rtems-dir.c`.

use super::inode::Inode;
use super::layout::ROOT_INO;
use super::Rfs;
use crate::bdbuf::Bdbuf;
use crate::libio::{DirEntry, FileSystem, Kind, Node, OpenFile, Stat, StatVfs, Step};
use ffslab_fs::Errno;

impl Rfs {
    /// Loads an inode, calls `f` with it and closes it.
    fn with_inode<R>(
        &mut self,
        cache: &mut Bdbuf,
        ino: u32,
        f: impl FnOnce(&mut Bdbuf, &mut Inode) -> R,
    ) -> Result<R, Errno> {
        let mut inode = self.store.inode_open(cache, ino)?;
        let result = f(cache, &mut inode);
        self.store.inode_close(cache, &mut inode)?;
        Ok(result)
    }
}

impl FileSystem for Rfs {
    fn locks_seeks(&self) -> bool {
        true
    }

    /// Each unlock gives the local buffers back to the cache (`rtems_rfs_rtems_unlock`).
    fn unlock(&mut self, cache: &mut Bdbuf) {
        self.store.held.release_all(cache);
    }

    fn root(&self) -> Node {
        Node { id: ROOT_INO, extra_id: 0, kind: Kind::Directory }
    }

    fn start_path(&mut self, cache: &mut Bdbuf, node: Node) -> Result<(), Errno> {
        let inode = self.store.inode_open(cache, node.id)?;
        self.paths.push(inode);
        Ok(())
    }

    fn end_path(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        match self.paths.pop() {
            Some(mut inode) => self.store.inode_close(cache, &mut inode),
            None => Ok(()),
        }
    }

    fn look_up(&mut self, cache: &mut Bdbuf, at: &mut Node, name: &[u8], follow: bool) -> Result<Step, Errno> {
        if name == b"." {
            return Ok(Step::FoundAndOut);
        }
        let mut inode = self.paths.pop().unwrap_or_default();
        let found = self.store.dir_look_up(cache, &mut inode, name);
        let (ino, position) = match found {
            Ok(found) => found,
            Err(_) => {
                // Any failure counts as a missing name (`rtems_rfs_rtems_eval_token`).
                self.paths.push(inode);
                return Ok(Step::NoEntry);
            }
        };
        self.store.inode_close(cache, &mut inode)?;
        let opened = self.store.inode_open(cache, ino);
        self.paths.push(*opened.as_ref().unwrap_or(&Inode::default()));
        let inode = opened?;
        let kind = Kind::of_mode(u32::from(inode.mode(cache))).ok_or(Errno::Io)?;
        if kind == Kind::Link && follow {
            return Ok(Step::Link(self.read_symlink(cache, ino)?));
        }
        *at = Node { id: ino, extra_id: position, kind };
        Ok(Step::Found)
    }

    fn stat(&mut self, cache: &mut Bdbuf, node: Node) -> Result<Stat, Errno> {
        let shared = self.shared_of(node.id).and_then(|shared| self.shares[shared]);
        let block_bytes = self.store.layout.block_bytes;
        self.with_inode(cache, node.id, |cache, inode| {
            let mut size =
                super::map::Size { count: inode.block_count(cache), offset: u32::from(inode.block_offset(cache)) };
            let mut times_s = (inode.atime(cache), inode.mtime(cache), inode.ctime(cache));
            if let Some(shared) = shared {
                size = shared.size;
                times_s = (shared.atime_s, shared.mtime_s, shared.ctime_s);
            }
            let mode = u32::from(inode.mode(cache));
            let is_link = Kind::of_mode(mode) == Some(Kind::Link);
            Stat {
                ino: inode.ino,
                mode,
                links: u32::from(inode.links(cache)),
                uid: inode.uid(cache),
                gid: inode.gid(cache),
                size_bytes: if is_link { u64::from(size.offset) } else { size.bytes(block_bytes) },
                blocks: u64::from(size.count),
                block_bytes,
                atime_s: times_s.0,
                mtime_s: times_s.1,
                ctime_s: times_s.2,
            }
        })
    }

    fn mknod(&mut self, cache: &mut Bdbuf, parent: Node, name: &[u8], mode: u32) -> Result<(), Errno> {
        let ino = self.store.inode_create(cache, parent.id, name, mode)?;
        self.with_inode(cache, ino, |cache, inode| {
            if Kind::of_mode(mode) == Some(Kind::Device) {
                // Major and minor number.
                inode.set_slot(cache, 0, 0);
                inode.set_slot(cache, 1, 0);
            }
        })
    }

    fn rmnod(&mut self, cache: &mut Bdbuf, parent: Node, node: Node) -> Result<(), Errno> {
        self.remove_link(cache, parent.id, node.id, node.extra_id, true)
    }

    fn link(&mut self, cache: &mut Bdbuf, parent: Node, target: Node, name: &[u8]) -> Result<(), Errno> {
        self.add_link(cache, parent.id, target.id, name, false)
    }

    fn symlink(&mut self, cache: &mut Bdbuf, parent: Node, name: &[u8], target: &[u8]) -> Result<(), Errno> {
        self.make_symlink(cache, parent.id, name, target)
    }

    fn readlink(&mut self, cache: &mut Bdbuf, node: Node) -> Result<Vec<u8>, Errno> {
        self.read_symlink(cache, node.id)
    }

    fn rename(
        &mut self,
        cache: &mut Bdbuf,
        old_parent: Node,
        old: Node,
        new_parent: Node,
        name: &[u8],
    ) -> Result<(), Errno> {
        self.add_link(cache, new_parent.id, old.id, name, true)?;
        self.remove_link(cache, old_parent.id, old.id, old.extra_id, false)
    }

    fn chmod(&mut self, cache: &mut Bdbuf, node: Node, mode: u32) -> Result<(), Errno> {
        self.with_inode(cache, node.id, |cache, inode| inode.set_mode(cache, mode as u16))
    }

    fn chown(&mut self, cache: &mut Bdbuf, node: Node, uid: u16, gid: u16) -> Result<(), Errno> {
        self.with_inode(cache, node.id, |cache, inode| inode.set_uid_gid(cache, uid, gid))
    }

    fn utime(&mut self, cache: &mut Bdbuf, node: Node, atime_s: u32, mtime_s: u32) -> Result<(), Errno> {
        self.with_inode(cache, node.id, |cache, inode| {
            inode.set_atime(cache, atime_s);
            inode.set_mtime(cache, mtime_s);
        })
    }

    fn statvfs(&mut self, cache: &mut Bdbuf) -> Result<StatVfs, Errno> {
        let (blocks, inodes) = self.store.usage();
        let geometry = cache.geometry(self.store.held.disk);
        let layout = &self.store.layout;
        Ok(StatVfs {
            block_bytes: layout.block_bytes,
            fragment_bytes: geometry.media_block_bytes,
            blocks: u64::from(geometry.media_blocks),
            free_blocks: u64::from(layout.blocks.saturating_sub(blocks + 1)),
            files: u64::from(layout.inodes()),
            free_files: u64::from(layout.inodes().saturating_sub(inodes)),
            name_max_bytes: layout.name_max_bytes,
        })
    }

    fn shut_down(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        self.close(cache)
    }

    fn open(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        match file.node.kind {
            Kind::File => {
                file.node.extra_id = self.file_open(cache, file.node.id)? as u32;
                Ok(())
            }
            Kind::Directory => {
                let is_directory = self.with_inode(cache, file.node.id, |cache, inode| inode.is_directory(cache))?;
                if is_directory {
                    Ok(())
                } else {
                    Err(Errno::NotDir)
                }
            }
            // There are no drivers behind character devices here.
            Kind::Device => Err(Errno::NxIo),
            Kind::Link => Ok(()),
        }
    }

    fn close(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        match file.node.kind {
            Kind::File => self.file_close(cache, file.node.extra_id as usize),
            _ => Ok(()),
        }
    }

    fn read(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, into: &mut [u8]) -> Result<usize, Errno> {
        match file.node.kind {
            Kind::File => self.file_read(cache, file, into),
            Kind::Directory => Err(Errno::IsDir),
            _ => Err(Errno::NotSup),
        }
    }

    fn write(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, data: &[u8]) -> Result<usize, Errno> {
        match file.node.kind {
            Kind::File => self.file_write(cache, file, data),
            _ => Err(Errno::NotSup),
        }
    }

    fn seek(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, to: u64) -> Result<(), Errno> {
        match file.node.kind {
            Kind::File => self.file_seek(cache, file, to),
            _ => {
                file.offset = to;
                Ok(())
            }
        }
    }

    fn truncate(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, bytes: u64) -> Result<(), Errno> {
        match file.node.kind {
            Kind::File => self.file_truncate(cache, file, bytes),
            Kind::Directory => Err(Errno::IsDir),
            _ => Err(Errno::Inval),
        }
    }

    fn fsync(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        match file.node.kind {
            Kind::File => self.file_sync(cache, file),
            _ => Err(Errno::Inval),
        }
    }

    fn read_dir(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<Option<DirEntry>, Errno> {
        let mut inode = self.store.inode_open(cache, file.node.id)?;
        let entry = self.store.dir_read(cache, &mut inode, file.offset);
        self.store.inode_close(cache, &mut inode)?;
        Ok(entry?.map(|(entry, bytes)| {
            file.offset += bytes;
            entry
        }))
    }
}
