//! What RTEMS takes: the costs of code on a board (`profiles/boards`) and those of a block device
//! (`profiles/block-devices`).

use crate::built_in::{find, Kind, Text};
use crate::cards::{CardProfile, CardTable};
use crate::constant::{Amount, Sourced};
use crate::error::ProfileError;
use crate::layers::merged;
use ffslab_block::DeviceProfile;
use ffslab_rtems::cpu::CpuCosts;
use ffslab_sim::units::us_to_ns;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

/// What code costs on the board of this name or path; a path is relative to `base_dir`.
///
/// Errors: there is no such profile, or it is none.
pub fn rtems_board(name: &str, base_dir: &Path) -> Result<CpuCosts, ProfileError> {
    read_board(&find(Kind::RtemsBoard, name, base_dir)?)
}

/// What the block device of this name or path costs; a path is relative to `base_dir`.
///
/// Errors: there is no such profile, or it is none.
pub fn block_device(name: &str, base_dir: &Path) -> Result<DeviceProfile, ProfileError> {
    Ok(card(name, base_dir)?.0)
}

/// The same, with what stands inside it if its file says so.
///
/// Errors: there is no such profile, or it is none.
pub fn card(name: &str, base_dir: &Path) -> Result<(DeviceProfile, Option<CardProfile>), ProfileError> {
    read_device(&find(Kind::BlockDevice, name, base_dir)?)
}

/// A size or a number of things.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
pub(crate) struct Whole(pub u64);

impl TryFrom<f64> for Whole {
    type Error = String;
    fn try_from(value: f64) -> Result<Whole, String> {
        if value.fract() == 0.0 && (1.0..=1e6).contains(&value) {
            Ok(Whole(value as u64))
        } else {
            Err(format!("{value} must be a whole number from 1 to 1e6"))
        }
    }
}

/// Nanoseconds in the file, picoseconds here, so that cycles of any clock add up exactly.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
pub(crate) struct Picoseconds(pub u64);

impl TryFrom<f64> for Picoseconds {
    type Error = String;
    fn try_from(value: f64) -> Result<Picoseconds, String> {
        if !(0.0..=1e9).contains(&value) {
            return Err(format!("{value} ns must be from 0 to 1e9"));
        }
        // The factor from ns to ps is the same as that from us to ns.
        Ok(Picoseconds(us_to_ns(value)))
    }
}

