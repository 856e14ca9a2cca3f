//! Measured cases of YAFFS2: their settings, and the harness with which most of them were measured; others ran in Linux.
//!
//! The harness called the core of YAFFS2 in the order in which its Linux port does, on a RAM NAND. Its page cache never
//! drops a page, and its clock is moved by the flash operations only (CASES.md: "Convention for the page cache").

use crate::case::{Case, PARTIAL_PROGRAMS_MAX, UPTIME_NS};
use crate::file_systems::yaffs2::{super_sync_interval_ms, Yaffs2Settings};
use crate::media::NAND;
use crate::stack::{StackSpec, EPOCH_S};
use ffslab_flash::{Rules, Timing};
use ffslab_linux::{Kernel, ReadAheadRules, VfsConfig, VfsCosts, WriteBackKnobs, WriteBackRules};
use ffslab_mtd::{Driver, Ecc, OpCost};
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{CpuCosts, PowerMilliwatt, SimConfig};
use ffslab_workload::steps::{Step, SyncDirectories};
use ffslab_yaffs2::{Background, Generation, Options};
use serde::Deserialize;
use std::sync::Arc;

/// YAFFS2's part of a case's `system`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Settings {
    pub pointer_bits: Option<u32>,
    pub cache_bypass_aligned: Option<bool>,
    pub block_summaries: Option<bool>,
    pub background_gc: Option<bool>,
    #[serde(rename = "short_op_caches")]
    pub short_op_cache_pages: Option<u32>,
    pub reserved_blocks: Option<u32>,
    #[serde(rename = "refresh_period")]
    pub refresh_period_blocks: Option<u32>,
    pub deferred_dir_update: Option<bool>,
    pub tags_ecc: Option<bool>,
    pub inband_tags: Option<bool>,
    pub clock_us: Option<ClockUs>,
}

/// YAFFS2 as a part of Linux.
#[derive(Clone, Debug, Deserialize)]
pub struct InLinux {
    /// Date of its sources.
    version: String,
    #[serde(flatten)]
    settings: Settings,
}

impl Settings {
    /// `background`: the thread, where the case has one.
    fn options(&self, standard: Options, background: Background) -> Options {
        Options {
            cache_bypass_aligned: self.cache_bypass_aligned.unwrap_or(standard.cache_bypass_aligned),
            block_summaries: self.block_summaries.unwrap_or(standard.block_summaries),
            short_op_cache_pages: self.short_op_cache_pages.unwrap_or(standard.short_op_cache_pages),
            reserved_blocks: self.reserved_blocks.unwrap_or(standard.reserved_blocks),
            refresh_period_blocks: self.refresh_period_blocks.unwrap_or(standard.refresh_period_blocks),
            tags_ecc: self.tags_ecc.unwrap_or(standard.tags_ecc),
            inband_tags: self.inband_tags.unwrap_or(standard.inband_tags),
            deferred_directory_update: self.deferred_dir_update.unwrap_or(true),
            pointer_bits: self.pointer_bits.unwrap_or(standard.pointer_bits),
            background: self.background_gc.unwrap_or(false).then_some(background),
            ..standard
        }
    }
}

/// By how much each operation moves the clock of the harness, in us.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct ClockUs {
    page_read: f64,
    oob_read: f64,
    page_program: f64,
    erase: f64,
    #[serde(rename = "piece_4KiB")]
    piece: f64,
}

