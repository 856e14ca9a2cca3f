//! What chips say of the ECC of a page that they have read, and what the kernel makes of it.
//!
//! Each vendor has an encoding of its own in the status register (0xC0), some have a further register that tells more. Both
//! sides stand here: [`Encoding::registers`] is the chip, [`Encoding::decode`] the driver.
//!
//! From Linux: `spinand_check_ecc_status` (`drivers/mtd/nand/spi/core.c`), `w25n02kv_ecc_get_status` (`winbond.c`),
//! `tx58cxgxsxraix_ecc_get_status` (`toshiba.c`), `gd5fxgq4xa_`, `gd5fxgq4uexxg_`, `gd5fxgq4ufxxg_` and
//! `gd5fxgq5xexxg_ecc_get_status` (`gigadevice.c`), `macronix_ecc_get_status` (`macronix.c`), `micron_8_ecc_get_status`
//! (`micron.c`), `pn26g0xa_ecc_get_status` (`paragon.c`), `xt26g0xa_ecc_get_status` (`xtx.c`).

/// What the driver learns of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// Flipped bits in the worst ECC step, as far as the chip tells.
    Bits(u32),
    /// More than the chip can correct (`-EBADMSG`).
    Failed,
    /// A value without a meaning (`-EINVAL`).
    Reserved,
}

/// The registers after a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    pub status: u8,
    /// The register that tells more, where there is one.
    pub further: u8,
}

/// How parts encode it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Two bits, which only say that something was corrected: the kernel takes the strength for the number.
    Generic,
    /// Winbond KV, Toshiba and Kioxia: the largest number of flips in a step stands in register 0x30.
    Register30h,
    /// GigaDevice GD5FxGQ4xA and Paragon: up to 7, or 8.
    GigadeviceQ4a,
    /// GigaDevice GD5FxGQ4xE: up to 4, 5, 6, 7 in status register 2, or 8.
    GigadeviceQ4ue,
    /// GigaDevice GD5FxGQ4xF and 4xC: three bits, up to 3, then 4 to 8.
    GigadeviceQ4uf,
    /// GigaDevice GD5FxGQ5xE and 6xE: 1 to 4 in status register 2.
    GigadeviceQ5,
    /// Macronix, with the number in the ECC status register, which command 0x7C reads.
    Macronix,
    /// Micron, three bits: up to 3, up to 6, up to 8.
    Micron,
    /// XTX, four bits from bit 2 on: 1 to 7, or 8.
    Xtx,
}

const FAILED: u8 = 2 << 4;
/// More flips than these are said in another way by chips with register 0x30: the threshold of Toshiba (BFD), half the strength of
/// Winbond. The driver makes no difference.
const FEW_BITS: u32 = 4;

impl Encoding {
    /// The chip: its registers after it found so many flips in the worst step; `None`: too many.
    pub fn registers(self, flips: Option<u32>) -> Registers {
        let status = |code: u8| Registers { status: code << 4, further: 0 };
        let with = |code: u8, further: u8| Registers { status: code << 4, further };
        match (self, flips) {
            (_, Some(0)) => Registers::default(),
            (Encoding::GigadeviceQ4uf, None) => status(7),
            (_, None) => Registers { status: FAILED, further: 0 },
            (Encoding::Generic, Some(_)) => status(1),
            (Encoding::Register30h, Some(bits)) => with(if bits > FEW_BITS { 3 } else { 1 }, (bits as u8) << 4),
            (Encoding::GigadeviceQ4a, Some(bits)) => status(if bits > 7 { 3 } else { 1 }),
            (Encoding::GigadeviceQ4ue, Some(8..)) => status(3),
            (Encoding::GigadeviceQ4ue, Some(bits)) => with(1, (bits.saturating_sub(4) as u8) << 4),
            (Encoding::GigadeviceQ4uf, Some(bits)) => status(bits.saturating_sub(2).max(1) as u8),
            (Encoding::GigadeviceQ5, Some(bits)) => with(1, ((bits - 1) as u8) << 4),
            (Encoding::Macronix, Some(bits)) => with(1, bits as u8),
            (Encoding::Micron, Some(bits)) => status(match bits {
                ..4 => 1,
                4..7 => 3,
                _ => 5,
            }),
            (Encoding::Xtx, Some(8..)) => status(3),
            (Encoding::Xtx, Some(bits)) => Registers { status: (bits as u8) << 2, further: 0 },
        }
    }

