//! Chunks with their tags on the MTD partition.
//!
//! Follows `yaffs_tagsmarshall.c` and `yaffs_mtdif_multi.c`. A chunk is one page; its tags lie in the free OOB bytes, or,
//! in-band, in the last 16 bytes of the page's data area. Blocks and chunks are counted from 0 here.

use ffslab_fs::{Errno, Result};
use ffslab_mtd::{Corrected, Mtd, MtdError};
use ffslab_sim::Work;

use crate::options::{Generation, Options};
use crate::tags::{EccResult, Tags, TAGS_BYTES};
use crate::tags_ecc::{self, Checked, ECC_BYTES};

/// Packed tags with ECC.
pub const OOB_BYTES: usize = TAGS_BYTES + ECC_BYTES;

pub struct Medium {
    mtd: Mtd,
    page_bytes: u32,
    block_bytes: u64,
    tags_ecc: bool,
    inband: bool,
    /// Corrected bit errors prioritise the block. Sources before the fix compared with the wrong sign and ignored such
    /// errors.
    notices_fixed: bool,
    /// Buffer for a whole page, for in-band tags.
    page: Box<[u8]>,
}

impl Medium {
    /// The partition, for observers.
    pub fn mtd(&self) -> &Mtd {
        &self.mtd
    }

    pub fn new(mtd: Mtd, options: &Options) -> Medium {
        let page_bytes = mtd.page_bytes();
        Medium {
            page_bytes,
            block_bytes: u64::from(mtd.erase_block_bytes()),
            tags_ecc: options.tags_ecc,
            inband: options.inband_tags,
            notices_fixed: options.generation == Generation::Today,
            page: vec![0; if options.inband_tags { page_bytes as usize } else { 0 }].into_boxed_slice(),
            mtd,
        }
    }

    /// Bytes of the page that a chunk lies in.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Bytes of a chunk that hold data.
    pub fn data_bytes(&self) -> u32 {
        self.page_bytes - if self.inband { TAGS_BYTES as u32 } else { 0 }
    }

    fn place(&self, chunk: u32) -> u64 {
        u64::from(chunk) * u64::from(self.page_bytes)
    }

    fn oob_bytes(&self) -> usize {
        if self.tags_ecc {
            OOB_BYTES
        } else {
            TAGS_BYTES
        }
    }

    /// Reads a chunk's data ([`Medium::data_bytes`] of them) and its tags.
    pub fn read(&mut self, chunk: u32, data: &mut [u8]) -> Result<Tags> {
        let at = self.place(chunk);
        self.mtd.sim().work(Work::NodeRead, data.len());
        if self.inband {
            return self.read_inband(at, Some(data));
        }
        let mut oob = [0xFF; OOB_BYTES];
        let count = self.oob_bytes();
        let ecc = self.ecc_of(self.mtd.read_page_with_oob(at, data, &mut oob[..count]))?;
        Ok(self.unpack(&oob, ecc))
    }

    /// Reads a chunk's tags alone. In-band this takes the whole page.
    pub fn read_tags(&mut self, chunk: u32) -> Result<Tags> {
        let at = self.place(chunk);
        self.mtd.sim().work(Work::NodeRead, 0);
        if self.inband {
            return self.read_inband(at, None);
        }
        let mut oob = [0xFF; OOB_BYTES];
        let count = self.oob_bytes();
        let ecc = self.ecc_of(self.mtd.read_oob_free(at, &mut oob[..count]).map(|()| Corrected::Clean))?;
        Ok(self.unpack(&oob, ecc))
    }

    fn read_inband(&mut self, at: u64, data: Option<&mut [u8]>) -> Result<Tags> {
        let data_bytes = self.data_bytes() as usize;
        let read = self.mtd.read(at, &mut self.page);
        let ecc = self.ecc_of(read)?;
        if let Some(data) = data {
            data.copy_from_slice(&self.page[..data_bytes]);
        }
        let mut packed = [0; TAGS_BYTES];
        packed.copy_from_slice(&self.page[data_bytes..]);
        Ok(Tags { ecc, ..Tags::unpack(&packed) })
    }

    fn ecc_of(&self, read: std::result::Result<Corrected, MtdError>) -> Result<EccResult> {
        match read {
            Ok(Corrected::Clean) => Ok(EccResult::NoError),
            Ok(Corrected::BitFlips(_)) if !self.notices_fixed => Ok(EccResult::NoError),
            Ok(Corrected::BitFlips(_)) => Ok(EccResult::Fixed),
            Err(MtdError::PowerCut) => Err(Errno::PowerCut),
            Err(_) => Ok(EccResult::Unfixed),
        }
    }

    fn unpack(&self, oob: &[u8; OOB_BYTES], ecc: EccResult) -> Tags {
        let (mut packed, mut code) = ([0; TAGS_BYTES], [0; ECC_BYTES]);
        packed.copy_from_slice(&oob[..TAGS_BYTES]);
        code.copy_from_slice(&oob[TAGS_BYTES..]);
        let is_erased = packed[..4] == [0xFF; 4];
        let of_tags = if self.tags_ecc && !is_erased {
            match tags_ecc::correct(&mut packed, &code) {
                Checked::Right => EccResult::NoError,
                Checked::Corrected => EccResult::Fixed,
                Checked::Wrong => EccResult::Unfixed,
            }
        } else {
            EccResult::NoError
        };
        Tags { ecc: ecc.max(of_tags), ..Tags::unpack(&packed) }
    }

    /// Programs a chunk with its tags. `false`: the chip reports a failure.
    pub fn write(&mut self, chunk: u32, data: &[u8], tags: &Tags) -> Result<bool> {
        let at = self.place(chunk);
        self.mtd.sim().work(Work::NodeWrite, data.len());
        let packed = tags.pack();
        let written = if self.inband {
            let data_bytes = data.len();
            self.page[..data_bytes].copy_from_slice(data);
            self.page[data_bytes..].copy_from_slice(&packed);
            self.mtd.write(at, &self.page)
        } else {
            let mut oob = [0; OOB_BYTES];
            oob[..TAGS_BYTES].copy_from_slice(&packed);
            oob[TAGS_BYTES..].copy_from_slice(&tags_ecc::compute(&packed));
            self.mtd.write_page_with_oob(at, data, &oob[..self.oob_bytes()])
        };
        success(written)
    }

    /// Erases a block. `false`: the chip reports a failure, or the block is bad.
    pub fn erase(&mut self, block: u32) -> Result<bool> {
        success(self.mtd.erase(u64::from(block) * self.block_bytes))
    }

    pub fn is_bad(&self, block: u32) -> bool {
        self.mtd.ask_bad(u64::from(block) * self.block_bytes)
    }

    /// Marks a block bad. `false`: that failed, too.
    pub fn mark_bad(&mut self, block: u32) -> Result<bool> {
        success(self.mtd.mark_bad(u64::from(block) * self.block_bytes))
    }
}

fn success(result: std::result::Result<(), MtdError>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(MtdError::PowerCut) => Err(Errno::PowerCut),
        Err(_) => Ok(false),
    }
}
