//! Reads, writes and erases of physical erase blocks (PEBs), and their headers.
//!
//! Follows Linux 6.1 `drivers/mtd/ubi/io.c`: failed reads and erases are tried three times more; a header is written
//! with zeros to the end of its sub-page or page; what could not be written is read for the kernel's log (`ubi_dump_flash`
//! of `debug.c`). The read-backs that its debug checks would do are not done.

use crate::causes;
use ffslab_mtd::{is_erased, Corrected, Mtd, MtdError, Upkeep};

use crate::error::UbiError;
use crate::media::{vid_header_offset, EcHeader, NoHeader, VidHeader, HEADER_BYTES};
use crate::options::Layout;

/// `UBI_IO_RETRIES`
pub const RETRIES: u32 = 3;
/// The patterns with which a doubtful block is tested (`io.c`, `patterns`).
const TORTURE_PATTERNS: [u8; 3] = [0xA5, 0x5A, 0x00];

/// What was found at the place of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// `flipped`: ECC corrected so many bits that the block should be scrubbed.
    Header {
        header: T,
        flipped: bool,
    },
    Erased {
        flipped: bool,
    },
    /// `uncorrectable`: ECC could not correct what was read.
    Garbage {
        uncorrectable: bool,
    },
}

/// Whether ECC had to correct so many bits that the block should be scrubbed.
pub type Flipped = bool;

pub struct Io {
    pub mtd: Mtd,
    pub layout: Layout,
    /// Nothing is written any more, because of an error, or because an internal volume requires it.
    pub read_only: bool,
    pub image_number: u32,
    /// See [`crate::UbiOptions::reads_failed_writes`].
    reads_failed_writes: bool,
    /// Buffer for the unit of programming that holds a header.
    header_unit: Box<[u8]>,
}

impl Io {
    pub fn new(mtd: Mtd, layout: Layout, reads_failed_writes: bool) -> Io {
        let header_unit = vec![0; layout.header_bytes as usize].into_boxed_slice();
        Io { mtd, layout, read_only: layout.is_read_only(), image_number: 0, reads_failed_writes, header_unit }
    }

    fn address(&self, peb: u32, offset: u32) -> u64 {
        u64::from(peb) * u64::from(self.layout.peb_bytes) + u64::from(offset)
    }

    // ---- data ----------------------------------------------------------------------------------------------

    /// Reads from byte `offset` of a PEB. With [`UbiError::Uncorrectable`] the buffer has been filled.
    pub fn read(&self, peb: u32, offset: u32, buffer: &mut [u8]) -> Result<Flipped, UbiError> {
        let at = self.address(peb, offset);
        let mut retries = 0;
        loop {
            match self.mtd.read(at, buffer) {
                Ok(Corrected::Clean) => return Ok(false),
                Ok(Corrected::BitFlips(_)) => return Ok(true),
                Err(MtdError::PowerCut) => return Err(UbiError::PowerCut),
                Err(error) if retries == RETRIES => return Err(error.into()),
                Err(_) => retries += 1,
            }
        }
    }

    /// Reads from byte `offset` of the LEB that a PEB holds.
    pub fn read_data(&self, peb: u32, offset: u32, buffer: &mut [u8]) -> Result<Flipped, UbiError> {
        self.read(peb, offset + self.layout.offsets.data_offset, buffer)
    }

    /// See [`ffslab_mtd::Mtd::look`].
    pub fn look_at_data(&self, peb: u32, offset: u32, buffer: &mut [u8]) -> Result<(), UbiError> {
        Ok(self.mtd.look(self.address(peb, offset + self.layout.offsets.data_offset), buffer)?)
    }

    /// Bytes of a LEB up to the last page that is programmed; for observers.
    pub fn look_at_written_bytes(&self, peb: u32) -> Result<u32, UbiError> {
        let pages = self.mtd.look_at_written_pages(self.address(peb, 0))?;
        Ok((pages * self.mtd.page_bytes()).saturating_sub(self.layout.offsets.data_offset))
    }

    /// Writes whole pages from byte `offset` of the LEB that a PEB holds.
    pub fn write_data(&self, peb: u32, offset: u32, data: &[u8]) -> Result<(), UbiError> {
        self.check_writable()?;
        self.write(self.address(peb, offset + self.layout.offsets.data_offset), data)
    }

