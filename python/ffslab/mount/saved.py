"""Files of what a simulated device or chip holds without power: a line that names the kind, its keys, its content."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from operator import eq
from pathlib import Path

from ffslab._native import InputError, __version__
from ffslab.files.inputs import open_input
from ffslab.files.os_errors import reason
from ffslab.files.workplace import work_file

# A line that is longer is none of ours.
LINE_MAX_B = 1 << 16


@dataclass(frozen=True)
class Kind:
    """What is saved: how such a file begins, and what people call it ("a saved card")."""

    mark: bytes
    title: str

    def save(self, file: Path, keys: Mapping[str, object], held: bytes) -> None:
        """Writes a file that is whole or not there."""
        head = {"version": __version__, "stack": keys, "crc32": _sum(keys, held)}
        write_whole(file, self.mark + json.dumps(head, ensure_ascii=False).encode() + b"\n" + held, "--save")

    def load(self, file: Path) -> tuple[Mapping[str, object], bytes] | None:
        """Keys and content; `None`: it is no such file, but a plain image."""
        with open_input(file, "image") as opened:
            if (begins := opened.read(len(self.mark))) != self.mark:
                # No image begins nearly so by chance: what was meant for a map would be served as data.
                if sum(map(eq, begins, self.mark)) > len(self.mark) // 2:
                    raise InputError(f"{file}: {self.title} whose first line is damaged")
                return None
            line = opened.readline(LINE_MAX_B)
            try:
                head = json.loads(line)
                stack, wanted = head["stack"], head.get("crc32")
                assert isinstance(stack, dict)
            except (ValueError, KeyError, TypeError, AttributeError, AssertionError):
                raise InputError(f"{file}: {self.title} whose second line is damaged") from None
            held = opened.read()
        if wanted is not None and wanted != _sum(stack, held):
            raise InputError(f"{file}: {self.title} that is damaged or cut off: its check sum is another")
        return stack, held


def write_whole(file: Path, content: bytes, flag: str) -> None:
    """Writes a file that is whole or not there."""
    try:
        with work_file(file) as part:
            part.write_bytes(content)
    except OSError as error:
        raise InputError(f"{flag} {file}: {reason(error)}") from None


def _sum(stack: Mapping[str, object], held: bytes) -> int:
    """The check sum: most of the bytes are data of whoever used it, in which no damage shows otherwise."""
    return zlib.crc32(held, zlib.crc32(json.dumps(stack, sort_keys=True).encode()))
