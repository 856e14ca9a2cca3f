//! What a physical cluster expands to: `fs/erofs/decompressor.c`, and the block format of lz4 (`doc/lz4_Block_format.md` of LZ4).

use crate::extents::Algorithm;
use crate::superblock::BLOCK_BYTES;

/// Of the first so many bytes that a cluster expands to. `offset`: where they begin in a block of the file. `None`: it is damaged.
pub fn expand(stored: &[u8], algorithm: Algorithm, is_padded: bool, offset: u64, bytes: usize) -> Option<Vec<u8>> {
    match algorithm {
        Algorithm::Shifted => stored.get(..bytes).map(<[u8]>::to_vec),
        Algorithm::Interlaced => {
            let block = stored.get(..BLOCK_BYTES as usize).filter(|block| bytes <= block.len())?;
            let (behind, before) = block.split_at(offset as usize);
            Some([before, behind].concat().into_iter().take(bytes).collect())
        }
        Algorithm::Lz4 => {
            let first = stored.get(..stored.len().min(BLOCK_BYTES as usize))?;
            let begin = if is_padded { first.iter().position(|&byte| byte != 0)? } else { 0 };
            lz4(&stored[begin..], bytes)
        }
    }
}

/// A length that goes on in further bytes, each 255 but the last.
fn longer(stored: &[u8], at: &mut usize, length: usize) -> Option<usize> {
    let mut length = length;
    if length == 15 {
        loop {
            let byte = *stored.get(*at)?;
            *at += 1;
            length += usize::from(byte);
            if byte != u8::MAX {
                break;
            }
        }
    }
    Some(length)
}

/// The first so many bytes: what stands behind them in the cluster is for others, or is not there.
fn lz4(stored: &[u8], bytes: usize) -> Option<Vec<u8>> {
    // No byte stands for more than 255.
    let mut plain = Vec::with_capacity(bytes.min(stored.len() * 255));
    let mut at = 0;
    while plain.len() < bytes {
        let token = *stored.get(at)?;
        at += 1;
        let literals = longer(stored, &mut at, usize::from(token >> 4))?.min(bytes - plain.len());
        plain.extend_from_slice(stored.get(at..at + literals)?);
        at += literals;
        if plain.len() == bytes {
            break;
        }
        let distance = usize::from(u16::from_le_bytes([*stored.get(at)?, *stored.get(at + 1)?]));
        at += 2;
        let matched = longer(stored, &mut at, usize::from(token & 15))? + 4;
        let from = plain.len().checked_sub(distance).filter(|_| distance > 0)?;
        for index in from..from + matched.min(bytes - plain.len()) {
            plain.push(plain[index]);
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lz4_stops_where_it_is_asked_to() {
        // "abc", then it 9 bytes on; two literals end the block.
        let stored = [0x35, b'a', b'b', b'c', 3, 0, 0x20, b'x', b'y'];
        for bytes in 0..=14 {
            assert_eq!(lz4(&stored, bytes).unwrap(), &b"abcabcabcabcxy"[..bytes]);
        }
        assert_eq!(lz4(&stored, 15), None);
        assert_eq!(lz4(&[0x10, b'a', 2, 0], 5), None);
    }

    #[test]
    fn zeros_before_a_cluster_do_not_count() {
        let stored = [0, 0, 0x20, b'x', b'y'];
        assert_eq!(expand(&stored, Algorithm::Lz4, true, 0, 2).unwrap(), b"xy");
        assert_eq!(expand(&[0; 9], Algorithm::Lz4, true, 0, 2), None);
    }
}
