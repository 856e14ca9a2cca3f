//! No translation: a sector lies where its number says, as in small firmware. A write of a part of an erase block reads the block, erases and
//! programs it, so that a power cut can take all of its sectors.

use crate::device::Below;
use ffslab_fs::causes;
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::Sim;
use std::cell::RefCell;

pub(crate) struct Direct {
    flash: Mtd,
    sector_bytes: u32,
    /// An erase block.
    held: RefCell<Vec<u8>>,
}

impl Direct {
    pub fn new(flash: Mtd, sector_bytes: u32) -> Direct {
        let held = RefCell::new(vec![0; flash.erase_block_bytes() as usize]);
        Direct { flash, sector_bytes, held }
    }

    /// Bytes within one erase block are replaced.
    fn replace(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        let block_bytes = u64::from(self.flash.erase_block_bytes());
        let block = at / block_bytes * block_bytes;
        let mut held = self.held.borrow_mut();
        if data.len() < held.len() {
            let _why = self.flash.sim().because(&causes::READ_MODIFY_WRITE);
            self.flash.read(block, &mut held)?;
        }
        let start = (at - block) as usize;
        held[start..start + data.len()].copy_from_slice(data);
        self.flash.erase(block)?;
        self.flash.write(block, &held)
    }
}

impl Below for Direct {
    fn sim(&self) -> &Sim {
        self.flash.sim()
    }

    fn size_bytes(&self) -> u64 {
        self.flash.size_bytes()
    }

    fn erase_block_bytes(&self) -> u32 {
        self.flash.erase_block_bytes()
    }

    fn program_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MtdError> {
        self.flash.read(at, into).map(drop)
    }

    fn program(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        let block_bytes = u64::from(self.flash.erase_block_bytes());
        let (mut at, mut rest) = (at, data);
        while !rest.is_empty() {
            let room_bytes = (block_bytes - at % block_bytes) as usize;
            let (part, others) = rest.split_at(room_bytes.min(rest.len()));
            self.replace(at, part)?;
            at += part.len() as u64;
            rest = others;
        }
        Ok(())
    }

    fn erase(&self, _at: u64, _bytes: u32) -> Result<(), MtdError> {
        Ok(())
    }
}
