//! Making a volume.
//!
//! Follows `msdos_format.c`: it writes to the device node, sector by sector, and does not synchronise.

use super::boot::{FatType, FAT12_CLUSTERS_MAX, FAT16_CLUSTERS_MAX};
use crate::bdbuf::{Bdbuf, DiskId};
use crate::raw;
use crate::Quirks;
use ffslab_fs::Errno;

/// `msdos_format_request_param_t`; 0 leaves the choice to the formatter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatOptions {
    pub sectors_per_cluster_count: u32,
    pub fats_count: u32,
    pub root_entries: u32,
    /// Areas need not start at multiples of the cluster.
    pub skip_alignment: bool,
    /// Fills the whole device first.
    pub full: bool,
    /// Synchronises at the end.
    pub sync: bool,
    /// Eleven characters at most.
    pub label: Option<String>,
    pub volume_id: u32,
    /// In 2018 a volume without a label gets blanks instead of "NO NAME", which fsck.fat reports, the first FAT entries end
    /// in 8 instead of f, which mtools reports, and a volume of few clusters above 4 KiB is made as FAT16, which all who
    /// count clusters read as FAT12: its second cluster is lost.
    pub quirks: Quirks,
}

const ENTRY_BYTES: u32 = 32;
const CLUSTER_BYTES_MAX: u32 = 0x1_0000;
const FAT12_CLUSTER_BYTES_MAX: u32 = 0x1000;
const MEDIA_FIXED: u8 = 0xf8;

#[derive(Clone, Copy, Debug)]
struct Choice {
    sector_bytes: u32,
    sectors: u32,
    reserved: u32,
    per_cluster: u32,
    fat_sectors: u32,
    fats: u32,
    root_entries: u32,
    root_sectors: u32,
    fat_type: FatType,
    skip_alignment: bool,
}

impl Choice {
    fn align(&self, sectors: u32) -> u32 {
        if self.skip_alignment {
            sectors
        } else {
            sectors.next_multiple_of(self.per_cluster)
        }
    }

    /// `msdos_set_default_sectors_per_cluster_for_fattype`.
    fn default_cluster(&mut self) {
        self.per_cluster = match self.fat_type {
            FatType::Fat12 | FatType::Fat16 => 2,
            FatType::Fat32 => {
                let gibs = ((u64::from(self.sector_bytes) * u64::from(self.sectors)) + (1 << 30)) >> 30;
                1 << gibs.ilog2()
            }
        };
    }

    /// `msdos_set_sectors_per_cluster_from_request`: down to a power of two that fits.
    fn request_cluster(&mut self, requested: u32) -> Result<(), Errno> {
        if requested > 0 {
            self.per_cluster = requested;
        }
        let mut fits = false;
        for power in (0..=7).rev().map(|bit| 1 << bit) {
            if self.per_cluster >= power {
                self.per_cluster = power;
                if power <= CLUSTER_BYTES_MAX / self.sector_bytes {
                    fits = true;
                    break;
                }
            }
        }
        if fits {
            Ok(())
        } else {
            Err(Errno::Inval)
        }
    }

    /// Root directory and reserved area for the FAT type.
    fn choose_areas(&mut self, root_entries: u32) {
        (self.reserved, self.root_entries) = match self.fat_type {
            FatType::Fat32 => (32, 0),
            FatType::Fat16 => (1, if root_entries > 0 { root_entries } else { 512 }),
            FatType::Fat12 => (1, if root_entries > 0 { root_entries } else { 64 }),
        };
        if self.fat_type != FatType::Fat32 {
            // The root directory takes an even number of sectors.
            self.root_entries = self.root_entries.next_multiple_of(2 * self.sector_bytes / ENTRY_BYTES);
        }
        self.root_sectors = (self.root_entries * ENTRY_BYTES).div_ceil(self.sector_bytes);
    }

    /// `msdos_format_eval_sectors_per_cluster`: doubles the cluster size until the FAT type can number all clusters.
    /// Returns how many there are.
    fn fit_cluster(&mut self) -> u32 {
        while CLUSTER_BYTES_MAX / self.sector_bytes < self.per_cluster {
            self.per_cluster /= 2;
        }
        loop {
            let mut left = self.sectors.saturating_sub(self.align(self.reserved));
            if self.fat_type != FatType::Fat32 {
                left = left.saturating_sub(self.align(self.root_sectors));
            }
            let clusters = left / self.per_cluster;
            let capacity = match self.fat_type {
                FatType::Fat12 => clusters * 3 / 2,
                FatType::Fat16 => clusters * 2,
                FatType::Fat32 => clusters.saturating_mul(4),
            };
            let all_fats = self.align(capacity.div_ceil(self.sector_bytes) * self.fats);
            let data_clusters = clusters.saturating_sub(all_fats.div_ceil(self.per_cluster));
            self.fat_sectors = all_fats / self.fats;
            let too_many = match self.fat_type {
                FatType::Fat12 => data_clusters > FAT12_CLUSTERS_MAX,
                FatType::Fat16 => data_clusters > FAT16_CLUSTERS_MAX,
                FatType::Fat32 => false,
            };
            if too_many {
                self.per_cluster *= 2;
            }
            let limit = match self.fat_type {
                FatType::Fat12 => FAT12_CLUSTER_BYTES_MAX,
                _ => CLUSTER_BYTES_MAX,
            };
            if !too_many || self.per_cluster * self.sector_bytes > limit {
                return data_clusters;
            }
        }
    }

