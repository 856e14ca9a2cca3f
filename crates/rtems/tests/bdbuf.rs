//! The cache by itself: priorities, waiting, workers, several devices, failures, devices that take time.

use ffslab_block::Device;
use ffslab_block::DeviceProfile;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig, BdbufError, DiskId, Priority};
use ffslab_rtems::causes;
use ffslab_sim::{Sim, SimConfig};

const PERIOD_NS: u64 = 250_000_000;

fn instant() -> DeviceProfile {
    DeviceProfile::instant()
}

fn cache(config: BdbufConfig, profile: DeviceProfile) -> (Bdbuf, DiskId) {
    let mut cache = Bdbuf::new(Sim::new(SimConfig::default()), config).unwrap();
    let disk = cache.add_disk(Device::new(profile, 512, 1000));
    (cache, disk)
}

/// Ten buffers of 512 B.
fn small() -> BdbufConfig {
    BdbufConfig { cache_memory_bytes: 5120, buffer_max_bytes: 512, ..BdbufConfig::default() }
}

fn put(cache: &mut Bdbuf, disk: DiskId, block: u32, byte: u8) {
    let buffer = cache.get(disk, block).unwrap();
    cache.data_mut(buffer).fill(byte);
    cache.release_modified(buffer);
}

fn on_device(cache: &Bdbuf, disk: DiskId, block: usize) -> u8 {
    cache.device(disk).image()[block * 512]
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    let refused = |config: BdbufConfig| Bdbuf::new(Sim::new(SimConfig::default()), config).err().unwrap().to_string();
    let message = refused(BdbufConfig { buffer_max_bytes: 1000, ..BdbufConfig::default() });
    assert_eq!(message, "bdbuf: the largest buffer (1000 B) must be a multiple of the smallest (512 B)");
    let message = refused(BdbufConfig { cache_memory_bytes: 1024, ..BdbufConfig::default() });
    assert!(message.contains("does not hold one buffer"), "{message}");
    let (mut cache, disk) = cache(BdbufConfig::default(), instant());
    assert_eq!(cache.set_block_size(disk, 8192, true), Err(BdbufError::BlockSize { bytes: 8192, max_bytes: 4096 }));
    assert_eq!(cache.geometry(disk).block_bytes, 512, "the old size stays");
    assert_eq!(cache.read(disk, 1000), Err(BdbufError::NoSuchBlock { block: 1000, blocks: 1000 }));
}

#[test]
fn modified_buffers_are_written_when_their_time_has_come() {
    let (mut cache, disk) = cache(small(), instant());
    // The swap-out task starts when the application waits for the first time.
    cache.sleep_until(PERIOD_NS);
    put(&mut cache, disk, 3, 7);
    cache.sleep_until(4 * PERIOD_NS);
    assert_eq!(on_device(&cache, disk, 3), 0, "the hold time is one second");
    cache.sleep_until(6 * PERIOD_NS);
    assert_eq!(on_device(&cache, disk, 3), 7);
}

#[test]
fn a_request_ends_at_sixteen_buffers_or_at_a_gap() {
    for (consecutive_blocks, requests) in [(false, 2), (true, 3)] {
        let config = BdbufConfig { cache_memory_bytes: 64 << 10, ..BdbufConfig::default() };
        let (mut cache, disk) = cache(config, DeviceProfile { consecutive_blocks, ..instant() });
        // 20 blocks with a gap behind the first ten and behind the eighteenth.
        for block in (0..10).chain(11..19).chain(30..32).rev() {
            put(&mut cache, disk, block, 1);
        }
        cache.syncdev(disk).unwrap();
        let counts = cache.counts();
        assert_eq!((counts.write_requests, counts.write_buffers_count), (requests, 20));
    }
}

#[test]
fn whoever_holds_all_buffers_is_told_instead_of_hanging() {
    let (mut cache, disk) = cache(small(), instant());
    let held: Vec<_> = (0..10).map(|block| cache.read(disk, block).unwrap()).collect();
    assert_eq!(cache.read(disk, 10), Err(BdbufError::Deadlock));
    assert_eq!(cache.read(disk, 0), Err(BdbufError::Deadlock), "it holds that one itself");
    held.into_iter().for_each(|buffer| cache.release(buffer));
    cache.read(disk, 10).map(|buffer| cache.release(buffer)).unwrap();
}

#[test]
fn sync_waits_for_one_buffer() {
    let (mut cache, disk) = cache(small(), instant());
    put(&mut cache, disk, 1, 1);
    let buffer = cache.get(disk, 2).unwrap();
    cache.data_mut(buffer).fill(2);
    cache.sync(buffer).unwrap();
    assert_eq!((on_device(&cache, disk, 1), on_device(&cache, disk, 2)), (0, 2));
}

#[test]
fn a_device_is_synchronised_alone() {
    let (mut cache, first) = cache(small(), instant());
    let second = cache.add_disk(Device::new(instant(), 512, 100));
    put(&mut cache, first, 1, 1);
    put(&mut cache, second, 1, 2);
    cache.syncdev(second).unwrap();
    assert_eq!((on_device(&cache, first, 1), on_device(&cache, second, 1)), (0, 2));
    cache.purge_dev(first);
    let buffer = cache.read(first, 1).unwrap();
    assert_eq!(cache.data(buffer)[0], 0, "purged before it was written");
    cache.release(buffer);
}

