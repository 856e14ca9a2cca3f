//! Debian's kernels for amd64 on QEMU, on which reference runs are made: what of them follows from how Debian configures its
//! kernels, and what their own work costs beside the medium.
//!
//! Configuration: `CONFIG_PREEMPT_VOLUNTARY` in linux-image-5.10.0-32-amd64; with `CONFIG_PREEMPT_DYNAMIC` and so `CONFIG_PREEMPT_RCU`
//! in 6.1.0-56-amd64 and 6.12.117+deb13-amd64 (`/boot/config-*` of the packages).
//!
//! `CONFIG_HIGH_RES_TIMERS` in all of them.
//!
//! Prices: the machine takes the same time for each instruction, so a price is a number of them. They are durations of steps of all
//! kept cases (`after_step`), in 250 instructions a us, and of parts of steps in the traces of 6.1.

use super::nandsim::is_first_chip;
use crate::case::Case;
use ffslab_lab::run::Pace;
use ffslab_linux::Kernel;
use ffslab_machine::stack::StackSpec;
use ffslab_sim::Preemption;
use ffslab_workload::Step;

/// What differs between these kernels.
struct Build {
    /// Versions begin with it.
    series: &'static str,
    /// See [`Kernel::unmount_wakes_worker`].
    unmount_wakes_worker: bool,
    /// The program that does the steps, after each: it asks for the free space, writes down what the step did, reads the next one,
    /// and writes two lines. A step `close` takes 112.7, 116.4 and 106.2 us with the call itself, which is 2.7 of them.
    between_steps: u64,
    /// `drop_caches` finds little to free beside the file system. From 6.2 on, objects wait up to 5 s for `kvfree_rcu`
    /// (`KFREE_DRAIN_JIFFIES` of `kernel/rcu/tree.c`), and its shrinker counts them.
    drops_early: bool,
    /// `drop_caches` beside pages: the least durations of such a step are 7.22, 8.64 and 7.41 ms, with the time between steps and at most
    /// 16 pages.
    drop_caches: u64,
}

static BUILDS: [Build; 3] = [
    Build {
        series: "5.10.",
        drops_early: true,
        unmount_wakes_worker: false,
        between_steps: 27_500,
        drop_caches: 1_747_000,
    },
    Build {
        series: "6.1.",
        drops_early: true,
        unmount_wakes_worker: true,
        between_steps: 28_400,
        drop_caches: 2_122_000,
    },
    Build {
        series: "6.12.",
        drops_early: false,
        unmount_wakes_worker: true,
        between_steps: 25_900,
        drop_caches: 1_797_000,
    },
];

/// A name is kept by 5.10 and dropped by 6.1 after the first chip's first use (`linux-5.10` and `linux-6.1/reference/jffs2-attributes`), so
/// there are more than one and at most ten.
const UNUSED_AFTER_BOOT: usize = 5;
/// Taking a page out of the page cache: `drop_caches` takes 7.5 us a page (256 and 512 pages against none), an unmount as well.
const PAGE_DROP: u64 = 1_900;
/// An unmount until the tasks that wait get the CPU: 29 us until the worker is woken, 26 us until it sleeps again (a trace of
/// `sched_switch`).
const UNMOUNT: u64 = 13_750;
/// A tick: so much longer is the median interval between two reads of 512 B, or two of OOB areas, if a tick falls into it.
const TICK: u64 = 2_500;
/// What steps take beside the medium and what is priced as work, from the first trace of each kind: a mount before its first operation and
/// after its last (a thread begins, the program sets read-ahead), an attach of UBI likewise.
static JFFS2_STEPS: &[(&str, u64)] = &[("mount", 151_000), ("umount", 30_000), ("crash", 13_000)];
static UBIFS_STEPS: &[(&str, u64)] =
    &[("mount", 309_000), ("crash", 12_000), ("ubi_attach", 380_000), ("ubi_make_volume", 225_000)];

/// How long an instruction takes on the machine that `tree` describes: "Debian's for amd64, on QEMU with 250 instructions a us".
fn instruction_ns_of(tree: &str) -> Option<u64> {
    let (before, _) = tree.strip_prefix("Debian's for amd64, on QEMU with ")?.split_once(" instructions a us")?;
    1_000_u64.checked_div(before.parse().ok()?)
}

/// How long an instruction takes on the machine of the case, if that was such a one.
pub(super) fn instruction_ns(case: &Case) -> Option<u64> {
    instruction_ns_of(case.system.tree.as_deref()?)
}

fn build_of(case: &Case) -> &'static Build {
    let is_of = |build: &&Build| case.system.version.starts_with(build.series);
    BUILDS.iter().find(is_of).unwrap_or(&BUILDS[1])
}

/// Gives the kernel what Debian's configuration makes of it, and its work its price.
pub(super) fn price(case: &Case, stack: &mut StackSpec, each_ns: u64) {
    let build = build_of(case);
    let vfs = &mut stack.vfs;
    // 6.12 gives turns by other rules (EEVDF), which are not simulated: it is taken for the same scheduler.
    let preemption = Preemption::Voluntary;
    vfs.kernel = Kernel {
        preemption,
        unmount_wakes_worker: build.unmount_wakes_worker,
        write_looks_up_capability: case.system.fs == "ubifs",
        ..vfs.kernel.clone()
    };
    // It boots from an archive in memory, whose names cannot be dropped. What the boot has used of other file systems goes first.
    let of_boot = if is_first_chip(case) { UNUSED_AFTER_BOOT } else { 0 };
    vfs.others_unused_count = build.drops_early.then_some(of_boot);
    stack.sim.preemption = preemption;
    stack.sim.tick_is_timer = true;
    stack.sim.tick_cost_ns = TICK * each_ns;
    vfs.costs.page_drop_ns = PAGE_DROP * each_ns;
    vfs.costs.drop_caches_ns = build.drop_caches * each_ns;
    vfs.costs.unmount_ns = UNMOUNT * each_ns;
}

/// What the program that does the steps computes after each of them.
struct Program {
    between_steps: u64,
    of_fs: &'static [(&'static str, u64)],
    each_ns: u64,
}

/// So long the program takes for the step `crash`: it puts the chip back as it was, and sleeps for the rest of this time
/// (`steps/raw.c`).
const BOOT_NS: u64 = 2_560_000_000;

impl Pace for Program {
    fn boot_ns(&self) -> u64 {
        BOOT_NS
    }

    fn between_steps_ns(&self, step: &Step) -> u64 {
        let of_step = self.of_fs.iter().find(|(name, _)| *name == step.name());
        let beside = of_step.map_or(0, |(_, instructions)| *instructions);
        (self.between_steps + beside) * self.each_ns
    }
}

/// `None`: the case was not measured on such a machine.
pub(super) fn pace(case: &Case) -> Option<Box<dyn Pace>> {
    let each_ns = instruction_ns(case)?;
    let of_fs = if case.system.fs == "ubifs" { UBIFS_STEPS } else { JFFS2_STEPS };
    Some(Box::new(Program { between_steps: build_of(case).between_steps, of_fs, each_ns }))
}

#[cfg(test)]
mod tests {
    use super::instruction_ns_of;

    #[test]
    fn the_speed_of_the_machine_stands_in_the_tree() {
        assert_eq!(instruction_ns_of("Debian's for amd64, on QEMU with 250 instructions a us; built with X"), Some(4));
        assert_eq!(instruction_ns_of("Debian's for armhf, on QEMU with 250 instructions a us"), None);
        assert_eq!(instruction_ns_of("user-mode Linux"), None);
    }
}
