"""A workload that goes on: its measured steps again and again, as the device does them, until the state is steady.

The first rounds become a part of the setup, so that what is measured is not how a new partition fills up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ffslab.registries import vocabulary
from ffslab.steady import QUARTERS

if TYPE_CHECKING:
    from ffslab.answers.summary import VariantSummary
    from ffslab.api.experiment import Experiment

# So much work (flash operations and calls) is done for a point by itself, and so many steps: a few seconds.
WORK_MAX = 2_000_000
STEPS_MAX = 40_000
# Fewer rounds do not tell whether they take room for good.
ROUNDS_MIN = QUARTERS + 1
# Between these rounds are rounded up, so that points that need about as many are run together.
_ROUNDINGS = (1.0, 1.5, 2.0)
# Steps that begin a round with the partition as it was, if that was not mounted.
_MOUNTING = frozenset({"boot", "mount"})
# Steps after which the machine is not the one that the next round begins with.
_ONCE = frozenset(
    {"crash", "format", "load", "mtd_loop", "scrub", "shelf", "stage", "ubi_attach", "ubi_detach", "ubi_make_volume"}
)


class Rounds(NamedTuple):
    """How often the measured steps are done before what is measured, and in it."""

    before: int
    measured: int

    @property
    def all(self) -> int:
        return self.before + self.measured


ONCE = Rounds(0, 1)


def rounds_for(said: VariantSummary, done: Rounds, needs_us: float) -> Rounds | None:
    """How many rounds a run needs that was seen for `done` of them; `None`: more than is simulated by itself.

    `needs_us`: 0 if they were steady and only too few to tell whether they fill the partition."""
    least = math.ceil(done.measured * needs_us / said["time_us"])
    measured = _rounded(max(least, ROUNDS_MIN))
    # What was steady from the first round on needs none before.
    rounds = Rounds(done.before or (measured if needs_us else 0), measured)
    totals = said["totals"]
    work = totals["page_reads"] + totals["page_programs"] + totals["oob_reads"] + said["latency_us"]["n"]
    steps = len(said["steps"]) / done.measured
    fits = rounds.all * work / done.measured <= WORK_MAX and rounds.all * steps <= STEPS_MAX
    return rounds if fits else None


def _rounded(rounds: int) -> int:
    base = 2.0 ** math.floor(math.log2(rounds))
    return next(math.ceil(base * step) for step in _ROUNDINGS if base * step >= rounds)


def can_go_on(experiment: Experiment) -> bool:
    """Whether the measured steps can follow one another."""
    data = experiment.table()
    names = {step.get("step") for step in data.get("measure", [])}
    return "program" not in data and not names & _ONCE


def continued(experiment: Experiment, rounds: Rounds, axes: Mapping[str, object]) -> Experiment:
    """The experiment with so many rounds of its measured steps. `axes`: values of axes of these steps, as STEP.KEY."""
    data = experiment.table()
    setup: list[dict[str, Any]] = [*data.get("setup", [])]
    measure: list[dict[str, Any]] = data["measure"]
    round_ = [*measure, *_left_as_found(setup, measure)]
    seeded = _seeded_steps()
    # Steps of the setup are not those that axes speak of.
    first = [{**step, **_set_by(step, axes)} for step in round_]
    before = [_of_round(step, number, seeded) for number in range(rounds.before) for step in first]
    after = [_of_round(step, number, seeded) for number in range(rounds.before, rounds.all) for step in round_]
    return replace(experiment, change={**experiment.change, "setup": [*setup, *before], "measure": after})


def _left_as_found(setup: Sequence[Mapping[str, Any]], measure: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Steps at the end of a round: what was not mounted is not, and what was not open is not."""
    mounting = [step["step"] for step in setup if step["step"] in ("mount", "umount")]
    if any(step["step"] in _MOUNTING for step in measure) and mounting[-1:] != ["mount"]:
        return [] if measure[-1]["step"] == "umount" else [{"step": "umount"}]
    opened = dict.fromkeys(_files(measure, "open"))
    for name in _files(measure, "close"):
        opened.pop(name, None)
    return [{"step": "close", "file": name} for name in opened]


def _files(steps: Iterable[Mapping[str, Any]], kind: str) -> list[str]:
    return [str(step["file"]) for step in steps if step["step"] == kind]


def _set_by(step: Mapping[str, Any], axes: Mapping[str, object]) -> dict[str, object]:
    kind = step["step"]
    return {name.partition(".")[2]: value for name, value in axes.items() if name.partition(".")[0] == kind}


def _of_round(step: Mapping[str, Any], number: int, seeded: frozenset[str]) -> dict[str, Any]:
    """The step with other places than in the rounds before."""
    return {**step, "seed": step.get("seed", 1) + number} if step["step"] in seeded else {**step}


def _seeded_steps() -> frozenset[str]:
    """Steps that draw random numbers."""
    return frozenset(
        name for name, entry in vocabulary.steps().items() if any(key.name == "seed" for key in entry.keys)
    )
