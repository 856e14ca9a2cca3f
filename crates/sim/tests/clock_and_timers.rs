//! The clock, the tick counter, the timer wheel, and what happens while the foreground sleeps.

use crate::support;

use ffslab_sim::{Idle, Sim, SimConfig, Switch, Task, TimerWheel, CALLER};
use support::{machine, SECOND, WORKER};

const MS: u64 = 1_000_000;
const TICK_NS: u64 = 10 * MS;

fn started_at(uptime_ns: u64) -> Sim {
    machine(SimConfig { tick_rate_hz: 100, uptime_ns, ..SimConfig::default() })
}

#[test]
fn the_clock_counts_from_the_start_of_the_machine() {
    let sim = started_at(7 * MS);
    assert_eq!(sim.now_ns(), 7 * MS);
    sim.advance(2);
    sim.advance(0);
    assert_eq!(sim.now_ns(), 7 * MS + 2);
    assert_eq!(sim.clone().now_ns(), sim.now_ns(), "clones share the clock");
}

/// `include/linux/jiffies.h`: the counter starts 300 s before it overflows.
#[test]
fn the_tick_counter_overflows_after_five_minutes() {
    let sim = started_at(0);
    assert_eq!(sim.jiffies(), 30_000u32.wrapping_neg());
    sim.advance(TICK_NS - 1);
    assert_eq!(sim.jiffies(), 30_000u32.wrapping_neg(), "a tick is counted when it is over");
    sim.advance(1);
    assert_eq!(sim.jiffies(), 29_999u32.wrapping_neg());
    assert_eq!(started_at(300_000 * MS - 1).jiffies(), u32::MAX);
    assert_eq!(started_at(300_000 * MS).jiffies(), 0);
}

/// `kernel/time/timer.c`, `calc_index`: a level holds 64 buckets, each level is 8 times as coarse as the one below,
/// and the expiry is rounded up to the next bucket, a whole one if it is on a bucket already.
#[test]
fn a_timer_fires_at_the_bucket_after_its_expiry() {
    let sim = started_at(0);
    for (delay_ticks, fires_at_tick) in [
        (0, 1),
        (5, 6),
        (62, 63),
        // From 63 ticks on buckets of 8 ticks.
        (63, 64),
        (64, 72),
        (71, 72),
        (500, 504),
        (503, 504),
        // From 504 ticks on buckets of 64, by a counter that begins 30,000 ticks before a multiple of them all.
        (504, 560),
        (560, 624),
        (4031, 4080),
        // From 4032 ticks on buckets of 512, from 32,256 on of 4096.
        (4032, 4400),
        (32_255, 32_560),
        (32_256, 34_096),
    ] {
        assert_eq!(sim.timer_after_ticks(delay_ticks), fires_at_tick * TICK_NS, "{delay_ticks} ticks");
    }
}

#[test]
fn a_timer_is_never_early_and_late_by_one_bucket_at_most() {
    for uptime_ns in [0, 1, 9 * MS, 15 * MS, 123_456_789_012] {
        let sim = started_at(uptime_ns);
        let present_tick = uptime_ns / TICK_NS;
        for delay_ticks in 0..40_000 {
            let bucket_ticks = match delay_ticks {
                0..=62 => 1,
                63..=503 => 8,
                504..=4031 => 64,
                4032..=32_255 => 512,
                _ => 4096,
            };
            let expiry_ns = (present_tick + u64::from(delay_ticks)) * TICK_NS;
            let at_ns = sim.timer_after_ticks(delay_ticks);
            assert!(at_ns > expiry_ns && at_ns <= expiry_ns + bucket_ticks * TICK_NS, "{delay_ticks} at {uptime_ns}");
            let counter = (1 << 32) - 30_000 + at_ns / TICK_NS;
            assert_eq!((at_ns % TICK_NS, counter % bucket_ticks), (0, 0), "{delay_ticks} at {uptime_ns}");
        }
    }
}

/// Before Linux 4.8 a timer fires in the very tick for which it is set, however far that is.
#[test]
fn timers_of_old_kernels_are_exact() {
    let config = SimConfig { tick_rate_hz: 100, uptime_ns: 25 * MS, ..SimConfig::default() };
    let sim = machine(SimConfig { timer_wheel: TimerWheel::Exact, ..config });
    for delay_ticks in [1, 62, 63, 1_000, 40_000] {
        assert_eq!(sim.timer_after_ticks(delay_ticks), (2 + u64::from(delay_ticks)) * TICK_NS, "{delay_ticks} ticks");
    }
}

#[test]
fn a_sleep_without_background_work_ends_on_time() {
    let sim = started_at(3);
    sim.foreground_sleeps_until(20 * MS);
    assert_eq!(sim.idle_next(), Idle::Over);
    assert_eq!((sim.now_ns(), sim.idle_ns()), (20 * MS, 20 * MS - 3));
}

