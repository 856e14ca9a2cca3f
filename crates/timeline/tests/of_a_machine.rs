//! A machine of a few lines is written down: stacks hold all its time, energy, operations and erases, whatever runs when.

use ffslab_sim::{CallDone, Kind, MediumUnits, Op, PowerMilliwatt, Purpose, Reason, Sim, SimConfig, Task, CALLER};
use ffslab_timeline::{Finished, Frame, StackRow, Timeline, Wanted};
use std::path::PathBuf;

static WRITING: Reason =
    Reason { name: "file data", sentence: "the program writes", kind: Kind::Writing, purpose: Purpose::Write };
static COLLECTING: Reason =
    Reason { name: "collection", sentence: "space is made", kind: Kind::Collecting, purpose: Purpose::Cost };
static COLLECTOR: Task = Task { name: "collector", title: "collector", nice: 0, process: "collector" };

const PROGRAM_NS: u64 = 200_000;
const ERASE_NS: u64 = 2_000_000;

fn machine() -> Sim {
    let sim = Sim::new(SimConfig::default());
    sim.register(&[&WRITING, &COLLECTING]);
    sim.spawn(&COLLECTOR);
    sim.medium_has(MediumUnits { dies: 2, planes_per_die: 1, blocks: 8, pages_per_block: 4, page_bytes: 2048 });
    sim
}

fn program_page(sim: &Sim, page: u32) {
    let _why = sim.because(&WRITING);
    sim.compute(1_000);
    sim.compute(500);
    sim.drive(4_000);
    sim.count(Op::PageProgram, page, 0, 2112, PROGRAM_NS);
    sim.advance_by_clock(PROGRAM_NS);
    sim.consume(PowerMilliwatt { cpu: 10.0, memory: 1.0 }, PROGRAM_NS);
}

/// Two writes; in the second one the collector has a turn, and what the first has left is made up for.
fn run(sim: &Sim, calls: u64) {
    sim.step_begins(|| "write twice".to_string(), "write");
    for call in 0..calls {
        sim.program_computes(700);
        sim.call_begins();
        program_page(sim, call as u32);
        sim.puts_off(7, call);
        if call % 2 == 1 {
            sim.wake(&COLLECTOR);
            let _turn = sim.run_as(&COLLECTOR);
            let _why = sim.because(&COLLECTING);
            sim.makes_up(7, call - 1, true);
            sim.compute(300);
            sim.count(Op::Erase, 5, 0, 0, ERASE_NS);
            sim.advance_by_clock(ERASE_NS);
            sim.block(&COLLECTOR);
        }
        sim.compute(100);
        sim.call_ends(&CallDone { name: "write", file: "a", offset_bytes: call * 2048, bytes: 2048, writes: true });
    }
    sim.count_queued(Op::PageRead, 3, 2048, 0, sim.now_ns() + 50, 25_000);
    sim.wait_for_medium(sim.now_ns() + 25_050);
    sim.step_ends();
}

/// A file that goes away with this.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        Temporary(std::env::temp_dir().join(format!("ffslab-{}-{name}.pftrace", std::process::id())))
    }

    fn size(&self) -> u64 {
        std::fs::metadata(&self.0).unwrap().len()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn observed(file: Option<&Temporary>, every: u64, calls: u64) -> (Sim, Finished) {
    let sim = machine();
    let wanted = Wanted {
        file: file.map(|file| file.0.as_path()),
        sequence: 1,
        title: "demo".to_string(),
        every_calls: every,
        ..Wanted::default()
    };
    let timeline = Timeline::start(&sim, &wanted).unwrap();
    run(&sim, calls);
    let finished = timeline.finish().unwrap();
    (sim, finished)
}

fn sum(rows: &[StackRow], of: impl Fn(&StackRow) -> u64) -> u64 {
    rows.iter().map(of).sum()
}

#[test]
fn stacks_hold_all_time_operations_and_erases() {
    let (sim, finished) = observed(None, 1, 2);
    let rows = finished.stacks.rows();
    let total = sim.total();
    assert_eq!(sum(&rows, |row| row.cost.time_ns), sim.now_ns() - SimConfig::default().uptime_ns);
    assert_eq!(sum(&rows, |row| row.cost.operations), total.operations());
    assert_eq!(sum(&rows, |row| row.cost.erases), total.erases);
    let energy_uj: f64 = rows.iter().map(|row| row.cost.energy_uj).sum();
    assert!((energy_uj - sim.energy().total_uj()).abs() < 1e-9);
    let of = |task: &str, call: &str, reason: Option<&str>, frame: Frame| {
        let row = rows
            .iter()
            .find(|row| (row.task.as_str(), row.call.as_str(), row.reason, row.frame) == (task, call, reason, frame));
        row.unwrap_or_else(|| panic!("no {task};{call};{reason:?};{frame:?}")).cost
    };
    let writes = of(CALLER.title, "write", Some("file data"), Frame::PageProgram);
    assert_eq!((writes.time_ns, writes.operations), (2 * PROGRAM_NS, 2));
    assert!(writes.energy_uj > 0.0, "energy is charged to the operation that used it");
    assert_eq!(of("collector", "in the background", Some("collection"), Frame::Erase).erases, 1);
    assert_eq!(of(CALLER.title, "write", None, Frame::Program).time_ns, 1_400, "between calls the step stands for one");
    assert_eq!(of(CALLER.title, "write", None, Frame::Waiting).time_ns, 25_050);
}

#[test]
fn a_machine_that_is_observed_does_the_same() {
    let bare = machine();
    run(&bare, 5);
    let (sim, _) = observed(None, 1, 5);
    assert_eq!((sim.now_ns(), sim.total(), sim.energy()), (bare.now_ns(), bare.total(), bare.energy()));
    assert!(!sim.is_observed());
}

#[test]
fn a_file_grows_with_what_is_drawn_and_stacks_do_not_change() {
    let (all, some) = (Temporary::new("all"), Temporary::new("some"));
    let (_, of_all) = observed(Some(&all), 1, 400);
    let (_, of_some) = observed(Some(&some), 10, 400);
    assert_eq!(all.size(), of_all.written.bytes);
    assert_eq!(some.size(), of_some.written.bytes);
    assert!(of_some.written.events_n * 2 < of_all.written.events_n);
    assert_eq!(of_all.stacks.rows(), of_some.stacks.rows());
    // An event takes about two packets.
    assert!(of_all.written.bytes < 60 * of_all.written.events_n, "{:?}", of_all.written);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let files = [Temporary::new("once"), Temporary::new("again")];
    let [once, again] = files.map(|file| {
        observed(Some(&file), 1, 50);
        std::fs::read(&file.0).unwrap()
    });
    assert!(!once.is_empty() && once == again);
}

#[test]
fn what_cannot_be_written_is_told() {
    let sim = machine();
    let nowhere = PathBuf::from("/nonexistent/folder/x.pftrace");
    let wanted = Wanted { file: Some(&nowhere), sequence: 1, ..Wanted::default() };
    assert!(Timeline::start(&sim, &wanted).is_err());
    assert!(!sim.is_observed());
}
