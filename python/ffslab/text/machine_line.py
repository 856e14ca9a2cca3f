"""The line with which every answer begins: on what machine, from what state, and how long was seen.

Several variants: what they share stands first, then what differs. What is not known says so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ffslab import systems
from ffslab.answers.summary import Summary, VariantSummary
from ffslab.file_systems import BLOCK_DEVICE, OVERLAYFS, title
from ffslab.text.durations import duration

# Of what differs so many values are named; of more, how many there are.
_VALUES_MAX = 4
LINUX = systems.DEFAULT.name
_NOT_KNOWN = "not known"
# How a partition begins, unless an experiment says something else.
USUAL = "settled"


class Seen(NamedTuple):
    """A machine, what it began with, and how long it was seen. `None`: not known.

    `begun`: the state at the begin in words; `valid` and `invalid`: the shares of the partition that were so, as
    the file system counts.
    """

    stack: Mapping[str, Any]
    begun: str | None = None
    valid: float | None = None
    invalid: float | None = None
    seen_us: float | None = None


def of_summary(summary: Summary, initial: str | None = None) -> str:
    """The line of a run. `initial`: what its experiment says of the state at the begin."""
    return line([of_variant(one, initial) for one in summary["variants"]])


def of_variant(variant: VariantSummary, initial: str | None = None) -> Seen:
    """What is known of a variant."""
    stack, space = variant.get("stack", {}), variant.get("space_before")
    whole = space["valid_B"] + space["invalid_B"] + space["free_B"] if space is not None else 0
    valid, invalid = (space["valid_B"] / whole, space["invalid_B"] / whole) if space and whole else (None, None)
    return Seen(stack, begun_with(stack, variant["axes"], initial), valid, invalid, variant["time_us"])


def begun_with(stack: Mapping[str, Any], axes: Mapping[str, Any], initial: str | None) -> str | None:
    """With what a partition began, in words. `initial`: what the experiment says; `None`: nothing is known."""
    named, image = axes.get("initial") or initial, stack.get("image")
    return f"image {image}" if image and named in (None, USUAL) else None if named is None else f'"{named}"'


def initial_of(resolved_toml: str) -> str | None:
    """The initial state of an experiment; `None`: it names none, or cannot be read."""
    try:
        said = tomllib.loads(resolved_toml).get("initial")
    except tomllib.TOMLDecodeError:
        return None
    return said if isinstance(said, str) else None


def initial_as_written(experiment: Mapping[str, object]) -> str:
    """The same of an experiment as data: what is done where it names none."""
    said = experiment.get("initial")
    return said if isinstance(said, str) else USUAL


def line(every: Sequence[Seen], seen: str | None = None) -> str:
    """The line of all these machines. `seen`: how long, or how much, where that is no time of each."""
    if not every:
        return "Nothing came to its end, so that nothing was seen."
    parts = [
        ("boards", [f"board {_text(one.stack.get('board'))}" for one in every]),
        ("parts", [_medium(one.stack) for one in every]),
        ("partitions", [_partition(one.stack) for one in every]),
        ("systems", [system_of(one.stack) for one in every]),
        ("file systems", [file_system_of(one.stack) for one in every]),
    ]
    begun = list(dict.fromkeys(one.begun for one in every if one.begun is not None))
    same, differs = [], []
    for words, values in parts:
        found = [value for value in dict.fromkeys(values) if value]
        if not found:
            continue
        if len(found) == 1:
            same.append(found[0])
        else:
            named = " | ".join(found) if len(found) <= _VALUES_MAX else ""
            differs.append(f"{words}: {named}" if named else f"{len(found):,} {words}")
    if len(begun) > 1:
        differs.append(
            f"{len(begun):,} states at the begin" if len(begun) > _VALUES_MAX else f"begun {' | '.join(begun)}"
        )
    differing = f"; differing {'; '.join(differs)}" if differs else ""
    return f"{'; '.join([*same, _begin(every, begun), _seen(every) if seen is None else f'{seen} seen'])}{differing}."


def _begin(every: Sequence[Seen], begun: Sequence[str]) -> str:
    """The state at the begin: its name where all have the same, and how full the partitions are."""
    told = [*begun] if len(begun) == 1 else []
    for word, shares in (("valid", [one.valid for one in every]), ("invalid", [one.invalid for one in every])):
        known = [100 * share for share in shares if share is not None]
        if known:
            low, high = f"{min(known):.0f}", f"{max(known):.0f}"
            told.append(f"{low} % {word}" if low == high else f"{low} to {high} % {word}")
    return f"at the begin {', '.join(told) or 'the state is ' + _NOT_KNOWN}"


def _seen(every: Sequence[Seen]) -> str:
    known = [one.seen_us for one in every if one.seen_us is not None]
    if not known:
        return "how long was seen is not known"
    low, high = duration(min(known)), duration(max(known))
    return f"{low} seen" if low == high else f"{low} to {high} seen"


def _text(value: object) -> str:
    return _NOT_KNOWN if value is None else str(value)


def _medium(stack: Mapping[str, Any]) -> str:
    """The part, or the device of systems that have one, with how much of it is used."""
    device, part = stack.get("device"), stack.get("part")
    if isinstance(device, Mapping):
        named = device.get("part") or device.get("card")
        kind = device.get("ftl")
        return f"device {kind} on {named}" if kind else f"device {_text(named)}"
    if isinstance(device, str):
        return f"device {device}"
    return "a chip of [stack.chip]" if stack.get("chip") else f"part {_text(part)}"


def _partition(stack: Mapping[str, Any]) -> str:
    blocks = stack.get("partition_blocks")
    return "" if blocks is None or stack.get("device") is not None else f"{blocks:,} blocks"


def system_of(stack: Mapping[str, Any]) -> str:
    """The system with its version: the kernel, or what is known of another system."""
    name = stack.get("system") or LINUX
    if name == LINUX:
        return f"Linux {_text(stack.get('kernel'))}"
    return next((one.about for one in systems.TABLE if one.name == name), str(name))


def file_system_of(stack: Mapping[str, Any]) -> str:
    """The file system with its compression; of several mounts each."""
    if stack.get("fs") is None:
        return f"file system {_NOT_KNOWN}"
    further = [f"{_with_compression(mount, stack)} at {mount.get('at')}" for mount in stack.get("mount") or []]
    root = _with_compression(stack, stack)
    return " and ".join([f"{root} at /", *further] if further else [root])


def _with_compression(mount: Mapping[str, Any], stack: Mapping[str, Any]) -> str:
    fs = str(mount.get("fs"))
    if fs in ("none", BLOCK_DEVICE):
        return "no file system"
    if fs == OVERLAYFS:
        return fs
    compression = mount.get("compression", stack.get("compression"))
    if compression is None:
        # Who may compress has the key in every stack that was filled; the others have no such key.
        return title(fs)
    return (
        f"{title(fs)} without compression" if compression == "none" else f"{title(fs)} with compression {compression}"
    )
