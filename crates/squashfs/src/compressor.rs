//! The compressors of squashfs. A block expands to at most as many bytes as the superblock says, whatever stands in it.
//!
//! **Follows.** `fs/squashfs/{zlib,xz,lzo,lz4,zstd}_wrapper.c` for what a block is; `xz-file-format.txt` of XZ Utils for the container
//! of a block of xz, which holds one block.

use crate::little_endian::u32_at;
use flate2::{Decompress, FlushDecompress, Status};
use lzma_rust2::filter::bcj::BcjReader;
use lzma_rust2::{Lzma2Reader, LzmaReader};
use std::io::Read;

/// By its number in the superblock (`fs/squashfs/squashfs_fs.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    Gzip,
    /// As before Linux 2.6.38 in kernels of makers of routers.
    Lzma,
    Lzo,
    Xz,
    Lz4,
    Zstd,
    Unknown(u16),
}

impl Compressor {
    pub fn of(number: u16) -> Compressor {
        match number {
            1 => Compressor::Gzip,
            2 => Compressor::Lzma,
            3 => Compressor::Lzo,
            4 => Compressor::Xz,
            5 => Compressor::Lz4,
            6 => Compressor::Zstd,
            other => Compressor::Unknown(other),
        }
    }

    /// As `mksquashfs -comp` calls it.
    pub fn name(self) -> String {
        match self {
            Compressor::Gzip => "gzip".to_string(),
            Compressor::Lzma => "lzma".to_string(),
            Compressor::Lzo => "lzo".to_string(),
            Compressor::Xz => "xz".to_string(),
            Compressor::Lz4 => "lz4".to_string(),
            Compressor::Zstd => "zstd".to_string(),
            Compressor::Unknown(number) => format!("number {number}, which is not known"),
        }
    }

    /// Whether kernels of today have it (`fs/squashfs/decompressor.c`).
    pub fn is_of_linux(self) -> bool {
        !matches!(self, Compressor::Lzma | Compressor::Unknown(_))
    }

    pub fn is_known(self) -> bool {
        !matches!(self, Compressor::Unknown(_))
    }

    /// Whether a compressed block has a check sum over what it expands to.
    pub fn has_check_sums(self) -> bool {
        matches!(self, Compressor::Gzip | Compressor::Xz)
    }

    /// What a block expands to. `None`: it is damaged, or becomes more than `most_bytes`.
    pub fn expand(self, stored: &[u8], most_bytes: usize) -> Option<Vec<u8>> {
        let mut plain = vec![0; most_bytes];
        let bytes = match self {
            Compressor::Gzip => inflate(stored, &mut plain)?,
            Compressor::Lzma => fill(LzmaReader::new_mem_limit(stored, LZMA_MEMORY_KIB, None).ok()?, &mut plain)?,
            Compressor::Lzo => ffslab_lzo::decompress(stored, &mut plain)?,
            Compressor::Xz => xz(stored, &mut plain)?,
            Compressor::Lz4 => lz4_flex::block::decompress_into(stored, &mut plain).ok()?,
            Compressor::Zstd => zstd::bulk::decompress_to_buffer(stored, &mut plain).ok()?,
            Compressor::Unknown(_) => return None,
        };
        plain.truncate(bytes);
        Some(plain)
    }
}

/// A dictionary is no larger than a block of data.
const LZMA_MEMORY_KIB: u32 = 16 << 10;

fn inflate(stored: &[u8], plain: &mut [u8]) -> Option<usize> {
    let mut stream = Decompress::new(true);
    let status = stream.decompress(stored, plain, FlushDecompress::Finish).ok()?;
    (status == Status::StreamEnd).then_some(stream.total_out() as usize)
}

/// Reads to the end. `None`: damaged, or longer than `plain`.
fn fill(mut from: impl Read, plain: &mut [u8]) -> Option<usize> {
    let mut filled = 0;
    while filled < plain.len() {
        match from.read(&mut plain[filled..]).ok()? {
            0 => return Some(filled),
            bytes => filled += bytes,
        }
    }
    (from.read(&mut [0]).ok()? == 0).then_some(filled)
}

