//! Counters by cause, time without a cause, events, energy.

use crate::support;

use std::cell::RefCell;
use std::rc::Rc;

use ffslab_sim::{
    Causes, Energy, EventSink, Kind, Op, OpCounts, OpEvent, PowerMilliwatt, Purpose, Rail, Reason, Sim, SimConfig,
    CALLER, LEFT_BY_SETUP, OTHER,
};
use support::{machine, COPY, DATA, ERASE, METADATA, READ, SYNC, WORKER};

fn sim() -> Sim {
    machine(SimConfig::default())
}

#[test]
fn operations_are_counted_for_their_task_and_reason() {
    let sim = sim();
    sim.spawn(&WORKER);
    sim.count(Op::PageRead, 1, 2112, 0, 130);
    {
        let _why = sim.because(&DATA);
        sim.count(Op::PageProgram, 2, 0, 2112, 305);
        {
            let _why = sim.because(&COPY);
            let _turn = sim.run_as(&WORKER);
            sim.count(Op::Erase, 3, 0, 0, 500);
        }
        sim.count(Op::PageProgram, 4, 0, 2112, 305);
    }
    assert_eq!(sim.reason(), &OTHER);
    let other = OpCounts { page_reads: 1, bus_out_bytes: 2112, busy_ns: 130, ..OpCounts::default() };
    let data = OpCounts { page_programs: 2, bus_in_bytes: 4224, busy_ns: 610, ..OpCounts::default() };
    let copy = OpCounts { erases: 1, busy_ns: 500, ..OpCounts::default() };
    assert_eq!(sim.counts(&CALLER, &OTHER), other);
    assert_eq!(sim.counts(&CALLER, &DATA), data);
    assert_eq!(sim.counts(&WORKER, &COPY), copy);
    assert_eq!(sim.total(), other + data + copy);
    assert_eq!(sim.total() - data - copy, other);
}

/// A task that changes the reason and is left in the middle must not leave its reason to the one that goes on.
#[test]
fn the_end_of_a_turn_restores_the_reason() {
    let sim = sim();
    sim.spawn(&WORKER);
    let _why = sim.because(&METADATA);
    let turn = sim.run_as(&WORKER);
    let forgotten = sim.because(&ERASE);
    drop(turn);
    assert_eq!(sim.reason(), &METADATA);
    drop(forgotten);
}

/// What is done for the setup stays so, whatever the code below says; a background task that runs meanwhile has its own
/// reasons.
#[test]
fn what_the_setup_left_stands_over_other_reasons() {
    let sim = sim();
    sim.spawn(&WORKER);
    {
        let of_setup = sim.phase_of_change();
        assert!(sim.because_left(of_setup).is_none());
        sim.next_phase();
        let _left = sim.because_left(of_setup);
        // What that changes belongs to the setup, too.
        assert!(sim.was_left(sim.phase_of_change()));
        {
            let _why = sim.because(&COPY);
            sim.count(Op::PageProgram, 1, 0, 2112, 305);
            sim.compute(7);
            let _turn = sim.run_as(&WORKER);
            sim.count(Op::Erase, 2, 0, 0, 500);
            let _why = sim.because(&METADATA);
            sim.count(Op::PageProgram, 3, 0, 2112, 305);
        }
        sim.consume(PowerMilliwatt::default(), 10);
        assert!(sim.is_for_setup());
    }
    assert_eq!(sim.reason(), &OTHER);
    let of_setup = sim.counts(&CALLER, &LEFT_BY_SETUP);
    assert_eq!((of_setup.page_programs, of_setup.erases, of_setup.cpu_ns), (1, 0, 7));
    assert_eq!(sim.counts(&WORKER, &OTHER).erases, 1);
    assert_eq!(sim.counts(&WORKER, &METADATA).page_programs, 1);
    assert!(sim.because_left(sim.phase_of_change()).is_none());
}

#[test]
fn partial_reads_and_reprograms_are_parts_of_their_kind() {
    let sim = sim();
    for op in
        [Op::PageRead, Op::PartialPageRead, Op::OobRead, Op::PageProgram, Op::Reprogram, Op::OobProgram, Op::Erase]
    {
        sim.count(op, 0, 0, 0, 1);
    }
    let total = sim.total();
    assert_eq!((total.page_reads, total.partial_page_reads, total.oob_reads), (2, 1, 1));
    assert_eq!((total.page_programs, total.reprograms, total.oob_programs, total.erases), (2, 1, 1, 1));
    assert_eq!(total.operations(), 7);
}

#[test]
fn every_nanosecond_is_accounted_for() {
    let sim = sim();
    sim.program_computes(5);
    {
        let _why = sim.because(&READ);
        sim.compute(70);
        sim.drive(600);
        sim.count(Op::PageRead, 0, 2112, 0, 1000);
        sim.advance(1000);
    }
    sim.foreground_sleeps_until(10_000);
    assert_eq!(sim.idle_next(), ffslab_sim::Idle::Over);
    let read = sim.counts(&CALLER, &READ);
    assert_eq!((read.cpu_ns, read.driver_ns, read.busy_ns), (70, 600, 1000));
    assert_eq!((sim.program_ns(), read.time_ns(), sim.idle_ns()), (5, 1670, 8325));
    assert_eq!(sim.program_ns() + sim.total().time_ns() + sim.idle_ns(), sim.now_ns());
}

struct Log(Rc<RefCell<Vec<OpEvent>>>);

impl EventSink for Log {
    fn flash_op(&mut self, event: &OpEvent) {
        self.0.borrow_mut().push(*event);
    }
}

