//! What the keys of `[stack]` and the layers of a board say of the machine: the chip that stands on it and its cells, its driver, its
//! kernel.

use crate::error::MachineError;
use crate::file_systems::Mountable;
use crate::media;
use crate::media::Descriptor;
use crate::stack_keys::{StackKeys, NO_FS};
use ffslab_flash::Timing;
use ffslab_linux::Kernel;
use ffslab_mtd::{Driver, Ecc, PageMemory};
use ffslab_profiles::{with_words, Cell, Circumstances, MlcRules, NandWaitName, PartKind, Profile};
use std::collections::BTreeMap;
use std::path::Path;

/// How a chip is called that has no profile.
const IN_PLACE: &str = "[stack.chip]";

/// Puts the chip of `[stack.chip]` on the board.
///
/// Errors: a part is named, too; what is wrong with a key.
pub(super) fn set_chip(
    profile: &mut Profile,
    part: Option<&str>,
    chip: &BTreeMap<String, serde_json::Value>,
    base_dir: &Path,
) -> Result<(), MachineError> {
    if let Some(part) = part {
        return Err(MachineError::word("part", part, "[stack.chip] describes the chip already: leave one of them out"));
    }
    let wrong = |error: toml::ser::Error| MachineError::word("chip", IN_PLACE, error.to_string());
    let mut keys = toml::Table::try_from(chip).map_err(wrong)?;
    keys.entry("title").or_insert_with(|| "A chip of [stack.chip]".into());
    Ok(profile.set_part(IN_PLACE, &keys, base_dir)?)
}

/// Lets the layers of the board hold that are meant for what the keys say.
///
/// Errors: a strength of the ECC that it does not have; what is wrong with a layer.
pub(super) fn hold_layers(
    profile: &mut Profile,
    keys: &StackKeys,
    medium: &media::Descriptor,
    base_dir: &Path,
) -> Result<(), MachineError> {
    let ecc = if medium.keys.contains(&"ecc") { ecc_of(keys, profile.driver().ecc)? } else { profile.driver().ecc };
    let kernel = profile.kernel_series();
    let circumstances = Circumstances {
        fs: (keys.fs != NO_FS).then_some(keys.fs.as_str()),
        medium: medium.name,
        kernel: &kernel,
        page_bytes: profile.part.geometry().page_bytes,
        yaffs2_version: keys.yaffs2_version.unwrap_or(profile.flash_rules().yaffs2),
        ecc: ecc.engine.name,
        ecc_strength_bits: ecc.code.strength_bits,
    };
    Ok(profile.hold_in(&circumstances, base_dir)?)
}

/// The ECC that the keys want in place of the board's.
///
/// Errors: its strength is what it is.
pub(super) fn ecc_of(keys: &StackKeys, of_board: Ecc) -> Result<Ecc, MachineError> {
    let ecc = keys.ecc.map_or(of_board, |ecc| of_board.by(ecc.engine()));
    let Some(strength_bits) = keys.ecc_strength_bits else { return Ok(ecc) };
    if ecc.engine.is_on_die || ecc.engine.only_code.is_some() {
        let needed =
            format!("{} corrects {} in {} bytes", ecc.engine.title, ecc.code.strength_bits, ecc.code.step_bytes);
        return Err(MachineError::number("ecc_strength_bits", strength_bits, needed));
    }
    Ok(ecc.of_strength(strength_bits))
}

/// Gives the driver of NAND what it costs where tasks wait in this way, and the chip what it takes where nandsim stands in for it.
pub(super) fn complete_driver(
    keys: &StackKeys,
    profile: &Profile,
    driver: &mut Driver,
    chip: Timing,
    wait: NandWaitName,
) -> Timing {
    let geometry = profile.part.geometry();
    let simulated = profile.simulated_chip();
    let timing = match simulated.filter(|simulated| simulated.has_whole_page_transfers) {
        Some(_) => {
            let transfer_ns = chip.bus_ps_per_byte * u64::from(geometry.page_bytes) / 1_000;
            let (read_ns, program_ns) = (chip.read_ns + transfer_ns, chip.program_ns + transfer_ns);
            Timing { read_ns, program_ns, bus_ps_per_byte: 0, ..chip }
        }
        None => chip,
    };
    profile.complete_driver(driver, wait, &timing);
    let uptime_ns = keys.uptime_us.map_or(0, |uptime| uptime.ns);
    driver.page_memory = simulated.and_then(|simulated| {
        Some(PageMemory {
            pages_per_slab: pages_per_slab(geometry.page_bytes),
            slab_ns: simulated.slab_ns?,
            free_ns: simulated.page_free_ns,
            draw_ns: if keys.faults.as_ref().is_some_and(|faults| faults.bitflips > 0) { simulated.draw_ns } else { 0 },
            slabs_at_hand: if uptime_ns < simulated.first_chip_until_ns { 0 } else { simulated.slabs_kept },
        })
    });
    timing
}

