//! The seam below all file systems: what a medium does, and what it can do.

use ffslab_flash::{ChipImage, Torn, Traffic};
use ffslab_sim::Sim;
use std::ops::Range;

use crate::error::{Corrected, MtdError, RestoreError, SaveError};
use crate::handle::Mtd;
use crate::health::{Health, Upkeep};
use crate::partition::{NandPartition, PartitionError};
use crate::spi_nand::Wiring;

/// What a medium can do. Everything above asks for these and never which medium it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Erase blocks of the partition.
    pub blocks: u32,
    /// Erase blocks of the whole chip: UBI keeps a part of all of them for bad ones.
    pub chip_blocks: u32,
    pub erase_block_bytes: u32,
    /// Smallest unit of a program: a page of NAND; 1 where any bytes can be programmed.
    pub program_bytes: u32,
    /// Smallest part of that unit that [`Medium::write_partial`] programs alone, with the rest left erased.
    pub partial_program_bytes: u32,
    /// What the driver programs most efficiently at once (`mtd->writebufsize`), a multiple of `program_bytes`.
    pub write_buffer_bytes: u32,
    /// Out-of-band bytes of each unit; 0: the medium has none.
    pub oob_bytes: u32,
    /// Those of them that neither ECC nor a bad block mark uses.
    pub oob_free_bytes: u32,
    /// What was programmed can be programmed again as often as one likes: each bit that is still 1 can be made 0
    /// (`MTD_BIT_WRITEABLE`). Otherwise a unit is programmed once and must be erased before the next time.
    pub clears_bits_again: bool,
    /// Erase blocks can be bad, and are marked so.
    pub has_bad_blocks: bool,
    /// A block whose erase was cut off can begin with what it held, although the rest is gone (NOR, `MTD_NORFLASH`).
    pub torn_erase_may_keep_start: bool,
    /// The processor sees all bytes in its memory, so that [`Medium::fetch`] can be used (`mtd_point`).
    pub in_memory: bool,
}

/// A copy of what a medium holds, switched off.
#[derive(Clone)]
pub enum MediumImage {
    /// Of a NAND chip, wear included.
    Chip(Box<ChipImage>),
    /// Of anything that has nothing but bytes.
    Bytes(Vec<u8>),
}

/// A partition of a medium below file systems. Addresses are bytes from its start.
///
/// What a medium lacks keeps the default: [`MtdError::NotSupported`] for an operation, nothing for a count.
pub trait Medium {
    fn sim(&self) -> &Sim;

    fn capabilities(&self) -> Capabilities;

    /// The NAND chip below, for what only NAND has: faults, marks, out-of-band areas of images. `None`: there is none.
    fn nand(&self) -> Option<&NandPartition> {
        None
    }

    /// Another partition of the same medium, for another mount.
    ///
    /// Errors: it is not on the medium. `None`: the medium cannot be divided.
    fn beside(&self, _blocks: Range<u32>, _sim: Sim) -> Option<Result<Mtd, PartitionError>> {
        None
    }

    // ---- operations ----------------------------------------------------------------------------------------------

    /// Reads any bytes. With [`MtdError::Uncorrectable`] all of `data` has been filled nevertheless.
    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError>;

    /// Looks at bytes where they stand, if the processor sees them in its memory ([`Capabilities::in_memory`]): that takes the time
    /// of fetching them and is no operation.
    fn fetch(&self, _at: u64, _data: &mut [u8]) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    /// Reads as [`Medium::read`] does, and returns whether all bytes are erased (0xFF). If not, `buffer` holds them.
    fn reads_erased(&self, at: u64, buffer: &mut [u8]) -> Result<bool, MtdError> {
        self.read(at, buffer).map(|_| crate::is_erased(buffer))
    }

    /// Programs whole units. On an error the units before the failed one have been programmed.
    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError>;

    /// Programs a part of one unit, in multiples of [`Capabilities::partial_program_bytes`].
    fn write_partial(&self, _at: u64, _data: &[u8]) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    /// Programs two parts, the second behind the first (`mtd_writev`): each by itself unless the driver can do better.
    fn write_parts(&self, at: u64, parts: [&[u8]; 2]) -> Result<(), MtdError> {
        self.write(at, parts[0])?;
        self.write(at + parts[0].len() as u64, parts[1])
    }

