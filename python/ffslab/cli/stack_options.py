"""The options that name a machine and how often it runs: for all verbs the same words, and one meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ffslab.api.machine import LINUX_BOARD, LINUX_PART
from ffslab.cli.parts import check_distinct, option
from ffslab.cli.result_options import Jobs
from ffslab.cli.slips import check_commas
from ffslab.file_systems import NOT_AS_FOLDER, listed
from ffslab.systems import DEFAULT, FILE_SYSTEMS, file_systems_of_others, listed_with_meaning

if TYPE_CHECKING:
    from typer.models import OptionInfo

    from ffslab.api.experiment import Experiment
    from ffslab.api.machine import Machine, Value

System = Annotated[
    str | None,
    option("--system NAME", f"Who answers the calls: {listed_with_meaning()}. [default: {DEFAULT.name}]"),
]


def _check_profile(what: str) -> Callable[[str, str], None]:
    """A check of an option whose value is a profile."""

    def check(flag: str, name: str) -> None:
        from ffslab.registries.profiles import check_known

        check_commas(flag, name)
        check_known(name, what, flag)

    return check


def _is_profile(what: str) -> Callable[[str], bool]:
    """Whether a word is a profile's name, or looks like the version of a kernel."""

    def fits(word: str) -> bool:
        from ffslab import _native

        if what == "kernel" and re.fullmatch(r"[2-9]\.[0-9.]+", word):
            return True
        is_path = "/" in word or word.endswith(".toml")
        return not is_path and _native.unknown_profile(word, what) is None

    return fits


def _is_setting(word: str) -> bool:
    return re.fullmatch(r"[A-Za-z_.0-9]+=.*", word) is not None


def profile_option(word: str, about: str) -> OptionInfo:
    """The option `--board NAME`, `--part NAME`, `--kernel NAME` or `--device NAME`, whose value is a profile."""
    what = "block device" if word == "device" else word
    return option(f"--{word} NAME", about, check=_check_profile(what), fits=_is_profile(what))


