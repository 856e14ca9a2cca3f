//! Energy per rail. The papers measure two: the CPU, and memory (RAM and flash share one supply on their board).

use std::ops::{Add, Sub};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rail {
    Cpu,
    Memory,
}

impl Rail {
    pub const ALL: [Rail; 2] = [Rail::Cpu, Rail::Memory];

    pub fn name(self) -> &'static str {
        match self {
            Rail::Cpu => "cpu",
            Rail::Memory => "memory",
        }
    }
}

/// Power above idle on both rails.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PowerMilliwatt {
    pub cpu: f64,
    pub memory: f64,
}

/// Energy above idle since the start of the simulation, in microjoule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    pub cpu_uj: f64,
    pub memory_uj: f64,
}

impl Energy {
    #[inline]
    pub fn add(&mut self, power: PowerMilliwatt, duration_ns: u64) {
        // mW * ns = pJ
        let ns = duration_ns as f64;
        self.cpu_uj += power.cpu * ns * 1e-6;
        self.memory_uj += power.memory * ns * 1e-6;
    }

    pub fn of(&self, rail: Rail) -> f64 {
        match rail {
            Rail::Cpu => self.cpu_uj,
            Rail::Memory => self.memory_uj,
        }
    }

    pub fn total_uj(&self) -> f64 {
        self.cpu_uj + self.memory_uj
    }
}

impl Add for Energy {
    type Output = Energy;
    fn add(self, other: Energy) -> Energy {
        Energy { cpu_uj: self.cpu_uj + other.cpu_uj, memory_uj: self.memory_uj + other.memory_uj }
    }
}

impl Sub for Energy {
    type Output = Energy;
    fn sub(self, other: Energy) -> Energy {
        Energy { cpu_uj: self.cpu_uj - other.cpu_uj, memory_uj: self.memory_uj - other.memory_uj }
    }
}
