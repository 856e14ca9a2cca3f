//! Files in memory blocks, reached through tables of pointers.
//!
//! Follows `imfs_memfile.c`. A file has three pointers: to a table of blocks, to a table of tables, and to one level more.
//! Tables and blocks have the same size and come from `calloc` one by one. Blocks are allocated from the first on without
//! gaps, so their number says which tables there are.

use ffslab_fs::Errno;

/// Sizes of memory blocks (`CONFIGURE_IMFS_MEMFILE_BYTES_PER_BLOCK`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSize {
    block_bytes: u32,
    pointer_bytes: u32,
}

/// Bytes that the allocator adds to each block, and to which it rounds (RTEMS heap on a 32-bit CPU).
const HEAP_HEADER_BYTES: u64 = 8;
const HEAP_ALIGNMENT_BYTES: u64 = 8;

impl BlockSize {
    /// One of 16, 32, 64, 128, 256, 512. EINVAL otherwise.
    pub fn new(block_bytes: u32) -> Result<BlockSize, Errno> {
        match block_bytes {
            16 | 32 | 64 | 128 | 256 | 512 => Ok(BlockSize { block_bytes, pointer_bytes: 4 }),
            _ => Err(Errno::Inval),
        }
    }

    /// The same block size on a CPU with 64-bit pointers, where a table holds half as many pointers.
    pub fn with_64_bit_pointers(self) -> BlockSize {
        BlockSize { pointer_bytes: 8, ..self }
    }

    pub fn bytes(self) -> u32 {
        self.block_bytes
    }

    /// Pointers in a table.
    pub fn slots(self) -> u64 {
        u64::from(self.block_bytes / self.pointer_bytes)
    }

    /// The size that a file cannot reach (2018; later versions allow one block more).
    pub fn size_limit_bytes(self) -> u64 {
        let s = self.slots();
        (s + s * s + s * s * s - 1) * u64::from(self.block_bytes)
    }

    /// Tables that a file of so many blocks has.
    pub fn tables(self, blocks: u64) -> u64 {
        let s = self.slots();
        let singly = u64::from(blocks > 0);
        let in_doubly = blocks.saturating_sub(s).min(s * s);
        let doubly = if in_doubly > 0 { 1 + in_doubly.div_ceil(s) } else { 0 };
        let in_triply = blocks.saturating_sub(s + s * s);
        let triply = if in_triply > 0 { 1 + in_triply.div_ceil(s * s) + in_triply.div_ceil(s) } else { 0 };
        singly + doubly + triply
    }

    /// How many tables lead to a block.
    pub fn hops(self, block: u64) -> u64 {
        let s = self.slots();
        match block {
            _ if block < s => 1,
            _ if block < s + s * s => 2,
            _ => 3,
        }
    }

    /// Memory of one block or table, with what the allocator needs for it.
    pub fn heap_bytes(self) -> u64 {
        (u64::from(self.block_bytes) + HEAP_HEADER_BYTES).next_multiple_of(HEAP_ALIGNMENT_BYTES)
    }
}

impl Default for BlockSize {
    fn default() -> Self {
        Self { block_bytes: 128, pointer_bytes: 4 }
    }
}

/// Memory of all files, and what has been done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// Allocated now: data and tables.
    pub blocks: u64,
    /// Pointers followed through tables.
    pub hops_count: u64,
    /// Copies of at most a block.
    pub copies: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Memfile {
    pub size: u64,
    /// All blocks, one after the other.
    data: Vec<u8>,
}

impl Memfile {
    pub fn allocated_blocks(&self, size: BlockSize) -> u64 {
        let data = self.data.len() as u64 / u64::from(size.block_bytes);
        data + size.tables(data)
    }

