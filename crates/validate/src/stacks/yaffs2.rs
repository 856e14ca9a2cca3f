//! The stacks of cases that were measured with YAFFS2: in Linux, or with a harness.
//!
//! The harness called the core of YAFFS2 in the order in which its Linux port does, on a RAM NAND. Its page cache never
//! drops a page, and its clock is moved by the flash operations only (CASES.md: "Convention for the page cache").

use super::arm;
use super::linux::{kernel_of, linux_stack, PARTIAL_PROGRAMS_MAX, UPTIME_NS};
use crate::case::Case;
use crate::case_yaffs2::{ClockUs, InLinux, Settings};
use ffslab_flash::{Faults, Rules, Timing};
use ffslab_linux::{Kernel, ReadAheadRules, VfsConfig, VfsCosts, WriteBackKnobs, WriteBackRules};
use ffslab_machine::file_systems::yaffs2::{super_sync_interval_ms, Yaffs2Settings};
use ffslab_machine::media::{MlcSpec, PartitionSpec, NAND};
use ffslab_machine::stack::{StackSpec, EPOCH_S};
use ffslab_machine::MachineError;
use ffslab_mtd::{Driver, OpCost};
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{CpuCosts, PowerMilliwatt, SimConfig};
use ffslab_workload::steps::{Step, SyncDirectories};
use ffslab_yaffs2::{Background, Generation, Options};
use std::sync::Arc;

/// The settings as YAFFS2 takes them. `background`: the thread, where the case has one.
fn options(settings: &Settings, standard: Options, background: Background) -> Options {
    Options {
        cache_bypass_aligned: settings.cache_bypass_aligned.unwrap_or(standard.cache_bypass_aligned),
        block_summaries: settings.block_summaries.unwrap_or(standard.block_summaries),
        short_op_cache_pages: settings.short_op_cache_pages.unwrap_or(standard.short_op_cache_pages),
        reserved_blocks: settings.reserved_blocks.unwrap_or(standard.reserved_blocks),
        refresh_period_blocks: settings.refresh_period_blocks.unwrap_or(standard.refresh_period_blocks),
        tags_ecc: settings.tags_ecc.unwrap_or(standard.tags_ecc),
        inband_tags: settings.inband_tags.unwrap_or(standard.inband_tags),
        deferred_directory_update: settings.deferred_dir_update.unwrap_or(true),
        pointer_bits: settings.pointer_bits.unwrap_or(standard.pointer_bits),
        background: settings.background_gc.unwrap_or(false).then_some(background),
        ..standard
    }
}

/// Timing of a simulated chip whose operations take as long as those of the harness, to the nanosecond. The
/// harness's times include the transfer, and the chip adds the transfer over the bus, so that is subtracted here
/// from the times of the array. The time per byte on the bus follows from the difference between a page read and an
/// OOB read.
fn timing(clock: &ClockUs, page_bytes: u32, oob_bytes: u32) -> Timing {
    let page_ns = us_to_ns(clock.page_read);
    let oob_ns = us_to_ns(clock.oob_read);
    // Rounded up, because the chip rounds the time of a transfer down.
    let bus_ps_per_byte = ((page_ns - oob_ns) * 1000).div_ceil(u64::from(page_bytes));
    let moved_ns = bus_ps_per_byte * u64::from(page_bytes + oob_bytes) / 1000;
    Timing {
        read_ns: page_ns - moved_ns,
        program_ns: us_to_ns(clock.page_program) - moved_ns,
        erase_ns: us_to_ns(clock.erase),
        bus_ps_per_byte,
    }
}

/// The generation of the YAFFS2 sources of this date. Whether block summaries and the cache bypass are in use has keys
/// of its own in the case.
fn generation(date: &str) -> Generation {
    match date {
        date if date < "2011-03-29" => Generation::Y2010,
        date if date < "2012-06-15" => Generation::Y2011,
        // It is not on record when the eviction of single chunks was added; the sources of 2018 have it.
        date if date < "2018" => Generation::Y2012,
        _ => Generation::Today,
    }
}

