"""What is in a flash image or a dump, as plain values and for a terminal. The native half finds it out."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Literal, Unpack

from ffslab import _native
from ffslab._native import InputError
from ffslab.answers import Json, Operation
from ffslab.answers.image import Facts, Place, Wear, WearClass
from ffslab.answers.inspection import BlockFacts, Damage, Inspected, Inspection, Layout
from ffslab.answers.summary import SpaceSummary
from ffslab.api.machine import IMAGE_BOARD, IMAGE_DEVICE
from ffslab.file_systems import ON_LINUX, VOLUMES
from ffslab.images import How, ImageTree, Partition, keys, read_image, recovery, said
from ffslab.images.layout import layout_notes, layout_text
from ffslab.registries import profiles
from ffslab.text.durations import duration
from ffslab.text.quoting import one_line, quoted
from ffslab.text.tables import number, size, text_table

Held = Literal["valid", "invalid", "free"]
HELD: tuple[tuple[Held, Literal["valid_B", "invalid_B", "free_B"]], ...] = (
    ("valid", "valid_B"),
    ("invalid", "invalid_B"),
    ("free", "free_B"),
)

# Files, pieces of damage and notes that a terminal shows; JSON and report have all.
FILES_SHOWN = 12
DAMAGE_SHOWN = 12
MAP_COLUMNS = 64
# Sizes of erase blocks that may be given, by their option or keyword.
GIVEN_BLOCKS_B = tuple(1 << power for power in range(12, 25))
ERASE_COUNTER = "erase counter"
# What a block of the map shows: most of it is so, or it is bad, or damaged.
MARKS = {"valid": "#", "invalid": "x", "free": ".", "bad": "B", "unknown": "?"}


def inspect_image(
    path: str | Path,
    *,
    board: str = IMAGE_BOARD,
    part: str | None = None,
    kernel: str | None = None,
    device: str = IMAGE_DEVICE,
    deleted: bool = False,
    **how: Unpack[How],
) -> Facts:
    """Looks into an image: format, sizes, superblock, files, space, wear, damage, what a mount and reading cost.

    What is known of the image is said with the keywords of `ffslab.images.said`. The costs are those on `board` with
    its `part` and `kernel`; of FAT and RFS on a block device. `deleted`: what was deleted or overwritten, too.
    docs/inspect.md describes the result. Raises `ffslab.InputError`, also for an image of several partitions of which
    none is chosen.
    """
    found = inspect_partitions(path, board=board, part=part, kernel=kernel, device=device, deleted=deleted, **how)
    known = [facts for _, facts in found if facts is not None]
    if len(known) != 1:
        several = ", ".join(partition.text for partition, _ in found)
        raise InputError(f"{path}: it holds several partitions, choose one: {several}")
    return known[0]


def inspect_partitions(
    path: str | Path,
    *,
    board: str,
    part: str | None,
    kernel: str | None,
    device: str,
    deleted: bool = False,
    **how: Unpack[How],
) -> list[tuple[Partition, Facts | None]]:
    """As `inspect_image`, of each partition of an image; no facts: what it holds is not known."""
    if (kind := profiles.shown(device)["kind"]) != "block device":
        raise InputError(f"device {device}: is a {kind}: name a block device, such as sd-card")
    inspected: list[Inspected] = json.loads(
        _native.inspect(path, said(**how), board=board, part=part, kernel=kernel, device=device, deleted=deleted)
    )
    found: list[tuple[Partition, Facts | None]] = []
    for each in inspected:
        partition = Partition.of(each["part"])
        seen = each["found"].get("Ok")
        if seen is None:
            found.append((replace(partition, why=each["found"].get("Err", "")), None))
            continue
        facts = facts_of(seen)
        if partition.offset_B or partition.name or how.get("size_B"):
            facts["partition"] = {
                "name": partition.name, "offset_B": partition.offset_B, "size_B": partition.size_B
            }  # fmt: skip
        found.append((partition, facts))
    return found


def facts_of(seen: Inspection) -> Facts:
    """What was seen, with the sums over all blocks."""
    return {
        "file": seen["file"],
        "file_B": seen["file_B"],
        "layout": seen["layout"],
        "superblock": {str(name): value for name, value in seen["superblock"]},
        "files": seen["files"],
        "blocks": seen["blocks"],
        "keys": seen["keys"],
        "damage": seen["damage"],
        "damage_count": seen["damage_count"],
        "bad_blocks": seen["bad_blocks"],
        "mount": seen["mount"],
        "lost": seen["lost"],
        "notes": seen["notes"],
        "doubts": seen["doubts"],
        "wear": wear(seen["blocks"]),
        "space": space(seen["blocks"]),
    }


def stack_keys(layout: Layout, partition: Place | None = None) -> dict[str, str | int | bool]:
    """The keys of an experiment's `[stack]` table that say how an image of this layout is arranged."""
    keys: dict[str, str | int | bool] = {}
    if partition is not None:
        keys |= {"image_offset_B": partition["offset_B"], "image_size_B": partition["size_B"]}
    tags_at_B = layout.get("tags_at_B")  # noqa: N806
    if layout["oob_B"]:
        keys["image_oob"] = True
    if tags_at_B == layout["page_B"]:
        keys["image_autoplace"] = True
    if tags_at_B is not None and tags_at_B < layout["page_B"]:
        keys["inband_tags"] = True
    if layout.get("endian") == "big":
        keys["endian"] = "big"
    if (at_B := layout.get("vid_hdr_and_data_at_B")) is not None:  # noqa: N806
        keys["vid_hdr_offset_B"] = at_B[0]
    return keys


