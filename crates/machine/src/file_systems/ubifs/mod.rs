//! UBIFS, on UBI.

use crate::error::MachineError;
use crate::file_systems::descriptor::{Descriptor, Ground, Mountable, NeedsUbi, Promises, Settings};
use crate::file_systems::on_ubi::{ubi_options, ubi_refuses_mlc};
use crate::mount_options::{MountOptions, GENERIC};
use crate::stack_keys::{CompressionName, StackKeys};
use crate::ubi_volume::open_volume;
use ffslab_fs::FileSystem;
use ffslab_images::Layout;
use ffslab_profiles::{FlashRules, FsRules, Profile};
use ffslab_system::{OptionError, SystemError, UbiState};
use ffslab_ubi::UbiOptions;
use ffslab_ubifs::{victim_table, Compression, KernelRules, MountError, Options, Ubifs, LEBS_MIN};
use std::sync::Arc;

pub static UBIFS: Descriptor = Descriptor {
    name: "ubifs",
    title: "UBIFS",
    about: "a tree on the flash with a journal, on UBI, which levels wear and replaces bad blocks",
    mountable: Some(&OnLinux),
    on_rtems: None,
    on_bare: None,
    image: Some(&ffslab_images::ubifs::InImages),
    promises: Promises {
        may_refuse_unfinished: true,
        about: "what was synced is there; a file that was written and renamed without fsync may be empty",
        ..Promises::SYNCED
    },
};

/// What a new file system says when nobody chose: `-x` of mkfs.ubifs, with which products are made, and `get_default_compressor` of
/// `fs/ubifs/sb.c` before 5.13. A later kernel that formats an empty volume by itself and has `UBIFS_FS_ZSTD` takes zstd.
const BY_MKFS: CompressionName = CompressionName::Lzo;

struct OnLinux;

impl Mountable for OnLinux {
    fn own_keys(&self) -> &'static [&'static str] {
        &[
            "compression",
            "bulk_read",
            "max_beb_per1024",
            "beb_reserve_pct",
            "subpage_writes",
            "ubifs_debug",
            "wl_threshold",
            "fastmap",
            "fm_autoconvert",
            "vid_hdr_offset_B",
        ]
    }

    fn takes_victim_policy(&self) -> bool {
        true
    }

    fn takes_wear_policies(&self) -> bool {
        true
    }

    fn own_steps(&self) -> &'static [&'static str] {
        &["ubi_attach", "ubi_detach", "ubi_make_volume"]
    }

    /// UBIFS switches the kernel's read-ahead off for its own mounts (`fs/ubifs/super.c`).
    fn read_ahead_kib(&self) -> Option<u32> {
        Some(0)
    }

    fn settings(&self, keys: &mut StackKeys, board: &Profile) -> Result<Arc<dyn Settings>, MachineError> {
        let named = keys.compression.map_or(Ok(Compression::OfSuperblock), compression)?;
        if keys.compression.is_none() && keys.image.is_none() {
            keys.compression = Some(BY_MKFS);
        }
        let rules = board.flash_rules();
        let options = Options {
            compression: named,
            rules: kernel_rules(rules),
            lzo: rules.lzo,
            bulk_read: keys.bulk_read,
            wbuf_delay_ms: keys.write_back(board.write_back())?.writeback_interval_ms,
            fs_debug: keys.ubifs_debug,
            ..Options::default()
        };
        let ubi = ubi_options(keys, board)?;
        Ok(Arc::new(UbifsSettings { options, ubi }))
    }

    fn mlc_refusal(&self, keys: &StackKeys, board: &Profile) -> Option<&'static str> {
        ubi_refuses_mlc(keys, board)
    }
}

/// Settings of UBIFS and of the UBI below it for a stack.
#[derive(Debug)]
pub struct UbifsSettings {
    pub options: Options,
    pub ubi: UbiOptions,
}

impl Settings for UbifsSettings {
    fn fs(&self) -> &'static Descriptor {
        &UBIFS
    }

    fn mount(&self, ground: &Ground<'_>, options: &MountOptions) -> Result<Box<dyn FileSystem>, SystemError> {
        let settings = with_options(Options { read_only: options.read_only, ..self.options }, &options.others)?;
        let ubi = ground.ubi.ok_or(UbiState::Needed)?;
        let volume = open_volume(ubi, ground.volume)?.for_mount(ground.mtd.sim().clone());
        let table = victim_table(volume.leb_bytes());
        let mut fs = Ubifs::mount(ubi, volume, settings, ground.epoch_s).map_err(refused)?;
        if let Some(victims) = ground.policies.victims(table) {
            fs.collects_by(victims);
        }
        Ok(Box::new(fs))
    }

    fn needs_ubi(&self) -> Option<NeedsUbi> {
        Some(NeedsUbi { options: self.ubi.clone(), lebs_min: LEBS_MIN })
    }

    fn adapted_to(&self, layout: &Layout) -> Option<Arc<dyn Settings>> {
        let (offset, _) = layout.ubi_at_bytes?;
        let ubi = ffslab_images::ubifs::ubi_options(layout.page_bytes, offset);
        Some(Arc::new(UbifsSettings { options: self.options, ubi }))
    }
}

/// The rules of the UBIFS that is part of a kernel.
pub fn kernel_rules(rules: FlashRules) -> KernelRules {
    match rules.ubifs {
        FsRules::V2_6 => KernelRules::V2_6,
        FsRules::V6_1 => KernelRules::V6_1,
    }
}

/// Why a volume cannot be mounted. Each LEB that it lacks takes an erase block.
fn refused(error: MountError) -> SystemError {
    let missing_blocks = match error {
        MountError::TooFewLebs { lebs, needed } => Some(needed.saturating_sub(lebs)),
        _ => None,
    };
    SystemError::Unusable { says: error.to_string(), missing_blocks }
}

/// Mount options that change what a mount does (`fs/ubifs/super.c`).
///
/// Errors: an option that it does not have.
fn with_options(settings: Options, options: &[String]) -> Result<Options, OptionError> {
    let mut settings = settings;
    for option in options {
        match option.as_str() {
            "bulk_read" => settings.bulk_read = true,
            "no_bulk_read" => settings.bulk_read = false,
            "chk_data_crc" => settings.check_data_crc = true,
            "no_chk_data_crc" => settings.check_data_crc = false,
            _ => {
                let own = "bulk_read, no_bulk_read, chk_data_crc, no_chk_data_crc";
                let known = format!("{own}, {GENERIC}; compression stands in the stack");
                return Err(OptionError::Unknown { option: option.clone(), fs: UBIFS.name, known });
            }
        }
    }
    Ok(settings)
}

/// UBIFS's name for a compressor.
///
/// Errors: one that it does not have.
pub fn compression(name: CompressionName) -> Result<Compression, MachineError> {
    let unknown = |name| Err(MachineError::word("compression", name, "ubifs has none, lzo, zlib and zstd"));
    Ok(match name {
        CompressionName::None => Compression::None,
        CompressionName::Lzo => Compression::Lzo,
        CompressionName::Zlib => Compression::Zlib,
        CompressionName::Zstd => Compression::Zstd,
        CompressionName::Rtime => return unknown("rtime"),
        CompressionName::ZlibRtime => return unknown("zlib-rtime"),
        CompressionName::Priority => return unknown("priority"),
        CompressionName::Size => return unknown("size"),
    })
}
