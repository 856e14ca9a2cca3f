//! The steps that bring a partition into a stated condition, and uFLIP's.

use super::checks::request_size;
use super::error::StepError;
use super::{default_request, default_seed, is_default};
use ffslab_text::quantity::{Bytes, Micros};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

step_keys! {
    /// Fills the partition with one file, syncs, and deletes the file. Nearly the whole partition is invalid then, and
    /// there was no time to collect it.
    Saturate {
        /// Bytes of one write.
        #[serde(rename = "request_B", default = "default_request")]
        request_bytes: Bytes,
        /// Name of the file; it must not exist.
        #[serde(default = "default_saturating_file")]
        file: String,
    }
    /// Makes a file that occupies a share of the partition: static data beside the data that the measurement works on.
    Occupy {
        file: String,
        /// The share, in per cent.
        percent: f64,
        /// What the share is of.
        #[serde(default, skip_serializing_if = "is_default")]
        of: ShareOf,
        /// Bytes of one write.
        #[serde(rename = "request_B", default = "default_request")]
        request_bytes: Bytes,
    }
    /// Overwrites a file again and again, in requests of one size.
    Age {
        file: String,
        /// Bytes written, as a multiple of the file's size.
        overwrites: f64,
        /// Bytes of one write.
        #[serde(rename = "request_B", default = "default_age_request")]
        request_bytes: Bytes,
        /// Where the writes go.
        #[serde(default)]
        distribution: Distribution,
        /// `hot_cold`: this percentage of the writes goes to the hot part of the file.
        #[serde(default = "default_hot_writes_percent")]
        hot_writes_percent: f64,
        /// `hot_cold`: the hot part is this percentage of the file, at its beginning.
        #[serde(default = "default_hot_percent")]
        hot_percent: f64,
        /// `zipf`: how strongly favourite places are preferred (theta; the default is fio's).
        #[serde(default = "default_zipf_theta")]
        zipf_theta: f64,
        /// Writes between two fsync calls; 0: one at the end.
        #[serde(default)]
        fsync_every: u64,
        #[serde(default = "default_seed")]
        seed: u64,
    }
    /// The device lies switched off: cells lose charge, but no virtual time passes. Nothing may be mounted or attached, and
    /// `[stack.ageing]` must say how the chip ages.
    Shelf {
        /// How long.
        days: f64,
        /// How warm it is there.
        #[serde(rename = "temperature_C", default = "default_shelf_celsius")]
        celsius: f64,
    }
    /// Reads all of the partition once, in search of bits that went wrong. With UBI attached it is asked for each of its erase
    /// blocks, as `ubihealthd` does, and moves what it finds; else the pages are read as by `nanddump`, and nothing is moved.
    Scrub {}
    /// Puts an image or a dump on the partition, as the stack's key `image` does at the start. The partition must not
    /// be mounted. This takes neither time nor wear. Blocks behind the end of the image are erased.
    Load {
        /// The image, relative to the experiment file.
        image: String,
        /// Whether each page of the image is followed by its OOB area, as in `nanddump --oob`; if absent, this is
        /// detected.
        #[serde(default, alias = "image_oob", skip_serializing_if = "Option::is_none")]
        oob: Option<bool>,
        /// Whether the OOB areas of the image begin with the bytes for the free OOB bytes of the chip (`nandwrite
        /// --autoplace`); if absent, this is detected.
        #[serde(default, alias = "image_autoplace", skip_serializing_if = "Option::is_none")]
        autoplace: Option<bool>,
        /// The image is the dump of a whole chip; these are its partitions, as on the kernel's command line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mtdparts: Option<String>,
        /// The partition of the image to be loaded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partition: Option<String>,
        /// Offset in the image at which the partition begins, not counting OOB areas.
        #[serde(rename = "offset_B", default, skip_serializing_if = "Option::is_none")]
        offset_bytes: Option<u64>,
        /// Bytes of the partition in the image, not counting OOB areas; absent: to the end.
        #[serde(rename = "size_B", default, skip_serializing_if = "Option::is_none")]
        size_bytes: Option<u64>,
    }
    /// An I/O pattern of uFLIP on an open file; see the module `uflip`. Calls of the start-up phase are made but not
    /// recorded.
    Uflip {
        file: String,
        /// The base pattern: sequential or random, reads or writes.
        pattern: BasePattern,
        /// IOSize.
        #[serde(rename = "io_size_B", default = "default_io_size")]
        io_size_bytes: Bytes,
        /// IOCount, the start-up phase included.
        #[serde(default = "default_io_count")]
        io_count: u64,
        /// The number of calls is chosen to move this many bytes, instead of `io_count`.
        #[serde(rename = "total_B", default, skip_serializing_if = "Option::is_none")]
        total_bytes: Option<Bytes>,
        /// IOIgnore: calls of the start-up phase.
        #[serde(default)]
        io_ignore: u64,
        /// TargetSize; absent: the rest of the file.
        #[serde(rename = "target_size_B", default, skip_serializing_if = "Option::is_none")]
        target_size_bytes: Option<Bytes>,
        /// TargetOffset: where the target begins in the file.
        #[serde(rename = "target_offset_B", default)]
        target_offset_bytes: Bytes,
        /// IOShift: by how many bytes the calls are shifted from alignment.
        #[serde(rename = "io_shift_B", default)]
        io_shift_bytes: Bytes,
        /// Partitions: number of parts of the target that a sequential pattern visits in turn.
        #[serde(default = "one")]
        partitions: u64,
        /// Incr: the step of a sequential pattern, in calls; -1 is backwards, 0 is the same place again.
        #[serde(default = "one_step")]
        incr: i64,
        /// ParallelDegree: number of processes. Each has a part of the target of its own, and they make one call each
        /// in turn.
        #[serde(default = "one")]
        parallel_degree: u64,
        /// A second base pattern, which works on the second half of the target.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mix_with: Option<BasePattern>,
        /// Ratio: number of calls of the first pattern for each call of the second.
        #[serde(default = "one")]
        ratio: u64,
        /// Pause, after each burst.
        #[serde(default)]
        pause_us: Micros,
        /// Burst: calls between two pauses.
        #[serde(default = "one")]
        burst: u64,
        /// Seed of the random offsets.
        #[serde(default = "default_seed")]
        seed: u64,
    }
}

