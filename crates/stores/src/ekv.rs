//! ekv: sorted files of records, which are merged level by level (a tree of logs).

use crate::causes::{self, COMMIT, COMPACTION, DELETION, GET, ITERATE, SET};
use crate::config::{demand_block, demand_blocks, demand_nor, ConfigError};
use crate::flash::{now, unless_cut, Flash};
use crate::StoreError;
use ekv::config::{MAX_KEY_SIZE, MAX_PAGE_COUNT, MAX_VALUE_SIZE, PAGE_SIZE};
use ekv::flash::PageID;
use ekv::{CommitError, CursorError, Database, Error, MountError, ReadError, WriteError};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use ffslab_fs::causes::{FORMATTING, MOUNT_SCAN};
use ffslab_fs::{Errno, KeyValueStore, Result};
use ffslab_mtd::{Capabilities, Mtd, MtdError};
use ffslab_sim::{Reason, Sim};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The configuration of ekv at run time. Its sizes are set when it is compiled (`ekv::config`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EkvConfig {
    /// Which free page is taken first after a mount. `None`: another one each time, which follows from what the medium has gone through.
    pub random_seed: Option<u32>,
}

pub(crate) const NAME: &str = "ekv";
/// `ALIGN` of its `config.rs`, and `write_header` of `page.rs`.
const NO_NAND: &str = "it writes in units of 4 bytes at most, and the header in front of an erase block last";
/// It keeps pages free for its compaction (`MIN_FREE_PAGE_COUNT` of `config.rs`), and needs some for data.
const PAGES_MIN: u32 = 16;
/// The most erase blocks, as it is compiled here.
pub const PAGES_MAX: u32 = MAX_PAGE_COUNT as u32;

impl EkvConfig {
    /// # Errors
    /// The medium does not suit what ekv was compiled for.
    pub fn check(&self, medium: &Capabilities) -> std::result::Result<(), ConfigError> {
        demand_nor(NAME, NO_NAND, medium)?;
        demand_block(NAME, medium, &[PAGE_SIZE as u32])?;
        demand_blocks(NAME, medium, PAGES_MIN, PAGES_MAX)
    }

    /// Memory that it takes: its state, with buffers for pages, and a buffer for a value.
    pub fn memory_bytes() -> u64 {
        (size_of::<Database<Pages, NoopRawMutex>>() + MAX_VALUE_SIZE) as u64
    }
}

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Formatting,
    Mounting,
    Get,
    Iterate,
    /// A record goes into a new file; files are merged before, if pages or names of files are short.
    Write,
    /// The new file becomes valid.
    Commit,
}

/// What ekv does. Of its own it says nothing, so that this follows from the order of its operations (`write` and `do_compact` of
/// `record.rs`): a record that is written fits into memory until the commit, so that reads and programs before that are those of a
/// merge, and a merge ends with an entry in the page that lists the files.
struct Doing {
    phase: Cell<Phase>,
    deletes: Cell<bool>,
    merges: Cell<bool>,
    /// The last operation was an entry in the list of files.
    has_listed: Cell<bool>,
    /// Pages that list, or listed, files.
    lists: RefCell<BTreeSet<usize>>,
}

/// In front of a page that lists files (`MetaHeader` of `file.rs`).
const LIST_MAGIC: [u8; 4] = 0x1d81_bcde_u32.to_le_bytes();

impl Doing {
    fn begins(&self, phase: Phase) {
        self.phase.set(phase);
        self.merges.set(false);
        self.has_listed.set(false);
    }

