//! NAND: what the files of raw and of SPI NAND parts say, and what stands in both. The second paragraph of a key says what to look
//! up in a data sheet; `profiles new` writes it beside the key.

use super::figures::{ChipPower, LongestTimes};
use super::kind::{Cell, EccStatus, OobLayout, Pairing, PartKind, SpiMode};
use crate::constant::{ns_of_us, said, Amount, Sourced};
use ffslab_flash::{Geometry, Rules, Timing};
use ffslab_sim::units::us_to_ns;
use schemars::JsonSchema;
use serde::Deserialize;

/// The keys of every NAND part, and those of one kind.
macro_rules! nand_file {
    ($(#[$of_file:meta])* $file:ident { $($of_kind:tt)* }) => {
        $(#[$of_file])*
        #[derive(Clone, Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $file {
            /// What people read of it.
            pub title: String,
            /// Name or file of the part that says what this file does not.
            pub base: Option<String>,
            /// What the part is to its driver. Absent: raw NAND.
            #[serde(rename = "kind")]
            pub _kind: Option<PartKind>,
            /// Bytes of a page, without its OOB area.
            ///
            /// Look up: "page size" in the list of features or in the array organization, the number before the "+".
            #[serde(rename = "page_B")]
            pub page_bytes: Sourced<u32>,
            /// Bytes of a page's OOB area.
            ///
            /// Look up: "spare area", the number behind the "+" of the page size.
            #[serde(rename = "oob_B")]
            pub oob_bytes: Sourced<u32>,
            /// Pages of an erase block.
            ///
            /// Look up: "block size" or the array organization, in pages.
            pub pages_per_block: Sourced<u32>,
            /// Erase blocks of the chip.
            ///
            /// Look up: "device size" or the array organization, in blocks, all dies and planes together.
            pub blocks: Sourced<u32>,
            /// Planes of a die. Absent: one.
            ///
            /// Look up: the array organization, "planes" or "districts".
            pub planes: Option<Sourced<u32>>,
            /// Dies of the chip (LUNs, or targets that a command selects). Absent: one.
            ///
            /// Look up: "LUN" in the array organization, "stacked die" in the features.
            pub dies: Option<Sourced<u32>>,
            /// How many bits a cell holds. Absent: one.
            ///
            /// Look up: the first lines of the features, "single-level cell (SLC)" or "multilevel cell (MLC)".
            pub cell: Option<Sourced<Cell>>,
            /// tR: a page goes from the cells to the chip's register; with the chip's own ECC on, where it has one.
            ///
            /// Look up: tR (Micron, Samsung), tRD (SPI NAND), in the AC characteristics; often given as a maximum: say so in the source.
            pub t_read_us: Sourced<Amount>,
            /// tPROG: a page goes from the chip's register to the cells, typically.
            ///
            /// Look up: tPROG (SPI NAND also tPP), "typ", in the program and erase characteristics; with on-die ECC on where it has one.
            pub t_program_us: Sourced<Amount>,
            /// tBERS: a block is erased, typically.
            ///
            /// Look up: tBERS (SPI NAND also tBE, tERS), "typ".
            pub t_erase_us: Sourced<Amount>,
            /// tR at most.
            ///
            /// Look up: tR, "max".
            pub t_read_max_us: Option<Sourced<Amount>>,
            /// tPROG at most.
            ///
            /// Look up: tPROG, "max".
            pub t_program_max_us: Option<Sourced<Amount>>,
            /// tBERS at most.
            ///
            /// Look up: tBERS, "max".
            pub t_erase_max_us: Option<Sourced<Amount>>,
            /// tPROG of the fast pages of MLC, those that hold the first bit of their cells.
            ///
            /// Look up: "lower page program time"; few data sheets say it.
            pub t_program_fast_us: Option<Sourced<Amount>>,
            /// tPROG of the slow pages of MLC.
            ///
            /// Look up: "upper page program time"; few data sheets say it.
            pub t_program_slow_us: Option<Sourced<Amount>>,
            /// Which pages of MLC share their cells.
            ///
            /// Look up: the table "paired page address information" or "shared pages", often an appendix.
            pub pairing: Option<Sourced<Pairing>>,
            /// NOP: how often a page may be programmed between two erases.
            ///
            /// Look up: NOP, "number of partial page programs", in the program and erase characteristics.
            pub partial_programs_max: Sourced<u32>,
            /// Whether the pages of a block must be programmed in order.
            ///
            /// Look up: "must be programmed consecutively from the LSB page to the MSB page", "random page programming is prohibited".
            pub in_order: Sourced<bool>,
            /// Erases that a block endures by the data sheet.
            ///
            /// Look up: "endurance", "program/erase cycles"; mind the ECC that it is promised with.
            pub endurance_erases: Option<Sourced<u32>>,
            /// How long the cells hold their bits by the data sheet, after few erases.
            ///
            /// Look up: "data retention", and for which number of erases and temperature it is promised (JESD47).
            pub retention_years: Option<Sourced<Amount>>,
            /// Bit errors in a step of `ecc_required_step_B` that the data sheet wants corrected.
            ///
            /// Look up: "ECC requirement", "minimum required ECC", or bytes 112 and following of the ONFI parameter page.
            pub ecc_required_bits: Option<Sourced<u32>>,
            /// Data bytes to which `ecc_required_bits` applies.
            ///
            /// Look up: the same place: "4-bit ECC per 512 bytes", "40 bits per 1 KB".
            #[serde(rename = "ecc_required_step_B")]
            pub ecc_required_step_bytes: Option<Sourced<u32>>,
            /// Blocks that may be bad over the part's life.
            ///
            /// Look up: NVB, "number of valid blocks", minimum: all blocks less these.
            pub bad_blocks_max: Option<Sourced<u32>>,
            /// Current while a page is read.
            ///
            /// Look up: ICC1, "array read current" or "sequential read", in the DC characteristics, "typ".
            #[serde(rename = "read_mA")]
            pub read_milliampere: Option<Sourced<Amount>>,
            /// Current while a page is programmed.
            ///
            /// Look up: ICC2, "program current".
            #[serde(rename = "program_mA")]
            pub program_milliampere: Option<Sourced<Amount>>,
            /// Current while a block is erased.
            ///
            /// Look up: ICC3, "erase current".
            #[serde(rename = "erase_mA")]
            pub erase_milliampere: Option<Sourced<Amount>>,
            /// Current while nothing happens.
            ///
            /// Look up: ISB, "standby current (CMOS)".
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
            pub fn geometry(&self) -> Geometry {
                Geometry {
                    page_bytes: self.page_bytes.value,
                    oob_bytes: self.oob_bytes.value,
                    pages_per_block: self.pages_per_block.value,
                    blocks: self.blocks.value,
                }
            }

            pub fn array(&self) -> NandArray {
                let us = |time: &Option<Sourced<Amount>>| said(time).map(|us| us_to_ns(us.0));
                let required = said(&self.ecc_required_bits).zip(said(&self.ecc_required_step_bytes));
                NandArray {
                    geometry: self.geometry(),
                    planes: said(&self.planes).unwrap_or(1),
                    dies: said(&self.dies).unwrap_or(1),
                    cell: said(&self.cell).unwrap_or(Cell::Slc),
                    read_ns: us_to_ns(self.t_read_us.value.0),
                    program_ns: us_to_ns(self.t_program_us.value.0),
                    erase_ns: us_to_ns(self.t_erase_us.value.0),
                    longest: LongestTimes {
                        read_ns: us(&self.t_read_max_us),
                        program_ns: us(&self.t_program_max_us),
                        erase_ns: us(&self.t_erase_max_us),
                    },
                    program_fast_ns: us(&self.t_program_fast_us),
                    program_slow_ns: us(&self.t_program_slow_us),
                    pairing: said(&self.pairing),
                    rules: Rules {
                        partial_programs_max: self.partial_programs_max.value,
                        in_order: self.in_order.value,
                    },
                    endurance_erases: said(&self.endurance_erases),
                    retention_years: said(&self.retention_years).map(|years| years.0),
                    ecc_required: required.map(|(bits, step_bytes)| EccRequired { bits, step_bytes }),
                    bad_blocks_max: said(&self.bad_blocks_max),
                    power: ChipPower::of(
                        &self.supply_volt,
                        [&self.read_milliampere, &self.program_milliampere, &self.erase_milliampere],
                        &self.standby_microampere,
                    ),
                }
            }
        }
    };
}

/// The cells of a NAND part and what its data sheet promises of them, whatever bus is in front.
#[derive(Clone, Debug, PartialEq)]
pub struct NandArray {
    pub geometry: Geometry,
    /// Of a die.
    pub planes: u32,
    pub dies: u32,
    pub cell: Cell,
    /// tR.
    pub read_ns: u64,
    /// tPROG, typically.
    pub program_ns: u64,
    /// tBERS, typically.
    pub erase_ns: u64,
    pub longest: LongestTimes,
    /// tPROG of the fast and slow pages of MLC, where the profile knows them.
    pub program_fast_ns: Option<u64>,
    pub program_slow_ns: Option<u64>,
    pub pairing: Option<Pairing>,
    pub rules: Rules,
    pub endurance_erases: Option<u32>,
    pub retention_years: Option<f64>,
    /// What the data sheet wants corrected.
    pub ecc_required: Option<EccRequired>,
    /// Blocks that may be bad over the part's life.
    pub bad_blocks_max: Option<u32>,
    pub power: ChipPower,
}

/// Commands of a raw NAND part beside reading and programming a page and erasing a block, as far as its profile knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NandCommands {
    pub cache_program: bool,
    pub cache_read: bool,
    /// tCBSY.
    pub cache_busy_ns: u64,
    pub copy_back: bool,
}

