//! What tables have in common.

/// Sectors of MBR and of most GPTs.
pub const SECTOR_BYTES: usize = 512;

/// A partition as its table has it.
pub struct Entry {
    pub name: String,
    pub offset_bytes: u64,
    pub size_bytes: u64,
}

/// What a look for a table found: how people call it, its partitions, and what is wrong with it.
pub struct Look {
    pub table: &'static str,
    pub entries: Vec<Entry>,
    pub doubts: Vec<String>,
}
