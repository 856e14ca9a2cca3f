"""What a reference run does: the variants of an experiment as steps and chips of the guest.

The steps are those of `steps/`. What the real machine cannot do (a power cut), or what is a program of its own, is
refused before anything boots.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffslab import _native
from ffslab.answers.machine import PlannedFlash, PlannedVariant
from ffslab.file_systems import NOT_AS_FOLDER
from ffslab.measured.reference import beside, chip, keys, medium
from ffslab.measured.reference.lines import Content, content_lines, content_of, content_of_file, line_of

if TYPE_CHECKING:
    from ffslab.api.experiment import Experiment

# A step as an experiment has it: each step has keys of its own.
Step = dict[str, Any]

# "none": the partition itself, for `mtd_loop`.
FILE_SYSTEMS = ("jffs2", "ubifs", "none")
# What `steps/` can do.
STEPS_TEXT = """
    mount umount ubi_attach ubi_detach ubi_make_volume create fill create_fragmented unlink rename link truncate
    sync drop_caches read_ahead sleep fadvise
    open close fsync stat requests append mmap mkdir rmdir readdir create_many stat_many read_many unlink_many
    setxattr getxattr listxattr removexattr symlink readlink chmod chown utimens statfs ftruncate
    fallocate mtd_loop crash occupy