/// The strength of ECC that a data sheet asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EccRequired {
    pub bits: u32,
    pub step_bytes: u32,
}

nand_file! {
    /// `profiles/parts/*.toml` of raw NAND.
    RawNandFile {
        /// A byte on the bus between chip and controller.
        ///
        /// Look up: tRC and tWC, the shortest read and write cycle, divided by the bytes of a cycle; a controller may be slower.
        #[serde(rename = "bus_ns_per_B")]
        pub bus_ns_per_byte: Sourced<Amount>,
        /// Width of the bus. Absent: 8 bits. It is in `bus_ns_per_B` already.
        ///
        /// Look up: "I/O width", x8 or x16, mostly a letter of the part number.
        pub bus_bits: Option<Sourced<u32>>,
        /// Whether a page can be sent while the one before is programmed. Absent: it is not known.
        ///
        /// Look up: "cache program", "program page cache mode", 80h-15h, in the features and the command table.
        pub cache_program: Option<Sourced<bool>>,
        /// Whether a page can be sent away while the next one is read. Absent: it is not known.
        ///
        /// Look up: "read cache", "page read cache mode", 31h and 3Fh.
        pub cache_read: Option<Sourced<bool>>,
        /// tCBSY: a page goes from one register of the chip to the other, in a cache program or a cache read. Absent: no time.
        ///
        /// Look up: tCBSY and tRCBSY (Micron), tDCBSYW and tDCBSYR (Toshiba), "typ": they are long while the array is busy, which counts apart.
        pub t_cache_busy_us: Option<Sourced<Amount>>,
        /// Whether the chip can copy a page inside a plane, with changes to a part of it. Absent: it is not known.
        ///
        /// Look up: "copy-back program", "internal data move", 00h-35h and 85h-10h, with random data input.
        pub copy_back: Option<Sourced<bool>>,
    }
}

