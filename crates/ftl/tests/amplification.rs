//! Write amplification comes to what the formulas say: a part of the table that example `waf_formulas` prints.

use ffslab_ftl::amplification::{compare, Case};

#[test]
fn simulated_amplification_is_that_of_the_formulas() {
    for case in Case::all().into_iter().filter(|case| case.pages_per_block == 32 && case.spare_share > 0.09) {
        let row = compare(&case, 2048).unwrap();
        let off_percent = (row.simulated_amplification / row.formula_amplification - 1.0) * 100.0;
        assert!(
            off_percent.abs() <= case.allowed_percent,
            "{}, spare share {}: {} by the formula, {} simulated",
            case.name(),
            case.spare_share,
            row.formula_amplification,
            row.simulated_amplification
        );
    }
}
