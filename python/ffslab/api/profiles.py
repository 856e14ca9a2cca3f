"""Profiles as text and JSON, and files to begin with: `ffslab profiles`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from ffslab import _native
from ffslab._native import is_path
from ffslab.answers.profile import (
    ConstantValue,
    KernelFault,
    PartSummary,
    ProfileName,
    ShownConstant,
    ShownProfile,
    Status,
    StatusCounts,
)
from ffslab.answers.profile_difference import PairOfConstants, ProfileDifference
from ffslab.files.results import write_new_text
from ffslab.registries import socs
from ffslab.registries.profiles import listed, shown
from ffslab.text.tables import number, text_table

# Boards on which one with a part of a kind builds: what they have in common with it is that they run Linux.
BASES = {"nand": "omap3evm", "spi-nand": "luckfox-pico-max", "spi-nor": "imx6ul-14x14-evk"}
# Beyond what any board has: a number of Hz or kHz is meant.
CLOCK_MAX_MHZ, BUS_MAX_MHZ = 10_000, 1_000


def list_json(part_kind: str | None = None) -> str:
    """All profiles, or the parts of a kind, as `lab` lists them."""
    return json.dumps(listed(part_kind), indent=2, ensure_ascii=False)


def show_json(name: str) -> str:
    """One profile, as `lab` shows it."""
    return _indented(_native.profile(name))


def list_text(part_kind: str | None = None) -> str:
    """All profiles, one line each: parts by kind with what people choose them by, then the others."""
    parts: dict[str, list[list[str]]] = {}
    others = []
    for entry in listed(part_kind):
        if part := entry.get("part"):
            cells = f", {cell.upper()}" if (cell := part.get("cell")) else ""
            parts.setdefault(f"{part['kind']}{cells}", []).append(_part_cells(entry, part))
        else:
            others.append([entry["kind"], entry["name"], _shares(entry["statuses"]), entry["title"] or ""])
    head = ["name", "size\nMiB", "block\nKiB", "page\nB", "ECC\nbit/B", "numbers\nd m f p u", "title"]
    order = [kind for kind, _ in _native.part_kinds()]
    of_kind = sorted(parts.items(), key=lambda one: (order.index(one[0].partition(",")[0]), "SLC" not in one[0]))
    blocks = [f"parts: {kind}\n{text_table(head, rows, 'lrrrrll')}" for kind, rows in of_kind]
    if others:
        blocks.append(text_table(["kind", "name", "d m f p u", "title"], others, "llll"))
    legend = (
        "numbers d m f p u: in percent those of a data sheet, measured, fitted to measurements, published, unverified "
        "(profiles/README.md).\n"
        "page: of NOR what one program takes. ECC: what the data sheet asks for; with * the chip corrects itself."
    )
    return "\n\n".join([*blocks, legend])


def _part_cells(entry: ProfileName, part: PartSummary) -> list[str]:
    bits, step = part.get("ecc_bits"), part.get("ecc_step_B")
    ecc = "-" if bits is None else f"{'*' if part['ecc_on_die'] else ''}{bits}/{step}"
    oob = f"+{part['oob_B']}" if part["oob_B"] else ""
    size = number(part["size_KiB"] // 1024)
    page = f"{part['page_B']}{oob}"
    return [
        entry["name"],
        size,
        number(part["erase_block_KiB"]),
        page,
        ecc,
        _shares(entry["statuses"]),
        entry["title"] or "",
    ]


# How far numbers can be trusted, in the order of the legend.
STATUSES: tuple[Status, ...] = ("datasheet", "measured", "fitted", "published", "unverified")


def _shares(statuses: StatusCounts) -> str:
    """In percent the numbers of each status, in the order of the legend."""
    counts = [statuses[status] for status in STATUSES]
    return " ".join(f"{round(100 * count / max(sum(counts), 1)):3d}" for count in counts)


def show_text(name: str) -> str:
    """One profile: every value with unit, status and source, and what is derived from them."""
    profile = shown(name)
    kind = f", {part_kind}" if (part_kind := profile.get("part_kind")) else ""
    lines = [f"{profile['kind']} {profile['name']}{kind}: {profile['title'] or ''}"]
    lines += [f"{key}: {named}" for key in ("base", "part", "kernel") if (named := profile.get(key))]
    if scale := profile.get("cpu_time_scale"):
        lines.append(f"cpu_time_scale: {scale:g}, in the values below already")
    if note := profile.get("note"):
        lines.append(f"note: {note}")
    cells, notes = _footnotes([v["source"] for v in profile["values"]])
    faults = profile.get("faults")
    has_ages = faults is not None
    rows = [
        [_key(v), _value(v["value"]), v["unit"], *_ages(v, has_ages), v["status"], cell]
        for v, cell in zip(profile["values"], cells, strict=True)
    ]
    ages = ["since", "until"] if has_ages else []
    head = ["key", "value", "unit", *ages, "status", "source"]
    lines += ["", text_table(head, rows, "lrl" + "l" * len(ages) + "ll")]
    if notes:
        lines += ["", *(f"[{number}] {source}" for number, source in enumerate(notes, 1))]
    if faults is not None:
        lines += ["", *_faults(faults)]
    if "derived" in profile:
        head = ["derived from these", "driver overhead ns", "CPU power mW", "memory power mW"]
        rows = [
            [
                row["operation"],
                _value(row["driver_overhead_ns"]),
                _value(row["cpu_power_mW"]),
                _value(row["memory_power_mW"]),
            ]
            for row in profile["derived"] or []
        ]
        lines += ["", text_table(head, rows, "lrrr")]
    return "\n".join(lines)


def _ages(value: ShownConstant, has_ages: bool) -> list[str]:
    """Of a version of Linux: the first one that has the value, and the first one that has another again."""
    return [value.get("since") or "", value.get("until") or ""] if has_ages else []


def _faults(faults: list[KernelFault]) -> list[str]:
    """Which known faults a version of Linux has that lose data, and which its stable releases mended."""
    if not faults:
        return ["No fault that loses data is known of it."]
    lines = ["Known faults that lose data:"]
    for fault in faults:
        state = "present" if fault["present"] else "mended in its stable releases, and present before"
        lines.append(f"  {fault['fault']} ({fault['key']})")
        lines.append(f"    {state}; mended in Linux {fault['mended_in']}: {fault['source']}")
    return lines


def _key(value: ShownConstant) -> str:
    """The key of a constant, and where alone it holds."""
    when = value.get("when")
    return f"{value['key']} where {when}" if when else value["key"]


def write_new(path: Path, base: str, known: Mapping[str, str | float] | None = None) -> None:
    """Writes a profile to begin with: it builds on `base`, a built-in name or a path, and has all keys as comments, but
    for those of `known`, by their path ("spi.clock_MHz"), which it says.

    Raises `ffslab.InputError` when there is no such base or the file is there already.
    """
    write_new_text(path, _filled(_native.profile_template(base, _from(path, base)), known or {}))


def _filled(template: str, known: Mapping[str, str | float]) -> str:
    """The template with the lines of `known` as statements."""
    left, table, lines = dict(known), "", []
    for line in template.splitlines():
        if line.startswith("["):
            table = f"{line.strip('[]')}."
        name = line.removeprefix("# ").partition(" = ")[0]
        if line.startswith("# ") and (path := f"{table}{name}") in left:
            line = f"{name} = {json.dumps(left.pop(path))}"
        lines.append(line)
    assert not left, f"the template has no {', '.join(left)}"
    return "\n".join(lines) + "\n"


def write_of_soc(
    path: Path,
    soc: str,
    part: str,
    *,
    kernel: str | None,
    clock_mhz: float | None,
    bus_mhz: float | None,
    lines: int | None,
) -> str:
    """Writes the profile of a board with a system on a chip and a part; the base on which it builds.

    Raises `ffslab.InputError`: no such class or part; a serial part whose bus is not said, or a bus of one that has
    none; values that no board has.
    """
    for flag, number_mhz, most_mhz in (("--clock-MHz", clock_mhz, CLOCK_MAX_MHZ), ("--bus-MHz", bus_mhz, BUS_MAX_MHZ)):
        if number_mhz is not None and not 0 < number_mhz <= most_mhz:
            raise _native.InputError(f"{flag} {number_mhz:g}: must be above 0 and at most {most_mhz} MHz")
    if lines not in (None, 1, 2, 4, 8):
        raise _native.InputError(f"--lines {lines}: must be 1, 2, 4 or 8")
    of, kind = socs.named(soc), shown(part).get("part_kind") or ""
    if (base := BASES.get(kind)) is None:
        raise _native.InputError(f"--part {part}: is no part of kind {', '.join(BASES)}")
    given: dict[str, str | float | None] = {
        "part": _from(path, part),
        "controller": of.controller(kind),
        "core": of.core,
        "clock_MHz": of.clock_mhz if clock_mhz is None else clock_mhz,
        "kernel": kernel and _from(path, kernel),
    }
    if kind.startswith("spi-"):
        if bus_mhz is None or lines is None:
            raise _native.InputError(
                f"--part {part}: is on a serial bus: say its clock and its data lines, as the device tree does: "
                "--bus-MHz N --lines 1, 2, 4 or 8"
            )
        given |= {"spi.clock_MHz": bus_mhz, "spi.read_lines": lines, "spi.program_lines": lines}
    elif bus_mhz is not None or lines is not None:
        raise _native.InputError(f"--part {part}: is on no serial bus: leave --bus-MHz and --lines out")
    write_new(path, base, {key: value for key, value in given.items() if value is not None})
    try:
        shown(str(path))
    except _native.InputError:
        path.unlink()
        raise
    return base


def _from(path: Path, name: str) -> str:
    """A profile as the file at `path` names it: by name, or from its folder."""
    if not is_path(name):
        return name
    called = os.path.relpath(name, path.parent)
    # A bare file name could be the name of a built-in profile.
    return called if is_path(called) else f"./{called}"


def difference(before: str, after: str) -> ProfileDifference:
    """What differs between two profiles of one kind: values, and keys that only one has; not titles and sources.

    Raises `ffslab.InputError` when there is no such profile, or when they are of different kinds.
    """
    first, second = shown(before), shown(after)
    if _kind_of(first) != _kind_of(second):
        text = (
            f"{before} is a {_kind_of(first)}, {after} a {_kind_of(second)}: only profiles of one kind can be compared"
        )
        raise _native.InputError(text)
    sides = [{_key(value): value for value in profile["values"]} for profile in (first, second)]
    keys = list(sides[0]) + [key for key in sides[1] if key not in sides[0]]
    pairs: list[PairOfConstants] = [
        {"key": key, "before": a, "after": b}
        for key, a, b in ((key, sides[0].get(key), sides[1].get(key)) for key in keys)
        if a is None or b is None or (a["value"], a["unit"]) != (b["value"], b["unit"])
    ]
    same = len(keys) - len(pairs)
    return {"kind": first["kind"], "before": before, "after": after, "same": same, "differences": pairs}


def difference_text(before: str, after: str) -> str:
    """What differs between two profiles, each value with its source below the table."""
    found = difference(before, after)
    count = len(found["differences"])
    head = f"{found['kind']} {before} and {after}: {count} of {count + found['same']} values differ"
    if not count:
        return head
    names = (before, after)
    rows, notes = [], []
    for pair in found["differences"]:
        sides = (pair["before"], pair["after"])
        unit = next(side["unit"] for side in sides if side is not None)
        rows.append([pair["key"], *("-" if side is None else _value(side["value"]) for side in sides), unit])
        notes += [
            f"{pair['key']}, {name}: {side['source']} ({side['status']})"
            for name, side in zip(names, sides, strict=True)
            if side is not None
        ]
    return "\n".join([head, "", text_table(["key", *names, "unit"], rows, "lrrl"), "", *notes])


def _kind_of(profile: ShownProfile) -> str:
    """Its kind as messages say it: "board", "part (spi-nand)"."""
    part_kind = profile.get("part_kind")
    return f"{profile['kind']} ({part_kind})" if part_kind else profile["kind"]


def _footnotes(sources: list[str]) -> tuple[list[str], list[str]]:
    """(what stands beside each value, the footnotes): a source of several values is a footnote, and what one of them
    adds to it ("; few calls show it") stands behind its number."""

    def begins(source: str, beginning: str) -> bool:
        return source == beginning or source.startswith((f"{beginning}; ", f"{beginning}, "))

    bases = [min((other for other in sources if begins(source, other)), key=len) for source in sources]
    notes = [base for base in dict.fromkeys(bases) if bases.count(base) > 1]
    cells = [
        f"[{notes.index(base) + 1}]{source.removeprefix(base)}" if base in notes else source
        for source, base in zip(sources, bases, strict=True)
    ]
    return cells, notes


def _value(value: ConstantValue) -> str:
    if isinstance(value, list):
        return " ".join(map(_value, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        # Measured values have six digits; what is derived from them is no better.
        return f"{value:,.6g}"
    return number(value) if isinstance(value, int) else str(value)


def _indented(text: str) -> str:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
