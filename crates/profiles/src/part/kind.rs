//! Kinds of parts, and the words that their data sheets and drivers have for what they can do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a part is to its driver; each kind has keys of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// Raw NAND on a parallel bus. What a file is that does not say its kind.
    #[default]
    Nand,
    /// NAND on a serial bus, with the ECC in the chip.
    SpiNand,
    /// NOR on a serial bus.
    SpiNor,
    /// NOR on a bus for addresses and words, into which the CPU can look directly.
    ParallelNor,
}

impl PartKind {
    pub const ALL: [PartKind; 4] = [PartKind::Nand, PartKind::SpiNand, PartKind::SpiNor, PartKind::ParallelNor];

    /// As a file says it: `kind = "spi-nand"`.
    pub fn name(self) -> &'static str {
        match self {
            PartKind::Nand => "nand",
            PartKind::SpiNand => "spi-nand",
            PartKind::SpiNor => "spi-nor",
            PartKind::ParallelNor => "parallel-nor",
        }
    }

    /// As people write it: "raw NAND part".
    pub fn title(self) -> &'static str {
        match self {
            PartKind::Nand => "raw NAND part",
            PartKind::SpiNand => "SPI NAND part",
            PartKind::SpiNor => "SPI NOR part",
            PartKind::ParallelNor => "parallel NOR part",
        }
    }

    /// The built-in part on which a new file of this kind builds.
    pub fn example(self) -> &'static str {
        match self {
            PartKind::Nand => "mt29f2g08abaea",
            PartKind::SpiNand => "w25n01gv",
            PartKind::SpiNor => "w25q128jv",
            PartKind::ParallelNor => "s29gl256p",
        }
    }
}

/// How many bits a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// One.
    Slc,
    /// Two.
    Mlc,
    /// Three.
    Tlc,
}

impl Cell {
    pub fn name(self) -> &'static str {
        match self {
            Cell::Slc => "slc",
            Cell::Mlc => "mlc",
            Cell::Tlc => "tlc",
        }
    }
}

/// Which two pages of a block share their cells, lower page first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// Pages 0 and 2, 1 and 4, 3 and 6, 5 and 8 ..., the last two by themselves: the upper page is 3 behind its lower one, but
    /// for the first pair and the last.
    Dist3,
    /// Pages 0 and 4, 1 and 5, then 2 and 8, 3 and 9, 6 and 12, 7 and 13 ...: the upper page is 6 behind, pages go in twos.
    Dist6,
}

/// Lines of command, address and data of a transfer, and whether data go at both edges of the clock (D).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SpiMode {
    #[serde(rename = "1-1-1")]
    S111,
    #[serde(rename = "1-1-2")]
    S112,
    #[serde(rename = "1-2-2")]
    S122,
    #[serde(rename = "1-1-4")]
    S114,
    #[serde(rename = "1-4-4")]
    S144,
    #[serde(rename = "4-4-4")]
    S444,
    #[serde(rename = "1-1-8")]
    S118,
    #[serde(rename = "1-8-8")]
    S188,
    #[serde(rename = "8D-8D-8D")]
    D888,
}

impl SpiMode {
    pub fn command_lines(self) -> u32 {
        match self {
            SpiMode::S444 => 4,
            SpiMode::D888 => 8,
            _ => 1,
        }
    }

    pub fn address_lines(self) -> u32 {
        match self {
            SpiMode::S111 | SpiMode::S112 | SpiMode::S114 | SpiMode::S118 => 1,
            SpiMode::S122 => 2,
            SpiMode::S144 | SpiMode::S444 => 4,
            SpiMode::S188 | SpiMode::D888 => 8,
        }
    }

    pub fn data_lines(self) -> u32 {
        match self {
            SpiMode::S111 => 1,
            SpiMode::S112 | SpiMode::S122 => 2,
            SpiMode::S114 | SpiMode::S144 | SpiMode::S444 => 4,
            SpiMode::S118 | SpiMode::S188 | SpiMode::D888 => 8,
        }
    }

    /// Whether both edges of the clock carry bits.
    pub fn is_double_rate(self) -> bool {
        self == SpiMode::D888
    }
}