    /// Of what the program itself has written.
    fn own(&self) -> &'static Reason {
        if self.deletes.get() {
            &DELETION
        } else {
            &SET
        }
    }

    fn note_header(&self, page: usize, offset: usize, data: &[u8]) {
        if offset == 0 && data.starts_with(&LIST_MAGIC) {
            self.lists.borrow_mut().insert(page);
        }
    }

    fn reason_of_read(&self) -> &'static Reason {
        self.has_listed.set(false);
        match self.phase.get() {
            Phase::Formatting => &FORMATTING,
            Phase::Mounting => &MOUNT_SCAN,
            Phase::Get => &GET,
            Phase::Iterate => &ITERATE,
            Phase::Write => {
                self.merges.set(true);
                &COMPACTION
            }
            Phase::Commit => &COMMIT,
        }
    }

    fn reason_of_program(&self, page: usize) -> &'static Reason {
        let lists = self.lists.borrow().contains(&page);
        self.has_listed.set(lists);
        match self.phase.get() {
            Phase::Formatting => &FORMATTING,
            Phase::Write => &COMPACTION,
            _ if lists => &COMMIT,
            _ => self.own(),
        }
    }

    fn reason_of_erase(&self, page: usize) -> &'static Reason {
        self.lists.borrow_mut().remove(&page);
        match self.phase.get() {
            Phase::Formatting => &FORMATTING,
            Phase::Write if self.merges.get() && !self.has_listed.get() => &COMPACTION,
            Phase::Write => self.own(),
            _ => &COMMIT,
        }
    }
}

/// The partition as ekv sees it.
struct Pages {
    flash: Rc<Flash>,
    doing: Rc<Doing>,
}

fn place(page: PageID, offset: usize) -> u64 {
    (page.index() * PAGE_SIZE + offset) as u64
}

impl ekv::flash::Flash for Pages {
    type Error = MtdError;

    fn page_count(&self) -> usize {
        self.flash.mtd.blocks() as usize
    }

    async fn erase(&mut self, page: PageID) -> std::result::Result<(), MtdError> {
        let why = self.doing.reason_of_erase(page.index());
        unless_cut(self.flash.erase(why, place(page, 0), place(page, PAGE_SIZE))).await
    }

    async fn read(&mut self, page: PageID, offset: usize, data: &mut [u8]) -> std::result::Result<(), MtdError> {
        let why = self.doing.reason_of_read();
        let read = self.flash.read(why, place(page, offset), data);
        self.doing.note_header(page.index(), offset, data);
        unless_cut(read).await
    }

    async fn write(&mut self, page: PageID, offset: usize, data: &[u8]) -> std::result::Result<(), MtdError> {
        self.doing.note_header(page.index(), offset, data);
        let why = self.doing.reason_of_program(page.index());
        unless_cut(self.flash.program(why, place(page, offset), data)).await
    }
}

struct Ekv {
    db: Database<Pages, NoopRawMutex>,
    flash: Rc<Flash>,
    doing: Rc<Doing>,
}

fn on(medium: &Mtd, config: &EkvConfig, phase: Phase) -> std::result::Result<Ekv, StoreError> {
    config.check(medium.capabilities())?;
    causes::register(medium.sim());
    let flash = Rc::new(Flash::new(medium.clone()));
    let doing = Rc::new(Doing {
        phase: Cell::new(phase),
        deletes: Cell::default(),
        merges: Cell::default(),
        has_listed: Cell::default(),
        lists: RefCell::default(),
    });
    let mut at_run_time = ekv::Config::default();
    // A different number at each mount, and the same in each run of an experiment.
    at_run_time.random_seed = config.random_seed.unwrap_or(medium.modifying_operations() as u32 ^ 0x9e37_79b9);
    let pages = Pages { flash: flash.clone(), doing: doing.clone() };
    Ok(Ekv { db: Database::new(pages, at_run_time), flash, doing })
}

/// Makes an empty store.
///
/// Errors: the medium does not suit it, or fails.
pub fn format(medium: &Mtd, config: &EkvConfig) -> std::result::Result<(), StoreError> {
    let ekv = on(medium, config, Phase::Formatting)?;
    let made = now(ekv.db.format()).map_err(|_| StoreError::Medium(MtdError::PowerCut))?;
    made.map_err(|ekv::FormatError::Flash(error)| StoreError::Medium(error))
}

