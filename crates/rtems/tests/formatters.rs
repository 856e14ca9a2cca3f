//! What the formatters of the real RTEMS chose. Skipped when the measured cases are not there.

use ffslab_block::Device;
use ffslab_block::DeviceProfile;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig};
use ffslab_rtems::{dosfs, rfs};
use ffslab_sim::{Sim, SimConfig};
use flate2::read::GzDecoder;
use serde_json::{json, Value};
use std::path::PathBuf;

/// The content of a measured file, if it is there.
fn measured(name: &str) -> Option<Value> {
    let shared = std::env::var_os("FFSLAB_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    let path = shared.join(format!("oracle/rtems/{name}.json.gz"));
    let Ok(file) = std::fs::File::open(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    Some(serde_json::from_reader(GzDecoder::new(file)).unwrap())
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
