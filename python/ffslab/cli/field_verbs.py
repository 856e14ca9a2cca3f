"""The verbs for devices in the field: `ffslab inspect`, `ffslab lifetime`."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffslab._native import InputError
from ffslab.api.machine import IMAGE_BOARD, IMAGE_DEVICE
from ffslab.cli.image_options import IMAGES, Looks, Place
from ffslab.cli.needs import check_packages
from ffslab.cli.parts import EXIT_NEGATIVE, argument, check_positive, option, verb
from ffslab.cli.result_options import Jobs, Page, with_page
from ffslab.cli.stack_options import Again, Kernel, MachineOptions, Seed, Yes, profile_option
from ffslab.file_systems import VOLUMES, listed, title
from ffslab.terminal.printing import remark, say, tell

if TYPE_CHECKING:
    from ffslab.answers.image import Facts
    from ffslab.images import How
    from ffslab.studies.lifetime import WholeLives


def inspect(
    image: Annotated[Path, argument("IMAGE", f"Image of {IMAGES}, or a dump of raw flash with or without OOB areas.")],
    looks: Looks,
    place: Place,
    board: Annotated[
        str | None,
        profile_option(
            "board", f"Board profile, by name or path; mount and reads are simulated on it. [default: {IMAGE_BOARD}]"
        ),
    ] = None,
    part: Annotated[
        str | None,
        profile_option("part", "Flash part, by name or path; sizes are those of the image. [default: the board's]"),
    ] = None,
    kernel: Kernel = None,
    device: Annotated[
        str | None,
        profile_option("device", f"Block device, by name or path; of a FAT or RFS volume. [default: {IMAGE_DEVICE}]"),
    ] = None,
    extract: Annotated[
        Path | None, option("--extract DIR", "Extract the files into this new or empty folder, too.")
    ] = None,
    deleted: Annotated[
        bool, option("--deleted", "List what was deleted or overwritten and is still on the flash, too.")
    ] = False,
    recover: Annotated[
        str | None,
        option(
            "--recover [DIR]",
            "Write those of them that are whole into this new or empty folder. [default without DIR: IMAGE-recovered]",
            alone="",
        ),
    ] = None,
    partial: Annotated[
        bool, option("--partial", "With --recover: those that are not whole, too, with a suffix that says so.")
    ] = False,
    lint: Annotated[
        bool,
        option("--lint", "Check, a line each, whether the image fits --part and --board; exit code 1 unless it does."),
    ] = False,
    blocks: Annotated[
        int | None,
        option(
            "--partition-blocks --blocks BLOCKS",
            "Erase blocks of the partition; with --lint: to which the image goes. [default: all of the part]",
            least=1,
        ),
    ] = None,
    out: Page = None,
    json: Annotated[bool, option("--json", "Print JSON in place of text: everything.")] = False,
) -> None:
    """Look into a flash image: files, space, wear, damage, costs. See docs/inspect.md.

    Example: ffslab inspect dump.bin --deleted --recover lost --out dump.html
    """
    from ffslab.files import results
    from ffslab.images import extraction, inspection, recovery

    if partial and recover is None:
        raise InputError("--partial: says what is recovered: give --recover DIR, too")
    if blocks is not None and not lint:
        raise InputError(f"--blocks {blocks}: says how large the partition of --lint is: give --lint, too")
    if lint:
        written = {"--extract": extract, "--deleted": deleted or None, "--recover": recover, "--out": out}
        written["--device"] = device
        if more := [flag for flag, value in written.items() if value is not None]:
            raise InputError(f"--lint: answers alone: leave out {', '.join(more)}")
        _lint(image, part, board, kernel, blocks, looks.how(place), json=json)
        return

    if out is not None:
        results.check_report(out)
    to = None if recover is None else Path(recover) if recover else Path(f"{image.stem}-recovered")
    if to is not None:
        extraction.check_free(to)
    how = looks.how(place)
    found = inspection.inspect_partitions(
        image,
        board=board or IMAGE_BOARD,
        part=part,
        kernel=kernel,
        device=device or IMAGE_DEVICE,
        deleted=deleted or recover is not None,
        **how,
    )
    known = [(each, facts) for each, facts in found if facts is not None]
    looks.check_applies(image, [each for each, _ in found])
    _check_machine(image, [facts for _, facts in known], device, {"--board": board, "--part": part, "--kernel": kernel})
    is_one = len(found) == 1
    left_out = []
    if extract is not None and is_one:
        left_out = extraction.extract(inspection.tree_of(image, known[0][1]), extract)
    elif extract is not None:
        left_out = extraction.extract_partitions(((e, inspection.tree_of(image, facts)) for e, facts in known), extract)
    if to is not None:
        lost = recovery.read_lost(image, **how)
        left_out += recovery.recover(lost, to, partial=partial)
        if not recover:
            remark(f"{to}: what was recovered")
    if out is not None:
        from ffslab.images import chip_page, page

        drawn = page.html(known[0][1]) if len(known) == 1 else chip_page.html(str(image), found)
        results.write_report(out, drawn)
    if is_one:
        say(results.dump_json(known[0][1]).rstrip() if json else inspection.text(known[0][1]))
    elif json:
        rows = [{**asdict(each), "facts": facts} for each, facts in found]
        say(results.dump_json({"file": str(image), "partitions": rows}).rstrip())
    else:
        say(inspection.partitions_text(str(image), found))
    if out is not None and not json:
        say(f"\nReport: {out}")
    for line in left_out:
        tell(line)
    if left_out or any(inspection.complaints(facts) for _, facts in known):
        raise typer.Exit(EXIT_NEGATIVE)


def _check_machine(image: Path, found: list[Facts], device: str | None, flash: dict[str, str | None]) -> None:
    """Refuses the other kind of machine than that on which the image's costs are reckoned."""
    names = list(dict.fromkeys(facts["layout"]["fs"] for facts in found))
    held = listed([title(name) for name in names], "and")
    if device is not None and found and not any(name in VOLUMES for name in names):
        raise InputError(
            f"--device {device}: {image} holds {held}, which stands on raw flash: leave it out; --board and --part say "
            "on which"
        )
    said = next((f"{flag} {value}" for flag, value in flash.items() if value is not None), None)
    if said is not None and found and all(name in VOLUMES for name in names):
        raise InputError(
            f"{said}: {image} holds {held}, which stands on a block device: leave it out; --device says on which"
        )


