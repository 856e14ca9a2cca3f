//! # fs: the seam between an operating system and a file system
//!
//! **Role.** The one portability seam, as SQLite's VFS is for a data base: [`FileSystem`] is what a file system
//! offers, [`Host`] what it may ask of the system above it. `linux` and `rtems` drive it from above, `jffs2`,
//! `yaffs2`, `ubifs` ... implement it, the conformance kit tests it. It stands in a crate of its own because the
//! file systems are below the operating systems and must not depend on them.
//!
//! **Follows.** The inode operations and address space operations of Linux (`Documentation/filesystems/vfs.rst`),
//! as far as the embedded flash file systems use them.
//!
//! **Leaves out.** Locking: one simulation is one thread. Memory mapping, but for whether there is any: the page cache
//! above serves it.
//!
//! [`PathFileSystem`] stands beside it, for file systems of firmware, which know paths and handles and no inodes.

mod calendar;
pub mod causes;
mod errno;
mod host;
mod key_value;
mod name_hash;
mod page_set;
mod pages_ahead;
mod paths;
mod super_sync;
mod types;

pub use calendar::{civil_time, CivilTime};
pub use errno::Errno;
pub use host::{Host, InodeDirt, NoPageCache};
pub use key_value::{KeyEntry, KeyValueStore, WithoutFiles};
pub use name_hash::NameHash;
pub use page_set::PageSet;
pub use pages_ahead::PagesAhead;
pub use paths::{FileHandle, OpenHow, PathFileSystem, PathStat};
pub use super_sync::super_sync_after_ns;
pub use types::{
    inode_flags, BlockSpace, DirEntry, FileKind, Ino, NewNode, RenameFlags, SetAttr, Stat, StatFs, TimeSpec, Unwritten,
    WritePlan, XattrMode, PAGE_BYTES, STAT_BLOCK_BYTES,
};

use ffslab_sim::{Sim, Switch, Task};

pub type Result<T> = std::result::Result<T, Errno>;

/// A mounted file system.
///
/// Conventions:
/// * An inode number stays valid while the caller uses it. Any operation may bring an inode into memory;
///   [`FileSystem::evict`] and [`FileSystem::drop_inodes`] take it out again.
/// * An operation either happens or fails with an [`Errno`]; it advances the clock of [`FileSystem::sim`] either way.
/// * After [`Errno::PowerCut`] the chip is dead and every further operation fails the same way: drop the file
///   system, switch the chip on again and mount anew.
/// * When a file system is dropped it removes its background tasks from the CPU model ([`Sim::kill`]). So the old value
///   must be gone before the medium is mounted again: its tasks have the same names.
/// * Names are bytes without `/` and NUL; `.` and `..` never reach a file system.
pub trait FileSystem {
    /// "jffs2", "yaffs2" ...
    fn name(&self) -> &'static str;

    fn sim(&self) -> &Sim;

    fn root(&self) -> Ino;

    /// Longest name of a directory entry, in bytes.
    fn name_bytes_max(&self) -> usize;

    /// Largest file, in bytes.
    fn file_bytes_max(&self) -> u64;

    // ---- names ---------------------------------------------------------------------------------------------

    /// The inode that `name` in `dir` stands for; it is in memory afterwards. `NoEnt` when there is none.
    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino>;

