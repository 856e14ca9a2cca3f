//! The stages of a boot: whose code runs, and what U-Boot does with UBI.
//!
//! From U-Boot's `drivers/mtd/ubi` and `fs/ubifs`, which are those of Linux 4.2: `ubi part` attaches as the kernel does, and does the works
//! that wait for the background thread at once (`__schedule_ubi_work` of `wl.c`); `ubifsmount` mounts read-only, and `ubifsload` reads data
//! nodes one by one, without a page cache or read-ahead (`ubifs_read`). Left out: the SPL's own reader of UBI (`drivers/mtd/ubispl`),
//! U-Boot's readers of other file systems.

use super::Stack;
use crate::loaders::Stage;
use crate::mount_options::MountOptions;
use ffslab_mtd::causes::{self, BOOT_LOADER};
use ffslab_system::{Runs, SystemError, UbiState};
use ffslab_ubi::UbiError;

impl Stack {
    /// Code takes from here on what it takes in the program of this stage. Returns what is not known of it.
    pub(super) fn begin_stage(&mut self, runs: Runs, fastmap: Option<bool>) -> Option<&'static str> {
        causes::register(&self.sim);
        self.stage = Stage { runs, fastmap };
        let running = self.spec.programs.running(runs);
        self.sim.code_takes(running.code_percent);
        if let Some(wiring) = &running.wiring {
            self.medium.rewire(wiring);
        }
        running.note
    }

    /// What U-Boot's `ubifsmount` can do of a mount.
    ///
    /// Errors: another file system, a program that mounts none.
    pub(super) fn as_loader_mounts(&self, options: MountOptions) -> Result<MountOptions, SystemError> {
        match (self.stage.runs, self.fs_name()) {
            (Runs::Linux, _) => Ok(options),
            (Runs::UBoot, "ubifs") => Ok(MountOptions { read_only: true, ..options }),
            (Runs::UBoot, fs) => Err(SystemError::unusable(format!(
                "of U-Boot's file systems only UBIFS is simulated, not {fs}: put what it loads into a volume (ubi_read) or into \
                 pages of its own (read_raw)"
            ))),
            (Runs::Spl, _) => Err(SystemError::unusable("an SPL mounts nothing here: it reads pages (read_raw)")),
        }
    }

    /// See [`ffslab_system::System::ubi_read`].
    pub(super) fn ubi_read(&self, volume: &str, bytes: Option<u64>) -> Result<u64, SystemError> {
        let ubi = self.ubi.as_ref().ok_or(UbiState::Needed)?;
        let _why = self.sim.because(&BOOT_LOADER);
        ubi.load_volume(volume, bytes).map_err(|error| match error {
            UbiError::NoVolume => {
                let names: Vec<String> = ubi.volumes().iter().map(|volume| format!("\"{}\"", volume.name)).collect();
                let there = if names.is_empty() { "none".to_string() } else { names.join(", ") };
                SystemError::unusable(format!("there is no volume \"{volume}\": UBI has {there}"))
            }
            _ => SystemError::unusable(format!("volume \"{volume}\": {error}")),
        })
    }
}
