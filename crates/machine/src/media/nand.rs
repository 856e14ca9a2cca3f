//! A raw NAND chip with its driver.

use super::descriptor::Descriptor;
use ffslab_flash::Chip;
use ffslab_mtd::{MediumError, Nand, NandPartition};
use ffslab_profiles::PartKind;

pub static NAND: Descriptor = Descriptor {
    name: "nand",
    title: "raw NAND",
    about: "a raw NAND chip of a data sheet with the board's driver and its ECC",
    of_parts: &[PartKind::Nand],
    keys: &[
        "part",
        "chip_blocks",
        "ecc",
        "ecc_strength_bits",
        "bitflip_threshold_bits",
        "slc_mode",
        "nand_wait",
        "faults",
        "ageing",
        "first_block",
        "partition_blocks",
    ],
    on_linux: Some(|spec, sim| {
        let mut chip = Chip::new(sim.clone(), spec.geometry, spec.timing, spec.rules)?;
        chip.set_faults(&spec.faults).map_err(MediumError::Faults)?;
        if let Some(model) = &spec.ageing {
            chip.set_ageing(model.clone());
        }
        chip.set_pairing(spec.mlc.pairing.clone())?;
        if let Some(laws) = &spec.mlc.laws {
            chip.set_laws(laws.clone()).map_err(|error| MediumError::Times(error.to_string()))?;
        }
        let part = NandPartition::new(&Nand::new(chip, spec.driver)?, spec.first_block, spec.partition_blocks)?;
        Ok(if spec.mlc.slc_mode { part.in_slc_mode()? } else { part }.into())
    }),
    on_rtems: None,
};
