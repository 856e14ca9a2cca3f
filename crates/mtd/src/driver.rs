//! The driver: its ECC, and the cost of each operation beyond the chip's own time.

use ffslab_flash::Geometry;
use ffslab_sim::PowerMilliwatt;
use thiserror::Error;

use crate::ecc::{Code, Ecc};

/// The cost of an operation beyond the chip's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpCost {
    /// Time of the driver, which is added to the chip's time.
    pub overhead_ns: u64,
    /// Power above idle for the duration of the operation, chip time and overhead together.
    pub power: PowerMilliwatt,
}

/// How a simulated chip takes memory for pages (`drivers/mtd/nand/raw/nandsim.c`, `ns_prog_page`): from slabs of so many, and a new slab
/// takes time (`mm/slub.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMemory {
    pub pages_per_slab: u32,
    pub slab_ns: u64,
    /// What each read operation on a page that has memory takes longer: whether bits flip is drawn by chance.
    pub draw_ns: u64,
    /// How long it takes to give back the memory of a page when its block is erased.
    pub free_ns: u64,
    /// Slabs that the allocator has kept of a chip that was there before.
    pub slabs_at_hand: u32,
}

/// A NAND driver. Partial reads and OOB operations have the cost of `read` and `program`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Driver {
    pub ecc: Ecc,
    /// A read with at least so many flips in one step reports them (`bitflip_threshold`); `None`: [`Ecc::threshold_bits`].
    pub bitflip_threshold_bits: Option<u32>,
    pub read: OpCost,
    /// What a read of a part of a page takes longer than `read`, whatever its size: a driver of its own makes two operations of it.
    pub read_part_ns: u64,
    /// What each byte takes longer in a read than in a program, because the CPU loads it from the controller. `read` has no part of it.
    pub load_ps_per_byte: u64,
    /// What it waits by the clock besides in a read of a part of a page: for the second operation.
    pub read_part_wait_ns: u64,
    pub program: OpCost,
    /// What a program of a page's data takes longer than `program`, which an OOB area takes.
    pub program_data_ns: u64,
    pub erase: OpCost,
    /// The chip is memory that is taken when a page is programmed.
    pub page_memory: Option<PageMemory>,
    /// It polls the status of a program or an erase with `cond_resched()` in between (`drivers/mtd/nand/omap2.c`,
    /// `omap_wait`), below a file system that holds a lock over its operations for which its other tasks wait, as JFFS2
    /// does. See [`ffslab_sim::Sim::gives_way_to_nobody`].
    pub polls_with_resched: bool,
    /// A table in memory says which blocks are bad. Without one (`NAND_SKIP_BBTSCAN` of `drivers/mtd/nand/nand_base.c`,
    /// `nand_block_checkbad`) each question and each erase reads the mark of the block; in an erase that is a part of its cost.
    pub has_bad_block_table: bool,
}

impl Default for Driver {
    /// Hardware ECC with the usual 1-bit code and no cost of its own.
    fn default() -> Driver {
        Driver {
            ecc: Ecc::HARDWARE,
            bitflip_threshold_bits: None,
            read: OpCost::default(),
            load_ps_per_byte: 0,
            read_part_ns: 0,
            read_part_wait_ns: 0,
            program: OpCost::default(),
            program_data_ns: 0,
            erase: OpCost::default(),
            page_memory: None,
            polls_with_resched: false,
            has_bad_block_table: true,
        }
    }
}

impl Driver {
    /// The cost of a read that moves so many bytes.
    #[inline]
    pub(crate) fn read_of(&self, bytes: usize) -> OpCost {
        let loads_ns = bytes as u64 * self.load_ps_per_byte / 1_000;
        OpCost { overhead_ns: self.read.overhead_ns + loads_ns, ..self.read }
    }

    /// The cost of a program of a page's data.
    pub(crate) fn program_data(&self) -> OpCost {
        OpCost { overhead_ns: self.program.overhead_ns + self.program_data_ns, ..self.program }
    }
}

/// A driver that does not suit the chip.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DriverError {
    #[error("ecc_step_bytes = {step_bytes}: an ECC step has 256 bytes or a multiple that divides a page of {page_bytes} bytes")]
    Step { step_bytes: u32, page_bytes: u32 },
    #[error(
        "{ecc_bytes} ECC bytes and the bad block mark do not fit into an out-of-band area of {oob_bytes} bytes; \
         {ecc_bytes_max} ECC bytes would"
    )]
    Oob { ecc_bytes: u32, oob_bytes: u32, ecc_bytes_max: u32 },
    #[error(
        "{engine} is {code} of {} bytes for {} that corrects {} bit; not {} bytes for {} that correct {}",
        only.code_bytes, only.step_bytes, only.strength_bits,
        wanted.code_bytes, wanted.step_bytes, wanted.strength_bits
    )]
    OtherCode { engine: &'static str, code: &'static str, only: Code, wanted: Code },
    #[error("{engine} has no layout for pages of {page_bytes} + {oob_bytes} bytes: {layouts} have one")]
    NoLayout { engine: &'static str, layouts: &'static str, page_bytes: u32, oob_bytes: u32 },
    #[error("SPI NAND corrects its pages itself: {engine} cannot stand above it; leave `ecc` out")]
    NotOnDie { engine: &'static str },
    #[error("ecc_strength_bits = {strength_bits}: the chip's ecc_status can tell of 1 to {most_bits} bits")]
    Strength { strength_bits: u32, most_bits: u32 },
    #[error("dies = {dies}: the {blocks} blocks of the chip cannot be divided among so many")]
    Dies { dies: u32, blocks: u32 },
    #[error(
        "the chip's oob_layout does not suit pages of {page_bytes} + {oob_bytes} bytes: it needs pages of 2048 bytes or more, and more \
         out-of-band bytes"
    )]
    NoOnDieLayout { page_bytes: u32, oob_bytes: u32 },
}

impl Driver {
    /// A read with at least so many flips in one step reports them.
    pub fn threshold_bits(&self) -> u32 {
        self.bitflip_threshold_bits.unwrap_or_else(|| self.ecc.threshold_bits())
    }

    /// Checks that the driver suits the chip.
    pub fn check(&self, geometry: &Geometry) -> Result<(), DriverError> {
        self.ecc.check(geometry)
    }
}
