//! The mounted system as a whole: mount, unmount, crash, sync, sleep, clocks.

use crate::config::VfsConfig;
use crate::dentries::{Dentries, DentryId};
use crate::memory::Memory;
use crate::node_table::Nodes;
use crate::open_file::OpenFile;
use crate::write_back;
use ffslab_fs::causes;
use ffslab_fs::{run_turn, Errno, FileKind, FileSystem, Ino, Result, Unwritten, PAGE_BYTES};
use ffslab_policy::ReadAheadRule;
use ffslab_sim::{NandWait, Sim, Switch, Task, Work};
use rustc_hash::{FxHashMap, FxHashSet};

/// Pages that leave the cache between two scheduling points (`PAGEVEC_SIZE` of `include/linux/pagevec.h`).
const PAGES_OF_BATCH: usize = 14;
/// So long kernel code works between two such points, beside pages.
const INTERRUPTIBLE_NS: u64 = 50_000;

/// Linux with at most one file system mounted, seen through its system calls. Paths begin at the mount's root: "/a/b"
/// and "a/b" are the same.
///
/// Every system call takes [`crate::VfsCosts::call_ns`] and ends in a scheduling point, at which background tasks of
/// the file system may get the CPU. Errors are those of the manual pages; while nothing is mounted, calls with a path
/// fail with [`Errno::NoDev`].
pub struct Vfs {
    pub(crate) sim: Sim,
    pub(crate) config: VfsConfig,
    pub(crate) fs: Option<Box<dyn FileSystem>>,
    pub(crate) memory: Memory,
    pub(crate) dentries: Dentries,
    /// Where the paths of the running call have ended, and whether the call has a reference to that.
    pub(crate) walked: Vec<(DentryId, bool)>,
    /// Inodes without an entry that are still in memory, in the order in which they lost it.
    pub(crate) idle: Vec<Ino>,
    pub(crate) files: Vec<Option<OpenFile>>,
    /// Number of open descriptors of each inode that has any.
    pub(crate) opens: FxHashMap<Ino, u32>,
    /// Files without a name that may get a name (`I_LINKABLE`).
    pub(crate) linkable: FxHashSet<Ino>,
    /// The inodes that a program above knows by their numbers.
    pub(crate) nodes: Nodes,
    /// Read-ahead of the backing device, in pages. Files opened from now on start with it.
    pub(crate) device_ra_pages: u64,
    /// What says how far to read ahead, if not the kernel decides; made for each mount.
    pub(crate) read_ahead_rule: Option<ReadAheadRule>,
    /// Mounted with `sync`: every write(2) is one with `O_DSYNC` (`IS_SYNC` of `include/linux/fs.h`).
    pub(crate) synchronous: bool,
    /// A file has been made since the mount.
    pub(crate) has_made_files: bool,
    device_task: Option<DeviceTask>,
    /// The calls that come are the kernel's own.
    is_in_kernel: bool,
}

