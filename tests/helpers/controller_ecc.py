"""Dumps as controllers write them: a BCH code by long division, made from a textbook alone, and pages laid out by it.

Polynomials over two elements are whole numbers whose bit i is the coefficient of x^i.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass

FIELD_13 = 0x201B


def _minimal(powers: list[int], logs: dict[int, int], exponent: int) -> int:
    """The product of x minus the exponent'th power and its squares."""
    order = len(powers)
    roots = []
    while exponent not in roots:
        roots.append(exponent)
        exponent = 2 * exponent % order
    factors = [1]
    for root in roots:
        moved = [0, *factors]
        for at, factor in enumerate(factors):
            if factor:
                moved[at] ^= powers[(logs[factor] + root) % order]
        factors = moved
    return sum(factor << at for at, factor in enumerate(factors))


@functools.cache
def generator(polynomial: int, strength: int) -> int:
    m = polynomial.bit_length() - 1
    powers = [1]
    while len(powers) < (1 << m) - 1:
        power = powers[-1] << 1
        powers.append(power ^ polynomial if power >> m else power)
    logs = {power: log for log, power in enumerate(powers)}
    product = 1
    for minimal in {_minimal(powers, logs, exponent) for exponent in range(1, 2 * strength, 2)}:
        product = functools.reduce(lambda a, b: a ^ b, (product << at for at in range(m + 1) if minimal >> at & 1))
    return product


@dataclass(frozen=True)
class Bch:
    """The code of so many bits, for data whose first bit is their highest coefficient."""

    strength: int
    polynomial: int = FIELD_13

    @functools.cached_property
    def bits(self) -> int:
        return generator(self.polynomial, self.strength).bit_length() - 1

    @functools.cached_property
    def _steps(self) -> list[int]:
        """What a byte that leaves at the top leaves behind."""
        divisor = generator(self.polynomial, self.strength)
        return [self._rest(byte << self.bits, divisor) for byte in range(256)]

    @staticmethod
    def _rest(number: int, divisor: int) -> int:
        while (over := number.bit_length() - divisor.bit_length()) >= 0:
            number ^= divisor << over
        return number

    def code(self, data: bytes) -> int:
        rest, top, kept = 0, self.bits - 8, (1 << self.bits) - 1
        for byte in data:
            rest = (rest << 8 & kept) ^ self._steps[rest >> top ^ byte]
        return rest

    def code_bytes(self, data: bytes) -> bytes:
        """The code from the highest bit of its first byte on."""
        count = -(-self.bits // 8)
        return (self.code(data) << (8 * count - self.bits)).to_bytes(count, "big")


def reversed_bits(data: bytes) -> bytes:
    return bytes(int(f"{byte:08b}"[::-1], 2) for byte in data)


def is_erased(data: bytes) -> bool:
    return data == b"\xff" * len(data)


def software(page: bytes, oob: bytes) -> bytes:
    """Linux's software BCH, 4 bits for 512 B: at the end of the OOB area, erased for erased sectors."""
    bch = Bch(4)
    erased = bch.code_bytes(b"\xff" * 512)
    codes = [bch.code_bytes(page[at : at + 512]) for at in range(0, len(page), 512)]
    # What is left of the last byte is inverted, too.
    inverted = b"".join(bytes(a ^ b ^ 0xFF for a, b in zip(code, erased, strict=True)) for code in codes)
    return page + oob[: len(oob) - len(inverted)] + inverted


def gpmi(page: bytes, oob: bytes) -> bytes:
    """Freescale's GPMI, 2 bits for 512 B, the lowest bit of a byte first: 10 B, a sector, 26 bits of code and so on.

    The byte that falls on the chip's mark of a bad block is kept in the first one of the page.
    """
    bch = Bch(2)
    whole = bytearray(b"\xff" * 10 + page)
    # Where in the data the mark falls: before it stand the codes of all sectors but the last.
    place = (len(page) - 10) * 8 - bch.bits * (len(page) // 512 - 1)
    bits = int.from_bytes(whole, "little")
    kept = bits >> (80 + place) & 0xFF
    bits = bits & ~(0xFF << (80 + place)) | 0xFF << (80 + place)
    bits = bits & ~0xFF | kept
    whole = bytearray(bits.to_bytes(len(whole), "little"))
    row, at = 0, 0
    for start, end in [(0, 522), *((10 + sector, 10 + sector + 512) for sector in range(512, len(page), 512))]:
        data = bytes(whole[start:end])
        row |= int.from_bytes(data, "little") << at
        at += 8 * len(data)
        code = bch.code(reversed_bits(data))
        row |= int(f"{code:0{bch.bits}b}"[::-1], 2) << at
        at += bch.bits
    count = len(page) + len(oob)
    return (row | (1 << 8 * count) - (1 << at)).to_bytes(count, "little")


def qualcomm(page: bytes, oob: bytes) -> bytes:
    """Qualcomm's NANDc, 8 bits: words of 516 B, with a byte for the mark of a bad block, each in 532 B."""
    bch = Bch(8)
    count = len(page) // 512
    mark = len(page) - 532 * (count - 1)
    data = page + b"\xff" * (4 * count)
    words = (data[at : at + 516] for at in range(0, len(data), 516))
    row = b"".join((word[:mark] + b"\xff" + word[mark:] + bch.code_bytes(word)).ljust(532, b"\xff") for word in words)
    return row.ljust(len(page) + len(oob), b"\xff")


def dump(image: bytes, sizes_B: tuple[int, int, int], write: Callable[[bytes, bytes], bytes]) -> bytearray:  # noqa: N803
    """An image of pages, each followed by what it has of the OOB area, as a controller writes it.

    `sizes_B`: of pages, what they have of the OOB area, OOB areas. A chip has whole erase blocks, here of 64 pages.
    """
    page_B, held_B, oob_B = sizes_B  # noqa: N806
    out = bytearray()
    for at in range(0, len(image), page_B + held_B):
        page = image[at : at + page_B].ljust(page_B, b"\xff")
        oob = image[at + page_B : at + page_B + held_B].ljust(oob_B, b"\xff")
        out += page + oob if is_erased(page) and is_erased(oob) else write(page, oob)
    return out.ljust(-(-len(out) // (64 * (page_B + oob_B))) * 64 * (page_B + oob_B), b"\xff")


def flip(image: bytearray, stride_B: int, count: int, seed: int) -> int:  # noqa: N803
    """Flips so many bits of each third page, far from one another; tells how many."""
    draw = random.Random(seed)
    flipped = 0
    for at in range(0, len(image), 3 * stride_B):
        if not is_erased(bytes(image[at : at + stride_B])):
            for piece in range(count):
                # Sectors and their codes have no more than 600 B.
                image[at + piece * 600 + draw.randrange(500)] ^= 1 << draw.randrange(8)
                flipped += 1
    return flipped
