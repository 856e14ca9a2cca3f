//! How fast the RTEMS stack is simulated. Run with `cargo bench -p ffslab-rtems`.
//!
//! A bdbuf operation is one call of get, read, release or release modified. The goal is 5,000,000 per second.

use ffslab_conformance::cpu_time::Stopwatch;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig, BdbufCounts, DiskId};
use ffslab_rtems::device::Device;
use ffslab_rtems::phases::{run, Settings};
use ffslab_rtems::profile::DeviceProfile;
use ffslab_sim::{Sim, SimConfig};

const DISK_BLOCKS: u32 = 1 << 15;

fn cache(cache_bytes: u32) -> (Bdbuf, DiskId) {
    let config = BdbufConfig { cache_memory_bytes: cache_bytes, buffer_max_bytes: 1024, ..BdbufConfig::default() };
    let mut cache = Bdbuf::new(Sim::new(SimConfig::default()), config).expect("the configuration is good");
    let disk = cache.add_disk(Device::new(DeviceProfile::instant(), 512, DISK_BLOCKS));
    (cache, disk)
}

fn operations(counts: BdbufCounts) -> u64 {
    counts.read_calls + counts.get_calls + counts.release_calls + counts.release_modified_calls
}

/// Prints one line of the table.
fn row(name: &str, operations: u64, seconds: f64) {
    println!("{name:<52} {:>12.0} {:>9.1}", operations as f64 / seconds, seconds * 1e9 / operations as f64);
}

fn measure(name: &str, cache_bytes: u32, mut step: impl FnMut(&mut Bdbuf, DiskId, u32)) {
    let (mut cache, disk) = cache(cache_bytes);
    for i in 0..100_000 {
        step(&mut cache, disk, i);
    }
    let before = operations(cache.counts());
    let watch = Stopwatch::start();
    for i in 0..2_000_000 {
        step(&mut cache, disk, i);
    }
    let seconds = watch.seconds();
    row(name, operations(cache.counts()) - before, seconds);
}

/// Spreads numbers over the disk.
fn scattered(i: u32) -> u32 {
    i.wrapping_mul(0x9E37_79B9) % DISK_BLOCKS
}

/// A case of the measured ones, whole: file system, cache, device.
fn file_system(fs: &str, io_bytes: usize) {
    let settings = Settings {
        fs: fs.into(),
        fs_block_bytes: 1024,
        cluster_blocks: 0,
        cache_bytes: 10_240,
        buffer_max_bytes: 1024,
        buffer_min_bytes: 512,
        disk_bytes: 128 << 20,
        media_block_bytes: 512,
        consecutive_blocks: 0,
        io_bytes,
        file_bytes: 2 << 20,
        application_priority: ffslab_rtems::bdbuf::Priority(1),
        read_ahead_blocks: 0,
        test: "io".into(),
    };
    let watch = Stopwatch::start();
    let phases = run(&settings, false).expect("the case runs");
    let seconds = watch.seconds();
    let done: u64 = phases.iter().map(|phase| operations(phase.cache)).sum();
    row(&format!("{fs}, 2 MiB file, {io_bytes} B requests, all phases"), done, seconds);
}

fn main() {
    println!("{:<52} {:>12} {:>9}", "bdbuf operations", "per second", "ns each");
    measure("read and release, hit", 64 << 10, |cache, disk, i| {
        if let Ok(buffer) = cache.read(disk, i % 32) {
            cache.release(buffer);
        }
    });
    measure("read and release, miss", 64 << 10, |cache, disk, i| {
        if let Ok(buffer) = cache.read(disk, scattered(i)) {
            cache.release(buffer);
        }
    });
    measure("get and release modified, written back", 64 << 10, |cache, disk, i| {
        if let Ok(buffer) = cache.get(disk, scattered(i)) {
            cache.release_modified(buffer);
        }
    });
    measure("the same with a cache of 4 MiB", 4 << 20, |cache, disk, i| {
        if let Ok(buffer) = cache.get(disk, scattered(i)) {
            cache.release_modified(buffer);
        }
    });
    for io_bytes in [128, 4096] {
        file_system("rfs", io_bytes);
        file_system("dosfs", io_bytes);
    }
}
