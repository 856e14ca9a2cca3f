"""The systems by name, from the table of the native half: nothing in Python lists them."""

from __future__ import annotations

from typing import NamedTuple

from ffslab import _native
from ffslab.file_systems import listed


class System(NamedTuple):
    """A row of the table."""

    name: str
    # As people write it.
    title: str
    # Who it is.
    about: str
    # Those that it mounts, by the names that it has for them.
    file_systems: tuple[str, ...]


TABLE = tuple(System(name, title, about, tuple(mounts)) for name, title, about, mounts in _native.systems())
# Meant where none is named.
DEFAULT = TABLE[0]
OTHERS = TABLE[1:]
# Of any of them, each by the names that it has.
FILE_SYSTEMS = tuple(sorted({fs for system in TABLE for fs in system.file_systems}))


def file_systems_of_others() -> str:
    """What the others mount, in a sentence: "of RTEMS rfs; of a bare program yaffs2"."""
    return "; ".join(f"of {system.title} {listed(system.file_systems)}" for system in OTHERS)


def listed_with_meaning() -> str:
    """The names in a sentence, each with who it is."""
    return listed([f"{system.name} ({system.about})" for system in TABLE])
