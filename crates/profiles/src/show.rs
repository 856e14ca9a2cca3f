//! Profiles for people: which there are, and every number of one with its unit, source and status.

use crate::built_in::{is_path, kind_of_built_in, Kind, BUILT_IN};
use crate::constant::Status;
use crate::entries::Merged;
use crate::error::ProfileError;
use crate::kernel::{KernelFault, KernelProfile, LINUX};
use crate::keys::unit_of;
use crate::layers::{layers, merged};
use crate::look_up::{find, read, Text};
use crate::names::told;
use crate::part::Part;
use crate::profile::Profile;
use crate::rtems::{read_board, read_device};
use ffslab_mtd::OpCost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A built-in profile.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProfileName {
    pub kind: &'static str,
    pub name: &'static str,
    /// Of a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<PartSummary>,
    pub statuses: StatusCounts,
    pub title: Option<String>,
}

/// What people choose a part by.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PartSummary {
    /// How many bits a cell of NAND holds: "slc", "mlc", "tlc".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<&'static str>,
    /// Bit errors in a step that the data sheet wants corrected, or that the chip corrects itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecc_bits: Option<u32>,
    /// Whether the chip corrects itself.
    pub ecc_on_die: bool,
    #[serde(rename = "ecc_step_B", skip_serializing_if = "Option::is_none")]
    pub ecc_step_bytes: Option<u32>,
    #[serde(rename = "erase_block_KiB")]
    pub erase_block_kib: u64,
    pub kind: &'static str,
    #[serde(rename = "oob_B")]
    pub oob_bytes: u32,
    /// Of NOR: what one program takes at most.
    #[serde(rename = "page_B")]
    pub page_bytes: u32,
    #[serde(rename = "size_KiB")]
    pub size_kib: u64,
}

/// How many numbers of a profile have each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusCounts {
    #[serde(rename = "datasheet")]
    pub datasheet_count: u32,
    #[serde(rename = "measured")]
    pub measured_count: u32,
    #[serde(rename = "published")]
    pub published_count: u32,
    #[serde(rename = "fitted")]
    pub fitted_count: u32,
    #[serde(rename = "unverified")]
    pub unverified_count: u32,
}

/// Every number of a profile. A board also has `part`, `kernel` and `derived`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownProfile {
    /// The profile that says what its own file does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// How many times as long as on the base the CPU computes; `values` are multiplied already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_time_scale: Option<f64>,
    /// Overheads and powers of the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<Vec<DerivedCost>>,
    /// Of a version of Linux: the faults that were mended behind it, or in its stable releases, and that lose data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<Vec<KernelFault>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    pub kind: &'static str,
    pub name: String,
    /// Of a board: its part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Of a part: "nand", "spi-nand", "spi-nor" or "parallel-nor".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_kind: Option<&'static str>,
    pub title: Option<String>,
    /// Of a version of Linux that is not listed: from where its rules are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub values: Vec<ShownConstant>,
}

/// A constant of a profile.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownConstant {
    /// For a measured value: the interval that holds the true value with 95 % confidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// With its table: `driver.read_us`.
    pub key: String,
    /// Of a version of Linux: the first one that has this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    pub source: String,
    pub status: Status,
    /// Empty for what has none.
    pub unit: &'static str,
    /// Of a version of Linux: the first one that has another value again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    pub value: ConstantValue,
    /// Of a board: where alone it holds, in place of what holds elsewhere: `fs = ["jffs2"]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ConstantValue {
    Truth(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    Wholes(Vec<i64>),
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

/// What the driver adds to an operation of the chip, and the power that it draws meanwhile.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DerivedCost {
    #[serde(rename = "cpu_power_mW")]
    pub cpu_power_milliwatt: f64,
    pub driver_overhead_ns: u64,
    #[serde(rename = "memory_power_mW")]
    pub memory_power_milliwatt: f64,
    pub operation: &'static str,
}

/// All built-in profiles.
///
/// Errors: none of them is wrong; tests read them all.
pub fn list() -> Result<Vec<ProfileName>, ProfileError> {
    let entry = |&(kind, name, _): &(Kind, &'static str, &str)| {
        let source = find(kind, name, Path::new(""))?;
        let merged = merged(kind, &source)?;
        let values = values_of(kind, &source, &merged)?;
        let part = if kind == Kind::Part { Some(summary(&Part::of(&merged)?)) } else { None };
        let title = merged.text("title").map(str::to_string);
        Ok(ProfileName { kind: kind.name(), name, part, statuses: StatusCounts::of(&values), title })
    };
    BUILT_IN.iter().map(entry).collect()
}

fn summary(part: &Part) -> PartSummary {
    let geometry = part.geometry();
    let block_bytes = u64::from(geometry.page_bytes) * u64::from(geometry.pages_per_block);
    let on_die = part.spi_nand().map(|part| (part.ecc.strength_bits, part.ecc.step_bytes));
    let required = part.nand().and_then(|array| array.ecc_required);
    let ecc = on_die.or(required.map(|ecc| (ecc.bits, ecc.step_bytes)));
    PartSummary {
        cell: part.nand().map(|array| array.cell.name()),
        ecc_bits: ecc.map(|(bits, _)| bits),
        ecc_on_die: on_die.is_some(),
        ecc_step_bytes: ecc.map(|(_, step_bytes)| step_bytes),
        erase_block_kib: block_bytes >> 10,
        kind: part.kind().name(),
        oob_bytes: geometry.oob_bytes,
        page_bytes: geometry.page_bytes,
        size_kib: (block_bytes * u64::from(geometry.blocks)) >> 10,
    }
}

