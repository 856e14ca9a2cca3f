//! The life of one variant: its measured steps again and again, until something ends it.

use super::course::{CallsOfPoint, Point, Points, DAY_NS};
use super::device::Device;
use super::law::{Law, Stretch};
use super::levelled::{Cycle, Levelled, Mark};
use super::window::Window;
use super::{Asked, End, Ended, LifeSummary};
use crate::counts::CauseSummary;
use crate::run::{Plan, RunError, Watch, WATCH_EVERY};
use crate::tally::Tally;
use ffslab_sim::units::ns_to_us;
use ffslab_sim::{Causes, OpCounts, FORMATTING};
use ffslab_system::{Levelling, Refusal, System};
use rand_pcg::rand_core::SeedableRng;
use rand_pcg::Pcg32;
use std::cell::Cell;

const YEAR_DAYS: f64 = 365.25;
/// Erases that a window holds, for each block of the partition.
const WINDOW_ERASES_PER_BLOCK: u64 = 8;
/// So many windows in a row are compared without two being alike before windows get twice as long.
const UNLIKE_MAX: u32 = 4;
/// A leap passes over at least so many windows.
const LEAP_WINDOWS_LEAST: f64 = 2.0;
/// The counter of a system that tells of blocks that were marked bad ([`ffslab_mtd::Health`]).
const BAD_BLOCKS: &str = "grown_bad_blocks";
/// A workload that has done so much work since the window began, and has programmed and erased nothing, wears nothing.
const WORK_WITHOUT_WEAR: u64 = 100_000;

/// What a life was so far.
struct Living<'a, 'p> {
    device: Device<'p>,
    asked: &'a Asked,
    /// Erases that a block bears where the medium itself wears nothing out. `None`: it does.
    endurance_erases: Option<u32>,
    start_ns: u64,
    leapt_ns: u64,
    repetitions: u64,
    repetitions_run: u64,
    late: u64,
    leaps: u32,
    /// Why a stack refused a leap, in a life that may be given up instead.
    no_leap: Option<Refusal>,
    first_bad_days: Option<f64>,
    /// From where on windows were alike.
    steady_from_days: Option<f64>,
    /// Erases before the first repetition.
    before: Vec<u32>,
    causes_before: Causes,
    operations_before: OpCounts,
    points: Points,
    latencies: Tally,
    /// Who comes in turn during a leap.
    random: Pcg32,
}

