//! Who has the CPU. Every number follows by hand from the rules at the top of `cpu.rs`: latency period 6 ms shared by
//! weight, request to yield at ticks and wake-ups, effect at the next scheduling point. "Run time" below is virtual:
//! that of a task of nice 10 (weight 1024 / 1.25^10 = 110) grows 9.31 times as fast as real time.

use crate::support;

use ffslab_sim::{ChipLock, Idle, NandWait, Op, SchedulerClock, Sim, SimConfig, Switch, Task, CALLER};
use support::{machine, NICE, SECOND, WORKER};

const MS: u64 = 1_000_000;

/// Ticks of 1 ms.
fn fine() -> Sim {
    machine(SimConfig { tick_rate_hz: 1000, ..SimConfig::default() })
}

/// Ticks of 10 ms.
fn coarse() -> Sim {
    machine(SimConfig { tick_rate_hz: 100, ..SimConfig::default() })
}

/// Lets the running task work until a scheduling point, one each millisecond, has it give way. The milliseconds.
fn works_until_it_gives_way(sim: &Sim) -> (u64, Switch) {
    for ms in 1..1000 {
        sim.advance(MS);
        match sim.resched() {
            Switch::Stay => {}
            other => return (ms, other),
        }
    }
    panic!("nobody else gets the CPU");
}

#[test]
fn alone_nobody_gives_way() {
    let sim = fine();
    sim.spawn(&WORKER);
    for _ in 0..100 {
        sim.advance(MS);
        assert_eq!(sim.resched(), Switch::Stay);
    }
}

#[test]
fn equal_tasks_share_the_latency_period() {
    let sim = fine();
    sim.spawn(&WORKER);
    sim.wake(&WORKER);
    // Slices of 3 ms. The tick at 3 ms finds the slice not exceeded, the one at 4 ms does.
    assert_eq!(works_until_it_gives_way(&sim), (4, Switch::Run(&WORKER)));
    let _turn = sim.run_as(&WORKER);
    // After 4 ms more both have run as long, and the one that waited comes first.
    assert_eq!(works_until_it_gives_way(&sim), (4, Switch::Yield));
}

#[test]
fn slices_go_by_weight() {
    let sim = fine();
    sim.spawn(&NICE);
    sim.wake(&NICE);
    // 6 ms x 1024 / 1134 = 5.4 ms: the tick at 6 ms exceeds it.
    assert_eq!(works_until_it_gives_way(&sim), (6, Switch::Run(&NICE)));
    {
        // 6 ms x 110 / 1134 = 0.58 ms, at least 0.75 ms: the first tick exceeds it, and 9.3 ms are more than 6.
        let _turn = sim.run_as(&NICE);
        assert_eq!(works_until_it_gives_way(&sim), (1, Switch::Yield));
    }
    assert_eq!(works_until_it_gives_way(&sim), (6, Switch::Run(&NICE)));
}

#[test]
fn in_the_long_run_shares_are_weights() {
    let sim = fine();
    sim.spawn(&NICE);
    sim.wake(&NICE);
    let mut thread_ms = 0;
    while sim.now_ns() < 10_000 * MS {
        sim.advance(MS);
        if sim.resched() == Switch::Run(&NICE) {
            let _turn = sim.run_as(&NICE);
            thread_ms += works_until_it_gives_way(&sim).0;
        }
    }
    // 10 s x 110 / 1134 = 970 ms, within one slice of each.
    assert!((963..=977).contains(&thread_ms), "{thread_ms} ms");
}

#[test]
fn the_request_takes_effect_at_the_next_scheduling_point_only() {
    let sim = fine();
    sim.spawn(&WORKER);
    sim.wake(&WORKER);
    sim.advance(500 * MS);
    assert_eq!(sim.running(), &CALLER, "a system call is not interrupted");
    assert_eq!(sim.resched(), Switch::Run(&WORKER));
}

#[test]
fn a_sleeper_is_placed_half_a_latency_period_behind_however_long_it_slept() {
    let sim = fine();
    sim.spawn(&WORKER);
    sim.advance(1000 * MS);
    sim.wake(&WORKER);
    assert_eq!(sim.resched(), Switch::Run(&WORKER));
    let _turn = sim.run_as(&WORKER);
    // From 997 ms: at the fourth tick it has exceeded its slice of 3 ms, and at 1001 ms it is ahead of the caller.
    // Had it kept its 0 ms it would go on for a second.
    assert_eq!(works_until_it_gives_way(&sim), (4, Switch::Yield));
}

