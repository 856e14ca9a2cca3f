//! The mounted system as a whole: mount, unmount, crash, sync, sleep, clocks.

use crate::config::VfsConfig;
use crate::dentries::Dentries;
use crate::files::OpenFile;
use crate::memory::Memory;
use crate::nodes::Nodes;
use ffslab_fs::{run_turn, Errno, FileKind, FileSystem, Ino, Result, StatFs, Unwritten, PAGE_BYTES};
use ffslab_sim::{Idle, NandWait, Sim, Switch, Task, Work};
use rustc_hash::{FxHashMap, FxHashSet};

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
    pub(crate) files: Vec<Option<OpenFile>>,
    /// Number of open descriptors of each inode that has any.
    pub(crate) opens: FxHashMap<Ino, u32>,
    /// Files without a name that may get one (`I_LINKABLE`).
    pub(crate) linkable: FxHashSet<Ino>,
    /// Inodes that somebody above knows by number.
    pub(crate) nodes: Nodes,
    /// Read-ahead of the backing device; files opened from now on start with it.
    pub(crate) device_ra_pages: u64,
    /// Mounted with `sync`: every write(2) is one with `O_DSYNC` (`IS_SYNC` of `include/linux/fs.h`).
    pub(crate) synchronous: bool,
    device_task: Option<DeviceTask>,
}

/// Runs a background task of a driver until it sleeps or yields.
pub type DeviceTask = Box<dyn FnMut(Task)>;

impl Vfs {
    pub fn new(sim: Sim, config: VfsConfig) -> Vfs {
        let memory = Memory::new(sim.clone(), &config);
        let device_ra_pages = u64::from(config.read_ahead_bytes) / PAGE_BYTES as u64;
        Vfs {
            sim,
            config,
            fs: None,
            memory,
            dentries: Dentries::new(0),
            files: Vec::new(),
            opens: FxHashMap::default(),
            linkable: FxHashSet::default(),
            nodes: Nodes::default(),
            device_ra_pages,
            synchronous: false,
            device_task: None,
        }
    }

    /// Who runs background tasks of a driver, as UBI has one, while nothing is mounted. A mounted file system runs those
    /// of the drivers below it.
    pub fn set_device_task(&mut self, task: Option<DeviceTask>) {
        self.device_task = task;
    }

