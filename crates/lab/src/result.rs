//! Results of an experiment: a summary for people and reports, and columns for tables.

mod mounts;
mod programs;

pub use mounts::MountSummary;
pub use programs::{ProgramSummary, WaitedSummary};

use crate::columns::{BlockColumns, RequestColumns};
use crate::counts::{CauseSummary, Counts};
use crate::experiment::Variant;
use crate::fio::FioReport;
use crate::legend::Legend;
use crate::observed::StackColumns;
use crate::postmark::PostmarkReport;
use crate::repeats::Repeated;
use crate::replay::grouped;
use crate::requests::RequestLog;
use crate::run::{Outcome, StepOutcome};
use crate::slowest::SlowCall;
use crate::stats::{mean_sd, LatencyUs};
use crate::table::Columns;
use crate::tally::{Tally, RELATIVE_ERROR};
use ffslab_fs::{BlockSpace, Unwritten};
use ffslab_machine::spec::{FlashSummary, MachineSpec};
use ffslab_machine::StackTable;
use ffslab_profiles::kernel_note;
use ffslab_sim::units::ns_to_us;
use ffslab_sim::{Energy, OpCounts, PowerMilliwatt};
use ffslab_workload::prng::GENERATOR;
use ffslab_workload::Step;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that [`crate::run_experiment`] returns.
#[derive(Clone, Debug)]
pub struct RunResult<V = VariantSummary> {
    pub summary: Summary<V>,
    pub requests: RequestColumns,
    pub blocks: BlockColumns,
    /// The experiment in TOML, with every default and every value of the board written out.
    pub resolved_toml: String,
    /// Images of the `save_image` steps, as the name below `images/` of the results folder and the content. If there
    /// are several variants, the name begins with the number of the variant, from 1: "2/nand.bin".
    pub images: Vec<(String, Vec<u8>)>,
    /// Logs that steps wrote, as the name below `logs/` of the results folder and the text. The names are built as
    /// those of images.
    pub logs: Vec<(String, String)>,
    /// What happened to each erase block, as the name below `logs/` of the results folder and the table. The names are built
    /// as those of images.
    pub films: Vec<(String, Columns)>,
    /// `None`: nobody has asked for them.
    pub stacks: Option<StackColumns>,
    /// Setups that several variants had in common. It changes nothing else of the result.
    pub shared: SharedSetups,
}

/// What was shared in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SharedSetups {
    /// Setups from which several variants began.
    pub setups_count: u64,
    /// These variants.
    pub variants_count: u64,
    /// Time of the host that the setups took.
    pub seconds: f64,
}

/// `summary.json`. Units stand in the key names; times are virtual.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Summary")]
pub struct Summary<V = VariantSummary> {
    pub title: String,
    /// Version of ffslab.
    pub version: String,
    /// Random number generator of the workload.
    pub generator: &'static str,
    pub seed: u64,
    pub variants: Vec<V>,
    /// Variants that did not come to their end, while others did. Absent: all did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedVariant>,
    /// The variants of an experiment with the key `repeat`, each over all its runs, which stand by themselves in `variants`.
    /// Absent: nothing is repeated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Repeated>,
}

