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
    return "\n".join([*_comment(head), "set -e", "folder=${1:?which folder?}", "", *making(target)])


def _comment(text: str) -> list[str]:
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
    why = (
        f"-m: the least that is written, {'a byte' if target.is_nor else 'a page'}. -e: what UBI's headers leave of an "
        f"erase block. -c: the LEBs that UBI leaves of the partition: {counted(target.blocks, 'block')} less {kept}."
    )
    if not target.is_nor:
        why += (
            " -F: where erased pages are written, too, as by nandwrite, the first mount makes them usable; ubiformat "
            "leaves them out."
        )
    leb = target.leb_B(vid_at)
    fixup = "" if target.is_nor else " -F"
    ubi = (
        f"-p: the erase block. -s: the least that MTD writes of a header, so that the second one stands at {vid_at} B. "
        "autoresize: the volume grows to what there is at the first attach."
    )
    flashing = "ubiformat /dev/mtdN -f root.ubi; then attach it: ubiattach -p /dev/mtdN, or ubi.mtd= for the kernel."
    return [
        *_comment(why),
        f'mkfs.ubifs -m {target.min_io_B} -e {leb} -c {target.volume_lebs}{fixup} -r "$folder" -o root.ubifs',
        "",
        *_comment(ubi),
        "cat > root.cfg <<END",
        "[root]",
        "mode=ubi",
        "image=root.ubifs",
        "vol_id=0",
        "vol_type=dynamic",
        "vol_name=root",
        "vol_flags=autoresize",
        "END",
        f"ubinize -m {target.min_io_B} -p {target.block_B} -s {target.subpage_B} -o root.ubi root.cfg",
        "",
        *_comment(flashing),
    ]


def _jffs2(target: Target) -> list[str]:
    page = f"-e: the erase block, whose end no node crosses. -s: data of a node, at most {DATA_NODE_B} B. "
    markers = "-n: no clean markers in it: those of NAND stand in OOB areas."
    flashing = "flash_erase -j /dev/mtdN 0 0, then nandwrite -p /dev/mtdN root.jffs2"
    nand = " -n"
    if target.is_nor:
        nand, markers = "", "A clean marker stands at the begin of each block."
        flashing = "flashcp root.jffs2 /dev/mtdN"
    order = " -l: of a little-endian CPU, -b of another."
    return [
        *_comment(page + markers + order),
        f'mkfs.jffs2 -l{nand} -e {target.block_B} -s {DATA_NODE_B} -r "$folder" -o root.jffs2',
        "",
        *_comment(f"{flashing}."),
    ]
