//! The fastmap as it stands on the flash: superblock, header, two pools, erase counters by state, and the map of each volume.
//!
//! From Linux 6.1 `drivers/mtd/ubi/ubi-media.h` (`struct ubi_fm_sb` and what follows it) and `fastmap.c` (`ubi_write_fastmap`, and
//! `ubi_attach_fastmap` for what is looked at when it is read). All numbers are big-endian.

use crate::media::{crc, LAYOUT_VOLUME, VOLUMES_MAX};
use crate::VolumeKind;

/// The internal volume of the block with the superblock, which is searched for: the anchor.
pub const ANCHOR_VOLUME: u32 = LAYOUT_VOLUME + 1;
/// The internal volume of the further blocks.
pub const DATA_VOLUME: u32 = LAYOUT_VOLUME + 2;
/// The anchor stands in one of so many first blocks (`UBI_FM_MAX_START`).
pub const ANCHORS_WITHIN_PEBS: u32 = 64;
/// `UBI_FM_MAX_BLOCKS`
pub const BLOCKS_MAX: u32 = 32;
/// `UBI_FM_MAX_POOL_SIZE`
pub const POOL_PEBS_MAX: u32 = 256;
/// `UBI_FM_MIN_POOL_SIZE`
pub const POOL_PEBS_MIN: u32 = 8;

pub const SUPERBLOCK_BYTES: usize = 312;
const HEADER_BYTES: usize = 32;
const POOL_BYTES: usize = 8 + 4 * POOL_PEBS_MAX as usize + 16;
const COUNTED_BYTES: usize = 8;
const VOLUME_BYTES: usize = 32;
const MAP_HEAD_BYTES: usize = 8;

const SUPERBLOCK_MAGIC: u32 = 0x7B11_D69F;
const HEADER_MAGIC: u32 = 0xD4B8_2EF7;
const VOLUME_MAGIC: u32 = 0xFA37_0ED1;
const POOL_MAGIC: u32 = 0x67AF_4D08;
const MAP_MAGIC: u32 = 0xF0C0_40A8;
const VERSION: u8 = 1;
const CRC_AT: usize = 8;

/// Whether blocks of this volume hold a fastmap (`ubi_is_fm_vol`).
pub fn is_fastmap_volume(id: u32) -> bool {
    matches!(id, ANCHOR_VOLUME | DATA_VOLUME)
}

/// So many erase blocks a fastmap takes (`ubi_calc_fm_size`).
pub fn blocks_needed(pebs: u32, leb_bytes: u32) -> u32 {
    let of_each_peb = COUNTED_BYTES + 4;
    let of_volumes = (MAP_HEAD_BYTES + VOLUME_BYTES) * (VOLUMES_MAX as usize + 1);
    let bytes = SUPERBLOCK_BYTES + HEADER_BYTES + 2 * POOL_BYTES + pebs as usize * of_each_peb + of_volumes;
    bytes.div_ceil(leb_bytes as usize) as u32
}

/// How many free blocks stand ready for data, so that an attach looks only at them (`ubi_attach_mtd_dev` of `build.c`).
pub fn pool_pebs(pebs: u32) -> u32 {
    (pebs / 100 * 5).clamp(POOL_PEBS_MIN, POOL_PEBS_MAX)
}

/// A block and its erase counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub peb_number: u32,
    pub erases: u32,
}

/// The superblock, at the start of the anchor's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The blocks of the fastmap, the anchor first.
    pub blocks: Vec<Counted>,
    data_crc: u32,
}

impl Superblock {
    pub fn decode(bytes: &[u8]) -> Result<Superblock, &'static str> {
        if bytes.len() < SUPERBLOCK_BYTES || u32_at(bytes, 0) != SUPERBLOCK_MAGIC {
            return Err("its superblock is missing");
        }
        if bytes[4] != VERSION {
            return Err("its superblock has another version");
        }
        let count = u32_at(bytes, 12);
        if !(1..=BLOCKS_MAX).contains(&count) {
            return Err("its superblock has an impossible number of blocks");
        }
        let places = (0..count as usize).map(|i| {
            let erases_at = 16 + 4 * BLOCKS_MAX as usize;
            Counted { peb_number: u32_at(bytes, 16 + 4 * i), erases: u32_at(bytes, erases_at + 4 * i) }
        });
        Ok(Superblock { blocks: places.collect(), data_crc: u32_at(bytes, CRC_AT) })
    }

    /// Whether the CRC over all data of its blocks is right. The field itself counts as 0.
    pub fn crc_is_right(&self, data: &[u8]) -> bool {
        data.len() >= SUPERBLOCK_BYTES && data_crc(data) == self.data_crc
    }
}

/// The CRC of all data, as if the field that holds it were 0.
fn data_crc(data: &[u8]) -> u32 {
    let mut copy = data.to_vec();
    put_u32(&mut copy, CRC_AT, 0);
    crc(&copy)
}

