//! The volume table: its two copies in the layout volume, their check, repair and change.
//!
//! Follows Linux 6.1 `drivers/mtd/ubi/vtbl.c`.

use std::collections::HashSet;

use crate::device::Device;
use crate::error::{AttachError, UbiError};
use crate::io::{Io, RETRIES};
use crate::media::{
    compat, Record, VidHeader, VolumeKind, ERASE_COUNTER_MAX, LAYOUT_LEBS, LAYOUT_VOLUME, NAME_BYTES_MAX, RECORD_BYTES,
};
use crate::options::{DataLife, Layout};
use crate::scan::{Scan, ScannedPeb};

/// How often a failed write of a copy of the table is repeated, each time in another block (`create_vtbl`).
const TRIES: u32 = RETRIES + 2;

/// The condition of a copy of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    /// A CRC is wrong: the other copy may be good.
    Damaged,
}

/// Reads the volume table, repairs a copy that was lost, or makes the table of an empty partition
/// (`ubi_read_volume_table`). `buffer` has the size of a PEB.
pub fn read_table(io: &mut Io, scan: &mut Scan, buffer: &mut [u8]) -> Result<Vec<u8>, AttachError> {
    if io.layout.volume_slots() == 0 {
        return Err(AttachError::VolumeTable("a LEB is too small for a record"));
    }
    let pebs = io.layout.pebs;
    let available = pebs - scan.bad_pebs - scan.corrupted_pebs - scan.alien_pebs;
    if available < LAYOUT_LEBS {
        return Err(AttachError::NoSpace { purpose: "the volume table", needed: LAYOUT_LEBS, available, pebs });
    }
    let Some(layout_volume) = scan.volumes.get(&LAYOUT_VOLUME) else {
        if !scan.is_empty {
            return Err(AttachError::VolumeTable("the partition is not empty, and no block holds the table"));
        }
        let table = empty_table(&io.layout);
        for copy in 0..LAYOUT_LEBS {
            create_copy(io, scan, copy, &table, buffer)?;
        }
        return Ok(table);
    };
    if layout_volume.lebs.keys().any(|&leb| leb >= LAYOUT_LEBS) {
        return Err(AttachError::VolumeTable("there are more than two copies"));
    }
    let good_pebs = io.layout.pebs - scan.bad_pebs;
    let mut first = read_copy(io, scan, 0)?;
    let mut second = read_copy(io, scan, 1)?;
    // An update writes LEB 0 first, so when both copies are good LEB 0 is the newer one.
    if let Some(table) = first.take_if(|table| check(table, &io.layout, good_pebs) != Ok(Verdict::Damaged)) {
        check(&table, &io.layout, good_pebs)?;
        if second.as_ref() != Some(&table) {
            create_copy(io, scan, 1, &table, buffer)?;
        }
        return Ok(table);
    }
    if let Some(table) = second.take() {
        if check(&table, &io.layout, good_pebs)? == Verdict::Good {
            create_copy(io, scan, 0, &table, buffer)?;
            return Ok(table);
        }
    }
    Err(AttachError::VolumeTable("both copies are damaged"))
}

fn empty_table(layout: &Layout) -> Vec<u8> {
    let mut table = vec![0; layout.table_bytes()];
    for record in table.chunks_exact_mut(RECORD_BYTES).take(layout.volume_slots() as usize) {
        record.copy_from_slice(Record::empty().bytes());
    }
    table
}

fn read_copy(io: &Io, scan: &mut Scan, copy: u32) -> Result<Option<Vec<u8>>, AttachError> {
    let Some(found) = scan.volumes.get_mut(&LAYOUT_VOLUME).and_then(|volume| volume.lebs.get_mut(&copy)) else {
        return Ok(None);
    };
    let mut table = vec![0; io.layout.table_bytes()];
    match io.read_data(found.peb_number, 0, &mut table) {
        Ok(false) => {}
        // Uncorrectable data are accepted here, because the records have CRCs of their own.
        Ok(true) | Err(UbiError::Uncorrectable) => found.scrub = true,
        Err(error) => return Err(error.into()),
    }
    Ok(Some(table))
}

/// Checks a copy of the table (`vtbl_check`). An error means that its CRCs are right but its content is impossible.
fn check(table: &[u8], layout: &Layout, good_pebs: u32) -> Result<Verdict, AttachError> {
    let mut names = HashSet::new();
    for id in 0..layout.volume_slots() {
        let record = Record::from_bytes(&table[id as usize * RECORD_BYTES..]);
        if !record.crc_is_right() {
            return Ok(Verdict::Damaged);
        }
        let refuse = |reason| Err(AttachError::Volume { id, reason });
        if record.reserved_pebs() == 0 {
            if record != Record::empty() {
                return refuse("its record has no blocks and is not empty");
            }
            continue;
        }
        let alignment = record.alignment_bytes();
        if alignment == 0
            || alignment > layout.leb_bytes
            || (alignment != 1 && !alignment.is_multiple_of(layout.min_io_bytes))
        {
            return refuse("its alignment is not possible");
        }
        if record.pad_bytes() != layout.leb_bytes % alignment {
            return refuse("its padding does not follow from its alignment");
        }
        if record.kind().is_none() || record.update_marker() > 1 {
            return refuse("its kind or update marker has no meaning");
        }
        if record.reserved_pebs() > good_pebs {
            let (purpose, needed) = ("a volume", record.reserved_pebs());
            return Err(AttachError::NoSpace { purpose, needed, available: good_pebs, pebs: good_pebs });
        }
        let field = record.name_field();
        let name_ends_at = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
        let bytes = record.name_bytes();
        if bytes == 0 || bytes > NAME_BYTES_MAX || bytes != name_ends_at {
            return refuse("its name has an impossible length");
        }
        if !names.insert(field[..bytes].to_vec()) {
            return refuse("it has the name of another volume");
        }
    }
    Ok(Verdict::Good)
}