/// How many pages with their OOB areas are in a slab (`calculate_order` of `mm/slub.c`, on one CPU): 15 of 528 B in 8 KiB, 15 of
/// 2112 B in 32 KiB, which is the most; 7 of 4 KiB and more.
fn pages_per_slab(page_bytes: u32) -> u32 {
    if page_bytes <= 2_048 {
        15
    } else {
        7
    }
}

/// What the page cache may take, which is filled in.
///
/// Errors: it is said twice.
pub(super) fn page_cache_kib(keys: &mut StackKeys, profile: &Profile) -> Result<u64, MachineError> {
    let by_default_kib = match (keys.memory_kib, keys.page_cache_kib) {
        (Some(memory_kib), Some(_)) => {
            let needed = "page_cache_KiB says already what of it files may take: leave one of them out";
            return Err(MachineError::number("memory_KiB", memory_kib, needed));
        }
        (Some(memory_kib), None) => return Ok(profile.page_cache_of_kib(memory_kib)),
        (None, _) => profile.page_cache_bytes() >> 10,
    };
    Ok(*keys.page_cache_kib.get_or_insert(by_default_kib))
}

/// The rules of the kernel on the board's processor.
///
/// Errors: words that no processor has.
pub(super) fn kernel_of(keys: &StackKeys, profile: &Profile) -> Result<Kernel, MachineError> {
    match keys.word_bits {
        None => Ok(profile.kernel()),
        Some(word_bits @ (32 | 64)) => Ok(with_words(profile.kernel(), word_bits)),
        Some(word_bits) => Err(MachineError::number("word_bits", word_bits, "32 or 64 is needed")),
    }
}

/// Checks that kernel and file system take the cells of the profile's part, and the partition in SLC mode if the keys want it.
///
/// Errors: they refuse it; cells of one bit in SLC mode.
pub(super) fn check_cells(
    keys: &StackKeys,
    medium: &Descriptor,
    fs: Option<&dyn Mountable>,
    profile: &Profile,
) -> Result<(), MachineError> {
    let part = &profile.part_name;
    let is_raw = profile.part.kind() == PartKind::Nand;
    let cell = profile.part.nand().filter(|_| is_raw).map_or(Cell::Slc, |array| array.cell);
    if keys.slc_mode {
        let refused = |needed| Err(MachineError::Value { key: "slc_mode", value: "true".to_string(), needed });
        if cell == Cell::Slc || !medium.keys.contains(&"slc_mode") {
            return refused(format!("it is for raw NAND with several bits a cell, which {part} is not: leave it out"));
        }
        if profile.flash_rules().mlc != MlcRules::V5_8 {
            let kernel = &profile.kernel_name;
            return refused(format!("Linux has it since 5.8 (drivers/mtd/mtdcore.c), kernel {kernel} does not"));
        }
    }
    let refusal = fs.filter(|_| cell != Cell::Slc).and_then(|fs| fs.mlc_refusal(keys, profile));
    match refusal {
        None => Ok(()),
        Some(why) => Err(MachineError::Mlc { part: part.clone(), cell: cell.name(), why }),
    }
}

