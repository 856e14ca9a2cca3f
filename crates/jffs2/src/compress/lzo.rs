//! LZO1X (`fs/jffs2/compr_lzo.c`). All of the data must fit, or nothing is compressed. A stream as long as the data is
//! taken, too: only one that is longer than the room for it is refused, and that room is at most the data's length
//! (`fs/jffs2/write.c`, `jffs2_write_inode_range`).

use ffslab_lzo::Compressor;
use ffslab_sim::{Sim, Work};

/// Compresses the beginning of `data`. Returns how many bytes of `data` were compressed; `None`: the
/// stream is longer than the data or has no room.
pub fn compress(sim: &Sim, lzo: &mut Compressor, data: &[u8], space: usize, out: &mut Vec<u8>) -> Option<usize> {
    let begin = out.len();
    lzo.compress(data, out);
    let stream_bytes = out.len() - begin;
    if data.len() > ffslab_lzo::UNSEARCHED_BYTES {
        sim.work(Work::LzoCompress, data.len());
        sim.work(Work::LzoOutput, stream_bytes);
    }
    if stream_bytes > space.min(data.len()) {
        out.truncate(begin);
        return None;
    }
    Some(data.len())
}

pub fn decompress(data: &[u8], plain: &mut [u8]) -> bool {
    ffslab_lzo::decompress(data, plain) == Some(plain.len())
}
