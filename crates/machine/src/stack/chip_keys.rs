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
