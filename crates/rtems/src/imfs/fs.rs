//! IMFS as a file system of [`crate::libio`].

use super::{new_content, Content, Imfs, Memfile, MemoryCounts, LINKS_MAX, NAME_MAX, ROOT};
use crate::bdbuf::{Bdbuf, DiskId};
use crate::cpu::Address;
use crate::libio::{DirEntry, FileSystem, Kind, Node, OpenFile, Stat, Step, S_IFLNK, S_IFREG};
use crate::raw;
use ffslab_fs::Errno;

impl Imfs {
    fn not_in_mini(&self) -> Result<(), Errno> {
        if self.options.mini {
            Err(Errno::NotSup)
        } else {
            Ok(())
        }
    }

    fn touch_modified(&mut self, cache: &Bdbuf, node: u32) -> Result<(), Errno> {
        let node = self.node_mut(node)?;
        node.mtime_s = cache.now_s();
        node.ctime_s = node.mtime_s;
        Ok(())
    }

    /// Copies a file of a tar image into memory blocks, so that it can be written.
    fn copy_on_write(&mut self, node: u32) -> Result<(), Errno> {
        let Content::Linear { image, start, bytes } = &self.node(node)?.content else { return Ok(()) };
        let (image, range) = (image.clone(), *start..start + bytes);
        let mut file = Memfile::default();
        let options = &self.options;
        if !range.is_empty() {
            file.write(options.block_size, &mut self.counts, options.memory_blocks, 0, &image[range])?;
        }
        self.node_mut(node)?.content = Content::Memory(file);
        Ok(())
    }
}

impl Imfs {
    /// Charges the CPU for work on a memory file since `before`: blocks and tables on the way, new blocks, copied
    /// bytes.
    fn charge(&self, cache: &mut Bdbuf, node: u32, before: MemoryCounts, moved: Moved) {
        if !cache.cpu.is_priced() {
            return;
        }
        let counts = self.counts;
        let (blocks, tables) = (counts.copies - before.copies, counts.hops_count - before.hops_count);
        cache.cpu.spend(1, |costs| blocks * costs.imfs_block_ps + tables * costs.imfs_table_ps);
        let size = self.options.block_size;
        // Each block is an allocation of its own on the heap, with a header.
        let in_heap =
            |offset: u64| offset / u64::from(size.bytes()) * size.heap_bytes() + offset % u64::from(size.bytes());
        let new = counts.blocks.saturating_sub(before.blocks);
        if new > 0 {
            cache.cpu.spend(new, |costs| costs.allocate_ps);
            let bytes = new * u64::from(size.bytes());
            let first = moved.file_bytes.saturating_sub(bytes);
            cache.cpu.clear(Address::in_memfile(node, in_heap(first)), bytes as usize);
        }
        let at = Address::in_memfile(node, in_heap(moved.offset));
        if moved.out {
            cache.cpu.copy_out(at, moved.bytes)
        } else {
            cache.cpu.copy_in(at, moved.bytes)
        }
    }
}

/// A transfer of bytes between the program and a memory file.
struct Moved {
    out: bool,
    offset: u64,
    bytes: usize,
    /// Size of the file afterwards.
    file_bytes: u64,
}

impl FileSystem for Imfs {
    fn locks_calls(&self) -> bool {
        false
    }

    fn root(&self) -> Node {
        Node { id: ROOT, extra_id: 0, kind: Kind::Directory }
    }

    fn clone_node(&mut self, node: Node) {
        if let Ok(node) = self.node_mut(node.id) {
            node.references += 1;
        }
    }

    fn free_node(&mut self, _cache: &mut Bdbuf, node: Node) {
        self.drop_reference(node.id);
    }

    fn look_up(&mut self, _cache: &mut Bdbuf, at: &mut Node, name: &[u8], follow: bool) -> Result<Step, Errno> {
        let found = match name {
            b"." => Some(at.id),
            b".." => Some(self.node(at.id)?.parent),
            _ => self.find(at.id, name),
        };
        let Some(mut found) = found else { return Ok(Step::NoEntry) };
        // A hard link is followed unless the caller means the link itself (`follow` is false).
        if let (Content::HardLink(target), true) = (&self.node(found)?.content, follow) {
            found = *target;
        }
        match &self.node(found)?.content {
            Content::Link(target) if follow => return Ok(Step::Link(target.clone())),
            Content::Directory { mounted: Some(mount), .. } => return Ok(Step::Mounted(*mount)),
            _ => {}
        }
        self.node_mut(found)?.references += 1;
        self.drop_reference(at.id);
        *at = Node { id: found, extra_id: 0, kind: self.kind(found)? };
        Ok(Step::Found)
    }

