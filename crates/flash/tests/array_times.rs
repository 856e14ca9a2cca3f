//! Times of the array's commands against closed formulas, to the nanosecond.
//!
//! R and P are the times of the array for a read and a program, B that of an erase, M is what it takes to move the pages of
//! all planes of a command over the bus, D the number of dies on a channel, N the number of commands that each die gets,
//! in turn. Channels share nothing, so they do not occur.

use crate::arrays;

use arrays::*;
use ffslab_flash::{Array, Command, CopyBack, Hierarchy, Law, Laws, TimeLaw, Timing};
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Read,
    CacheRead,
    Program,
    CacheProgram,
    Erase,
    CopyBack,
}

const KINDS: [Kind; 6] = [Kind::Read, Kind::CacheRead, Kind::Program, Kind::CacheProgram, Kind::Erase, Kind::CopyBack];

/// From the first command to the end of the last one.
fn closed_formula_ns(kind: Kind, timing: Timing, planes: u32, dies: u64, n: u64) -> u64 {
    let Timing { read_ns: r, program_ns: p, erase_ns: b, .. } = timing;
    let m = u64::from(planes) * MOVE_NS;
    match kind {
        // Each die reads and then moves, R + M, and the bus serves D dies in D x M: the longer of the two is the period.
        // The first period begins with R, the last one ends when the bus has served every die once more.
        Kind::Read => r + dies * m + (n - 1) * u64::max(r + m, dies * m),
        // The array reads while the bus moves, so the period is R or D x M.
        Kind::CacheRead => r + dies * m + (n - 1) * u64::max(r, dies * m),
        // The last die gets its first data after D x M, and each die has a period of M + P, unless the bus has to serve
        // the other dies for longer than that. At the end is a program.
        Kind::Program => dies * m + p + (n - 1) * u64::max(m + p, dies * m),
        // The bus fills the cache register while the array programs, so the period is P or D x M.
        Kind::CacheProgram => dies * m + p + (n - 1) * u64::max(p, dies * m),
        // No bus: dies do not meet.
        Kind::Erase => n * b,
        Kind::CopyBack => n * (r + p),
    }
}

/// Gives every die `n` commands of a kind, each die its next one in turn.
fn measured_ns(array: &mut Array, kind: Kind, planes: u32, n: u32) -> u64 {
    let mut last_ns = 0;
    for command in 0..n {
        for die in 0..array.hierarchy().dies() {
            let places = in_planes(array, die, planes, command);
            let more = command + 1 < n;
            let done = match kind {
                Kind::Read => read(array, &places),
                Kind::CacheRead => cache_read(array, &places, more),
                Kind::Program => program(array, &places, 0),
                Kind::CacheProgram => cache_program(array, &places, 0, more),
                Kind::Erase => array.issue(Command::Erase(&in_planes(array, die, planes, 0))),
                Kind::CopyBack => {
                    let other_block = 2 * array.hierarchy().planes_per_die;
                    let to = |from| ffslab_flash::Address { block: other_block + from, ..places[0] };
                    let copies: Vec<CopyBack> =
                        (0..planes).map(|plane| CopyBack { from: places[plane as usize], to: to(plane) }).collect();
                    array.issue(Command::CopyBack(&copies))
                }
            };
            last_ns = last_ns.max(done.unwrap().done_ns);
        }
    }
    assert_eq!(array.sim().now_ns(), 0, "issuing takes no time");
    assert_eq!(array.all_done_ns(), last_ns);
    array.wait_until(last_ns);
    assert_eq!(array.sim().now_ns(), last_ns);
    assert_eq!(array.sim().total().busy_ns, last_ns, "what was waited is counted");
    last_ns
}

/// Arrays slower and faster than the bus, for reads and for programs.
const TIMINGS: [Timing; 3] = [
    TIMING,
    Timing { read_ns: 75_000, program_ns: 600_000, ..TIMING },
    Timing { read_ns: 10_000, program_ns: 30_001, ..TIMING },
];

