//! What RTEMS mounts: volumes of block devices, FAT, which its DOSFS driver reads, and RFS; and IMFS in memory. Of these bare programs have FAT
//! ([`super::fat`]).

mod memory;
mod mounts;

use crate::file_systems::descriptor::{Descriptor, Promises};
use ffslab_images::rtems_volumes::{FatImages, RfsImages};

/// Tables and directories are changed where they stand, and nothing puts right what a cut leaves half done.
const IN_PLACE: Promises = Promises {
    keeps_synced: false,
    may_refuse_unfinished: true,
    about:
        "nothing: its structures are changed in place, without a journal, so a cut may take what was synced long ago",
    ..Promises::SYNCED
};

const IN_MEMORY: Promises = Promises { keeps_synced: false, about: "nothing: files are in memory", ..Promises::SYNCED };

pub static FAT: Descriptor = Descriptor {
    name: "fat",
    title: "FAT",
    about: "FAT12, FAT16 or FAT32: on a block device as RTEMS's DOSFS mounts it, on flash of a bare program by the crate fatfs",
    mountable: None,
    on_rtems: Some(&mounts::DosfsDriver),
    on_bare: Some(&crate::file_systems::fat::Linked),
    image: Some(&FatImages),
    promises: IN_PLACE,
};

pub static RFS: Descriptor = Descriptor {
    name: "rfs",
    title: "RFS",
    about: "RTEMS's own file system on a block device",
    mountable: None,
    on_rtems: Some(&mounts::RfsDriver),
    on_bare: None,
    image: Some(&RfsImages),
    promises: IN_PLACE,
};

pub static IMFS: Descriptor = Descriptor {
    name: "imfs",
    title: "IMFS",
    about: "files in the memory of RTEMS, without a medium",
    mountable: None,
    on_rtems: Some(&memory::ImfsDriver { mini: false }),
    on_bare: None,
    image: None,
    promises: IN_MEMORY,
};

pub static MINI_IMFS: Descriptor = Descriptor {
    name: "mini-imfs",
    title: "mini-IMFS",
    about: "IMFS as a small RTEMS is configured, with fewer calls",
    mountable: None,
    on_rtems: Some(&memory::ImfsDriver { mini: true }),
    on_bare: None,
    image: None,
    promises: IN_MEMORY,
};
