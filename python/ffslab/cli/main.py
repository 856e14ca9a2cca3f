"""The command `ffslab`: parses, calls the package, prints. All help texts are in `help_texts`.

Exit codes: 0 done, 1 negative answer, 2 bad input (one line on stderr), 70 a bug in ffslab, 130 interrupted.
Modules that load pandas or matplotlib are imported by the verbs that need them: `--help` must be quick.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab import InputError, __version__
from ffslab.cli import field_verbs, mount_verbs, workload_verbs
from ffslab.cli.completion import InstallCompletion, ShowCompletion, with_shell
from ffslab.cli.endings import end_with
from ffslab.cli.field_verbs import IMAGE_FS, Endian
from ffslab.cli.help_texts import EXIT_CODES, PROGRAM, VERBS
from ffslab.cli.image_options import MtdParts, Offset, Partition, Size, place
from ffslab.cli.parts import EXIT_INTERRUPTED, EXIT_NEGATIVE, help_without_verb
from ffslab.cli.parts import argument as _argument
from ffslab.cli.parts import option as _option
from ffslab.cli.parts import verb as _verb
from ffslab.cli.stack_options import Yes
from ffslab.cli.terminal import say as _say
from ffslab.cli.terminal import tell
from ffslab.cli.trace_verbs import trace_app
from ffslab.cli.workload_verbs import run_and_print

app = typer.Typer(
    help=PROGRAM,
    epilog=EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    # Typer's own options guess the shell from the process above, which need not be one.
    add_completion=False,
)
profiles_app = typer.Typer(
    help=VERBS["profiles"].about,
    epilog=VERBS["profiles"].epilog,
    rich_markup_mode=None,
    invoke_without_command=True,
)
app.add_typer(profiles_app, name="profiles")
app.add_typer(trace_app, name="trace")


reference_app = typer.Typer(
    help=VERBS["reference"].about,
    epilog=VERBS["reference"].epilog,
    rich_markup_mode=None,
    invoke_without_command=True,
)
app.add_typer(reference_app, name="reference")


class PublishedStudy(StrEnum):
    """Papers whose experiments can be done again."""

    READAHEAD = "readahead"
    DRIVER = "driver"
    WEAR_GC = "wear-gc"
    RTEMS = "rtems"


class GuestArchitecture(StrEnum):
    """Machines that QEMU emulates for a real kernel, by Debian's names (`ffslab.boards.reference.architecture`)."""

    AMD64 = "amd64"
    ARMHF = "armhf"


class Regression(StrEnum):
    """How constants are found."""

    LINEAR = "linear"
    ROBUST = "robust"
    NON_NEGATIVE = "non-negative"


def _print_version(wanted: bool) -> None:
    if wanted:
        _say(f"ffslab {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    show_completion: ShowCompletion = None,
    install_completion: InstallCompletion = None,
) -> None:
    pass


@_verb(app, "run")
def run(
    experiments: Annotated[list[Path], _argument("run", "experiment", "EXPERIMENT.toml")],
    yes: Yes = False,
    out: Annotated[Path | None, _option("run", "out", "--out", metavar="DIR")] = None,
    json: Annotated[bool, _option("run", "json", "--json")] = False,
) -> None:
    """Runs experiment files, one after the other."""
    from ffslab.api.experiment import Experiment
    from ffslab.files import results

    if out is not None and len(experiments) > 1:
        raise InputError("--out: names one folder, but several experiments are given: run them one by one")
    # What is wrong in one of several is told before the first has run for an hour.
    ready = [(path, path.name.removesuffix(".toml"), Experiment.from_file(path)) for path in experiments]
    places: dict[str, Path] = {}
    for path, name, _ in ready:
        if name in places:
            raise InputError(f"{path}: its results would replace those of {places[name]}: run it by itself with --out")
        places[name] = path
    if len(ready) > 1:
        for _, name, experiment in ready:
            results.check_free(Path("results") / name)
            experiment.check(any_size=yes)
    for _, name, experiment in ready:
        run_and_print(experiment, name, out, json, yes)


workload_verbs.add_to(app)


@_verb(app, "validate")
def validate(
    cases: Annotated[Path, _argument("validate", "cases", "CASES.jsonl[.gz]")],
    only: Annotated[str | None, _option("validate", "only", "--only", metavar="GLOB")] = None,
    jobs: Annotated[int | None, _option("validate", "jobs", "--jobs", metavar="N", least=1)] = None,
    max_error: Annotated[float | None, _option("validate", "max_error", "--max-error", metavar="PERCENT")] = None,
    json: Annotated[bool, _option("validate", "json", "--json")] = False,
) -> None:
    """Compares simulations with measurements."""
    from ffslab.boards import validation
    from ffslab.cli.progress import progress_bar
    from ffslab.files import results

    if max_error is not None and not max_error >= 0:
        raise InputError(f"--max-error {max_error}: must be 0 or more")
    with progress_bar("cases") as progress:
        report = validation.compare(cases, only=only, jobs=jobs, progress=progress)
    _say(results.dump_json(report).rstrip() if json else validation.text(report))
    if max_error is not None:
        beyond = validation.beyond(report, max_error)
        if beyond:
            text = f"{len(beyond)} cases are off by more than {max_error:g} %, first: {beyond[0]}"
            tell(text)
            raise typer.Exit(EXIT_NEGATIVE)


