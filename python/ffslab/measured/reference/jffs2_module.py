"""JFFS2's module with rtime as its only compressor, which a kernel has only when it is built without the others.

No mount option names it (fs/jffs2/super.c, `jffs2_param_compr`). But compressors have a mark `disabled`, and those
that have it are passed over (`jffs2_selected_compress` of fs/jffs2/compr.c). In a copy of the module the others have it
from the beginning; the instructions are the distribution's.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ffslab._native import InputError

# The structures of the compressors that stand aside: their priority (fs/jffs2/compr.h) and code (jffs2.h of
# include/uapi/linux) tell whether the structure is laid out as is thought here.
OTHERS = {"jffs2_lzo_comp": (80, 7), "jffs2_zlib_comp": (60, 6)}
# The end of a signed module (include/linux/module_signature.h). Before it stands a structure of twelve bytes, of which
# the last four say how large the signature before that is.
SIGNED = b"~Module signature appended~\n"
SIGNATURE_B = 12
SHT_SYMTAB = 2


@dataclass(frozen=True)
class Layout:
    """The layout of ELF files and structures for one size of pointer (elf.h)."""

    word_B: int  # noqa: N815
    sections: str  # where the header says where sections are, how large and how many
    sections_at: int
    section: str  # type, ..., offset, size, ..., of one
    symbol: str


LAYOUTS = {
    1: Layout(4, "<I10xHH", 32, "<4xI8xII", "<IIIBBH"),
    2: Layout(8, "<Q10xHH", 40, "<4xI16xQQ", "<IBBHQQ"),
}


class Module:
    """A module's bytes, to be changed where its symbols say."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(without_signature(data))
        if not data:
            raise unlike("is compiled in")
        layout = LAYOUTS.get(data[4]) if data[:4] == b"\x7fELF" else None
        if layout is None or data[5] != 1:
            raise unlike("is no little-endian ELF file")
        self.layout = layout
        self._sections = self._read_sections()
        self._symbols = self._read_symbols()

    def _read_sections(self) -> list[tuple[int, int, int]]:
        at, size_B, count = struct.unpack_from(self.layout.sections, self.data, self.layout.sections_at)  # noqa: N806
        return [struct.unpack_from(self.layout.section, self.data, at + i * size_B) for i in range(count)]

    def _read_symbols(self) -> dict[bytes, tuple[int, int]]:
        """Section and offset by name."""
        found = {}
        number = next((i for i, (kind, _, _) in enumerate(self._sections) if kind == SHT_SYMTAB), None)
        if number is None:
            raise unlike("has no symbols")
        _, at, size_B = self._sections[number]  # noqa: N806
        # The names stand in the section behind the symbols, as linkers write them.
        names_at = self._sections[number + 1][1]
        for symbol in struct.iter_unpack(self.layout.symbol, bytes(self.data[at : at + size_B])):
            name_at, value, section = (symbol[0], symbol[4], symbol[3])
            if self.layout.word_B == 4:
                value, section = symbol[1], symbol[5]
            end = self.data.index(0, names_at + name_at)
            found[bytes(self.data[names_at + name_at : end])] = (section, value)
        return found

    def place(self, name: str) -> int:
        """The offset of a symbol in the file."""
        found = self._symbols.get(name.encode())
        if found is None:
            raise unlike(f"has no symbol {name}")
        return self._sections[found[0]][1] + found[1]

    def number(self, at: int) -> int:
        value: int = struct.unpack_from("<I", self.data, at)[0]
        return value

    def set_number(self, at: int, value: int) -> None:
        struct.pack_into("<I", self.data, at, value)


def with_rtime_alone(data: bytes) -> bytes:
    """The module with the other compressors disabled.

    `struct jffs2_compressor` begins with a list head, priority, name, code, two functions, use count and `disabled`.

    Raises `InputError` when the module does not look as the sources say.
    """
    module = Module(data)
    word_B = module.layout.word_B  # noqa: N806
    for name, known in OTHERS.items():
        at = module.place(name)
        disabled = at + 7 * word_B + 4
        found = (module.number(at + 2 * word_B), module.data[at + 4 * word_B])
        if found != known or module.number(disabled) != 0:
            raise unlike(f"has another {name}")
        module.set_number(disabled, 1)
    return bytes(module.data)


def without_signature(data: bytes) -> bytes:
    """A kernel takes a module without one, unless it was told to refuse those; never one that was changed behind it."""
    if not data.endswith(SIGNED):
        return data
    end = len(data) - len(SIGNED)
    signature_B = int.from_bytes(data[end - 4 : end], "big")  # noqa: N806
    return data[: end - SIGNATURE_B - signature_B]


def unlike(text: str) -> InputError:
    return InputError(
        f'[stack]: compression = "rtime": the kernel\'s jffs2.ko {text}, so it cannot be made to use that alone'
    )