#[test]
fn a_wake_up_preempts_from_one_millisecond_on() {
    let sim = coarse();
    sim.spawn(&WORKER);
    sim.advance(20 * MS);
    sim.wake(&WORKER);
    // 17 ms against 20 ms.
    assert_eq!(sim.resched(), Switch::Run(&WORKER));
    {
        let _turn = sim.run_as(&WORKER);
        sim.advance(5 * MS / 2);
        sim.block(&WORKER);
    }
    // 19.5 ms against 20 ms: too little to interrupt the caller, whose next chance is the tick at 30 ms.
    sim.wake(&WORKER);
    assert_eq!(sim.resched(), Switch::Stay);
    sim.advance(MS);
    assert_eq!(sim.resched(), Switch::Stay);
    // The tick at 30 ms finds 27.5 ms of run time.
    sim.advance(7 * MS);
    assert_eq!(sim.resched(), Switch::Run(&WORKER));
}

/// The collector's thread is nice 10: 1 ms of advantage counts as 9.3 ms, more than a sleeper ever has.
#[test]
fn a_nice_task_does_not_preempt_at_its_wake_up() {
    let sim = coarse();
    sim.spawn(&NICE);
    sim.advance(25 * MS);
    sim.wake(&NICE);
    assert_eq!(sim.resched(), Switch::Stay);
    sim.advance(4 * MS);
    assert_eq!(sim.resched(), Switch::Stay);
    // The tick at 30 ms: the caller has had its slice of 5.4 ms.
    sim.advance(MS);
    assert_eq!(sim.resched(), Switch::Run(&NICE));
}

#[test]
fn turns_nest_and_end_from_the_inside() {
    let sim = fine();
    sim.spawn(&WORKER);
    sim.spawn(&SECOND);
    sim.advance(100 * MS);
    sim.wake(&WORKER);
    assert_eq!(sim.resched(), Switch::Run(&WORKER));
    {
        let _worker = sim.run_as(&WORKER);
        // From 97 ms; at 98.5 ms the thread wakes with 97 ms and is let in.
        sim.advance(3 * MS / 2);
        sim.wake(&SECOND);
        assert_eq!(sim.resched(), Switch::Run(&SECOND));
        {
            let _thread = sim.run_as(&SECOND);
            // Three tasks, slices of 2 ms. The worker, which is below on the stack of turns, is the least: yield.
            let (_, switch) = works_until_it_gives_way(&sim);
            assert_eq!((sim.running(), switch), (&SECOND, Switch::Yield));
        }
        assert_eq!(sim.running(), &WORKER);
    }
    assert_eq!(sim.running(), &CALLER);
}

/// A machine on which `task` waits for the chip while the program uses it.
fn queueing(task: &'static Task) -> Sim {
    let sim = machine(SimConfig { nand_wait: NandWait::Sleep, ..SimConfig::default() });
    sim.spawn(task);
    sim.wake(task);
    sim
}

/// One request to the driver.
fn use_chip(sim: &Sim, pages: u32) {
    for page in 0..pages {
        sim.advance(300_000);
        sim.count(Op::PageProgram, page, 0, 2112, 300_000);
    }
    sim.chip_used();
}

/// With sleeping waits tasks queue for the chip. The caller once offered the CPU at every scheduling point, and the
/// thread got two turns for each page that the caller wrote; a turn is as long as two requests, of any number of pages.
#[test]
fn sleeping_waits_alternate_by_uses_of_the_chip() {
    let sim = queueing(&SECOND);
    for step in 0..100 {
        use_chip(&sim, 3);
        assert_eq!(sim.resched(), Switch::Stay, "step {step}: half a turn");
        use_chip(&sim, 1);
        assert_eq!(sim.resched(), Switch::Run(&SECOND), "step {step}");
        {
            let _turn = sim.run_as(&SECOND);
            use_chip(&sim, 1);
            assert_eq!(sim.resched(), Switch::Stay, "step {step}");
            use_chip(&sim, 1);
            assert_eq!(sim.resched(), Switch::Yield, "step {step}");
        }
        assert_eq!(sim.resched(), Switch::Stay, "step {step}: the caller goes on");
    }
}

