//! SPI NAND as Linux drives it: a chip with a page cache and ECC of its own behind a serial bus.
//!
//! From Linux `drivers/mtd/nand/spi/core.c` (6.1; continuous reads as in 6.12), `drivers/mtd/nand/core.c` (the table of bad blocks),
//! and the vendors' files for what differs between chips ([`Family`]). docs/spi-nand.md says what an operation takes.
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
mod family;
mod partition;
mod status;

pub use bus::{Bus, ReadCommand, Waiting};
pub use family::{Family, FAMILIES, STEP_BYTES};
pub use partition::SpiNand;
pub use status::{Decoded, Encoding, Registers};

use crate::ecc::{Code, Ecc, ON_DIE};
use ffslab_flash::Timing;

/// A chip of a family on a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wiring {
    pub family: &'static Family,
    /// Flipped bits that the chip corrects in 512 bytes.
    pub strength_bits: u32,
    pub bus: Bus,
    pub read: ReadCommand,
    /// Lines of PROGRAM LOAD; at most those of the data of a read.
    pub program_lines: u32,
    /// Dies of the chip, each with an equal part of its blocks.
    pub dies: u32,
    /// The kernel reads the pages of an erase block in one command if chip and bus can (Linux 6.12).
    pub continuous_reads: bool,
}

impl Wiring {
    /// The chip's ECC. Its bytes stand where the family's layout says.
    pub fn ecc(&self) -> Ecc {
        Ecc { engine: &ON_DIE, code: Code { step_bytes: STEP_BYTES, code_bytes: 0, strength_bits: self.strength_bits } }
    }

    /// The times of a chip of which only those of the cells are known: its bus is this one.
    pub fn timing(&self, cells: Timing) -> Timing {
        Timing { bus_ps_per_byte: self.bus.byte_ps(self.read.data_lines), ..cells }
    }
}
