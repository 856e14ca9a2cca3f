//! The workload of the measured cases, phase by phase: what was done to the real RTEMS, done here.
//!
//! A run is a system with one device and one file system, and a list of phases; each phase is counted by itself.

pub mod flash;
mod steps;

use crate::bdbuf::{Bdbuf, BdbufConfig, BdbufCounts, DiskId, Priority, TraceEvent};
use crate::device::Device;
use crate::imfs::{BlockSize, Imfs, ImfsOptions};
use crate::libio::{FileSystem, Libio};
use crate::profile::DeviceProfile;
use crate::{dosfs, rfs, Quirks};
use ffslab_flash::Traffic;
use ffslab_fs::Errno;
use ffslab_sim::{Sim, SimConfig};
use serde::Deserialize;
use thiserror::Error;

/// How a run was set up. The names are those of the measured cases.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Settings {
    pub fs: String,
    #[serde(rename = "fs_block_size")]
    pub fs_block_bytes: u32,
    /// DOSFS: sectors per cluster; 0: the formatter chooses.
    #[serde(rename = "sectors_per_cluster_requested")]
    pub cluster_blocks: u32,
    pub cache_bytes: u32,
    #[serde(rename = "bdbuf_max_buffer")]
    pub buffer_max_bytes: u32,
    #[serde(rename = "bdbuf_min_buffer")]
    pub buffer_min_bytes: u32,
    pub disk_bytes: u64,
    #[serde(rename = "media_block")]
    pub media_block_bytes: u32,
    /// 1: one request holds consecutive blocks only.
    #[serde(rename = "cap_multisector_cont", default)]
    pub consecutive_blocks: u32,
    #[serde(rename = "io_size")]
    pub io_bytes: usize,
    pub file_bytes: u64,
    #[serde(rename = "app_priority", deserialize_with = "priority")]
    pub application_priority: Priority,
    pub read_ahead_blocks: u32,
    pub test: String,
}

fn priority<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Priority, D::Error> {
    u8::deserialize(deserializer).map(Priority)
}

/// What a phase did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    pub name: String,
    pub calls: u64,
    pub cache: BdbufCounts,
    /// How many more memory blocks the files hold than before the phase; negative: fewer.
    pub memory_blocks: i64,
    /// Operations of the flash (JFFS2).
    pub flash: Traffic,
    /// Only when traces were asked for.
    pub trace: Vec<TraceEvent>,
}

impl Phase {
    /// The counters by their names in the measured cases; what is 0 is left out there.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, i64)> + '_ {
        let cache = self.cache.named().into_iter().map(|(name, value)| (name, value as i64));
        let flash = [
            ("flash_read_ops", self.flash.reads as i64),
            ("flash_read_bytes", self.flash.read_bytes as i64),
            ("flash_write_ops", self.flash.programs as i64),
            ("flash_write_bytes", self.flash.write_bytes as i64),
            ("flash_erases", self.flash.erases as i64),
        ];
        let others = [("calls", self.calls as i64), ("imfs_memfile_blocks", self.memory_blocks)];
        others.into_iter().chain(cache).chain(flash)
    }
}

