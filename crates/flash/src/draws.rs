//! Numbers drawn from distributions, with the same bits on every machine.

use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg32;

/// Uniform between 0 and 1, both excluded.
pub fn open_unit(random: &mut Pcg32) -> f64 {
    ((random.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

/// By the polar method (Marsaglia and Bray, 1964). The second number of each pair is thrown away, so that a draw depends on
/// the state of the generator alone.
pub fn standard_normal(random: &mut Pcg32) -> f64 {
    loop {
        let x = 2.0 * open_unit(random) - 1.0;
        let y = 2.0 * open_unit(random) - 1.0;
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * ln(square) / square).sqrt();
        }
    }
}

/// The natural logarithm of a positive normal number, from the series of artanh: `f64::ln` asks the system's library, whose
/// last bits differ from one system to the next.
pub fn ln(value: f64) -> f64 {
    const EXPONENT_BIAS: i64 = 1023;
    let bits = value.to_bits();
    let mut exponent = (bits >> 52) as i64 - EXPONENT_BIAS;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | ((EXPONENT_BIAS as u64) << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    // The ratio is at most 0.172, so the terms from the 12th on are below the precision.
    let series = (0..12).rev().fold(0.0, |sum, term| sum * square + 1.0 / f64::from(2 * term + 1));
    2.0 * ratio * series + exponent as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::ln;

    #[test]
    fn the_logarithm_is_that_of_the_library() {
        let mut value = 1e-300;
        while value < 1e300 {
            assert!((ln(value) - f64::ln(value)).abs() <= 1e-13 * f64::ln(value).abs().max(1e-2), "{value}");
            value *= 1.37;
        }
        assert_eq!(ln(1.0), 0.0);
    }
}
