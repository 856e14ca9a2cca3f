//! Write-back: pages and inodes that a file system has marked as dirty are written later, by the flusher or by a task
//! that needs them on flash.
//!
//! Follows `fs/fs-writeback.c`, `mm/page-writeback.c` and `fs/sync.c` of Linux 6.1. Dirty inodes wait in the order in
//! which they became dirty ([`queues`]). The flusher writes them after a while, when too much is dirty, or when it is
//! told to ([`work`], [`flusher`], [`rounds`], [`pages`]). Limits follow the memory and the speed of the device ([`limits`],
//! [`bandwidth`]); writers are held up at the limits ([`writer`], [`throttle`]). Where Linux 2.6.37 differs:
//! [`crate::WriteBackRules`], [`throttle_2_6`].
//!
//! Leaves out: control groups, `lazytime`, laptop mode, devices other than the mounted one.

mod bandwidth;
mod flusher;
mod limits;
mod pages;
mod proportions;
mod queues;
mod rounds;
mod throttle;
mod throttle_2_6;
mod work;
mod writer;

use crate::config::{VfsConfig, WriteBackKnobs, WriteBackRules};
pub(crate) use flusher::flusher_turn;
pub(crate) use pages::{start_writing_range, write_range};
pub(crate) use throttle::balance_dirty_pages;

use bandwidth::Bandwidth;
use ffslab_fs::causes;
use ffslab_fs::{run_turn, Errno, FileSystem, Host, Ino, InodeDirt, Result};
use ffslab_policy::{WriteBackOrder, WriteBackRule};
use ffslab_sim::{Idle, Sim};
use limits::{tick, Counter, Share, Thresholds, DEVICE_BATCH};
use proportions::Proportion;
use queues::Inodes;
use work::{Flusher, Request, WaitFor};
use writer::Writer;

/// The state of write-back.
pub(crate) struct WriteBack {
    sim: Sim,
    rules: WriteBackRules,
    knobs: WriteBackKnobs,
    /// How many pages of the memory could hold dirty data.
    memory_pages: u64,
    /// Which inode is written next, if not the kernel decides; the rule is made for each mount.
    order: Option<WriteBackOrder>,
    rule: Option<WriteBackRule>,
    inodes: Inodes,
    flusher: Flusher,
    bandwidth: Bandwidth,
    share: Share,
    /// See [`crate::Kernel::sums_dirty_pages`]; the device's dirty pages as the flusher sees them otherwise.
    sums_dirty_pages: bool,
    reclaimable: Counter,
    /// In 2.6.37: the device's part in what was written, and the program's in what was dirtied.
    written_part: Proportion,
    dirtied_part: Proportion,
    writer: Writer,
    /// A program has stored to pages of a map: there may be dirty pages of a file system whose write(2) leaves none.
    pub has_stores: bool,
}

impl WriteBack {
    pub fn new(sim: &Sim, config: &VfsConfig, memory_pages: u64) -> WriteBack {
        let &VfsConfig { ref kernel, write_back: knobs, smp, .. } = config;
        let rules = kernel.write_back;
        WriteBack {
            sim: sim.clone(),
            rules,
            knobs,
            memory_pages,
            order: config.policies.write_back,
            rule: None,
            inodes: Inodes::default(),
            flusher: Flusher::default(),
            bandwidth: Bandwidth::new(sim),
            share: Share::new(smp),
            sums_dirty_pages: kernel.sums_dirty_pages || !smp,
            reclaimable: Counter::new(0, DEVICE_BATCH),
            written_part: Proportion::new(Thresholds::of(&knobs, memory_pages).dirty),
            dirtied_part: Proportion::new(Thresholds::of(&knobs, memory_pages).dirty),
            writer: Writer::new(rules, Thresholds::of(&knobs, memory_pages), memory_pages),
            has_stores: false,
        }
    }

    /// Called after a mount: the new device gets a flusher of its own.
    pub fn start(&mut self) {
        self.inodes = Inodes::default();
        self.rule = self.order.map(|order| order.make());
        self.flusher = Flusher::new(tick(&self.sim));
        self.bandwidth = Bandwidth::new(&self.sim);
        self.share.new_device();
        self.reclaimable = Counter::new(0, DEVICE_BATCH);
        self.written_part.begin_anew();
        self.writer.inode = None;
        match self.rules {
            WriteBackRules::V6_1 => self.sim.spawn(&causes::FLUSHER),
            // A device gets its flusher when it first has something to write, at the latest by sync(2) (`bdi_forker_thread` of
            // `mm/backing-dev.c`).
            WriteBackRules::V2_6 => self.sim.spawn_when_needed(&causes::FLUSHER),
        }
    }

    /// A program stores to a page of a map. Where the flusher was not started at the mount, because write(2) leaves no dirty
    /// pages, it starts now.
    pub fn store_begins(&mut self, fs: &dyn FileSystem) {
        if !std::mem::replace(&mut self.has_stores, true) && !fs.delays_writes() && !self.sync_always_waits() {
            self.start();
        }
    }