/// Free blocks from which data are written, and which are looked at when UBI attaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolRecord {
    pub pebs: Vec<u32>,
    pub max_pebs: u32,
}

/// A volume, and which block each of its LEBs has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeMap {
    pub id: u32,
    pub kind: VolumeKind,
    pub pad_bytes: u32,
    pub used_lebs: u32,
    pub last_leb_bytes: u32,
    /// By LEB; [`crate::device::UNMAPPED`] where there is none.
    pub pebs: Vec<u32>,
}

/// What stands behind the superblock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    pub pool: PoolRecord,
    pub wl_pool: PoolRecord,
    pub free: Vec<Counted>,
    pub used: Vec<Counted>,
    pub scrub: Vec<Counted>,
    /// Blocks that wait for their erase.
    pub erase: Vec<Counted>,
    pub bad_pebs: u32,
    pub volumes: Vec<VolumeMap>,
}

impl Content {
    /// The data of a fastmap in `blocks`, which have `leb_bytes` each.
    pub fn encode(&self, blocks: &[Counted], leb_bytes: u32) -> Vec<u8> {
        let mut to = Vec::with_capacity(blocks.len() * leb_bytes as usize);
        push_all(&mut to, &[SUPERBLOCK_MAGIC, u32::from(VERSION) << 24, 0, blocks.len() as u32]);
        let places = |of: fn(&Counted) -> u32| (0..BLOCKS_MAX as usize).map(move |i| blocks.get(i).map_or(0, of));
        for number in places(|block| block.peb_number).chain(places(|block| block.erases)) {
            push_all(&mut to, &[number]);
        }
        to.resize(SUPERBLOCK_BYTES, 0);
        let count = |list: &[Counted]| list.len() as u32;
        let (free, used, scrub, erase) = (count(&self.free), count(&self.used), count(&self.scrub), count(&self.erase));
        push_all(&mut to, &[HEADER_MAGIC, free, used, scrub, self.bad_pebs, erase, self.volumes.len() as u32, 0]);
        for pool in [&self.pool, &self.wl_pool] {
            let end = to.len() + POOL_BYTES;
            push_all(&mut to, &[POOL_MAGIC, (pool.pebs.len() as u32) << 16 | pool.max_pebs]);
            push_all(&mut to, &pool.pebs);
            to.resize(end, 0);
        }
        for counted in self.lists().into_iter().flatten() {
            push_all(&mut to, &[counted.peb_number, counted.erases]);
        }
        for volume in &self.volumes {
            let kind = u32::from(kind_code(volume.kind)) << 24;
            push_all(&mut to, &[VOLUME_MAGIC, volume.id, kind, volume.pad_bytes, volume.used_lebs]);
            push_all(&mut to, &[volume.last_leb_bytes, 0, 0, MAP_MAGIC, volume.pebs.len() as u32]);
            push_all(&mut to, &volume.pebs);
        }
        debug_assert!(to.len() <= blocks.len() * leb_bytes as usize, "the fastmap does not fit in its blocks");
        to.resize(blocks.len() * leb_bytes as usize, 0);
        let crc = data_crc(&to);
        put_u32(&mut to, CRC_AT, crc);
        to
    }

    fn lists(&self) -> [&[Counted]; 4] {
        [&self.free, &self.used, &self.scrub, &self.erase]
    }

    /// Reads what stands behind the superblock. What may be damaged in spite of a right CRC is refused, as the kernel does.
    pub fn decode(data: &[u8]) -> Result<Content, &'static str> {
        let mut from = Reader { data, at: SUPERBLOCK_BYTES };
        let header = from.take(HEADER_BYTES)?;
        if u32_at(header, 0) != HEADER_MAGIC {
            return Err("its header is missing");
        }
        let mut content = Content { bad_pebs: u32_at(header, 16), ..Content::default() };
        content.pool = from.pool()?;
        content.wl_pool = from.pool()?;
        content.free = from.list(u32_at(header, 4))?;
        content.used = from.list(u32_at(header, 8))?;
        content.scrub = from.list(u32_at(header, 12))?;
        content.erase = from.list(u32_at(header, 20))?;
        for _ in 0..u32_at(header, 24) {
            let volume = from.volume()?;
            if content.volumes.iter().any(|known| known.id == volume.id) {
                return Err("it has a volume twice");
            }
            content.volumes.push(volume);
        }
        Ok(content)
    }
}

/// Goes through the data; what ends where they end is refused, too (`fm_pos >= fm_size`).
struct Reader<'d> {
    data: &'d [u8],
    at: usize,
}

