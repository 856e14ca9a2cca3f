//! JFFS2.

mod on_rtems;

use crate::error::{MachineError, OtherKey};
use crate::file_systems::descriptor::{Descriptor, Ground, Mountable, Promises, Settings};
use crate::mount_options::{no_options, MountOptions};
use crate::stack_keys::{CompressionName, EndianName, StackKeys};
use ffslab_fs::FileSystem;
use ffslab_images::recognise::arranged::Arranged;
use ffslab_jffs2::{victim_table, Compression, Endian, Jffs2, MountError, Options};
use ffslab_profiles::{FlashRules, FsRules, MlcRules, Profile};
use ffslab_system::SystemError;
use std::sync::Arc;

pub static JFFS2: Descriptor = Descriptor {
    name: "jffs2",
    title: "JFFS2",
    about: "a log of compressed nodes on the partition itself; a mount reads all of it",
    mountable: Some(&OnLinux),
    on_rtems: Some(&on_rtems::RtemsPort),
    on_bare: None,
    image: Some(&ffslab_images::jffs2::InImages),
    promises: Promises {
        may_refuse_unfinished: true,
        about: "what was synced is there; a new name without a sync may be gone, and a cut in a rename may leave both names",
        ..Promises::SYNCED
    },
};

/// `fs/jffs2/Kconfig`: without `JFFS2_COMPRESSION_OPTIONS` the mode is `JFFS2_CMODE_PRIORITY` and the compressors are `JFFS2_ZLIB`
/// and `JFFS2_RTIME`; `JFFS2_LZO` is off.
const BY_KCONFIG: CompressionName = CompressionName::ZlibRtime;

struct OnLinux;

impl Mountable for OnLinux {
    fn own_keys(&self) -> &'static [&'static str] {
        &["compression", "summary", "endian"]
    }

    fn takes_victim_policy(&self) -> bool {
        true
    }

    fn mlc_refusal(&self, _keys: &StackKeys, board: &Profile) -> Option<&'static str> {
        (board.flash_rules().mlc != MlcRules::V2_6).then_some(
            "since Linux 3.13 it has a type of its own, and JFFS2 takes it for memory without pages (fs/jffs2/os-linux.h, \
             jffs2_cleanmarker_oob): no clean marker can be written, no erase block is usable; UBIFS with slc_mode = true is",
        )
    }

    fn settings(&self, keys: &mut StackKeys, board: &Profile) -> Result<Arc<dyn Settings>, MachineError> {
        let standard = Options { name_hash: board.kernel().name_hash, ..of_kernel(board.flash_rules()) };
        let interval_ms = keys.vm.as_ref().and_then(|vm| vm.dirty_writeback_ms);
        Ok(Arc::new(Jffs2Settings(Options {
            wbuf_delay_ms: interval_ms.unwrap_or(standard.wbuf_delay_ms),
            compression: compression(*keys.compression.get_or_insert(BY_KCONFIG))?,
            summary: keys.summary,
            endian: match keys.endian {
                EndianName::Little => Endian::Little,
                EndianName::Big => Endian::Big,
            },
            ..standard
        })))
    }
}

/// Settings of JFFS2 for a stack.
#[derive(Debug)]
pub struct Jffs2Settings(pub Options);

impl Settings for Jffs2Settings {
    fn fs(&self) -> &'static Descriptor {
        &JFFS2
    }

    fn mount(&self, ground: &Ground<'_>, options: &MountOptions) -> Result<Box<dyn FileSystem>, SystemError> {
        no_options(JFFS2.name, &options.others)?;
        let settings = Options { read_only: options.read_only, ..self.0 };
        let mut fs = Jffs2::mount(ground.mtd.clone(), settings).map_err(refused)?;
        if let Some(victims) = ground.policies.victims(victim_table(ground.mtd.erase_block_bytes())) {
            fs.collects_by(victims);
        }
        Ok(Box::new(fs))
    }

    fn check_image(&self, found: &Arranged) -> Result<(), OtherKey> {
        match found.layout.as_ref().and_then(|layout| layout.endian) {
            Some(endian) if endian != self.0.endian => {
                let (found, value) = match endian {
                    Endian::Big => ("nodes are big-endian", "\"big\""),
                    Endian::Little => ("nodes are little-endian", "\"little\""),
                };
                Err(OtherKey { found, key: "endian", value })
            }
            _ => Ok(()),
        }
    }
}

/// Why a partition cannot be mounted.
fn refused(error: MountError) -> SystemError {
    let missing_blocks = match error {
        MountError::TooFewBlocks { blocks, needed } => Some(needed.saturating_sub(blocks)),
        _ => None,
    };
    SystemError::Unusable { says: error.to_string(), missing_blocks }
}

/// The rules of the JFFS2 that is part of a kernel.
fn of_kernel(rules: FlashRules) -> Options {
    let of_version = match rules.jffs2 {
        FsRules::V2_6 => Options::linux_2_6_37(),
        FsRules::V6_1 => Options::default(),
    };
    Options { gaps_in_page_stay: rules.jffs2_gap_bug, lzo: rules.lzo, ..of_version }
}

/// JFFS2's name for a compressor.
///
/// Errors: one that it does not have.
pub fn compression(name: CompressionName) -> Result<Compression, MachineError> {
    Ok(match name {
        CompressionName::None => Compression::None,
        CompressionName::Zlib => Compression::Zlib,
        CompressionName::Rtime => Compression::Rtime,
        CompressionName::Lzo => Compression::Lzo,
        CompressionName::ZlibRtime => Compression::ZlibRtime,
        CompressionName::Priority => Compression::Priority,
        CompressionName::Size => Compression::Size,
        CompressionName::Zstd => {
            return Err(MachineError::word("compression", "zstd", "jffs2 does not have it"));
        }
    })
}
