"""The native half of ffslab (crates/python). Private: use the objects of `ffslab`."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias, TypedDict, final

from ffslab.answers import Columns
from ffslab.measured.tracereport.columns import Ints

__all__ = [
    "EPOCH_S",
    "CrashRecording",
    "InputError",
    "PowerCut",
    "ServedChip",
    "Session",
    "__version__",
    "ageing",
    "amplification",
    "amplification_cases",
    "amplification_formula",
    "card_operations",
    "case_experiments",
    "check_experiment",
    "check_image_words",
    "chip_geometry",
    "content_source",
    "convert_trace",
    "decisions",
    "file_systems",
    "initial_steps",
    "input_limits",
    "inspect",
    "is_path",
    "live_experiment",
    "memparse",
    "mount",
    "mount_sleeps_library",
    "nearest_names",
    "open_input",
    "part_kinds",
    "planned_variants",
    "policies",
    "printable",
    "profile",
    "profile_template",
    "profile_toml_of",
    "profiles",
    "quoted",
    "read_lost",
    "read_trees",
    "recognise",
    "recognise_one",
    "recorded_calls",
    "register_policy",
    "register_rule",
    "repeated",
    "run_experiment",
    "schema",
    "schemas",
    "spread",
    "stack_as_written",
    "systems",
    "toml_of",
    "ubi_image",
    "ubifs_to_ship",
    "unknown_profile",
    "unregister_policy",
    "unregister_rule",
    "validate",
    "variant_keys",
    "write_timeline",
]

__version__: str

EPOCH_S: int
"""Time of day at virtual time 0, in seconds since 1970."""

class InputError(ValueError):
    """What the user gave cannot be run: the text says what is wrong, where, and what would be right.

    `missing_blocks`: with so many more erase blocks a partition that is too small for a file system would do; `None`:
    the size of a partition is not what is wrong.
    """

    missing_blocks: int | None

class PowerCut(OSError):  # noqa: N818
    """The simulated power went away during the call: crash() switches it on again."""

def ageing(text: str, file_name: str, base_dir: str | PathLike[str], asked: str) -> str:
    """What the model of ageing says of the chip of an experiment (JSON), under stresses (JSON list)."""

def card_operations(card: str, lines: str) -> str:
    """What a card (JSON) does for lines of flashbench (JSON list), one after the other: calls, bytes, and operations
    of its flash (JSON list).

    Errors: a card or a line that cannot be (`InputError`).
    """

class _Experiment(Protocol):
    """An `ffslab.Experiment`."""

    @property
    def written(self) -> str | Mapping[str, object]: ...
    @property
    def file_name(self) -> str: ...
    @property
    def base_dir(self) -> Path: ...
    @property
    def change(self) -> Mapping[str, object]: ...

class _Ran(TypedDict):
    """`summary`: JSON. Saved images, logs and films by their names. `stacks`: `None`: it was not observed."""

    summary: str
    requests: Columns
    blocks: Columns
    resolved_toml: str
    images: dict[str, bytes]
    logs: dict[str, str]
    films: dict[str, Columns]
    stacks: Columns | None
    shared: tuple[int, int, float]

def run_experiment(
    experiment: _Experiment,
    progress: Callable[[float], object] | None,
    parquet: Callable[[Path], str],
    states: tuple[str | PathLike[str], str] | None = None,
    *,
    jobs: int = 0,
    known: Sequence[int] | None = None,
    any_size: bool = False,
    tell: Callable[[str], object] | None = None,
    observe: tuple[str | PathLike[str] | None, int] | None = None,
    share_setups: bool = True,
) -> _Ran:
    """What an experiment did.

    `parquet` reads a recording in Parquet as CSV. `jobs`: how many variants run at once; 0: one on each core.
    `states`: the folder where initial states are kept, and what tells this build from others. `known`: the result
    is one part of a larger one, without the variants at these positions, whose results are known, and without what
    is said of repetitions; it may hold failures alone. `any_size`: however many calls it makes, they are meant. `tell`
    gets what a large experiment takes, before it runs. `observe`: the file of a timeline, and of how many calls one is
    drawn. `share_setups`: those that variants have in common are run once; `shared` has their number, that of the
    variants, and what the setups took in seconds.
    """

def live_experiment(
    experiment: _Experiment,
    asked: str,
    progress: Callable[[float], object] | None,
    parquet: Callable[[Path], str],
    states: tuple[str | PathLike[str], str] | None = None,
    *,
    jobs: int = 0,
    known: Sequence[int] | None = None,
    any_size: bool = False,
    ended: Callable[[int, str], object] | None = None,
) -> str:
    """Lets the variants live until something ends it (JSON); `asked`: how (JSON). `ended` gets the position of each
    variant that has lived, and its life (JSON). The rest as with `run_experiment`."""

def check_experiment(
    experiment: _Experiment,
    parquet: Callable[[Path], str],
    *,
    any_size: bool = False,
) -> None:
    """Checks an experiment as far as that goes without running it; the arguments are those of `run_experiment`."""

def variant_keys(experiment: _Experiment, build: str) -> str:
    """The variants of an experiment, each with the key under which its result can be kept (JSON).

    `build` tells this build from others.
    """

def repeated(
    runs: Sequence[tuple[str, Mapping[str, object], Mapping[str, float | None]]],
    failed: Sequence[Mapping[str, object]],
) -> str:
    """What runs have in common, by variants (JSON list). Of each its name, axes, and figures by their columns in
    variants.parquet; of those that came to no end the axes."""

def spread(values: list[float]) -> tuple[float, float | None, float | None, float, float]:
    """Of values of a figure: median, the interval of the median (`None`: of fewer than six), the least and the most."""

def toml_of(table: Mapping[str, object]) -> str:
    """A table as the TOML of an experiment; a key whose value is `None` is left out."""

def is_path(name: str) -> bool:
    """Whether a profile is named by the path of its file, and not by the name of a built-in one."""

def part_kinds() -> list[tuple[str, str]]:
    """Kinds of parts by name, each with the built-in part on which a new one of it builds."""

def nearest_names(name: str, known: list[str]) -> list[str]:
    """The names that may be meant by one, at most three: of versions of Linux that of the nearest release."""

def unknown_profile(name: str, what: str) -> str | None:
    """Why a name is none of a board, part, kernel or block device; `None`: it is one, or a path."""

def profile_template(base: str, called: str) -> str:
    """A profile (TOML) that builds on `base`, in the file `called`, with every key commented out."""

def profile_toml_of(profile: Mapping[str, object]) -> str:
    """A profile as TOML, a constant a line; a key whose value is `None` is left out."""

def initial_steps(text: str) -> str: ...
def stack_as_written(text: str, file_name: str) -> str:
    """The `[stack]` table as it stands in the text of an experiment, without defaults (JSON)."""

def planned_variants(experiment: _Experiment) -> str:
    """The variants of an experiment with every default (JSON list): name, seed, stack, flash, state, setup, measure."""

def content_source(kind: str, seed: int, piece_bytes: int) -> tuple[bytes, int, int]:
    """The bytes of which steps with this content take their pieces, how far the next piece begins behind the last one,
    and modulo what.

    Raises `InputError` when no content is called so.
    """

def recorded_calls(
    experiment: _Experiment,
    variant: int,
    setup: str,
    measure: str,
    names: list[str],
) -> tuple[list[tuple[str, int, str]], bytes]:
    """The calls of steps that are programs of their own: phase, index and lines of each, and the bytes that they name.

    `setup` and `measure`: the steps of the variant (JSON lists); `names`: the steps whose calls are wanted. What
    measured steps need to find is made by calls of a further setup step.
    """

def case_experiments(path: str | PathLike[str], only: str | None) -> list[tuple[str, str]]:
    """The measured cases of a file that match the pattern, each with its name and as an experiment (TOML)."""

def validate(
    path: str | PathLike[str],
    only: str | None,
    jobs: int,
    phases: int,
    progress: Callable[[float], object] | None,
) -> str:
    """The comparison with the measured cases (JSON). `jobs` 0: one thread per core. `phases`: see `ffslab.validate`."""

class _TreeRow(TypedDict):
    """The fields of `ffslab.images.ImageEntry`."""

    path: str
    kind: str
    ino: int
    permissions: int
    owner: tuple[int, int]
    links: int
    device: int
    size_B: int
    modified_s: int
    data: bytes
    error: str | None
    missing: list[str]

def read_trees(path: str | PathLike[str], how: dict[str, Any]) -> list[tuple[str, list[_TreeRow] | None, list[str]]]:
    """Of each partition of an image its layout (JSON), files as the fields of `ffslab.images.ImageEntry`, and notes."""

# Path, facts (JSON), permissions, owner, content of a lost file.
_LostRow: TypeAlias = tuple[str, str, int, tuple[int, int], bytes | None]

def read_lost(path: str | PathLike[str], how: dict[str, Any]) -> list[tuple[str, list[_LostRow] | None]]:
    """Of each partition of an image its layout (JSON) and what was deleted or overwritten."""

# Of a volume: number, name, is it static, LEBs, alignment, does it grow, is its check skipped, content.
_VolumeRow: TypeAlias = tuple[int, str, bool, int, int, bool, bool, bytes]

def ubi_image(
    peb_bytes: int,
    min_io_bytes: int,
    vid_header_offset_bytes: int,
    image_number: int,
    volumes: list[_VolumeRow],
) -> bytes:
    """The image of a partition of UBI that was never attached, as ubinize makes it."""

def ubifs_to_ship(partition: bytes, block_bytes: int, space_fixup: bool, uuid: bytes) -> bytes:
    """The only volume of a partition of UBI on which UBIFS was unmounted, as mkfs.ubifs makes it."""

def quoted(name: bytes) -> str:
    """A name as GNU `ls` shows it on a terminal, see `ffslab.text.quoting`."""

def printable(text: bytes, one_line: bool) -> str:
    """Text in which nothing acts on a terminal, see `ffslab.text.quoting`."""

def recognise(path: str | PathLike[str], how: dict[str, Any]) -> str:
    """The partitions of an image and what each is (JSON). `how` is that of `ffslab.images.said`."""

def recognise_one(path: str | PathLike[str], how: dict[str, Any]) -> str:
    """As `recognise`, the only partition that holds a file system, whose sizes are all known."""

def file_systems() -> list[tuple[str, str, str, bool, str | None, bool, bool]]:
    """The table of the file systems: see `ffslab.file_systems.FileSystem`."""

def systems() -> list[tuple[str, str, str, list[str]]]:
    """The table of the systems: see `ffslab.systems.System`."""

def check_image_words(how: dict[str, Any]) -> None:
    """Refuses what `ffslab.images.said` says about an image where it cannot be (`InputError`)."""

def memparse(text: str) -> int | None:
    """A number of bytes as the kernel's command line has it; `None`: it is none."""

