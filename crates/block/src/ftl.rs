//! Flash behind a translation layer, as a block device.

use ffslab_ftl::flash::OnMedium;
use ffslab_ftl::{BlockDevice, BufferRule, DeviceError, Disk, Ftl, FtlConfig, Mapping};
use ffslab_mtd::Mtd;

/// Which translation layer, and how large its pieces are.
#[derive(Clone, Debug)]
pub struct FtlSettings {
    pub mapping: &'static Mapping,
    pub config: FtlConfig,
    /// Pages of its write buffer; 0: every write is on flash when it returns.
    pub buffer_pages: u32,
    pub buffer: BufferRule,
    pub sector_bytes: u32,
}

impl FtlSettings {
    /// Makes an empty device of the flash.
    ///
    /// Errors: flash that it does not work on, a size for which there is no room, the power was cut.
    pub fn format(&self, flash: &Mtd) -> Result<Translated, DeviceError> {
        self.over((self.mapping.format)(OnMedium::new(flash.clone())?, self.config.clone())?)
    }

    /// Finds the device again that the flash holds.
    ///
    /// Errors: there is none of this size, the power was cut.
    pub fn mount(&self, flash: &Mtd) -> Result<Translated, DeviceError> {
        self.over((self.mapping.mount)(OnMedium::new(flash.clone())?, self.config.clone())?)
    }

    fn over(&self, layer: Box<dyn Ftl>) -> Result<Translated, DeviceError> {
        Ok(Translated { disk: Disk::new(layer, self.sector_bytes, self.buffer_pages, self.buffer)? })
    }
}

/// Sectors over a translation layer. Who made it keeps the flash below.
pub struct Translated {
    disk: Disk,
}

impl Translated {
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    pub fn disk_mut(&mut self) -> &mut Disk {
        &mut self.disk
    }

    /// All sectors, one after the other.
    ///
    /// Errors: what cannot be read any more.
    pub fn read_all(&mut self) -> Result<Vec<u8>, DeviceError> {
        let mut all = vec![0; self.disk.sectors() as usize * self.disk.sector_bytes() as usize];
        self.disk.read(0, &mut all)?;
        Ok(all)
    }
}
