//! The medium with the page that waits in memory: reading, programming, the clock. It knows nothing of nodes in use.
//!
//! Follows `fs/jffs2/os-linux.h`, of `wbuf.c` `jffs2_flash_read`, and, of RTEMS cf811a4eb2,
//! `cpukit/libfs/src/jffs2/src/flashio.c` (`jffs2_flash_direct_writev`).

use ffslab_fs::{Errno, Result};
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::{Sim, Work};

use crate::format::{pad, Endian};
use crate::medium::Manner;
use crate::options::Options;
use crate::wbuf::WriteBuffer;

pub struct Flash {
    pub mtd: Mtd,
    /// How the medium wants to be used. Superseded nodes are not marked during the mount, as in the kernel.
    pub manner: Manner,
    pub sim: Sim,
    pub options: Options,
    pub endian: Endian,
    pub block_bytes: u32,
    pub bytes: u32,
    pub page_bytes: u32,
    pub wbuf: WriteBuffer,
}

impl Flash {
    pub fn new(mtd: Mtd, options: Options) -> Flash {
        let (block_bytes, page_bytes) = (mtd.erase_block_bytes(), mtd.page_bytes());
        Flash {
            manner: Manner { marks_obsolete: false, ..Manner::of(&mtd, options.summary) },
            sim: mtd.sim().clone(),
            options,
            endian: options.endian,
            block_bytes,
            bytes: mtd.blocks() * block_bytes,
            page_bytes,
            wbuf: WriteBuffer::new(page_bytes),
            mtd,
        }
    }

    /// Reads from flash; bytes that are still in the write buffer come from there (`jffs2_flash_read`). Bit errors that
    /// ECC could not correct are found by the check sums of the nodes.
    #[inline]
    pub fn read(&self, offset: u32, data: &mut [u8]) -> Result<()> {
        match self.mtd.read(u64::from(offset), data) {
            Ok(_) | Err(MtdError::Uncorrectable) => {}
            Err(error) => return Err(errno(&error)),
        }
        self.wbuf.overlay(offset, self.block_bytes, data);
        Ok(())
    }

    /// Looks at bytes that stand in the processor's memory ([`Manner::looks_in_memory`]).
    pub fn fetch(&self, offset: u32, data: &mut [u8]) -> Result<()> {
        self.mtd.fetch(u64::from(offset), data).map_err(|error| errno(&error))
    }

    /// Reads bytes, or looks at them where they stand if the processor sees them.
    pub fn read_or_fetch(&self, offset: u32, data: &mut [u8]) -> Result<()> {
        if self.manner.looks_in_memory {
            self.fetch(offset, data)
        } else {
            self.read(offset, data)
        }
    }

    /// Writes a node (`jffs2_flash_direct_writev`): Linux leaves it to the driver how often it programs, RTEMS writes each part
    /// with one write, padded to whole words.
    pub fn write_directly(&self, to: u32, parts: [&[u8]; 2]) -> Result<()> {
        if !self.options.direct {
            return self.mtd.write_parts(u64::from(to), parts).map_err(|error| errno(&error));
        }
        let mut at = u64::from(to);
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let bytes = pad(part.len() as u32) as usize;
            let written = if bytes == part.len() {
                self.mtd.write(at, part)
            } else {
                let mut padded = part.to_vec();
                padded.resize(bytes, 0);
                self.mtd.write(at, &padded)
            };
            written.map_err(|error| errno(&error))?;
            at += bytes as u64;
        }
        Ok(())
    }

    /// Charges the CPU for writing or reading a node: all its bytes are moved, and each is covered by one of its check
    /// sums.
    #[inline]
    pub fn node_work(&self, work: Work, bytes: usize) {
        self.sim.work(work, bytes);
        self.sim.work(Work::Crc, bytes);
    }

    /// The tick counter. That of RTEMS begins at 0, that of Linux five minutes before it wraps around to 0.
    #[inline]
    pub fn jiffies(&self) -> u32 {
        if self.options.direct {
            (self.sim.now_ns() / self.sim.tick_ns()) as u32
        } else {
            self.sim.jiffies()
        }
    }
}

/// The error of a system call that follows from a failed flash operation.
pub fn errno(error: &MtdError) -> Errno {
    match error {
        MtdError::PowerCut => Errno::PowerCut,
        _ => Errno::Io,
    }
}