/// Writes a copy of the table while attaching (`create_vtbl`).
fn create_copy(io: &mut Io, scan: &mut Scan, copy: u32, table: &[u8], buffer: &mut [u8]) -> Result<(), AttachError> {
    let mut tries = 0;
    loop {
        let peb = early_peb(io, scan, buffer)?;
        scan.max_sequence_number = scan.max_sequence_number.wrapping_add(1);
        let header = VidHeader {
            kind: VolumeKind::Dynamic,
            is_copy: false,
            compat: compat::REJECT,
            volume_id: LAYOUT_VOLUME,
            leb_number: copy,
            data_bytes: 0,
            used_lebs: 0,
            pad_bytes: 0,
            data_crc: 0,
            sequence_number: scan.max_sequence_number,
        };
        let written =
            io.write_vid_header(peb.peb_number, &header).and_then(|()| io.write_data(peb.peb_number, 0, table));
        match written {
            Ok(()) => return scan.add_leb(io, peb.peb_number, peb.erases, &header, false, buffer),
            Err(UbiError::Io) if tries < TRIES => {
                tries += 1;
                scan.erase.push_front(peb);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Finds a block to write to before wear levelling is running (`ubi_early_get_peb`).
fn early_peb(io: &mut Io, scan: &mut Scan, buffer: &mut [u8]) -> Result<ScannedPeb, AttachError> {
    if let Some(peb) = scan.free.pop_front() {
        return Ok(peb);
    }
    for at in 0..scan.erase.len() {
        let mut peb = scan.erase[at];
        let erases = peb.erases.unwrap_or(scan.mean_erases).saturating_add(1);
        if erases > ERASE_COUNTER_MAX {
            continue;
        }
        let erased = io.erase(peb.peb_number, false, buffer).and_then(|_| io.write_ec_header(peb.peb_number, erases));
        match erased {
            Ok(()) => {
                scan.erase.remove(at);
                peb.erases = Some(erases);
                return Ok(peb);
            }
            Err(UbiError::Io) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(AttachError::Ubi(UbiError::NoSpace))
}

impl Device {
    /// Changes a record, in memory and in both copies on flash (`ubi_change_vtbl_record`).
    pub fn change_record(&mut self, id: u32, mut record: Record) -> Result<(), UbiError> {
        record.finish();
        self.put_record(id, &record);
        let table = std::mem::take(&mut self.table);
        let mut result = Ok(());
        for copy in 0..LAYOUT_LEBS {
            result = result.and_then(|()| self.change_leb(LAYOUT_VOLUME, copy, &table, DataLife::Long));
        }
        self.table = table;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Offsets;

    fn layout() -> Layout {
        Layout {
            pebs: 16,
            peb_bytes: 131_072,
            min_io_bytes: 2048,
            header_io_bytes: 512,
            header_bytes: 512,
            offsets: Offsets { vid_header_offset: 512, data_offset: 2048 },
            leb_bytes: 129_024,
        }
    }

    fn record() -> Record {
        let mut record = Record::empty();
        record.set_reserved_pebs(4);
        record.set_alignment(1, 129_024);
        record.set_kind(VolumeKind::Dynamic);
        record.set_name(b"v");
        record
    }

    fn verdict_of(records: &[Record]) -> Result<Verdict, AttachError> {
        let mut table = empty_table(&layout());
        for (at, record) in records.iter().enumerate() {
            let mut record = *record;
            record.finish();
            table[at * RECORD_BYTES..(at + 1) * RECORD_BYTES].copy_from_slice(record.bytes());
        }
        check(&table, &layout(), 16)
    }

    fn changed(change: impl Fn(&mut Record)) -> Record {
        let mut record = record();
        change(&mut record);
        record
    }

    #[test]
    fn a_table_with_right_check_sums_and_impossible_records_is_refused() {
        assert_eq!(verdict_of(&[record()]), Ok(Verdict::Good));
        for bad in [
            changed(|record| record.set_reserved_pebs(17)),
            changed(|record| record.set_alignment(100, 129_024)),
            changed(|record| record.set_name(b"")),
            changed(|record| record.set_name(b"a\0b")),
            changed(|record| record.set_reserved_pebs(0)),
        ] {
            assert!(verdict_of(&[bad]).is_err());
        }
        let other = changed(|record| record.set_name(b"w"));
        assert_eq!(verdict_of(&[record(), other]), Ok(Verdict::Good));
        assert!(verdict_of(&[record(), other, record()]).is_err());
    }

    #[test]
    fn a_table_with_a_wrong_check_sum_is_damaged_only() {
        let mut table = empty_table(&layout());
        table[5 * RECORD_BYTES + 20] = 1;
        assert_eq!(check(&table, &layout(), 16), Ok(Verdict::Damaged));
    }
}
