//! Profiles for people: which there are, and every number of one with its unit, source and status.

use crate::built_in::{find, is_path, read, Kind, Text, BUILT_IN};
use crate::rtems::{read_board, read_device};
use crate::{KernelProfile, Part, Profile, ProfileError, Sourced, Status};
use ffslab_mtd::OpCost;
use ffslab_workload::text::nearest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A built-in profile.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProfileName {
    pub kind: &'static str,
    pub name: &'static str,
    pub title: Option<String>,
}

/// Every number of a profile. A board also has `part`, `kernel` and `derived`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownProfile {
    /// Overheads and powers of the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<Vec<DerivedCost>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    pub kind: &'static str,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    pub title: Option<String>,
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
    pub source: String,
    pub status: Status,
    /// Empty for what has none.
    pub unit: &'static str,
    pub value: ConstantValue,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ConstantValue {
    Truth(bool),
    Whole(i64),
    Number(f64),
    Text(String),
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
pub fn list() -> Vec<ProfileName> {
    let entry = |&(kind, name, text): &(Kind, &'static str, &str)| ProfileName {
        kind: kind.name(),
        name,
        title: toml::from_str(text).ok().as_ref().and_then(title_of),
    };
    BUILT_IN.iter().map(entry).collect()
}

fn title_of(table: &toml::Table) -> Option<String> {
    Some(table.get("title")?.as_str()?.to_string())
}

/// One profile, by name or by path.
///
/// Errors: no such profile, or a file that is none; a number without source and status.
pub fn show(name: &str) -> Result<ShownProfile, ProfileError> {
    let here = Path::new("");
    let (kind, source) = match BUILT_IN.iter().find(|(_, n, _)| *n == name) {
        Some((kind, _, _)) => (*kind, find(*kind, name, here)?),
        None if is_path(name) => {
            let source = read(Path::new(name), "profile")?;
            (kind_of(&source)?, source)
        }
        None => {
            let known: Vec<&'static str> = BUILT_IN.iter().map(|(_, n, _)| *n).collect();
            let nearest = nearest(name, known.iter().copied());
            let name = name.to_string();
            return Err(ProfileError::Unknown { what: "profile", name, nearest, known, example: None });
        }
    };
    let table: toml::Table = source.parse()?;
    let mut shown = ShownProfile {
        derived: None,
        kernel: None,
        kind: kind.name(),
        name: name.to_string(),
        part: None,
        title: title_of(&table),
        values: Vec::new(),
    };
    match kind {
        Kind::Part => drop(source.parse::<Part>()?),
        Kind::Kernel => drop(source.parse::<KernelProfile>()?),
        Kind::RtemsBoard => drop(read_board(&source)?),
        Kind::BlockDevice => drop(read_device(&source)?),
        Kind::Board => {
            let profile = Profile::load(name, None, None, here)?;
            shown.derived = Some(derived(&profile));
            shown.part = Some(profile.part_name);
            shown.kernel = Some(profile.kernel_name);
        }
    }
    collect_values("", &table, &source.label, &mut shown.values)?;
    Ok(shown)
}

fn kind_of(source: &Text) -> Result<Kind, ProfileError> {
    let table: toml::Table = source.parse()?;
    let keys = [
        ("page_B", Kind::Part),
        ("part", Kind::Board),
        ("hz", Kind::Kernel),
        ("bdbuf_call_ns", Kind::RtemsBoard),
        ("command_us", Kind::BlockDevice),
    ];
    let found = keys.iter().find(|(key, _)| table.contains_key(*key)).map(|(_, kind)| *kind);
    found.ok_or_else(|| ProfileError::NoProfile { file: source.label.clone() })
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

fn collect_values(
    prefix: &str,
    table: &toml::Table,
    file: &str,
    values: &mut Vec<ShownConstant>,
) -> Result<(), ProfileError> {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        let path = format!("{prefix}{key}");
        if !inner.contains_key("value") {
            collect_values(&format!("{path}."), inner, file, values)?;
            continue;
        }
        let found: Result<Sourced<ConstantValue>, toml::de::Error> = inner.clone().try_into();
        let found = found.map_err(|error| {
            let (file, key, message) = (file.to_string(), path.clone(), error.message().to_string());
            ProfileError::Constant { file, key, message }
        })?;
        let Sourced { value, source, status, ci95 } = found;
        values.push(ShownConstant { ci95, key: path, source, status, unit: unit_of(key), value });
    }
    Ok(())
}

/// The unit that a key ends in.
fn unit_of(key: &str) -> &'static str {
    const UNITS: &[(&str, &str)] = &[
        ("_ns_per_B", "ns/B"),
        ("_KiB", "KiB"),
        ("_MiB", "MiB"),
        ("_bits", "bit"),
        ("_ns", "ns"),
        ("_us", "us"),
        ("_uJ", "uJ"),
        ("_mW", "mW"),
        ("_ms", "ms"),
        ("_pct", "%"),
        ("_B", "B"),
    ];
    if key == "hz" {
        return "Hz";
    }
    UNITS.iter().find(|(suffix, _)| key.ends_with(suffix)).map_or("", |(_, unit)| unit)
}
