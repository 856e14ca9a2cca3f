//! By which rules windows of pages are read, which change with the kernel.

/// How compressed files are read, by the first kernel that does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Pages beside a window are left alone.
    V5_10,
    /// Those before it are filled, too (`z_erofs_pcluster_readmore`, since 5.16).
    V6_1,
    /// As 6.1, and the clusters are kept of which it is not known where their extents end, in place of the last one of a window
    /// (`z_erofs_should_alloc_cache`).
    V6_6,
}
