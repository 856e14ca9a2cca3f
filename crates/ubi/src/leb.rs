//! Logical erase blocks (LEBs): read, write, change as a whole, unmap, and their move to another erase block.
//!
//! Follows Linux 6.1 `drivers/mtd/ubi/eba.c`. Calls run to their end, so the only LEB that can be locked is the one
//! whose writer does works of the background thread in search of a free block.

use crate::causes;

use crate::device::{Device, UNMAPPED};
use crate::error::UbiError;
use crate::io::{Found, RETRIES};
use crate::media::{compat, crc, LebAddress, VidHeader, VolumeKind, LAYOUT_VOLUME};
use crate::options::DataLife;

/// The reason why a LEB was not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotMoved {
    /// The LEB is not mapped to this block any more.
    Unmapped,
    /// The LEB is being written.
    Locked,
    SourceUnreadable,
    /// The target block failed, or has bit flips already.
    TargetDoubtful,
    Error(UbiError),
}

impl From<UbiError> for NotMoved {
    fn from(error: UbiError) -> NotMoved {
        NotMoved::Error(error)
    }
}

/// Length of the data up to the last byte that is not 0xFF, rounded up to whole pages (`ubi_calc_data_len`).
pub fn data_bytes(data: &[u8], page_bytes: u32) -> usize {
    let used = data.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
    used.next_multiple_of(page_bytes as usize).min(data.len())
}

/// Bytes to be written to a LEB, their offset in it, and how long they are expected to stay.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    pub offset: u32,
    pub data: &'a [u8],
    pub life: DataLife,
}

impl Device {
    pub fn peb_of(&self, id: u32, leb: u32) -> Result<u32, UbiError> {
        self.volume(id)?.pebs.get(leb as usize).copied().ok_or(UbiError::BadRange)
    }

    pub fn map(&mut self, id: u32, leb: u32, peb: u32) -> Result<(), UbiError> {
        let entry = self.volume_mut(id)?.pebs.get_mut(leb as usize).ok_or(UbiError::BadRange)?;
        *entry = peb;
        Ok(())
    }

    /// A header for the next write of a LEB.
    fn new_header(&mut self, id: u32, leb: u32, kind: VolumeKind) -> Result<VidHeader, UbiError> {
        Ok(VidHeader {
            kind,
            is_copy: false,
            compat: if id == LAYOUT_VOLUME { compat::REJECT } else { 0 },
            volume_id: id,
            leb_number: leb,
            data_bytes: 0,
            used_lebs: 0,
            pad_bytes: self.volume(id)?.pad_bytes,
            data_crc: 0,
            sequence_number: self.take_sequence_number(),
        })
    }

    fn write_header(&mut self, peb: u32, header: &VidHeader) -> Result<(), UbiError> {
        let formats = self.sim.reason() == &causes::FORMATTING;
        let _why = (!formats).then(|| self.sim.because(&causes::UBI_HEADER));
        self.io.write_vid_header(peb, header)
    }

    // ---- reading -------------------------------------------------------------------------------------------

