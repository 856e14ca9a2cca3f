//! Write-back: pages and inodes that a file system has marked dirty are written later, by the flusher or by whoever
//! asks for them to be safe.
//!
//! Follows `fs/fs-writeback.c`, `mm/page-writeback.c` and `fs/sync.c` of Linux 6.1: dirty inodes wait in the order in
//! which they became dirty ([`queues`]); the flusher writes them after a while, when too much is dirty, or when it is
//! told to ([`flusher`], [`rounds`], [`pages`]); limits follow the memory and the speed of the device ([`limits`], [`bandwidth`]);
//! writers are held up at them ([`throttle`]). Where Linux 2.6.37 differs: [`crate::WriteBackRules`], [`throttle_2_6`].
//!
//! Leaves out: control groups, `lazytime`, laptop mode, devices other than the mounted one.

mod bandwidth;
mod flusher;
mod limits;
mod pages;
mod queues;
mod rounds;
mod throttle;
mod throttle_2_6;

use crate::config::{WriteBackKnobs, WriteBackRules};
use crate::memory::Memory;
use bandwidth::Bandwidth;
use ffslab_fs::{run_turn, Errno, FileSystem, Ino, InodeDirt, Result};
use ffslab_sim::{Idle, Sim, Task};
use flusher::{Flusher, Request, WaitFor};
use limits::{tick, Share, Thresholds};
use queues::Inodes;
use throttle::Writer;

/// Everything that write-back remembers.
pub(crate) struct WriteBack {
    sim: Sim,
    rules: WriteBackRules,
    knobs: WriteBackKnobs,
    /// What of the memory could hold dirty pages.
    memory_pages: u64,
    inodes: Inodes,
    flusher: Flusher,
    bandwidth: Bandwidth,
    share: Share,
    writer: Writer,
    /// Something dirty is left by the setup of an experiment, or was: only then it is worth a look.
    has_some_of_setup: bool,
}

impl WriteBack {
    pub fn new(sim: &Sim, rules: WriteBackRules, knobs: WriteBackKnobs, memory_pages: u64) -> WriteBack {
        WriteBack {
            sim: sim.clone(),
            rules,
            knobs,
            memory_pages,
            inodes: Inodes::default(),
            flusher: Flusher::default(),
            bandwidth: Bandwidth::new(sim),
            share: Share::new(rules),
            writer: Writer::new(rules, Thresholds::of(&knobs, memory_pages), memory_pages),
            has_some_of_setup: false,
        }
    }

    /// A file system was mounted: a new device with a flusher of its own.
    pub fn start(&mut self) {
        self.has_some_of_setup = false;
        self.inodes = Inodes::default();
        self.flusher = Flusher::new(tick(&self.sim));
        self.bandwidth = Bandwidth::new(&self.sim);
        self.share.new_device();
        self.sim.spawn(Task::Flusher, 0);
    }

    /// It was unmounted or the power is gone: what is dirty is forgotten.
    pub fn stop(&mut self) {
        self.sim.kill(Task::Flusher);
        self.inodes = Inodes::default();
        self.flusher = Flusher::default();
    }

    /// Whether the inode must stay in memory.
    pub fn is_dirty(&self, ino: Ino) -> bool {
        self.inodes.get(ino).is_some_and(|inode| inode.is_dirty() || !inode.pages.is_empty())
    }

    /// A measurement begins: what is dirty now was left by the setup. Returns how many pages and how many inodes it is.
    pub fn measurement_begins(&mut self) -> (u64, u64) {
        let (pages, inodes) = self.inodes.mark_as_of_setup();
        self.has_some_of_setup = pages + inodes > 0;
        (pages, inodes)
    }

    /// Whether the page is dirty since the setup.
    fn is_page_of_setup(&self, ino: Ino, index: u64) -> bool {
        self.has_some_of_setup && self.inodes.get(ino).is_some_and(|inode| inode.pages_of_setup.contains(index))
    }

    /// When a timer of so many ticks fires: before 4.8 in that very tick.
    fn timer_ns(&self, delay_ticks: u32) -> u64 {
        match self.rules {
            WriteBackRules::V6_1 => self.sim.timer_after_ticks(delay_ticks),
            WriteBackRules::V2_6 => (tick(&self.sim) + u64::from(delay_ticks)) * self.sim.tick_ns(),
        }
    }

    /// See [`ffslab_fs::Host::dirty_inode`].
    pub fn mark_inode(&mut self, ino: Ino, dirt: Option<InodeDirt>) {
        if self.has_some_of_setup && dirt.is_some() {
            self.inodes.is_dirtied(ino, self.sim.is_for_setup());
        }
        let is_first = self.inodes.mark(ino, dirt, tick(&self.sim));
        if is_first {
            self.wake_flusher_later();
        }
    }

    pub fn inode_dirt(&self, ino: Ino) -> Option<InodeDirt> {
        self.inodes.get(ino)?.dirt
    }

    /// The inode was written by other means. It leaves its queue unless it has dirty pages.
    pub fn clean_inode(&mut self, ino: Ino) {
        let Some(inode) = self.inodes.get_mut(ino) else { return };
        inode.dirt = None;
        inode.had_pages = !inode.pages.is_empty();
        if !inode.had_pages && self.flusher.inode() != Some(ino) {
            self.inodes.take(ino);
        }
    }

    /// The page became dirty; it was clean.
    pub fn page_dirtied(&mut self, ino: Ino, index: u64) {
        if self.inodes.dirty_page(ino, index) {
            self.bandwidth.dirtied += 1;
            self.writer.page_dirtied();
            self.mark_inode(ino, None);
            self.page_changed(ino, index);
        }
    }

