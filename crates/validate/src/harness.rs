//! The harness with which most cases of YAFFS2 were measured.
//!
//! It called the core of YAFFS2 in the order in which its Linux port does, on a RAM NAND. Its page cache never
//! drops a page, and its clock is moved by the flash operations only (CASES.md: "Convention for the page cache").

use crate::case::{Case, PARTIAL_PROGRAMS_MAX};
use crate::case_yaffs2::{version_of, ClockUs};
use ffslab_flash::{Faults, Rules, Timing};
use ffslab_linux::{Kernel, ReadAheadRules, ShrinkRules, VfsConfig, VfsCosts, WriteBackKnobs, WriteBackRules};
use ffslab_machine::file_systems::yaffs2::{generation, Yaffs2Settings};
use ffslab_machine::media::{MlcSpec, PartitionSpec, NAND};
use ffslab_machine::spec::EPOCH_S;
use ffslab_machine::stack::StackSpec;
use ffslab_mtd::{Driver, OpCost};
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{CpuCosts, PowerMilliwatt, SimConfig};
use ffslab_workload::steps::{Step, SyncDirectories};
use ffslab_yaffs2::{Background, Options};
use std::sync::Arc;

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

pub(super) fn stack(case: &Case) -> StackSpec {
    let (system, flash) = (&case.system, &case.flash);
    let settings = &system.yaffs2;
    let standard = Options::of(generation(version_of(&system.version)));
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
        programs: Default::default(),
        policies: Default::default(),
        program: None,
        idle_power: None,
        driver_note: None,
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
                read_ahead: ReadAheadRules::V2_6,
                write_back: WriteBackRules::V2_6,
                shrink: ShrinkRules::V2_6,
                timer_slack_ns: 0,
                ..Kernel::default()
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
        fs: Some(Arc::new(Yaffs2Settings(settings.keys().set(standard, background)))),
    }
}
