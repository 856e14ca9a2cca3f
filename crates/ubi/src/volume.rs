//! A volume as its user sees it.
//!
//! Follows Linux 6.1 `drivers/mtd/ubi/kapi.c`: what a request must look like, and which errors it can have.

use std::cell::RefCell;
use std::rc::Rc;

use ffslab_sim::Sim;

use crate::device::{Device, VolumeState, UNMAPPED};
use crate::error::UbiError;
use crate::leb::Piece;
use crate::media::VolumeKind;
use crate::options::DataLife;

/// What is known about a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeInfo {
    pub id: u32,
    /// Name of the volume; bytes that are not UTF-8 are replaced.
    pub name: String,
    pub kind: VolumeKind,
    pub lebs: u32,
    pub leb_bytes: u32,
    pub alignment_bytes: u32,
    /// Bytes of a static volume's data; the whole size of a dynamic one.
    pub used_bytes: u64,
    /// LEBs of a static volume are missing, or their check sums are wrong.
    pub corrupted: bool,
    /// An update was interrupted; only another update of the whole volume makes it usable again.
    pub update_interrupted: bool,
}

impl VolumeInfo {
    pub(crate) fn of(volume: &VolumeState, leb_bytes: u32) -> VolumeInfo {
        VolumeInfo {
            id: volume.id,
            name: String::from_utf8_lossy(&volume.name).into_owned(),
            kind: volume.kind,
            lebs: volume.lebs(),
            leb_bytes: volume.usable_leb_bytes(leb_bytes),
            alignment_bytes: volume.alignment_bytes,
            used_bytes: volume.used_bytes,
            corrupted: volume.corrupted,
            update_interrupted: volume.update_interrupted,
        }
    }
}

/// An open volume; clones are cheap. After the volume was removed or the device detached every call answers
/// [`UbiError::NoVolume`].
#[derive(Clone)]
pub struct Volume {
    pub(crate) device: Rc<RefCell<Device>>,
    pub(crate) id: u32,
    pub(crate) birth_number: u64,
    sim: Sim,
    /// How long what is written is expected to stay.
    life: DataLife,
}

impl Volume {
    pub(crate) fn open(device: &Rc<RefCell<Device>>, id: u32) -> Result<Volume, UbiError> {
        let volume = Volume::unchecked(device, id)?;
        let mut state = device.borrow_mut();
        if !state.volume(id)?.checked {
            let is_whole = state.check_volume(id)?;
            let volume = state.volume_mut(id)?;
            volume.checked = true;
            volume.corrupted |= !is_whole;
        }
        Ok(volume)
    }

    /// The same without a look at the check sums of a static volume.
    pub(crate) fn unchecked(device: &Rc<RefCell<Device>>, id: u32) -> Result<Volume, UbiError> {
        let state = device.borrow();
        if id >= state.slots() {
            return Err(UbiError::NoVolume);
        }
        let birth_number = state.volume(id)?.birth_number;
        Ok(Volume { device: device.clone(), id, birth_number, sim: state.sim.clone(), life: DataLife::default() })
    }

    /// The volume for another mount than that to which the device belongs.
    pub fn for_mount(self, sim: Sim) -> Volume {
        Volume { sim, ..self }
    }

    /// What is written from now on is expected to stay so long. Only kernels before 3.7 ask ([`crate::UbiOptions::asks_data_life`]).
    pub fn expect(&mut self, life: DataLife) {
        self.life = life;
    }