/// Kernels before 5.0 wake who waits for the chip and let whoever has it go on: a thread with much to do keeps it.
#[test]
fn a_queue_for_the_chip_leaves_it_to_the_thread_that_has_it() {
    let config = SimConfig { nand_wait: NandWait::Sleep, chip_lock: ChipLock::Queue, ..SimConfig::default() };
    let sim = machine(config);
    sim.spawn(&SECOND);
    sim.wake(&SECOND);
    use_chip(&sim, 1);
    use_chip(&sim, 1);
    assert_eq!(sim.resched(), Switch::Run(&SECOND));
    let _turn = sim.run_as(&SECOND);
    for use_of_chip in 0..100 {
        use_chip(&sim, 1);
        assert_eq!(sim.resched(), Switch::Stay, "use {use_of_chip}");
    }
}

#[test]
fn a_nice_task_gives_the_chip_away_after_each_use() {
    let sim = queueing(&NICE);
    use_chip(&sim, 1);
    use_chip(&sim, 1);
    assert_eq!(sim.resched(), Switch::Run(&NICE));
    let _turn = sim.run_as(&NICE);
    use_chip(&sim, 2);
    assert_eq!(sim.resched(), Switch::Yield);
}

/// The program's scheduling points may lie several turns apart, and not whole ones.
#[test]
fn what_the_program_used_of_the_chip_beyond_its_turn_is_made_up_for() {
    let sim = queueing(&NICE);
    for _ in 0..5 {
        use_chip(&sim, 1);
    }
    assert_eq!(sim.resched(), Switch::Run(&NICE));
    {
        let _turn = sim.run_as(&NICE);
        use_chip(&sim, 2);
        assert_eq!(sim.resched(), Switch::Stay, "two turns were missed");
        use_chip(&sim, 2);
        assert_eq!(sim.resched(), Switch::Yield);
    }
    assert_eq!(sim.resched(), Switch::Stay);
    use_chip(&sim, 1);
    assert_eq!(sim.resched(), Switch::Run(&NICE), "the fifth use counts");
}

/// A request that the driver answers from memory makes nobody wait.
#[test]
fn a_request_without_a_flash_operation_is_no_use_of_the_chip() {
    let sim = queueing(&SECOND);
    use_chip(&sim, 1);
    use_chip(&sim, 0);
    use_chip(&sim, 0);
    assert_eq!(sim.resched(), Switch::Stay);
}

/// 100 ticks a second, charged as a whole to whoever runs at them.
fn ticking() -> Sim {
    machine(SimConfig { tick_rate_hz: 100, scheduler_clock: SchedulerClock::Tick, ..SimConfig::default() })
}

#[test]
fn a_scheduler_clock_of_ticks_knows_no_time_between_them() {
    let sim = ticking();
    sim.spawn(&WORKER);
    sim.advance(9 * MS);
    sim.wake(&WORKER);
    // Nobody has run for any time yet, so the worker that wakes is not ahead.
    assert_eq!(sim.resched(), Switch::Stay);
    sim.advance(2 * MS);
    // The tick charged 10 ms to the program.
    assert_eq!(sim.resched(), Switch::Run(&WORKER));
}

/// A program that has had the CPU for 10 ms and goes on for 7 ms in a call after a worker has asked for it.
fn asked_in_a_long_call(clock_stops_when_asked: bool) -> Sim {
    let sim = machine(SimConfig { tick_rate_hz: 1_000, clock_stops_when_asked, ..SimConfig::default() });
    sim.spawn(&WORKER);
    sim.advance(10 * MS);
    sim.wake(&WORKER);
    sim.advance(7 * MS);
    sim
}

#[test]
fn who_gets_the_cpu_pays_for_the_time_since_it_asked_where_the_clock_stops() {
    for (stops, expected) in [(false, Switch::Run(&WORKER)), (true, Switch::Stay)] {
        let sim = asked_in_a_long_call(stops);
        assert_eq!(sim.resched(), Switch::Run(&WORKER));
        {
            let _turn = sim.run_as(&WORKER);
            sim.advance(MS);
            sim.block(&WORKER);
        }
        sim.advance(2 * MS);
        sim.wake(&WORKER);
        // The program has 19 ms and the worker 8 ms, or 12 ms and 15 ms.
        assert_eq!(sim.resched(), expected, "the clock stops: {stops}");
    }
}