def inspect(
    path: str | PathLike[str],
    how: dict[str, Any],
    *,
    board: str,
    part: str | None,
    kernel: str | None,
    device: str,
    deleted: bool,
) -> str:
    """What is in each partition of an image (JSON), see `ffslab.images.inspection`."""

def convert_trace(
    path: str | PathLike[str],
    root: str | None,
    begin: Callable[[str], object],
    batch: Callable[[dict[str, Any]], object],
) -> list[str]:
    """Reads a recording: `begin` gets the root of its paths, `batch` columns. Notes on what is not in them."""

# Kind, bytes, inode number, permissions.
_FileRow: TypeAlias = tuple[str, int, int, int]

@final
class ServedChip:
    """A flash part on its bus: what clients send goes in, and their answers come out."""

    def __new__(
        cls,
        part: str,
        settings: Mapping[str, object],
        id: bytes | None,
        causes: list[tuple[int, int, str]],
        held: bytes | None,
    ) -> Self: ...
    def part_name(self) -> str: ...
    def size_bytes(self) -> int: ...
    def keys(self) -> str: ...
    def connect(self) -> tuple[int, bytes]: ...
    def leaves(self, client: int) -> None: ...
    def feed(self, client: int, sent: bytes) -> tuple[bytes, bool]: ...
    def cut_after(self, operations: int, torn: str, seed: int) -> None: ...
    def is_powered(self) -> bool: ...
    def counts(self) -> list[int]: ...
    def why(self) -> str: ...
    def end(self) -> None: ...
    def held(self) -> bytes: ...
    def dump(self) -> bytes: ...
    def load(self, name: str, image: bytes) -> None: ...
    def result(self) -> tuple[str, Columns, Columns]: ...