    /// Called after an unmount or a power cut: everything dirty is dropped.
    pub fn stop(&mut self) {
        self.has_stores = false;
        self.sim.kill(&causes::FLUSHER);
        self.inodes = Inodes::default();
        self.flusher = Flusher::default();
        self.sim.forgets_what_was_put_off();
    }

    /// Whether sync(2) waits for the flusher also if a file system never has dirty pages.
    pub fn sync_always_waits(&self) -> bool {
        self.rules == WriteBackRules::V2_6
    }

    /// Whether the inode must stay in memory.
    pub fn is_dirty(&self, ino: Ino) -> bool {
        self.inodes.get(ino).is_some_and(|inode| inode.is_dirty() || !inode.pages.is_empty())
    }

    /// Dirty pages and dirty inodes.
    pub fn unwritten(&self) -> (u64, u64) {
        (self.inodes.dirty_pages, self.inodes.dirty())
    }

    /// Whether the page was left by an earlier phase of the run.
    fn was_left(&mut self, ino: Ino, index: u64) -> bool {
        let phase = self.sim.phase();
        self.inodes.get_mut(ino).is_some_and(|inode| inode.pages_left(phase).contains(index))
    }

    /// See [`ffslab_fs::Host::dirty_inode`].
    pub fn mark_inode(&mut self, ino: Ino, dirt: Option<InodeDirt>) {
        let is_first = self.inodes.mark(ino, dirt, tick(&self.sim), self.sim.phase_of_change());
        if is_first {
            self.wake_flusher_later();
        }
    }

    pub fn inode_dirt(&self, ino: Ino) -> Option<InodeDirt> {
        self.inodes.get(ino)?.dirt
    }

    /// Marks an inode as clean that was written by other means. It leaves its queue unless it has dirty pages.
    pub fn clean_inode(&mut self, ino: Ino) {
        let Some(inode) = self.inodes.get_mut(ino) else { return };
        inode.dirt = None;
        inode.had_pages = !inode.pages.is_empty();
        if !inode.had_pages && self.flusher.inode() != Some(ino) {
            self.inodes.take(ino);
        }
    }

    /// Notes that a clean page became dirty.
    pub fn page_dirtied(&mut self, ino: Ino, index: u64) {
        if self.inodes.dirty_page(ino, index) {
            self.reclaimable.add(1);
            self.bandwidth.dirtied += 1;
            match self.rules {
                WriteBackRules::V6_1 => self.writer.page_dirtied(),
                WriteBackRules::V2_6 => self.dirtied_part.count(),
            }
            self.mark_inode(ino, None);
            self.page_changed(ino, index);
        }
    }

    /// Notes that a page was changed, which may have been dirty before. From now on it belongs to the phase of the run that
    /// changed it, unless the file system puts a page back that it could not write for an earlier one.
    pub fn page_changed(&mut self, ino: Ino, index: u64) {
        let (sim, is_ordered) = (&self.sim, self.order.is_some());
        let Some(inode) = self.inodes.get_mut(ino) else { return };
        if is_ordered {
            inode.written_ns = sim.now_ns();
        }
        let left = inode.pages_left(sim.phase());
        if sim.is_for_setup() {
            left.insert(index);
        } else {
            left.remove(index);
        }
    }

    /// Notes that the page was cleaned or dropped.
    pub fn page_cleaned(&mut self, ino: Ino, index: u64) {
        if self.inodes.clean_page(ino, index) {
            self.reclaimable.add(-1);
        }
    }

    /// The first dirty page in `first ..= last`. A caller that cleans or drops each page it gets visits all of them.
    pub fn first_dirty_page(&self, ino: Ino, first: u64, last: u64) -> Option<u64> {
        self.inodes.first_dirty_page(ino, first, last)
    }

    /// Forgets an inode that leaves memory (`inode_io_list_del`).
    pub fn forget(&mut self, ino: Ino) {
        self.inodes.forget(ino);
    }

    /// Forgets clean inodes that are not in use, because memory is short.
    pub fn forget_clean(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        self.inodes.forget_clean(in_use);
    }

    // ---- errors ------------------------------------------------------------------------------------------------------

    fn page_failed(&mut self, ino: Ino, error: Errno) {
        if let Some(inode) = self.inodes.get_mut(ino) {
            inode.errors += 1;
            inode.last_error = Some(error);
            inode.error_was_told = false;
        }
    }

    /// How many errors of an inode a newly opened file need not be told of: all of them, except the last one if nobody
    /// was told of it (`errseq_sample`).
    pub fn errors_at_open(&self, ino: Ino) -> u64 {
        self.inodes.get(ino).map_or(0, |inode| inode.errors - u64::from(inode.errors > 0 && !inode.error_was_told))
    }

    /// Reports the last error if there are more than `known` errors. Afterwards all are known
    /// (`errseq_check_and_advance`).
    pub fn error_since(&mut self, ino: Ino, known: &mut u64) -> Result<()> {
        let Some(inode) = self.inodes.get_mut(ino) else { return Ok(()) };
        if inode.errors == *known {
            return Ok(());
        }
        *known = inode.errors;
        inode.error_was_told = true;
        inode.last_error.map_or(Ok(()), Err)
    }
}

