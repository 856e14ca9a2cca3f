//! What RTEMS takes: the costs of code on a board (`profiles/boards`) and those of a block device
//! (`profiles/block-devices`).

use crate::built_in::Kind;
use crate::cards::CardProfile;
use crate::error::ProfileError;
use crate::layers::merged;
use crate::look_up::{find, Text};
use crate::rtems_files::{BoardFile, DeviceFile};
use ffslab_block::DeviceProfile;
use ffslab_rtems::cpu::CpuCosts;
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

pub(crate) fn read_device(source: &Text) -> Result<(DeviceProfile, Option<CardProfile>), ProfileError> {
    Ok(merged(Kind::BlockDevice, source)?.read::<DeviceFile>()?.device())
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