def tree_of(path: str | Path, facts: Facts) -> ImageTree:
    """The files of the image, or the partition, that `facts` are of."""
    layout, partition = facts["layout"], facts.get("partition")
    place = (partition["offset_B"], partition["size_B"]) if partition else (None, None)
    return read_image(
        path,
        fs=layout["fs"],
        # Of a size that nobody can give it is found again.
        block_KiB=layout["block_B"] // 1024 if layout["block_B"] in GIVEN_BLOCKS_B else None,
        page_B=layout["page_B"],
        oob_B=layout["oob_B"],
        endian=layout.get("endian", "auto"),
        offset_B=place[0],
        size_B=place[1],
    )


def space(blocks: list[BlockFacts]) -> SpaceSummary | None:
    """Sums over all blocks whose content is accounted for."""
    known = [block for block in blocks if block["valid_B"] is not None or block["free_B"] is not None]
    if not known:
        return None
    return {
        "valid_B": sum(block["valid_B"] or 0 for block in known),
        "invalid_B": sum(block["invalid_B"] or 0 for block in known),
        "free_B": sum(block["free_B"] or 0 for block in known),
    }


def wear(blocks: list[BlockFacts]) -> Wear | None:
    """Least, mean and most of UBI's erase counters or of YAFFS2's sequence numbers, and how many blocks have which."""
    kinds: tuple[tuple[Literal["erases", "sequence"], str], ...] = (
        ("erases", ERASE_COUNTER),
        ("sequence", "sequence number"),
    )
    for kind, name in kinds:
        values = [value for block in blocks if (value := block[kind]) is not None]
        if values:
            return {
                "kind": name,
                "blocks": len(values),
                "min": min(values),
                "mean": sum(values) / len(values),
                "max": max(values),
                "histogram": histogram(values),
            }
    return None


