"""`ffslab uflip`: the uFLIP benchmark on block devices."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab.cli.parts import argument, option, verb
from ffslab.cli.result_options import Jobs, Json
from ffslab.terminal.printing import say


class DeviceState(StrEnum):
    """What was done with a device before it is measured."""

    FRESH = "fresh"
    RANDOM = "random"
    SEQUENTIAL = "sequential"


def uflip(
    devices: Annotated[
        Path, argument("DEVICES.toml", "Its [stack] says which block device, its [axes] which ones of several.")
    ],
    state: Annotated[
        DeviceState,
        option(
            "--state STATE",
            "fresh: nothing was written; random: written over at random as a whole, as the paper does; "
            "sequential: in order.",
        ),
    ] = DeviceState.RANDOM,
    jobs: Jobs = None,
    out: Annotated[Path | None, option("--out DIR", "Folder to write. [default: results/uflip-DEVICES]")] = None,
    json: Json = False,
) -> None:
    """Run the uFLIP benchmark on block devices. Phases, nine micro-benchmarks, tables, plots. See docs/uflip.md.

    Example: ffslab uflip experiments/uflip/devices/ftl.toml
    """
    from ffslab.files import results
    from ffslab.studies import uflip as study
    from ffslab.terminal.progress import progress_bar

    asked = study.Uflip.from_file(devices, study.State(state.value))
    folder = out if out is not None else Path("results") / f"uflip-{devices.name.removesuffix('.toml')}"
    study.check(folder)
    with progress_bar(asked.title) as progress:
        result = asked.run(progress, jobs)
    study.save(result, folder)
    if json:
        say(results.dump_json(result.answer).rstrip())
    else:
        say(f"{study.text(result.answer)}\n\nReport: {folder / study.REPORT}")


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "uflip")(uflip)