/// Two devices with different block sizes cut the groups anew, back and forth, and nothing is mixed up.
#[test]
fn groups_are_cut_for_each_block_size() {
    let config = BdbufConfig { cache_memory_bytes: 8192, buffer_max_bytes: 2048, ..BdbufConfig::default() };
    let (mut cache, first) = cache(config, instant());
    let second = cache.add_disk(Device::new(instant(), 512, 1000));
    cache.set_block_size(second, 1536, true).unwrap();
    assert_eq!(cache.geometry(second).blocks, 333);
    for round in 0..50u32 {
        put(&mut cache, first, round * 17 % 900, round as u8);
        put(&mut cache, second, round * 13 % 300, round as u8 ^ 0xff);
    }
    for round in 0..50u32 {
        let buffer = cache.read(first, round * 17 % 900).unwrap();
        assert_eq!((cache.data(buffer).len(), cache.data(buffer)[511]), (512, round as u8));
        cache.release(buffer);
        let buffer = cache.read(second, round * 13 % 300).unwrap();
        assert_eq!((cache.data(buffer).len(), cache.data(buffer)[1535]), (1536, round as u8 ^ 0xff));
        cache.release(buffer);
    }
}

#[test]
fn workers_write_and_get_lost() {
    let config = BdbufConfig { swapout_worker_tasks_count: 2, application_priority: Priority(100), ..small() };
    let (mut cache, disk) = cache(config, instant());
    for round in 0..5u8 {
        for block in 0..8 {
            put(&mut cache, disk, block * 3, round);
        }
        cache.sleep_until(u64::from(round + 1) * 8 * PERIOD_NS);
        assert_eq!(on_device(&cache, disk, 21), round);
    }
}

#[test]
fn what_a_failing_device_does() {
    let (mut cache, disk) = cache(small(), instant());
    put(&mut cache, disk, 5, 5);
    cache.device_mut(disk).set_failing(true);
    assert_eq!(cache.read(disk, 6), Err(BdbufError::Io));
    cache.syncdev(disk).unwrap();
    cache.device_mut(disk).set_failing(false);
    let buffer = cache.read(disk, 5).unwrap();
    assert_eq!(cache.data(buffer)[0], 0, "a write that fails loses the data, and nobody is told");
    cache.release(buffer);
}

#[test]
fn power_goes_away_between_two_buffers() {
    let (mut cache, disk) = cache(small(), instant());
    for block in 0..4 {
        put(&mut cache, disk, block, 9);
    }
    cache.device_mut(disk).cut_power_after(2);
    assert_eq!(cache.syncdev(disk), Err(BdbufError::PowerCut));
    let written: Vec<u8> = (0..4).map(|block| on_device(&cache, disk, block)).collect();
    assert_eq!(written, [9, 9, 0, 0]);
}

/// 10 us a command and 1 us a byte, while which the CPU is free.
fn slow() -> DeviceProfile {
    DeviceProfile {
        command_ns: 10_000,
        read_ps_per_byte: 1_000_000,
        write_ps_per_byte: 1_000_000,
        occupies_cpu: false,
        ..instant()
    }
}

const COMMAND_NS: u64 = 10_000 + 512_000;

#[test]
fn a_slow_device_takes_its_time() {
    let (mut cache, disk) = cache(small(), slow());
    cache.read(disk, 1).map(|buffer| cache.release(buffer)).unwrap();
    assert_eq!(cache.sim().now_ns(), COMMAND_NS);
    for block in 0..4 {
        put(&mut cache, disk, block + 2, 1);
    }
    cache.syncdev(disk).unwrap();
    assert_eq!(cache.sim().now_ns(), 5 * COMMAND_NS, "one command per buffer");
    let sim = cache.sim();
    assert_eq!(sim.total().time_ns() + sim.idle_ns(), sim.now_ns());
    assert_eq!(sim.counts(&causes::CALLER, &causes::OTHER).driver_ns, COMMAND_NS);
    assert_eq!(sim.counts(&causes::BDBUF_SWAPOUT, &causes::DATA).driver_ns, 4 * COMMAND_NS);
}

/// The application is more urgent: it goes on as soon as the first request is done, while the second is in flight.
#[test]
fn the_application_does_not_wait_for_the_whole_burst() {
    let config = BdbufConfig { max_write_blocks: 2, ..small() };
    let mut waited_ns = Vec::new();
    for priority in [1, 100] {
        let config = BdbufConfig { application_priority: Priority(priority), ..config.clone() };
        let (mut cache, disk) = cache(config, slow());
        for block in 0..11 {
            put(&mut cache, disk, block, 1);
        }
        waited_ns.push(cache.sim().now_ns());
    }
    assert_eq!(waited_ns, [2 * COMMAND_NS, 2 * COMMAND_NS]);
}

#[test]
fn read_ahead_runs_beside_the_application() {
    let config = BdbufConfig {
        max_read_ahead_blocks: 4,
        application_priority: Priority(100),
        cache_memory_bytes: 32 << 10,
        ..BdbufConfig::default()
    };
    let (mut cache, disk) = cache(config, slow());
    for block in 0..20 {
        let buffer = cache.read(disk, block).unwrap();
        cache.release(buffer);
        let later_ns = cache.sim().now_ns() + 10 * COMMAND_NS;
        cache.sleep_until(later_ns);
    }
    let counts = cache.counts();
    assert_eq!(counts.read_misses_count, 2, "the first block, and the one that starts reading ahead");
    assert!(counts.read_ahead_requests >= 4);
}