    /// Of the mount that uses it.
    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    fn of<'a>(&self, device: &'a Device) -> Result<&'a VolumeState, UbiError> {
        device.volume(self.id).and_then(|volume| {
            if volume.birth_number == self.birth_number {
                Ok(volume)
            } else {
                Err(UbiError::NoVolume)
            }
        })
    }

    // ---- what it is ----------------------------------------------------------------------------------------

    pub fn id(&self) -> u32 {
        self.id
    }

    pub fn info(&self) -> Result<VolumeInfo, UbiError> {
        let device = self.device.borrow();
        Ok(VolumeInfo::of(self.of(&device)?, device.io.layout.leb_bytes))
    }

    /// Name of the volume; empty when the volume was removed.
    pub fn name(&self) -> String {
        self.info().map(|info| info.name).unwrap_or_default()
    }

    /// Number of LEBs; 0 when the volume was removed.
    pub fn lebs(&self) -> u32 {
        self.of(&self.device.borrow()).map_or(0, VolumeState::lebs)
    }

    /// Usable bytes of a LEB; 0 when the volume is gone.
    pub fn leb_bytes(&self) -> u32 {
        let device = self.device.borrow();
        self.of(&device).map_or(0, |volume| volume.usable_leb_bytes(device.io.layout.leb_bytes))
    }

    pub fn is_static(&self) -> bool {
        self.of(&self.device.borrow()).is_ok_and(|volume| volume.kind == VolumeKind::Static)
    }

    /// Unit of writes: a page.
    pub fn min_io_bytes(&self) -> u32 {
        self.device.borrow().io.layout.min_io_bytes
    }

    /// The same as [`Volume::min_io_bytes`].
    pub fn min_write_bytes(&self) -> u32 {
        self.min_io_bytes()
    }

    /// The size of write that suits the device best (`mtd->writebufsize`): a page on NAND, the write buffer or the page of NOR.
    pub fn max_write_bytes(&self) -> u32 {
        let device = self.device.borrow();
        device.io.mtd.capabilities().write_buffer_bytes.max(device.io.layout.min_io_bytes)
    }

    /// A scheduling point inside the user of the volume (`cond_resched`). Only UBI's thread may get the CPU here; other
    /// tasks wait for a scheduling point outside, where the file system is not in the middle of an operation.
    #[inline]
    pub fn cond_resched(&self) {
        self.device.borrow_mut().let_thread_run();
    }

    // ---- for observers of a simulation ---------------------------------------------------------------------

    /// Reads the cells of a part of a LEB for an observer: no operation, no time, no ECC. Unmapped LEBs read as 0xFF.
    pub fn look(&self, leb: u32, offset_bytes: u32, buffer: &mut [u8]) -> Result<(), UbiError> {
        let device = self.device.borrow();
        let peb = *self.of(&device)?.pebs.get(leb as usize).ok_or(UbiError::BadRange)?;
        if peb == UNMAPPED {
            buffer.fill(0xFF);
            return Ok(());
        }
        device.io.look_at_data(peb, offset_bytes, buffer)
    }

    // ---- reading and writing -------------------------------------------------------------------------------

    /// Reads a part of a LEB. An unmapped LEB reads as 0xFF. With [`UbiError::Uncorrectable`] the buffer has been
    /// filled nevertheless. When ECC had to correct bits, the LEB is moved to another block in the background.
    pub fn read(&self, leb: u32, offset_bytes: u32, buffer: &mut [u8]) -> Result<(), UbiError> {
        let mut device = self.device.borrow_mut();
        let volume = self.of(&device)?;
        let end = u64::from(offset_bytes) + buffer.len() as u64;
        if leb >= volume.used_lebs {
            return Err(UbiError::BadRange);
        }
        let is_last_of_static = volume.kind == VolumeKind::Static && leb + 1 == volume.used_lebs;
        let usable = volume.usable_leb_bytes(device.io.layout.leb_bytes);
        let limit = if is_last_of_static { volume.last_leb_bytes } else { usable };
        if end > u64::from(limit) {
            return Err(UbiError::BadRange);
        }
        if volume.update_interrupted {
            return Err(UbiError::UpdateInterrupted);
        }
        if buffer.is_empty() {
            return Ok(());
        }
        let result = device.read_leb(self.id, leb, offset_bytes, buffer, false);
        if result == Err(UbiError::Uncorrectable) {
            let volume = device.volume_mut(self.id)?;
            volume.corrupted |= volume.kind == VolumeKind::Static;
        }
        result
    }

    /// Calls `f` after checking that the LEB may be written.
    fn change_with(
        &self,
        leb: u32,
        f: impl FnOnce(&mut Device) -> Result<(), UbiError>,
        fits: impl FnOnce(&Device, u32) -> bool,
    ) -> Result<(), UbiError> {
        let mut device = self.device.borrow_mut();
        let volume = self.of(&device)?;
        if volume.kind == VolumeKind::Static {
            return Err(UbiError::ReadOnly);
        }
        let usable = volume.usable_leb_bytes(device.io.layout.leb_bytes);
        if leb >= volume.lebs() || !fits(&device, usable) {
            return Err(UbiError::BadRange);
        }
        if volume.update_interrupted {
            return Err(UbiError::UpdateInterrupted);
        }
        f(&mut device)
    }

    /// Writes whole pages of a LEB of a dynamic volume. Pages must be written in order, each once between two unmaps of
    /// the LEB; UBI does not check this.
    pub fn write(&self, leb: u32, offset_bytes: u32, data: &[u8]) -> Result<(), UbiError> {
        let write = |device: &mut Device| {
            if data.is_empty() {
                return Ok(());
            }
            device.write_leb(self.id, leb, Piece { offset: offset_bytes, data, life: self.life })
        };
        self.change_with(leb, write, |device, usable| {
            let page = device.io.layout.min_io_bytes;
            let end = u64::from(offset_bytes) + data.len() as u64;
            offset_bytes.is_multiple_of(page) && data.len().is_multiple_of(page as usize) && end <= u64::from(usable)
        })
    }

    /// Replaces the content of a LEB of a dynamic volume by whole pages. After a power cut a mapped LEB has the old or
    /// the new content; an unmapped one may have a part of the new content. Without data nothing happens.
    pub fn change(&self, leb: u32, data: &[u8]) -> Result<(), UbiError> {
        let change = |device: &mut Device| {
            if data.is_empty() {
                return Ok(());
            }
            device.change_leb(self.id, leb, data, self.life)
        };
        self.change_with(leb, change, |device, usable| {
            data.len().is_multiple_of(device.io.layout.min_io_bytes as usize) && data.len() <= usable as usize
        })
    }

    /// Maps a LEB to an empty erase block at once.
    pub fn map(&self, leb: u32) -> Result<(), UbiError> {
        let map = |device: &mut Device| {
            let is_mapped = self.of(device)?.pebs[leb as usize] != UNMAPPED;
            if is_mapped {
                return Err(UbiError::AlreadyMapped);
            }
            device.write_leb(self.id, leb, Piece { offset: 0, data: &[], life: self.life })
        };
        self.change_with(leb, map, |_, _| true)
    }

    /// Unmaps a LEB, which is empty then. Its block is erased in the background; after a power cut or a detach before
    /// that erase the old content may be back.
    pub fn unmap(&self, leb: u32) -> Result<(), UbiError> {
        self.change_with(leb, |device| device.unmap_leb(self.id, leb), |_, _| true)
    }

    /// Empties a LEB and erases its block before it returns.
    pub fn erase(&self, leb: u32) -> Result<(), UbiError> {
        let erase = |device: &mut Device| {
            device.unmap_leb(self.id, leb)?;
            device.flush(Some(self.id), Some(leb))
        };
        self.change_with(leb, erase, |_, _| true)
    }

    /// Whether the LEB is mapped; `false` also when there is no such LEB.
    pub fn is_mapped(&self, leb: u32) -> bool {
        let device = self.device.borrow();
        self.of(&device).is_ok_and(|volume| volume.pebs.get(leb as usize).is_some_and(|&peb| peb != UNMAPPED))
    }

    /// Erase counter of the block that holds the LEB; 0: it is not mapped, or there is no such LEB.
    pub fn erases_of(&self, leb: u32) -> u32 {
        let device = self.device.borrow();
        let peb = self.of(&device).ok().and_then(|volume| volume.pebs.get(leb as usize).copied());
        peb.filter(|&peb| peb != UNMAPPED).map_or(0, |peb| device.wear.erases[peb as usize])
    }

    /// Does all works that wait for the background thread on behalf of this volume (`ubi_flush`).
    pub fn flush(&self) -> Result<(), UbiError> {
        let mut device = self.device.borrow_mut();
        self.of(&device)?;
        device.flush(Some(self.id), None)
    }

    /// Replaces the whole content, the only way to write a static volume. Not atomic.
    pub fn update(&self, data: &[u8]) -> Result<(), UbiError> {
        let mut device = self.device.borrow_mut();
        self.of(&device)?;
        device.update_volume(self.id, data)
    }
}
