//! Energy of a chip, from the currents of its data sheet.
//!
//! ONFI and the vendors give a supply voltage and a current for each thing that a die does: ICC1 reading the array, ICC2
//! programming, ICC3 erasing, ICC4 moving data over the bus, and ISB for nothing at all. Voltage times current is power,
//! and energy is power for as long as it lasts. This is the chip alone; what a board draws while its driver works is
//! measured on the board (`[driver]` of a board) and is another figure.

use std::ops::{Add, AddAssign, Sub};

use ffslab_sim::OpCounts;

use crate::geometry::Timing;

/// Power of a chip by what it does. That of the array is for one plane that works.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChipPowerMilliwatt {
    /// ICC1.
    pub read: f64,
    /// ICC2.
    pub program: f64,
    /// ICC3.
    pub erase: f64,
    /// ICC4.
    pub bus: f64,
    /// ISB, of each die that does nothing.
    pub standby: f64,
}

/// How long units worked, command by command, summed over all of them: what overlaps counts as often as it happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Arrays, and the bus that took the data away.
    pub read_ns: u64,
    pub read_bus_ns: u64,
    pub program_ns: u64,
    pub program_bus_ns: u64,
    pub erase_ns: u64,
    /// The reading half of copy-backs, and the programming half.
    pub copy_read_ns: u64,
    pub copy_program_ns: u64,
    /// The bus, for the bytes of copy-backs that a controller looks at and changes.
    pub copy_bus_ns: u64,
}

/// Energy by kind of command, in microjoule, each with its share of the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChipEnergy {
    pub read_uj: f64,
    pub program_uj: f64,
    pub erase_uj: f64,
    pub copy_back_uj: f64,
    /// Dies that do nothing.
    pub standby_uj: f64,
}

impl ChipPowerMilliwatt {
    /// Energy of what was done. `idle_ns` is the time in which a die did nothing, summed over all dies.
    pub fn energy(&self, spent: &Spent, idle_ns: u64) -> ChipEnergy {
        // mW x ns = pJ
        let uj = |milliwatt: f64, ns: u64| milliwatt * ns as f64 * 1e-6;
        ChipEnergy {
            read_uj: uj(self.read, spent.read_ns) + uj(self.bus, spent.read_bus_ns),
            program_uj: uj(self.program, spent.program_ns) + uj(self.bus, spent.program_bus_ns),
            erase_uj: uj(self.erase, spent.erase_ns),
            copy_back_uj: uj(self.read, spent.copy_read_ns)
                + uj(self.program, spent.copy_program_ns)
                + uj(self.bus, spent.copy_bus_ns),
            standby_uj: uj(self.standby, idle_ns),
        }
    }
}

impl ChipEnergy {
    pub fn total_uj(&self) -> f64 {
        self.read_uj + self.program_uj + self.erase_uj + self.copy_back_uj + self.standby_uj
    }
}

impl Spent {
    /// What a [`Chip`](crate::Chip) with constant times did, from its counters: of a run, of some steps, or of one cause.
    pub fn of_counts(counts: &OpCounts, timing: &Timing) -> Spent {
        Spent {
            read_ns: (counts.page_reads + counts.oob_reads) * timing.read_ns,
            read_bus_ns: counts.bus_out_bytes * timing.bus_ps_per_byte / 1000,
            program_ns: (counts.page_programs + counts.oob_programs) * timing.program_ns,
            program_bus_ns: counts.bus_in_bytes * timing.bus_ps_per_byte / 1000,
            erase_ns: counts.erases * timing.erase_ns,
            ..Spent::default()
        }
    }

    /// Time of all units together.
    pub fn total_ns(&self) -> u64 {
        let Spent { read_ns, read_bus_ns, program_ns, program_bus_ns, erase_ns, .. } = *self;
        let copies_ns = self.copy_read_ns + self.copy_program_ns + self.copy_bus_ns;
        read_ns + read_bus_ns + program_ns + program_bus_ns + erase_ns + copies_ns
    }

    fn zip(self, other: Spent, f: impl Fn(u64, u64) -> u64) -> Spent {
        Spent {
            read_ns: f(self.read_ns, other.read_ns),
            read_bus_ns: f(self.read_bus_ns, other.read_bus_ns),
            program_ns: f(self.program_ns, other.program_ns),
            program_bus_ns: f(self.program_bus_ns, other.program_bus_ns),
            erase_ns: f(self.erase_ns, other.erase_ns),
            copy_read_ns: f(self.copy_read_ns, other.copy_read_ns),
            copy_program_ns: f(self.copy_program_ns, other.copy_program_ns),
            copy_bus_ns: f(self.copy_bus_ns, other.copy_bus_ns),
        }
    }
}

impl Add for Spent {
    type Output = Spent;
    fn add(self, other: Spent) -> Spent {
        self.zip(other, |a, b| a + b)
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        *self = *self + other;
    }
}

impl Sub for Spent {
    type Output = Spent;
    fn sub(self, before: Spent) -> Spent {
        self.zip(before, |a, b| a - b)
    }
}
