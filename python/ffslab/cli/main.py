"""Verbs of the command `ffslab`: they parse, call the package, print. The docstring of a verb is its help.

The command itself is `ffslab.cli.program`; `ffslab.cli.index` says in which file each verb is declared.
Modules that load pandas or matplotlib are imported by the verbs that need them: `--help` must be quick.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.api import schemas
from ffslab.cli.image_options import IMAGES, Looks, Place
from ffslab.cli.parts import EXIT_NEGATIVE
from ffslab.cli.parts import argument as _argument
from ffslab.cli.parts import option as _option
from ffslab.cli.parts import verb as _verb
from ffslab.cli.result_options import Jobs, Json, LargeLogs, Out, RecordBytes, SummaryJson, TimelineOptions
from ffslab.cli.stack_options import MachineOptions, RunOptions
from ffslab.cli.workload_verbs import end_with_failures, run_and_print
from ffslab.terminal.printing import say as _say
from ffslab.terminal.printing import tell

app = typer.Typer()


class PublishedStudy(StrEnum):
    """Papers whose experiments can be done again."""

    READAHEAD = "readahead"
    DRIVER = "driver"
    WEAR_GC = "wear-gc"
    RTEMS = "rtems"
    PUBLISHED = "published"


class Regression(StrEnum):
    """How constants are found."""

    LINEAR = "linear"
    ROBUST = "robust"
    NON_NEGATIVE = "non-negative"


@_verb(app, "run")
def run(
    experiments: Annotated[
        list[Path], _argument("EXPERIMENT.toml", "Experiment files (TOML); `ffslab schema` describes them.")
    ],
    machine: MachineOptions,
    how: RunOptions,
    written: TimelineOptions,
    out: Out = None,
    json: SummaryJson = False,
) -> None:
    """Run an experiment: a table, a results folder, a report. See docs/experiments.md.

    Options that name the machine hold in place of what the file says.

    Example: ffslab run experiments/first-run/sqlite.toml --fs ubifs --repeat 20
    """
    from ffslab.api.experiment import Experiment
    from ffslab.files import results

    if out is not None and len(experiments) > 1:
        raise InputError("--out: names one folder, but several experiments are given: run them one by one")
    if written.timeline is not None and len(experiments) > 1:
        raise InputError("--timeline: names one file, but several experiments are given: run them one by one")
    observe = written.observe()
    # What is wrong in one of several is told before the first has run for an hour.
    ready = [
        (path, path.name.removesuffix(".toml"), how.over(machine.over(Experiment.from_file(path))))
        for path in experiments
    ]
    places: dict[str, Path] = {}
    for path, name, _ in ready:
        if name in places:
            raise InputError(f"{path}: its results would replace those of {places[name]}: run it by itself with --out")
        places[name] = path
    if len(ready) > 1:
        for _, name, experiment in ready:
            results.check_free(Path("results") / name)
            experiment.check(any_size=how.yes)
    failures = []
    for _, name, experiment in ready:
        failures += [f"{name}: {text}" for text in run_and_print(experiment, name, out, json, how, observe)]
    end_with_failures(failures)


@_verb(app, "validate")
def validate(
    cases: Annotated[
        Path,
        _argument(
            "CASES.jsonl[.gz]",
            "Measured cases, one JSON object per line, or a list of RTEMS runs; .gz is read as it is.",
        ),
    ],
    only: Annotated[
        str | None, _option("--id GLOB", "Only cases whose id matches this pattern (* ? [a-c]; * also matches /).")
    ] = None,
    jobs: Jobs = None,
    phases: Annotated[
        int,
        _option(
            "--phases N",
            "Simulate a case at so many phases of the tick counter, and of a wall clock of which it does not say where "
            "it stood, and say between which values each counter lies.",
        ),
    ] = 1,
    max_error: Annotated[
        float | None,
        _option(
            "--max-error PERCENT", "Exit with 1 when a counter or mean latency of any case is further off than this."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        _option("--out DIR", "Folder to write; each case is an experiment there, for `ffslab run`, and none is run."),
    ] = None,
    json: Json = False,
) -> None:
    """Compare simulations with measured cases.

    Example: ffslab validate cases.jsonl.gz --id '*/R1/*' --max-error 2
    """
    from ffslab.files import results
    from ffslab.measured import validation
    from ffslab.terminal.progress import progress_bar

    if max_error is not None and not max_error >= 0:
        raise InputError(f"--max-error {max_error}: must be 0 or more")
    if not 1 <= phases <= validation.PHASES_MAX:
        raise InputError(f"--phases {phases}: must be 1 to {validation.PHASES_MAX}")
    if out is not None:
        for path in validation.write_experiments(cases, only, out):
            _say(f"wrote {path}")
        return
    with progress_bar("cases") as progress:
        report = validation.compare(cases, only=only, jobs=jobs, progress=progress, phases=phases)
    _say(results.dump_json(report).rstrip() if json else validation.text(report))
    if max_error is not None:
        beyond = validation.beyond(report, max_error)
        if beyond:
            text = f"{len(beyond)} cases are off by more than {max_error:g} %, first: {beyond[0]}"
            tell(text)
            raise typer.Exit(EXIT_NEGATIVE)


@_verb(app, "reproduce")
def reproduce(
    paper: Annotated[
        PublishedStudy,
        _argument(
            "PAPER",
            "Study: readahead (EWiLi 2014), driver, wear-gc (CSE 2012), rtems (EWiLi 2018); published: measurements of "
            "other people's boards.",
        ),
    ],
    cases: Annotated[
        Path | None,
        _option("--cases DIR", "Of `published`: another folder of cases, of the same form. [default: those that ship]"),
    ] = None,
    only: Annotated[
        list[str] | None,
        _option(
            "--id GLOB",
            "Only cases whose id matches this pattern (* ? [a-c]; * also matches /), of `published`; may be given "
            "several times.",
        ),
    ] = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        _option(
            "--out DIR",
            "Folder to write; runs that the store holds are not made again. [default: results/reproduce-PAPER]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Do a published study again: claims and figures beside ours. See docs/reproduce.md.

    `published` puts measurements of other people's boards beside simulations from data sheets, and ends with 1 when one
    of them cannot be simulated.

    Example: ffslab reproduce readahead
    """
    from ffslab.files import results
    from ffslab.studies.reproduce import campaign, published, words
    from ffslab.terminal.progress import progress_bar

    folder = out if out is not None else Path("results") / f"reproduce-{paper.value}"
    if paper is PublishedStudy.PUBLISHED:
        with progress_bar(paper.value) as progress:
            evidence = published.reproduce(folder, folder=cases, only=only, jobs=jobs, progress=progress)
        _say(results.dump_json(evidence).rstrip() if json else published.text(evidence, folder))
        if any(row["failure"] is not None for row in evidence["cases"]):
            raise typer.Exit(EXIT_NEGATIVE)
        return
    for flag, given in (("--cases", cases), ("--id", only)):
        if given:
            raise InputError(f"{flag}: belongs to `reproduce published`, {paper.value} has claims")
    with progress_bar(paper.value) as progress:
        judged = campaign.reproduce(paper.value, folder, jobs=jobs, progress=progress)
    _say(results.dump_json(judged).rstrip() if json else words.text(judged, folder))


