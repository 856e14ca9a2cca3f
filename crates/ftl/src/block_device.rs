//! A block device: sectors over the pages of a translation layer, with a write buffer.
//!
//! What [`BlockDevice`] demands is what drivers of all systems know: read and write of sectors, flush, trim. RTEMS's SD card, USB
//! stick and RAM disk (`crates/rtems/src/device.rs`) are one concrete type and not yet behind this trait.

use thiserror::Error;

use crate::causes;
use crate::config::FtlError;
use crate::faults;
use crate::flash::Shape;
use crate::layer::Ftl;
use crate::write_buffer::{BufferRule, Leaving, WriteBuffer};

/// What goes wrong for the host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    #[error("the transfer ends beyond the last sector of the device")]
    OutOfRange,
    #[error("the transfer does not begin and end at sectors of {sector_bytes} bytes")]
    Unaligned { sector_bytes: u32 },
    #[error(transparent)]
    Ftl(#[from] FtlError),
}

impl DeviceError {
    pub fn is_power_cut(&self) -> bool {
        matches!(self, DeviceError::Ftl(error) if error.is_power_cut())
    }
}

/// A device of sectors.
pub trait BlockDevice {
    fn sector_bytes(&self) -> u32;

    fn sectors(&self) -> u64;

    /// Reads whole sectors.
    fn read(&mut self, sector: u64, data: &mut [u8]) -> Result<(), DeviceError>;

    /// Writes whole sectors. They last when [`BlockDevice::flush`] has returned.
    fn write(&mut self, sector: u64, data: &[u8]) -> Result<(), DeviceError>;

    /// Everything that was written or trimmed lasts when this returns.
    fn flush(&mut self) -> Result<(), DeviceError>;

    /// Whether [`BlockDevice::trim`] does anything.
    fn can_trim(&self) -> bool;

    /// The host does not need these sectors any more. A device forgets whole pages of its own only.
    fn trim(&mut self, sector: u64, sectors: u64) -> Result<(), DeviceError>;
}

/// Lets the layer do something. If it refuses, because it cannot go on, it tells why.
fn told<T>(ftl: &mut dyn Ftl, call: impl FnOnce(&mut dyn Ftl) -> Result<T, FtlError>) -> Result<T, DeviceError> {
    let answer = call(ftl);
    ftl.tell_refusal();
    Ok(answer?)
}

/// Sectors over a translation layer.
pub struct Disk {
    ftl: Box<dyn Ftl>,
    sector_bytes: u32,
    sectors_per_page: u32,
    buffer: WriteBuffer,
    spare: Vec<u8>,
}

impl Disk {
    /// Sectors of `sector_bytes`, which divide a page into 1 to 64 parts, over a device. With no page in the write buffer every
    /// write is on flash when it returns.
    ///
    /// # Errors
    /// Sectors of another size.
    pub fn new(ftl: Box<dyn Ftl>, sector_bytes: u32, buffer_pages: u32, rule: BufferRule) -> Result<Disk, DeviceError> {
        let Shape { page_bytes, pages_per_block, .. } = ftl.shape();
        if sector_bytes == 0 || !page_bytes.is_multiple_of(sector_bytes) || page_bytes / sector_bytes > u64::BITS {
            return Err(DeviceError::Unaligned { sector_bytes });
        }
        Ok(Disk {
            sectors_per_page: page_bytes / sector_bytes,
            spare: vec![0; page_bytes as usize],
            buffer: WriteBuffer::new(rule, buffer_pages, pages_per_block),
            sector_bytes,
            ftl,
        })
    }

    pub fn ftl(&self) -> &dyn Ftl {
        &*self.ftl
    }

    /// What the layer does while nobody wants anything of it; `false`: there is no more of it.
    ///
    /// Errors: as of a write.
    pub fn idle(&mut self) -> Result<bool, DeviceError> {
        told(&mut *self.ftl, |ftl| ftl.idle())
    }

    fn check(&self, sector: u64, bytes: usize) -> Result<(), DeviceError> {
        let sector_bytes = self.sector_bytes;
        if !bytes.is_multiple_of(sector_bytes as usize) {
            return Err(DeviceError::Unaligned { sector_bytes });
        }
        let sectors = (bytes / sector_bytes as usize) as u64;
        match sector.checked_add(sectors) {
            Some(end) if end <= self.sectors() => Ok(()),
            _ => Err(DeviceError::OutOfRange),
        }
    }

