//! A file system of RTEMS that is not part of the laboratory joins by one call, and runs experiments.

use ffslab_fs::Errno;
use ffslab_lab::{run_experiment, RunResult, SystemError};
use ffslab_machine::file_systems::on_rtems::{Given, OnDisk, OnRtems, RtemsFs};
use ffslab_machine::file_systems::{Descriptor, Promises};
use ffslab_machine::register;
use ffslab_machine::rtems_keys::RtemsKeys;
use ffslab_machine::MachineError;
use ffslab_rtems::bdbuf::{Bdbuf, DiskId};
use ffslab_rtems::libio::FileSystem;
use ffslab_rtems::{dosfs, Quirks};
use std::path::Path;
use std::sync::Arc;

/// A FAT with one sector in a cluster whatever the size of the device.
static TIGHT_FAT: Descriptor = Descriptor {
    name: "tight-fat",
    title: "tight FAT",
    about: "a FAT with the smallest clusters",
    mountable: None,
    on_rtems: Some(&TightFat { keys: &["device", "device_KiB", "media_block_B"] }),
    on_bare: None,
    image: None,
    promises: Promises::SYNCED,
};

static OWNS_TOO_MUCH: Descriptor =
    Descriptor { name: "owns-too-much", on_rtems: Some(&TightFat { keys: &["board"] }), ..TIGHT_FAT };

#[derive(Debug)]
struct TightFat {
    keys: &'static [&'static str],
}

impl OnRtems for TightFat {
    fn name(&self) -> &'static str {
        "tightfs"
    }

    fn own_keys(&self) -> &'static [&'static str] {
        self.keys
    }

    fn settings(&self, keys: &mut RtemsKeys, given: &Given<'_>) -> Result<RtemsFs, MachineError> {
        Ok(RtemsFs::Disk(keys.disk(given.base_dir)?, Arc::new(TightFat { keys: &[] })))
    }
}

impl OnDisk for TightFat {
    fn format(&self, cache: &mut Bdbuf, disk: DiskId) -> Result<(), Errno> {
        let options = dosfs::FormatOptions { sectors_per_cluster_count: 1, ..dosfs::FormatOptions::default() };
        dosfs::format(cache, disk, &options)
    }

    fn mount(&self, cache: &mut Bdbuf, disk: DiskId, _options: &[&str]) -> Result<Box<dyn FileSystem>, SystemError> {
        Ok(Box::new(dosfs::Dosfs::mount(cache, disk, Quirks::Fixed).map_err(SystemError::unusable)?))
    }
}

fn run(stack: &str) -> Result<RunResult, String> {
    let text = format!(
        "title = 't'\n[stack]\nsystem = 'rtems'\nfs = 'tightfs'\n{stack}\n[[measure]]\nstep = 'format'\n\
         [[measure]]\nstep = 'mount'\n[[measure]]\nstep = 'create'\nfile = 'f'\nbytes = '64 KiB'\n"
    );
    run_experiment(&text, "t.toml", Path::new(""), &|_| true).map_err(|error| error.to_string())
}

#[test]
fn one_call_is_enough() {
    assert!(run("").err().unwrap().contains("fs = \"tightfs\": "), "nobody knows it before");
    register(&TIGHT_FAT).unwrap();
    let result = run("device_KiB = 4096").unwrap();
    assert_eq!(result.summary.variants[0].user_written_bytes, 64 << 10);
    let foreign = run("fs_block_B = 512").err().unwrap();
    assert!(foreign.contains("fs_block_B belongs to rfs, imfs and mini-imfs, not to tightfs"), "{foreign}");
    let of_others = run("quirks = 'fixed'").err().unwrap();
    assert!(of_others.contains("quirks belongs to dosfs and rfs"), "{of_others}");
    assert!(register(&OWNS_TOO_MUCH)
        .unwrap_err()
        .to_string()
        .contains("owns the key board, which [stack] of RTEMS does not have"));
}
