//! Mounting and unmounting.
//!
//! Follows `fs/ubifs/super.c` (`mount_ubifs`, `ubifs_put_super`).

use crate::causes;
use crate::core::Core;
use crate::error::{Fail, MountError, Res};
use crate::format::*;
use crate::geometry::Geometry;
use crate::journal::Log;
use crate::lpt::Lpt;
use crate::master::Master;
use crate::node::NodeAt;
use crate::options::{KernelRules, Options};
use crate::sb::Superblock;
use ffslab_sim::{Idle, Sim, Switch};
use ffslab_ubi::{Ubi, Volume};

/// Characters of what `mount_ubifs` tells on the console: six lines of names, sizes, format and reserve, each behind a prefix and the time
/// since boot, with numbers as those of a partition of 100 MiB. Those of today name thread, volume and UUID besides.
fn messages_chars(rules: KernelRules) -> u64 {
    match rules {
        KernelRules::V2_6 => 430,
        KernelRules::V6_1 => 590,
    }
}

impl Core {
    /// Mounts a volume; an empty one gets a file system first.
    pub fn mount(ubi: &Ubi, volume: Volume, options: &Options, now_s: u64) -> Result<Core, MountError> {
        let (lebs, leb_bytes) = (volume.lebs(), volume.leb_bytes());
        if lebs < LEBS_MIN {
            return Err(MountError::TooFewLebs { lebs, needed: LEBS_MIN });
        }
        if leb_bytes < LEB_BYTES_MIN {
            return Err(MountError::SmallLebs { leb_bytes });
        }
        let mut geo = Geometry::of_volume(leb_bytes, lebs, volume.min_io_bytes(), volume.max_write_bytes());
        geo.kept_for_heads_lebs = match options.rules {
            KernelRules::V2_6 => HEADS as u32 - 1,
            KernelRules::V6_1 => HEADS as u32,
        };
        let sim = volume.sim().clone();
        let mut core = Core::new(sim.clone(), volume, geo, options.rules);
        let _why = sim.because(&causes::MOUNT_SCAN);
        (core.journal.wbuf_delay_ns, core.journal.wbuf_slack_ns) = wbuf_times_ns(options);
        core.lebs.ro_mount = options.read_only;
        core.fs_debug = options.fs_debug;
        let result = core.do_mount(ubi, options, now_s);
        if let Err(fail) = result {
            core.commits.stop_thread(&core.lebs);
            return Err(fail.into());
        }
        sim.prints(messages_chars(options.rules));
        core.mount.mounting = false;
        core.commits.changed_in = core.index.is_root_dirty().then(|| sim.phase());
        core.lebs.check_data_crc = options.check_data_crc;
        core.compressor.lzo = ffslab_lzo::Compressor::new(options.lzo);
        Ok(core)
    }

    fn do_mount(&mut self, ubi: &Ubi, options: &Options, now_s: u64) -> Res<()> {
        let is_empty = !(0..self.lebs.geo.leb_cnt).any(|lnum| self.lebs.is_mapped(lnum));
        if is_empty {
            // A read-only mount cannot make a file system.
            self.lebs.check_writable()?;
            let _why = self.lebs.sim.because(&causes::FORMATTING);
            self.lebs.make_file_system(options, now_s)?;
        }
        let (sb, lpt) = Superblock::read(&mut self.lebs)?;
        self.sb = sb;
        self.space.lpt = Lpt::new(lpt, self.lebs.geo.lpt_lebs, self.lebs.geo.leb_bytes);
        self.journal.log = Log::new(self.lebs.geo.main_lebs);
        if !self.lebs.ro_mount {
            self.commits.start_thread(&self.lebs);
            wait_for_new_thread(&self.lebs.sim, ubi);
        }
        self.read_master()?;
        self.space.budget.min_idx_lebs = self.space.calc_min_idx_lebs(&self.lebs);
        self.mount.need_recovery = self.master.flags & MASTER_DIRTY != 0;
        if self.mount.need_recovery && !self.lebs.ro_mount {
            self.recover_heads()?;
        }
        if options.rules == KernelRules::V2_6 {
            self.mark_in_use()?;
        }
        self.space.init_lpt_for_reading(&self.lebs)?;
        if !self.lebs.ro_mount {
            self.space.init_lpt_for_writing(&mut self.lebs)?;
            if self.sb.space_fixup {
                self.fix_up_free_space()?;
            }
            if options.rules == KernelRules::V6_1 {
                self.mark_in_use()?;
            }
            self.sb.write_if_needed(&mut self.lebs)?;
        }
        self.journal.log.min_bytes = i64::from(self.lebs.geo.leb_bytes);
        self.replay_journal()?;
        self.space.budget.min_idx_lebs = self.space.calc_min_idx_lebs(&self.lebs);
        self.mount_orphans(self.mount.need_recovery)?;
        if self.lebs.ro_mount {
            return self.finish_read_only();
        }
        self.space.check_free_space(&self.lebs)?;
        self.consolidate_log_if_full()?;
        if self.mount.need_recovery {
            self.recover_sizes()?;
            self.recover_gc()?;
        } else if let Some(lnum) = self.space.gc_lnum {
            self.space.take_gc_leb(&self.lebs)?;
            self.lebs.unmap(lnum)?;
        }
        self.mount.need_recovery = false;
        Ok(())
    }