/// How a SPI NAND chip says what its ECC found, as the drivers of Linux (`drivers/mtd/nand/spi/`) read it. Two bits of the status
/// register say nothing found (0), corrected (1), failed (2) unless the word says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EccStatus {
    /// The chip does not say how many bits it corrected, so the driver takes the strength of the code for it
    /// (`spinand_check_ecc_status` in `core.c`). Winbond of the first generations, Macronix MX35LF2GE4AB, ESMT, FORESEE.
    Generic,
    /// Corrected is 1 or 3; then register 0x30 gives the largest number of flips in its upper four bits
    /// (`tx58cxgxsxraix_ecc_get_status`, `w25n02kv_ecc_get_status`). Toshiba and Kioxia, Winbond KV.
    #[serde(rename = "register-30h")]
    Register30h,
    /// 1 is 1 to 7 flips and counts as 7, 3 is 8 flips (`gd5fxgq4xa_ecc_get_status`, `pn26g0xa_ecc_get_status`).
    #[serde(rename = "gigadevice-q4a")]
    GigadeviceQ4a,
    /// 1 is up to 7 flips, where two bits of register 0xF0 tell up to 4, 5, 6 and 7; 3 is 8 flips
    /// (`gd5fxgq4uexxg_ecc_get_status`).
    #[serde(rename = "gigadevice-q4ue")]
    GigadeviceQ4ue,
    /// 1 is 1 to 4 flips, which two bits of register 0xF0 tell (`gd5fxgq5xexxg_ecc_get_status`).
    #[serde(rename = "gigadevice-q5")]
    GigadeviceQ5,
    /// After 1 the command 0x7C gives the number in its lower four bits (`macronix_ecc_get_status`).
    Macronix,
    /// Three bits: 0 none, 1 up to 3 flips, 3 up to 6, 5 up to 8, 2 failed (`micron_8_ecc_get_status`).
    Micron,
    /// Four bits: 0 none, 1 to 7 the number, 8 failed, 12 is 8 flips (`xt26g0xa_ecc_get_status`).
    Xtx,
}

/// Where a SPI NAND chip keeps its code in the out-of-band area and what it leaves free, as the drivers of Linux
/// (`drivers/mtd/nand/spi/`) say it. Offsets are bytes of the out-of-band area; `i` counts sections from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OobLayout {
    /// i < 4: 8 B of code at 16 i + 8, 6 B free at 16 i + 2 (`w25m02gv_ooblayout`).
    #[serde(rename = "winbond-w25m02gv")]
    WinbondW25m02gv,
    /// i < 4: 7 B of code at 64 + 8 i, 14 B free at 16 i + 2 (`w25n01kv_ooblayout`).
    #[serde(rename = "winbond-w25n01kv")]
    WinbondW25n01kv,
    /// i < 4: 13 B of code at 64 + 16 i, 14 B free at 16 i + 2 (`w25n02kv_ooblayout`).
    #[serde(rename = "winbond-w25n02kv")]
    WinbondW25n02kv,
    /// The upper half is code, the lower one free but for its first two bytes (`micron_8_ooblayout`,
    /// `tx58cxgxsxraix_ooblayout`).
    Half,
    /// i < 4: 8 B of code at 16 i + 8, 8 B free at 16 i, of the first section only 7 B at 1 (`gd5fxgq4xa_ooblayout`).
    #[serde(rename = "gigadevice-q4a")]
    GigadeviceQ4a,
    /// 64 B of code at 64, 63 B free at 1 (`gd5fxgqx_variant2_ooblayout`).
    #[serde(rename = "gigadevice-variant2")]
    GigadeviceVariant2,
    /// The code lies where nobody sees it; all is free but for the first two bytes (`mx35lfxge4ab_ooblayout`).
    Hidden,
    /// i < 4 sections of a quarter of the area: the upper half of each is code, 2 B at 2 of each are free
    /// (`f50l1g41lb_ooblayout`).
    Esmt,
    /// 16 B of code at 48, 47 B free at 1 (`xt26g0xa_ooblayout`).
    #[serde(rename = "xtx-a")]
    XtxA,
    /// i < 4: 13 B of code at 6 + 15 i, 2 B free before each of them from 4 on, and what is behind 64 B
    /// (`pn26g0xa_ooblayout`).
    Paragon,
}
