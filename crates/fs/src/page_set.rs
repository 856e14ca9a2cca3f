//! A set of page numbers in order, for example the dirty pages of a file.
//!
//! Bits in chunks of 4096 pages (16 MiB of a file), as the tags in the kernel's tree of pages (`lib/xarray.c`,
//! `xas_find_marked`). To look up, add, take out or find the next page costs a few instructions whatever the number of
//! pages; memory is a few hundred bytes for each chunk that has a page in the set, wherever in the file it is.

use std::collections::BTreeMap;

const PAGES_PER_WORD: u64 = 64;
const PAGES_PER_CHUNK: u64 = 64 * PAGES_PER_WORD;

/// A piece of the set with 4096 bits, of which at least one is set.
#[derive(Clone, Debug)]
struct Chunk {
    /// Bit n: `words[n]` is not zero.
    filled: u64,
    words: [u64; 64],
}

impl Chunk {
    /// The first page of the chunk in the set whose place is `place` or later.
    #[inline]
    fn next(&self, place: usize) -> Option<usize> {
        let (word, bit) = (place / 64, place % 64);
        let rest = self.words[word] & (u64::MAX << bit);
        if rest != 0 {
            return Some(word * 64 + rest.trailing_zeros() as usize);
        }
        // Two shifts: one by 64 bits would overflow.
        let later = self.filled & (u64::MAX << word << 1);
        let word = later.trailing_zeros() as usize;
        (later != 0).then(|| word * 64 + self.words[word].trailing_zeros() as usize)
    }
}

/// A set of page numbers; see the module's description.
#[derive(Clone, Debug, Default)]
pub struct PageSet {
    chunks: BTreeMap<u64, Box<Chunk>>,
}

impl PageSet {
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    #[inline]
    pub fn contains(&self, page: u64) -> bool {
        let (number, place) = locate(page);
        self.chunks.get(&number).is_some_and(|chunk| chunk.words[place / 64] >> (place % 64) & 1 != 0)
    }

    /// Adds a page. Returns `true` when it was not in the set before.
    pub fn insert(&mut self, page: u64) -> bool {
        let (number, place) = locate(page);
        let chunk = self.chunks.entry(number).or_insert_with(|| Box::new(Chunk { filled: 0, words: [0; 64] }));
        let (word, bit) = (&mut chunk.words[place / 64], 1 << (place % 64));
        let is_news = *word & bit == 0;
        *word |= bit;
        chunk.filled |= 1 << (place / 64);
        is_news
    }

    /// Removes a page. Returns `true` when it was in the set.
    pub fn remove(&mut self, page: u64) -> bool {
        let (number, place) = locate(page);
        let Some(chunk) = self.chunks.get_mut(&number) else { return false };
        let (word, bit) = (&mut chunk.words[place / 64], 1 << (place % 64));
        let was_there = *word & bit != 0;
        *word &= !bit;
        if *word == 0 {
            chunk.filled &= !(1 << (place / 64));
            if chunk.filled == 0 {
                self.chunks.remove(&number);
            }
        }
        was_there
    }

    /// How many pages are in the set.
    pub fn count(&self) -> u64 {
        let words = self.chunks.values().flat_map(|chunk| chunk.words.iter());
        words.map(|word| u64::from(word.count_ones())).sum()
    }

    /// The first page in the set from `first` on.
    #[inline]
    pub fn next(&self, first: u64) -> Option<u64> {
        let (number, place) = locate(first);
        let mut chunks = self.chunks.range(number..);
        let (&found, chunk) = chunks.next()?;
        let place = if found == number { chunk.next(place) } else { chunk.next(0) };
        if let Some(place) = place {
            return Some(found * PAGES_PER_CHUNK + place as u64);
        }
        let (&found, chunk) = chunks.next()?;
        chunk.next(0).map(|place| found * PAGES_PER_CHUNK + place as u64)
    }

    /// The pages in the set from `first` to `last`, both included, in ascending order.
    pub fn range(&self, first: u64, last: u64) -> impl Iterator<Item = u64> + '_ {
        let start = self.next(first);
        std::iter::successors(start, |page| self.next(page.checked_add(1)?)).take_while(move |&page| page <= last)
    }

    /// Removes the first page from `first` on, and returns it.
    pub fn take_next(&mut self, first: u64) -> Option<u64> {
        let page = self.next(first)?;
        self.remove(page);
        Some(page)
    }
}

impl Extend<u64> for PageSet {
    fn extend<T: IntoIterator<Item = u64>>(&mut self, pages: T) {
        pages.into_iter().for_each(|page| {
            self.insert(page);
        });
    }
}

#[inline]
fn locate(page: u64) -> (u64, usize) {
    (page / PAGES_PER_CHUNK, (page % PAGES_PER_CHUNK) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Pages near the borders of words and chunks, and at both ends of the range.
    const PAGES: [u64; 13] = [0, 1, 63, 64, 127, 4_030, 4_095, 4_096, 8_191, 8_192, 1 << 40, u64::MAX - 64, u64::MAX];

    #[test]
    fn it_does_what_an_ordered_set_does() {
        let mut set = PageSet::default();
        let mut model = BTreeSet::new();
        let mut state = 1u64;
        for step in 0..4_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let page = PAGES[(state >> 33) as usize % PAGES.len()];
            if state >> 63 == 0 {
                assert_eq!(set.insert(page), model.insert(page), "step {step}, {page}");
            } else {
                assert_eq!(set.remove(page), model.remove(&page), "step {step}, {page}");
            }
            assert_eq!(set.is_empty(), model.is_empty());
            for page in PAGES {
                assert_eq!(set.contains(page), model.contains(&page));
                assert_eq!(set.next(page), model.range(page..).next().copied());
                assert!(set.range(64, page).eq(model.range(64..=page.max(64)).copied().filter(|&p| p <= page)));
            }
        }
    }

    #[test]
    fn pages_are_taken_out_in_order() {
        let mut set = PageSet::default();
        set.extend(PAGES);
        let taken: Vec<u64> = std::iter::from_fn(|| set.take_next(64)).collect();
        assert_eq!(taken, PAGES[3..]);
        assert_eq!(set.range(0, u64::MAX).collect::<Vec<_>>(), [0, 1, 63]);
    }

    #[test]
    fn a_set_without_pages_keeps_no_memory() {
        let mut set = PageSet::default();
        set.extend(PAGES);
        PAGES.iter().for_each(|&page| assert!(set.remove(page)));
        assert!(set.chunks.is_empty());
    }
}