_COMPARED = "give it several times to compare. "
_BOARD = "Board profile, by name or path; `ffslab profiles` lists them"
_PART = "Flash part, by name or path"
_KERNEL = "Kernel profile, by name or path"
_BOARD_DEFAULT = f"[default: {LINUX_BOARD}; of RTEMS beaglebone-black]"
_PART_DEFAULT = f"[default: the board's; without --board {LINUX_PART}]"
OwnBoard = Annotated[str | None, profile_option("board", f"{_BOARD}. {_BOARD_DEFAULT}")]
Part = Annotated[str | None, profile_option("part", f"{_PART}. {_PART_DEFAULT}")]
Kernel = Annotated[str | None, profile_option("kernel", f"{_KERNEL}. [default: the board's]")]
Boards = Annotated[list[str] | None, profile_option("board", f"{_BOARD}; {_COMPARED}{_BOARD_DEFAULT}")]
Parts = Annotated[list[str] | None, profile_option("part", f"{_PART}; {_COMPARED}{_PART_DEFAULT}")]
Kernels = Annotated[list[str] | None, profile_option("kernel", f"{_KERNEL}; {_COMPARED}[default: the board's]")]
Devices = Annotated[
    list[str] | None,
    profile_option("device", f"Block device, by name or path; of RTEMS or a bare program; {_COMPARED}"),
]
FileSystems = Annotated[
    list[str] | None,
    option(
        "--fs NAME",
        f"File system: {listed(DEFAULT.file_systems)}; {file_systems_of_others()}; {_COMPARED}"
        f"[default: {DEFAULT.file_systems[0]}]",
        check=check_commas,
        fits=FILE_SYSTEMS.__contains__,
    ),
]
PartitionSizes = Annotated[
    list[int] | None,
    option(
        "--partition-blocks --blocks BLOCKS",
        f"Erase blocks of the partition; {_COMPARED}[default: 400]",
        least=1,
    ),
]
MountedFs = Annotated[
    str | None,
    option(
        "--fs NAME",
        f"File system: {listed([fs for fs in DEFAULT.file_systems if fs not in NOT_AS_FOLDER])}; "
        f"{file_systems_of_others()}. "
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
Initial = Annotated[
    str,
    option(
        "--initial STATE",
        "What a new partition is at the begin: settled (its blocks are made usable before), or fresh (UBI's thread or "
        "JFFS2's does it meanwhile).",
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
        f"Read-ahead window in KiB, 0: none; {_COMPARED}[default: the board's kernel's]",
        least=0,
    ),
]
Settings = Annotated[
    list[str] | None,
    option(
        "--set KEY=VALUE",
        "Any key of an experiment's [stack] table, as compression=zlib, or of a table in it, as policy.victim=cat; can "
        "be given several times.",
        fits=_is_setting,
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
OwnSetups = Annotated[
    bool,
    option(
        "--own-setups", "Run the setup of each variant, also where several have it in common; results are the same."
    ),
]


# The options that name keys of the stack.
_FLAGS = {
    "board": "--board",
    "kernel": "--kernel",
    "fs": "--fs",
    "partition_blocks": "--partition-blocks",
    "read_ahead_KiB": "--read-ahead",
    "part": "--part",
    "device": "--device",
}


@dataclass(frozen=True)
class MachineOptions:
    """On what a program runs; several values of an option are compared."""

    system: System = None
    boards: Boards = None
    parts: Parts = None
    kernels: Kernels = None
    fs: FileSystems = None
    devices: Devices = None
    partition_sizes: PartitionSizes = None
    read_ahead: ReadAheads = None
    settings: Settings = None

    @property
    def board(self) -> str | None:
        """The first one."""
        return self.boards[0] if self.boards else None

    @property
    def part(self) -> str | None:
        """The first one."""
        return self.parts[0] if self.parts else None

    def _said(self) -> dict[str, list[Value]]:
        """The values that were given for each key of the stack."""
        from ffslab.api.machine import settings_of

        given: dict[str, Sequence[Value] | None] = {
            "board": self.boards,
            "kernel": self.kernels,
            "fs": self.fs,
            "partition_blocks": self.partition_sizes,
            "read_ahead_KiB": self.read_ahead,
            "part": self.parts,
            "device": self.devices,
        }
        said = {key: list(values) for key, values in given.items() if values}
        for text in self.settings or []:
            for key, value in settings_of([text]).items():
                said.setdefault(key, []).append(value)
        return said

    def _stack(self) -> dict[str, Value]:
        """The keys of the stack, with the first of several values."""
        system = {} if self.system is None else {"system": self.system}
        return {**system, **{key: values[0] for key, values in self._said().items()}}

    def machine(self) -> Machine:
        """The machine, on the first of the file systems; what else is compared is left to `axes`."""
        from dataclasses import fields

        from ffslab.api.machine import Machine

        own = {each.name for each in fields(Machine)}
        said = {key: values[0] for key, values in self._said().items() if len(values) == 1 or key == "fs"}
        named: dict[str, Any] = {key: value for key, value in said.items() if key in own}
        others = {key: value for key, value in said.items() if key not in own}
        return Machine(**named, system=self.system or DEFAULT.name, settings=others)

    def axes(self) -> dict[str, list[Value]]:
        """What is compared: several values of one key."""
        compared = {key: values for key, values in self._said().items() if len(values) > 1}
        for key, values in compared.items():
            check_distinct(_FLAGS.get(key, f"--set {key}"), values)
        return compared

    def over(self, experiment: Experiment) -> Experiment:
        """The experiment with what was given in place of what its file says."""
        return experiment.changed(stack=self._stack(), axes=self.axes())


@dataclass(frozen=True)
class RunOptions:
    """How an experiment is run."""

    seed: Seed = None
    repeat: Repeat = None
    jobs: Jobs = None
    yes: Yes = False
    again: Again = False
    own_setups: OwnSetups = False

    def over(self, experiment: Experiment) -> Experiment:
        """The experiment with what was given in place of what its file says."""
        return experiment.changed(seed=self.seed, repeat=self.repeat)
