//! The measured files, phase by phase, and the measured traces, operation by operation. Skipped where they are not there.

use super::counted::count;
use super::phases::{phases, Phase};
use super::settings::Settings;
use crate::error::CaseError;
use crate::{validate, CaseReport, ValidateOptions};
use ffslab_lab::session::Session;
use ffslab_machine::file_systems::find_on_rtems;
use ffslab_machine::rtems::Machine;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A measured file, if it is there.
fn measured(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("FFSLAB_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    let path = shared.join(format!("oracle/rtems/{name}.json.gz"));
    if !path.is_file() {
        println!("skipped: {} is not there", path.display());
    }
    Some(path).filter(|path| path.is_file())
}

fn is_exact(case: &CaseReport) -> bool {
    case.error.is_none() && case.counters.values().all(|pair| pair.expected == pair.simulated)
}

/// Every count of the measured files: the real RTEMS did the same, on the same device.
#[test]
fn every_phase_of_the_measured_files_is_exact_but_for_texts_that_are_not_recorded() {
    let files = [
        "rfs_16MB",
        "rfs_other_block_sizes",
        "dosfs_16MB",
        "paper_config_128MB_cache10K_bmax1K",
        "cache_sweep_io4096_128MB",
        "storage_media_512B_contiguous_cap",
        "read_ahead",
        "hold_timer",
        "imfs",
        "jffs2_16MB",
    ];
    for file in files {
        let Some(path) = measured(file) else { continue };
        let cases = validate(&path, &ValidateOptions::default(), &|_| true).unwrap().cases;
        let (texts, others): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.not_counted.is_some());
        let wrong: Vec<&String> = others.iter().filter(|case| !is_exact(case)).map(|case| &case.id).collect();
        assert!(!others.is_empty() && wrong.is_empty(), "{file}: {wrong:?}");
        let exact = texts.iter().filter(|case| is_exact(case)).count();
        let expected = if file == "jffs2_16MB" { (228, 120) } else { (0, 0) };
        assert_eq!((texts.len(), exact), expected, "{file}");
    }
}

/// A block device without delays, as a profile: the traces hold operations, and no times.
fn instant() -> String {
    let constants = [
        ("request_us", "0"),
        ("command_us", "0"),
        ("read_access_us", "0"),
        ("write_busy_us", "0"),
        ("read_ns_per_B", "0"),
        ("write_ns_per_B", "0"),
        ("occupies_cpu", "true"),
        ("consecutive_blocks", "false"),
    ];
    let line =
        |(key, value)| format!("{key} = {{ value = {value}, source = \"of no device\", status = \"unverified\" }}\n");
    format!("title = \"no delays\"\n{}", constants.map(line).concat())
}

fn machine(session: &mut Session) -> &mut Machine {
    session.system_mut().as_any_mut().and_then(|system| system.downcast_mut()).unwrap()
}

/// Runs a phase; what it counted and every operation of the cache and the device in it.
fn run_phase(session: &mut Session, phase: &Phase) -> (BTreeMap<String, i64>, Vec<Value>) {
    let facts: Vec<_> = phase.steps.iter().map(|step| session.run_step(step).unwrap()).collect();
    let counted = count(phase, &facts.iter().collect::<Vec<_>>(), false).unwrap();
    let events = machine(session).cache_mut().take_trace();
    let mut operations: Vec<Value> = events.iter().map(|event| json!([event.op, event.block, event.bytes])).collect();
    operations.push(json!([format!("PHASE_END:{}", counted.name), 0, 0]));
    let counters = counted.counters.into_iter().filter(|(_, value)| *value != 0);
    (counters.map(|(name, value)| (name.to_string(), value)).collect(), operations)
}

