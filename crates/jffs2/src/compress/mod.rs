//! Compression of node data.
//!
//! Follows `fs/jffs2/compr.c`: a compressor takes as much of the data as fits into the space that the block has left
//! and says how much it took. Data that do not shrink are stored as they are.

mod lzma;
mod lzo;
mod rtime;
mod zlib;

use ffslab_lzo::Release;
use ffslab_sim::{Sim, Work};

use crate::format::{COMPR_LZMA, COMPR_LZO, COMPR_NONE, COMPR_RTIME, COMPR_ZERO, COMPR_ZLIB};

/// The `compr=` mount option and the compiled-in modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    #[default]
    None,
    Zlib,
    Rtime,
    Lzo,
    /// The first that succeeds, of those that `fs/jffs2/Kconfig` builds by default, in the kernel's order: zlib, rtime.
    ZlibRtime,
    /// The first that succeeds, in the order of a kernel that was built with LZO, too: LZO, zlib, rtime.
    Priority,
    /// The one with the smallest result.
    Size,
}

/// Outcome of one compression: `taken_bytes` of the input became `stored_bytes` of kind `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed {
    pub kind: u8,
    pub taken_bytes: usize,
    pub stored_bytes: usize,
}

/// Bytes that went into compressors and came out of decompressors, for systems that charge the CPU by the byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompressionWork {
    /// Bytes given to the compressor, whether they became shorter or not.
    pub zlib_in_bytes: u64,
    /// Bytes that the decompressor produced.
    pub zlib_out_bytes: u64,
    pub rtime_in_bytes: u64,
    pub rtime_out_bytes: u64,
}

impl CompressionWork {
    fn compresses(&mut self, kind: u8, bytes: usize) {
        match kind {
            COMPR_ZLIB => self.zlib_in_bytes += bytes as u64,
            COMPR_RTIME => self.rtime_in_bytes += bytes as u64,
            _ => {}
        }
    }

    /// Counts the decompression of a node's data.
    pub(crate) fn decompresses(&mut self, kind: u8, bytes: usize) {
        match kind {
            COMPR_ZLIB => self.zlib_out_bytes += bytes as u64,
            COMPR_RTIME => self.rtime_out_bytes += bytes as u64,
            _ => {}
        }
    }
}

impl std::ops::Add for CompressionWork {
    type Output = CompressionWork;
    fn add(self, other: CompressionWork) -> CompressionWork {
        CompressionWork {
            zlib_in_bytes: self.zlib_in_bytes + other.zlib_in_bytes,
            zlib_out_bytes: self.zlib_out_bytes + other.zlib_out_bytes,
            rtime_in_bytes: self.rtime_in_bytes + other.rtime_in_bytes,
            rtime_out_bytes: self.rtime_out_bytes + other.rtime_out_bytes,
        }
    }
}

impl std::ops::Sub for CompressionWork {
    type Output = CompressionWork;
    fn sub(self, before: CompressionWork) -> CompressionWork {
        CompressionWork {
            zlib_in_bytes: self.zlib_in_bytes - before.zlib_in_bytes,
            zlib_out_bytes: self.zlib_out_bytes - before.zlib_out_bytes,
            rtime_in_bytes: self.rtime_in_bytes - before.rtime_in_bytes,
            rtime_out_bytes: self.rtime_out_bytes - before.rtime_out_bytes,
        }
    }
}

/// Compressors with their working memory.
pub struct Compressor {
    mode: Compression,
    lzo: ffslab_lzo::Compressor,
    zlib: Option<Box<zlib::Zlib>>,
    output: Vec<u8>,
    best: Vec<u8>,
    pub work: CompressionWork,
}

impl Compressor {
    pub fn new(mode: Compression, lzo: Release) -> Self {
        let lzo = ffslab_lzo::Compressor::new(lzo);
        Compressor { mode, lzo, zlib: None, output: Vec::new(), best: Vec::new(), work: CompressionWork::default() }
    }

    /// Compresses `data` into at most `space` bytes; [`Compressor::output`] holds them unless the kind is "none".
    pub fn compress(&mut self, sim: &Sim, data: &[u8], space: usize) -> Compressed {
        let kinds: &[u8] = match self.mode {
            Compression::None => &[],
            Compression::Zlib => &[COMPR_ZLIB],
            Compression::Rtime => &[COMPR_RTIME],
            Compression::Lzo => &[COMPR_LZO],
            Compression::ZlibRtime => &[COMPR_ZLIB, COMPR_RTIME],
            Compression::Priority | Compression::Size => &[COMPR_LZO, COMPR_ZLIB, COMPR_RTIME],
        };
        let mut best: Option<Compressed> = None;
        for &kind in kinds {
            let Some(result) = self.compress_with(sim, kind, data, space) else { continue };
            if self.mode != Compression::Size {
                return result;
            }
            if result.stored_bytes < result.taken_bytes && best.is_none_or(|b| result.stored_bytes < b.stored_bytes) {
                best = Some(result);
                std::mem::swap(&mut self.output, &mut self.best);
            }
        }
        if let Some(best) = best {
            std::mem::swap(&mut self.output, &mut self.best);
            return best;
        }
        let bytes = data.len().min(space);
        Compressed { kind: COMPR_NONE, taken_bytes: bytes, stored_bytes: bytes }
    }

