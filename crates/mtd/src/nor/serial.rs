//! A NOR chip behind a serial bus, as Linux 6.1 drives it in `drivers/mtd/spi-nor/core.c`.
//!
//! `spi_nor_write` programs page by page: WRITE ENABLE, PAGE PROGRAM, then it reads the status without a pause until the chip is
//! ready (`spi_nor_wait_till_ready`, with `cond_resched` in between). What the controller cannot send at once is a program of
//! its own. `spi_nor_erase` ends with WRITE DISABLE. No erase is suspended: whoever wants the chip waits for its lock.
//! **Leaves out.** The second status register that drivers of Micron's chips poll, too (`USE_FSR`).

use crate::spi_nand::{Bus, ReadCommand};
use ffslab_flash::{NorRead, NorTiming};

/// The chip's commands over the board's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialNor {
    /// How the kernel waits does not depend on it: it polls.
    pub bus: Bus,
    pub read: ReadCommand,
    /// Of every command with an address.
    pub address_bytes: u32,
    /// Lines of PAGE PROGRAM: of its address, and of its data.
    pub program_address_lines: u32,
    pub program_data_lines: u32,
    /// A program stays within such a page (`mtd->writebufsize`).
    pub page_bytes: u32,
}

/// READ STATUS with its answer.
const STATUS_BYTES: u64 = 2;

impl SerialNor {
    /// The times of the chip with those of the bus for its data.
    pub fn timing(&self, cells: NorTiming) -> NorTiming {
        NorTiming {
            read: NorRead::Serial { ps_per_byte: self.bus.data_ps(&self.read) },
            load_ps_per_byte: self.bus.byte_ps(self.program_data_lines) + self.bus.copy_ps_per_byte,
            suspend_ns: None,
            ..cells
        }
    }

    /// WRITE ENABLE or WRITE DISABLE.
    pub(super) fn command_ns(&self) -> u64 {
        self.bus.transfer_ns(1)
    }

    pub(super) fn read_head_ns(&self) -> u64 {
        self.bus.head_ns(&self.read, u64::from(self.address_bytes))
    }

    pub(super) fn program_head_ns(&self) -> u64 {
        let address_ps = u64::from(self.address_bytes) * self.bus.byte_ps(self.program_address_lines);
        self.bus.transfer_ns(1) + address_ps / 1_000
    }

    pub(super) fn erase_head_ns(&self) -> u64 {
        self.bus.transfer_ns(1 + u64::from(self.address_bytes))
    }

    /// Until the status was read that says that the chip has finished, after `busy_ns`.
    pub(super) fn wait_ns(&self, busy_ns: u64) -> u64 {
        let poll_ns = self.bus.transfer_ns(STATUS_BYTES).max(1);
        busy_ns.div_ceil(poll_ns).max(1) * poll_ns
    }
}
