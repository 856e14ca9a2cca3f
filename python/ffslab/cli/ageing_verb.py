"""`ffslab ageing`: how a partition ages."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.parts import EXIT_NEGATIVE, argument, option, verb
from ffslab.terminal.printing import remark, say


def ageing(
    experiment: Annotated[
        Path, argument("EXPERIMENT.toml", "Its [stack] says which part and partition, its [stack.ageing] how it ages.")
    ],
    years: Annotated[float, option("--years YEARS", "How long it must last; with scrubs.")] = 10.0,
    risk: Annotated[float, option("--risk P", "Probability of losing anything in this time that is borne.")] = 0.01,
    reads_per_day: Annotated[
        float, option("--reads-per-day N", "Page reads of each erase block a day, which disturb it.")
    ] = 0.0,
    temperature: Annotated[
        float | None,
        option("--temperature C", "How warm the chip is. [default: the experiment's; 25 on the shelf]"),
    ] = None,
    corrected: Annotated[
        int | None,
        option("--corrected BITS", "Corrected bits that a device reports, of a week for example: are they normal?"),
    ] = None,
    page_reads: Annotated[
        float | None, option("--page-reads N", "With --corrected: page reads in that time. [default: each page once]")
    ] = None,
    age: Annotated[
        str | None, option("--age AGE", "Age, as 2y, 18months or 90d: of the data, with --corrected. [default: 1y]")
    ] = None,
    out: Annotated[Path | None, option("--out FILE", "File to write; an SVG of the curves.")] = None,
    json: Annotated[bool, option("--json", "Print JSON in place of text: everything.")] = False,
) -> None:
    """Tell how often a partition must be scrubbed, and what it loses. See docs/ageing.md.

    Example: ffslab ageing experiments/ageing/camera.toml --corrected 12 --age 2y
    """
    from ffslab.files import results
    from ffslab.files.inputs import check_is_input
    from ffslab.studies import ageing as study
    from ffslab.text.durations import DAYS_PER_YEAR, days_of

    for flag, value, most in (("--years", years, 1e3), ("--risk", risk, 1.0)):
        if not 0 < value <= most:
            raise InputError(f"{flag} {value}: must be more than 0 and at most {most:g}")
    for flag, amount in (
        ("--reads-per-day", reads_per_day),
        ("--page-reads", page_reads or 0.0),
        ("--corrected", corrected or 0),
    ):
        if not 0 <= amount < 1e15:
            raise InputError(f"{flag} {amount}: must be 0 or more")
    if corrected is None and (page_reads is not None or age is not None):
        raise InputError("--page-reads and --age tell of corrected bits: give --corrected, too")
    check_is_input(experiment, "experiment")
    seen = None
    if corrected is not None:
        age_years = days_of("--age", age) / DAYS_PER_YEAR if age else 1.0
        seen = study.Seen(corrected, page_reads, age_years)
    if out is not None:
        # A package that is missing is said before all is reckoned.
        import_module("ffslab.report.drawing")
    facts = study.of_experiment(experiment, study.Given(years, risk, reads_per_day, temperature), seen)
    say(results.dump_json(facts).rstrip() if json else study.text(facts))
    if out is not None:
        out.write_text(study.picture(facts) + "\n", encoding="utf-8")
        remark(f"{out}: the curves")
    if facts["corrected"] and facts["corrected"]["answer"] == "more":
        raise typer.Exit(EXIT_NEGATIVE)


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "ageing")(ageing)
