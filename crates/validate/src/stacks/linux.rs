//! Stacks like those on which the cases of the kernel's file systems were measured.

use super::set_wall_clock;
use crate::case::{Case, System, WriteBack};
use ffslab_flash::{Rules, Timing};
use ffslab_linux::{Kernel, NameHash, VfsConfig, VfsCosts, WriteBackKnobs};
use ffslab_machine::file_systems::Settings;
use ffslab_machine::media::{memory_wiring, Descriptor, MlcSpec, NorWiring, PartitionSpec, NAND, NOR};
use ffslab_machine::stack::{StackSpec, EPOCH_S};
use ffslab_machine::MachineError;
use ffslab_mtd::{Driver, Ecc, OpCost};
use ffslab_profiles::{NandWaitName, ProfileError};
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{CpuCosts, NandWait, PowerMilliwatt, SchedulerClock, SimConfig};
use std::sync::Arc;

/// By how much the virtual clock of user-mode Linux moves when the measuring program reads it
/// (`arch/um/kernel/time.c`).
const CLOCK_READ_NS: u64 = 256;

/// How long the reference machine had been up when a case began, modulo 1.28 s (128 ticks), for JFFS2 and for UBIFS.
/// The uptime was not recorded. These values are inferred: with them most counters agree exactly, above all those of
/// the families R4 and J for JFFS2 (fsync, and garbage collection that depends on the tick counter) and those of the
/// families R, X and S for UBIFS (which depend on the task that gets the CPU at a tick).
pub(super) const UPTIME_NS: u64 = 27_400_000;
pub(super) const UBIFS_UPTIME_NS: u64 = 27_010_000;

/// How often a page may be programmed between two erases. SLC NAND of that time allows four partial programs.
pub(super) const PARTIAL_PROGRAMS_MAX: u32 = 4;

/// Who corrected bit errors on that machine, and how many.
fn ecc_of(system: &System) -> Ecc {
    let ecc = system.ecc.map_or(Ecc::HARDWARE, |ecc| Ecc::HARDWARE.by(ecc.engine()));
    system.ecc_strength_bits.map_or(ecc, |bits| ecc.of_strength(bits))
}

/// The rules of the kernel on which the case was measured.
///
/// Errors: there is no profile of that version.
pub(super) fn kernel_of(case: &Case) -> Result<Kernel, ProfileError> {
    let kernel = ffslab_profiles::kernel_of_version(&case.system.version)?;
    let name_hash = match kernel.name_hash {
        NameHash::Bytes => NameHash::Bytes,
        NameHash::Words32 | NameHash::Words64 => case.system.name_hash(),
    };
    Ok(Kernel { name_hash, ..kernel })
}

/// The medium of a case, and how it is driven if it is NOR.
///
/// Errors: one of which no cases were measured.
fn medium_of(case: &Case) -> Result<(&'static Descriptor, Option<NorWiring>), MachineError> {
    let driver = case.system.driver.as_deref();
    match (case.flash.medium.as_deref(), driver) {
        (None, _) => Ok((&NAND, None)),
        (Some(name), Some("mtdram")) if name == NOR.name => Ok((&NOR, Some(memory_wiring(case.flash.page_bytes)))),
        (Some(name), _) => {
            let needed = "cases were measured on NAND, and on \"nor\" with driver = \"mtdram\"".to_string();
            Err(MachineError::word("medium", name, needed))
        }
    }
}

/// A stack like the user-mode Linux on which the cases of the kernel's file systems were measured. `uptime_ns` is
/// how long it has been up when the case begins, unless the case says so itself.
///
/// Errors: faults of the chip that cannot be understood.
pub(super) fn linux_stack(
    case: &Case,
    kernel: Kernel,
    uptime_ns: u64,
    fs: Option<Arc<dyn Settings>>,
) -> Result<StackSpec, MachineError> {
    let (system, flash) = (&case.system, &case.flash);
    let ns = |us: Option<f64>| us_to_ns(us.unwrap_or(0.0));
    let user_mode = system.tree.is_none();
    let clock_read_ns = if user_mode { CLOCK_READ_NS } else { 0 };
    let sleeps = matches!(system.nand_wait, Some(NandWaitName::Sleep));
    // A task that sleeps while the chip works has the clock read twice: when it arms a timer, and when the timer's
    // interrupt looks which timers have expired (`kernel/time/hrtimer.c`).
    let wait = OpCost { overhead_ns: if sleeps { 2 * clock_read_ns } else { 0 }, power: PowerMilliwatt::default() };
    let faults = flash.faults.faults()?;
    let (medium, nor) = medium_of(case)?;
    let mut stack = StackSpec {
        medium,
        image: None,
        volumes: Default::default(),
        policies: Default::default(),
        idle_power: None,
        partition: PartitionSpec {
            geometry: flash.geometry(),
            timing: Timing {
                read_ns: ns(flash.t_read_us),
                program_ns: ns(flash.t_program_us),
                erase_ns: ns(flash.t_erase_us),
                // The factor from ns per byte to ps per byte is the same as that from us to ns.
                bus_ps_per_byte: ns(flash.bus_ns_per_byte),
            },
            rules: Rules { partial_programs_max: PARTIAL_PROGRAMS_MAX, in_order: false },
            driver: Driver {
                ecc: ecc_of(system),
                bitflip_threshold_bits: None,
                read: wait,
                read_part_ns: 0,
                read_part_wait_ns: 0,
                page_memory: None,
                program_data_ns: 0,
                program: wait,
                erase: wait,
                polls_with_resched: false,
                has_bad_block_table: system.has_bad_block_table(),
            },
            mlc: MlcSpec::default(),
            spi_nand: None,
            nor,
            faults,
            ageing: None,
            first_block: flash.first_block,
            partition_blocks: flash.partition_blocks,
        },
        sim: SimConfig {
            tick_rate_hz: system.tick_rate_hz.unwrap_or(100),
            uptime_ns: system.uptime_us.map_or(uptime_ns, us_to_ns),
            nand_wait: if sleeps { NandWait::Sleep } else { NandWait::Busy },
            // User-mode Linux has no clock for the scheduler that is finer than the tick.
            scheduler_clock: if user_mode { SchedulerClock::Tick } else { SchedulerClock::Exact },
            timer_wheel: kernel.timer_wheel(),
            chip_lock: kernel.chip_lock,
            preemption: kernel.preemption,
            clock_stops_when_asked: kernel.clock_stops_when_asked,
            polls_with_resched: false,
            tick_cost_ns: 0,
            delays_are_loops: false,
            tick_is_timer: false,
        },
        cpu_costs: CpuCosts::FREE,
        vfs: VfsConfig {
            kernel,
            read_ahead_bytes: system.read_ahead_kib.saturating_mul(1024),
            page_cache_bytes: system.ram_mib.map_or(u64::MAX, |mib| mib.saturating_mul(1 << 20)),
            write_back: system.vm.as_ref().map_or_else(WriteBackKnobs::default, WriteBack::knobs),
            policies: Default::default(),
            costs: VfsCosts { clock_read_ns, ..VfsCosts::default() },
            epoch_s: EPOCH_S,
            epoch_ns: 0,
            others_unused_count: None,
            smp: system.smp,
        },
        fs,
    };
    if let Some(us) = system.wall_clock_us {
        set_wall_clock(&mut stack, us_to_ns(us));
    }
    Ok(stack)
}
