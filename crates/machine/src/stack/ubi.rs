//! UBI between the file system and the partition, for file systems that need it.

use super::Stack;
use crate::file_systems::NeedsUbi;
use crate::stack_keys::NO_FS;
use crate::ubi_volume::VOLUME;
use ffslab_sim::{Switch, FORMATTING};
use ffslab_system::{SystemError, UbiState};
use ffslab_ubi::{AttachError, Ubi, UbiError, VolumeKind, VolumeRequest, VolumeSize};

impl Stack {
    fn needs_ubi(&self) -> Option<NeedsUbi> {
        self.spec.fs.as_ref().and_then(|settings| settings.needs_ubi())
    }

    /// Attaches UBI to the partition.
    ///
    /// Errors: what UBI says; a file system that does not work on it.
    pub fn ubi_attach(&mut self) -> Result<(), SystemError> {
        let Some(needs) = self.needs_ubi() else {
            let name = self.spec.fs.as_ref().map_or(NO_FS, |settings| settings.fs().name);
            return Err(UbiState::Unused { fs: name }.into());
        };
        if self.ubi.is_some() {
            return Err(UbiState::AttachedAlready.into());
        }
        let ubi =
            Ubi::attach(self.medium.clone(), &self.stage.ubi_options(&needs.options)).map_err(|error| match error {
                AttachError::OtherLayout { found, .. } => {
                    SystemError::unusable(format!("{error}: vid_hdr_offset_B = {found} says so"))
                }
                AttachError::NoSpace { needed, available, .. } => {
                    let missing_blocks = Some(needed.saturating_sub(available));
                    SystemError::Unusable { says: error.to_string(), missing_blocks }
                }
                _ => SystemError::unusable(error),
            })?;
        if self.stage.is_loader() {
            ubi.flush().map_err(SystemError::unusable)?;
        }
        self.ubi = Some(ubi.clone());
        let sim = self.sim.clone();
        self.vfs.set_device_task(Some(Box::new(move |_| while ubi.run_task() && sim.resched() == Switch::Stay {})));
        Ok(())
    }

    /// What a board does that names the partition on its kernel's command line (`ubi.mtd=`): UBI is attached before the
    /// first mount. On a partition without volumes one is made of all of it, so an experiment can change only `fs`.
    pub(super) fn attach_at_boot(&mut self) -> Result<(), SystemError> {
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
    pub fn ubi_detach(&mut self) -> Result<(), SystemError> {
        if self.vfs.fs().is_some() {
            return Err(SystemError::Mounted { what: "the file system" });
        }
        let ubi = self.ubi.take().ok_or(UbiState::NotAttached)?;
        self.vfs.set_device_task(None);
        ubi.detach();
        Ok(())
    }

    /// The UBI that is attached, if any.
    pub(crate) fn ubi(&self) -> Option<&Ubi> {
        self.ubi.as_ref()
    }

    /// A stack on a volume uses the UBI of another one.
    pub(crate) fn share_ubi(&mut self, ubi: Option<Ubi>) {
        if self.spec.volumes.own.is_some() {
            self.ubi = ubi;
        }
    }

    /// Whether volumes of other mounts stand on its UBI.
    pub(crate) fn shares_ubi(&self) -> bool {
        !self.spec.volumes.others_bytes.is_empty()
    }

    /// It is about to be detached.
    ///
    /// Errors: a mounted file system.
    pub(crate) fn give_ubi_back(&mut self) -> Result<(), SystemError> {
        if self.spec.volumes.own.is_some() {
            if self.vfs.fs().is_some() {
                return Err(SystemError::Mounted { what: "a file system on another volume" });
            }
            self.ubi = None;
        }
        Ok(())
    }

    /// Size of the volume of a stack that shares the UBI of another one.
    pub(crate) fn volume_bytes(&self) -> Option<u64> {
        let name = self.spec.volumes.own.as_deref()?;
        let volumes = self.ubi.as_ref().map_or_else(Vec::new, Ubi::volumes);
        let own = volumes.iter().find(|volume| volume.name == name);
        Some(own.map_or(0, |volume| u64::from(volume.lebs) * u64::from(volume.leb_bytes)))
    }

    /// Makes the volumes of other mounts, then one of all LEBs that are available.
    ///
    /// Errors: what UBI says; it is not attached.
    pub fn ubi_make_volume(&mut self) -> Result<(), SystemError> {
        let ubi = self.ubi.as_ref().ok_or(UbiState::Needed)?;
        let others =
            self.spec.volumes.others_bytes.iter().map(|(name, bytes)| (name.as_str(), VolumeSize::Bytes(*bytes)));
        let mut wanted = others.chain([(VOLUME, VolumeSize::AllAvailable)]);
        let made = wanted.try_for_each(|(name, size)| {
            ubi.make_volume(&VolumeRequest::new(name, VolumeKind::Dynamic, size)).map(drop)
        });
        made.map_err(|error| match error {
            UbiError::NoRoom { available_lebs, .. } => {
                let missing_blocks = self.needs_ubi().map(|needs| needs.lebs_min.saturating_sub(available_lebs));
                self.with_room(SystemError::Unusable { says: error.to_string(), missing_blocks })
            }
            _ => SystemError::unusable(error),
        })
    }

    /// What was refused, followed by who has the erase blocks and what would be right if some are missing.
    pub(super) fn with_room(&self, refused: SystemError) -> SystemError {
        let (Some(missing_blocks), Some(ubi)) = (refused.missing_blocks(), &self.ubi) else { return refused };
        let room = ubi.room();
        let blocks = room.pebs + missing_blocks + room.bad_reserve_lacks_pebs;
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
        let says = format!("{refused}: {room}{advice}");
        SystemError::Unusable { says, missing_blocks: Some(missing_blocks) }
    }
}
