//! Profiles for people: which there are, and every number of one with its unit, source and status.

use super::built_in::{find, read, Text, BUILT_IN};
use super::{KernelProfile, Kind, Part, Profile, ProfileError};
use ffslab_mtd::OpCost;
use ffslab_rtems::cpu::CpuCosts;
use ffslab_rtems::profile::DeviceProfile;
use ffslab_workload::text::nearest;
use serde_json::{json, Value};
use std::path::Path;

/// All built-in profiles: `[{"kind", "name", "title"}]`.
pub fn list() -> Value {
    let entry = |(kind, name, text): &(Kind, &str, &str)| {
        let title = toml::from_str::<toml::Table>(text).ok().and_then(|t| Some(t.get("title")?.as_str()?.to_string()));
        json!({"kind": kind.name(), "name": name, "title": title})
    };
    Value::Array(BUILT_IN.iter().map(entry).collect())
}

/// One profile, by name or by path: `{"kind", "name", "title", "values": [{"key", "value", "unit", "source",
/// "status"}]}`. A measured value also has `"ci95": [from, to]`. A board also has `"part"`, `"kernel"` and `"derived"`,
/// which holds the overheads and powers of its driver.
pub fn show(name: &str) -> Result<Value, ProfileError> {
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
    let mut shown = json!({"kind": kind.name(), "name": name, "title": table.get("title").and_then(|t| t.as_str())});
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
            shown["part"] = json!(profile.part_name);
            shown["kernel"] = json!(profile.kernel_name);
            shown["derived"] = derived(&profile);
        }
    }
    let mut values = Vec::new();
    collect_values("", &table, &mut values);
    shown["values"] = Value::Array(values);
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

fn derived(profile: &Profile) -> Value {
    let driver = profile.driver();
    let rows = [("read", driver.read), ("program", driver.program), ("erase", driver.erase)];
    let entry = |(name, cost): &(&str, OpCost)| {
        json!({
            "operation": name,
            "driver_overhead_ns": cost.overhead_ns,
            "cpu_power_mW": cost.power.cpu,
            "memory_power_mW": cost.power.memory,
        })
    };
    Value::Array(rows.iter().map(entry).collect())
}

fn collect_values(prefix: &str, table: &toml::Table, values: &mut Vec<Value>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        let path = format!("{prefix}{key}");
        match inner.get("value") {
            Some(value) => {
                let mut entry = json!({
                    "key": path,
                    "value": value,
                    "unit": unit_of(key),
                    "source": inner.get("source"),
                    "status": inner.get("status"),
                });
                if let Some(interval) = inner.get("ci95") {
                    entry["ci95"] = json!(interval);
                }
                values.push(entry);
            }
            None => collect_values(&format!("{path}."), inner, values),
        }
    }
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