/// A variant that ended in an error, such as a file that did not fit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FailedVariant {
    pub name: String,
    /// As those of the others.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub axes: BTreeMap<String, toml::Value>,
    pub stack: StackTable,
    /// The step, what went wrong in it, and what would be right, in a line.
    pub error: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VariantSummary {
    pub name: String,
    /// The value of each axis in this variant.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub axes: BTreeMap<String, toml::Value>,
    pub stack: StackTable,
    /// Null: the medium is not a NAND chip.
    pub flash: Option<FlashSummary>,
    /// Sums over the measured steps. The values below are about these steps too, unless their names say otherwise.
    pub totals: Counts,
    /// The part of the totals that made the blocks of a new partition usable. It happens once and is no cost of what
    /// programs did. Left out if it is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formatting: Option<Counts>,
    pub by_cause: Vec<CauseSummary>,
    /// Explains the tasks and reasons in `by_cause`.
    pub causes: Legend,
    /// Latencies of all recorded calls: requests, appends, files of `create_many` and similar steps, and replayed
    /// calls.
    pub latency_us: LatencyUs,
    /// The slowest of these calls, and what each waited for.
    pub slowest: Vec<SlowCall>,
    /// Number of calls that have a row in requests.parquet, which are the first ones. Absent: all have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_kept: Option<u64>,
    /// If not all calls have a row: quantiles of all latencies in steps of 1/1000, from the least latency to the
    /// greatest. Like the percentiles of `latency_us`, they are then exact within 0.1 %.
    #[serde(rename = "latency_quantiles_us", skip_serializing_if = "Vec::is_empty")]
    pub latency_quantiles_us: Vec<f64>,
    /// Energy above idle: what the measured steps add to the energy of a board on which nothing runs. Null: nothing is
    /// known of it, see `no_energy`.
    #[serde(rename = "energy_uJ")]
    pub energy_uj: Option<EnergySummary>,
    /// Why there is no energy, in a sentence. Absent: there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_energy: Option<&'static str>,
    /// Energy that a meter on the supply rails would show: the energy above idle and that of the idle board for the
    /// same time. Null: the board's idle power is not known.
    #[serde(rename = "energy_with_idle_uJ")]
    pub energy_with_idle_uj: Option<EnergySummary>,
    /// Virtual time. It is the sum of the times of all causes, `program_us` and `idle_us`.
    pub time_us: f64,
    /// Time in which the program computed between its calls.
    pub program_us: f64,
    /// Time in which no task could run: the program slept, and no background work was due.
    pub idle_us: f64,
    pub setup_time_us: f64,
    #[serde(rename = "user_read_B")]
    pub user_read_bytes: u64,
    #[serde(rename = "user_written_B")]
    pub user_written_bytes: u64,
    /// What the setup had left in memory when the measurement began; null if it was nothing. The two ratios below do
    /// not count it.
    pub of_setup: Option<OfSetupSummary>,
    /// Bytes of the pages programmed, not counting formatting, divided by the bytes that programs wrote; null if they
    /// wrote none.
    pub write_amplification: Option<f64>,
    /// Bytes of the pages read, divided by the bytes that programs read; null if they read none.
    pub read_amplification: Option<f64>,
    /// Erases in the measured steps, not counting those of formatting.
    pub erases_per_block: MeanSd,
    /// What the partition holds at the start of the measured steps; null if nothing was mounted then.
    pub space_before: Option<SpaceSummary>,
    pub space_after: Option<SpaceSummary>,
    /// RTEMS: counters of its block cache, NOR flash and memory files. A chip that ages: corrected bits, what ECC could not
    /// correct, failed programs and erases, scrubs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<&'static str, i64>,
    pub steps: Vec<StepSummary>,
    /// If several programs ran at once: each of them. The measured steps, `steps`, are the first one's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramSummary>,
    /// If the machine has several mounts: each of them. The other values are about all of them together, and erases per block about all
    /// their partitions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountSummary>,
    pub notes: Vec<String>,
}

/// The sums over all erase blocks of a partition, as the file system accounts for them.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SpaceSummary {
    #[serde(rename = "valid_B")]
    pub valid_bytes: u64,
    #[serde(rename = "invalid_B")]
    pub invalid_bytes: u64,
    #[serde(rename = "free_B")]
    pub free_bytes: u64,
}

impl SpaceSummary {
    fn of(space: &[BlockSpace]) -> Option<SpaceSummary> {
        let sum = |of: fn(&BlockSpace) -> u32| space.iter().map(|held| u64::from(of(held))).sum();
        (!space.is_empty()).then(|| SpaceSummary {
            valid_bytes: sum(|held| held.valid_bytes),
            invalid_bytes: sum(|held| held.invalid_bytes),
            free_bytes: sum(|held| held.free_bytes),
        })
    }
}

