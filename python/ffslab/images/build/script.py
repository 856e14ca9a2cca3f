"""The commands with which mtd-utils make the image of a description, as a script with the reason of each number."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ffslab._native import InputError
from ffslab.images.build import ubi
from ffslab.images.build.chip import planned
from ffslab.images.build.description import Content, Description, Partition, named
from ffslab.images.commands import (
    comment,
    mkfs_jffs2,
    mkfs_jffs2_reasons,
    mkfs_ubifs,
    mkfs_ubifs_reasons,
    ubinize,
    ubinize_reasons,
)
from ffslab.text.quoting import one_line
from ffslab.text.tables import counted, size

# What mkfs.jffs2 has for the words of a stack: which compressors are off, and how it chooses.
_JFFS2_COMPRESSION = {
    "none": " -m none",
    "zlib": " -x lzo -x rtime",
    "rtime": " -x lzo -x zlib",
    "lzo": " -x rtime -x zlib -X lzo -m priority",
    "zlib-rtime": " -x lzo",
    "priority": " -m priority",
    "size": " -m size",
}


def script(description: Description) -> str:
    """What makes the image, `sh SCRIPT` in the folder of the description.

    Raises `ffslab.InputError` where no image can be right, or mtd-utils make none.
    """
    with named(description.file):
        return "\n".join(_lines(description))


def _lines(description: Description) -> list[str]:
    target = description.target
    plans = planned(description, oob=False)
    board = f"; {target.board}, Linux {target.kernel}" if target.board else f"; Linux {target.kernel}"
    head = (
        f"{target.part}, {target.blocks} blocks of {size(target.block_B)}{board}: run it with sh in the folder of "
        f"{description.file.name}. It makes chip.img, without OOB areas, and a file for each partition."
    )
    lines = [*comment(head), "set -e", "", *comment("Erased flash."), *_erased(target.chip_blocks * target.block_B)]
    reasons = _Reasons()
    for partition in description.partitions:
        at = hex(partition.first_block * target.block_B)
        made = _partition(description, partition, plans.get(partition.name), reasons)
        lines += [
            "",
            *comment(f"{partition.name}: {counted(partition.blocks, 'block')} from {at} on."),
        ]
        lines += made or comment("It is left erased.")
    return lines


class _Reasons:
    """Comments that stand once, before the first command that they are of."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def of(self, text: str) -> list[str]:
        if text in self._told:
            return []
        self._told.add(text)
        return comment(text)


def _erased(count_B: int) -> list[str]:  # noqa: N803
    return [f"head -c {count_B} /dev/zero | tr '\\000' '\\377' > chip.img"]


def _partition(
    description: Description, partition: Partition, plan: ubi.UbiPlan | None, reasons: _Reasons
) -> list[str]:
    target, content = description.target, partition.content
    if plan is not None:
        lines, file = _ubi(description, plan, reasons), _file(partition.name, "ubi")
    elif content.image is not None:
        lines, file = [], _path(description, content.image)
    elif content.fs == "jffs2":
        file = _file(partition.name, "jffs2")
        lines = [*reasons.of(f"{mkfs_jffs2_reasons(target)} -U: all files are root's."), _jffs2(description, partition)]
    elif content.fs is None:
        return []
    else:
        raise InputError(
            f"{partition.where}`fs`: mtd-utils make no {content.fs}: leave --commands out, or take the partition out"
        )
    at = partition.first_block
    return [*lines, f"dd if={file} of=chip.img bs={target.block_B} seek={at} conv=notrunc status=none"]


def _jffs2(description: Description, partition: Partition) -> str:
    settings = partition.content.settings
    options = _JFFS2_COMPRESSION.get(str(settings.get("compression", "zlib-rtime")), "") + " -U"
    folder, out = _folder(description, partition.content), _file(partition.name, "jffs2")
    is_big = settings.get("endian") == "big"
    line = mkfs_jffs2(description.target, folder, out, options, is_big_endian=is_big)
    if not settings.get("summary"):
        return line
    target = description.target
    summed = f"sumtool {'-b' if is_big else '-l'}{'' if target.is_nor else ' -n'} -e {target.block_B}"
    return f"{line}\n{summed} -i {out} -o {out}.sum && mv {out}.sum {out}"


def _ubi(description: Description, plan: ubi.UbiPlan, reasons: _Reasons) -> list[str]:
    lines, sections = [], []
    name = plan.partition.name
    for number, each in enumerate(plan.volumes):
        volume = each.volume
        file = None if volume.content.image is None else _path(description, volume.content.image)
        if volume.content.fs is not None:
            file = _file(f"{name}-{volume.id}", "ubifs")
            options = f" -x {volume.content.settings.get('compression', 'lzo')} -U"
            why = mkfs_ubifs_reasons(plan.target, "the LEBs that the volume has on the device")
            folder = _folder(description, volume.content)
            made = mkfs_ubifs(plan.target, plan.vid_at_B, each.lebs, folder, file, options)
            lines += [*reasons.of(f"{why} -U: all files are root's."), made]
        said = ["mode=ubi", *([f"image={_unquoted(file)}"] if file else []), f"vol_id={volume.id}"]
        for text in (volume.name, _unquoted(file) if file else ""):
            if re.search(r"[;#\"'\\]|^\s|\s$", text):
                raise InputError(
                    f"{volume.where}`{one_line(text)}`: ubinize reads it otherwise, with ; # quotes or spaces at its "
                    "ends: leave --commands out, or name it otherwise"
                )
        if volume.size_B is not None or not file:
            said.append(f"vol_size={max(-(-(volume.size_B or 0) // each.usable_B), 1) * each.usable_B}")
        said += [f"vol_type={'static' if volume.is_static else 'dynamic'}", f"vol_name={volume.name}"]
        said += [f"vol_alignment={volume.alignment_B}"] if volume.alignment_B != 1 else []
        flags = [word for word, on in (("autoresize", volume.autoresize), ("skip-check", volume.skip_check)) if on]
        said += [f"vol_flags={','.join(flags)}"] if flags else []
        sections += [f"[volume-{number}]", *said]
    config, out = _file(name, "cfg"), _file(name, "ubi")
    why = f"{ubinize_reasons(plan.vid_at_B)} -Q: by this number its blocks are told from those of others."
    return [
        *lines,
        f"cat > {config} <<'END'",
        *sections,
        "END",
        *reasons.of(why),
        ubinize(plan.target, out, config, f" -Q {plan.image_number}"),
    ]


def _file(name: str, ending: str) -> str:
    return shlex.quote(f"{name.replace('/', '_').lstrip('-.')}.{ending}")


def _path(description: Description, path: Path) -> str:
    """A file or folder from where the description stands, as a shell takes it."""
    folder = description.file.parent
    return shlex.quote(str(path.relative_to(folder) if path.is_relative_to(folder) else path))


def _unquoted(file: str) -> str:
    return shlex.split(file)[0]


def _folder(description: Description, content: Content) -> str:
    """The folder as a shell takes it; one that is empty where none is named."""
    return '"$(mktemp -d)"' if content.srcpath is None else _path(description, content.srcpath)
