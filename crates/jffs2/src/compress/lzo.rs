//! LZO1X (`fs/jffs2/compr_lzo.c`). All of the data must fit, or nothing is compressed.

use ffslab_sim::{Sim, Work};

/// Input up to this length is copied without looking for matches (`lib/lzo/lzo1x_compress.c`, `M2_MAX_LEN + 5`).
const COPIED_BYTES_MAX: usize = 13;

/// Compresses the beginning of `data`. Returns how many bytes of `data` were compressed; `None`: the data did not
/// become shorter.
pub fn compress(sim: &Sim, data: &[u8], space: usize, out: &mut Vec<u8>) -> Option<usize> {
    let result = lzokay::compress::compress(data).ok()?;
    if data.len() > COPIED_BYTES_MAX {
        sim.work(Work::LzoCompress, data.len());
        sim.work(Work::LzoOutput, result.len());
    }
    if result.len() > space || result.len() >= data.len() {
        return None;
    }
    out.extend_from_slice(&result);
    Some(data.len())
}

pub fn decompress(data: &[u8], plain: &mut [u8]) -> bool {
    matches!(lzokay::decompress::decompress(data, plain), Ok(bytes) if bytes == plain.len())
}
