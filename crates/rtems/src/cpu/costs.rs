//! The CPU's constants, from `profiles/boards`. Every number there stands with its source and status.

use serde::{Deserialize, Deserializer};

use crate::profile::ProfileError;

/// What code costs on a board. Times are picoseconds, so that cycles of any clock add up exactly.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct CpuCosts {
    pub title: String,
    #[serde(rename = "line_B", deserialize_with = "whole")]
    pub line_bytes: u64,
    #[serde(rename = "l1_KiB", deserialize_with = "whole")]
    pub l1_kib: u64,
    #[serde(rename = "l1_ways", deserialize_with = "whole")]
    pub l1_ways_count: u64,
    #[serde(rename = "l2_KiB", deserialize_with = "whole")]
    pub l2_kib: u64,
    #[serde(rename = "l2_ways", deserialize_with = "whole")]
    pub l2_ways_count: u64,
    /// Moving a byte between registers and the nearest cache, both ways.
    #[serde(rename = "copy_ns_per_B", deserialize_with = "picoseconds")]
    pub copy_ps_per_byte: u64,
    /// Additional time for a line that is loaded from L2.
    #[serde(rename = "l2_read_ns", deserialize_with = "picoseconds")]
    pub l2_read_ps: u64,
    /// Additional time for a line that is loaded from memory.
    #[serde(rename = "memory_read_ns", deserialize_with = "picoseconds")]
    pub memory_read_ps: u64,
    /// Additional time for storing to a line that is in no cache.
    #[serde(rename = "memory_write_ns", deserialize_with = "picoseconds")]
    pub memory_write_ps: u64,
    /// A system call on a descriptor, from the program to the file system's handler and back.
    #[serde(rename = "call_ns", deserialize_with = "picoseconds")]
    pub call_ps: u64,
    /// For each vector of `readv` and `writev`.
    #[serde(rename = "vector_ns", deserialize_with = "picoseconds")]
    pub vector_ps: u64,
    /// For each component of a path.
    #[serde(rename = "path_component_ns", deserialize_with = "picoseconds")]
    pub path_component_ps: u64,
    /// The measuring program asks for the time.
    #[serde(rename = "clock_read_ns", deserialize_with = "picoseconds")]
    pub clock_read_ps: u64,
    /// What the program fio computes for a request, in addition to its calls and reading the clock.
    #[serde(rename = "fio_request_ns", deserialize_with = "picoseconds")]
    pub fio_request_ps: u64,
    /// Obtaining and releasing a mutex that is free.
    #[serde(rename = "lock_ns", deserialize_with = "picoseconds")]
    pub lock_ps: u64,
    /// From one task to another.
    #[serde(rename = "context_switch_ns", deserialize_with = "picoseconds")]
    pub context_switch_ps: u64,
    /// A call into the block cache, without its lock and look-up.
    #[serde(rename = "bdbuf_call_ns", deserialize_with = "picoseconds")]
    pub bdbuf_call_ps: u64,
    /// Per level of the block cache's tree.
    #[serde(rename = "tree_level_ns", deserialize_with = "picoseconds")]
    pub tree_level_ps: u64,
    #[serde(rename = "rfs_block_ns", deserialize_with = "picoseconds")]
    pub rfs_block_ps: u64,
    #[serde(rename = "dosfs_sector_ns", deserialize_with = "picoseconds")]
    pub dosfs_sector_ps: u64,
    #[serde(rename = "imfs_block_ns", deserialize_with = "picoseconds")]
    pub imfs_block_ps: u64,
    #[serde(rename = "imfs_table_ns", deserialize_with = "picoseconds")]
    pub imfs_table_ps: u64,
    /// `calloc` of a memory file's block, without clearing it.
    #[serde(rename = "allocate_ns", deserialize_with = "picoseconds")]
    pub allocate_ps: u64,
    #[serde(rename = "jffs2_node_ns", deserialize_with = "picoseconds")]
    pub jffs2_node_ps: u64,
    #[serde(rename = "yaffs2_chunk_ns", deserialize_with = "picoseconds")]
    pub yaffs2_chunk_ps: u64,
    #[serde(rename = "crc_ns_per_B", deserialize_with = "picoseconds")]
    pub crc_ps_per_byte: u64,
    #[serde(rename = "deflate_ns_per_B", deserialize_with = "picoseconds")]
    pub deflate_ps_per_byte: u64,
    #[serde(rename = "inflate_ns_per_B", deserialize_with = "picoseconds")]
    pub inflate_ps_per_byte: u64,
    #[serde(rename = "rtime_ns_per_B", deserialize_with = "picoseconds")]
    pub rtime_ps_per_byte: u64,
}

/// Name and text of each profile.
const PROFILES: [(&str, &str); 1] =
    [("beaglebone-black", include_str!("../../../../profiles/boards/beaglebone-black.toml"))];

#[derive(Deserialize)]
struct Constant {
    value: f64,
}

/// Reads a size or a number, which must be 1 or more.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let value = Constant::deserialize(from)?.value;
    match value.fract() == 0.0 && (1.0..=1e6).contains(&value) {
        true => Ok(value as u64),
        false => Err(serde::de::Error::custom(format!("{value} must be a whole number from 1 to 1e6"))),
    }
}

/// Nanoseconds in the file.
fn picoseconds<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let value = Constant::deserialize(from)?.value;
    match (0.0..=1e9).contains(&value) {
        // The function multiplies by 1000: nanoseconds become picoseconds as microseconds become nanoseconds.
        true => Ok(ffslab_sim::units::us_to_ns(value)),
        false => Err(serde::de::Error::custom(format!("{value} ns must be from 0 to 1e9"))),
    }
}

impl CpuCosts {
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROFILES.iter().map(|&(name, _)| name)
    }

    /// The profile of that name.
    pub fn named(name: &str) -> Result<CpuCosts, ProfileError> {
        match PROFILES.iter().find(|&&(known, _)| known == name) {
            Some((known, text)) => CpuCosts::parse(&format!("profiles/boards/{known}.toml"), text),
            None => {
                let known = CpuCosts::names().collect::<Vec<_>>().join(", ");
                Err(ProfileError::Unknown { what: "board with RTEMS", name: name.into(), known })
            }
        }
    }

    /// A profile's text; `file` names it in messages.
    pub fn parse(file: &str, text: &str) -> Result<CpuCosts, ProfileError> {
        let bad = |message: String| ProfileError::Bad { file: file.into(), message };
        let costs: CpuCosts = toml::from_str(text).map_err(|error| bad(error.message().to_string()))?;
        let caches = [("l1", costs.l1_kib, costs.l1_ways_count), ("l2", costs.l2_kib, costs.l2_ways_count)];
        for (name, kib, ways) in caches {
            let sets = kib * 1024 / costs.line_bytes / ways;
            if !sets.is_power_of_two() || sets * ways * costs.line_bytes != kib * 1024 {
                return Err(bad(format!(
                    "{name}_KiB = {kib} in {ways} ways of {} B lines: sizes must make a power of two of sets",
                    costs.line_bytes
                )));
            }
        }
        if !costs.line_bytes.is_power_of_two() {
            return Err(bad(format!("line_B = {} must be a power of two", costs.line_bytes)));
        }
        Ok(costs)
    }
}