/// What write-back needs of the page cache whose dirty pages it writes.
pub(crate) trait DirtyCache: Host + Sized {
    /// What is known of the dirty pages and inodes.
    fn state(&mut self) -> &mut WriteBack;

    /// Marks a page as clean, because it is about to be written. Returns `false` when the page was clean before, or is
    /// not cached any more.
    fn clean_for_writing(&mut self, ino: Ino, index: u64) -> bool;

    /// Lets the file system write a page; whoever looks at the page meanwhile sees that it is being written.
    fn write_page(&mut self, fs: &mut dyn FileSystem, ino: Ino, index: u64) -> Result<()>;
}

/// sync(2): wakes the flusher for everything that is dirty, and then waits until all of it was written.
pub fn sync_everything(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem) -> Result<()> {
    match cache.state().rules {
        WriteBackRules::V6_1 => {
            cache.state().start_all();
            ask_flusher(cache, fs, Request::certain())
        }
        WriteBackRules::V2_6 => {
            let pages = cache.state().pages_to_write();
            if cache.state().inodes.any_waits() {
                cache.state().queue(Request::everything(pages));
            }
            sync_file_system(cache, fs)
        }
    }
}

/// `sync_filesystem`, for syncfs(2) and umount(2): first asks for whatever can be written without waiting, then for
/// everything. In 2.6.37 the program sleeps until the flusher has looked, both times, also when nothing is dirty
/// (`writeback_inodes_sb` of `fs/fs-writeback.c`), and in between the file system writes what waits in its own buffers
/// (`__sync_filesystem` of `fs/sync.c`). Whoever waits for the CPU gets it then.
pub fn sync_file_system(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem) -> Result<()> {
    let pages = cache.state().pages_to_write();
    match cache.state().rules {
        WriteBackRules::V6_1 => ask_flusher_if_dirty(cache, fs, pages)?,
        WriteBackRules::V2_6 => {
            ask_flusher(cache, fs, Request::pages(WriteBackRules::V2_6, pages))?;
            fs.sync_begins(cache)?;
        }
    }
    ask_flusher(cache, fs, Request::certain())
}

/// Writes pages because space is short (`shrink_liability` in `fs/ubifs/budget.c`): about `pages` pages in 6.1.
/// Kernels from 2.6.32 to 5.14 write everything dirty (`writeback_inodes_sb`), so one call waits long and the
/// following ones not at all.
pub fn make_space(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem, pages: u64) -> Result<()> {
    let pages = match cache.state().rules {
        WriteBackRules::V6_1 => pages,
        WriteBackRules::V2_6 => cache.state().pages_to_write(),
    };
    ask_flusher_if_dirty(cache, fs, pages)
}

/// `writeback_inodes_sb_nr`.
pub fn ask_flusher_if_dirty(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem, pages: u64) -> Result<()> {
    if !cache.state().inodes.any_waits() {
        return Ok(());
    }
    let request = Request::pages(cache.state().rules, pages);
    ask_flusher(cache, fs, request)
}

fn ask_flusher(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem, request: Request) -> Result<()> {
    if cache.state().sim.running() != &causes::CALLER {
        // Only the program can wait for the flusher, because background tasks run inside the program's calls.
        return Ok(());
    }
    let number = cache.state().queue(request);
    wait(cache, fs, WaitFor::Request(number))
}

/// Waits until the flusher is not working on the inode any more (`inode_wait_for_writeback`).
pub fn wait_for_flusher_to_leave(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem, ino: Ino) -> Result<()> {
    wait(cache, fs, WaitFor::Inode(ino))
}

/// Waits until the flusher has written some pages, because all pages in the cache are dirty and none can leave.
pub fn reclaim(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem) -> Result<()> {
    let pages = cache.state().pages_to_write();
    ask_flusher_if_dirty(cache, fs, pages)
}

/// Lets the program sleep until the flusher has done what it waits for. Background tasks run meanwhile.
fn wait(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem, wait: WaitFor) -> Result<()> {
    let sim = cache.state().sim.clone();
    while !cache.state().flusher.is_dead() && !cache.state().flusher.is_over(wait) {
        cache.state().flusher.program_waits = Some(wait);
        sim.block(&causes::CALLER);
        while let Idle::Run(task) = sim.idle_next() {
            run_turn(fs, cache, task);
        }
    }
    check_power(cache)
}

fn check_power(cache: &mut impl DirtyCache) -> Result<()> {
    if cache.state().flusher.is_dead() {
        Err(Errno::PowerCut)
    } else {
        Ok(())
    }
}

/// Lets the program sleep for so many ticks.
fn pause(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem, pause_ticks: u32) {
    let sim = cache.state().sim.clone();
    sim.foreground_sleeps_until(sim.timer_after_ticks(pause_ticks));
    while let Idle::Run(task) = sim.idle_next() {
        run_turn(fs, cache, task);
    }
}
