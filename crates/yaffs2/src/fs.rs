//! The seam to the operating system: what the Linux port offers.
//!
//! Follows `yaffs_vfs_multi.c`. Programs write through the page cache: each piece of a page is handed over at once, after
//! the page was read if it was not cached, even when all of it is overwritten.

use crate::causes;
use ffslab_fs::{
    BlockSpace, DirEntry, Errno, FileKind, FileSystem, Host, Ino, NewNode, Result, SetAttr, Stat, StatFs, TimeSpec,
    Unwritten, WritePlan, PAGE_BYTES, STAT_BLOCK_BYTES,
};
use ffslab_sim::{Sim, Task};

use crate::damage::Flaw;
use crate::header::{Attributes, ALIAS_BYTES_MAX, NAME_BYTES_MAX};
use crate::headers::HeaderUpdate;
use crate::namespace::NewObject;
use crate::objects::{Obj, NONE, ROOT_ID};
use crate::tags::Kind;
use crate::tnodes::CHUNK_ID_MAX;
use crate::Yaffs2;

/// A write begins only when more chunks than these are free (`yaffs_hold_space`).
const HELD_CHUNKS: i32 = 20;

const PERMISSION_BITS: u32 = 0o7777;

fn seconds(time: TimeSpec) -> u32 {
    time.seconds.clamp(0, i64::from(u32::MAX)) as u32
}

/// Kind of an object whose mode says `mode` (`yaffs_fill_inode_from_obj` repairs modes that disagree).
fn file_kind(kind: Kind, mode: u32) -> Result<FileKind> {
    match kind {
        Kind::File => Ok(FileKind::File),
        Kind::Directory => Ok(FileKind::Directory),
        Kind::Symlink => Ok(FileKind::Symlink),
        Kind::Special => match FileKind::from_mode(mode) {
            Some(kind @ (FileKind::CharDevice | FileKind::BlockDevice | FileKind::Fifo | FileKind::Socket)) => Ok(kind),
            _ => Err(Errno::Io),
        },
        Kind::Unknown | Kind::HardLink => Err(Errno::Io),
    }
}

impl Yaffs2 {
    fn object(&self, ino: Ino) -> Result<Obj> {
        self.device.objects.find(ino).ok_or(Errno::NoEnt)
    }

    fn directory(&self, ino: Ino) -> Result<Obj> {
        let dir = self.object(ino)?;
        if self.device.objects.is_directory(dir) {
            Ok(dir)
        } else {
            Err(Errno::NotDir)
        }
    }

    fn file(&self, ino: Ino) -> Result<Obj> {
        let obj = self.object(ino)?;
        if self.device.objects[obj].kind == Kind::File {
            Ok(obj)
        } else {
            Err(Errno::Inval)
        }
    }

    /// Takes the time of day from the system above, for time stamps.
    pub(crate) fn set_clock(&mut self, host: &dyn Host) {
        self.device.now_s = seconds(host.now());
    }

    fn make(&mut self, dir: Ino, name: &[u8], new: &NewObject<'_>) -> Result<Obj> {
        if name.len() > NAME_BYTES_MAX {
            return Err(Errno::NameTooLong);
        }
        let dir = self.directory(dir)?;
        if self.device.find_by_name(dir, name)?.is_some() {
            return Err(Errno::Exist);
        }
        // The port reports ENOMEM here, although what is missing is space on flash.
        self.device.create_object(dir, name, new)?.ok_or(Errno::NoSpc)
    }

    fn remove_name(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8], directory: bool) -> Result<()> {
        self.set_clock(host);
        let dir = self.directory(dir)?;
        let obj = self.device.find_by_name(dir, name)?.ok_or(Errno::NoEnt)?;
        let objects = &self.device.objects;
        match (objects.is_directory(obj), directory) {
            (true, false) => return Err(Errno::IsDir),
            (false, true) => return Err(Errno::NotDir),
            _ => {}
        }
        // The port reports ENOTEMPTY for every object that it does not delete, for lost+found as well.
        if !objects[obj].unlink_allowed || objects.has_children(obj) {
            return Err(Errno::NotEmpty);
        }
        let victim = objects.equivalent(obj).map(|obj| objects[obj].id);
        self.device.unlink_object(obj)?;
        victim.into_iter().for_each(|ino| self.lose_link(ino));
        self.stamp_directory(host, dir);
        Ok(())
    }

    /// Whether `obj` is one of the directories above `dir`, or `dir` itself.
    fn is_above(&self, obj: Obj, dir: Obj) -> bool {
        let objects = &self.device.objects;
        std::iter::successors(Some(dir), |&dir| Some(objects[dir].parent).filter(|&parent| parent != NONE))
            .any(|dir| dir == obj)
    }
}

