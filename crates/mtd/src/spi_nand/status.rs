//! What chips say of the ECC of a page that they have read, and what the kernel makes of it.
//!
//! Each vendor has an encoding of its own in the status register (0xC0), some have a further register that tells more. Both
//! sides stand here: [`Encoding::registers`] is the chip, [`Encoding::decode`] the driver.
//!
//! From Linux: `spinand_check_ecc_status` (`drivers/mtd/nand/spi/core.c`), `w25n02kv_ecc_get_status` (`winbond.c`),
//! `gd5fxgq4xa_`, `gd5fxgq4uexxg_`, `gd5fxgq4ufxxg_` and `gd5fxgq5xexxg_ecc_get_status` (`gigadevice.c`),
//! `mx35lf1ge4ab_ecc_get_status` (`macronix.c`), `micron_8_ecc_get_status` (`micron.c`), `tx58cxgxsxraix_ecc_get_status`
//! (`toshiba.c`).

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

/// How a family of chips encodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Two bits, which only say that something was corrected: the kernel takes the strength for the number.
    Plain,
    /// Winbond, with the largest number of flips in a step in register 0x30.
    Winbond,
    /// GigaDevice GD5FxGQ4xA: up to 7, or 8.
    GigaDeviceQ4A,
    /// GigaDevice GD5FxGQ4xE: up to 4, 5, 6, 7 in status register 2, or 8.
    GigaDeviceQ4E,
    /// GigaDevice GD5FxGQ4xF and 4xC: three bits, up to 3, then 4 to 8.
    GigaDeviceQ4F,
    /// GigaDevice GD5FxGQ5xE and 6xE: 1 to 4 in status register 2.
    GigaDeviceQ5E,
    /// Macronix, with the number in the ECC status register, which command 0x7C reads.
    Macronix,
    /// Micron, three bits: up to 3, up to 6, up to 8.
    Micron,
    /// Toshiba and Kioxia: below or at the threshold of the chip, with the number in register 0x30.
    Toshiba,
}

const FAILED: u8 = 2 << 4;
/// Flips from which a Toshiba chip says that its threshold is reached (BFD), as after power on.
const TOSHIBA_THRESHOLD_BITS: u32 = 4;

impl Encoding {
    /// The chip: its registers after it found so many flips in the worst step; `None`: too many.
    pub fn registers(self, flips: Option<u32>) -> Registers {
        let status = |code: u8| Registers { status: code << 4, further: 0 };
        let with = |code: u8, further: u8| Registers { status: code << 4, further };
        match (self, flips) {
            (_, Some(0)) => Registers::default(),
            (Encoding::GigaDeviceQ4F, None) => status(7),
            (_, None) => Registers { status: FAILED, further: 0 },
            (Encoding::Plain, Some(_)) => status(1),
            (Encoding::Winbond, Some(bits)) => with(if bits > 4 { 3 } else { 1 }, (bits as u8) << 4),
            (Encoding::GigaDeviceQ4A, Some(bits)) => status(if bits > 7 { 3 } else { 1 }),
            (Encoding::GigaDeviceQ4E, Some(8..)) => status(3),
            (Encoding::GigaDeviceQ4E, Some(bits)) => with(1, (bits.saturating_sub(4) as u8) << 4),
            (Encoding::GigaDeviceQ4F, Some(bits)) => status(bits.saturating_sub(2).max(1) as u8),
            (Encoding::GigaDeviceQ5E, Some(bits)) => with(1, ((bits - 1) as u8) << 4),
            (Encoding::Macronix, Some(bits)) => with(1, bits as u8),
            (Encoding::Micron, Some(bits)) => status(match bits {
                ..4 => 1,
                4..7 => 3,
                _ => 5,
            }),
            (Encoding::Toshiba, Some(bits)) => {
                with(if bits < TOSHIBA_THRESHOLD_BITS { 1 } else { 3 }, (bits as u8) << 4)
            }
        }
    }

    /// The most bits in a step that the encoding can tell.
    pub fn strength_max_bits(self) -> u32 {
        match self {
            Encoding::Plain => u32::MAX,
            Encoding::Winbond | Encoding::Macronix | Encoding::Toshiba => 15,
            Encoding::GigaDeviceQ5E => 4,
            _ => 8,
        }
    }