    /// The most bits in a step that the encoding can tell.
    pub fn strength_max_bits(self) -> u32 {
        match self {
            Encoding::Generic => u32::MAX,
            Encoding::Register30h | Encoding::Macronix => 15,
            Encoding::GigadeviceQ5 => 4,
            _ => 8,
        }
    }

    /// Whether the driver reads the further register after it has seen this status.
    pub fn reads_further(self, status: u8) -> bool {
        match self {
            Encoding::Register30h => matches!(two_bits(status), 1 | 3),
            Encoding::GigadeviceQ4ue | Encoding::GigadeviceQ5 | Encoding::Macronix => two_bits(status) == 1,
            _ => false,
        }
    }

    /// The driver: what it makes of the registers of a chip that corrects `strength_bits` in each step.
    pub fn decode(self, registers: Registers, strength_bits: u32) -> Decoded {
        let Registers { status, further } = registers;
        let (two, three) = (two_bits(status), status >> 4 & 7);
        // A number that cannot be is answered with the worst that can.
        let plausible = |bits: u8| match u32::from(bits) {
            0 => Decoded::Bits(strength_bits),
            bits => Decoded::Bits(bits.min(strength_bits)),
        };
        match self {
            Encoding::GigadeviceQ4uf => match three {
                0 => Decoded::Bits(0),
                1 => Decoded::Bits(3),
                7 => Decoded::Failed,
                code => Decoded::Bits(u32::from(code) + 2),
            },
            Encoding::Micron => match three {
                0 => Decoded::Bits(0),
                1 => Decoded::Bits(3),
                2 => Decoded::Failed,
                3 => Decoded::Bits(6),
                5 => Decoded::Bits(8),
                _ => Decoded::Reserved,
            },
            Encoding::Xtx => match status >> 2 & 0xF {
                8 => Decoded::Failed,
                12 => Decoded::Bits(8),
                9.. => Decoded::Reserved,
                bits => Decoded::Bits(bits.into()),
            },
            _ if two == 0 => Decoded::Bits(0),
            _ if two == 2 => Decoded::Failed,
            Encoding::Register30h => plausible(further >> 4),
            Encoding::GigadeviceQ4a => Decoded::Bits(if two == 3 { 8 } else { 7 }),
            Encoding::GigadeviceQ4ue if two == 3 => Decoded::Bits(8),
            Encoding::GigadeviceQ4ue => Decoded::Bits(4 | u32::from(two_bits(further))),
            _ if two == 3 => Decoded::Reserved,
            Encoding::GigadeviceQ5 => Decoded::Bits(u32::from(two_bits(further)) + 1),
            Encoding::Macronix => plausible(further & 0xF),
            Encoding::Generic => Decoded::Bits(strength_bits),
        }
    }
}

fn two_bits(status: u8) -> u8 {
    status >> 4 & 3
}

#[cfg(test)]
mod tests {
    use super::{Decoded, Encoding, Registers};

