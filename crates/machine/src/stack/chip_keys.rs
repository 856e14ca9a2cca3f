//! Keys about the chip that kernel, part and file system must agree on: cells of several bits, the threshold for flipped bits.

use crate::error::MachineError;
use crate::file_systems::Mountable;
use crate::media::Descriptor;
use crate::stack_keys::StackKeys;
use ffslab_mtd::Ecc;
use ffslab_profiles::{Cell, MlcRules, PartKind, Profile};

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
        if profile.mlc_rules() != MlcRules::V5_8 {
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
    let needed = match medium.keys.contains(&"bitflip_threshold_bits") {
        true if (1..=strength_bits).contains(&bits) => return Ok(bits),
        true => format!("1 to {strength_bits} is needed, what ECC corrects in {} bytes", ecc.code.step_bytes),
        false => format!("{} has no ECC: leave it out", medium.title),
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
