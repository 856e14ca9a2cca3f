//! The `[stack.ageing]` table of an experiment: how the cells of the chip age.

use crate::error::MachineError;
use ffslab_flash::{Ageing, Promise, AGEING_CONSTANTS, YEAR_S};
use ffslab_mtd::Ecc;
use ffslab_profiles::{Cell, EccRequired, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! ageing_keys {
    ($($(#[$meta:meta])* $name:ident ($key:literal): $($field:ident).+ in $range:expr;)+) => {
        /// How the chip ages: raw bit errors by wear, time and reads, and blocks that fail. Absent rates follow from what the part's data
        /// sheet promises; `docs/ageing.md` has the formulas and the source of each default.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct AgeingKeys {
            /// Erases that each block has behind it at the start.
            #[serde(default)]
            pub pe_cycles: u32,
            /// Erases that a block endures; the part's own if absent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub endurance_erases: Option<u32>,
            /// Years for which the part promises to keep data, after a tenth of its erases; the part's own if absent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub retention_years: Option<f64>,
            /// Reads of a block between two erases that the part bears at its endurance.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub reads: Option<f64>,
            /// Wrong bits of an ECC step that the part wants corrected; absent: what its profile says, or what the board's ECC corrects.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub ecc_required_bits: Option<u32>,
            /// Read retry modes of the part, the normal one included; 0: it has no read retry.
            #[serde(default)]
            pub read_retry_modes: u32,
            /// Which cells are weak, and which blocks fail first.
            #[serde(default)]
            pub seed: u64,
            $($(#[$meta])*
            #[serde(rename = $key, default, skip_serializing_if = "Option::is_none")]
            pub $name: Option<f64>,)+
        }

        impl AgeingKeys {
            /// Puts what the keys say into a model, and what the model has into the keys that say nothing.
            ///
            /// Errors: a number without meaning.
            fn exchange(&mut self, model: &mut Ageing) -> Result<(), MachineError> {
                $(if let Some(value) = self.$name {
                    let range: std::ops::RangeInclusive<f64> = $range;
                    if !range.contains(&value) {
                        let needed = format!("a number from {} to {} is needed", range.start(), range.end());
                        return Err(MachineError::Value { key: concat!("ageing.", $key), value: value.to_string(), needed });
                    }
                    model.$($field).+ = value;
                }
                self.$name = Some(model.$($field).+);)+
                Ok(())
            }
        }
    };
}

ageing_keys! {
    /// While the device is switched on.
    temperature_celsius("temperature_C"): temperature_celsius in -60.0..=200.0;
    /// At which `retention_years` is promised.
    rated_celsius("rated_C"): rated_celsius in -60.0..=200.0;
    /// Activation energy of the law of Arrhenius.
    activation_electronvolt("activation_eV"): activation_electronvolt in 0.0..=3.0;
    /// Shape a of the Beta distribution of an ECC step's rate; 1e6: all steps are alike, errors are binomial.
    frame_shape("frame_shape"): frame_shape in 0.01..=1e6;
    /// Share of bits that are wrong right after a program, at the endurance.
    write_rate("write_rate"): write_rate in 0.0..=0.5;
    /// How it grows with erases.
    write_exponent("write_exponent"): write_exponent in 0.0..=10.0;
    /// Share of bits that are wrong after `retention_years`, with a tenth of the erases.
    retention_rate("retention_rate"): retention_rate in 0.0..=0.5;
    /// How it grows with erases.
    retention_wear_exponent("retention_wear_exponent"): retention_wear_exponent in 0.0..=10.0;
    /// How it grows with time.
    retention_time_exponent("retention_time_exponent"): retention_time_exponent in 0.01..=10.0;
    /// Wear that a new block counts as having, for retention and reads, as a share of the endurance.
    new_wear_share("new_wear_share"): new_wear_share in 0.0..=1.0;
    /// Share of bits that each read of the block makes wrong, at the endurance.
    disturb_rate("disturb_rate"): disturb_rate in 0.0..=0.5;
    /// How it grows with erases.
    disturb_exponent("disturb_exponent"): disturb_exponent in 0.0..=10.0;
    /// Share of blocks that have failed at the endurance; 0: none ever fails.
    failed_share("failed_share"): failed_share in 0.0..=0.999;
    /// Shape of the Weibull distribution of the lives of blocks.
    life_shape("life_shape"): life_shape in 0.1..=100.0;
    /// What each read retry mode leaves of the errors of retention and reads.
    retry_share("retry_share"): retry_share in 0.0..=1.0;
    /// Share of the failing blocks that fail in a program, not in an erase.
    program_failure_share("program_failure_share"): program_failure_share in 0.0..=1.0;
}

impl AgeingKeys {
    /// The model for this part behind this ECC; the keys get all values.
    ///
    /// Errors: a number without meaning, a part of which too little is known.
    pub fn model(&mut self, part: &Part, part_name: &str, ecc: &Ecc) -> Result<Ageing, MachineError> {
        let of = |name: &str| AGEING_CONSTANTS.iter().find(|known| known.name == name).map_or(0.0, |known| known.value);
        let endurance = self.endurance_erases.or_else(|| part.endurance_erases()).filter(|&erases| erases > 0);
        let Some(endurance_erases) = endurance else {
            let needed = format!("part {part_name} does not say how many erases a block endures: give at least 1");
            return Err(MachineError::Value { key: "ageing.endurance_erases", value: "?".to_string(), needed });
        };
        let positive = |key: &'static str, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(value)
            } else {
                let needed = "a number above 0 is needed".to_string();
                Err(MachineError::Value { key, value: value.to_string(), needed })
            }
        };
        let array = part.nand();
        let cell = array.map_or(Cell::Slc, |array| array.cell);
        let reads = of(if cell == Cell::Slc { "reads_SLC" } else { "reads_MLC" });
        let years = array.and_then(|array| array.retention_years).unwrap_or_else(|| of("retention_years"));
        let of_board = EccRequired { bits: ecc.code.strength_bits, step_bytes: ecc.code.step_bytes };
        let of_part = array.and_then(|array| array.ecc_required).unwrap_or(of_board);
        let required = self.ecc_required_bits.map_or(of_part, |bits| EccRequired { bits, ..of_part });
        let promise = Promise {
            endurance_erases,
            retention_years: positive("ageing.retention_years", self.retention_years.unwrap_or(years))?,
            reads: positive("ageing.reads", self.reads.unwrap_or(reads))?,
            corrected_bits: required.bits,
            step_bytes: required.step_bytes,
        };
        let mut model = Ageing::promised(&promise);
        if let Some(bad) = array.and_then(|array| array.bad_blocks_max).filter(|&bad| bad > 0) {
            model.failed_share = (f64::from(bad) / f64::from(part.geometry().blocks)).min(0.999);
        }
        self.exchange(&mut model)?;
        self.endurance_erases = Some(endurance_erases);
        self.retention_years = Some(model.retention_s / YEAR_S);
        self.reads = Some(promise.reads);
        self.ecc_required_bits = Some(promise.corrected_bits);
        Ok(Ageing { seed: self.seed, worn_erases: self.pe_cycles, retry_modes: self.read_retry_modes, ..model })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_profiles::Profile;
    use std::path::Path;

    fn model(keys: &mut AgeingKeys) -> Result<Ageing, MachineError> {
        let part = Profile::load("omap3evm", None, None, Path::new(".")).unwrap().part;
        keys.model(&part, "a part", &Ecc::HARDWARE)
    }

    #[test]
    fn keys_have_all_values_and_give_the_same_model_again() {
        let mut keys = AgeingKeys { endurance_erases: Some(100_000), pe_cycles: 5, ..AgeingKeys::default() };
        let first = model(&mut keys).unwrap();
        assert!(keys.retention_rate.is_some() && keys.reads == Some(100_000.0));
        let text = toml::to_string(&keys).unwrap();
        let mut again: AgeingKeys = toml::from_str(&text).unwrap();
        assert_eq!(model(&mut again).unwrap(), first);
        assert_eq!(again, keys);
    }

    #[test]
    fn numbers_without_meaning_are_refused_by_name() {
        let mut keys =
            AgeingKeys { endurance_erases: Some(1), temperature_celsius: Some(1e9), ..AgeingKeys::default() };
        assert!(model(&mut keys).unwrap_err().to_string().starts_with("ageing.temperature_C = 1000000000: a number"));
        let mut keys = AgeingKeys { endurance_erases: Some(1), retention_years: Some(-1.0), ..AgeingKeys::default() };
        assert!(model(&mut keys).unwrap_err().to_string().starts_with("ageing.retention_years = -1: a number"));
    }
}