impl<'d> Reader<'d> {
    fn take(&mut self, bytes: usize) -> Result<&'d [u8], &'static str> {
        let end = self.at.saturating_add(bytes);
        if end >= self.data.len() {
            return Err("its data end too early");
        }
        let taken = &self.data[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn pool(&mut self) -> Result<PoolRecord, &'static str> {
        let bytes = self.take(POOL_BYTES)?;
        if u32_at(bytes, 0) != POOL_MAGIC {
            return Err("a pool is missing");
        }
        let (count, max) = (u32_at(bytes, 4) >> 16, u32_at(bytes, 4) & 0xFFFF);
        if count > POOL_PEBS_MAX || max > POOL_PEBS_MAX {
            return Err("a pool has an impossible size");
        }
        Ok(PoolRecord { pebs: (0..count as usize).map(|i| u32_at(bytes, 8 + 4 * i)).collect(), max_pebs: max })
    }

    fn list(&mut self, count: u32) -> Result<Vec<Counted>, &'static str> {
        let bytes = self.take(count as usize * COUNTED_BYTES)?;
        let counted = |bytes: &[u8]| Counted { peb_number: u32_at(bytes, 0), erases: u32_at(bytes, 4) };
        Ok(bytes.chunks_exact(COUNTED_BYTES).map(counted).collect())
    }

    fn volume(&mut self) -> Result<VolumeMap, &'static str> {
        let bytes = self.take(VOLUME_BYTES)?;
        if u32_at(bytes, 0) != VOLUME_MAGIC {
            return Err("a volume is missing");
        }
        let kinds = [VolumeKind::Dynamic, VolumeKind::Static];
        let kind = kinds.into_iter().find(|&kind| kind_code(kind) == bytes[8]).ok_or("a volume has an unknown kind")?;
        let head = self.take(MAP_HEAD_BYTES)?;
        if u32_at(head, 0) != MAP_MAGIC {
            return Err("the map of a volume is missing");
        }
        let map = self.take(u32_at(head, 4) as usize * 4)?;
        Ok(VolumeMap {
            id: u32_at(bytes, 4),
            kind,
            pad_bytes: u32_at(bytes, 12),
            used_lebs: u32_at(bytes, 16),
            last_leb_bytes: u32_at(bytes, 20),
            pebs: map.chunks_exact(4).map(|bytes| u32_at(bytes, 0)).collect(),
        })
    }
}

/// The kernel writes its own numbers here (`include/uapi/mtd/ubi-user.h`), which are not those of volume identifier headers.
fn kind_code(kind: VolumeKind) -> u8 {
    match kind {
        VolumeKind::Dynamic => 3,
        VolumeKind::Static => 4,
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

fn push_all(to: &mut Vec<u8>, numbers: &[u32]) {
    to.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> Content {
        let counted = |peb| Counted { peb_number: peb, erases: 10 + peb };
        let map = |id, kind, pebs: &[u32]| VolumeMap {
            id,
            kind,
            pad_bytes: 0,
            used_lebs: 2,
            last_leb_bytes: 7,
            pebs: pebs.to_vec(),
        };
        Content {
            pool: PoolRecord { pebs: vec![70, 71], max_pebs: 8 },
            wl_pool: PoolRecord { pebs: vec![72], max_pebs: 4 },
            free: vec![counted(1)],
            used: vec![counted(2), counted(3)],
            scrub: vec![counted(4)],
            erase: vec![counted(5), counted(6)],
            bad_pebs: 3,
            volumes: vec![
                map(0, VolumeKind::Dynamic, &[2, u32::MAX, 3]),
                map(LAYOUT_VOLUME, VolumeKind::Static, &[4, 9]),
            ],
        }
    }

    const BLOCKS: [Counted; 2] = [Counted { peb_number: 8, erases: 1 }, Counted { peb_number: 90, erases: 2 }];

    #[test]
    fn a_fastmap_comes_back_as_it_was_written() {
        let data = content().encode(&BLOCKS, 4096);
        assert_eq!(data.len(), 8192);
        let superblock = Superblock::decode(&data).unwrap();
        assert_eq!(superblock.blocks, BLOCKS);
        assert!(superblock.crc_is_right(&data));
        assert_eq!(Content::decode(&data), Ok(content()));
    }

    #[test]
    fn a_changed_bit_is_found_by_the_crc_and_nothing_makes_the_reader_fall() {
        let whole = content().encode(&BLOCKS, 2048);
        for bit in (0..whole.len() * 8).step_by(5) {
            let mut data = whole.clone();
            data[bit / 8] ^= 1 << (bit % 8);
            let is_right = Superblock::decode(&data).is_ok_and(|superblock| superblock.crc_is_right(&data));
            assert!(!is_right, "bit {bit}");
            let _ = Content::decode(&data);
        }
        assert!(Content::decode(&[]).is_err());
    }

    #[test]
    fn sizes_are_those_of_the_kernel() {
        // dmesg of 6.1 on chips of 128 KiB blocks: "default fastmap pool size: 8 / 50 / 100 / 256", half of it for moves.
        assert_eq!([160, 1024, 2048, 8192].map(pool_pebs), [8, 50, 100, 256]);
        assert_eq!(blocks_needed(2048, 126_976), 1);
        assert_eq!(blocks_needed(32_768, 126_976), 4);
    }
}
