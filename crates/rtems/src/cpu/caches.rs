//! The data caches of the CPU: which lines they hold, and so what touching memory costs.
//!
//! Two levels of set associative caches with least recently used replacement. A load brings a line into both; a store that
//! finds the line nowhere puts it into L2 alone and waits for nothing but the bandwidth to memory (Cortex-A8: stores go
//! through a write buffer). Left out: writing back what is evicted, address translation, instructions.

use super::costs::CpuCosts;

/// One level: the lines of each set, the last used first.
struct Level {
    lines: Vec<u64>,
    ways: usize,
    set_mask: u64,
}

/// No line has this number.
const EMPTY: u64 = u64::MAX;

impl Level {
    fn new(bytes: u64, ways: u64, line_bytes: u64) -> Level {
        let lines = bytes / line_bytes;
        Level { lines: vec![EMPTY; lines as usize], ways: ways as usize, set_mask: lines / ways - 1 }
    }

    /// Whether the line is in this cache. If so, it becomes the most recently used one of its set.
    #[inline]
    fn use_line(&mut self, line: u64) -> bool {
        let first = (line & self.set_mask) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        match set.iter().position(|&held| held == line) {
            Some(at) => {
                set[..=at].rotate_right(1);
                true
            }
            None => false,
        }
    }

    /// Puts a line in, in place of the least recently used line of its set.
    #[inline]
    fn put(&mut self, line: u64) {
        let first = (line & self.set_mask) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        set.rotate_right(1);
        set[0] = line;
    }
}

/// L1 and L2.
pub(super) struct Caches {
    l1: Level,
    l2: Level,
    line_shift: u32,
}

impl Caches {
    pub fn new(costs: &CpuCosts) -> Caches {
        Caches {
            l1: Level::new(costs.l1_kib * 1024, costs.l1_ways_count, costs.line_bytes),
            l2: Level::new(costs.l2_kib * 1024, costs.l2_ways_count, costs.line_bytes),
            line_shift: costs.line_bytes.trailing_zeros(),
        }
    }

    /// The time, in picoseconds, that loading these bytes takes beyond the load instructions themselves.
    pub fn load_ps(&mut self, costs: &CpuCosts, address: u64, bytes: u64) -> u64 {
        let mut sum_ps = 0;
        for line in self.lines(address, bytes) {
            if self.l1.use_line(line) {
                continue;
            }
            sum_ps += if self.l2.use_line(line) {
                costs.l2_read_ps
            } else {
                self.l2.put(line);
                costs.memory_read_ps
            };
            self.l1.put(line);
        }
        sum_ps
    }

    /// The time, in picoseconds, that storing these bytes takes beyond the store instructions themselves.
    pub fn store_ps(&mut self, costs: &CpuCosts, address: u64, bytes: u64) -> u64 {
        let mut sum_ps = 0;
        for line in self.lines(address, bytes) {
            if !self.l1.use_line(line) && !self.l2.use_line(line) {
                self.l2.put(line);
                sum_ps += costs.memory_write_ps;
            }
        }
        sum_ps
    }

    fn lines(&self, address: u64, bytes: u64) -> std::ops::Range<u64> {
        if bytes == 0 {
            return 0..0;
        }
        (address >> self.line_shift)..((address + bytes - 1) >> self.line_shift) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches() -> (CpuCosts, Caches) {
        let costs = CpuCosts::of_tests();
        let caches = Caches::new(&costs);
        (costs, caches)
    }

    /// The cost per line of a second pass over so many bytes.
    fn second_pass_ps(bytes: u64) -> u64 {
        let (costs, mut caches) = caches();
        caches.load_ps(&costs, 0, bytes);
        caches.load_ps(&costs, 0, bytes) / (bytes / 64)
    }

    #[test]
    fn what_fits_a_level_is_found_there() {
        let (costs, _) = caches();
        assert_eq!(second_pass_ps(32 << 10), 0);
        assert_eq!(second_pass_ps(64 << 10), costs.l2_read_ps);
        assert_eq!(second_pass_ps(256 << 10), costs.l2_read_ps);
        assert_eq!(second_pass_ps(512 << 10), costs.memory_read_ps);
    }

    #[test]
    fn a_store_puts_a_line_into_the_second_level_only() {
        let (costs, mut caches) = caches();
        assert_eq!(caches.store_ps(&costs, 640, 64), costs.memory_write_ps);
        assert_eq!(caches.store_ps(&costs, 640, 64), 0);
        assert_eq!(caches.load_ps(&costs, 640, 64), costs.l2_read_ps);
        assert_eq!(caches.load_ps(&costs, 640, 64), 0);
    }

    #[test]
    fn bytes_that_straddle_a_line_touch_both() {
        let (costs, mut caches) = caches();
        assert_eq!(caches.load_ps(&costs, 60, 8), 2 * costs.memory_read_ps);
        assert_eq!(caches.load_ps(&costs, 0, 0), 0);
    }
}
