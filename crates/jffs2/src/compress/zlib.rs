//! zlib with the kernel's settings and stopping rule (`fs/jffs2/compr_zlib.c`): level 3, input handed over in pieces
//! no larger than the space left, partial flushes, 12 bytes kept for the end of the stream. The streams are those of the old
//! zlib in the kernel and in RTEMS: a page of 4 KiB is two pieces, of which today's zlib makes something else.

use ffslab_deflate::{Deflate, Flush, Status};
use ffslab_sim::{Sim, Work};
use flate2::{Decompress, FlushDecompress};

/// Kept back for the end of the stream (`STREAM_END_SPACE`).
const STREAM_END_BYTES: usize = 12;

#[derive(Default)]
pub struct Zlib(Deflate);

impl Zlib {
    /// Compresses the beginning of `data`, at most a page, at the end of `out`. Returns how many bytes of `data` were
    /// compressed; `None`: the data did not become shorter.
    pub fn compress(&mut self, sim: &Sim, data: &[u8], space: usize, out: &mut Vec<u8>) -> Option<usize> {
        if space <= STREAM_END_BYTES {
            return None;
        }
        sim.work(Work::ZlibCompress, data.len());
        let stream = &mut self.0;
        stream.reset();
        loop {
            let (written, read) = (stream.total_out(), stream.total_in());
            if written >= space - STREAM_END_BYTES || read >= data.len() {
                break;
            }
            let room = space - written - STREAM_END_BYTES;
            let piece = (data.len() - read).min(room);
            if stream.deflate(&data[read..read + piece], out, room, Flush::Partial) != Status::Ok {
                return None;
            }
        }
        let room = space - stream.total_out();
        let status = stream.deflate(&[], out, room, Flush::Finish);
        let (written, read) = (stream.total_out(), stream.total_in());
        (status == Status::StreamEnd && written < read).then_some(read)
    }
}

pub fn decompress(data: &[u8], plain: &mut [u8]) -> bool {
    let mut stream = Decompress::new(true);
    matches!(stream.decompress(data, plain, FlushDecompress::Finish), Ok(flate2::Status::StreamEnd))
        && stream.total_out() as usize == plain.len()
}
