//! Families of SPI NAND by vendor: where on-die ECC keeps its bytes, how the chip tells what it corrected, how a die is chosen.
//!
//! From the tables and `mtd_ooblayout_ops` of Linux `drivers/mtd/nand/spi/winbond.c`, `gigadevice.c`, `macronix.c`, `micron.c`
//! and `toshiba.c`.

use super::status::Encoding;
use crate::layout::OobLayout;
use ffslab_flash::Geometry;
use std::ops::Range;

/// Data bytes of an ECC step of all these chips (`NAND_ECCREQ(strength, 512)`).
pub const STEP_BYTES: u32 = 512;

/// Chips that a kernel drives in the same way.
pub struct Family {
    /// As profiles write it.
    pub name: &'static str,
    /// Which chips these are.
    pub title: &'static str,
    pub encoding: Encoding,
    /// Regions of the out-of-band area that hold the code, and those that are free; as many as there are steps, or one.
    regions: fn(&Geometry) -> Regions,
    /// Bytes of the transfer that chooses a die; `None`: such chips have only one.
    pub select_die_bytes: Option<u32>,
    /// The chip sends page after page of an erase block (`SPINAND_CONT_READ`).
    pub has_continuous_reads: bool,
}

struct Regions {
    code: Vec<Range<usize>>,
    free: Vec<Range<usize>>,
}

fn steps(geometry: &Geometry) -> usize {
    (geometry.page_bytes / STEP_BYTES) as usize
}

/// For each step a region of `length` bytes at `offset` in each `stride` bytes.
fn in_each_step(geometry: &Geometry, stride: usize, offset: usize, length: usize) -> Vec<Range<usize>> {
    (0..steps(geometry)).map(|step| step * stride + offset..step * stride + offset + length).collect()
}

/// As above, without the first `reserved` bytes of the first region.
fn in_each_step_but(geometry: &Geometry, reserved: usize, length: usize) -> Vec<Range<usize>> {
    let mut regions = in_each_step(geometry, 16, 0, length);
    regions[0].start += reserved;
    regions
}

/// The code in the second half of the area, and what is free in the first.
fn halves(geometry: &Geometry, reserved: usize) -> Regions {
    let oob = geometry.oob_bytes as usize;
    Regions { code: vec![oob / 2..oob], free: vec![reserved..oob / 2] }
}

const WITHOUT_CHOICE: Family = Family {
    name: "",
    title: "",
    encoding: Encoding::Plain,
    regions: |geometry| halves(geometry, 2),
    select_die_bytes: None,
    has_continuous_reads: false,
};

/// Sorted by vendor.
pub static FAMILIES: [&Family; 13] = [
    &Family {
        name: "winbond-gv",
        title: "Winbond W25N512GV, W25N01GV, W25N01JW, W25M02GV",
        regions: |geometry| Regions {
            code: in_each_step(geometry, 16, 8, 8),
            free: in_each_step(geometry, 16, 2, 6),
        },
        // Command 0xC2 and the number of the die (`w25m02gv_select_target`).
        select_die_bytes: Some(2),
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "winbond-01kv",
        title: "Winbond W25N01KV",
        encoding: Encoding::Winbond,
        regions: |geometry| Regions {
            code: in_each_step(geometry, 8, 64, 7),
            free: in_each_step(geometry, 16, 2, 14),
        },
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "winbond-kv",
        title: "Winbond W25N02KV, W25N04KV",
        encoding: Encoding::Winbond,
        regions: |geometry| Regions {
            code: in_each_step(geometry, 16, 64, 13),
            free: in_each_step(geometry, 16, 2, 14),
        },
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "gigadevice-q4a",
        title: "GigaDevice GD5F1GQ4xA, 2GQ4xA, 4GQ4xA",
        encoding: Encoding::GigaDeviceQ4A,
        regions: |geometry| Regions {
            code: in_each_step(geometry, 16, 8, 8),
            free: in_each_step_but(geometry, 1, 8),
        },
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "gigadevice-q4e",
        title: "GigaDevice GD5F1GQ4xE, 2GQ4xE, 1GM7xE, 2GM7xE",
        encoding: Encoding::GigaDeviceQ4E,
        regions: |geometry| halves(geometry, 1),
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "gigadevice-q4f",
        title: "GigaDevice GD5F1GQ4xF, 4GQ4xC",
        encoding: Encoding::GigaDeviceQ4F,
        regions: |geometry| halves(geometry, 1),
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "gigadevice-q5e",
        title: "GigaDevice GD5F1GQ5xE, 2GQ5xE, 4GQ6xE",
        encoding: Encoding::GigaDeviceQ5E,
        regions: |geometry| halves(geometry, 1),
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "macronix",
        title: "Macronix MX35LF1GE4AB, MX31LF1GE4BC, MX35UF1GE4AC",
        encoding: Encoding::Macronix,
        regions: without_code,
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "macronix-continuous",
        title: "Macronix MX35LF1GE4AD, 2GE4AD, 4GE4AD, MX35UF1GE4AD",
        encoding: Encoding::Macronix,
        regions: without_code,
        has_continuous_reads: true,
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "macronix-plain",
        title: "Macronix MX35LF2GE4AB",
        regions: without_code,
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "micron-8",
        title: "Micron MT29F1G01ABAFD, 2G01ABAGD, 4G01ABAFD, 8G01ADAFD",
        encoding: Encoding::Micron,
        // SET FEATURE of the die select register (`micron_select_target`).
        select_die_bytes: Some(3),
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "micron-4",
        title: "Micron MT29F2G01AAAED",
        regions: |geometry| Regions {
            code: in_each_step(geometry, 16, 8, 8),
            free: in_each_step_but(geometry, 2, 8),
        },
        ..WITHOUT_CHOICE
    },
    &Family {
        name: "toshiba",
        title: "Toshiba and Kioxia TC58CVG0S3H, TC58CVG1S3H, TC58CVG2S0H, TH58CVG3S0H",
        encoding: Encoding::Toshiba,
        ..WITHOUT_CHOICE
    },
];

