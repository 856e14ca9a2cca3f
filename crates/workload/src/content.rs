//! The bytes that a workload writes.

use crate::prng::SplitMix64;
use crate::steps::ContentName;

/// The pieces start at different places of the pool. With an odd stride all places are used before one is used again.
const STRIDE_BYTES: usize = 4_099;
const POOL_BYTES: usize = 1 << 20;

/// What [`ContentName::Text`] repeats.
const SENTENCE: &[u8] = b"The quick brown fox jumps over the lazy dog. ";

/// File content. That of [`Content::take`] is incompressible: a pool of random bytes is drawn once. Each write takes a piece of it that starts
/// elsewhere, so that making content costs nothing per write, and two writes to the same place still differ.
pub struct Content {
    prng: SplitMix64,
    pool: Vec<u8>,
    start: usize,
    /// The longest piece of text and of zeros so far.
    text: Vec<u8>,
    zeros: Vec<u8>,
}

impl Content {
    pub fn new(seed: u64) -> Self {
        // The seed is changed, so that content and offsets are different random streams even with the same seed.
        Content {
            prng: SplitMix64::new(seed ^ 0x636F_6E74_656E_7473),
            pool: Vec::new(),
            start: 0,
            text: Vec::new(),
            zeros: Vec::new(),
        }
    }

    /// Position of the next piece, for [`Content::at`].
    pub fn position(&self) -> usize {
        self.start
    }

    /// The content of `seed` from the position on that another one had reached.
    pub fn at(seed: u64, position: usize) -> Self {
        Content { start: position % POOL_BYTES, ..Content::new(seed) }
    }

    /// Content like [`Content::take`], of the 95 printable characters of ASCII.
    pub fn take_printable(&mut self, bytes: usize) -> Vec<u8> {
        self.take(bytes).iter().map(|byte| b' ' + (u16::from(*byte) * 95 / 256) as u8).collect()
    }

    /// The next `bytes` bytes of this kind. Text and zeros are the same each time.
    pub fn take_of(&mut self, kind: ContentName, bytes: usize) -> &[u8] {
        match kind {
            ContentName::Random => self.take(bytes),
            ContentName::Text => {
                let known = self.text.len();
                self.text.extend(
                    SENTENCE.iter().copied().cycle().skip(known % SENTENCE.len()).take(bytes.saturating_sub(known)),
                );
                &self.text[..bytes]
            }
            ContentName::Zero => {
                self.zeros.resize(self.zeros.len().max(bytes), 0);
                &self.zeros[..bytes]
            }
        }
    }

    /// The next `bytes` bytes of content.
    pub fn take(&mut self, bytes: usize) -> &[u8] {
        let wanted = POOL_BYTES + bytes;
        if self.pool.len() < wanted {
            let more = (wanted - self.pool.len()).div_ceil(8);
            for _ in 0..more {
                self.pool.extend_from_slice(&self.prng.next_u64().to_le_bytes());
            }
        }
        let start = self.start;
        self.start = (start + STRIDE_BYTES) % POOL_BYTES;
        &self.pool[start..start + bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{write::ZlibEncoder, Compression};
    use std::io::Write;

    #[test]
    fn nothing_in_it_compresses() {
        let mut content = Content::new(1);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content.take(4096)).unwrap();
        assert!(encoder.finish().unwrap().len() >= 4096);
    }

    #[test]
    fn what_is_printable_is_text_and_compresses_by_what_a_byte_lacks() {
        let text = Content::new(1).take_printable(4096);
        assert!(text.iter().all(|byte| (b' '..=b'~').contains(byte)));
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text).unwrap();
        // 6.6 of 8 bits.
        assert!((3300..3600).contains(&encoder.finish().unwrap().len()));
    }

    #[test]
    fn two_pieces_differ_and_a_seed_repeats() {
        let mut content = Content::new(1);
        let (first, second) = (content.take(64).to_vec(), content.take(64).to_vec());
        assert_ne!(first, second);
        assert_eq!(Content::new(1).take(64), &first[..]);
        assert_ne!(Content::new(2).take(64), &first[..]);
    }

    #[test]
    fn text_and_zeros_begin_anew_each_time() {
        let mut content = Content::new(1);
        assert_eq!(content.take_of(ContentName::Text, 9), b"The quick");
        let longer = content.take_of(ContentName::Text, 100).to_vec();
        assert_eq!((&longer[..45], &longer[45..90]), (SENTENCE, SENTENCE));
        assert_eq!(content.take_of(ContentName::Text, 3), b"The");
        assert_eq!(content.take_of(ContentName::Zero, 5), [0; 5]);
        assert_eq!(content.position(), 0);
        assert_eq!(content.take_of(ContentName::Random, 64).to_vec(), Content::new(1).take(64));
    }

    #[test]
    fn a_piece_may_be_larger_than_the_pool() {
        let mut content = Content::new(1);
        content.take(1);
        assert_eq!(content.take(3 * POOL_BYTES).len(), 3 * POOL_BYTES);
    }
}