    /// Writes whole pages.
    fn write(&self, at: u64, data: &[u8]) -> Result<(), UbiError> {
        let written = self.mtd.write(at, data).map_err(|error| self.after_failed_write(at, data.len(), error));
        self.offer_cpu();
        written
    }

    /// A driver that polls offers the CPU while it still holds the chip, which UBI's thread needs.
    fn offer_cpu(&self) {
        let sim = self.mtd.sim();
        if sim.config().polls_with_resched {
            sim.finds_chip_taken(&causes::UBI_THREAD);
        }
    }

    /// What the kernel's log gets of a place that could not be written. Nobody looks at what the read says.
    fn after_failed_write(&self, at: u64, bytes: usize, error: MtdError) -> UbiError {
        if self.reads_failed_writes && error != MtdError::PowerCut {
            let _why = self.mtd.sim().because(&causes::RECOVERY);
            let _ = self.mtd.read(at, &mut vec![0; bytes]);
        }
        error.into()
    }

    fn check_writable(&self) -> Result<(), UbiError> {
        if self.read_only {
            Err(UbiError::ReadOnly)
        } else {
            Ok(())
        }
    }

    // ---- headers -------------------------------------------------------------------------------------------

    pub fn read_ec_header(&mut self, peb: u32) -> Result<Found<EcHeader>, UbiError> {
        let offsets = self.layout.offsets;
        self.read_header(peb, 0, 0, |bytes| EcHeader::decode(bytes, offsets))
    }

    /// After an invalid erase counter header: the offset of the volume identifier header that it states, if that
    /// differs from the one of this attach.
    pub fn other_vid_header_offset(&self) -> Option<u32> {
        vid_header_offset(&self.header_unit).filter(|&offset| offset != self.layout.offsets.vid_header_offset)
    }

    pub fn read_vid_header(&mut self, peb: u32) -> Result<Found<VidHeader>, UbiError> {
        let (shift, leb_bytes) = (self.layout.vid_header_shift(), self.layout.leb_bytes);
        let unit_at = self.layout.offsets.vid_header_offset - shift as u32;
        self.read_header(peb, unit_at, shift, |bytes| VidHeader::decode(bytes, leb_bytes))
    }

    fn read_header<T>(
        &mut self,
        peb: u32,
        unit_at: u32,
        shift: usize,
        decode: impl FnOnce(&[u8]) -> Result<T, NoHeader>,
    ) -> Result<Found<T>, UbiError> {
        let mut unit = std::mem::take(&mut self.header_unit);
        let read = self.read(peb, unit_at, &mut unit[..shift + HEADER_BYTES]);
        let bytes = &unit[shift..shift + HEADER_BYTES];
        let decoded = decode(bytes);
        let erased = is_erased(bytes);
        self.header_unit = unit;
        let (flipped, uncorrectable) = match read {
            Ok(flipped) => (flipped, false),
            Err(UbiError::Uncorrectable) => (true, true),
            Err(error) => return Err(error),
        };
        Ok(match decoded {
            Ok(header) => Found::Header { header, flipped },
            Err(NoHeader::Magic) if erased && !uncorrectable => Found::Erased { flipped },
            Err(NoHeader::Magic) => Found::Garbage { uncorrectable },
            Err(NoHeader::Crc) => Found::Garbage { uncorrectable: flipped },
            Err(NoHeader::Content) => return Err(UbiError::BadHeader),
        })
    }

    pub fn write_ec_header(&mut self, peb: u32, erases: u32) -> Result<(), UbiError> {
        self.header_unit.fill(0);
        let header = EcHeader { erases, image_number: self.image_number };
        header.encode(self.layout.offsets, &mut self.header_unit);
        self.write_header_unit(peb, 0)
    }

    pub fn write_vid_header(&mut self, peb: u32, header: &VidHeader) -> Result<(), UbiError> {
        let shift = self.layout.vid_header_shift();
        self.header_unit.fill(0);
        header.encode(&mut self.header_unit[shift..]);
        self.write_header_unit(peb, self.layout.offsets.vid_header_offset - shift as u32)
    }

    fn write_header_unit(&self, peb: u32, unit_at: u32) -> Result<(), UbiError> {
        self.check_writable()?;
        let at = self.address(peb, unit_at);
        if self.layout.header_bytes.is_multiple_of(self.layout.min_io_bytes) {
            return self.write(at, &self.header_unit);
        }
        let written = self.mtd.write_partial(at, &self.header_unit);
        self.offer_cpu();
        written.map_err(|error| self.after_failed_write(at, self.header_unit.len(), error))
    }

