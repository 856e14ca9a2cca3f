//! Error correction as a strategy: who computes a code, which codes it knows, where their bytes stand in the
//! out-of-band area (the layout), how much they correct (the strength), and what a read costs with them.
//!
//! The driver asks an [`Engine`] for what it does and never which one it is. A new one, such as the ECC inside a chip, is
//! one more value in [`ENGINES`]; whoever lists engines by name reads that table.
//!
//! From Linux 6.1 `drivers/mtd/nand/ecc.c` (the layouts), `drivers/mtd/nand/ecc-sw-hamming.c`,
//! `drivers/mtd/nand/ecc-sw-bch.c` (which code has so many bytes) and `drivers/mtd/nand/raw/nand_base.c` (`nand_scan_tail`: who reads less than a page).

use ffslab_flash::{hamming, Geometry};
use ffslab_sim::Work;

use crate::driver::DriverError;

/// A code: what it covers, what it takes, what it corrects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Data bytes that one code word covers.
    pub step_bytes: u32,
    /// Bytes of the code in the out-of-band area, for each step.
    pub code_bytes: u32,
    /// Flipped bits that are corrected in one step.
    pub strength_bits: u32,
}

/// The Hamming code of Linux (`ecc-sw-hamming.c`), which many controllers compute as well.
pub const HAMMING: Code =
    Code { step_bytes: hamming::STEP_BYTES as u32, code_bytes: hamming::CODE_BYTES as u32, strength_bits: 1 };

/// Who computes the code of a page.
pub struct Engine {
    /// As users write it: `ecc = "hw"`.
    pub name: &'static str,
    /// As people write it: "software ECC".
    pub title: &'static str,
    /// A sentence for help texts.
    pub about: &'static str,
    /// The only code that it computes, with its name; `None`: it computes any.
    pub only_code: Option<(&'static str, Code)>,
    /// Offset in the out-of-band area of one of the code's bytes; `None`: there is no layout for this page.
    pub place: fn(&Geometry, code_bytes_of_page: u32, index: u32) -> Option<u32>,
    /// Pages with a layout, in words.
    pub layouts: &'static str,
    /// Work of the CPU for each byte that is read or written; `None`: the CPU has nothing to do with it.
    pub work: Option<Work>,
    /// A read of a part of a large page moves only the steps that it touches (`NAND_SUBPAGE_READ`).
    pub reads_single_steps: bool,
    /// Its codes are BCH codes ([`Code::bch`]).
    pub computes_bch: bool,
    /// It is in the chip, which knows its layout; a driver of raw NAND cannot have it.
    pub is_on_die: bool,
    /// A kernel that reads an image with out-of-band areas wants the code in it, and we know how to compute it.
    pub is_in_images: bool,
}

/// The controller, over whole pages: a page is always read whole, and the NAND core keeps the last one.
pub static CONTROLLER: Engine = Engine {
    name: "hw",
    title: "hardware ECC",
    about: "The controller: pages are always read whole.",
    only_code: None,
    place: at_the_end,
    layouts: "all that have room for the code",
    work: None,
    reads_single_steps: false,
    computes_bch: false,
    is_on_die: false,
    is_in_images: false,
};

/// The CPU, a step at a time.
pub static SOFTWARE: Engine = Engine {
    name: "sw",
    title: "software ECC",
    about: "The driver: a short read moves only the ECC steps that it touches.",
    only_code: Some(("the Hamming code", HAMMING)),
    place: |geometry, _, index| hamming::oob_place(geometry.page_bytes, geometry.oob_bytes, index),
    layouts: "512 + 16, 2048 + 64, 2048 + 128 and 4096 + 128",
    work: Some(Work::SoftwareEcc),
    reads_single_steps: true,
    computes_bch: false,
    is_on_die: false,
    is_in_images: true,
};

/// The CPU, with a binary BCH code (`ecc-sw-bch.c`, `lib/bch.c`).
pub static SOFTWARE_BCH: Engine = Engine {
    name: "bch",
    title: "software BCH",
    about: "The driver, with a BCH code of a strength of choice.",
    only_code: None,
    place: |geometry, code_bytes_of_page, index| match geometry.oob_bytes {
        // "BCH cannot be used with small page NAND chips" (`nand_ecc_sw_bch_init_ctx`).
        ..64 => None,
        _ => at_the_end(geometry, code_bytes_of_page, index),
    },
    layouts: "those of 64 out-of-band bytes and more",
    work: Some(Work::SoftwareEcc),
    reads_single_steps: true,
    computes_bch: true,
    is_on_die: false,
    is_in_images: true,
};

/// The chip itself, over whole pages. Where its bytes stand and what it says of them depends on the part
/// ([`crate::spi_nand::Layout`]).
pub static ON_DIE: Engine = Engine {
    name: "on-die",
    title: "ECC in the chip",
    about: "The chip itself, as those on an SPI bus do.",
    only_code: None,
    place: |_, _, _| None,
    layouts: "those of SPI NAND",
    work: None,
    reads_single_steps: false,
    computes_bch: false,
    is_on_die: true,
    is_in_images: false,
};

/// All of them, in the order in which people read them.
pub static ENGINES: [&Engine; 4] = [&CONTROLLER, &SOFTWARE, &SOFTWARE_BCH, &ON_DIE];

/// The last bytes of the area (`nand_ooblayout_ecc_lp`). On small pages bytes 0..4 and those from 6 on
/// (`nand_ooblayout_ecc_sp`), because byte 5 is the bad block mark.
fn at_the_end(geometry: &Geometry, code_bytes_of_page: u32, index: u32) -> Option<u32> {
    Some(match geometry.page_bytes {
        512 if index < 4 => index,
        512 => index + 2,
        _ => geometry.oob_bytes.checked_sub(code_bytes_of_page)? + index,
    })
}

ffslab_sim::known_by_name!(Engine);

/// An engine with the code that it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecc {
    pub engine: &'static Engine,
    pub code: Code,
}