@reference_app.callback()
def _reference(context: typer.Context) -> None:
    help_without_verb(context)


@_verb(reference_app, "reference run")
def reference_run(
    experiments: Annotated[list[Path], _argument("reference run", "experiment", "EXPERIMENT.toml")],
    arch: Annotated[GuestArchitecture, _option("reference run", "arch", "--arch")] = GuestArchitecture.AMD64,
    kernel: Annotated[Path | None, _option("reference run", "kernel", "--kernel", metavar="IMAGE")] = None,
    modules: Annotated[Path | None, _option("reference run", "modules", "--modules", metavar="DIR")] = None,
    probe: Annotated[Path | None, _option("reference run", "probe", "--probe", metavar="DIR")] = None,
    out: Annotated[Path | None, _option("reference run", "out", "--out", metavar="DIR")] = None,
    jobs: Annotated[int | None, _option("reference run", "jobs", "--jobs", metavar="N", least=1)] = None,
    json: Annotated[bool, _option("reference run", "json", "--json")] = False,
) -> None:
    """Runs experiment files on a real kernel."""
    from ffslab.boards import validation
    from ffslab.boards.reference import verb
    from ffslab.cli.progress import progress_of_parts
    from ffslab.files import results

    folder = out if out is not None else verb.folder_of(experiments, arch.value)
    with progress_of_parts() as show:
        verb.measure(experiments, folder, kernel, modules, probe, jobs, show, arch.value)
    _say(results.dump_json(validation.compare(folder / verb.CASES)).rstrip() if json else verb.text(folder))


@_verb(reference_app, "reference fetch")
def reference_fetch(
    arch: Annotated[GuestArchitecture, _option("reference fetch", "arch", "--arch")],
    suite: Annotated[str, _option("reference fetch", "suite", "--suite", metavar="NAME")] = "bookworm",
    out: Annotated[Path | None, _option("reference fetch", "out", "--out", metavar="DIR")] = None,
) -> None:
    """Fetches a kernel of another architecture."""
    from ffslab.boards.reference import packages
    from ffslab.boards.reference.architecture import ARCHITECTURES

    architecture = ARCHITECTURES[arch.value]
    kernel = packages.fetch(architecture, out if out is not None else packages.fetched(architecture), suite)
    _say(f"{kernel.image}\n{kernel.modules}")


@_verb(app, "reproduce")
def reproduce(
    paper: Annotated[PublishedStudy, _argument("reproduce", "paper", "PAPER")],
    jobs: Annotated[int | None, _option("reproduce", "jobs", "--jobs", metavar="N", least=1)] = None,
    out: Annotated[Path | None, _option("reproduce", "out", "--out", metavar="DIR")] = None,
    json: Annotated[bool, _option("reproduce", "json", "--json")] = False,
) -> None:
    """Does a published study again."""
    from ffslab.cli.progress import progress_bar
    from ffslab.files import results
    from ffslab.studies.reproduce import campaign

    folder = out if out is not None else Path("results") / f"reproduce-{paper.value}"
    with progress_bar(paper.value) as progress:
        judged = campaign.reproduce(paper.value, folder, jobs=jobs, progress=progress)
    _say(results.dump_json(judged).rstrip() if json else campaign.text(judged, folder))


@_verb(app, "calibrate")
def calibrate(
    loops: Annotated[Path | None, _option("calibrate", "loops", "--loops", metavar="LOG.csv")] = None,
    power: Annotated[Path | None, _option("calibrate", "power", "--power", metavar="CAPTURE.csv")] = None,
    probe: Annotated[list[Path] | None, _option("calibrate", "probe", "--probe", metavar="LOG")] = None,
    traces: Annotated[list[Path] | None, _option("calibrate", "traces", "--traces", metavar="DIR")] = None,
    record_bytes: Annotated[
        list[int] | None, _option("calibrate", "record_bytes", "--record-B", metavar="B", least=1)
    ] = None,
    base: Annotated[str, _option("calibrate", "base", "--base", metavar="NAME")] = "omap3evm",
    part: Annotated[str | None, _option("calibrate", "part", "--part", metavar="NAME")] = None,
    title: Annotated[str | None, _option("calibrate", "title", "--title", metavar="TEXT")] = None,
    method: Annotated[Regression, _option("calibrate", "method", "--method")] = Regression.LINEAR,
    yes: Annotated[bool, _option("calibrate", "yes", "--yes")] = False,
    out: Annotated[Path | None, _option("calibrate", "out", "--out", metavar="DIR")] = None,
    json: Annotated[bool, _option("calibrate", "json", "--json")] = False,
) -> None:
    """Makes a board profile."""
    from ffslab.studies.calibrate import Method, verb

    given = verb.Inputs(
        loops, power, probe or [], traces or [], record_bytes or [], base, part, title, Method(method.value), yes
    )
    _say(verb.run(given, out, json=json))


