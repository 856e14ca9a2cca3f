//! How fast UBIFS is simulated, and how long a mount takes. Run with `cargo bench -p ffslab-ubifs`.

#[path = "../../../benches/page_operations.rs"]
mod page_operations;
#[path = "../tests/subject/mod.rs"]
mod subject;
#[path = "../tests/support/mod.rs"]
mod support;

use ffslab_flash::Geometry;
use ffslab_linux::Calls;
use ffslab_ubifs::Options;
use std::time::Instant;
use support::{Bench, Files};

/// Small, so that pages are written soon instead of being overwritten in memory.
const PAGE_CACHE_BYTES: u64 = 4 << 20;

fn mounted(blocks: u32) -> Bench {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks };
    let mut bench = Bench::new(geometry, PAGE_CACHE_BYTES, Options::default());
    bench.mount().unwrap();
    bench
}

/// Attach and mount of a partition of 256 MB, full but for a little.
fn mount_full() {
    let mut bench = mounted(2_048);
    let data = support::content(1, 1 << 20);
    let fd = bench.open_new("full");
    let mut written = 0;
    while bench.vfs.pwrite(fd, &data, written).is_ok() {
        written += data.len() as u64;
    }
    bench.vfs.close(fd).unwrap();
    bench.vfs.umount().unwrap();
    let start = Instant::now();
    bench.mount().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    println!("attach and mount of a 256 MB partition with {} MiB of data: {:.1} ms", written >> 20, seconds * 1e3);
}

fn main() {
    page_operations::table("ubifs", mounted);
    println!();
    mount_full();
}
