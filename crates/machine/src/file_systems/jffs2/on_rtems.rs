//! How RTEMS mounts JFFS2: on NOR flash, without a page cache.

use crate::error::MachineError;
use crate::file_systems::on_rtems::{no_options, Given, OnFlash, OnRtems, RtemsFs};
use crate::media::{FlashSpec, Sizes, NOR};
use crate::rtems_keys::{RtemsKeys, FLASH_KIB};
use crate::stack_keys::CompressionName;
use ffslab_jffs2::Compression;
use ffslab_mtd::Mtd;
use ffslab_rtems::bdbuf::Bdbuf;
use ffslab_rtems::jffs2::Jffs2;
use ffslab_rtems::libio::FileSystem;
use ffslab_system::SystemError;
use std::sync::Arc;

const ERASE_BLOCK_KIB: u32 = 64;

/// RTEMS's port.
pub struct RtemsPort;

impl OnRtems for RtemsPort {
    fn name(&self) -> &'static str {
        "jffs2"
    }

    fn own_keys(&self) -> &'static [&'static str] {
        &["device_KiB", "erase_block_KiB", "compression"]
    }

    fn settings(&self, keys: &mut RtemsKeys, _given: &Given<'_>) -> Result<RtemsFs, MachineError> {
        let compression = match *keys.compression.get_or_insert(CompressionName::None) {
            CompressionName::None => Compression::None,
            CompressionName::Zlib => Compression::Zlib,
            CompressionName::Rtime => Compression::Rtime,
            _ => return Err(MachineError::Compression { fs: "jffs2 of RTEMS", known: "none, zlib and rtime" }),
        };
        let erase_block_kib = *keys.erase_block_kib.get_or_insert(ERASE_BLOCK_KIB);
        if !(4..=4096).contains(&erase_block_kib) {
            return Err(MachineError::number("erase_block_KiB", erase_block_kib, "4 to 4096 is needed"));
        }
        let erase_block_bytes = erase_block_kib << 10;
        let blocks = keys.size_kib(FLASH_KIB)? / erase_block_kib;
        let size_bytes = u64::from(erase_block_bytes) * u64::from(blocks);
        let flash = FlashSpec { medium: &NOR, sizes: Sizes { erase_block_bytes, size_bytes } };
        Ok(RtemsFs::Flash(flash, Arc::new(PortSettings(compression))))
    }
}

#[derive(Debug)]
struct PortSettings(Compression);

impl OnFlash for PortSettings {
    fn mount(&self, cache: &mut Bdbuf, flash: &Mtd, options: &[&str]) -> Result<Box<dyn FileSystem>, SystemError> {
        no_options(RtemsPort.name(), options)?;
        let mut fs = Jffs2::mount(flash, self.0).map_err(SystemError::unusable)?;
        fs.charge_mount(cache);
        Ok(Box::new(fs))
    }
}