def histogram(values: list[int], bins_max: int = 16) -> list[WearClass]:
    """At most so many classes of equal width, from the least value to the most."""
    low, high = min(values), max(values)
    width = max(1, -(-(high - low + 1) // bins_max))
    counts = Counter((value - low) // width for value in values)
    last = (high - low) // width
    return [
        {"from": low + i * width, "to": min(low + (i + 1) * width - 1, high), "blocks": counts.get(i, 0)}
        for i in range(last + 1)
    ]


def mark_of(block: BlockFacts) -> str:
    """What most of a block is: valid, invalid, free, bad, unknown."""
    if block["is_bad"]:
        return "bad"
    held = {kind: block[key] or 0 for kind, key in HELD}
    return max(held, key=lambda kind: held[kind]) if any(held.values()) else "unknown"


# ---- for a terminal -----------------------------------------------------------------------------------------


def text(facts: Facts) -> str:
    """Everything that matters, for a terminal."""
    held = keys.text(facts) or _files(facts)
    parts = [_head(facts), _superblock(facts), _space(facts), _wear(facts), held, _mount(facts)]
    parts += [recovery.text(facts), _damage(facts), "\n".join(f"note: {one_line(note)}" for note in facts["notes"])]
    return "\n\n".join(part for part in parts if part)


def partitions_text(file: str, found: list[tuple[Partition, Facts | None]]) -> str:
    """The partitions of a whole chip, then what is in each."""
    rows = [
        [
            quoted(part.name),
            f"{part.offset_B:#x}",
            size(part.size_B),
            layout_text(part.layout) if part.layout else part.why,
        ]
        for part, _ in found
    ]
    parts = [
        f"{one_line(file)}: {len(found)} partitions",
        text_table(["partition", "offset", "size", "holds"], rows, "lrrl"),
    ]
    parts += [f"== {quoted(part.name)} ==\n\n{text(facts)}" for part, facts in found if facts is not None]
    return "\n\n".join(parts)


def fact_text(value: Json) -> str:
    """A value of the superblock."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {fact_text(part)}" for name, part in value.items())
    return number(value, 2) if isinstance(value, int | float) and not isinstance(value, bool) else one_line(str(value))


def sentences(facts: Facts) -> list[str]:
    """What matters most, a line each: damage, what was lost, space, wear, the cost of a mount."""
    return [
        line
        for line in (damage_line(facts), recovery.line(facts), _space_line(facts), _wear_line(facts), _mount(facts))
        if line
    ]


def _head(facts: Facts) -> str:
    lines = [f"{quoted(facts['file'])}: {size(facts['file_B'])}, {layout_text(facts['layout'])}"]
    lines += layout_notes(facts["layout"])
    return "\n".join(lines + [f"  {reason}" for reason in [*facts["layout"]["because"], *start_text(facts)]])


def start_text(facts: Facts) -> list[str]:
    """How an experiment starts from the image, in a line; nothing for images of block devices."""
    layout = facts["layout"]
    if layout["fs"] in VOLUMES or layout.get("lacks_ubi"):
        return []
    if layout["fs"] == "littlefs":
        # The stacks of bare programs have no key for an image.
        return ['an experiment with system = "bare" starts from it with the step load']
    if layout["fs"] not in ON_LINUX:
        return []
    stack = {
        "fs": layout["fs"],
        "image": facts["file"],
        "partition_blocks": layout["blocks"],
        **stack_keys(layout, facts.get("partition")),
    }
    said = _native.toml_of(stack).splitlines()
    return [f"an experiment starts from it with [stack] {', '.join(said)}"]


def _superblock(facts: Facts) -> str:
    rows = [[name, fact_text(value)] for name, value in facts["superblock"].items()]
    return text_table(["fact", "value"], rows, "ll") if rows else ""


def _space(facts: Facts) -> str:
    blocks = facts["blocks"]
    if facts["space"] is None:
        return ""
    marks = "".join("!" if block["damage_count"] else MARKS[mark_of(block)] for block in blocks)
    # A row of the map is several blocks when there are many.
    step = -(-len(marks) // (MAP_COLUMNS * 16))
    shown = marks[::step]
    rows = [shown[at : at + MAP_COLUMNS] for at in range(0, len(shown), MAP_COLUMNS)]
    every = "" if step == 1 else f", every {step}th block"
    legend = f"# valid, x invalid, . free (what most of a block is), B bad, ! damaged{every}"
    known = bad_blocks_line(facts)
    return "\n".join(line for line in (_space_line(facts), *(f"  {row}" for row in rows), f"  {legend}", known) if line)


def bad_blocks_line(facts: Facts) -> str:
    """How many blocks are bad, and the numbers of the first of them: "1 bad block: number 22". Empty where erase blocks
    mean nothing."""
    if facts["layout"]["fs"] in VOLUMES:
        return ""
    bad = facts["bad_blocks"]
    if bad is None:
        return "bad blocks: not known without OOB areas"
    if not bad:
        return "no bad blocks"
    if len(bad) == 1:
        return f"1 bad block: number {bad[0]}"
    more = ", ..." if len(bad) > DAMAGE_SHOWN else ""
    return f"{number(len(bad))} bad blocks: numbers {', '.join(map(str, bad[:DAMAGE_SHOWN]))}{more}"


def _space_line(facts: Facts) -> str:
    sums = facts["space"]
    if sums is None:
        return ""
    return "space: " + ", ".join(f"{kind} {size(sums[key])}" for kind, key in HELD)


def _wear(facts: Facts) -> str:
    worn = facts["wear"]
    if worn is None:
        return ""
    most = max(row["blocks"] for row in worn["histogram"])
    rows = [
        [f"{row['from']}" if row["from"] == row["to"] else f"{row['from']} to {row['to']}", str(row["blocks"]),
         "=" * round(40 * row["blocks"] / most)]
        for row in worn["histogram"]
    ]  # fmt: skip
    table = text_table([worn["kind"], "blocks", ""], rows, "rrl")
    return f"{_wear_line(facts)}\n{table}"


def _wear_line(facts: Facts) -> str:
    worn = facts["wear"]
    if worn is None:
        return ""
    spread = f"least {worn['min']:,}, mean {worn['mean']:,.1f}, most {worn['max']:,}"
    return f"wear: {worn['kind']} of {worn['blocks']} blocks: {spread}"


def file_rows(facts: Facts) -> tuple[list[str], list[list[str]]]:
    """Files by what reading them costs; those that could not be read first."""
    head = ["file", "size, B", "pieces", "page reads", "at least", "read, ms"]
    files = [entry for entry in facts["files"] if entry["kind"] == "file"]
    order = sorted(files, key=lambda f: (f["error"] is None, -f["read"]["pieces"] if f["read"] else 0, f["path"]))
    rows = []
    for entry in order:
        read = entry["read"]
        cells = [read["pieces"], read["reads"], read["least_reads"]] if read else [None, None, None]
        time_ms = number(read["time_us"] / 1e3) if read else "-"
        rows.append([quoted("/" + entry["path"]), number(entry["size_B"]), *(number(cell) for cell in cells), time_ms])
    return head, rows


def _files(facts: Facts) -> str:
    if not facts["files"]:
        return ""
    kinds = Counter(entry["kind"] for entry in facts["files"])
    counted = ", ".join(
        f"{count} {kind}{'' if count == 1 else 's'}".replace("ys", "ies") for kind, count in kinds.items()
    )
    head, rows = file_rows(facts)
    more = f"\n  ... and {len(rows) - FILES_SHOWN} files more" if len(rows) > FILES_SHOWN else ""
    return f"files: {counted}; the most scattered first\n{text_table(head, rows[:FILES_SHOWN], 'lrrrrr')}{more}"


def _mount(facts: Facts) -> str:
    mount = facts["mount"]
    if mount is None:
        return ""
    line = f"a mount takes {duration(mount['time_us'])} on {mount['machine']}"
    counts = mount.get("counts")
    if counts is None:
        return f"{line}: {number(mount.get('device_reads'))} buffers, {number(mount.get('device_read_B'))} B read"
    names: tuple[tuple[Operation, str], ...] = (
        ("page_reads", "page reads"),
        ("oob_reads", "OOB reads"),
        ("page_programs", "programs"),
        ("erases", "erases"),
    )
    return f"{line}: " + ", ".join(f"{number(counts[key])} {name}" for key, name in names)


def _damage(facts: Facts) -> str:
    broken = [f"{quoted('/' + entry['path'])}: {entry['error']}" for entry in facts["files"] if entry["error"]]
    lines = [
        f"block {piece['block']}, offset {piece['offset']:#x}: {piece['what']}{hits_text(piece)}"
        for piece in facts["damage"]
    ]
    count = _pieces(facts)
    shown = (broken + lines)[:DAMAGE_SHOWN]
    more = [f"... and {count - len(shown)} more"] if count > len(shown) else []
    return "\n".join([damage_line(facts), *(f"  {line}" for line in shown + more)])


def hits_text(piece: Damage) -> str:
    """Which file a piece of damage hits, and where: ": /log, bytes 4096 to 8191, not in use". Empty: not known."""
    hit = piece["hits"]
    if hit is None:
        return ""
    name = f"inode {hit['ino']}" if hit["path"] is None else quoted("/" + hit["path"])
    first, end = hit["range_B"] or (0, 0)
    range_B = f", bytes {first} to {end - 1}" if end > first else ""  # noqa: N806
    use = {None: "", True: "", False: ", not in use"}[hit["is_in_use"]]
    return f": {name}{range_B}{use}"


def damage_line(facts: Facts) -> str:
    """How much damage was found."""
    count = _pieces(facts)
    if count:
        return f"damage: {count} piece{'s' if count != 1 else ''}"
    if facts["files"] and facts["doubts"]:
        return "no damage was found, but the notes say what may be wrong"
    return "no damage was found" if facts["files"] else "no files could be read: the notes say why"


def _pieces(facts: Facts) -> int:
    """Pieces of damage, and files that cannot be read."""
    return int(facts["damage_count"]) + sum(1 for entry in facts["files"] if entry["error"])


def complaints(facts: Facts) -> int:
    """How much is wrong with the image."""
    return _pieces(facts) + len(facts["doubts"]) + (0 if facts["files"] else 1)