    /// `msdos_get_fat_type`.
    fn type_for(&self, clusters: u32) -> FatType {
        let limit = |bytes: u32| (bytes + 1) / self.sector_bytes;
        if clusters < FAT12_CLUSTERS_MAX && self.per_cluster <= limit(FAT12_CLUSTER_BYTES_MAX) {
            FatType::Fat12
        } else if clusters < FAT16_CLUSTERS_MAX && self.per_cluster <= limit(0x8000) {
            FatType::Fat16
        } else {
            FatType::Fat32
        }
    }

    fn root_start(&self) -> u32 {
        self.reserved + self.fats * self.fat_sectors
    }

    /// Clusters for data, by which readers tell the type (`fat_init_volume_info` of `fat.c`).
    fn data_clusters(&self) -> u32 {
        self.sectors.saturating_sub(self.root_start() + self.root_sectors) / self.per_cluster
    }
}

/// `msdos_format_determine_fmt_params`.
fn choose(options: &FormatOptions, sector_bytes: u32, sectors: u32) -> Result<Choice, Errno> {
    let requested = options.sectors_per_cluster_count;
    let fats = if options.fats_count == 0 { 2 } else { options.fats_count };
    let good = fats <= 6 && matches!(sector_bytes, 512 | 1024 | 2048 | 4096);
    if !good {
        return Err(Errno::Inval);
    }
    let or = |default: u32| if requested > 0 { requested } else { default };
    let fat_type = if sectors < FAT12_CLUSTERS_MAX.saturating_mul(or(8)) {
        FatType::Fat12
    } else if sectors < FAT16_CLUSTERS_MAX.saturating_mul(or(32)) {
        FatType::Fat16
    } else {
        FatType::Fat32
    };
    let mut choice = Choice {
        sector_bytes,
        sectors,
        reserved: 1,
        per_cluster: 1,
        fat_sectors: 0,
        fats,
        root_entries: 0,
        root_sectors: 0,
        fat_type,
        skip_alignment: options.skip_alignment,
    };
    choice.default_cluster();
    choice.request_cluster(requested)?;
    // The type follows from the clusters, and the clusters from the type, until both agree.
    for round in 0u32.. {
        if choice.sectors == 0 {
            return Err(Errno::Inval);
        }
        choice.choose_areas(options.root_entries);
        let clusters = choice.fit_cluster();
        let before = choice.fat_type;
        choice.fat_type = choice.type_for(clusters);
        if choice.fat_type == before {
            break;
        }
        choice.default_cluster();
        choice.request_cluster(requested)?;
        if round > 1 {
            choice.sectors -= 1;
        }
    }
    if choice.fat_type != FatType::Fat32 {
        choice.root_entries = choice.align(choice.root_sectors) * (sector_bytes / ENTRY_BYTES);
    }
    choice.reserved = choice.align(choice.reserved);
    if options.quirks == Quirks::Fixed && choice.data_clusters() < FAT12_CLUSTERS_MAX {
        choice.fat_type = FatType::Fat12;
    }
    // A volume without room for a single cluster is refused.
    let areas = u64::from(choice.root_start()) + u64::from(choice.root_sectors) + u64::from(choice.per_cluster);
    if areas <= u64::from(choice.sectors) {
        Ok(choice)
    } else {
        Err(Errno::Inval)
    }
}

/// Writes the first sector, `msdos_format_gen_mbr`. The bytes of a partition table are kept.
fn boot_sector(sector: &mut [u8], choice: &Choice, options: &FormatOptions) {
    let partitions: Vec<u8> = sector[446..510].to_vec();
    sector[..512].fill(0);
    sector[446..510].copy_from_slice(&partitions);
    let no_label = if options.quirks == Quirks::Fixed { "NO NAME" } else { "" };
    let label = label_bytes(options.label.as_deref().unwrap_or(no_label));
    let short_count = choice.sectors < 0x1_0000;
    let mut put = |at: usize, bytes: &[u8]| sector[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &[0xeb, 0x3c, 0x90]);
    put(3, b"RTEMS   ");
    put(11, &(choice.sector_bytes as u16).to_le_bytes());
    put(13, &[choice.per_cluster as u8]);
    put(14, &(choice.reserved as u16).to_le_bytes());
    // The original always writes that there are 2 FATs.
    put(16, &[2]);
    put(17, &(choice.root_entries as u16).to_le_bytes());
    put(21, &[MEDIA_FIXED]);
    put(24, &255u16.to_le_bytes());
    put(26, &6u16.to_le_bytes());
    put(28, &1u32.to_le_bytes());
    if short_count {
        put(19, &(choice.sectors as u16).to_le_bytes())
    } else {
        put(32, &choice.sectors.to_le_bytes())
    }
    if choice.fat_type == FatType::Fat32 {
        put(36, &choice.fat_sectors.to_le_bytes());
        put(44, &2u32.to_le_bytes());
        put(48, &1u16.to_le_bytes());
        put(50, &6u16.to_le_bytes());
        put(66, &[0x29]);
        if options.quirks == Quirks::Fixed {
            put(71, &label);
        }
        put(82, b"FAT32   ");
    } else {
        put(22, &(choice.fat_sectors as u16).to_le_bytes());
        put(38, &[0x29]);
        put(39, &options.volume_id.to_le_bytes());
        put(43, &label);
        put(54, if choice.fat_type == FatType::Fat12 { b"FAT12   " } else { b"FAT16   " });
    }
    put(510, &[0x55, 0xaa]);
}