    pub fn sim(&self) -> &Sim {
        &self.sim
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

    /// Puts a file system in place. [`Errno::Busy`] when one is mounted already.
    pub fn mount(&mut self, fs: Box<dyn FileSystem>) -> Result<()> {
        self.system_call(|vfs| {
            if vfs.fs.is_some() {
                return Err(Errno::Busy);
            }
            vfs.dentries = Dentries::new(fs.root());
            vfs.nodes = Nodes::new(fs.root());
            if fs.delays_writes() {
                vfs.memory.write_back.start();
            }
            vfs.fs = Some(fs);
            Ok(())
        })
    }

    /// Mounts read-only or read-write from now on (`reconfigure_super` of `fs/super.c`). [`Errno::Busy`]: a file is open for
    /// writing, or lives without a name.
    pub fn remount(&mut self, read_only: bool) -> Result<()> {
        self.system_call(|vfs| {
            let was_read_only = vfs.parts()?.0.is_read_only();
            if read_only && !was_read_only && vfs.keeps_writable()? {
                return Err(Errno::Busy);
            }
            vfs.dentries.shrink();
            let (fs, memory) = vfs.parts()?;
            if !was_read_only {
                if fs.delays_writes() {
                    memory.sync_file_system(fs)?;
                }
                fs.sync(memory)?;
            }
            fs.remount(memory, read_only)
        })
    }

    /// Whether something may still be written without a further call (`sb_prepare_remount_readonly`).
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
            let mut fs = vfs.fs.take().ok_or(Errno::Inval)?;
            // What could not be written is lost, as in `generic_shutdown_super`.
            let writes = fs.delays_writes() && !fs.is_read_only();
            let written = if writes { vfs.memory.sync_file_system(fs.as_mut()) } else { Ok(()) };
            let synced = if writes { fs.sync(&mut vfs.memory) } else { Ok(()) };
            let result = written.and(synced).and(fs.unmount(&mut vfs.memory));
            vfs.forget_everything();
            result
        })
    }

    /// Power off or reset: whatever was in memory is lost, open descriptors are gone, nothing is written.
    pub fn crash(&mut self) {
        self.fs = None;
        self.forget_everything();
    }

    fn forget_everything(&mut self) {
        self.memory.pages.clear();
        self.memory.write_back.stop();
        self.dentries = Dentries::new(0);
        self.files.clear();
        self.opens.clear();
        self.linkable.clear();
        self.nodes = Nodes::default();
        self.synchronous = false;
    }

    /// sync(2): everything dirty goes to the medium. Nothing to do when nothing is mounted.
    pub fn sync(&mut self) -> Result<()> {
        self.sync_with(Memory::sync_everything)
    }

    /// Writes out the headers of changed directories alone: what YAFFS2's background thread does each second.
    pub fn sync_directories(&mut self) -> Result<()> {
        let (fs, memory) = self.parts()?;
        fs.sync_directories(memory)
    }

    /// syncfs(2) of the mount.
    pub fn syncfs(&mut self) -> Result<()> {
        self.sync_with(Memory::sync_file_system)
    }

    fn sync_with(&mut self, write: impl FnOnce(&mut Memory, &mut dyn FileSystem) -> Result<()>) -> Result<()> {
        self.system_call(|vfs| {
            let Some(fs) = vfs.fs.as_deref_mut().filter(|fs| !fs.is_read_only()) else { return Ok(()) };
            if fs.delays_writes() {
                write(&mut vfs.memory, fs)?;
            }
            fs.sync(&mut vfs.memory)
        })
    }

    /// statfs(2) of the mount.
    pub fn statfs(&mut self) -> Result<StatFs> {
        self.system_call(|vfs| Ok(vfs.parts()?.0.statfs()))
    }

    /// `echo 3 > /proc/sys/vm/drop_caches`: clean pages (dirty ones and their inodes stay), then names, then inodes that nothing open needs
    /// (`fs/drop_caches.c`, `fs/super.c`).
    pub fn drop_caches(&mut self) {
        self.spend(self.config.costs.call_ns);
        self.memory.pages.clear_clean();
        let in_use = self.dentries.shrink();
        let write_back = &mut self.memory.write_back;
        write_back.forget_clean(&|ino| in_use.contains(&ino));
        if let Some(fs) = self.fs.as_deref_mut() {
            fs.drop_inodes(&|ino| in_use.contains(&ino) || write_back.is_dirty(ino));
        }
        self.schedule();
    }

    /// A measurement begins: what is not on flash yet was left by the setup of an experiment. It is told, and written under a
    /// cause of its own ([`ffslab_sim::Reason::LeftBySetup`]) unless the measured calls change it again. Takes no time.
    pub fn measurement_begins(&mut self) -> Unwritten {
        let Ok((fs, memory)) = self.parts() else { return Unwritten::default() };
        let of_fs = fs.measurement_begins();
        let (pages, inodes) = memory.write_back.measurement_begins();
        Unwritten { pages, inodes: of_fs.inodes + inodes, ..of_fs }
    }

    /// `echo 1 > /proc/sys/vm/drop_caches`: clean pages only.
    pub fn drop_pages(&mut self) {
        self.spend(self.config.costs.call_ns);
        self.memory.pages.clear_clean();
        self.schedule();
    }

    /// `read_ahead_kb` of the backing device. Files that are open keep what they had, as on Linux.
    pub fn set_read_ahead_bytes(&mut self, bytes: u32) {
        self.device_ra_pages = u64::from(bytes) / PAGE_BYTES as u64;
    }

    /// The mount option `sync` or `async`. It is that of the mount: an unmount forgets it.
    pub fn set_synchronous(&mut self, synchronous: bool) {
        self.synchronous = synchronous;
    }

    /// nanosleep(2): background tasks run meanwhile. Ends [`crate::Kernel::timer_slack_ns`] late, or later when a task
    /// holds the CPU.
    pub fn sleep_ns(&mut self, duration_ns: u64) {
        self.spend(self.config.costs.call_ns);
        let slack_ns = self.config.kernel.timer_slack_ns;
        let until_ns = self.sim.now_ns().saturating_add(duration_ns).saturating_add(slack_ns);
        self.sim.foreground_sleeps_until(until_ns);
        while let Idle::Run(task) = self.sim.idle_next() {
            match self.fs.as_deref_mut() {
                Some(fs) => run_turn(fs, &mut self.memory, task),
                None => self.run_device_task(task),
            }
        }
        self.schedule();
    }

    /// Reads the clock as the measuring program does: takes [`crate::VfsCosts::clock_read_ns`]; the answer is the
    /// instant at its end. A system call on machines without a vDSO clock, so it ends in a scheduling point.
    pub fn read_clock_ns(&mut self) -> u64 {
        self.spend(self.config.costs.clock_read_ns);
        let now_ns = self.sim.now_ns();
        self.schedule();
        now_ns
    }

    /// Runs `f` between two clock readings; the second result is their difference in nanoseconds. An empty `f` shows
    /// exactly one [`crate::VfsCosts::clock_read_ns`].
    pub fn timed<R>(&mut self, f: impl FnOnce(&mut Vfs) -> R) -> (R, u64) {
        let start_ns = self.read_clock_ns();
        let result = f(self);
        (result, self.read_clock_ns() - start_ns)
    }

    // ---- for the other files of this crate -------------------------------------------------------------------------

    /// Wraps the body of a system call: its cost before, the scheduling point after.
    pub(crate) fn system_call<R>(&mut self, body: impl FnOnce(&mut Vfs) -> Result<R>) -> Result<R> {
        self.spend(self.config.costs.call_ns);
        self.sim.work(Work::TracedCall, 0);
        self.wait_for_chip();
        let result = body(self);
        self.schedule();
        result
    }

    /// With sleeping waits the CPU is given away where a task waits for the chip. A call on a file system that delays no
    /// writes will do so, and others may have waited longer.
    fn wait_for_chip(&mut self) {
        if self.sim.config().nand_wait == NandWait::Sleep {
            if let Some(fs) = self.fs.as_deref_mut().filter(|fs| !fs.delays_writes()) {
                fs.resched(&mut self.memory);
            }
        }
    }

    /// File system and memory, borrowed apart.
    pub(crate) fn parts(&mut self) -> Result<(&mut dyn FileSystem, &mut Memory)> {
        match self.fs.as_deref_mut() {
            Some(fs) => Ok((fs, &mut self.memory)),
            None => Err(Errno::NoDev),
        }
    }

    /// [`Errno::RoFs`] where nothing may be changed (`mnt_want_write`).
    pub(crate) fn want_write(&mut self) -> Result<()> {
        match self.parts()?.0.is_read_only() {
            true => Err(Errno::RoFs),
            false => Ok(()),
        }
    }

    pub(crate) fn spend(&self, duration_ns: u64) {
        spend(&self.sim, &self.config, duration_ns);
    }

    fn schedule(&mut self) {
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

    fn run_device_task(&mut self, task: Task) {
        match &mut self.device_task {
            Some(run) => {
                let _turn = self.sim.run_as(task);
                run(task);
            }
            // Nobody has it any more: it was left behind by a file system that is gone.
            None => self.sim.kill(task),
        }
    }

    /// Deletes an inode that neither a name nor a descriptor holds any more (`iput_final`). As in the kernel the call
    /// that gave up the last reference does not learn about errors, except that the power is gone.
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
        self.nodes.gone(ino);
        let (fs, memory) = self.parts()?;
        memory.delete(fs, ino)?;
        fs.evict(memory, ino)
    }
}

/// CPU work of the system call layer.
pub(crate) fn spend(sim: &Sim, config: &VfsConfig, duration_ns: u64) {
    if duration_ns > 0 {
        sim.compute(duration_ns);
        sim.consume(config.costs.cpu_power, duration_ns);
    }
}