    fn compress_with(&mut self, sim: &Sim, kind: u8, data: &[u8], space: usize) -> Option<Compressed> {
        self.output.clear();
        self.work.compresses(kind, data.len());
        let taken_bytes = match kind {
            COMPR_ZLIB => {
                self.zlib.get_or_insert_with(Default::default).compress(sim, data, space, &mut self.output)?
            }
            COMPR_RTIME => rtime::compress(sim, data, space, &mut self.output)?,
            _ => lzo::compress(sim, &mut self.lzo, data, space, &mut self.output)?,
        };
        Some(Compressed { kind, taken_bytes, stored_bytes: self.output.len() })
    }

    pub fn output(&self) -> &[u8] {
        &self.output
    }
}

/// The kind of work that decompressing data of this kind is.
pub fn decompression(kind: u8) -> Option<Work> {
    match kind {
        COMPR_ZLIB => Some(Work::ZlibDecompress),
        COMPR_RTIME => Some(Work::RtimeDecompress),
        COMPR_LZO => Some(Work::LzoDecompress),
        _ => None,
    }
}

/// Whether data of this kind can be decompressed.
pub fn is_known(kind: u8) -> bool {
    matches!(kind, COMPR_NONE | COMPR_ZERO | COMPR_ZLIB | COMPR_RTIME | COMPR_LZO | COMPR_LZMA)
}

/// Decompresses into exactly `plain.len()` bytes. `false`: damaged, or a kind that is not known.
pub fn decompress(kind: u8, data: &[u8], plain: &mut [u8]) -> bool {
    match kind {
        COMPR_NONE => {
            let fits = data.len() >= plain.len();
            if fits {
                plain.copy_from_slice(&data[..plain.len()]);
            }
            fits
        }
        COMPR_ZERO => {
            plain.fill(0);
            true
        }
        COMPR_ZLIB => zlib::decompress(data, plain),
        COMPR_RTIME => rtime::decompress(data, plain),
        COMPR_LZO => lzo::decompress(data, plain),
        COMPR_LZMA => lzma::decompress(data, plain),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_sim::SimConfig;

    fn free() -> Sim {
        Sim::new(SimConfig::default())
    }

    const MODES: [Compression; 7] = [
        Compression::None,
        Compression::Zlib,
        Compression::Rtime,
        Compression::Lzo,
        Compression::ZlibRtime,
        Compression::Priority,
        Compression::Size,
    ];

    fn text() -> Vec<u8> {
        (0..4096u32).flat_map(|i| format!("line {} of a log file; ", i % 37).into_bytes()).take(4096).collect()
    }

    #[test]
    fn every_compressor_gives_back_what_it_took() {
        for mode in MODES {
            let mut compressor = Compressor::new(mode, Release::default());
            for space in [4096, 3000, 500, 200] {
                let data = text();
                let result = compressor.compress(&free(), &data, space);
                assert!(result.stored_bytes <= space, "{mode:?}");
                if result.kind == COMPR_NONE {
                    assert_eq!(result.taken_bytes, space);
                    continue;
                }
                let mut plain = vec![0; result.taken_bytes];
                assert!(decompress(result.kind, compressor.output(), &mut plain), "{mode:?}");
                assert_eq!(plain, data[..result.taken_bytes], "{mode:?} in {space} bytes");
            }
        }
    }

    #[test]
    fn random_data_are_stored_as_they_are() {
        let mut state = 1u64;
        let data: Vec<u8> = (0..4096)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                (state >> 33) as u8
            })
            .collect();
        for mode in MODES {
            assert_eq!(Compressor::new(mode, Release::default()).compress(&free(), &data, 4096).kind, COMPR_NONE);
        }
    }

    #[test]
    fn as_kconfig_builds_it_zlib_comes_first_and_rtime_is_asked_when_it_fails() {
        let mut compressor = Compressor::new(Compression::ZlibRtime, Release::default());
        assert_eq!(compressor.compress(&free(), &text(), 4096).kind, COMPR_ZLIB);
        assert_eq!(compressor.work.rtime_in_bytes, 0);
        let stored = compressor.output().to_vec();
        assert_eq!(compressor.compress(&free(), &stored[..64], 4096).kind, COMPR_NONE);
        assert_eq!((compressor.work.zlib_in_bytes, compressor.work.rtime_in_bytes), (4096 + 64, 64));
    }

    #[test]
    fn damaged_data_are_refused() {
        let mut compressor = Compressor::new(Compression::Zlib, Release::default());
        compressor.compress(&free(), &text(), 4096);
        let mut damaged = compressor.output().to_vec();
        let middle = damaged.len() / 2;
        damaged.truncate(middle);
        for kind in [COMPR_ZLIB, COMPR_LZO, COMPR_RTIME, 77] {
            let mut plain = vec![0; 4096];
            assert!(!decompress(kind, &damaged, &mut plain), "kind {kind}");
        }
    }
}
