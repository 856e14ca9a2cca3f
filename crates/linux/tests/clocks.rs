//! Virtual time: clock reading, costs, sleep, mount and crash.

use crate::support;

use ffslab_fs::Errno;
use ffslab_linux::{timed, Calls, OpenFlags, ReadAheadRules, Vfs, VfsConfig};
use ffslab_sim::{PowerMilliwatt, Sim, SimConfig, Task};
use support::delayed::CREATE;
use support::{config, empty, mounted, MemFs};

static THREAD: Task = Task { name: "thread", title: "thread", nice: 0, process: "thread/0" };

#[test]
fn an_empty_call_shows_one_clock_reading() {
    let (mut vfs, _) = empty();
    assert_eq!(timed(&mut vfs, |_| ()).1, 256);
    let before_ns = vfs.sim().now_ns();
    timed(&mut vfs, |_| ());
    assert_eq!(vfs.sim().now_ns() - before_ns, 512);
}

#[test]
fn costs_are_per_call_and_per_page_and_draw_power() {
    let mut config = config(ReadAheadRules::V6_1, 0);
    config.costs.call_ns = 1_000;
    config.costs.page_ns = 20_000;
    config.costs.cpu_power = PowerMilliwatt { cpu: 500.0, memory: 0.0 };
    let (mut vfs, log) = mounted(config, |sim| MemFs::with_file(sim, "f", 8 * 4096));
    log.borrow_mut().page_read_ns = 300_000;
    let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    let energy = vfs.sim().energy();
    let (_, latency_ns) = timed(&mut vfs, |vfs| vfs.pread_discard(fd, 100, 8192));
    assert_eq!(latency_ns, 256 + 1_000 + 3 * (20_000 + 300_000));
    let spent = vfs.sim().energy() - energy;
    // 500 mW during 2 clock readings, 1 call and 3 pages.
    assert!((spent.cpu_uj - 0.5 * (0.512 + 1.0 + 60.0)).abs() < 1e-9, "{spent:?}");
    let (_, latency_ns) = timed(&mut vfs, |vfs| vfs.pwrite(fd, &[0; 4096], 0));
    assert_eq!(latency_ns, 256 + 1_000 + 20_000);
}

#[test]
fn a_sleep_ends_late_by_the_timer_slack_and_lets_tasks_run() {
    let (mut vfs, log) = empty();
    let sim = vfs.sim().clone();
    let (_, latency_ns) = timed(&mut vfs, |vfs| vfs.sleep_ns(1_000_000));
    assert_eq!(latency_ns, 1_050_256);
    sim.spawn(&THREAD);
    sim.sleep_until(&THREAD, sim.now_ns() + 2_000_000);
    let due_ns = sim.now_ns() + 2_000_000;
    vfs.sleep_ns(10_000_000);
    assert_eq!(log.borrow().task_runs, [1_000_000_000_000_000_000 + due_ns]);
    // A task that holds the CPU (for 1 ms here) when the sleep is over delays its end.
    let start_ns = sim.now_ns();
    sim.sleep_until(&THREAD, start_ns + 2_000_000);
    vfs.sleep_ns(2_500_000);
    assert_eq!(sim.now_ns() - start_ns, 3_000_000);
}

#[test]
fn a_task_that_waits_runs_at_the_end_of_a_call() {
    let (mut vfs, log) = mounted(config(ReadAheadRules::V6_1, 0), |sim| MemFs::with_file(sim, "f", 64 * 4096));
    log.borrow_mut().page_read_ns = 10_000_000;
    let sim = vfs.sim().clone();
    sim.spawn(&THREAD);
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    sim.sleep_until(&THREAD, sim.now_ns() + 1_000_000);
    vfs.pread_discard(fd, 0, 4096).unwrap();
    assert_eq!(log.borrow().task_runs.len(), 1);
    // And between the pages of a long call.
    sim.sleep_until(&THREAD, sim.now_ns() + 1_000_000);
    let start_ns = sim.now_ns();
    vfs.pread_discard(fd, 4096, 10 * 4096).unwrap();
    assert_eq!(log.borrow().task_runs.len(), 2);
    assert!(log.borrow().task_runs[1] - 1_000_000_000_000_000_000 - start_ns < 50_000_000);
}

#[test]
fn a_task_that_waits_runs_between_the_pages_of_a_write() {
    let mut config = config(ReadAheadRules::V6_1, 0);
    config.costs.page_ns = 10_000_000;
    let (mut vfs, log) = mounted(config, MemFs::new);
    let sim = vfs.sim().clone();
    sim.spawn(&THREAD);
    let fd = vfs.open(b"f", OpenFlags { create: true, ..OpenFlags::WRITE }, 0o644).unwrap();
    let start_ns = sim.now_ns();
    sim.sleep_until(&THREAD, start_ns + 1_000_000);
    vfs.write(fd, &[1; 10 * 4096]).unwrap();
    assert_eq!(log.borrow().task_runs.len(), 1);
    assert!(log.borrow().task_runs[0] - 1_000_000_000_000_000_000 - start_ns < 50_000_000);
}