macro_rules! board_file {
    ($($field:ident: $kind:ident $key:literal, $about:literal;)+) => {
        /// A board with RTEMS: what its code costs.
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct BoardFile {
            /// What people read of it.
            title: String,
            /// Name or file of the board that says what this file does not.
            #[serde(rename = "base")]
            _base: Option<String>,
            /// How many times as long as on the base the CPU computes: multiplies all times that come from there but those of
            /// memory.
            #[serde(rename = "cpu_time_scale")]
            _cpu_time_scale: Option<Sourced<Amount>>,
            $(#[doc = $about] #[serde(rename = $key)] $field: Sourced<$kind>,)+
        }

        impl BoardFile {
            fn costs(self) -> CpuCosts {
                CpuCosts { title: self.title, $($field: self.$field.value.0,)+ }
            }
        }
    };
}

board_file! {
    line_bytes: Whole "line_B", "Bytes of a line of the CPU's caches.";
    l1_kib: Whole "l1_KiB", "First-level cache of data.";
    l1_ways_count: Whole "l1_ways", "Ways of the first-level cache.";
    l2_kib: Whole "l2_KiB", "Second-level cache.";
    l2_ways_count: Whole "l2_ways", "Ways of the second-level cache.";
    copy_ps_per_byte: Picoseconds "copy_ns_per_B", "A byte is copied within the first-level cache.";
    l2_read_ps: Picoseconds "l2_read_ns", "A line is read from the second-level cache.";
    memory_read_ps: Picoseconds "memory_read_ns", "A line is read from memory.";
    memory_write_ps: Picoseconds "memory_write_ns", "A line is written to memory.";
    call_ps: Picoseconds "call_ns", "A system call: descriptor, reference count, handler.";
    vector_ps: Picoseconds "vector_ns", "A vector of readv(2) or writev(2).";
    path_component_ps: Picoseconds "path_component_ns", "A component of a path is evaluated.";
    clock_read_ps: Picoseconds "clock_read_ns", "The program reads the clock.";
    fio_request_ps: Picoseconds "fio_request_ns", "What fio computes for a request.";
    lock_ps: Picoseconds "lock_ns", "A mutex is obtained and released.";
    context_switch_ps: Picoseconds "context_switch_ns", "Another task is dispatched.";
    bdbuf_call_ps: Picoseconds "bdbuf_call_ns", "A call of the block cache, beside its lock.";
    tree_level_ps: Picoseconds "tree_level_ns", "A level of the tree of cached blocks.";
    rfs_block_ps: Picoseconds "rfs_block_ns", "RFS handles a block.";
    dosfs_sector_ps: Picoseconds "dosfs_sector_ns", "DOSFS handles a sector.";
    imfs_block_ps: Picoseconds "imfs_block_ns", "IMFS handles a memory block.";
    imfs_table_ps: Picoseconds "imfs_table_ns", "IMFS goes through a table of blocks.";
    allocate_ps: Picoseconds "allocate_ns", "Memory is allocated or freed.";
    jffs2_node_ps: Picoseconds "jffs2_node_ns", "JFFS2 makes or looks up a node.";
    yaffs2_chunk_ps: Picoseconds "yaffs2_chunk_ns", "YAFFS2 makes or looks up a chunk.";
    crc_ps_per_byte: Picoseconds "crc_ns_per_B", "A check sum over so many bytes.";
    deflate_ps_per_byte: Picoseconds "deflate_ns_per_B", "zlib compresses so many bytes.";
    inflate_ps_per_byte: Picoseconds "inflate_ns_per_B", "zlib decompresses to so many bytes.";
    rtime_ps_per_byte: Picoseconds "rtime_ns_per_B", "rtime compresses or decompresses so many bytes.";
}

pub(crate) fn read_board(source: &Text) -> Result<CpuCosts, ProfileError> {
    let costs = merged(Kind::RtemsBoard, source)?.read::<BoardFile>()?.costs();
    let (file, line_bytes) = (source.label.clone(), costs.line_bytes);
    let caches = [("l1", costs.l1_kib, costs.l1_ways_count), ("l2", costs.l2_kib, costs.l2_ways_count)];
    for (level, kib, ways) in caches {
        let sets = kib * 1024 / line_bytes / ways;
        if !sets.is_power_of_two() || sets * ways * line_bytes != kib * 1024 {
            return Err(ProfileError::CacheSets { file, level, kib, ways, line_bytes });
        }
    }
    if !line_bytes.is_power_of_two() {
        return Err(ProfileError::CacheLine { file, line_bytes });
    }
    Ok(costs)
}

/// A block device: what its requests cost.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeviceFile {
    /// What people read of it.
    title: String,
    /// Name or file of the device that says what this file does not.
    #[serde(rename = "base")]
    _base: Option<String>,
    /// What the driver's task takes for a request.
    request_us: Sourced<Amount>,
    /// Command, answer and interrupt.
    command_us: Sourced<Amount>,
    /// From the command of a read to its first byte.
    read_access_us: Sourced<Amount>,
    /// How long the device is busy after the last byte of a write.
    write_busy_us: Sourced<Amount>,
    /// A byte that is read.
    #[serde(rename = "read_ns_per_B")]
    read_ns_per_byte: Sourced<Amount>,
    /// A byte that is written.
    #[serde(rename = "write_ns_per_B")]
    write_ns_per_byte: Sourced<Amount>,
    /// Whether the CPU moves the bytes, as of a RAM disk.
    occupies_cpu: Sourced<bool>,
    /// Whether requests of several blocks must name consecutive ones.
    consecutive_blocks: Sourced<bool>,
    /// What stands inside it: flash behind a translation layer. Without it the costs above are all.
    ftl: Option<CardTable>,
}