impl Code {
    /// The BCH code that corrects so many bits in a step: `m` bits of code for each of them, where `m` is the least with which
    /// a code word covers the step (`nand_ecc_sw_bch_init`).
    pub const fn bch(step_bytes: u32, strength_bits: u32) -> Code {
        let m = u32::BITS - (8 * step_bytes).leading_zeros();
        Code { step_bytes, code_bytes: strength_bits.saturating_mul(m).div_ceil(8), strength_bits }
    }

    fn is_bch(&self) -> bool {
        self.step_bytes > 0 && *self == Code::bch(self.step_bytes, self.strength_bits)
    }
}

impl Ecc {
    /// A controller that computes the Hamming code.
    pub const HARDWARE: Ecc = Ecc { engine: &CONTROLLER, code: HAMMING };
    /// The CPU computes the Hamming code.
    pub const SOFTWARE: Ecc = Ecc { engine: &SOFTWARE, code: HAMMING };

    /// Another engine in place of this one, with the same code unless it knows only others: software BCH then takes the code
    /// that Linux takes by default (`nand_ecc_sw_bch_init_ctx`).
    pub fn by(self, engine: &'static Engine) -> Ecc {
        let code = match engine.only_code {
            Some((_, only)) => only,
            None if engine.computes_bch && !self.code.is_bch() => Code::bch(512, 4),
            None => self.code,
        };
        Ecc { engine, code }
    }

    /// The same engine with the BCH code that corrects so many bits in a step of 512 bytes, or of more if its steps are longer.
    pub fn of_strength(self, strength_bits: u32) -> Ecc {
        Ecc { code: Code::bch(self.code.step_bytes.max(512), strength_bits), ..self }
    }

    /// Bytes of the code of a whole page.
    pub fn page_code_bytes(&self, geometry: &Geometry) -> u32 {
        geometry.page_bytes / self.code.step_bytes * self.code.code_bytes
    }

    /// Where byte `index` of a page's code stands in its out-of-band area.
    pub(crate) fn place(&self, geometry: &Geometry, index: u32) -> Option<u32> {
        (self.engine.place)(geometry, self.page_code_bytes(geometry), index)
    }

    /// Whether a read can move less than a page. Small pages are always read whole (`nand_scan_tail`).
    pub(crate) fn reads_single_steps(&self, geometry: &Geometry) -> bool {
        self.engine.reads_single_steps && geometry.page_bytes > 512
    }

    /// A read with at least so many flips in one step reports them unless the driver is told otherwise: three quarters of what can be corrected
    /// (`nand_scan_tail`, `bitflip_threshold`).
    pub fn threshold_bits(&self) -> u32 {
        (self.code.strength_bits * 3).div_ceil(4).max(1)
    }

    /// Whether an image with out-of-band areas of such pages holds the code.
    pub fn is_in_images(&self, geometry: &Geometry) -> bool {
        self.engine.is_in_images && self.place(geometry, 0).is_some()
    }

    /// Checks that the code suits the chip's pages, and that the engine computes it.
    pub(crate) fn check(&self, geometry: &Geometry) -> Result<(), DriverError> {
        let Geometry { page_bytes, oob_bytes, .. } = *geometry;
        let Code { step_bytes, code_bytes, .. } = self.code;
        if step_bytes == 0 || !step_bytes.is_multiple_of(256) || page_bytes % step_bytes != 0 {
            return Err(DriverError::Step { step_bytes, page_bytes });
        }
        if let Some((code, only)) = self.engine.only_code.filter(|(_, only)| *only != self.code) {
            let engine = self.engine.title;
            return Err(DriverError::OtherCode { engine, code, only, wanted: self.code });
        }
        if self.engine.computes_bch && !self.code.is_bch() {
            let only = Code::bch(step_bytes, self.code.strength_bits);
            return Err(DriverError::OtherCode {
                engine: self.engine.title,
                code: "a BCH code",
                only,
                wanted: self.code,
            });
        }
        // The bad block mark takes 2 bytes. On a small page 8 bytes are not free for the file system, so 6 remain here.
        let ecc_bytes_max = if page_bytes > 512 { oob_bytes - 2 } else { 6 };
        let ecc_bytes = u64::from(page_bytes / step_bytes) * u64::from(code_bytes);
        let has_layout = ecc_bytes <= u64::from(u32::MAX) && self.place(geometry, 0).is_some();
        // Not even a code without bytes would have a place.
        if (self.engine.place)(geometry, 0, 0).is_none() {
            let (engine, layouts) = (self.engine.title, self.engine.layouts);
            return Err(DriverError::NoLayout { engine, layouts, page_bytes, oob_bytes });
        }
        if !has_layout || ecc_bytes > u64::from(ecc_bytes_max) {
            let ecc_bytes = u32::try_from(ecc_bytes).unwrap_or(u32::MAX);
            return Err(DriverError::Oob { ecc_bytes, oob_bytes, ecc_bytes_max });
        }
        Ok(())
    }
}