    /// A page was changed that may have been dirty before. It is the measurement's from now on, unless the file system puts
    /// back what it could not write for the setup.
    pub fn page_changed(&mut self, ino: Ino, index: u64) {
        if self.has_some_of_setup {
            if let Some(inode) = self.inodes.get_mut(ino) {
                match self.sim.is_for_setup() {
                    true => inode.pages_of_setup.insert(index),
                    false => inode.pages_of_setup.remove(index),
                };
            }
        }
    }

    /// The page is clean or gone.
    pub fn page_cleaned(&mut self, ino: Ino, index: u64) {
        self.inodes.clean_page(ino, index);
    }

    /// The dirty pages `first ..= last` of an inode, one call after the other, as they are cleaned or dropped.
    pub fn first_dirty_page(&self, ino: Ino, first: u64, last: u64) -> Option<u64> {
        self.inodes.first_dirty_page(ino, first, last)
    }

    /// The inode leaves memory (`inode_io_list_del`).
    pub fn forget(&mut self, ino: Ino) {
        self.inodes.forget(ino);
    }

    /// Memory is short: forgets about clean inodes.
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

    /// Errors of an inode that a file opened now does not hear of: all but those nobody was told (`errseq_sample`).
    pub fn errors_at_open(&self, ino: Ino) -> u64 {
        self.inodes.get(ino).map_or(0, |inode| inode.errors - u64::from(inode.errors > 0 && !inode.error_was_told))
    }

    /// The last error after the first `known` ones, which are all known from now on (`errseq_check_and_advance`).
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

impl Memory {
    /// sync(2): the flusher is woken for everything that is dirty, and asked for all of it for certain.
    pub fn sync_everything(&mut self, fs: &mut dyn FileSystem) -> Result<()> {
        match self.write_back.rules {
            WriteBackRules::V6_1 => {
                self.write_back.start_all();
                self.ask_flusher(fs, Request::certain())
            }
            WriteBackRules::V2_6 => {
                let pages = self.write_back.pages_to_write();
                if self.write_back.inodes.any_waits() {
                    self.write_back.queue(Request::everything(pages));
                }
                self.sync_file_system(fs)
            }
        }
    }

    /// `sync_filesystem`, of syncfs(2) and umount(2): first what can be had easily, then all for certain.
    pub fn sync_file_system(&mut self, fs: &mut dyn FileSystem) -> Result<()> {
        let pages = self.write_back.pages_to_write();
        self.ask_flusher_if_dirty(fs, pages)?;
        self.ask_flusher(fs, Request::certain())
    }

    /// Space is short (`shrink_liability` in `fs/ubifs/budget.c`): about `pages` pages in 6.1; the kernels from 2.6.32 to
    /// 5.14 write all that is dirty (`writeback_inodes_sb`), so that one call waits long and the next ones not at all.
    pub fn make_space(&mut self, fs: &mut dyn FileSystem, pages: u64) -> Result<()> {
        let pages = match self.write_back.rules {
            WriteBackRules::V6_1 => pages,
            WriteBackRules::V2_6 => self.write_back.pages_to_write(),
        };
        self.ask_flusher_if_dirty(fs, pages)
    }

    /// `writeback_inodes_sb_nr`.
    pub fn ask_flusher_if_dirty(&mut self, fs: &mut dyn FileSystem, pages: u64) -> Result<()> {
        match self.write_back.inodes.any_waits() {
            true => self.ask_flusher(fs, Request::pages(self.write_back.rules, pages)),
            false => Ok(()),
        }
    }

    fn ask_flusher(&mut self, fs: &mut dyn FileSystem, request: Request) -> Result<()> {
        if self.write_back.sim.running() != Task::Caller {
            // Only the program can wait for the flusher: background tasks run in turns inside its calls.
            return Ok(());
        }
        let number = self.write_back.queue(request);
        self.wait(fs, WaitFor::Request(number))
    }

    /// The flusher is at work on the inode: waits until it has left it (`inode_wait_for_writeback`).
    pub fn wait_for_flusher_to_leave(&mut self, fs: &mut dyn FileSystem, ino: Ino) -> Result<()> {
        self.wait(fs, WaitFor::Inode(ino))
    }

    /// No page can leave the cache because all are dirty: waits until the flusher has written some.
    pub fn reclaim(&mut self, fs: &mut dyn FileSystem) -> Result<()> {
        let pages = self.write_back.pages_to_write();
        self.ask_flusher_if_dirty(fs, pages)
    }

    /// The program sleeps until the flusher has done what it waits for; background tasks run meanwhile.
    fn wait(&mut self, fs: &mut dyn FileSystem, wait: WaitFor) -> Result<()> {
        let sim = self.write_back.sim.clone();
        while !self.write_back.flusher.is_dead() && !self.write_back.flusher.is_over(wait) {
            self.write_back.flusher.program_waits = Some(wait);
            sim.block(Task::Caller);
            while let Idle::Run(task) = sim.idle_next() {
                run_turn(fs, self, task);
            }
        }
        self.check_power()
    }

    fn check_power(&self) -> Result<()> {
        match self.write_back.flusher.is_dead() {
            true => Err(Errno::PowerCut),
            false => Ok(()),
        }
    }

    /// The program sleeps for so many ticks.
    fn pause(&mut self, fs: &mut dyn FileSystem, pause_ticks: u32) {
        let sim = self.write_back.sim.clone();
        sim.foreground_sleeps_until(self.write_back.timer_ns(pause_ticks));
        while let Idle::Run(task) = sim.idle_next() {
            run_turn(fs, self, task);
        }
    }
}
