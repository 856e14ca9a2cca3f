"""NOR of a variant as mtdram stands in for it: memory that is programmed byte by byte and erased block by block.

No driver of a NOR chip can be had: Debian's kernels for x86-64 have those of CFI chips, but nothing tells them where
one is (CONFIG_MTD_PHYSMAP_OF and CONFIG_MTD_PHYSMAP_COMPAT are not set), and those for arm and arm64 have none
(CONFIG_MTD_CFI is not set). To file systems mtdram is what NOR is, but for three things
(drivers/mtd/devices/mtdram.c): an operation takes no time beside the processor's, the processor sees all bytes in its
memory (`mtd_point`), and its type is MTD_RAM, so that UBI does not prepare erases (`nor_erase_prepare`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ffslab.answers.machine import PlannedFlash
from ffslab.measured.reference.chip import block_B_of

MODULE = "mtdram"
# The guest has 1 GiB, of which a power cut takes as much again as the medium is large.
SIZE_MiB_MAX = 256
# A read is one operation however long it is, and whether a bit was programmed before does not show in an event.
COUNTERS: tuple[str, ...] = ("page_reads", "page_programs", "erases")


def trouble(flash: PlannedFlash) -> str | None:
    """Why mtdram cannot be so large."""
    size_MiB = flash["partition_blocks"] * block_B_of(flash) >> 20  # noqa: N806
    if size_MiB > SIZE_MiB_MAX:
        return f"the partition has {size_MiB} MiB; the guest has room for {SIZE_MiB_MAX} MiB of NOR"
    return None


def as_simulated(flash: PlannedFlash) -> PlannedFlash:
    """What mtdram makes of it: the partition is all that there is, and nothing takes time."""
    return {
        **flash,
        "first_block": 0,
        "chip_blocks": flash["partition_blocks"],
        "t_read_us": 0,
        "t_program_us": 0,
        "t_erase_us": 0,
        "bus_ns_per_B": 0,
    }


def parameters(flash: PlannedFlash, bch_bits: int | None = None, sizes: Sequence[int] = ()) -> str:
    """The parameters of the module. There is no ECC and one partition, so `bch_bits` and `sizes` are ignored."""
    block_KiB = block_B_of(flash) >> 10  # noqa: N806
    words = {"total_size": flash["partition_blocks"] * block_KiB, "erase_size": block_KiB}
    words["writebuf_size"] = flash["page_B"]
    return " ".join(f"{name}={value}" for name, value in words.items())


def mtd_of(flash: PlannedFlash) -> int:
    """Number of the device."""
    return 0


def probe_options(flash: PlannedFlash) -> str:
    """Of flashmon. The kernel does not tell how large the write buffer is."""
    return f" --level nor --page-B {flash['page_B']}"


def described(bch_bits: int | None) -> dict[str, object]:
    """The driver and its settings, in the words of measured cases."""
    return {"driver": MODULE}
