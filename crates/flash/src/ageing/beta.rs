//! The beta-binomial distribution of the errors of an ECC frame.
//!
//! The rate of a frame is Beta(a, b) with a fixed shape a and b from the mean rate, a / (a + b); given its rate, each bit is
//! wrong independently. The overdispersion (the correlation of two bits of a frame) is 1 / (a + b + 1), so it grows with the rate.
//! Formulas: NIST Digital Library of Mathematical Functions, 5.11 (Stirling's series), 8.17 (incomplete beta function).

/// Errors of frames of one stress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameErrors {
    /// a of the Beta distribution.
    pub shape: f64,
    /// Bits of a frame, its code included.
    pub bits: u32,
    /// Mean rate of wrong bits.
    pub mean: f64,
}

impl FrameErrors {
    /// b of the Beta distribution.
    fn other_shape(&self) -> f64 {
        self.shape * (1.0 - self.mean) / self.mean
    }

    /// The correlation of two bits of a frame, rho = 1 / (a + b + 1).
    pub fn overdispersion(&self) -> f64 {
        if self.mean <= 0.0 {
            return 0.0;
        }
        self.mean / (self.shape + self.mean)
    }

    /// Mean number of wrong bits in a frame.
    pub fn mean_bits(&self) -> f64 {
        f64::from(self.bits) * self.mean
    }

    /// Variance of the number of wrong bits in a frame.
    pub fn variance_bits(&self) -> f64 {
        let bits = f64::from(self.bits);
        bits * self.mean * (1.0 - self.mean) * (1.0 + (bits - 1.0) * self.overdispersion())
    }

    /// The probability of no error, of one, and so on up to `most`.
    pub fn probabilities(&self, most: u32) -> Vec<f64> {
        let mut found = Vec::with_capacity(most as usize + 1);
        if self.mean <= 0.0 {
            found.resize(most as usize + 1, 0.0);
            found[0] = 1.0;
            return found;
        }
        let (a, b, n) = (self.shape, self.other_shape(), f64::from(self.bits));
        let mut now = (log_rising(b, n) - log_rising(a + b, n)).exp();
        for errors in 0..=most.min(self.bits) {
            found.push(now);
            let k = f64::from(errors);
            now *= (n - k) / (k + 1.0) * (k + a) / (n - k - 1.0 + b);
        }
        found.resize(most as usize + 1, 0.0);
        found
    }

    /// The probability of more than `corrected` errors.
    pub fn failure(&self, corrected: u32) -> f64 {
        if self.mean <= 0.0 || corrected >= self.bits {
            return 0.0;
        }
        let (a, b, n) = (self.shape, self.other_shape(), f64::from(self.bits));
        let mut now = (log_rising(b, n) - log_rising(a + b, n)).exp();
        let (mut below, mut above) = (0.0, 0.0);
        for errors in 0..=self.bits {
            if errors > corrected {
                above += now;
                if now < above * 1e-17 {
                    break;
                }
            } else {
                below += now;
            }
            let k = f64::from(errors);
            now *= (n - k) / (k + 1.0) * (k + a) / (n - k - 1.0 + b);
        }
        // The greater of the two sums is known less well.
        if below < 0.5 {
            1.0 - below
        } else {
            above
        }
    }

    /// The share of frames whose own rate lies above `rate`.
    pub fn share_above(&self, rate: f64) -> f64 {
        if self.mean <= 0.0 {
            return 0.0;
        }
        upper_incomplete(self.shape, self.other_shape(), rate)
    }

    /// The mean rate at which a frame has more than `corrected` errors with this probability.
    pub fn mean_with_failure(shape: f64, bits: u32, corrected: u32, probability: f64) -> f64 {
        let (mut low, mut high) = (1e-15_f64.ln(), 0.5_f64.ln());
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if (FrameErrors { shape, bits, mean: middle.exp() }).failure(corrected) < probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        ((low + high) / 2.0).exp()
    }
}

/// What Stirling's series adds to (z - 1/2) ln z - z + ln(2 pi) / 2 to give the logarithm of gamma(z), for z of at least 12.
fn stirling(z: f64) -> f64 {
    let z2 = z * z;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * z2)) / z2) / z2) / z
}