// ---- the container of xz ----------------------------------------------------------------------------------------

const XZ_MAGIC: &[u8; 6] = b"\xFD7zXZ\0";
const XZ_HEADER_BYTES: usize = 12;
const CHECK_CRC32: u8 = 1;
const HAS_PACKED_BYTES: u8 = 0x40;
const HAS_PLAIN_BYTES: u8 = 0x80;
const FILTER_LZMA2: u64 = 0x21;

/// What converts addresses in programs before they are compressed, by its number in the container.
fn converted<'r>(filter: u64, start: usize, from: Box<dyn Read + 'r>) -> Option<Box<dyn Read + 'r>> {
    Some(match filter {
        4 => Box::new(BcjReader::new_x86(from, start)),
        5 => Box::new(BcjReader::new_ppc(from, start)),
        6 => Box::new(BcjReader::new_ia64(from, start)),
        7 => Box::new(BcjReader::new_arm(from, start)),
        8 => Box::new(BcjReader::new_arm_thumb(from, start)),
        9 => Box::new(BcjReader::new_sparc(from, start)),
        10 => Box::new(BcjReader::new_arm64(from, start)),
        11 => Box::new(BcjReader::new_riscv(from, start)),
        _ => return None,
    })
}

fn xz(stored: &[u8], plain: &mut [u8]) -> Option<usize> {
    if !stored.starts_with(XZ_MAGIC) {
        return None;
    }
    let check = *stored.get(7)? & 0x0F;
    let header_bytes = (usize::from(*stored.get(XZ_HEADER_BYTES)?) + 1) * 4;
    let header = stored.get(XZ_HEADER_BYTES..XZ_HEADER_BYTES + header_bytes)?;
    let (header, crc) = header.split_at(header_bytes.checked_sub(4)?);
    if u32_at(crc, 0)? != crc32fast::hash(header) {
        return None;
    }
    let filters = filters(header)?;
    let packed = &stored[XZ_HEADER_BYTES + header_bytes..];
    // A dictionary that is larger than what it expands to is never used.
    let mut counted = Counted { from: packed, read_bytes: 0 };
    let lzma2 = Lzma2Reader::new(&mut counted, (plain.len() as u32).max(4096), None);
    let mut reader: Box<dyn Read + '_> = Box::new(lzma2);
    for (filter, start) in filters.into_iter().rev() {
        reader = converted(filter, start, reader)?;
    }
    let filled = fill(&mut reader, plain)?;
    drop(reader);
    let check_at = counted.read_bytes.next_multiple_of(4);
    let is_right = check != CHECK_CRC32 || u32_at(packed, check_at) == Some(crc32fast::hash(&plain[..filled]));
    is_right.then_some(filled)
}

/// The filters before LZMA2, which is the last one, each with where its addresses begin.
fn filters(header: &[u8]) -> Option<Vec<(u64, usize)>> {
    let flags = *header.get(1)?;
    let mut rest = &header[2..];
    for flag in [HAS_PACKED_BYTES, HAS_PLAIN_BYTES] {
        if flags & flag != 0 {
            number(&mut rest)?;
        }
    }
    let mut filters = Vec::new();
    for _ in 0..flags & 3 {
        let (filter, bytes) = (number(&mut rest)?, number(&mut rest)? as usize);
        let properties = rest.get(..bytes)?;
        rest = &rest[bytes..];
        filters.push((filter, if bytes == 0 { 0 } else { u32_at(properties, 0)? as usize }));
    }
    let is_lzma2 = number(&mut rest)? == FILTER_LZMA2 && number(&mut rest)? == 1;
    is_lzma2.then_some(filters)
}

/// A number of seven bits a byte, the lowest first.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Knows how far was read.
struct Counted<'a> {
    from: &'a [u8],
    read_bytes: usize,
}

impl Read for Counted<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.from.read(to)?;
        self.read_bytes += bytes;
        Ok(bytes)
    }
}