def _lint(
    image: Path,
    part: str | None,
    board: str | None,
    kernel: str | None,
    blocks: int | None,
    how: How,
    *,
    json: bool,
) -> None:
    from ffslab.files import results
    from ffslab.images import lint

    answer = lint.lint(image, part, board, kernel, blocks, **how)
    say(results.dump_json(answer).rstrip() if json else lint.text(answer))
    if not answer["fits"]:
        raise typer.Exit(EXIT_NEGATIVE)


def lifetime(
    start: Annotated[
        Path,
        argument(
            "EXPERIMENT.toml|IMAGE|RESULTS",
            "A workload on a new part; an image or dump to begin with; or a results folder of `ffslab run`.",
        ),
    ],
    machine: MachineOptions,
    workload: Annotated[
        list[Path] | None,
        option(
            "--workload EXPERIMENT",
            "Experiment whose measured steps are the workload; give it several times to compare.",
        ),
    ] = None,
    age: Annotated[
        str | None,
        option("--age AGE", "Age, as 2y, 18months or 90d: of the device that an image is from, whose past goes on."),
    ] = None,
    per_day: Annotated[
        float | None,
        option(
            "--per-day N", "How often a day the measured steps happen. [default: one after the other, without a pause]"
        ),
    ] = None,
    years: Annotated[
        float | None, option("--years YEARS", "How long it must last; exit code 1 unless it does.")
    ] = None,
    simulate: Annotated[
        bool,
        option("--simulate", "Run every operation of the life, however long it takes, and leap over nothing."),
    ] = False,
    fast: Annotated[
        bool,
        option("--fast", "Leap over times of stationary wear as soon as they are, and follow the life to its end."),
    ] = False,
    reckon: Annotated[
        bool,
        option("--reckon", "Reckon from one repetition in place of a life: bounds, if one is enough to tell."),
    ] = False,
    endurance: Annotated[
        int | None, option("--endurance ERASES", "Erases that a block bears. [default: the part's]", least=1)
    ] = None,
    *,
    place: Place,
    seed: Seed = None,
    jobs: Jobs = None,
    yes: Yes = False,
    again: Again = False,
    out: Annotated[
        Path | None,
        option(
            "--out DIR",
            "Folder to write; of a life the report and its data; if it ends with .html, a page with pictures alone, as "
            "of what is reckoned. [default: none]",
        ),
    ] = None,
    json: Annotated[
        bool, option("--json", "Print JSON in place of text: everything, with the erases a day of each block.")
    ] = False,
) -> None:
    """Predict how long a part bears a workload. See docs/inspect.md.

    Example: ffslab lifetime logging.toml --per-day 1440 --years 10
    """
    from ffslab.api.machine import LINUX_PART
    from ffslab.files import results
    from ffslab.files.one_file import per_day_in
    from ffslab.registries.profiles import part_of
    from ffslab.studies import lifetime as life
    from ffslab.terminal.progress import progress_bar
    from ffslab.text.durations import days_of

    check_positive({"--per-day": per_day, "--years": years})
    age_days = None if age is None else days_of("--age", age)
    where = place.chosen()
    given = life.Given(endurance, per_day, years, jobs, yes)
    kind = _kind(start, workload or [], age_days, place)
    reckons = reckon or kind == "results" or age_days is not None
    if reckons and (simulate or fast):
        flag = "--simulate" if simulate else "--fast"
        needs = "give an experiment, or an image with --workload, without --reckon or --age"
        raise InputError(f"{flag}: is about a life, which repeats a workload: {needs}")
    report, folder = (out, None) if out is None or out.suffix.lower() in (".html", ".htm") else (None, out)
    if folder is not None and reckons:
        raise InputError(f"--out {folder}: a folder is of a life: what is reckoned needs a page's name (.html)")
    if report is not None:
        results.check_report(report)
    if folder is not None:
        check_packages("lifetime --out")
        life.check(folder)
    if kind == "results":
        facts = life.of_results(start, given)
    else:
        named = [start, *(workload or [])] if kind == "workload" else workload or []
        workloads = [life.Workload.from_file(path) for path in named]
        if per_day is None and len(named) == 1:
            given = replace(given, per_day=per_day_in(named[0]))
        ready = [life.Workload(one.name, machine.over(one.experiment).changed(seed=seed)) for one in workloads]
        if not reckons:
            with progress_bar("lives") as progress:
                worn = None
                if kind == "image":
                    ready, worn = life.begun_with(start, ready, **where)
                lives = life.lived(
                    ready,
                    given,
                    fast=fast,
                    bounded=not simulate and not fast,
                    worn_erases=worn,
                    start=_start(start, kind),
                    progress=progress,
                    again=again,
                )
            _tell_lives(lives, report, folder, json=json)
            return
        with progress_bar("workloads") as progress:
            if kind == "workload":
                parts = [life.alone(ready, given, progress)]
            else:
                found = life.looked_into(start, ready, **where)
                parts = [life.of_workloads(start, found, ready, given, progress)] if ready else []
        if age_days is not None:
            part = machine.part or (part_of(machine.board) if machine.board else LINUX_PART)
            parts.insert(0, life.of_past(start, found, age_days, part, given))
        start_of, machine_of = parts[0]["start"], " ".join(dict.fromkeys(each["machine"] for each in parts))
        facts = {
            "start": start_of,
            "machine": machine_of,
            "workloads": [row for each in parts for row in each["workloads"]],
        }
    if report is not None:
        from ffslab.studies.lifetime import page as lifetimes

        results.write_report(report, lifetimes.html(facts))
    say(results.dump_json(facts).rstrip() if json else with_page(life.text(facts), report))
    rows = facts["workloads"]
    if any(row["needs_us"] is not None or (row["verdict"] and row["verdict"]["answer"] != "yes") for row in rows):
        raise typer.Exit(EXIT_NEGATIVE)