/// What the setup of a variant left in memory, and what writing it took: a part of the totals, with the reason "left by the
/// setup". What the measured steps changed again is theirs.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct OfSetupSummary {
    /// Number of dirty pages in the page cache.
    pub pages: u64,
    /// Number of dirty inodes.
    pub inodes: u64,
    /// Bytes in buffers of the file system and of RTEMS's block cache.
    #[serde(rename = "buffered_B")]
    pub buffered_bytes: u64,
    pub totals: Counts,
    /// Null as that of the variant.
    #[serde(rename = "energy_uJ")]
    pub energy_uj: Option<EnergySummary>,
}

impl OfSetupSummary {
    fn of(outcome: &Outcome, has_energy: bool) -> Option<OfSetupSummary> {
        let (left, counts) = (outcome.of_setup.left, outcome.counts_of_setup());
        (left != Unwritten::default() || counts != OpCounts::default()).then(|| OfSetupSummary {
            pages: left.pages,
            inodes: left.inodes,
            buffered_bytes: left.buffered_bytes,
            totals: counts.into(),
            energy_uj: has_energy.then(|| outcome.of_setup.energy.into()),
        })
    }
}

/// Energy by rail.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct EnergySummary {
    pub cpu: f64,
    pub memory: f64,
    pub total: f64,
}

impl From<Energy> for EnergySummary {
    fn from(energy: Energy) -> EnergySummary {
        EnergySummary { cpu: energy.cpu_uj, memory: energy.memory_uj, total: energy.total_uj() }
    }
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct MeanSd {
    pub mean: f64,
    pub sd: f64,
}

impl MeanSd {
    pub fn of(values: &[u32]) -> MeanSd {
        let (mean, sd) = mean_sd(values.iter().map(|&value| f64::from(value)));
        MeanSd { mean, sd }
    }
}

/// One measured step by itself (not cumulative).
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepSummary {
    pub step: String,
    /// The stage of a boot of which it is a part. Absent: there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    pub counts: Counts,
    /// As in the summary of the variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formatting: Option<Counts>,
    pub elapsed_us: f64,
    pub latency_us: LatencyUs,
    /// Energy above idle; null as that of the variant.
    #[serde(rename = "energy_uJ")]
    pub energy_uj: Option<EnergySummary>,
    /// Null: the board's idle power is not known.
    #[serde(rename = "energy_with_idle_uJ")]
    pub energy_with_idle_uj: Option<EnergySummary>,
    #[serde(rename = "fs_free_B")]
    pub fs_free_bytes: Option<u64>,
    #[serde(rename = "bytes_accepted_B")]
    pub bytes_accepted: Option<u64>,
    pub requests_done: Option<u64>,
    pub stopped_by: Option<&'static str>,
    pub files: Option<u64>,
    /// `sqlite`: statements that came to their end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statements: Option<u64>,
    /// `sqlite`: rows that they returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// RTEMS: as in the summary of the variant.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<&'static str, i64>,
    /// Report of a `fio` step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fio: Option<FioReport>,
    /// Reports of a `postmark` step, one for each run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub postmark: Vec<PostmarkReport>,
}

/// The names of a variant and of its measured steps.
#[derive(Clone, Debug)]
pub struct Labels<'a> {
    pub name: &'a str,
    pub axes: &'a [(String, toml::Value)],
    pub steps: Vec<String>,
}

impl<'a> From<&'a Variant> for Labels<'a> {
    fn from(variant: &'a Variant) -> Labels<'a> {
        let steps = variant.measure.iter().map(Step::title).collect();
        Labels { name: &variant.name, axes: &variant.axes, steps }
    }
}

impl VariantSummary {
    /// A figure that runs are compared by, under the name of its column of variants.parquet.
    pub(crate) fn figure(&self, column: &str) -> Option<f64> {
        let figure = match column {
            "time_us" => Some(self.time_us),
            "latency_mean_us" => self.latency_us.mean,
            "latency_p99_us" => self.latency_us.p99,
            "latency_p99_9_us" => self.latency_us.p99_9,
            "latency_max_us" => self.latency_us.max,
            "page_reads" => Some(self.totals.page_reads as f64),
            "page_programs" => Some(self.totals.page_programs as f64),
            "erases" => Some(self.totals.erases as f64),
            "write_amplification" => self.write_amplification,
            "energy_total_uJ" => self.energy_uj.as_ref().map(|energy| energy.total),
            _ => None,
        };
        figure.filter(|figure| figure.is_finite())
    }

