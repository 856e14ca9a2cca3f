//! Memory in the place of a NOR chip, as Linux 6.1 has it in `drivers/mtd/devices/mtdram.c`: any bytes are copied to and from it, no
//! command is sent and nobody waits.
//!
//! For file systems three things differ from a chip: the processor's own bytes are the medium (`mtd_point`); an erase is over when
//! its call returns; and the medium's type is `MTD_RAM`, so that UBI does not expect a torn erase to leave old headers whole.

use ffslab_flash::{NorProgram, NorRead, NorTiming};

/// How the memory is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNor {
    /// What the module says that a program takes at most (`writebuf_size`). It copies more than that at once; a program is counted
    /// for each such unit, as it is on chips.
    pub unit_bytes: u32,
}

impl MemoryNor {
    /// No operation takes time of its own.
    pub fn cells(&self) -> NorTiming {
        NorTiming {
            read: NorRead::Serial { ps_per_byte: 0 },
            load_ps_per_byte: 0,
            program: NorProgram { unit_bytes: self.unit_bytes, unit_ns: 0, least_bytes: 1, least_ns: 0 },
            erase_ns: 0,
            suspend_ns: None,
        }
    }
}
