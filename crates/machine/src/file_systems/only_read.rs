//! What is only read: squashfs and EROFS from images of `mksquashfs` and `mkfs.erofs`, on a read-only block device; and images on which
//! nothing that is simulated runs.

use super::descriptor::{Descriptor, Ground, Mountable, NeedsUbi, Promises, Settings};
use super::on_ubi::{ubi_options, ubi_refuses_mlc, UBI_KEYS, UBI_STEPS};
use crate::error::MachineError;
use crate::mount_options::{no_options, MountOptions};
use crate::stack_keys::{BlockDeviceName, StackKeys};
use crate::ubi_volume::{open_volume, UbiVolumes, VOLUME};
use ffslab_erofs::{Erofs, Windows as ErofsWindows};
use ffslab_fs::FileSystem;
use ffslab_images::ImageFormat;
use ffslab_mtd::Mtd;
use ffslab_profiles::{ErofsRules, Profile, SquashfsRules};
use ffslab_rawblock::{MountError, RawBlock};
use ffslab_sim::Sim;
use ffslab_squashfs::{Squashfs, Windows};
use ffslab_system::{SystemError, UbiState};
use ffslab_ubi::ubinize::{Arrangement, ImagedVolume};
use ffslab_ubi::{Ubi, UbiOptions, VolumeKind};
use std::fmt;
use std::sync::Arc;

pub static SQUASHFS: Descriptor = Descriptor {
    name: "squashfs",
    title: "squashfs",
    about: "the compressed file system that is never written, from an image of mksquashfs, on a read-only block device",
    mountable: Some(&OnLinux(&SQUASHFS_IMAGES)),
    on_rtems: None,
    on_bare: None,
    image: Some(&ffslab_images::squashfs::InImages),
    promises: NEVER_WRITTEN,
};

pub static EROFS: Descriptor = Descriptor {
    name: "erofs",
    title: "EROFS",
    about: "the file system of Android that is never written, from an image of mkfs.erofs, on a read-only block device",
    mountable: Some(&OnLinux(&EROFS_IMAGES)),
    on_rtems: None,
    on_bare: None,
    image: Some(&ffslab_images::erofs::InImages),
    promises: NEVER_WRITTEN,
};

const NEVER_WRITTEN: Promises =
    Promises { about: "nothing is ever written: what the image holds is there", ..Promises::SYNCED };

type Mount = fn(RawBlock, Option<Ubi>, Sim) -> Result<Box<dyn FileSystem>, MountError>;

/// What a file system of images differs in.
struct Images {
    fs: &'static Descriptor,
    /// How long the image is that begins there. `None`: none does.
    bytes: fn(&[u8]) -> Option<u64>,
    /// How the kernel reads it. Errors: why it is not read as this kernel does.
    mount: fn(&Profile) -> Result<Mount, &'static str>,
}

static SQUASHFS_IMAGES: Images = Images {
    fs: &SQUASHFS,
    bytes: |image| ffslab_squashfs::Superblock::of(image).map(|superblock| superblock.used_bytes),
    mount: |board| {
        match board.flash_rules().squashfs {
        SquashfsRules::V5_8 => Ok(|device, ubi, sim| squashfs(device, ubi, sim, Windows::V5_8)),
        SquashfsRules::V6_0 => Ok(|device, ubi, sim| squashfs(device, ubi, sim, Windows::V6_0)),
        SquashfsRules::V6_12 => Ok(|device, ubi, sim| squashfs(device, ubi, sim, Windows::V6_12)),
        SquashfsRules::V2_6 | SquashfsRules::V5_18 => Err(
            "squashfs is read as Linux 5.8 to 5.17 and 6.0 and later do, others read the flash otherwise: kernel = \"6.1\"",
        ),
    }
    },
};

fn squashfs(device: RawBlock, ubi: Option<Ubi>, sim: Sim, windows: Windows) -> Result<Box<dyn FileSystem>, MountError> {
    Ok(Box::new(Squashfs::mount(device, ubi, sim, windows)?))
}