fn check_trace(name: &str, device: &Path) {
    let (Some(trace), Some(totals)) =
        (measured(&format!("traces/{name}.trace")), measured(&format!("traces/{name}.phases")))
    else {
        return;
    };
    let read = |path: &Path| crate::cases::read_text(path).unwrap();
    let trace: Vec<Value> = serde_json::from_str(&read(&trace)).unwrap();
    let totals: Map<String, Value> = serde_json::from_str(&read(&totals)).unwrap();
    let settings = Settings::read(&totals).unwrap();
    let mut keys = settings.keys().unwrap();
    keys.device = Some(ffslab_machine::device_keys::DeviceKeys::Profile(device.display().to_string()));
    let media_block_bytes = keys.media_block_bytes.unwrap();
    let mut session = Session::new(toml::Table::try_from(&keys).unwrap(), 1, Path::new("")).unwrap();
    let machine = machine(&mut session);
    let disk = machine.disk().unwrap();
    machine.cache_mut().set_tracing(true);
    // The measured program did this before it began to count, and its trace holds it.
    machine.cache_mut().set_block_size(disk, media_block_bytes, false).unwrap();

    let mut at = 0;
    let measured = totals["phases"].as_array().unwrap();
    let phases = phases(&settings, false).unwrap();
    assert_eq!(phases.len(), measured.len(), "{name}");
    for (phase, expected) in phases.iter().zip(measured) {
        let (counters, operations) = run_phase(&mut session, phase);
        let counts =
            expected.as_object().unwrap().iter().filter_map(|(key, value)| Some((key.clone(), value.as_i64()?)));
        let expected: BTreeMap<String, i64> = counts.filter(|(_, value)| *value != 0).collect();
        assert_eq!(counters, expected, "{name}: {}", phase.name);
        for operation in operations {
            assert_eq!(trace.get(at), Some(&operation), "{name}: operation {at} in {}", phase.name);
            at += 1;
        }
    }
    assert_eq!(trace.len(), at, "{name}: number of operations");
}

/// Every call into the cache and every device transfer of the measured traces, in order.
#[test]
fn traces_are_equal() {
    let device = std::env::temp_dir().join(format!("ffslab-instant-{}.toml", std::process::id()));
    std::fs::write(&device, instant()).unwrap();
    for name in [
        "rfs_bs1024_io1024_file16K_cache10K",
        "rfs_bs512_io128_file16K_cache10K",
        "dosfs_bs512_io4096_file16K_cache10K",
        "dosfs_meta",
    ] {
        check_trace(name, &device);
    }
    std::fs::remove_file(&device).unwrap();
}

fn settings(change: Value) -> Result<Settings, CaseError> {
    let mut run = json!({
        "fs": "rfs", "fs_block_size": 1024, "sectors_per_cluster_requested": 0, "cache_bytes": 10240,
        "bdbuf_max_buffer": 1024, "bdbuf_min_buffer": 512, "disk_bytes": 16777216, "media_block": 512,
        "io_size": 128, "file_bytes": 16384, "app_priority": 1, "read_ahead_blocks": 0, "test": "io"
    });
    for (key, value) in change.as_object().unwrap() {
        run[key] = value.clone();
    }
    Settings::read(run.as_object().unwrap())
}

#[test]
fn settings_become_the_keys_that_a_file_system_has() {
    let keys = settings(json!({"sectors_per_cluster_requested": 4})).unwrap().keys().unwrap();
    assert_eq!((keys.fs_block_bytes, keys.cluster_bytes, keys.cache_kib), (Some(1024), None, Some(10)));
    let fat = settings(json!({"fs": "dosfs", "sectors_per_cluster_requested": 4})).unwrap().keys().unwrap();
    assert_eq!((fat.fs_block_bytes, fat.cluster_bytes), (None, Some(2048)));
    assert!(find_on_rtems("dosfs").unwrap().own_keys().contains(&"cluster_B"));
}

#[test]
fn settings_that_cannot_be_are_named() {
    let refused = |change: Value| match settings(change) {
        Err(error) => error.to_string(),
        Ok(settings) => super::Ready::of(&settings).err().unwrap().to_string(),
    };
    assert!(refused(json!({"io_size": 0})).contains("io_size is 0"));
    assert!(refused(json!({"cache_bytes": 10_000})).contains("cache_bytes is 10000: whole KiB are needed"));
    assert!(refused(json!({"fs": "ext2"})).contains("'ext2' of RTEMS is not simulated; there are jffs2"));
    assert!(refused(json!({"test": "none"})).contains("unknown test 'none'; known: io, small"));
    assert!(refused(json!({"fs_block_size": 2048})).contains("fs_block_B = 2048 exceeds"));
    assert!(refused(json!({"media_block": "x"})).starts_with("settings: "));
}
