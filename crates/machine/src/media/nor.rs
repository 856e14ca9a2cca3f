//! NOR flash.

use super::descriptor::{Descriptor, OnRtems};
use ffslab_flash::NorFlash;

pub static NOR: Descriptor = Descriptor {
    name: "nor",
    title: "NOR flash",
    about: "NOR flash, which takes any bytes at once; the CPU is charged for copying",
    of_parts: &[],
    keys: &["erase_block_KiB", "device_KiB"],
    on_linux: None,
    on_rtems: Some(OnRtems {
        make: |sizes, sim| {
            let blocks = u32::try_from(sizes.size_bytes / u64::from(sizes.erase_block_bytes)).unwrap_or(u32::MAX);
            Ok(NorFlash::new(sim.clone(), sizes.erase_block_bytes, blocks).into())
        },
        chip: |_| None,
    }),
};
