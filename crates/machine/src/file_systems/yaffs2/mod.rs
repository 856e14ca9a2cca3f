//! YAFFS2.

mod on_rtems;

use crate::error::{MachineError, OtherKey};
use crate::file_systems::descriptor::{Descriptor, Direct, Ground, Mountable, Promises, Settings};
use crate::mount_options::{MountOptions, GENERIC};
use crate::stack_keys::StackKeys;
use ffslab_fs::{DirectFileSystem, FileSystem};
use ffslab_images::recognise::arranged::Arranged;
use ffslab_images::Layout;
use ffslab_profiles::{MlcRules, Profile, Yaffs2Version};
use ffslab_system::{OptionError, SystemError};
use ffslab_yaffs2::{victim_table, Background, Generation, MountError, Options, Yaffs2};
use std::sync::Arc;

pub static YAFFS2: Descriptor = Descriptor {
    name: "yaffs2",
    title: "YAFFS2",
    about: "a log of pages with tags in their out-of-band areas; a checkpoint makes mounts fast",
    mountable: Some(&OnLinux),
    on_rtems: Some(&on_rtems::RtemsPort),
    on_bare: None,
    image: Some(&ffslab_images::yaffs2::InImages),
    promises: Promises {
        older_data_may_return: true,
        about:
            "what was synced is there; where a file was cut off and grew again, older data may stand instead of zeros",
        ..Promises::SYNCED
    },
};

struct OnLinux;

impl Mountable for OnLinux {
    fn own_keys(&self) -> &'static [&'static str] {
        &["yaffs2_version", "yaffs2", "inband_tags"]
    }

    fn takes_victim_policy(&self) -> bool {
        true
    }

    fn is_called_directly(&self) -> bool {
        true
    }

    fn mlc_refusal(&self, keys: &StackKeys, board: &Profile) -> Option<&'static str> {
        let version = keys.yaffs2_version.unwrap_or(board.flash_rules().yaffs2);
        (board.flash_rules().mlc != MlcRules::V2_6 && version != Yaffs2Version::Today).then_some(
            "YAFFS2 of this version says \"MTD device is not NAND\", because since Linux 3.13 it has a type of its own \
             (yaffs_internal_read_super): yaffs2_version = \"today\" does not ask",
        )
    }

    fn settings(&self, keys: &mut StackKeys, board: &Profile) -> Result<Arc<dyn Settings>, MachineError> {
        if board.part.nor().is_some() {
            let needed = format!(
                "the part {} is NOR, which has neither out-of-band areas nor bad blocks, and YAFFS2 asks its device for both: take \
                 jffs2 or ubifs",
                board.part_name
            );
            return Err(MachineError::word("fs", YAFFS2.name, needed));
        }
        let version = *keys.yaffs2_version.get_or_insert(board.flash_rules().yaffs2);
        let tick_rate_hz = keys.tick_rate_hz.unwrap_or(board.tick_rate_hz());
        let interval_ms = keys.write_back(board.write_back())?.writeback_interval_ms;
        let background = Background::linux(tick_rate_hz);
        let standard = Options {
            inband_tags: keys.inband_tags,
            super_sync_interval_ms: board.flash_rules().syncs_super_blocks.then_some(interval_ms),
            background: Some(background),
            ..Options::of(generation(version))
        };
        let options = keys.yaffs2.as_ref().map_or(standard, |built| built.set(standard, background));
        Ok(Arc::new(Yaffs2Settings(options)))
    }
}

/// Mounts the partition; blocks to collect are chosen by the policy, if there is one.
fn mounted(ground: &Ground<'_>, settings: Options) -> Result<Yaffs2, SystemError> {
    let mut fs = Yaffs2::mount(ground.mtd.clone(), settings).map_err(refused)?;
    if let Some(victims) = ground.policies.victims(victim_table(ground.mtd.pages_per_block())) {
        fs.collects_by(victims);
    }
    Ok(fs)
}

/// Settings of YAFFS2 for a stack.
#[derive(Debug)]
pub struct Yaffs2Settings(pub Options);

impl Settings for Yaffs2Settings {
    fn fs(&self) -> &'static Descriptor {
        &YAFFS2
    }

    fn mount(&self, ground: &Ground<'_>, options: &MountOptions) -> Result<Box<dyn FileSystem>, SystemError> {
        let settings = with_options(Options { read_only: options.read_only, ..self.0 }, &options.others)?;
        Ok(Box::new(mounted(ground, settings)?))
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }

    fn check_image(&self, found: &Arranged) -> Result<(), OtherKey> {
        let is = found.is_inband();
        if found.layout.is_some() && is != self.0.inband_tags {
            let (found, value) = if is { ("tags are in-band", "true") } else { ("tags are not in-band", "false") };
            return Err(OtherKey { found, key: "inband_tags", value });
        }
        Ok(())
    }

    fn adapted_to(&self, layout: &Layout) -> Option<Arc<dyn Settings>> {
        let tags_ecc = layout.yaffs2?.tags_ecc;
        Some(Arc::new(Yaffs2Settings(Options { tags_ecc, ..self.0 })))
    }
}

impl Direct for Yaffs2Settings {
    fn mount_direct(
        &self,
        ground: &Ground<'_>,
        options: &MountOptions,
    ) -> Result<Box<dyn DirectFileSystem>, SystemError> {
        let direct = Options {
            background: None,
            super_sync_interval_ms: None,
            direct: true,
            read_only: options.read_only,
            ..self.0
        };
        let settings = with_options(direct, &options.others)?;
        Ok(Box::new(mounted(ground, settings)?))
    }
}

/// Why a partition cannot be mounted.
fn refused(error: MountError) -> SystemError {
    let missing_blocks = match error {
        MountError::TooFewBlocks { blocks, needed, .. } => Some((needed + 1).saturating_sub(blocks)),
        _ => None,
    };
    SystemError::Unusable { says: error.to_string(), missing_blocks }
}

/// Mount options of the Linux port that change what a mount does.
///
/// Errors: an option that it does not have.
fn with_options(settings: Options, options: &[String]) -> Result<Options, OptionError> {
    let mut settings = settings;
    for option in options {
        match option.as_str() {
            "no-checkpoint-read" => settings.checkpoint_read = false,
            "no-checkpoint-write" => settings.checkpoint_write = false,
            "no-checkpoint" => (settings.checkpoint_read, settings.checkpoint_write) = (false, false),
            "disable-summary" => settings.block_summaries = false,
            "no-cache" => settings.short_op_cache_pages = 0,
            "lazy-loading-off" => settings.lazy_loading = false,
            "tags-ecc-off" => settings.tags_ecc = false,
            "empty-lost-and-found-off" => settings.empty_lost_and_found = false,
            _ => {
                let known = format!(
                    "no-checkpoint, no-checkpoint-read, no-checkpoint-write, disable-summary, no-cache, \
                     lazy-loading-off, tags-ecc-off, empty-lost-and-found-off, {GENERIC}"
                );
                return Err(OptionError::Unknown { option: option.clone(), fs: YAFFS2.name, known });
            }
        }
    }
    Ok(settings)
}

/// YAFFS2's name for the age of its sources.
pub fn generation(version: Yaffs2Version) -> Generation {
    match version {
        Yaffs2Version::Y2010 => Generation::Y2010,
        Yaffs2Version::Y2011 => Generation::Y2011,
        Yaffs2Version::Y2012 => Generation::Y2012,
        Yaffs2Version::Today => Generation::Today,
    }
}