    /// Erases the block that begins at `at`. A bad block is refused without an operation.
    fn erase(&self, at: u64) -> Result<(), MtdError>;

    /// Begins to erase as [`Medium::erase`] does, for a task that will sleep meanwhile while others may use the medium. Returns
    /// when the driver sees the end if nobody interrupts it; `None`: the erase is over.
    fn begin_erase(&self, at: u64) -> Result<Option<u64>, MtdError> {
        self.erase(at).map(|()| None)
    }

    /// When the erase of the block at `at` ends that goes on there; `None`: none does.
    fn erase_goes_on(&self, _at: u64) -> Option<u64> {
        None
    }

    /// From now on a program may return before it is on flash, if its medium can do something else meanwhile. Returns of how many
    /// programs that is true at a time at most: a power cut can tear as many. 1: only the last one, as without asking.
    fn overlap_programs(&self) -> u32 {
        1
    }

    /// Waits until everything is on flash.
    fn settle(&self) {}

    /// Reads a page as [`Medium::read_page_with_oob`] does, and does not wait for it if its medium can do something else meanwhile. Nobody
    /// may use the bytes before [`Medium::settle_reads`].
    fn begin_read(&self, at: u64, data: &mut [u8], free: &mut [u8]) -> Result<Corrected, MtdError> {
        self.read_page_with_oob(at, data, free)
    }

    /// Waits for all reads that were begun.
    fn settle_reads(&self) {}

    // ---- commands that not every chip has --------------------------------------------------------------------------

    /// From now on pages that are programmed or read one after the other go through the chip's cache registers where it has such commands;
    /// a program may then return before it is on flash, as after [`Medium::overlap_programs`], which is asked next. Returns how many pages
    /// behind a page the next one of the same die stands, which goes on its row. `None`: the chip has no such command.
    fn use_cache_commands(&self) -> Option<u32> {
        None
    }

    /// As [`Medium::begin_read`]. `more`: the next page of the same die will be read next there, so that the chip can begin with it.
    fn begin_read_in_row(&self, at: u64, data: &mut [u8], free: &mut [u8], _more: bool) -> Result<Corrected, MtdError> {
        self.begin_read(at, data, free)
    }

    /// Whether the chip can copy a page to another place by itself ([`Medium::copy_back`]).
    fn can_copy_back(&self, _from: u64, _to: u64) -> bool {
        false
    }