    /// Summarises a run on the machine `spec`. `stack` holds the keys of the stack, in which the values of the board
    /// are filled in.
    pub fn of(labels: Labels, stack: StackTable, spec: &MachineSpec, outcome: &Outcome) -> VariantSummary {
        let flash = spec.flash_summary();
        let idle = spec.idle_power();
        let no_energy = spec.no_energy();
        let has_energy = no_energy.is_none();
        let last = outcome.last();
        let of_setup = outcome.counts_of_setup();
        let tally = outcome.requests.tally();
        let of_programs = outcome.programs.iter().flat_map(|program| &program.steps);
        let all_steps = outcome.setup.iter().chain(&outcome.measure).chain(of_programs);
        let of_steps = all_steps.flat_map(|step| step.facts.notes.clone());
        let measured = outcome.measure.iter().chain(outcome.programs.iter().flat_map(|program| &program.steps));
        let compressed = stack.keys().compresses();
        let of_bytes: BTreeSet<String> =
            measured.filter(|_| compressed).filter_map(|step| step.facts.where_compressed.clone()).collect();
        let of_kernel = stack.keys().kernel().and_then(kernel_note);
        let told = outcome.told.iter().map(ToString::to_string);
        let notes = of_kernel.into_iter().chain(spec.notes()).chain(of_steps).chain(of_bytes).chain(told);
        let page_bytes = flash.as_ref().map_or(0, |flash| u64::from(flash.page_bytes));
        let (user_read_bytes, user_written_bytes) = outcome.user_bytes();
        // Without out-of-band areas nothing but data goes over the bus, in pieces of any size.
        let has_oob = flash.as_ref().is_none_or(|flash| flash.oob_bytes > 0);
        let ratio = |pages: u64, moved_bytes: u64, bytes: u64| {
            let moved_bytes = if has_oob { pages * page_bytes } else { moved_bytes };
            (bytes > 0 && page_bytes > 0).then(|| moved_bytes as f64 / bytes as f64)
        };
        let further_in_bytes = of_setup.bus_in_bytes + last.formatting.bus_in_bytes;
        let with = Steps { idle, has_energy };
        let by_cause: Vec<_> = outcome.by_cause.iter().map(CauseSummary::of).collect();
        VariantSummary {
            name: labels.name.to_string(),
            axes: labels.axes.iter().cloned().collect(),
            stack,
            flash,
            totals: last.counts.into(),
            formatting: (last.formatting != OpCounts::default()).then(|| last.formatting.into()),
            causes: Legend::of(&by_cause),
            by_cause,
            latency_us: outcome.requests.latency_us(),
            slowest: outcome.requests.slowest_calls(),
            requests_kept: tally.is_some().then_some(outcome.requests.len() as u64),
            latency_quantiles_us: tally.as_ref().map_or_else(Vec::new, |tally| tally.quantiles_us(QUANTILES)),
            energy_uj: has_energy.then(|| last.energy.into()),
            no_energy,
            energy_with_idle_uj: with_idle(last.energy, idle, last.time_ns),
            time_us: ns_to_us(last.time_ns),
            program_us: ns_to_us(outcome.program_ns),
            idle_us: ns_to_us(outcome.idle_ns),
            setup_time_us: ns_to_us(outcome.setup.last().map_or(0, |step| step.time_ns)),
            user_read_bytes,
            user_written_bytes,
            of_setup: OfSetupSummary::of(outcome, has_energy),
            write_amplification: ratio(
                last.counts.page_programs.saturating_sub(of_setup.page_programs + last.formatting.page_programs),
                last.counts.bus_in_bytes.saturating_sub(further_in_bytes),
                user_written_bytes,
            ),
            read_amplification: ratio(
                last.counts.page_reads.saturating_sub(of_setup.page_reads),
                last.counts.bus_out_bytes.saturating_sub(of_setup.bus_out_bytes),
                user_read_bytes,
            ),
            erases_per_block: MeanSd::of(&decrease(&outcome.erases_main, &outcome.erases_formatting)),
            space_before: SpaceSummary::of(&outcome.space_before),
            space_after: SpaceSummary::of(&outcome.space_after),
            counters: outcome.counters(),
            steps: step_summaries(&labels.steps, &outcome.measure, 0, outcome, &with),
            programs: ProgramSummary::all(outcome, &with),
            mounts: MountSummary::all(outcome, page_bytes),
            notes: notes.chain(tally.map(|tally| only_counted(&outcome.requests, &tally))).collect(),
        }
    }
}

