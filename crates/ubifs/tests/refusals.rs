//! What cannot be mounted is refused with the numbers that a user needs.

mod subject;
mod support;

use ffslab_flash::Geometry;
use ffslab_ubifs::Options;
use support::Bench;

fn refusal(blocks: u32, options: Options) -> String {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks };
    Bench::new(geometry, 1 << 20, options).mount().unwrap_err()
}

#[test]
fn a_volume_that_is_too_small_is_refused_with_what_it_lacks() {
    // The volume table takes 2 blocks, moving data 2, bad blocks 1.
    assert_eq!(refusal(21, Options::default()), "UBIFS needs at least 17 LEBs, the volume has 16");
}

#[test]
fn a_journal_that_does_not_fit_is_refused_before_anything_is_written() {
    // 16 LEBs, 3 of them log: the main area must hold the other 13, beside 3 + 3 + 2 + 2 LEBs.
    let options = Options { journal_bytes: Some(16 * 129_024), ..Options::default() };
    assert_eq!(refusal(27, options), "UBIFS needs at least 23 LEBs, the volume has 22");
}
