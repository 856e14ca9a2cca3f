"""The options that name a machine and how often it runs: for all verbs the same words, and one meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ffslab.api.machine import LINUX_BOARD, LINUX_PART
from ffslab.cli.parts import check_distinct, option
from ffslab.cli.result_options import Jobs
from ffslab.file_systems import listed
from ffslab.systems import DEFAULT, file_systems_of_others, listed_with_meaning

if TYPE_CHECKING:
    from ffslab.api.experiment import Experiment
    from ffslab.api.machine import Machine, Value

System = Annotated[
    str | None,
    option("--system NAME", f"Who answers the calls: {listed_with_meaning()}. [default: {DEFAULT.name}]"),
]
OwnBoard = Annotated[
    str | None,
    option(
        "--board NAME",
        f"Board profile, by name or path; `ffslab profiles` lists them. [default: {LINUX_BOARD}; of RTEMS "
        "beaglebone-black]",
    ),
]
Part = Annotated[
    str | None,
    option("--part NAME", f"Flash part, by name or path. [default: the board's; without --board {LINUX_PART}]"),
]
Kernel = Annotated[str | None, option("--kernel NAME", "Kernel profile, by name or path. [default: the board's]")]
FileSystems = Annotated[
    list[str] | None,
    option(
        "--fs NAME",
        f"File system: {listed(DEFAULT.file_systems)}; {file_systems_of_others()}; give it several times to compare. "
        f"[default: {DEFAULT.file_systems[0]}]",
    ),
]
OwnBlocks = Annotated[
    int | None, option("--partition-blocks --blocks BLOCKS", "Erase blocks of the partition. [default: 400]", least=1)
]
MountedFs = Annotated[
    str | None,
    option(
        "--fs NAME",
        f"File system: {listed(DEFAULT.file_systems)}; {file_systems_of_others()}. "
        f"[default: that of the image, or {DEFAULT.file_systems[0]}; of other systems to be said]",
    ),
]
MountedBlocks = Annotated[
    int | None,
    option(
        "--partition-blocks --blocks BLOCKS",
        "Erase blocks of the partition; RTEMS: --set device_KiB=N. [default: those of the image, or 400]",
        least=1,
    ),
]
MountOptions = Annotated[
    list[str] | None,
    option(
        "--option -o OPTION",
        "Options of mount(8) and of the file system, as ro,noatime; can be given several times.",
    ),
]
ReadAheads = Annotated[
    list[int] | None,
    option(
        "--read-ahead KiB",
        "Read-ahead window in KiB, 0: none; give it several times to compare. [default: the board's kernel's]",
        least=0,
    ),
]
Settings = Annotated[
    list[str] | None,
    option(
        "--set KEY=VALUE",
        "Any key of an experiment's [stack] table, as compression=zlib, or of a table in it, as policy.victim=cat; can "
        "be given several times.",
    ),
]
Seed = Annotated[
    int | None, option("--seed N", "Seed of what chance decides: the content of files. [default: 1]", least=0)
]
Repeat = Annotated[
    int | None,
    option(
        "--repeat N",
        "Run each variant so often, with other contents, places and uptimes: median, interval and the worst of all.",
        least=1,
    ),
]
Yes = Annotated[
    bool, option("--yes", "Do it without asking: run more than 1,000,000,000 calls, or than its key calls_max says.")
]
Again = Annotated[bool, option("--again", "Run also what the store of runs holds (docs/store.md).")]


@dataclass(frozen=True)
class MachineOptions:
    """On what a program runs; several file systems or read-ahead windows are compared."""

    system: System = None
    board: OwnBoard = None
    part: Part = None
    kernel: Kernel = None
    fs: FileSystems = None
    partition_blocks: OwnBlocks = None
    read_ahead: ReadAheads = None
    settings: Settings = None

    def machine(self) -> Machine:
        """The machine, on the first of the file systems; what is compared is left to `axes`."""
        from ffslab.api.machine import FILE_SYSTEM, LINUX, Machine, settings_of

        single = self.read_ahead[0] if self.read_ahead and len(self.read_ahead) == 1 else None
        return Machine(
            self.board,
            self.kernel,
            self.fs[0] if self.fs else FILE_SYSTEM,
            self.partition_blocks,
            single,
            self.system or LINUX,
            {"part": self.part, **settings_of(self.settings or [])},
        )

    def axes(self) -> dict[str, list[str | int | bool]]:
        """What is compared: several values of one option."""
        given: list[tuple[str, str, Sequence[str | int]]] = [
            ("--fs", "fs", self.fs or []),
            ("--read-ahead", "read_ahead_KiB", self.read_ahead or []),
        ]
        for flag, _, values in given:
            check_distinct(flag, values)
        return {key: list(values) for _, key, values in given if len(values) > 1}

    def over(self, experiment: Experiment) -> Experiment:
        """The experiment with what was given in place of what its file says."""
        from ffslab.api.machine import settings_of

        said: dict[str, Value] = {
            "system": self.system,
            "board": self.board,
            "part": self.part,
            "kernel": self.kernel,
            "fs": self.fs[0] if self.fs else None,
            "partition_blocks": self.partition_blocks,
            "read_ahead_KiB": self.read_ahead[0] if self.read_ahead else None,
        }
        keys = {key: value for key, value in said.items() if value is not None}
        return experiment.changed(stack={**keys, **settings_of(self.settings or [])}, axes=self.axes())


@dataclass(frozen=True)
class RunOptions:
    """How an experiment is run."""

    seed: Seed = None
    repeat: Repeat = None
    jobs: Jobs = None
    yes: Yes = False
    again: Again = False

    def over(self, experiment: Experiment) -> Experiment:
        """The experiment with what was given in place of what its file says."""
        return experiment.changed(seed=self.seed, repeat=self.repeat)
