//! Making and mounting: the calls of the crate before there are files.

use crate::causes;
use crate::config::{Config, FatType};
use crate::held::Volume;
use crate::names::Lost;
use crate::sectors::{Disk, Regions, Sectors, Work};
use fatfs::{FormatVolumeOptions, FsOptions};
use ffslab_foreign::Translation;
use ffslab_mtd::{Mtd, MtdError};
use std::io::Read;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::rc::Rc;
use thiserror::Error;

/// Why there is no mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MountError {
    #[error(transparent)]
    Translation(#[from] ffslab_foreign::MountError),
    #[error("{0}")]
    Medium(MtdError),
    #[error("the partition holds no FAT that could be mounted: {0}")]
    NoFileSystem(String),
    #[error("no FAT can be made: {0}")]
    NotMade(String),
    #[error("no FAT can be made: {wanted} was asked for, and so many clusters make {found}")]
    OtherType { wanted: &'static str, found: &'static str },
}

/// Of `struct` boot sector.
const BOOT_BYTES: usize = 512;
/// What became of a call of the crate.
pub(crate) enum Ended<R> {
    Done(R),
    Failed(Lost),
    /// The crate has panicked, and said this.
    Panicked(String),
}

/// Runs a call of the crate, which panics where a volume contradicts itself. What does not come from it goes on.
pub(crate) fn ended<R>(body: impl FnOnce() -> Result<R, Lost>) -> Ended<R> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(done)) => Ended::Done(done),
        Ok(Err(lost)) => Ended::Failed(lost),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            match text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)) {
                Some(text) => Ended::Panicked(text),
                None => resume_unwind(panic),
            }
        }
    }
}

/// What a mount or format says.
fn answer<R>(sectors: &Sectors, ended: Ended<R>, otherwise: fn(String) -> MountError) -> Result<R, MountError> {
    match (ended, sectors.failure()) {
        (Ended::Done(done), _) => Ok(done),
        (_, Some(failure)) => Err(MountError::Medium(failure)),
        (Ended::Failed(Lost::Medium(error)), None) => Err(otherwise(error.to_string())),
        (Ended::Failed(Lost::Known(errno)), None) => Err(otherwise(errno.to_string())),
        (Ended::Panicked(text), None) => Err(otherwise(text)),
    }
}

/// Where what stands, by the boot sector (`BPB_BytsPerSec` ...).
fn regions(boot: &[u8; BOOT_BYTES]) -> Regions {
    let word = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
    let (sector_bytes, reserved, tables, root_entries) = (word(11), word(14), u64::from(boot[16]), word(17));
    let table_sectors = if word(22) > 0 { word(22) } else { word(36) | word(38) << 16 };
    let tables = reserved * sector_bytes..(reserved + tables * table_sectors) * sector_bytes;
    let clusters_from = tables.end + (root_entries * 32).next_multiple_of(sector_bytes.max(1));
    Regions { tables, clusters_from }
}

/// Makes a new file system.
///
/// # Errors
/// A volume that FAT cannot have, a medium that fails.
pub fn format(medium: &Mtd, translation: Translation, config: &Config) -> Result<(), MountError> {
    causes::register(medium.sim());
    let sectors = Rc::new(Sectors::new(translation.make(medium)?, config.cache_sectors_count));
    sectors.begin(Work::Format);
    let mut options = FormatVolumeOptions::new()
        .bytes_per_sector(sectors.sector_bytes() as u16)
        .fats(config.tables_count)
        .max_root_dir_entries(config.root_entries_count);
    if let Some(bytes) = config.cluster_bytes {
        options = options.bytes_per_cluster(bytes);
    }
    if let Some(fat_type) = config.fat_type {
        options = options.fat_type(fat_type.asked_for());
    }
    let made = ended(|| {
        fatfs::format_volume(Disk::new(sectors.clone()), options)?;
        Ok(sectors.flush()?)
    });
    answer(&sectors, made, MountError::NotMade)?;
    let found = open(&sectors, config)?.fs().fat_type();
    sectors.end();
    sectors.close().map_err(MountError::Medium)?;
    match config.fat_type.filter(|wanted| *wanted != FatType::of(found)) {
        None => Ok(()),
        Some(wanted) => Err(MountError::OtherType { wanted: wanted.name(), found: FatType::of(found).name() }),
    }
}

/// The crate's part of a mount.
pub(crate) fn open(sectors: &Rc<Sectors>, config: &Config) -> Result<Volume, MountError> {
    sectors.begin(Work::Mount);
    let options = FsOptions::new().update_accessed_date(config.update_accessed_date);
    let opened = ended(|| {
        let mut boot = [0; BOOT_BYTES];
        Disk::new(sectors.clone()).read_exact(&mut boot)?;
        sectors.set_regions(regions(&boot));
        Ok(Volume::mount(Disk::new(sectors.clone()), options)?)
    });
    answer(sectors, opened, MountError::NoFileSystem)
}
