//! NOR: what the files of SPI NOR and of parallel NOR parts say. The second paragraph of a key says what to look up in a data sheet;
//! `profiles new` writes it beside the key. All erase blocks of a part are of one size: the smaller ones at the top or bottom of boot
//! block parts are left out.

use super::figures::{ChipPower, LongestTimes};
use super::kind::{PartKind, SpiMode};
use super::nand::{hertz, programs_of, reads_of, SpiRead};
use crate::constant::{said, Amount, Sourced};
use ffslab_sim::units::us_to_ns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The keys of every NOR part, and those of one kind.
macro_rules! nor_file {
    ($(#[$of_file:meta])* $file:ident { $($of_kind:tt)* }) => {
        $(#[$of_file])*
        #[derive(Clone, Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $file {
            /// What people read of it.
            pub title: String,
            /// Name or file of the part that says what this file does not.
            pub base: Option<String>,
            /// What the part is to its driver.
            #[serde(rename = "kind")]
            pub _kind: Option<PartKind>,
            /// Size of the chip.
            ///
            /// Look up: the density on the first page: 128 Mbit is 16384 KiB.
            #[serde(rename = "size_KiB")]
            pub size_kib: Sourced<u32>,
            /// Erase block that drivers use.
            ///
            /// Look up: "sector architecture", "block erase (D8h) 64 KB"; where sizes differ, that of most of the chip.
            #[serde(rename = "erase_block_KiB")]
            pub erase_block_kib: Sourced<u32>,
            /// An erase block is erased, typically.
            ///
            /// Look up: tBE2, tSE or "sector erase time", "typ", in the erase and program performance.
            pub t_erase_us: Sourced<Amount>,
            /// An erase block is erased, at most.
            ///
            /// Look up: the same, "max".
            pub t_erase_max_us: Option<Sourced<Amount>>,
            /// Smallest write that does not touch bits beside it, as Linux has it (`mtd->writesize`). Absent: 1.
            ///
            /// Look up: whether words can be programmed again bit by bit, or whether an ECC in the chip forbids it ("ECC unit").
            #[serde(rename = "write_size_B")]
            pub write_size_bytes: Option<Sourced<u32>>,
            /// Whether an erase can be suspended for reads. Absent: no.
            ///
            /// Look up: "erase suspend and resume", the commands 75h and 7Ah (SPI), B0h and 30h (parallel).
            pub erase_suspend: Option<Sourced<bool>>,
            /// From the command that suspends an erase until the other blocks can be used, typically. Absent: nobody suspends one.
            ///
            /// Look up: "erase suspend latency", tSUSP/E, tESL.
            pub t_suspend_us: Option<Sourced<Amount>>,
            /// Erases that a block endures by the data sheet.
            ///
            /// Look up: "endurance", "program/erase cycles".
            pub endurance_erases: Option<Sourced<u32>>,
            /// How long the cells hold their bits by the data sheet.
            ///
            /// Look up: "data retention".
            pub retention_years: Option<Sourced<Amount>>,
            /// Current while bytes are read.
            ///
            /// Look up: ICC3 or "read current" at the fastest clock, in the DC characteristics, "typ".
            #[serde(rename = "read_mA")]
            pub read_milliampere: Option<Sourced<Amount>>,
            /// Current while bytes are programmed.
            ///
            /// Look up: "page program current".
            #[serde(rename = "program_mA")]
            pub program_milliampere: Option<Sourced<Amount>>,
            /// Current while a block is erased.
            ///
            /// Look up: "sector erase current", "block erase current".
            #[serde(rename = "erase_mA")]
            pub erase_milliampere: Option<Sourced<Amount>>,
            /// Current while nothing happens.
            ///
            /// Look up: ICC1 or ISB, "standby current".
            #[serde(rename = "standby_uA")]
            pub standby_microampere: Option<Sourced<Amount>>,
            /// Supply voltage at which the currents hold.
            ///
            /// Look up: VCC, nominal.
            #[serde(rename = "supply_V")]
            pub supply_volt: Option<Sourced<Amount>>,
            $($of_kind)*
        }

        impl $file {
            /// Errors: blocks that do not fill the chip.
            fn array(&self) -> Result<NorArray, String> {
                let (size, block) = (self.size_kib.value, self.erase_block_kib.value);
                let write_size_bytes = said(&self.write_size_bytes).unwrap_or(1);
                if block == 0 || size == 0 || !size.is_multiple_of(block) || block > 1 << 20 {
                    return Err(format!("size_KiB = {size}, erase_block_KiB = {block}: whole blocks must fill the chip"));
                }
                if !write_size_bytes.is_power_of_two() || write_size_bytes > block * 1024 {
                    return Err(format!("write_size_B = {write_size_bytes}: a power of two within a block is needed"));
                }
                let erase_suspend = said(&self.erase_suspend).unwrap_or(false);
                if self.t_suspend_us.is_some() && !erase_suspend {
                    return Err("t_suspend_us: erase_suspend = true is needed beside it".to_string());
                }
                Ok(NorArray {
                    erase_block_bytes: block * 1024,
                    blocks: size / block,
                    erase_ns: us_to_ns(self.t_erase_us.value.0),
                    write_size_bytes,
                    erase_suspend,
                    suspend_ns: said(&self.t_suspend_us).map(|us| us_to_ns(us.0)),
                    endurance_erases: said(&self.endurance_erases),
                    retention_years: said(&self.retention_years).map(|years| years.0),
                    longest: LongestTimes {
                        erase_ns: said(&self.t_erase_max_us).map(|us| us_to_ns(us.0)),
                        ..LongestTimes::default()
                    },
                    power: ChipPower::of(
                        &self.supply_volt,
                        [&self.read_milliampere, &self.program_milliampere, &self.erase_milliampere],
                        &self.standby_microampere,
                    ),
                })
            }
        }
    };
}

/// The cells of a NOR part and what its data sheet promises of them, whatever bus is in front.
#[derive(Clone, Debug, PartialEq)]
pub struct NorArray {
    pub erase_block_bytes: u32,
    pub blocks: u32,
    /// Of an erase block, typically.
    pub erase_ns: u64,
    /// Smallest write that does not touch bits beside it.
    pub write_size_bytes: u32,
    pub erase_suspend: bool,
    /// Until a suspended erase lets the other blocks be used.
    pub suspend_ns: Option<u64>,
    pub endurance_erases: Option<u32>,
    pub retention_years: Option<f64>,
    pub longest: LongestTimes,
    pub power: ChipPower,
}

nor_file! {
    /// `profiles/parts/*.toml` of SPI NOR.
    SpiNorFile {
        /// Fastest clock of the bus.
        ///
        /// Look up: fC or fR, "clock frequency", in the AC characteristics.
        #[serde(rename = "clock_max_MHz")]
        pub clock_max_megahertz: Sourced<Amount>,
        /// How the chip can be read with dummy clocks: lines of command, address and data.
        ///
        /// Look up: the command table or SFDP: 0Bh is 1-1-1, 3Bh 1-1-2, BBh 1-2-2, 6Bh 1-1-4, EBh 1-4-4.
        pub read_modes: Sourced<Vec<SpiMode>>,
        /// Dummy clocks of each of `read_modes`, mode clocks included.
        ///
        /// Look up: the timing diagrams, or SFDP.
        pub dummy_clocks: Sourced<Vec<u32>>,
        /// Fastest clock of each of `read_modes`, where they differ. Absent: `clock_max_MHz`.
        ///
        /// Look up: footnotes to the clock frequency.
        #[serde(rename = "read_clocks_MHz")]
        pub read_clocks_megahertz: Option<Sourced<Vec<Amount>>>,
        /// Fastest clock of the read without dummy clocks (03h), which Linux uses where the device tree does not say `m25p,fast-read`.
        ///
        /// Look up: fR, "clock frequency for READ".
        #[serde(rename = "plain_read_clock_MHz")]
        pub plain_read_clock_megahertz: Option<Sourced<Amount>>,
        /// How bytes can be loaded for programming.
        ///
        /// Look up: the command table: 02h is 1-1-1, 32h 1-1-4, 38h (Macronix) 1-4-4.
        pub program_modes: Sourced<Vec<SpiMode>>,
        /// Bytes that are programmed at once: a program wraps around at the end of this page.
        ///
        /// Look up: "page program (up to 256 bytes)".
        #[serde(rename = "program_page_B")]
        pub program_page_bytes: Sourced<u32>,
        /// A whole page is programmed, typically.
        ///
        /// Look up: tPP, "page program time", "typ".
        pub t_program_us: Sourced<Amount>,
        /// A whole page is programmed, at most.
        ///
        /// Look up: tPP, "max".
        pub t_program_max_us: Option<Sourced<Amount>>,
        /// A single byte is programmed, typically. Absent: as long as a page.
        ///
        /// Look up: tBP, "byte program time (first byte)".
        pub t_program_byte_us: Option<Sourced<Amount>>,
        /// Whether 4 KiB can be erased, too, which Linux uses with CONFIG_MTD_SPI_NOR_USE_4K_SECTORS.
        ///
        /// Look up: "sector erase (20h) 4 KB".
        #[serde(rename = "erase_4KiB")]
        pub has_small_erase: Sourced<bool>,
        /// 4 KiB are erased, typically.
        ///
        /// Look up: tSE, "sector erase time (4 KB)", "typ".
        #[serde(rename = "t_erase_4KiB_us")]
        pub t_small_erase_us: Option<Sourced<Amount>>,
        /// Bytes of an address. Absent: 3 up to 16 MiB, and 4 above.
        ///
        /// Look up: "4-byte address mode".
        #[serde(rename = "address_B")]
        pub address_bytes: Option<Sourced<u32>>,
    }
}

nor_file! {
    /// `profiles/parts/*.toml` of parallel NOR.
    ParallelNorFile {
        /// Width of the data bus.
        ///
        /// Look up: "x8/x16" in the features; how the board wires it.
        pub width_bits: Sourced<u32>,
        /// From an address to its first word.
        ///
        /// Look up: tACC or tAVQV, "access time".
        pub t_access_ns: Sourced<Amount>,
        /// A further word of the page that was read last. Absent: there is no page mode.
        ///
        /// Look up: tPACC or tAPA, "page access time".
        pub t_page_access_ns: Option<Sourced<Amount>>,
        /// Bytes of a page of reads.
        ///
        /// Look up: "page read buffer", "8-word page".
        #[serde(rename = "read_page_B")]
        pub read_page_bytes: Option<Sourced<u32>>,
        /// A single word is programmed, typically.
        ///
        /// Look up: tWHWH1, "single word programming".
        pub t_word_program_us: Sourced<Amount>,
        /// Bytes that one buffered program takes. Absent: there is no buffer.
        ///
        /// Look up: "write buffer", in bytes; the CFI query says its log2 at 2Ah.
        #[serde(rename = "write_buffer_B")]
        pub write_buffer_bytes: Option<Sourced<u32>>,
        /// A full buffer is programmed, typically.
        ///
        /// Look up: "buffer programming time", "typ"; the CFI query says its log2 at 20h.
        pub t_buffer_program_us: Option<Sourced<Amount>>,
        /// The driver of Linux that knows its commands.
        ///
        /// Look up: the CFI query at 13h: 0001h and 0003h are of Intel, 0002h is of AMD.
        pub command_set: Sourced<CommandSet>,
    }
}

/// Command sets of parallel NOR (`drivers/mtd/chips/`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommandSet {
    /// `cfi_cmdset_0001.c`: Intel, Numonyx, Micron; blocks are locked at power-up.
    Intel,
    /// `cfi_cmdset_0002.c`: AMD, Spansion, Macronix.
    Amd,
}

