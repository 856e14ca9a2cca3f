//! Conversions between the units that profiles use and the integers that the simulation counts in.

/// Microseconds, as data sheets and cases give them, to nanoseconds.
pub fn us_to_ns(us: f64) -> u64 {
    (us * 1_000.0).round().max(0.0) as u64
}

pub fn ns_to_us(ns: u64) -> f64 {
    ns as f64 / 1_000.0
}
