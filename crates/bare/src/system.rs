//! What may be asked of the machine beside the program's calls.

use crate::Bare;
use ffslab_fs::{causes, BlockSpace, Errno, Unwritten};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_system::{Answer, System, SystemError};

impl System for Bare {
    fn mount(&mut self, options: &[String]) -> Result<(), SystemError> {
        if self.fs.is_some() {
            return Err(SystemError::MountedAlready { what: "the partition", has_remount: false });
        }
        self.host.time = self.now();
        self.fs = Some((self.mount)(&self.medium, options)?);
        Ok(())
    }

    fn umount(&mut self) -> Answer<()> {
        if self.handles.is_any_open() {
            return Err(Errno::Busy.into());
        }
        let unmounted = self.call(&causes::SYNC, |fs, host| fs.unmount(host));
        if unmounted != Err(Errno::NoDev.into()) {
            self.fs = None;
        }
        unmounted
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

    fn sync_directories(&mut self) -> Answer<()> {
        self.call(&causes::SYNC, |fs, host| fs.sync_directories(host))
    }

    fn unwritten(&mut self) -> Unwritten {
        self.fs.as_deref().map_or_else(Unwritten::default, |fs| fs.unwritten())
    }

    fn free_bytes(&mut self) -> Option<u64> {
        let stat = self.fs.as_deref_mut()?.statfs();
        Some(stat.blocks_free * u64::from(stat.block_bytes))
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

    fn block_space(&self) -> Vec<BlockSpace> {
        self.fs.as_deref().map(|fs| fs.block_space()).unwrap_or_default()
    }

    fn image(&self, oob: bool) -> Result<Vec<u8>, SystemError> {
        Ok(self.medium.image(oob)?)
    }

    fn snapshot(&self) -> Result<MediumImage, SystemError> {
        Ok(self.medium.snapshot())
    }
}
