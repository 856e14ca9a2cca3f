"""The options that name the machine of `replay`, `fio`, `postmark`, `sqlite` and `mount`: for all the same words."""

from __future__ import annotations

from typing import Annotated

from ffslab.cli.parts import option

Board = Annotated[str, option("fio", "board", "--board", metavar="NAME")]
# Of verbs that run on any system: what is not said is the system's choice.
System = Annotated[str, option("fio", "system", "--system", metavar="NAME")]
OwnBoard = Annotated[str | None, option("fio", "board", "--board", metavar="NAME")]
OwnBlocks = Annotated[int | None, option("fio", "partition_blocks", "--partition-blocks", metavar="BLOCKS", least=1)]
Settings = Annotated[list[str] | None, option("fio", "set", "--set", metavar="KEY=VALUE")]
Kernel = Annotated[str | None, option("fio", "kernel", "--kernel", metavar="NAME")]
FileSystem = Annotated[str, option("fio", "fs", "--fs", metavar="NAME")]
FileSystems = Annotated[list[str] | None, option("sqlite", "fs", "--fs", metavar="NAME")]
ReadAhead = Annotated[int | None, option("fio", "read_ahead", "--read-ahead", metavar="KiB", least=0)]
Yes = Annotated[bool, option("run", "yes", "--yes")]
ReadAheads = Annotated[list[int] | None, option("replay", "read_ahead", "--read-ahead", metavar="KiB", least=0)]