/// The threshold that is asked for.
///
/// Errors: the medium has no ECC; a threshold that no read reaches, or every read.
pub(super) fn threshold(medium: &Descriptor, ecc: &Ecc, bits: u32) -> Result<u32, MachineError> {
    let strength_bits = ecc.code.strength_bits;
    let needed = if !medium.keys.contains(&"bitflip_threshold_bits") {
        format!("{} has no ECC: leave it out", medium.title)
    } else if (1..=strength_bits).contains(&bits) {
        return Ok(bits);
    } else {
        format!("1 to {strength_bits} is needed, what ECC corrects in {} bytes", ecc.code.step_bytes)
    };
    Err(MachineError::number("bitflip_threshold_bits", bits, needed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;
    use crate::stack::StackSpec;
    use ffslab_profiles::Yaffs2Version;
    use ffslab_sim::{Sim, SimConfig};
    use std::path::Path;

    const PART: &str = "k9gag08u0m";

    fn keys(fs: &str, part: &str, kernel: &str) -> StackKeys {
        StackKeys { part: Some(part.into()), kernel: Some(kernel.into()), ..StackKeys::of("omap3evm", fs, 160) }
    }

    fn refusal(keys: &StackKeys) -> Option<String> {
        StackSpec::from_keys(keys, Path::new("")).err().map(|error| error.to_string())
    }

    fn in_slc_mode(keys: StackKeys) -> StackKeys {
        StackKeys { slc_mode: true, ..keys }
    }

    #[test]
    fn each_kernel_and_file_system_makes_of_mlc_what_it_makes_of_it() {
        for fs in ["jffs2", "yaffs2", "ubifs", "none"] {
            assert_eq!(refusal(&keys(fs, PART, "2.6.37")), None, "{fs}: it is NAND like any other");
        }
        for kernel in ["4.19", "5.10", "6.12"] {
            let said = refusal(&keys("ubifs", PART, kernel)).unwrap();
            assert!(said.starts_with("part = \"k9gag08u0m\": its cells are mlc: UBI says"), "{said}");
            assert!(said.contains("slc_mode = true"), "{said}");
            assert!(refusal(&keys("jffs2", PART, kernel)).unwrap().contains("jffs2_cleanmarker_oob"));
            assert_eq!(refusal(&keys("yaffs2", PART, kernel)), None, "today's sources do not ask");
            let of_2011 = StackKeys { yaffs2_version: Some(Yaffs2Version::Y2011), ..keys("yaffs2", PART, kernel) };
            assert!(refusal(&of_2011).unwrap().contains("MTD device is not NAND"));
        }
        assert_eq!(refusal(&in_slc_mode(keys("ubifs", PART, "5.10"))), None);
        assert!(refusal(&in_slc_mode(keys("jffs2", PART, "5.10"))).is_some(), "the type stays that of MLC");
        for kernel in ["2.6.37", "4.19"] {
            let said = refusal(&in_slc_mode(keys("ubifs", PART, kernel))).unwrap();
            assert!(said.starts_with("slc_mode = true: Linux has it since 5.8"), "{said}");
        }
    }

    #[test]
    fn slc_mode_is_for_cells_of_several_bits_with_a_known_pairing() {
        let said = refusal(&in_slc_mode(keys("ubifs", "mt29f2g08abaea", "6.1"))).unwrap();
        assert!(said.ends_with("which mt29f2g08abaea is not: leave it out"), "{said}");
        let said = refusal(&in_slc_mode(keys("ubifs", "mt29f8g08maa", "6.1"))).unwrap();
        assert!(said.contains("`pairing` of the part"), "{said}");
        let (spec, _) = StackSpec::from_keys(&in_slc_mode(keys("ubifs", PART, "6.1")), Path::new("")).unwrap();
        let mtd = spec.medium(&Sim::new(SimConfig::default())).unwrap();
        assert_eq!((mtd.erase_block_bytes(), mtd.blocks()), (256 << 10, 160));
        assert_eq!(mtd.capabilities().partial_program_bytes, 4096);
        assert_eq!(spec.medium_bytes(), mtd.size_bytes());
    }

    /// The mean of the fast and the slow pages of the part is its tPROG.
    #[test]
    fn lower_pages_are_fast_and_upper_ones_slow() {
        let took_ns = |keys: &StackKeys, pages: u64| {
            let (spec, _) = StackSpec::from_keys(keys, Path::new("")).unwrap();
            let sim = Sim::new(SimConfig::default());
            let mtd = spec.medium(&sim).unwrap();
            mtd.write(0, &vec![0x55; pages as usize * 4096]).unwrap();
            sim.now_ns()
        };
        let plain = keys("none", PART, "6.1");
        let bus_ns = took_ns(&in_slc_mode(plain.clone()), 1) - 300_000;
        assert_eq!(took_ns(&in_slc_mode(plain.clone()), 64), 64 * (300_000 + bus_ns));
        assert_eq!(took_ns(&plain, 128), 64 * (300_000 + 1_300_000 + 2 * bus_ns));
    }

    #[test]
    fn a_threshold_is_of_what_ecc_corrects() {
        let with = |bits, kernel| StackKeys {
            ecc_strength_bits: Some(8),
            bitflip_threshold_bits: bits,
            ..keys("none", "mt29f2g08abaea", kernel)
        };
        let threshold = |bits, kernel| {
            let (spec, _) = StackSpec::from_keys(&with(bits, kernel), Path::new("")).unwrap();
            spec.partition.driver.threshold_bits()
        };
        assert_eq!((threshold(None, "6.1"), threshold(None, "2.6.37"), threshold(Some(2), "6.1")), (6, 1, 2));
        for bits in [0, 9] {
            let said = refusal(&with(Some(bits), "6.1")).unwrap();
            assert_eq!(
                said,
                format!("bitflip_threshold_bits = {bits}: 1 to 8 is needed, what ECC corrects in 512 bytes")
            );
        }
    }
}