#[test]
fn a_sink_sees_every_operation_until_it_is_taken_away() {
    let sim = sim();
    let events = Rc::new(RefCell::new(Vec::new()));
    sim.count(Op::Erase, 1, 0, 0, 9);
    sim.set_sink(Some(Box::new(Log(events.clone()))));
    sim.advance(40);
    let why = sim.because(&SYNC);
    sim.count(Op::PageProgram, 77, 0, 2112, 305);
    drop(why);
    sim.set_sink(None);
    sim.count(Op::Erase, 1, 0, 0, 9);
    let events = events.borrow();
    assert_eq!(events.len(), 1);
    let OpEvent { at_ns, busy_ns, op, address, task, reason } = events[0];
    assert_eq!((at_ns, busy_ns, op, address), (40, 305, Op::PageProgram, 77));
    assert_eq!((task, reason), (&CALLER, &SYNC));
}

#[test]
fn energy_is_power_times_time_on_each_rail() {
    let sim = sim();
    // 100 mW for 2 ms are 200 uJ; 50 mW for 2 ms are 100 uJ.
    sim.consume(PowerMilliwatt { cpu: 100.0, memory: 50.0 }, 2_000_000);
    let before = sim.energy();
    assert_eq!(before, Energy { cpu_uj: 200.0, memory_uj: 100.0 });
    assert_eq!((before.of(Rail::Cpu), before.of(Rail::Memory), before.total_uj()), (200.0, 100.0, 300.0));
    // 8 mW for 1 us are 8 nJ.
    sim.consume(PowerMilliwatt { cpu: 0.0, memory: 8.0 }, 1_000);
    let more = sim.energy() - before;
    assert_eq!(more.cpu_uj, 0.0);
    assert!((more.memory_uj - 0.008).abs() < 1e-9);
    assert_eq!(sim.now_ns(), 0, "energy is charged for time that others count");
}

/// Layers make their tasks and reasons known one after the other, some while operations are counted already: counters
/// stay with their causes, and results list them task by task and kind by kind.
#[test]
fn a_layer_that_comes_later_adds_its_causes() {
    static LATE: Reason = Reason { name: "late", sentence: "", kind: Kind::Mounting, purpose: Purpose::Cost };
    let sim = sim();
    let start = sim.causes();
    let count = |reason| {
        let _why = sim.because(reason);
        sim.count(Op::PageRead, 1, 2112, 0, 130);
    };
    count(&SYNC);
    count(&READ);
    let before = sim.causes();
    sim.spawn(&WORKER);
    sim.register(&[&READ, &LATE]);
    {
        let _turn = sim.run_as(&WORKER);
        count(&LATE);
        count(&ERASE);
    }
    count(&READ);
    count(&LATE);
    let of = |causes: &Causes| -> Vec<_> {
        let rows = sim.causes().since(causes);
        rows.iter().map(|row| (row.task.name, row.reason.name, row.counts.page_reads)).collect()
    };
    let late = ("caller", "late", 1);
    let worker = [("worker", "late", 1), ("worker", "erase", 1)];
    assert_eq!(of(&start), [&[("caller", "read", 2), late, ("caller", "sync", 1)], &worker[..]].concat());
    assert_eq!(of(&before), [&[("caller", "read", 1), late], &worker[..]].concat());
    assert_eq!(of(&Causes::default()), of(&start));
    assert_eq!(sim.causes().of_task(&WORKER).page_reads, 2);
    assert_eq!(sim.causes().of_reason(&LATE).page_reads, 2);
    assert_eq!(sim.causes().total(), sim.total());
}

#[test]
#[should_panic(expected = "nobody has registered the reason \"late\"")]
fn a_reason_that_nobody_registered_is_our_mistake() {
    static LATE: Reason = Reason { name: "late", sentence: "", kind: Kind::Mounting, purpose: Purpose::Cost };
    let _why = sim().because(&LATE);
}

#[test]
#[should_panic(expected = "two reasons named \"read\"")]
fn two_layers_cannot_give_two_reasons_one_name() {
    static READ_TOO: Reason = Reason { name: "read", sentence: "", kind: Kind::Reading, purpose: Purpose::Cost };
    sim().register(&[&READ_TOO]);
}

#[test]
#[should_panic(expected = "nobody has spawned the task \"worker\"")]
fn a_task_that_nobody_spawned_cannot_run() {
    let _turn = sim().run_as(&WORKER);
}

/// A bill holds what was counted since the call began, each cause once, whoever registers reasons meanwhile.
#[test]
fn a_bill_holds_what_a_call_waited_for() {
    let sim = Sim::new(SimConfig::default());
    sim.register(&[&DATA]);
    let bill = |sim: &Sim| {
        let mut lines = Vec::new();
        sim.bill(|line| lines.push((line.reason.name, line.counts.page_reads, line.counts.page_programs)));
        lines
    };
    sim.count(Op::PageRead, 0, 0, 0, 10);
    assert_eq!(bill(&sim), [], "no call has begun");
    sim.call_begins();
    sim.count(Op::PageRead, 0, 0, 0, 10);
    let because = sim.because(&DATA);
    sim.register(&[&COPY]);
    sim.count(Op::PageProgram, 1, 0, 0, 20);
    sim.count(Op::PageProgram, 2, 0, 0, 20);
    drop(because);
    assert_eq!(bill(&sim), [(OTHER.name, 1, 0), (DATA.name, 0, 2)]);
    sim.call_begins();
    assert_eq!(bill(&sim), []);
    sim.count(Op::PageRead, 0, 0, 0, 10);
    assert_eq!(bill(&sim), [(OTHER.name, 1, 0)]);
}
