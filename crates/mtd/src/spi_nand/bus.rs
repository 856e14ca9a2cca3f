//! What a transfer on the SPI bus takes, how the kernel waits for the chip, and what that makes of each operation.
//!
//! From Linux `include/linux/mtd/spinand.h` (the transfers of each operation, and the delays between polls) and
//! `drivers/spi/spi-mem.c` (`spi_mem_poll_status`: it waits, reads the status, and sleeps between two reads).

use ffslab_flash::{Geometry, Timing};

/// The controller, with what the board has wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bus {
    pub clock_hz: u64,
    /// Time of controller and driver for each transfer, beside the clocks of its bytes.
    pub transfer_overhead_ns: u64,
    /// What the CPU takes for each byte of data between FIFO and memory; 0: DMA moves them.
    pub copy_ps_per_byte: u64,
    /// Most data of a transfer; more is sent in pieces, each with a command and an overhead of its own.
    pub transfer_max_bytes: u32,
    pub waiting: Waiting,
}

/// How READ FROM CACHE is sent: `1S-1S-4S` has one line for command and address and four for the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCommand {
    pub command_lines: u32,
    pub address_lines: u32,
    /// Clocks between the address and the data.
    pub dummy_clocks: u32,
    pub data_lines: u32,
    /// Bits go at both edges of the clock.
    pub double_rate: bool,
}

impl ReadCommand {
    /// Command and address over one line, a dummy byte, then the data over so many: 0x0B, 0x3B, 0x6B or 0x8B.
    pub const fn over(data_lines: u32) -> ReadCommand {
        ReadCommand { command_lines: 1, address_lines: 1, dummy_clocks: 8, data_lines, double_rate: false }
    }
}

/// How the kernel finds out that the chip has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It reads the status without a pause (before Linux 5.14).
    Polls,
    /// It waits first and sleeps between two reads of the status (`spi_mem_poll_status`, Linux 5.14 and later). A sleep in a range
    /// (`usleep_range`) ends with the range, because nothing else wakes the machine then.
    Sleeps,
    /// The controller repeats the read of the status without the driver (`poll_status` of `spi_controller_mem_ops`).
    InHardware,
}

/// A kind of wait: before the first read of the status, and between two.
#[derive(Clone, Copy)]
struct Delays {
    initial_ns: u64,
    between_ns: u64,
}

/// `SPINAND_READ_INITIAL_DELAY_US` and `SPINAND_READ_POLL_DELAY_US`.
const READ: Delays = Delays { initial_ns: 6_000, between_ns: 5_000 };
/// `SPINAND_WRITE_INITIAL_DELAY_US` and `SPINAND_WRITE_POLL_DELAY_US`.
const PROGRAM: Delays = Delays { initial_ns: 75_000, between_ns: 15_000 };
/// `SPINAND_ERASE_INITIAL_DELAY_US` and `SPINAND_ERASE_POLL_DELAY_US`.
const ERASE: Delays = Delays { initial_ns: 250_000, between_ns: 50_000 };

/// Bytes of commands with their addresses, all over one line.
const PAGE_READ_BYTES: u64 = 4;
const PROGRAM_LOAD_BYTES: u64 = 3;
const PROGRAM_EXECUTE_BYTES: u64 = 4;
const BLOCK_ERASE_BYTES: u64 = 4;
const WRITE_ENABLE_BYTES: u64 = 1;
/// GET FEATURE and SET FEATURE; Macronix's command 0x7C with its dummy byte has as many.
const FEATURE_BYTES: u64 = 3;

/// The column of READ FROM CACHE.
const COLUMN_BYTES: u64 = 2;

impl Bus {
    fn clock_ps(&self) -> u64 {
        1_000_000_000_000 / self.clock_hz.max(1)
    }

    /// Time of a byte over so many lines.
    pub fn byte_ps(&self, lines: u32) -> u64 {
        8 * self.clock_ps() / u64::from(lines.max(1))
    }

    /// Time of a byte of data that is read, with the copy of it.
    pub fn data_ps(&self, read: &ReadCommand) -> u64 {
        self.byte_ps(read.data_lines) / (1 + u64::from(read.double_rate)) + self.copy_ps_per_byte
    }

    /// Time of a transfer of so many bytes over one line.
    pub fn transfer_ns(&self, bytes: u64) -> u64 {
        self.transfer_overhead_ns + bytes * self.byte_ps(1) / 1_000
    }

    /// Time of READ FROM CACHE up to the data.
    pub fn read_head_ns(&self, read: &ReadCommand) -> u64 {
        self.head_ns(read, COLUMN_BYTES)
    }

    /// Time of a command to read with so many bytes of address, up to the data.
    pub fn head_ns(&self, read: &ReadCommand, address_bytes: u64) -> u64 {
        let of_bytes_ps = self.byte_ps(read.command_lines) + address_bytes * self.byte_ps(read.address_lines);
        let of_bytes_ps = of_bytes_ps / (1 + u64::from(read.double_rate));
        self.transfer_overhead_ns + (of_bytes_ps + u64::from(read.dummy_clocks) * self.clock_ps()) / 1_000
    }

    /// Pieces in which so many bytes are sent, and at least one.
    pub fn pieces(&self, bytes: u32) -> u64 {
        u64::from(bytes.div_ceil(self.transfer_max_bytes.max(1)).max(1))
    }