@final
class Session:
    """A stack whose system calls are made one by one; `ffslab.Stack` explains them."""

    def __new__(cls, keys: Mapping[str, object], seed: int, base_dir: str | PathLike[str], initial: str) -> Self: ...
    def keys(self) -> str: ...
    def mount(self, options: list[str]) -> None: ...
    def umount(self) -> None: ...
    def is_mounted(self) -> bool: ...
    def crash(self) -> None: ...
    def cut_power_after(self, operations: int, torn: str, seed: int) -> None: ...
    def is_powered(self) -> bool: ...
    def modifying_operations(self) -> int: ...
    def drop_caches(self) -> None: ...
    def set_read_ahead_bytes(self, bytes: int) -> None: ...
    def now_ns(self) -> int: ...
    def epoch_s(self) -> int: ...
    def sleep_ns(self, duration_ns: int) -> None: ...
    def compute_ns(self, duration_ns: int) -> None: ...
    def counts(self) -> str: ...
    def activity(self) -> str: ...
    def drop_pages(self) -> None: ...
    def free_bytes(self) -> int | None: ...
    def erase_counts(self) -> list[int]: ...
    def image(self, oob: bool) -> bytes: ...
    def run_step(self, step_json: str) -> str | None: ...
    def begin_step(self, title: str) -> None: ...
    def note(self, text: str) -> None: ...
    def end_step(self) -> None: ...
    def observe(self, asked: tuple[str | PathLike[str] | None, int], title: str, sequence: int) -> None:
        """Writes down what happens until `result`: the file of a timeline, and of how many calls one is drawn; what it
        is called there, and its number among timelines that become one."""
    def result(self, name: str, axes_json: str) -> tuple[str, Columns, Columns, Columns | None]:
        """A variant of the summary (JSON), columns of the requests and of the erase blocks, and of stacks if it was
        observed."""
    def open(self, path: str, words: str, permissions: int) -> int: ...
    def close(self, fd: int) -> None: ...
    def pread(self, fd: int, bytes: int, at: int) -> bytes: ...
    def pwrite(self, fd: int, data: bytes, at: int) -> int: ...
    def ftruncate(self, fd: int, bytes: int) -> None: ...
    def fsync(self, fd: int, data_only: bool) -> None: ...
    def trim(self, fd: int, at: int, bytes: int) -> None: ...
    def sync(self) -> None: ...
    def fstat(self, fd: int) -> _FileRow: ...
    def stat(self, path: str) -> _FileRow: ...
    def unlink(self, path: str) -> None: ...
    def rename(self, path: str, to: str) -> None: ...
    def mkdir(self, path: str, permissions: int) -> None: ...
    def readdir(self, path: str) -> list[str]: ...
    @staticmethod
    def watched(keys: Mapping[str, object], seed: int, base_dir: str | PathLike[str], initial: str) -> Session:
        """One whose workload can be recorded, for power cuts."""
    @staticmethod
    def restored(keys: Mapping[str, object], seed: int, base_dir: str | PathLike[str], held: bytes) -> Session:
        """A machine that was switched off; `held` is what `held` gave then.

        Raises `InputError` when it is damaged, or that of another machine.
        """
    def held(self) -> bytes:
        """What the medium holds without power, with its wear."""
    def begin_recording(self, options: list[str]) -> None: ...
    def end_recording(self) -> CrashRecording: ...
    def told(self, what: str) -> None: ...