"""
STEPS = frozenset(STEPS_TEXT.split())
# Programs of their own: the simulator writes their calls down, and `steps/` makes the same ones.
RECORDED = frozenset(["age", "copy_in", "fio", "postmark", "replay", "sqlite", "uflip"])
# Keys of those that name a file or folder of this computer.
INPUT_KEYS = {"replay": "file", "fio": "file", "postmark": "file", "sqlite": "script", "copy_in": "from"}
KEY_VALUE = "it is of key-value stores; on a file system, write the calls out"
# Steps that are run as others: see `as_known`.
STANDS_FOR = frozenset(["saturate", "boot"])
# Why there are no others.
REASONS = {
    "repeat": "the guest does its steps once: write the rounds out one by one",
    "unlink_oldest": "the guest does not look into directories: name the file that `unlink` deletes",
    "format": "Linux makes a file system at the first mount of an erased chip",
    "load": "nandsim's chip begins erased",
    "stage": "the guest has no boot loader: its kernel attaches and mounts by steps of these names",
    "read_raw": "it is of boot loaders: `mtd_loop` reads pages of a partition",
    "ubi_read": "it is of boot loaders: the guest reads no volumes",
    "read_files": "the guest reads files by `open`, `requests` and `close`, or by `read_many`",
    "scrub": "busybox has no ubihealthd, and nandsim's cells do not age",
    "shelf": "nandsim's cells do not age",
    "save_image": "the chip of the machine goes when it is switched off",
    "trim": "the machine has no block device",
    "set": KEY_VALUE,
    "get": KEY_VALUE,
    "delete": KEY_VALUE,
    "iterate": KEY_VALUE,
    "sync_directories": "it is of YAFFS2, which no kernel of a distribution has",
}
# Keys that say how many bytes of content a step takes at once, the first that it has.
PIECES = ("request_B", "bytes")
# Those of `create_fragmented`, and the least that is there.
PIECE_B_MIN = 4096
# What `steps/` has room for.
PIECE_B_MAX = 16 << 20
# A value of more is refused before it is looked at (XATTR_SIZE_MAX).
XATTR_B_MAX = 64 << 10
# The guest keeps them beside its chip, in 1 GiB.
DATA_B_MAX = 256 << 20
# Folder beside the cases, of the files that their steps name.
INPUTS = "inputs"
# The steps begin when the time since boot is a multiple of this, plus the stack's `uptime_us`. JFFS2 draws its victims
# by the tick counter modulo 128; 128 ticks divide this at 100, 250, 300 and 1000 Hz, so a draw depends on nothing else.
PHASE_PERIOD_US = 2_560_000
# JFFS2's mount option for what an experiment calls so (fs/jffs2/super.c has the words). Without one it goes by what the
# kernel was built with, `JFFS2_MODES`; and with the others disabled rtime is the only one (`jffs2_module.py`).
JFFS2_OPTIONS = {
    "none": "compr=none",
    "lzo": "compr=lzo",
    "zlib": "compr=zlib",
    "priority": "",
    "size": "",
    "rtime": "",
}
# By the configuration that the kernel needs for it.
JFFS2_MODES = {"priority": "JFFS2_CMODE_PRIORITY", "size": "JFFS2_CMODE_SIZE"}
# Of software BCH, where the experiment does not say it (drivers/mtd/nand/ecc-sw-bch.c).
BCH_BITS = 4
# UBI's own default (CONFIG_MTD_UBI_BEB_LIMIT).
MAX_BEB_PER_1024 = 20


@dataclass(frozen=True)
class Recorded:
    """Calls of steps, and the bytes that they name."""

    calls: dict[tuple[str, int], str]  # by phase and index
    data: bytes


@dataclass(frozen=True)
class Variant:
    """A variant with its steps as they are run, UBI's made explicit."""

    experiment: str
    name: str
    fs: str
    compression: str
    read_ahead_KiB: int  # noqa: N815
    max_beb_per1024: int
    uptime_us: float
    seed: int
    flash: PlannedFlash
    setup: list[Step]
    measure: list[Step]
    bch_bits: int | None = None  # that software BCH corrects in 512 B; None: Hamming
    vm: dict[str, int] = field(default_factory=dict)  # settings of write-back that are not the kernel's own
    compared: dict[str, Any] = field(default_factory=dict)  # keys that the kernel must be built for
    recorded: Recorded | None = None
    inputs: dict[str, Path] = field(default_factory=dict)  # files that its case names, by name
    mounts: tuple[beside.Mount, ...] = ()  # beside the root
    programs: tuple[beside.Program, ...] = ()  # beside the measured steps

    @property
    def identity(self) -> str:
        """The name of its case."""
        return "/".join(word for word in ("reference", self.experiment, self.name.replace(", ", "/")) if word)

    @property
    def rtime_alone(self) -> bool:
        """Whether JFFS2's module must be another one than the kernel's."""
        return ("jffs2", "rtime") in self.compressors

    @property
    def compressors(self) -> list[tuple[str, str]]:
        """Each file system with its compressor."""
        return [(self.fs, self.compression), *((mount.fs, mount.compression) for mount in self.mounts)]

    @property
    def piece_B(self) -> int:  # noqa: N802
        """The most bytes of content that a step takes at once."""
        return max(PIECE_B_MIN, *(piece_B_of(step) for step in self._all_steps))

    @property
    def _all_steps(self) -> list[Step]:
        return [*self.setup, *self.measure, *(step for program in self.programs for step in program.steps)]

    @property
    def partitions(self) -> list[tuple[int, int]]:
        """First block and number of blocks of each, in their order."""
        return beside.partitions(self.flash["first_block"], self.flash["partition_blocks"], self.mounts)

    @property
    def sizes(self) -> list[int]:
        """Of nandsim's partitions, if there are several, in blocks."""
        return beside.parts(self.partitions)[0] if self.mounts else []

    @property
    def contents(self) -> dict[str, Content]:
        """The content of each kind that the steps write: the simulator's own bytes."""
        return self._contents(self.seed)

    def _contents(self, seed: int) -> dict[str, Content]:
        kinds = {"random", *(step["content"] for step in self._all_steps if "content" in step)}
        pooled = {kind: content_of(kind, seed, self.piece_B) for kind in sorted(kinds)}
        files = {kind: content_of_file(self.inputs[name], self.piece_B) for name, kind in self._content_files.items()}
        return pooled | files

    @property
    def _content_files(self) -> dict[str, str]:
        """What `steps/` calls the content of each file, by the file's name beside the case."""
        steps = self._all_steps
        names = sorted({Path(step["content_file"]).name for step in steps if "content_file" in step})
        return {name: f"file{number}" for number, name in enumerate(names)}

    def lines(self, ticks_per_s: int) -> str:
        """The file that `steps/` reads."""
        lines = content_lines(self.contents)
        devices = beside.parts(self.partitions)[1]
        for mount in self.mounts:
            device = devices[mount.blocks[0]] if mount.blocks else 0
            lines.append(line_of("begin 0 place", mount.words(option_of(mount.fs, mount.compression), device)))
        for number, program in enumerate(self.programs):
            told: dict[str, object] = {
                "name": program.name,
                "background": program.background,
                "file": self._program_path(number),
            }
            lines.append(line_of("begin 0 program", told))
        begin = {"fs": self.fs, "hz": ticks_per_s, "period_us": PHASE_PERIOD_US}
        begin["mtd"] = (
            medium.of(self.flash).mtd_of(self.flash) if not self.mounts else devices[self.flash["first_block"]]
        )
        begin |= {"volume": volumes} if (volumes := sum(mount.blocks is None for mount in self.mounts)) else {}
        begin["phase_us"] = self.uptime_us % PHASE_PERIOD_US
        lines.append(" ".join(["begin 0 begin", *(f"{key}={value}" for key, value in begin.items())]))
        for phase, steps in (("setup", self.setup), ("measure", self.measure)):
            for index, step in enumerate(steps):
                calls = self._calls(phase, index)
                words = f"{step['step']} {calls}" if calls else self._words(step)
                lines.append(f"{phase} {index} {words}")
            # What measured steps need to find.
            if calls := self._calls(phase, len(steps)):
                lines.append(f"{phase} {len(steps)} prepare {calls}")
        return "".join(f"{line}\n" for line in lines)

    @property
    def files(self) -> dict[str, bytes]:
        """What `lines` names, by path in the guest."""
        found = {content.path: content.data for content in self.contents.values()}
        for number, program in enumerate(self.programs):
            # Each program writes bytes of its own (`Begun::beside` of crates/lab).
            contents = self._contents(self.seed + number + 1)
            found |= {content.path: content.data for content in contents.values()}
            steps = [f"program {index} {self._words(step)}" for index, step in enumerate(program.steps)]
            lines = [*content_lines(contents), "go", *steps]
            found[self._program_path(number)] = "".join(f"{line}\n" for line in lines).encode()
        if self.recorded is not None:
            found[f"{self._folder}/data"] = self.recorded.data
            for (phase, index), calls in self.recorded.calls.items():
                found[f"{self._folder}/{phase}.{index}"] = calls.encode()
        return found

    def _program_path(self, number: int) -> str:
        return f"{self._folder}/program.{number}"

    @property
    def _folder(self) -> str:
        return f"/calls/{hashlib.sha256(self.identity.encode()).hexdigest()[:16]}"

    def _calls(self, phase: str, index: int) -> str | None:
        if self.recorded is None or (phase, index) not in self.recorded.calls:
            return None
        return f"calls={self._folder}/{phase}.{index} data={self._folder}/data"

    def _words(self, step: Step) -> str:
        found = {name: value for name, value in step.items() if name != "step"}
        if "content_file" in found:
            found["content"] = self._content_files[Path(found.pop("content_file")).name]
        match step["step"]:
            case "mount":
                option = option_of(self.fs, self.compression)
                found |= {"read_ahead_KiB": self.read_ahead_KiB, "fs_options": option}
            case "ubi_attach":
                found["max_beb_per1024"] = self.max_beb_per1024
            case "crash":
                found |= {"period_us": PHASE_PERIOD_US, **self._page_words}
            case "mtd_loop":
                found |= self._page_words
            case "setxattr" if "bytes" in found:
                found["bytes"] = min(found["bytes"], XATTR_B_MAX + 1)
        return line_of(step["step"], found)

    @property
    def _page_words(self) -> dict[str, object]:
        """What a step on the partition itself takes for a page, where the kernel has none: NOR takes single bytes."""
        return {"page_B": self.flash["page_B"]} if medium.is_nor(self.flash) else {}


