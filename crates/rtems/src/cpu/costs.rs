//! The CPU's constants. The crate `profiles` reads them from `profiles/boards`, where each number stands with its source and status.

/// What code costs on a board. Times are picoseconds, so that cycles of any clock add up exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuCosts {
    pub title: String,
    pub line_bytes: u64,
    pub l1_kib: u64,
    pub l1_ways_count: u64,
    pub l2_kib: u64,
    pub l2_ways_count: u64,
    /// Moving a byte between registers and the nearest cache, both ways.
    pub copy_ps_per_byte: u64,
    /// Additional time for a line that is loaded from L2.
    pub l2_read_ps: u64,
    /// Additional time for a line that is loaded from memory.
    pub memory_read_ps: u64,
    /// Additional time for storing to a line that is in no cache.
    pub memory_write_ps: u64,
    /// A system call on a descriptor, from the program to the file system's handler and back.
    pub call_ps: u64,
    /// For each vector of `readv` and `writev`.
    pub vector_ps: u64,
    /// For each component of a path.
    pub path_component_ps: u64,
    /// The measuring program asks for the time.
    pub clock_read_ps: u64,
    /// What the program fio computes for a request, in addition to its calls and reading the clock.
    pub fio_request_ps: u64,
    /// Obtaining and releasing a mutex that is free.
    pub lock_ps: u64,
    /// From one task to another.
    pub context_switch_ps: u64,
    /// A call into the block cache, without its lock and look-up.
    pub bdbuf_call_ps: u64,
    /// Per level of the block cache's tree.
    pub tree_level_ps: u64,
    pub rfs_block_ps: u64,
    pub dosfs_sector_ps: u64,
    pub imfs_block_ps: u64,
    pub imfs_table_ps: u64,
    /// `calloc` of a memory file's block, without clearing it.
    pub allocate_ps: u64,
    pub jffs2_node_ps: u64,
    pub yaffs2_chunk_ps: u64,
    pub crc_ps_per_byte: u64,
    pub deflate_ps_per_byte: u64,
    pub inflate_ps_per_byte: u64,
    pub rtime_ps_per_byte: u64,
}

/// Caches of the sizes of a Cortex-A8 and prices of their order, for tests of how costs add up.
#[cfg(test)]
impl CpuCosts {
    pub(super) fn of_tests() -> CpuCosts {
        CpuCosts {
            line_bytes: 64,
            l1_kib: 32,
            l1_ways_count: 4,
            l2_kib: 256,
            l2_ways_count: 8,
            copy_ps_per_byte: 250,
            l2_read_ps: 11_000,
            memory_read_ps: 267_000,
            memory_write_ps: 67_000,
            call_ps: 150_000,
            bdbuf_call_ps: 100_000,
            tree_level_ps: 10_000,
            ..CpuCosts::default()
        }
    }
}
