//! The seam to the operating system: what `fs/jffs2/file.c`, `dir.c` and `super.c` offer to Linux.

use crate::causes;
use ffslab_fs::{
    BlockSpace, DirEntry, Errno, FileKind, FileSystem, Host, Ino, NewNode, Result, SetAttr, Stat, StatFs, TimeSpec,
    Unwritten, WritePlan, XattrMode, PAGE_BYTES, STAT_BLOCK_BYTES,
};
use ffslab_sim::{Sim, Task};

use crate::format::{kind_of_dirent_type, NAME_BYTES_MAX};
use crate::inode::seconds;
use crate::options::SyncManner;
use crate::{xattr, Jffs2};

fn time(seconds: u32) -> TimeSpec {
    TimeSpec { seconds: i64::from(seconds), nanoseconds: 0 }
}

/// See [`crate::Options::gaps_in_page_stay`].
const GAP_STAYS: &str =
    "JFFS2 of this kernel left a gap behind the end of a file without a node: what a truncation had cut off \
                         there comes back with the next mount (mended in Linux 6.3 by 23892d383bee)";

impl FileSystem for Jffs2 {
    fn name(&self) -> &'static str {
        "jffs2"
    }

    fn sim(&self) -> &Sim {
        &self.store.flash.sim
    }

    fn root(&self) -> Ino {
        1
    }

    fn name_bytes_max(&self) -> usize {
        NAME_BYTES_MAX
    }

    fn file_bytes_max(&self) -> u64 {
        // Offsets and lengths have 32 bits; a page must fit below the end (`s_maxbytes` is 2^32 - 1).
        u64::from(u32::MAX) & !(PAGE_BYTES as u64 - 1)
    }

    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        let (ino, _) = self.entry(dir, name)?;
        self.load(ino)?;
        Ok(ino)
    }

    fn create(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Ino> {
        self.create_node(host, dir, name, node)
    }

    fn link(&mut self, host: &mut dyn Host, ino: Ino, dir: Ino, name: &[u8]) -> Result<()> {
        self.link_node_to(host, ino, dir, name)
    }

    fn unlink(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        self.remove_name(host, dir, name, false)
    }

    fn rmdir(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        self.remove_name(host, dir, name, true)
    }

    fn rename(&mut self, host: &mut dyn Host, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<()> {
        self.rename_node(host, from, name, to, new_name)
    }

    fn readdir(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        let inode = self.loaded(dir)?;
        if inode.kind != FileKind::Directory {
            return Err(Errno::NotDir);
        }
        for (name, dirent) in inode.dirents.iter().filter(|(_, d)| d.ino != 0) {
            emit(DirEntry { ino: dirent.ino, name, kind: kind_of_dirent_type(dirent.dirent_type) });
        }
        Ok(())
    }

    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>> {
        let inode = self.loaded(ino)?;
        if inode.kind == FileKind::Symlink {
            Ok(inode.target.clone())
        } else {
            Err(Errno::Inval)
        }
    }

    fn getattr(&mut self, ino: Ino) -> Result<Stat> {
        self.load(ino)?;
        let cache = self.store.space.inode_caches.get(&ino).copied().ok_or(Errno::NoEnt)?;
        let inode = self.inodes.get(&ino).ok_or(Errno::NoEnt)?;
        let links = match inode.kind {
            FileKind::Directory if cache.links_or_parent == 0 => 0,
            // Linux counts one more for the root directory (`jffs2_iget`).
            FileKind::Directory => 2 + inode.dirents.directories() + u32::from(ino == 1),
            _ => cache.links_or_parent,
        };
        Ok(Stat {
            ino,
            kind: inode.kind,
            permissions: inode.permissions,
            links,
            uid: u32::from(inode.uid),
            gid: u32::from(inode.gid),
            device: inode.device,
            size_bytes: u64::from(inode.file_bytes),
            blocks: match inode.kind {
                // `jffs2_symlink` sets only the size of the inode, `jffs2_iget` also its number of blocks.
                FileKind::Symlink if inode.is_new => 0,
                _ => u64::from(inode.file_bytes).div_ceil(STAT_BLOCK_BYTES),
            },
            accessed: time(inode.accessed_s),
            modified: time(inode.modified_s),
            changed: time(inode.changed_s),
        })
    }

    fn setattr(&mut self, host: &mut dyn Host, ino: Ino, change: &SetAttr) -> Result<()> {
        self.change_attributes(host, ino, change)
    }

    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()> {
        self.load(ino)?;
        let offset = u32::try_from(index * PAGE_BYTES as u64).map_err(|_| Errno::FBig)?;
        let inode = self.inodes.get(&ino).ok_or(Errno::NoEnt)?;
        self.store.reader.read_range(&self.store.space, &self.store.flash, inode, offset, page)
    }

    /// Sets the time stamps in memory only: `jffs2_dirty_inode` does not write them.
    fn write_starts(&mut self, host: &mut dyn Host, ino: Ino) -> Result<()> {
        self.load(ino)?;
        self.look_for_capability(ino)?;
        let now_s = seconds(host.now());
        let inode = self.inodes.get_mut(&ino).ok_or(Errno::NoEnt)?;
        (inode.modified_s, inode.changed_s) = (now_s, now_s);
        Ok(())
    }

    fn write_begin(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize, cached: bool) -> Result<WritePlan> {
        if at + bytes as u64 > self.file_bytes_max() {
            return Err(Errno::FBig);
        }
        let size = self.loaded(ino)?.file_bytes;
        let in_page = if self.store.flash.options.gaps_in_page_stay { at % PAGE_BYTES as u64 } else { 0 };
        let gap_end = at - in_page;
        if at > gap_end.max(u64::from(size)) {
            self.store.flash.sim.meet_fault(GAP_STAYS);
        }
        if gap_end > u64::from(size) {
            let now_s = seconds(host.now());
            self.write_hole(host, ino, gap_end as u32, now_s)?;
        }
        Ok(if cached { WritePlan::Ready } else { WritePlan::ReadFirst })
    }

    fn write_end(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize) -> Result<usize> {
        let index = at / PAGE_BYTES as u64;
        let start = (at % PAGE_BYTES as u64) as usize;
        let end = start + bytes;
        // A write to a page's end writes the whole page, so that short appends do not leave many small nodes.
        let from = if end == PAGE_BYTES { 0 } else { start & !3 };
        let now_s = seconds(host.now());
        let written = self.write_page_range(host, ino, index, from, end, now_s)?;
        let accepted = written.saturating_sub(start - from);
        if accepted == 0 {
            // No byte of the request was written, only bytes of the page in front of it.
            return Err(Errno::NoSpc);
        }
        let inode = self.inodes.get_mut(&ino).ok_or(Errno::NoEnt)?;
        let new_end = (at + accepted as u64) as u32;
        if new_end > inode.file_bytes {
            inode.file_bytes = new_end;
        }
        inode.modified_s = now_s;
        inode.changed_s = now_s;
        Ok(accepted)
    }

    /// `jffs2_file_operations` of `fs/jffs2/file.c` has `generic_file_readonly_mmap`.
    fn maps_shared_writable(&self) -> bool {
        false
    }

    fn keeps_xattr(&self, name: &[u8]) -> bool {
        self.store.flash.options.xattrs && xattr::is_kept(name)
    }

    fn getxattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.read_xattr(ino, name)
    }

    fn setxattr(&mut self, host: &mut dyn Host, ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.change_xattr(host, ino, name, Some(value), mode)
    }

    fn listxattr(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.list_xattrs(ino)
    }

    fn removexattr(&mut self, host: &mut dyn Host, ino: Ino, name: &[u8]) -> Result<()> {
        self.change_xattr(host, ino, name, None, XattrMode::Replace)
    }

    fn fsync(&mut self, host: &mut dyn Host, ino: Ino, _data_only: bool) -> Result<()> {
        self.flush_inode(host, ino)
    }

    fn sync_begins(&mut self, host: &mut dyn Host) -> Result<()> {
        // `jffs2_sync_fs` does not look at `wait`.
        self.sync(host)
    }

    fn sync(&mut self, host: &mut dyn Host) -> Result<()> {
        self.store.timer.disarm(&self.store.flash.sim, &self.store.flash.options);
        if self.store.flash.options.sync_manner == SyncManner::Collects {
            self.finish_worker(host);
            self.flush_inode(host, 0)?;
        }
        self.store.flush_wbuf_padded()
    }

    fn unwritten(&self) -> Unwritten {
        Unwritten { buffered_bytes: u64::from(self.store.flash.wbuf.bytes), ..Unwritten::default() }
    }

    fn blocks_to_format(&self) -> u32 {
        self.store.space.blocks.to_format()
    }

    fn take_damage(&mut self) -> Option<String> {
        self.store.reader.damage.take().map(|damage| damage.to_string())
    }

    fn block_space(&self) -> Vec<BlockSpace> {
        self.store.space.block_space()
    }

    fn statfs(&mut self) -> StatFs {
        let store = &self.store;
        let available = store.space.blocks.totals().dirty_bytes() + store.space.blocks.totals().free_bytes();
        let kept = store.flash.block_bytes * store.space.levels.reserved_for_write_blocks;
        let page = PAGE_BYTES as u64;
        StatFs {
            block_bytes: PAGE_BYTES as u32,
            blocks: u64::from(store.flash.bytes) / page,
            blocks_free: u64::from(available.saturating_sub(kept)) / page,
            files: 0,
            files_free: 0,
        }
    }

    fn evict(&mut self, _host: &mut dyn Host, ino: Ino) -> Result<()> {
        let deleted = self.store.space.inode_caches.get(&ino).is_none_or(|c| c.links_or_parent == 0);
        let _why = self.store.flash.sim.because(&causes::METADATA);
        if deleted {
            self.delete_inode(ino);
        } else {
            self.drop_inode(ino);
        }
        Ok(())
    }

    fn drop_inodes(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        let mut idle: Vec<u32> = self.inodes.keys().copied().filter(|&ino| ino != 1 && !in_use(ino)).collect();
        idle.sort_unstable();
        for ino in idle {
            self.drop_inode(ino);
        }
    }

    fn run_task(&mut self, host: &mut dyn Host, task: &'static Task) {
        self.run_background(host, task);
    }

    fn resched(&mut self, host: &mut dyn Host) {
        self.take_turns(host);
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Follows `fs/jffs2/fs.c` (`jffs2_do_remount_fs`): the write buffer is flushed, the thread ends or begins.
    fn remount(&mut self, host: &mut dyn Host, read_only: bool) -> Result<()> {
        if read_only == self.read_only {
            return Ok(());
        }
        if read_only {
            self.finish_tasks(host);
            self.store.flush_wbuf_padded()?;
        } else {
            self.start_tasks();
        }
        self.read_only = read_only;
        Ok(())
    }

    fn unmount(&mut self, host: &mut dyn Host) -> Result<()> {
        self.unmounted = true;
        if self.read_only {
            return Ok(());
        }
        self.finish_tasks(host);
        self.sync(host)
    }
}