impl FileSystem for Yaffs2 {
    fn name(&self) -> &'static str {
        "yaffs2"
    }

    fn sim(&self) -> &Sim {
        &self.device.chunks.sim
    }

    fn root(&self) -> Ino {
        ROOT_ID
    }

    fn name_bytes_max(&self) -> usize {
        NAME_BYTES_MAX
    }

    fn file_bytes_max(&self) -> u64 {
        u64::from(CHUNK_ID_MAX) * u64::from(self.device.chunks.data_bytes)
    }

    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        let dir = self.directory(dir)?;
        let found = self.device.find_by_name(dir, name)?.ok_or(Errno::NoEnt)?;
        let Some(obj) = self.device.objects.equivalent(found) else {
            let target = self.device.objects[found].equivalent_id;
            self.device.note(Flaw::Link { target }, found);
            return Err(Errno::NoEnt);
        };
        self.device.load_details(obj)?;
        self.bring_in(obj);
        Ok(self.device.objects[obj].id)
    }

    fn create(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Ino> {
        if node.target.len() > ALIAS_BYTES_MAX {
            return Err(Errno::NameTooLong);
        }
        self.set_clock(host);
        let now_s = self.device.now_s;
        let kind = match node.kind {
            FileKind::File => Kind::File,
            FileKind::Directory => Kind::Directory,
            FileKind::Symlink => Kind::Symlink,
            FileKind::CharDevice | FileKind::BlockDevice | FileKind::Fifo | FileKind::Socket => Kind::Special,
        };
        let attributes = Attributes {
            mode: node.kind.mode_bits() | node.permissions & PERMISSION_BITS,
            uid: node.uid,
            gid: node.gid,
            accessed_s: now_s,
            modified_s: now_s,
            changed_s: now_s,
            device: node.device,
        };
        let obj = self.make(dir, name, &NewObject { kind, attributes, alias: node.target, equivalent: NONE })?;
        self.bring_in(obj);
        let dir = self.directory(dir)?;
        match node.kind {
            FileKind::Symlink => self.stamp_directory(host, dir),
            _ => self.refill(dir),
        }
        Ok(self.device.objects[obj].id)
    }

    fn link(&mut self, host: &mut dyn Host, ino: Ino, dir: Ino, name: &[u8]) -> Result<()> {
        self.set_clock(host);
        let equivalent = self.object(ino)?;
        if self.device.objects.is_directory(equivalent) {
            return Err(Errno::Perm);
        }
        let now_s = self.device.now_s;
        let attributes = Attributes { accessed_s: now_s, modified_s: now_s, changed_s: now_s, ..Attributes::default() };
        self.make(dir, name, &NewObject { kind: Kind::HardLink, attributes, alias: b"", equivalent })?;
        self.gain_link(equivalent);
        let dir = self.directory(dir)?;
        self.stamp_directory(host, dir);
        Ok(())
    }

    fn unlink(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        self.remove_name(host, dir, name, false)
    }

    fn rmdir(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        self.remove_name(host, dir, name, true)
    }

    fn rename(&mut self, host: &mut dyn Host, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<()> {
        if new_name.len() > NAME_BYTES_MAX {
            return Err(Errno::NameTooLong);
        }
        self.set_clock(host);
        let (from, to) = (self.directory(from)?, self.directory(to)?);
        let obj = self.device.find_by_name(from, name)?.ok_or(Errno::NoEnt)?;
        let target = self.device.find_by_name(to, new_name)?;
        let objects = &self.device.objects;
        if self.is_above(obj, to) {
            return Err(Errno::Inval);
        }
        if !objects[obj].rename_allowed || target.is_some_and(|target| !objects[target].unlink_allowed) {
            return Err(Errno::NotEmpty);
        }
        if let Some(target) = target.filter(|&target| target != obj) {
            match (objects.is_directory(obj), objects.is_directory(target)) {
                (true, false) => return Err(Errno::NotDir),
                (false, true) => return Err(Errno::IsDir),
                _ if objects.has_children(target) => return Err(Errno::NotEmpty),
                _ => {}
            }
            // Both names are hard links of the same file, so a rename changes nothing.
            if objects.equivalent(obj) == objects.equivalent(target) {
                return Ok(());
            }
        }
        let replaced = target.and_then(|target| objects.equivalent(target)).map(|target| objects[target].id);
        if !self.device.rename_object(obj, to, new_name, target)? {
            return Err(Errno::NoSpc);
        }
        replaced.into_iter().for_each(|ino| self.lose_link(ino));
        self.stamp_directory(host, from);
        self.stamp_directory(host, to);
        Ok(())
    }

    fn readdir(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        let dir = self.directory(dir)?;
        for child in self.device.objects.children(dir) {
            let name = self.device.name_of(child)?;
            let Some(obj) = self.device.objects.equivalent(child) else { continue };
            let object = &self.device.objects[obj];
            let kind = match (object.kind, file_kind(object.kind, object.attributes.mode)) {
                (_, Ok(kind)) => kind,
                // Since the mount only the header of a hard link was read, not that of the object, so the mode is not
                // known. `yaffs_get_obj_type` reports a regular file then.
                (Kind::Special, Err(_)) => FileKind::File,
                _ => continue,
            };
            emit(DirEntry { ino: object.id, name: &name, kind });
        }
        Ok(())
    }

    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>> {
        let obj = self.object(ino)?;
        self.device.load_details(obj)?;
        let object = &self.device.objects[obj];
        if object.kind == Kind::Symlink {
            Ok(object.alias.clone())
        } else {
            Err(Errno::Inval)
        }
    }

    fn getattr(&mut self, ino: Ino) -> Result<Stat> {
        let obj = self.object(ino)?;
        self.device.load_details(obj)?;
        let object = &self.device.objects[obj];
        let attributes = object.attributes;
        let size_bytes = match object.kind {
            Kind::File => object.file.bytes,
            Kind::Symlink => object.alias.len() as u64,
            _ => u64::from(self.device.chunks.data_bytes),
        };
        let kind = file_kind(object.kind, attributes.mode);
        if kind.is_err() {
            self.device.note(Flaw::Mode { mode: attributes.mode }, obj);
        }
        let shown = self.shown(obj);
        Ok(Stat {
            ino,
            kind: kind?,
            permissions: attributes.mode & PERMISSION_BITS,
            links: shown.links,
            uid: attributes.uid,
            gid: attributes.gid,
            device: attributes.device,
            size_bytes,
            blocks: size_bytes.div_ceil(STAT_BLOCK_BYTES),
            accessed: shown.accessed,
            modified: shown.modified,
            changed: shown.changed,
        })
    }

    fn setattr(&mut self, host: &mut dyn Host, ino: Ino, change: &SetAttr) -> Result<()> {
        self.set_clock(host);
        let obj = self.object(ino)?;
        self.device.load_details(obj)?;
        let now_s = self.device.now_s;
        let attributes = &mut self.device.objects[obj].attributes;
        if let Some(permissions) = change.permissions {
            attributes.mode = attributes.mode & !PERMISSION_BITS | permissions & PERMISSION_BITS;
        }
        attributes.uid = change.uid.unwrap_or(attributes.uid);
        attributes.gid = change.gid.unwrap_or(attributes.gid);
        attributes.accessed_s = change.accessed.map_or(attributes.accessed_s, seconds);
        attributes.modified_s = change.modified.map_or(attributes.modified_s, seconds);
        if change.moves_change_time() {
            attributes.changed_s = now_s;
        }
        self.set_inode(host, obj, change);
        if let Some(size_bytes) = change.size_bytes {
            self.file(ino)?;
            self.device.resize_file(obj, size_bytes)?;
        }
        self.device.update_header(obj, HeaderUpdate { force: true, ..HeaderUpdate::default() }).map(drop)
    }

    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()> {
        let obj = self.file(ino)?;
        let at = index * PAGE_BYTES as u64;
        self.device.read_file(obj, at, page)?;
        // The last chunk may hold bytes of the time when the file was longer, which programs must not see.
        let behind_end = self.device.objects[obj].file.bytes.saturating_sub(at).min(page.len() as u64) as usize;
        page[behind_end..].fill(0);
        Ok(())
    }

    fn look_up_capability(&mut self, ino: Ino) -> Result<()> {
        let obj = self.file(ino)?;
        self.device.look_up_attribute(obj)
    }

    fn write_starts(&mut self, host: &mut dyn Host, ino: Ino) -> Result<()> {
        let obj = self.file(ino)?;
        self.stamp_file(host, obj);
        Ok(())
    }

    fn write_begin(&mut self, _: &mut dyn Host, ino: Ino, _: u64, _: usize, cached: bool) -> Result<WritePlan> {
        self.file(ino)?;
        if self.device.free_chunks_for_programs() <= HELD_CHUNKS {
            return Err(Errno::NoSpc);
        }
        Ok(if cached { WritePlan::Ready } else { WritePlan::ReadFirst })
    }

    fn write_end(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize) -> Result<usize> {
        self.set_clock(host);
        let obj = self.file(ino)?;
        self.device.chunks.super_is_dirty = true;
        let start = (at % PAGE_BYTES as u64) as usize;
        let page = host.page(ino, at / PAGE_BYTES as u64).ok_or(Errno::Io)?;
        match self.device.write_file(obj, at, &page[start..start + bytes])? {
            0 => Err(Errno::NoSpc),
            written => Ok(written),
        }
    }

    /// A page of a map, as no other is left dirty (`yaffs_writepage` of the Linux port). What lies behind the end of the file
    /// is not written.
    fn write_page(&mut self, host: &mut dyn Host, ino: Ino, index: u64) -> Result<()> {
        self.set_clock(host);
        let obj = self.file(ino)?;
        let at = index * PAGE_BYTES as u64;
        let bytes = self.device.objects[obj].file.bytes.saturating_sub(at).min(PAGE_BYTES as u64) as usize;
        if bytes == 0 {
            return Ok(());
        }
        self.device.chunks.super_is_dirty = true;
        let page = host.page(ino, index).ok_or(Errno::Io)?;
        if self.device.write_file(obj, at, &page[..bytes])? == bytes {
            Ok(())
        } else {
            Err(Errno::NoSpc)
        }
    }

    fn fsync(&mut self, host: &mut dyn Host, ino: Ino, data_only: bool) -> Result<()> {
        self.set_clock(host);
        let obj = self.object(ino)?;
        self.device.flush_object(obj, data_only)
    }

    fn close(&mut self, host: &mut dyn Host, ino: Ino) -> Result<()> {
        self.fsync(host, ino, false)
    }

    fn sync(&mut self, host: &mut dyn Host) -> Result<()> {
        self.set_clock(host);
        let urgent = self.device.chunks.options.background.is_some() && self.device.gc_urgency() > 0;
        let checkpoint = self.device.chunks.options.checkpoint_at_sync && !urgent;
        self.device.flush_everything(checkpoint)
    }

    fn sync_directories(&mut self, host: &mut dyn Host) -> Result<()> {
        self.set_clock(host);
        self.device.update_dirty_directories()
    }

    fn unwritten(&self) -> Unwritten {
        self.device.unwritten()
    }

    fn take_damage(&mut self) -> Option<String> {
        self.device.damage.take().map(|damage| damage.to_string())
    }

    fn block_space(&self) -> Vec<BlockSpace> {
        self.device.chunks.blocks.space(self.device.chunks.medium.page_bytes())
    }

    fn statfs(&mut self) -> StatFs {
        let chunks_per_page = (PAGE_BYTES as u64 / u64::from(self.device.chunks.data_bytes)).max(1);
        let chunks =
            u64::from(self.device.chunks.blocks.count()) * u64::from(self.device.chunks.blocks.chunks_per_block);
        StatFs {
            block_bytes: PAGE_BYTES as u32,
            blocks: chunks / chunks_per_page,
            blocks_free: self.device.free_chunks_for_programs() as u64 / chunks_per_page,
            files: 0,
            files_free: 0,
        }
    }

    fn evict(&mut self, host: &mut dyn Host, ino: Ino) -> Result<()> {
        self.set_clock(host);
        let Some(obj) = self.device.objects.find_even_deferred(ino) else { return Ok(()) };
        let object = &self.device.objects[obj];
        if object.unlinked && !object.deferred_free {
            self.device.delete_object(obj)?;
        }
        self.put_away(obj);
        Ok(())
    }

    /// Notes which objects have no inode in the system above any more. The objects themselves stay in memory.
    fn drop_inodes(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        for obj in self.device.objects.used() {
            let object = &self.device.objects[obj];
            if object.id != ROOT_ID && !in_use(object.id) {
                self.put_away(obj);
            }
        }
    }

    fn run_task(&mut self, host: &mut dyn Host, task: &'static Task) {
        self.set_clock(host);
        if task == &causes::YAFFS_THREAD {
            self.run_thread(host);
        } else if task == &causes::SYNC_SUPERS {
            self.run_super_sync();
        } else {
            self.device.chunks.sim.block(task);
        }
    }

    fn is_read_only(&self) -> bool {
        self.device.chunks.options.read_only
    }

    fn remount(&mut self, host: &mut dyn Host, read_only: bool) -> Result<()> {
        if read_only == self.is_read_only() {
            return Ok(());
        }
        if read_only {
            self.set_clock(host);
            self.stop_threads();
            self.device.flush_everything(true)?;
        } else {
            self.start_threads();
        }
        self.device.chunks.options.read_only = read_only;
        Ok(())
    }

    fn unmount(&mut self, host: &mut dyn Host) -> Result<()> {
        self.unmounted = true;
        if self.is_read_only() {
            return Ok(());
        }
        self.set_clock(host);
        self.stop_threads();
        self.device.flush_everything(true)
    }
}