#[test]
fn background_work_runs_while_the_foreground_sleeps() {
    let sim = started_at(0);
    sim.spawn(&SECOND);
    sim.sleep_until(&SECOND, 5 * MS);
    sim.foreground_sleeps_until(20 * MS);
    assert_eq!(sim.idle_next(), Idle::Run(&SECOND));
    assert_eq!(sim.now_ns(), 5 * MS);
    {
        let _turn = sim.run_as(&SECOND);
        assert_eq!(sim.running(), &SECOND);
        sim.compute(MS);
        sim.block(&SECOND);
    }
    assert_eq!(sim.idle_next(), Idle::Over);
    assert_eq!(sim.running(), &CALLER);
    // Idle: until 5 ms, and from 6 ms to 20 ms.
    assert_eq!((sim.now_ns(), sim.idle_ns()), (20 * MS, 19 * MS));
}

/// A task that holds the CPU past the end of the sleep: the foreground goes on when it is done.
#[test]
fn a_sleep_ends_late_when_the_cpu_is_held() {
    let sim = started_at(0);
    sim.spawn(&SECOND);
    sim.sleep_until(&SECOND, 5 * MS);
    sim.foreground_sleeps_until(6 * MS);
    assert_eq!(sim.idle_next(), Idle::Run(&SECOND));
    {
        let _turn = sim.run_as(&SECOND);
        sim.compute(4 * MS);
        sim.block(&SECOND);
    }
    assert_eq!(sim.idle_next(), Idle::Over);
    assert_eq!(sim.now_ns(), 9 * MS);
}

#[test]
fn a_killed_task_does_not_run_any_more() {
    let sim = started_at(0);
    sim.spawn(&SECOND);
    sim.sleep_until(&SECOND, 5 * MS);
    sim.kill(&SECOND);
    sim.wake(&SECOND);
    sim.foreground_sleeps_until(20 * MS);
    assert_eq!(sim.idle_next(), Idle::Over);
    assert_eq!(sim.now_ns(), 20 * MS);
}

/// The timer of a task that was killed fired again and again without end: nobody woke, so nobody took it off.
#[test]
fn a_timer_of_a_killed_task_does_not_fire() {
    let sim = started_at(0);
    sim.spawn(&WORKER);
    sim.kill(&WORKER);
    sim.sleep_until(&WORKER, 5 * MS);
    sim.foreground_sleeps_until(20 * MS);
    assert_eq!(sim.idle_next(), Idle::Over);
    assert_eq!(sim.now_ns(), 20 * MS);
}

/// A timer between 5 and 15 ms: in an idle machine it fires at its end, or with another one on the way; while somebody
/// runs at the tick.
#[test]
fn a_timer_with_slack_fires_with_the_first_interrupt() {
    let timer = || {
        let sim = started_at(0);
        sim.spawn(&SECOND);
        sim.sleep_between(&SECOND, 5 * MS, 15 * MS);
        sim
    };
    let fires = |sim: &Sim| {
        assert_eq!(sim.idle_next(), Idle::Run(&SECOND));
        sim.now_ns()
    };
    let idle = timer();
    idle.foreground_sleeps_until(20 * MS);
    assert_eq!(fires(&idle), 15 * MS);

    let early = timer();
    early.spawn(&WORKER);
    early.sleep_until(&WORKER, 3 * MS);
    early.foreground_sleeps_until(20 * MS);
    assert_eq!(early.idle_next(), Idle::Run(&WORKER));
    early.block(&WORKER);
    assert_eq!(fires(&early), 15 * MS, "at 3 ms its range has not begun");

    let with_another = timer();
    with_another.spawn(&WORKER);
    with_another.sleep_until(&WORKER, 7 * MS);
    with_another.foreground_sleeps_until(20 * MS);
    assert!(matches!(with_another.idle_next(), Idle::Run(_)));
    with_another.block(&WORKER);
    assert_eq!(fires(&with_another), 7 * MS);

    let busy = timer();
    busy.advance(9 * MS);
    assert_eq!(busy.resched(), Switch::Stay);
    busy.advance(2 * MS);
    assert_ne!(busy.resched(), Switch::Stay, "the tick at 10 ms has woken it");
}

