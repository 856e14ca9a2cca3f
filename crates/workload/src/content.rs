//! The bytes that a workload writes.

use crate::prng::SplitMix64;
use crate::steps::ContentName;
use std::sync::Arc;

/// The pieces start at different places of the pool. With an odd stride all places are used before one is used again.
pub const STRIDE_BYTES: usize = 4_099;
pub const POOL_BYTES: usize = 1 << 20;
/// Of a mix: in how many bytes the random ones come first and the text behind them.
const MIX_BYTES: usize = 1_024;
const MIX_RANDOM_PERCENT: u8 = 50;

/// What [`ContentName::Text`] repeats.
const SENTENCE: &[u8] = b"The quick brown fox jumps over the lazy dog. ";

/// File content. That of [`Content::take`] is incompressible: a pool of random bytes is drawn once. Each write takes a piece of it that starts
/// elsewhere, so that making content costs nothing per write, and two writes to the same place still differ.
pub struct Content {
    prng: SplitMix64,
    pool: Vec<u8>,
    /// The pool with text behind the random share of each [`MIX_BYTES`] of it.
    mix: Vec<u8>,
    random_percent: u8,
    start: usize,
    /// The longest piece of text and of zeros so far.
    text: Vec<u8>,
    zeros: Vec<u8>,
    /// Of this computer, in the order of their first use, and which of them is written now.
    files: Vec<Repeated>,
    file: Option<usize>,
}

/// A file whose bytes are written over and over.
struct Repeated {
    bytes: Arc<Vec<u8>>,
    /// Its bytes again and again, as far as a piece has reached.
    line: Vec<u8>,
    /// Where the next piece begins.
    at: usize,
}

impl Repeated {
    fn take(&mut self, bytes: usize) -> &[u8] {
        let start = self.at;
        while self.line.len() < start + bytes {
            self.line.extend_from_slice(&self.bytes);
        }
        self.at = (start + bytes) % self.bytes.len();
        &self.line[start..start + bytes]
    }
}

impl Content {
    pub fn new(seed: u64) -> Self {
        // The seed is changed, so that content and offsets are different random streams even with the same seed.
        Content {
            prng: SplitMix64::new(seed ^ 0x636F_6E74_656E_7473),
            pool: Vec::new(),
            mix: Vec::new(),
            random_percent: MIX_RANDOM_PERCENT,
            start: 0,
            text: Vec::new(),
            zeros: Vec::new(),
            files: Vec::new(),
            file: None,
        }
    }

    /// From now on [`Content::take_of`] gives the bytes of this file, which is not empty, or again those of its kind. A file that
    /// was given before goes on where its last piece ended.
    pub fn give_file(&mut self, bytes: Option<Arc<Vec<u8>>>) {
        self.file = bytes.map(|bytes| {
            let known = self.files.iter().position(|file| Arc::ptr_eq(&file.bytes, &bytes));
            known.unwrap_or_else(|| {
                self.files.push(Repeated { bytes, line: Vec::new(), at: 0 });
                self.files.len() - 1
            })
        });
    }

