//! By which rules windows of pages are read, which change with the kernel.

/// How a window of read-ahead is read, by the first kernel that does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Page by page (`squashfs_readpage`), as all pages of the window have their place already. For whom pages of its block are there or
    /// locked, the block goes through a cache of its own (`squashfs_read_cache`), of which other pages take theirs.
    V5_8,
    /// Block by block (`squashfs_readahead`), and how long a block is was reckoned once, where the window begins.
    V6_0,
    /// As 6.0, and the length is that of each block.
    V6_12,
}
