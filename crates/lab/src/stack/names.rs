//! What the words of a `[stack]` table are in the file systems' own types.

use crate::stack_keys::{CompressionName, EndianName, Yaffs2Version};
use ffslab_jffs2::{Compression, Endian};
use ffslab_yaffs2::Generation;

/// YAFFS2's name for the age of its sources.
pub(super) fn generation(version: Yaffs2Version) -> Generation {
    match version {
        Yaffs2Version::Y2010 => Generation::Y2010,
        Yaffs2Version::Y2011 => Generation::Y2011,
        Yaffs2Version::Y2012 => Generation::Y2012,
        Yaffs2Version::Today => Generation::Today,
    }
}

/// JFFS2's name for a compressor.
///
/// Errors: one that it does not have.
pub fn compression(name: CompressionName) -> Result<Compression, String> {
    Ok(match name {
        CompressionName::None => Compression::None,
        CompressionName::Zlib => Compression::Zlib,
        CompressionName::Rtime => Compression::Rtime,
        CompressionName::Lzo => Compression::Lzo,
        CompressionName::Priority => Compression::Priority,
        CompressionName::Size => Compression::Size,
        CompressionName::Zstd => return Err("compression = \"zstd\": jffs2 does not have it".to_string()),
    })
}

/// UBIFS's name for a compressor.
///
/// Errors: one that it does not have.
pub fn ubifs_compression(name: CompressionName) -> Result<ffslab_ubifs::Compression, String> {
    Ok(match name {
        CompressionName::None => ffslab_ubifs::Compression::None,
        CompressionName::Lzo => ffslab_ubifs::Compression::Lzo,
        CompressionName::Zlib => ffslab_ubifs::Compression::Zlib,
        CompressionName::Zstd => ffslab_ubifs::Compression::Zstd,
        other => {
            let name = format!("{other:?}").to_lowercase();
            return Err(format!("compression = \"{name}\": ubifs has none, lzo, zlib and zstd"));
        }
    })
}

/// JFFS2's name for a byte order.
pub fn endian(name: EndianName) -> Endian {
    match name {
        EndianName::Little => Endian::Little,
        EndianName::Big => Endian::Big,
    }
}
