"""How text that others wrote is shown: names in images, logs, traces, titles, file names.

On a terminal nothing in it may act: escape sequences, line feeds that forge lines, controls of the writing direction.
Names are quoted as GNU `ls` does on a terminal; everything that is printed goes through `printable` or `one_line` as
well, so that a name that nobody thought of shows as escapes. The rules are those of `crates/text/src/quoting.rs`.
In HTML the same characters are escaped, besides those of the markup. JSON and TOML stay exact: `machine_exact`.
"""

from __future__ import annotations

import html
import os
import re
import unicodedata

from ffslab import _native

# What `printable` escapes and JSON may hold as it is; in JSON and TOML an escape can stand for each.
_ACTS_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# What stands for a byte that is no UTF-8.
_BYTES = frozenset(map(chr, range(0xDC80, 0xDD00)))
# Letters and numbers that are written from right to left turn what stands beside them, too.
_FROM_THE_RIGHT = frozenset({"R", "AL", "AN"})


def quoted(name: str | bytes | os.PathLike[str]) -> str:
    """A name as `ls` shows it: as it is when a shell takes it so, else in quotes: ''$'\\033''[31mred'."""
    return _native.quoted(name if isinstance(name, bytes) else _bytes(os.fspath(name)))


def printable(text: str) -> str:
    """Text of several lines, in which nothing but line feeds and tabs acts on a terminal."""
    return _native.printable(_bytes(text), False)


def one_line(text: str) -> str:
    """Text that must not have further lines, in which nothing acts on a terminal."""
    return _native.printable(_bytes(text), True)


def escape(text: str) -> str:
    """Text as HTML shows it literally, between tags or in an attribute. Its direction does not reach beyond it."""
    shown = html.escape(printable(text))
    from_the_right = not shown.isascii() and any(unicodedata.bidirectional(c) in _FROM_THE_RIGHT for c in shown)
    return f"<bdi>{shown}</bdi>" if from_the_right else shown


def plain_html(text: str) -> str:
    """As `escape`, for places that take no tags and no lines: titles of pages, attributes."""
    return html.escape(one_line(text))


def machine_exact(json_text: str) -> str:
    """JSON text in which what acts on a terminal stands as an escape of JSON: the same value."""
    return _ACTS_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)


def _bytes(text: str) -> bytes:
    """The bytes of a text from the system, those that are no UTF-8 included."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Halves of surrogate pairs, from JSON, beside bytes.
        return b"".join(c.encode("utf-8", "surrogateescape" if c in _BYTES else "surrogatepass") for c in text)
