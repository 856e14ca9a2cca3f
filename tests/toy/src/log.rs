//! The log: records on pages, in one of the two halves of the partition, and the way from one half into the other.

use ffslab_fs::{Errno, Ino, Result, PAGE_BYTES};
use ffslab_mtd::{Mtd, MtdError};
use serde::{Deserialize, Serialize};

/// First bytes of a record, before its CRC and its length.
pub const MAGIC: [u8; 8] = *b"toylog01";
const HEADER_BYTES: usize = 16;

/// What is said of an inode; the kind stands in the mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attributes {
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub device: u32,
    pub size_bytes: u64,
    /// Access, modification and change, in seconds since 1970 and nanoseconds.
    pub times_s_ns: [(i64, u32); 3],
    pub target: Vec<u8>,
}

/// What changes at once: after a power cut all of it is there or nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// Of the half; the greater one that is complete counts.
    pub generation: u32,
    /// With this record its half is complete.
    pub completes: bool,
    pub nodes: Vec<(Ino, Attributes)>,
    /// Directory, name, inode; 0 takes the name away.
    pub names: Vec<(Ino, Vec<u8>, Ino)>,
    /// File and page of the content behind the record, [`PAGE_BYTES`] each.
    pub pages: Vec<(Ino, u64)>,
}

/// A page of the flash, counted in the good blocks of a half.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub half_number: usize,
    pub offset: usize,
}

pub fn errno(error: MtdError) -> Errno {
    if error == MtdError::PowerCut {
        Errno::PowerCut
    } else {
        Errno::Io
    }
}

/// The bytes of a record, in whole pages of the flash, and where the content begins in them.
fn encoded(record: &Record, content: &[u8], page_bytes: usize) -> (Vec<u8>, usize) {
    let text = serde_json::to_vec(record).unwrap_or_default();
    let mut bytes = [&MAGIC[..], &[0; 8], &text, content].concat();
    let start = HEADER_BYTES + text.len();
    bytes[12..16].copy_from_slice(&(text.len() as u32).to_le_bytes());
    let crc = crc32fast::hash(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(page_bytes), 0);
    (bytes, start)
}

/// The record at the start of `bytes` and where its content begins; `None`: there is none, or its CRC is wrong.
pub fn decoded(bytes: &[u8]) -> Option<(Record, usize)> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if !bytes.starts_with(&MAGIC) {
        return None;
    }
    let start = HEADER_BYTES + word(12)? as usize;
    let record: Record = serde_json::from_slice(bytes.get(HEADER_BYTES..start)?).ok()?;
    let end = start + record.pages.len() * PAGE_BYTES;
    (crc32fast::hash(bytes.get(12..end)?) == word(8)?).then_some((record, start))
}

/// The two halves.
pub struct Log {
    pub mtd: Mtd,
    /// Where the good blocks of each begin.
    blocks: [Vec<u64>; 2],
    pub half_number: usize,
    pub generation: u32,
    /// The next page of the half that is written to.
    next_page: usize,
}

impl Log {
    pub fn new(mtd: Mtd) -> Log {
        let mut log = Log { mtd, blocks: [Vec::new(), Vec::new()], half_number: 0, generation: 0, next_page: 0 };
        log.look_for_good_blocks();
        log
    }

    fn look_for_good_blocks(&mut self) {
        let (middle, block_bytes) = (self.mtd.blocks() / 2, u64::from(self.mtd.erase_block_bytes()));
        let good = |blocks: std::ops::Range<u32>| {
            blocks.map(|block| u64::from(block) * block_bytes).filter(|&at| !self.mtd.is_bad(at)).collect()
        };
        self.blocks = [good(0..middle), good(middle..self.mtd.blocks())];
    }

    pub fn page_bytes(&self) -> usize {
        self.mtd.page_bytes() as usize
    }

    /// Pages of a half.
    pub fn pages(&self, half: usize) -> usize {
        self.blocks[half].len() * self.mtd.pages_per_block() as usize
    }

