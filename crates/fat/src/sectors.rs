//! The stream of bytes that the crate reads and writes, over sectors that a translation brings to flash.
//!
//! The crate asks for single bytes and words of entries, so some sectors stay in memory, as `fscommon::BufStream` keeps one. A whole sector that is
//! read or written goes past them. What was changed is written when its place is needed for another sector, or at a sync, in the
//! order in which it was changed first.

use crate::causes::{ENTRY, SPACE_COUNT, TABLE, VOLUME};
use ffslab_foreign::Below;
use ffslab_fs::causes;
use ffslab_mtd::MtdError;
use ffslab_sim::{Reason, Sim};
use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Range;
use std::rc::Rc;

/// Requests of the crate that a call may make on the smallest volume.
const REQUESTS_MIN: u64 = 1 << 20;

/// The call that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Format,
    Mount,
    Names,
    Read,
    Write,
    Sync,
    Space,
}

/// Where on the volume what stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    pub tables: Range<u64>,
    /// The root directory of FAT12 and FAT16 stands before it.
    pub clusters_from: u64,
}

struct Slot {
    sector: u64,
    data: Box<[u8]>,
    /// Why it is to be written, and the number of the change that made it so.
    changed: Option<(&'static Reason, u64)>,
    used: u64,
}

pub(crate) struct Sectors {
    below: Box<dyn Below>,
    sector_bytes: u64,
    size_bytes: u64,
    slots: RefCell<Vec<Slot>>,
    slots_max: usize,
    regions: RefCell<Regions>,
    work: Cell<Work>,
    /// Counts uses of slots.
    stamp: Cell<u64>,
    /// Requests of the crate that the call may still make: a damaged volume can have lists without an end.
    left: Cell<u64>,
    failure: Cell<Option<MtdError>>,
    /// Something was written since the last sync.
    is_unsynced: Cell<bool>,
    /// Nothing is written any more.
    is_over: Cell<bool>,
}

impl Sectors {
    pub fn new(below: Box<dyn Below>, slots_max: usize) -> Sectors {
        let sector_bytes = u64::from(below.program_bytes());
        let size_bytes = below.size_bytes() / sector_bytes * sector_bytes;
        Sectors {
            below,
            sector_bytes,
            size_bytes,
            slots: RefCell::new(Vec::with_capacity(slots_max)),
            slots_max: slots_max.max(1),
            regions: RefCell::default(),
            work: Cell::new(Work::Mount),
            stamp: Cell::new(0),
            left: Cell::new(0),
            failure: Cell::default(),
            is_unsynced: Cell::new(false),
            is_over: Cell::new(false),
        }
    }

    pub fn sim(&self) -> &Sim {
        self.below.sim()
    }

    pub fn sector_bytes(&self) -> u32 {
        self.sector_bytes as u32
    }

    pub fn set_regions(&self, regions: Regions) {
        self.regions.replace(regions);
    }

    /// A call begins. None needs more requests than four for each byte of a large volume.
    pub fn begin(&self, work: Work) {
        self.work.set(work);
        self.left.set(REQUESTS_MIN + self.size_bytes * 4);
        self.failure.set(None);
    }

    /// What the medium said last.
    pub fn failure(&self) -> Option<MtdError> {
        self.failure.get()
    }

    /// Nothing more is written, whatever the crate does when its objects end.
    pub fn end(&self) {
        self.is_over.set(true);
    }

    pub fn close(&self) -> Result<(), MtdError> {
        self.below.close()
    }

    fn reason(&self, at: u64, is_write: bool) -> &'static Reason {
        let regions = self.regions.borrow();
        match self.work.get() {
            Work::Format => return &causes::FORMATTING,
            Work::Mount => return &causes::MOUNT_SCAN,
            Work::Space => return &SPACE_COUNT,
            _ => {}
        }
        if at < regions.tables.start {
            return &VOLUME;
        }
        if at < regions.tables.end {
            return &TABLE;
        }
        match (self.work.get(), is_write) {
            _ if at < regions.clusters_from && is_write => &ENTRY,
            _ if at < regions.clusters_from => &causes::NAME_LOOKUP,
            (Work::Read, false) => &causes::READ,
            (Work::Write, true) => &causes::DATA,
            (Work::Write, false) => &causes::READ_MODIFY_WRITE,
            (Work::Names, false) => &causes::NAME_LOOKUP,
            // Of a file that is read, written or synced: the date, the size, the first cluster.
            _ => &ENTRY,
        }
    }

    fn told(&self, done: Result<(), MtdError>) -> io::Result<()> {
        done.map_err(|error| {
            self.failure.set(Some(error));
            io::Error::other("the medium failed")
        })
    }

