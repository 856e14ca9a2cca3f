//! SPI NAND as Linux drives it: a chip with a page cache and ECC of its own behind a serial bus.
//!
//! From Linux `drivers/mtd/nand/spi/core.c` (6.1; continuous reads as in 6.12), `drivers/mtd/nand/core.c` (the table of bad blocks),
//! and the vendors' files for what differs between chips ([`Layout`], [`Encoding`]). docs/spi-nand.md says what an operation takes.
//!
//! Every read goes to the flash: PAGE READ, polls of the status, READ FROM CACHE. The data area of a page always crosses the bus
//! whole (`spinand_read_from_cache_op`), however little of it is asked for, and the out-of-band area only if it is asked for. A
//! program always sends both (`spinand_write_to_cache_op`), so there are no sub-pages. Data that are sent to the chip or come
//! from it are counted and timed by the chip, as those of raw NAND are; commands, polls and the controller are the driver's time.
//!
//! Left out: read retries and secure areas, which no part here needs; ECC on the host's side; the plane bit of the column, which
//! takes no time; a status that covers flips in the bytes of the code, which are not drawn.

mod bus;
mod core;
mod layout;
mod partition;
mod status;

pub use bus::{Bus, ReadCommand, Waiting};
pub use layout::Layout;
pub use partition::SpiNand;
pub use status::{Decoded, Encoding, Registers};

use crate::ecc::{Code, Ecc, ON_DIE};
use ffslab_flash::Timing;

/// Data bytes of an ECC step of all these chips (`NAND_ECCREQ(strength, 512)`).
pub const STEP_BYTES: u32 = 512;

/// A chip on a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wiring {
    pub layout: Layout,
    pub encoding: Encoding,
    /// Flipped bits that the chip corrects in 512 bytes.
    pub strength_bits: u32,
    pub bus: Bus,
    pub read: ReadCommand,
    /// Lines of PROGRAM LOAD; at most those of the data of a read.
    pub program_lines: u32,
    /// Dies of the chip, each with an equal part of its blocks.
    pub dies: u32,
    /// Bytes of the transfer that chooses a die: 2 of Winbond's command 0xC2, 3 of Micron's SET FEATURE.
    pub select_die_bytes: u32,
    /// Chip and kernel (Linux 6.12) read the pages of an erase block with one command (`spinand_use_cont_read`).
    pub continuous_reads: bool,
}

impl Wiring {
    /// The chip's ECC. Its bytes stand where its layout says.
    pub fn ecc(&self) -> Ecc {
        Ecc { engine: &ON_DIE, code: Code { step_bytes: STEP_BYTES, code_bytes: 0, strength_bits: self.strength_bits } }
    }

    /// The times of a chip of which only those of the cells are known: its bus is this one.
    pub fn timing(&self, cells: Timing) -> Timing {
        Timing { bus_ps_per_byte: self.bus.data_ps(&self.read), ..cells }
    }
}
