//! Where a process stands in one of its files.

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
    /// Behind the latest request, for reads and writes.
    pub next_offset: [u64; 2],
    pub last_offset: [Option<u64>; 2],
    pub open: bool,
    pub done: bool,
    pub map: Option<RandomMap>,
    pub skewed: Option<Skewed>,
}

impl FileState {
    /// Back to the beginning: no block has been touched.
    pub fn restart(&mut self) {
        self.next_offset = [self.offset; 2];
        self.last_offset = [None; 2];
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }

    /// The offset behind the latest request, moved by `skip`, relative to the job's part; `None` at the end.
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
            // Also where a step backwards leaves the file.
            if at >= self.real_bytes {
                at = if skip > 0 { self.offset } else { end.wrapping_add_signed(skip) };
            }
        }
        Some(at)
    }
}