@_verb(app, "compare")
def compare(
    traces: Annotated[list[Path], _argument("compare", "traces", "TRACE_DIR")],
    board: Annotated[str, _option("compare", "board", "--board", metavar="NAME")] = "omap3evm",
    kernel: Annotated[str | None, _option("compare", "kernel", "--kernel", metavar="NAME")] = None,
    partition_blocks: Annotated[
        int, _option("compare", "partition_blocks", "--partition-blocks", metavar="BLOCKS", least=1)
    ] = 800,
    record_bytes: Annotated[
        list[int] | None, _option("compare", "record_bytes", "--record-B", metavar="B", least=1)
    ] = None,
    uptime_us: Annotated[int, _option("compare", "uptime", "--uptime-us", metavar="US", least=0)] = 0,
    json: Annotated[bool, _option("compare", "json", "--json")] = False,
) -> None:
    """Compares a board's traces with a replay of them."""
    from ffslab.boards.compare import verb
    from ffslab.boards.compare.sessions import traced_machine

    machine = traced_machine(board, kernel, partition_blocks, uptime_us=uptime_us)
    _say(verb.run(traces, record_bytes or [], machine, json=json))


@_verb(app, "extract")
def extract(
    image: Annotated[Path, _argument("extract", "image", "IMAGE")],
    folder: Annotated[Path | None, _argument("extract", "folder", "DIR")] = None,
    fs: Annotated[str, _option("extract", "fs", "--fs", choices=IMAGE_FS)] = "auto",
    block_KiB: Annotated[int | None, _option("extract", "block_KiB", "--block-KiB", metavar="KiB")] = None,  # noqa: N803
    oob: Annotated[bool | None, _option("extract", "oob", "--oob/--no-oob")] = None,
    page_B: Annotated[int | None, _option("extract", "page_B", "--page-B", metavar="B")] = None,  # noqa: N803
    oob_B: Annotated[int | None, _option("extract", "oob_B", "--oob-B", metavar="B")] = None,  # noqa: N803
    endian: Annotated[Endian, _option("extract", "endian", "--endian")] = Endian.AUTO,
    mtdparts: MtdParts = None,
    offset: Offset = None,
    size: Size = None,
    partition: Partition = None,
    json: Annotated[bool, _option("extract", "json", "--json")] = False,
) -> None:
    """Lists or extracts the files of an image."""
    from ffslab import images
    from ffslab.files import results
    from ffslab.images import extraction

    how = {"fs": fs, "block_KiB": block_KiB, "page_B": page_B, "oob_B": oob_B, "oob": oob, "endian": endian.value}
    found = images.read_partitions(image, **how, **place(mtdparts, offset, size, partition))
    known = [(part, tree) for part, tree in found if tree is not None]
    complaints = [line for _, tree in known for line in tree.complaints]
    if folder is not None and len(found) == 1:
        complaints += extraction.extract(known[0][1], folder)
    elif folder is not None:
        complaints += extraction.extract_partitions(known, folder)
    if json:
        _say(results.dump_json(images.tables(found)).rstrip())
    else:
        _say(images.said_of(str(image), found, listed=folder is None))
    for line in complaints:
        tell(line)
    if complaints:
        raise typer.Exit(EXIT_NEGATIVE)


mount_verbs.add_to(app)
field_verbs.add_to(app)


@profiles_app.callback()
def _profiles(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        profiles_list(json=False)


@_verb(profiles_app, "profiles list")
def profiles_list(json: Annotated[bool, _option("profiles list", "json", "--json")] = False) -> None:
    """Lists the built-in profiles."""
    from ffslab.api import profiles

    _say(profiles.list_json() if json else profiles.list_text())


@_verb(profiles_app, "profiles show")
def profiles_show(
    name: Annotated[str, _argument("profiles show", "name", "NAME")],
    json: Annotated[bool, _option("profiles show", "json", "--json")] = False,
) -> None:
    """Shows one profile."""
    from ffslab.api import profiles

    _say(profiles.show_json(name) if json else profiles.show_text(name))


@_verb(app, "schema")
def schema(name: Annotated[str, _argument("schema", "name", "NAME")] = "experiment") -> None:
    """Prints a JSON Schema."""
    from ffslab.api import schemas

    _say(schemas.text(name))


def main() -> int:
    """Runs the command with the arguments of the process; its exit code. Ctrl-C is a `KeyboardInterrupt`."""
    try:
        code = app(args=with_shell(sys.argv[1:]) or ["--help"], standalone_mode=False)
        if code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except SystemExit:
        # Without standalone mode typer ends like this only when the reader of our output (head, less) has gone.
        return 0
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        return end_with(error)
