//! What the CPU's work costs: time, energy, counters; nothing at all on a board without costs.

use crate::support;

use ffslab_sim::{CpuCosts, Function, PowerMilliwatt, Sim, SimConfig, Work, WorkCost, WorkDone, CALLER};
use support::{machine, COPY};

fn board() -> Sim {
    let mut costs = CpuCosts::FREE;
    costs.of[Work::Crc as usize] = WorkCost { each_ns: 100, per_byte_ps: 2_500 };
    costs.of[Work::ColdCache as usize] = WorkCost { each_ns: 3_000, per_byte_ps: 0 };
    costs.of[Work::TracedFunction as usize] = WorkCost { each_ns: 7, per_byte_ps: 0 };
    costs.power = PowerMilliwatt { cpu: 200.0, memory: 50.0 };
    let sim = Sim::with_costs(SimConfig::default(), &costs);
    sim.register(&[&COPY]);
    sim
}

#[test]
fn work_takes_time_and_energy_under_its_cause() {
    let sim = board();
    let _why = sim.because(&COPY);
    sim.work(Work::Crc, 4_000);
    assert_eq!(sim.now_ns(), 100 + 10_000);
    assert_eq!(sim.counts(&CALLER, &COPY).cpu_ns, 10_100);
    assert_eq!(sim.work_done(Work::Crc), WorkDone { count: 1, bytes: 4_000 });
    // mW * ns = pJ
    assert!((sim.energy().cpu_uj - 200.0 * 10_100.0 * 1e-6).abs() < 1e-12);
    assert!((sim.energy().memory_uj - 50.0 * 10_100.0 * 1e-6).abs() < 1e-12);
}

#[test]
fn a_board_without_costs_spends_and_counts_nothing() {
    let sim = machine(SimConfig::default());
    for &work in Work::ALL {
        sim.work(work, 4_096);
        assert_eq!(sim.work_done(work), WorkDone::default(), "{}", work.name());
    }
    assert_eq!((sim.now_ns(), sim.total(), sim.takes_cold_caches()), (0, Default::default(), false));
}

#[test]
fn a_tracer_is_seen_in_the_durations_that_it_records() {
    let sim = board();
    let start_ns = sim.now_ns();
    sim.work(Work::Crc, 0);
    sim.function_ends(Function::WriteEnd, start_ns);
    let time = sim.function_time(Function::WriteEnd);
    assert_eq!((time.calls, time.total_ns), (1, 107));
    assert_eq!(sim.function_time(Function::ReadPage).calls, 0);
}

#[test]
fn deflate_leaves_cold_caches_to_who_comes_next() {
    let sim = board();
    sim.work(Work::LzoCompress, 4_096);
    assert!(!sim.takes_cold_caches());
    sim.work(Work::ZlibCompress, 4_096);
    assert!(sim.takes_cold_caches());
    assert!(!sim.takes_cold_caches(), "they are warm again");
}