    /// `IMFS_memfile_extend`: allocates all blocks up to the one of the new end, even if that one will hold no byte.
    pub fn extend(
        &mut self,
        size: BlockSize,
        counts: &mut MemoryCounts,
        blocks_max: Option<u64>,
        zero: bool,
        bytes: u64,
    ) -> Result<(), Errno> {
        if bytes >= size.size_limit_bytes() {
            return Err(Errno::FBig);
        }
        if bytes <= self.size {
            return Ok(());
        }
        let block_bytes = u64::from(size.block_bytes);
        let (first, last) = (self.size / block_bytes, bytes / block_bytes);
        let before = self.allocated_blocks(size);
        let blocks = (self.data.len() as u64 / block_bytes).max(last + 1);
        let after = blocks + size.tables(blocks);
        if blocks_max.is_some_and(|max| counts.blocks + (after - before) > max) {
            // When memory runs out the original frees the new blocks and, by mistake, the last old block as well; with
            // an empty file its loop never ends. Here nothing changes.
            return Err(Errno::NoSpc);
        }
        self.data.resize((blocks * block_bytes) as usize, 0);
        counts.blocks += after - before;
        counts.hops_count += (first..=last).map(|block| size.hops(block)).sum::<u64>();
        if zero {
            self.data[self.size as usize..].fill(0);
        }
        self.size = bytes;
        Ok(())
    }

    pub fn read(&self, size: BlockSize, counts: &mut MemoryCounts, offset: u64, into: &mut [u8]) -> usize {
        let count = into.len().min(self.size.saturating_sub(offset) as usize);
        if count > 0 {
            let start = offset as usize;
            into[..count].copy_from_slice(&self.data[start..start + count]);
            touch(size, counts, offset, count);
        }
        count
    }

    pub fn write(
        &mut self,
        size: BlockSize,
        counts: &mut MemoryCounts,
        blocks_max: Option<u64>,
        offset: u64,
        data: &[u8],
    ) -> Result<usize, Errno> {
        let end = offset.checked_add(data.len() as u64).ok_or(Errno::FBig)?;
        if end > self.size {
            self.extend(size, counts, blocks_max, offset > self.size, end)?;
        }
        self.data[offset as usize..end as usize].copy_from_slice(data);
        touch(size, counts, offset, data.len());
        Ok(data.len())
    }

    /// `IMFS_memfile_destroy`.
    pub fn free(&mut self, size: BlockSize, counts: &mut MemoryCounts) {
        counts.blocks -= self.allocated_blocks(size);
        *self = Memfile::default();
    }
}

/// Counts one walk through the tables and one copy for each block that is touched.
fn touch(size: BlockSize, counts: &mut MemoryCounts, offset: u64, bytes: usize) {
    let block_bytes = u64::from(size.block_bytes);
    let (first, last) = (offset / block_bytes, (offset + bytes as u64 - 1) / block_bytes);
    counts.copies += last - first + 1;
    counts.hops_count += (first..=last).map(|block| size.hops(block)).sum::<u64>();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits of the measured version.
    #[test]
    fn largest_files() {
        let limits = [(16, 1_328), (32, 18_656), (64, 279_488), (128, 4_329_344), (256, 68_173_568)];
        for (bytes, limit) in limits {
            assert_eq!(BlockSize::new(bytes).unwrap().size_limit_bytes(), limit);
        }
        assert_eq!(BlockSize::new(512).unwrap().size_limit_bytes(), 1_082_195_456);
        assert_eq!(BlockSize::new(48), Err(Errno::Inval));
    }

    #[test]
    fn a_file_that_ends_on_a_block_has_a_spare_one() {
        let size = BlockSize::new(128).unwrap();
        let mut counts = MemoryCounts::default();
        let mut file = Memfile::default();
        file.write(size, &mut counts, None, 0, &[1; 128]).unwrap();
        assert_eq!(counts.blocks, 3, "one block, one spare, one table");
        file.free(size, &mut counts);
        assert_eq!(counts.blocks, 0);
    }

    #[test]
    fn memory_that_runs_out_leaves_the_file_as_it_was() {
        let size = BlockSize::new(16).unwrap();
        let mut counts = MemoryCounts::default();
        let mut file = Memfile::default();
        file.write(size, &mut counts, Some(4), 0, b"0123456789").unwrap();
        assert_eq!(file.write(size, &mut counts, Some(4), 10, &[7; 100]), Err(Errno::NoSpc));
        let mut content = [0; 32];
        assert_eq!(file.read(size, &mut counts, 0, &mut content), 10);
        assert_eq!(&content[..10], b"0123456789");
        assert_eq!(counts.blocks, 2);
    }
}
