"""Systems on a chip: which classes of cores and controllers a board with one of them names."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ffslab._native import InputError
from ffslab.registries.profiles import meant

FILE = Path(__file__).with_name("socs.toml")


class Soc(NamedTuple):
    """`nand`, `spi`: classes of the controllers for raw NAND and for serial flash; `None`: it has none with a class."""

    name: str
    core: str
    clock_mhz: float
    nand: str | None
    spi: str | None

    def controller(self, part_kind: str) -> str:
        """The class of the controller for parts of a kind.

        Raises `ffslab.InputError` when it has none, or none that is described.
        """
        serial = part_kind.startswith("spi-")
        found = self.spi if serial else self.nand if part_kind == "nand" else None
        if found is None:
            others = [name for name, soc in known().items() if (soc.spi if serial else soc.nand)]
            raise InputError(
                f"--soc {self.name}: no class of controllers for parts of kind {part_kind} is known of it: give the "
                f"board's [driver] by hand, or name one of {', '.join(others)}"
            )
        return found


@cache
def known() -> dict[str, Soc]:
    """All of them by name."""
    read = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: Soc(name, of["core"], of["clock_MHz"], of.get("nand"), of.get("spi")) for name, of in read.items()}


def named(name: str) -> Soc:
    """One by its name.

    Raises `ffslab.InputError` when there is none.
    """
    found = known().get(name.lower())
    if found is None:
        raise InputError(
            f"--soc {name}: there is no such class: {meant(name.lower(), sorted(known()))}; of another one say its "
            "`controller` and `core` in the file of a board (docs/profiles.md)"
        )
    return found
