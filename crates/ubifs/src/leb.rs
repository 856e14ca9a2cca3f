//! Access to the volume: the one file that knows UBI.
//!
//! Follows `fs/ubifs/io.c` (`ubifs_leb_read`, `ubifs_leb_write` ...): after an error of a write the file system is
//! read-only.

use crate::core::Core;
use crate::error::{Fail, Res};
use ffslab_fs::Errno;
use ffslab_ubi::UbiError;

impl From<UbiError> for Fail {
    fn from(error: UbiError) -> Fail {
        match error {
            UbiError::PowerCut => Fail::Errno(Errno::PowerCut),
            UbiError::Uncorrectable => Fail::BadMessage,
            UbiError::NoSpace => Fail::Errno(Errno::NoSpc),
            UbiError::ReadOnly => Fail::Errno(Errno::RoFs),
            _ => Fail::Errno(Errno::Io),
        }
    }
}

impl Core {
    pub fn leb_read(&mut self, lnum: u32, offs: u32, bytes: &mut [u8]) -> Res<()> {
        Ok(self.volume.read(lnum, offs, bytes)?)
    }

    /// Reads bytes that carry a check sum of their own, and leaves it to that check sum to find damage: when the
    /// programming of a page was cut off by a power loss, its data may be right although the ECC bytes that confirm
    /// them are missing. Linux fails with an I/O error in this case where it reads LPT nodes.
    pub fn leb_read_checked(&mut self, lnum: u32, offs: u32, bytes: &mut [u8]) -> Res<()> {
        match self.leb_read(lnum, offs, bytes) {
            Err(Fail::BadMessage) => Ok(()),
            result => result,
        }
    }

    pub fn leb_write(&mut self, lnum: u32, offs: u32, bytes: &[u8]) -> Res<()> {
        self.check_writable()?;
        let result = self.volume.write(lnum, offs, bytes);
        self.written(result)
    }

    /// Replaces the content of a LEB, all or nothing.
    pub fn leb_change(&mut self, lnum: u32, bytes: &[u8]) -> Res<()> {
        self.check_writable()?;
        let result = self.volume.change(lnum, bytes);
        self.written(result)
    }

    pub fn leb_map(&mut self, lnum: u32) -> Res<()> {
        self.check_writable()?;
        let result = self.volume.map(lnum);
        self.written(result)
    }

    pub fn leb_unmap(&mut self, lnum: u32) -> Res<()> {
        self.check_writable()?;
        let result = self.volume.unmap(lnum);
        self.written(result)
    }

    /// Where the kernel has a `cond_resched` in the middle of something that takes long.
    pub fn cond_resched(&self) {
        self.volume.cond_resched();
    }

    pub fn check_writable(&self) -> Res<()> {
        if self.read_only || self.ro_mount {
            return Err(Fail::Errno(Errno::RoFs));
        }
        Ok(())
    }

    fn written(&mut self, result: Result<(), UbiError>) -> Res<()> {
        result.map_err(|error| {
            self.read_only = true;
            Fail::from(error)
        })
    }
}
