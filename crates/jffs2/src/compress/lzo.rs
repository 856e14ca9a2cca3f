//! LZO1X (`fs/jffs2/compr_lzo.c`). All of the data must fit, or nothing is compressed.

pub fn compress(data: &[u8], space: usize, out: &mut Vec<u8>) -> Option<usize> {
    let result = lzokay::compress::compress(data).ok()?;
    if result.len() > space || result.len() >= data.len() {
        return None;
    }
    out.extend_from_slice(&result);
    Some(data.len())
}

pub fn decompress(data: &[u8], plain: &mut [u8]) -> bool {
    matches!(lzokay::decompress::decompress(data, plain), Ok(bytes) if bytes == plain.len())
}
