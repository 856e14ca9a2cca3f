//! The file systems by name: one descriptor each, in one table. Nothing else lists them.
//!
//! A descriptor has parts, and a file system need not have all of them: [`Mountable`] is what a stack with Linux asks,
//! [`OnRtems`] what one with RTEMS asks, [`OnBare`] what a bare program asks, [`ffslab_images::ImageFormat`] what who reads images asks. What a descriptor lacks
//! is answered by the defaults of the traits, with the reason.
//!
//! A file system that is not part of this crate joins by [`register`]; `tests/toy` of the repository is an example.

mod decisions;
mod demands;
mod descriptor;
pub mod fat;
pub mod fatfs;
pub mod flashdb;
mod foreign;
pub mod jffs2;
pub mod littlefs;
pub mod on_bare;
pub mod on_rtems;
mod on_ubi;
mod only_read;
mod own_keys;
pub mod rtems_volumes;
mod sectors;
pub mod spiffs;
pub mod stores;
mod table;
pub mod ubifs;
pub mod yaffs2;
pub mod zephyr;
pub mod zephyr_fcb;

pub(crate) use decisions::policies_of;
pub use descriptor::{Descriptor, Direct, Ground, Mountable, NeedsUbi, Promises, Settings};
pub use on_bare::{OnBare, PathSettings};
pub use on_rtems::OnRtems;
pub use own_keys::{is_own_table, keys_of_others, owned_keys, steps_of_others};
pub(crate) use own_keys::{own_keys_on_bare, own_keys_on_linux, own_keys_on_rtems, refuse_what_does_not_apply};
pub use table::{
    all, called_directly, find, find_on_rtems, image_formats, image_fs, mountable, on_rtems, owners_on_rtems, promises,
    register, unknown,
};

/// Those of this crate, in the order in which people read them.
static BUILT_IN: [&Descriptor; 20] = [
    &jffs2::JFFS2,
    &yaffs2::YAFFS2,
    &ubifs::UBIFS,
    &rtems_volumes::FAT,
    &rtems_volumes::RFS,
    &rtems_volumes::IMFS,
    &rtems_volumes::MINI_IMFS,
    &littlefs::LITTLEFS,
    &spiffs::SPIFFS,
    &fatfs::FATFS,
    &stores::SEQUENTIAL_STORAGE,
    &stores::EKV,
    &stores::TICKV,
    &only_read::SQUASHFS,
    &only_read::EROFS,
    &only_read::ESP_NVS,
    &stores::ZEPHYR_NVS,
    &stores::ZEPHYR_ZMS,
    &stores::ZEPHYR_FCB,
    &stores::FLASHDB,
];