/// A SPI NOR part.
#[derive(Clone, Debug, PartialEq)]
pub struct SpiNorPart {
    pub array: NorArray,
    /// How it is read with dummy clocks, widest data first.
    pub reads: Vec<SpiRead>,
    /// Of the read without dummy clocks (03h), where the profile knows it.
    pub plain_read_clock_hz: Option<u64>,
    /// How bytes are loaded, widest first.
    pub programs: Vec<SpiMode>,
    pub clock_max_hz: u64,
    /// Most bytes of one program.
    pub program_page_bytes: u32,
    /// Of a whole page, typically.
    pub program_ns: u64,
    /// Of a single byte, typically.
    pub program_byte_ns: u64,
    /// Of 4 KiB, typically; `None`: it cannot be done.
    pub small_erase_ns: Option<u64>,
    pub address_bytes: u32,
}

/// A parallel NOR part.
#[derive(Clone, Debug, PartialEq)]
pub struct ParallelNorPart {
    pub array: NorArray,
    pub width_bits: u32,
    pub access_ns: u64,
    /// Bytes of a page of reads and the time of its further words; `None`: no page mode.
    pub page_read: Option<PageRead>,
    pub word_program_ns: u64,
    /// `None`: words alone.
    pub write_buffer: Option<WriteBuffer>,
    pub command_set: CommandSet,
}

