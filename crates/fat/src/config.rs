//! What a FAT volume is made and mounted with.

/// Width of an entry of the allocation table, which follows from the number of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatType {
    Fat12,
    Fat16,
    Fat32,
}

impl FatType {
    pub(crate) fn of(of: fatfs::FatType) -> FatType {
        match of {
            fatfs::FatType::Fat12 => FatType::Fat12,
            fatfs::FatType::Fat16 => FatType::Fat16,
            fatfs::FatType::Fat32 => FatType::Fat32,
        }
    }

    pub(crate) fn asked_for(self) -> fatfs::FatType {
        match self {
            FatType::Fat12 => fatfs::FatType::Fat12,
            FatType::Fat16 => fatfs::FatType::Fat16,
            FatType::Fat32 => fatfs::FatType::Fat32,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            FatType::Fat12 => "FAT12",
            FatType::Fat16 => "FAT16",
            FatType::Fat32 => "FAT32",
        }
    }
}

/// Settings. Who gives them has checked that FAT has such values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// `None`: the crate chooses by the size of the volume.
    pub cluster_bytes: Option<u32>,
    /// `None`: what the number of clusters makes it.
    pub fat_type: Option<FatType>,
    /// Copies of the allocation table, 1 or 2.
    pub tables_count: u8,
    /// Entries of the root directory of FAT12 and FAT16.
    pub root_entries_count: u16,
    /// Sectors that stay in memory, at least one.
    pub cache_sectors_count: usize,
    /// The time of day at virtual time 0, in seconds since 1970; `None`: there is no clock, and entries have no date.
    pub epoch_s: Option<u64>,
    /// A read changes the date of the last access.
    pub update_accessed_date: bool,
}

impl Default for Config {
    /// As the crate has it, with room for both copies of the table, a directory and a file's end.
    fn default() -> Config {
        Config {
            cluster_bytes: None,
            fat_type: None,
            tables_count: 2,
            root_entries_count: 512,
            cache_sectors_count: 4,
            epoch_s: None,
            update_accessed_date: false,
        }
    }
}
