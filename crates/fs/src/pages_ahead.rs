//! A window of read-ahead in the hands of a file system that reads larger units than pages.

use std::ops::Range;

/// Pages of a file that have a place in the page cache and are not read yet (`struct readahead_control`).
pub trait PagesAhead {
    /// Those that are left, one behind the other.
    fn pages(&self) -> Range<u64>;

    /// The window grows to `wanted`, to both sides as far as no page is there already (`readahead_expand`).
    fn expand(&mut self, wanted: Range<u64>);

    /// The next pages, at most so many. Those that are not filled then stay unread in the cache, and whoever asks for one of them has it
    /// read for itself.
    fn take(&mut self, most: u64) -> Range<u64>;

    /// A page beside those of the window gets a place, if it has none (`grab_cache_page_nowait`), and may be filled. `false`: it is read.
    fn grab(&mut self, index: u64) -> bool;

    /// A page that was taken or grabbed gets its content.
    fn fill(&mut self, index: u64, content: &mut dyn FnMut(&mut [u8]));

    /// Whether the program asks for one of these pages; otherwise they are read in advance.
    fn is_asked_for(&self, pages: &Range<u64>) -> bool;
}