/// Runs a background task of a driver until it sleeps or yields.
pub type DeviceTask = Box<dyn FnMut(&'static Task)>;

impl Vfs {
    pub fn new(sim: Sim, config: VfsConfig) -> Vfs {
        causes::register(&sim);
        let memory = Memory::new(sim.clone(), &config);
        let device_ra_pages = u64::from(config.read_ahead_bytes) / PAGE_BYTES as u64;
        Vfs {
            sim,
            config,
            fs: None,
            memory,
            dentries: Dentries::new(0),
            walked: Vec::new(),
            idle: Vec::new(),
            files: Vec::new(),
            opens: FxHashMap::default(),
            linkable: FxHashSet::default(),
            nodes: Nodes::default(),
            device_ra_pages,
            read_ahead_rule: None,
            synchronous: false,
            has_made_files: false,
            device_task: None,
            is_in_kernel: false,
        }
    }

    /// Sets the function that runs a driver's background tasks (UBI has one) while nothing is mounted. A mounted file
    /// system runs the background tasks of the drivers below it itself.
    pub fn set_device_task(&mut self, task: Option<DeviceTask>) {
        self.device_task = task;
    }

    pub fn config(&self) -> &VfsConfig {
        &self.config
    }

    /// The mounted file system.
    pub fn fs(&self) -> Option<&dyn FileSystem> {
        self.fs.as_deref()
    }

    pub fn fs_mut(&mut self) -> Option<&mut (dyn FileSystem + 'static)> {
        self.fs.as_deref_mut()
    }

    /// Mounts a file system. [`Errno::Busy`] when one is mounted already.
    pub fn mount(&mut self, fs: Box<dyn FileSystem>) -> Result<()> {
        self.system_call(|vfs| {
            if vfs.fs.is_some() {
                return Err(Errno::Busy);
            }
            vfs.dentries = Dentries::new(fs.root());
            vfs.nodes = Nodes::new(fs.root());
            vfs.read_ahead_rule = vfs.config.policies.read_ahead.map(|policy| policy.make());
            if fs.delays_writes() || vfs.memory.write_back.sync_always_waits() {
                vfs.memory.write_back.start();
            }
            vfs.fs = Some(fs);
            vfs.sim.frees_later();
            Ok(())
        })
    }

    /// Remounts read-only or read-write (`reconfigure_super` of `fs/super.c`). [`Errno::Busy`]: a file is open for
    /// writing, or an open file has no name.
    pub fn remount(&mut self, read_only: bool) -> Result<()> {
        self.system_call(|vfs| {
            let was_read_only = vfs.parts()?.0.is_read_only();
            if read_only && !was_read_only && vfs.keeps_writable()? {
                return Err(Errno::Busy);
            }
            vfs.dentries.shrink(0);
            let (fs, memory) = vfs.parts()?;
            if !was_read_only {
                if fs.delays_writes() || memory.write_back.has_stores {
                    write_back::sync_file_system(memory, fs)?;
                }
                fs.sync(memory)?;
            }
            fs.remount(memory, read_only)
        })
    }

    /// Whether something could still be written although no program calls (`sb_prepare_remount_readonly`).
    fn keeps_writable(&mut self) -> Result<bool> {
        if self.files.iter().flatten().any(|file| file.flags.write) {
            return Ok(true);
        }
        let open: Vec<Ino> = self.opens.keys().copied().collect();
        let (fs, _) = self.parts()?;
        for ino in open {
            if fs.getattr(ino)?.links == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Unmounts and drops every cache. [`Errno::Busy`] with open files, [`Errno::Inval`] when nothing is mounted. After
    /// any other error the file system is gone nevertheless, as after [`Vfs::crash`].
    pub fn umount(&mut self) -> Result<()> {
        self.system_call(|vfs| {
            if !vfs.opens.is_empty() {
                return Err(Errno::Busy);
            }
            if vfs.fs.is_some() && vfs.config.kernel.unmount_wakes_worker {
                vfs.spend(vfs.config.costs.unmount_ns);
                vfs.sim.gives_others_a_chance();
                vfs.schedule();
            }
            vfs.sim.frees_later();
            let mut fs = vfs.fs.take().ok_or(Errno::Inval)?;
            // Data that cannot be written are lost, as in `generic_shutdown_super`.
            let delays = fs.delays_writes() || vfs.memory.write_back.has_stores;
            let writes = delays && !fs.is_read_only();
            let written = if writes { write_back::sync_file_system(&mut vfs.memory, fs.as_mut()) } else { Ok(()) };
            let synced = if writes { fs.sync(&mut vfs.memory) } else { Ok(()) };
            let result = written.and(synced).and(fs.unmount(&mut vfs.memory));
            let cached = vfs.memory.pages.pages();
            vfs.forget_everything();
            vfs.pay_for_dropped(cached);
            vfs.sim.frees_later();
            result
        })
    }

    /// Power off or reset: everything in memory and all open descriptors are lost, and nothing is written.
    pub fn crash(&mut self) {
        self.fs = None;
        self.forget_everything();
    }

    fn forget_everything(&mut self) {
        self.memory.pages.clear();
        self.memory.write_back.stop();
        self.dentries = Dentries::new(0);
        self.idle.clear();
        self.files.clear();
        self.opens.clear();
        self.linkable.clear();
        self.nodes = Nodes::default();
        self.synchronous = false;
        self.has_made_files = false;
    }

    /// Writes only the headers of changed directories, as YAFFS2's background thread does each second.
    pub fn sync_directories(&mut self) -> Result<()> {
        let (fs, memory) = self.parts()?;
        fs.sync_directories(memory)
    }

    /// Nothing to do when nothing is mounted.
    pub(crate) fn sync_with(
        &mut self,
        write: impl FnOnce(&mut Memory, &mut dyn FileSystem) -> Result<()>,
    ) -> Result<()> {
        let Some(fs) = self.fs.as_deref_mut().filter(|fs| !fs.is_read_only()) else { return Ok(()) };
        let write_back = &self.memory.write_back;
        if fs.delays_writes() || write_back.has_stores || write_back.sync_always_waits() {
            write(&mut self.memory, fs)?;
        }
        fs.sync(&mut self.memory)
    }

    /// What is not on flash yet. Takes no time.
    pub fn unwritten(&self) -> Unwritten {
        let Some(fs) = self.fs() else { return Unwritten::default() };
        let of_fs = fs.unwritten();
        let (pages, inodes) = self.memory.write_back.unwritten();
        Unwritten { pages, inodes: of_fs.inodes + inodes, ..of_fs }
    }

    /// `read_ahead_kb` of the backing device. Files that are open keep the old value, as on Linux.
    pub fn set_read_ahead_bytes(&mut self, bytes: u32) {
        self.device_ra_pages = u64::from(bytes) / PAGE_BYTES as u64;
        self.sim.frees_later();
    }

    /// The mount options `sync` (or `async`) and `dirsync`. They belong to the mount, so an unmount resets them.
    pub fn set_synchronous(&mut self, synchronous: bool, directories: bool) {
        self.synchronous = synchronous;
        if let Some(fs) = self.fs.as_deref_mut() {
            fs.set_synchronous(synchronous, directories);
        }
    }

    // ---- for the other files of this crate -------------------------------------------------------------------------

    /// Runs the body of a system call, with the cost of the call before it and a scheduling point after it.
    pub(crate) fn system_call<R>(&mut self, body: impl FnOnce(&mut Vfs) -> Result<R>) -> Result<R> {
        if !self.is_in_kernel {
            self.call_begins();
        }
        self.wait_for_chip();
        let result = body(self);
        for (dentry, taken) in std::mem::take(&mut self.walked) {
            if taken || self.dentries.inode(dentry).is_some() {
                self.dentries.put_back(dentry);
            }
        }
        if !self.is_in_kernel {
            self.schedule();
        }
        result
    }

    /// A system call begins that another part of the kernel carries out, by calls of its own on this mount ([`Vfs::as_kernel`]).
    pub fn call_begins(&mut self) {
        self.spend(self.config.costs.call_ns);
        self.sim.work(Work::TracedCall, 0);
    }

    /// Such a call ends, in a scheduling point.
    pub fn call_ends(&mut self) {
        self.schedule();
    }

    /// Calls that the kernel makes itself, as overlayfs does on its layers: nobody pays for a system call.
    pub fn as_kernel<R>(&mut self, body: impl FnOnce(&mut Vfs) -> R) -> R {
        let was_in_kernel = std::mem::replace(&mut self.is_in_kernel, true);
        let result = body(self);
        self.is_in_kernel = was_in_kernel;
        result
    }

    /// Gives other tasks the CPU before a call that will sleep for the chip (on a file system that does not delay
    /// writes), because they may have waited longer.
    pub(crate) fn wait_for_chip(&mut self) {
        if self.sim.config().nand_wait == NandWait::Sleep {
            if let Some(fs) = self.fs.as_deref_mut().filter(|fs| !fs.delays_writes()) {
                fs.resched(&mut self.memory);
            }
        }
    }

    /// Borrows the file system and the memory separately.
    pub(crate) fn parts(&mut self) -> Result<(&mut dyn FileSystem, &mut Memory)> {
        match self.fs.as_deref_mut() {
            Some(fs) => Ok((fs, &mut self.memory)),
            None => Err(Errno::NoDev),
        }
    }

    /// [`Errno::RoFs`] when the mount is read-only (`mnt_want_write`).
    pub(crate) fn want_write(&mut self) -> Result<()> {
        if self.parts()?.0.is_read_only() {
            Err(Errno::RoFs)
        } else {
            Ok(())
        }
    }

    pub(crate) fn spend(&self, duration_ns: u64) {
        spend(&self.sim, &self.config, duration_ns);
    }

    pub(crate) fn schedule(&mut self) {
        if let Some(fs) = self.fs.as_deref_mut() {
            if !fs.delays_writes() && self.sim.keeps_cpu() {
                return;
            }
            return fs.resched(&mut self.memory);
        }
        while let Switch::Run(task) = self.sim.resched() {
            self.run_device_task(task);
        }
    }

    /// Runs the background task that the CPU model has chosen until it sleeps or yields.
    pub fn give_turn(&mut self, task: &'static Task) {
        match self.fs.as_deref_mut() {
            Some(fs) => run_turn(fs, &mut self.memory, task),
            None => self.run_device_task(task),
        }
    }

    fn run_device_task(&mut self, task: &'static Task) {
        match &mut self.device_task {
            Some(run) => {
                let _turn = self.sim.run_as(task);
                run(task);
            }
            // The task belongs to a file system that does not exist any more.
            None => self.sim.kill(task),
        }
    }

    /// Deletes an inode that has neither a name nor a descriptor any more (`iput_final`). As in the kernel, the call
    /// that dropped the last reference does not report errors, except for a power cut.
    pub(crate) fn evict_if_unused(&mut self, ino: Ino, kind: FileKind) -> Result<()> {
        match self.try_evict(ino, kind) {
            Err(Errno::PowerCut) => Err(Errno::PowerCut),
            _ => Ok(()),
        }
    }

    fn try_evict(&mut self, ino: Ino, kind: FileKind) -> Result<()> {
        if self.opens.contains_key(&ino) {
            return Ok(());
        }
        if kind != FileKind::Directory && self.parts()?.0.getattr(ino)?.links > 0 {
            return Ok(());
        }
        self.linkable.remove(&ino);
        self.idle.retain(|&idle| idle != ino);
        self.nodes.gone(ino);
        let cached = self.memory.pages.pages();
        let (fs, memory) = self.parts()?;
        memory.delete(fs, ino)?;
        self.pay_for_deleted(cached);
        let (fs, memory) = self.parts()?;
        let evicted = fs.evict(memory, ino);
        // `destroy_inode` of fs/inode.c.
        self.sim.frees_later();
        evicted
    }

    /// Drops all clean pages.
    pub(crate) fn drop_clean_pages(&mut self) {
        let cached = self.memory.pages.pages();
        self.memory.pages.clear_clean();
        self.pay_for_dropped(cached);
    }

    /// Charges for the pages that have left the cache since there were `cached` of them.
    pub(crate) fn pay_for_dropped(&mut self, cached: usize) {
        self.pay_for_pages(cached, self.config.costs.page_drop_ns);
    }

    /// The same for pages that are not only dropped: what is stored for them goes, too.
    pub(crate) fn pay_for_deleted(&mut self, cached: usize) {
        self.pay_for_pages(cached, self.config.costs.page_drop_ns + self.config.costs.page_delete_ns);
    }

    /// Between batches of pages another task may get its turn.
    fn pay_for_pages(&mut self, cached: usize, page_ns: u64) {
        let mut dropped = cached.saturating_sub(self.memory.pages.pages());
        while dropped > 0 && page_ns > 0 {
            let batch = dropped.min(PAGES_OF_BATCH);
            self.spend(batch as u64 * page_ns);
            self.schedule();
            dropped -= batch;
        }
    }

    /// Charges for work of the kernel in which it often asks whether another task shall run (`cond_resched`).
    pub(crate) fn spend_interruptible(&mut self, ns: u64) {
        let mut left_ns = ns;
        while left_ns > 0 {
            let piece_ns = left_ns.min(INTERRUPTIBLE_NS);
            self.spend(piece_ns);
            self.schedule();
            left_ns -= piece_ns;
        }
    }
}

/// Charges for CPU work of the system call layer.
pub(crate) fn spend(sim: &Sim, config: &VfsConfig, duration_ns: u64) {
    if duration_ns > 0 {
        sim.compute(duration_ns);
        sim.consume(config.costs.cpu_power, duration_ns);
    }
}
