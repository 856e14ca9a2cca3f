//! # lzo: LZO1X as the Linux kernel compresses it
//!
//! **Role.** For equal data the same bytes as the kernel, so that sizes on flash are the kernel's: JFFS2 and UBIFS compress
//! pages with it. Decompression is that of the crate `lzokay`: there is only one right answer.
//!
//! **Follows.** `lzo1x_1_compress` of Linux 3.9 and later (`lib/lzo/lzo1x_compress.c`, `lib/lzo/lzodefs.h`) for one buffer of at
//! most 48 KiB; the format of the stream is described in `Documentation/staging/lzo.rst`.
//!
//! **Leaves out.** Longer inputs, which the kernel cuts into pieces; the run-length extension (`lzo-rle`), which no file system
//! uses for its nodes. Kernels before 3.9 have LZO 2.02, whose dictionary kept pointers from one page to the next: in its place
//! stands one that makes the streams of `lzokay`, about as long as the kernel's, not equal.

mod compress;
mod thorough;

use thorough::Search;

pub use compress::{INPUT_BYTES_MAX, UNSEARCHED_BYTES};

/// The release of LZO that a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Release {
    /// Before Linux 3.9.
    Lzo2_02,
    #[default]
    Lzo2_06,
}

/// A compressor with its working memory.
#[derive(Default)]
pub struct Compressor {
    release: Release,
    /// Of the old release, made when it is needed first.
    search: Option<Box<Search>>,
}

impl Compressor {
    pub fn new(release: Release) -> Compressor {
        Compressor { release, search: None }
    }

    /// Compresses `plain`, at most [`INPUT_BYTES_MAX`], at the end of `out`. It never fails; what does not shrink grows by
    /// some bytes, at most a sixteenth and 67 B.
    pub fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        match self.release {
            Release::Lzo2_06 => compress::compress(plain, out),
            Release::Lzo2_02 => self.search.get_or_insert_with(Box::default).compress(plain, out),
        }
    }
}

/// Decompresses `stream` into the beginning of `plain`: how many bytes it became. `None`: it is damaged, or longer than
/// `plain`.
pub fn decompress(stream: &[u8], plain: &mut [u8]) -> Option<usize> {
    lzokay::decompress::decompress(stream, plain).ok()
}
