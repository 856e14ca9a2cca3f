//! Dhara, of sources that a user has (`python/ffslab/foreign/dhara`).

use crate::c::sectors::{self, Sectors};
use crate::device::{Below, Device};
use crate::error::MountError;
use crate::libraries::{Libraries, LoadError};
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::Sim;
use std::cell::RefCell;
use std::fmt;
use std::path::Path;

/// The code of Dhara in a library.
#[derive(Clone, Copy)]
pub struct DharaCode(&'static sectors::Code);

static LOADED: Libraries<sectors::Code> = Libraries::new();

impl DharaCode {
    /// The code of a library.
    ///
    /// Errors: the file is none, or one of another ffslab.
    pub fn load(file: &Path) -> Result<DharaCode, LoadError> {
        LOADED.get(file, sectors::load).map(DharaCode)
    }
}

impl fmt::Debug for DharaCode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Dhara")
    }
}

pub(crate) struct Dhara {
    sim: Sim,
    sectors: RefCell<Sectors>,
    sector_bytes: u32,
    count: u32,
}

impl Dhara {
    pub fn open(code: DharaCode, flash: Mtd, gc_ratio: u32) -> Result<Dhara, MountError> {
        let (sim, sector_bytes) = (flash.sim().clone(), flash.capabilities().program_bytes);
        sim.register(&code.0.causes);
        let device = Device::new(Box::new(flash), &code.0.causes);
        let no_settings = MountError::Settings { fs: "dhara" };
        let mut sectors = Sectors::new(code.0, &[("gc_ratio", gc_ratio.into())], device).ok_or(no_settings.clone())?;
        let opened = sectors.open();
        debug_assert_eq!(opened, 0, "a journal that is not there is an empty one");
        if sectors.device().take_failure() == Some(MtdError::PowerCut) {
            return Err(MountError::Medium(MtdError::PowerCut));
        }
        let count = sectors.count();
        if count == 0 {
            return Err(no_settings);
        }
        Ok(Dhara { sim, sectors: RefCell::new(sectors), sector_bytes, count })
    }

    /// What a call of C gave back. Dhara says no more of a failure than that there is one.
    fn done(sectors: &Sectors, code: i64, otherwise: MtdError) -> Result<(), MtdError> {
        let failure = sectors.device().take_failure();
        match code {
            0.. => Ok(()),
            _ => Err(failure.filter(|failure| *failure == MtdError::PowerCut).unwrap_or(otherwise)),
        }
    }

    /// The numbers of the sectors of a request.
    fn numbers(&self, at: u64, bytes: usize) -> Result<std::ops::Range<u32>, MtdError> {
        let sector_bytes = u64::from(self.sector_bytes);
        let (first, end) = (at / sector_bytes, (at + bytes as u64) / sector_bytes);
        if end <= u64::from(self.count) {
            Ok(first as u32..end as u32)
        } else {
            Err(MtdError::OutOfRange)
        }
    }
}

impl Below for Dhara {
    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn size_bytes(&self) -> u64 {
        u64::from(self.count) * u64::from(self.sector_bytes)
    }

    fn erase_block_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn program_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MtdError> {
        let mut sectors = self.sectors.borrow_mut();
        let numbers = self.numbers(at, into.len())?;
        for (number, part) in numbers.zip(into.chunks_exact_mut(self.sector_bytes as usize)) {
            let code = sectors.read(number, part);
            Dhara::done(&sectors, code, MtdError::Uncorrectable)?;
        }
        Ok(())
    }

    fn program(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        let mut sectors = self.sectors.borrow_mut();
        let numbers = self.numbers(at, data.len())?;
        for (number, part) in numbers.zip(data.chunks_exact(self.sector_bytes as usize)) {
            let code = sectors.write(number, part);
            Dhara::done(&sectors, code, MtdError::ProgramFailed)?;
        }
        Ok(())
    }

    fn erase(&self, at: u64, bytes: u32) -> Result<(), MtdError> {
        let mut sectors = self.sectors.borrow_mut();
        for number in self.numbers(at, bytes as usize)? {
            let code = sectors.trim(number);
            Dhara::done(&sectors, code, MtdError::ProgramFailed)?;
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), MtdError> {
        let mut sectors = self.sectors.borrow_mut();
        let code = sectors.sync();
        Dhara::done(&sectors, code, MtdError::ProgramFailed)
    }

    fn close(&self) -> Result<(), MtdError> {
        self.sync()
    }
}
