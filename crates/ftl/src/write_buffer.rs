//! The write buffer of a device: pages in RAM that wait for the flash, and which of them leave first.
//!
//! **Follows.** For `bplru`: Kim and Ahn, "BPLRU: A Buffer Management Scheme for Improving Random Writes in Flash Storage", FAST
//! 2008: logical blocks leave as a whole, the least recently written one first; what the buffer does not hold of it is read and
//! written with it (block padding), so that a layer with log blocks need not merge; a block that was written from its first page to
//! its last leaves next (LRU compensation). What a flush does is ours: it writes what is there, without padding.

use std::collections::{BTreeMap, VecDeque};

/// A page in the write buffer, with one bit for each sector that was written.
pub(crate) struct Buffered {
    pub data: Box<[u8]>,
    pub sectors_bits: u64,
    /// Pages of the request that wrote it last.
    pub request_pages: u32,
}

/// Which pages leave first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BufferRule {
    /// The page that came first.
    #[default]
    Arrival,
    /// The logical block that was written longest ago, padded.
    Bplru,
}

impl BufferRule {
    /// The names that users write.
    pub const NAMES: [&str; 2] = ["arrival", "bplru"];

    pub fn find(name: &str) -> Option<BufferRule> {
        let at = BufferRule::NAMES.iter().position(|known| *known == name)?;
        Some([BufferRule::Arrival, BufferRule::Bplru][at])
    }
}

/// What leaves next.
pub(crate) enum Leaving {
    Page(u32),
    /// All pages of a logical block, those that are not buffered, too.
    Block(u32),
}

/// The buffered pages.
pub(crate) struct WriteBuffer {
    /// 0: nothing waits.
    pages_max: usize,
    pages: BTreeMap<u32, Buffered>,
    order: Order,
}

enum Order {
    /// The page that came first is at the front.
    Arrival(VecDeque<u32>),
    Blocks(Blocks),
}

/// The logical blocks of which pages are buffered, by when they were written last.
struct Blocks {
    pages_per_block: u32,
    by_age: BTreeMap<i64, u32>,
    known: BTreeMap<u32, Known>,
    next_age: i64,
    /// Goes down, so that what is compensated comes before all others.
    next_first: i64,
}

struct Known {
    age: i64,
    buffered_pages: u32,
    /// The page that goes on in order; `None`: the block was not written in order.
    in_order: Option<u32>,
}

impl Blocks {
    fn enters(&mut self, page: u32) {
        let known = Known { age: i64::MAX, buffered_pages: 0, in_order: Some(0) };
        self.known.entry(page / self.pages_per_block).or_insert(known).buffered_pages += 1;
    }

    fn is_written(&mut self, page: u32) {
        let (block, place) = (page / self.pages_per_block, page % self.pages_per_block);
        let Some(known) = self.known.get_mut(&block) else { return };
        self.by_age.remove(&known.age);
        known.in_order = known.in_order.filter(|&next| next == place).map(|next| next + 1);
        if known.in_order == Some(self.pages_per_block) {
            known.age = self.next_first;
            self.next_first -= 1;
        } else {
            known.age = self.next_age;
            self.next_age += 1;
        }
        self.by_age.insert(known.age, block);
    }

    fn leaves(&mut self, page: u32) {
        let block = page / self.pages_per_block;
        let Some(known) = self.known.get_mut(&block) else { return };
        known.buffered_pages -= 1;
        if known.buffered_pages == 0 {
            self.by_age.remove(&known.age);
            self.known.remove(&block);
        }
    }
}

impl WriteBuffer {
    /// An empty buffer of so many pages, over a layer with blocks of so many.
    pub fn new(rule: BufferRule, pages_max: u32, pages_per_block: u32) -> WriteBuffer {
        let order = match rule {
            BufferRule::Arrival => Order::Arrival(VecDeque::new()),
            BufferRule::Bplru => Order::Blocks(Blocks {
                pages_per_block,
                by_age: BTreeMap::new(),
                known: BTreeMap::new(),
                next_age: 0,
                next_first: -1,
            }),
        };
        WriteBuffer { pages_max: pages_max as usize, pages: BTreeMap::new(), order }
    }

