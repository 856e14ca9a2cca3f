//! The image of a partition that no kernel has attached yet: erase counters of 0, the two copies of the volume table, then the LEBs
//! of each volume in their order.
//!
//! Follows what `ubinize` of mtd-utils 2.1.5 writes (`ubi-utils/ubinize.c`, `lib/libubigen.c`), byte for byte, but for one thing: LEBs of
//! dynamic volumes in which nothing stands are left out, for an unmapped LEB reads as an erased one.

use crate::error::AttachError;
use crate::media::{
    compat, crc, EcHeader, Offsets, Record, VidHeader, VolumeKind, FLAG_AUTORESIZE, FLAG_SKIP_CHECK, HEADER_BYTES,
    LAYOUT_LEBS, LAYOUT_VOLUME, NAME_BYTES_MAX, RECORD_BYTES, VOLUMES_MAX,
};
use crate::options::{Layout, UbiOptions};
use ffslab_mtd::{is_erased, Mtd};

/// Where headers and data stand in an erase block, and what all its headers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrangement {
    pub peb_bytes: u32,
    /// Smallest unit of data: a page, a byte of NOR.
    pub min_io_bytes: u32,
    pub vid_header_offset_bytes: u32,
    pub image_number: u32,
}

/// A volume and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagedVolume<'d> {
    pub id: u32,
    pub name: &'d str,
    pub kind: VolumeKind,
    /// LEBs that the volume table promises it.
    pub lebs: u32,
    /// LEBs are shortened to a multiple of this.
    pub alignment_bytes: u32,
    pub autoresize: bool,
    pub skip_check: bool,
    pub data: &'d [u8],
}

impl Arrangement {
    /// That of the partition, as it will be attached.
    ///
    /// Errors: as those of the attach.
    pub fn of(mtd: &Mtd, options: &UbiOptions) -> Result<Arrangement, AttachError> {
        let layout = Layout::new(mtd, options)?;
        Ok(Arrangement {
            peb_bytes: layout.peb_bytes,
            min_io_bytes: layout.min_io_bytes,
            vid_header_offset_bytes: layout.offsets.vid_header_offset,
            image_number: 0,
        })
    }

    fn offsets(&self) -> Offsets {
        let data_offset = (self.vid_header_offset_bytes + HEADER_BYTES as u32).next_multiple_of(self.min_io_bytes);
        Offsets { vid_header_offset: self.vid_header_offset_bytes, data_offset }
    }

    /// What the headers leave of an erase block.
    pub fn leb_bytes(&self) -> u32 {
        self.peb_bytes.saturating_sub(self.offsets().data_offset)
    }

    /// Adds an erase block that holds a LEB.
    fn push(&self, image: &mut Vec<u8>, header: &VidHeader, data: &[u8]) {
        let offsets = self.offsets();
        let begin = image.len();
        image.resize(begin + self.peb_bytes as usize, 0xFF);
        let block = &mut image[begin..];
        EcHeader { erases: 0, image_number: self.image_number }.encode(offsets, &mut block[..HEADER_BYTES]);
        let at = offsets.vid_header_offset as usize;
        header.encode(&mut block[at..at + HEADER_BYTES]);
        let at = offsets.data_offset as usize;
        block[at..at + data.len()].copy_from_slice(data);
    }

