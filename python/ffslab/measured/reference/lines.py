"""Lines of the file that `steps/` reads, and the bytes that its steps write."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ffslab import _native


@dataclass(frozen=True)
class Content:
    """Bytes of which steps take pieces: in the guest a file, which variants share."""

    path: str
    data: bytes
    stride_B: int  # noqa: N815
    modulo_B: int  # noqa: N815
    goes_on: bool = False  # a piece begins where the last one ended


def content_lines(contents: dict[str, Content]) -> list[str]:
    return [
        f"begin 0 content kind={kind} path={content.path} stride_B={content.stride_B} modulo_B={content.modulo_B} "
        f"goes_on={int(content.goes_on)}"
        for kind, content in contents.items()
    ]


@functools.cache
def content_of(kind: str, seed: int, piece_B: int) -> Content:  # noqa: N803
    data, stride_B, modulo_B = _native.content_source(kind, seed, piece_B)  # noqa: N806
    return Content(f"/content/{kind}.{seed}.{piece_B}", data, stride_B, modulo_B)


@functools.cache
def content_of_file(path: Path, piece_B: int) -> Content:  # noqa: N803
    """A file's bytes again and again, for pieces that begin anywhere in it."""
    whole = path.read_bytes()
    data = (whole * (piece_B // len(whole) + 2))[: len(whole) + piece_B]
    return Content(f"/content/{hashlib.sha256(data).hexdigest()[:16]}", data, 0, len(whole), goes_on=True)


def line_of(begin: str, words: dict[str, Any]) -> str:
    """A line of the file that `steps/` reads."""
    return " ".join([begin, *(f"{name}={word(value)}" for name, value in words.items())])


def word(value: object) -> str:
    """A value as `steps/` takes it: without spaces."""
    if isinstance(value, list):
        return ",".join(map(word, value))
    return quote(str(value).lower() if isinstance(value, bool) else str(value), safe="/=#")