/// Number of equal parts into which the quantiles of a summary divide the calls.
const QUANTILES: u64 = 1_000;

/// Note for a variant in which not all calls have a row.
fn only_counted(requests: &RequestLog, tally: &Tally) -> String {
    format!(
        "requests.parquet, the probe logs and the plot over time hold the first {} of {} calls; all are counted in everything \
         else, percentiles of latencies within {} %",
        grouped(requests.len() as u64),
        grouped(tally.len()),
        RELATIVE_ERROR * 100.0
    )
}

/// `all` less `part`, block by block. Both are empty if the machine has no chip.
fn decrease(all: &[u32], part: &[u32]) -> Vec<u32> {
    all.iter().zip(part).map(|(all, part)| all - part).collect()
}

/// Adds the energy that the idle board takes in `time_ns`. `None`: its idle power is not known.
fn with_idle(above_idle: Energy, idle: Option<PowerMilliwatt>, time_ns: u64) -> Option<EnergySummary> {
    let mut energy = above_idle;
    energy.add(idle?, time_ns);
    Some(energy.into())
}

/// What is known of the energy of steps.
struct Steps {
    idle: Option<PowerMilliwatt>,
    has_energy: bool,
}

/// `first_step`: what the log is to be asked for the first one.
fn step_summaries(
    titles: &[String],
    steps: &[StepOutcome],
    first_step: usize,
    outcome: &Outcome,
    &Steps { idle, has_energy }: &Steps,
) -> Vec<StepSummary> {
    let mut summaries = Vec::with_capacity(steps.len());
    let (mut counts_before, mut energy_before, mut before_ns) = (OpCounts::default(), Energy::default(), 0);
    let mut formatting_before = OpCounts::default();
    let mut stage = None;
    for (index, (title, done)) in titles.iter().zip(steps).enumerate() {
        stage = done.facts.stage.clone().or(stage);
        summaries.push(StepSummary {
            step: title.clone(),
            stage: stage.clone(),
            counts: (done.counts - counts_before).into(),
            formatting: (done.formatting != formatting_before).then(|| (done.formatting - formatting_before).into()),
            elapsed_us: ns_to_us(done.elapsed_ns),
            latency_us: outcome.requests.step_latency_us(first_step + index, done.rows.clone()),
            energy_uj: has_energy.then(|| (done.energy - energy_before).into()),
            energy_with_idle_uj: with_idle(done.energy - energy_before, idle, done.time_ns - before_ns),
            fs_free_bytes: done.fs_free_bytes,
            bytes_accepted: done.facts.bytes_accepted,
            requests_done: done.facts.requests_done,
            stopped_by: done.facts.stopped_by,
            files: done.facts.files,
            statements: done.facts.statements,
            rows: done.facts.rows,
            counters: done.facts.counters.clone(),
            fio: done.facts.fio.clone(),
            postmark: done.facts.postmark.clone(),
        });
        (counts_before, energy_before, before_ns) = (done.counts, done.energy, done.time_ns);
        formatting_before = done.formatting;
    }
    summaries
}

impl<V> Summary<V> {
    pub fn new(title: &str, seed: u64, variants: Vec<V>, failed: Vec<FailedVariant>) -> Summary<V> {
        let version = env!("CARGO_PKG_VERSION").to_string();
        Summary { title: title.to_string(), version, generator: GENERATOR, seed, variants, failed, repeats: Vec::new() }
    }
}