    /// Whether the driver reads the further register after it has seen this status.
    pub fn reads_further(self, status: u8) -> bool {
        match self {
            Encoding::Winbond | Encoding::Toshiba => matches!(two_bits(status), 1 | 3),
            Encoding::GigaDeviceQ4E | Encoding::GigaDeviceQ5E | Encoding::Macronix => two_bits(status) == 1,
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
            Encoding::GigaDeviceQ4F => match three {
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
            _ if two == 0 => Decoded::Bits(0),
            _ if two == 2 => Decoded::Failed,
            Encoding::Winbond | Encoding::Toshiba => plausible(further >> 4),
            Encoding::GigaDeviceQ4A => Decoded::Bits(if two == 3 { 8 } else { 7 }),
            Encoding::GigaDeviceQ4E if two == 3 => Decoded::Bits(8),
            Encoding::GigaDeviceQ4E => Decoded::Bits(4 | u32::from(two_bits(further))),
            _ if two == 3 => Decoded::Reserved,
            Encoding::GigaDeviceQ5E => Decoded::Bits(u32::from(two_bits(further)) + 1),
            Encoding::Macronix => plausible(further & 0xF),
            Encoding::Plain => Decoded::Bits(strength_bits),
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
        (Encoding::Plain, 1, &[1]),
        (Encoding::Plain, 4, &[4, 4, 4, 4]),
        (Encoding::Winbond, 4, &[1, 2, 3, 4]),
        (Encoding::Winbond, 8, &[1, 2, 3, 4, 5, 6, 7, 8]),
        (Encoding::GigaDeviceQ4A, 8, &[7, 7, 7, 7, 7, 7, 7, 8]),
        (Encoding::GigaDeviceQ4E, 8, &[4, 4, 4, 4, 5, 6, 7, 8]),
        (Encoding::GigaDeviceQ4F, 8, &[3, 3, 3, 4, 5, 6, 7, 8]),
        (Encoding::GigaDeviceQ5E, 4, &[1, 2, 3, 4]),
        (Encoding::Macronix, 4, &[1, 2, 3, 4]),
        (Encoding::Micron, 8, &[3, 3, 3, 6, 6, 6, 8, 8]),
        (Encoding::Toshiba, 8, &[1, 2, 3, 4, 5, 6, 7, 8]),
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
            (Encoding::Plain, 1, 0x10, None),
            (Encoding::Winbond, 3, 0x10, Some(0x30)),
            (Encoding::Winbond, 6, 0x30, Some(0x60)),
            (Encoding::GigaDeviceQ4A, 8, 0x30, None),
            (Encoding::GigaDeviceQ4E, 6, 0x10, Some(0x20)),
            (Encoding::GigaDeviceQ4E, 8, 0x30, None),
            (Encoding::GigaDeviceQ4F, 2, 0x10, None),
            (Encoding::GigaDeviceQ4F, 8, 0x60, None),
            (Encoding::GigaDeviceQ5E, 4, 0x10, Some(0x30)),
            (Encoding::Macronix, 4, 0x10, Some(0x04)),
            (Encoding::Micron, 5, 0x30, None),
            (Encoding::Micron, 7, 0x50, None),
            (Encoding::Toshiba, 4, 0x30, Some(0x40)),
        ];
        for (encoding, flips, status, further) in SAID {
            let said = encoding.registers(Some(flips));
            assert_eq!(said, Registers { status, further: further.unwrap_or(0) }, "{encoding:?} {flips}");
            assert_eq!(encoding.reads_further(status), further.is_some(), "{encoding:?} {flips}");
        }
        assert_eq!(Encoding::GigaDeviceQ4F.registers(None).status, 0x70);
        assert_eq!(Encoding::Micron.registers(None).status, 0x20);
    }

    #[test]
    fn values_without_a_meaning_are_no_numbers() {
        let status = |status| Registers { status, further: 0 };
        for (encoding, code) in [(Encoding::Plain, 0x30), (Encoding::GigaDeviceQ5E, 0x30), (Encoding::Micron, 0x40)] {
            assert_eq!(encoding.decode(status(code), 8), Decoded::Reserved, "{encoding:?}");
        }
        // A further register that says nothing, or too much, counts as all that the chip corrects.
        assert_eq!(Encoding::Winbond.decode(status(0x10), 8), Decoded::Bits(8));
        assert_eq!(Encoding::Macronix.decode(Registers { status: 0x10, further: 9 }, 4), Decoded::Bits(4));
    }
}