impl StatusCounts {
    fn of(values: &[ShownConstant]) -> StatusCounts {
        let mut counts = StatusCounts::default();
        for value in values {
            *match value.status {
                Status::Datasheet => &mut counts.datasheet_count,
                Status::Measured => &mut counts.measured_count,
                Status::Published => &mut counts.published_count,
                Status::Fitted => &mut counts.fitted_count,
                Status::Unverified => &mut counts.unverified_count,
            } += 1;
        }
        counts
    }
}

/// One profile, by name or by path.
///
/// Errors: no such profile, or a file that is none; a number without source and status.
pub fn show(name: &str) -> Result<ShownProfile, ProfileError> {
    let (kind, source) = named(name)?;
    let merged = merged(kind, &source)?;
    let mut shown = ShownProfile {
        base: merged.text("base").map(str::to_string),
        cpu_time_scale: merged.entries.get("cpu_time_scale").and_then(|entry| entry.number()),
        derived: None,
        faults: None,
        kernel: None,
        kind: kind.name(),
        name: name.to_string(),
        part: None,
        part_kind: (kind == Kind::Part).then(|| merged.part_kind.name()),
        title: merged.text("title").map(str::to_string),
        note: None,
        values: values_of(kind, &source, &merged)?,
    };
    match kind {
        Kind::Part => drop(Part::of(&merged)?),
        Kind::Kernel => {
            merged.read::<KernelProfile>()?;
            add_ages(name, &mut shown);
        }
        Kind::RtemsBoard => drop(read_board(&source)?),
        Kind::BlockDevice => drop(read_device(&source)?),
        Kind::Controller | Kind::Core => {}
        Kind::Board => {
            let profile = Profile::load(name, None, None, Path::new(""))?;
            shown.derived = Some(derived(&profile));
            shown.part = Some(profile.part_name);
            shown.kernel = Some(profile.kernel_name);
        }
    }
    Ok(shown)
}

/// Since and until when a version of Linux has its rules, and its faults; nothing of a file.
fn add_ages(name: &str, shown: &mut ShownProfile) {
    if LINUX.series(name).is_none() {
        return;
    }
    for constant in &mut shown.values {
        if let Some(span) = LINUX.span(name, &constant.key) {
            (constant.since, constant.until) = (span.since, span.until);
        }
    }
    shown.faults = Some(LINUX.faults(name));
    shown.note = LINUX.note(name);
}

/// A profile of any kind by name or path.
pub(crate) fn named(name: &str) -> Result<(Kind, Text), ProfileError> {
    if let Some(kind) = kind_of_built_in(name) {
        return Ok((kind, find(kind, name, Path::new(""))?));
    }
    if is_path(name) {
        let source = read(Path::new(name), "profile")?;
        return Ok((kind_of(&source, &mut Vec::new())?, source));
    }
    let what = "profile";
    Err(ProfileError::Unknown { what, name: name.to_string(), told: told(name, &Kind::ALL, what) })
}

/// The kind of a file: that of its base, or the one that has a key of its own in it. `seen`: the files that built on it.
fn kind_of(source: &Text, seen: &mut Vec<String>) -> Result<Kind, ProfileError> {
    let table: toml::Table = source.parse()?;
    let keys = [
        ("page_B", Kind::Part),
        ("kind", Kind::Part),
        ("part", Kind::Board),
        ("hz", Kind::Kernel),
        ("bdbuf_call_ns", Kind::RtemsBoard),
        ("command_us", Kind::BlockDevice),
    ];
    if let Some(base) = table.get("base").and_then(toml::Value::as_str) {
        if let Some(kind) = kind_of_built_in(base) {
            return Ok(kind);
        }
        // Whoever reads the file refuses a circle, whatever its kind.
        if is_path(base) && !seen.contains(&source.label) && seen.len() < 32 {
            seen.push(source.label.clone());
            return kind_of(&read(&source.folder.join(base), "profile")?, seen);
        }
    }
    let found = keys.iter().find(|(key, _)| table.contains_key(*key)).map(|(_, kind)| *kind);
    match found.or(table.contains_key("base").then_some(Kind::Board)) {
        Some(kind) => Ok(kind),
        None => Err(ProfileError::NoProfile { file: source.label.clone() }),
    }
}

fn derived(profile: &Profile) -> Vec<DerivedCost> {
    let driver = profile.driver();
    let cost = |operation, cost: OpCost| DerivedCost {
        cpu_power_milliwatt: cost.power.cpu,
        driver_overhead_ns: cost.overhead_ns,
        memory_power_milliwatt: cost.power.memory,
        operation,
    };
    vec![cost("read", driver.read), cost("program", driver.program), cost("erase", driver.erase)]
}

/// Every constant, those of the file itself before those in tables and those of its layers.
fn values_of(kind: Kind, source: &Text, merged: &Merged) -> Result<Vec<ShownConstant>, ProfileError> {
    let mut values = constants_of(merged, None)?;
    for (when, layer) in layers(kind, source)? {
        values.extend(constants_of(&layer, Some(&when))?);
    }
    Ok(values)
}

fn constants_of(merged: &Merged, when: Option<&String>) -> Result<Vec<ShownConstant>, ProfileError> {
    /// A constant as it stands in a file.
    #[derive(Deserialize)]
    struct Constant {
        value: ConstantValue,
        source: String,
        status: Status,
        ci95: Option<[f64; 2]>,
    }
    let constants: BTreeMap<String, Constant> = merged.constants()?;
    let shown = |(key, constant): (String, Constant)| {
        let Constant { value, source, status, ci95 } = constant;
        let unit = unit_of(key.rsplit('.').next().unwrap_or(&key));
        ShownConstant { ci95, key, since: None, source, status, unit, until: None, value, when: when.cloned() }
    };
    Ok(constants.into_iter().map(shown).collect())
}