    /// Notes in the master node that a mount is going on. After a cut recovery does that at its end. 2.6.37 writes it before it
    /// reads the LPT (`fs/ubifs/super.c`, `mount_ubifs`), later kernels after it.
    fn mark_in_use(&mut self) -> Res<()> {
        if self.lebs.ro_mount || self.mount.need_recovery {
            return Ok(());
        }
        self.master.flags |= MASTER_DIRTY;
        self.master.write(&mut self.lebs, self.highest_ino)
    }

    /// Reads the last master node. When its two copies differ they are recovered.
    pub fn read_master(&mut self) -> Res<()> {
        let (node, offs) = match self.lebs.scan_for_master() {
            Err(Fail::Unclean) => self.mount.deferred.recover_master(&mut self.lebs)?,
            result => result?,
        };
        let mut master = Master::unpack(&node, offs);
        master.flags &= !MASTER_RECOVERY;
        self.lebs.max_sqnum = get_u64(&node, header::SQNUM);
        self.journal.orphans.set_none(master.flags & MASTER_NO_ORPHANS != 0);
        if master.leb_cnt != self.lebs.geo.leb_cnt {
            if master.leb_cnt > self.lebs.geo.leb_cnt || master.leb_cnt < self.lebs.geo.main_first {
                return Err(Fail::corrupt("bad number of LEBs in the master node"));
            }
            let growth = i64::from(self.lebs.geo.leb_cnt - master.leb_cnt);
            master.stats.empty_lebs += growth;
            master.stats.total_free += growth * i64::from(self.lebs.geo.leb_bytes);
            master.stats.total_dark += growth * i64::from(self.lebs.geo.dark_wm);
            master.leb_cnt = self.lebs.geo.leb_cnt;
        }
        self.master = master;
        master.validate(&self.lebs.geo, &self.space.lpt.geo)?;
        self.highest_ino = master.highest_ino as u32;
        self.commits.number = master.cmt_no;
        self.index.root.at = master.root;
        self.index.calc_idx_bytes = master.index_bytes;
        (self.index.ihead_lnum, self.index.ihead_offs) = (master.ihead_lnum, master.ihead_offs);
        self.space.budget.old_idx_bytes = master.index_bytes;
        self.journal.log.head_lnum = master.log_lnum;
        self.space.gc_lnum = Some(master.gc_lnum);
        self.space.lpt.set_root(master.lpt);
        (self.space.lpt.nhead, self.space.lpt.ltab_at, self.space.lpt.lsave_at) =
            (master.nhead, master.ltab, master.lsave);
        self.space.lpt.lscan_lnum = master.lscan_lnum;
        self.space.lpt.stats = master.stats;
        // The kernel reads the root index node here, because its debugging code remembers the level of the root
        // (`dbg_old_index_check_init`). The read costs time, so it is made here, too. That of 2.6.37 is nothing unless it was
        // configured (`fs/ubifs/debug.h`, `CONFIG_UBIFS_FS_DEBUG`).
        if self.rules == KernelRules::V2_6 && !self.fs_debug {
            return Ok(());
        }
        self.read_root(master.root)
    }

    /// Reads the root index node, as debugging code does that only looks at its level.
    pub fn read_root(&mut self, root: NodeAt) -> Res<()> {
        let mut node = Vec::new();
        self.lebs.read_node(&mut node, IDX_NODE, root.lnum, root.offs, root.len)
    }

