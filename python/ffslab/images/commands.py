"""The commands with which mtd-utils make an image that fits a part: a script for sh, with the reason of each number."""

from __future__ import annotations

from textwrap import wrap

from ffslab._native import InputError
from ffslab.file_systems import title
from ffslab.images.target import DATA_NODE_B, NO_MLC, UBI_OWN_BLOCKS, Target
from ffslab.text.tables import counted, size


def script(fs: str, target: Target) -> str:
    """What makes an image of a folder, `sh SCRIPT FOLDER`, and in comments how it is flashed.

    Raises `ffslab.InputError` where no image can be right.
    """
    if fs == "ubifs":
        making = _ubifs
    elif fs == "jffs2":
        making = _jffs2
    else:
        raise InputError(f"--fs {fs}: mtd-utils make images of UBIFS and of JFFS2 alone")
    board = f"; {target.board}, Linux {target.kernel}" if target.board else f"; Linux {target.kernel}"
    blocks = f"{target.part}, {target.blocks} blocks of {size(target.block_B)}{board}"
    head = f"{title(fs)} for {blocks}. Run it with sh and the folder whose files go into the image."
    return "\n".join([*comment(head), "set -e", "folder=${1:?which folder?}", "", *making(target)])


def comment(text: str) -> list[str]:
    """Lines of a script that say something."""
    return [f"# {line}" for line in wrap(text, 110)]


def _ubifs(target: Target) -> list[str]:
    if target.is_mlc:
        raise InputError(f"{target.part}: {NO_MLC}")
    vid_at = target.vid_header_at_B
    if vid_at is None or target.subpage_B is None:
        raise InputError(f"{target.part}: name the --board, whose driver decides whether pages have sub-pages")
    if target.volume_lebs == 0:
        least = UBI_OWN_BLOCKS + target.bad_reserve_blocks + 1
        raise InputError(f"--blocks {target.blocks}: UBI leaves volumes nothing, it needs {least} blocks and more")
    kept = f"{UBI_OWN_BLOCKS} of its own"
    if not target.is_nor:
        kept += f" and {target.bad_reserve_blocks} that it keeps for bad ones ({target.bad_reserve_rule})"
    left = f"the LEBs that UBI leaves of the partition: {counted(target.blocks, 'block')} less {kept}"
    flashing = "ubiformat /dev/mtdN -f root.ubi; then attach it: ubiattach -p /dev/mtdN, or ubi.mtd= for the kernel."
    return [
        *comment(mkfs_ubifs_reasons(target, left)),
        mkfs_ubifs(target, vid_at, target.volume_lebs, '"$folder"', "root.ubifs"),
        "",
        *comment(f"{ubinize_reasons(vid_at)} autoresize: the volume grows to what there is at the first attach."),
        "cat > root.cfg <<END",
        "[root]",
        "mode=ubi",
        "image=root.ubifs",
        "vol_id=0",
        "vol_type=dynamic",
        "vol_name=root",
        "vol_flags=autoresize",
        "END",
        ubinize(target, "root.ubi", "root.cfg"),
        "",
        *comment(flashing),
    ]


def mkfs_ubifs_reasons(target: Target, lebs: str) -> str:
    """Why mkfs.ubifs gets its numbers. `lebs`: what those of -c are."""
    why = (
        f"-m: the least that is written, {'a byte' if target.is_nor else 'a page'}. -e: what UBI's headers leave of an "
        f"erase block. -c: {lebs}."
    )
    if not target.is_nor:
        why += (
            " -F: where erased pages are written, too, as by nandwrite, the first mount makes them usable; ubiformat "
            "leaves them out."
        )
    return why


def mkfs_ubifs(target: Target, vid_at_B: int, lebs: int, folder: str, out: str, options: str = "") -> str:  # noqa: N803
    """What makes a volume of UBIFS; `folder` and `out` as a shell takes them."""
    fixup = "" if target.is_nor else " -F"
    return f"mkfs.ubifs -m {target.min_io_B} -e {target.leb_B(vid_at_B)} -c {lebs}{fixup}{options} -r {folder} -o {out}"


def ubinize_reasons(vid_at_B: int) -> str:  # noqa: N803
    """Why ubinize gets its numbers."""
    return (
        "-p: the erase block. -s: the least that MTD writes of a header, so that the second one stands at "
        f"{vid_at_B} B."
    )


def ubinize(target: Target, out: str, sections: str, options: str = "") -> str:
    """What makes a partition of UBI of the volumes in a file of sections."""
    return f"ubinize -m {target.min_io_B} -p {target.block_B} -s {target.subpage_B}{options} -o {out} {sections}"


def _jffs2(target: Target) -> list[str]:
    flashing = "flash_erase -j /dev/mtdN 0 0, then nandwrite -p /dev/mtdN root.jffs2"
    if target.is_nor:
        flashing = "flashcp root.jffs2 /dev/mtdN"
    return [
        *comment(f"{mkfs_jffs2_reasons(target)} -l: of a little-endian CPU, -b of another."),
        mkfs_jffs2(target, '"$folder"', "root.jffs2"),
        "",
        *comment(f"{flashing}."),
    ]


def mkfs_jffs2_reasons(target: Target) -> str:
    """Why mkfs.jffs2 gets its numbers."""
    markers = "-n: no clean markers in it: those of NAND stand in OOB areas."
    if target.is_nor:
        markers = "A clean marker stands at the begin of each block."
    return f"-e: the erase block, whose end no node crosses. -s: data of a node, at most {DATA_NODE_B} B. {markers}"


def mkfs_jffs2(target: Target, folder: str, out: str, options: str = "", *, is_big_endian: bool = False) -> str:
    """What makes a partition of JFFS2; `folder` and `out` as a shell takes them."""
    order, nand = ("-b" if is_big_endian else "-l"), ("" if target.is_nor else " -n")
    return f"mkfs.jffs2 {order}{nand} -e {target.block_B} -s {DATA_NODE_B}{options} -r {folder} -o {out}"
