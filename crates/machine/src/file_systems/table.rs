//! The table of the file systems.

use super::descriptor::{Descriptor, Mountable, Promises};
use super::on_rtems::OnRtems;
use super::{fatfs, jffs2, littlefs, only_read, rtems_volumes, spiffs, stores, ubifs, yaffs2};
use crate::error::{MachineError, RegisterError};
use crate::rtems_keys::RtemsKeys;
use crate::stack_keys::StackKeys;
use ffslab_images::ImageFs;
use ffslab_text::words::join_names;
use std::sync::{PoisonError, RwLock};

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

/// Those that joined, in the order of their names: who comes first must not change a result.
static REGISTERED: RwLock<Vec<&'static Descriptor>> = RwLock::new(Vec::new());

/// All file systems, those of this crate first.
pub fn all() -> Vec<&'static Descriptor> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    BUILT_IN.iter().chain(registered.iter()).copied().collect()
}

/// The file system of this name.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    all().into_iter().find(|fs| fs.name == name)
}

/// What the file system of this name, or the one that RTEMS calls so, promises after a power cut. What a device promises where there is
/// none is fsync(2), too.
pub fn promises(name: &str) -> Promises {
    let is_it = |fs: &&Descriptor| fs.name == name || fs.on_rtems.is_some_and(|on| on.name() == name);
    all().into_iter().find(is_it).map_or(Promises::SYNCED, |fs| fs.promises)
}

/// Those whose images are read, in the order of the table.
pub fn image_formats() -> Vec<ImageFs> {
    all().into_iter().filter(|fs| fs.image.is_some()).map(Descriptor::image_fs).collect()
}

/// The file system of this name, if its images are read.
pub fn image_fs(name: &str) -> Option<ImageFs> {
    find(name).filter(|fs| fs.image.is_some()).map(Descriptor::image_fs)
}

/// Adds a file system of another crate. It counts from the next look-up on, so it is registered before experiments run.
///
/// Errors: there is one of this name, or it wants to own a key that `[stack]` does not have.
pub fn register(fs: &'static Descriptor) -> Result<(), RegisterError> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if !is_name(fs.name) {
        return Err(RegisterError::Name { kind: "file system", name: fs.name });
    }
    let own_keys = fs.mountable.map_or(&[][..], Mountable::own_keys);
    if let Some(key) = own_keys.iter().find(|key| !StackKeys::can_be_owned(key)) {
        return Err(RegisterError::Key { fs: fs.name, key, table: "[stack]" });
    }
    let on_rtems = fs.on_rtems.map_or(&[][..], OnRtems::own_keys);
    if let Some(key) = on_rtems.iter().find(|key| !RtemsKeys::can_be_owned(key)) {
        return Err(RegisterError::Key { fs: fs.name, key, table: "[stack] of RTEMS" });
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    if BUILT_IN.iter().chain(registered.iter()).any(|known| known.name == fs.name) {
        return Err(RegisterError::Twice { kind: "file system", name: fs.name });
    }
    let at = registered.partition_point(|known| known.name < fs.name);
    registered.insert(at, fs);
    Ok(())
}

/// How the file system of this name is mounted on a stack with Linux.
///
/// Errors: it is not known, or is never mounted there.
pub fn mountable(name: &str) -> Result<&'static dyn Mountable, MachineError> {
    find(name).and_then(|fs| fs.mountable).ok_or_else(|| unknown(name))
}

/// A file system that cannot be mounted.
pub fn unknown(name: &str) -> MachineError {
    let known = all().iter().filter(|fs| fs.mountable.is_some()).map(|fs| fs.name).collect();
    let elsewhere = match find(name) {
        Some(fs) if fs.on_bare.is_some() => Some(("a bare program", "bare")),
        _ => find_on_rtems(name).map(|_| ("RTEMS", "rtems")),
    };
    MachineError::UnknownFileSystem { name: name.to_string(), known, elsewhere }
}

/// Names of those that programs call without an operating system between.
pub fn called_directly() -> Vec<&'static str> {
    let is_direct = |fs: &&Descriptor| fs.on_bare.is_some() || fs.mountable.is_some_and(Mountable::is_called_directly);
    all().into_iter().filter(is_direct).map(|fs| fs.name).collect()
}

/// All file systems that RTEMS mounts.
pub fn mounted_by_rtems() -> impl Iterator<Item = &'static dyn OnRtems> {
    all().into_iter().filter_map(|fs| fs.on_rtems)
}

/// The file system that RTEMS mounts by this name.
pub fn find_on_rtems(name: &str) -> Option<&'static dyn OnRtems> {
    mounted_by_rtems().find(|fs| fs.name() == name)
}

/// Names of those that RTEMS mounts, as it calls them.
pub fn on_rtems() -> Vec<&'static str> {
    mounted_by_rtems().map(OnRtems::name).collect()
}

/// The file systems that own a key, for messages: "rfs and dosfs".
pub fn owners_on_rtems(key: &str) -> String {
    let owners = mounted_by_rtems().filter(|fs| fs.own_keys().contains(&key));
    join_names(&owners.map(OnRtems::name).collect::<Vec<_>>())
}
