"""The chip of a variant as nandsim simulates it: what it can be, and the parameters of the module for it.

nandsim takes a chip's identification and lets the NAND core find sizes in it (drivers/mtd/nand/raw: nandsim.c,
nand_ids.c, nand_base.c). So only chips can be had whose sizes an identification can say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ffslab.answers.machine import PlannedFlash

MODULE = "nandsim"
# What flashmon's events tell of NAND.
COUNTERS: tuple[str, ...] = (
    "page_reads",
    "oob_reads",
    "page_programs",
    "oob_programs",
    "erases",
    "partial_page_reads",
    "reprograms",
)
# Second byte of the identification of a chip of so many MiB (nand_ids.c), by the size of its pages.
ID_BY_MiB_SMALL = {16: 0x73, 32: 0x75, 64: 0x76, 128: 0x79}
ID_BY_MiB_LARGE = {64: 0xF0, 128: 0xF1, 256: 0xDA, 512: 0xDC, 1024: 0xD3}
ID_BY_MiB = {512: ID_BY_MiB_SMALL, 2048: ID_BY_MiB_LARGE, 4096: ID_BY_MiB_LARGE}
# Of the maker, ST: the core knows no rules of its own for its chips.
MAKER = 0x20
# Sizes of a small page and its block, which its identification does not say.
SMALL = (512, 16, 32)
# Faults by nandsim's names. It draws flipped bits from the kernel's random numbers.
LISTS_OF_FAULTS = ("badblocks", "weakblocks", "weakpages", "gravepages")
# Of those, what counts operations: a chip that is erased and programmed beside the file system would count these, too.
COUNTED_FAULTS = LISTS_OF_FAULTS[1:]


def block_B_of(flash: PlannedFlash) -> int:  # noqa: N802
    return flash["page_B"] * flash["pages_per_block"]


def size_MiB_of(flash: PlannedFlash) -> int:  # noqa: N802
    return flash["chip_blocks"] * block_B_of(flash) >> 20


def trouble(flash: PlannedFlash) -> str | None:
    """Why nandsim has no such chip."""
    if geometry_byte(flash) is None:
        found = f"pages of {flash['page_B']} + {flash['oob_B']} B, {flash['pages_per_block']} a block"
        return (
            "nandsim has chips with pages of 512 + 16 B, 32 a block, or of 2048 or 4096 B with 8 or 16 B of OOB "
            f"for 512 B and blocks of 64 to 512 KiB, not {found}"
        )
    known = ID_BY_MiB[flash["page_B"]]
    if size_MiB_of(flash) not in known:
        return f"the chip has {size_MiB_of(flash)} MiB; nandsim knows {sorted(known)} with such pages"
    return None


def geometry_byte(flash: PlannedFlash) -> int | None:
    """The fourth byte of the identification: sizes of page, OOB area and block (nand_base.c, nand_decode_ext_id).

    Of small pages it says nothing. `None`: no chip has this geometry.
    """
    if (flash["page_B"], flash["oob_B"], flash["pages_per_block"]) == SMALL:
        return 0xFF
    block_B = block_B_of(flash)  # noqa: N806
    per_512 = flash["oob_B"] * 512 // flash["page_B"]
    if flash["page_B"] not in (2048, 4096) or per_512 not in (8, 16):
        return None
    if block_B not in (64 << 10, 128 << 10, 256 << 10, 512 << 10):
        return None
    page, oob, block = (flash["page_B"] >> 11).bit_length(), per_512 >> 4, (block_B >> 17).bit_length()
    return 0x80 | block << 4 | oob << 2 | page


def as_simulated(flash: PlannedFlash) -> PlannedFlash:
    """What nandsim makes of it: times in whole numbers, and an erase of a millisecond at least."""
    return {
        **flash,
        "t_read_us": round(flash["t_read_us"]),
        "t_program_us": round(flash["t_program_us"]),
        "bus_ns_per_B": round(flash["bus_ns_per_B"]),
        "t_erase_us": max(1, round(flash["t_erase_us"] / 1000)) * 1000 if flash["t_erase_us"] else 0,
    }


def parameters(flash: PlannedFlash, bch_bits: int | None = None, sizes: Sequence[int] = ()) -> str:
    """Of the module. Its erase time is in ms; others are as the part has them, in whole numbers.

    `bch_bits`: bits that software BCH corrects in 512 bytes; `None`: the driver computes Hamming codes. `sizes`: of all
    partitions, if there are several, in blocks.
    """
    size = ID_BY_MiB[flash["page_B"]][size_MiB_of(flash)]
    third = 0xFF if flash["page_B"] == SMALL[0] else 0x90
    before = [flash["first_block"]] if flash["first_block"] else []
    words = [f"id_bytes={MAKER:#x},{size:#x},{third:#x},{geometry_byte(flash):#x}"]
    words += [f"parts={','.join(map(str, sizes or [*before, flash['partition_blocks']]))}"]
    words += [f"access_delay={flash['t_read_us']}", f"programm_delay={flash['t_program_us']}"]
    words += [f"erase_delay={flash['t_erase_us'] // 1000}", f"input_cycle={flash['bus_ns_per_B']}"]
    words += [f"output_cycle={flash['bus_ns_per_B']}", "do_delays=1"]
    faults = faults_of(flash)
    words += [f"{name}={','.join(map(str, faults[name]))}" for name in LISTS_OF_FAULTS if faults.get(name)]
    words += [f"bitflips={faults['bitflips']}"] if faults.get("bitflips") else []
    words += [f"bch={bch_bits}"] if bch_bits else []
    return " ".join(words)


def faults_of(flash: PlannedFlash) -> dict[str, Any]:
    return {**(flash.get("faults") or {})}


def counted_faults(flash: PlannedFlash) -> list[str]:
    """Names of the faults that depend on the number of operations."""
    faults = faults_of(flash)
    return [name for name in COUNTED_FAULTS if faults.get(name)]


def mtd_of(flash: PlannedFlash) -> int:
    """Number of the partition's device: in front of it lies another one, unless it begins with the chip."""
    return 1 if flash["first_block"] else 0


def probe_options(flash: PlannedFlash) -> str:
    """The options of flashmon: none, since it finds the chip by itself."""
    return ""


def described(bch_bits: int | None) -> dict[str, object]:
    """The driver's settings, in the words of measured cases: Hamming on steps of 256 B, or BCH on steps of 512 B.

    Sub-page programs are allowed; delays keep the CPU.
    """
    ecc = {"ecc": "bch", "ecc_strength_bits": bch_bits} if bch_bits else {"ecc": "sw"}
    return {**ecc, "subpage_writes": True, "nand_wait": "busy"}
