//! The seam to the operating system: what `fs/ubifs/super.c`, `dir.c` and `file.c` offer to Linux.

use crate::causes;
use crate::format::FILE_BYTES_MAX;
use crate::format::{BLOCK_BYTES, NAME_BYTES_MAX, ROOT_INO};
use crate::options::KernelRules;
use crate::xattr::CAPABILITY;
use crate::Ubifs;
use ffslab_fs::{
    take_turns, BlockSpace, DirEntry, Errno, FileKind, FileSystem, Host, Ino, InodeDirt, NewNode, RenameFlags, Result,
    SetAttr, Stat, StatFs, Unwritten, WritePlan, XattrMode, STAT_BLOCK_BYTES,
};
use ffslab_sim::{Sim, Task};

impl FileSystem for Ubifs {
    fn name(&self) -> &'static str {
        "ubifs"
    }

    fn sim(&self) -> &Sim {
        &self.core.lebs.sim
    }

    fn root(&self) -> Ino {
        ROOT_INO
    }

    fn name_bytes_max(&self) -> usize {
        NAME_BYTES_MAX
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX
    }

    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        let ino = self.find_name(dir, name)?;
        self.load(ino)?;
        Ok(ino)
    }

    fn create(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Ino> {
        self.create_node(host, dir, name, node)
    }

    fn link(&mut self, host: &mut dyn Host, ino: Ino, dir: Ino, name: &[u8]) -> Result<()> {
        self.link_inode(host, ino, dir, name)
    }

    fn unlink(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        self.remove_name(host, dir, name, false)
    }

    fn set_synchronous(&mut self, all: bool, directories: bool) {
        self.set_mount_flags(all, directories);
    }

    /// `check_dir_empty` of `fs/ubifs/dir.c`, the first thing that rmdir and rename do.
    fn check_empty(&mut self, dir: Ino) -> Result<()> {
        if self.is_empty_directory(dir)? {
            Ok(())
        } else {
            Err(Errno::NotEmpty)
        }
    }

    fn rmdir(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        self.remove_name(host, dir, name, true)
    }

    fn rename(&mut self, host: &mut dyn Host, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<()> {
        self.rename_inode(host, from, name, to, new_name, false)
    }

    fn rename_with(
        &mut self,
        host: &mut dyn Host,
        (from, name): (Ino, &[u8]),
        (to, new_name): (Ino, &[u8]),
        flags: RenameFlags,
    ) -> Result<()> {
        if flags.exchange {
            return self.exchange_names(host, (from, name), (to, new_name));
        }
        self.rename_inode(host, from, name, to, new_name, flags.whiteout)
    }

    fn create_unnamed(&mut self, host: &mut dyn Host, dir: Ino, node: &NewNode<'_>) -> Result<Ino> {
        self.create_unnamed_node(host, dir, node)
    }

    fn readdir(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        self.list_directory(dir, emit)
    }

    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>> {
        let inode = self.inode(ino)?;
        if inode.kind == FileKind::Symlink {
            Ok(inode.data.clone())
        } else {
            Err(Errno::Inval)
        }
    }

    fn getattr(&mut self, ino: Ino) -> Result<Stat> {
        let inode = self.inode(ino)?;
        let is_device = matches!(inode.kind, FileKind::CharDevice | FileKind::BlockDevice);
        // `ubifs_getattr` of `fs/ubifs/dir.c`: whole blocks of UBIFS, and none for all but files.
        let kept_bytes = match inode.kind {
            FileKind::File => (inode.size_bytes + u64::from(inode.xattr_bytes)).next_multiple_of(BLOCK_BYTES.into()),
            _ => 0,
        };
        Ok(Stat {
            ino,
            kind: inode.kind,
            permissions: inode.permissions,
            links: inode.links,
            uid: inode.uid,
            gid: inode.gid,
            device: if is_device { inode.device() } else { 0 },
            size_bytes: inode.size_bytes,
            blocks: kept_bytes / STAT_BLOCK_BYTES,
            accessed: inode.accessed,
            modified: inode.modified,
            changed: inode.changed,
        })
    }

    fn setattr(&mut self, host: &mut dyn Host, ino: Ino, change: &SetAttr) -> Result<()> {
        self.change_attributes(host, ino, change)
    }

    fn inode_flags(&mut self, ino: Ino) -> Result<u32> {
        Ok(crate::inode_flags::to_ioctl(self.inode(ino)?.flags))
    }

    fn set_inode_flags(&mut self, host: &mut dyn Host, ino: Ino, flags: u32) -> Result<()> {
        self.change_flags(host, ino, flags)
    }

    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()> {
        self.read_file_page(ino, index, page)
    }

    fn read_folio(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<bool> {
        self.read_folio_page(ino, index, page)
    }

    fn insert_read_pages(&mut self, host: &mut dyn Host) {
        self.insert_bulk(host);
    }

    fn keeps_xattr(&self, name: &[u8]) -> bool {
        crate::xattr::is_kept(name)
    }

    fn getxattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.read_xattr(ino, name)
    }

    fn setxattr(&mut self, host: &mut dyn Host, ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.write_xattr(host, ino, name, value, mode)
    }

    fn listxattr(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.list_xattrs(ino)
    }

    fn removexattr(&mut self, host: &mut dyn Host, ino: Ino, name: &[u8]) -> Result<()> {
        self.delete_xattr(host, ino, name)
    }

    /// `ubifs_write_begin` of `fs/ubifs/file.c`: the page is read, then there is a budget for it or not.
    fn reads_before_write(&self) -> bool {
        true
    }

    fn write_begin(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize, cached: bool) -> Result<WritePlan> {
        if at + bytes as u64 > FILE_BYTES_MAX {
            return Err(Errno::FBig);
        }
        self.begin_write(host, ino, at, bytes, cached)
    }

    fn write_end(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize) -> Result<usize> {
        self.end_write(host, ino, at, bytes)
    }

    fn delays_writes(&self) -> bool {
        true
    }

    /// 2.6.37 was measured without attributes of that namespace.
    fn look_up_capability(&mut self, ino: Ino) -> Result<()> {
        match self.core.rules {
            KernelRules::V2_6 => Ok(()),
            KernelRules::V6_1 => self.find_xattr(ino, CAPABILITY).map(drop),
        }
    }

    fn write_starts(&mut self, host: &mut dyn Host, ino: Ino) -> Result<()> {
        self.update_times(host, ino)
    }

    fn page_mkwrite(&mut self, host: &mut dyn Host, ino: Ino, index: u64) -> Result<()> {
        self.make_writable(host, ino, index)
    }

    fn write_page(&mut self, host: &mut dyn Host, ino: Ino, index: u64) -> Result<()> {
        self.write_back_page(host, ino, index)
    }

    fn write_inode(&mut self, _host: &mut dyn Host, ino: Ino) -> Result<()> {
        self.write_back_inode(ino)
    }

    fn drop_dirty_page(&mut self, ino: Ino, index: u64) {
        self.forget_dirty_page(ino, index);
    }

    fn fsync(&mut self, host: &mut dyn Host, ino: Ino, data_only: bool) -> Result<()> {
        let _why = self.core.lebs.sim.clone().because(&causes::SYNC);
        if !data_only || host.inode_dirt(ino) == Some(InodeDirt::Data) {
            self.write_back_inode(ino)?;
        }
        self.core.journal.sync_heads_of(&mut self.core.lebs, &mut self.core.space, ino).map_err(Errno::from)
    }

    fn sync(&mut self, _host: &mut dyn Host) -> Result<()> {
        let _why = self.core.lebs.sim.clone().because(&causes::SYNC);
        self.core.journal.sync_all_heads(&mut self.core.lebs, &mut self.core.space)?;
        self.core.run_commit().map_err(Errno::from)
    }

    fn unwritten(&self) -> Unwritten {
        let buffered_bytes = self.core.journal.heads.iter().map(|head| u64::from(head.used)).sum();
        Unwritten { buffered_bytes, ..Unwritten::default() }
    }

    fn block_space(&self) -> Vec<BlockSpace> {
        self.look_at_blocks()
    }

    fn statfs(&mut self) -> StatFs {
        let geo = &self.core.lebs.geo;
        let heads = crate::format::HEADS as i64;
        let lebs = i64::from(geo.main_lebs) - 4 - heads;
        let usable = lebs * i64::from(geo.leb_bytes - geo.leb_overhead);
        let block = u64::from(BLOCK_BYTES);
        StatFs {
            block_bytes: BLOCK_BYTES,
            blocks: geo.reported_bytes(usable) / block,
            blocks_free: self.core.space.free_bytes(&self.core.lebs) / block,
            files: 0,
            files_free: 0,
        }
    }

    fn evict(&mut self, _host: &mut dyn Host, ino: Ino) -> Result<()> {
        self.evict_inode(ino)
    }

    fn drop_inodes(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        self.inodes.retain(|&ino, inode| {
            ino == ROOT_INO || in_use(ino) || inode.dirty || inode.links == 0 || !inode.dirty_pages.is_empty()
        });
    }

    fn shrink(&mut self) -> usize {
        self.core.index.shrink(&self.core.commits, self.core.rules)
    }

    fn run_task(&mut self, host: &mut dyn Host, task: &'static Task) {
        if task == &causes::UBIFS_THREAD {
            while self.core.run_thread() {
                if take_turns(self, host) {
                    return;
                }
            }
        } else if task == &causes::UBI_THREAD {
            while self.ubi.run_task() {
                if take_turns(self, host) {
                    return;
                }
            }
        } else {
            self.core.lebs.sim.block(task);
        }
    }

    fn resched(&mut self, host: &mut dyn Host) {
        take_turns(self, host);
    }

    fn is_read_only(&self) -> bool {
        self.core.lebs.ro_mount
    }

    fn remount(&mut self, host: &mut dyn Host, read_only: bool) -> Result<()> {
        self.change_read_only(host, read_only)
    }

    fn unmount(&mut self, _host: &mut dyn Host) -> Result<()> {
        self.unmounted = true;
        self.core.unmount(&self.ubi).map_err(Errno::from)
    }
}
