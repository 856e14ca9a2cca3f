//! How a measured run was set up, and the machine that this describes.

use crate::error::CaseError;
use ffslab_block::DeviceProfile;
use ffslab_machine::file_systems::{find_on_rtems, on_rtems};
use ffslab_machine::rtems::RtemsSpec;
use ffslab_machine::rtems_keys::RtemsKeys;
use ffslab_rtems::bdbuf::Priority;
use serde::{Deserialize, Deserializer};
use serde_json::{json, Map, Value};
use std::path::Path;

/// How a run on a block device or in memory was set up. The names are those of the measured cases.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct BlockSettings {
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
    pub io_bytes: u32,
    pub file_bytes: u64,
    #[serde(rename = "app_priority", deserialize_with = "priority")]
    pub application_priority: Priority,
    pub read_ahead_blocks: u32,
    pub test: String,
}

fn priority<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Priority, D::Error> {
    u8::deserialize(deserializer).map(Priority)
}

/// How a run of a file system with its own flash driver was set up.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct FlashSettings {
    pub fs: String,
    pub flash_bytes: u64,
    #[serde(rename = "erase_block")]
    pub erase_block_bytes: u32,
    /// none, zlib, rtime.
    pub compressor: String,
    /// What is written: random, text, zero.
    pub data: String,
    #[serde(rename = "io_size")]
    pub io_bytes: u32,
    pub file_bytes: u64,
}

/// Whether the run used the block cache or flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settings {
    Block(BlockSettings),
    Flash(FlashSettings),
}

/// Says whether a run is one of a file system with its own flash driver.
pub fn is_flash(run: &Map<String, Value>) -> bool {
    run.contains_key("flash_bytes")
}

impl Settings {
    /// Reads the settings of a run.
    ///
    /// Errors: what is missing or is none that RTEMS could have.
    pub fn read(run: &Map<String, Value>) -> Result<Settings, CaseError> {
        let settings = Value::Object(run.clone());
        let read = if is_flash(run) {
            serde_json::from_value(settings).map(Settings::Flash)
        } else {
            serde_json::from_value(settings).map(Settings::Block)
        };
        let settings = read.map_err(|error| CaseError::Settings { says: error.to_string() })?;
        let (io_bytes, file_bytes) = settings.sizes();
        if io_bytes == 0 || file_bytes < u64::from(io_bytes) {
            return Err(CaseError::Sizes { io_bytes, file_bytes });
        }
        Ok(settings)
    }

    /// Why the run does not count: how short a text becomes depends on the text.
    pub fn not_recorded(&self) -> Option<String> {
        match self {
            Settings::Flash(FlashSettings { compressor, data, .. }) if compressor != "none" && data == "text" => {
                Some("the text that was compressed is not recorded".to_string())
            }
            _ => None,
        }
    }

    fn sizes(&self) -> (u32, u64) {
        match self {
            Settings::Block(settings) => (settings.io_bytes, settings.file_bytes),
            Settings::Flash(settings) => (settings.io_bytes, settings.file_bytes),
        }
    }

    fn fs(&self) -> &str {
        match self {
            Settings::Block(settings) => &settings.fs,
            Settings::Flash(settings) => &settings.fs,
        }
    }

    /// The keys of an experiment's `[stack]` for the same system. Nothing in it takes time but sleeping: the measured
    /// program counted calls on a kernel without a clock.
    ///
    /// Errors: a file system that RTEMS does not have, sizes that are no whole KiB.
    pub fn keys(&self) -> Result<RtemsKeys, CaseError> {
        let fs = self.fs();
        let Some(on) = find_on_rtems(fs) else {
            return Err(CaseError::NotOnRtems { fs: fs.to_string(), known: on_rtems() });
        };
        let mut keys = json!({ "system": "rtems", "board": "none", "fs": fs, "tick_us": 1000 });
        let (all, owned) = match self {
            Settings::Block(settings) => settings.keys()?,
            Settings::Flash(settings) => (Vec::new(), settings.keys()?),
        };
        let owned = owned.into_iter().filter(|(key, value)| on.own_keys().contains(key) && *value != json!(0));
        for (key, value) in all.into_iter().chain(owned) {
            keys[key] = value;
        }
        serde_json::from_value(keys).map_err(|error| CaseError::Settings { says: error.to_string() })
    }

    /// The machine.
    ///
    /// Errors: as [`Settings::keys`], sizes that do not fit.
    pub fn spec(&self) -> Result<RtemsSpec, CaseError> {
        let (mut spec, _) = RtemsSpec::from_keys(&self.keys()?, Path::new(""))?;
        if let (Settings::Block(settings), Some(disk)) = (self, spec.fs.disk_mut()) {
            let consecutive_blocks = settings.consecutive_blocks != 0;
            disk.device.profile = DeviceProfile { consecutive_blocks, ..DeviceProfile::instant() };
        }
        Ok(spec)
    }
}

type Keys = Vec<(&'static str, Value)>;

impl BlockSettings {
    /// Keys that every file system takes, and those that only some do, where 0 means that nothing was asked for.
    fn keys(&self) -> Result<(Keys, Keys), CaseError> {
        let all = vec![
            ("bdbuf_buffer_min_B", json!(self.buffer_min_bytes)),
            ("bdbuf_buffer_max_B", json!(self.buffer_max_bytes)),
            ("bdbuf_cache_KiB", kib("cache_bytes", self.cache_bytes.into())?),
            ("bdbuf_read_ahead_blocks", json!(self.read_ahead_blocks)),
            ("application_priority", json!(self.application_priority.0)),
        ];
        let owned = vec![
            ("device_KiB", kib("disk_bytes", self.disk_bytes)?),
            ("media_block_B", json!(self.media_block_bytes)),
            ("fs_block_B", json!(self.fs_block_bytes)),
            ("cluster_B", json!(u64::from(self.cluster_blocks) * u64::from(self.media_block_bytes))),
        ];
        Ok((all, owned))
    }
}

impl FlashSettings {
    fn keys(&self) -> Result<Keys, CaseError> {
        Ok(vec![
            ("device_KiB", kib("flash_bytes", self.flash_bytes)?),
            ("erase_block_KiB", kib("erase_block", self.erase_block_bytes.into())?),
            ("compression", json!(self.compressor)),
        ])
    }
}

/// A size in the unit of the keys.
fn kib(key: &'static str, bytes: u64) -> Result<Value, CaseError> {
    match bytes % 1024 {
        0 => Ok(json!(bytes / 1024)),
        _ => Err(CaseError::WholeKib { key, bytes }),
    }
}