def option_of(fs: str, compression: str) -> str:
    """The mount option that chooses a compressor."""
    return JFFS2_OPTIONS[compression] if fs == "jffs2" else f"compr={compression}"


def piece_B_of(step: Step) -> int:  # noqa: N802
    found = next((step[key] for key in PIECES if step.get(key)), 0)
    return min(int(found), XATTR_B_MAX + 1) if step["step"] == "setxattr" else int(found)


def variants(experiment: Experiment, name: str) -> list[Variant]:
    """The variants of an experiment of this name.

    Raises `ffslab.InputError` when the experiment is wrong or a real kernel with nandsim cannot run it.
    """
    plans: list[PlannedVariant] = json.loads(_native.planned_variants(experiment))
    asked, of_mounts = keys.asked(experiment), keys.asked_of_mounts(experiment)
    return [
        with_inputs(
            recorded(planned(plan, experiment.file_name, name, asked, of_mounts), experiment, number), experiment
        )
        for number, plan in enumerate(plans)
    ]


def recorded(variant: Variant, experiment: Experiment, number: int) -> Variant:
    """The variant with the recorded calls of those steps that are programs of their own."""
    steps = (*variant.setup, *variant.measure)
    if not any(step["step"] in RECORDED for step in steps):
        return variant
    found, data = _native.recorded_calls(
        experiment,
        number,
        json.dumps(variant.setup),
        json.dumps(variant.measure),
        sorted(RECORDED),
    )
    if len(data) > DATA_B_MAX:
        raise _native.InputError(
            f"{experiment.file_name}: the steps write {len(data)} B, and a reference run has room for {DATA_B_MAX} B"
        )
    calls = {(phase, index): lines for phase, index, lines in found}
    return replace(variant, recorded=Recorded(calls, data))


