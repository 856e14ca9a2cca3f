//! # deflate: zlib's streams as its old releases write them
//!
//! **Role.** For equal data and equal calls the same bytes as the zlib in Linux and in RTEMS, so that sizes on flash are theirs:
//! JFFS2 compresses pages with it. Decompression needs nothing of this: there is only one right answer.
//!
//! **Follows.** The formats of RFC 1950 and RFC 1951, and the choices of zlib 1.1.3 to 1.2.5 at level 3 (`lib/zlib_deflate` of
//! Linux: `deflate.c`, `deftree.c`): greedy matches with hash chains, one block a call, partial flushes. Later releases differ where
//! data come in pieces: they put the last two strings of a piece into the hash (since 1.2.5.1), and end a piece with one empty
//! block, never with two (since 1.2.6).
//!
//! **Leaves out.** Other levels, strategies and window sizes; streams longer than [`INPUT_BYTES_MAX`], for which blocks would
//! end by themselves and the window would slide.

mod bits;
mod block;
mod huffman;
mod matches;

use bits::Bits;
use block::Block;
use matches::Window;

/// The most that a stream may hold. A block ends by itself after one symbol less than this.
pub const INPUT_BYTES_MAX: usize = (1 << 14) - 2;

/// Method 8 with a window of 32 KiB; a level of 2 to 5, and what makes both a multiple of 31.
const HEADER: [u8; 2] = [0x78, 0x5e];

/// What a call of `deflate` is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Everything so far can be decompressed (`Z_PARTIAL_FLUSH`).
    Partial,
    /// Nothing comes after this (`Z_FINISH`).
    Finish,
}

/// What a call of `deflate` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `Z_OK`: something was done, or the rest waits for room.
    Ok,
    /// `Z_STREAM_END`: the whole stream is in the output.
    StreamEnd,
    /// `Z_BUF_ERROR`: there was nothing to do, or no room to do it.
    NothingToDo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Begin,
    Busy,
    /// The last block is made.
    Finishing,
    /// The check sum as well.
    Ended,
}

/// A compressor with its working memory, 200 KiB.
pub struct Deflate {
    window: Window,
    block: Block,
    bits: Bits,
    state: State,
    /// The last call was a partial flush that had room enough.
    was_flushed: bool,
    adler: Adler32,
    taken_bytes: usize,
    given_bytes: usize,
}

impl Default for Deflate {
    fn default() -> Self {
        Deflate {
            window: Window::default(),
            block: Block::default(),
            bits: Bits::default(),
            state: State::Begin,
            was_flushed: false,
            adler: Adler32::default(),
            taken_bytes: 0,
            given_bytes: 0,
        }
    }
}

impl Deflate {
    /// Begins a new stream (`deflateInit`).
    pub fn reset(&mut self) {
        self.window.reset();
        self.block.reset();
        self.bits.reset();
        self.state = State::Begin;
        self.was_flushed = false;
        self.adler = Adler32::default();
        (self.taken_bytes, self.given_bytes) = (0, 0);
    }

    /// Bytes of the stream's data that were taken so far.
    pub fn total_in(&self) -> usize {
        self.taken_bytes
    }

    /// Bytes of the stream that were given out so far.
    pub fn total_out(&self) -> usize {
        self.given_bytes
    }

    /// Takes all of `input` and appends at most `room_bytes` of the stream to `out`; what has no room waits for the next
    /// call.
    pub fn deflate(&mut self, input: &[u8], out: &mut Vec<u8>, room_bytes: usize, flush: Flush) -> Status {
        assert!(self.taken_bytes + input.len() <= INPUT_BYTES_MAX, "the stream is longer than {INPUT_BYTES_MAX} B");
        let end = out.len() + room_bytes;
        if room_bytes == 0 {
            return Status::NothingToDo;
        }
        if self.state == State::Begin {
            self.bits.bytes(&HEADER);
            self.state = State::Busy;
        }
        if self.bits.has_bytes() {
            if !self.give(out, end) {
                self.was_flushed = false;
                return Status::Ok;
            }
        } else if input.is_empty() && flush == Flush::Partial && self.was_flushed {
            return Status::NothingToDo;
        }
        let was_finishing = self.state != State::Busy;
        self.was_flushed = flush == Flush::Partial;
        if !was_finishing {
            self.adler.add(input);
            self.taken_bytes += input.len();
            self.window.take(input, &mut self.block);
            self.block.write(self.window.since_last_block(), flush == Flush::Finish, &mut self.bits);
            if flush == Flush::Finish {
                self.state = State::Finishing;
            }
            if !self.give(out, end) {
                self.was_flushed = false;
                return Status::Ok;
            }
            if flush == Flush::Partial {
                self.bits.align();
                if !self.give(out, end) {
                    self.was_flushed = false;
                    return Status::Ok;
                }
            }
        }
        match (flush, self.state) {
            (Flush::Partial, _) => Status::Ok,
            (Flush::Finish, State::Ended) => Status::StreamEnd,
            (Flush::Finish, _) => {
                self.bits.bytes(&self.adler.sum().to_be_bytes());
                self.state = State::Ended;
                self.give(out, end);
                if self.bits.has_bytes() {
                    Status::Ok
                } else {
                    Status::StreamEnd
                }
            }
        }
    }

    /// Moves what is ready to the output: whether there is room left afterwards.
    fn give(&mut self, out: &mut Vec<u8>, end: usize) -> bool {
        let before = out.len();
        self.bits.give(out, end);
        self.given_bytes += out.len() - before;
        out.len() < end
    }
}

/// The check sum at the end of a stream (RFC 1950, 8.2).
struct Adler32 {
    a: u32,
    b: u32,
}

impl Default for Adler32 {
    fn default() -> Self {
        Adler32 { a: 1, b: 0 }
    }
}

impl Adler32 {
    const BASE: u32 = 65_521;
    /// So many bytes can be added before a sum could exceed 32 bits.
    const ADDED_AT_ONCE: usize = 5552;

    fn add(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(Self::ADDED_AT_ONCE) {
            for &byte in piece {
                self.a += u32::from(byte);
                self.b += self.a;
            }
            self.a %= Self::BASE;
            self.b %= Self::BASE;
        }
    }

    fn sum(&self) -> u32 {
        self.b << 16 | self.a
    }
}
