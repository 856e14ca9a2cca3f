//! How RTEMS mounts IMFS, the file system in its memory.

use crate::error::MachineError;
use crate::file_systems::on_rtems::{no_options, Given, InMemory, OnRtems, RtemsFs};
use crate::rtems_keys::RtemsKeys;
use ffslab_rtems::imfs::{BlockSize, Imfs, ImfsOptions};
use ffslab_rtems::libio::FileSystem;
use ffslab_system::SystemError;
use std::sync::Arc;

/// IMFS, or mini-IMFS, which has fewer calls.
pub struct ImfsDriver {
    pub mini: bool,
}

impl OnRtems for ImfsDriver {
    fn name(&self) -> &'static str {
        if self.mini {
            "mini-imfs"
        } else {
            "imfs"
        }
    }

    fn own_keys(&self) -> &'static [&'static str] {
        &["fs_block_B"]
    }

    fn settings(&self, keys: &mut RtemsKeys, _given: &Given<'_>) -> Result<RtemsFs, MachineError> {
        let bytes = *keys.fs_block_bytes.get_or_insert(BlockSize::default().bytes());
        let block_size = BlockSize::new(bytes)
            .map_err(|_| MachineError::number("fs_block_B", bytes, "imfs has 16, 32, 64, 128, 256 and 512"))?;
        Ok(RtemsFs::Memory(Arc::new(ImfsSettings { mini: self.mini, block_size })))
    }
}

#[derive(Debug)]
struct ImfsSettings {
    mini: bool,
    block_size: BlockSize,
}

impl InMemory for ImfsSettings {
    fn mount(&self, options: &[&str]) -> Result<Box<dyn FileSystem>, SystemError> {
        let &ImfsSettings { mini, block_size } = self;
        no_options(ImfsDriver { mini }.name(), options)?;
        Ok(Box::new(Imfs::new(ImfsOptions { mini, block_size, memory_blocks: None })))
    }
}