    /// The pages of a transfer: page, first sector in it, and bytes of the transfer.
    fn parts(&self, sector: u64, bytes: usize) -> impl Iterator<Item = (u32, u32, std::ops::Range<usize>)> {
        let (per_page, sector_bytes) = (u64::from(self.sectors_per_page), self.sector_bytes as usize);
        let mut at = 0;
        std::iter::from_fn(move || {
            if at == bytes {
                return None;
            }
            let now = sector + (at / sector_bytes) as u64;
            let first = (now % per_page) as u32;
            let end = bytes.min(at + (per_page as usize - first as usize) * sector_bytes);
            let part = (now / per_page) as u32;
            Some((part, first, std::mem::replace(&mut at, end)..end))
        })
    }

    fn all_sectors_bits(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.sectors_per_page)
    }

    fn bits_of(&self, first: u32, sectors: u32) -> u64 {
        (u64::MAX >> (u64::BITS - sectors)) << first
    }

    /// Makes room in the buffer: writes what leaves next.
    fn write_back(&mut self) -> Result<(), DeviceError> {
        match self.buffer.next() {
            None => Ok(()),
            Some(Leaving::Page(page)) => self.write_page(page),
            Some(Leaving::Block(block)) => self.write_block(block),
        }
    }

    /// Writes a page of the buffer, which does not hold it any more.
    ///
    /// If the rest of a page cannot be read, the sectors that were written have no page to go to: whoever made them leave is told, as a disk
    /// reports an error of an earlier command with a later one (deferred errors of SCSI), and the buffer does not keep them. A page that is written
    /// whole needs no rest.
    fn write_page(&mut self, page: u32) -> Result<(), DeviceError> {
        let missing_bits = match self.buffer.get(page) {
            Some(buffered) => self.all_sectors_bits() & !buffered.sectors_bits,
            None => return Ok(()),
        };
        if missing_bits != 0 && !faults::PARTIAL_PAGE_NOT_FILLED.is_seeded() {
            let filled = self.fill(page, missing_bits);
            if matches!(filled, Err(DeviceError::Ftl(FtlError::Uncorrectable { .. }))) {
                self.buffer.remove(page);
            }
            filled?;
        }
        if let Some(buffered) = self.buffer.get(page) {
            self.ftl.hint_request_pages(buffered.request_pages);
            told(&mut *self.ftl, |ftl| ftl.write(page, &buffered.data, false))?;
        }
        self.buffer.remove(page);
        Ok(())
    }

    /// Writes a logical block in order: what is buffered of it, and between that what is on flash already. A page that cannot be read
    /// any more stays where it is: it was lost before, and the rest of the block must not wait for it.
    fn write_block(&mut self, block: u32) -> Result<(), DeviceError> {
        let pages_per_block = self.ftl.shape().pages_per_block;
        let first = block * pages_per_block;
        let last = self.ftl.logical_pages().min(first + pages_per_block);
        for page in first..last {
            if faults::PADDING_OVERWRITES.is_seeded() {
                self.buffer.remove(page);
            }
            if let Some(buffered) = self.buffer.get_mut(page) {
                buffered.request_pages = last - first;
                self.write_page(page)?;
                continue;
            }
            let _reason = self.ftl.because(&causes::BLOCK_PADDING);
            self.ftl.hint_read_pages(0);
            let read = told(&mut *self.ftl, |ftl| ftl.read(page, &mut self.spare));
            self.ftl.settle_reads();
            match read {
                Err(DeviceError::Ftl(FtlError::Uncorrectable { .. })) => continue,
                read => read?,
            }
            self.ftl.hint_request_pages(last - first);
            told(&mut *self.ftl, |ftl| ftl.pad(page, &self.spare))?;
        }
        Ok(())
    }

    /// Reads the sectors of a buffered page that the host did not write.
    fn fill(&mut self, page: u32, missing_bits: u64) -> Result<(), DeviceError> {
        self.ftl.hint_read_pages(0);
        {
            let _reason = self.ftl.because(&causes::PAGE_FILL);
            told(&mut *self.ftl, |ftl| ftl.read(page, &mut self.spare))?;
            self.ftl.settle_reads();
        }
        let bytes = self.sector_bytes as usize;
        let all_bits = self.all_sectors_bits();
        if let Some(buffered) = self.buffer.get_mut(page) {
            let sectors = buffered.data.chunks_exact_mut(bytes).zip(self.spare.chunks_exact(bytes));
            for (sector, (to, from)) in sectors.enumerate() {
                if missing_bits >> sector & 1 == 1 {
                    to.copy_from_slice(from);
                }
            }
            buffered.sectors_bits = all_bits;
        }
        Ok(())
    }
}