    /// Reads a part of a LEB; 0xFF where nothing is mapped. `check`: the part is the whole data of a LEB of a static
    /// volume, whose CRC must be right.
    pub fn read_leb(&mut self, id: u32, leb: u32, offset: u32, buffer: &mut [u8], check: bool) -> Result<(), UbiError> {
        let peb = self.proven_peb_of(id, leb)?;
        if peb == UNMAPPED {
            buffer.fill(0xFF);
            return Ok(());
        }
        if check {
            return self.read_checked(peb, offset, buffer);
        }
        match self.io.read_data(peb, offset, buffer) {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.scrub_peb(peb);
                Ok(())
            }
            Err(UbiError::Uncorrectable) if self.volume(id)?.kind == VolumeKind::Static => {
                self.read_checked(peb, offset, buffer)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the data of a static volume's LEB and compares their CRC, which also finds errors that ECC has missed.
    fn read_checked(&mut self, peb: u32, offset: u32, buffer: &mut [u8]) -> Result<(), UbiError> {
        let (header, mut scrub) = match self.io.read_vid_header(peb)? {
            Found::Header { header, flipped } => (header, flipped),
            Found::Garbage { .. } => {
                self.io.read_data(peb, offset, buffer)?;
                return Err(UbiError::Uncorrectable);
            }
            Found::Erased { .. } if self.attached_by_fastmap() => return Err(UbiError::Uncorrectable),
            Found::Erased { .. } => {
                self.io.read_only = true;
                return Err(UbiError::BadHeader);
            }
        };
        match self.io.read_data(peb, offset, buffer) {
            Ok(flipped) => scrub |= flipped,
            Err(UbiError::Uncorrectable) => scrub = true,
            Err(error) => return Err(error),
        }
        if crc(buffer) != header.data_crc {
            return Err(UbiError::Uncorrectable);
        }
        if scrub {
            self.scrub_peb(peb);
        }
        Ok(())
    }

    // ---- writing -------------------------------------------------------------------------------------------

    /// Gives a LEB's block back (`ubi_eba_unmap_leb`).
    pub fn unmap_leb(&mut self, id: u32, leb: u32) -> Result<(), UbiError> {
        self.check_writable()?;
        let peb = self.peb_of(id, leb)?;
        if peb != UNMAPPED {
            self.map(id, leb, UNMAPPED)?;
            self.put_peb(peb, LebAddress { volume_id: id, leb_number: leb }, false);
        }
        Ok(())
    }

    /// Writes whole pages of a LEB of a dynamic volume. An unmapped LEB is mapped first; without data it is only mapped
    /// (`ubi_eba_write_leb`).
    pub fn write_leb(&mut self, id: u32, leb: u32, piece: Piece<'_>) -> Result<(), UbiError> {
        self.check_writable()?;
        let peb = self.proven_peb_of(id, leb)?;
        let result = if peb == UNMAPPED {
            let header = self.new_header(id, leb, VolumeKind::Dynamic)?;
            self.write_new(header, piece)
        } else {
            match self.io.write_data(peb, piece.offset, piece.data) {
                Err(UbiError::Io) => self.recover(id, leb, peb, piece),
                result => result,
            }
        };
        self.read_only_after_error(result)
    }

    /// Writes a LEB of a static volume with `used_lebs` LEBs in use. `data` is padded to whole pages, of which the
    /// first `bytes` bytes are valid (`ubi_eba_write_leb_st`).
    pub fn write_static_leb(
        &mut self,
        id: u32,
        leb: u32,
        data: &[u8],
        bytes: u32,
        used_lebs: u32,
    ) -> Result<(), UbiError> {
        self.check_writable()?;
        let mut header = self.new_header(id, leb, VolumeKind::Static)?;
        header.data_bytes = bytes;
        header.used_lebs = used_lebs;
        header.data_crc = crc(&data[..bytes as usize]);
        let result = self.write_new(header, Piece { offset: 0, data, life: DataLife::Unknown });
        self.read_only_after_error(result)
    }

    /// Replaces the content of a LEB. After a power cut the LEB has either the old or the new content
    /// (`ubi_eba_atomic_leb_change`).
    pub fn change_leb(&mut self, id: u32, leb: u32, data: &[u8], life: DataLife) -> Result<(), UbiError> {
        self.check_writable()?;
        let piece = Piece { offset: 0, data, life };
        if data.is_empty() {
            self.unmap_leb(id, leb)?;
            return self.write_leb(id, leb, piece);
        }
        let mut header = self.new_header(id, leb, VolumeKind::Dynamic)?;
        header.is_copy = true;
        header.data_bytes = data.len() as u32;
        header.data_crc = crc(data);
        let result = self.write_new(header, piece);
        self.read_only_after_error(result)
    }

    fn read_only_after_error(&mut self, result: Result<(), UbiError>) -> Result<(), UbiError> {
        // A result that is passed on as it is would be read from memory whole, which waits for all stores before it: after a
        // write of pages that was an eighth of the time of a life on UBIFS.
        match result {
            Ok(()) => Ok(()),
            Err(error) => {
                self.io.read_only = true;
                Err(error)
            }
        }
    }

    /// Finds a free block for a LEB. Works that are done meanwhile to free a block do not move that LEB.
    fn get_peb_for(&mut self, address: LebAddress, life: DataLife) -> Result<u32, UbiError> {
        self.locked_leb = Some(address);
        let peb = self.get_peb(life);
        self.locked_leb = None;
        self.ensure_wear_levelling();
        peb
    }

    /// Writes header and data to a new block. After a failure another block is tried.
    fn write_new(&mut self, mut header: VidHeader, piece: Piece<'_>) -> Result<(), UbiError> {
        let mut tries = 0;
        loop {
            match self.try_write_new(&header, piece) {
                Err(UbiError::Io) if tries < RETRIES => tries += 1,
                result => return result,
            }
            header.sequence_number = self.take_sequence_number();
        }
    }

    fn try_write_new(&mut self, header: &VidHeader, piece: Piece<'_>) -> Result<(), UbiError> {
        let (id, leb) = (header.volume_id, header.leb_number);
        let peb = self.get_peb_for(header.address(), piece.life)?;
        let old = self.peb_of(id, leb)?;
        let written = self.write_header(peb, header).and_then(|()| {
            if piece.data.is_empty() {
                return Ok(());
            }
            self.io.write_data(peb, piece.offset, piece.data)
        });
        if written.is_err() {
            self.put_peb(peb, header.address(), true);
            return written;
        }
        self.map(id, leb, peb)?;
        if old != UNMAPPED {
            self.put_peb(old, header.address(), false);
        }
        Ok(())
    }

    /// Moves the content of a LEB and the new data to another block, because a write into the mapped block failed
    /// (`recover_peb`).
    fn recover(&mut self, id: u32, leb: u32, peb: u32, piece: Piece<'_>) -> Result<(), UbiError> {
        let _why = self.sim.because(&causes::RECOVERY);
        let address = LebAddress { volume_id: id, leb_number: leb };
        let mut tries = 0;
        loop {
            let target = self.get_peb_for(address, DataLife::Unknown)?;
            let mut may_retry = false;
            let moved = self.with_buffer(|device, buffer| device.rewrite(peb, target, piece, buffer, &mut may_retry));
            match moved {
                Ok(()) => {
                    self.map(id, leb, target)?;
                    self.put_peb(peb, address, true);
                    return Ok(());
                }
                Err(error) => {
                    self.put_peb(target, address, true);
                    if !may_retry || tries == RETRIES || error == UbiError::PowerCut {
                        return Err(error);
                    }
                    tries += 1;
                }
            }
        }
    }

    fn rewrite(
        &mut self,
        from: u32,
        to: u32,
        piece: Piece<'_>,
        buffer: &mut [u8],
        may_retry: &mut bool,
    ) -> Result<(), UbiError> {
        let Found::Header { mut header, .. } = self.io.read_vid_header(from)? else { return Err(UbiError::Io) };
        let start = piece.offset as usize;
        let data = &mut buffer[..start + piece.data.len()];
        if start > 0 {
            self.io.read_data(from, 0, &mut data[..start])?;
        }
        *may_retry = true;
        data[start..].copy_from_slice(piece.data);
        header.sequence_number = self.take_sequence_number();
        header.is_copy = true;
        header.data_bytes = data.len() as u32;
        header.data_crc = crc(data);
        self.io.write_vid_header(to, &header)?;
        self.io.write_data(to, 0, data)
    }

    // ---- moving --------------------------------------------------------------------------------------------

    /// Copies the LEB that `from` holds, whose header is `header`, to `to` and maps it there (`ubi_eba_copy_leb`).
    pub fn copy_leb(&mut self, from: u32, to: u32, header: &VidHeader) -> Result<(), NotMoved> {
        let (id, leb) = (header.volume_id, header.leb_number);
        if self.locked_leb == Some(header.address()) {
            return Err(NotMoved::Locked);
        }
        if self.peb_of(id, leb) != Ok(from) {
            return Err(NotMoved::Unmapped);
        }
        self.with_buffer(|device, buffer| device.copy_data(from, to, *header, buffer))?;
        Ok(self.map(id, leb, to)?)
    }

    fn copy_data(&mut self, from: u32, to: u32, mut header: VidHeader, buffer: &mut [u8]) -> Result<(), NotMoved> {
        let layout = self.io.layout;
        let is_static = header.kind == VolumeKind::Static;
        let stored_bytes = match header.kind {
            VolumeKind::Static => header.data_bytes.next_multiple_of(layout.min_io_bytes),
            VolumeKind::Dynamic => layout.leb_bytes - header.pad_bytes,
        };
        let stored = &mut buffer[..stored_bytes as usize];
        match self.io.read_data(from, 0, stored) {
            Ok(_) => {}
            Err(UbiError::PowerCut) => return Err(UbiError::PowerCut.into()),
            Err(_) => return Err(NotMoved::SourceUnreadable),
        }
        // Erased pages at the end are not copied: the user may still write them, so the CRC must not cover them either.
        let copied_bytes = if is_static { stored.len() } else { data_bytes(stored, layout.min_io_bytes) };
        let data = &stored[..copied_bytes];
        if !data.is_empty() {
            let covered_bytes = if is_static { header.data_bytes as usize } else { copied_bytes };
            header.is_copy = true;
            header.data_bytes = covered_bytes as u32;
            header.data_crc = crc(&data[..covered_bytes]);
        }
        header.sequence_number = self.take_sequence_number();
        let target = |result: Result<(), UbiError>| match result {
            Err(UbiError::Io) => Err(NotMoved::TargetDoubtful),
            result => Ok(result?),
        };
        target(self.io.write_vid_header(to, &header))?;
        match self.io.read_vid_header(to)? {
            Found::Header { flipped: false, .. } => {}
            _ => return Err(NotMoved::TargetDoubtful),
        }
        if !data.is_empty() {
            target(self.io.write_data(to, 0, data))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erased_pages_at_the_end_are_no_data() {
        let mut data = [0xFF; 4 * 512];
        assert_eq!(data_bytes(&data, 512), 0);
        data[0] = 0;
        assert_eq!(data_bytes(&data, 512), 512);
        data[1024] = 0xFE;
        assert_eq!(data_bytes(&data, 512), 1536);
        data[4 * 512 - 1] = 1;
        assert_eq!(data_bytes(&data, 512), 2048);
    }
}
