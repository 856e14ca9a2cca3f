//! What can be told about an erase block before it is attached: its headers, and the names of the volumes.
//!
//! For tools that look into images of partitions that were attached elsewhere. Nothing is believed: a header counts when
//! its CRC is right.

use ffslab_mtd::is_erased;

use crate::fastmap::format::{is_fastmap_volume, ANCHOR_VOLUME};
pub use crate::fastmap::probe::{fastmap, FastmapFacts};
use crate::media::{
    crc, EcHeader, NoHeader, Offsets, Record, VidHeader, HEADER_BYTES, INTERNAL_VOLUME_START, LAYOUT_VOLUME,
    RECORD_BYTES, VOLUMES_MAX,
};

/// The headers of an erase block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// The erase counter.
    pub erases: Option<u32>,
    pub leb: Option<Leb>,
    /// What is wrong with them.
    pub damage: Option<&'static str>,
}

/// Which LEB an erase block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leb {
    pub volume_id: u32,
    pub leb_number: u32,
    /// The volume can only be written as a whole; then its LEBs have a CRC of their data.
    pub is_static: bool,
    /// LEBs that the data of such a volume occupy.
    pub used_lebs: u32,
    /// Among several blocks with the same LEB, the one with the highest number is valid.
    pub sequence_number: u64,
}

impl Leb {
    /// Whether the block holds the volume table.
    pub fn is_layout(&self) -> bool {
        self.volume_id == LAYOUT_VOLUME
    }

    /// Whether the block holds a part of a fastmap.
    pub fn is_fastmap(&self) -> bool {
        is_fastmap_volume(self.volume_id)
    }

    /// Whether that is the part with the superblock.
    pub fn is_anchor(&self) -> bool {
        self.volume_id == ANCHOR_VOLUME
    }

    /// Whether the LEB belongs to a volume of UBI itself.
    pub fn is_internal(&self) -> bool {
        self.volume_id >= INTERNAL_VOLUME_START
    }
}

/// The offsets of the volume identifier header and of the data, from the start of the erase block, that the erase
/// counter header states. `None`: `block` does not begin with such a header with a right CRC.
pub fn offsets(block: &[u8]) -> Option<(u32, u32)> {
    let vid_header_offset = crate::vid_header_offset(block)?;
    let data_offset = u32::from_be_bytes(block.get(20..24)?.try_into().ok()?);
    Some((vid_header_offset, data_offset))
}

/// The number that all erase counter headers of a formatted partition share (`drivers/mtd/ubi/ubi-media.h`,
/// `image_seq`). 0 for a header whose CRC is wrong, and for old headers. `None`: `block` does not begin with such a
/// header.
pub fn image_number(block: &[u8]) -> Option<u32> {
    let is_sound = crate::vid_header_offset(block).is_some();
    let number = || block.get(24..28).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    if is_sound {
        number()
    } else {
        block.starts_with(b"UBI#").then_some(0)
    }
}

/// The volume identifier header at the start of `bytes`, if it is one.
pub fn is_vid_header(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER_BYTES && VidHeader::decode(&bytes[..HEADER_BYTES], u32::MAX).is_ok()
}

/// Reads the headers of an erase block (page data without OOB).
pub fn headers(block: &[u8], vid_header_offset: u32, data_offset: u32) -> Headers {
    let mut found = Headers::default();
    let Some(first) = block.get(..HEADER_BYTES) else { return found };
    match EcHeader::decode(first, Offsets { vid_header_offset, data_offset }) {
        Ok(header) => found.erases = Some(header.erases),
        Err(_) if is_erased(first) => {}
        Err(NoHeader::Magic) => found.damage = Some("no erase counter header"),
        Err(NoHeader::Crc) => found.damage = Some("an erase counter header with a wrong CRC"),
        Err(NoHeader::Content) => found.damage = Some("an erase counter header unlike the others"),
    }
    let second = block.get(vid_header_offset as usize..).and_then(|rest| rest.get(..HEADER_BYTES));
    let leb_bytes = (block.len() as u64).saturating_sub(u64::from(data_offset)) as u32;
    match second.map(|second| (second, VidHeader::decode(second, leb_bytes))) {
        Some((_, Ok(header))) => {
            found.leb = Some(Leb {
                volume_id: header.volume_id,
                leb_number: header.leb_number,
                is_static: header.kind == crate::VolumeKind::Static,
                used_lebs: header.used_lebs,
                sequence_number: header.sequence_number,
            });
        }
        Some((second, Err(_))) if is_erased(second) => {}
        Some((_, Err(NoHeader::Content))) => found.damage = Some("a volume identifier header that cannot be"),
        Some((_, Err(NoHeader::Crc))) => found.damage = Some("a volume identifier header with a wrong CRC"),
        Some((_, Err(NoHeader::Magic))) => found.damage = Some("no volume identifier header where one should be"),
        None => found.damage = Some("too short for its headers"),
    }
    found
}