    /// Copies a page inside the chip, where no ECC sees it. `change` is given so many of its free out-of-band bytes as `free` takes, and
    /// what it makes of them is programmed with the copy. If it answers `false` nothing is programmed. Returns its answer.
    fn copy_back(
        &self,
        _from: u64,
        _to: u64,
        _free: &mut [u8],
        _change: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, MtdError> {
        Err(MtdError::NotSupported)
    }

    // ---- out-of-band bytes ----------------------------------------------------------------------------------------

    /// Reads one unit and its free out-of-band bytes, from the first on as many as `free` takes, in one operation.
    fn read_page_with_oob(&self, _at: u64, _data: &mut [u8], _free: &mut [u8]) -> Result<Corrected, MtdError> {
        Err(MtdError::NotSupported)
    }

    /// Programs one unit and its free out-of-band bytes in one operation; those that `free` does not reach stay 0xFF.
    fn write_page_with_oob(&self, _at: u64, _data: &[u8], _free: &[u8]) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    /// Reads free out-of-band bytes of the unit at `at` and the following ones (`MTD_OPS_AUTO_OOB`): one operation for
    /// each unit's worth of `free`.
    fn read_oob_free(&self, _at: u64, _free: &mut [u8]) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    /// Programs free out-of-band bytes of the unit at `at` and the following ones: one operation for each unit's worth.
    fn write_oob_free(&self, _at: u64, _free: &[u8]) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    /// Free out-of-band bytes, from the first on, in which the driver looks for the mark of a bad block nevertheless: who keeps anything
    /// there makes a bad block of it.
    fn free_mark_bytes(&self) -> u32 {
        0
    }

    // ---- bad blocks -----------------------------------------------------------------------------------------------

    /// Whether the block that holds `at` is bad, from a table in RAM without an operation. Beyond the partition: `true`.
    fn is_bad(&self, at: u64) -> bool {
        let can = self.capabilities();
        at >= u64::from(can.blocks) * u64::from(can.erase_block_bytes)
    }

    /// [`Medium::is_bad`] as a file system asks it (`mtd_block_isbad`): a driver without a table looks at the flash.
    fn ask_bad(&self, at: u64) -> bool {
        self.is_bad(at)
    }

    /// Marks the block that holds `at` bad, on the medium and in RAM.
    fn mark_bad(&self, _at: u64) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    // ---- for observers: no operation, no time -----------------------------------------------------------------------

    /// Reads the cells, without ECC.
    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError>;

    /// Number of units of the block that begins at `at`, up to and including the last that is not erased.
    fn look_at_written_pages(&self, at: u64) -> Result<u32, MtdError> {
        let can = self.capabilities();
        let mut bytes = vec![0; can.erase_block_bytes as usize];
        self.look(at, &mut bytes)?;
        let last = bytes.iter().rposition(|&byte| byte != 0xFF);
        Ok(last.map_or(0, |last| last as u32 / can.program_bytes + 1))
    }

    /// What was done to the medium since it was made.
    fn traffic(&self) -> Traffic;

    /// Erases of each block of the partition since the medium was made; empty: nobody counts them.
    fn erase_counts(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Those of them that only made blocks of a new partition usable.
    fn formatting_erases(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Erases that each block bears from now on; empty: none wears out there.
    fn erases_left(&self) -> Vec<u32> {
        Vec::new()
    }

    /// What went wrong on the medium since it was made; `None`: nothing ages there, so nobody asks.
    fn health(&self) -> Option<Health> {
        None
    }

    /// A layer above did something about errors of the medium.
    fn note(&self, _what: Upkeep) {}

    /// Programmed units of each block of the partition.
    fn programmed_pages(&self) -> Vec<u32> {
        Vec::new()
    }

    // ---- power ----------------------------------------------------------------------------------------------------

    /// Cuts the power during the `operations`-th program or erase from now on (1: the next one). Afterwards every
    /// operation fails with [`MtdError::PowerCut`] until [`Medium::restart`]. 0 switches off at once.
    fn cut_power_after(&self, operations: u64, torn: Torn);

    /// Whether the medium has power.
    fn is_on(&self) -> bool;

    /// Power is there (again), a cut that has not happened yet is cancelled, and the driver forgets what it knew.
    fn restart(&self);

    /// So many seconds pass for the cells at this temperature while the device is switched off. Whether they age at all.
    fn lies(&self, _time_s: f64, _celsius: f64) -> bool {
        false
    }

    /// Wears each block of the partition by so many erases that nobody does: a leap over a time in which nothing else changes.
    fn wear_on(&self, _more_erases: &[u32]) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    /// Puts other bytes where programmed ones are, all within one unit of a program, as if it had been programmed with them.
    /// What is erased stays erased.
    fn amend(&self, _at: u64, _data: &[u8]) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    /// Programs and erases since the medium was made, the unit of [`Medium::cut_power_after`].
    fn modifying_operations(&self) -> u64;

    // ---- contents -------------------------------------------------------------------------------------------------

    /// A copy of what the whole chip holds.
    fn snapshot(&self) -> MediumImage;

    /// Gives the chip what another one held; no time passes.
    ///
    /// Errors: a snapshot of another medium.
    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError>;

    /// Another program than the kernel drives a chip on a serial bus from now on, and over the bus as that program has set it. Whether
    /// there is such a bus.
    fn rewire(&self, _wiring: &Wiring) -> bool {
        false
    }

    /// The partition's bytes, with out-of-band areas if wanted.
    ///
    /// Errors: there are no such areas, or there is no room for the code of ECC in them.
    fn image(&self, oob: bool) -> Result<Vec<u8>, SaveError> {
        if oob {
            return Err(SaveError::NoOob);
        }
        let can = self.capabilities();
        let mut bytes = vec![0; can.blocks as usize * can.erase_block_bytes as usize];
        self.look(0, &mut bytes)?;
        Ok(bytes)
    }
}
