//! Window sequences, derived by hand from the rules in `mm/readahead.c`.

use super::*;
use std::collections::BTreeSet;

/// A page cache without a file end: windows are read at once and marks are kept.
struct Bench {
    kernel: Kernel,
    ra: ReadAhead,
    cached: BTreeSet<u64>,
    marks: BTreeSet<u64>,
    windows: Vec<Window>,
}

impl Bench {
    fn new(rules: ReadAheadRules) -> Bench {
        let kernel = Kernel { read_ahead: rules, timer_slack_ns: 0, ..Kernel::default() };
        let (cached, marks) = (BTreeSet::new(), BTreeSet::new());
        Bench { kernel, ra: ReadAhead::new(32), cached, marks, windows: Vec::new() }
    }

    fn decide(&mut self, index: u64, count: u64, marked: bool) -> Option<Window> {
        let request = Request { index, count, marked, sane_pages: 1 << 20 };
        let cached = &self.cached;
        self.ra.on_demand(&self.kernel, request, |page| cached.contains(&page))
    }

    /// A 4 KiB read of page `index`.
    fn touch(&mut self, index: u64) {
        let marked = self.marks.remove(&index);
        if marked || !self.cached.contains(&index) {
            if let Some(window) = self.decide(index, 1, marked) {
                self.windows.push(window);
                for page in window.start..window.start + window.count {
                    let mark = window.lookahead > 0 && page + window.lookahead == window.start + window.count;
                    if self.cached.insert(page) && mark {
                        self.marks.insert(page);
                    }
                }
            }
        }
        self.ra.prev_pos = match self.kernel.read_ahead {
            ReadAheadRules::V2_6 | ReadAheadRules::V5_10 => index as i64 * 4096,
            ReadAheadRules::V6_1 | ReadAheadRules::V6_11 => (index as i64 + 1) * 4096,
        };
    }
}

fn window(start: u64, count: u64, lookahead: u64) -> Option<Window> {
    Some(Window { start, count, lookahead })
}

const BOTH: [ReadAheadRules; 2] = [ReadAheadRules::V2_6, ReadAheadRules::V6_1];
const ALL: [ReadAheadRules; 4] =
    [ReadAheadRules::V2_6, ReadAheadRules::V5_10, ReadAheadRules::V6_1, ReadAheadRules::V6_11];

#[test]
fn a_sequential_reader_sees_4_8_16_32_32() {
    for rules in ALL {
        let mut bench = Bench::new(rules);
        (0..100).for_each(|index| bench.touch(index));
        let sizes: Vec<_> = bench.windows.iter().map(|w| (w.start, w.count)).collect();
        assert_eq!(sizes, [(0, 4), (4, 8), (12, 16), (28, 32), (60, 32), (92, 32), (124, 32)], "{rules:?}");
    }
}

#[test]
fn initial_windows() {
    let sizes = [1, 2, 3, 4, 5, 8, 9, 32, 100].map(|count| initial_size(count, 32));
    assert_eq!(sizes, [4, 4, 8, 8, 16, 16, 32, 32, 32]);
}

#[test]
fn following_windows() {
    assert_eq!([1, 2, 4, 16, 17, 32].map(|size| next_size(size, 32)), [4, 4, 8, 32, 32, 32]);
}

#[test]
fn a_lone_random_read_is_read_as_it_is() {
    for rules in ALL {
        let mut bench = Bench::new(rules);
        assert_eq!(bench.decide(700, 3, false), window(700, 3, 0));
        assert_eq!(bench.ra, ReadAhead::new(32), "the state is untouched");
    }
}

#[test]
fn a_request_beyond_the_window_reads_a_whole_window_and_the_next() {
    // size = max = 32, async = 32: the mark would stand on the first page, so the next window is merged.
    let mut bench = Bench::new(ReadAheadRules::V2_6);
    assert_eq!(bench.decide(700, 40, false), window(700, 64, 32));
    // Later kernels never exceed the maximum; the mark moves to its middle.
    for rules in &ALL[1..] {
        let mut bench = Bench::new(*rules);
        assert_eq!(bench.decide(700, 40, false), window(700, 32, 16), "{rules:?}");
    }
}

#[test]
fn a_foreign_mark_continues_behind_the_next_hole() {
    for rules in ALL {
        let mut bench = Bench::new(rules);
        bench.cached.extend(100..110);
        // Hole at 110, 10 pages away: size = next(10 + 1) = 22.
        assert_eq!(bench.decide(100, 1, true), window(110, 22, 22));
    }
}

#[test]
fn a_foreign_mark_without_a_hole_in_reach() {
    let mut bench = Bench::new(ReadAheadRules::V2_6);
    bench.cached.extend(100..200);
    assert_eq!(bench.decide(100, 1, true), None);
    // The last page that 5.10 and 6.1 look at counts as the hole although it is cached: page 101 + 31.
    for rules in [ReadAheadRules::V5_10, ReadAheadRules::V6_1] {
        let mut bench = Bench::new(rules);
        bench.cached.extend(100..200);
        assert_eq!(bench.decide(100, 1, true), window(132, 32, 32));
    }
    let mut bench = Bench::new(ReadAheadRules::V6_11);
    bench.cached.extend(100..200);
    assert_eq!(bench.decide(100, 1, true), None);
}