nand_file! {
    /// `profiles/parts/*.toml` of SPI NAND.
    SpiNandFile {
        /// Fastest clock of the bus.
        ///
        /// Look up: fC or fR, "clock frequency", in the AC characteristics.
        #[serde(rename = "clock_max_MHz")]
        pub clock_max_megahertz: Sourced<Amount>,
        /// How the chip can be read from its cache: lines of command, address and data.
        ///
        /// Look up: the command table: 03h/0Bh is 1-1-1, 3Bh 1-1-2, BBh 1-2-2, 6Bh 1-1-4, EBh 1-4-4.
        pub read_modes: Sourced<Vec<SpiMode>>,
        /// Dummy clocks of each of `read_modes`.
        ///
        /// Look up: the command table or the timing diagrams: bytes of dummy, by 8, divided by the lines of the address.
        pub dummy_clocks: Sourced<Vec<u32>>,
        /// Fastest clock of each of `read_modes`, where they differ. Absent: `clock_max_MHz`.
        ///
        /// Look up: footnotes to the clock frequency.
        #[serde(rename = "read_clocks_MHz")]
        pub read_clocks_megahertz: Option<Sourced<Vec<Amount>>>,
        /// How bytes can be loaded for programming.
        ///
        /// Look up: the command table: 02h/84h is 1-1-1, 32h/34h 1-1-4.
        pub program_modes: Sourced<Vec<SpiMode>>,
        /// Data bytes that one code word of the ECC in the chip protects.
        ///
        /// Look up: "internal ECC", "ECC protection": bits per 512 B (of data, and their share of the spare area).
        #[serde(rename = "ecc_step_B")]
        pub ecc_step_bytes: Sourced<u32>,
        /// Bit errors that the chip corrects in a step.
        ///
        /// Look up: the same place.
        pub ecc_strength_bits: Sourced<u32>,
        /// How the chip says what its ECC found.
        ///
        /// Look up: the bits ECCS (ECC_S) of the status register C0h, and whether a further register or command gives the number.
        pub ecc_status: Sourced<EccStatus>,
        /// Where the code stands in the OOB area.
        ///
        /// Look up: the table "ECC protection and spare area"; docs/profiles.md lists the words.
        pub oob_layout: Sourced<OobLayout>,
        /// tR with the chip's own ECC off.
        ///
        /// Look up: tR or tRD, "ECC disabled".
        pub t_read_ecc_off_us: Option<Sourced<Amount>>,
        /// Whether an address selects the plane, as on parts with two planes that need the plane's bit with each command.
        ///
        /// Look up: "plane select" in the address format; Linux has flags SPINAND_HAS_..._PLANE_SELECT_BIT for it.
        pub plane_select: Option<Sourced<bool>>,
        /// Whether the chip can be read over page borders in one transfer that Linux knows to use.
        ///
        /// Look up: "continuous read" with ECC status at its end; Linux has SPINAND_CONT_READ for it.
        pub continuous_read: Option<Sourced<bool>>,
    }
}

