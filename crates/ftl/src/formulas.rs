//! Write amplification of garbage collection, in formulas: what uniform random writes of single pages must come to.
//!
//! Throughout, `alpha` = T / U: pages of the blocks that are not free, divided by logical pages; the spare share is 1 - 1/alpha.
//! FIFO and greedy: Desnoyers, "Analytic Modeling of SSD Write Performance", SYSTOR 2012. d-choices and random: Van Houdt, "A Mean Field
//! Model for a Class of Garbage Collection Algorithms in Flash-based Solid State Drives", SIGMETRICS 2013.

/// How near the iterations come to the solution, relatively.
const PRECISION: f64 = 1e-13;

/// The principal branch of Lambert's W function for -1/e <= x: w with w e^w = x. Newton's iteration.
pub fn lambert_w0(x: f64) -> f64 {
    // Near the branch point the series in sqrt(2(ex + 1)) is where the iteration begins.
    let near = (2.0 * (std::f64::consts::E * x + 1.0)).max(0.0).sqrt();
    let mut w = if x < 0.5 { -1.0 + near - near * near / 3.0 } else { x.ln_1p() };
    for _ in 0..100 {
        let (e, before) = (w.exp(), w);
        let slope = e * (w + 1.0);
        if slope == 0.0 {
            break;
        }
        w -= (w * e - x) / slope;
        if (w - before).abs() <= PRECISION * w.abs() {
            break;
        }
    }
    w
}

/// FIFO (Desnoyers calls it LRU; eq. 4).
pub fn fifo(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w0(-alpha * (-alpha).exp()))
}

/// Greedy (eq. 12).
pub fn greedy(alpha: f64, pages_per_block: u32) -> f64 {
    let k = 1.0 + 1.0 / (2.0 * f64::from(pages_per_block));
    fifo(k * alpha) / k
}

/// A random victim: it has as many valid pages as the mean block.
pub fn random(alpha: f64) -> f64 {
    alpha / (alpha - 1.0)
}

/// Two temperatures under FIFO (eq. 14): the share `writes_share` of writes goes to the share `pages_share` of logical pages. By bisection.
pub fn hot_cold_fifo(alpha: f64, writes_share: f64, pages_share: f64) -> f64 {
    let (r, f) = (writes_share, pages_share);
    let right = |x: f64| {
        let part = |writes: f64, pages: f64| writes / ((writes / pages * alpha / x).exp() - 1.0);
        1.0 + part(r, f) + part(1.0 - r, 1.0 - f)
    };
    // Beyond the solution x exceeds the right side. The trivial solution lies at infinity.
    let (mut low, mut high) = (1.0, 2.0);
    while right(high) > high && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if right(middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// d-choices (mean field): the fixed point of a block's share of valid pages.
///
/// Of the closed blocks the share `m[i]` has `i` valid pages, and M_i has `i` or more. A victim is the best of d, so that it has `i` or more with the
/// probability M_i^d. It comes back full, and w pages are written meanwhile, each over a valid page at random. What is looked for is the w with which
/// the mean number of valid pages is b / alpha; it is found by bisection.
pub fn d_choices(alpha: f64, pages_per_block: u32, choices: u32) -> f64 {
    let b = pages_per_block as usize;
    let target = f64::from(pages_per_block) / alpha;
    // The mean number of valid pages falls as more pages are written a victim.
    let (mut low, mut high) = (0.0, f64::from(pages_per_block));
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if mean_valid(b, choices, middle / target) > target {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::from(pages_per_block) / ((low + high) / 2.0)
}

/// The mean number of valid pages of a block, if each valid page is overwritten at this rate a victim.
///
/// For each i from b down to 1 the blocks with i or more valid pages are in balance: 1 - M_i^d = rate i m_i, and M_i = M_(i+1) + m_i. Newton's
/// iteration solves each of these equations for m_i.
fn mean_valid(b: usize, choices: u32, rate: f64) -> f64 {
    let d = choices as i32;
    let (mut above, mut mean) = (0.0f64, 0.0f64);
    for i in (1..=b).rev() {
        let flow = rate * i as f64;
        let mut m = (1.0 - above.powi(d)) / flow;
        for _ in 0..50 {
            let share = above + m;
            let step = (1.0 - share.powi(d) - flow * m) / (f64::from(choices) * share.powi(d - 1) + flow);
            m += step;
            if step.abs() <= PRECISION * m.abs() {
                break;
            }
        }
        above += m;
        mean += i as f64 * m;
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, wanted: f64) {
        assert!((value / wanted - 1.0).abs() < 3e-4, "{value} is not {wanted}");
    }

    #[test]
    fn lambert_w_is_an_inverse() {
        for x in [-0.3678, -0.2, 1e-3, 0.4, 1.0, 10.0, 1e6] {
            let w = lambert_w0(x);
            assert!((w * w.exp() - x).abs() < 1e-9 * x.abs().max(1.0), "W({x}) = {w}");
        }
    }

    /// Values that the papers print or that an independent program gave.
    #[test]
    fn published_values() {
        close(greedy(1.0 / 0.9, 64), 4.816);
        close(greedy(1.0 / 0.8, 64), 2.598);
        close(greedy(1.0 / 0.93, 32), 6.013);
        close(random(1.0 / 0.9), 10.0);
        close(d_choices(1.0 / 0.9, 64, 1), 10.0);
        close(d_choices(1.0 / 0.9, 64, 2), 6.852);
        close(d_choices(1.0 / 0.9, 64, 10), 5.000);
        // Xiang and Kurkoski, arXiv 1110.4245: over-provisioning 0.3, T / U = 1.3.
        assert!((fifo(1.3) - 2.36).abs() < 0.005);
    }

    #[test]
    fn one_temperature_is_fifo() {
        close(hot_cold_fifo(1.25, 0.3, 0.3), fifo(1.25));
    }
}