pub(crate) fn read_device(source: &Text) -> Result<(DeviceProfile, Option<CardProfile>), ProfileError> {
    let file: DeviceFile = merged(Kind::BlockDevice, source)?.read()?;
    let ns = |us: &Sourced<Amount>| us_to_ns(us.value.0);
    // The factor from ns to ps is the same as that from us to ns.
    let ps = ns;
    let card = file.ftl.map(CardTable::card);
    let segments = card.as_ref();
    let profile = DeviceProfile {
        title: file.title,
        request_ns: ns(&file.request_us),
        command_ns: ns(&file.command_us),
        read_access_ns: ns(&file.read_access_us),
        write_busy_ns: ns(&file.write_busy_us),
        read_ps_per_byte: ps(&file.read_ns_per_byte),
        write_ps_per_byte: ps(&file.write_ns_per_byte),
        occupies_cpu: file.occupies_cpu.value,
        consecutive_blocks: file.consecutive_blocks.value,
        segment_bytes: segments.map_or(0, |card| card.segment_bytes),
        read_segment_ns: segments.map_or(0, |card| card.read_segment_ns),
        write_segment_ns: segments.map_or(0, |card| card.write_segment_ns),
    };
    Ok((profile, card))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> &'static Path {
        Path::new("")
    }

    #[test]
    fn a_block_device_has_the_numbers_of_its_file() {
        let sd = block_device("sd-card", here()).unwrap();
        assert_eq!((sd.command_ns, sd.write_busy_ns, sd.read_ps_per_byte), (30_000, 1_093_000, 46_500));
        assert!(sd.consecutive_blocks && !sd.occupies_cpu);
    }

    #[test]
    fn a_card_has_what_stands_inside_it() {
        let (costs, inside) = card("sd-card-kingston-4g", here()).unwrap();
        let inside = inside.unwrap();
        assert_eq!(
            (inside.ftl.as_str(), inside.log_blocks, inside.random_segments_count),
            ("open-segments", Some(3), 3)
        );
        assert_eq!((inside.segment_bytes, inside.page_bytes, costs.segment_bytes), (4 << 20, 16384, 4 << 20));
        let (_, cached) = card("emmc-slc-cache", here()).unwrap();
        let cached = cached.unwrap();
        assert_eq!((cached.slc_cache_blocks, cached.cell_bits), (Some(8), 2));
        assert!(card("usb-stick-log-blocks", here()).unwrap().1.is_some());
        assert_eq!(card("sd-card", here()).unwrap().1, None);
    }

    #[test]
    fn an_unknown_device_is_told_the_known_ones() {
        let error = block_device("floppy", here()).unwrap_err();
        let text = error.to_string();
        let cards = "known: emmc-slc-cache, ram-disk-beaglebone, sd-card, sd-card-kingston-4g, usb-stick";
        assert!(text.starts_with(&format!("unknown block device `floppy`: {cards}")), "{text}");
        assert!(text.ends_with("or the path of a file such as ./my-block-device.toml"), "{text}");
    }

    /// TI measured 181 MB/s for copies of 16 MiB on this SoC; the prices of loads and stores come from other measurements.
    #[test]
    fn copying_memory_is_as_fast_as_measured() {
        let costs = rtems_board("beaglebone-black", here()).unwrap();
        let line_ps = costs.line_bytes * costs.copy_ps_per_byte + costs.memory_read_ps + costs.memory_write_ps;
        let mb_per_s = costs.line_bytes as f64 / line_ps as f64 * 1e6;
        assert!((mb_per_s - 180.87).abs() < 0.03 * 180.87, "{mb_per_s} MB/s");
    }

    #[test]
    fn caches_that_no_cpu_has_and_numbers_out_of_range_are_refused() {
        let board = find(Kind::RtemsBoard, "beaglebone-black", here()).unwrap();
        let with = |from: &str, to: &str| {
            assert!(board.text.contains(from), "{from}");
            let text = board.text.replace(from, to);
            read_board(&Text { label: "my.toml".to_string(), text, folder: here().into() }).unwrap_err()
        };
        let three = with("l1_ways = { value = 4,", "l1_ways = { value = 3,");
        assert!(matches!(three, ProfileError::CacheSets { level: "l1", ways: 3, .. }), "{three}");
        let minus = with("call_ns = { value = 150,", "call_ns = { value = -1,").to_string();
        assert!(minus.starts_with("my.toml:") && minus.ends_with("-1 ns must be from 0 to 1e9"), "{minus}");
        let slip = with("\nlock_ns", "\nlok_ns").to_string();
        assert!(slip.starts_with("my.toml:") && slip.contains("did you mean `lock_ns`?"), "{slip}");
    }
}