/// Whether the data of an erase block are those of whose CRC its volume identifier header tells: that of a static volume's LEB.
/// `None`: there is no such header, or it tells of none.
pub fn has_whole_data(block: &[u8], vid_header_offset: u32, data_offset: u32) -> Option<bool> {
    let header = block.get(vid_header_offset as usize..)?.get(..HEADER_BYTES)?;
    let data = block.get(data_offset as usize..)?;
    let header = VidHeader::decode(header, data.len() as u32).ok()?;
    let is_told = header.kind == crate::VolumeKind::Static && header.data_bytes > 0;
    is_told.then(|| data.get(..header.data_bytes as usize).is_some_and(|data| crc(data) == header.data_crc))
}

/// A volume, as a copy of the volume table describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeRecord {
    pub id: u32,
    pub name: String,
    /// The volume can only be written as a whole.
    pub is_static: bool,
    pub reserved_pebs: u32,
    /// The update marker: an update was begun and not ended.
    pub update_interrupted: bool,
}

/// The volumes in a copy of the volume table (data of a LEB of the layout volume). Records with a wrong CRC are left out.
pub fn volumes(table: &[u8]) -> Vec<VolumeRecord> {
    let records = table.chunks_exact(RECORD_BYTES).take(VOLUMES_MAX as usize).enumerate();
    let used = records.map(|(id, bytes)| (id as u32, Record::from_bytes(bytes)));
    used.filter(|(_, record)| record.crc_is_right() && record.reserved_pebs() > 0)
        .map(|(id, record)| {
            let name = record.name_field();
            let name = String::from_utf8_lossy(&name[..record.name_bytes().min(name.len())]).into_owned();
            let is_static = record.kind() == Some(crate::VolumeKind::Static);
            VolumeRecord {
                id,
                name,
                is_static,
                reserved_pebs: record.reserved_pebs(),
                update_interrupted: record.update_marker() != 0,
            }
        })
        .collect()
}

/// How many records of a copy of the volume table have a right CRC, those of no volume included.
pub fn sound_records(table: &[u8]) -> u32 {
    let records = table.chunks_exact(RECORD_BYTES).take(VOLUMES_MAX as usize);
    records.filter(|bytes| Record::from_bytes(bytes).crc_is_right()).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_and_damage_is_named() {
        let mut block = vec![0xFF; 16 << 10];
        assert_eq!(headers(&block, 512, 2048), Headers::default());
        let offsets_of = Offsets { vid_header_offset: 512, data_offset: 2048 };
        EcHeader { erases: 7, image_number: 1 }.encode(offsets_of, &mut block);
        assert_eq!(offsets(&block), Some((512, 2048)));
        let found = headers(&block, 512, 2048);
        assert_eq!((found.erases, found.leb, found.damage), (Some(7), None, None));
        block[10] ^= 1;
        assert_eq!(headers(&block, 512, 2048).damage, Some("an erase counter header with a wrong CRC"));
        assert_eq!(headers(&block[..100], 512, 2048).damage, Some("too short for its headers"));
        assert_eq!(headers(&[], 512, 2048), Headers::default());
    }

    #[test]
    fn an_empty_table_names_no_volume() {
        assert_eq!(volumes(&Record::empty().bytes().repeat(3)), []);
        assert_eq!(volumes(&[0xFF; 1000]), []);
    }
}