_FoundFiles = list[tuple[bytes, str, bytes]]

@final
class CrashRecording:
    """A workload with all that it did to the flash, of which power cuts are made: `ffslab.studies.crashtest`."""

    def operations(self) -> int: ...
    def told(self) -> list[tuple[str, int]]: ...
    def calls(self) -> list[tuple[str, int, int, int]]:
        """Text, operations before and after, virtual time in ns."""
    def promises(self) -> str: ...
    def faults_met(self) -> list[str]: ...
    def each_told(self, paths: list[str], each: Callable[[int, dict[str, bytes]], object]) -> None: ...
    def judge(
        self,
        points: list[tuple[int, str, int]],
        wanted: str,
        judge: Callable[[_FoundFiles, int, int], str | None] | None,
        progress: Callable[[float], object] | None,
    ) -> str: ...
    def after(self, point: tuple[int, str, int], oob: bool) -> tuple[bytes | None, _FoundFiles | None, str | None]:
        """The partition's bytes after a cut, and the files that a mount shows, or what went wrong."""

def mount_sleeps_library() -> bytes:
    """The library to preload into programs whose sleeps shall pass on the board alone."""

def mount(
    keys: Mapping[str, object],
    mountpoint: str | PathLike[str],
    *,
    socket: str | PathLike[str],
    options: list[str],
    owner: tuple[int, int] | None,
    seed: int,
    think: bool,
    realtime: bool,
    power_cut_after: int | None,
    torn: str,
    epoch_s: int,
    save: str | PathLike[str] | None,
    observe: tuple[str | PathLike[str] | None, int] | None,
    records: bool,
    base_dir: str | PathLike[str],
    initial: str,
    ready: Callable[[], object],
    say: Callable[[str], object],
    shall_end: Callable[[], bool],
) -> tuple[str, Columns, Columns, str, Columns | None, CrashRecording | None]:
    """Mounts, serves until unmounted: a variant of the summary (JSON), calls, blocks, the keys of the stack (JSON),
    stacks if it was observed, and the workload if it was to be recorded."""