/// Runs the setup of a plan and then its measured steps again and again. `share`: how much of the life is over.
///
/// Errors: a step that cannot be done in the setup or the first repetition; see [`RunError`].
pub(super) fn live(
    system: Box<dyn System>,
    plan: &Plan,
    asked: &Asked,
    endurance_erases: Option<u32>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<LifeSummary, RunError> {
    let share = Cell::new(0.0);
    let mut watch = |_| progress(share.get());
    if let Some(worn) = &asked.worn_erases {
        if let Some(mtd) = system.mtd() {
            mtd.wear_on(worn).map_err(|error| RunError::Step(format!("the wear of the image: {error}")))?;
        }
    }
    let device = Device::set_up(system, plan, &mut watch)?;
    let mut living = Living {
        asked,
        endurance_erases,
        start_ns: device.system().now_ns(),
        leapt_ns: 0,
        repetitions: 0,
        repetitions_run: 0,
        late: 0,
        leaps: 0,
        no_leap: None,
        first_bad_days: None,
        steady_from_days: None,
        before: device.system().erase_counts(),
        causes_before: device.system().sim().causes(),
        operations_before: device.system().sim().total(),
        points: Points::new(),
        latencies: Tally::default(),
        random: Pcg32::seed_from_u64(plan.seed),
        device,
    };
    living.add_point(false);
    let ended = living.until_the_end(&share, &mut watch)?;
    Ok(living.summary(ended))
}

impl Living<'_, '_> {
    fn until_the_end(&mut self, share: &Cell<f64>, watch: &mut Watch) -> Result<Ended, RunError> {
        let blocks = self.before.len() as u64;
        let mut repetitions_of_window = None;
        let (mut stretch, mut levelled, mut unlike) = (Stretch::default(), Levelled::default(), 0);
        let mut began_days = self.days();
        loop {
            let window_before_days = std::mem::replace(&mut began_days, self.days());
            let window = match self.window(repetitions_of_window, blocks * WINDOW_ERASES_PER_BLOCK, share, watch)? {
                Ok(window) => window,
                Err(ended) => return Ok(ended),
            };
            self.add_point(false);
            repetitions_of_window = Some(window.repetitions);
            let before = stretch.last().cloned();
            let may_leap =
                self.no_leap.is_none() && self.asked.leaps_after_work.is_some_and(|after| self.work() >= after);
            let law = stretch.then(window.clone());
            if !stretch.is_new() {
                self.steady_from_days.get_or_insert(window_before_days);
            }
            if let Some(law) = law.filter(|_| may_leap) {
                self.leap(&law, &window)?;
            }
            if let Some(levelling) = self.device.system().levelling() {
                let seen = levelled.then(&levelling, self.repetitions, self.lived_ns());
                if let Some(seen) = seen.filter(|_| may_leap) {
                    self.leap_levelled(seen, &levelling, &mut levelled)?;
                }
            }
            unlike = if stretch.is_new() { unlike + 1 } else { 0 };
            if unlike == UNLIKE_MAX {
                unlike = 0;
                let joined = before.map_or_else(|| window.clone(), |before| before.joined(&window));
                repetitions_of_window = Some(joined.repetitions);
                stretch = Stretch::default();
                stretch.then(joined);
            }
        }
    }

    /// Repeats the workload so often, or until so many blocks were erased. `Err`: the life ended within it.
    fn window(
        &mut self,
        repetitions: Option<u64>,
        erases: u64,
        share: &Cell<f64>,
        watch: &mut Watch,
    ) -> Result<Result<Window, Ended>, RunError> {
        let (before, bad_before) = (self.device.system().erase_counts(), self.bad_blocks());
        let (began_ns, total_before) = (self.device.system().now_ns(), self.device.system().sim().total());
        let work_before = self.work();
        let mut done = 0;
        loop {
            if let Some(ended) = self.repeat(watch)? {
                return Ok(Err(ended));
            }
            done += 1;
            if let Some(ended) = self.is_over(share) {
                return Ok(Err(ended));
            }
            let total = self.device.system().sim().total();
            let is_worn = total.page_programs > total_before.page_programs || total.erases > total_before.erases;
            if !is_worn && self.work() - work_before >= WORK_WITHOUT_WEAR {
                return Ok(Err(Ended { end: End::Unworn, error: None }));
            }
            if self.asked.operations_max.is_some_and(|most| self.work() >= most) {
                return Ok(Err(Ended { end: End::Unknown, error: self.no_leap.map(lack) }));
            }
            let is_whole = match repetitions {
                Some(repetitions) => done == repetitions,
                None => total.erases - total_before.erases >= erases,
            };
            if is_whole {
                let now = self.device.system().erase_counts();
                return Ok(Ok(Window {
                    erases: now.iter().zip(&before).map(|(now, before)| now - before).collect(),
                    repetitions: done,
                    time_ns: self.device.system().now_ns() - began_ns,
                    bad_blocks: self.bad_blocks() - bad_before,
                }));
            }
        }
    }

    /// Does the workload once, and rests until it is due again. `Some`: it could not be done.
    fn repeat(&mut self, watch: &mut Watch) -> Result<Option<Ended>, RunError> {
        let (began_ns, calls_before) = (self.device.system().now_ns(), self.device.calls);
        match self.device.repeat(self.repetitions, watch) {
            Ok(()) => {}
            Err(RunError::Step(text)) if self.repetitions > 0 => return Ok(Some(self.failed(text))),
            Err(error) => return Err(error),
        }
        // A short repetition is over before a runner looks.
        if self.device.calls / WATCH_EVERY > calls_before / WATCH_EVERY && !watch(self.device.calls) {
            return Err(RunError::Interrupted);
        }
        self.repetitions += 1;
        self.repetitions_run += 1;
        if let Some(period_ns) = self.asked.per_day.map(|often| (DAY_NS / often) as u64) {
            let took_ns = self.device.system().now_ns() - began_ns;
            self.late += u64::from(took_ns > period_ns);
            // What is due again long after the end of the life is not waited for: the clock ends before six hundred years.
            let longest_ns = self.left_ns().max(YEAR_DAYS * DAY_NS) as u64;
            if took_ns < period_ns {
                self.device.system_mut().sleep_ns((period_ns - took_ns).min(longest_ns));
            }
        }
        if self.first_bad_days.is_none() && self.bad_blocks() > 0 {
            self.first_bad_days = Some(self.days());
        }
        Ok(None)
    }

    /// Why the first call failed that was refused.
    fn failed(&self, text: String) -> Ended {
        let is_full = ["ENOSPC", "SQLITE_FULL"].iter().any(|code| text.contains(code));
        let end = match (text.contains("EROFS"), is_full, self.bad_blocks()) {
            (true, ..) => End::ReadOnly,
            (_, true, 0) => End::Full,
            (_, true, _) => End::NoSpareBlocks,
            _ => End::Failed,
        };
        Ended { end, error: Some(text) }
    }

    fn is_over(&self, share: &Cell<f64>) -> Option<Ended> {
        let limit_days = self.asked.years * YEAR_DAYS;
        share.set((self.days() / limit_days).min(1.0));
        if self.days() >= limit_days {
            return Some(Ended { end: End::Limit, error: None });
        }
        let endurance = self.endurance_erases?;
        let worn = self.device.system().erase_counts().iter().any(|&erases| erases >= endurance);
        worn.then_some(Ended { end: End::Endurance, error: None })
    }

    /// Leaps as far as the law holds, if that is worth it.
    fn leap(&mut self, law: &Law, window: &Window) -> Result<(), RunError> {
        let left = self.erases_left();
        let levelling = self.device.system().levelling();
        let windows = law.reach(&left, levelling.as_ref()).min(self.left_ns() / window.time_ns.max(1) as f64);
        if windows < LEAP_WINDOWS_LEAST {
            return Ok(());
        }
        let repetitions = (windows * window.repetitions as f64) as u64;
        let windows = repetitions as f64 / window.repetitions as f64;
        let erases = law.erases(windows, &left, &mut self.random);
        self.leap_over(repetitions, (windows * window.time_ns as f64) as u64, &erases).map(drop)
    }

    /// Leaps over as much levelled wear as no block notices, if that is worth it.
    fn leap_levelled(
        &mut self,
        (cycle, erases_known): (Cycle, f64),
        levelling: &Levelling,
        levelled: &mut Levelled,
    ) -> Result<(), RunError> {
        let window_erases = WINDOW_ERASES_PER_BLOCK as f64;
        let cycles_left = self.left_ns() / cycle.time_ns.max(1) as f64;
        let left = self.erases_left();
        let in_use = left.into_iter().zip(&levelling.counted_erases).filter(|(_, &counted)| counted > 0);
        let until_worn = cycle.reach(in_use.map(|(left, _)| left), window_erases);
        let reach = until_worn.min(erases_known).min(cycles_left * cycle.erases);
        if reach < LEAP_WINDOWS_LEAST * window_erases {
            return Ok(());
        }
        let erases = reach as u32;
        let cycles = f64::from(erases) / cycle.erases;
        let leap = Cycle {
            erases: f64::from(erases),
            repetitions: (cycles * cycle.repetitions as f64).round() as u64,
            time_ns: (cycles * cycle.time_ns as f64) as u64,
        };
        let of_block = |&counted: &u32| if counted > 0 { erases } else { 0 };
        let each: Vec<u32> = levelling.counted_erases.iter().map(of_block).collect();
        if !self.leap_over(leap.repetitions, leap.time_ns, &each)? {
            return Ok(());
        }
        if let Some(now) = self.device.system().levelling() {
            levelled.leapt(leap, Mark::new(&now, self.repetitions, self.lived_ns()));
        }
        Ok(())
    }

    /// Whether the leap was made: a stack may be one in which erases cannot be given to blocks.
    fn leap_over(&mut self, repetitions: u64, time_ns: u64, more_erases: &[u32]) -> Result<bool, RunError> {
        if let Err(refusal) = self.device.system_mut().wear_on(more_erases) {
            self.no_leap = Some(refusal);
            return match self.asked.operations_max {
                Some(_) => Ok(false),
                None => Err(RunError::Step(format!("{}: without --fast each operation is run", lack(refusal)))),
            };
        }
        self.repetitions += repetitions;
        self.leapt_ns += time_ns;
        self.leaps += 1;
        self.add_point(true);
        Ok(true)
    }

    /// Erases that each block bears from now on; empty: for ever.
    fn erases_left(&self) -> Vec<u32> {
        match self.endurance_erases {
            Some(endurance) => {
                self.device.system().erase_counts().iter().map(|&erases| endurance.saturating_sub(erases)).collect()
            }
            None => self.device.system().erases_left(),
        }
    }

    /// How much of the life that was asked for is left.
    fn left_ns(&self) -> f64 {
        (self.asked.years * YEAR_DAYS - self.days()) * DAY_NS
    }

    fn days(&self) -> f64 {
        self.lived_ns() as f64 / DAY_NS
    }

    /// Virtual time since the first repetition, with what was leapt over.
    fn lived_ns(&self) -> u64 {
        self.device.system().now_ns() - self.start_ns + self.leapt_ns
    }

    /// Flash operations and calls so far: what a life costs the machine on which it is simulated, the same on each.
    fn work(&self) -> u64 {
        let done = self.device.system().sim().total() - self.operations_before;
        done.page_reads + done.oob_reads + done.page_programs + done.oob_programs + done.erases + self.device.calls
    }

    fn bad_blocks(&self) -> u32 {
        let counters = self.device.system().counters();
        counters.iter().find(|(name, _)| *name == BAD_BLOCKS).map_or(0, |(_, count)| *count as u32)
    }

    fn add_point(&mut self, leapt: bool) {
        let calls = self.device.take_latencies();
        self.latencies.merge(&calls);
        let (days, free_bytes) = (self.days(), self.device.system_mut().free_bytes());
        let erases = self.device.system().erase_counts();
        let point = Point::new(days, leapt, erases, self.bad_blocks(), free_bytes, calls);
        self.points.add(point);
    }

    fn summary(mut self, ended: Ended) -> LifeSummary {
        self.add_point(false);
        let (days, bad_blocks) = (self.days(), self.bad_blocks());
        let (system, asked) = (self.device.system(), self.asked);
        let (points, wear) = self.points.told();
        let causes = system.sim().causes().since(&self.causes_before);
        LifeSummary {
            years: days / YEAR_DAYS,
            ended,
            leaps: self.leaps,
            years_run: (system.now_ns() - self.start_ns) as f64 / DAY_NS / YEAR_DAYS,
            repetitions: self.repetitions,
            repetitions_run: self.repetitions_run,
            repetitions_late: self.late,
            per_day: asked.per_day,
            period_us: ns_to_us((days * DAY_NS) as u64) / self.repetitions.max(1) as f64,
            steady_from_days: self.steady_from_days,
            latency: CallsOfPoint::of(&self.latencies),
            written_bytes: self.device.written_bytes,
            first_bad_block_years: self.first_bad_days.map(|days| days / YEAR_DAYS),
            bad_blocks,
            erases: super::ErasesSpread::of(&system.erase_counts()),
            erases_of_setup: self.before.iter().map(|&count| u64::from(count)).sum(),
            levels_from_erases: system.levelling().map(|levelling| levelling.from_erases),
            by_cause: causes.iter().filter(|cause| cause.reason != &FORMATTING).map(CauseSummary::of).collect(),
            points,
            wear,
        }
    }
}

/// What a system lacks for a leap, without the advice to leave a step out.
fn lack(refusal: Refusal) -> String {
    match refusal {
        Refusal::Lacks { system, what } => format!("{system} has no {what}"),
        Refusal::Failed(_) => refusal.to_string(),
    }
}