    /// From the end of the command until the status was read that says that the chip has finished, after `busy_ns`. The status is
    /// that of the end of its transfer.
    fn wait_ns(&self, busy_ns: u64, delays: Delays) -> u64 {
        let poll_ns = self.transfer_ns(FEATURE_BYTES);
        let (initial_ns, first_ns, period_ns) = match self.waiting {
            Waiting::Polls => (0, poll_ns, poll_ns),
            Waiting::Sleeps => (delays.initial_ns, poll_ns, poll_ns + delays.between_ns),
            Waiting::InHardware => (0, poll_ns, poll_ns - self.transfer_overhead_ns),
        };
        let further = busy_ns.saturating_sub(initial_ns + first_ns).div_ceil(period_ns.max(1));
        initial_ns + first_ns + further * period_ns
    }
}

/// What each operation takes beyond the chip's array time and the data that it sends, which the chip counts itself; in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Costs {
    /// PAGE READ, and the wait.
    pub load: u64,
    /// The head of READ FROM CACHE.
    pub read_head: u64,
    /// WRITE ENABLE, the heads of PROGRAM LOAD and data over fewer lines than those of reads, PROGRAM EXECUTE, the wait.
    pub program: u64,
    /// WRITE ENABLE, BLOCK ERASE, the wait.
    pub erase: u64,
    /// GET FEATURE or SET FEATURE.
    pub feature: u64,
    pub select_die: u64,
}

impl Costs {
    pub fn new(wiring: &super::Wiring, geometry: &Geometry, timing: &Timing) -> Costs {
        let super::Wiring { bus, read, program_lines, select_die_bytes, .. } = wiring;
        let page_bytes = geometry.page_bytes + geometry.oob_bytes;
        let slower_ps = (bus.byte_ps(*program_lines) + bus.copy_ps_per_byte).saturating_sub(bus.data_ps(read));
        let waits_ns = |busy_ns: u64, delays: Delays| bus.wait_ns(busy_ns, delays) - busy_ns;
        let enable_ns = bus.transfer_ns(WRITE_ENABLE_BYTES);
        let load_ns =
            bus.pieces(page_bytes) * bus.transfer_ns(PROGRAM_LOAD_BYTES) + u64::from(page_bytes) * slower_ps / 1_000;
        Costs {
            load: bus.transfer_ns(PAGE_READ_BYTES) + waits_ns(timing.read_ns, READ),
            read_head: bus.read_head_ns(read),
            program: enable_ns
                + load_ns
                + bus.transfer_ns(PROGRAM_EXECUTE_BYTES)
                + waits_ns(timing.program_ns, PROGRAM),
            erase: enable_ns + bus.transfer_ns(BLOCK_ERASE_BYTES) + waits_ns(timing.erase_ns, ERASE),
            feature: bus.transfer_ns(FEATURE_BYTES),
            select_die: bus.transfer_ns(u64::from(*select_die_bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bus, ReadCommand, Waiting, ERASE, PROGRAM, READ};

    /// 3 bytes of 8 clocks of 10 ns: 240 ns a poll, and 1 us of the controller.
    const SLEEPS: Bus = Bus {
        clock_hz: 100_000_000,
        transfer_overhead_ns: 1_000,
        copy_ps_per_byte: 0,
        transfer_max_bytes: u32::MAX,
        waiting: Waiting::Sleeps,
    };
    const POLLS: Bus = Bus { waiting: Waiting::Polls, ..SLEEPS };

    #[test]
    fn the_wait_ends_with_the_first_poll_that_finds_the_chip_ready() {
        // The first poll ends after 6 + 1.24 us, the others follow each 5 + 1.24 us.
        for (busy_ns, waited_ns) in
            [(0, 7_240), (7_240, 7_240), (7_241, 13_480), (13_480, 13_480), (25_000, 25_960), (60_000, 63_400)]
        {
            assert_eq!(SLEEPS.wait_ns(busy_ns, READ), waited_ns, "{busy_ns}");
        }
        assert_eq!(SLEEPS.wait_ns(250_000, PROGRAM), 75_000 + 1_240 + 11 * 16_240);
        assert_eq!(SLEEPS.wait_ns(2_000_000, ERASE), 250_000 + 1_240 + 35 * 51_240);
        assert_eq!(POLLS.wait_ns(25_000, READ), 21 * 1_240);
        // The overhead once, and 240 ns for each poll of the controller.
        let in_hardware = Bus { waiting: Waiting::InHardware, ..SLEEPS };
        assert_eq!(in_hardware.wait_ns(25_000, READ), 1_000 + 100 * 240);
    }

    #[test]
    fn a_byte_takes_its_clocks_over_the_lines_that_it_has() {
        let at = |clock_hz| Bus { clock_hz, ..SLEEPS };
        assert_eq!([1, 2, 4, 8].map(|lines| at(50_000_000).byte_ps(lines)), [160_000, 80_000, 40_000, 20_000]);
        assert_eq!(at(104_000_000).byte_ps(4), 2 * 9_615);
        assert_eq!(at(20_000_000).transfer_ns(4), 1_000 + 1_600);
        let read = ReadCommand { dummy_clocks: 4, address_lines: 4, ..ReadCommand::over(4) };
        assert_eq!(SLEEPS.read_head_ns(&read), 1_000 + 80 + 40 + 40);
        let octal =
            ReadCommand { command_lines: 8, address_lines: 8, dummy_clocks: 16, data_lines: 8, double_rate: true };
        assert_eq!((SLEEPS.read_head_ns(&octal), SLEEPS.data_ps(&octal)), (1_000 + 15 + 160, 5_000));
        let copies = Bus { copy_ps_per_byte: 3_000, transfer_max_bytes: 64, ..SLEEPS };
        assert_eq!(
            (copies.data_ps(&octal), copies.pieces(2048), copies.pieces(0), copies.pieces(65)),
            (8_000, 32, 1, 2)
        );
    }
}
