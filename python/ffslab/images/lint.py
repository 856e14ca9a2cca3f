"""Whether an image fits a part: what its tools were told, beside what the profiles of part and board say."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

from ffslab import _native
from ffslab._native import InputError
from ffslab.answers import Json
from ffslab.answers.image import Facts
from ffslab.answers.image_lint import ImageLint, LintCheck, MustBe, Verdict
from ffslab.answers.inspection import Part
from ffslab.api.machine import IMAGE_BOARD, IMAGE_DEVICE
from ffslab.file_systems import VOLUMES, title
from ffslab.images import How, said
from ffslab.images.inspection import inspect_partitions
from ffslab.images.target import DATA_NODE_B, NO_MLC, UBI_HEADER_B, UBI_OWN_BLOCKS, Target
from ffslab.images.volume_flags import growing_volumes
from ffslab.text.quoting import quoted
from ffslab.text.tables import counted, number, size, text_table

# A clean marker is a node's head (fs/jffs2/wbuf.c, include/uapi/linux/jffs2.h).
CLEAN_MARKER_B = 12
# UBIFS aligns nodes to at least so much (fs/ubifs/super.c, `init_constants_early`).
UBIFS_LEAST_B = 8
# What most serial NOR erases besides its erase blocks.
SMALL_BLOCK_B = 4096
# Larger than the erase blocks of any part.
LARGEST_BLOCK_KIB = 16384
# Blocks that only garbage collection may use (yaffs2's yaffs_vfs.c, `n_reserved_blocks`).
YAFFS2_RESERVED_BLOCKS = 5


@dataclass
class _Lint:
    """An image and its target, and the checks so far."""

    path: Path
    facts: Facts
    target: Target
    how: How
    checks: list[LintCheck] = field(default_factory=list)

    def check(
        self,
        about: str,
        has: int | None,
        must_be: MustBe,
        wanted: int | None,
        unit: str,
        right: str,
        note: str = "",
        *,
        is_decisive: bool = True,
        rests_on: tuple[str, ...] = (),
    ) -> None:
        """Compares two numbers. `rests_on`: keys of profiles that `wanted` or `has` is made of."""
        verdict = _verdict(has, must_be, wanted)
        self.checks.append(
            {
                "about": about,
                "verdict": verdict,
                "has": has,
                "must_be": must_be,
                "wanted": wanted,
                "unit": unit,
                "right": None if verdict == "ok" else right,
                "note": note,
                "is_decisive": is_decisive,
                "is_unverified": self.target.is_unverified(*rests_on),
            }
        )

    def number(self, fact: str) -> int | None:
        """A number of the superblock."""
        value = self.facts["superblock"].get(fact)
        return value if isinstance(value, int) else None

    @property
    def bytes_B(self) -> int:  # noqa: N802
        """What is flashed, without OOB areas."""
        if "partition" in self.facts:
            return self.facts["partition"]["size_B"]
        page, oob = self.facts["layout"]["page_B"], self.facts["layout"]["oob_B"]
        return self.facts["file_B"] * page // (page + oob)


def _verdict(has: int | None, must_be: MustBe, wanted: int | None) -> Verdict:
    if has is None or wanted is None:
        return "not known"
    holds = {
        "equal to": has == wanted,
        "at most": has <= wanted,
        "at least": has >= wanted,
        "a multiple of": wanted > 0 and has % wanted == 0,
    }
    return "ok" if holds[must_be] else "wrong"


def lint(
    path: Path, part: str | None, board: str | None, kernel: str | None, blocks: int | None, **how: Unpack[How]
) -> ImageLint:
    """Compares an image with what it is to be flashed to. `blocks`: erase blocks of the partition; `None`: those of the
    partition that is chosen in a dump, or all of the part. The keywords are those of `ffslab.images.said`.

    Raises `ffslab.InputError`, also for an image of several partitions of which none is chosen.
    """
    target = Target.of(part, board, kernel, blocks)
    fitting = _block_sizes_that_fit(path, how)
    if fitting and how.get("block_KiB") is None:
        how["block_KiB"] = (target.block_B if target.block_B in fitting else fitting[0]) // 1024
    facts = _facts(path, how)
    fs = facts["layout"]["fs"]
    if fs in VOLUMES:
        raise InputError(f"{path}: is {title(fs)}, which stands on a block device: --lint is about images of raw flash")
    # Behind the header of a maker an image has an offset, and is no partition of a chip.
    is_given = any(how.get(key) is not None for key in ("offset_B", "size_B"))
    if blocks is None and "partition" in facts and (facts["partition"]["name"] or is_given):
        of_dump = min(facts["partition"]["size_B"] // target.block_B, target.chip_blocks)
        target = replace(target, blocks=of_dump or target.blocks)
    linted = _Lint(path, facts, target, how)
    if fs == "ubifs":
        _ubi(linted)
    elif fs == "jffs2":
        _jffs2(linted)
    else:
        _others(linted, fitting)
    _size(linted)
    _ecc(linted)
    checks = linted.checks
    return {
        "file": str(path),
        "part": target.part,
        "board": target.board,
        "kernel": target.kernel,
        "block_B": target.block_B,
        "partition_blocks": target.blocks,
        "fits": all(each["verdict"] == "ok" or _may_be_unknown(each) for each in checks),
        "checks": checks,
    }


def _may_be_unknown(check: LintCheck) -> bool:
    return check["verdict"] == "not known" and not check["is_decisive"]


def _facts(path: Path, how: How) -> Facts:
    found = inspect_partitions(path, board=IMAGE_BOARD, part=None, kernel=None, device=IMAGE_DEVICE, **how)
    known = [facts for _, facts in found if facts is not None]
    if len(known) != 1:
        several = ", ".join(partition.text for partition, _ in found)
        raise InputError(f"{path}: --lint is about one partition, choose it with --partition: {several}")
    return known[0]


def _block_sizes_that_fit(path: Path, how: How) -> list[int]:
    """Of an image that does not tell the size of its erase blocks."""
    parts: list[Part] = json.loads(_native.recognise(path, said(**how)))
    layouts = [part["layout"]["Ok"] for part in parts if "Ok" in part["layout"]]
    return next((layout.get("block_sizes_that_fit_B") or [] for layout in layouts), [])


# ---- UBI ----------------------------------------------------------------------------------------------------


def _ubi(lint: _Lint) -> None:
    target, layout = lint.target, lint.facts["layout"]
    at = layout.get("vid_hdr_and_data_at_B")
    if at is None:
        _ubifs(lint, None, None)
        _ubifs_alone(lint)
        return
    vid_at = at[0]
    # UBI on NOR has no pages: both headers and the data follow each other.
    min_io = 1 if vid_at == UBI_HEADER_B else layout["page_B"]
    peb = target.block_B
    lint.check("page (minimum I/O)", min_io, "equal to", target.min_io_B, "B", f"ubinize -m {target.min_io_B}")
    lint.check("erase block", layout["block_B"], "equal to", peb, "B", f"ubinize -p {peb // 1024}KiB")
    wanted = target.vid_header_at_B
    if (sub := target.subpage_B) is not None:
        right = f"ubinize -s {sub} (or -O {wanted})" if sub > 1 else "ubinize -m 1"
    else:
        right = f"say --board: its driver decides between ubinize -s {target.page_B} and -s {target.page_B // 4}"
    rests_on = ("ecc_step_B",) if target.board and target.kind == "nand" else ()
    lint.check("sub-page (header at)", vid_at, "equal to", wanted, "B", right, rests_on=rests_on)
    if target.is_mlc:
        lint.check("bits of a cell", 2, "at most", 1, "bit", "a part of SLC, or a volume without UBI", NO_MLC)
    _check_oob(lint)
    _volumes(lint)
    _ubifs(lint, vid_at if wanted is None else wanted, lint.number("UBIFS is on volume"))


def _reserved(lint: _Lint) -> dict[int, int]:
    """LEBs of each volume, by its number."""
    found = {}
    for name, value in lint.facts["superblock"].items():
        word, _, volume = name.partition(" ")
        if word == "volume" and volume.isdecimal() and isinstance(value, dict):
            found[int(volume)] = _whole(value.get("reserved_pebs"))
    return found


def _whole(value: Json) -> int:
    return value if isinstance(value, int) else 0


def _volumes(lint: _Lint) -> None:
    """Whether the volumes have room beside what UBI keeps."""
    target = lint.target
    lebs, kept = sum(_reserved(lint).values()), target.bad_reserve_blocks
    room = target.volume_lebs
    right = (
        f"vol_size of at most {counted(room, 'LEB')} in all, or a partition of {lebs + UBI_OWN_BLOCKS + kept} blocks"
    )
    note = f"{lebs} of volumes, 2 of the volume table, 1 for wear levelling, 1 for an atomic change"
    lint.check("volumes and UBI's own", lebs + UBI_OWN_BLOCKS, "at most", target.blocks, "blocks", right, note)
    fastmap = lint.facts["superblock"].get("fastmap")
    if isinstance(fastmap, dict):
        own = 2 * _whole(fastmap.get("blocks"))
        note = f"a kernel with fastmap keeps {own} for it and the next one, before those for bad blocks"
        has = lebs + UBI_OWN_BLOCKS + own
        lint.check("with two fastmaps", has, "at most", target.blocks, "blocks", right, note, is_decisive=False)
        stale = int(fastmap.get("state") == "stale")
        right = "an image of UBI that was detached, or one without fastmap: an attach by this one loses data"
        lint.check("stale fastmap", stale, "at most", 0, "fastmaps", right)
    if not target.is_nor:
        note = f"{kept} are kept for bad blocks, {target.bad_reserve_rule}"
        has = lebs + UBI_OWN_BLOCKS + kept
        lint.check("with the bad-block reserve", has, "at most", target.blocks, "blocks", right, note)
        bad = target.number("bad_blocks_max")
        right = f"CONFIG_MTD_UBI_BEB_LIMIT={-(-(bad or 0) * 1024 // target.chip_blocks)}"
        if bad is None:
            right = "the profile of the part does not say how many blocks may be bad"
        lint.check(
            "bad-block reserve", kept, "at least", bad, "blocks", right, is_decisive=False, rests_on=("bad_blocks_max",)
        )


def _ubifs(lint: _Lint, vid_at: int | None, volume: int | None) -> None:
    """What the superblock says; `vid_at`: where UBI's second header must be; `None`: there is no UBI in the image."""
    target, leb = lint.target, lint.number("UBIFS LEB B")
    if leb is None:
        return
    least = max(target.min_io_B, UBIFS_LEAST_B)
    has = lint.number("UBIFS least write B")
    lint.check("UBIFS minimum I/O", has, "equal to", least, "B", f"mkfs.ubifs -m {target.min_io_B}")
    if vid_at is None:
        vid_at = target.vid_header_at_B
    fitting = [target.leb_B(at) for at in ([vid_at] if vid_at is not None else [target.page_B // 4, target.page_B])]
    # Without board and UBI both are possible.
    wanted = fitting[0] if len(fitting) == 1 or leb not in fitting else None
    right = " or ".join(f"mkfs.ubifs -e {each}" for each in fitting)
    lint.check("UBIFS LEB", leb, "equal to", wanted, "B", right)
    _space_fixup(lint)
    if volume is None:
        return
    lebs = _reserved(lint)
    grown = target.volume_lebs - sum(lebs.values()) + lebs.get(volume, 0)
    growing = growing_volumes(lint.path, lint.facts)
    has = lint.number("UBIFS LEBs at most") or 0
    will = lebs.get(volume, 0)
    if growing is None:
        wanted, note = (grown if has >= grown else None), "the flag autoresize could not be read"
    elif volume in growing:
        wanted, note = max(grown, will), "its volume grows to what the partition has (autoresize)"
    else:
        wanted, note = will, "LEBs of its volume"
    right = f"mkfs.ubifs -c {max(grown, will) if wanted is None else wanted}"
    lint.check("UBIFS LEBs at most", has, "at least", wanted, "LEBs", right, note, is_decisive=False)


def _space_fixup(lint: _Lint) -> None:
    """Pages that are programmed as erased ones cannot be programmed again: the ECC of NAND is in them."""
    if lint.target.is_nor:
        return
    has = int(lint.facts["superblock"].get("UBIFS space fixup") == "yes")
    right = "mkfs.ubifs -F, unless what flashes leaves erased pages out, as ubiformat does"
    lint.check("space fixup", has, "at least", has or None, "flag", right, is_decisive=False)


def _ubifs_alone(lint: _Lint) -> None:
    """A volume that is to be written into UBI: no more is known of UBI than that it is on the partition."""
    room = lint.target.volume_lebs
    lebs, most = lint.number("UBIFS LEBs"), lint.number("UBIFS LEBs at most") or 0
    note = f"what UBI leaves of {lint.target.blocks} blocks: {UBI_OWN_BLOCKS} are its own, and those for bad blocks"
    lint.check("LEBs of the image", lebs, "at most", room, "LEBs", "a larger partition", note)
    wanted = room if most >= room else None
    right = f"mkfs.ubifs -c {room}, if its volume is as large as the partition lets it"
    lint.check("UBIFS LEBs at most", most, "at least", wanted, "LEBs", right, is_decisive=False)


# ---- others -------------------------------------------------------------------------------------------------


def _jffs2(lint: _Lint) -> None:
    target, layout = lint.target, lint.facts["layout"]
    markers = lint.facts["superblock"].get("clean marker nodes")
    count = _whole(markers.get("count")) if isinstance(markers, dict) else 0
    block, right = layout["block_B"], f"mkfs.jffs2 -e {target.block_B // 1024}KiB"
    if count > 1:
        lint.check("erase block", block, "equal to", target.block_B, "B", right, "so far apart are its clean markers")
    else:
        has, note = min(block, target.block_B), "no node crosses the ends of such ones"
        if _crosses(lint):
            has, note = max(block, 2 * target.block_B), "nodes cross the ends of smaller ones"
        lint.check("erase block", has, "at most", target.block_B, "B", right, note)
    # NAND has its clean markers in OOB areas (fs/jffs2/wbuf.c, `jffs2_nand_flash_setup`).
    if not target.is_nor and not layout["oob_B"]:
        lint.check("clean markers", count, "equal to", 0, "nodes", "mkfs.jffs2 -n", "those of NAND are in OOB areas")
    elif target.is_nor and count and isinstance(markers, dict):
        marker = _whole(markers.get("B")) // count
        lint.check("size of a clean marker", marker, "equal to", CLEAN_MARKER_B, "B", f"mkfs.jffs2 -c {CLEAN_MARKER_B}")
    if (largest := lint.number("largest data node B")) is not None:
        right = f"mkfs.jffs2 -s {DATA_NODE_B}"
        note = "a node of the kernel holds a page of memory (fs/jffs2/write.c, `jffs2_write_inode_range`)"
        lint.check("data of a node", largest, "at most", DATA_NODE_B, "B", right, note)
    if layout["oob_B"]:
        lint.check("page", layout["page_B"], "equal to", target.page_B, "B", "pages of the part")
    _check_oob(lint)
    # fs/jffs2/build.c, `jffs2_calc_trigger_levels`: 2 %, 100 B for each block, and 2 blocks are kept from writers.
    partition = target.blocks * target.block_B
    kept = 2 + (partition // 50 + target.blocks * 100 + target.block_B - 1) // target.block_B
    _room(lint, -(-len(_used(lint.facts)) * block // target.block_B), kept)


def _used(facts: Facts) -> list[int]:
    """Numbers of the erase blocks that hold anything; a clean marker of JFFS2 alone is nothing."""
    blocks = (each for each in facts["blocks"] if each["holds"] != "clean")
    return [each["block"] for each in blocks if (each["valid_B"] or 0) + (each["invalid_B"] or 0)]


def _crosses(lint: _Lint) -> bool:
    """Whether nodes cross the ends of erase blocks of the part's size: they do damage that is none in larger ones."""
    if lint.facts["layout"]["block_B"] < lint.target.block_B:
        return False
    sizes_KiB = lint.target.block_B // 1024, LARGEST_BLOCK_KIB  # noqa: N806
    ours, largest = (_facts(lint.path, {**lint.how, "block_KiB": each})["damage_count"] for each in sizes_KiB)
    return ours > largest


def _others(lint: _Lint, fitting: list[int]) -> None:
    """YAFFS2, and what programs without a system use."""
    target, layout = lint.target, lint.facts["layout"]
    if layout["fs"] != "yaffs2":
        # Programs without a system use NOR in the smallest blocks that it erases.
        least = SMALL_BLOCK_B if target.said("erase_4KiB") else target.block_B
        right = f"blocks of {least} B"
        lint.check("erase block", layout["block_B"], "a multiple of", least, "B", right)
        if layout["fs"] == "littlefs":
            _littlefs(lint)
        return
    lint.check("page (chunk)", layout["page_B"], "equal to", target.page_B, "B", f"chunks of {target.page_B} B")
    _check_oob(lint)
    has = layout["block_B"] if not fitting or target.block_B not in fitting else None
    right = f"blocks of {target.block_B} B" if has else "nothing in the image tells; that of the part is possible"
    lint.check("erase block", has, "equal to", target.block_B, "B", right, is_decisive=False)
    _room(lint, -(-lint.bytes_B // target.block_B), YAFFS2_RESERVED_BLOCKS)


def _littlefs(lint: _Lint) -> None:
    """What its superblock says; what it reads and programs at once stands nowhere."""
    block = lint.facts["layout"]["block_B"]
    most = lint.target.blocks * lint.target.block_B // block
    lint.check("blocks of littlefs", lint.number("blocks"), "at most", most, "blocks", f"block_count = {most}")


def _check_oob(lint: _Lint) -> None:
    if oob := lint.facts["layout"]["oob_B"]:
        right = f"an image with {lint.target.oob_B} B of OOB behind each page"
        lint.check("OOB area", oob, "equal to", lint.target.oob_B, "B", right)


def _room(lint: _Lint, used: int, kept: int) -> None:
    bad = 0 if lint.target.is_nor else lint.target.number("bad_blocks_max") or 0
    has, note = used + bad + kept, f"{used} of files, {kept} that writers do not get, {bad} that may be bad"
    right = f"a partition of {has} blocks"
    lint.check("room to collect garbage", has, "at most", lint.target.blocks, "blocks", right, note)


def _size(lint: _Lint) -> None:
    target, layout = lint.target, lint.facts["layout"]
    if layout.get("lacks_ubi"):
        return
    blocks = -(-lint.bytes_B // target.block_B)
    right = f"a partition of {blocks} blocks"
    lint.check("image", blocks, "at most", target.blocks, "blocks", right)
    if target.is_nor or layout["fs"] == "ubifs":
        # UBI's reserve is for them.
        return
    bad = target.number("bad_blocks_max")
    # Behind the last block in use a dump is erased, and need not be flashed.
    used = -(-(max(_used(lint.facts), default=-1) + 1) * layout["block_B"] // target.block_B) or blocks
    has = None if bad is None else used + bad
    right = f"a partition of {has} blocks" if has else "the profile of the part does not say how many may be bad"
    note = f"{used} to the last one in use; {bad} may be bad, and what is flashed skips them" if bad else ""
    lint.check("image and bad blocks", has, "at most", target.blocks, "blocks", right, note, is_decisive=False)


def _ecc(lint: _Lint) -> None:
    """What the part asks for, beside what corrects it (drivers/mtd/nand/ecc.c, `nand_ecc_is_strong_enough`)."""
    target = lint.target
    if target.is_nor:
        return
    if target.kind == "spi-nand":
        bits, step = target.number("ecc_strength_bits"), target.number("ecc_step_B")
        unit, note = f"bit in {step} B", "the ECC in the chip is what the part asks for"
        lint.check("ECC", bits, "at least", bits, unit, "", note, is_decisive=False, rests_on=("ecc_strength_bits",))
        return
    asked, asked_step = target.number("ecc_required_bits"), target.number("ecc_required_step_B")
    bits, step = (target.number(key, of_board=True) for key in ("ecc_strength_bits", "ecc_step_B"))
    wanted = None
    if asked and asked_step:
        # As dense as asked, and as many where they come together.
        wanted = max(asked, -(-asked * (step or asked_step) // asked_step))
        right = f"nand-ecc-strength = <{asked}>, nand-ecc-step-size = <{asked_step}>"
        note = f"the part asks for {asked} in {asked_step} B"
        if bits is None:
            right = "say --board"
    else:
        right, note = "the profile of the part does not say what it asks for", ""
    rests_on = ("ecc_required_bits", "ecc_required_step_B", "ecc_strength_bits")
    unit = f"bit in {step or asked_step} B" if step or asked_step else "bit"
    lint.check("ECC", bits, "at least", wanted, unit, right, note, is_decisive=False, rests_on=rests_on)


# ---- for a terminal -----------------------------------------------------------------------------------------


def text(answer: ImageLint) -> str:
    """A line for each check."""
    checks = answer["checks"]
    wrong, unknown = (sum(each["verdict"] == verdict for each in checks) for verdict in ("wrong", "not known"))
    target = f"{answer['part']}, {number(answer['partition_blocks'])} blocks of {size(answer['block_B'])}"
    board = f"{answer['board']}, Linux {answer['kernel']}" if answer["board"] else "no board said"
    head = f"{quoted(answer['file'])} on {target}; {board}"
    rows = [
        [
            each["verdict"],
            each["about"],
            number(each["has"]),
            ("" if each["must_be"] == "equal to" else f"{each['must_be']} ") + number(each["wanted"]),
            each["unit"],
            "; ".join(line for line in (each["right"], each["note"], _doubt(each)) if line),
        ]
        for each in checks
    ]
    table = text_table(["", "check", "has", "must be", "unit", "right"], rows, "llrrll")
    last = f"{counted(len(checks), 'check')}: {wrong} wrong, {unknown} not known"
    return f"{head}\n\n{table}\n\n{last}: {'it fits' if answer['fits'] else 'it does not fit, or nobody knows'}"


def _doubt(check: LintCheck) -> str:
    return "unverified in the profile" if check["is_unverified"] else ""