/// Page mode of a parallel NOR part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRead {
    pub page_bytes: u32,
    /// Of each word behind the first.
    pub access_ns: u64,
}

/// Buffered programs of a parallel NOR part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBuffer {
    pub size_bytes: u32,
    /// Of a full buffer, typically.
    pub program_ns: u64,
}

impl SpiNorFile {
    /// Errors: lists or sizes that do not fit together.
    pub fn part(&self) -> Result<SpiNorPart, String> {
        let clock_max_hz = hertz(self.clock_max_megahertz.value);
        let clocks = self.read_clocks_megahertz.as_ref().map(|clocks| clocks.value.as_slice());
        let mut array = self.array()?;
        array.longest.program_ns = said(&self.t_program_max_us).map(|us| us_to_ns(us.0));
        let program_page_bytes = self.program_page_bytes.value;
        if !program_page_bytes.is_power_of_two() || program_page_bytes > array.erase_block_bytes {
            return Err(format!("program_page_B = {program_page_bytes}: a power of two within a block is needed"));
        }
        let small = said(&self.t_small_erase_us).map(|us| us_to_ns(us.0));
        if self.has_small_erase.value != small.is_some() {
            return Err("erase_4KiB and t_erase_4KiB_us: the time is needed exactly if 4 KiB can be erased".to_string());
        }
        let address_bytes = said(&self.address_bytes).unwrap_or(if self.size_kib.value > 16 << 10 { 4 } else { 3 });
        if !(3..=4).contains(&address_bytes) {
            return Err(format!("address_B = {address_bytes}: 3 or 4 is needed"));
        }
        let program_ns = us_to_ns(self.t_program_us.value.0);
        Ok(SpiNorPart {
            reads: reads_of(&self.read_modes.value, &self.dummy_clocks.value, clocks, clock_max_hz)?,
            plain_read_clock_hz: said(&self.plain_read_clock_megahertz).map(hertz),
            programs: programs_of(&self.program_modes.value)?,
            clock_max_hz,
            program_page_bytes,
            program_ns,
            program_byte_ns: said(&self.t_program_byte_us).map_or(program_ns, |us| us_to_ns(us.0)),
            small_erase_ns: small,
            address_bytes,
            array,
        })
    }
}