static EROFS_IMAGES: Images = Images {
    fs: &EROFS,
    // One that is not taken is told when it is mounted.
    bytes: |image| {
        ffslab_erofs::Superblock::read(image)
            .map(|found| found.map_or(image.len() as u64, |superblock| superblock.bytes()))
    },
    mount: |board| match board.flash_rules().erofs {
        ErofsRules::V5_10 => Ok(|device, ubi, sim| erofs(device, ubi, sim, ErofsWindows::V5_10)),
        ErofsRules::V6_1 => Ok(|device, ubi, sim| erofs(device, ubi, sim, ErofsWindows::V6_1)),
        ErofsRules::V6_6 => Ok(|device, ubi, sim| erofs(device, ubi, sim, ErofsWindows::V6_6)),
        ErofsRules::V5_4 | ErofsRules::V5_11 | ErofsRules::V6_2 => Err(
            "EROFS is read as Linux 5.10, 6.1 and 6.6 and later do, others read the flash otherwise: kernel = \"6.1\"",
        ),
    },
};

fn erofs(
    device: RawBlock,
    ubi: Option<Ubi>,
    sim: Sim,
    windows: ErofsWindows,
) -> Result<Box<dyn FileSystem>, MountError> {
    Ok(Box::new(Erofs::mount(device, ubi, sim, windows)?))
}

/// Of the header of an erase counter, with which an image of UBI begins.
const UBI_MAGIC: &[u8] = b"UBI#";

/// Block devices have the read-ahead of `VM_READAHEAD_PAGES` (`disk_update_readahead` of `block/blk-settings.c`), which the lower device has not.
const READ_AHEAD_KIB: u32 = 128;

const OWN_KEYS: [&str; UBI_KEYS.len() + 1] = {
    let mut keys = ["block_device"; UBI_KEYS.len() + 1];
    let mut at = 0;
    while at < UBI_KEYS.len() {
        keys[at + 1] = UBI_KEYS[at];
        at += 1;
    }
    keys
};

struct OnLinux(&'static Images);

impl Mountable for OnLinux {
    fn own_keys(&self) -> &'static [&'static str] {
        &OWN_KEYS
    }

    fn own_steps(&self) -> &'static [&'static str] {
        UBI_STEPS
    }

    fn takes_wear_policies(&self) -> bool {
        true
    }

    fn is_only_read(&self) -> bool {
        true
    }

    fn takes_whole(&self, keys: &StackKeys, image: &[u8]) -> Result<bool, MachineError> {
        let is_on_ubi = keys.block_device.unwrap_or_default() == BlockDeviceName::Ubiblock;
        let named = |needed: &str| MachineError::word("image", keys.image.as_deref().unwrap_or_default(), needed);
        check_begin(self.0, is_on_ubi, image).map_err(|needed| named(&needed))?;
        Ok(true)
    }

    fn read_ahead_kib(&self) -> Option<u32> {
        Some(READ_AHEAD_KIB)
    }

    fn settings(&self, keys: &mut StackKeys, board: &Profile) -> Result<Arc<dyn Settings>, MachineError> {
        let mount = (self.0.mount)(board).map_err(|needed| MachineError::word("kernel", &board.kernel_name, needed))?;
        let device = *keys.block_device.get_or_insert_default();
        let ubi = match device {
            BlockDeviceName::Ubiblock => Some(ubi_options(keys, board)?),
            BlockDeviceName::Mtdblock => {
                refuse_keys_of_ubi(keys)?;
                None
            }
        };
        Ok(Arc::new(OnlyReadSettings { images: self.0, mount, ubi }))
    }

    fn mlc_refusal(&self, keys: &StackKeys, board: &Profile) -> Option<&'static str> {
        match keys.block_device.unwrap_or_default() {
            BlockDeviceName::Ubiblock => ubi_refuses_mlc(keys, board),
            BlockDeviceName::Mtdblock => None,
        }
    }
}

/// Errors: a key of UBI, which is not there below `mtdblock`.
fn refuse_keys_of_ubi(keys: &StackKeys) -> Result<(), MachineError> {
    match UBI_KEYS.into_iter().find(|key| keys.gives(key)) {
        Some(key) => {
            let needed = format!("{key} is UBI's, and mtdblock stands on the partition itself: leave one of them out");
            Err(MachineError::word("block_device", "mtdblock", needed))
        }
        None => Ok(()),
    }
}