    /// Errors: the call goes on without an end.
    fn spend(&self) -> io::Result<()> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| io::Error::other("a list of clusters has no end"))?;
        self.left.set(left);
        Ok(())
    }

    fn write_back(&self, slot: &mut Slot) -> io::Result<()> {
        let Some((reason, _)) = slot.changed else { return Ok(()) };
        let _why = self.sim().because(reason);
        self.told(self.below.program(slot.sector * self.sector_bytes, &slot.data))?;
        self.is_unsynced.set(true);
        slot.changed = None;
        Ok(())
    }

    /// Lets `body` have a sector in memory.
    fn with_slot<R>(&self, sector: u64, body: impl FnOnce(&mut Slot) -> R) -> io::Result<R> {
        let stamp = self.stamp.get() + 1;
        self.stamp.set(stamp);
        let mut slots = self.slots.borrow_mut();
        let held = slots.iter().position(|slot| slot.sector == sector);
        let number = match held {
            Some(number) => number,
            None => self.load(&mut slots, sector)?,
        };
        let slot = &mut slots[number];
        slot.used = stamp;
        Ok(body(slot))
    }

    /// Reads a sector into the slot that was used the longest time ago.
    fn load(&self, slots: &mut Vec<Slot>, sector: u64) -> io::Result<usize> {
        const NOTHING: u64 = u64::MAX;
        if slots.len() < self.slots_max {
            let data = vec![0; self.sector_bytes as usize].into();
            slots.push(Slot { sector: NOTHING, data, changed: None, used: 0 });
        }
        let number = (0..slots.len()).min_by_key(|&number| slots[number].used).unwrap_or(0);
        let slot = &mut slots[number];
        self.write_back(slot)?;
        slot.sector = NOTHING;
        slot.used = 0;
        let at = sector * self.sector_bytes;
        let _why = self.sim().because(self.reason(at, false));
        self.told(self.below.read(at, &mut slot.data))?;
        slot.sector = sector;
        Ok(number)
    }

    /// Whole sectors, past those in memory.
    fn read_whole(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let _why = self.sim().because(self.reason(at, false));
        self.told(self.below.read(at, into))?;
        let first = at / self.sector_bytes;
        for slot in self.slots.borrow().iter().filter(|slot| slot.changed.is_some()) {
            let place = slot.sector.checked_sub(first).map(|behind| (behind * self.sector_bytes) as usize);
            if let Some(part) = place.and_then(|start| into.get_mut(start..start + slot.data.len())) {
                part.copy_from_slice(&slot.data);
            }
        }
        Ok(())
    }

    fn write_whole(&self, at: u64, data: &[u8]) -> io::Result<()> {
        let (first, end) = (at / self.sector_bytes, (at + data.len() as u64) / self.sector_bytes);
        self.slots.borrow_mut().retain(|slot| !(first..end).contains(&slot.sector));
        let _why = self.sim().because(self.reason(at, true));
        self.told(self.below.program(at, data))?;
        self.is_unsynced.set(true);
        Ok(())
    }

    /// How many of `bytes` from `at` on go in one piece, and whether they are whole sectors.
    fn piece(&self, at: u64, bytes: usize) -> (usize, bool) {
        let (inside, rest) = (at % self.sector_bytes, bytes as u64);
        if inside == 0 && rest >= self.sector_bytes {
            ((rest / self.sector_bytes * self.sector_bytes) as usize, true)
        } else {
            (rest.min(self.sector_bytes - inside) as usize, false)
        }
    }

    fn place(&self, at: u64, bytes: usize) -> Range<usize> {
        let start = (at % self.sector_bytes) as usize;
        start..start + bytes
    }

    /// What was changed is on flash.
    pub fn flush(&self) -> io::Result<()> {
        if self.is_over.get() {
            return Ok(());
        }
        let mut slots = self.slots.borrow_mut();
        let oldest = |slots: &[Slot]| {
            let changed = slots.iter().enumerate().filter_map(|(number, slot)| Some((slot.changed?.1, number)));
            changed.min().map(|(_, number)| number)
        };
        while let Some(number) = oldest(&slots) {
            self.write_back(&mut slots[number])?;
        }
        if self.is_unsynced.replace(false) {
            self.told(self.below.sync())?;
        }
        Ok(())
    }
}

/// The stream.
pub(crate) struct Disk {
    sectors: Rc<Sectors>,
    at: u64,
}

impl Disk {
    pub fn new(sectors: Rc<Sectors>) -> Disk {
        Disk { sectors, at: 0 }
    }

    fn room(&self, bytes: usize) -> usize {
        bytes.min(self.sectors.size_bytes.saturating_sub(self.at) as usize)
    }
}

impl io::Read for Disk {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (sectors, all) = (&self.sectors, self.room(into.len()));
        sectors.spend()?;
        let mut rest = &mut into[..all];
        while !rest.is_empty() {
            let (bytes, is_whole) = sectors.piece(self.at, rest.len());
            let (part, others) = rest.split_at_mut(bytes);
            if is_whole {
                sectors.read_whole(self.at, part)?
            } else {
                let place = sectors.place(self.at, bytes);
                let sector = self.at / sectors.sector_bytes;
                sectors.with_slot(sector, |slot| part.copy_from_slice(&slot.data[place]))?;
            }
            self.at += bytes as u64;
            rest = others;
        }
        Ok(all)
    }
}

impl io::Write for Disk {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let (sectors, all) = (&self.sectors, self.room(data.len()));
        sectors.spend()?;
        if sectors.is_over.get() {
            return Ok(data.len());
        }
        let mut rest = &data[..all];
        while !rest.is_empty() {
            let (bytes, is_whole) = sectors.piece(self.at, rest.len());
            let (part, others) = rest.split_at(bytes);
            if is_whole {
                sectors.write_whole(self.at, part)?
            } else {
                let (place, reason) = (sectors.place(self.at, bytes), sectors.reason(self.at, true));
                sectors.with_slot(self.at / sectors.sector_bytes, |slot| {
                    slot.data[place].copy_from_slice(part);
                    let first = slot.changed.map_or(slot.used, |(_, first)| first);
                    slot.changed = Some((reason, first));
                })?;
            }
            self.at += bytes as u64;
            rest = others;
        }
        Ok(all)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sectors.flush()
    }
}

impl io::Seek for Disk {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let at = match to {
            io::SeekFrom::Start(at) => Some(at),
            io::SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
            io::SeekFrom::End(offset) => self.sectors.size_bytes.checked_add_signed(offset),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