    // ---- erasing -------------------------------------------------------------------------------------------

    fn erase_once(&self, peb: u32) -> Result<(), UbiError> {
        self.check_writable()?;
        let mut retries = 0;
        loop {
            match self.mtd.erase(self.address(peb, 0)) {
                Ok(()) => return Ok(()),
                Err(MtdError::PowerCut) => return Err(UbiError::PowerCut),
                Err(error) if retries == RETRIES => return Err(error.into()),
                Err(_) => retries += 1,
            }
        }
    }

    /// Makes the headers of a PEB invalid before its erase, on a medium on which an erase that is cut off could leave them
    /// intact (`nor_erase_prepare`): that of the erase counter first, since a block with that header alone would count as
    /// corrupted.
    fn invalidate_headers(&mut self, peb: u32) -> Result<(), UbiError> {
        let offsets = self.layout.offsets;
        if matches!(self.read_ec_header(peb), Ok(Found::Header { .. }) | Err(UbiError::BadHeader)) {
            self.write(self.address(peb, 0), &[0; 4])?;
        }
        if matches!(self.read_vid_header(peb), Ok(Found::Header { .. }) | Err(UbiError::BadHeader)) {
            self.write(self.address(peb, offsets.vid_header_offset), &[0; 4])?;
        }
        Ok(())
    }

    /// Begins to erase a PEB whose thread sleeps meanwhile. See [`ffslab_mtd::Medium::begin_erase`]; what a medium that
    /// erases by itself cannot begin is not tried again.
    pub fn begin_erase(&mut self, peb: u32) -> Result<Option<u64>, UbiError> {
        self.check_writable()?;
        if !self.mtd.capabilities().torn_erase_may_keep_start {
            return self.erase_once(peb).map(|()| None);
        }
        self.invalidate_headers(peb)?;
        Ok(self.mtd.begin_erase(self.address(peb, 0))?)
    }

    /// When the erase of a PEB ends that was begun; `None`: it has ended.
    pub fn erase_goes_on(&self, peb: u32) -> Option<u64> {
        self.mtd.erase_goes_on(self.address(peb, 0))
    }

    /// Erases a PEB, after testing it if `torture`. Returns the number of erases; [`UbiError::Io`]: the block is bad.
    pub fn erase(&mut self, peb: u32, torture: bool, buffer: &mut [u8]) -> Result<u32, UbiError> {
        self.check_writable()?;
        if self.mtd.capabilities().torn_erase_may_keep_start {
            self.invalidate_headers(peb)?;
        }
        let tests = if torture { self.torture(peb, buffer)? } else { 0 };
        self.erase_once(peb)?;
        Ok(tests + 1)
    }

    /// Tests a doubtful block with several patterns (`torture_peb`); `buffer` has the size of a PEB.
    fn torture(&self, peb: u32, buffer: &mut [u8]) -> Result<u32, UbiError> {
        let _why = self.mtd.sim().because(&causes::RECOVERY);
        self.mtd.note(Upkeep::Torture);
        for pattern in TORTURE_PATTERNS {
            self.erase_once(peb)?;
            self.expect_pattern(peb, 0xFF, buffer)?;
            buffer.fill(pattern);
            self.write(self.address(peb, 0), buffer)?;
            self.expect_pattern(peb, pattern, buffer)?;
        }
        Ok(TORTURE_PATTERNS.len() as u32)
    }

    /// Reads the block back. A block that needs ECC right after it was erased or written counts as bad.
    fn expect_pattern(&self, peb: u32, pattern: u8, buffer: &mut [u8]) -> Result<(), UbiError> {
        match self.read(peb, 0, buffer) {
            Ok(false) if buffer.iter().all(|&byte| byte == pattern) => Ok(()),
            Ok(_) | Err(UbiError::Uncorrectable) => Err(UbiError::Io),
            Err(error) => Err(error),
        }
    }

    pub fn is_bad(&self, peb: u32) -> bool {
        self.mtd.ask_bad(self.address(peb, 0))
    }

    /// Nothing where blocks cannot be bad.
    pub fn mark_bad(&self, peb: u32) -> Result<(), UbiError> {
        self.check_writable()?;
        if !self.mtd.capabilities().has_bad_blocks {
            return Ok(());
        }
        let _why = self.mtd.sim().because(&causes::RECOVERY);
        Ok(self.mtd.mark_bad(self.address(peb, 0))?)
    }
}
