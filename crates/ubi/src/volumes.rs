//! Making, resizing, renaming and removing volumes, and writing a volume as a whole.
//!
//! Follows Linux 6.1 `drivers/mtd/ubi/vmt.c`, `cdev.c` (`verify_mkvol_req`) and `upd.c`.

use crate::device::{Device, UNMAPPED};
use crate::error::UbiError;
use crate::leb::{data_bytes, Piece};
use crate::media::{Record, VolumeKind, FLAG_AUTORESIZE, FLAG_SKIP_CHECK, NAME_BYTES_MAX};
use crate::options::DataLife;

/// How large a volume shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeSize {
    /// As many LEBs as are needed for so many bytes.
    Bytes(u64),
    Lebs(u32),
    /// All LEBs that are available.
    AllAvailable,
}

/// What [`crate::Ubi::make_volume`] makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeRequest {
    /// `None`: the lowest free number.
    pub id: Option<u32>,
    /// 1 to 127 bytes, no zero byte.
    pub name: String,
    pub kind: VolumeKind,
    pub size: VolumeSize,
    /// LEBs are shortened to a multiple of this: 1, or a multiple of the page size.
    pub alignment_bytes: u32,
    /// The volume takes all that is available at the next attach, as a flag of `ubinize` says.
    pub autoresize: bool,
    /// Static volumes: do not compare the CRCs when the volume is opened.
    pub skip_check: bool,
}

impl VolumeRequest {
    /// A request for a volume with the lowest free number and the default settings.
    pub fn new(name: &str, kind: VolumeKind, size: VolumeSize) -> VolumeRequest {
        let name = name.to_string();
        VolumeRequest { id: None, name, kind, size, alignment_bytes: 1, autoresize: false, skip_check: false }
    }
}

impl Device {
    /// Returns the number of the new volume (`ubi_create_volume`).
    pub fn make_volume(&mut self, request: &VolumeRequest) -> Result<u32, UbiError> {
        self.check_writable()?;
        let layout = self.io.layout;
        let refuse = |reason| Err(UbiError::BadRequest(reason));
        let alignment = request.alignment_bytes;
        if alignment == 0
            || (alignment != 1 && !alignment.is_multiple_of(layout.min_io_bytes))
            || alignment > layout.leb_bytes
        {
            return refuse("the alignment is 1 or a multiple of the page size, and at most a LEB");
        }
        let pad_bytes = layout.leb_bytes % alignment;
        if pad_bytes >= layout.leb_bytes / 2 {
            return refuse("the alignment would leave half of each LEB unused");
        }
        self.check_name(request.name.as_bytes())?;
        if request.skip_check && request.kind == VolumeKind::Dynamic {
            return refuse("only a static volume has a check to skip");
        }
        let id = self.free_id(request.id)?;
        let lebs = match request.size {
            VolumeSize::Lebs(lebs) => lebs,
            VolumeSize::Bytes(bytes) => {
                let lebs = bytes.div_ceil(u64::from(layout.leb_bytes - pad_bytes));
                u32::try_from(lebs).map_err(|_| self.no_room(lebs))?
            }
            VolumeSize::AllAvailable if self.space.available_pebs == 0 => return Err(self.no_room(1)),
            VolumeSize::AllAvailable => self.space.available_pebs,
        };
        if lebs == 0 {
            return refuse("a volume has at least one LEB");
        }
        let mut record = Record::from_bytes(&[0; crate::media::RECORD_BYTES]);
        record.set_reserved_pebs(lebs);
        record.set_alignment(alignment, layout.leb_bytes);
        record.set_kind(request.kind);
        record.set_name(request.name.as_bytes());
        let flag = |wanted, flag| if wanted { flag } else { 0 };
        record.set_flags(flag(request.autoresize, FLAG_AUTORESIZE) | flag(request.skip_check, FLAG_SKIP_CHECK));
        if !self.space.reserve(lebs) {
            return Err(self.no_room(u64::from(lebs)));
        }
        // LEBs of an earlier volume with this number may still wait for their erase.
        if let Err(error) = self.flush(Some(id), None) {
            self.space.release(lebs);
            return Err(error);
        }
        let volume = self.volume_of_record(id, &record);
        let index = self.index_of(id);
        self.volumes[index] = Some(volume);
        if let Err(error) = self.change_record(id, record) {
            self.volumes[index] = None;
            self.space.release(lebs);
            return Err(error);
        }
        self.volume_changed()?;
        Ok(id)
    }

    fn no_room(&self, needed_lebs: u64) -> UbiError {
        UbiError::NoRoom { needed_lebs, available_lebs: self.space.available_pebs }
    }

