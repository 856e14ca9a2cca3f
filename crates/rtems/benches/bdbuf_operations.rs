//! How fast the RTEMS stack is simulated. Run with `cargo bench -p ffslab-rtems`.
//!
//! A bdbuf operation is one call of get, read, release or release modified. The goal is 5,000,000 per second.

#[path = "../tests/support/system.rs"]
mod system;

use ffslab_block::Device;
use ffslab_block::DeviceProfile;
use ffslab_conformance::cpu_time::Stopwatch;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig, BdbufCounts, DiskId};
use ffslab_rtems::libio::{OpenFlags, Whence};
use ffslab_rtems::Quirks;
use ffslab_sim::{Sim, SimConfig};
use system::{Fs, System};

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

/// A file of 2 MiB, written, read, and overwritten in another order: file system, cache, device.
fn file_system(name: &str, fs: Fs, io_bytes: usize) {
    const FILE_BYTES: usize = 2 << 20;
    let config = BdbufConfig { cache_memory_bytes: 10_240, buffer_max_bytes: 1024, ..BdbufConfig::default() };
    let device = Device::new(DeviceProfile::instant(), 512, (128 << 20) / 512);
    let mut system = System::with_device(fs, Quirks::default(), device, config);
    let watch = Stopwatch::start();
    system.format().expect("the device is large enough");
    system.mount().expect("it is formatted");
    let libio = &mut system.libio;
    let mut buffer = vec![0x5a; io_bytes];
    let requests = FILE_BYTES / io_bytes;
    let fd = libio.open(b"/mnt/f", OpenFlags::CREATE, 0o644).expect("there is room");
    for _ in 0..requests {
        libio.write(fd, &buffer).expect("there is room");
    }
    libio.fsync(fd).expect("it is open");
    libio.lseek(fd, 0, Whence::Set).expect("it is open");
    for _ in 0..requests {
        libio.read(fd, &mut buffer).expect("it is open");
    }
    for i in 0..requests {
        // An odd stride reaches every place once.
        let offset = i * 1_001 % requests * io_bytes;
        libio.lseek(fd, offset as i64, Whence::Set).expect("it is open");
        libio.write(fd, &buffer).expect("there is room");
    }
    libio.close(fd).expect("it is open");
    let seconds = watch.seconds();
    row(&format!("{name}, 2 MiB file, {io_bytes} B requests"), operations(libio.cache().counts()), seconds);
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
        file_system("rfs", Fs::Rfs(1024), io_bytes);
        file_system("dosfs", Fs::Dosfs(0), io_bytes);
    }
}