words! {
    /// What `occupy` takes its share of.
    ShareOf {
        /// The bytes of the partition's erase blocks; the file gets so many.
        EraseBlocks = "erase_blocks",
        /// The space that programs may use: the file grows until df(1) shows this percentage under Use%.
        Df = "df",
    }
    /// Where `age` writes.
    Distribution {
        /// From the beginning to the end, and again.
        Sequential = "sequential",
        Uniform = "uniform",
        HotCold = "hot_cold",
        /// A few favourite places all over the file, as fio draws them.
        Zipf = "zipf",
    }
    /// Base patterns of uFLIP.
    BasePattern {
        SequentialReads = "SR",
        RandomReads = "RR",
        SequentialWrites = "SW",
        RandomWrites = "RW",
    }
}

// Not derived, because the default is a choice and not the first word of the list.
#[allow(clippy::derivable_impls)]
impl Default for Distribution {
    fn default() -> Self {
        Distribution::Uniform
    }
}

// As that of `Distribution`: by meaning, not by order.
#[allow(clippy::derivable_impls)]
impl Default for ShareOf {
    fn default() -> Self {
        ShareOf::EraseBlocks
    }
}

/// A page of the page cache.
fn default_age_request() -> Bytes {
    Bytes(4 << 10)
}

fn default_saturating_file() -> String {
    "saturating".to_string()
}

/// The proportions that are commonly meant by "hot and cold".
fn default_hot_writes_percent() -> f64 {
    80.0
}

fn default_hot_percent() -> f64 {
    20.0
}

fn default_zipf_theta() -> f64 {
    crate::fio::ZIPF_THETA
}

/// The paper's reference value (uFLIP, section 5.2).
fn default_io_size() -> Bytes {
    Bytes(32 << 10)
}

/// The paper's choice for all patterns but random writes.
fn default_io_count() -> u64 {
    1_024
}

fn one() -> u64 {
    1
}

fn one_step() -> i64 {
    1
}

/// Checks a percentage.
///
/// Errors: the key of a number that is no percentage.
fn share(key: &'static str, percent: f64) -> Result<(), StepError> {
    if percent > 0.0 && percent < 100.0 {
        return Ok(());
    }
    Err(StepError::Share { key, percent })
}

impl Occupy {
    /// Checks the values of the step.
    ///
    /// Errors: the key, what is wrong with it, and what would be right.
    pub fn check(&self) -> Result<(), StepError> {
        request_size("request_B", self.request_bytes)?;
        share("percent", self.percent)
    }
}

fn default_shelf_celsius() -> f64 {
    25.0
}

impl Shelf {
    pub(super) fn check(&self) -> Result<(), StepError> {
        let (days, celsius) = (self.days, self.celsius);
        if (0.0..=DAYS_MAX).contains(&days) && (-60.0..=200.0).contains(&celsius) {
            Ok(())
        } else {
            Err(StepError::Shelf { days, celsius })
        }
    }
}

/// A thousand years.
pub(super) const DAYS_MAX: f64 = 365_250.0;

/// A larger number is a mistake.
pub(super) const OVERWRITES_MAX: f64 = 1e6;

impl Load {
    pub(super) fn check(&self) -> Result<(), StepError> {
        if self.autoplace == Some(true) && self.oob == Some(false) {
            return Err(StepError::NothingToPlace);
        }
        Ok(())
    }
}

impl Age {
    /// Checks the values of the step.
    ///
    /// Errors: the key, what is wrong with it, and what would be right.
    pub fn check(&self) -> Result<(), StepError> {
        request_size("request_B", self.request_bytes)?;
        if !(self.overwrites > 0.0 && self.overwrites <= OVERWRITES_MAX) {
            return Err(StepError::Overwrites { overwrites: self.overwrites });
        }
        // As in fio, theta must not be 1, where the sum is not finite.
        if !(self.zipf_theta > 0.0 && self.zipf_theta != 1.0 && self.zipf_theta.is_finite()) {
            return Err(StepError::ZipfTheta { theta: self.zipf_theta });
        }
        share("hot_writes_percent", self.hot_writes_percent)?;
        share("hot_percent", self.hot_percent)
    }
}