#[test]
fn all_combinations_take_what_the_formulas_say() {
    let mut combinations = 0;
    for timing in TIMINGS {
        for (channels, chips, dies) in [(1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 2, 2), (1, 1, 8), (2, 1, 2), (4, 2, 1)] {
            for planes in [1, 2, 4] {
                for n in [1, 2, 3, 8] {
                    for overlapped_planes in [false, true] {
                        for kind in KINDS {
                            let mut config = config(hierarchy(channels, chips, dies, 4));
                            config.laws = Laws::constant(timing.read_ns, timing.program_ns, timing.erase_ns);
                            config.overlapped_planes = overlapped_planes;
                            let found_ns = measured_ns(&mut array(config), kind, planes, n);
                            let dies_of_channel = u64::from(chips * dies);
                            let expected_ns = closed_formula_ns(kind, timing, planes, dies_of_channel, u64::from(n));
                            let what = (kind, timing, channels, chips, dies, planes, n, overlapped_planes);
                            assert_eq!(found_ns, expected_ns, "{what:?}");
                            combinations += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(combinations, 3 * 7 * 3 * 4 * 2 * 6);
}

/// One die with what lies between planes (G) and registers (C). G is spent before the array begins with a read, and between
/// two transfers of a program; C once in each step of a cache sequence, when both registers are busy.
#[test]
fn times_between_planes_and_registers() {
    const G: u64 = 700;
    const C: u64 = 3_000;
    for timing in TIMINGS {
        for planes in [1u32, 2, 4] {
            for n in [1u32, 2, 5] {
                let make = || {
                    let mut config = config(hierarchy(1, 1, 1, 4));
                    config.laws = Laws::constant(timing.read_ns, timing.program_ns, timing.erase_ns);
                    (config.next_plane_ns, config.register_copy_ns) = (G, C);
                    array(config)
                };
                let (r, p, m) = (timing.read_ns, timing.program_ns, u64::from(planes) * MOVE_NS);
                let g = u64::from(planes - 1) * G;
                let (commands, more) = (u64::from(n), u64::from(n - 1));
                for (kind, expected_ns) in [
                    (Kind::Read, commands * (g + r + m)),
                    (Kind::Program, commands * (m + g + p)),
                    (Kind::Erase, commands * (g + timing.erase_ns)),
                    (Kind::CopyBack, commands * (g + r + p)),
                    // The first read has G before it; later ones were begun by the step before.
                    (Kind::CacheRead, g + r + commands * C + more * r.max(m) + m),
                    (Kind::CacheProgram, m + g + commands * C + more * p.max(m + g) + p),
                ] {
                    let found_ns = measured_ns(&mut make(), kind, planes, n);
                    assert_eq!(found_ns, expected_ns, "{kind:?} {timing:?} {planes} planes, {n} commands");
                }
            }
        }
    }
}

/// OpenFlash's recursions for multi-plane cache reads and writes with times that depend on the page
/// (`doc/DefaultPpcModels/PpcModels.tex`): the end of each transfer from the end of the one before on the bus and of what
/// the array did, the end of each array operation from the one before and from the register that it needs.
#[test]
fn varying_times_follow_the_recursions_of_openflash() {
    let mut random = Pcg32::seed_from_u64(9);
    for _ in 0..200 {
        let times: Vec<u64> = (0..8).map(|_| 1_000 + u64::from(random.next_u32() % 200_000)).collect();
        let (planes, pages) = (1 + random.next_u32() % 4, 2 + random.next_u32() as usize % 6);
        let n = planes as usize;
        let (mut in_ends, mut array_ends) = (vec![vec![0; pages]; n], vec![vec![0; pages]; n]);
        let (mut out_ends, mut read_ends) = (vec![vec![0; pages]; n], vec![vec![0; pages]; n]);
        for page in 0..pages {
            for plane in 0..n {
                let on_bus = |ends: &Vec<Vec<u64>>| match (plane, page) {
                    (0, 0) => 0,
                    (0, _) => ends[n - 1][page - 1],
                    _ => ends[plane - 1][page],
                };
                let before = |ends: &Vec<Vec<u64>>, pages_before: usize| {
                    page.checked_sub(pages_before).map_or(0, |page| ends[plane][page])
                };
                in_ends[plane][page] = on_bus(&in_ends).max(before(&array_ends, 2)) + MOVE_NS;
                array_ends[plane][page] = in_ends[plane][page].max(before(&array_ends, 1)) + times[page];
                read_ends[plane][page] = before(&out_ends, 2).max(before(&read_ends, 1)) + times[page];
                out_ends[plane][page] = on_bus(&out_ends).max(read_ends[plane][page]) + MOVE_NS;
            }
        }
        let by_page = |ns: &[u64]| TimeLaw { law: Law::ByPage { ns: ns.into() }, max_ns: u64::MAX };
        let mut config = config(hierarchy(1, 1, 1, 4));
        config.overlapped_planes = true;
        config.laws = Laws { read: by_page(&times), program: by_page(&times), ..Laws::constant(0, 0, 1) };
        let latest = |ends: &[Vec<u64>]| ends.iter().flatten().copied().max().unwrap();
        let writes_ns = measured_ns(&mut array(config.clone()), Kind::CacheProgram, planes, pages as u32);
        assert_eq!(writes_ns, latest(&array_ends), "{planes} planes, {pages} pages, {times:?}");
        let reads_ns = measured_ns(&mut array(config), Kind::CacheRead, planes, pages as u32);
        assert_eq!(reads_ns, latest(&out_ends), "{planes} planes, {pages} pages, {times:?}");
    }
}

#[test]
fn a_die_that_is_busy_does_not_keep_others_from_the_bus() {
    let mut array = array(config(hierarchy(1, 1, 3, 1)));
    array.issue(Command::Erase(&[at(0, 0, 0)])).unwrap();
    let behind = read(&mut array, &[at(0, 1, 0)]).unwrap();
    assert_eq!((behind.begin_ns, behind.done_ns), (1_500_000, 1_500_000 + 25_000 + MOVE_NS));
    let free = program(&mut array, &[at(1, 1, 0)], 0).unwrap();
    assert_eq!((free.begin_ns, free.done_ns), (0, MOVE_NS + 200_000), "the bus is free until the read needs it");
    let waits = program(&mut array, &[at(2, 1, 0)], 0).unwrap();
    assert_eq!(waits.done_ns, 2 * MOVE_NS + 200_000);
    assert_eq!(array.bus_busy_ns(0), 3 * MOVE_NS);
    assert_eq!(array.die_busy_ns(0), 1_525_000 + MOVE_NS);
    assert_eq!(array.die_ready_ns(1), MOVE_NS + 200_000);
}

#[test]
fn a_cache_read_has_read_ahead_when_its_next_step_comes_late() {
    let mut array = array(config(hierarchy(1, 1, 1, 1)));
    cache_read(&mut array, &[at(0, 0, 0)], true).unwrap();
    array.wait_until(1_000_000);
    let next = cache_read(&mut array, &[at(0, 0, 1)], false).unwrap();
    assert_eq!((next.array_ns, next.done_ns), (50_000, 1_000_000 + MOVE_NS));
    let fresh = read(&mut array, &[at(0, 0, 2)]).unwrap();
    assert_eq!(fresh.done_ns, 1_000_000 + MOVE_NS + 25_000 + MOVE_NS);
}

#[test]
fn a_part_of_a_page_moves_in_a_part_of_the_time() {
    let mut array = array(config(hierarchy(1, 1, 1, 1)));
    let mut data = [0; 256];
    let done = array.issue(Command::Read(&mut [ffslab_flash::PageOut::part(at(0, 0, 0), 256, &mut data, 3)])).unwrap();
    assert_eq!(done.done_ns, 25_000 + 259 * 50);
    assert_eq!(data, [0xFF; 256]);
    let total = array.sim().total();
    assert_eq!((total.page_reads, total.partial_page_reads, total.bus_out_bytes), (1, 1, 259));
    assert_eq!(total.busy_ns, 0, "nobody has waited yet");
}

/// The time of energy is that of the units, summed: two planes that read at once take twice the current.
#[test]
fn energy_is_that_of_all_units() {
    let sizes = Hierarchy { ..hierarchy(1, 1, 2, 2) };
    let mut array = array(config(sizes));
    program(&mut array, &in_planes(&array_view(sizes), 0, 2, 0), 0).unwrap();
    read(&mut array, &[at(0, 2, 0), at(0, 3, 0)]).unwrap();
    array.issue(Command::Erase(&[at(1, 0, 0)])).unwrap();
    array.issue(Command::CopyBack(&[CopyBack { from: at(0, 2, 0), to: at(0, 4, 0) }])).unwrap();
    let spent = array.spent();
    assert_eq!((spent.program_ns, spent.program_bus_ns), (400_000, 2 * MOVE_NS));
    assert_eq!((spent.read_ns, spent.read_bus_ns, spent.erase_ns), (50_000, 2 * MOVE_NS, 1_500_000));
    assert_eq!((spent.copy_read_ns, spent.copy_program_ns), (25_000, 200_000));
    let power = ffslab_flash::ChipPowerMilliwatt { read: 20.0, bus: 2.0, standby: 0.2, ..Default::default() };
    let until_ns = 2_000_000;
    let energy = array.energy(&power, until_ns);
    let idle_ns = 2 * until_ns - array.die_busy_ns(0) - array.die_busy_ns(1);
    assert!((energy.read_uj - 2.0 * (10.0 * 50.0 + 1.0 * 52.8) / 1000.0).abs() < 1e-9);
    assert!((energy.program_uj - 2.0 * 52.8 / 1000.0).abs() < 1e-9);
    assert!((energy.copy_back_uj - 2.0 * 10.0 * 25.0 / 1000.0).abs() < 1e-9);
    assert!((energy.standby_uj - 2.0 * 0.1 * idle_ns as f64 * 1e-6).abs() < 1e-9);
}

fn array_view(sizes: Hierarchy) -> Array {
    array(config(sizes))
}