/// Reads the headers of all pages, and which files there are.
///
/// Errors: the medium does not suit it, or holds no such store.
pub fn mount(medium: &Mtd, config: &EkvConfig) -> std::result::Result<Box<dyn KeyValueStore>, StoreError> {
    let ekv = on(medium, config, Phase::Mounting)?;
    let mounted = now(ekv.db.mount()).map_err(|_| StoreError::Medium(MtdError::PowerCut))?;
    mounted.map_err(|error| match error {
        MountError::Corrupted => StoreError::NoStore { name: NAME },
        MountError::Flash(error) => StoreError::Medium(error),
    })?;
    Ok(Box::new(ekv))
}

impl Ekv {
    /// Errors: the medium has no power, and what ekv has in memory is of no use any more.
    fn is_on(&self) -> Result<()> {
        if self.flash.mtd.is_on() {
            Ok(())
        } else {
            Err(Errno::PowerCut)
        }
    }

    fn written(&self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        self.is_on()?;
        self.doing.deletes.set(value.is_none());
        self.doing.begins(Phase::Write);
        now(async {
            let mut transaction = self.db.write_transaction().await;
            let written = match value {
                Some(value) => transaction.write(key, value).await,
                None => transaction.delete(key).await,
            };
            written.map_err(|error| match error {
                WriteError::KeyTooBig => Errno::NameTooLong,
                WriteError::ValueTooBig => Errno::TooBig,
                WriteError::Full => Errno::NoSpc,
                WriteError::Flash(_) => self.flash.medium_errno(),
                WriteError::NotSorted | WriteError::TransactionCanceled | WriteError::Corrupted => Errno::Io,
            })?;
            self.doing.begins(Phase::Commit);
            transaction.commit().await.map_err(|error| match error {
                CommitError::Flash(_) => self.flash.medium_errno(),
                CommitError::TransactionCanceled | CommitError::Corrupted => Errno::Io,
            })
        })?
    }
}

impl KeyValueStore for Ekv {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sim(&self) -> &Sim {
        self.flash.mtd.sim()
    }

    fn key_bytes_max(&self) -> usize {
        MAX_KEY_SIZE
    }

    fn value_bytes_max(&self) -> usize {
        MAX_VALUE_SIZE
    }

    /// A transaction of one write.
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.written(key, Some(value))
    }

    fn get(&mut self, key: &[u8]) -> Result<Vec<u8>> {
        self.is_on()?;
        self.doing.begins(Phase::Get);
        let mut value = vec![0; MAX_VALUE_SIZE];
        let read = now(async { self.db.read_transaction().await.read(key, &mut value).await })?;
        let bytes = read.map_err(|error| match error {
            ReadError::KeyNotFound => Errno::NoEnt,
            ReadError::KeyTooBig => Errno::NameTooLong,
            ReadError::Flash(_) => self.flash.medium_errno(),
            ReadError::BufferTooSmall | ReadError::Corrupted => Errno::Io,
        })?;
        value.truncate(bytes);
        Ok(value)
    }

    /// A key that is not there is no error: what says that it is gone is written all the same.
    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.written(key, None)
    }

    fn iterate(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        self.is_on()?;
        self.doing.begins(Phase::Iterate);
        let (mut key, mut value) = (vec![0; MAX_KEY_SIZE], vec![0; MAX_VALUE_SIZE]);
        now(async {
            let transaction = self.db.read_transaction().await;
            let mut cursor = transaction.read_all().await.map_err(|error| match error {
                Error::Flash(_) => self.flash.medium_errno(),
                Error::Corrupted => Errno::Io,
            })?;
            let next = |error| match error {
                CursorError::Flash(_) => self.flash.medium_errno(),
                _ => Errno::Io,
            };
            while let Some((key_bytes, value_bytes)) = cursor.next(&mut key, &mut value).await.map_err(next)? {
                each(&key[..key_bytes], &value[..value_bytes]);
            }
            Ok(())
        })?
    }
}