    /// An image may have been written by a flasher that programs pages of 0xFF: every LEB with free space is written anew.
    pub fn fix_up_free_space(&mut self) -> Res<()> {
        let used = self.master.offs + self.lebs.geo.master_bytes;
        for lnum in MASTER_LNUM..LOG_LNUM {
            self.lebs.fix_up_leb(lnum, used)?;
        }
        let mut lnum = self.lebs.geo.next_log_lnum(self.journal.log.head_lnum);
        while lnum != self.journal.log.tail_lnum {
            self.lebs.fix_up_leb(lnum, 0)?;
            lnum = self.lebs.geo.next_log_lnum(lnum);
        }
        self.lebs.fix_up_leb(self.journal.log.head_lnum, align(CS_BYTES, self.lebs.geo.min_io))?;
        for lnum in self.lebs.geo.lpt_first..=self.lebs.geo.lpt_last {
            let free = self.space.lpt.ltab[(lnum - self.lebs.geo.lpt_first) as usize].free;
            if free > 0 {
                self.lebs.fix_up_leb(lnum, self.lebs.geo.leb_bytes - free)?;
            }
        }
        for lnum in self.lebs.geo.orph_first..=self.lebs.geo.orph_last {
            self.lebs.fix_up_leb(lnum, 0)?;
        }
        for lnum in self.lebs.geo.main_first..self.lebs.geo.leb_cnt {
            let free = self.space.read_lp(&self.lebs, lnum)?.free;
            if free > 0 {
                self.lebs.fix_up_leb(lnum, self.lebs.geo.leb_bytes - free)?;
            }
        }
        self.sb.space_is_fixed_up();
        Ok(())
    }

    pub fn consolidate_log_if_full(&mut self) -> Res<()> {
        if self.lebs.geo.next_log_lnum(self.journal.log.head_lnum) == self.journal.log.tail_lnum {
            self.journal.consolidate_log(&mut self.lebs)
        } else {
            Ok(())
        }
    }

    /// Writes the buffers, and a master node that marks the file system as clean. No commit is run: the next mount
    /// replays the journal.
    pub fn unmount(&mut self, ubi: &Ubi) -> Res<()> {
        if self.commits.thread.exists {
            wait_for_end_of_thread(&self.lebs.sim, ubi);
        }
        self.commits.stop_thread(&self.lebs);
        if self.lebs.read_only || self.lebs.ro_mount {
            return Ok(());
        }
        self.leave_clean()
    }

    /// Writes what waits in the buffers, and then the mark that the file system is clean.
    pub fn leave_clean(&mut self) -> Res<()> {
        let _why = self.lebs.sim.because(&causes::SYNC);
        if self.commits.running.is_some() {
            // The background thread may only stop after the commit that it has begun.
            self.run_commit()?;
        }
        self.journal.sync_all_heads(&mut self.lebs, &mut self.space)?;
        self.master.flags &= !MASTER_DIRTY;
        self.master.flags |= MASTER_NO_ORPHANS;
        self.master.gc_lnum = self.space.gc_lnum.unwrap_or(self.master.gc_lnum);
        self.master.write(&mut self.lebs, self.highest_ino)
    }
}

/// How long data wait in a write buffer at least, and how much longer until the timer wakes an idle CPU for them
/// (`fs/ubifs/io.c`, `new_wbuf_timer_nolock`): since 4.15 according to the interval of write-back, in 2.6.37 always 3 to 5 s
/// (`WBUF_TIMEOUT_SOFTLIMIT`, `WBUF_TIMEOUT_HARDLIMIT`).
fn wbuf_times_ns(options: &Options) -> (u64, u64) {
    match options.rules {
        KernelRules::V2_6 => (3_000_000_000, 2_000_000_000),
        KernelRules::V6_1 => {
            let delay_ns = u64::from(options.wbuf_delay_ms) * 1_000_000;
            (delay_ns, delay_ns / 10)
        }
    }
}

/// Runs other tasks while a new kernel thread starts: the task that creates a thread sleeps until the new thread
/// reports that it runs (`kernel/kthread.c`, `kthread_create_on_node`).
pub(crate) fn wait_for_new_thread(sim: &Sim, ubi: &Ubi) {
    sim.foreground_sleeps_until(sim.now_ns());
    while let Idle::Run(task) = sim.idle_next() {
        let _turn = sim.run_as(task);
        if task == &causes::UBI_THREAD {
            while ubi.run_task() && sim.resched() == Switch::Stay {}
        } else {
            // The other tasks belong to file systems that are not mounted any more.
            sim.block(task);
        }
    }
}

/// Runs other tasks until UBIFS's thread has ended: who stops a thread wakes it and sleeps until it has ended (`kernel/kthread.c`,
/// `kthread_stop`).
fn wait_for_end_of_thread(sim: &Sim, ubi: &Ubi) {
    sim.wake(&causes::UBIFS_THREAD);
    sim.foreground_sleeps_until(u64::MAX);
    while let Idle::Run(task) = sim.idle_next() {
        let _turn = sim.run_as(task);
        if task == &causes::UBIFS_THREAD {
            sim.kill(task);
            sim.foreground_sleeps_until(sim.now_ns());
        } else if task == &causes::UBI_THREAD {
            while ubi.run_task() && sim.resched() == Switch::Stay {}
        } else {
            sim.block(task);
        }
    }
}