/// A SPI NAND part: the cells, its bus, the ECC in it.
#[derive(Clone, Debug, PartialEq)]
pub struct SpiNandPart {
    pub array: NandArray,
    /// How it is read from its cache, fastest data first.
    pub reads: Vec<SpiRead>,
    /// How bytes are loaded, fastest first.
    pub programs: Vec<SpiMode>,
    pub clock_max_hz: u64,
    pub ecc: OnDieEcc,
    /// tR with the ECC off, where the profile knows it.
    pub read_ecc_off_ns: Option<u64>,
    pub plane_select: bool,
    pub continuous_read: bool,
}

/// A way to read over a serial bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpiRead {
    pub mode: SpiMode,
    /// Clocks between address and data.
    pub dummy_cycles: u32,
    pub clock_max_hz: u64,
}

/// The ECC that a chip computes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnDieEcc {
    pub step_bytes: u32,
    pub strength_bits: u32,
    pub status: EccStatus,
    pub layout: OobLayout,
}

/// MHz in a file, hertz here.
pub(super) fn hertz(megahertz: Amount) -> u64 {
    (megahertz.0 * 1e6).round() as u64
}

/// The ways to read that a file says, widest data first; among equally wide ones those with the wider address.
///
/// Errors: lists that do not fit together.
pub(super) fn reads_of(
    modes: &[SpiMode],
    dummies: &[u32],
    clocks: Option<&[Amount]>,
    clock_max_hz: u64,
) -> Result<Vec<SpiRead>, String> {
    if modes.is_empty() || clock_max_hz == 0 {
        return Err("read_modes and clock_max_MHz: one way to read at least, and a clock above 0".to_string());
    }
    if dummies.len() != modes.len() || clocks.is_some_and(|clocks| clocks.len() != modes.len()) {
        let text = "read_modes, dummy_clocks and read_clocks_MHz: they need an entry for each way to read";
        return Err(format!("{text}, {} here", modes.len()));
    }
    let clock_hz = |i: usize| clocks.map_or(clock_max_hz, |clocks| hertz(clocks[i]));
    let read = |(i, (&mode, &dummy_cycles))| SpiRead { mode, dummy_cycles, clock_max_hz: clock_hz(i) };
    let mut reads: Vec<SpiRead> = modes.iter().zip(dummies).enumerate().map(read).collect();
    if reads.iter().any(|read| read.clock_max_hz == 0) {
        return Err("read_clocks_MHz: each must be above 0".to_string());
    }
    reads.sort_by_key(|read| std::cmp::Reverse((read.mode.data_lines(), read.mode.address_lines())));
    Ok(reads)
}