/// The logarithm of gamma(z + n) / gamma(z), without the cancellation that the difference of two logarithms has.
fn log_rising(z: f64, n: f64) -> f64 {
    let (mut z, mut n, mut shifted) = (z, n, 0.0);
    // gamma(z + n) / gamma(z) = (z / (z + n)) gamma(z + 1 + n) / gamma(z + 1)
    while z < 12.0 {
        shifted += (z / (z + n)).ln();
        z += 1.0;
    }
    n = n.max(0.0);
    shifted + (z - 0.5) * (n / z).ln_1p() + n * (z + n).ln() - n + stirling(z + n) - stirling(z)
}

/// The logarithm of gamma(z).
fn log_gamma(z: f64) -> f64 {
    let (mut z, mut shifted) = (z, 0.0);
    while z < 12.0 {
        shifted -= z.ln();
        z += 1.0;
    }
    shifted + (z - 0.5) * z.ln() - z + 0.5 * std::f64::consts::TAU.ln() + stirling(z)
}

/// 1 - I_x(a, b).
fn upper_incomplete(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x >= 1.0 {
        return 0.0;
    }
    // ln(x^a (1 - x)^b / B(a, b)); the greater of the two shapes is the one that may be huge.
    let (less, greater) = (a.min(b), a.max(b));
    let log_front = a * x.ln() + b * (-x).ln_1p() + log_rising(greater, less) - log_gamma(less);
    let front = log_front.exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        1.0 - front * continued_fraction(a, b, x) / a
    } else {
        front * continued_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function (8.17.22), by the method of Lentz.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    let not_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for turn in 1..100_000u32 {
        let m = f64::from(turn);
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / not_zero(1.0 + term * d);
            c = not_zero(1.0 + term / c);
            value *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64, relative: f64) {
        assert!((found / wanted - 1.0).abs() < relative, "{found} instead of {wanted}");
    }

    /// I_x(1, b) = 1 - (1 - x)^b and I_x(2, b) = 1 - (1 - x)^b (1 + b x), at sizes that occur.
    #[test]
    fn the_incomplete_beta_function_equals_its_closed_forms() {
        for (b, x) in [(3.0, 0.2), (1e4, 1e-5), (1e4, 3e-4), (1e9, 2e-9), (1e9, 3e-8)] {
            let power = f64::powf(1.0 - x, b);
            let power = if b > 1e6 { (b * f64::ln_1p(-x)).exp() } else { power };
            close(upper_incomplete(1.0, b, x), power, 1e-7);
            close(upper_incomplete(2.0, b, x), power * (1.0 + b * x), 1e-7);
        }
        close(upper_incomplete(0.5, 0.5, 0.5), 0.5, 1e-10);
    }

    #[test]
    fn probabilities_have_the_moments_of_the_distribution() {
        for (shape, mean) in [(2.0, 1e-3), (0.3, 1e-4), (50.0, 0.01)] {
            let errors = FrameErrors { shape, bits: 2_072, mean };
            let all = errors.probabilities(2_072);
            let moment = |power: i32| all.iter().enumerate().map(|(k, p)| (k as f64).powi(power) * p).sum::<f64>();
            close(moment(0), 1.0, 1e-9);
            close(moment(1), errors.mean_bits(), 1e-9);
            close(moment(2) - moment(1) * moment(1), errors.variance_bits(), 1e-8);
            for corrected in [0, 1, 4, 8] {
                close(errors.failure(corrected), all[corrected as usize + 1..].iter().sum(), 1e-9);
            }
        }
    }

    #[test]
    fn the_mean_rate_of_a_probability_of_failure_is_found() {
        let mean = FrameErrors::mean_with_failure(2.0, 4_224, 1, 1e-9);
        close(FrameErrors { shape: 2.0, bits: 4_224, mean }.failure(1), 1e-9, 1e-6);
    }

    /// A large shape leaves no overdispersion: the counts are binomial.
    #[test]
    fn with_a_large_shape_the_errors_are_binomial() {
        let errors = FrameErrors { shape: 1e6, bits: 1_000, mean: 1e-3 };
        close(errors.probabilities(0)[0], f64::powi(0.999, 1_000), 1e-3);
        close(errors.share_above(0.9e-3), 1.0, 1e-6);
        assert!(errors.share_above(1.1e-3) < 1e-6);
    }
}
