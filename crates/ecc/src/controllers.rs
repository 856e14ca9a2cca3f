//! The controllers that are known: which codes they compute, and how they lay pages out. Each row says where that is written.
//!
//! Not here, because nothing public was found that says it: the field and the order of bits of Rockchip's, Cadence's, Denali's, ST's FMC2 and
//! Tegra's engines, Marvell's (their code is no BCH code that is known), the ECC inside chips.

use crate::layout::Arrangement;

/// Which bit of a byte comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    HighestFirst,
    LowestFirst,
}

/// The codes of a row.
#[derive(Clone, Copy, Debug)]
pub enum Kinds {
    Bch { polynomials: &'static [u32], strengths: &'static [usize] },
    ReedSolomon10,
    ReedSolomon12,
}

/// What a controller does.
pub struct Controller {
    pub name: &'static str,
    /// The file or page that says so.
    pub source: &'static str,
    pub kinds: Kinds,
    pub sectors_bytes: &'static [usize],
    pub order: Order,
    pub arrangement: Arrangement,
    /// Pages may have Allwinner's sequence added.
    pub is_scrambled: bool,
}

/// The polynomials of m = 13 (`prim_poly_tab` in Linux's lib/bch.c), and those of m = 14 of Linux, of Atmel and MediaTek, of Allwinner and
/// Broadcom.
pub const M13: &[u32] = &[0x201b];
pub const M14: &[u32] = &[0x402b, 0x4443, 0x5803];
const M14_LINUX: &[u32] = &[0x402b];
const M14_ATMEL: &[u32] = &[0x4443];
const M14_ALLWINNER: &[u32] = &[0x5803];
pub const M15: &[u32] = &[0x8003];

/// All strengths of software, and those of controllers.
pub const ALL: &[usize] = &{
    let mut all = [0; 60];
    let mut at = 0;
    while at < 60 {
        all[at] = at + 1;
        at += 1;
    }
    all
};
const EVEN: &[usize] = &[2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 62];
const ATMEL: &[usize] = &[2, 4, 8, 12, 24, 32];
const ALLWINNER: &[usize] = &[16, 24, 28, 32, 40, 48, 56, 60, 64];
const MEDIATEK: &[usize] = &[4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60];

const fn bch(polynomials: &'static [u32], strengths: &'static [usize]) -> Kinds {
    Kinds::Bch { polynomials, strengths }
}

const fn row(
    (name, source): (&'static str, &'static str),
    kinds: Kinds,
    sectors_bytes: &'static [usize],
    order: Order,
    arrangement: Arrangement,
) -> Controller {
    Controller { name, source, kinds, sectors_bytes, order, arrangement, is_scrambled: false }
}

pub(crate) const SOFTWARE_BCH: &str = "software BCH of Linux";
const SOFTWARE: (&str, &str) = (SOFTWARE_BCH, "drivers/mtd/nand/ecc-sw-bch.c, drivers/mtd/nand/ecc.c");
const OMAP: (&str, &str) = ("TI OMAP and AM335x (ELM)", "U-Boot drivers/mtd/nand/raw/omap_gpmc.c");
const IFC: (&str, &str) =
    ("Freescale IFC", "Linux drivers/mtd/nand/raw/fsl_ifc_nand.c; SySS nand-dump-tools, NXP_P1014");
const PMECC: (&str, &str) = ("Atmel PMECC", "U-Boot drivers/mtd/nand/raw/atmel/pmecc.c; SySS nand-dump-tools, ATMEL");
const GPMI: (&str, &str) =
    ("Freescale GPMI (i.MX)", "U-Boot drivers/mtd/nand/raw/mxs_nand.c; lumagi.github.io/posts/imx6-nand-flash");
const SUNXI: (&str, &str) =
    ("Allwinner", "U-Boot tools/sunxi-spl-image-builder.c; Linux drivers/mtd/nand/raw/sunxi_nand.c");
const QUALCOMM: (&str, &str) =
    ("Qualcomm NANDc", "Linux drivers/mtd/nand/raw/qcom_nandc.c; github.com/ecsv/qcom-nandc-pagify");
const BROADCOM: (&str, &str) =
    ("Broadcom", "Linux drivers/mtd/nand/raw/brcmnand/brcmnand.c; github.com/ak-hard/brcm-nand-bch");
const MTK: (&str, &str) =
    ("MediaTek NFI", "Linux drivers/mtd/nand/raw/mtk_nand.c; wiki of github.com/jvandewiel/no-alexa");
const AMLOGIC: (&str, &str) = ("Amlogic", "github.com/mamaich/aml-nand-ecc-bch");
const DAVINCI: (&str, &str) =
    ("TI DaVinci 4-bit ECC", "U-Boot drivers/mtd/nand/raw/davinci_nand.c; genecc.c of TI's flash utilities");
