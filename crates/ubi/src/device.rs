//! What UBI holds in memory about an attached partition.

use std::collections::VecDeque;

use ffslab_sim::Sim;

use crate::error::UbiError;
use crate::io::Io;
use crate::media::{LebAddress, Record, VolumeKind, LAYOUT_VOLUME, RECORD_BYTES};
use crate::options::{BadReserve, UbiOptions};
use crate::wear::Wear;

/// The LEB has no erase block.
pub const UNMAPPED: u32 = u32::MAX;

/// A volume.
pub struct VolumeState {
    pub id: u32,
    /// Differs from the number of an earlier volume that had the same volume number.
    pub birth_number: u64,
    pub name: Vec<u8>,
    pub kind: VolumeKind,
    pub alignment_bytes: u32,
    pub pad_bytes: u32,
    /// How many LEBs hold data. In a dynamic volume all LEBs count.
    pub used_lebs: u32,
    pub last_leb_bytes: u32,
    pub used_bytes: u64,
    pub update_interrupted: bool,
    pub corrupted: bool,
    /// The CRCs of a static volume have been checked, or a check is not wanted.
    pub checked: bool,
    /// The erase block of each LEB (`eba_tbl`).
    pub pebs: Vec<u32>,
    /// By LEB, after an attach by a fastmap: nobody has looked yet whether its block still holds it (the inverse of `checkmap`).
    pub unproven: Vec<bool>,
    /// It is being removed, and no fastmap names it any more.
    pub is_leaving: bool,
}

impl VolumeState {
    pub fn lebs(&self) -> u32 {
        self.pebs.len() as u32
    }

    pub fn usable_leb_bytes(&self, leb_bytes: u32) -> u32 {
        leb_bytes - self.pad_bytes
    }

    /// Sets how many bytes and LEBs hold data. In a dynamic volume everything counts as used.
    pub fn set_content(&mut self, leb_bytes: u32, static_bytes: u64) {
        let usable = u64::from(self.usable_leb_bytes(leb_bytes));
        let bytes = match self.kind {
            VolumeKind::Dynamic => usable * self.pebs.len() as u64,
            VolumeKind::Static => static_bytes,
        };
        self.used_bytes = bytes;
        self.used_lebs = bytes.div_ceil(usable) as u32;
        self.last_leb_bytes = if bytes % usable == 0 { usable } else { bytes % usable } as u32;
    }
}

/// How the erase blocks of the partition are distributed.
#[derive(Debug)]
pub struct Space {
    pub good_pebs: u32,
    pub bad_pebs: u32,
    pub corrupted_pebs: u32,
    pub available_pebs: u32,
    pub reserved_pebs: u32,
    /// Blocks held in reserve for blocks that go bad; part of `reserved_pebs`.
    pub bad_reserve_pebs: u32,
    pub bad_reserve_level_pebs: u32,
    /// Good blocks that are left alone, because they are corrupted or belong to an unknown internal volume.
    pub kept_pebs: u32,
    /// `None`: no block can be bad, and none is kept for that (`bad_allowed`).
    rule: Option<BadReserve>,
    chip_blocks: u32,
}

impl Space {
    pub fn new(options: &UbiOptions, chip_blocks: u32, has_bad_blocks: bool) -> Space {
        Space {
            good_pebs: 0,
            bad_pebs: 0,
            corrupted_pebs: 0,
            available_pebs: 0,
            reserved_pebs: 0,
            bad_reserve_pebs: 0,
            bad_reserve_level_pebs: 0,
            kept_pebs: 0,
            rule: has_bad_blocks.then_some(options.bad_reserve),
            chip_blocks: options.chip_blocks.unwrap_or(chip_blocks),
        }
    }

    /// Reserves available blocks. Returns `false` when fewer are available.
    pub fn reserve(&mut self, pebs: u32) -> bool {
        if pebs > self.available_pebs {
            return false;
        }
        self.available_pebs -= pebs;
        self.reserved_pebs += pebs;
        self.audit();
        true
    }

    pub fn release(&mut self, pebs: u32) {
        self.reserved_pebs -= pebs;
        self.available_pebs += pebs;
        self.audit();
    }