#[test]
fn a_miss_behind_the_window_is_no_stream_by_itself_since_6_11() {
    // The window 0 .. 12 was read, the program jumped away, and now misses the page behind it.
    let after_a_jump = |rules| {
        let mut bench = Bench::new(rules);
        (0..2).for_each(|index| bench.touch(index));
        assert_eq!(
            bench.windows,
            [Window { start: 0, count: 4, lookahead: 3 }, Window { start: 4, count: 8, lookahead: 8 }]
        );
        bench.cached.clear();
        bench.ra.prev_pos = 500 * 4096;
        bench.decide(12, 1, false)
    };
    assert_eq!(after_a_jump(ReadAheadRules::V6_1), window(12, 32, 16));
    assert_eq!(after_a_jump(ReadAheadRules::V6_11), window(12, 1, 0));
}

#[test]
fn a_first_window_as_large_as_the_request_is_marked_in_its_middle() {
    // Until 6.10 by merging it with a next window for which there is no room, since then at once.
    for rules in &ALL[1..] {
        for pages in [2, 32] {
            let mut bench = Bench::new(*rules);
            bench.ra.ra_pages = pages;
            assert_eq!(bench.decide(0, pages, false), window(0, pages, pages / 2), "{rules:?}");
        }
    }
}

#[test]
fn history_before_a_miss() {
    // Two cached pages before the miss. 2.6: initial(2 + 1) = 8, marked at once, so next(8) = 16 is merged.
    let mut bench = Bench::new(ReadAheadRules::V2_6);
    bench.cached.extend([98, 99]);
    assert_eq!(bench.decide(100, 1, false), window(100, 24, 16));
    // 6.1: 2 + 1 pages, the last one marked.
    let mut bench = Bench::new(ReadAheadRules::V6_1);
    bench.cached.extend([98, 99]);
    assert_eq!(bench.decide(100, 1, false), window(100, 3, 1));
    // One page of history is enough for 2.6 only.
    for (rules, expected) in [(BOTH[0], window(100, 12, 8)), (BOTH[1], window(100, 1, 0))] {
        let mut bench = Bench::new(rules);
        bench.cached.insert(99);
        assert_eq!(bench.decide(100, 1, false), expected);
    }
}

#[test]
fn history_from_the_start_of_the_file_counts_twice() {
    // Pages 0 to 4 cached, 5 missing, the previous read far away. 6.1: 5 * 2 + 1 pages.
    let mut bench = Bench::new(ReadAheadRules::V6_1);
    bench.cached.extend(0..5);
    assert_eq!(bench.decide(5, 1, false), window(5, 11, 1));
    // 2.6: initial(11) = 32, merged with 32 more.
    let mut bench = Bench::new(ReadAheadRules::V2_6);
    bench.cached.extend(0..5);
    assert_eq!(bench.decide(5, 1, false), window(5, 64, 32));
}

#[test]
fn history_is_counted_up_to_the_maximum() {
    let all = |_| true;
    let from_10 = |index| index >= 10;
    assert_eq!(history_pages(ReadAheadRules::V2_6, 200, 32, &all), 32);
    assert_eq!(history_pages(ReadAheadRules::V6_1, 200, 32, &all), 31, "one less than looked at");
    for rules in BOTH {
        assert_eq!(history_pages(rules, 20, 32, &from_10), 10);
        assert_eq!(history_pages(rules, 20, 32, &all), 20);
        assert_eq!(history_pages(rules, 10, 32, &from_10), 0);
    }
    assert_eq!(history_pages(ReadAheadRules::V2_6, 32, 32, &all), 32);
    assert_eq!(history_pages(ReadAheadRules::V6_1, 32, 32, &all), 31);
}

#[test]
fn the_sequential_test_of_32_bit_kernels_takes_every_backward_jump() {
    for bug in [false, true] {
        let mut bench = Bench::new(ReadAheadRules::V2_6);
        bench.kernel.sequential_miss_bug = bug;
        bench.ra.prev_pos = 500 * 4096;
        let backward = bench.decide(300, 1, false);
        assert_eq!(backward, if bug { window(300, 4, 3) } else { window(300, 1, 0) });
        bench.ra.prev_pos = 500 * 4096;
        assert_eq!(bench.decide(800, 1, false), window(800, 1, 0), "forward jumps are no different");
    }
}

#[test]
fn the_next_page_and_the_same_page_are_sequential() {
    for rules in ALL {
        for distance in [0, 1, 2] {
            let mut bench = Bench::new(rules);
            bench.ra.prev_pos = 500 * 4096 + 100;
            let expected = if distance < 2 { window(500 + distance, 4, 3) } else { window(502, 1, 0) };
            assert_eq!(bench.decide(500 + distance, 1, false), expected);
        }
    }
}

#[test]
fn a_first_read_in_the_middle_is_not_sequential() {
    for (rules, bug) in [(BOTH[0], false), (BOTH[0], true), (BOTH[1], false)] {
        let mut bench = Bench::new(rules);
        bench.kernel.sequential_miss_bug = bug;
        assert_eq!(bench.decide(1, 1, false), window(1, 1, 0));
    }
}

#[test]
fn memory_bounds_the_windows_of_2_6() {
    let mut ra = ReadAhead::new(32);
    let kernel = Bench::new(ReadAheadRules::V2_6).kernel;
    let request = Request { index: 0, count: 8, marked: false, sane_pages: 8 };
    assert_eq!(ra.on_demand(&kernel, request, |_| false), window(0, 16, 8));
}
