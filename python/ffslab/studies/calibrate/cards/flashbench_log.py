"""What `flashbench -a` and `flashbench -O` print, with the commands above.

The shape of the lines is that of flashbench's sources (Bergmann, Linaro; `try_read_alignment`, `format_value`):
after `-a`

    align 4194304 pre 741µs on 1.08ms post 788µs diff 317µs

and after `-O`, a line for each block size, from the erase block down to --blocksize, with powers of 1000 a second:

    256KiB  6.27M/s

-O does not print how many erase blocks it wrote and in which order, so that the command must stand above its lines:
that of a shell's transcript, or a line of one's own that holds the options. What else a log holds is passed over,
--find-fat with its columns, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ffslab._native import InputError
from ffslab.studies.calibrate.cards.lines import PLACES, Align, Line, OpenAu

NUMBER = r"(\d+(?:\.\d+)?)"
ALIGN = re.compile(rf"^align\s+(\d+)\s+pre\s+{NUMBER}(\S+)\s+on\s+{NUMBER}(\S+)\s+post\s+{NUMBER}(\S+)\s+diff\s")
SPEED = re.compile(rf"^{NUMBER}(B|KiB|MiB|GiB)\s+{NUMBER}([KMG]|)B?/s\s*$")
OPTION = re.compile(r"--(blocksize|erasesize|open-au-nr)[= ]\s*(\$\[[^\]]*\]|\$\(\([^)]*\)\)|\d+)|-(b|e)\s*(\d+)")
PRODUCT = re.compile(r"\d+(\s*\*\s*\d+)*")
SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
TIMES_US = {"ns": 1e-3, "µs": 1.0, "μs": 1.0, "us": 1.0, "ms": 1e3, "s": 1e6}
SPEEDS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
MARKS = ("--open-au", "flashbench", "-O ")


@dataclass(frozen=True)
class _Command:
    """The options of the command whose lines follow; flashbench's defaults where it has none."""

    is_open_au: bool
    block_bytes: int = 16384
    erase_block_bytes: int = 4 << 20
    erase_blocks: int = 2
    is_random: bool = False


def read(path: Path, text: str) -> list[Line]:
    """The lines of a log.

    Errors: it has no line of flashbench, lines of -O have no command above them.
    """
    text = re.sub(r"\\\n\s*", " ", text)
    command: _Command | None = None
    found: list[Line] = []
    for number, line in enumerate(text.splitlines(), 1):
        shown = line.strip()
        if align := ALIGN.match(shown):
            found += _alignment(align, command, f"{path}:{number}")
        elif speed := SPEED.match(shown):
            if command is None or not command.is_open_au:
                raise InputError(
                    f"{path}:{number}: no command of flashbench above says how many erase blocks were written: put a "
                    "line such as `flashbench -O --open-au-nr=3 --erasesize=4194304 --blocksize=16384` above"
                )
            found.append(_speed(speed, command, f"{path}:{number}"))
        elif any(mark in shown for mark in MARKS):
            command = _command(shown, f"{path}:{number}")
    if not found:
        raise InputError(f"{path}: holds no line of flashbench -a or -O")
    return found


def _command(text: str, place: str) -> _Command:
    words = text.split()
    options: dict[str, int] = {}
    for long_name, long_value, short_name, short_value in OPTION.findall(text):
        name = long_name or {"b": "blocksize", "e": "erasesize"}[short_name]
        options[name] = _product(long_value or short_value, place)
    default = _Command(False)
    return _Command(
        is_open_au="-O" in words or any(word.startswith("--open-au") for word in words),
        block_bytes=options.get("blocksize", default.block_bytes),
        erase_block_bytes=options.get("erasesize", default.erase_block_bytes),
        erase_blocks=options.get("open-au-nr", default.erase_blocks),
        is_random="--random" in words or "-r" in words,
    )


def _product(text: str, place: str) -> int:
    """A number, or a product as shells compute it."""
    plain = text.strip("$[]() ")
    if not PRODUCT.fullmatch(plain):
        raise InputError(f"{place}: {text}: a number or a product of numbers is needed")
    result = 1
    for factor in plain.split("*"):
        result *= int(factor)
    return result


def _alignment(found: re.Match[str], command: _Command | None, place: str) -> list[Line]:
    block_bytes = (command or _Command(False)).block_bytes
    align_bytes = int(found[1])
    if align_bytes < 2 * block_bytes:
        raise InputError(
            f"{place}: align {align_bytes} is too small for blocks of {block_bytes} bytes: the command above must say "
            "--blocksize as it was"
        )
    columns = zip(PLACES, found.groups()[1::2], found.groups()[2::2], strict=True)
    return [
        Line(Align(align_bytes, block_bytes, column), float(value) * _factor(TIMES_US, unit, place), place)
        for column, value, unit in columns
    ]


def _speed(found: re.Match[str], command: _Command, place: str) -> Line:
    block_bytes = round(float(found[1]) * SIZES[found[2]])
    bytes_per_s = float(found[3]) * SPEEDS[found[4]]
    if bytes_per_s <= 0:
        raise InputError(f"{place}: a speed of 0")
    asked = OpenAu(command.erase_block_bytes, block_bytes, command.erase_blocks, command.is_random)
    return Line(asked, block_bytes / bytes_per_s * 1e6, place)


def _factor(units: dict[str, float], unit: str, place: str) -> float:
    if unit not in units:
        raise InputError(f'{place}: unit "{unit}": one of {", ".join(units)} is needed')
    return units[unit]