def write_timeline(
    path: str | PathLike[str],
    title: str,
    tracks: Sequence[tuple[str, str, Ints, Ints, Ints, list[str], list[tuple[str, Ints]]]],
) -> int:
    """Writes a timeline of a log; how many events it has. A track: its name, the category of its slices, their starts
    and ends since the beginning in ns (of an instant the same), the numbers of their names, the names, and by key the
    columns of their arguments, of which a negative one says nothing. The slices come in the order of their starts, the
    longest first.

    Errors: the file cannot be written (`InputError`).
    """

def chip_geometry(board: str, part: str | None, base_dir: str | PathLike[str]) -> tuple[int, int, int, int]:
    """The chip of a board: bytes of a page and of its OOB area, pages of a block, blocks."""

def schema(name: str) -> str:
    """The JSON Schema of what is called so."""

def schemas() -> list[tuple[str, str]]:
    """What has a JSON Schema: its name, and what it is."""

def policies() -> str:
    """The built-in policies, as JSON: decision, name, about, paper, parameter."""

def amplification_cases() -> str:
    """The comparisons of write amplification, as JSON: name, pages_per_block, spare_share, allowed_percent."""

def amplification(case: int, blocks: int) -> tuple[float, float]:
    """One comparison: by the formula, simulated.

    Raises InputError: too few blocks, or no such comparison.
    """

def amplification_formula(case: int, spare_share: float) -> float:
    """The formula of a comparison at another spare share."""

def register_policy(name: str, make: Callable[[], object]) -> None:
    """Makes a victim policy known; `make` returns the policy of a mount.

    Raises InputError: the name cannot be one, or is taken.
    """

def unregister_policy(name: str) -> None:
    """Forgets a policy that was made known."""

def decisions() -> str:
    """The decisions, as JSON: key, score (what a score says), columns (name, about)."""

def register_rule(key: str, name: str, make: Callable[[], object]) -> None:
    """Makes a rule for a decision other than `victim` known; `make` returns the rule of a mount.

    Raises InputError: there is no such decision, the name cannot be one, or is taken.
    """

def unregister_rule(key: str, name: str) -> None:
    """Forgets a rule that was made known.

    Raises InputError: there is no such decision.
    """

def profiles() -> str:
    """The built-in profiles (JSON list)."""

def profile(name: str) -> str:
    """One profile with units, sources and status (JSON)."""

def open_input(path: str | PathLike[str], kind: str) -> int:
    """Opens a file that is read as what `kind` names; its descriptor, from which no more than its limit is read."""

def input_limits() -> list[tuple[str, int]]:
    """What files are read as, and the most bytes of each."""
