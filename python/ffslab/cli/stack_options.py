"""The options that name the machine of `replay`, `fio`, `postmark`, `sqlite` and `mount`: for all the same words."""

from __future__ import annotations

from typing import Annotated

from ffslab.cli.parts import option
from ffslab.file_systems import listed
from ffslab.systems import DEFAULT, file_systems_of_others, listed_with_meaning

# Of verbs that run on any system: what is not said is the system's choice.
System = Annotated[
    str,
    option("--system NAME", f"Who answers the calls: {listed_with_meaning()}."),
]
OwnBoard = Annotated[
    str | None,
    option(
        "--board NAME", "Board profile; `ffslab profiles` lists them; of RTEMS beaglebone-black. [default: omap3evm]"
    ),
]
OwnBlocks = Annotated[
    int | None, option("--partition-blocks BLOCKS", "Erase blocks of the partition. [default: 400]", least=1)
]
Settings = Annotated[
    list[str] | None,
    option(
        "--set KEY=VALUE", "Any key of an experiment's [stack] table, as device_KiB=16384; can be given several times."
    ),
]
Kernel = Annotated[str | None, option("--kernel NAME", "Kernel profile, instead of the board's own.")]
FileSystem = Annotated[
    str, option("--fs NAME", f"File system: {listed(DEFAULT.file_systems)}; {file_systems_of_others()}.")
]
FileSystems = Annotated[
    list[str] | None,
    option("--fs NAME", "File system, as of `fio`; give it several times to compare. [default: jffs2]"),
]
ReadAhead = Annotated[
    int | None,
    option("--read-ahead KiB", "Read-ahead window in KiB; 0 switches it off. [default: the board's kernel's]", least=0),
]
Yes = Annotated[
    bool, option("--yes", "Run it though it makes more calls than the limit (1,000,000,000, or its key calls_max).")
]
ReadAheads = Annotated[
    list[int] | None,
    option(
        "--read-ahead KiB",
        "Read-ahead window in KiB; give it several times to compare. [default: the board's kernel's]",
        least=0,
    ),
]