def with_inputs(variant: Variant, experiment: Experiment) -> Variant:
    """With the files that its steps name put beside its case.

    Raises `ffslab.InputError` when two files from different folders have the same name.
    """
    inputs: dict[str, Path] = {}

    def beside(step: Step) -> Step:
        key = "content_file" if "content_file" in step else INPUT_KEYS.get(step["step"])
        if key is None or key not in step or step.get("commands"):
            return step
        path = Path(experiment.base_dir) / step[key]
        if inputs.setdefault(path.name, path) != path:
            raise _native.InputError(f"{experiment.file_name}: two files are called {path.name}: rename one")
        return {**step, key: f"{INPUTS}/{path.name}"}

    return replace(
        variant,
        setup=[beside(step) for step in variant.setup],
        measure=[beside(step) for step in variant.measure],
        inputs=inputs,
    )


def planned(
    plan: PlannedVariant,
    file_name: str,
    experiment: str,
    asked: frozenset[str] = frozenset(keys.STACK_REFUSED),
    of_mounts: dict[str, frozenset[str]] | None = None,
) -> Variant:
    """`asked`: the keys of `[stack]` that the experiment gives; `of_mounts`: those of further mounts."""
    stack, flash = plan["stack"], plan["flash"]

    def refuse(text: str) -> _native.InputError:
        which = f"variant {plan['name']}: " if plan["name"] else ""
        return _native.InputError(f"{file_name}: {which}{text}")

    if stack["fs"] in NOT_AS_FOLDER:
        raise refuse(f'[stack]: fs = "{stack["fs"]}": its image is not put on nandsim\'s chip (docs/squashfs.md)')
    # Below no file system nothing compresses.
    compression = stack.get("compression") or "none"
    mounts = beside.mounts_of({**stack}, MAX_BEB_PER_1024)
    programs = beside.programs_of(plan["programs"])
    of_each = [("[stack]", stack["fs"], compression), *((f"mount at {m.at}", m.fs, m.compression) for m in mounts)]
    for where, fs, how in of_each:
        if fs not in (FILE_SYSTEMS if where == "[stack]" else FILE_SYSTEMS[:2]):
            raise refuse(f'{where}: fs = "{fs}": a distribution kernel has jffs2 and ubifs')
        if fs == "jffs2" and how not in JFFS2_OPTIONS:
            known = ", ".join(JFFS2_OPTIONS)
            raise refuse(f'{where}: compression = "{how}": a mount of jffs2 can choose {known}: name one of them')
    root = (stack["fs"], compression, stack.get("read_ahead_KiB") or 0)
    if why_not := beside.trouble(flash, root, mounts, of_mounts or {}):
        raise refuse(why_not)
    if why_not := medium.of(flash).trouble(flash):
        raise refuse(f"[stack]: {why_not}")
    if why_not := keys.trouble({**stack}, asked):
        raise refuse(f"[stack]: {why_not}")
    size_B = beside.sizes(flash["partition_blocks"], mounts, chip.block_B_of(flash))  # noqa: N806
    steps_before = with_state(plan["state"], plan["setup"], stack["fs"])
    setup = [part for step in steps_before for part in as_known(step, size_B)]
    measure = [part for step in plan["measure"] for part in as_known(step, size_B)]
    of_programs = [(f'program "{program.name}"', list(program.steps)) for program in programs]
    for phase, steps in (("setup", setup), ("measure", measure), *of_programs):
        for index, step in enumerate(steps):
            if why_not := not_beside(step, bool(mounts), bool(programs)):
                raise refuse(f"{phase} step {index + 1}: {why_not}")
            if stack["fs"] == "none" and step["step"] == "mount":
                raise refuse(f'{phase} step {index + 1}: mount: fs = "none": there is no file system to mount')
            if trouble := not_possible(step, flash):
                raise refuse(f"{phase} step {index + 1}: {trouble}")
    if cut := next((step["step"] for step in plan["state"] if step["step"] in ("crash", "boot")), None):
        raise refuse(f"{cut}: not as a step of [[state]], which ends with a shutdown: make it one of the setup")
    if stack["fs"] == "ubifs":
        setup, measure = with_ubi(setup, measure)
    if stack.get("bulk_read"):
        setup, measure = with_option(setup, "bulk_read"), with_option(measure, "bulk_read")
    # Any other ECC is none of nandsim's, which then is software Hamming.
    bch_bits = (stack.get("ecc_strength_bits") or BCH_BITS) if stack.get("ecc") == "bch" else None
    per_1024 = stack.get("max_beb_per1024")
    return Variant(
        experiment,
        plan["name"],
        stack["fs"],
        compression,
        stack.get("read_ahead_KiB") or 0,
        MAX_BEB_PER_1024 if per_1024 is None else per_1024,
        stack.get("uptime_us") or 0,
        plan["seed"],
        medium.of(flash).as_simulated(flash),
        setup,
        measure,
        bch_bits,
        vm=keys.vm_of({**stack}),
        compared=keys.compared({**stack}, asked),
        mounts=tuple(mounts),
        programs=tuple(programs),
    )


