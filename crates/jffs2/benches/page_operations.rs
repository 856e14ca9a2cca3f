//! How fast JFFS2 is simulated. Run with `cargo bench -p ffslab-jffs2`.

#[path = "../../../benches/page_operations.rs"]
mod page_operations;
#[path = "../tests/support/mod.rs"]
mod support;

fn main() {
    page_operations::table("jffs2", support::Bench::new);
}