const CAFE: (&str, &str) = ("CAFE (Marvell 88ALP01)", "Linux drivers/mtd/nand/raw/cafe_nand.c");

use Order::{HighestFirst, LowestFirst};

/// All of them; what covers more bytes comes before what covers fewer.
pub static CONTROLLERS: &[Controller] = &[
    row(CAFE, Kinds::ReedSolomon12, &[2048], HighestFirst, Arrangement::Whole { user: 2 }),
    Controller {
        is_scrambled: true,
        ..row(SUNXI, bch(M14_ALLWINNER, ALLWINNER), &[1024, 512], LowestFirst, Arrangement::UserThenCode { user: 4 })
    },
    row(GPMI, bch(M13, EVEN), &[512], LowestFirst, Arrangement::Chunks { metadata: 10 }),
    // Which polynomial the longer field has is not written anywhere.
    row(GPMI, bch(M14, EVEN), &[1024], LowestFirst, Arrangement::Chunks { metadata: 10 }),
    row(QUALCOMM, bch(M13, &[8]), &[512], HighestFirst, Arrangement::Across { word: 532 }),
    row(QUALCOMM, bch(M13, &[4]), &[512], HighestFirst, Arrangement::Across { word: 528 }),
    row(BROADCOM, bch(M13, &[4, 8, 12]), &[512], HighestFirst, Arrangement::Pieces { bytes: None }),
    row(BROADCOM, bch(M13, &[4, 8]), &[512], HighestFirst, Arrangement::Pieces { bytes: Some(16) }),
    row(BROADCOM, bch(M14_ALLWINNER, &[4, 8, 12, 24]), &[512], HighestFirst, Arrangement::Pieces { bytes: None }),
    row(BROADCOM, bch(M14_ALLWINNER, &[4, 8]), &[512], HighestFirst, Arrangement::Pieces { bytes: Some(27) }),
    row(
        MTK,
        bch(M13, MEDIATEK),
        &[512],
        LowestFirst,
        Arrangement::Sectors { user: 8, covered: 8, share: None, keeps_mark: true },
    ),
    row(
        MTK,
        bch(M13, MEDIATEK),
        &[512],
        LowestFirst,
        Arrangement::Sectors { user: 8, covered: 1, share: None, keeps_mark: true },
    ),
    row(
        MTK,
        bch(M14_ATMEL, MEDIATEK),
        &[1024],
        LowestFirst,
        Arrangement::Sectors { user: 8, covered: 8, share: None, keeps_mark: true },
    ),
    row(
        MTK,
        bch(M14_ATMEL, MEDIATEK),
        &[1024],
        LowestFirst,
        Arrangement::Sectors { user: 8, covered: 1, share: None, keeps_mark: true },
    ),
    row(MTK, bch(M13, MEDIATEK), &[512], LowestFirst, Arrangement::SectorsApart { user: 8, covered: 8 }),
    row(MTK, bch(M14_ATMEL, MEDIATEK), &[1024], LowestFirst, Arrangement::SectorsApart { user: 8, covered: 8 }),
    row(
        AMLOGIC,
        bch(M14_LINUX, &[8]),
        &[512],
        HighestFirst,
        Arrangement::Sectors { user: 2, covered: 2, share: Some(16), keeps_mark: false },
    ),
    row(
        DAVINCI,
        Kinds::ReedSolomon10,
        &[512],
        LowestFirst,
        Arrangement::Sectors { user: 6, covered: 0, share: Some(16), keeps_mark: false },
    ),
    row(DAVINCI, Kinds::ReedSolomon10, &[512], LowestFirst, Arrangement::AtEnd),
    row(DAVINCI, Kinds::ReedSolomon10, &[512], LowestFirst, Arrangement::From { at: 6, padding: 6 }),
    row(SOFTWARE, bch(M13, ALL), &[512], HighestFirst, Arrangement::AtEnd),
    row(SOFTWARE, bch(M14_LINUX, ALL), &[1024], HighestFirst, Arrangement::AtEnd),
    row(OMAP, bch(M13, &[4, 8]), &[512], HighestFirst, Arrangement::From { at: 2, padding: 1 }),
    row(OMAP, bch(M13, &[16]), &[512], HighestFirst, Arrangement::From { at: 2, padding: 0 }),
    row(IFC, bch(M13, &[4]), &[512], HighestFirst, Arrangement::From { at: 8, padding: 1 }),
    row(IFC, bch(M13, &[8]), &[512], HighestFirst, Arrangement::From { at: 8, padding: 3 }),
    row(PMECC, bch(M13, ATMEL), &[512], LowestFirst, Arrangement::AtEnd),
    row(PMECC, bch(M14_ATMEL, ATMEL), &[1024], LowestFirst, Arrangement::AtEnd),
];
