//! The state of a process in one of its files.

use super::random::Skewed;
use super::random_map::RandomMap;

/// What a process does next.
pub enum Next {
    Sync { data_only: bool },
    Request(usize),
}

#[derive(Clone, Debug, Default)]
pub struct FileState {
    /// Where the job's part of the file begins.
    pub offset: u64,
    /// Size of the job's part.
    pub io_bytes: u64,
    /// Size of the file, once it is laid out or written.
    pub real_bytes: u64,
    /// The offsets behind the last request, for reads and for writes.
    pub next_offset: [u64; 2],
    pub last_offset: [Option<u64>; 2],
    pub open: bool,
    pub done: bool,
    pub map: Option<RandomMap>,
    pub skewed: Option<Skewed>,
}

impl FileState {
    /// Starts again at the beginning, with no block touched.
    pub fn restart(&mut self) {
        self.next_offset = [self.offset; 2];
        self.last_offset = [None; 2];
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }

    /// The offset behind the last request, moved by `skip`, relative to the job's part of the file; `None` at its end.
    pub fn sequential(&mut self, direction: usize, skip: i64) -> Option<u64> {
        let end = self.real_bytes.min(self.io_bytes);
        let next = &mut self.next_offset[direction];
        if *next >= self.real_bytes {
            return None;
        }
        if *next == self.offset && self.offset > 0 && skip < 0 {
            *next = end;
        }
        let mut at = *next - self.offset;
        if at > 0 && skip != 0 {
            at = at.wrapping_add_signed(skip);
            // The value is also too large when a step backwards goes beyond the start of the file.
            if at >= self.real_bytes {
                at = if skip > 0 { self.offset } else { end.wrapping_add_signed(skip) };
            }
        }
        Some(at)
    }
}