    /// Own contradictions: every good block is available, reserved or left alone, and the reserve for bad blocks is a
    /// part of what is reserved.
    pub fn audit(&self) {
        let sum = self.available_pebs + self.reserved_pebs + self.kept_pebs;
        debug_assert_eq!(sum, self.good_pebs, "good PEBs: {self:?}");
        debug_assert!(self.bad_reserve_pebs <= self.reserved_pebs, "reserve for bad PEBs: {self:?}");
    }

    /// `ubi_calculate_reserved`
    pub fn calculate_level(&mut self) {
        let level = |rule: BadReserve| rule.level_pebs(self.chip_blocks, self.good_pebs, self.bad_pebs);
        self.bad_reserve_level_pebs = self.rule.map_or(0, level);
    }

    /// Fills the reserve for bad blocks as far as blocks are available (`ubi_update_reserved`).
    pub fn refill_bad_reserve(&mut self) {
        let wanted = self.bad_reserve_level_pebs.saturating_sub(self.bad_reserve_pebs).min(self.available_pebs);
        self.available_pebs -= wanted;
        self.reserved_pebs += wanted;
        self.bad_reserve_pebs += wanted;
        self.audit();
    }
}

pub struct Device {
    pub io: Io,
    pub sim: Sim,
    pub wear: Wear,
    pub space: Space,
    /// Indexed by volume number; the layout volume comes last.
    pub volumes: Vec<Option<VolumeState>>,
    /// The volume table as on flash.
    pub table: Vec<u8>,
    pub next_sequence_number: u64,
    pub next_birth_number: u64,
    /// The LEB whose writer is looking for a free block.
    pub locked_leb: Option<LebAddress>,
    /// Buffer with the size of a PEB; it is taken out while in use.
    pub buffer: Vec<u8>,
}

impl Device {
    pub fn slots(&self) -> u32 {
        self.io.layout.volume_slots()
    }

    /// Position in `volumes` (`vol_id2idx`).
    pub fn index_of(&self, id: u32) -> usize {
        if id == LAYOUT_VOLUME {
            self.slots() as usize
        } else {
            id as usize
        }
    }

    pub fn volume(&self, id: u32) -> Result<&VolumeState, UbiError> {
        self.volumes.get(self.index_of(id)).and_then(Option::as_ref).ok_or(UbiError::NoVolume)
    }

    pub fn volume_mut(&mut self, id: u32) -> Result<&mut VolumeState, UbiError> {
        let index = self.index_of(id);
        self.volumes.get_mut(index).and_then(Option::as_mut).ok_or(UbiError::NoVolume)
    }

    pub fn record(&self, id: u32) -> Record {
        Record::from_bytes(&self.table[id as usize * RECORD_BYTES..])
    }

    pub fn put_record(&mut self, id: u32, record: &Record) {
        let at = id as usize * RECORD_BYTES;
        self.table[at..at + RECORD_BYTES].copy_from_slice(record.bytes());
    }

    pub fn take_sequence_number(&mut self) -> u64 {
        let number = self.next_sequence_number;
        // Only a damaged image has numbers near the end of the range.
        self.next_sequence_number = number.wrapping_add(1);
        number
    }

    pub fn take_birth_number(&mut self) -> u64 {
        self.next_birth_number += 1;
        self.next_birth_number
    }

    pub fn check_writable(&self) -> Result<(), UbiError> {
        if self.io.read_only {
            Err(UbiError::ReadOnly)
        } else {
            Ok(())
        }
    }

    /// Calls `f` with the PEB buffer. Nothing that `f` calls may use the buffer as well.
    pub fn with_buffer<R>(&mut self, f: impl FnOnce(&mut Device, &mut [u8]) -> R) -> R {
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = f(self, &mut buffer);
        self.buffer = buffer;
        result
    }
}

/// The works that wait for the background thread, in the order in which it does them.
pub type Works = VecDeque<Work>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Erase(EraseWork),
    /// Move one LEB, because of wear or bit flips.
    Move,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EraseWork {
    pub peb_number: u32,
    /// The LEB that the block held.
    pub owner: Option<LebAddress>,
    pub torture: bool,
    /// The block was given back while data left by the setup of an experiment were written.
    pub for_setup: bool,
    /// The block was blank at attach: this erase and the first header count as formatting.
    pub formats: bool,
}
