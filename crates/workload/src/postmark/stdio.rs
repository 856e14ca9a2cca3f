//! The system calls behind buffered reads and writes: what the GNU C library makes of fread and fwrite on a file that is
//! read or written front to back (`libio/fileops.c` of glibc 2.36, `_IO_new_file_xsputn` and `_IO_file_xsgetn`).

/// st_blksize of the file systems here, which is the size of a buffer.
const BUFFER_BYTES: u64 = 4096;

/// Sizes of the write calls for `bytes` bytes that a program passes on in pieces of `block_bytes`.
pub fn writes(bytes: u64, block_bytes: u64) -> Vec<u64> {
    let mut calls = Vec::new();
    let mut held = None;
    for piece in pieces(bytes, block_bytes).filter(|&piece| piece > 0) {
        let space = held.map_or(0, |held| BUFFER_BYTES - held);
        let rest = piece - piece.min(space);
        if rest == 0 {
            held = held.map(|held| held + piece);
            continue;
        }
        // The buffer is full, or does not exist yet. Whole buffers are then written directly.
        if held.is_some() {
            calls.push(BUFFER_BYTES);
        }
        let direct = rest - rest % BUFFER_BYTES;
        if direct > 0 {
            calls.push(direct);
        }
        held = Some(rest % BUFFER_BYTES);
    }
    calls.extend(held.filter(|&held| held > 0));
    calls
}

/// Sizes that read calls ask for when a program reads `bytes` bytes in pieces of `block_bytes`.
pub fn reads(bytes: u64, block_bytes: u64) -> Vec<u64> {
    let mut calls = Vec::new();
    let (mut at, mut held) = (0, 0);
    for piece in pieces(bytes, block_bytes) {
        let mut wanted = piece;
        while wanted > held {
            wanted -= held;
            if wanted < BUFFER_BYTES {
                calls.push(BUFFER_BYTES);
                held = BUFFER_BYTES.min(bytes - at);
                at += held;
                if held == 0 {
                    return calls;
                }
            } else {
                let direct = wanted - wanted % BUFFER_BYTES;
                calls.push(direct);
                at += direct;
                (held, wanted) = (0, wanted - direct);
            }
        }
        held -= wanted;
    }
    calls
}

/// Sizes of the calls without a buffer: whole blocks, and then the rest, even if the rest is 0.
pub fn unbuffered(bytes: u64, block_bytes: u64) -> Vec<u64> {
    pieces(bytes, block_bytes).collect()
}

fn pieces(bytes: u64, block_bytes: u64) -> impl Iterator<Item = u64> {
    let whole = bytes / block_bytes;
    (0..whole).map(move |_| block_bytes).chain(std::iter::once(bytes % block_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_gather_in_the_buffer() {
        assert_eq!(writes(500, 512), [500]);
        assert_eq!(writes(4096, 512), [4096]);
        assert_eq!(writes(10_000, 512), [4096, 4096, 1808]);
        assert_eq!(reads(10_000, 512), [4096, 4096, 4096]);
        assert_eq!(reads(4096, 512), [4096]);
    }

    #[test]
    fn large_pieces_pass_it() {
        assert_eq!(writes(20_000, 10_000), [8192, 4096, 4096, 3616]);
        assert_eq!(reads(20_000, 8192), [8192, 8192, 4096]);
        assert_eq!(unbuffered(1024, 512), [512, 512, 0]);
    }
}
