//! Figures that every kind of chip has: times at most, and power.

use crate::constant::{said, Amount, Sourced};

/// Times at most, where the profile knows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LongestTimes {
    pub read_ns: Option<u64>,
    pub program_ns: Option<u64>,
    pub erase_ns: Option<u64>,
}

/// Power of the chip by what it does; `None` where the profile does not say current and voltage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChipPower {
    pub read_milliwatt: Option<f64>,
    pub program_milliwatt: Option<f64>,
    pub erase_milliwatt: Option<f64>,
    pub standby_milliwatt: Option<f64>,
}

type Given = Option<Sourced<Amount>>;

impl ChipPower {
    pub(super) fn of(
        supply_volt: &Given,
        [read, program, erase]: [&Given; 3],
        standby_microampere: &Given,
    ) -> ChipPower {
        let milliwatt = |milliampere: &Given| Some(said(milliampere)?.0 * said(supply_volt)?.0);
        ChipPower {
            read_milliwatt: milliwatt(read),
            program_milliwatt: milliwatt(program),
            erase_milliwatt: milliwatt(erase),
            standby_milliwatt: milliwatt(standby_microampere).map(|microwatt| microwatt / 1_000.0),
        }
    }
}
