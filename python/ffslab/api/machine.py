"""A machine as data: the `[stack]` table of an experiment, which Rust reads and checks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ffslab._native import InputError, nearest_names
from ffslab.systems import DEFAULT

# A table is that of the faults of a chip.
Given = str | int | float | bool | Sequence[object] | Mapping[str, object]
Value = Given | None

# The system of a table that names none, and what it is then.
LINUX = DEFAULT.name
# A board that is sold today, with what is soldered on new devices: SPI NAND. Its bus and clock are those of its device
# tree; what its CPU takes is scaled from a board that was measured.
LINUX_BOARD = "luckfox-pico-max"
# Of the built-in parts for such a bus that are in production the one whose times and endurance were read in a data
# sheet (`profiles/parts`). The board comes with one of the same size and geometry.
LINUX_PART = "mt29f1g01abafd"
# What a dump is looked into and mounted on: most are of raw NAND, whose OOB areas such a controller wrote.
IMAGE_BOARD = "omap3evm"
# And volumes of block devices on this one.
IMAGE_DEVICE = "sd-card"
LINUX_PARTITION_BLOCKS = 400
FILE_SYSTEM = "jffs2"
# What a new partition is at the begin where nobody says otherwise, as `initial` of experiments has it; "fresh" is the
# other state that needs no steps.
SETTLED = "settled"


@dataclass(frozen=True)
class Machine:
    """A board with one partition or device. What is `None` is left to the system and its board.

    `settings`: other keys of the `[stack]` table (`ffslab schema stack`), such as `page_cache_KiB` or `image`.
    """

    board: str | None = None
    kernel: str | None = None
    fs: str = FILE_SYSTEM
    partition_blocks: int | None = None
    read_ahead_KiB: int | None = None  # noqa: N815
    system: str = LINUX
    settings: Mapping[str, Value] = field(default_factory=dict)

    def keys(self) -> dict[str, Value]:
        """The `[stack]` table."""
        given: dict[str, Value] = {
            "system": self.system,
            "board": self.board,
            "kernel": self.kernel,
            "fs": self.fs,
            "partition_blocks": self.partition_blocks,
            "read_ahead_KiB": self.read_ahead_KiB,
            **self.settings,
        }
        return completed(given)


def completed(keys: Mapping[str, Value]) -> dict[str, Value]:
    """The keys of a machine with those that its owner need not say; what is `None` is not said."""
    said = {key: value for key, value in keys.items() if value is not None}
    said = in_tables(said)
    own: dict[str, Value] = {"fs": FILE_SYSTEM}
    if said.get("system", LINUX) == LINUX:
        said.pop("system", None)
        own = {"fs": FILE_SYSTEM, "partition_blocks": LINUX_PARTITION_BLOCKS}
        # A board of one's own has its own part.
        usual: dict[str, Value] = {"board": LINUX_BOARD, "part": LINUX_PART}
        own = ({} if "board" in said else {"board": IMAGE_BOARD} if "image" in said else usual) | own
    return own | said


def in_tables(keys: Mapping[str, Given]) -> dict[str, Given]:
    """Keys such as `policy.victim` in their tables, beside what these have already."""
    found: dict[str, Given] = {}
    for key, value in keys.items():
        name, point, inner = key.partition(".")
        before = found.get(name)
        table = before if isinstance(before, Mapping) else {}
        found[name] = {**table, inner: value} if point else value
    return found


def settings_of(texts: Iterable[str]) -> dict[str, Given]:
    """What `--set KEY=VALUE` says, several times; a value is a number, true or false, or else a text.

    A key of a table of the stack is named with it: `policy.victim`.
    """
    return dict(_setting(text) for text in texts)


def _setting(text: str) -> tuple[str, Given]:
    key, equals, value = text.partition("=")
    words = key.split(".")
    if not equals or len(words) > 2 or not all(word.replace("_", "a").isalnum() for word in words):
        raise InputError(
            f'--set "{text}": must be KEY=VALUE or TABLE.KEY=VALUE, as compression=zlib, policy.victim=cat'
        )
    _check_is_of_stack(text, words, value)
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        parsed = value
    # The version of a kernel looks like a fraction, but is a text; in the tables of the stack fractions are numbers.
    kinds = str | int | bool | float | list if len(words) == 2 else str | int | bool
    parsed = parsed if isinstance(parsed, kinds) else value
    if len(words) == 2:
        _check_in_table(text, words[0], words[1], parsed)
    return key, parsed


# What stands at keys of these kinds; of others the native half knows.
_KINDS: dict[str, type | tuple[type, ...]] = {"whole number": int, "number": (int, float), "true or false": bool}


def _check_in_table(text: str, table: str, name: str, value: object) -> None:
    """Refuses a key that its table does not have, and what is no number or truth value where one stands: the native
    half names neither with its table."""
    from ffslab.registries.vocabulary import keys_of

    known = keys_of(table)
    if not known:
        return
    if name not in known:
        near = [f"{table}.{key}" for key in nearest_names(name, list(known))]
        right = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}"
        raise InputError(f"--set {text}: unknown key `{table}.{name}`: {right}")
    kind = known[name].kind
    wanted = _KINDS.get(kind, object)
    if not isinstance(value, wanted) or (isinstance(value, bool) and "number" in kind):
        article = "" if kind == "true or false" else "a "
        raise InputError(f"--set {text}: {table}.{name} is {article}{kind}")


def _check_is_of_stack(text: str, words: list[str], value: str) -> None:
    """Refuses a key that is of a step or of the whole file, with where it belongs."""
    from ffslab.registries.vocabulary import TOP, steps, tables

    first, *rest = words
    of_stack = {key.name: key for name, table in tables().items() if name != TOP for key in table.keys}
    if first in of_stack:
        if of_stack[first].kind == "table" and not rest:
            raise InputError(f"--set {text}: `{first}` is a table: name a key of it, as --set {first}.KEY=VALUE")
        return
    if first == "stack" and rest:
        raise InputError(f"--set {text}: keys of [stack] stand alone here: --set {rest[0]}={value}")
    if first in ("seed", "repeat") and not rest:
        raise InputError(f"--set {text}: has an option of its own: --{first} {value}")
    if first in steps():
        key = rest[0] if rest else "KEY"
        raise InputError(
            f"--set {text}: --set is of the [stack] table, and `{first}` is a step: write {key} = {value} there, or "
            f'compare values of it: [axes] with "{first}.{key}" = [{value}, ...]'
        )
    if first in {key.name for key in tables()[TOP].keys}:
        raise InputError(f"--set {text}: --set is of the [stack] table, and `{first}` stands at the top of the file")
