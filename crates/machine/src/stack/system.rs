//! Linux as a system: what may be asked beside its calls, which [`ffslab_linux::Vfs`] answers.

use super::Stack;
use ffslab_fs::{BlockSpace, FileSystem, Unwritten};
use ffslab_images::recognise::arranged::Said;
use ffslab_images::Wanted;
use ffslab_mtd::causes::SCRUB;
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_system::{Answer, Calls, ImageGiven, Levelling, Runs, System, SystemError, UbiState};
use ffslab_ubi::Ubi;

impl System for Stack {
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn std::any::Any> {
        Some(self)
    }

    fn mount(&mut self, options: &[String]) -> Result<(), SystemError> {
        Stack::mount(self, options)
    }

    fn umount(&mut self) -> Answer<()> {
        Ok(self.vfs.umount()?)
    }

    fn is_mounted(&self) -> bool {
        self.vfs.fs().is_some()
    }

    fn crash(&mut self) -> Result<(), SystemError> {
        Stack::crash(self);
        Ok(())
    }

    fn ubi_attach(&mut self) -> Result<(), SystemError> {
        Stack::ubi_attach(self)
    }

    fn begin_stage(&mut self, runs: Runs, fastmap: Option<bool>) -> Result<Option<&'static str>, SystemError> {
        Ok(Stack::begin_stage(self, runs, fastmap))
    }

    fn runs(&self) -> Runs {
        self.stage.runs
    }

    fn ubi_read(&mut self, volume: &str, bytes: Option<u64>) -> Result<u64, SystemError> {
        Stack::ubi_read(self, volume, bytes)
    }

    fn ubi_detach(&mut self) -> Result<(), SystemError> {
        Stack::ubi_detach(self)
    }

    fn ubi_make_volume(&mut self) -> Result<(), SystemError> {
        Stack::ubi_make_volume(self)
    }

    fn lies(&mut self, time_s: f64, celsius: f64) -> Result<(), SystemError> {
        if self.vfs.fs().is_some() {
            return Err(SystemError::Mounted { what: "the partition" });
        }
        if self.ubi().is_some() {
            return Err(UbiState::Attached.into());
        }
        if self.medium.lies(time_s, celsius) {
            Ok(())
        } else {
            Err(self.lacks("medium that ages: [stack.ageing] says how").into())
        }
    }

    /// On UBI block by block as a daemon asks for it, elsewhere as `nanddump` reads.
    fn scrub(&mut self) -> Result<(), SystemError> {
        match self.ubi() {
            Some(ubi) => {
                let _why = self.sim.because(&SCRUB);
                ubi.check_bitflips().map(drop).map_err(SystemError::unusable)
            }
            None => self.medium.read_all_pages().map_err(SystemError::unusable),
        }
    }

    fn levelling(&self) -> Option<Levelling> {
        let ubi = self.ubi()?;
        let counted_erases = ubi.erase_counters().into_iter().map(Option::unwrap_or_default).collect();
        Some(Levelling { from_erases: ubi.levels_from_erases()?, counted_erases })
    }

    fn wear_on(&mut self, more_erases: &[u32]) -> Answer<()> {
        // Of no block: UBI says whether it could be of any.
        if self.ubi().is_some_and(|ubi| ubi.wear_on(&[]).is_err()) {
            return Err(self.lacks("wear that could leap beside a fastmap, which holds the erase counters, too"));
        }
        let done = self.medium.wear_on(more_erases).is_ok();
        let counted = done && self.ubi().is_none_or(|ubi| ubi.wear_on(more_erases).is_ok());
        counted.then_some(()).ok_or_else(|| self.lacks("erase blocks whose wear could leap"))
    }

    fn set_read_ahead_bytes(&mut self, bytes: u32) -> Answer<()> {
        self.vfs.set_read_ahead_bytes(bytes);
        Ok(())
    }

    fn sync_directories(&mut self) -> Answer<()> {
        Ok(self.vfs.sync_directories()?)
    }

    fn unwritten(&mut self) -> Unwritten {
        self.vfs.unwritten()
    }

    fn blocks_to_format(&self) -> u32 {
        self.ubi().map_or(0, Ubi::blocks_to_format) + self.vfs.fs().map_or(0, FileSystem::blocks_to_format)
    }

    fn free_bytes(&mut self) -> Option<u64> {
        let statfs = self.vfs.fs_mut()?.statfs();
        Some(statfs.blocks_free * u64::from(statfs.block_bytes))
    }

    fn file_bytes_max(&self) -> u64 {
        self.vfs.fs().map_or(0, FileSystem::file_bytes_max)
    }

    fn medium_bytes(&self) -> u64 {
        self.partition_bytes()
    }

    fn mtd(&self) -> Option<&Mtd> {
        Some(&self.medium)
    }

    fn block_space(&self) -> Vec<BlockSpace> {
        Stack::block_space(self)
    }

    fn image(&self, oob: bool) -> Result<Vec<u8>, SystemError> {
        Ok(self.medium.image(oob)?)
    }

    fn load(&mut self, given: &ImageGiven, image: &[u8]) -> Result<(), SystemError> {
        let said = Said {
            oob: given.oob,
            autoplace: given.autoplace,
            wanted: Wanted {
                mtdparts: given.mtdparts.clone(),
                offset_bytes: given.offset_bytes,
                size_bytes: given.size_bytes,
                partition: given.partition.clone(),
                ..Wanted::default()
            },
        };
        self.load_found(given.name.as_ref(), &said, image)
    }

    fn snapshot(&self) -> Result<MediumImage, SystemError> {
        Ok(self.medium.snapshot())
    }
}
