//! The contents of the boot sector.

use ffslab_fs::Errno;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatType {
    Fat12,
    Fat16,
    Fat32,
}

/// Clusters from which on a volume is FAT16.
pub(super) const FAT12_CLUSTERS_MAX: u32 = 4085;
/// Clusters from which on a volume is FAT32.
pub(super) const FAT16_CLUSTERS_MAX: u32 = 65525;
pub(super) fn le16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

pub(super) fn le32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// Sizes and places of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootSector {
    pub sector_bytes: u32,
    pub sectors_per_cluster_count: u32,
    pub reserved_sectors_count: u32,
    pub fats_count: u32,
    pub root_entries: u32,
    pub sectors_count: u32,
    pub fat_sectors_count: u32,
    pub fat_type: FatType,
    /// FAT32: the root directory.
    pub root_cluster_number: u32,
    /// FAT32: where the free count is.
    pub info_sector_number: u32,
    pub(super) ext_flags: u32,
}

impl BootSector {
    /// Reads and checks a boot sector. EINVAL: it is not that of a FAT volume, or the volume does not fit the device.
    pub fn read(bytes: &[u8], device_bytes: u64) -> Result<BootSector, Errno> {
        let or = |first: u32, second: u32| if first != 0 { first } else { second };
        let mut boot = BootSector {
            sector_bytes: u32::from(le16(bytes, 11)),
            sectors_per_cluster_count: u32::from(bytes.get(13).copied().unwrap_or(0)),
            reserved_sectors_count: u32::from(le16(bytes, 14)),
            fats_count: u32::from(bytes.get(16).copied().unwrap_or(0)),
            root_entries: u32::from(le16(bytes, 17)),
            sectors_count: or(u32::from(le16(bytes, 19)), le32(bytes, 32)),
            fat_sectors_count: or(u32::from(le16(bytes, 22)), le32(bytes, 36)),
            fat_type: FatType::Fat12,
            root_cluster_number: 0,
            info_sector_number: 0,
            ext_flags: 0,
        };
        if !matches!(boot.sector_bytes, 512 | 1024 | 2048 | 4096) || !boot.sectors_per_cluster_count.is_power_of_two() {
            return Err(Errno::Inval);
        }
        // The original does not check the other fields. These checks refuse volumes whose areas overlap or leave the
        // device.
        let first_data = u64::from(boot.reserved_sectors_count)
            + u64::from(boot.fats_count) * u64::from(boot.fat_sectors_count)
            + u64::from(boot.root_sectors());
        let fits = u64::from(boot.sectors_count) * u64::from(boot.sector_bytes) <= device_bytes;
        if boot.fats_count == 0
            || boot.reserved_sectors_count == 0
            || first_data >= u64::from(boot.sectors_count)
            || !fits
        {
            return Err(Errno::Inval);
        }
        let clusters = boot.clusters();
        if clusters >= FAT16_CLUSTERS_MAX {
            boot.fat_type = FatType::Fat32;
            boot.root_cluster_number = le32(bytes, 44);
            boot.info_sector_number = u32::from(le16(bytes, 48));
            boot.ext_flags = u32::from(le16(bytes, 40));
            if boot.info_sector_number == 0 || boot.root_cluster_number < 2 {
                return Err(Errno::Inval);
            }
        } else if clusters >= FAT12_CLUSTERS_MAX {
            boot.fat_type = FatType::Fat16;
        }
        let fat_bytes = u64::from(boot.fat_sectors_count) * u64::from(boot.sector_bytes);
        if clusters == 0 || u64::from(boot.fat_offset(clusters + 1)) + 2 > fat_bytes {
            return Err(Errno::Inval);
        }
        Ok(boot)
    }

    pub fn root_sectors(&self) -> u32 {
        (self.root_entries * 32).div_ceil(self.sector_bytes)
    }

    pub fn root_start(&self) -> u32 {
        self.reserved_sectors_count + self.fats_count * self.fat_sectors_count
    }

    pub fn data_start(&self) -> u32 {
        self.root_start() + self.root_sectors()
    }

    pub fn clusters(&self) -> u32 {
        (self.sectors_count - self.data_start()) / self.sectors_per_cluster_count
    }

    pub fn cluster_bytes(&self) -> u32 {
        self.sector_bytes * self.sectors_per_cluster_count
    }

    /// Where a cluster's entry starts in the FAT.
    pub fn fat_offset(&self, cluster: u32) -> u32 {
        match self.fat_type {
            FatType::Fat12 => cluster + (cluster >> 1),
            FatType::Fat16 => cluster << 1,
            FatType::Fat32 => cluster << 2,
        }
    }
}