fn label_bytes(label: &str) -> [u8; 11] {
    let mut bytes = [b' '; 11];
    for (to, from) in bytes.iter_mut().zip(label.bytes()) {
        *to = if from.is_ascii_graphic() || from == b' ' { from } else { b' ' };
    }
    bytes
}

/// Where the formatter writes: the device node.
struct Writer<'a> {
    cache: &'a mut Bdbuf,
    disk: DiskId,
    sector_bytes: u32,
}

impl Writer<'_> {
    fn write(&mut self, sector: u32, data: &[u8]) -> Result<(), Errno> {
        raw::write(self.cache, self.disk, u64::from(sector) * u64::from(self.sector_bytes), data)
    }

    fn fill(&mut self, sector: u32, count: u32, byte: u8) -> Result<(), Errno> {
        let data = vec![byte; self.sector_bytes as usize];
        (sector..sector + count).try_for_each(|sector| self.write(sector, &data))
    }
}

/// Makes an empty volume. EINVAL for sizes that do not work.
pub fn format(cache: &mut Bdbuf, disk: DiskId, options: &FormatOptions) -> Result<(), Errno> {
    let geometry = cache.geometry(disk);
    let choice = choose(options, geometry.media_block_bytes, geometry.media_blocks)?;
    let sector_bytes = choice.sector_bytes;
    let mut writer = Writer { cache, disk, sector_bytes };
    if options.full {
        writer.fill(0, choice.sectors, 0xe5)?;
    }
    let mut sector = vec![0; sector_bytes as usize];
    raw::read(writer.cache, disk, 0, &mut sector)?;
    boot_sector(&mut sector, &choice, options);
    writer.write(0, &sector)?;
    let is_fat32 = choice.fat_type == FatType::Fat32;
    if is_fat32 {
        writer.write(6, &sector)?;
        let mut info = vec![0; sector_bytes as usize];
        info[0..4].copy_from_slice(b"RRaA");
        info[484..488].copy_from_slice(b"rrAa");
        info[488..496].fill(0xff);
        info[508..512].copy_from_slice(&[0, 0, 0x55, 0xaa]);
        writer.write(1, &info)?;
    }
    writer.fill(choice.reserved, choice.fats * choice.fat_sectors, 0)?;
    let root_sectors = if choice.root_sectors > 0 { choice.root_sectors } else { choice.per_cluster };
    writer.fill(choice.root_start(), root_sectors, 0)?;
    if let Some(label) = &options.label {
        let mut entry = vec![0; sector_bytes as usize];
        entry[..11].copy_from_slice(&label_bytes(label));
        entry[11] = 0x08;
        writer.write(choice.root_start(), &entry)?;
    }
    let mut fat = vec![0; sector_bytes as usize];
    // The last three bits of an end-of-chain mark have no meaning.
    let low_bits: u32 = if options.quirks == Quirks::Fixed { 7 } else { 0 };
    let low = low_bits as u8;
    match choice.fat_type {
        FatType::Fat12 => fat[..3].copy_from_slice(&[MEDIA_FIXED, 0x8f | low << 4, 0xff]),
        FatType::Fat16 => fat[..4].copy_from_slice(&[MEDIA_FIXED, 0xff, 0xf8 | low, 0xff]),
        FatType::Fat32 => {
            fat[0..4].copy_from_slice(&(0xffff_ff00 | u32::from(MEDIA_FIXED)).to_le_bytes());
            fat[4..8].copy_from_slice(&(0xcfff_fff8 | low_bits).to_le_bytes());
            fat[8..12].copy_from_slice(&(0x0fff_fff8 | low_bits).to_le_bytes());
        }
    }
    for number in 0..choice.fats {
        writer.write(choice.reserved + number * choice.fat_sectors, &fat)?;
    }
    if options.sync {
        cache.syncdev(disk)?;
    }
    Ok(())
}