    fn check_name(&self, name: &[u8]) -> Result<(), UbiError> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(&0) {
            return Err(UbiError::BadRequest("a name has 1 to 127 bytes, none of them zero"));
        }
        if self.volumes.iter().flatten().any(|volume| volume.name == name) {
            return Err(UbiError::VolumeExists);
        }
        Ok(())
    }

    fn free_id(&self, wanted: Option<u32>) -> Result<u32, UbiError> {
        match wanted {
            Some(id) if id >= self.slots() => Err(UbiError::BadRequest("the volume number is too large")),
            Some(id) if self.volume(id).is_ok() => Err(UbiError::VolumeExists),
            Some(id) => Ok(id),
            None => {
                let free = self.volumes.iter().take(self.slots() as usize).position(Option::is_none);
                free.map(|id| id as u32).ok_or(UbiError::BadRequest("there are as many volumes as the table can hold"))
            }
        }
    }

    /// Checks that a volume exists and does not belong to UBI itself.
    fn check_user_volume(&self, id: u32) -> Result<(), UbiError> {
        if id >= self.slots() {
            return Err(UbiError::NoVolume);
        }
        self.volume(id).map(|_| ())
    }

    /// `ubi_resize_volume`
    pub fn resize_volume(&mut self, id: u32, lebs: u32) -> Result<(), UbiError> {
        self.check_writable()?;
        self.check_user_volume(id)?;
        let volume = self.volume(id)?;
        let (old_lebs, static_bytes) = (volume.lebs(), volume.used_bytes);
        if lebs == 0 {
            return Err(UbiError::BadRequest("a volume has at least one LEB"));
        }
        if volume.kind == VolumeKind::Static && lebs < volume.used_lebs {
            return Err(UbiError::BadRequest("the data of the static volume would not fit"));
        }
        if lebs == old_lebs {
            return Ok(());
        }
        if lebs > old_lebs {
            if !self.space.reserve(lebs - old_lebs) {
                return Err(self.no_room(u64::from(lebs - old_lebs)));
            }
            self.volume_mut(id)?.pebs.resize(lebs as usize, UNMAPPED);
        } else {
            for leb in lebs..old_lebs {
                self.unmap_leb(id, leb)?;
            }
            // The LEBs are erased before the table is changed; otherwise an attach could find LEBs beyond the volume's
            // end.
            self.flush(Some(id), None)?;
            self.volume_mut(id)?.pebs.truncate(lebs as usize);
            self.space.release(old_lebs - lebs);
            self.space.refill_bad_reserve();
        }
        let leb_bytes = self.io.layout.leb_bytes;
        self.volume_mut(id)?.set_content(leb_bytes, static_bytes);
        let mut record = self.record(id);
        record.set_reserved_pebs(lebs);
        self.change_record(id, record)?;
        self.volume_changed()
    }

    /// `ubi_remove_volume`
    pub fn remove_volume(&mut self, id: u32) -> Result<(), UbiError> {
        self.check_writable()?;
        self.check_user_volume(id)?;
        self.volume_mut(id)?.is_leaving = true;
        self.change_record(id, Record::empty())?;
        let lebs = self.volume(id)?.lebs();
        for leb in 0..lebs {
            self.unmap_leb(id, leb)?;
        }
        let index = self.index_of(id);
        self.volumes[index] = None;
        self.space.release(lebs);
        self.space.refill_bad_reserve();
        self.volume_changed()
    }

    /// `ubi_rename_volumes`, for one volume.
    pub fn rename_volume(&mut self, id: u32, name: &str) -> Result<(), UbiError> {
        self.check_writable()?;
        self.check_user_volume(id)?;
        self.check_name(name.as_bytes())?;
        let mut record = self.record(id);
        record.set_name(name.as_bytes());
        self.change_record(id, record)?;
        self.volume_mut(id)?.name = name.as_bytes().to_vec();
        self.volume_changed()
    }

    /// Replaces the content of a volume, as `ubiupdatevol` does (`upd.c`). This is not atomic: a mark in the volume
    /// table shows whether an update was interrupted.
    pub fn update_volume(&mut self, id: u32, data: &[u8]) -> Result<(), UbiError> {
        self.check_writable()?;
        self.check_user_volume(id)?;
        let layout = self.io.layout;
        let volume = self.volume(id)?;
        let (kind, lebs, usable) = (volume.kind, volume.lebs(), volume.usable_leb_bytes(layout.leb_bytes));
        if data.len() as u64 > u64::from(lebs) * u64::from(usable) {
            return Err(UbiError::BadRange);
        }
        self.mark_update(id, true)?;
        for leb in 0..lebs {
            self.unmap_leb(id, leb)?;
        }
        self.flush(None, None)?;
        let used_lebs = data.len().div_ceil(usable as usize) as u32;
        let mut padded = vec![0; usable as usize];
        for (leb, part) in (0..).zip(data.chunks(usable as usize)) {
            let pages = part.len().next_multiple_of(layout.min_io_bytes as usize);
            padded[..part.len()].copy_from_slice(part);
            match kind {
                VolumeKind::Static => {
                    padded[part.len()..pages].fill(0);
                    self.write_static_leb(id, leb, &padded[..pages], part.len() as u32, used_lebs)?;
                }
                VolumeKind::Dynamic => {
                    padded[part.len()..pages].fill(0xFF);
                    let bytes = data_bytes(&padded[..pages], layout.min_io_bytes);
                    if bytes > 0 {
                        self.write_leb(id, leb, Piece { offset: 0, data: &padded[..bytes], life: DataLife::Unknown })?;
                    }
                }
            }
        }
        self.flush(None, None)?;
        let volume = self.volume_mut(id)?;
        volume.corrupted = false;
        volume.set_content(layout.leb_bytes, data.len() as u64);
        self.mark_update(id, false)
    }

    fn mark_update(&mut self, id: u32, updating: bool) -> Result<(), UbiError> {
        let mut record = self.record(id);
        record.set_update_marker(updating);
        self.volume_mut(id)?.update_interrupted = true;
        self.change_record(id, record)?;
        self.volume_mut(id)?.update_interrupted = updating;
        Ok(())
    }
}
