//! Why files of an image cannot be read.

use crate::file::ImageError;
use ffslab_flash::GeometryError;
use ffslab_fs::Errno;
use ffslab_mtd::MediumError;
use ffslab_rtems::bdbuf::BdbufError;
use thiserror::Error;

/// Why an image cannot be mounted to read its files. One line, without its path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TreeError {
    #[error("images of {title} cannot be read")]
    NoFormat { title: &'static str },
    #[error("it is no volume of a block device")]
    NoVolume,
    // ---- what is known of it does not do -------------------------------------------------------------------------
    #[error("where its tags stand is not known")]
    NoTags,
    #[error("there is no header of UBI")]
    NoUbiHeader,
    #[error("its superblock is damaged")]
    Superblock,
    /// What the file system, or UBI below it, says of it.
    #[error("{says}")]
    Refused { says: String },
    #[error("{errno}: this is no {title} volume that RTEMS mounts")]
    RefusedByRtems { errno: Errno, title: &'static str },
    #[error("no volume of UBI holds UBIFS: {}", if volumes.is_empty() { "there is none".to_string() } else { volumes.join(", ") })]
    NoUbifs { volumes: Vec<String> },
    /// `volumes`: their names.
    #[error("nothing is in it: no erase block here is of volume {}: empty, or cut off", volumes.join(", "))]
    EmptyVolumes { volumes: Vec<String> },
    /// `known` lists the volumes with their numbers.
    #[error("UBI has no volume {name}: {known}")]
    NoVolumeOfName { name: String, known: String },
    // ---- no chip or device takes it ------------------------------------------------------------------------------
    #[error("erase blocks of {block_bytes} B are not made of pages of {page_bytes} B")]
    Blocks { block_bytes: u32, page_bytes: u32 },
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    #[error(transparent)]
    Medium(#[from] MediumError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error("its volumes want {blocks} erase blocks, {most} is the limit here")]
    TooManyBlocks { blocks: u32, most: u32 },
    #[error("its blocks of {block_bytes} B are larger than buffers are here, {most_bytes} B")]
    BlocksOfVolume { block_bytes: u32, most_bytes: u32 },
    #[error(transparent)]
    Cache(#[from] BdbufError),
}

impl TreeError {
    /// What the file system says of it.
    pub fn refused(says: impl ToString) -> TreeError {
        TreeError::Refused { says: says.to_string() }
    }
}

/// Why the content of a file, or the target of a link, cannot be read. One line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum FileError {
    #[error("a file of {mib} MiB: {most_mib} MiB is the limit here")]
    TooLarge { mib: u64, most_mib: u64 },
    #[error("a file of {size_bytes} B: all files of the image together may have {most_mib} MiB here, holes included")]
    NoRoom { size_bytes: u64, most_mib: u64 },
    #[error("a file of {size_bytes} B: the volume has {volume_bytes} B")]
    LargerThanVolume { size_bytes: u64, volume_bytes: u64 },
    #[error("it ends at offset {offset}")]
    Short { offset: u64 },
    /// `damage`: what the file system has found on the medium, and where, if it knows.
    #[error(
        "{errno}{}{}",
        offset.map(|offset| format!(" at offset {offset}")).unwrap_or_default(),
        damage.as_ref().map(|damage| format!(": {damage}")).unwrap_or_default()
    )]
    Failed { errno: Errno, offset: Option<u64>, damage: Option<String> },
}

impl From<Errno> for FileError {
    fn from(errno: Errno) -> FileError {
        FileError::Failed { errno, offset: None, damage: None }
    }
}