impl ParallelNorPart {
    /// Bytes that one program takes at most.
    pub fn program_bytes(&self) -> u32 {
        self.write_buffer.map_or(self.width_bits / 8, |buffer| buffer.size_bytes)
    }
}

impl ParallelNorFile {
    /// Errors: keys of which one is nothing without the other; sizes that no chip has.
    pub fn part(&self) -> Result<ParallelNorPart, String> {
        let width_bits = self.width_bits.value;
        if ![8, 16, 32].contains(&width_bits) {
            return Err(format!("width_bits = {width_bits}: 8, 16 or 32 is needed"));
        }
        let pair = |one: bool, other: bool, keys: &str| {
            if one == other {
                Ok(())
            } else {
                Err(format!("{keys}: give both, or neither"))
            }
        };
        let (page, buffer) = (said(&self.read_page_bytes), said(&self.write_buffer_bytes));
        pair(page.is_some(), self.t_page_access_ns.is_some(), "read_page_B and t_page_access_ns")?;
        pair(buffer.is_some(), self.t_buffer_program_us.is_some(), "write_buffer_B and t_buffer_program_us")?;
        let sizes = [("read_page_B", page), ("write_buffer_B", buffer)];
        if let Some((key, Some(bytes))) = sizes.iter().find(|(_, bytes)| bytes.is_some_and(|b| !b.is_power_of_two())) {
            return Err(format!("{key} = {bytes}: a power of two is needed"));
        }
        let ns = |time: Amount| time.0.round() as u64;
        Ok(ParallelNorPart {
            array: self.array()?,
            width_bits,
            access_ns: ns(self.t_access_ns.value),
            page_read: page
                .zip(said(&self.t_page_access_ns))
                .map(|(page_bytes, time)| PageRead { page_bytes, access_ns: ns(time) }),
            word_program_ns: us_to_ns(self.t_word_program_us.value.0),
            write_buffer: buffer
                .zip(said(&self.t_buffer_program_us))
                .map(|(size_bytes, us)| WriteBuffer { size_bytes, program_ns: us_to_ns(us.0) }),
            command_set: self.command_set.value,
        })
    }
}