/// Adds the steps that the harness did without recording them. The free space of its cases shows that modified
/// directories were written before each crash, as the background thread does within a second.
pub(super) fn add_unsaid_steps(case: &mut Case) {
    if case.system.yaffs2_in_linux.is_some() {
        return;
    }
    let setup = std::mem::take(&mut case.setup);
    case.setup = setup.into_iter().fold(Vec::new(), |mut steps, step| {
        if let Step::Crash(_) = step {
            steps.push(Step::SyncDirectories(SyncDirectories {}));
        }
        steps.push(step);
        steps
    });
}

/// What a chunk that is written takes more instructions with the sources of December 2011 than with those of March.
const NEWER_CHUNK: u64 = 115;

/// Errors: there is no profile of the kernel.
pub(super) fn stack(case: &Case) -> Result<StackSpec, MachineError> {
    let Some(InLinux { version, settings }) = &case.system.yaffs2_in_linux else {
        return Ok(harness(case));
    };
    let kernel = kernel_of(case)?;
    let interval_ms = case.system.vm.as_ref().map_or(5_000, |vm| vm.dirty_writeback_ms);
    let standard = Options {
        pointer_bits: 32,
        super_sync_interval_ms: super_sync_interval_ms(&kernel, interval_ms),
        ..Options::of(generation(version))
    };
    let background = Background::linux(case.system.tick_rate_hz.unwrap_or(100));
    let fs = Arc::new(Yaffs2Settings(options(settings, standard, background)));
    let uptime_ns = arm::uptime_ns(case, &arm::YAFFS2).unwrap_or(UPTIME_NS);
    let mut stack = linux_stack(case, kernel, uptime_ns, Some(fs))?;
    arm::price(case, &mut stack, &arm::YAFFS2);
    if generation(version) != Generation::Y2010 {
        stack.partition.driver.program.overhead_ns += NEWER_CHUNK * arm::instruction_ns(case).unwrap_or_default();
    }
    Ok(stack)
}

fn harness(case: &Case) -> StackSpec {
    let (system, flash) = (&case.system, &case.flash);
    let settings = &system.yaffs2;
    let standard = Options::of(generation(&system.version));
    let free = OpCost { overhead_ns: 0, power: PowerMilliwatt::default() };
    let mut costs = VfsCosts::default();
    let mut chip = Timing { read_ns: 0, program_ns: 0, erase_ns: 0, bus_ps_per_byte: 0 };
    if let Some(clock) = settings.clock_us {
        chip = timing(&clock, flash.page_bytes, flash.oob_bytes);
        costs.page_ns = us_to_ns(clock.piece);
    }
    let background = Background { timer_late_ns: 0, ..Background::linux(100) };
    StackSpec {
        medium: &NAND,
        image: None,
        volumes: Default::default(),
        policies: Default::default(),
        idle_power: None,
        partition: PartitionSpec {
            geometry: flash.geometry(),
            timing: chip,
            rules: Rules { partial_programs_max: PARTIAL_PROGRAMS_MAX, in_order: false },
            driver: Driver { read: free, program: free, erase: free, ..Driver::default() },
            mlc: MlcSpec::default(),
            spi_nand: None,
            nor: None,
            faults: Faults::default(),
            ageing: None,
            first_block: 0,
            partition_blocks: flash.partition_blocks,
        },
        sim: SimConfig::default(),
        cpu_costs: CpuCosts::FREE,
        vfs: VfsConfig {
            kernel: Kernel {
                name: "2.6".to_string(),
                read_ahead: ReadAheadRules::V2_6,
                sequential_miss_bug: false,
                preemption: Default::default(),
                unmount_wakes_worker: false,
                dentries_spared_count: 0,
                shrink: ffslab_linux::ShrinkRules::V2_6,
                jffs2_gap_bug: false,
                write_looks_up_capability: false,
                sums_dirty_pages: true,
                write_back: WriteBackRules::V2_6,
                timer_slack_ns: 0,
                chip_lock: ffslab_sim::ChipLock::Mutex,
                clock_stops_when_asked: false,
                name_hash: ffslab_linux::NameHash::Bytes,
            },
            read_ahead_bytes: system.read_ahead_kib.saturating_mul(1024),
            page_cache_bytes: u64::MAX,
            write_back: WriteBackKnobs::default(),
            policies: Default::default(),
            costs,
            epoch_s: EPOCH_S,
            epoch_ns: 0,
            others_unused_count: None,
            smp: false,
        },
        fs: Some(Arc::new(Yaffs2Settings(options(settings, standard, background)))),
    }
}
