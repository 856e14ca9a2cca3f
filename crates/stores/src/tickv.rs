//! TicKV of Tock: objects in the region that the hash of their key names, or in one beside it.

use crate::causes::{self, COLLECTION, DELETION, GET, SEARCH, SET};
use crate::config::{demand_block, demand_blocks, demand_nor, ConfigError};
use crate::flash::Flash;
use crate::StoreError;
use ffslab_fs::causes::{FORMATTING, MOUNT_SCAN};
use ffslab_fs::{Errno, KeyValueStore, Result};
use ffslab_mtd::{Capabilities, Mtd};
use ffslab_sim::{Reason, Sim};
use std::cell::Cell;
use tickv::success_codes::SuccessCode;
use tickv::{ErrorCode, FlashController, TicKV, MAIN_KEY};

pub(crate) const NAME: &str = "tickv";
/// `append_key` and `invalidate_key` of its `tickv.rs`.
const NO_NAND: &str = "its objects have any length and follow each other, and a bit of one that is deleted is cleared";
/// A region: an erase block.
const REGION_BYTES: usize = 4 << 10;
/// Header and check sum of an object (`HEADER_LENGTH`, `CHECK_SUM_LEN` of `tickv.rs`).
const OVERHEAD_BYTES: usize = 15;
/// Lengths have 12 bits, and the largest one stands for nothing written.
const VALUE_BYTES_MAX: usize = 0xFFE - OVERHEAD_BYTES;
const KEY_BYTES_MAX: usize = 255;
/// Regions at most: the hash takes 16 bits to find one.
pub const REGIONS_MAX: u32 = 1 << 16;

/// Errors: the medium does not suit it.
pub fn check(medium: &Capabilities) -> std::result::Result<(), ConfigError> {
    demand_nor(NAME, NO_NAND, medium)?;
    demand_block(NAME, medium, &[REGION_BYTES as u32])?;
    demand_blocks(NAME, medium, 2, REGIONS_MAX)
}

/// Memory that it takes: a region, which it reads as a whole.
pub fn memory_bytes() -> u64 {
    REGION_BYTES as u64
}

/// Which causes reads and programs have; an erase is garbage collection, or part of making the store.
#[derive(Clone, Copy)]
struct Why {
    read: &'static Reason,
    program: &'static Reason,
    erase: &'static Reason,
}

static MOUNTS: Why = Why { read: &MOUNT_SCAN, program: &FORMATTING, erase: &FORMATTING };
static READS: Why = Why { read: &GET, program: &DELETION, erase: &COLLECTION };
static WRITES: Why = Why { read: &SEARCH, program: &SET, erase: &COLLECTION };
static DELETES: Why = Why { read: &SEARCH, program: &DELETION, erase: &COLLECTION };
static COLLECTS: Why = Why { read: &COLLECTION, program: &COLLECTION, erase: &COLLECTION };

/// The partition as TicKV sees it.
struct Regions<'a> {
    flash: &'a Flash,
    why: Cell<Why>,
}

impl FlashController<REGION_BYTES> for Regions<'_> {
    fn read_region(&self, region: usize, into: &mut [u8; REGION_BYTES]) -> std::result::Result<(), ErrorCode> {
        let read = self.flash.read(self.why.get().read, (region * REGION_BYTES) as u64, into);
        read.map_err(|_| ErrorCode::ReadFail)
    }

    fn write(&self, address: usize, data: &[u8]) -> std::result::Result<(), ErrorCode> {
        let written = self.flash.program(self.why.get().program, address as u64, data);
        written.map_err(|_| ErrorCode::WriteFail)
    }

    fn erase_region(&self, region: usize) -> std::result::Result<(), ErrorCode> {
        let (from, to) = (region * REGION_BYTES, (region + 1) * REGION_BYTES);
        let erased = self.flash.erase(self.why.get().erase, from as u64, to as u64);
        erased.map_err(|_| ErrorCode::EraseFail)
    }
}

struct Tickv {
    flash: Flash,
    region: Box<[u8; REGION_BYTES]>,
}

/// SipHash-1-3 of the standard library, as the documentation of TicKV takes; the two hashes that TicKV forbids are avoided.
fn hashed(key: &[u8]) -> u64 {
    #[allow(deprecated)] // Its successor promises no results that stay the same.
    let mut hasher = std::hash::SipHasher::new();
    std::hash::Hasher::write(&mut hasher, key);
    std::hash::Hasher::finish(&hasher).clamp(1, u64::MAX - 1)
}

