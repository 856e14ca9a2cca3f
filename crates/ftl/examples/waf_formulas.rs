//! Write amplification of uniform random writes, simulated without bytes, beside the formulas.
//!
//! `cargo run --release -p ffslab-ftl --example waf_formulas [BLOCKS]`
//!
//! The exit code is 1 if a row lies further off than it may.

use ffslab_ftl::amplification::{compare, Case, Row};

fn main() {
    let blocks: u32 = std::env::args().nth(1).map_or(2048, |text| text.parse().expect("BLOCKS is a number"));
    println!("victim             pages/block  spare    formula  simulated      off  allowed");
    let (mut far_off, mut writes, start) = (0, 0, std::time::Instant::now());
    for case in Case::all() {
        let Row { formula_amplification: formula, simulated_amplification: simulated, flash_writes_count } =
            compare(&case, blocks).expect("enough blocks");
        let off_percent = (simulated / formula - 1.0) * 100.0;
        let verdict = if off_percent.abs() <= case.allowed_percent { "" } else { "  <- too far off" };
        far_off += u32::from(!verdict.is_empty());
        writes += flash_writes_count;
        println!(
            "{:<18} {:>11}  {:>5.2}  {formula:>9.4}  {simulated:>9.4}  {off_percent:>6.2} %  {:>5.1} %{verdict}",
            case.name(),
            case.pages_per_block,
            case.spare_share,
            case.allowed_percent
        );
    }
    let rate = writes as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("{rate:.1} million flash writes a second; contents not kept");
    std::process::exit(i32::from(far_off > 0));
}
