"""The answers of `ffslab ageing`, from the rates of the model (`_native.ageing`) and the closed forms of `odds`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ffslab import _native
from ffslab.answers.ageing import AgeingSummary
from ffslab.answers.ageing_study import AgeingStudy, Corrected, Scrubbing, ScrubChoice, ShelfLoss
from ffslab.files.inputs import read_text
from ffslab.studies.ageing.odds import count_interval, count_odds, lost_over
from ffslab.text.durations import DAYS_PER_YEAR
from ffslab.text.tables import number

INTERVALS_DAYS = (7.0, 30.0, 91.0, 182.0, 365.25, 730.5, 1826.25, 3652.5)
SHELF_YEARS = (0.25, 1.0, 2.0, 5.0, 10.0, 20.0)
# Two-sided: less likely counts are called abnormal.
ABNORMAL = 0.01


@dataclass(frozen=True)
class Given:
    """What is asked beside the experiment."""

    years: float = 10.0
    risk: float = 0.01
    reads_per_block_per_day: float = 0.0
    # None: that of the experiment, while the device is switched on; 25 on the shelf.
    temperature_celsius: float | None = None
    intervals_days: tuple[float, ...] = INTERVALS_DAYS


@dataclass(frozen=True)
class Seen:
    """Corrected bits that a device has reported."""

    count: int
    # None: each page of the partition once.
    page_reads: float | None
    age_years: float


class _Model:
    """The model of an experiment, which is asked for many stresses at once."""

    def __init__(self, path: Path) -> None:
        self._text, self._path = read_text(path, "experiment"), path
        self.facts = self.frames([])

    def frames(self, asked: Sequence[tuple[float, float, float, float]]) -> AgeingSummary:
        """What is read of blocks, each given by (erases, reads, years, temperature)."""
        names = ("erases", "reads", "years", "temperature_C")
        stresses = json.dumps([dict(zip(names, one, strict=True)) for one in asked])
        facts: AgeingSummary = json.loads(_native.ageing(self._text, str(self._path), str(self._path.parent), stresses))
        return facts

    @property
    def keys(self) -> dict[str, float]:
        return {key: float(value) for key, value in self.facts["keys"].items() if isinstance(value, int | float)}


def of_experiment(path: Path, given: Given, seen: Seen | None = None) -> AgeingStudy:
    """What the model says of the partition of an experiment, whose blocks have the erases that it begins with.

    Raises `ffslab.InputError` when the experiment is wrong or nothing ages in it.
    """
    model = _Model(path)
    facts = model.facts
    pages = facts["partition_blocks"] * facts["pages_per_block"]
    frames = pages * facts["frames_per_page"]
    erases = model.keys["pe_cycles"]
    return {
        "part": facts["part"],
        "erases": erases,
        "endurance_erases": int(model.keys["endurance_erases"]),
        "partition_frames": frames,
        "frame_bits": facts["frame_bits"],
        "corrected_bits": facts["corrected_bits"],
        "threshold_bits": facts["threshold_bits"],
        "scrubbing": _scrubbing(model, erases, frames, given),
        "shelf": _shelf(model, erases, frames, given),
        "corrected": None if seen is None else _corrected(model, erases, pages, given, seen),
        "said": _said(facts),
    }


def _scrubbing(model: _Model, erases: float, frames: int, given: Given) -> Scrubbing:
    """Losses over the years, for each interval: data that are written once and only moved by scrubs."""
    celsius = given.temperature_celsius if given.temperature_celsius is not None else model.keys["temperature_C"]
    choices: list[ScrubChoice] = []
    shape = model.keys["frame_shape"]
    all_days = given.years * DAYS_PER_YEAR
    for days in sorted({*(days for days in given.intervals_days if days <= all_days), all_days}):
        times = [days * i for i in range(math.floor(all_days / days + 1e-9) + 1)]
        asked = [(erases, given.reads_per_block_per_day * t, t / DAYS_PER_YEAR, celsius) for t in times]
        facts = model.frames(asked)
        means = [one["mean_bits"] for one in facts["frames"]]
        losses = frames * lost_over(shape, means, facts["threshold_bits"], facts["corrected_bits"])
        choices.append({"days": days, "expected_losses": losses, "any_loss": -math.expm1(-losses)})
    fitting = [choice["days"] for choice in choices if choice["any_loss"] <= given.risk]
    longest = max(fitting, default=None)
    if longest is None:
        said = (
            f"Even a scrub each {choices[0]['days']:g} days leaves a probability of {choices[0]['any_loss']:.2g} "
            f"to lose a frame in {given.years:g} years: this ECC is too weak for such cells, or they are too warm."
        )
    elif longest >= all_days:
        said = f"No scrub is needed for {given.years:g} years: the probability of a loss stays below {given.risk:g}."
    else:
        said = (
            f"A scrub each {longest:g} days keeps the probability of a loss in {given.years:g} years below "
            f"{given.risk:g}."
        )
    return {
        "years": given.years,
        "temperature_C": celsius,
        "reads_per_block_per_day": given.reads_per_block_per_day,
        "choices": choices,
        "risk": given.risk,
        "longest_days": longest,
        "said": said,
    }


def _shelf(model: _Model, erases: float, frames: int, given: Given) -> list[ShelfLoss]:
    celsius = given.temperature_celsius if given.temperature_celsius is not None else 25.0
    facts = model.frames([(erases, 0.0, years, celsius) for years in SHELF_YEARS])
    rows: list[ShelfLoss] = []
    for years, one in zip(SHELF_YEARS, facts["frames"], strict=True):
        lost = frames * one["failure"]
        rows.append(
            {
                "years": years,
                "temperature_C": celsius,
                "rate": one["rate"],
                "frames_at_threshold": frames * (one["reported"] - one["failure"]),
                "frames_lost": lost,
                "pages_lost_share": -math.expm1(facts["frames_per_page"] * math.log1p(-min(one["failure"], 1 - 1e-15))),
                "any_loss": -math.expm1(-lost),
            }
        )
    return rows


def _corrected(model: _Model, erases: float, pages: int, given: Given, seen: Seen) -> Corrected:
    """Page reads that are spread evenly over the partition: a wrong bit is counted each time that its page is read."""
    celsius = given.temperature_celsius if given.temperature_celsius is not None else model.keys["temperature_C"]
    facts = model.frames([(erases, 0.0, seen.age_years, celsius)])
    one, shape = facts["frames"][0], model.keys["frame_shape"]
    page_reads = float(pages) if seen.page_reads is None else seen.page_reads
    distinct = min(page_reads, float(pages))
    times = page_reads / distinct if distinct else 1.0
    frames = distinct * facts["frames_per_page"]
    # What is not corrected is not counted.
    bits = sum(k * p for k, p in enumerate(one["probabilities"][: facts["corrected_bits"] + 1]))
    expected = bits * frames * times
    at_least, at_most = count_odds(shape, bits, frames, seen.count / times)
    low, high = (round(end * times) for end in count_interval(shape, bits, frames))
    odds = f"expected are {number(expected, 2)}, 95 % lie between {low:,} and {high:,}"
    answer: Literal["normal", "more", "fewer"]
    if at_least < ABNORMAL / 2:
        answer, said = (
            "more",
            (
                f"{seen.count} corrected bits are more than this part shows at this age ({odds}; so many or more: p = "
                f"{at_least:.2g}): it is more worn or warmer than said, its data are older, or it is dying. About "
                f"{seen.count / expected if expected else math.inf:.3g} times the rate would explain them."
            ),
        )
    elif at_most < ABNORMAL / 2:
        answer, said = (
            "fewer",
            (
                f"{seen.count} corrected bits are fewer than the model expects ({odds}; so many or fewer: p = "
                f"{at_most:.2g}): the part is better than its data sheet promises, which is usual."
            ),
        )
    else:
        p = min(1.0, 2 * min(at_least, at_most))
        answer, said = (
            "normal",
            f"{seen.count} corrected bits are normal for this part at this age ({odds}; p = {p:.2g}).",
        )
    return {
        "count": seen.count,
        "page_reads": page_reads,
        "age_years": seen.age_years,
        "temperature_C": celsius,
        "expected": expected,
        "low": low,
        "high": high,
        "at_least": at_least,
        "at_most": at_most,
        "answer": answer,
        "said": said,
    }


def _said(facts: AgeingSummary) -> list[str]:
    unverified = sum(1 for known in facts["constants"] if known["status"] == "unverified")
    return [
        f"{unverified} of the {len(facts['constants'])} constants of the model are unverified (docs/ageing.md): no "
        "open numbers of how SLC parts lose bits were found, so rates are what the data sheet promises, not measured.",
        "Data are written once and moved by scrubs alone; what a scrub has moved is not followed again.",
    ]