impl ClockUs {
    /// Timing of a simulated chip whose operations take as long as those of the harness, to the nanosecond. The
    /// harness's times include the transfer, and the chip adds the transfer over the bus, so that is subtracted here
    /// from the times of the array. The time per byte on the bus follows from the difference between a page read and an
    /// OOB read.
    fn timing(&self, page_bytes: u32, oob_bytes: u32) -> Timing {
        let page_ns = us_to_ns(self.page_read);
        let oob_ns = us_to_ns(self.oob_read);
        // Rounded up, because the chip rounds the time of a transfer down.
        let bus_ps_per_byte = ((page_ns - oob_ns) * 1000).div_ceil(u64::from(page_bytes));
        let moved_ns = bus_ps_per_byte * u64::from(page_bytes + oob_bytes) / 1000;
        Timing {
            read_ns: page_ns - moved_ns,
            program_ns: us_to_ns(self.page_program) - moved_ns,
            erase_ns: us_to_ns(self.erase),
            bus_ps_per_byte,
        }
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

impl Case {
    /// Adds the steps that the harness did without recording them. The free space of its cases shows that modified
    /// directories were written before each crash, as the background thread does within a second.
    pub(crate) fn add_unsaid_steps(&mut self) {
        if self.system.yaffs2_in_linux.is_some() {
            return;
        }
        let setup = std::mem::take(&mut self.setup);
        self.setup = setup.into_iter().fold(Vec::new(), |mut steps, step| {
            if let Step::Crash(_) = step {
                steps.push(Step::SyncDirectories(SyncDirectories {}));
            }
            steps.push(step);
            steps
        });
    }

    /// Errors: there is no profile of the kernel.
    pub(crate) fn yaffs2_stack(&self) -> Result<StackSpec, String> {
        let Some(InLinux { version, settings }) = &self.system.yaffs2_in_linux else {
            return Ok(self.yaffs2_harness());
        };
        let kernel = self.kernel()?;
        let interval_ms = self.system.vm.as_ref().map_or(5_000, |vm| vm.dirty_writeback_ms);
        let standard = Options {
            pointer_bits: 32,
            super_sync_interval_ms: super_sync_interval_ms(&kernel, interval_ms),
            ..Options::of(generation(version))
        };
        let background = Background::linux(self.system.tick_rate_hz.unwrap_or(100));
        let fs = Arc::new(Yaffs2Settings(settings.options(standard, background)));
        Ok(self.linux_stack(kernel, UPTIME_NS, fs))
    }

    fn yaffs2_harness(&self) -> StackSpec {
        let (system, flash) = (&self.system, &self.flash);
        let settings = &system.yaffs2;
        let standard = Options::of(generation(&system.version));
        let free = OpCost { overhead_ns: 0, power: PowerMilliwatt::default() };
        let mut costs = VfsCosts::default();
        let mut timing = Timing { read_ns: 0, program_ns: 0, erase_ns: 0, bus_ps_per_byte: 0 };
        if let Some(clock) = settings.clock_us {
            timing = clock.timing(flash.page_bytes, flash.oob_bytes);
            costs.page_ns = us_to_ns(clock.piece);
        }
        let background = Background { timer_late_ns: 0, ..Background::linux(100) };
        StackSpec {
            medium: &NAND,
            image: None,
            idle_power: None,
            geometry: flash.geometry(),
            timing,
            rules: Rules { partial_programs_max: PARTIAL_PROGRAMS_MAX, in_order: false },
            driver: Driver { ecc: Ecc::HARDWARE, read: free, program: free, erase: free },
            first_block: 0,
            partition_blocks: flash.partition_blocks,
            sim: SimConfig::default(),
            cpu_costs: CpuCosts::FREE,
            vfs: VfsConfig {
                kernel: Kernel {
                    name: "2.6".to_string(),
                    read_ahead: ReadAheadRules::V2_6,
                    sequential_miss_bug: false,
                    dentries_spared_count: 0,
                    write_looks_up_capability: false,
                    write_back: WriteBackRules::V2_6,
                    timer_slack_ns: 0,
                },
                read_ahead_bytes: system.read_ahead_kib.saturating_mul(1024),
                page_cache_bytes: u64::MAX,
                write_back: WriteBackKnobs::default(),
                costs,
                epoch_s: EPOCH_S,
            },
            fs: Some(Arc::new(Yaffs2Settings(settings.options(standard, background)))),
        }
    }
}