/// The code stands where no command reaches it.
fn without_code(geometry: &Geometry) -> Regions {
    Regions { code: Vec::new(), free: vec![2..geometry.oob_bytes as usize] }
}

ffslab_sim::known_by_name!(Family);

impl Family {
    /// The layout of the out-of-band area; `None`: the area is too small for it.
    pub fn layout(&self, geometry: &Geometry) -> Option<OobLayout> {
        let Regions { code, free } = (self.regions)(geometry);
        let end = code.iter().chain(&free).map(|region| region.end).max().unwrap_or(0);
        if end > geometry.oob_bytes as usize {
            return None;
        }
        Some(OobLayout::of_regions(geometry.oob_bytes, steps(geometry) as u32, &code, &free))
    }
}

#[cfg(test)]
mod tests {
    use super::FAMILIES;
    use ffslab_flash::Geometry;
    use std::ops::Range;

    /// Free regions as `mtd_ooblayout_free` lists them, and one byte of the code of the last step.
    #[test]
    fn layouts_are_those_of_the_vendors_files() {
        type Layout = (&'static str, (u32, u32), &'static [Range<usize>], Option<usize>);
        let layouts: [Layout; 13] = [
            ("winbond-gv", (2048, 64), &[2..8, 18..24, 34..40, 50..56], Some(63)),
            ("winbond-01kv", (2048, 96), &[2..16, 18..32, 34..48, 50..64], Some(94)),
            ("winbond-kv", (2048, 128), &[2..16, 18..32, 34..48, 50..64], Some(124)),
            ("gigadevice-q4a", (2048, 64), &[1..8, 16..24, 32..40, 48..56], Some(63)),
            ("gigadevice-q4e", (2048, 128), &[1..64], Some(127)),
            ("gigadevice-q4f", (4096, 256), &[1..128], Some(255)),
            ("gigadevice-q5e", (2048, 128), &[1..64], Some(127)),
            ("macronix", (2048, 64), &[2..64], None),
            ("macronix-continuous", (4096, 256), &[2..256], None),
            ("macronix-plain", (2048, 64), &[2..64], None),
            ("micron-8", (2048, 128), &[2..64], Some(127)),
            ("micron-4", (2048, 64), &[2..8, 16..24, 32..40, 48..56], Some(63)),
            ("toshiba", (4096, 256), &[2..128], Some(255)),
        ];
        for (name, (page_bytes, oob_bytes), free, of_last_step) in layouts {
            let geometry = Geometry { page_bytes, oob_bytes, pages_per_block: 64, blocks: 8 };
            let family = FAMILIES.iter().find(|family| family.name == name).unwrap();
            let layout = family.layout(&geometry).unwrap();
            let count: usize = free.iter().map(Range::len).sum();
            assert_eq!(layout.free_bytes(), count, "{name}");
            let mut oob = vec![0u8; oob_bytes as usize];
            layout.scatter(&(1..=count).map(|at| at as u8).collect::<Vec<u8>>(), &mut oob);
            let places: Vec<usize> = (0..oob.len()).filter(|&at| oob[at] != 0).collect();
            assert_eq!(places, free.iter().cloned().flatten().collect::<Vec<usize>>(), "{name}");
            let last = page_bytes / 512 - 1;
            let of_last: Vec<usize> = (0..oob.len()).filter(|&at| layout.step_of_byte(at) == Some(last)).collect();
            assert_eq!(of_last.last().copied(), of_last_step, "{name}");
        }
    }

    #[test]
    fn an_area_that_is_too_small_has_no_layout() {
        let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 8 };
        let fits: Vec<&str> =
            FAMILIES.iter().filter(|family| family.layout(&geometry).is_some()).map(|family| family.name).collect();
        assert!(fits.contains(&"winbond-gv") && !fits.contains(&"winbond-kv") && !fits.contains(&"winbond-01kv"));
    }
}