    /// From now on so much of a mix is random, half of it if nothing is said.
    pub fn give_mix(&mut self, random_percent: Option<u8>) {
        let wanted = random_percent.unwrap_or(MIX_RANDOM_PERCENT);
        if wanted != self.random_percent {
            self.random_percent = wanted;
            self.mix.clear();
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
        if let Some(file) = self.file {
            return self.files[file].take(bytes);
        }
        match kind {
            ContentName::Random => self.take(bytes),
            ContentName::Mix => {
                let start = self.next_start(bytes);
                self.extend_mix(POOL_BYTES + bytes);
                &self.mix[start..start + bytes]
            }
            ContentName::Text => {
                self.extend_text(bytes);
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
        let start = self.next_start(bytes);
        &self.pool[start..start + bytes]
    }

    /// The bytes of which [`Content::take_of`] takes its pieces, for programs that write the same elsewhere: of `Random` and
    /// `Mix` a piece begins [`STRIDE_BYTES`] behind the last one (modulo [`POOL_BYTES`]), of the others at 0. Enough for
    /// pieces of `piece_bytes`.
    pub fn source(mut self, kind: ContentName, piece_bytes: usize) -> Vec<u8> {
        match kind {
            ContentName::Random => {
                self.extend_pool(POOL_BYTES + piece_bytes);
                self.pool.truncate(POOL_BYTES + piece_bytes);
                self.pool
            }
            ContentName::Mix => {
                self.extend_pool(POOL_BYTES + piece_bytes);
                self.extend_mix(POOL_BYTES + piece_bytes);
                self.mix
            }
            kind => self.take_of(kind, piece_bytes).to_vec(),
        }
    }

    /// Where the next piece begins in the pool, which is long enough for it then.
    fn next_start(&mut self, bytes: usize) -> usize {
        self.extend_pool(POOL_BYTES + bytes);
        let start = self.start;
        self.start = (start + STRIDE_BYTES) % POOL_BYTES;
        start
    }

    fn extend_pool(&mut self, wanted: usize) {
        if self.pool.len() < wanted {
            let more = (wanted - self.pool.len()).div_ceil(8);
            for _ in 0..more {
                self.pool.extend_from_slice(&self.prng.next_u64().to_le_bytes());
            }
        }
    }

    /// The pool must be as long already.
    fn extend_mix(&mut self, wanted: usize) {
        let random_bytes = MIX_BYTES * usize::from(self.random_percent) / 100;
        for at in self.mix.len()..wanted {
            let is_text = at % MIX_BYTES >= random_bytes;
            self.mix.push(if is_text { SENTENCE[at % SENTENCE.len()] } else { self.pool[at] });
        }
    }

    fn extend_text(&mut self, wanted: usize) {
        let known = self.text.len();
        self.text
            .extend(SENTENCE.iter().copied().cycle().skip(known % SENTENCE.len()).take(wanted.saturating_sub(known)));
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
    fn a_file_is_written_over_and_over_and_goes_on_where_it_ended() {
        let mut content = Content::new(1);
        let (file, other) = (Arc::new(b"abcde".to_vec()), Arc::new(b"xy".to_vec()));
        content.give_file(Some(file.clone()));
        assert_eq!(content.take_of(ContentName::Random, 3), b"abc");
        content.give_file(Some(other));
        assert_eq!(content.take_of(ContentName::Random, 5), b"xyxyx");
        content.give_file(None);
        assert_eq!(content.take_of(ContentName::Zero, 2), [0; 2]);
        content.give_file(Some(file));
        assert_eq!(content.take_of(ContentName::Random, 8), b"deabcdea");
        assert_eq!(content.take_of(ContentName::Random, 4), b"bcde");
        assert_eq!(content.take_of(ContentName::Random, 1), b"a");
    }

    #[test]
    fn half_of_a_mix_compresses() {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(Content::new(1).take_of(ContentName::Mix, 4096)).unwrap();
        assert!((2048..2300).contains(&encoder.finish().unwrap().len()));
    }

    #[test]
    fn a_mix_compresses_to_what_it_is_said_to_be_random() {
        let mut content = Content::new(1);
        for percent in [0, 10, 40, 75, 100] {
            content.give_mix(Some(percent));
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(content.take_of(ContentName::Mix, 4096)).unwrap();
            let left_percent = encoder.finish().unwrap().len() as f64 / 40.96;
            assert!((left_percent - f64::from(percent)).abs() < 5.5, "{percent}: {left_percent}");
        }
        content.give_mix(None);
        let mut fresh = Content::at(1, content.position());
        assert_eq!(content.take_of(ContentName::Mix, 3000), fresh.take_of(ContentName::Mix, 3000));
    }

    #[test]
    fn a_source_has_the_pieces_at_the_places_that_it_says() {
        for kind in [ContentName::Random, ContentName::Mix, ContentName::Text, ContentName::Zero] {
            let source = Content::new(7).source(kind, 6000);
            let mut content = Content::new(7);
            for i in 0..600 {
                let pooled = matches!(kind, ContentName::Random | ContentName::Mix);
                let start = if pooled { i * STRIDE_BYTES % POOL_BYTES } else { 0 };
                let bytes = 1 + i * 10;
                assert_eq!(content.take_of(kind, bytes), &source[start..start + bytes], "{kind:?} {i}");
            }
        }
    }

    #[test]
    fn a_piece_may_be_larger_than_the_pool() {
        let mut content = Content::new(1);
        content.take(1);
        assert_eq!(content.take(3 * POOL_BYTES).len(), 3 * POOL_BYTES);
    }
}
