"""Flame graphs as text: collapsed stacks, their difference, and profiles for speedscope.

A stack is `task;call;reason;operation`, what flamegraph.pl, Perfetto and https://www.speedscope.app read; with several
variants their names stand before it. `collapsed` is also what reports draw.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ffslab._native import InputError, __version__

if TYPE_CHECKING:
    from ffslab.answers import Columns

Stack = tuple[str, ...]

# What a stack can be weighted by: its column, units a unit of the column has, and what one is called.
WEIGHTS: Mapping[str, tuple[str, int, str]] = {
    "time": ("time_ns", 1, "nanoseconds"),
    "energy": ("energy_uJ", 1000, "nanojoule"),
    "operations": ("operations", 1, "flash operations"),
    "wear": ("erases", 1, "erases"),
}
# As in summaries: nobody has stated a reason.
UNSTATED = "other"
FRAMES = ("task", "call", "reason", "operation")


def collapsed(stacks: Columns, weight: str = "time", variant: str | None = None) -> dict[Stack, int]:
    """Whole-number weights of stacks, from the columns of `stacks.parquet`; those that weigh nothing are left out.

    The sum is that of the column, rounded once: what rounding takes from one stack the next one gets.

    Raises `ffslab.InputError` for an unknown variant.
    """
    column, scale, _ = WEIGHTS[weight]
    names = list(dict.fromkeys(cast("list[str]", stacks["variant"])))
    if variant is not None:
        known_variant(stacks, variant)
    with_name = variant is None and len(names) > 1
    weights: dict[Stack, int] = {}
    exact, given = 0.0, 0
    frames = zip(stacks["variant"], *(stacks[frame] for frame in FRAMES), stacks[column], strict=True)
    for of, task, call, reason, operation, value in frames:
        if variant is not None and of != variant:
            continue
        if scale == 1:
            units = int(value)
        else:
            exact += float(value) * scale
            units = round(exact) - given
            given += units
        stack = tuple(
            _plain(text) for text in (*([of] if with_name else []), task, call, reason or UNSTATED, operation)
        )
        if units:
            weights[stack] = weights.get(stack, 0) + units
    return weights


def known_variant(stacks: Columns, variant: str) -> str:
    """`variant`.

    Raises `ffslab.InputError` when there is no such one.
    """
    names = variants_of(stacks)
    if variant not in names:
        raise InputError(f'--variant "{variant}": there is {", ".join(names)}')
    return variant


def _plain(text: str) -> str:
    """A frame without the signs that separate frames and lines."""
    return " ".join(text.replace(";", ",").split())


def collapsed_text(weights: Mapping[Stack, int]) -> str:
    """A line a stack, as flamegraph.pl reads it."""
    return "".join(f"{';'.join(stack)} {units}\n" for stack, units in weights.items())


def difference_text(before: Mapping[Stack, int], after: Mapping[Stack, int]) -> str:
    """Both weights of each stack, as difffolded.pl writes them: flamegraph.pl colours what grew and what shrank."""
    stacks = dict.fromkeys((*before, *after))
    return "".join(f"{';'.join(stack)} {before.get(stack, 0)} {after.get(stack, 0)}\n" for stack in sorted(stacks))


def speedscope(profiles: Mapping[str, Mapping[Stack, int]], weight: str, title: str) -> str:
    """A file for speedscope, with a profile a variant."""
    frames: dict[str, int] = {}
    made = []
    for name, weights in profiles.items():
        samples = [[frames.setdefault(frame, len(frames)) for frame in stack] for stack in weights]
        unit = "nanoseconds" if weight == "time" else "none"
        made.append(
            {
                "type": "sampled",
                "name": f"{name}: {weight} ({WEIGHTS[weight][2]})",
                "unit": unit,
                "startValue": 0,
                "endValue": sum(weights.values()),
                "samples": samples,
                "weights": list(weights.values()),
            }
        )
    file = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": title,
        "exporter": f"ffslab {__version__}",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": made,
    }
    return json.dumps(file, ensure_ascii=False) + "\n"


def variants_of(stacks: Columns) -> Sequence[str]:
    """The variants that have stacks."""
    return list(dict.fromkeys(cast("list[str]", stacks["variant"])))