impl BlockDevice for Disk {
    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn sectors(&self) -> u64 {
        u64::from(self.ftl.logical_pages()) * u64::from(self.sectors_per_page)
    }

    fn read(&mut self, sector: u64, data: &mut [u8]) -> Result<(), DeviceError> {
        self.check(sector, data.len())?;
        let bytes = self.sector_bytes as usize;
        let mut further_pages = self.parts(sector, data.len()).count() as u32;
        for (page, first, part) in self.parts(sector, data.len()) {
            further_pages -= 1;
            self.ftl.hint_read_pages(further_pages);
            let wanted_bits = self.bits_of(first, (part.len() / bytes) as u32);
            let held_bits = self.buffer.get(page).map_or(0, |buffered| buffered.sectors_bits);
            if wanted_bits & !held_bits != 0 {
                let _reason = self.ftl.because(&causes::HOST_READ);
                told(&mut *self.ftl, |ftl| ftl.read(page, &mut self.spare))?;
            }
            for (sector, target) in (first as usize..).zip(data[part].chunks_exact_mut(bytes)) {
                let range = sector * bytes..(sector + 1) * bytes;
                match self.buffer.get(page) {
                    Some(buffered) if held_bits >> sector & 1 == 1 => target.copy_from_slice(&buffered.data[range]),
                    _ => target.copy_from_slice(&self.spare[range]),
                }
            }
        }
        let _reason = self.ftl.because(&causes::HOST_READ);
        self.ftl.settle_reads();
        Ok(())
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> Result<(), DeviceError> {
        self.check(sector, data.len())?;
        let bytes = self.sector_bytes as usize;
        let request_pages = self.parts(sector, data.len()).count() as u32;
        for (page, first, part) in self.parts(sector, data.len()) {
            let written_bits = self.bits_of(first, (part.len() / bytes) as u32);
            while self.buffer.get(page).is_none() && self.buffer.is_full() {
                self.write_back()?;
            }
            let buffered = self.buffer.write(page, self.spare.len());
            let at = first as usize * bytes;
            buffered.data[at..at + part.len()].copy_from_slice(&data[part]);
            buffered.sectors_bits |= written_bits;
            buffered.request_pages = request_pages;
            if self.buffer.waits_for_nothing() {
                self.write_page(page)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        let mut lost = Ok(());
        let pages_per_block = self.ftl.shape().pages_per_block;
        let first_block = self.buffer.next_of_flush().map(|page| page / pages_per_block);
        while let Some(page) = self.buffer.next_of_flush() {
            let is_of_another =
                faults::FLUSH_WRITES_ONE_BLOCK.is_seeded() && Some(page / pages_per_block) != first_block;
            if is_of_another || faults::FLUSH_LEAVES_BUFFER.is_seeded() {
                break;
            }
            match self.write_page(page) {
                // What can be written is written, then the host is told of what could not.
                Err(error @ DeviceError::Ftl(FtlError::Uncorrectable { .. })) => lost = lost.and(Err(error)),
                written => written?,
            }
        }
        told(&mut *self.ftl, |ftl| ftl.flush())?;
        lost
    }

    fn can_trim(&self) -> bool {
        self.ftl.can_trim()
    }

    fn trim(&mut self, sector: u64, sectors: u64) -> Result<(), DeviceError> {
        let end = sector.checked_add(sectors).filter(|&end| end <= self.sectors()).ok_or(DeviceError::OutOfRange)?;
        if !self.can_trim() {
            return Ok(());
        }
        let per_page = u64::from(self.sectors_per_page);
        for page in sector.div_ceil(per_page)..end / per_page {
            let page = page as u32;
            self.buffer.remove(page);
            told(&mut *self.ftl, |ftl| ftl.trim(page))?;
        }
        Ok(())
    }
}