#[test]
fn a_task_that_can_only_run_later_pays_and_the_clock_goes_on() {
    let sim = asked_in_a_long_call(true);
    sim.comes_later();
    sim.advance(MS);
    // The program has 11 ms, the worker 14 ms without having run.
    assert_eq!(sim.resched(), Switch::Stay);
}

#[test]
fn a_task_that_finds_the_chip_taken_pays_and_comes_again() {
    let sim = asked_in_a_long_call(true);
    sim.finds_chip_taken(&WORKER);
    assert!(sim.is_runnable(&WORKER), "the operation has ended");
    // The program has 10 ms, the worker 14 ms: 7 ms of credit and the 7 ms since it asked.
    assert_eq!(sim.resched(), Switch::Stay);
    sim.advance(9 * MS);
    assert_eq!(sim.resched(), Switch::Run(&WORKER));
}

#[test]
fn when_a_turn_ends_a_third_task_may_come_next() {
    let sim = fine();
    sim.spawn(&WORKER);
    sim.spawn(&SECOND);
    sim.advance(10 * MS);
    sim.wake(&WORKER);
    assert_eq!(sim.resched(), Switch::Run(&WORKER));
    {
        let _turn = sim.run_as(&WORKER);
        sim.wake(&SECOND);
        sim.block(&WORKER);
    }
    // The program has run longer than the thread that was woken in between.
    assert_eq!(sim.resched(), Switch::Run(&SECOND));
}

/// A driver that offers the CPU while it holds the chip: the tick's request is used up, and the thread waits for a tick that
/// falls outside of operations.
#[test]
fn a_scheduling_point_inside_an_operation_helps_nobody() {
    let sim = coarse();
    sim.spawn(&NICE);
    sim.wake(&NICE);
    for operation in 0..20 {
        sim.advance(9 * MS);
        sim.gives_way_to_nobody();
        assert_eq!(sim.resched(), Switch::Stay, "operation {operation}");
    }
    // The next tick falls between two operations.
    sim.advance(10 * MS);
    assert_eq!(sim.resched(), Switch::Run(&NICE));
}

/// Whether a task that wakes gets the CPU from the program, which has slept until a flusher had run for no time at all.
fn is_preempted_after_waiting(spawn: fn(&Sim, &'static Task)) -> bool {
    static FLUSHER: Task = Task { name: "flusher", title: "flusher", nice: 0, process: "flush" };
    static OTHER: Task = Task { name: "other", title: "other", nice: 0, process: "other" };
    let sim = Sim::new(SimConfig::default());
    spawn(&sim, &FLUSHER);
    sim.spawn(&OTHER);
    sim.program_computes(10_000_000);
    sim.wake(&FLUSHER);
    sim.block(&CALLER);
    while let Idle::Run(task) = sim.idle_next() {
        let _turn = sim.run_as(task);
        sim.wake(&CALLER);
        sim.block(task);
    }
    sim.program_computes(500_000);
    sim.wake(&OTHER);
    sim.resched() == Switch::Run(&OTHER)
}

#[test]
fn who_has_slept_while_a_new_task_ran_keeps_the_cpu() {
    assert!(is_preempted_after_waiting(Sim::spawn), "a sleeper has an advantage of 3 ms over the program");
    assert!(!is_preempted_after_waiting(Sim::spawn_when_needed), "the program has woken with the same advantage");
}

/// A nice worker that waits beside a program: it is woken when that begins its third millisecond. The milliseconds until it gets the CPU.
fn waits_beside_a_program(grace_period_thread: bool, frees: bool) -> u64 {
    let sim = machine(SimConfig { tick_rate_hz: 1000, grace_period_thread, ..SimConfig::default() });
    sim.spawn(&NICE);
    sim.advance(2 * MS);
    sim.wake(&NICE);
    if frees {
        sim.frees_later();
    }
    let (ms, next) = works_until_it_gives_way(&sim);
    assert_eq!(next, Switch::Run(&NICE));
    ms
}

/// `kernel/rcu/tree.c`: the thread that ends grace periods wakes at the tick after a close(2), and whoever has had the CPU least
/// comes next, although the program's slice of 5.4 ms is not used up.
#[test]
fn a_program_that_closes_files_gives_the_cpu_away_at_the_next_tick() {
    assert_eq!(waits_beside_a_program(true, true), 1);
    let by_slice = waits_beside_a_program(true, false);
    assert!(by_slice > 1, "{by_slice}");
    assert_eq!(waits_beside_a_program(false, true), by_slice, "a kernel without that thread");
}