    fn stat(&mut self, _cache: &mut Bdbuf, node: Node) -> Result<Stat, Errno> {
        let mut number = node.id;
        if let Content::HardLink(target) = &self.node(number)?.content {
            number = *target;
        }
        let node = self.node(number)?;
        let size_bytes = match &node.content {
            Content::Memory(file) => file.size,
            Content::Linear { bytes, .. } => *bytes as u64,
            Content::Link(target) => target.len() as u64,
            _ => 0,
        };
        Ok(Stat {
            ino: number,
            mode: node.mode,
            links: node.links,
            uid: node.uid,
            gid: node.gid,
            size_bytes,
            blocks: 0,
            block_bytes: self.options.block_size.bytes(),
            atime_s: node.atime_s,
            mtime_s: node.mtime_s,
            ctime_s: node.ctime_s,
        })
    }

    fn mknod(&mut self, cache: &mut Bdbuf, parent: Node, name: &[u8], mode: u32) -> Result<(), Errno> {
        self.create(cache.now_s(), parent.id, name, mode, new_content(mode)?)?;
        self.touch_modified(cache, parent.id)
    }

    fn rmnod(&mut self, _cache: &mut Bdbuf, _parent: Node, node: Node) -> Result<(), Errno> {
        match &self.node(node.id)?.content {
            Content::Directory { entries, .. } if !entries.is_empty() => return Err(Errno::NotEmpty),
            Content::Directory { mounted: Some(_), .. } => return Err(Errno::Busy),
            Content::HardLink(target) => {
                let target = *target;
                self.node_mut(target)?.links -= 1;
                self.drop_reference(target);
            }
            _ => {}
        }
        self.node_mut(node.id)?.links -= 1;
        self.remove_from_directory(node.id)?;
        // Drops the reference that the name held; the caller's location holds another one.
        self.drop_reference(node.id);
        Ok(())
    }

    fn link(&mut self, cache: &mut Bdbuf, parent: Node, target: Node, name: &[u8]) -> Result<(), Errno> {
        self.not_in_mini()?;
        if self.node(target.id)?.links >= LINKS_MAX {
            return Err(Errno::MLink);
        }
        let content = Content::HardLink(target.id);
        let now_s = cache.now_s();
        self.create(now_s, parent.id, name, S_IFREG | 0o777, content)?;
        let target = self.node_mut(target.id)?;
        target.references += 1;
        target.links += 1;
        target.ctime_s = now_s;
        Ok(())
    }

    fn symlink(&mut self, cache: &mut Bdbuf, parent: Node, name: &[u8], target: &[u8]) -> Result<(), Errno> {
        self.not_in_mini()?;
        self.create(cache.now_s(), parent.id, name, S_IFLNK | 0o777, Content::Link(target.to_vec()))?;
        Ok(())
    }

    fn readlink(&mut self, _cache: &mut Bdbuf, node: Node) -> Result<Vec<u8>, Errno> {
        self.not_in_mini()?;
        match &self.node(node.id)?.content {
            Content::Link(target) => Ok(target.clone()),
            _ => Err(Errno::Inval),
        }
    }

    fn rename(
        &mut self,
        cache: &mut Bdbuf,
        _old_parent: Node,
        old: Node,
        new_parent: Node,
        name: &[u8],
    ) -> Result<(), Errno> {
        self.not_in_mini()?;
        if old.id == ROOT {
            return Err(Errno::Inval);
        }
        if name.len() >= NAME_MAX {
            return Err(Errno::NameTooLong);
        }
        // The original allows a directory to be moved into itself, after which it cannot be reached any more. Here it
        // would make a cycle, so it is refused.
        let mut above = new_parent.id;
        while above != ROOT {
            if above == old.id {
                return Err(Errno::Inval);
            }
            above = self.node(above)?.parent;
        }
        self.remove_from_directory(old.id)?;
        self.add_to_directory(new_parent.id, old.id)?;
        let node = self.node_mut(old.id)?;
        node.name = name.to_vec();
        node.ctime_s = cache.now_s();
        Ok(())
    }

    fn chmod(&mut self, cache: &mut Bdbuf, node: Node, mode: u32) -> Result<(), Errno> {
        self.not_in_mini()?;
        let node = self.node_mut(node.id)?;
        node.mode = mode;
        node.ctime_s = cache.now_s();
        Ok(())
    }

    fn chown(&mut self, cache: &mut Bdbuf, node: Node, uid: u16, gid: u16) -> Result<(), Errno> {
        self.not_in_mini()?;
        let node = self.node_mut(node.id)?;
        (node.uid, node.gid) = (uid, gid);
        node.ctime_s = cache.now_s();
        Ok(())
    }

    fn utime(&mut self, cache: &mut Bdbuf, node: Node, atime_s: u32, mtime_s: u32) -> Result<(), Errno> {
        self.not_in_mini()?;
        let node = self.node_mut(node.id)?;
        (node.atime_s, node.mtime_s) = (atime_s, mtime_s);
        node.ctime_s = cache.now_s();
        Ok(())
    }