def as_known(step: Step, size_B: Callable[[str], int]) -> list[Step]:  # noqa: N803
    """Steps that stand for others, as these; so `validate` runs exactly what the kernel ran."""
    match step["step"]:
        case "saturate":
            file = step["file"]
            fill = {"step": "fill", "file": file, "request_B": step["request_B"]}
            return [fill, {"step": "sync"}, {"step": "unlink", "file": file}]
        case "boot":
            return [{"step": "crash"}, {**step, "step": "mount"}]
        case "occupy" if step.get("of") != "df":
            share = {"bytes": int(size_B(step["file"]) * step["percent"] / 100), "request_B": step["request_B"]}
            return [{"step": "create", "file": step["file"], **share}]
    return [step]


def not_beside(step: Step, mounts: bool, programs: bool) -> str | None:
    """Why a step cannot be where there are other mounts or programs."""
    name = step["step"]
    if mounts and name in beside.ALONE:
        return f"{name}: not with [[stack.mount]]: it {beside.ALONE[name]}"
    if (mounts or programs) and name in RECORDED:
        which = "[[program]]" if programs else "[[stack.mount]]"
        return f"{name}: not with {which}: its calls are written down from a simulation without: write the calls out"
    return None


def not_possible(step: Step, flash: PlannedFlash) -> str | None:
    name = step["step"]
    if name == "crash" and (counted := chip.counted_faults(flash)):
        return f"crash: not with faults that count operations ({', '.join(counted)}): what the chip held is put back"
    if name in REASONS:
        return f"{name}: cannot be run on a real kernel here: {REASONS[name]}"
    if name not in STEPS | RECORDED:
        return f"{name}: cannot be run on a real kernel here; there are {', '.join(sorted(STEPS | RECORDED))}"
    if piece_B_of(step) > PIECE_B_MAX:
        return f"{name}: {piece_B_of(step)} B at once: a request of a reference run has at most {PIECE_B_MAX} B"
    return None


def with_state(state: list[Step], setup: list[Step], fs: str) -> list[Step]:
    """The steps of an initial state, the shutdown that ends it, and the setup: on a real kernel all in one boot."""
    if not state:
        return setup
    opened = [step["file"] for step in state if step["step"] == "open"]
    for step in state:
        if step["step"] == "close":
            opened.remove(step["file"])
    mounts = [step["step"] for step in state if step["step"] in ("mount", "umount")]
    shutdown: list[Step] = [{"step": "close", "file": file} for file in opened]
    shutdown += [{"step": "umount"}] if mounts[-1:] == ["mount"] else []
    attach: list[Step] = []
    if fs == "ubifs" and mounts:
        shutdown.append({"step": "ubi_detach"})
        attach = [] if any(step["step"] == "ubi_attach" for step in setup) else [{"step": "ubi_attach"}]
    return [*state, *shutdown, {"step": "drop_caches"}, *attach, *setup]


def with_ubi(setup: list[Step], measure: list[Step]) -> tuple[list[Step], list[Step]]:
    """The first mount of UBIFS attaches UBI and makes the volume, unless steps before it do so.

    The next one after a power cut attaches it again.
    """
    attached = made = False
    for phase in (setup, measure):
        steps = list(phase)
        phase.clear()
        for step in steps:
            if step["step"] in ("crash", "ubi_detach"):
                # Who detaches it by hand attaches it so.
                attached = step["step"] == "ubi_detach"
            elif step["step"] == "ubi_attach":
                attached = made = True
            elif step["step"] == "mount" and not attached:
                phase += [{"step": "ubi_attach"}] if made else [{"step": "ubi_attach"}, {"step": "ubi_make_volume"}]
                attached = made = True
            phase.append(step)
    return setup, measure


def with_option(steps: list[Step], option: str) -> list[Step]:
    """The steps with an option for each mount that is none of what is mounted already."""

    def of_step(step: Step) -> Step:
        options = step.get("options", [])
        known = {option, f"no_{option}", "remount"} & set(options)
        return step if step["step"] != "mount" or known else {**step, "options": [*options, option]}

    return [of_step(step) for step in steps]