    /// Makes a file, directory, symbolic link or special file; the name does not exist yet (the caller looked).
    fn create(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8], node: &NewNode) -> Result<Ino>;

    /// Adds a name for `ino`, which is not a directory.
    fn link(&mut self, host: &mut dyn Host, ino: Ino, dir: Ino, name: &[u8]) -> Result<()>;

    /// Removes a name. An inode without further names lives until [`FileSystem::evict`].
    fn unlink(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()>;

    /// The mount options `sync` and `dirsync`: `all` changes, or those of `directories`, are written before their calls return. The
    /// system above sees to the data of write(2) itself; a file system that writes names at once in any case has nothing to do.
    fn set_synchronous(&mut self, _all: bool, _directories: bool) {}

    /// `NotEmpty` if there is a name in the directory. The system asks before it lets a directory be removed or replaced. Only a file
    /// system that looks into a directory before it looks for its name needs this; the others find out in [`FileSystem::rmdir`].
    fn check_empty(&mut self, _dir: Ino) -> Result<()> {
        Ok(())
    }

    /// Removes an empty directory; `NotEmpty` otherwise.
    fn rmdir(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()>;

    /// Moves a name; a target that exists is replaced (kinds agree and a directory is empty, else an error).
    fn rename(&mut self, host: &mut dyn Host, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<()>;

    /// Renames as renameat2(2) does, with at least one flag. The caller has already checked `no_replace`; it is passed
    /// on so that a file system can refuse flags that it does not know. `Inval`: not supported, which is the default
    /// unless `no_replace` is the only flag.
    fn rename_with(
        &mut self,
        host: &mut dyn Host,
        (from, name): (Ino, &[u8]),
        (to, new_name): (Ino, &[u8]),
        flags: RenameFlags,
    ) -> Result<()> {
        match flags {
            RenameFlags::NONE | RenameFlags::NO_REPLACE => self.rename(host, from, name, to, new_name),
            _ => Err(Errno::Inval),
        }
    }

    /// Makes a file without a name (`O_TMPFILE`), link count 0. It lives until [`FileSystem::evict`], or gets a name by
    /// [`FileSystem::link`]. `NotSup`: not supported, which is the default.
    fn create_unnamed(&mut self, _host: &mut dyn Host, _dir: Ino, _node: &NewNode) -> Result<Ino> {
        Err(Errno::NotSup)
    }

    /// All entries of a directory, in the file system's order, without `.` and `..`.
    fn readdir(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()>;

    /// Target of a symbolic link.
    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>>;

    // ---- attributes ----------------------------------------------------------------------------------------

    fn getattr(&mut self, ino: Ino) -> Result<Stat>;

    /// Changes attributes. A new size truncates the file, or extends it with a hole. The caller cuts its cached pages
    /// afterwards.
    fn setattr(&mut self, host: &mut dyn Host, ino: Ino, change: &SetAttr) -> Result<()>;

    /// Flags of chattr(1), bits of [`inode_flags`] (`->fileattr_get`). `NoTty`: the file system has no such flags,
    /// which is the default.
    fn inode_flags(&mut self, _ino: Ino) -> Result<u32> {
        Err(Errno::NoTty)
    }

    /// Sets all flags of chattr(1) (`->fileattr_set`). `NotSup`: the file system does not know one of them. The system
    /// above enforces [`inode_flags::IMMUTABLE`] and [`inode_flags::APPEND`].
    fn set_inode_flags(&mut self, _host: &mut dyn Host, _ino: Ino, _flags: u32) -> Result<()> {
        Err(Errno::NoTty)
    }

    // ---- extended attributes -------------------------------------------------------------------------------

    /// Whether extended attributes with this full name (`user.comment`) can be stored (`s_xattr`). By default none can.
    fn keeps_xattr(&self, _name: &[u8]) -> bool {
        false
    }

    /// The value of an extended attribute. `NoData`: there is none of this name. The caller has checked
    /// [`FileSystem::keeps_xattr`].
    fn getxattr(&mut self, _ino: Ino, _name: &[u8]) -> Result<Vec<u8>> {
        Err(Errno::NotSup)
    }

    /// Makes or replaces an extended attribute. A power cut leaves either the old or the new state.
    fn setxattr(
        &mut self,
        _host: &mut dyn Host,
        _ino: Ino,
        _name: &[u8],
        _value: &[u8],
        _mode: XattrMode,
    ) -> Result<()> {
        Err(Errno::NotSup)
    }

    /// Full names of all extended attributes, in the file system's order.
    fn listxattr(&mut self, _ino: Ino) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    /// Removes an extended attribute. `NoData`: there is none of this name.
    fn removexattr(&mut self, _host: &mut dyn Host, _ino: Ino, _name: &[u8]) -> Result<()> {
        Err(Errno::NotSup)
    }

    // ---- data ----------------------------------------------------------------------------------------------

    /// Reads page `index` (of [`PAGE_BYTES`]). Holes and bytes behind the end of the file read as zeros.
    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()>;

    /// Reads a page for a program or for read-ahead (`->read_folio`). Returns `true` when further pages were read as
    /// well, which [`FileSystem::insert_read_pages`] puts into the page cache. The default reads this page alone.
    fn read_folio(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<bool> {
        self.read_page(ino, index, page).map(|()| false)
    }

    /// See [`FileSystem::read_folio`].
    fn insert_read_pages(&mut self, _host: &mut dyn Host) {}

    /// Whether it takes windows of read-ahead whole ([`FileSystem::read_ahead`], `->readahead`). If `false`, each page of them is read
    /// with [`FileSystem::read_folio`].
    fn reads_ahead(&self) -> bool {
        false
    }

    /// Reads pages of a window of read-ahead. What it leaves out is read when a program asks for it.
    fn read_ahead(&mut self, _ino: Ino, _window: &mut dyn PagesAhead) {}

    /// Looks for the extended attribute `security.capability`, which a write would have to take away
    /// (`security_inode_need_killpriv`). A system whose kernel asks so calls this before each write(2). The default is a
    /// file system that has no extended attributes, or has them in memory.
    fn look_up_capability(&mut self, _ino: Ino) -> Result<()> {
        Ok(())
    }

    /// Called at the start of a write(2) to `ino`, before its first page (`->write_iter`, `file_update_time`): time
    /// stamps change here.
    fn write_starts(&mut self, _host: &mut dyn Host, _ino: Ino) -> Result<()> {
        Ok(())
    }

    /// Whether a page of which a write changes only a part is read before [`FileSystem::write_begin`] rather than after it: it is in
    /// the page cache then even if there is no room for the write.
    fn reads_before_write(&self) -> bool {
        false
    }

    /// Announces a write of `bytes` at `at`, all within one page. `cached`: the page is in the page cache. Returns
    /// whether the page must be read first.
    fn write_begin(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize, cached: bool) -> Result<WritePlan>;

    /// The page in the cache ([`Host::page`]) now holds the new bytes `at .. at + bytes`. Returns how many of them
    /// were accepted, at least 1; the file size grows accordingly.
    fn write_end(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize) -> Result<usize>;

    /// Whether programs may map files as shared, writable memory (`->mmap`).
    fn maps_shared_writable(&self) -> bool {
        true
    }

    /// A program is about to store to a page of a map, which is in the page cache ([`Host::page`]) and stays there meanwhile
    /// (`->page_mkwrite`): whatever writing the page later needs is reserved, time stamps change, and the page is marked as
    /// dirty ([`Host::dirty_page`]). The default does what the kernel does for file systems that leave this to it
    /// (`filemap_page_mkwrite` of `mm/filemap.c`).
    fn page_mkwrite(&mut self, host: &mut dyn Host, ino: Ino, index: u64) -> Result<()> {
        self.write_starts(host, ino)?;
        host.dirty_page(ino, index);
        Ok(())
    }

    // ---- delayed writing -----------------------------------------------------------------------------------

    /// Whether `write_end` only marks the page as dirty ([`Host::dirty_page`]) and [`FileSystem::write_page`] writes it
    /// later. If `false`, `write_end` writes the page, and the rest of this part is called for pages of maps alone.
    fn delays_writes(&self) -> bool {
        false
    }

    /// Writes a page back (`->writepage`); [`Host::page`] has its content. The host has marked it as clean before the
    /// call. A file system that must try again later marks the page as dirty again; an error alone is only kept for the
    /// next fsync.
    fn write_page(&mut self, _host: &mut dyn Host, _ino: Ino, _index: u64) -> Result<()> {
        Err(Errno::NotSup)
    }

    /// Writes an inode back (`->write_inode`). The host has marked it as clean before the call.
    fn write_inode(&mut self, _host: &mut dyn Host, _ino: Ino) -> Result<()> {
        Ok(())
    }

    /// Tells that a dirty page was dropped unwritten, because the file was cut or deleted (`->invalidate_folio`).
    fn drop_dirty_page(&mut self, _ino: Ino, _index: u64) {}

    // ---- durability ----------------------------------------------------------------------------------------

    /// Makes an inode durable. Its dirty pages were written before the call; [`Host::inode_dirt`] tells whether the
    /// inode itself is dirty.
    fn fsync(&mut self, host: &mut dyn Host, ino: Ino, data_only: bool) -> Result<()>;

    /// Called when the last descriptor of an open file was closed.
    fn close(&mut self, _host: &mut dyn Host, _ino: Ino) -> Result<()> {
        Ok(())
    }

    /// The first of the two calls of `->sync_fs` that sync(2) of 2.6.37 makes, the one with `wait` = 0 (`fs/sync.c`). Fails as
    /// [`FileSystem::sync`] does, to which most file systems leave everything.
    fn sync_begins(&mut self, _host: &mut dyn Host) -> Result<()> {
        Ok(())
    }

    /// Makes everything durable (`->sync_fs`). Dirty pages and inodes were written before the call.
    fn sync(&mut self, host: &mut dyn Host) -> Result<()>;

    /// Writes only the headers of changed directories, in a file system that defers them (YAFFS2).
    fn sync_directories(&mut self, _host: &mut dyn Host) -> Result<()> {
        Ok(())
    }

    /// What waits in the file system's own buffers. Takes no time; the default is a file system without such buffers. Where data
    /// wait, it is noted in which phase of the run they were changed, so that what a phase left is not charged to the next one
    /// ([`ffslab_sim::Sim::because_left`]).
    fn unwritten(&self) -> Unwritten {
        Unwritten::default()
    }

    /// How many erase blocks of a new partition wait for being made usable in the background: work that is done once. Takes no
    /// time; the default is a file system that leaves no such work.
    fn blocks_to_format(&self) -> u32 {
        0
    }

    fn statfs(&mut self) -> StatFs;

    /// The last contradiction on the medium that was met since this was asked last: what is wrong, and where. A program only
    /// sees an [`Errno`] of it; a real system prints the rest to its log.
    fn take_damage(&mut self) -> Option<String> {
        None
    }

    /// Valid, obsolete and free bytes of each erase block of the partition. Takes no time and no flash operation, and
    /// changes nothing. Empty: not known.
    fn block_space(&self) -> Vec<BlockSpace> {
        Vec::new()
    }

    // ---- life of an inode in memory ------------------------------------------------------------------------

    /// Deletes an inode that has no users and no names any more (link count 0).
    fn evict(&mut self, host: &mut dyn Host, ino: Ino) -> Result<()>;

    /// Frees what a cache of its own can spare (a shrinker of `mm/vmscan.c`). Returns how many objects that were.
    fn shrink(&mut self) -> usize {
        0
    }

    /// Lets the file system forget inodes because memory is short (`drop_caches`). It must keep those for which
    /// `in_use` returns `true`.
    fn drop_inodes(&mut self, in_use: &dyn Fn(Ino) -> bool);

    // ---- background work -----------------------------------------------------------------------------------

    /// Runs the background task that the CPU model has chosen until it sleeps or yields.
    /// The caller holds the turn ([`Sim::run_as`]).
    fn run_task(&mut self, host: &mut dyn Host, task: &'static Task);

    /// A scheduling point between two system calls or two pages, at which background tasks get their turn. A file
    /// system that delays writes calls [`take_turns`] here.
    fn resched(&mut self, host: &mut dyn Host) {
        while let Switch::Run(task) = self.sim().resched() {
            let sim = self.sim().clone();
            let _turn = sim.run_as(task);
            self.run_task(host, task);
        }
    }

    // ---- read-only -----------------------------------------------------------------------------------------

    /// Whether the file system is mounted read-only. The system above then answers calls that would change something
    /// with `RoFs` and does not pass them on.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Remounts read-only or read-write (`mount -o remount,ro`). Everything dirty was written before, and nothing is
    /// open for writing. `Inval`: cannot be changed, which is the default.
    fn remount(&mut self, _host: &mut dyn Host, read_only: bool) -> Result<()> {
        if read_only == self.is_read_only() {
            Ok(())
        } else {
            Err(Errno::Inval)
        }
    }

    // ---- the end -------------------------------------------------------------------------------------------

    /// Writes out what must be written and ends the background tasks. Afterwards the value can only be dropped; the
    /// medium is a shared handle that its owner mounts again. Dropping without `unmount` is a reset: everything in
    /// memory is forgotten and nothing is written.
    fn unmount(&mut self, host: &mut dyn Host) -> Result<()>;
}

/// A scheduling point of the running task. Returns `true` when it must give way to the task below it on the stack of
/// turns.
pub fn take_turns(fs: &mut dyn FileSystem, host: &mut dyn Host) -> bool {
    loop {
        match fs.sim().resched() {
            Switch::Stay => return false,
            Switch::Yield => return true,
            Switch::Run(task) => run_turn(fs, host, task),
        }
    }
}

/// Runs the background task that the CPU model has chosen until it sleeps or yields. The flusher belongs to the host,
/// all other tasks to the file system.
pub fn run_turn(fs: &mut dyn FileSystem, host: &mut dyn Host, task: &'static Task) {
    let sim = fs.sim().clone();
    let _turn = sim.run_as(task);
    if task == &causes::FLUSHER {
        host.run_flusher(fs);
    } else {
        fs.run_task(host, task);
    }
}

/// A file system that a program can call without an operating system between, as firmware does: reads and writes have any
/// length and go straight to the file system and its own buffers.
pub trait DirectFileSystem: FileSystem {
    /// Reads from byte `at` of a file on; returns how many bytes there were, fewer than `into` takes at the end of the file.
    fn read_at(&mut self, ino: Ino, at: u64, into: &mut [u8]) -> Result<usize>;

    /// Writes from byte `at` of a file on; returns how many bytes found room, at least 1 of any.
    fn write_at(&mut self, host: &mut dyn Host, ino: Ino, at: u64, data: &[u8]) -> Result<usize>;
}
