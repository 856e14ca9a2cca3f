//! What only RTEMS mounts: volumes of block devices, FAT, which its DOSFS driver reads, and RFS; and IMFS in memory.

mod memory;
mod mounts;

use crate::file_systems::descriptor::Descriptor;
use ffslab_images::rtems_volumes::{FatImages, RfsImages};

pub static FAT: Descriptor = Descriptor {
    name: "fat",
    title: "FAT",
    about: "FAT12, FAT16 or FAT32 on a block device, as RTEMS's DOSFS mounts it",
    mountable: None,
    on_rtems: Some(&mounts::DosfsDriver),
    on_bare: None,
    image: Some(&FatImages),
};

pub static RFS: Descriptor = Descriptor {
    name: "rfs",
    title: "RFS",
    about: "RTEMS's own file system on a block device",
    mountable: None,
    on_rtems: Some(&mounts::RfsDriver),
    on_bare: None,
    image: Some(&RfsImages),
};

pub static IMFS: Descriptor = Descriptor {
    name: "imfs",
    title: "IMFS",
    about: "files in the memory of RTEMS, without a medium",
    mountable: None,
    on_rtems: Some(&memory::ImfsDriver { mini: false }),
    on_bare: None,
    image: None,
};

pub static MINI_IMFS: Descriptor = Descriptor {
    name: "mini-imfs",
    title: "mini-IMFS",
    about: "IMFS as a small RTEMS is configured, with fewer calls",
    mountable: None,
    on_rtems: Some(&memory::ImfsDriver { mini: true }),
    on_bare: None,
    image: None,
};