/// Where the tick is a timer of the same queue it stands in front of one with slack, whoever else is woken or runs.
#[test]
fn a_timer_with_slack_waits_behind_the_tick() {
    let config = SimConfig { tick_rate_hz: 100, tick_is_timer: true, ..SimConfig::default() };
    let timer = || {
        let sim = machine(config);
        sim.spawn(&SECOND);
        sim.sleep_between(&SECOND, 5 * MS, 15 * MS);
        sim
    };
    let with_another = timer();
    with_another.spawn(&WORKER);
    with_another.sleep_until(&WORKER, 7 * MS);
    with_another.foreground_sleeps_until(20 * MS);
    assert_eq!(with_another.idle_next(), Idle::Run(&WORKER));
    with_another.block(&WORKER);
    assert_eq!((with_another.idle_next(), with_another.now_ns()), (Idle::Run(&SECOND), 15 * MS));

    let busy = timer();
    busy.advance(14 * MS);
    assert_eq!(busy.resched(), Switch::Stay, "nor does the tick at 10 ms");
    busy.advance(2 * MS);
    assert_ne!(busy.resched(), Switch::Stay);
}

/// An idle machine has stopped its tick, which comes for a timer that is counted in ticks, and those with slack behind it fire in the
/// same interrupt, before it; but none that ends behind a sleep of the program.
#[test]
fn an_idle_machine_fires_a_timer_with_slack_at_a_tick_that_comes_for_another() {
    let config = SimConfig { tick_rate_hz: 100, tick_is_timer: true, ..SimConfig::default() };
    let woken = |program_sleeps_until_ns: u64| {
        let sim = machine(config);
        sim.spawn(&WORKER);
        sim.sleep_until(&WORKER, 10 * MS);
        sim.spawn(&SECOND);
        sim.sleep_between(&SECOND, 5 * MS, 15 * MS);
        sim.foreground_sleeps_until(program_sleeps_until_ns);
        let mut woken = Vec::new();
        while let Idle::Run(task) = sim.idle_next() {
            woken.push((task.name, sim.now_ns()));
            sim.block(task);
        }
        woken
    };
    assert_eq!(woken(35 * MS), [(SECOND.name, 10 * MS), (WORKER.name, 10 * MS)]);
    assert_eq!(woken(14 * MS), [(WORKER.name, 10 * MS)]);
}

/// A driver that waits by the clock (`udelay`) waits no longer if a tick falls into it; work takes longer by each tick.
#[test]
fn a_tick_takes_no_time_of_a_wait_by_the_clock() {
    let sim = machine(SimConfig { tick_rate_hz: 100, tick_cost_ns: 10_000, ..SimConfig::default() });
    sim.advance_by_clock(TICK_NS + MS);
    assert_eq!(sim.now_ns(), TICK_NS + MS);
    sim.drive_by_clock(TICK_NS);
    assert_eq!(sim.now_ns(), 2 * TICK_NS + MS);
    sim.advance(TICK_NS);
    assert_eq!(sim.now_ns(), 3 * TICK_NS + MS + 10_000);
}

/// A delay that is a loop goes on where the tick has interrupted it.
#[test]
fn a_tick_makes_a_delay_longer_that_is_a_loop() {
    let config = SimConfig { tick_rate_hz: 100, tick_cost_ns: 10_000, delays_are_loops: true, ..SimConfig::default() };
    let sim = machine(config);
    sim.advance_by_clock(TICK_NS + MS);
    assert_eq!(sim.now_ns(), TICK_NS + MS + 10_000);
}

/// Turns of a thread that looks every 2 ms for work, beside another one and a program that sleeps and computes: who ran when, how long
/// nobody did, and how many turns the machine gave.
fn polled(sleeps_alone: bool) -> (Vec<(u64, &'static str)>, u64, usize) {
    let sim = started_at(0);
    let (mut seen, mut given) = (Vec::new(), 0);
    let mut turn = |task: &'static Task| {
        let _turn = sim.run_as(task);
        given += 1;
        loop {
            seen.push((sim.now_ns(), task.name));
            let is_poll = task == &WORKER;
            if !is_poll || seen.len().is_multiple_of(4) {
                sim.compute(MS);
            }
            let next_ns = sim.now_ns() + if is_poll { 2 * MS } else { 11 * MS };
            if !(sleeps_alone && is_poll && sim.slept_alone_until(next_ns)) {
                return sim.sleep_until(task, next_ns);
            }
        }
    };
    for task in [&WORKER, &SECOND] {
        sim.spawn(task);
        sim.sleep_until(task, MS);
    }
    for _ in 0..20 {
        sim.foreground_sleeps_until(sim.now_ns() + 47 * MS);
        while let Idle::Run(task) = sim.idle_next() {
            turn(task);
        }
        for _ in 0..20 {
            sim.compute(MS / 2);
            while let Switch::Run(task) = sim.resched() {
                turn(task);
            }
        }
    }
    (seen, sim.idle_ns(), given)
}

#[test]
fn a_thread_that_sleeps_alone_runs_as_one_that_is_switched_to() {
    let (switched, alone) = (polled(false), polled(true));
    assert_eq!((&switched.0, switched.1), (&alone.0, alone.1));
    assert!(3 * alone.2 < 2 * switched.2, "{} of {} turns", alone.2, switched.2);
}
