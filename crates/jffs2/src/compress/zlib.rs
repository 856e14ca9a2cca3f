//! zlib with the kernel's settings and stopping rule (`fs/jffs2/compr_zlib.c`): level 3, input handed over in pieces
//! no larger than the space left, partial flushes, 12 bytes kept for the end of the stream. The C library is used
//! because the sizes must be the kernel's.

use ffslab_sim::{Sim, Work};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Kept back for the end of the stream (`STREAM_END_SPACE`).
const STREAM_END_BYTES: usize = 12;
const LEVEL: u32 = 3;

pub struct Zlib(Compress);

impl Default for Zlib {
    fn default() -> Self {
        Zlib(Compress::new(Compression::new(LEVEL), true))
    }
}

impl Zlib {
    /// Compresses the beginning of `data`. Returns how many bytes of `data` were compressed; `None`: the data did not
    /// become shorter.
    pub fn compress(&mut self, sim: &Sim, data: &[u8], space: usize, out: &mut Vec<u8>) -> Option<usize> {
        if space <= STREAM_END_BYTES {
            return None;
        }
        sim.work(Work::ZlibCompress, data.len());
        let stream = &mut self.0;
        stream.reset();
        out.resize(space, 0);
        loop {
            let (written, read) = (stream.total_out() as usize, stream.total_in() as usize);
            if written >= space - STREAM_END_BYTES || read >= data.len() {
                break;
            }
            let room = space - written - STREAM_END_BYTES;
            let piece = (data.len() - read).min(room);
            let status = stream
                .compress(&data[read..read + piece], &mut out[written..written + room], FlushCompress::Partial)
                .ok()?;
            if status != Status::Ok {
                return None;
            }
        }
        let written = stream.total_out() as usize;
        let status = stream.compress(&[], &mut out[written..], FlushCompress::Finish).ok()?;
        let (written, read) = (stream.total_out() as usize, stream.total_in() as usize);
        if status != Status::StreamEnd || written >= read {
            return None;
        }
        out.truncate(written);
        Some(read)
    }
}

pub fn decompress(data: &[u8], plain: &mut [u8]) -> bool {
    let mut stream = Decompress::new(true);
    matches!(stream.decompress(data, plain, FlushDecompress::Finish), Ok(Status::StreamEnd))
        && stream.total_out() as usize == plain.len()
}
