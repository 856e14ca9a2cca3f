//! How the kernel of a board was built and when an experiment finds it, where that is known: the tables `[build]` and `[begin]`. What
//! they do not say is as the profile of the kernel says.

use crate::constant::{said, Amount, Sourced};
use ffslab_linux::{Kernel, NameHash};
use ffslab_sim::{Preemption, SchedulerClock};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PreemptionName {
    None,
    Voluntary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ClockName {
    Exact,
    Tick,
}

/// How the kernel was built.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BuildTable {
    /// Timer ticks per second (CONFIG_HZ), unless the experiment says it.
    pub hz: Option<Sourced<u32>>,
    /// Where tasks may lose the CPU: `CONFIG_PREEMPT_NONE` or `CONFIG_PREEMPT_VOLUNTARY`.
    preemption: Option<Sourced<PreemptionName>>,
    /// By which clock run time is charged: an exact one, or the timer's tick where the machine has no better one.
    scheduler_clock: Option<Sourced<ClockName>>,
    /// Whether it is built for several CPUs (CONFIG_SMP).
    pub smp: Option<Sourced<bool>>,
    /// The processor's words, by which kernels since 4.8 hash names: 32 or 64.
    pub word_bits: Option<Sourced<u32>>,
    /// Whether an unmount wakes a worker that has its turn at once (`synchronize_rcu_expedited`).
    unmount_wakes_worker: Option<Sourced<bool>>,
    /// Whether each write(2) asks the file system for `security.capability`.
    write_looks_up_capability: Option<Sourced<bool>>,
    /// Whether the tick is a timer among the others (CONFIG_HIGH_RES_TIMERS), behind which timers with slack wait, and that an idle
    /// machine stops (CONFIG_NO_HZ_COMMON).
    pub tick_is_timer: Option<Sourced<bool>>,
    /// Names of other file systems that are unused after the boot and that `drop_caches` takes first, where it ends when it frees little
    /// more. Absent: there is always something else to free.
    pub names_unused_after_boot_count: Option<Sourced<usize>>,
    /// Whether the board uses names of other file systems, too, so that `drop_caches` spares none of those that are simulated. Absent: it
    /// does.
    pub other_names: Option<Sourced<bool>>,
}

/// When an experiment finds the board, unless it says so itself.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BeginTable {
    /// How long it has been up.
    pub uptime_us: Option<Sourced<Amount>>,
    /// How far its wall clock is in its second.
    pub wall_clock_us: Option<Sourced<Amount>>,
}

impl BuildTable {
    /// The rules of a kernel as it was built here.
    pub fn built(&self, kernel: Kernel) -> Kernel {
        Kernel {
            preemption: match said(&self.preemption) {
                None => kernel.preemption,
                Some(PreemptionName::None) => Preemption::None,
                Some(PreemptionName::Voluntary) => Preemption::Voluntary,
            },
            unmount_wakes_worker: said(&self.unmount_wakes_worker).unwrap_or(kernel.unmount_wakes_worker),
            write_looks_up_capability: said(&self.write_looks_up_capability)
                .unwrap_or(kernel.write_looks_up_capability),
            ..kernel
        }
    }

    pub fn scheduler_clock(&self) -> SchedulerClock {
        match said(&self.scheduler_clock) {
            None | Some(ClockName::Exact) => SchedulerClock::Exact,
            Some(ClockName::Tick) => SchedulerClock::Tick,
        }
    }
}

/// The rules of a kernel for a processor with words of so many bits. A kernel that hashes names by bytes does so on all.
pub fn with_words(kernel: Kernel, word_bits: u32) -> Kernel {
    let name_hash = match (kernel.name_hash, word_bits) {
        (NameHash::Bytes, _) => NameHash::Bytes,
        (_, 32) => NameHash::Words32,
        _ => NameHash::Words64,
    };
    Kernel { name_hash, ..kernel }
}
