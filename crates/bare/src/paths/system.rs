//! What may be asked of the machine beside the program's calls.

use super::PathProgram;
use ffslab_fs::{causes, Errno, Unwritten};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_system::{Answer, ImageGiven, System, SystemError};

impl System for PathProgram {
    /// On a new medium a file system is made before.
    fn mount(&mut self, options: &[String]) -> Result<(), SystemError> {
        if self.fs.is_some() {
            return Err(SystemError::MountedAlready { what: "the partition", has_remount: false });
        }
        if self.make.is_new(&self.medium) {
            self.format()?;
        }
        self.fs = Some(self.make.mount(&self.medium, options)?);
        Ok(())
    }

    fn format(&mut self) -> Result<(), SystemError> {
        if self.fs.is_some() {
            return Err(SystemError::Mounted { what: "the partition" });
        }
        self.make.format(&self.medium)
    }

    fn umount(&mut self) -> Answer<()> {
        if self.handles.is_any_open() {
            return Err(Errno::Busy.into());
        }
        let mut fs = self.fs.take().ok_or(Errno::NoDev)?;
        let _why = self.sim.because(&causes::SYNC);
        Ok(fs.unmount()?)
    }

    fn is_mounted(&self) -> bool {
        self.fs.is_some()
    }

    fn crash(&mut self) -> Result<(), SystemError> {
        self.fs = None;
        self.handles.clear();
        self.medium.restart();
        Ok(())
    }

    fn unwritten(&mut self) -> Unwritten {
        Unwritten::default()
    }

    fn counters(&self) -> Vec<(&'static str, i64)> {
        self.medium.health().map_or_else(Vec::new, |health| health.counters())
    }

    /// Asking costs something.
    fn free_bytes(&mut self) -> Option<u64> {
        None
    }

    fn file_bytes_max(&self) -> u64 {
        self.fs.as_deref().map_or(0, |fs| fs.file_bytes_max())
    }

    fn medium_bytes(&self) -> u64 {
        self.medium.size_bytes()
    }

    fn mtd(&self) -> Option<&Mtd> {
        Some(&self.medium)
    }

    fn image(&self, oob: bool) -> Result<Vec<u8>, SystemError> {
        Ok(self.medium.image(oob)?)
    }

    fn load(&mut self, given: &ImageGiven, image: &[u8]) -> Result<(), SystemError> {
        match self.fs {
            Some(_) => Err(SystemError::Mounted { what: "the partition" }),
            None => self.make.load(&self.medium, given, image),
        }
    }

    fn snapshot(&self) -> Result<MediumImage, SystemError> {
        Ok(self.medium.snapshot())
    }
}
