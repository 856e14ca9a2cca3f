"""Frames lost over ten years, by how often UBI is asked to scrub: simulated, with an interval, beside the closed form.

    python experiments/ageing/scrub_intervals.py [--chips N] [--experiment FILE.toml]

Each run writes a file, then a shelf, an attach and a scrub follow one another for ten years. The chips differ in
`ageing.seed` alone. The interval is that of 95 % of a Poisson count (Byar).
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

from ffslab import Experiment, InputError, steps
from ffslab.measured.tracereport.statistics import poisson_interval
from ffslab.studies.ageing import Given, of_experiment
from ffslab.text.tables import text_table

HERE = Path(__file__).resolve().parent
YEARS = 10.0
INTERVALS_DAYS = (182.625, 365.25, 913.125, 1826.25, 3652.5)
CELSIUS = 40.0


def chip(experiment: Path, days: float, seed: int) -> tuple[int, int]:
    """Frames that are lost in the end, and pages that hold data."""
    stack = tomllib.loads(experiment.read_text(encoding="utf-8"))["stack"]
    stack["ageing"]["seed"] = seed
    setup = [steps.mount(), steps.create(file="programs", bytes="4 MiB"), steps.umount(), steps.ubi_detach()]
    scrub = [
        steps.shelf(days=days, temperature_C=CELSIUS),
        steps.ubi_attach(),
        steps.scrub(),
        steps.sleep(us=60_000_000),
        steps.ubi_detach(),
    ]
    # UBI reads what it cannot correct several times, so a last scrub without it counts each frame once.
    measure = [*scrub * round(YEARS * 365.25 / days), steps.scrub()]
    run = Experiment.of("Scrubs", stack=stack, setup=setup, measure=measure).run()
    lost = run.summary["variants"][0]["steps"][-1].get("counters", {}).get("uncorrectable_frames", 0)
    return lost, int(run.blocks["programmed_pages"].sum())


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Frames lost over ten years, by how often UBI is asked to scrub.")
    parser.add_argument("--chips", type=int, default=10, help="simulated chips for each interval [default: 10]")
    parser.add_argument("--experiment", type=Path, default=HERE / "camera.toml", help="whose [stack] ages")
    chosen = parser.parse_args()
    experiment, chips = chosen.experiment, chosen.chips
    given = Given(years=YEARS, temperature_celsius=CELSIUS, intervals_days=INTERVALS_DAYS)
    try:
        study = of_experiment(experiment, given)
    except InputError as error:
        parser.error(str(error))
    frames_per_page = study["partition_frames"] // (60 * 64)
    rows = []
    for choice in study["scrubbing"]["choices"]:
        ran = [chip(experiment, choice["days"], seed) for seed in range(1, chips + 1)]
        lost, frames = sum(found for found, _ in ran), sum(pages for _, pages in ran) * frames_per_page
        low, high = poisson_interval(lost)
        expected = choice["expected_losses"] / study["partition_frames"] * frames
        rows.append([f"{choice['days']:g}", str(lost), f"{low:.1f} to {high:.1f}", f"{expected:.1f}"])
    print(text_table(["scrub every, days", f"frames lost on {chips} chips", "95 %", "closed form"], rows, "rrrr"))


if __name__ == "__main__":
    main()
