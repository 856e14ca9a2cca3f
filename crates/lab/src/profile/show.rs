//! Profiles for people: which there are, and every number of one with its unit, source and status.

use super::built_in::{find, read, Text, BUILT_IN};
use super::{KernelProfile, Kind, Part, Profile, ProfileError, Sourced, Status};
use ffslab_mtd::OpCost;
use ffslab_rtems::cpu::CpuCosts;
use ffslab_rtems::profile::DeviceProfile;
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
        None if name.contains('/') || name.ends_with(".toml") => {
            let source = read(Path::new(name), "profile")?;
            (kind_of(&source)?, source)
        }
        None => {
            let names = BUILT_IN.iter().map(|(_, n, _)| *n);
            let hint = nearest(name, names.clone()).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
            let known = names.collect::<Vec<_>>().join(", ");
            return Err(ProfileError(format!("unknown profile `{name}`: {hint}known: {known}, or the path of a file")));
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
        Kind::RtemsBoard => {
            CpuCosts::parse(&source.label, &source.text).map_err(|error| ProfileError(error.to_string()))?;
        }
        Kind::BlockDevice => {
            DeviceProfile::parse(&source.label, &source.text).map_err(|error| ProfileError(error.to_string()))?;
        }
        Kind::Board => {
            let profile = Profile::load(name, None, None, here)?;
            shown.derived = Some(derived(&profile));
            shown.part = Some(profile.part_name);
            shown.kernel = Some(profile.kernel_name);
        }
    }
    collect_values("", &table, &mut shown.values).map_err(|text| ProfileError(format!("{}: {text}", source.label)))?;
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
    keys.iter().find(|(key, _)| table.contains_key(*key)).map(|(_, kind)| *kind).ok_or_else(|| {
        let message = "this is no profile: a part has the key `page_B`, a board `part` or `bdbuf_call_ns` (RTEMS), a \
                           kernel `hz`, a block device `command_us`";
        ProfileError(format!("{}: {message}", source.label))
    })
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

fn collect_values(prefix: &str, table: &toml::Table, values: &mut Vec<ShownConstant>) -> Result<(), String> {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        let path = format!("{prefix}{key}");
        if !inner.contains_key("value") {
            collect_values(&format!("{path}."), inner, values)?;
            continue;
        }
        let found: Sourced<ConstantValue> =
            inner.clone().try_into().map_err(|error: toml::de::Error| format!("{path}: {}", error.message()))?;
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