#[derive(Debug, Error)]
pub enum RunError {
    #[error("unknown {what} '{value}'; known: {known}")]
    Unknown { what: &'static str, value: String, known: &'static str },
    #[error("{0}")]
    Cache(#[from] crate::bdbuf::BdbufError),
    #[error("{0}")]
    Mount(#[from] crate::jffs2::MountError),
    #[error("phase {phase}: {error}")]
    Call { phase: String, error: Errno },
}

/// The simulated system, kept from phase to phase.
struct Run {
    settings: Settings,
    libio: Libio,
    disk: DiskId,
    phases: Vec<Phase>,
    counts: BdbufCounts,
    memory_blocks: u64,
    calls: u64,
}

/// Runs all phases of a case.
pub fn run(settings: &Settings, traces: bool) -> Result<Vec<Phase>, RunError> {
    let mut run = Run::new(settings, traces)?;
    let outcome = match settings.test.as_str() {
        "io" => run.io(),
        "small" => run.small(),
        "hold" => run.hold(),
        "meta" => run.meta(),
        other => {
            let known = "io, small, hold, meta";
            return Err(RunError::Unknown { what: "test", value: other.into(), known });
        }
    };
    outcome.map_err(|error| {
        let after = run.phases.last().map_or("none", |phase| phase.name.as_str());
        RunError::Call { phase: format!("after {after}"), error }
    })?;
    Ok(run.phases)
}

impl Run {
    fn new(settings: &Settings, traces: bool) -> Result<Run, RunError> {
        if !matches!(settings.fs.as_str(), "rfs" | "dosfs" | "imfs") {
            let known = "rfs, dosfs, imfs";
            return Err(RunError::Unknown { what: "file system", value: settings.fs.clone(), known });
        }
        let config = BdbufConfig {
            buffer_min_bytes: settings.buffer_min_bytes,
            buffer_max_bytes: settings.buffer_max_bytes,
            cache_memory_bytes: settings.cache_bytes,
            max_read_ahead_blocks: settings.read_ahead_blocks,
            application_priority: settings.application_priority,
            tick_us: 1000,
            ..BdbufConfig::default()
        };
        let mut cache = Bdbuf::new(Sim::new(SimConfig::default()), config)?;
        let profile =
            DeviceProfile { consecutive_blocks: settings.consecutive_blocks != 0, ..DeviceProfile::instant() };
        let blocks = settings.disk_bytes / u64::from(settings.media_block_bytes.max(1));
        let disk = cache.add_disk(Device::new(profile, settings.media_block_bytes, blocks as u32));
        cache.set_tracing(traces);
        // The harness sets the medium's block size before it starts to count.
        cache.set_block_size(disk, settings.media_block_bytes, false)?;
        let block_size = match settings.fs.as_str() {
            "imfs" => BlockSize::new(settings.fs_block_bytes),
            _ => Ok(BlockSize::default()),
        };
        let block_size = block_size.map_err(|error| RunError::Call { phase: "set-up".into(), error })?;
        let mut root = Imfs::new(ImfsOptions { block_size, ..ImfsOptions::default() });
        let added = root.add_device(&cache, b"dev", b"rda", disk);
        let mut libio = Libio::new(cache, Box::new(root), 64);
        let made = added.and_then(|()| libio.mkdir(b"/mnt", 0o777));
        made.map_err(|error| RunError::Call { phase: "set-up".into(), error })?;
        let counts = libio.cache().counts();
        Ok(Run { settings: settings.clone(), libio, disk, phases: Vec::new(), counts, memory_blocks: 0, calls: 0 })
    }

    /// Makes a call and counts it in the phase.
    fn call<R>(&mut self, call: impl FnOnce(&mut Libio) -> Result<R, Errno>) -> Result<R, Errno> {
        self.calls += 1;
        call(&mut self.libio)
    }

    /// Ends the phase.
    fn phase(&mut self, name: &str) {
        let counts = self.libio.cache().counts();
        let memory_blocks = self.libio.memory_blocks();
        self.phases.push(Phase {
            name: name.into(),
            calls: std::mem::take(&mut self.calls),
            cache: counts - self.counts,
            memory_blocks: memory_blocks as i64 - self.memory_blocks as i64,
            flash: Traffic::default(),
            trace: self.libio.cache_mut().take_trace(),
        });
        self.counts = counts;
        self.memory_blocks = memory_blocks;
    }

    /// Runs a phase that consists of one call.
    fn single<R>(&mut self, name: &str, call: impl FnOnce(&mut Libio) -> Result<R, Errno>) -> Result<R, Errno> {
        let result = self.call(call)?;
        self.phase(name);
        Ok(result)
    }

    fn is_in_memory(&self) -> bool {
        self.settings.fs == "imfs"
    }

    fn format_and_mount(&mut self) -> Result<(), Errno> {
        if self.is_in_memory() {
            return Ok(());
        }
        let disk = self.disk;
        let settings = self.settings.clone();
        self.single("format", |libio| {
            let cache = libio.cache_mut();
            match settings.fs.as_str() {
                "rfs" => {
                    let options =
                        rfs::FormatOptions { block_bytes: settings.fs_block_bytes, ..rfs::FormatOptions::default() };
                    rfs::format(cache, disk, &options).map(|_| ())
                }
                _ => {
                    let options = dosfs::FormatOptions {
                        sectors_per_cluster_count: settings.cluster_blocks,
                        ..dosfs::FormatOptions::default()
                    };
                    dosfs::format(cache, disk, &options)
                }
            }
        })?;
        self.single("mount", |libio| {
            let cache = libio.cache_mut();
            let fs: Box<dyn FileSystem> = match settings.fs.as_str() {
                "rfs" => Box::new(rfs::Rfs::mount(cache, disk, &rfs::MountOptions::default())?),
                _ => Box::new(dosfs::Dosfs::mount(cache, disk, Quirks::Rtems2018)?),
            };
            libio.mount(fs, b"/mnt", true)
        })
    }
}