@_verb(app, "calibrate")
def calibrate(
    loops: Annotated[
        Path | None,
        _option(
            "--loops LOG.csv",
            "Log of driver-level loops: a CSV file with the columns operation, n, time_us, power_cpu_mW ...",
        ),
    ] = None,
    power: Annotated[
        Path | None,
        _option(
            "--power CAPTURE.csv",
            "Power capture of the same loops: a CSV file with the columns time_s, cpu_W, memory_W.",
        ),
    ] = None,
    speedtest: Annotated[
        Path | None,
        _option("--speedtest LOG", "What mtd_speedtest or flash_speed printed: sizes, and lines of speeds."),
    ] = None,
    bootlog: Annotated[
        Path | None,
        _option(
            "--bootlog LOG",
            "Log of the same board's boot with times: how long UBI attached and UBIFS mounted. Beside --speedtest.",
        ),
    ] = None,
    probe: Annotated[
        list[Path] | None,
        _option("--probe LOG", "Logs of the probe kit, flashmon and funcmon: a folder, or each file by itself."),
    ] = None,
    traces: Annotated[
        list[Path] | None,
        _option(
            "--traces DIR",
            "Folder of SQLite traces of the board, as docs/compare.md describes; may be given several times.",
        ),
    ] = None,
    flashbench: Annotated[
        list[Path] | None,
        _option(
            "--flashbench LOG",
            "Output of flashbench -a and -O, or of the fio jobs in probe/fio/cards: the profile of a card instead of a "
            "board's (docs/cards.md). May be given several times.",
        ),
    ] = None,
    record_bytes: RecordBytes = None,
    base: Annotated[
        str,
        _option("--base NAME", "Profile on which it builds, by name or path; it stands for what was not measured."),
    ] = "omap3evm",
    part: Annotated[
        str | None,
        _option("--part NAME", "Flash part, by name or path. [default: that of the base]"),
    ] = None,
    title: Annotated[str | None, _option("--title TEXT", "What the board is called.")] = None,
    method: Annotated[
        Regression, _option("--method", "linear; robust (outliers count less); non-negative (no constant below 0).")
    ] = Regression.LINEAR,
    yes: LargeLogs = False,
    out: Annotated[
        Path | None,
        _option(
            "--out DIR",
            "Folder to write, with --flashbench the profile's file. [default: results/calibrate-NAME; no file]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make a board profile from measurements. See docs/calibrating-your-board.md.

    Example: ffslab calibrate --loops loops.csv --power capture.csv --out results/my-board
    """
    from ffslab.studies.calibrate import Method, verb

    if flashbench:
        from ffslab.studies.calibrate.cards import verb as card_verb

        verb.refuse_beside_flashbench(loops, power, speedtest, bootlog, probe, traces, record_bytes)
        _say(card_verb.run(flashbench, title, out, json=json))
        return
    given = verb.Inputs(
        loops,
        power,
        probe or [],
        traces or [],
        record_bytes or [],
        base,
        part,
        title,
        Method(method.value),
        yes,
        speedtest=speedtest,
        boot_log=bootlog,
    )
    _say(verb.run(given, out, json=json))


@_verb(app, "extract")
def extract(
    image: Annotated[Path, _argument("IMAGE", f"Image of {IMAGES}: of mkfs.jffs2, mkyaffs2image, ubinize, nanddump.")],
    folder: Annotated[
        Path | None, _argument("DIR", "New or empty folder for the files; without one they are listed.")
    ] = None,
    *,
    out: Annotated[Path | None, _option("--out DIR", "Folder to write; the same as DIR.")] = None,
    looks: Looks,
    oob: Annotated[
        bool | None,
        _option("--oob/--no-oob", "Each page of the image is followed by its OOB area. [default: as is found in it]"),
    ] = None,
    place: Place,
    json: Annotated[bool, _option("--json", "Print JSON in place of text: the list.")] = False,
) -> None:
    """List or extract the files of a flash image. See docs/images.md.

    Example: ffslab extract rootfs.jffs2 files
    """
    from ffslab import images
    from ffslab.files import results
    from ffslab.images import extraction

    if folder is not None and out is not None:
        raise InputError(f"{folder}: the folder is named twice, here and by --out")
    folder = folder or out
    how: images.How = looks.how(place, oob=oob)
    try:
        found = images.read_partitions(image, **how)
    except InputError as error:
        # As `inspect`, which has facts of it: bad input is what nobody knows, and what was said wrongly.
        if not images.is_known(image, **how):
            raise
        tell(str(error))
        raise typer.Exit(EXIT_NEGATIVE) from None
    looks.check_applies(image, [part for part, _ in found], oob=oob)
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


@_verb(app, "schema")
def schema(
    name: Annotated[str, _argument("NAME", f"What it is of: {', '.join(schemas.names())}.")] = "experiment",
) -> None:
    """Print the JSON Schema of experiment files, or of a result.

    Example: ffslab schema > experiment.schema.json
    """
    _say(schemas.text(name))
