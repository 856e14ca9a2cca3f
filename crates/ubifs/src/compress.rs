//! Compression of data nodes.
//!
//! Follows `fs/ubifs/compress.c` and the kernel's crypto drivers `crypto/{lzo,deflate,zstd}.c`: raw deflate with the
//! default level and a window of 2 KiB, zstd at level 3.

use ffslab_sim::{Sim, Work};
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::zstd_safe::{CParameter, Strategy};

pub const COMPR_NONE: u16 = 0;
pub const COMPR_LZO: u16 = 1;
pub const COMPR_ZLIB: u16 = 2;
pub const COMPR_ZSTD: u16 = 3;
pub const COMPR_TYPES: u16 = 4;

/// Shorter data are stored uncompressed.
const PLAIN_BYTES_MIN: usize = 128;
/// Data that compression shortens by less than this are stored uncompressed.
const GAIN_BYTES_MIN: usize = 64;
const ZLIB_WINDOW_BITS: u8 = 11;
const ZSTD_LEVEL: i32 = 3;
/// The kernel asks for the parameters of level 3 for data of unknown length (`crypto/zstd.c`, `zstd_get_params(3, 0)`),
/// not for those of a page (`lib/zstd/compress/clevels.h`).
const ZSTD_PARAMETERS: [CParameter; 6] = [
    CParameter::WindowLog(21),
    CParameter::ChainLog(16),
    CParameter::HashLog(17),
    CParameter::SearchLog(1),
    CParameter::MinMatch(5),
    CParameter::Strategy(Strategy::ZSTD_dfast),
];

/// The `compr=` mount option and the default of a new file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    #[default]
    None,
    Lzo,
    Zlib,
    Zstd,
    /// A mount without `compr=`: what the superblock says, which is LZO in a new file system.
    OfSuperblock,
}

impl Compression {
    /// Its code in the superblock of a new file system, and in new inodes unless the superblock decides.
    pub(crate) fn code(self) -> u16 {
        match self {
            Compression::None => COMPR_NONE,
            // mkfs.ubifs without -x, and kernels before 5.13 that format an empty volume (`fs/ubifs/sb.c`).
            Compression::Lzo | Compression::OfSuperblock => COMPR_LZO,
            Compression::Zlib => COMPR_ZLIB,
            Compression::Zstd => COMPR_ZSTD,
        }
    }
}

/// Compressors with their working memory.
#[derive(Default)]
pub(crate) struct Compressor {
    /// The release of LZO in the kernel (`lib/lzo`).
    pub lzo: ffslab_lzo::Compressor,
    zlib: Option<Compress>,
    unzlib: Option<Decompress>,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    output: Vec<u8>,
}

impl Compressor {
    /// Compresses with `kind`; `None`: store `plain` as it is.
    pub fn compress(&mut self, sim: &Sim, kind: u16, plain: &[u8]) -> Option<&[u8]> {
        if kind == COMPR_NONE || plain.len() < PLAIN_BYTES_MIN {
            return None;
        }
        self.output.clear();
        match kind {
            COMPR_LZO => {
                self.lzo.compress(plain, &mut self.output);
                sim.work(Work::LzoCompress, plain.len());
                sim.work(Work::LzoOutput, self.output.len());
            }
            COMPR_ZLIB => {
                sim.work(Work::ZlibCompress, plain.len());
                self.deflate(plain)?;
            }
            COMPR_ZSTD => {
                sim.work(Work::ZstdCompress, plain.len());
                self.zstd(plain)?;
            }
            _ => return None,
        }
        (self.output.len() + GAIN_BYTES_MIN <= plain.len()).then_some(&self.output[..])
    }

    fn deflate(&mut self, plain: &[u8]) -> Option<()> {
        let stream = self.zlib.get_or_insert_with(|| {
            Compress::new_with_window_bits(flate2::Compression::default(), false, ZLIB_WINDOW_BITS)
        });
        stream.reset();
        self.output.resize(plain.len(), 0);
        let status = stream.compress(plain, &mut self.output, FlushCompress::Finish).ok()?;
        self.output.truncate(stream.total_out() as usize);
        (status == Status::StreamEnd).then_some(())
    }

    fn zstd(&mut self, plain: &[u8]) -> Option<()> {
        if self.zstd.is_none() {
            let mut zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL).ok()?;
            for parameter in ZSTD_PARAMETERS {
                zstd.set_parameter(parameter).ok()?;
            }
            self.zstd = Some(zstd);
        }
        self.output = self.zstd.as_mut()?.compress(plain).ok()?;
        Some(())
    }

    /// Decompresses into the beginning of `plain`; returns how many bytes it became. `None`: damaged, too long or of
    /// an unknown kind.
    pub fn decompress(&mut self, sim: &Sim, kind: u16, stored: &[u8], plain: &mut [u8]) -> Option<usize> {
        let work = match kind {
            COMPR_LZO => Some(Work::LzoDecompress),
            COMPR_ZLIB => Some(Work::ZlibDecompress),
            COMPR_ZSTD => Some(Work::ZstdDecompress),
            _ => None,
        };
        if let Some(work) = work {
            sim.work(work, plain.len());
        }
        match kind {
            COMPR_NONE => {
                plain.get_mut(..stored.len())?.copy_from_slice(stored);
                Some(stored.len())
            }
            COMPR_LZO => ffslab_lzo::decompress(stored, plain),
            COMPR_ZLIB => {
                let stream = self.unzlib.get_or_insert_with(|| Decompress::new_with_window_bits(false, 15));
                stream.reset(false);
                let status = stream.decompress(stored, plain, FlushDecompress::Finish).ok()?;
                (status == Status::StreamEnd).then_some(stream.total_out() as usize)
            }
            COMPR_ZSTD => zstd::bulk::decompress_to_buffer(stored, plain).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_sim::SimConfig;

    fn free() -> Sim {
        Sim::new(SimConfig::default())
    }

    #[test]
    fn every_compressor_gives_back_what_it_took() {
        let text: Vec<u8> =
            (0..4096u32).flat_map(|i| format!("line {} of a log; ", i % 37).into_bytes()).take(4096).collect();
        for kind in [COMPR_LZO, COMPR_ZLIB, COMPR_ZSTD] {
            let mut compressor = Compressor::default();
            let stored = compressor.compress(&free(), kind, &text).expect("text shrinks").to_vec();
            let mut plain = vec![0; 4096];
            assert_eq!(compressor.decompress(&free(), kind, &stored, &mut plain), Some(4096), "kind {kind}");
            assert_eq!(plain, text, "kind {kind}");
            let half = &stored[..stored.len() / 2];
            assert_ne!(
                compressor.decompress(&free(), kind, half, &mut plain),
                Some(4096),
                "kind {kind} cut in the middle"
            );
        }
    }

    #[test]
    fn what_does_not_shrink_is_stored_as_it_is() {
        let mut compressor = Compressor::default();
        assert!(compressor.compress(&free(), COMPR_ZLIB, &[0; 127]).is_none(), "too short");
        let noise: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(compressor.compress(&free(), COMPR_NONE, &noise).is_none());
        let mut plain = vec![0; 4096];
        assert_eq!(compressor.decompress(&free(), 9, &noise, &mut plain), None, "an unknown kind");
    }
}
