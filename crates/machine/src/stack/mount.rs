//! Mounting the partition of a stack with Linux.

use super::Stack;
use crate::file_systems::Ground;
use crate::mount_options::MountOptions;

impl Stack {
    /// Mounts the partition and sets read-ahead.
    ///
    /// Errors: what the file system says, options that it does not have.
    pub fn mount(&mut self, options: &[String]) -> Result<(), String> {
        let options = MountOptions::of(options)?;
        let settings = self.spec.fs.clone();
        if let Some(mountable) = settings.as_ref().and_then(|settings| settings.fs().mountable) {
            mountable.check_generic_options(&options)?;
        }
        if options.remount {
            return self.remount(&options);
        }
        if self.vfs.fs().is_some() {
            return Err("the partition is mounted already: umount it first, or add the option \"remount\"".to_string());
        }
        let settings = settings.ok_or("fs = \"none\": there is no file system to mount")?;
        if settings.needs_ubi().is_some() && self.ubi.is_none() {
            self.attach_at_boot()?;
        }
        let ground = Ground { mtd: &self.medium, ubi: self.ubi.as_ref(), epoch_s: self.spec.vfs.epoch_s };
        let fs = settings.mount(&ground, &options).map_err(|refusal| self.with_room(refusal))?;
        self.vfs.mount(fs).map_err(|error| error.to_string())?;
        self.vfs.set_synchronous(options.synchronous);
        self.vfs.set_read_ahead_bytes(self.spec.vfs.read_ahead_bytes);
        Ok(())
    }

    /// `mount -o remount`: read-only or read-write, synchronous or not.
    ///
    /// Errors: nothing is mounted, files are open for writing, what the file system says.
    fn remount(&mut self, options: &MountOptions) -> Result<(), String> {
        if let Some(option) = options.others.first() {
            return Err(format!(
                "a remount changes only the generic options here, not \"{option}\": umount and mount for that"
            ));
        }
        if self.vfs.fs().is_none() {
            return Err("remount: nothing is mounted: leave the option out".to_string());
        }
        self.vfs.remount(options.read_only).map_err(|error| error.to_string())?;
        self.vfs.set_synchronous(options.synchronous);
        Ok(())
    }
}