def _start(start: Path, kind: str) -> str:
    return "a new part" if kind == "workload" else str(start)


def _tell_lives(lives: WholeLives, report: Path | None, folder: Path | None, *, json: bool) -> None:
    from ffslab.files import results
    from ffslab.studies.lifetime.whole_text import failures, is_answered

    if report is not None:
        results.write_report(report, lives.report())
    if folder is not None:
        lives.save(folder)
    if json:
        say(results.dump_json(lives.answer).rstrip())
    else:
        say(with_page(lives.text, report) if folder is None else f"{lives.text}\n\nresults: {folder}")
    for line in failures(lives):
        tell(line)
    if failures(lives) or not all(is_answered(one, lives.answer["wanted_years"]) for _, one in lives.lives):
        raise typer.Exit(EXIT_NEGATIVE)


def _kind(start: Path, workloads: list[Path], age_days: float | None, place: Place) -> str:
    """What a lifetime begins with: "results", a "workload" alone, or an "image"."""
    of_image = age_days is not None or place.is_said
    if start.is_dir():
        if of_image:
            raise InputError(f"{start}: is a results folder: an age and a partition are those of an image")
        if workloads:
            raise InputError(f"{start}: results measured their own workload: give --workload with an image")
        return "results"
    if not start.exists():
        raise InputError(f"{start}: no such experiment, image or results folder")
    if start.suffix == ".toml":
        if of_image:
            raise InputError(f"{start}: is an experiment: an age and a partition are those of an image")
        return "workload"
    if not workloads and age_days is None:
        raise InputError(
            f"{start}: an image says nothing of a workload: give --workload EXPERIMENT, or --age for its past rate"
        )
    return "image"


def add_to(app: typer.Typer) -> None:
    """Makes them verbs of the command."""
    for function in (inspect, lifetime):
        verb(app, function.__name__)(function)