/// An image that is found within an image of UBI would have headers of erase blocks in it.
///
/// Errors: what an image would have to begin with.
fn check_begin(images: &Images, is_on_ubi: bool, image: &[u8]) -> Result<(), String> {
    let title = images.fs.title;
    match (is_on_ubi, image.starts_with(UBI_MAGIC), (images.bytes)(image)) {
        (false, true, _) => {
            Err("it is of a UBI, which mtdblock knows nothing of: block_device = \"ubiblock\"".to_string())
        }
        (_, false, None) => Err(format!("neither {title} nor a UBI begins with its first byte: cut out what you mean")),
        (_, _, Some(bytes)) if bytes > image.len() as u64 => {
            let here = image.len();
            Err(format!("it ends after {here} of the {bytes} B of {title} that its superblock says: all of it"))
        }
        _ => Ok(()),
    }
}

/// Settings of a file system of images, and of the UBI below it.
struct OnlyReadSettings {
    images: &'static Images,
    mount: Mount,
    /// `None`: it stands on the partition itself.
    ubi: Option<UbiOptions>,
}

impl fmt::Debug for OnlyReadSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {:?}", self.images.fs.name, self.ubi)
    }
}

impl Settings for OnlyReadSettings {
    fn fs(&self) -> &'static Descriptor {
        self.images.fs
    }

    /// Without `ro` mount(8) tries, is told that the device is read-only, and mounts it so.
    fn mount(&self, ground: &Ground<'_>, options: &MountOptions) -> Result<Box<dyn FileSystem>, SystemError> {
        no_options(self.images.fs.name, &options.others)?;
        let sim = ground.mtd.sim().clone();
        let ubi = ground.ubi.filter(|_| self.ubi.is_some()).cloned();
        let device = match &self.ubi {
            Some(_) => {
                let ubi = ubi.as_ref().ok_or(UbiState::Needed)?;
                let volume = open_volume(ubi, ground.volume)?.for_mount(sim.clone());
                RawBlock::on_volume(volume).map_err(SystemError::unusable)?
            }
            None => RawBlock::on_partition(ground.mtd.clone()),
        };
        (self.mount)(device, ubi, sim).map_err(SystemError::unusable)
    }

    fn needs_ubi(&self) -> Option<NeedsUbi> {
        self.ubi.clone().map(|options| NeedsUbi { options, lebs_min: 1 })
    }

    fn takes_whole(&self, image: &[u8]) -> Result<bool, String> {
        check_begin(self.images, self.ubi.is_some(), image)?;
        Ok(true)
    }

    fn puts_images_elsewhere(&self) -> bool {
        self.ubi.is_some()
    }

    /// An image of the file system is put into a volume of its size, as `ubinize` does; one of a UBI is that of the partition.
    fn on_flash(&self, image: &[u8], medium: &Mtd, volumes: &UbiVolumes) -> Result<Option<Vec<u8>>, String> {
        let (Some(options), Some(used_bytes)) = (&self.ubi, (self.images.bytes)(image)) else { return Ok(None) };
        let arrangement = Arrangement::of(medium, options).map_err(|error| error.to_string())?;
        let leb_bytes = u64::from(arrangement.leb_bytes());
        let bytes = (used_bytes as usize).min(image.len());
        let lebs = |bytes: u64| bytes.div_ceil(leb_bytes) as u32;
        let root = volume(0, VOLUME, lebs(image.len() as u64), &image[..bytes]);
        let others = (1..).zip(&volumes.others_bytes).map(|(id, (name, bytes))| volume(id, name, lebs(*bytes), &[]));
        arrangement.image(&std::iter::once(root).chain(others).collect::<Vec<_>>()).map(Some)
    }
}

fn volume<'d>(id: u32, name: &'d str, lebs: u32, data: &'d [u8]) -> ImagedVolume<'d> {
    ImagedVolume {
        id,
        name,
        kind: VolumeKind::Dynamic,
        lebs,
        alignment_bytes: 1,
        autoresize: false,
        skip_check: false,
        data,
    }
}

// ---- images alone -----------------------------------------------------------------------------------------------

const fn only_read(
    name: &'static str,
    title: &'static str,
    about: &'static str,
    image: &'static dyn ImageFormat,
) -> Descriptor {
    Descriptor {
        name,
        title,
        about,
        mountable: None,
        on_rtems: None,
        on_bare: None,
        image: Some(image),
        promises: Promises::SYNCED,
    }
}

pub static ESP_NVS: Descriptor = only_read(
    "esp-nvs",
    "ESP-IDF's NVS",
    "the store of keys and values of ESP32s: images are read, nothing runs on it",
    &ffslab_images::esp_nvs::InImages,
);