    /// The image.
    ///
    /// Errors: what cannot be, in a line.
    pub fn image(&self, volumes: &[ImagedVolume<'_>]) -> Result<Vec<u8>, String> {
        let leb_bytes = self.leb_bytes();
        let slots = (leb_bytes / RECORD_BYTES as u32).min(VOLUMES_MAX);
        if slots == 0 || self.min_io_bytes == 0 {
            return Err(format!("a LEB of {leb_bytes} B is too small for the volume table"));
        }
        let mut table = Record::empty().bytes().repeat(slots as usize);
        for volume in volumes {
            volume.check(leb_bytes, slots)?;
            let at = volume.id as usize * RECORD_BYTES;
            table[at..at + RECORD_BYTES].copy_from_slice(volume.record(leb_bytes).bytes());
        }
        let mut image = Vec::new();
        for copy in 0..LAYOUT_LEBS {
            self.push(&mut image, &header(VolumeKind::Dynamic, LAYOUT_VOLUME, copy, compat::REJECT), &table);
        }
        for volume in volumes {
            let usable = leb_bytes - leb_bytes % volume.alignment_bytes;
            let used_lebs = volume.data.len().div_ceil(usable as usize) as u32;
            for (leb, data) in (0..).zip(volume.data.chunks(usable as usize)) {
                let mut header = header(volume.kind, volume.id, leb, 0);
                header.pad_bytes = leb_bytes - usable;
                if volume.kind == VolumeKind::Static {
                    (header.data_bytes, header.used_lebs, header.data_crc) = (data.len() as u32, used_lebs, crc(data));
                } else if is_erased(data) {
                    continue;
                }
                self.push(&mut image, &header, data);
            }
        }
        Ok(image)
    }
}

fn header(kind: VolumeKind, volume_id: u32, leb_number: u32, compat: u8) -> VidHeader {
    VidHeader {
        kind,
        is_copy: false,
        compat,
        volume_id,
        leb_number,
        data_bytes: 0,
        used_lebs: 0,
        pad_bytes: 0,
        data_crc: 0,
        sequence_number: 0,
    }
}

impl ImagedVolume<'_> {
    fn check(&self, leb_bytes: u32, slots: u32) -> Result<(), String> {
        let name = self.name.as_bytes();
        let refuse = |what: String| Err(format!("volume {:?}: {what}", self.name));
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(&0) {
            return refuse(format!("a name has 1 to {NAME_BYTES_MAX} bytes, none of them zero"));
        }
        if self.id >= slots {
            return refuse(format!("the number {} is not below {slots}", self.id));
        }
        if self.alignment_bytes == 0 || leb_bytes % self.alignment_bytes >= leb_bytes / 2 {
            return refuse(format!("an alignment of {} B leaves less than half of each LEB", self.alignment_bytes));
        }
        let usable = leb_bytes - leb_bytes % self.alignment_bytes;
        if self.lebs == 0 || self.data.len() as u64 > u64::from(self.lebs) * u64::from(usable) {
            return refuse(format!("{} B do not fit into {} LEBs of {usable} B", self.data.len(), self.lebs));
        }
        Ok(())
    }

    fn record(&self, leb_bytes: u32) -> Record {
        let mut record = Record::from_bytes(&[0; RECORD_BYTES]);
        record.set_reserved_pebs(self.lebs);
        record.set_alignment(self.alignment_bytes, leb_bytes);
        record.set_kind(self.kind);
        record.set_name(self.name.as_bytes());
        let flag = |wanted, flag| if wanted { flag } else { 0 };
        record.set_flags(flag(self.autoresize, FLAG_AUTORESIZE) | flag(self.skip_check, FLAG_SKIP_CHECK));
        record.finish();
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRANGEMENT: Arrangement =
        Arrangement { peb_bytes: 16 << 10, min_io_bytes: 512, vid_header_offset_bytes: 512, image_number: 7 };

    fn volume(data: &[u8]) -> ImagedVolume<'_> {
        ImagedVolume {
            id: 1,
            name: "root",
            kind: VolumeKind::Dynamic,
            lebs: 4,
            alignment_bytes: 1,
            autoresize: false,
            skip_check: false,
            data,
        }
    }

    #[test]
    fn erased_lebs_of_a_dynamic_volume_are_left_out_and_those_of_a_static_one_are_not() {
        let leb = ARRANGEMENT.leb_bytes() as usize;
        let data = [vec![1; leb], vec![0xFF; leb], vec![2; 10]].concat();
        let blocks = |volume: ImagedVolume<'_>| ARRANGEMENT.image(&[volume]).unwrap().len() / (16 << 10);
        assert_eq!(blocks(volume(&data)), 4);
        assert_eq!(blocks(ImagedVolume { kind: VolumeKind::Static, ..volume(&data) }), 5);
    }

    #[test]
    fn what_no_volume_can_be_is_refused() {
        let refused = |volume: ImagedVolume<'_>| ARRANGEMENT.image(&[volume]).is_err();
        let data = [1; 100];
        assert!(!refused(volume(&data)));
        assert!(refused(ImagedVolume { name: "", ..volume(&data) }));
        assert!(refused(ImagedVolume { id: 128, ..volume(&data) }));
        assert!(refused(ImagedVolume { lebs: 0, ..volume(&data) }));
        assert!(refused(ImagedVolume { alignment_bytes: 20_000, ..volume(&data) }));
        assert!(refused(volume(&vec![1; 4 * ARRANGEMENT.leb_bytes() as usize + 1])));
    }
}
