//! Every call into the cache and every device transfer of the measured traces, in order; and what the formatters chose.
//! Skipped when they are not there.

mod support;

use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig};
use ffslab_rtems::device::Device;
use ffslab_rtems::phases::{run, Settings};
use ffslab_rtems::profile::DeviceProfile;
use ffslab_rtems::{dosfs, rfs};
use ffslab_sim::{Sim, SimConfig};
use serde_json::{json, Value};
use support::{counters, measured, ours};

/// A trace: its run is described by its name and its phases.
fn check(name: &str, settings: Settings) {
    let (Some(trace), Some(totals)) =
        (measured(&format!("traces/{name}.trace")), measured(&format!("traces/{name}.phases")))
    else {
        return;
    };
    let simulated = run(&settings, true).unwrap();
    let mut ops = Vec::new();
    for phase in &simulated {
        ops.extend(phase.trace.iter().map(|event| json!([event.op, event.block, event.bytes])));
        ops.push(json!([format!("PHASE_END:{}", phase.name), 0, 0]));
    }
    let measured_ops = trace.as_array().unwrap();
    for (at, (theirs, ours)) in measured_ops.iter().zip(&ops).enumerate() {
        assert_eq!(theirs, ours, "{name}: operation {at}, after {:?}", &ops[at.saturating_sub(5)..at]);
    }
    assert_eq!(measured_ops.len(), ops.len(), "{name}: number of operations");

    let phases = totals["phases"].as_array().unwrap();
    for (theirs, phase) in phases.iter().zip(&simulated) {
        let (name, expected) = counters(theirs.as_object().unwrap());
        assert_eq!((name, expected), (phase.name.clone(), ours(phase)));
    }
    println!("{name}: {} operations equal", ops.len());
}

fn settings(name: &str) -> Option<Settings> {
    let totals = measured(&format!("traces/{name}.phases"))?;
    Some(serde_json::from_value(totals).unwrap())
}

#[test]
fn traces_are_equal() {
    for name in [
        "rfs_bs1024_io1024_file16K_cache10K",
        "rfs_bs512_io128_file16K_cache10K",
        "dosfs_bs512_io4096_file16K_cache10K",
        "dosfs_meta",
    ] {
        if let Some(settings) = settings(name) {
            check(name, settings);
        }
    }
}

fn cache(disk_bytes: u64) -> (Bdbuf, ffslab_rtems::bdbuf::DiskId) {
    let mut cache = Bdbuf::new(Sim::new(SimConfig::default()), BdbufConfig::default()).unwrap();
    let disk = cache.add_disk(Device::new(DeviceProfile::instant(), 512, (disk_bytes / 512) as u32));
    (cache, disk)
}

fn number(value: &Value, key: &str) -> u32 {
    value[key].as_u64().unwrap() as u32
}

#[test]
fn formatters_choose_the_same_sizes() {
    let Some(all) = measured("geometry") else { return };
    for case in all.as_array().unwrap() {
        let (mut cache, disk) = cache(case["disk"].as_u64().unwrap());
        if case["fs"] == "rfs" {
            let options = rfs::FormatOptions { block_bytes: number(case, "bs"), ..rfs::FormatOptions::default() };
            let layout = rfs::format(&mut cache, disk, &options).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(json!(layout.words()), case["sb"], "{case}");
            continue;
        }
        let options = dosfs::FormatOptions {
            sectors_per_cluster_count: number(case, "req_spc"),
            sync: true,
            ..dosfs::FormatOptions::default()
        };
        dosfs::format(&mut cache, disk, &options).unwrap_or_else(|error| panic!("{case}: {error}"));
        let sector = &cache.device(disk).image()[..512];
        let le = |at: usize, bytes: usize| sector[at..at + bytes].iter().rev().fold(0, |v, &b| v << 8 | u64::from(b));
        let is_fat32 = case["type"] == "FAT32";
        let ours = json!({
            "bps": le(11, 2), "spc": le(13, 1), "rsvd": le(14, 2), "fats": le(16, 1), "root_entries": le(17, 2),
            "tot16": le(19, 2), "tot32": le(32, 4), "fatsz16": le(22, 2), "fatsz32": if is_fat32 { le(36, 4) } else { 0 },
        });
        for (key, value) in ours.as_object().unwrap() {
            assert_eq!(case[key], *value, "{key} of {case}");
        }
    }
}