    /// Whether nothing may wait when a write returns.
    pub fn waits_for_nothing(&self) -> bool {
        self.pages_max == 0
    }

    pub fn is_full(&self) -> bool {
        self.pages.len() >= self.pages_max.max(1)
    }

    pub fn get(&self, page: u32) -> Option<&Buffered> {
        self.pages.get(&page)
    }

    pub fn get_mut(&mut self, page: u32) -> Option<&mut Buffered> {
        self.pages.get_mut(&page)
    }

    /// The page, which is written now; one of zeros that was made is among the buffered ones from now on.
    pub fn write(&mut self, page: u32, page_bytes: usize) -> &mut Buffered {
        let is_new = !self.pages.contains_key(&page);
        match &mut self.order {
            Order::Arrival(pages) if is_new => pages.push_back(page),
            Order::Arrival(_) => {}
            Order::Blocks(blocks) => {
                if is_new {
                    blocks.enters(page);
                }
                blocks.is_written(page);
            }
        }
        let empty = || Buffered { data: vec![0; page_bytes].into_boxed_slice(), sectors_bits: 0, request_pages: 1 };
        self.pages.entry(page).or_insert_with(empty)
    }

    /// What leaves next when there must be room; `None`: nothing is buffered.
    pub fn next(&self) -> Option<Leaving> {
        match &self.order {
            Order::Arrival(pages) => pages.front().map(|&page| Leaving::Page(page)),
            Order::Blocks(blocks) => blocks.by_age.first_key_value().map(|(_, &block)| Leaving::Block(block)),
        }
    }

    /// The page that a flush writes next.
    pub fn next_of_flush(&self) -> Option<u32> {
        match &self.order {
            Order::Arrival(pages) => pages.front().copied(),
            Order::Blocks(_) => self.pages.first_key_value().map(|(&page, _)| page),
        }
    }

    /// The page is on flash, or the host does not need it any more.
    pub fn remove(&mut self, page: u32) {
        if self.pages.remove(&page).is_none() {
            return;
        }
        match &mut self.order {
            Order::Arrival(pages) if pages.front() == Some(&page) => {
                pages.pop_front();
            }
            Order::Arrival(pages) => pages.retain(|&other| other != page),
            Order::Blocks(blocks) => blocks.leaves(page),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaving(buffer: &mut WriteBuffer) -> Vec<u32> {
        let mut blocks = Vec::new();
        while let Some(Leaving::Block(block)) = buffer.next() {
            blocks.push(block);
            (block * 4..block * 4 + 4).for_each(|page| buffer.remove(page));
        }
        blocks
    }

    #[test]
    fn blocks_leave_by_when_they_were_written_last() {
        let mut buffer = WriteBuffer::new(BufferRule::Bplru, 16, 4);
        for page in [0, 5, 9, 1, 6, 0] {
            buffer.write(page, 8);
        }
        assert_eq!(leaving(&mut buffer), [2, 1, 0]);
        assert!(buffer.next_of_flush().is_none());
    }

    #[test]
    fn a_block_written_in_order_leaves_next() {
        let mut buffer = WriteBuffer::new(BufferRule::Bplru, 16, 4);
        // Block 2 is complete, and so is block 3, but not in order.
        for page in [0, 8, 9, 10, 11, 13, 12, 14, 15, 5] {
            buffer.write(page, 8);
        }
        assert_eq!(leaving(&mut buffer), [2, 0, 3, 1]);
    }

    #[test]
    fn what_is_trimmed_waits_no_more() {
        for rule in [BufferRule::Arrival, BufferRule::Bplru] {
            let mut buffer = WriteBuffer::new(rule, 2, 4);
            buffer.write(3, 8);
            buffer.write(4, 8);
            assert!(buffer.is_full());
            buffer.remove(4);
            buffer.remove(3);
            buffer.remove(3);
            assert!(buffer.next().is_none() && !buffer.is_full());
        }
    }
}