/// Ways to program, widest data first.
pub(super) fn programs_of(modes: &[SpiMode]) -> Result<Vec<SpiMode>, String> {
    if modes.is_empty() {
        return Err("program_modes: one way to program at least".to_string());
    }
    let mut modes = modes.to_vec();
    modes.sort_by_key(|mode| std::cmp::Reverse((mode.data_lines(), mode.address_lines())));
    Ok(modes)
}

impl RawNandFile {
    pub fn commands(&self) -> NandCommands {
        let has = |command: &Option<Sourced<bool>>| said(command).unwrap_or(false);
        NandCommands {
            cache_program: has(&self.cache_program),
            cache_read: has(&self.cache_read),
            cache_busy_ns: ns_of_us(&self.t_cache_busy_us),
            copy_back: has(&self.copy_back),
        }
    }

    /// Time of a byte on the bus, in picoseconds.
    pub fn bus_ps_per_byte(&self) -> u64 {
        // The factor from ns to ps is the same as that from us to ns, 1,000.
        us_to_ns(self.bus_ns_per_byte.value.0)
    }
}

impl SpiNandFile {
    /// Errors: lists that do not fit together, an ECC that corrects nothing.
    pub fn part(&self) -> Result<SpiNandPart, String> {
        let clock_max_hz = hertz(self.clock_max_megahertz.value);
        let clocks = self.read_clocks_megahertz.as_ref().map(|clocks| clocks.value.as_slice());
        let (step_bytes, strength_bits) = (self.ecc_step_bytes.value, self.ecc_strength_bits.value);
        if step_bytes == 0 || strength_bits == 0 || !self.page_bytes.value.is_multiple_of(step_bytes) {
            return Err(format!(
                "ecc_step_B = {step_bytes}, ecc_strength_bits = {strength_bits}: steps must fill a page, and correct"
            ));
        }
        Ok(SpiNandPart {
            array: self.array(),
            reads: reads_of(&self.read_modes.value, &self.dummy_clocks.value, clocks, clock_max_hz)?,
            programs: programs_of(&self.program_modes.value)?,
            clock_max_hz,
            ecc: OnDieEcc { step_bytes, strength_bits, status: self.ecc_status.value, layout: self.oob_layout.value },
            read_ecc_off_ns: said(&self.t_read_ecc_off_us).map(|us| us_to_ns(us.0)),
            plane_select: said(&self.plane_select).unwrap_or(false),
            continuous_read: said(&self.continuous_read).unwrap_or(false),
        })
    }
}

impl NandArray {
    /// Errors: words that only cells of several bits have.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_of_several = self.pairing.is_some() || self.program_fast_ns.is_some() || self.program_slow_ns.is_some();
        if is_of_several && self.cell == Cell::Slc {
            return Err("pairing, t_program_fast_us, t_program_slow_us: cells that hold one bit have none".to_string());
        }
        if self.planes == 0 || self.dies == 0 {
            return Err("planes, dies: at least one is needed".to_string());
        }
        Ok(())
    }

    /// What a chip with a bus of this speed takes.
    pub fn timing(&self, bus_ps_per_byte: u64) -> Timing {
        Timing { read_ns: self.read_ns, program_ns: self.program_ns, erase_ns: self.erase_ns, bus_ps_per_byte }
    }
}