    pub fn pages_left(&self) -> usize {
        self.pages(self.half_number).saturating_sub(self.next_page)
    }

    fn address(&self, half: usize, page: usize) -> Option<u64> {
        let per_block = self.mtd.pages_per_block() as usize;
        Some(self.blocks[half].get(page / per_block)? + (page % per_block * self.page_bytes()) as u64)
    }

    /// Reads bytes of a half.
    pub fn read(&self, place: Place, mut into: &mut [u8]) -> Result<()> {
        let (mut at, page_bytes) = (place.offset, self.page_bytes());
        while !into.is_empty() {
            let (part, rest) = into.split_at_mut((page_bytes - at % page_bytes).min(into.len()));
            let page = self.address(place.half_number, at / page_bytes).ok_or(Errno::Io)?;
            self.mtd.read(page + (at % page_bytes) as u64, part).map_err(errno)?;
            (at, into) = (at + part.len(), rest);
        }
        Ok(())
    }

    /// Appends a record; gives the place of its content. Pages whose program fails are left behind.
    pub fn append(&mut self, mut record: Record, content: &[u8]) -> Result<Place> {
        record.generation = self.generation;
        let (bytes, start) = encoded(&record, content, self.page_bytes());
        'anew: loop {
            let first = self.next_page;
            for part in bytes.chunks(self.page_bytes()) {
                let at = self.address(self.half_number, self.next_page).ok_or(Errno::NoSpc)?;
                self.next_page += 1;
                match self.mtd.write(at, part) {
                    Ok(()) => {}
                    Err(MtdError::ProgramFailed) => continue 'anew,
                    Err(error) => return Err(errno(error)),
                }
            }
            return Ok(Place { half_number: self.half_number, offset: first * self.page_bytes() + start });
        }
    }

    /// Erases the other half and goes on there. What was read from this one stays readable.
    pub fn change_halves(&mut self) -> Result<()> {
        let other = 1 - self.half_number;
        for at in self.blocks[other].clone() {
            match self.mtd.erase(at) {
                Ok(()) => {}
                Err(MtdError::EraseFailed) => self.mtd.mark_bad(at).map_err(errno)?,
                Err(error) => return Err(errno(error)),
            }
        }
        self.blocks[other].retain(|&at| !self.mtd.is_bad(at));
        (self.half_number, self.generation, self.next_page) = (other, self.generation + 1, 0);
        Ok(())
    }

    /// Reads a half, in which writing goes on: its records in order, with the places of their content; and whether it is
    /// written at all. What a power cut tore, or what is damaged, is passed over.
    pub fn replay(&mut self, half: usize) -> Result<(Vec<(Record, Place)>, bool)> {
        let (page_bytes, mut records) = (self.page_bytes(), Vec::new());
        let mut bytes = vec![0xFF; self.pages(half) * page_bytes];
        let mut used = 0;
        for (page, part) in bytes.chunks_mut(page_bytes).enumerate() {
            let at = self.address(half, page).ok_or(Errno::Io)?;
            match self.mtd.reads_erased(at, part) {
                Ok(true) => part.fill(0xFF),
                Ok(false) => used = page + 1,
                // What can be seen of it now may not be there the next time.
                Err(MtdError::Uncorrectable) => {
                    part.fill(0xFF);
                    used = page + 1;
                }
                Err(error) => return Err(errno(error)),
            }
        }
        let mut page = 0;
        while page < used {
            let byte = page * page_bytes;
            match decoded(&bytes[byte..used * page_bytes]) {
                Some((record, start)) => {
                    let length = start + record.pages.len() * PAGE_BYTES;
                    records.push((record, Place { half_number: half, offset: byte + start }));
                    page += length.div_ceil(page_bytes);
                }
                None => page += 1,
            }
        }
        self.half_number = half;
        // A page whose program was cut may still look erased: it is left out.
        self.next_page = used + 1;
        Ok((records, used > 0))
    }
}