impl Tickv {
    /// Makes a call. TicKV keeps nothing in memory between calls, so that it is made anew for each.
    fn call<R>(
        &mut self,
        why: Why,
        body: impl FnOnce(&TicKV<'_, Regions<'_>, REGION_BYTES>) -> std::result::Result<R, ErrorCode>,
    ) -> Result<R> {
        let size_bytes = self.flash.mtd.size_bytes() as usize;
        let regions = Regions { flash: &self.flash, why: Cell::new(why) };
        let done = body(&TicKV::new(regions, &mut self.region, size_bytes));
        done.map_err(|error| match error {
            ErrorCode::KeyNotFound => Errno::NoEnt,
            ErrorCode::RegionFull | ErrorCode::FlashFull => Errno::NoSpc,
            ErrorCode::ObjectTooLarge => Errno::TooBig,
            ErrorCode::ReadFail | ErrorCode::WriteFail | ErrorCode::EraseFail => self.flash.medium_errno(),
            _ => Errno::Io,
        })
    }

    /// As `set` of the capsule `tickv.rs` of Tock does: what the key had is marked invalid, then the new value is appended; if there
    /// is no room, garbage is collected and it is tried once more.
    fn replace(
        store: &TicKV<'_, Regions<'_>, REGION_BYTES>,
        hash: u64,
        value: &[u8],
    ) -> std::result::Result<SuccessCode, ErrorCode> {
        let append = || match store.append_key(hash, value) {
            Err(ErrorCode::RegionFull | ErrorCode::FlashFull) => {
                store.controller.why.set(COLLECTS);
                store.garbage_collect()?;
                store.controller.why.set(WRITES);
                store.append_key(hash, value)
            }
            done => done,
        };
        match append() {
            Err(ErrorCode::KeyAlreadyExists) => {
                store.controller.why.set(DELETES);
                store.invalidate_key(hash)?;
                store.controller.why.set(WRITES);
                append()
            }
            done => done,
        }
    }
}

fn on(medium: &Mtd) -> std::result::Result<Tickv, StoreError> {
    check(medium.capabilities())?;
    causes::register(medium.sim());
    Ok(Tickv { flash: Flash::new(medium.clone()), region: Box::new([0; REGION_BYTES]) })
}

/// Makes an empty store: all is erased, and the key by which TicKV knows its flash is written.
///
/// Errors: the medium does not suit it, or fails.
pub fn format(medium: &Mtd) -> std::result::Result<(), StoreError> {
    let mut store = on(medium)?;
    store.flash.erase(&FORMATTING, 0, medium.size_bytes())?;
    store.initialise()
}

/// As a program does when it starts (`initialise` of `tickv.rs`): flash that does not have TicKV's own key is made empty.
///
/// Errors: the medium does not suit it, or fails.
pub fn mount(medium: &Mtd) -> std::result::Result<Box<dyn KeyValueStore>, StoreError> {
    let mut store = on(medium)?;
    store.initialise()?;
    Ok(Box::new(store))
}

impl Tickv {
    fn initialise(&mut self) -> std::result::Result<(), StoreError> {
        let made = self.call(MOUNTS, |store| store.initialise(hashed(MAIN_KEY)));
        made.map(drop).map_err(|error| StoreError::Stopped { name: NAME, error })
    }
}

impl KeyValueStore for Tickv {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sim(&self) -> &Sim {
        self.flash.mtd.sim()
    }

    /// TicKV knows hashes of keys alone.
    fn key_bytes_max(&self) -> usize {
        KEY_BYTES_MAX
    }

    fn value_bytes_max(&self) -> usize {
        VALUE_BYTES_MAX
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if value.len() > VALUE_BYTES_MAX {
            return Err(Errno::TooBig);
        }
        self.call(WRITES, |store| Tickv::replace(store, hashed(key), value)).map(drop)
    }

    fn get(&mut self, key: &[u8]) -> Result<Vec<u8>> {
        let mut value = vec![0; VALUE_BYTES_MAX];
        let (_, bytes) = self.call(READS, |store| store.get_key(hashed(key), &mut value))?;
        value.truncate(bytes);
        Ok(value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.call(DELETES, |store| store.invalidate_key(hashed(key))).map(drop)
    }

    /// It keeps hashes of keys, not keys.
    fn iterate(&mut self, _each: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        Err(Errno::NoSys)
    }
}
