//! What parts say of themselves when they are asked for their identity.
//!
//! SPI NAND: Linux, the vendors' files in `drivers/mtd/nand/spi/` (`SPINAND_ID`), behind the number of the vendor. SPI NOR: Linux,
//! `drivers/mtd/spi-nor/` (W25Q128JV: that of the version -IQ). Raw NAND: Linux, `drivers/mtd/nand/raw/nand_ids.c` of the parts that
//! stand there with all their bytes (TC58NVG2S0H, TC58NVG3S0F, H27UCG8T2A); those of the others are from memory of their data sheets,
//! not opened.

/// By the name of the profile.
static KNOWN: [(&str, &[u8]); 37] = [
    // SPI NAND.
    ("f35sqa001g", &[0xCD, 0x71, 0x71]),
    ("f50l1g41a", &[0xC8, 0x21, 0x7F]),
    ("gd5f1gq4ua", &[0xC8, 0xF1]),
    ("gd5f1gq5ue", &[0xC8, 0x51]),
    ("mt29f1g01abafd", &[0x2C, 0x14]),
    ("mt29f2g01abagd", &[0x2C, 0x24]),
    ("mx35lf1ge4ab", &[0xC2, 0x12]),
    ("mx35lf2ge4ad", &[0xC2, 0x26, 0x03]),
    ("pn26g01a", &[0xA1, 0xE1]),
    ("tc58cvg0s3hraig", &[0x98, 0xC2]),
    ("tc58cvg2s0hraig", &[0x98, 0xCD]),
    ("w25m02gv", &[0xEF, 0xAB, 0x21]),
    ("w25n01gv", &[0xEF, 0xAA, 0x21]),
    ("w25n02kv", &[0xEF, 0xAA, 0x22]),
    ("xt26g01a", &[0x0B, 0xE1]),
    // SPI NOR.
    ("gd25q128", &[0xC8, 0x40, 0x18]),
    ("is25lp128f", &[0x9D, 0x60, 0x18]),
    ("mx25l25635e", &[0xC2, 0x20, 0x19]),
    ("mx25l8005", &[0xC2, 0x20, 0x14]),
    ("n25q128a13", &[0x20, 0xBA, 0x18]),
    ("n25q256a", &[0x20, 0xBA, 0x19]),
    ("s25fl128s", &[0x01, 0x20, 0x18, 0x4D, 0x01, 0x80]),
    ("w25q128jv", &[0xEF, 0x40, 0x18]),
    ("w25q16jv", &[0xEF, 0x40, 0x15]),
    ("w25q256", &[0xEF, 0x40, 0x19]),
    ("w25q32jv", &[0xEF, 0x40, 0x16]),
    // Raw NAND.
    ("h27ucg8t2a", &[0xAD, 0xDE, 0x94, 0xDA, 0x74, 0xC4]),
    ("k9f1g08u0a", &[0xEC, 0xF1, 0x80, 0x15, 0x40]),
    ("mt29f2g08aac", &[0x2C, 0xDA, 0x80, 0x15, 0x50]),
    ("mt29f2g08abaea", &[0x2C, 0xDA, 0x90, 0x95, 0x06]),
    ("mt29f4g08abada", &[0x2C, 0xDC, 0x90, 0x95, 0x56]),
    ("mx30lf1g18ac", &[0xC2, 0xF1, 0x80, 0x95, 0x02]),
    ("s34ml02g1", &[0x01, 0xDA, 0x90, 0x95, 0x44]),
    ("tc58nvg0s3hta00", &[0x98, 0xF1, 0x80, 0x15, 0x72]),
    ("tc58nvg2s0h", &[0x98, 0xDC, 0x90, 0x26, 0x76, 0x16, 0x08, 0x00]),
    ("tc58nvg3s0f", &[0x98, 0xD3, 0x90, 0x26, 0x76, 0x15, 0x02, 0x08]),
    ("w29n02gv", &[0xEF, 0xDA, 0x90, 0x95, 0x04]),
];

pub(super) const MICRON: u8 = 0x2C;
/// Of NOR that was Numonyx's.
pub(super) const MICRON_NOR: u8 = 0x20;
pub(super) const MACRONIX: u8 = 0xC2;
const ISSI: u8 = 0x9D;
const SPANSION: u8 = 0x01;
const WINBOND: u8 = 0xEF;

/// The bytes of a part. `None`: they are not known here.
pub(super) fn of_part(name: &str) -> Option<&'static [u8]> {
    KNOWN.iter().find(|(known, _)| *known == name).map(|&(_, id)| id)
}

/// The vendor as a parameter page spells it.
pub(super) fn vendor(id: &[u8]) -> &'static str {
    match id.first() {
        Some(&SPANSION) => "SPANSION",
        Some(&MICRON) => "MICRON",
        Some(&MACRONIX) => "MACRONIX",
        Some(&WINBOND) => "WINBOND",
        Some(0xC8) => "GIGADEVICE",
        Some(0x98) => "TOSHIBA",
        _ => "",
    }
}

/// Raw NAND of vendors that follow ONFI; the small numbers of Micron's parts before 2007 do not.
pub(super) fn follows_onfi(id: &[u8]) -> bool {
    matches!(id.first(), Some(&(SPANSION | MICRON | MACRONIX | WINBOND))) && id.get(3) != Some(&0x15)
}

/// The tables of SFDP came in 2011: MX25L8005 is older.
pub(super) fn has_sfdp(id: &[u8]) -> bool {
    id != [MACRONIX, 0x20, 0x14]
}

/// Where the quad enable bit is, as SFDP numbers it (JESD216, 15th word): in Macronix's and ISSI's first status register, in the second
/// one of Winbond, GigaDevice and Spansion, nowhere in Micron's.
pub(super) fn quad_enable(id: &[u8]) -> u32 {
    match id.first() {
        Some(&MICRON_NOR) => 0,
        Some(&(MACRONIX | ISSI)) => 2,
        _ => 5,
    }
}