#[test]
fn unmount_forgets_pages() {
    let (mut vfs, log) = mounted(config(ReadAheadRules::V6_1, 0), |sim| MemFs::with_file(sim, "f", 4096));
    let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    vfs.write(fd, &[77; 4096]).unwrap();
    vfs.close(fd).unwrap();
    assert_eq!(log.borrow().closes, [2]);
    vfs.umount().unwrap();
    let other = MemFs::with_file(vfs.sim(), "f", 4096);
    vfs.mount(Box::new(other)).unwrap();
    let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    let mut buffer = [0; 4096];
    vfs.read(fd, &mut buffer).unwrap();
    assert_eq!(buffer, [1; 4096]);
}

#[test]
fn unmount_needs_closed_files_and_crash_does_not() {
    let (mut vfs, _) = empty();
    let fd = vfs.open(b"f", OpenFlags { create: true, ..OpenFlags::WRITE }, 0o644).unwrap();
    assert_eq!(vfs.umount(), Err(Errno::Busy));
    let sim = vfs.sim().clone();
    assert_eq!(vfs.mount(Box::new(MemFs::new(&sim))), Err(Errno::Busy));
    vfs.crash();
    assert_eq!(vfs.write(fd, b"x"), Err(Errno::BadF.into()));
    assert_eq!(vfs.stat(b"/"), Err(Errno::NoDev.into()));
    assert_eq!(vfs.umount(), Err(Errno::Inval));
    assert!(vfs.fs().is_none());
    vfs.sync().unwrap();
    vfs.drop_caches().unwrap();
    vfs.sleep_ns(5);
    vfs.mount(Box::new(MemFs::new(&sim))).unwrap();
    assert_eq!(vfs.stat(b"/").unwrap().ino, 1);
    assert_eq!(vfs.stat(b"f"), Err(Errno::NoEnt.into()));
    vfs.umount().unwrap();
}

#[test]
fn the_same_calls_take_the_same_time() {
    let run = || {
        let sim = Sim::new(SimConfig::default());
        let mut vfs = Vfs::new(sim.clone(), VfsConfig { page_cache_bytes: 0, ..config(ReadAheadRules::V2_6, 65536) });
        vfs.mount(Box::new(MemFs::with_file(&sim, "f", 300 * 4096))).unwrap();
        let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
        let mut random = ffslab_workload::SplitMix64::new(3);
        for _ in 0..500 {
            vfs.pread_discard(fd, random.next_u64() % (300 * 4096), 5000).unwrap();
            vfs.pwrite(fd, &[1; 300], random.next_u64() % (300 * 4096)).unwrap();
        }
        sim.now_ns()
    };
    assert_eq!(run(), run());
}

#[test]
fn pages_that_leave_the_cache_take_time_and_a_task_runs_between_them() {
    let mut config = config(ReadAheadRules::V6_1, 0);
    config.costs.page_drop_ns = 1_000_000;
    config.costs.page_delete_ns = 500_000;
    let (mut vfs, log) = mounted(config, |sim| MemFs::with_file(sim, "f", 100 * 4096));
    let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    vfs.pread_discard(fd, 0, 100 * 4096).unwrap();
    let sim = vfs.sim().clone();
    sim.spawn(&THREAD);
    let start_ns = sim.now_ns();
    sim.sleep_until(&THREAD, start_ns + 1_000_000);
    vfs.drop_caches().unwrap();
    // The task itself runs for a millisecond.
    assert_eq!(sim.now_ns() - start_ns, 101_000_000);
    assert_eq!(log.borrow().task_runs.len(), 1);
    assert!(log.borrow().task_runs[0] - 1_000_000_000_000_000_000 - start_ns < 50_000_000);

    vfs.pread_discard(fd, 0, 3 * 4096).unwrap();
    vfs.close(fd).unwrap();
    let start_ns = sim.now_ns();
    vfs.unlink(b"f").unwrap();
    assert_eq!(sim.now_ns() - start_ns, 3 * 1_500_000, "what is stored for the pages goes, too");
}

#[test]
fn a_second_of_the_wall_clock_begins_where_the_epoch_says() {
    let config = VfsConfig { epoch_s: 100, epoch_ns: 900_000_000, ..config(ReadAheadRules::V6_1, 0) };
    let (mut vfs, _) = mounted(config, MemFs::new);
    let mut made_at = |name: &[u8]| {
        let fd = vfs.open(name, CREATE, 0o644).unwrap();
        vfs.close(fd).unwrap();
        let time = vfs.stat(name).unwrap().modified;
        vfs.sleep_ns(200_000_000);
        (time.seconds, time.nanoseconds / 100_000_000)
    };
    assert_eq!([made_at(b"a"), made_at(b"b")], [(100, 9), (101, 1)]);
}