    fn mount_on(&mut self, node: Node, mount: usize) -> Result<(), Errno> {
        match &mut self.node_mut(node.id)?.content {
            Content::Directory { mounted: Some(_), .. } => Err(Errno::Busy),
            Content::Directory { mounted, .. } => {
                *mounted = Some(mount);
                Ok(())
            }
            _ => Err(Errno::NotDir),
        }
    }

    fn unmount_from(&mut self, mount: usize) -> Result<(), Errno> {
        self.not_in_mini()?;
        for node in self.nodes.iter_mut().flatten() {
            if let Content::Directory { mounted, .. } = &mut node.content {
                if *mounted == Some(mount) {
                    *mounted = None;
                }
            }
        }
        Ok(())
    }

    fn memory_blocks(&self) -> u64 {
        self.counts.blocks
    }

    fn disk_of(&self, node: Node) -> Option<DiskId> {
        match self.node(node.id).ok()?.content {
            Content::Disk(disk) => Some(disk),
            _ => None,
        }
    }

    fn open(&mut self, _cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        if file.writable {
            self.copy_on_write(file.node.id)?;
        }
        Ok(())
    }

    fn read(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, into: &mut [u8]) -> Result<usize, Errno> {
        let now_s = cache.now_s();
        let block_size = self.options.block_size;
        let before = self.counts;
        let mut is_memory = false;
        let node = self.nodes.get_mut(file.node.id as usize).and_then(Option::as_mut).ok_or(Errno::NxIo)?;
        let count = match &node.content {
            Content::Memory(memory) => {
                is_memory = true;
                memory.read(block_size, &mut self.counts, file.offset, into)
            }
            Content::Linear { image, start, bytes } => {
                let from = (file.offset as usize).min(*bytes);
                let count = into.len().min(bytes - from);
                into[..count].copy_from_slice(&image[start + from..start + from + count]);
                self.counts.copies += 1;
                count
            }
            Content::Disk(disk) => {
                raw::read(cache, *disk, file.offset, into)?;
                into.len()
            }
            Content::Directory { .. } => return Err(Errno::IsDir),
            Content::Link(_) | Content::HardLink(_) => return Err(Errno::NotSup),
        };
        node.atime_s = now_s;
        if is_memory {
            let moved = Moved { out: true, offset: file.offset, bytes: count, file_bytes: 0 };
            self.charge(cache, file.node.id, before, moved);
        }
        file.offset += count as u64;
        Ok(count)
    }

    fn write(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, data: &[u8]) -> Result<usize, Errno> {
        let options = &self.options;
        let before = self.counts;
        let node = self.nodes.get_mut(file.node.id as usize).and_then(Option::as_mut).ok_or(Errno::NxIo)?;
        match &mut node.content {
            Content::Memory(memory) => {
                if file.append {
                    file.offset = memory.size;
                }
                memory.write(options.block_size, &mut self.counts, options.memory_blocks, file.offset, data)?;
                let moved = Moved { out: false, offset: file.offset, bytes: data.len(), file_bytes: memory.size };
                self.charge(cache, file.node.id, before, moved);
            }
            Content::Disk(disk) => raw::write(cache, *disk, file.offset, data)?,
            _ => return Err(Errno::NotSup),
        }
        file.offset += data.len() as u64;
        self.touch_modified(cache, file.node.id)?;
        Ok(data.len())
    }

    /// Truncates a file. Its memory blocks are kept.
    fn truncate(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, bytes: u64) -> Result<(), Errno> {
        let options = &self.options;
        let before = self.counts;
        let node = self.nodes.get_mut(file.node.id as usize).and_then(Option::as_mut).ok_or(Errno::NxIo)?;
        match &mut node.content {
            Content::Memory(memory) if bytes > memory.size => {
                memory.extend(options.block_size, &mut self.counts, options.memory_blocks, true, bytes)?;
                let moved = Moved { out: false, offset: 0, bytes: 0, file_bytes: bytes };
                self.charge(cache, file.node.id, before, moved);
            }
            Content::Memory(memory) => memory.size = bytes,
            Content::Directory { .. } => return Err(Errno::IsDir),
            _ => return Err(Errno::Inval),
        }
        self.touch_modified(cache, file.node.id)
    }

    fn fsync(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        match self.disk_of(file.node) {
            Some(disk) => Ok(cache.syncdev(disk)?),
            None => Ok(()),
        }
    }

    /// Children only: there are no entries for "." and "..".
    fn read_dir(&mut self, _cache: &mut Bdbuf, file: &mut OpenFile) -> Result<Option<DirEntry>, Errno> {
        let Content::Directory { entries, .. } = &self.node(file.node.id)?.content else {
            return Err(Errno::NotDir);
        };
        let Some(&ino) = entries.get(file.offset as usize) else { return Ok(None) };
        let name = self.node(ino)?.name.clone();
        file.offset += 1;
        Ok(Some(DirEntry { ino, name }))
    }
}
