//! How fast YAFFS2 is simulated. Run with `cargo bench -p ffslab-yaffs2`.

#[path = "../../../benches/page_operations.rs"]
mod page_operations;
#[path = "../tests/support/mod.rs"]
mod support;

use ffslab_yaffs2::{Generation, Options};

fn main() {
    for (title, generation) in [("yaffs2 of 2010", Generation::Y2010), ("yaffs2 of today", Generation::Today)] {
        page_operations::table(title, |blocks| support::Bench::new(blocks, Options::of(generation)));
        println!();
    }
}
