"""What an image is to be flashed to: a part, a partition of it, and the board whose driver and kernel meet it."""

from __future__ import annotations

from dataclasses import dataclass

from ffslab import _native
from ffslab._native import InputError
from ffslab.answers.profile import ConstantValue, ShownConstant
from ffslab.api.machine import IMAGE_BOARD
from ffslab.registries import profiles

# Both headers of UBI (drivers/mtd/ubi/ubi-media.h).
UBI_HEADER_B = 64
# UBI's own: two of the volume table, one for wear levelling, one for an atomic change (drivers/mtd/ubi/ubi.h and
# ubi-media.h: UBI_LAYOUT_VOLUME_EBS, WL_RESERVED_PEBS, EBA_RESERVED_PEBS).
UBI_OWN_BLOCKS = 2 + 1 + 1
NO_MLC = "UBI refuses MLC NAND since Linux 4.17 (drivers/mtd/ubi/build.c)"
# A page of memory of the boards that there are profiles of: no kernel holds more in a node of JFFS2 (fs/jffs2/write.c,
# `jffs2_write_inode_range`).
DATA_NODE_B = 4096
# CONFIG_MTD_UBI_BEB_LIMIT: so many blocks of 1024 of the chip are kept for bad ones (drivers/mtd/ubi/Kconfig).
BEB_LIMIT = 20


@dataclass(frozen=True)
class Target:
    """Sizes and what the profiles know; a board without a name: its driver is not known."""

    part: str
    board: str | None
    kernel: str
    kind: str
    page_B: int  # noqa: N815
    oob_B: int  # noqa: N815
    block_B: int  # noqa: N815
    chip_blocks: int
    blocks: int
    of_part: dict[str, ShownConstant]
    of_board: dict[str, ShownConstant]

    @staticmethod
    def of(part: str | None, board: str | None, kernel: str | None, blocks: int | None) -> Target:
        """What the options name. `blocks`: of the partition; `None`: the whole part.

        Raises `ffslab.InputError`.
        """
        if part is None and board is None:
            raise InputError("name the part that the image is for with --part, or a board that has it")
        part = part or profiles.part_of(board or "")
        page, oob, pages, chip_blocks = _native.chip_geometry(board or IMAGE_BOARD, part, "")
        if blocks is not None and blocks > chip_blocks:
            raise InputError(f"--blocks {blocks}: {part} has {chip_blocks} erase blocks")
        return Target(
            part,
            board,
            kernel or profiles.shown(board or IMAGE_BOARD).get("kernel") or "",
            profiles.shown(part).get("part_kind") or "",
            page,
            oob,
            page * pages,
            chip_blocks,
            blocks or chip_blocks,
            _by_key(part),
            {} if board is None else _by_key(board),
        )

    @property
    def is_nor(self) -> bool:
        return self.kind.endswith("nor")

    @property
    def is_mlc(self) -> bool:
        return self.said("cell") == "mlc"

    @property
    def min_io_B(self) -> int:  # noqa: N802
        """The least that MTD writes (`writesize`): a page; of NOR a byte (spi-nor/core.c, cfi_cmdset_*.c)."""
        return 1 if self.is_nor else self.page_B

    @property
    def subpage_B(self) -> int | None:  # noqa: N802
        """The least that MTD writes of a header; `None`: the driver of a board that is not named decides.

        SPI NAND has none; raw NAND by the number of ECC steps of a page, SLC alone (drivers/mtd/nand/raw/nand_base.c,
        `nand_scan_tail`), unless its driver forbids them (NAND_NO_SUBPAGE_WRITE), which no profile says.
        """
        if self.is_nor or self.kind == "spi-nand" or self.is_mlc or self.said("partial_programs_max") == 1:
            return self.min_io_B
        step = self.number("ecc_step_B", of_board=True)
        return None if not step else self.page_B >> {2: 1, 4: 2, 8: 2, 16: 2}.get(self.page_B // step, 0)

    @property
    def vid_header_at_B(self) -> int | None:  # noqa: N802
        """Where UBI writes the second header of a block: in the next sub-page; `None` as `subpage_B`."""
        return None if self.subpage_B is None else aligned(UBI_HEADER_B, self.subpage_B)

    def leb_B(self, vid_header_at_B: int) -> int:  # noqa: N802, N803
        """What UBI leaves of an erase block: all behind its headers from the next page on."""
        return self.block_B - aligned(vid_header_at_B + UBI_HEADER_B, self.min_io_B)

    @property
    def volume_lebs(self) -> int:
        """What UBI leaves volumes of the partition."""
        return max(self.blocks - UBI_OWN_BLOCKS - self.bad_reserve_blocks, 0)

    @property
    def bad_reserve_blocks(self) -> int:
        """Blocks that UBI keeps for bad ones (drivers/mtd/ubi/build.c, `get_bad_peb_limit`): of the whole chip, however
        small the partition is; before Linux 3.7 1 % of the partition, at least 2 (misc.c, `ubi_calculate_reserved`)."""
        if self.is_nor:
            return 0
        return max(2, self.blocks // 100) if self._keeps_of_partition else -(-self.chip_blocks * BEB_LIMIT // 1024)

    @property
    def bad_reserve_rule(self) -> str:
        """What `bad_reserve_blocks` are, in words."""
        return "1 % of the partition" if self._keeps_of_partition else f"{BEB_LIMIT} of 1024 of the chip"

    @property
    def _keeps_of_partition(self) -> bool:
        rules = profiles.shown(self.kernel)["values"]
        return any(each["key"] == "ubi_reserve_of" and each["value"] == "partition" for each in rules)

    def said(self, key: str, *, of_board: bool = False) -> ConstantValue | None:
        """What a profile says; `None`: nothing."""
        constant = (self.of_board if of_board else self.of_part).get(key)
        return None if constant is None else constant["value"]

    def number(self, key: str, *, of_board: bool = False) -> int | None:
        value = self.said(key, of_board=of_board)
        return int(value) if isinstance(value, int | float) else None

    def is_unverified(self, *keys: str) -> bool:
        """Whether one of them is marked so in the profile of the part or the board."""
        known = [table[key] for key in keys for table in (self.of_part, self.of_board) if key in table]
        return any(constant["status"] == "unverified" for constant in known)


def aligned(value: int, unit: int) -> int:
    """The next multiple of a unit."""
    return -(-value // unit) * unit


def _by_key(name: str) -> dict[str, ShownConstant]:
    return {each["key"]: each for each in profiles.shown(name)["values"] if not each.get("when")}