    /// What the kernel returns for each number of flips that a chip of this strength corrects, from 1 on.
    const RETURNED: [(Encoding, u32, &[u32]); 11] = [
        (Encoding::Generic, 1, &[1]),
        (Encoding::Generic, 4, &[4, 4, 4, 4]),
        (Encoding::Register30h, 4, &[1, 2, 3, 4]),
        (Encoding::Register30h, 8, &[1, 2, 3, 4, 5, 6, 7, 8]),
        (Encoding::GigadeviceQ4a, 8, &[7, 7, 7, 7, 7, 7, 7, 8]),
        (Encoding::GigadeviceQ4ue, 8, &[4, 4, 4, 4, 5, 6, 7, 8]),
        (Encoding::GigadeviceQ4uf, 8, &[3, 3, 3, 4, 5, 6, 7, 8]),
        (Encoding::GigadeviceQ5, 4, &[1, 2, 3, 4]),
        (Encoding::Macronix, 4, &[1, 2, 3, 4]),
        (Encoding::Micron, 8, &[3, 3, 3, 6, 6, 6, 8, 8]),
        (Encoding::Xtx, 8, &[1, 2, 3, 4, 5, 6, 7, 8]),
    ];

    #[test]
    fn what_chips_say_is_understood_as_the_kernel_understands_it() {
        for (encoding, strength_bits, returned) in RETURNED {
            let heard = |flips| encoding.decode(encoding.registers(flips), strength_bits);
            assert_eq!(heard(Some(0)), Decoded::Bits(0), "{encoding:?}");
            assert_eq!(heard(None), Decoded::Failed, "{encoding:?}");
            assert!(strength_bits <= encoding.strength_max_bits());
            let all: Vec<Decoded> = (1..=strength_bits).map(|flips| heard(Some(flips))).collect();
            let wanted: Vec<Decoded> = returned.iter().map(|&bits| Decoded::Bits(bits)).collect();
            assert_eq!(all, wanted, "{encoding:?} of strength {strength_bits}");
        }
    }

    /// Register values as the sources and data sheets have them, `None` where no further register is read.
    #[test]
    fn registers_are_those_of_the_vendors() {
        const SAID: [(Encoding, u32, u8, Option<u8>); 13] = [
            (Encoding::Generic, 1, 0x10, None),
            (Encoding::Register30h, 3, 0x10, Some(0x30)),
            (Encoding::Register30h, 6, 0x30, Some(0x60)),
            (Encoding::GigadeviceQ4a, 8, 0x30, None),
            (Encoding::GigadeviceQ4ue, 6, 0x10, Some(0x20)),
            (Encoding::GigadeviceQ4ue, 8, 0x30, None),
            (Encoding::GigadeviceQ4uf, 2, 0x10, None),
            (Encoding::GigadeviceQ4uf, 8, 0x60, None),
            (Encoding::GigadeviceQ5, 4, 0x10, Some(0x30)),
            (Encoding::Macronix, 4, 0x10, Some(0x04)),
            (Encoding::Micron, 5, 0x30, None),
            (Encoding::Micron, 7, 0x50, None),
            (Encoding::Xtx, 7, 0x1C, None),
        ];
        for (encoding, flips, status, further) in SAID {
            let said = encoding.registers(Some(flips));
            assert_eq!(said, Registers { status, further: further.unwrap_or(0) }, "{encoding:?} {flips}");
            assert_eq!(encoding.reads_further(status), further.is_some(), "{encoding:?} {flips}");
        }
        assert_eq!(Encoding::GigadeviceQ4uf.registers(None).status, 0x70);
        assert_eq!(Encoding::Micron.registers(None).status, 0x20);
    }

    #[test]
    fn values_without_a_meaning_are_no_numbers() {
        let status = |status| Registers { status, further: 0 };
        for (encoding, code) in [(Encoding::Generic, 0x30), (Encoding::GigadeviceQ5, 0x30), (Encoding::Micron, 0x40)] {
            assert_eq!(encoding.decode(status(code), 8), Decoded::Reserved, "{encoding:?}");
        }
        // A further register that says nothing, or too much, counts as all that the chip corrects.
        assert_eq!(Encoding::Register30h.decode(status(0x10), 8), Decoded::Bits(8));
        assert_eq!(Encoding::Macronix.decode(Registers { status: 0x10, further: 9 }, 4), Decoded::Bits(4));
    }
}
