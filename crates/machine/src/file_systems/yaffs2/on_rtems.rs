//! How RTEMS mounts YAFFS2: on flash that lies in memory, without a page cache.

use crate::error::MachineError;
use crate::file_systems::on_rtems::{no_options, Given, OnFlash, OnRtems, RtemsFs};
use crate::media::{FlashSpec, Sizes, RAM_FLASH};
use crate::rtems_keys::{RtemsKeys, FLASH_KIB};
use ffslab_mtd::{ram, Mtd};
use ffslab_rtems::bdbuf::Bdbuf;
use ffslab_rtems::libio::FileSystem;
use ffslab_rtems::yaffs2::Yaffs2;
use ffslab_system::SystemError;
use std::sync::Arc;

/// RTEMS's port, as it is today.
#[derive(Debug)]
pub struct RtemsPort;

impl OnRtems for RtemsPort {
    fn name(&self) -> &'static str {
        "yaffs2"
    }

    fn own_keys(&self) -> &'static [&'static str] {
        &["device_KiB"]
    }

    fn settings(&self, keys: &mut RtemsKeys, _given: &Given<'_>) -> Result<RtemsFs, MachineError> {
        let size_bytes = u64::from(keys.size_kib(FLASH_KIB)?) << 10;
        let erase_block_bytes = ram::geometry(size_bytes).block_bytes();
        let flash = FlashSpec { medium: &RAM_FLASH, sizes: Sizes { erase_block_bytes, size_bytes } };
        Ok(RtemsFs::Flash(flash, Arc::new(RtemsPort)))
    }
}

impl OnFlash for RtemsPort {
    fn mount(&self, cache: &mut Bdbuf, flash: &Mtd, options: &[&str]) -> Result<Box<dyn FileSystem>, SystemError> {
        no_options(RtemsPort.name(), options)?;
        let mut fs = Yaffs2::mount(flash).map_err(SystemError::unusable)?;
        fs.charge_mount(cache);
        Ok(Box::new(fs))
    }
}
