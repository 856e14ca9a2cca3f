//! Mounting the partition of a stack with Linux.

use super::Stack;
use crate::file_systems::Ground;
use crate::mount_options::MountOptions;
use ffslab_system::{OptionError, SystemError};

impl Stack {
    /// Mounts the partition and sets read-ahead.
    ///
    /// Errors: what the file system says, options that it does not have.
    pub fn mount(&mut self, options: &[String]) -> Result<(), SystemError> {
        let options = MountOptions::of(options)?;
        let settings = self.spec.fs.clone();
        if options.remount {
            return self.remount(&options);
        }
        if self.vfs.fs().is_some() {
            return Err(SystemError::MountedAlready { what: "the partition", has_remount: true });
        }
        let settings = settings.ok_or(SystemError::NoFileSystem)?;
        let options = self.as_loader_mounts(options)?;
        if settings.needs_ubi().is_some() && self.ubi.is_none() {
            self.attach_at_boot()?;
        }
        let ground = Ground {
            mtd: &self.medium,
            ubi: self.ubi.as_ref(),
            volume: self.spec.volumes.own.as_deref(),
            epoch_s: self.spec.vfs.epoch_s,
            policies: &self.spec.policies,
        };
        let fs = settings.mount(&ground, &options).map_err(|refusal| self.with_room(refusal))?;
        self.vfs.mount(fs)?;
        self.vfs.set_synchronous(options.synchronous, options.synchronous_directories);
        self.vfs.set_read_ahead_bytes(if self.stage.is_loader() { 0 } else { self.spec.vfs.read_ahead_bytes });
        Ok(())
    }

    /// `mount -o remount`: read-only or read-write, synchronous or not.
    ///
    /// Errors: nothing is mounted, files are open for writing, what the file system says.
    fn remount(&mut self, options: &MountOptions) -> Result<(), SystemError> {
        if let Some(option) = options.others.first() {
            return Err(OptionError::NotOnRemount { option: option.clone() }.into());
        }
        if self.vfs.fs().is_none() {
            return Err(SystemError::NotMounted);
        }
        self.vfs.remount(options.read_only)?;
        self.vfs.set_synchronous(options.synchronous, options.synchronous_directories);
        Ok(())
    }
}
