//! UBI between the file system and the partition, for file systems that need it.

use super::Stack;
use crate::file_systems::{NeedsUbi, Refusal};
use crate::stack_keys::NO_FS;
use crate::ubi_volume::VOLUME;
use ffslab_sim::{Switch, FORMATTING};
use ffslab_ubi::{AttachError, Ubi, UbiError, VolumeKind, VolumeRequest, VolumeSize};

impl Stack {
    fn needs_ubi(&self) -> Option<NeedsUbi> {
        self.spec.fs.as_ref().and_then(|settings| settings.needs_ubi())
    }

    /// Attaches UBI to the partition.
    ///
    /// Errors: what UBI says; a file system that does not work on it.
    pub fn ubi_attach(&mut self) -> Result<(), String> {
        let Some(needs) = self.needs_ubi() else {
            let name = self.spec.fs.as_ref().map_or(NO_FS, |settings| settings.fs().name);
            return Err(format!("fs = \"{name}\" does not work on UBI: leave the step out"));
        };
        if self.ubi.is_some() {
            return Err("UBI is attached already: detach it first".to_string());
        }
        let ubi = Ubi::attach(self.medium.clone(), &needs.options).map_err(|error| match error {
            AttachError::OtherLayout { found, .. } => format!("{error}: vid_hdr_offset_B = {found} says so"),
            _ => error.to_string(),
        })?;
        self.ubi = Some(ubi.clone());
        let sim = self.sim.clone();
        self.vfs.set_device_task(Some(Box::new(move |_| while ubi.run_task() && sim.resched() == Switch::Stay {})));
        Ok(())
    }

    /// What a board does that names the partition on its kernel's command line (`ubi.mtd=`): UBI is attached before the
    /// first mount. On a partition without volumes one is made of all of it, so an experiment can change only `fs`.
    pub(super) fn attach_at_boot(&mut self) -> Result<(), String> {
        self.ubi_attach()?;
        match &self.ubi {
            Some(ubi) if ubi.volumes().is_empty() => {
                let _why = self.sim.because(&FORMATTING);
                self.ubi_make_volume()
            }
            _ => Ok(()),
        }
    }

    /// Detaches UBI.
    ///
    /// Errors: a mounted file system; nothing is attached.
    pub fn ubi_detach(&mut self) -> Result<(), String> {
        if self.vfs.fs().is_some() {
            return Err("the file system is mounted: umount it first".to_string());
        }
        let ubi = self.ubi.take().ok_or("UBI is not attached")?;
        self.vfs.set_device_task(None);
        ubi.detach();
        Ok(())
    }

    /// Makes one volume of all LEBs that are available.
    ///
    /// Errors: what UBI says; it is not attached.
    pub fn ubi_make_volume(&mut self) -> Result<(), String> {
        let ubi = self.ubi.as_ref().ok_or("UBI is not attached: a step ubi_attach must come before")?;
        let request = VolumeRequest::new(VOLUME, VolumeKind::Dynamic, VolumeSize::AllAvailable);
        ubi.make_volume(&request).map(drop).map_err(|error| match error {
            UbiError::NoRoom { available_lebs, .. } => {
                let missing_lebs = self.needs_ubi().map(|needs| needs.lebs_min.saturating_sub(available_lebs));
                self.with_room(Refusal { text: error.to_string(), missing_lebs })
            }
            _ => error.to_string(),
        })
    }

    /// A refusal, followed by who has the erase blocks and what would be right if LEBs are missing.
    pub(super) fn with_room(&self, refusal: Refusal) -> String {
        let Refusal { text, missing_lebs } = refusal;
        let (Some(missing_lebs), Some(ubi)) = (missing_lebs, &self.ubi) else { return text };
        let room = ubi.room();
        let blocks = room.pebs + missing_lebs;
        let advice = match &self.spec.image {
            // The image says how large its volumes are.
            Some(_) => String::new(),
            None if room.bad_reserve_pebs > 0 => {
                format!(
                    "; partition_blocks = {blocks} would do, or a smaller max_beb_per1024, which counts the whole chip"
                )
            }
            None => format!("; partition_blocks = {blocks} would do"),
        };
        format!("{text}: {room}{advice}")
    }
}
